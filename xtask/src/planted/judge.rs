//! What the verdict must say. It is judged by the sentences that a reader sees first. While the
//! hypervisor takes the CPUs away, nothing is judged: no load is calm then, and what was planted is
//! not all that happens. Nor is a load calm on a disk that stood still: where its own log has that
//! wait, a verdict that says so is true, and the load is tried again.

use super::case::{Case, Pattern};
use super::effect::Effect;
use super::told::Told;

/// The verdict's words where nothing matters, and the history's.
const CALM: [&str; 2] = ["Nobody waited", "Nobody lost"];
/// … and where the device held everybody up.
const STILL: &str = "because the device itself stood still";

/// A cause counts if it is named by so many sentences, and so many lines.
const SENTENCES: usize = 3;
const LINES: usize = 8;

/// Of the CPUs' time, more must not have been stolen.
const STOLEN_PERCENT_MAX: f64 = 5.0;

/// What became of a case.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The verdict's first sentence, or why there is none.
    pub(super) said: String,
    /// Nothing, if the case could not be run.
    pub(super) is_right: Option<bool>,
    /// Whether something failed that runs it: lbolt itself, or its load.
    pub(super) has_failed: bool,
    /// What the victim itself measured.
    pub(super) effect: Option<Effect>,
    /// What is told of that.
    pub(super) told: Option<Told>,
    /// Whether the watch of the same load names the same; nothing, if there was none to judge.
    pub(super) is_watch_right: Option<bool>,
    /// Of the CPUs' time during the load: what the hypervisor gave to others.
    pub(super) stolen_percent: f64,
    /// Of a calm load: the wait in which the disk stood still, by the load's own log, in ns.
    pub(super) stall_ns: Option<f64>,
}

impl Outcome {
    pub(super) fn skipped(reason: String) -> Self {
        Self { said: reason, ..Self::default() }
    }

    pub(super) fn failed(error: &anyhow::Error) -> Self {
        let reason = format!("{error:#}").replace('\n', "; ");
        Self { has_failed: true, ..Self::skipped(reason) }
    }

    /// Whether nothing is wrong, as far as there was anything to judge.
    pub(super) fn is_fine(&self) -> bool {
        !self.has_failed && self.is_right != Some(false)
    }

    pub(super) fn of(
        case: &Case,
        printed: &str,
        effect: Option<Effect>,
        (stolen_percent, stall_ns): (f64, Option<f64>),
    ) -> Self {
        let said = sentences(printed).into_iter().next().unwrap_or_default();
        let stall_ns = stall_ns.filter(|_| case.is_calm() && said.contains(STILL));
        let outcome = Self { said, effect, stolen_percent, stall_ns, ..Self::default() };
        if outcome.is_disturbed() {
            return outcome;
        }
        let told = Told::of(case, &split(before_tables(printed)), effect);
        Self { is_right: Some(is_right(case, printed)), told, ..outcome }
    }

    /// With what a watch of the same load told in the end.
    pub(super) fn with_watch(self, case: &Case, printed: Option<&str>) -> Self {
        let is_watch_right = printed.map(|printed| is_right(case, printed));
        Self { is_watch_right: is_watch_right.filter(|_| self.is_right.is_some()), ..self }
    }

    pub(super) fn is_disturbed(&self) -> bool {
        self.disturbance().is_some()
    }

    /// What made the load another than was planted.
    pub(super) fn disturbance(&self) -> Option<String> {
        let stolen = self.stolen_percent;
        let is_stolen = stolen > STOLEN_PERCENT_MAX;
        let stolen = is_stolen.then(|| format!("{stolen:.0} % of the CPUs' time was stolen"));
        let still = |ns: f64| {
            let ms = ns / 1e6;
            format!("the machine's own disk stood still for {ms:.0} ms, by the load's own log, too")
        };
        stolen.or_else(|| self.stall_ns.map(still))
    }
}

fn is_right(case: &Case, printed: &str) -> bool {
    let (said, all) = (sentences(printed), split(before_tables(printed)));
    if all.iter().any(|sentence| case.never.iter().any(|never| never.is_in(sentence))) {
        return false;
    }
    let has = |pattern: &Pattern| said.iter().any(|sentence| pattern.is_in(sentence));
    let is_calm = said.first().is_some_and(|said| CALM.iter().any(|calm| said.contains(calm)));
    if case.is_calm() {
        return is_calm;
    }
    !is_calm && case.victim.iter().chain(&case.cause).all(has)
}

/// The first sentences before the first table.
fn sentences(printed: &str) -> Vec<String> {
    let text = before_tables(printed);
    let mut first = split(text.lines().take(LINES).collect::<Vec<_>>().join("\n"));
    first.truncate(SENTENCES);
    first
}

fn before_tables(printed: &str) -> String {
    let is_table = |paragraph: &&str| paragraph.contains('─');
    let text = printed.split("\n\n").take_while(|paragraph| !is_table(paragraph));
    text.collect::<Vec<_>>().join("\n\n")
}

fn split(text: String) -> Vec<String> {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    let all = paragraphs.flat_map(|p| p.split(". ").map(str::to_owned).collect::<Vec<_>>());
    all.map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(victim: &str, cause: &str) -> Case {
        let mut text =
            "name = \"a\"\nplanted = \"b\"\nneeds = []\ndevice_mib = 1\nload = \"c\"\n".to_owned();
        if !victim.is_empty() {
            text += &format!("victim = ['{victim}', 'fsync']\ncause = ['{cause}']\n");
        }
        toml::from_str(&text).unwrap()
    }

    fn judged(case: &Case, printed: &str) -> bool {
        Outcome::of(case, printed, None, (4.9, None)).is_right.unwrap()
    }

    const NOBODY: &str = CALM[0];
    const NAMED: &str =
        "fsync by orders lost 2.5 s of\n9.1 s. dd wrote meanwhile.\n\nwhat\n──\ntar\n";

    #[test]
    fn sentences_end_before_the_first_table_and_numbers_do_not_end_them() {
        let first = ["fsync by orders lost 2.5 s of 9.1 s", "dd wrote meanwhile."];
        assert_eq!(sentences(NAMED), first);
        assert_eq!(sentences("a. b. c. d. e"), ["a", "b", "c"]);
        assert_eq!(sentences(&"a\n".repeat(9))[0].split(' ').count(), LINES);
        assert!(sentences("heading\n─────\n").is_empty());
    }

    #[test]
    fn nothing_is_judged_while_the_cpus_are_taken_away() {
        let outcome = Outcome::of(&case("orders", "dd"), NAMED, None, (5.1, None));
        assert!(outcome.is_right.is_none() && outcome.is_disturbed());
        assert!(!Outcome::skipped("no fio".to_owned()).is_disturbed());
    }

    #[test]
    fn what_fails_is_not_fine_and_what_cannot_be_judged_here_is() {
        assert!(!Outcome::failed(&anyhow::anyhow!("record failed")).is_fine());
        assert!(Outcome::skipped("there is no fio".to_owned()).is_fine());
        let of = |stolen| Outcome::of(&case("orders", "tar"), NAMED, None, (stolen, None));
        assert!(of(5.1).is_fine() && !of(4.9).is_fine());
    }

    #[test]
    fn a_calm_load_on_a_disk_that_stood_still_by_its_own_log_is_not_judged() {
        let calm = case("", "");
        let said = format!("orders lost 91 ms waiting for fsync, {STILL} for 100 ms at 5.6 s");
        let of = |case: &Case, said: &str, stall| Outcome::of(case, said, None, (0.0, stall));
        let outcome = of(&calm, &said, Some(92.8e6));
        assert_eq!(outcome.is_right, None);
        assert!(outcome.disturbance().unwrap().contains("stood still for 93 ms"));
        // What no log has was made up; who is somebody is blamed all the same.
        assert_eq!(of(&calm, &said, None).is_right, Some(false));
        assert_eq!(of(&calm, "orders lost 91 ms behind dd", Some(92.8e6)).is_right, Some(false));
        let planted = case("orders", "stood still");
        assert_eq!(of(&planted, &said, Some(92.8e6)).is_right, Some(true));
    }

    #[test]
    fn a_planted_case_needs_every_victim_and_cause() {
        assert!(judged(&case("orders", r"\bdd\b|sync"), NAMED));
        assert!(!judged(&case("readers", r"\bdd\b"), NAMED));
        assert!(!judged(&case("orders", "tar"), NAMED));
        assert!(!judged(&case("orders", "dd"), &format!("{NOBODY}: fsync by orders, dd")));
        assert!(!judged(&case("orders", "dd"), ""));
    }

    #[test]
    fn a_calm_case_needs_the_words_for_calm_first() {
        let calm = case("", "");
        assert!(judged(&calm, &format!("{NOBODY}. No flush took long.\n")));
        assert!(!judged(&calm, &format!("dd made orders wait. {NOBODY}.")));
        assert!(!judged(&calm, NAMED) && !judged(&calm, ""));
    }

    #[test]
    fn who_must_not_be_blamed_stands_in_no_sentence_before_the_tables() {
        let innocent = Case {
            never: vec!["finder lost".to_owned().try_into().unwrap()],
            ..case("orders", "dd")
        };
        assert!(judged(&innocent, NAMED));
        let fourth = "\n\nd. e.\n\nfinder lost 2 s\n\nwhat\n──\n";
        let named = NAMED.split("\n\nwhat").next().unwrap();
        assert!(!judged(&innocent, &format!("{named}{fourth}")));
        assert!(judged(&innocent, &format!("{NAMED}\n\nfinder lost 2 s")), "in a table");
        let watch = |printed: &str| {
            let outcome = Outcome::of(&innocent, NAMED, None, (0.0, None));
            outcome.with_watch(&innocent, Some(printed)).is_watch_right
        };
        assert_eq!(watch(NAMED), Some(true));
        assert_eq!(watch(&format!("{named}{fourth}")), Some(false));
    }

    #[test]
    fn what_is_told_lost_and_what_a_watch_names_are_judged_beside() {
        let own = Case {
            own_log: Some("orders".to_owned().try_into().unwrap()),
            ..case("orders", "9.1 s")
        };
        let effect = Some(Effect { p99: 9.0, lost: 0.5, lost_ns: 2.6e9 });
        let of = |stolen| Outcome::of(&own, NAMED, effect, (stolen, None));
        assert!(of(0.0).told.unwrap().is_right());
        assert_eq!(of(9.0).told, None, "disturbed");
        let watch = |printed| of(0.0).with_watch(&own, printed).is_watch_right;
        assert_eq!(watch(None), None);
        assert_eq!(watch(Some("orders lost 2.5 s to 9.1 s, waiting for fsync.\n")), Some(true));
        assert_eq!(
            watch(Some("Nobody lost much time to others: orders, fsync, 9.1 s.")),
            Some(false)
        );
        assert_eq!(of(9.0).with_watch(&own, Some(NAMED)).is_watch_right, None, "disturbed");
    }
}

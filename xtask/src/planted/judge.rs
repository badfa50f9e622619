//! What the verdict must say. It is judged by the sentences that a reader sees first. While the
//! hypervisor takes the CPUs away, nothing is judged: no load is calm then, and what was planted is
//! not all that happens.

use super::case::{Case, Pattern};
use super::effect::Effect;

/// The verdict's words where nothing matters.
const CALM: &str = "Nobody waited";

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
    /// What the victim itself measured.
    pub(super) effect: Option<Effect>,
    /// Of the CPUs' time during the load: what the hypervisor gave to others.
    pub(super) stolen_percent: f64,
}

impl Outcome {
    pub(super) fn skipped(reason: String) -> Self {
        Self { said: reason, ..Self::default() }
    }

    pub(super) fn failed(error: &anyhow::Error) -> Self {
        Self::skipped(format!("{error:#}").replace('\n', "; "))
    }

    pub(super) fn of(case: &Case, printed: &str, effect: Option<Effect>, stolen: f64) -> Self {
        let said = sentences(printed);
        let is_right = (stolen <= STOLEN_PERCENT_MAX).then(|| is_right(case, &said));
        let said = said.into_iter().next().unwrap_or_default();
        Self { said, is_right, effect, stolen_percent: stolen }
    }

    pub(super) fn is_disturbed(&self) -> bool {
        self.stolen_percent > STOLEN_PERCENT_MAX
    }
}

fn is_right(case: &Case, said: &[String]) -> bool {
    let has = |pattern: &Pattern| said.iter().any(|sentence| pattern.is_in(sentence));
    let is_calm = said.first().is_some_and(|sentence| sentence.contains(CALM));
    if case.is_calm() {
        return is_calm;
    }
    !is_calm && case.victim.iter().chain(&case.cause).all(has)
}

/// The first sentences before the first table.
fn sentences(printed: &str) -> Vec<String> {
    let is_table = |paragraph: &&str| paragraph.contains('─');
    let text = printed.split("\n\n").take_while(|paragraph| !is_table(paragraph));
    let text = text.collect::<Vec<_>>().join("\n\n");
    let text = text.lines().take(LINES).collect::<Vec<_>>().join("\n");
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    let all = paragraphs.flat_map(|p| p.split(". ").map(str::to_owned).collect::<Vec<_>>());
    all.map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).take(SENTENCES).collect()
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
        Outcome::of(case, printed, None, 4.9).is_right.unwrap()
    }

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
        let outcome = Outcome::of(&case("orders", "dd"), NAMED, None, 5.1);
        assert!(outcome.is_right.is_none() && outcome.is_disturbed());
        assert!(!Outcome::skipped("no fio".to_owned()).is_disturbed());
    }

    #[test]
    fn a_planted_case_needs_every_victim_and_cause() {
        assert!(judged(&case("orders", r"\bdd\b|sync"), NAMED));
        assert!(!judged(&case("readers", r"\bdd\b"), NAMED));
        assert!(!judged(&case("orders", "tar"), NAMED));
        assert!(!judged(&case("orders", "dd"), &format!("{CALM}: fsync by orders, dd")));
        assert!(!judged(&case("orders", "dd"), ""));
    }

    #[test]
    fn a_calm_case_needs_the_words_for_calm_first() {
        let calm = case("", "");
        assert!(judged(&calm, &format!("{CALM}. No flush took long.\n")));
        assert!(!judged(&calm, &format!("dd made orders wait. {CALM}.")));
        assert!(!judged(&calm, NAMED) && !judged(&calm, ""));
    }
}

//! What the verdict says that a role lost to the planted cause, held against the role's own log.
//!
//! What is told of another cause does not count: the own log is of the planted one, and a loss that
//! is put on somebody else is not told right.

use super::case::{Case, Pattern};
use super::effect::Effect;
use model::units::parse_time;
use std::fmt;

/// So much may be missing, or too much.
const OFF_MOST: f64 = 0.1;
/// A sentence that begins so is of the cause of the sentence before it.
const IN_TURN: &str = "Waiting for it, ";

/// Two sums of one loss, in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Told {
    told_ns: f64,
    own_ns: f64,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { told_ns, own_ns } = self;
        let missed = if self.is_right() { "" } else { " MISSED" };
        let (told_s, own_s) = (told_ns / 1e9, own_ns / 1e9);
        write!(f, "{told_s:.2} of {own_s:.2} s, {:.2}{missed}", self.ratio())
    }
}

impl Told {
    /// Of a case that says whose log its logs are, by what the verdict says.
    pub(super) fn of(case: &Case, said: &[String], effect: Option<Effect>) -> Option<Self> {
        let told_ns = lost_ns(said, case.own_log.as_ref()?, &case.cause);
        // Logs that are missing, or know no calm, are no reason to be content.
        Some(Self { told_ns, own_ns: effect.map_or(f64::NAN, |effect| effect.lost_ns) })
    }

    fn ratio(self) -> f64 {
        self.told_ns / self.own_ns
    }

    pub(super) fn is_right(self) -> bool {
        (self.ratio() - 1.0).abs() <= OFF_MOST
    }
}

/// What a role is said to have lost by a cause.
fn lost_ns(said: &[String], role: &Pattern, causes: &[Pattern]) -> f64 {
    let (mut is_of_cause, mut sum_ns) = (false, 0.0);
    for sentence in said {
        if !sentence.starts_with(IN_TURN) {
            is_of_cause = causes.iter().any(|cause| cause.is_in(sentence));
        }
        let losses = losses(sentence).into_iter().filter(|(loser, _)| role.is_in(loser));
        sum_ns += losses.filter(|_| is_of_cause).map(|(_, ns)| ns).sum::<f64>();
    }
    sum_ns
}

/// Who lost how much: `orders lost 2.50 s waiting for …`, `tills lost 1.20 s and till lost 90 ms`.
/// Before a name may stand what the sentence says before it.
fn losses(sentence: &str) -> Vec<(&str, f64)> {
    let parts: Vec<&str> = sentence.split(" lost ").collect();
    let each = parts.windows(2).filter_map(|around| {
        let [before, after] = around else { return None };
        Some((before.rsplit(", ").next()?, time_ns(after)?))
    });
    each.collect()
}

/// The time that a text begins with.
fn time_ns(text: &str) -> Option<f64> {
    let mut words = text.strip_prefix("about ").unwrap_or(text).split(' ');
    let (number, unit) = (words.next()?, words.next()?.trim_end_matches(['.', ',']));
    let time = parse_time(&format!("{number}{}", unit.replace('µ', "u"))).ok()?;
    Some(time.as_nanos() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn each_loss_of_a_sentence_has_its_loser_and_its_time() {
        let of = |sentence| {
            let all = losses(sentence).into_iter();
            all.map(|(who, ns)| format!("{who}: {ns}")).collect::<Vec<_>>()
        };
        let root =
            "ledger lost about 24.6 s waiting for fsync on loop1 (7 % of its 31.6 s), behind";
        assert_eq!(of(root), ["ledger: 24600000000"]);
        let both =
            "Waiting for it, other threads of a: b lost 1.86 s, c lost 598 µs and d lost 2 s.";
        let all = ["other threads of a: b: 1860000000", "c: 598000", "598 µs and d: 2000000000"];
        assert_eq!(of(both), all);
        assert!(of("Nobody waited long; dd lost most, 2 s").is_empty());
        assert!(of("who lost").is_empty() && of("a lost ").is_empty());
    }

    #[test]
    fn only_what_is_told_of_the_cause_counts_and_those_who_waited_in_turn_are_of_it() {
        let said = [
            "ledger lost 24.6 s waiting for fsync on loop1, behind writes of archive",
            "Waiting for it, till lost 26.5 s and other threads of ledger lost 1.00 s",
            "An affected wait took 1.37 s instead of 1.33 ms on average",
            "ledger lost 4.50 s waiting for fsync on loop1, because of a limit of its cgroup",
            "Waiting for it, till lost 1.70 s",
            "ledger lost 500 ms waiting for the journal on loop1, behind writes of archive.",
        ];
        let said = said.map(str::to_owned);
        let lost = |who: &str, cause: &str| lost_ns(&said, &pattern(who), &[pattern(cause)]);
        assert_eq!(lost(r"\btill$", r"\barchive\b"), 26.5e9);
        assert_eq!(lost(r"\bledger$", r"\barchive\b"), 26.1e9);
        assert_eq!(lost(r"\btill$", "limit"), 1.7e9);
        assert_eq!(lost(r"\btill$", "nobody"), 0.0);
    }

    #[test]
    fn ten_per_cent_are_right_and_more_is_missed() {
        let told = |told_ns| Told { told_ns, own_ns: 10e9 };
        assert_eq!(told(9.1e9).to_string(), "9.10 of 10.00 s, 0.91");
        assert_eq!(told(8.9e9).to_string(), "8.90 of 10.00 s, 0.89 MISSED");
        assert!(told(10.9e9).is_right() && !told(11.1e9).is_right());
        // A log that shows no loss has nothing that could be right.
        assert!(!Told { told_ns: 0.0, own_ns: 0.0 }.is_right());
        assert!(!Told { told_ns: 1e9, own_ns: f64::NAN }.is_right());
    }
}

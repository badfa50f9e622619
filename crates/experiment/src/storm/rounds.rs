//! The rounds: all remedies in turn, each once a round, until the time is over or enough is known.
//!
//! When the halving has come to the best few, their pairs are tried too: of those that help and do
//! not change the same thing. Rounds end early when the interval of what the best one leaves is
//! narrow [`IN_A_ROW`] times one after the other, or half as wide at once: who ends at the first
//! narrow interval ends too often by luck (as `throughput::until` has it).

use super::halving::FEWEST;
use super::pass::Run;
use super::{NONE, Tried};
use crate::until::TIME_IS_OVER;
use model::doubt::{Doubt, Judgement};
use model::record::subject::StormStream;
use model::seam::{Subject, SubjectError};
use model::workload::WriterChange;

/// Half of the interval of what a remedy leaves that is narrow enough, as a logarithm: 10 %.
const NARROW: f64 = 0.1;
/// Looks that must find it narrow, one after the other.
const IN_A_ROW: u32 = 3;

/// Whether enough is known.
#[derive(Debug, Default)]
pub(super) struct Looks {
    best: String,
    narrow_in_a_row: u32,
}

impl Looks {
    /// Looks at half of the interval of the one that is the best now.
    pub(super) fn is_enough(&mut self, best: &str, half: Option<f64>) -> bool {
        let is_narrow = half.is_some_and(|half| half <= NARROW);
        let is_same = self.best == best;
        self.narrow_in_a_row = match (is_narrow, is_same) {
            (true, true) => self.narrow_in_a_row + 1,
            (true, false) => 1,
            (false, _) => 0,
        };
        best.clone_into(&mut self.best);
        self.narrow_in_a_row >= IN_A_ROW || half.is_some_and(|half| half <= NARROW / 2.0)
    }
}

impl<S: Subject> Run<'_, S> {
    /// All rounds.
    /// Errors: `Interrupted`; a load of the user's that is over.
    pub(super) fn rounds(&mut self) -> Result<(), SubjectError> {
        let mut round_ns = 0;
        let mut tried = self.plan.remedies.clone();
        let (mut round, mut are_few, mut has_pairs) = (0, false, false);
        let mut looks = Looks::default();
        let least = self.plan.rounds.max(1);
        while round < self.plan.rounds || !self.plan.is_exact && self.is_time(round_ns) {
            let round_began_ns = self.bench.clock.now_ns();
            let is_over = self.round(&mut tried, round)?;
            round += 1;
            if is_over || tried.is_empty() {
                break;
            }
            round_ns = self.bench.clock.now_ns().saturating_sub(round_began_ns);
            if round.is_multiple_of(least) {
                let names: Vec<String> = tried.iter().map(|tried| tried.name.clone()).collect();
                let stay = self.standing.better_half(&names);
                tried.retain(|tried| stay.contains(&tried.name));
                are_few |= tried.len() <= FEWEST + 1;
                if are_few && !has_pairs {
                    let pairs = pairs(&self.best_first(&tried));
                    has_pairs = !pairs.is_empty();
                    tried.extend(pairs);
                }
            } else if are_few && round > 2 * least && self.is_enough(&tried, &mut looks) {
                break;
            }
        }
        Ok(())
    }

    /// One round; what is refused is not tried again. Whether the time is over.
    /// Errors: as `rounds`; of what was not tried yet, a sample says why.
    fn round(&mut self, tried: &mut Vec<Tried>, round: u32) -> Result<bool, SubjectError> {
        let mut refused = Vec::new();
        let mut is_over = false;
        for number in 0..tried.len() {
            // The order turns, so that no remedy always comes after the same one.
            let place = (number + round as usize) % tried.len();
            let is_first = (round, number) == (0, 0);
            let may_end = self.plan.keeps_time && !is_first;
            is_over = may_end && !self.is_time(self.plan.pass_ns());
            if is_over {
                self.leave(&tried[number..], round, TIME_IS_OVER);
                break;
            }
            let passed = match self.pass(&tried[place], round) {
                // The load is over, for all that come after it too.
                Err(error @ SubjectError::Failed(_)) if !self.plan.command.is_empty() => {
                    return Err(error);
                }
                Err(SubjectError::Interrupted) => {
                    self.leave(&tried[number..], round, "interrupted before its first pass ended");
                    return Err(SubjectError::Interrupted);
                }
                passed => passed,
            };
            let blank = self.blank(&tried[place], StormStream::Read, round);
            if self.bench.taken(passed, blank)?.is_none() {
                refused.push(place);
            }
        }
        let mut place = 0;
        tried.retain(|_| (!refused.contains(&place), place += 1).0);
        self.bench.observer.cell_done();
        Ok(is_over)
    }

    /// The rest of the first round has no pass, for this reason; later there was one.
    fn leave(&mut self, rest: &[Tried], round: u32, reason: &str) {
        for tried in rest.iter().filter(|_| round == 0) {
            let mut blank = self.blank(tried, StormStream::Read, round);
            blank.judge(Judgement::not_measured(Doubt::refused(reason)));
            self.bench.observer.pass_done(blank);
        }
    }

    /// Whether there is time for what takes so long: another round, as long as the one before.
    fn is_time(&self, for_ns: u64) -> bool {
        let gone_ns = self.bench.clock.now_ns().saturating_sub(self.began_ns);
        self.plan.time_ns > 0 && gone_ns + for_ns <= self.plan.time_ns
    }

    /// Those that help so far, the best first.
    fn best_first(&self, tried: &[Tried]) -> Vec<Tried> {
        let score = |tried: &Tried| self.standing.score(&tried.name);
        let mut best: Vec<Tried> = tried.to_vec();
        best.retain(|tried| tried.name != NONE && score(tried) < 0.0);
        best.sort_by(|a, b| score(a).total_cmp(&score(b)));
        best
    }

    fn is_enough(&self, tried: &[Tried], looks: &mut Looks) -> bool {
        let others = tried.iter().filter(|tried| tried.name != NONE);
        let score = |tried: &&Tried| self.standing.score(&tried.name);
        let Some(best) = others.min_by(|a, b| score(a).total_cmp(&score(b))) else { return false };
        let logs = self.standing.ratios(&best.name);
        let half = self.surroundings.half_of(&logs, self.standing.tried());
        looks.is_enough(&best.name, half)
    }
}

/// Every two that change different things.
fn pairs(best: &[Tried]) -> Vec<Tried> {
    let mut pairs = Vec::new();
    for (place, first) in best.iter().enumerate() {
        for second in best.iter().skip(place + 1) {
            if first.kind != second.kind {
                pairs.push(Tried {
                    name: format!("{}+{}", first.name, second.name),
                    kind: format!("{}+{}", first.kind, second.kind),
                    writer: both(first.writer, second.writer),
                });
            }
        }
    }
    pairs
}

fn both(first: WriterChange, second: WriterChange) -> WriterChange {
    WriterChange {
        dribble: first.dribble.or(second.dribble),
        direct: first.direct || second.direct,
        priority: first.priority.or(second.priority),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::workload::IoPriority;

    #[test]
    fn pairs_are_of_different_kinds_and_have_both_changes() {
        let tried = |name: &str, kind: &str, writer| Tried {
            name: name.to_owned(),
            kind: kind.to_owned(),
            writer,
        };
        let none = WriterChange::default();
        let best = [
            tried("a", "Scheduler", none),
            tried("b", "Scheduler", none),
            tried("c", "Writer", WriterChange { direct: true, ..none }),
            tried("d", "Priority", WriterChange { priority: Some(IoPriority::Idle), ..none }),
        ];
        let found = pairs(&best);
        let names: Vec<&str> = found.iter().map(|pair| pair.name.as_str()).collect();
        assert_eq!(names, ["a+c", "a+d", "b+c", "b+d", "c+d"]);
        let last = found[4].writer;
        assert_eq!((last.direct, last.priority), (true, Some(IoPriority::Idle)));
    }

    #[test]
    fn enough_is_three_narrow_looks_at_the_same_one_or_a_very_narrow_one() {
        let looked = |halves: &[(&str, f64)]| {
            let mut looks = Looks::default();
            halves.iter().position(|(best, half)| looks.is_enough(best, Some(*half)))
        };
        assert_eq!(looked(&[("a", 0.3), ("a", 0.09), ("a", 0.09), ("a", 0.09)]), Some(3));
        assert_eq!(looked(&[("a", 0.09), ("b", 0.09), ("a", 0.09), ("a", 0.2)]), None);
        assert_eq!(looked(&[("a", 0.3), ("a", 0.04)]), Some(1));
        assert!(!Looks::default().is_enough("a", None));
    }
}

//! What the jobs of a pass waited for, moment by moment: a sweep over the steps of requests, in the
//! order of their arrival, in memory that grows with what is outstanding. Each moment is counted
//! once for each operation that can wait:
//!
//! - as many operations wait as there are requests of the jobs' own, and no more than jobs × depth;
//!   which step they wait for is shared out by how many requests are in each;
//! - a job that has none is idle or in fdatasync. For as many such jobs as there are at the least
//!   (jobs less own requests), a moment in which the journal has a request is one of waiting for
//!   the journal.
//!
//! A flush sequence is one request: between its parts it waits in the queue.
//!
//! Non-goals: whose a request is, and how long fdatasync took (`super`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// Requests of the jobs' own.
    Admission,
    Scheduler,
    Device,
    /// The journal's: anything but the device.
    Queue,
    /// Data that is to be written before the commit.
    Data,
    /// Metadata that is written to the log.
    Log,
    Preflush,
    Commit,
    Postflush,
    /// Not by itself: a flush sequence that is not completed, and a part of one that is with the
    /// device.
    OwnSequence,
    OwnPart,
    JournalSequence,
    JournalPart,
}

const STEPS: usize = 9;
/// As many of them are of own requests.
const OWN: usize = 3;
const ALL: usize = STEPS + 4;

/// Times by what was waited for, in ns × operations.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Waited([f64; STEPS]);

impl Waited {
    pub(super) fn of(&self, step: Step) -> f64 {
        self.0.get(step as usize).copied().unwrap_or(0.0)
    }

    pub(super) fn own_ns(&self) -> f64 {
        self.0[..OWN].iter().sum()
    }

    pub(super) fn journal_ns(&self) -> f64 {
        self.0[OWN..].iter().sum()
    }

    /// The same with no more of the journal's time than that.
    #[must_use]
    pub(super) fn with_journal_below(mut self, most_ns: f64) -> Self {
        let journal_ns = self.journal_ns();
        if journal_ns > most_ns {
            self.0[OWN..].iter_mut().for_each(|ns| *ns *= most_ns / journal_ns);
        }
        self
    }
}

/// A step begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    at_ns: i64,
    is_end: bool,
    step: Step,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Sweep {
    jobs: u64,
    depth: u64,
    now_ns: i64,
    end_ns: i64,
    changes: BinaryHeap<Reverse<Change>>,
    counts: [u64; ALL],
    waited: Waited,
}

impl Sweep {
    pub(super) fn new(jobs: u64, depth: u64, from_ns: i64, end_ns: i64) -> Self {
        Self { jobs: jobs.max(1), depth: depth.max(1), now_ns: from_ns, end_ns, ..Self::default() }
    }

    /// Lets the time pass until a request arrives.
    pub(super) fn advance(&mut self, to_ns: i64) {
        while let Some(Reverse(change)) = self.changes.peek().copied()
            && change.at_ns <= to_ns
        {
            self.changes.pop();
            self.pass(change.at_ns);
            if let Some(count) = self.counts.get_mut(change.step as usize) {
                *count = if change.is_end { count.saturating_sub(1) } else { *count + 1 };
            }
        }
        self.pass(to_ns);
    }

    /// A step of a request that arrived now, clipped to the pass.
    pub(super) fn step(&mut self, step: Step, from_ns: i64, to_ns: i64) {
        let (from_ns, to_ns) = (from_ns.max(self.now_ns), to_ns.min(self.end_ns));
        if from_ns < to_ns {
            self.changes.push(Reverse(Change { at_ns: from_ns, is_end: false, step }));
            self.changes.push(Reverse(Change { at_ns: to_ns, is_end: true, step }));
        }
    }

    fn count(&self, step: Step) -> u64 {
        self.counts.get(step as usize).copied().unwrap_or(0)
    }

    fn in_steps(&self) -> [u64; STEPS] {
        let between = |all, parts| self.count(all).saturating_sub(self.count(parts));
        let mut counts = [0; STEPS];
        counts.copy_from_slice(&self.counts[..STEPS]);
        counts[Step::Scheduler as usize] += between(Step::OwnSequence, Step::OwnPart);
        counts[Step::Queue as usize] += between(Step::JournalSequence, Step::JournalPart);
        counts
    }

    fn pass(&mut self, to_ns: i64) {
        let passed_ns = to_ns.saturating_sub(self.now_ns);
        if passed_ns <= 0 {
            return;
        }
        self.now_ns = to_ns;
        let counts = self.in_steps();
        let sum = |counts: &[u64]| counts.iter().sum::<u64>();
        let (own, journal) = (sum(&counts[..OWN]), sum(&counts[OWN..]));
        let waiting = [own.min(self.jobs * self.depth), self.jobs.saturating_sub(own)];
        let each = [(waiting[0], own), (waiting[1], journal)];
        let each = each.map(|(waiting, all)| passed_ns as f64 * waiting as f64 / all.max(1) as f64);
        for (step, (waited_ns, count)) in self.waited.0.iter_mut().zip(counts).enumerate() {
            *waited_ns += each[usize::from(step >= OWN)] * count as f64;
        }
    }

    /// What was waited for until the pass ended.
    pub(super) fn waited(&self) -> Waited {
        let mut rest = self.clone();
        rest.advance(self.end_ns.max(self.now_ns));
        rest.waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ANY: [Step; 6] =
        [Step::Admission, Step::Scheduler, Step::Device, Step::Log, Step::Preflush, Step::Commit];

    /// What a clock that looks at every ns counts.
    fn by_clock(steps: &[(i64, i64, usize)], slots: u64, jobs: u64, end: i64) -> (f64, f64) {
        let (mut own_ns, mut journal_ns) = (0, 0);
        for now in 0..end {
            let are = |is_own: bool| {
                let at = |s: &&(i64, i64, usize)| {
                    (s.0..s.0 + s.1).contains(&now) && (s.2 < OWN) == is_own
                };
                steps.iter().filter(at).count() as u64
            };
            own_ns += are(true).min(slots);
            journal_ns += if are(false) > 0 { jobs.saturating_sub(are(true)) } else { 0 };
        }
        (own_ns as f64, journal_ns as f64)
    }

    proptest! {
        /// However requests overlap: no moment is counted for more operations than can wait.
        #[test]
        fn each_moment_is_counted_once(
            mut steps in prop::collection::vec((0i64..300, 0i64..90, 0usize..6), 0..40),
            jobs in 1u64..4,
            depth in 1u64..4,
        ) {
            const END: i64 = 320;
            steps.sort_unstable();
            let mut sweep = Sweep::new(jobs, depth, 0, END);
            for (from, long, step) in &steps {
                sweep.advance(*from);
                sweep.step(ANY[*step], *from, from + long);
            }
            let waited = sweep.waited();
            let (own_ns, journal_ns) = by_clock(&steps, jobs * depth, jobs, END);
            prop_assert!((waited.own_ns() - own_ns).abs() < 1e-6, "{waited:?} {own_ns}");
            prop_assert!((waited.journal_ns() - journal_ns).abs() < 1e-6, "{waited:?} \
                {journal_ns}");
            let most = (jobs * depth * END as u64) as f64;
            prop_assert!(waited.own_ns() + waited.journal_ns() <= most + 1e-6);
            let below = waited.with_journal_below(7.0);
            prop_assert!(below.journal_ns() <= 7.0 + 1e-9 && below.own_ns() == waited.own_ns());
        }
    }
}

//! Requests that have no completion in the trace: they hang, or it is missing.
//!
//! Non-goals: which of the two it is, which a trace does not tell.

use super::taken::Taken;
use model::record::{Finding, Op, Request, Subject};

/// How many they are, and since when.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Unanswered {
    count: u64,
    first_ns: Option<i64>,
    /// Of traces that have ended.
    longest_ns: Option<i64>,
}

impl Unanswered {
    /// Adds a row. What is no reading, writing or making durable may go on for ever, and who waits
    /// for a request waits at the top of its stack.
    #[inline(always)]
    pub(super) fn add(&mut self, row: &Request, taken: &Taken) {
        if row.completed_ns.is_none() && row.op != Op::Other && row.above_id.is_none() {
            self.begin(taken.asked_ns());
        }
    }

    fn begin(&mut self, asked_ns: Option<i64>) {
        self.count += u64::from(asked_ns.is_some());
        self.first_ns = self.first_ns.into_iter().chain(asked_ns).min();
    }

    /// The trace has ended.
    pub(super) fn end(&mut self, last_ns: Option<i64>) {
        let took_ns = last_ns.zip(self.first_ns).map(|(last, first)| last.saturating_sub(first));
        (self.first_ns, self.longest_ns) = (None, self.longest_ns.max(took_ns));
    }

    /// Adds those of other rows, or of another trace that has ended.
    pub(super) fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.first_ns = self.first_ns.into_iter().chain(other.first_ns).min();
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }

    /// For how long the first of them has been under way at the trace's end.
    pub(super) fn finding(mut self, last_ns: Option<i64>) -> Option<Finding> {
        self.end(last_ns);
        let longest_ns = self.longest_ns? as f64;
        let method = "from arrival to the trace's last arrival or completion";
        let (run, name) = (Subject::this_run(), "unanswered_longest_ns");
        Some(Finding::new(&run, name, Some(longest_ns), self.count, method))
    }
}

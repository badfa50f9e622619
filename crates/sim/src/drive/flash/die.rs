//! A die in time: programs and erases one after the other, and reads that go before those that have
//! not begun.

use std::collections::VecDeque;

/// A program, an erase, or a read for a copy.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Work {
    /// For so long from its beginning on it cannot be suspended, ns.
    firm_ns: f64,
    length_ns: f64,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Die {
    /// When the first of the work began, or goes on.
    begin_ns: f64,
    work: VecDeque<Work>,
    /// All of it, ns.
    work_ns: f64,
    /// What collection is still to do, in between the host's programs.
    owed: VecDeque<Work>,
    /// Until when it reads for the host.
    reading_until_ns: f64,
    /// The last program of the host's data: its first slot, and its end.
    pub(super) last_program: Option<(u32, f64)>,
}

impl Die {
    /// When nothing is left to do.
    #[inline]
    pub(super) fn free_ns(&self) -> f64 {
        (self.begin_ns + self.work_ns).max(self.reading_until_ns)
    }

    /// Adds work behind what there is, from some time on; returns its end as far as is known.
    pub(super) fn add(&mut self, from_ns: f64, firm_ns: f64, length_ns: f64) -> f64 {
        if self.work.is_empty() {
            (self.begin_ns, self.work_ns) = (from_ns.max(self.reading_until_ns), 0.0);
        }
        let gap_ns = (from_ns - self.begin_ns - self.work_ns).max(0.0);
        let work = Work { firm_ns: firm_ns + gap_ns, length_ns: length_ns + gap_ns };
        self.work.push_back(work);
        self.work_ns += work.length_ns;
        self.begin_ns + self.work_ns
    }

    /// Notes work of collection, which is to be added in shares.
    pub(super) fn owe(&mut self, firm_ns: f64, length_ns: f64) {
        self.owed.push_back(Work { firm_ns, length_ns });
    }

    /// Adds one of so many shares of what collection is still to do.
    pub(super) fn add_share(&mut self, from_ns: f64, shares: u32) {
        for _ in 0..self.owed.len().div_ceil(shares.max(1) as usize) {
            let Some(Work { firm_ns, length_ns }) = self.owed.pop_front() else { return };
            self.add(from_ns, firm_ns, length_ns);
        }
    }

    /// Work that is over by then is forgotten.
    pub(super) fn forget(&mut self, now_ns: f64) {
        while let Some(first) = self.work.front() {
            let end_ns = self.begin_ns + first.length_ns;
            if end_ns > now_ns {
                return;
            }
            self.begin_ns = end_ns;
            self.work_ns -= first.length_ns;
            self.work.pop_front();
        }
        self.work_ns = 0.0;
    }

    /// Begins a read that comes at some time; returns when, which is after other reads, and when
    /// what is being done is suspended, or over.
    pub(super) fn begin_read(&mut self, at_ns: f64, suspend_ns: Option<f64>) -> f64 {
        let begin_ns = at_ns.max(self.reading_until_ns);
        self.forget(begin_ns);
        let Some(first) = self.work.front_mut() else { return begin_ns };
        let done_ns = begin_ns - self.begin_ns;
        if done_ns <= 0.0 {
            return begin_ns;
        }
        let (left_ns, end_ns) = (first.length_ns - done_ns, self.begin_ns + first.length_ns);
        match suspend_ns {
            Some(suspend_ns) if done_ns >= first.firm_ns && suspend_ns < left_ns => {
                *first = Work { firm_ns: 0.0, length_ns: left_ns };
                self.work_ns -= done_ns;
                self.begin_ns = begin_ns + suspend_ns;
            }
            _ => self.forget(end_ns),
        }
        self.begin_ns.max(begin_ns)
    }

    /// Ends the read; the work goes on.
    pub(super) fn end_read(&mut self, end_ns: f64) {
        self.reading_until_ns = end_ns;
        self.begin_ns = self.begin_ns.max(end_ns);
    }
}

//! Idle-priority loops: computing that takes whatever CPU time nothing else wants. What they do not
//! get through while a job runs is what the job, and all that worked for it, took. After the idle
//! loops of Bucher & Hayes (1980); fio's `--idle-prof` is the same loop, calibrated by wall time.
//!
//! Non-goals: being a job that does I/O.

use super::signal::Signal;
use model::seam::{Clock, Job, TimedCompletion, Turn};
use model::workload::Arithmetic;
use std::sync::Arc;

/// Registers only, so that it takes nothing but time.
pub(super) const ARITHMETIC: Arithmetic = Arithmetic::Register;

pub(crate) struct IdleLoad {
    signal: Arc<Signal>,
    loops_per_turn: u32,
    /// Loops that were begun while the job ran.
    pub(crate) loops: u64,
    is_marked: bool,
    is_ended: bool,
}

impl IdleLoad {
    pub(crate) fn new(signal: Arc<Signal>, loops_per_turn: u32) -> Self {
        Self { signal, loops_per_turn, loops: 0, is_marked: false, is_ended: false }
    }
}

impl Job for IdleLoad {
    #[inline(always)]
    fn turn<C: Clock>(&mut self, _clock: &C, _completion: Option<TimedCompletion>) -> Turn {
        if self.signal.is_running() {
            if !self.is_marked {
                self.is_marked = true;
                return Turn::Mark;
            }
            self.loops += u64::from(self.loops_per_turn);
        } else if self.signal.is_over() {
            // The second mark, if there was a first.
            return match (self.is_marked, std::mem::replace(&mut self.is_ended, true)) {
                (true, false) => Turn::Mark,
                _ => Turn::Done,
            };
        }
        Turn::Compute { arithmetic: ARITHMETIC, loops: self.loops_per_turn }
    }
}

/// A job that does nothing for a time: the machine by itself.
pub(crate) struct Pause {
    signal: Arc<Signal>,
    time_ns: u64,
    started_ns: Option<u64>,
    pub(crate) took_ns: u64,
}

impl Pause {
    pub(crate) fn new(signal: Arc<Signal>, time_ns: u64) -> Self {
        Self { signal, time_ns, started_ns: None, took_ns: 0 }
    }
}

impl Job for Pause {
    fn turn<C: Clock>(&mut self, clock: &C, _completion: Option<TimedCompletion>) -> Turn {
        let now_ns = clock.now_ns();
        let started_ns = *self.started_ns.get_or_insert_with(|| {
            self.signal.begin();
            now_ns
        });
        if now_ns >= started_ns.saturating_add(self.time_ns) {
            self.took_ns = now_ns - started_ns;
            self.signal.end();
            return Turn::Done;
        }
        Turn::Wait { min: 1, until_ns: started_ns.saturating_add(self.time_ns) }
    }
}

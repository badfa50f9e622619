//! How a job tells the idle-priority loops that it has begun and that it is over.

use std::sync::atomic::{AtomicU32, Ordering};

/// The state of the job that others run beside.
#[derive(Debug, Default)]
pub(crate) struct Signal(AtomicU32);

/// What follows 0, in which the job has not begun.
const RUNNING: u32 = 1;
const OVER: u32 = 2;

impl Signal {
    pub(crate) fn begin(&self) {
        self.0.store(RUNNING, Ordering::Release);
    }

    pub(crate) fn end(&self) {
        self.0.store(OVER, Ordering::Release);
    }

    pub(crate) fn is_running(&self) -> bool {
        self.0.load(Ordering::Acquire) == RUNNING
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.load(Ordering::Acquire) == OVER
    }
}

//! Virtual time, as an experiment sees it.

use model::seam::Clock;
use std::cell::Cell;
use std::rc::Rc;

/// A clock that shows what its machine's time is. Clones show the same.
#[derive(Debug, Clone, Default)]
pub struct VirtualClock(Rc<Cell<u64>>);

impl VirtualClock {
    /// Puts the clock on; the machine alone does.
    pub(crate) fn set_ns(&self, now_ns: u64) {
        self.0.set(now_ns);
    }
}

impl Clock for VirtualClock {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }

    fn precision_ns(&self) -> f64 {
        1.0
    }
}

//! How fast the job's core runs: the same computing, timed before and after each pass. A core
//! that runs slower than at its best is shared, by the other thread of a core, by the hypervisor, or it
//! is slowed; nothing in the kernel's accounts shows that, and every CPU time grows with it.
//! After Bucher & Hayes (1980), who discarded "occasional skewed values caused by system
//! disturbances": here the disturbance is seen by itself, and not by the value that it skews.
//!
//! Non-goals: what shares the core; disturbances within a pass.

use model::seam::{Clock, Turn};

/// The best of so many pieces counts: an interrupt in one of them is none of the core's.
const PIECES: u32 = 6;
/// Time of one piece.
pub(super) const PIECE_NS: f64 = 20_000.0;

/// A gauge that is at work.
#[derive(Debug, Clone)]
pub(super) struct Gauge {
    loops: u32,
    pieces_left: u32,
    began_ns: u64,
    best_ns: u64,
}

impl Gauge {
    /// With so many loops a piece.
    pub(super) fn new(loops: u32) -> Self {
        Self { loops, pieces_left: PIECES, began_ns: 0, best_ns: u64::MAX }
    }

    /// The next piece; none when all are done.
    pub(super) fn turn<C: Clock>(&mut self, clock: &C) -> Option<Turn> {
        let now_ns = clock.now_ns();
        if self.pieces_left < PIECES {
            self.best_ns = self.best_ns.min(now_ns - self.began_ns);
        }
        self.pieces_left = self.pieces_left.checked_sub(1)?;
        self.began_ns = clock.now_ns();
        Some(Turn::Compute { loops: self.loops })
    }

    /// Time of a loop at its best, ns.
    pub(super) fn loop_ns(&self) -> f64 {
        self.best_ns as f64 / f64::from(self.loops)
    }
}

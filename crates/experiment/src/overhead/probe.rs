//! How fast the job's core runs: pages copied from a large array, a few of them every millisecond
//! of a pass. On a core that is shared, by its other thread or by a hypervisor, every CPU time
//! grows, here by a fifth and more, and no account of the kernel shows it; a chain of
//! multiplications does not either, for it leaves most of the core idle. Copies like those of the
//! I/O itself do: over stretches of some 35 ms their slowing and that of cached reads go together
//! (r = 0.89 to 0.92 in two trials). Where several channels keep requests outstanding, only the
//! beginning of the pass is looked at.
//!
//! Bucher & Hayes (1980) discarded "occasional skewed values caused by system disturbances"; here
//! the disturbance is measured by itself, and not by the value that it skews.
//!
//! Non-goals: what shares the core.

use model::seam::{Clock, Turn};
use model::workload::Arithmetic;

/// What it computes with.
pub(super) const ARITHMETIC: Arithmetic = Arithmetic::Pages;
/// Time of one piece, roughly, and from one piece to the next.
pub(super) const PIECE_NS: f64 = 20_000.0;
const EVERY_NS: u64 = 1_000_000;

/// A core-speed probe at work.
#[derive(Debug, Clone)]
pub(super) struct SpeedProbe {
    loops_per_piece: u32,
    /// When the present piece began; none between pieces.
    began_ns: Option<u64>,
    next_ns: u64,
    total_ns: u64,
    least_ns: u64,
    pieces: u64,
}

impl SpeedProbe {
    /// With so many loops a piece.
    pub(super) fn new(loops_per_piece: u32) -> Self {
        Self {
            loops_per_piece,
            began_ns: None,
            next_ns: 0,
            total_ns: 0,
            least_ns: u64::MAX,
            pieces: 0,
        }
    }

    /// Whether a piece is due, or has to be ended.
    #[inline(always)]
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.next_ns
    }

    /// A piece; none when it is over, with the time that it took.
    #[cold]
    pub(super) fn turn<C: Clock>(&mut self, clock: &C) -> Result<Turn, u64> {
        let now_ns = clock.now_ns();
        match self.began_ns.take() {
            None => {
                self.began_ns = Some(now_ns);
                Ok(Turn::Compute { arithmetic: ARITHMETIC, loops: self.loops_per_piece })
            }
            Some(began_ns) => {
                let took_ns = now_ns - began_ns;
                self.total_ns += took_ns;
                self.least_ns = self.least_ns.min(took_ns);
                self.pieces += 1;
                self.next_ns = now_ns + EVERY_NS;
                Err(took_ns)
            }
        }
    }

    /// Time of a loop, in the mean of all pieces; none without a piece.
    pub(super) fn loop_ns(&self) -> Option<f64> {
        let loops = self.pieces * u64::from(self.loops_per_piece);
        (loops > 0).then(|| self.total_ns as f64 / loops as f64)
    }

    /// Time of a loop in the quickest piece; none without a piece.
    pub(super) fn least_loop_ns(&self) -> Option<f64> {
        (self.pieces > 0).then(|| self.least_ns as f64 / f64::from(self.loops_per_piece))
    }

    pub(super) fn total_ns(&self) -> u64 {
        self.total_ns
    }
}

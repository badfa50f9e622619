//! Writing to the platter, track by track, as the data come over the bus.

use super::layout::Run;
use super::mechanics::{Arm, Mechanics};
use super::reading::Landing;

/// Blocks on their way to the platter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writing<'a> {
    pub(super) mechanics: &'a Mechanics,
    /// The first of them.
    pub(super) block: u64,
    pub(super) blocks: u64,
    /// Any order on a track will do.
    pub(super) is_any_order: bool,
    /// Blocks that must be in the buffer before the first is written.
    pub(super) needs: u64,
    /// The least time to come to the first.
    pub(super) minimum_seek_ns: f64,
    /// Blocks that the buffer holds.
    pub(super) room: u64,
    /// When the bus begins with the first block, ns.
    pub(super) bus_ns: f64,
    pub(super) bus_block_ns: f64,
}

/// When it was done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Written {
    /// The last block was in the buffer.
    pub(super) bus_ns: f64,
    /// The last block was on the platter.
    pub(super) media_ns: f64,
    /// Where the arm was then.
    pub(super) arm: Arm,
}

/// A block is written if it is in the buffer when its sector begins; this much later will do, since
/// times are sums.
const SLACK_NS: f64 = 1e-3;

impl Writing<'_> {
    /// Writes all, beginning at some time with the arm somewhere. `in_buffer` and `on_platter` are
    /// scratch.
    pub(super) fn run(
        &self,
        arm: Arm,
        now_ns: f64,
        in_buffer: &mut Vec<f64>,
        on_platter: &mut Vec<f64>,
    ) -> Written {
        in_buffer.clear();
        on_platter.clear();
        let (mut arm, mut now_ns) = (arm, now_ns);
        let mut minimum_ns = self.minimum_seek_ns;
        let end = self.block + self.blocks;
        let mut next = self.block;
        while next < end {
            let run = self.mechanics.layout.run(next);
            let to = Arm::over(&run);
            now_ns += self.mechanics.position_ns(arm, to, true).max(minimum_ns);
            (arm, minimum_ns) = (to, 0.0);
            let last = end.min(run.end);
            now_ns = match self.out_of_order(&run, next, last, now_ns, in_buffer, on_platter) {
                Some(done_ns) => done_ns,
                None => self.in_order(&run, next, last, now_ns, in_buffer, on_platter),
            };
            next = last;
        }
        let bus_ns = in_buffer.last().copied().unwrap_or(self.bus_ns);
        Written { bus_ns, media_ns: now_ns, arm }
    }

    /// Brings blocks up to one (by its number among them) over the bus, as far as there is room;
    /// tells when it came.
    fn arrival_ns(&self, index: u64, in_buffer: &mut Vec<f64>, on_platter: &[f64]) -> f64 {
        while (in_buffer.len() as u64) <= index {
            let number = in_buffer.len();
            let before_ns = in_buffer.last().copied().unwrap_or(self.bus_ns);
            let room = number.checked_sub(self.room as usize).and_then(|left| on_platter.get(left));
            let begin_ns = room.map_or(before_ns, |left_ns| before_ns.max(*left_ns));
            in_buffer.push(begin_ns + self.bus_block_ns);
        }
        in_buffer[index as usize]
    }

    fn in_order(
        &self,
        run: &Run,
        first: u64,
        last: u64,
        now_ns: f64,
        in_buffer: &mut Vec<f64>,
        on_platter: &mut Vec<f64>,
    ) -> f64 {
        let revolution_ns = self.mechanics.revolution_ns;
        let sector_ns = run.sector_angle * revolution_ns;
        let mut begin_ns = Landing::new(self.mechanics, now_ns, run, first).wanted_ns;
        for block in first..last {
            let index = block - self.block;
            let needed = index.max(self.needs - 1);
            let arrival_ns = self.arrival_ns(needed, in_buffer, on_platter);
            if arrival_ns > begin_ns + SLACK_NS {
                let revolutions = ((arrival_ns - SLACK_NS - begin_ns) / revolution_ns).ceil();
                begin_ns += revolutions * revolution_ns;
            }
            begin_ns += sector_ns;
            on_platter.push(begin_ns);
        }
        begin_ns
    }

    /// From where the heads landed, if that is among the blocks to be written and all are in the
    /// buffer by then.
    fn out_of_order(
        &self,
        run: &Run,
        first: u64,
        last: u64,
        now_ns: f64,
        in_buffer: &mut Vec<f64>,
        on_platter: &mut Vec<f64>,
    ) -> Option<f64> {
        let is_room = self.is_any_order && last - self.block <= self.room;
        let landing = is_room.then(|| Landing::new(self.mechanics, now_ns, run, first))?;
        let (begin, begin_ns) = landing.within.filter(|(block, _)| *block < last)?;
        let arrival_ns = self.arrival_ns(last - 1 - self.block, in_buffer, on_platter);
        if arrival_ns > begin_ns {
            return None;
        }
        let sector_ns = run.sector_angle * self.mechanics.revolution_ns;
        let done_ns = landing.wanted_ns + (begin - first) as f64 * sector_ns;
        on_platter.resize((last - self.block) as usize, done_ns);
        Some(done_ns)
    }
}

//! Buffers between a drive and a bus: how far a transfer gets before the buffer overruns (reading)
//! or runs dry (writing), because the bus is slower than the drive.
//!
//! Where that happens, the rest of the transfer waits for its sector to come round again: "data
//! late".

use super::Transfer;
use sim::drive::{Arm, Mechanics};

/// How many sectors pass in one go: the buffer's, and those that the bus carries off meanwhile.
pub(crate) fn run_sectors(
    buffer_sectors: u32,
    drive_bytes_per_s: f64,
    bus_bytes_per_s: f64,
) -> u32 {
    let kept_up = (bus_bytes_per_s / drive_bytes_per_s).min(1.0);
    // Rates that differ by rounding alone are the same.
    if kept_up > 1.0 - 1e-9 {
        return u32::MAX;
    }
    (f64::from(buffer_sectors) / (1.0 - kept_up)).floor().max(1.0) as u32
}

/// The course of a transfer on a drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Course {
    /// When its first sector comes under the heads, ns.
    pub(crate) begin_ns: f64,
    /// When its last sector is through, ns.
    pub(crate) end_ns: f64,
    /// How long data moved in between, ns.
    pub(crate) data_ns: f64,
    /// Where the arm stands then.
    pub(crate) arm: Arm,
}

/// Moves the arm to a block as soon as possible, and its sectors under the heads, with a stop after
/// each run.
pub(crate) fn course(
    mechanics: &Mechanics,
    now_ns: f64,
    mut arm: Arm,
    transfer: &Transfer,
    run_sectors: u32,
) -> Course {
    let (mut at_ns, mut begin_ns, mut data_ns) = (now_ns, None, 0.0);
    let Transfer { mut block, sectors: mut left, is_write, .. } = *transfer;
    while left > 0 {
        let spot = mechanics.layout.spot(block);
        let to = Arm { cylinder: spot.cylinder, head: spot.head };
        at_ns += mechanics.position_ns(arm, to, is_write);
        arm = to;
        at_ns += mechanics.rotate_ns(at_ns, spot.angle);
        begin_ns.get_or_insert(at_ns);
        let run = left.min(spot.left_on_track).min(run_sectors);
        let run_ns = f64::from(run) * mechanics.sector_ns(&spot);
        at_ns += run_ns;
        data_ns += run_ns;
        block += u64::from(run);
        left -= run;
        if left > 0 && run == run_sectors {
            // The buffer is full, or dry: by the time that it is not, the next sector is past.
            at_ns += mechanics.sector_ns(&spot) * 0.5;
        }
    }
    Course { begin_ns: begin_ns.unwrap_or(now_ns), end_ns: at_ns, data_ns, arm }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CATALOG;

    fn eagle() -> Mechanics {
        Mechanics::read(&CATALOG.load("eagle").unwrap().reader().below("drive")).unwrap()
    }

    #[test]
    fn a_bus_that_keeps_up_never_stops_a_transfer() {
        assert_eq!(run_sectors(1, 1.6e6, 2e6), u32::MAX);
        assert_eq!(run_sectors(1, 1.6e6, 1.6e6), u32::MAX);
        // Half of each sector is carried off while it comes: the buffer of one is full after two.
        assert_eq!(run_sectors(1, 2e6, 1e6), 2);
        assert_eq!(run_sectors(52, 2e6, 1e6), 104);
        assert_eq!(run_sectors(1, 2e6, 1e3), 1);
    }

    #[test]
    fn a_block_takes_its_share_of_a_revolution_and_each_stop_a_whole_one() {
        let eagle = eagle();
        let revolution_ns = 60e9 / 3961.0;
        let block = Transfer { number: 0, drive: 0, block: 16, sectors: 16, is_write: false };
        let smooth = course(&eagle, 0.0, Arm::default(), &block, u32::MAX);
        assert!((smooth.begin_ns - revolution_ns / 3.0).abs() < 1.0);
        assert!((smooth.end_ns - revolution_ns * 2.0 / 3.0).abs() < 1.0);
        let halting = course(&eagle, 0.0, Arm::default(), &block, 8);
        assert!((halting.end_ns - smooth.end_ns - revolution_ns).abs() < 1.0);
        assert!((halting.data_ns - smooth.data_ns).abs() < 1.0);
    }
}

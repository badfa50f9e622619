//! A channel: a controller of two one-sector buffers, used alternately, and the drive at its end,
//! which is a spindle of its own. As long as the next call comes in time, a whole cylinder streams
//! without losing a revolution.
//!
//! What in time means: while the last sector of a read goes from one buffer to memory, the next one
//! fills the other buffer; so a call that goes on where the last one ended may come up to a
//! sector's time later. A write is completed when its last sector has gone from memory into a
//! buffer and begins to be written; so the next call's data may come up to a sector's time after
//! that.
//!
//! Source: Bucher & Hayes (1980), section 3; Cray's 819 controller (SIMULATORS.md, section 0).
//! Non-goals: errors and retries, the channel's own rate (which is far above a drive's),
//! fluctuation of the rotation rate (the paper: ± 2 %).

use sim::drive::{Arm, Mechanics};
use std::collections::VecDeque;

sim::parameters! {
    /// What a controller of this kind is told by its profile.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Controller(reader) {
        /// Sector buffers: one is at work, the other ones are ahead of it or behind it.
        pub buffers: u64 = reader.count_in("buffers", 1..=2);
        /// Sectors that are read ahead into the other buffer.
        pub read_ahead: u32 = reader.count_in("read_ahead", 0..=buffers - 1).map(|n| n as u32);
        /// Sectors of a write that are still in a buffer when it is completed.
        pub write_behind: u32 = reader.count_in("write_behind", 0..=buffers - 1).map(|n| n as u32);
        /// The arm goes to the next cylinder as soon as a transfer has reached the end of one, and
        /// the transfer is completed after that: the revolution is missed apart from that of the
        /// next call, as the paper adds them. Else it goes with the next call, and both are one.
        pub changes_cylinder_first: bool = reader.one_of(
            "cylinder_change",
            &[("before the answer", true), ("with the next call", false)],
        );
    }
}

/// A transfer that a channel was told to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Command {
    /// Whose it is: job and token.
    pub(super) owner: (usize, u32),
    /// Write, or read.
    pub(super) is_write: bool,
    /// The first sector, as the file counts them.
    pub(super) sector: u64,
    /// How many.
    pub(super) sectors: u64,
    /// A sector of data to so many sectors of the track.
    pub(super) spacing: u32,
    /// It goes over sectors that were transferred already.
    pub(super) is_again: bool,
    /// Another one will go over its last sector again: the arm stays there.
    pub(super) stays: bool,
    /// When it came, ns.
    pub(super) at_ns: f64,
}

/// What happens at a channel, and at what time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A sector has come, or is about to go.
    Sector,
    /// The transfer is to be completed.
    TimedCompletion,
    /// The drive is ready for another one.
    Free,
}

pub(super) type Due = (f64, Step);

#[derive(Debug, Clone, Copy)]
struct Transfer {
    command: Command,
    /// Sectors that are dealt with.
    done: u64,
    /// The slot at which the present sector begins.
    slot: i64,
}

/// A controller with its drive.
#[derive(Debug, Clone)]
pub(super) struct Channel {
    controller: Controller,
    mechanics: Mechanics,
    slot_ns: f64,
    slots: i64,
    phase_ns: f64,
    arm: Arm,
    /// Where the last transfer ended: the next sector, the slot at which it would begin, and
    /// whether it wrote.
    next: Option<(u64, i64, bool)>,
    present: Option<Transfer>,
    waiting: VecDeque<Command>,
}

impl Channel {
    /// A channel whose drive's index comes under the heads `phase` of a revolution after time 0.
    pub(super) fn new(controller: Controller, mechanics: Mechanics, phase: f64) -> Self {
        let slots = i64::from(mechanics.layout.spot(0).left_on_track);
        let slot_ns = mechanics.revolution_ns / slots as f64;
        let phase_ns = phase * mechanics.revolution_ns;
        Self {
            controller,
            mechanics,
            slot_ns,
            slots,
            phase_ns,
            arm: Arm::default(),
            next: None,
            present: None,
            waiting: VecDeque::new(),
        }
    }

    /// The place on the disk of a sector of the file.
    fn block(&self, sector: u64, spacing: u32) -> u64 {
        let (slots, spacing) = (self.slots.unsigned_abs(), u64::from(spacing));
        let on_track = (slots / spacing).max(1);
        sector / on_track * slots + sector % on_track * spacing
    }

    /// Whether a transfer would have to move the arm.
    pub(super) fn seeks(&self, sector: u64, spacing: u32) -> bool {
        self.arm_at(self.block(sector, spacing)).cylinder != self.arm.cylinder
    }

    fn arm_at(&self, block: u64) -> Arm {
        let spot = self.mechanics.layout.spot(block);
        Arm { cylinder: spot.cylinder, head: spot.head }
    }

    fn slot_at_ns(&self, slot: i64) -> f64 {
        self.phase_ns + slot as f64 * self.slot_ns
    }

    /// The first slot that begins at a time or after it; rounding must not cost a revolution.
    fn slot_from(&self, at_ns: f64) -> i64 {
        ((at_ns - self.phase_ns) / self.slot_ns - 1e-6).ceil() as i64
    }

    /// The first slot from one on at which a block begins.
    fn slot_of(&self, block: u64, from: i64) -> i64 {
        let wanted = i64::from(self.mechanics.layout.spot(block).sector);
        from + (wanted - from).rem_euclid(self.slots)
    }

    /// Moves the arm, from a time on, and says at which slot the block then begins.
    fn reach(&mut self, block: u64, from_ns: f64, is_write: bool) -> i64 {
        let to = self.arm_at(block);
        let seek_ns = self.mechanics.position_ns(self.arm, to, is_write);
        self.arm = to;
        self.slot_of(block, self.slot_from(from_ns + seek_ns))
    }

    pub(super) fn command(&mut self, command: Command) -> Option<Due> {
        self.waiting.push_back(command);
        self.begin(command.at_ns)
    }

    /// The next command, if the drive is free for it.
    fn begin(&mut self, now_ns: f64) -> Option<Due> {
        if self.present.is_some() {
            return None;
        }
        let command = self.waiting.pop_front()?;
        let block = self.block(command.sector, command.spacing);
        let slot = match self.next {
            Some((sector, slot, is_write))
                if sector == command.sector
                    && is_write == command.is_write
                    && self.arm_at(block).cylinder == self.arm.cylinder =>
            {
                let ahead = if is_write { 0 } else { self.controller.read_ahead };
                let from_ns = command.at_ns - f64::from(ahead) * self.slot_ns;
                self.arm = self.arm_at(block);
                self.slot_of(block, self.slot_from(from_ns).max(slot))
            }
            _ => self.reach(block, now_ns.max(command.at_ns), command.is_write),
        };
        let transfer = Transfer { command, done: 0, slot };
        self.present = Some(transfer);
        Some((self.sector_at_ns(&transfer).max(now_ns), Step::Sector))
    }

    /// When a sector is in memory, or when it is taken from there.
    fn sector_at_ns(&self, transfer: &Transfer) -> f64 {
        self.slot_at_ns(transfer.slot + i64::from(!transfer.command.is_write))
    }

    /// A sector is dealt with: the next one, or the end. Gives the owner too.
    pub(super) fn sector(&mut self) -> Option<(Command, [Option<Due>; 2])> {
        let mut transfer = self.present?;
        let command = transfer.command;
        transfer.done += 1;
        let sector = command.sector + transfer.done;
        let ended = transfer.slot + 1;
        let block = self.block(sector, command.spacing);
        let is_last = transfer.done == command.sectors;
        let is_at_edge = self.arm_at(block).cylinder != self.arm.cylinder;
        let is_past = block >= self.mechanics.layout.blocks;
        let goes_ahead = self.controller.changes_cylinder_first && !command.stays && !is_past;
        if is_last && !(is_at_edge && goes_ahead) {
            return Some((command, self.end(command, ended, ended)));
        }
        let ended_ns = self.slot_at_ns(ended);
        let slot = match is_at_edge {
            true => self.reach(block, ended_ns, command.is_write),
            false => {
                self.arm = self.arm_at(block);
                self.slot_of(block, ended)
            }
        };
        if is_last {
            return Some((command, self.end(command, slot, slot)));
        }
        transfer.slot = slot;
        self.present = Some(transfer);
        Some((command, [Some((self.sector_at_ns(&transfer), Step::Sector)), None]))
    }

    /// A write is completed before the drive is free.
    fn end(&mut self, command: Command, next_slot: i64, free: i64) -> [Option<Due>; 2] {
        self.next = Some((command.sector + command.sectors, next_slot, command.is_write));
        let behind = if command.is_write { self.controller.write_behind } else { 0 };
        let completed = free - i64::from(behind);
        [
            Some((self.slot_at_ns(completed), Step::TimedCompletion)),
            Some((self.slot_at_ns(free), Step::Free)),
        ]
    }

    /// The drive is free: the next command.
    pub(super) fn free(&mut self, now_ns: f64) -> Option<Due> {
        self.present = None;
        self.begin(now_ns)
    }

    /// Whose transfer is going on.
    pub(super) fn present(&self) -> Option<Command> {
        self.present.map(|transfer| transfer.command)
    }

    /// Forgets transfers; the drive stays where it is.
    pub(super) fn reset(&mut self) {
        self.present = None;
        self.waiting.clear();
        self.next = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CATALOG;

    const SECTOR_NS: f64 = 1e9 / 60.0 / 18.0;
    const REVOLUTION_NS: f64 = 1e9 / 60.0;

    fn channel(changes_cylinder_first: bool) -> Channel {
        let drive = CATALOG.load("dd-19").unwrap();
        let mechanics = Mechanics::read(&drive.reader().below("drive")).unwrap();
        let controller =
            Controller { buffers: 2, read_ahead: 1, write_behind: 1, changes_cylinder_first };
        Channel::new(controller, mechanics, 0.0)
    }

    fn command(is_write: bool, sector: u64, sectors: u64, at_ns: f64) -> Command {
        Command {
            owner: (0, 0),
            is_write,
            sector,
            sectors,
            spacing: 1,
            is_again: false,
            stays: false,
            at_ns,
        }
    }

    /// Does a command to its end: when it is completed, and when the drive is free, in sectors'
    /// times.
    fn done(channel: &mut Channel, command: Command) -> (f64, f64) {
        assert!(channel.command(command).is_some());
        loop {
            let (_, dues) = channel.sector().unwrap();
            if let [Some((completed_ns, Step::TimedCompletion)), Some((free_ns, Step::Free))] = dues
            {
                assert_eq!(channel.free(free_ns), None);
                return (completed_ns / SECTOR_NS, free_ns / SECTOR_NS);
            }
        }
    }

    fn assert_near(found: (f64, f64), expected: (f64, f64)) {
        let is_near = |a: f64, b: f64| (a - b).abs() < 1e-3;
        assert!(is_near(found.0, expected.0) && is_near(found.1, expected.1), "{found:?}");
    }

    #[test]
    fn a_read_that_goes_on_within_a_sectors_time_loses_nothing() {
        for (late, end) in [(0.1, 4.0), (0.99, 4.0), (1.01, 22.0), (18.9, 22.0), (19.1, 40.0)] {
            let mut channel = channel(true);
            assert_near(done(&mut channel, command(false, 0, 2, 0.0)), (2.0, 2.0));
            let next = command(false, 2, 2, (2.0 + late) * SECTOR_NS);
            assert_near(done(&mut channel, next), (end, end));
        }
    }

    #[test]
    fn a_write_is_completed_a_sectors_time_before_the_drive_is_free() {
        for (late, end) in [(0.1, 4.0), (0.99, 4.0), (1.01, 22.0)] {
            let mut channel = channel(true);
            assert_near(done(&mut channel, command(true, 0, 2, 0.0)), (1.0, 2.0));
            let next = command(true, 2, 2, (1.0 + late) * SECTOR_NS);
            assert_near(done(&mut channel, next), (end - 1.0, end));
        }
    }

    #[test]
    fn what_does_not_go_on_waits_for_its_sector() {
        let mut channel = channel(true);
        assert_near(done(&mut channel, command(false, 5, 1, 0.0)), (6.0, 6.0));
        // The same sector again; another track of the cylinder at once; a write where a read was.
        assert_near(done(&mut channel, command(false, 5, 1, 6.5 * SECTOR_NS)), (24.0, 24.0));
        assert_near(done(&mut channel, command(false, 18 + 7, 1, 24.5 * SECTOR_NS)), (26.0, 26.0));
        assert_near(done(&mut channel, command(true, 26, 1, 26.5 * SECTOR_NS)), (44.0, 45.0));
    }

    #[test]
    fn a_cylinders_end_takes_a_revolution_before_the_completion_or_with_the_next_call() {
        // A cylinder is ten revolutions; its last sector ends at 180.
        for (first, completed, next) in [(true, 198.0, 199.0), (false, 180.0, 199.0)] {
            let mut channel = channel(first);
            assert_near(done(&mut channel, command(false, 0, 180, 0.0)), (completed, completed));
            // A call that misses a revolution hides the arm's way in it only where the arm goes
            // with it.
            let missed = if first { next + 18.0 } else { next };
            let late = command(false, 180, 1, (completed + 1.5) * SECTOR_NS);
            assert_near(done(&mut channel, late), (missed, missed));
        }
        let mut channel = channel(true);
        // Within a transfer it is one revolution anyhow.
        let across = done(&mut channel, command(false, 179, 2, 0.0));
        assert_near(across, (18.0 + 18.0 + 1.0, 37.0));
    }

    #[test]
    fn every_second_sector_is_half_as_dense() {
        let mut channel = channel(true);
        let sparse = Command { spacing: 2, ..command(false, 0, 9, 0.0) };
        assert_near(done(&mut channel, sparse), (17.0, 17.0));
        let next = Command { spacing: 2, ..command(false, 9, 9, 17.5 * SECTOR_NS) };
        assert_near(done(&mut channel, next), (35.0, 35.0));
    }

    #[test]
    fn commands_wait_for_the_drive() {
        let mut channel = channel(true);
        assert!(channel.command(command(false, 0, 1, 0.0)).is_some());
        assert_eq!(channel.command(command(false, 1, 1, 0.0)), None);
        let (_, dues) = channel.sector().unwrap();
        let [_, Some((free_ns, Step::Free))] = dues else { panic!("{dues:?}") };
        let (at_ns, step) = channel.free(free_ns).unwrap();
        assert_eq!(step, Step::Sector);
        assert!((at_ns - 2.0 * SECTOR_NS).abs() < 1.0 && REVOLUTION_NS > at_ns);
        assert!(channel.seeks(180, 1) && !channel.seeks(179, 1));
    }
}

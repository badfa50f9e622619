//! DEC's UDA50 on a UNIBUS, with 4.2BSD's driver `uda.c`: it takes commands for several blocks,
//! orders nothing that the driver could order, buffers whole blocks, and moves data for all its
//! drives at once.
//!
//! A command costs its firmware `command_overhead` and its response `response_overhead`, one after
//! another. A read goes into the buffers as its sectors come and from there over the UNIBUS; a
//! write is fetched over the UNIBUS and put on the drive when so much is there that it will not run
//! dry. One block at a time is on the UNIBUS. A drive's next command is begun when the one before
//! is through, its bus transfer included (`overlaps` lets it begin when the heads are free).
//!
//! Non-goals: revectoring, the port's packets one by one, maintenance. Its own ordering of commands
//! is that of their arrival: the paper's files leave nothing to order.

use super::buffer::{course, run_sectors};
use super::outstanding::Outstanding;
use super::{Controller, DriverWork, Parts, Signal, Traffic, Transfer, What, Wishes};
use crate::bus::MemoryBus;
use sim::drive::{Arm, Mechanics};
use sim::profile::{ProfileError, Reader};
use sim::queue::{DriverQueue, Position};
use std::collections::VecDeque;

sim::parameters! {
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Settings(reader) {
        command_overhead_ns: f64 = reader.time_ns("command_overhead");
        response_overhead_ns: f64 = reader.time_ns("response_overhead");
        /// Commands that it takes at once.
        credits: usize = reader.count_in("credits", 1..=1024).map(|n| n as usize);
        buffer_sectors: u32 = reader.count_in("buffer_sectors", 1..=65_536).map(|n| n as u32);
        overlaps: bool = reader.is("overlaps");
        /// Drives that move data at once.
        data_paths: usize = reader.count_in("data_paths", 1..=64).map(|n| n as usize);
    }
}

#[derive(Debug)]
struct Unit {
    mechanics: Mechanics,
    /// What its platter is ahead of the machine's clock, ns.
    phase_ns: f64,
    /// What the driver holds back for want of credits.
    held_back: Box<dyn DriverQueue>,
    commands: VecDeque<Transfer>,
    arm: Arm,
    /// The command that the drive is at.
    current: Option<Transfer>,
    /// What the bus moves for it, in order: the block of a read, or nothing to wait for.
    on_bus: VecDeque<Option<Transfer>>,
    /// Done, and not yet noticed by the driver.
    completed: VecDeque<Transfer>,
    traffic: Traffic,
}

#[derive(Debug)]
pub(crate) struct Uda50 {
    settings: Settings,
    work: DriverWork,
    bus: MemoryBus,
    units: Vec<Unit>,
    outstanding: usize,
    firmware_free_ns: f64,
    bus_free_ns: f64,
    bus_busy_ns: f64,
    moving: u32,
    /// From when to when data paths are taken, ns.
    paths: Vec<(f64, f64)>,
    transfers: Outstanding,
}

impl Uda50 {
    pub(crate) fn read(reader: &Reader, parts: Parts) -> Result<Self, ProfileError> {
        let settings = Settings::read(reader)?;
        let unit = |(mechanics, phase_ns): (Mechanics, f64)| Unit {
            mechanics,
            phase_ns,
            held_back: parts.policy.queue(),
            commands: VecDeque::new(),
            arm: Arm::default(),
            current: None,
            on_bus: VecDeque::new(),
            completed: VecDeque::new(),
            traffic: Traffic::default(),
        };
        Ok(Self {
            settings,
            work: parts.work,
            units: parts.spindles.into_iter().map(unit).collect(),
            bus: parts.bus,
            outstanding: 0,
            firmware_free_ns: 0.0,
            bus_free_ns: 0.0,
            bus_busy_ns: 0.0,
            moving: 0,
            paths: Vec::new(),
            transfers: Outstanding::default(),
        })
    }

    /// Gives the controller what its credits allow, from the drive with the fewest commands there.
    fn send(&mut self, now_ns: u64, wishes: &mut Wishes) {
        while self.outstanding < self.settings.credits {
            let emptiest = (0..self.units.len()).min_by_key(|drive| {
                let unit = &self.units[*drive];
                (unit.held_back.is_empty(), unit.commands.len())
            });
            let Some(drive) = emptiest else { return };
            let unit = &mut self.units[drive];
            let position = Position { cylinder: unit.arm.cylinder, now_ns };
            let Some(next) = unit.held_back.pop(position) else { return };
            let Some(transfer) = self.transfers.get(next.number) else { continue };
            unit.commands.push_back(transfer);
            self.outstanding += 1;
            self.begin(now_ns, drive, wishes);
        }
    }

    /// The firmware turns to a drive's next command, if the drive is free.
    fn begin(&mut self, now_ns: u64, drive: usize, wishes: &mut Wishes) {
        let unit = &mut self.units[drive];
        if unit.current.is_some() {
            return;
        }
        let Some(transfer) = unit.commands.pop_front() else { return };
        unit.current = Some(transfer);
        self.firmware_free_ns =
            self.firmware_free_ns.max(now_ns as f64) + self.settings.command_overhead_ns;
        let understood = Signal { drive, what: What::Understood };
        wishes.later.push((self.firmware_free_ns.ceil() as u64, understood));
    }

    /// Reserves the bus for a block from that time on; when it is through.
    fn move_block(&mut self, drive: usize, from_ns: f64, bytes: f64, wishes: &mut Wishes) -> f64 {
        let begin_ns = self.bus_free_ns.max(from_ns);
        let passing_ns = bytes / self.bus.rate_bytes_per_s * 1e9;
        self.bus_busy_ns += passing_ns;
        self.bus_free_ns = begin_ns + passing_ns;
        wishes.later.push((begin_ns.ceil() as u64, Signal { drive, what: What::Moving }));
        let moved = Signal { drive, what: What::Moved };
        wishes.later.push((self.bus_free_ns.ceil() as u64, moved));
        self.bus_free_ns
    }

    /// A command is understood: the drive does it.
    fn perform(&mut self, now_ns: u64, drive: usize, wishes: &mut Wishes) {
        let Some(transfer) = self.units[drive].current else { return };
        let Transfer { block, sectors, is_write, .. } = transfer;
        let unit = &self.units[drive];
        let (arm, phase_ns) = (unit.arm, unit.phase_ns);
        let spot = unit.mechanics.layout.spot(block);
        let sector_ns = unit.mechanics.sector_ns(&spot);
        let sector_bytes = f64::from(unit.mechanics.layout.sector_bytes);
        let bytes = f64::from(sectors) * sector_bytes;
        let rate = sector_bytes * 1e9 / sector_ns;
        let run = run_sectors(self.settings.buffer_sectors, rate, self.bus.rate_bytes_per_s);
        let mut ready_ns = now_ns as f64;
        if is_write {
            let fetched_ns = self.move_block(drive, ready_ns, bytes, wishes);
            self.units[drive].on_bus.push_back(None);
            let in_one_go = f64::from(sectors.min(self.settings.buffer_sectors));
            // The last sector is fetched by the time that the heads come to it.
            ready_ns = ready_ns.max(fetched_ns - in_one_go * sector_ns);
        }
        let unit = &mut self.units[drive];
        let mut course = loop {
            let course = course(&unit.mechanics, ready_ns + phase_ns, arm, &transfer, run);
            let (begin_ns, end_ns) = (course.begin_ns - phase_ns, course.end_ns - phase_ns);
            self.paths.retain(|path| path.1 > now_ns as f64);
            let busy = self.paths.iter().filter(|path| path.0 < end_ns && path.1 > begin_ns);
            if busy.count() < self.settings.data_paths {
                self.paths.push((begin_ns, end_ns));
                break course;
            }
            // The sector passes by while another drive has the path.
            ready_ns = begin_ns + sector_ns;
        };
        course.begin_ns -= phase_ns;
        course.end_ns -= phase_ns;
        unit.arm = course.arm;
        unit.traffic.data_ns += course.data_ns;
        if !is_write {
            let not_before_ns = course.end_ns + sector_ns - bytes / self.bus.rate_bytes_per_s * 1e9;
            self.move_block(drive, not_before_ns.max(course.begin_ns + sector_ns), bytes, wishes);
            self.units[drive].on_bus.push_back(Some(transfer));
        }
        let end = Signal { drive, what: What::DataEnd };
        wishes.later.push((course.end_ns.ceil() as u64, end));
    }

    /// The heads are through with a command: of a write, that is the end.
    fn heads_free(&mut self, now_ns: u64, drive: usize, wishes: &mut Wishes) {
        let Some(transfer) = self.units[drive].current else { return };
        if transfer.is_write {
            self.respond(now_ns, drive, transfer, wishes);
        }
        if transfer.is_write || self.settings.overlaps {
            self.units[drive].current = None;
            self.begin(now_ns, drive, wishes);
        }
    }

    /// The bus is through with a block: of a read, that is the end.
    fn moved(&mut self, now_ns: u64, drive: usize, wishes: &mut Wishes) {
        self.moving = self.moving.saturating_sub(1);
        let unit = &mut self.units[drive];
        let Some(Some(transfer)) = unit.on_bus.pop_front() else { return };
        self.respond(now_ns, drive, transfer, wishes);
        if !self.settings.overlaps {
            self.units[drive].current = None;
            self.begin(now_ns, drive, wishes);
        }
    }

    /// The firmware makes a response to a command that is through, and interrupts with it.
    fn respond(&mut self, now_ns: u64, drive: usize, transfer: Transfer, wishes: &mut Wishes) {
        self.units[drive].completed.push_back(transfer);
        self.firmware_free_ns =
            self.firmware_free_ns.max(now_ns as f64) + self.settings.response_overhead_ns;
        let responded = Signal { drive, what: What::Responded };
        wishes.later.push((self.firmware_free_ns.ceil() as u64, responded));
    }
}

impl Controller for Uda50 {
    fn submit_work_ns(&self, _drive: usize) -> f64 {
        self.work.start_ns
    }

    fn submit(&mut self, now_ns: u64, transfer: Transfer, wishes: &mut Wishes) {
        let unit = &mut self.units[transfer.drive];
        unit.held_back.push(self.transfers.add(now_ns, transfer, &unit.mechanics));
        self.send(now_ns, wishes);
    }

    fn signal(&mut self, now_ns: u64, signal: Signal, wishes: &mut Wishes) {
        match signal.what {
            What::Understood => self.perform(now_ns, signal.drive, wishes),
            What::Moving => self.moving += 1,
            What::Moved => self.moved(now_ns, signal.drive, wishes),
            What::DataEnd => self.heads_free(now_ns, signal.drive, wishes),
            What::Responded => wishes.interrupts.push((self.work.done_ns, signal)),
            What::Positioned | What::DataBegin => {}
        }
    }

    fn handled(&mut self, now_ns: u64, signal: Signal, wishes: &mut Wishes) {
        let unit = &mut self.units[signal.drive];
        let Some(transfer) = unit.completed.pop_front() else { return };
        self.transfers.finish(now_ns, &transfer, &mut unit.traffic);
        wishes.done.push(transfer.number);
        self.outstanding = self.outstanding.saturating_sub(1);
        self.begin(now_ns, signal.drive, wishes);
        self.send(now_ns, wishes);
    }

    fn slowdown(&self) -> f64 {
        if self.moving > 0 { self.bus.slowdown(self.bus.rate_bytes_per_s) } else { 0.0 }
    }

    fn traffic(&self, drive: usize) -> Traffic {
        self.units.get(drive).map(|unit| unit.traffic).unwrap_or_default()
    }

    fn channel_busy_ns(&self) -> f64 {
        self.bus_busy_ns
    }
}

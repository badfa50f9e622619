//! Controllers that look like an RH750 or RH780 to the system (Emulex SC750 and SC780, System
//! Industries 9900), with 4.2BSD's drivers `hp.c` and `mba.c` of July 1983.
//!
//! A drive whose turn it is gets a SEARCH for the sector that lies `search_lead` sectors before the
//! wanted one. When that sector comes, the drive interrupts and waits for the channel, which one
//! drive holds from the data command to the end of its transfer, rotation included. Who comes too
//! late for its sector waits a revolution with the channel held. On the cylinder where it stands
//! already a drive is not searched for when the platter is in a window of `search_window` sectors:
//! the driver of that summer meant "just before the target" and computed "just before the index"
//! (corrected on 22 March 1984). A sector that the bus took too late is *data late*: the transfer
//! ends there with an interrupt, and the driver begins it again with a search. It happens while the
//! processor is busy, which wants the same bus.
//!
//! Non-goals: errors other than late data, ECC, offsets, dual ports, tapes.

use super::buffer::{Course, course, run_sectors};
use super::outstanding::Outstanding;
use super::{Controller, DriverWork, Parts, Signal, Traffic, Transfer, What, Wishes};
use crate::bus::MemoryBus;
use sim::drive::{Arm, Mechanics};
use sim::profile::{ProfileError, Reader};
use sim::queue::{DriverQueue, Position};
use sim::random::Random;
use std::collections::VecDeque;

sim::parameters! {
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Settings(reader) {
        /// How many sectors before the wanted one a search ends.
        search_lead: f64 = reader.number_from("search_lead", 0.0);
        /// How many sectors before the index a search is left out.
        search_window: f64 = reader.number_from("search_window", 0.0);
        /// From the command to the moment from which a search looks for its sector, ns.
        search_latency_ns: f64 = reader.time_ns("search_latency");
        /// From the command to the moment from which a transfer looks for its sector, ns.
        transfer_latency_ns: f64 = reader.time_ns("transfer_latency");
        /// From the last sector of a read to its interrupt, ns.
        read_latency_ns: f64 = reader.time_ns_or("read_latency", 0.0);
        /// From the last sector of a write to its interrupt, ns.
        write_latency_ns: f64 = reader.time_ns_or("write_latency", 0.0);
        /// Whether it sees a searched sector come while another drive has the channel.
        searches_beside: bool = reader.is("searches_beside");
        /// Sectors between drive and bus.
        buffer_sectors: u32 = reader.count_in("buffer_sectors", 1..=65_536).map(|n| n as u32);
        /// Late data for each byte read, and for each byte written.
        late_per_byte: [f64; 2] = late_per_byte(reader);
    }
}

fn late_per_byte(reader: &Reader) -> Result<[f64; 2], ProfileError> {
    let late = |key| reader.or(key, 0.0, |reader, key| reader.number_from(key, 0.0));
    Ok([late("late_reads_per_kib")? / 1024.0, late("late_writes_per_kib")? / 1024.0])
}

/// One drive.
#[derive(Debug)]
struct Unit {
    mechanics: Mechanics,
    /// What its platter is ahead of the machine's clock, ns.
    phase_ns: f64,
    queue: Box<dyn DriverQueue>,
    arm: Arm,
    /// The cylinder that the driver's elevator counts from.
    sorted_from: u32,
    current: Option<Transfer>,
    /// How its transfer goes, if all data come in time.
    course: Option<Course>,
    /// Its data came late: it is to be tried again.
    is_late: bool,
    traffic: Traffic,
}

#[derive(Debug)]
pub(crate) struct Massbus {
    settings: Settings,
    work: DriverWork,
    bus: MemoryBus,
    random: Random,
    /// More than one drive hangs on it, whether used or not: only then are drives searched.
    searches: bool,
    sector_bytes: u32,
    units: Vec<Unit>,
    /// Those that wait for the channel.
    waiting: VecDeque<usize>,
    /// The one that has it, and since when.
    active: Option<(usize, u64)>,
    is_moving: bool,
    /// At which rate data move when they do, in bytes a second.
    rate_bytes_per_s: f64,
    channel_busy_ns: f64,
    transfers: Outstanding,
}

impl Massbus {
    pub(crate) fn read(reader: &Reader, parts: Parts) -> Result<Self, ProfileError> {
        let attached = reader.count_in("attached_drives", 1..=8)?;
        if parts.spindles.len() as u64 > attached {
            let reason =
                format!("{attached} drives hang on it, and {} are used", parts.spindles.len());
            return Err(reader.error("attached_drives", reason));
        }
        let settings = Settings::read(reader)?;
        let unit = |(mechanics, phase_ns): (Mechanics, f64)| Unit {
            mechanics,
            phase_ns,
            queue: parts.policy.queue(),
            arm: Arm::default(),
            sorted_from: 0,
            current: None,
            course: None,
            is_late: false,
            traffic: Traffic::default(),
        };
        Ok(Self {
            sector_bytes: parts.spindles.first().map_or(512, |(m, _)| m.layout.sector_bytes),
            settings,
            work: parts.work,
            units: parts.spindles.into_iter().map(unit).collect(),
            bus: parts.bus,
            random: parts.random,
            searches: attached > 1,
            waiting: VecDeque::new(),
            active: None,
            is_moving: false,
            rate_bytes_per_s: 0.0,
            channel_busy_ns: 0.0,
            transfers: Outstanding::default(),
        })
    }

    /// `hpustart`: the drive's next transfer, if it is idle and there is one.
    fn start_unit(&mut self, now_ns: u64, drive: usize, wishes: &mut Wishes) {
        if self.units[drive].current.is_some() {
            return;
        }
        let unit = &mut self.units[drive];
        let Some(next) = unit.queue.pop(Position { cylinder: unit.sorted_from, now_ns }) else {
            return;
        };
        let Some(transfer) = self.transfers.get(next.number) else { return };
        unit.sorted_from = next.cylinder;
        unit.current = Some(transfer);
        self.search(now_ns, drive, &transfer, wishes);
    }

    /// Searches for a transfer's place, or goes without where the driver sees no use in it.
    fn search(&mut self, now_ns: u64, drive: usize, transfer: &Transfer, wishes: &mut Wishes) {
        let unit = &mut self.units[drive];
        let platter_ns = now_ns as f64 + unit.phase_ns;
        let spot = unit.mechanics.layout.spot(transfer.block);
        let sectors = 1.0 / spot.sector_angle;
        let angle = unit.mechanics.angle_at(platter_ns) * sectors;
        let is_there = unit.arm.cylinder == spot.cylinder;
        let before_index = sectors - angle.floor();
        let is_in_window = before_index > 1.0 && before_index <= self.settings.search_window;
        if !self.searches || (is_there && is_in_window) {
            self.join_channel(now_ns, drive, wishes);
            return;
        }
        let ready_ns = platter_ns + self.settings.search_latency_ns;
        let to = Arm { cylinder: spot.cylinder, head: spot.head };
        let there_ns = ready_ns + unit.mechanics.position_ns(unit.arm, to, false);
        unit.arm = to;
        let lead = (spot.angle - self.settings.search_lead * spot.sector_angle).rem_euclid(1.0);
        let found_ns = there_ns + unit.mechanics.rotate_ns(there_ns, lead) - unit.phase_ns;
        wishes.later.push((found_ns.ceil() as u64, Signal { drive, what: What::Positioned }));
    }

    /// The drive is ready for its data: it waits for the channel.
    fn join_channel(&mut self, now_ns: u64, drive: usize, wishes: &mut Wishes) {
        self.waiting.push_back(drive);
        self.start_channel(now_ns, wishes);
    }

    /// `mbstart`: the data command for the drive that has waited longest.
    fn start_channel(&mut self, now_ns: u64, wishes: &mut Wishes) {
        if self.active.is_some() {
            return;
        }
        let Some(drive) = self.waiting.pop_front() else { return };
        self.active = Some((drive, now_ns));
        let unit = &mut self.units[drive];
        let Some(transfer) = unit.current else { return };
        let spot = unit.mechanics.layout.spot(transfer.block);
        self.rate_bytes_per_s = f64::from(unit.mechanics.layout.sector_bytes) * 1e9
            / (spot.sector_angle * unit.mechanics.revolution_ns);
        let bus_rate = self.bus.rate_bytes_per_s;
        let run = run_sectors(self.settings.buffer_sectors, self.rate_bytes_per_s, bus_rate);
        let ready_ns = now_ns as f64 + unit.phase_ns + self.settings.transfer_latency_ns;
        let course = course(&unit.mechanics, ready_ns, unit.arm, &transfer, run);
        unit.arm = course.arm;
        unit.course = Some(course);
        let begin_ns = (course.begin_ns - unit.phase_ns).ceil() as u64;
        wishes.later.push((begin_ns, Signal { drive, what: What::DataBegin }));
    }

    /// The first sector comes: whether all come in time is decided by what else the bus has to
    /// carry.
    fn begin_data(&mut self, drive: usize, wishes: &mut Wishes) {
        self.is_moving = true;
        let unit = &self.units[drive];
        let (Some(transfer), Some(course)) = (unit.current, unit.course) else { return };
        let moved = if wishes.is_processor_busy { self.late_share(&transfer) } else { 1.0 };
        let unit = &mut self.units[drive];
        unit.is_late = moved < 1.0;
        unit.traffic.data_ns += moved * course.data_ns;
        let end_ns = course.begin_ns + moved * (course.end_ns - course.begin_ns) - unit.phase_ns;
        wishes.later.push((end_ns.ceil() as u64, Signal { drive, what: What::DataEnd }));
    }

    /// How much of a transfer is through when its data come late; all of it where they do not.
    fn late_share(&mut self, transfer: &Transfer) -> f64 {
        let per_byte = self.settings.late_per_byte[usize::from(transfer.is_write)];
        if per_byte == 0.0 {
            return 1.0;
        }
        let bytes = f64::from(transfer.sectors * self.sector_bytes);
        (self.random.exponential(1.0 / per_byte) / bytes).min(1.0)
    }

    fn free_channel(&mut self, now_ns: u64) {
        if let Some((_, since_ns)) = self.active.take() {
            self.channel_busy_ns += now_ns.saturating_sub(since_ns) as f64;
        }
        self.is_moving = false;
    }
}

impl Controller for Massbus {
    fn submit_work_ns(&self, _drive: usize) -> f64 {
        self.work.start_ns
    }

    fn submit(&mut self, now_ns: u64, transfer: Transfer, wishes: &mut Wishes) {
        let unit = &mut self.units[transfer.drive];
        unit.queue.push(self.transfers.add(now_ns, transfer, &unit.mechanics));
        self.start_unit(now_ns, transfer.drive, wishes);
    }

    fn signal(&mut self, now_ns: u64, signal: Signal, wishes: &mut Wishes) {
        match signal.what {
            What::Positioned if self.active.is_some() && !self.settings.searches_beside => {
                // The sector goes by unseen.
                let again_ns = self.units[signal.drive].mechanics.revolution_ns;
                wishes.later.push((now_ns + again_ns.ceil() as u64, signal));
            }
            What::Positioned => wishes.interrupts.push((self.work.search_ns, signal)),
            What::DataBegin => self.begin_data(signal.drive, wishes),
            What::DataEnd => {
                self.is_moving = false;
                let transfer = self.units[signal.drive].current;
                let is_write = transfer.is_some_and(|transfer| transfer.is_write);
                let latency_ns = match is_write {
                    true => self.settings.write_latency_ns,
                    false => self.settings.read_latency_ns,
                };
                let done = Signal { what: What::Moved, ..signal };
                wishes.later.push((now_ns + latency_ns.ceil() as u64, done));
            }
            What::Moved => wishes.interrupts.push((self.work.done_ns, signal)),
            What::Understood | What::Responded | What::Moving => {}
        }
    }

    fn handled(&mut self, now_ns: u64, signal: Signal, wishes: &mut Wishes) {
        let drive = signal.drive;
        if signal.what == What::Positioned {
            self.join_channel(now_ns, drive, wishes);
            return;
        }
        self.free_channel(now_ns);
        let unit = &mut self.units[drive];
        if let Some(transfer) = unit.current.filter(|_| unit.is_late) {
            unit.is_late = false;
            self.search(now_ns, drive, &transfer, wishes);
        } else if let Some(transfer) = unit.current.take() {
            self.transfers.finish(now_ns, &transfer, &mut unit.traffic);
            wishes.done.push(transfer.number);
        }
        self.start_unit(now_ns, drive, wishes);
        self.start_channel(now_ns, wishes);
    }

    fn slowdown(&self) -> f64 {
        if self.is_moving { self.bus.slowdown(self.rate_bytes_per_s) } else { 0.0 }
    }

    fn traffic(&self, drive: usize) -> Traffic {
        self.units.get(drive).map(|unit| unit.traffic).unwrap_or_default()
    }

    fn channel_busy_ns(&self) -> f64 {
        self.channel_busy_ns
    }
}

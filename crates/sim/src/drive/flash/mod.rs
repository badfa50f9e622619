//! A flash drive: a link to the host, a write buffer, channels with dies, a page mapping with
//! greedy collection.
//!
//! *Reads* take their command, the reading of their pages on the dies (each with its transfer over
//! the die's channel) and the link. They go before all programs and erases that have not begun, and
//! suspend one that has, where the drive can. *Writes* are completed when they are in the buffer.
//! As soon as it holds enough for a program, that goes to the die that is free first; if it is
//! full, a write waits for a program's end. A *flush* waits until all of the buffer is programmed,
//! and a durable write (FUA) likewise; if the buffer is protected against a loss of power, both
//! wait for nothing. What *collection* of a block takes is spread over the programs that it made
//! room for, as firmware that collects ahead does.
//!
//! What a request gets is reserved when it comes. So what a flush or a write has to wait for does
//! not count reads that come after it and suspend the programs.
//!
//! Source: the structure of MQSim (Tavakkol et al., FAST 2018) and of ublk-disksim's measurements
//! of a Micron 7300 (page types, suspension, size of a program), written anew. Non-goals: a cache
//! for reads, reading ahead, a part of the flash written with one bit a cell, mapping that is
//! itself in flash, wear, errors and retries, trimming. Collection copies within a die: its
//! transfers take the die's time and not the channel's. A channel's times are given out as requests
//! come, so a saturated channel has gaps (a tenth, where its transfers are as long as reads).

mod die;
mod mapping;
mod parameters;
mod start;

#[cfg(test)]
mod tests;

pub use parameters::{History, Parameters, Shape, Times};

use super::{Access, Capacity, Drive, Operation};
use crate::bus::Bus;
use crate::profile::{ProfileError, Reader};
use die::Die;
use mapping::{Mapping, Place};
use start::Start;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// A flash drive, and its state.
#[derive(Debug, Clone)]
pub struct Flash {
    parameters: Arc<Parameters>,
    start: Arc<Start>,
    mapping: Mapping,
    dies: Vec<Die>,
    channels: Vec<Bus>,
    /// To the host, and from it; only the first where it moves one way at a time.
    links: [Bus; 2],
    buffer: Buffer,
    /// No command begins before, since a flush is served alone, ns.
    alone_until_ns: f64,
    /// The last completion, ns.
    completed_ns: f64,
}

/// What was written and is not yet in the flash.
#[derive(Debug, Clone, Default)]
struct Buffer {
    /// Units that wait for a program, in the order of their coming.
    waiting: VecDeque<u32>,
    /// When those of each full program were there, and of the one that is not full, ns.
    full_ns: VecDeque<f64>,
    open_ns: f64,
    /// Units that it holds, and when some of them go (ns, as bits of a time that is not negative).
    units: usize,
    leaving: BinaryHeap<Reverse<(u64, u32)>>,
    /// No die is free for a program before, ns.
    blocked_ns: f64,
    /// Where the search for a free die begins.
    next_die: u32,
    /// When all that is being programmed is, ns.
    durable_ns: f64,
    /// Something was written since the last flush.
    is_dirty: bool,
}

/// Pages that a read takes from one die, as far as it has come.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    /// A page in all the flash, and where it does not lie there: nowhere, or in the buffer.
    page: Option<u32>,
    units: u32,
}

impl Flash {
    /// Reads a drive's profile.
    pub fn read(drive: &Reader) -> Result<Self, ProfileError> {
        Ok(Self::new(Parameters::read(drive)?))
    }

    /// As its history left it.
    pub fn new(parameters: Parameters) -> Self {
        let start = Arc::new(Start::new(&parameters));
        Self::beginning(Arc::new(parameters), start)
    }

    fn beginning(parameters: Arc<Parameters>, start: Arc<Start>) -> Self {
        let channel = Bus::new(parameters.channel_bytes_per_s, 0.0);
        let link = Bus::new(parameters.link_bytes_per_s, 0.0);
        Self {
            mapping: Mapping::new(&parameters, Arc::clone(&start)),
            dies: vec![Die::default(); parameters.shape.dies as usize],
            channels: vec![channel; parameters.channels as usize],
            links: [link.clone(), link],
            buffer: Buffer::default(),
            alone_until_ns: 0.0,
            completed_ns: 0.0,
            parameters,
            start,
        }
    }

    /// Units programmed over units that the host wrote, so far; 1 before any.
    pub fn write_amplification(&self) -> f64 {
        self.mapping.write_amplification().max(1.0)
    }

    /// The units of a request: the first, the one behind the last, and whether the first and the
    /// last are there as a whole.
    fn units(&self, access: Access) -> (u32, u32, [bool; 2]) {
        let sectors = self.parameters.unit_bytes / u64::from(self.parameters.capacity.sector_bytes);
        let (first, end) = (access.block / sectors, access.end().div_ceil(sectors));
        let is_whole = [access.block, access.end()].map(|at| at.is_multiple_of(sectors));
        let units = u64::from(self.parameters.shape.units);
        (first.min(units) as u32, end.min(units) as u32, is_whole)
    }

    fn bytes(&self, access: Access) -> u64 {
        access.blocks * u64::from(self.parameters.capacity.sector_bytes)
    }

    /// Moves bytes over the link, which is asked for at some time, with what a request takes there
    /// besides; returns when they are there.
    fn link(&mut self, is_write: bool, from_ns: f64, bytes: u64, besides_ns: f64) -> f64 {
        let link = &mut self.links[usize::from(is_write && self.parameters.is_duplex)];
        let length_ns = besides_ns + link.move_ns(bytes);
        link.reserve(from_ns, length_ns, bytes) + length_ns
    }

    fn read_units(&mut self, given_ns: f64, access: Access) -> f64 {
        let from_ns = given_ns.max(self.alone_until_ns) + self.parameters.times.read_command_ns;
        self.program_until(given_ns);
        let (first, end, _) = self.units(access);
        let (mut run, mut completion_ns) = (Run::default(), from_ns);
        let unit_bytes = self.parameters.unit_bytes;
        let (mut left, mut besides_ns) = (self.bytes(access), self.parameters.times.link_ns);
        for unit in first..=end {
            let page = if unit < end { self.page_of(unit, given_ns) } else { None };
            if unit == end || run.units > 0 && page != run.page {
                let there_ns = self.read_run(run, from_ns);
                let bytes = left.min(u64::from(run.units) * unit_bytes);
                left -= bytes;
                completion_ns = completion_ns.max(self.link(false, there_ns, bytes, besides_ns));
                besides_ns = 0.0;
                run.units = 0;
            }
            run = Run { page, units: run.units + 1 };
        }
        completion_ns
    }

    /// The page that is to be read for a unit; none where it is in the buffer, or nowhere.
    fn page_of(&self, unit: u32, now_ns: f64) -> Option<u32> {
        let Place::Slot(slot) = self.mapping.place(unit) else { return None };
        let shape = &self.parameters.shape;
        let die = &self.dies[(slot / (shape.block_units * shape.die_blocks)) as usize];
        let is_in_buffer = die.last_program.is_some_and(|(first, end_ns)| {
            slot >= first && slot < first + shape.program_units && now_ns < end_ns
        });
        (!is_in_buffer).then_some(slot / shape.page_units)
    }

    /// Reads units of a page; returns when they are over the channel.
    fn read_run(&mut self, run: Run, from_ns: f64) -> f64 {
        let Some(page) = run.page else { return from_ns };
        let parameters = &*self.parameters;
        let block_pages = parameters.shape.block_units / parameters.shape.page_units;
        let die = page / (block_pages * parameters.shape.die_blocks);
        let channel = &mut self.channels[(die % parameters.channels) as usize];
        let die = &mut self.dies[die as usize];
        let begin_ns = die.begin_read(from_ns, parameters.times.suspend_ns);
        let read_ns = begin_ns + parameters.read_ns(page % block_pages);
        let length_ns = parameters.channel_ns(run.units);
        channel.forget(from_ns);
        let there_ns = channel.reserve(read_ns, length_ns, 0) + length_ns;
        die.end_read(there_ns);
        there_ns
    }

    fn write_units(&mut self, given_ns: f64, access: Access, is_durable: bool) -> f64 {
        let from_ns = given_ns.max(self.alone_until_ns) + self.parameters.times.write_command_ns;
        self.program_until(given_ns);
        let mut there_ns =
            self.link(true, from_ns, self.bytes(access), self.parameters.times.link_ns);
        let (first, end, [is_first_whole, is_last_whole]) = self.units(access);
        for unit in first..end {
            let is_whole = (unit > first || is_first_whole) && (unit + 1 < end || is_last_whole);
            there_ns = self.write_unit(unit, is_whole, there_ns);
        }
        self.buffer.is_dirty = true;
        if is_durable && !self.parameters.is_protected {
            there_ns = there_ns.max(self.program_all(there_ns));
        }
        there_ns
    }

    /// Takes a unit into the buffer; returns when there is space for it. Of a unit that is not
    /// whole, the rest is read before it is programmed, and nobody waits for that.
    fn write_unit(&mut self, unit: u32, is_whole: bool, at_ns: f64) -> f64 {
        let rest = if is_whole { None } else { self.page_of(unit, at_ns) };
        let place = self.mapping.buffer(unit);
        if place == Place::Buffer {
            return at_ns;
        }
        let at_ns = self.space(at_ns);
        let read_ns = self.read_run(Run { page: rest, units: 1 }, at_ns);
        self.buffer.units += 1;
        self.buffer.waiting.push_back(unit);
        self.buffer.open_ns = self.buffer.open_ns.max(at_ns).max(read_ns);
        let program_units = self.parameters.shape.program_units as usize;
        if self.buffer.waiting.len() == (self.buffer.full_ns.len() + 1) * program_units {
            self.buffer.full_ns.push_back(self.buffer.open_ns);
            self.buffer.open_ns = 0.0;
        }
        at_ns
    }

    /// When the buffer has space for a unit, from some time on.
    fn space(&mut self, at_ns: f64) -> f64 {
        let mut now_ns = at_ns;
        loop {
            self.buffer.let_go(now_ns);
            if self.buffer.units < self.parameters.buffer_units {
                return now_ns;
            }
            self.program_until(now_ns);
            match self.buffer.leaving.peek() {
                Some(Reverse((end, _))) => now_ns = now_ns.max(f64::from_bits(*end)),
                // All dies have other work.
                None => self.program_next(now_ns),
            }
        }
    }

    /// Gives programs to dies, as far as those are free by some time.
    fn program_until(&mut self, now_ns: f64) {
        while let Some(ready_ns) = self.buffer.full_ns.front() {
            if self.buffer.blocked_ns > now_ns || *ready_ns > now_ns {
                return;
            }
            let (die, free_ns) = self.free_die(*ready_ns);
            if free_ns > now_ns {
                self.buffer.blocked_ns = free_ns;
                return;
            }
            self.program(die);
        }
    }

    /// Gives the next program to the die that is free first from some time on, whenever that is.
    fn program_next(&mut self, now_ns: f64) {
        if self.buffer.full_ns.is_empty() {
            self.buffer.full_ns.push_back(self.buffer.open_ns);
            self.buffer.open_ns = 0.0;
        }
        // What is not full has waited until now.
        let ready_ns = self.buffer.full_ns.front().map_or(now_ns, |ready_ns| ready_ns.max(now_ns));
        self.buffer.full_ns.front_mut().into_iter().for_each(|first| *first = ready_ns);
        let (die, _) = self.free_die(ready_ns);
        self.program(die);
    }

    /// Gives all of the buffer to dies from some time on; returns when it is programmed.
    fn program_all(&mut self, now_ns: f64) -> f64 {
        while !self.buffer.waiting.is_empty() {
            self.program_next(now_ns);
        }
        self.buffer.durable_ns
    }

    /// The die that is free first from some time on, of equal ones the next in turn; and when it
    /// is.
    fn free_die(&self, from_ns: f64) -> (u32, f64) {
        let dies = self.parameters.shape.dies;
        let next = self.buffer.next_die;
        let (mut best, mut best_ns) = (next, f64::INFINITY);
        for die in (next..dies).chain(0..next) {
            let free_ns = self.dies[die as usize].free_ns().max(from_ns);
            if free_ns < best_ns && self.mapping.has_room(die) {
                (best, best_ns) = (die, free_ns);
                if free_ns <= from_ns {
                    break;
                }
            }
        }
        (best, if best_ns.is_finite() { best_ns } else { from_ns })
    }

    /// Programs the next of the buffer on a die, with a share of collection behind it.
    fn program(&mut self, die: u32) {
        let shape = self.parameters.shape;
        let count = self.buffer.waiting.len().min(shape.program_units as usize);
        let units: Vec<u32> = self.buffer.waiting.drain(..count).collect();
        let ready_ns = self.buffer.full_ns.pop_front().unwrap_or(0.0);
        self.buffer.next_die = if die + 1 < shape.dies { die + 1 } else { 0 };
        let first = self.mapping.program(die, &units);
        let shares = self.mapping.programs_left(die) + 1;
        let parameters = &*self.parameters;
        let channel = &mut self.channels[(die % parameters.channels) as usize];
        let die = &mut self.dies[die as usize];
        die.forget(ready_ns);
        owe_collection(die, parameters, &self.mapping.collected);
        let from_ns = die.free_ns().max(ready_ns);
        let length_ns = parameters.channel_ns(shape.program_units);
        channel.forget(ready_ns);
        let received_ns = channel.reserve(from_ns, length_ns, 0) + length_ns;
        let firm_ns = received_ns - from_ns;
        let end_ns = die.add(from_ns, firm_ns, firm_ns + parameters.times.program_ns);
        die.last_program = Some((first, end_ns));
        die.add_share(end_ns, shares);
        self.buffer.leaving.push(Reverse((end_ns.to_bits(), count as u32)));
        self.buffer.durable_ns = self.buffer.durable_ns.max(end_ns);
    }

    fn flush(&mut self, given_ns: f64) -> f64 {
        let given_ns = match self.parameters.is_flush_queued {
            true => given_ns,
            false => given_ns.max(self.completed_ns),
        };
        let from_ns = given_ns.max(self.alone_until_ns) + self.parameters.times.write_command_ns;
        self.program_until(given_ns);
        let is_dirty = std::mem::replace(&mut self.buffer.is_dirty, false);
        let durable_ns =
            if self.parameters.is_protected { from_ns } else { self.program_all(from_ns) };
        let flush_ns = if is_dirty { self.parameters.times.flush_ns } else { 0.0 };
        let end_ns = durable_ns.max(from_ns) + flush_ns;
        if !self.parameters.is_flush_queued {
            self.alone_until_ns = self.alone_until_ns.max(end_ns);
        }
        end_ns
    }
}

impl Buffer {
    /// What is programmed by then has left.
    fn let_go(&mut self, now_ns: f64) {
        while let Some(Reverse((end, units))) = self.leaving.peek() {
            if f64::from_bits(*end) > now_ns {
                return;
            }
            self.units -= *units as usize;
            self.leaving.pop();
        }
    }
}

/// Notes what collection did, for its time to be spread over the programs of the block that it made
/// room for.
fn owe_collection(die: &mut Die, parameters: &Parameters, collected: &mapping::Collected) {
    let moved_ns = parameters.channel_ns(parameters.shape.program_units);
    let program_ns = moved_ns + parameters.times.program_ns;
    let mut programs = 0;
    for (number, (page, units)) in (1u64..).zip(&collected.pages) {
        let length_ns = parameters.read_ns(*page) + parameters.channel_ns(*units);
        die.owe(length_ns, length_ns);
        // Each program comes behind its share of the reads.
        let due = number * u64::from(collected.programs) / collected.pages.len() as u64;
        (programs..due).for_each(|_| die.owe(moved_ns, program_ns));
        programs = due;
    }
    for _ in 0..collected.erases {
        die.owe(0.0, parameters.times.erase_ns);
    }
}

/// Its own link is part of it: another bus is not used.
impl Drive for Flash {
    fn capacity(&self) -> Capacity {
        self.parameters.capacity
    }

    fn depth(&self) -> usize {
        self.parameters.depth
    }

    fn serve(&mut self, given_ns: f64, access: Access, _: &mut Bus) -> f64 {
        self.links.iter_mut().for_each(|link| link.forget(given_ns));
        let completion_ns = match access.operation {
            Operation::Read => self.read_units(given_ns, access),
            Operation::Write { fua } => self.write_units(given_ns, access, fua),
            Operation::Flush => self.flush(given_ns),
        };
        self.completed_ns = self.completed_ns.max(completion_ns);
        completion_ns
    }

    fn fresh(&self) -> Box<dyn Drive> {
        Box::new(Self::beginning(Arc::clone(&self.parameters), Arc::clone(&self.start)))
    }
}

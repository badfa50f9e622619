//! A drive that serves one request after another: command, cache, arm, platter, bus, completion;
//! and what it does on its own in between (reading on, writing behind).
//!
//! Source: the order of events of DiskSim 4.0's disk controller (CMU-PDL-08-101;
//! `disksim_diskctlr.c`), written anew for one request at a time, so that a request is a few sums
//! rather than an event for each of its sectors. Non-goals: a queue within the drive; requests that
//! overtake each other.

use super::cache::{Cache, Hit, State};
use super::mechanics::{Arm, Mechanics};
use super::reading::{Free, Reading, goes_on_to};
use super::rules::{BusTimes, CacheRules, Overheads, ReadAhead};
use super::writing::{Writing, Written};
use super::{Access, Capacity, Drive, Operation};
use crate::bus::Bus;
use crate::profile::{ProfileError, Reader};

/// A request that asks for what the drive does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a request of {blocks} blocks at block {block} goes past the drive's end at block {end}")]
pub struct PastEnd {
    /// Its first block.
    pub block: u64,
    /// Its blocks.
    pub blocks: u64,
    /// The drive's blocks.
    pub end: u64,
}

/// What the arm does while no request needs it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Idle {
    /// Nothing.
    Rest,
    /// It reads on into a segment.
    Reading(usize, Reading),
    /// It writes what was completed already, of which the latest begins at a block.
    Writing { segment: usize, latest: u64, until_ns: f64 },
}

/// How a request comes to the bus for its data.
#[derive(Debug, Clone, Copy)]
enum Connect {
    /// It has it from some time.
    Ready(f64),
    /// It asks for it again when enough is there, from some time at the earliest.
    Again(f64),
}

/// A drive with a cache of segments, and its state.
#[derive(Debug, Clone)]
pub struct CachedDrive {
    /// Its moving parts.
    pub mechanics: Mechanics,
    /// Its cache's rules.
    pub rules: CacheRules,
    /// Its commands' times.
    pub overheads: Overheads,
    /// Its bus.
    pub bus: BusTimes,
    cache: Cache,
    arm: Arm,
    idle: Idle,
    was_write: bool,
    /// When each block of a request was in the buffer, ns.
    in_buffer: Vec<f64>,
    /// When each block of a request was on the platter, ns.
    on_platter: Vec<f64>,
}

impl CachedDrive {
    /// Reads a drive's profile: `rotation`, `layout`, `seek`, and where it has them `cache`,
    /// `overhead`, `bus`.
    pub fn read(drive: &Reader) -> Result<Self, ProfileError> {
        let mechanics = Mechanics::read(drive)?;
        let rules = CacheRules::read(&drive.below("cache"), mechanics.layout.blocks)?;
        Ok(Self {
            cache: Cache::new(&rules),
            overheads: Overheads::read(&drive.below("overhead"))?,
            bus: BusTimes::read(&drive.below("bus"), mechanics.revolution_ns)?,
            rules,
            mechanics,
            arm: Arm::default(),
            idle: Idle::Rest,
            was_write: false,
            in_buffer: vec![],
            on_platter: vec![],
        })
    }

    /// Serves a request that arrives at some time, not before the last one's completion; tells when
    /// it is completed, ns. Errors: a request past the drive's end.
    pub fn serve(&mut self, arrival_ns: f64, request: Access) -> Result<f64, PastEnd> {
        let Access { block, blocks, operation } = request;
        let drive_end = self.mechanics.layout.blocks;
        if block > drive_end || blocks > drive_end - block {
            return Err(PastEnd { block, blocks, end: drive_end });
        }
        let is_durable = match operation {
            Operation::Flush => return Ok(self.flush(arrival_ns)),
            Operation::Write { fua } => fua,
            Operation::Read => false,
        };
        if blocks == 0 {
            return Ok(arrival_ns);
        }
        self.catch_up(arrival_ns);
        let is_write = request.is_write();
        let done_ns = match is_write {
            true => self.write(arrival_ns, request),
            false => self.read_blocks(arrival_ns, request),
        };
        self.was_write = is_write;
        Ok(if is_durable { self.written_by(done_ns) } else { done_ns })
    }

    /// Completes a flush, which takes a write's command and completion besides what is still to
    /// be written.
    fn flush(&mut self, arrival_ns: f64) -> f64 {
        self.catch_up(arrival_ns);
        let command_ns = arrival_ns + self.overheads.write.ns(self.was_write);
        self.written_by(command_ns) + self.overheads.write_complete_ns
    }

    /// When all that was completed is on the platter, from some time on.
    fn written_by(&self, from_ns: f64) -> f64 {
        match self.idle {
            Idle::Writing { until_ns, .. } => until_ns.max(from_ns),
            _ => from_ns,
        }
    }

    /// What happened by now of what the drive does on its own.
    fn catch_up(&mut self, now_ns: f64) {
        match &mut self.idle {
            Idle::Rest => {}
            Idle::Reading(index, reading) => {
                let goes_on = reading.read_on(&self.mechanics, &self.rules, now_ns);
                let (index, next, arm) = (*index, reading.next, reading.arm());
                self.fill(index, next);
                if !goes_on {
                    self.cache.segments[index].state = State::Clean;
                    (self.arm, self.idle) = (arm, Idle::Rest);
                }
            }
            Idle::Writing { segment, until_ns, .. } if *until_ns <= now_ns => {
                let segment = *segment;
                self.finish_writing(segment);
            }
            Idle::Writing { .. } => {}
        }
    }

    fn fill(&mut self, index: usize, end: u64) {
        let segment = &mut self.cache.segments[index];
        segment.end = segment.end.max(end);
        segment.wrap(self.rules.segment_blocks);
    }

    fn finish_writing(&mut self, index: usize) {
        let keeps = self.rules.is_caching && self.rules.hits_on_written;
        self.cache.segments[index].state = if keeps { State::Clean } else { State::Empty };
        self.idle = Idle::Rest;
    }

    /// Ends reading on, since something else wants the arm at `now_ns`; tells how much later it has
    /// it.
    fn stop_reading(&mut self, now_ns: f64) -> f64 {
        let Idle::Reading(index, reading) = self.idle else { return 0.0 };
        let segment = &mut self.cache.segments[index];
        segment.state = if self.rules.is_caching { State::Clean } else { State::Empty };
        self.arm = reading.arm();
        self.idle = Idle::Rest;
        reading.stopped_ns(&self.rules, now_ns) - now_ns
    }

    /// Whether reading on has not come to its least yet, where there is such.
    fn is_short_of_minimum(&self) -> bool {
        let Idle::Reading(index, reading) = &self.idle else { return false };
        self.rules.read_ahead_minimum_blocks > 0
            && reading.next < self.cache.segments[*index].minimum.min(reading.limit)
    }

    /// The least of reading on must be done first; tells when.
    fn minimum_read_ns(&mut self, now_ns: f64) -> f64 {
        let mut now_ns = now_ns;
        while self.is_short_of_minimum() {
            let Idle::Reading(_, reading) = &mut self.idle else { break };
            now_ns = now_ns.max(reading.next_ns(&self.mechanics, &self.rules, reading.limit));
            self.catch_up(now_ns);
        }
        now_ns
    }

    fn read_blocks(&mut self, arrival_ns: f64, request: Access) -> f64 {
        let (block, end) = (request.block, request.end());
        let miss_ns = arrival_ns + self.overheads.read_miss.ns(self.was_write);
        let preparation_ns = self.overheads.data_preparation_ns;
        let released_ns = miss_ns + self.overheads.read_disconnect.ns(self.was_write);
        let (mut now_ns, mut is_late) = (arrival_ns, false);
        if let Idle::Writing { segment, until_ns, .. } = self.idle {
            // Nothing is sent, not even what is in the cache, before all is written.
            (now_ns, is_late) = (until_ns, true);
            self.finish_writing(segment);
        }
        let (mut index, mut hit) = self.cache.for_read(&self.rules, block, end);
        if self.is_short_of_minimum() && !self.is_reading(index, hit) {
            let later_ns = self.minimum_read_ns(now_ns);
            is_late |= later_ns > now_ns;
            now_ns = later_ns;
            (index, hit) = self.cache.for_read(&self.rules, block, end);
        }
        let connect = if is_late {
            Connect::Again(released_ns.max(now_ns))
        } else if hit != Hit::No {
            Connect::Ready(arrival_ns + self.overheads.read_hit.ns(self.was_write) + preparation_ns)
        } else {
            Connect::Again(released_ns)
        };
        let going_on = self.is_reading(index, hit);
        let stopped_ns = if going_on { 0.0 } else { self.stop_reading(now_ns) };
        let begin_ns = now_ns.max(miss_ns) + stopped_ns;
        self.take_for_read(index, hit, block, end);
        let bus_ns = match connect {
            Connect::Ready(bus_ns) => bus_ns,
            Connect::Again(from_ns) => from_ns + self.overheads.reselect_ns + preparation_ns,
        };
        self.read_missing(index, begin_ns, bus_ns, (block, end));
        let completion_ns = self.send(connect, block, end) + self.overheads.read_complete_ns;
        self.settle_reading(index, end);
        completion_ns
    }

    /// Whether what is read on is what a read hits.
    fn is_reading(&self, index: usize, hit: Hit) -> bool {
        hit != Hit::No && matches!(self.idle, Idle::Reading(at, _) if at == index)
    }

    /// Makes a segment the read's own, and sets how far it is read on.
    fn take_for_read(&mut self, index: usize, hit: Hit, block: u64, end: u64) {
        self.cache.touch(index);
        let segment = &mut self.cache.segments[index];
        if hit == Hit::No {
            (segment.start, segment.end) = (block, block);
            (segment.limit, segment.minimum) = (0, 0);
        }
        segment.was_written = Some(false);
        segment.state = State::Reading;
        let start = segment.start;
        let limit = self.read_ahead_limit(start, block, end);
        let minimum = end + self.rules.read_ahead_minimum_blocks;
        let segment = &mut self.cache.segments[index];
        segment.limit = segment.limit.max(limit);
        segment.minimum = segment.minimum.max(minimum.min(self.mechanics.layout.blocks));
    }

    /// Where reading on behind a request ends.
    fn read_ahead_limit(&self, segment_start: u64, block: u64, end: u64) -> u64 {
        let layout = &self.mechanics.layout;
        let limit = match self.rules.read_ahead {
            ReadAhead::None => end,
            ReadAhead::NextTrack => {
                let (track_first, track_end) = layout.track(end);
                let more = match segment_start < track_first {
                    true => layout.track_sectors(block),
                    false => 0,
                };
                track_end + u64::from(more)
            }
            _ => end + self.rules.read_ahead_blocks.max(self.rules.read_ahead_minimum_blocks),
        };
        limit.clamp(end, layout.blocks)
    }

    /// Reads what the segment does not have of a request; when each block is there goes to
    /// `in_buffer`.
    fn read_missing(&mut self, index: usize, begin_ns: f64, bus_ns: f64, (block, end): (u64, u64)) {
        self.in_buffer.clear();
        let (have, limit) = {
            let segment = &self.cache.segments[index];
            (segment.end.max(block), segment.limit)
        };
        self.in_buffer.resize((have.min(end) - block) as usize, f64::NEG_INFINITY);
        let (mechanics, rules) = (&self.mechanics, &self.rules);
        let mut reading = match self.idle {
            Idle::Reading(_, reading) => reading,
            _ if have >= end && !self.may_read_on(have, limit) => return,
            _ => {
                let until = if have >= end { limit } else { end };
                let from = (self.arm, begin_ns);
                let (reading, Free(free)) = Reading::begin(mechanics, rules, from, have, until);
                let segment = &mut self.cache.segments[index];
                if let Some(first) = free.filter(|_| segment.start == segment.end) {
                    segment.start = first;
                }
                reading
            }
        };
        reading.limit = limit;
        let room = rules.segment_blocks as usize;
        if (end - block) as usize <= room {
            while reading.next < end {
                self.in_buffer.push(reading.next_ns(mechanics, rules, end));
                reading.next += 1;
            }
        } else {
            read_as_room_is(mechanics, rules, &mut reading, end, &mut self.in_buffer, |sent_ns| {
                sent_ns.max(bus_ns) + self.bus.read_block_ns
            });
        }
        self.idle = Idle::Reading(index, reading);
        self.fill(index, reading.next);
    }

    /// Whether the drive reads on from a block after a request that was in the cache as a whole.
    fn may_read_on(&self, from: u64, limit: u64) -> bool {
        let to = || Arm::over(&self.mechanics.layout.run(from));
        self.rules.reads_ahead_on_hit && from < limit && goes_on_to(&self.rules, self.arm, to())
    }

    /// Sends a read's blocks; tells when the last was sent.
    fn send(&self, connect: Connect, block: u64, end: u64) -> f64 {
        let mut sent_ns = match connect {
            Connect::Ready(bus_ns) => bus_ns,
            Connect::Again(from_ns) => {
                let blocks = (end - block).min(self.rules.segment_blocks) as f64;
                let enough = ((blocks * self.rules.read_water) as usize).max(1);
                let enough_ns = self.in_buffer[enough.min(self.in_buffer.len()) - 1];
                let overheads = &self.overheads;
                from_ns.max(enough_ns) + overheads.reselect_ns + overheads.data_preparation_ns
            }
        };
        for there_ns in &self.in_buffer {
            // No time is NaN: a comparison costs less here than `max`, which asks for that.
            let begin_ns = if *there_ns > sent_ns { *there_ns } else { sent_ns };
            sent_ns = begin_ns + self.bus.read_block_ns;
        }
        sent_ns
    }

    /// What becomes of the segment and the arm when a read is completed.
    fn settle_reading(&mut self, index: usize, end: u64) {
        let clean = if self.rules.is_caching { State::Clean } else { State::Empty };
        let goes_on = match self.idle {
            Idle::Reading(_, reading) => {
                self.arm = reading.arm();
                reading.next < reading.limit
            }
            _ => false,
        };
        if !goes_on {
            self.idle = Idle::Rest;
        }
        let segment = &mut self.cache.segments[index];
        segment.state = if goes_on { State::Reading } else { clean };
        if self.rules.forgets_read_data {
            segment.start = segment.start.max(end.min(segment.end));
        }
    }

    fn write(&mut self, arrival_ns: f64, request: Access) -> f64 {
        let (block, end) = (request.block, request.end());
        let command_ns = arrival_ns + self.overheads.write.ns(self.was_write);
        let again_ns = self.overheads.reselect_ns + self.overheads.data_preparation_ns;
        let (mut now_ns, mut is_late) = (arrival_ns, false);
        if let Idle::Writing { segment, latest, until_ns } = self.idle {
            if self.can_append(segment, latest, block) {
                return self.append(segment, command_ns, until_ns, request);
            }
            (now_ns, is_late) = (until_ns, true);
            self.finish_writing(segment);
        }
        let later_ns = self.minimum_read_ns(now_ns);
        is_late |= later_ns > now_ns;
        now_ns = later_ns;
        let index = self.cache.for_write(&self.rules, block, end);
        let segment = &self.cache.segments[index];
        let follows = segment.was_written == Some(true) && self.cache.is_latest(index);
        let is_elsewhere = follows && block != segment.end;
        let extra = self.overheads.extra_disconnect.filter(|_| is_elsewhere && !is_late);
        let (begin_ns, bus_ns) = match extra {
            Some(extra) => {
                let command_ns = arrival_ns + extra.command_ns;
                let bus_ns = command_ns + extra.disconnect_ns + extra.pause_ns + again_ns;
                (command_ns + extra.seek_delta_ns, bus_ns)
            }
            None if is_late => {
                let released_ns = command_ns + self.overheads.write_disconnect_ns;
                (now_ns.max(command_ns), now_ns.max(released_ns) + again_ns)
            }
            None => (command_ns, command_ns + self.overheads.data_preparation_ns),
        };
        let begin_ns = begin_ns + self.stop_reading(now_ns);
        self.cache.touch(index);
        self.cache.forget(index, block, end);
        let segment = &mut self.cache.segments[index];
        (segment.start, segment.end, segment.was_written) = (block, end, Some(true));
        segment.wrap(self.rules.segment_blocks);
        let written = self.put(begin_ns, bus_ns, self.overheads.minimum_write_seek_ns, request);
        if self.rules.writes_behind {
            return self.complete_behind(index, block, written);
        }
        self.finish_writing(index);
        let (disconnect_ns, reselect_ns) = match extra {
            Some(extra) => (extra.last_disconnect_ns, self.overheads.other_reselect_ns),
            None => (self.overheads.write_disconnect_ns, self.overheads.reselect_ns),
        };
        let both_ns = written.media_ns.max(written.bus_ns + disconnect_ns);
        both_ns + reselect_ns + self.overheads.write_complete_ns
    }

    fn can_append(&self, index: usize, latest: u64, block: u64) -> bool {
        let segment = &self.cache.segments[index];
        let is_room = block.saturating_sub(latest) < self.rules.segment_blocks;
        self.rules.combines_writes && block == segment.end && is_room
    }

    /// A write that continues what is being written.
    fn append(&mut self, index: usize, command_ns: f64, until_ns: f64, request: Access) -> f64 {
        let segment = &mut self.cache.segments[index];
        segment.end = request.end();
        segment.wrap(self.rules.segment_blocks);
        self.cache.touch(index);
        self.cache.forget(index, request.block, request.end());
        let bus_ns = command_ns + self.overheads.data_preparation_ns;
        let written = self.put(until_ns, bus_ns, 0.0, request);
        self.complete_behind(index, request.block, written)
    }

    fn put(&mut self, begin_ns: f64, bus_ns: f64, minimum_ns: f64, request: Access) -> Written {
        let blocks = request.blocks;
        let writing = Writing {
            mechanics: &self.mechanics,
            block: request.block,
            blocks,
            is_any_order: self.rules.writes_any_order,
            needs: self.rules.write_needs(blocks),
            minimum_seek_ns: minimum_ns,
            room: self.rules.segment_blocks,
            bus_ns,
            bus_block_ns: self.bus.write_block_ns,
        };
        let written = writing.run(self.arm, begin_ns, &mut self.in_buffer, &mut self.on_platter);
        self.arm = written.arm;
        written
    }

    /// A write is completed when it is in the buffer.
    fn complete_behind(&mut self, index: usize, latest: u64, written: Written) -> f64 {
        let completion_ns = written.bus_ns + self.overheads.write_complete_ns;
        self.cache.segments[index].state = State::Writing;
        self.idle = Idle::Writing { segment: index, latest, until_ns: written.media_ns };
        completion_ns
    }
}

/// Its own bus is in its overheads: another one is not used.
impl Drive for CachedDrive {
    fn capacity(&self) -> Capacity {
        self.mechanics.layout.capacity()
    }

    fn cylinder(&self, block: u64) -> u32 {
        self.mechanics.layout.cylinder(block)
    }

    fn serve(&mut self, given_ns: f64, access: Access, _: &mut Bus) -> f64 {
        // Whoever replays has looked that it does not end past the drive.
        Self::serve(self, given_ns, access).unwrap_or(given_ns)
    }

    fn fresh(&self) -> Box<dyn Drive> {
        Box::new(self.clone())
    }
}

/// Reads a request that is larger than its segment: a block is read when there is room for it, else
/// a revolution later.
fn read_as_room_is(
    mechanics: &Mechanics,
    rules: &CacheRules,
    reading: &mut Reading,
    end: u64,
    in_buffer: &mut Vec<f64>,
    send: impl Fn(f64) -> f64,
) {
    let room = rules.segment_blocks as usize;
    // When the block that leaves the room was sent.
    let (mut sent, mut sent_ns) = (0, f64::NEG_INFINITY);
    while reading.next < end {
        let mut there_ns = reading.next_ns(mechanics, rules, end);
        let index = in_buffer.len();
        while sent + room <= index {
            sent_ns = send(sent_ns.max(in_buffer[sent]));
            sent += 1;
        }
        let late_ns = sent_ns - (there_ns - reading.sector_ns());
        if index >= room && late_ns > 0.0 {
            reading.miss(mechanics, late_ns);
            there_ns = reading.next_ns(mechanics, rules, end);
        }
        in_buffer.push(there_ns);
        reading.next += 1;
    }
}

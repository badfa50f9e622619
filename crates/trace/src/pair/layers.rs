//! Which request of the device above a request serves, where devices lie on others (device mapper,
//! md).
//!
//! - *By bio*: the kernel tells of a bio that it was sent on, and from which place of which device
//!   ([`crate::event::Step::Above`]). It serves the request that is open there: of the same
//!   operation, else of one that can need it (a write reads before it writes parity; a write that
//!   is to flush first flushes).
//! - *By place*: some drivers send bios of their own without a word (md's flushes; dm-crypt and
//!   dm-delay before Linux 5.17), and some tracers do not tell. There a request serves the one of a
//!   device above that began last before it, does the same with as many bytes, and has no such
//!   request on this device yet; else one with more bytes than those have that serve it there (it
//!   was split). Where the kernel tells of a pair of devices and an operation, what
//!   it does not tell of is not joined by place.
//!
//! Every row of a device beneath another, whose rows are in the trace too, is counted: joined by
//! bio, by place, or not.
//!
//! Source: block_bio_remap of drivers/md/dm.c, raid1.c, raid5.c, md_flush_request of md.c (6.12).
//!
//! Non-goals: bios that were merged into another's request, which has one row above, the first's;
//! requests that dm-multipath clones (block_rq_remap).

use super::open::Open;
use hashbrown::{HashMap, HashSet};
use model::record::requests::Counts;
use model::record::{Flags, Op, Request};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// A place on a device above: its number, and where; nowhere of a flush.
pub(super) type Place = (u32, Option<u64>);

/// How long a request waits for the kernel to tell whom it serves, before it is joined by place.
const GRACE_NS: i64 = 200_000;

/// Open requests of a device above at the most: more than are ever in flight.
const OPEN_MOST: usize = 1 << 14;

/// An open request of a device that lies on others.
#[derive(Debug)]
struct Upper {
    id: u64,
    op: Op,
    flags: Flags,
    offset_bytes: Option<u64>,
    length_bytes: u32,
    began_ns: i64,
    /// What serves it: on which device, doing what, and with how many bytes.
    beneath: SmallVec<[(u32, Op, u64); 4]>,
}

/// A request of a device beneath others, of which it is not known yet whom it serves.
#[derive(Debug, Clone, Copy)]
struct Lower {
    id: u64,
    device: u32,
    op: Op,
    length_bytes: u32,
    began_ns: i64,
}

/// How requests came to be joined.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Joins {
    by_bio: u64,
    by_place: u64,
    not: u64,
}

/// What lies on what, and what is open there.
#[derive(Debug, Default)]
pub(super) struct Layers {
    /// Devices that lie directly on a device.
    above: HashMap<u32, SmallVec<[u32; 2]>>,
    /// Open requests of devices that lie on others, in the order in which they began.
    open: HashMap<u32, VecDeque<Upper>>,
    waiting: VecDeque<Lower>,
    /// By request: the one that it serves.
    joined: HashMap<u64, u64>,
    /// Upper device, lower device and operation of which the kernel tells.
    told: HashSet<(u32, u32, Op)>,
    joins: Joins,
}

impl Layers {
    /// Says that a device lies on another; whether it was not known to lie on any.
    pub(super) fn learn(&mut self, lower: u32, upper: u32) -> bool {
        let above = self.above.entry(lower).or_default();
        if !above.contains(&upper) {
            above.push(upper);
        }
        let is_known = self.open.contains_key(&upper);
        self.open.entry(upper).or_default();
        !is_known
    }

    /// Whether any device is known to lie on another.
    pub(super) fn are_there(&self) -> bool {
        !self.above.is_empty()
    }

    /// A request begins.
    #[inline]
    pub(super) fn begin(&mut self, request: &Open) {
        if !self.above.is_empty() {
            self.begin_one(request);
        }
    }

    /// Requests have begun, of which it was not known that their device lies on others.
    pub(super) fn begin_all<'a>(&mut self, requests: impl Iterator<Item = &'a Open>) {
        let mut all: Vec<&Open> = requests.collect();
        all.sort_by_key(|request| request.id);
        all.into_iter().for_each(|request| self.begin_upper(request));
    }

    fn begin_one(&mut self, request: &Open) {
        self.begin_upper(request);
        let Some(above) = self.above.get(&request.device) else { return };
        // Without rows of a device above there is nothing to be joined to.
        let has_rows = |upper: &u32| self.open.get(upper).is_some_and(|open| !open.is_empty());
        if above.iter().any(has_rows) {
            self.waiting.push_back(Lower {
                id: request.id,
                device: request.device,
                op: request.extent.op,
                length_bytes: request.extent.length_bytes,
                began_ns: began_ns(request),
            });
        }
    }

    fn begin_upper(&mut self, request: &Open) {
        let Some(open) = self.open.get_mut(&request.device) else { return };
        if open.len() >= OPEN_MOST {
            open.pop_front();
        }
        let extent = request.extent;
        open.push_back(Upper {
            id: request.id,
            op: extent.op,
            flags: extent.flags,
            offset_bytes: extent.offset_bytes,
            length_bytes: extent.length_bytes,
            began_ns: began_ns(request),
            beneath: SmallVec::new(),
        });
    }

    /// The kernel tells from which place a request was sent on.
    pub(super) fn tell(&mut self, request: &Open, (upper, offset_bytes): Place) {
        self.learn(request.device, upper);
        let (device, op) = (request.device, request.extent.op);
        self.told.insert((upper, device, op));
        self.waiting.retain(|lower| lower.id != request.id);
        if self.joined.contains_key(&request.id) {
            return;
        }
        let Some(open) = self.open.get_mut(&upper) else { return };
        let is_there = |row: &Upper| offset_bytes.is_none_or(|offset| row.has(offset));
        let is_new = |row: &Upper| op != Op::Flush || !row.has_beneath(device, op);
        let is_begin = |row: &Upper| offset_bytes.is_some() && row.offset_bytes == offset_bytes;
        let classes: [&dyn Fn(&Upper) -> bool; 4] = [
            // Of several requests for the same place the one that begins there.
            &|row| row.op == op && is_begin(row) && !row.has_beneath(device, op),
            &|row| row.op == op && is_there(row) && is_new(row),
            &|row| row.serves(op) && is_there(row) && is_new(row),
            &|row| row.serves(op) && is_there(row),
        ];
        let found = classes.iter().find_map(|is_it| open.iter().rposition(is_it));
        match found.and_then(|place| open.get_mut(place)) {
            Some(row) => {
                row.add(device, op, request.extent.length_bytes);
                self.joined.insert(request.id, row.id);
                self.joins.by_bio += 1;
            }
            // Parity lies at no place of the device above.
            None => match open.iter_mut().rev().find(|row| row.op == op) {
                Some(row) => {
                    self.joined.insert(request.id, row.id);
                    self.joins.by_place += 1;
                }
                None => self.joins.not += 1,
            },
        }
    }

    /// Joins by place what the kernel has told nothing of until now.
    #[inline]
    pub(super) fn look(&mut self, now_ns: i64) {
        while let Some(lower) = self.waiting.front() {
            if now_ns.saturating_sub(lower.began_ns) < GRACE_NS {
                return;
            }
            let lower = *lower;
            self.waiting.pop_front();
            self.join_by_place(&lower);
        }
    }

    fn join_by_place(&mut self, lower: &Lower) {
        let above = self.above.get(&lower.device).cloned().unwrap_or_default();
        let op = lower.op;
        let is_untold = |upper: &&u32| !self.told.contains(&(**upper, lower.device, op));
        let length = u64::from(lower.length_bytes);
        let is_whole = |row: &Upper| {
            let is_alike =
                op == Op::Flush || row.op == op && row.length_bytes == lower.length_bytes;
            is_alike && row.serves(op) && !row.has_beneath(lower.device, op)
        };
        let is_part = |row: &Upper| {
            let served = row.bytes_beneath(lower.device, op);
            row.op == op && length > 0 && served + length <= row.length_bytes.into()
        };
        let last = |fits: &dyn Fn(&Upper) -> bool| {
            let of = |upper: &u32| {
                let open = self.open.get(upper)?;
                let is_it = |row: &Upper| row.began_ns <= lower.began_ns && fits(row);
                let place = open.iter().rposition(is_it)?;
                Some((open.get(place)?.began_ns, *upper, place))
            };
            above.iter().filter(is_untold).filter_map(of).max()
        };
        let found = last(&is_whole).or_else(|| last(&is_part));
        let row = found.and_then(|(_, upper, place)| self.open.get_mut(&upper)?.get_mut(place));
        match row {
            Some(row) => {
                row.add(lower.device, op, lower.length_bytes);
                self.joined.insert(lower.id, row.id);
                self.joins.by_place += 1;
            }
            None => self.joins.not += 1,
        }
    }

    /// A request is done with: the one that it serves. A part of a flush sequence serves whom the
    /// sequence does.
    #[inline]
    pub(super) fn end(&mut self, request: &Request) -> Option<u64> {
        if self.above.is_empty() {
            return None;
        }
        if let Some(parent) = request.parent_id {
            self.join_now(parent);
            return self.joined.get(&parent).copied();
        }
        self.join_now(request.request_id);
        self.end_upper(request.device, request.request_id);
        self.joined.remove(&request.request_id)
    }

    /// Joins a request by place, if it is not joined yet.
    fn join_now(&mut self, id: u64) {
        if let Some(place) = self.waiting.iter().position(|lower| lower.id == id)
            && let Some(lower) = self.waiting.remove(place)
        {
            self.join_by_place(&lower);
        }
    }

    fn end_upper(&mut self, device: u32, id: u64) {
        if let Some(open) = self.open.get_mut(&device)
            && let Some(place) = open.iter().rposition(|row| row.id == id)
        {
            open.remove(place);
        }
    }

    /// A request became a part of another, and is no row.
    pub(super) fn forget(&mut self, id: u64) {
        self.waiting.retain(|lower| lower.id != id);
        self.joined.remove(&id);
        self.open.values_mut().for_each(|open| open.retain(|row| row.id != id));
    }

    /// Counts what was joined since the last time.
    #[inline]
    pub(super) fn count(&mut self, counts: &mut Counts) {
        if self.joins != Joins::default() {
            let Joins { by_bio, by_place, not } = std::mem::take(&mut self.joins);
            counts.joined_by_bio += by_bio;
            counts.joined_by_place += by_place;
            counts.not_joined += not;
        }
    }
}

impl Upper {
    fn has(&self, offset: u64) -> bool {
        let from = self.offset_bytes.unwrap_or(u64::MAX);
        (from..from.saturating_add(self.length_bytes.max(1).into())).contains(&offset)
    }

    fn has_beneath(&self, device: u32, op: Op) -> bool {
        self.beneath.iter().any(|(on, does, _)| (*on, *does) == (device, op))
    }

    fn bytes_beneath(&self, device: u32, op: Op) -> u64 {
        let there = self.beneath.iter().filter(|(on, does, _)| (*on, *does) == (device, op));
        there.map(|(_, _, bytes)| bytes).sum()
    }

    fn add(&mut self, device: u32, op: Op, length_bytes: u32) {
        let bytes = u64::from(length_bytes);
        match self.beneath.iter_mut().find(|(on, does, _)| (*on, *does) == (device, op)) {
            Some((_, _, sum)) => *sum += bytes,
            None => self.beneath.push((device, op, bytes)),
        }
    }

    /// Whether it can need a request that does this.
    fn serves(&self, op: Op) -> bool {
        match op {
            Op::Flush => self.op == Op::Flush || self.flushes(),
            Op::Read => matches!(self.op, Op::Read | Op::Write),
            op => self.op == op,
        }
    }

    fn flushes(&self) -> bool {
        self.flags.contains(Flags::PREFLUSH) || self.flags.contains(Flags::FUA)
    }
}

fn began_ns(request: &Open) -> i64 {
    request.started_ns.or(request.queued_ns).or(request.issued_ns).unwrap_or(i64::MIN)
}

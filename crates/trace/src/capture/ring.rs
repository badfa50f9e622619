//! The rings of ring.h as user space sees them: mapped memory, in which each CPU leaves its
//! records. They are read in the order of their times, whichever CPU they are of, and nothing that
//! is still to come is earlier than what was read.
//!
//! Source: ring.h; BPF_F_MMAPABLE of Documentation/bpf/map_array.rst.
//!
//! Non-goals: what a record says.

#![allow(
    unsafe_code,
    reason = "memory that the kernel writes; each block carries its safety argument"
)]

use super::mapping::Mapping;
use rustix::mm::ProtFlags;
use rustix::time::ClockId;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;

/// `struct cell`: a number, and the longest record.
pub(super) const CELL_BYTES: usize = 8 + RECORD_BYTES;
pub(super) const RECORD_BYTES: usize = 120;

/// `struct ring` in words: what was taken, what was given back, and what was lost.
pub(super) const RING_BYTES: usize = 192;
const TAKEN: usize = 0;
const GIVEN_BACK: usize = 64;
pub(super) const LOST: usize = 128;

/// Cells of a CPU at the least: twice what ring.h keeps spare.
const EACH_LEAST: u32 = 16;
const EACH_MOST: u32 = 1 << 24;

/// How often what was read is given back.
const GIVE_BACK_EVERY: u64 = 256;

/// The kernel's clock for programs may be so far behind the one that is read here.
const MARGIN_NS: u64 = 1_000_000;

/// How many rings of how many cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Rings for counting what is lost: one for each CPU that there can be.
    pub(super) rings: u32,
    /// CPUs that have cells.
    pub(super) cpus: u32,
    /// A power of two.
    pub(super) each: u32,
}

impl Shape {
    /// For so many CPUs, of so many that there can be, in so much memory, with as few cells as
    /// work.
    pub(super) fn new(cpus: u32, possible: u32, bytes: u32) -> Self {
        let cpus = cpus.max(1);
        let free = (bytes / CELL_BYTES as u32 / cpus).max(EACH_LEAST);
        let most = (u32::MAX / cpus).clamp(EACH_LEAST, EACH_MOST);
        Self { rings: possible.max(cpus), cpus, each: 1 << free.min(most).ilog2() }
    }

    pub(super) fn cells(self) -> u32 {
        self.cpus * self.each
    }
}

/// A CPU's ring as far as it was read.
#[derive(Debug, Default)]
struct Reader {
    next: u64,
    /// The time of the last one that was read.
    last_ns: u64,
    /// Records that were read and not handed over, in the order of their times.
    held: VecDeque<Record>,
}

impl Reader {
    /// Puts a record where its time belongs. They come in the order in which cells were taken,
    /// which differs where an interrupt came between the taking of a cell and the reading of the
    /// clock: what it recorded has earlier times.
    fn hold(&mut self, record: Record) {
        self.last_ns = time_ns(&record);
        let place = match self.held.back() {
            Some(last) if time_ns(last) > self.last_ns => {
                self.held.partition_point(|held| time_ns(held) <= self.last_ns)
            }
            _ => self.held.len(),
        };
        self.held.insert(place, record);
    }
}

pub(super) type Record = [u8; RECORD_BYTES];

/// Every record begins with its time.
pub(super) fn time_ns(record: &Record) -> u64 {
    record.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

#[derive(Debug)]
pub(super) struct Rings {
    rings: Mapping,
    cells: Mapping,
    shape: Shape,
    readers: Vec<Reader>,
}

impl Rings {
    /// Maps the two maps of that shape.
    /// Errors: a kernel that refuses.
    pub(super) fn map(
        rings: BorrowedFd<'_>,
        cells: BorrowedFd<'_>,
        shape: Shape,
    ) -> rustix::io::Result<Self> {
        let (cpus, count) = (shape.cpus as usize, shape.cells() as usize);
        let both = ProtFlags::READ | ProtFlags::WRITE;
        Ok(Self {
            rings: Mapping::new(rings, shape.rings as usize * RING_BYTES, both)?,
            cells: Mapping::new(cells, count * CELL_BYTES, both)?,
            shape,
            readers: std::iter::repeat_with(Reader::default).take(cpus).collect(),
        })
    }

    /// CPUs that have cells.
    pub(super) fn cpus(&self) -> usize {
        self.readers.len()
    }

    /// What each CPU could not keep: records, and times of queueing.
    pub(super) fn lost(&self) -> impl Iterator<Item = (u64, u64)> {
        let at = |cpu, place| self.rings.word(cpu * RING_BYTES + place).load(Ordering::Relaxed);
        (0..self.shape.rings as usize).map(move |cpu| (at(cpu, LOST), at(cpu, LOST + 8)))
    }

    /// Hands over what is there in the order of time, and gives back how many these are. Once
    /// nothing is recorded any more (`until_ns` is none) that is all; else what is younger, or so
    /// young that an earlier one may turn up, is left for the next time. `until_ns` was the time
    /// when or before this is called.
    /// Errors: what `each` returns; what it was given counts as read.
    pub(super) fn drain<E>(
        &mut self,
        until_ns: Option<u64>,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        // The time first, and then the counts: what is timed before it was counted by then.
        let old_ns = until_ns.map_or(u64::MAX, |ns| ns.saturating_sub(MARGIN_NS));
        let until = (0..self.readers.len()).map(|cpu| self.look(cpu)).fold(old_ns, u64::min);
        let until = if until_ns.is_none() { u64::MAX } else { until };
        let mut heads: BinaryHeap<_> = (0..self.readers.len())
            .filter_map(|cpu| Some(Reverse((self.head_ns(cpu)?, cpu))))
            .collect();
        let (mut count, mut refused) = (0, Ok(()));
        while let Some(mut head) = heads.peek_mut() {
            let Reverse((time_ns, cpu)) = *head;
            if time_ns > until || refused.is_err() {
                break;
            }
            let held = &mut self.readers[cpu].held;
            let Some(record) = held.front() else { break };
            refused = each(record);
            held.pop_front();
            count += 1;
            match self.head_ns(cpu) {
                Some(next_ns) => *head = Reverse((next_ns, cpu)),
                None => drop(PeekMut::pop(head)),
            }
        }
        refused.map(|()| count)
    }

    /// Reads a CPU's records as far as they are whole. Gives back until when none of its is still
    /// to come.
    fn look(&mut self, cpu: usize) -> u64 {
        let taken = self.rings.word(cpu * RING_BYTES + TAKEN).load(Ordering::Acquire);
        while self.readers[cpu].next < taken {
            let next = self.readers[cpu].next;
            if self.number(cpu, next) != next + 1 {
                break;
            }
            // SAFETY: its number was seen, so that the kernel has written it, and writes it no more
            // until it is given back.
            let record = unsafe { self.cells.copy(self.cell(cpu, next) + 8) };
            self.readers[cpu].hold(record);
            self.readers[cpu].next += 1;
            if self.readers[cpu].next.is_multiple_of(GIVE_BACK_EVERY) {
                self.give_back(cpu);
            }
        }
        self.give_back(cpu);
        // One that was taken and is not whole was timed after those that are whole.
        if self.readers[cpu].next < taken { self.readers[cpu].last_ns } else { u64::MAX }
    }

    fn cell(&self, cpu: usize, record: u64) -> usize {
        let each = u64::from(self.shape.each);
        (cpu as u64 * each + (record & (each - 1))) as usize * CELL_BYTES
    }

    fn number(&self, cpu: usize, record: u64) -> u64 {
        self.cells.word(self.cell(cpu, record)).load(Ordering::Acquire)
    }

    fn head_ns(&self, cpu: usize) -> Option<u64> {
        self.readers[cpu].held.front().map(time_ns)
    }

    fn give_back(&self, cpu: usize) {
        let word = self.rings.word(cpu * RING_BYTES + GIVEN_BACK);
        word.store(self.readers[cpu].next, Ordering::Release);
    }
}

pub(super) fn now_ns() -> u64 {
    crate::clock::now_ns(ClockId::Monotonic).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use std::os::fd::AsFd as _;

    const EACH: u32 = 16;

    /// Rings in memory of our own, with the kernel's part played by hand.
    fn rings(cpus: u32) -> Rings {
        let shape = Shape { rings: cpus + 1, cpus, each: EACH };
        let memory = |bytes: usize| {
            let memory = memfd_create("ring", MemfdFlags::CLOEXEC).unwrap();
            ftruncate(&memory, bytes.next_multiple_of(4096) as u64).unwrap();
            memory
        };
        let (rings, cells) = (
            memory(shape.rings as usize * RING_BYTES),
            memory(shape.cells() as usize * CELL_BYTES),
        );
        Rings::map(rings.as_fd(), cells.as_fd(), shape).unwrap()
    }

    impl Rings {
        fn reserve(&self, cpu: usize) -> Option<u64> {
            let word = |place| self.rings.word(cpu * RING_BYTES + place);
            let used =
                word(TAKEN).load(Ordering::Relaxed) - word(GIVEN_BACK).load(Ordering::Relaxed);
            (used < u64::from(EACH)).then(|| word(TAKEN).fetch_add(1, Ordering::Relaxed))
        }

        fn commit(&self, cpu: usize, record: u64, time_ns: u64) {
            self.cells.word(self.cell(cpu, record) + 8).store(time_ns, Ordering::Relaxed);
            self.cells.word(self.cell(cpu, record)).store(record + 1, Ordering::Release);
        }

        fn times(&mut self, is_over: bool) -> Vec<u64> {
            let mut times = vec![];
            let each = |record: &[u8]| {
                times.push(u64::from_ne_bytes(*record.first_chunk().unwrap()));
                Ok::<(), ()>(())
            };
            let count = self.drain((!is_over).then(now_ns), each).unwrap();
            assert_eq!(count, times.len() as u64);
            times
        }
    }

    #[test]
    fn records_of_all_cpus_come_in_the_order_of_their_times_and_cells_are_used_again() {
        let mut rings = rings(3);
        for lap in 0..10 {
            for n in 0..u64::from(EACH) {
                let cpu = (n % 3) as usize;
                let record = rings.reserve(cpu).unwrap();
                rings.commit(cpu, record, lap * 1000 + n);
            }
            let wanted: Vec<u64> = (0..u64::from(EACH)).map(|n| lap * 1000 + n).collect();
            assert_eq!(rings.times(false), wanted);
        }
        assert!(rings.times(true).is_empty());
    }

    #[test]
    fn what_is_not_whole_holds_back_what_may_be_later() {
        let mut rings = rings(2);
        let first = rings.reserve(0).unwrap();
        rings.commit(0, first, 10);
        let stalled = rings.reserve(0).unwrap();
        for time_ns in [5, 20] {
            let record = rings.reserve(1).unwrap();
            rings.commit(1, record, time_ns);
        }
        assert_eq!(rings.times(false), [5, 10]);
        assert!(rings.times(false).is_empty());
        rings.commit(0, stalled, 15);
        assert_eq!(rings.times(false), [15, 20]);
    }

    /// An interrupt came after a cell was taken and before the clock was read: what it recorded is
    /// earlier.
    #[test]
    fn what_an_interrupt_recorded_goes_before_what_it_interrupted() {
        let mut rings = rings(2);
        let interrupted = rings.reserve(0).unwrap();
        for time_ns in [11, 12, 13] {
            let record = rings.reserve(0).unwrap();
            rings.commit(0, record, time_ns);
        }
        rings.commit(0, interrupted, 20);
        for time_ns in [12, 15] {
            let record = rings.reserve(1).unwrap();
            rings.commit(1, record, time_ns);
        }
        assert_eq!(rings.times(false), [11, 12, 12, 13, 15, 20]);
    }

    #[test]
    fn what_is_younger_than_the_clock_waits_until_all_is_over() {
        let mut rings = rings(1);
        let record = rings.reserve(0).unwrap();
        rings.commit(0, record, now_ns() + 3_600_000_000_000);
        assert!(rings.times(false).is_empty());
        assert_eq!(rings.times(true).len(), 1);
    }

    #[test]
    fn losses_of_a_cpu_without_cells_are_told_too() {
        let rings = rings(2);
        rings.rings.word(2 * RING_BYTES + LOST).store(7, Ordering::Relaxed);
        let lost: Vec<u64> = rings.lost().map(|(records, _)| records).collect();
        assert_eq!(lost, [0, 0, 7]);
    }

    #[test]
    fn a_refusal_ends_it_and_the_rest_stays() {
        let mut rings = rings(1);
        for time_ns in 1..=3 {
            let record = rings.reserve(0).unwrap();
            rings.commit(0, record, time_ns);
        }
        assert_eq!(rings.drain(Some(now_ns()), |_| Err("full")), Err("full"));
        assert_eq!(rings.times(false), [2, 3]);
    }

    #[test]
    fn a_shape_is_a_power_of_two_that_fits() {
        let two = Shape { rings: 240, cpus: 2, each: 1 << 16 };
        assert_eq!(Shape::new(2, 240, 16 << 20), two);
        assert_eq!(Shape::new(0, 0, 0), Shape { rings: 1, cpus: 1, each: EACH_LEAST });
        let huge = Shape::new(8192, 8192, u32::MAX);
        assert!(u64::from(huge.cpus) * u64::from(huge.each) <= u64::from(u32::MAX));
    }

    #[test]
    fn the_places_are_those_of_the_header() {
        const HEADER: &str = include_str!("ring.h");
        let begin = HEADER.find("\nstruct ring {").unwrap();
        let body = &HEADER[begin..begin + HEADER[begin..].find("};").unwrap()];
        let mut offset = 0;
        let mut places = std::collections::BTreeMap::new();
        for line in body.lines().filter_map(|line| line.trim().strip_prefix("u64 ")) {
            let name = &line[..line.find(';').unwrap()];
            let (name, count) = match name.split_once('[') {
                Some((name, count)) => (name, count.trim_end_matches(']').parse().unwrap()),
                None => (name, 1),
            };
            places.insert(name, offset);
            offset += 8 * count;
        }
        assert_eq!(offset, RING_BYTES);
        let wanted = [
            ("taken", TAKEN),
            ("given_back", GIVEN_BACK),
            ("records", LOST),
            ("queue_times", LOST + 8),
        ];
        for (name, place) in wanted {
            assert_eq!(places[name], place, "{name}");
        }
        let spare: u32 =
            HEADER.split("#define SPARE ").nth(1).unwrap().lines().next().unwrap().parse().unwrap();
        assert!(spare < EACH_LEAST);
    }
}

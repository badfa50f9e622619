//! Sums of requests that were quicker than a threshold, as summed.h keeps them in the kernel.
//!
//! Non-goals: requests that are told singly and are quick all the same (crate `capture`).

use super::decode::Decoder;
use super::mapping::Mapping;
use super::{CaptureError, CaptureOptions, repeated};
use crate::bpf::{LoadError, Loaded};
use aya::maps::{Array, MapData};
use model::busy::{BIT_NS, Busy};
use model::histogram::{Binned, SparseHistogram};
use model::record::Op;
use rustix::mm::ProtFlags;
use std::collections::BTreeMap;
use std::os::fd::AsFd as _;
use std::sync::atomic::Ordering;

/// SUMMED_BITS: places of a row. Each CPU has two rows.
const BITS: u32 = 4;
pub(super) const PLACES_OF_ROW: usize = 1 << BITS;
/// `struct summed`, in words.
const WORDS: usize = 8;
const KEY: usize = 0;
const BYTES: usize = 1;
const ADMISSION_NS: usize = 2;
const QUEUE_NS: usize = 3;
const RESPONSE_NS: usize = 4;
const MOST_NS: usize = 5;
const BELOW_NS: usize = 6;
const BUSY: usize = 7;

/// The greatest threshold: above it the buckets would take too much memory.
pub const SLOWER_THAN_NS_MOST: u64 = 100_000_000_000;

/// Requests of a device and operation that were quicker than the threshold, since the capture
/// began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quick {
    /// Their bytes.
    pub bytes: u64,
    /// The sum of their times from queued to started, in ns.
    pub admission_ns: u64,
    /// The sum of their times from queued to issued, in ns.
    pub queue_ns: u64,
    /// Their times from queued to completed.
    pub responses: SparseHistogram,
    /// When some of those that repeat were in flight; none where that is not known.
    pub busy: Option<Busy>,
}

impl Quick {
    /// Adds others, but for when some were in flight.
    pub fn merge(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.admission_ns += other.admission_ns;
        self.queue_ns += other.queue_ns;
        self.responses.merge(&other.responses);
    }

    /// Those since an earlier reading; their least and greatest time as far as buckets tell.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            busy: None,
            bytes: self.bytes.saturating_sub(before.bytes),
            admission_ns: self.admission_ns.saturating_sub(before.admission_ns),
            queue_ns: self.queue_ns.saturating_sub(before.queue_ns),
            responses: self.responses.without(&before.responses).tightened(),
        }
    }
}

/// By device (the kernel's dev_t) and operation.
pub type QuickRequests = BTreeMap<(u32, Op), Quick>;

/// How many places and buckets the kernel needs for requests below a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) places: u32,
    pub(super) buckets: u32,
}

impl Sizes {
    /// For so many CPUs; the least that can be where nothing is summed up.
    pub(super) fn new(cpus: u32, slower_than_ns: u64) -> Self {
        match slower_than_ns {
            0 => Self { places: 1, buckets: 1 },
            ns => {
                let buckets = u32::from(Binned::new(ns).bucket()) + 1;
                Self { places: (cpus * 2) << BITS, buckets }
            }
        }
    }

    pub(super) fn counts(self) -> u32 {
        self.places * self.buckets
    }
}

/// The sums as the programs write them. The maps live as long as the programs that use them.
#[derive(Debug)]
pub(super) struct Sums {
    sums: Mapping,
    counts: Mapping,
    sizes: Sizes,
    slower_than_ns: u64,
    /// What was taken so far, of the places that have anything.
    taken: BTreeMap<usize, Taken>,
    _maps: [MapData; 2],
}

/// What was taken of a place.
#[derive(Debug, Default)]
struct Taken {
    quick: Quick,
    /// The sum of its times, as the kernel had it before that was read.
    response_ns: u64,
    /// It was the same the time before: nothing was in the middle of being added.
    is_settled: bool,
}

impl Sums {
    /// Errors: a map that cannot be mapped.
    pub(super) fn new(
        maps: [MapData; 2],
        sizes: Sizes,
        slower_than_ns: u64,
    ) -> Result<Self, CaptureError> {
        let [sums, counts] = &maps;
        let map = |map: &MapData, words: usize| {
            Mapping::new(map.fd().as_fd(), words * 8, ProtFlags::READ).map_err(CaptureError::Rings)
        };
        let (sums, counts) =
            (map(sums, sizes.places as usize * WORDS)?, map(counts, sizes.counts() as usize)?);
        Ok(Self { sums, counts, sizes, slower_than_ns, taken: BTreeMap::new(), _maps: maps })
    }

    /// What they are now. While programs run, a request may be in a part of them.
    pub(super) fn read(&self, decoder: &Decoder) -> QuickRequests {
        let mut all = QuickRequests::new();
        for place in 0..self.sizes.places as usize {
            let key = self.word(place, KEY);
            if key != 0 {
                let quick = all.entry((key as u32, decoder.operation((key >> 32) as u32)));
                self.add(place, quick.or_default());
            }
        }
        all
    }

    /// What is new since the last time in a place of all rows, which was at a moment of
    /// CLOCK_MONOTONIC.
    pub(super) fn take(&mut self, of_row: usize, from_ns: u64) -> Quick {
        let mut new = Quick::default();
        let mut busy = Busy::since(as_ns(from_ns));
        for place in (of_row..self.sizes.places as usize).step_by(PLACES_OF_ROW) {
            let response_ns = self.word(place, RESPONSE_NS);
            let known = self.taken.get(&place);
            let is_same = known.map_or(0, |known| known.response_ns) == response_ns;
            if is_same && known.is_none_or(|known| known.is_settled) {
                continue;
            }
            // A program that is between the two has it one or two bits later.
            let (last, bits) = (self.word(place, KEY), self.word(place, BUSY).reverse_bits());
            let first = as_ns(last) - i64::from(u64::BITS - 1);
            busy.add(&Busy { from_ns: first.saturating_mul(BIT_NS), bits });
            let mut quick = Quick::default();
            self.add(place, &mut quick);
            let known = self.taken.entry(place).or_default();
            let since = quick.since(&known.quick);
            (known.response_ns, known.is_settled) = (response_ns, is_same);
            // Of a request that is not counted yet, the sums are taken with the next one.
            if since.responses.count() > 0 {
                new.merge(&since);
                known.quick = quick;
            }
        }
        if busy.bits == 0 {
            // All were completed within the bit of that moment, which others have set before it.
            busy = Busy { from_ns: busy.from_ns - BIT_NS, bits: 1 };
        }
        new.busy = (new.responses.count() > 0).then_some(busy);
        new
    }

    /// A program counts a request when it has added all else: what is counted is in all sums.
    fn add(&self, place: usize, to: &mut Quick) {
        let each = self.sizes.buckets as usize;
        let count =
            |bucket: usize| self.counts.word((place * each + bucket) * 8).load(Ordering::Acquire);
        let counted = (0..each).map(|bucket| (bucket as u64, count(bucket)));
        let (buckets, counts): (Vec<_>, Vec<_>) = counted.filter(|(_, count)| *count > 0).unzip();
        to.bytes += self.word(place, BYTES);
        to.admission_ns += self.word(place, ADMISSION_NS);
        to.queue_ns += self.word(place, QUEUE_NS);
        let least_ns = self.slower_than_ns.saturating_sub(self.word(place, BELOW_NS));
        let figures = (self.word(place, RESPONSE_NS), least_ns, self.word(place, MOST_NS));
        to.responses.add_parts(&buckets, &counts, figures);
    }

    fn word(&self, place: usize, word: usize) -> u64 {
        self.sums.word((place * WORDS + word) * 8).load(Ordering::Relaxed)
    }
}

fn as_ns(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// The threshold in ns; 0: there is none.
pub(super) fn threshold_ns(options: &CaptureOptions) -> u64 {
    let repeats = options.repeats.then_some(repeated::BELOW);
    let ns = options.slower_than.or(repeats).map_or(0, |slower| slower.as_nanos());
    u64::try_from(ns).unwrap_or(u64::MAX).min(SLOWER_THAN_NS_MOST)
}

/// What these processes request is told singly.
/// Errors: a kernel that refuses.
pub(super) fn leave_out(loaded: &mut Loaded, own_tgids: [u32; 2]) -> Result<(), LoadError> {
    const MAP: &str = "summed_not";
    let [own, other] = own_tgids.map(u64::from);
    let map = loaded.ebpf.map_mut(MAP).ok_or(LoadError::NoProgram(MAP))?;
    let mut map = Array::<_, u64>::try_from(map).map_err(|e| LoadError::new(MAP, &e))?;
    map.set(0, own << 32 | other, 0).map_err(|e| LoadError::new(MAP, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_header() {
        const HEADER: &str = include_str!("summed.h");
        assert!(HEADER.contains(&format!("#define SUMMED_BITS {BITS}\n")));
        assert!(HEADER.contains(&format!("#define BUSY_BITS {}\n", BIT_NS.ilog2())));
        let (_, body) = HEADER.split_once("struct summed {\n").unwrap();
        let (body, _) = body.split_once("};").unwrap();
        let words = [
            "key",
            "bytes",
            "admission_ns",
            "queue_ns",
            "response_ns",
            "most_ns",
            "below_ns",
            "busy",
        ];
        let declared = body.lines().filter_map(|line| line.trim().strip_prefix("u64 "));
        let declared: Vec<_> = declared.filter_map(|line| line.split(';').next()).collect();
        assert_eq!(declared, words);
        let places = [KEY, BYTES, ADMISSION_NS, QUEUE_NS, RESPONSE_NS, MOST_NS, BELOW_NS, BUSY];
        assert_eq!(places, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(words.len(), WORDS);
    }

    #[test]
    fn below_a_threshold_there_is_a_bucket_for_each_time() {
        for slower_than_ns in [1, 255, 256, 1_000_000, SLOWER_THAN_NS_MOST] {
            let sizes = Sizes::new(2, slower_than_ns);
            assert!(u32::from(Binned::new(slower_than_ns - 1).bucket()) < sizes.buckets);
            assert_eq!(sizes.places, 64);
        }
        assert_eq!(Sizes::new(128, 0).counts(), 1);
        // Of a thousand CPUs and the greatest threshold the memory can still be asked for.
        assert!(Sizes::new(1024, SLOWER_THAN_NS_MOST).counts() < 1 << 30);
    }
}

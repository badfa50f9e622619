//! Sums of requests that are named and were quicker than a threshold, as summed.h keeps them in the
//! kernel.
//!
//! Non-goals: requests that are told singly and are quick all the same (crate `capture`).

use super::CaptureError;
use super::mapping::Mapping;
use crate::bpf::{LoadError, Loaded};
use aya::maps::{Array, MapData};
use model::busy::{BIT_NS, Busy};
use model::histogram::{Binned, SparseHistogram};
use rustix::mm::ProtFlags;
use std::collections::BTreeMap;
use std::os::fd::AsFd as _;
use std::sync::atomic::Ordering;

/// SUMMED_BITS: places of a row. Each CPU has two rows.
const BITS: u32 = 4;
pub(super) const PLACES_OF_ROW: usize = 1 << BITS;
/// `struct summed`, in words.
const WORDS: usize = 8;
const LAST: usize = 0;
const BYTES: usize = 1;
const ADMISSION_NS: usize = 2;
const QUEUE_NS: usize = 3;
const RESPONSE_NS: usize = 4;
const MOST_NS: usize = 5;
const BELOW_NS: usize = 6;
const BUSY: usize = 7;

/// Requests that were summed up.
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
    /// When some were in flight; none where that is not known.
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
            let mut quick = Quick::default();
            self.add(place, &mut quick);
            // After the counts, so that what is counted has its bits; a program that is between
            // the two has it one or two bits later.
            let (last, bits) = (self.word(place, LAST), self.word(place, BUSY).reverse_bits());
            let first = as_ns(last) - i64::from(u64::BITS - 1);
            busy.add(&Busy { from_ns: first.saturating_mul(BIT_NS), bits });
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
    use super::super::repeated;
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_words_are_those_of_the_header() {
        const HEADER: &str = include_str!("summed.h");
        assert!(HEADER.contains(&format!("#define SUMMED_BITS {BITS}\n")));
        assert!(HEADER.contains(&format!("#define BUSY_BITS {}\n", BIT_NS.ilog2())));
        let (_, body) = HEADER.split_once("struct summed {\n").unwrap();
        let (body, _) = body.split_once("};").unwrap();
        let words = [
            "last",
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
        let places = [LAST, BYTES, ADMISSION_NS, QUEUE_NS, RESPONSE_NS, MOST_NS, BELOW_NS, BUSY];
        assert_eq!(places, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(words.len(), WORDS);
    }

    #[test]
    fn below_a_threshold_there_is_a_bucket_for_each_time() {
        for below_us in [1, 7, 1000, 4000, 1_000_000] {
            let below = Duration::from_micros(below_us);
            let ns = repeated::threshold_ns(below);
            let sizes = Sizes::new(2, ns);
            let bucket = |ns| u32::from(Binned::new(ns).bucket());
            assert!(bucket(ns - 1) < sizes.buckets, "{below_us}");
            assert_eq!(bucket(ns - 1) + 1, bucket(ns), "the last bucket is whole: {below_us}");
            let most = below.min(repeated::REPEATS_BELOW).as_nanos() as u64;
            assert!(ns <= most && ns + ns / 64 >= most, "{ns} for {below_us}");
            assert_eq!(sizes.places, 64);
        }
        assert_eq!(Sizes::new(128, 0).counts(), 1);
    }
}

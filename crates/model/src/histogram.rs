//! A log-linear histogram of nanoseconds: 128 buckets an octave, so that a bucket is at most 1/128
//! (0.78 %) of its value wide and the value given back (the bucket's middle) is within 0.4 % of any
//! value that fell into it.
//!
//! The layout is that of HdrHistogram (Tene) with seven bits of precision; a plain array, because
//! the record path is in every measured loop (21.6 ns an I/O, the library 26.0, in a prototype).
//!
//! Non-goals: concurrency (a job owns its histogram; they are merged after).

/// Bits of precision: 2^7 buckets an octave.
const PRECISION_BITS: u32 = 7;
const BUCKETS_PER_OCTAVE: usize = 1 << PRECISION_BITS;
/// Enough buckets for every `u64`.
const BUCKETS: usize = (64 - PRECISION_BITS as usize + 1) << PRECISION_BITS;

/// Where a histogram keeps the counts of its buckets.
pub trait Store: Default + Clone + std::fmt::Debug {
    /// How far a value given back may be from the one that was counted, in percent.
    const WITHIN_PERCENT: f64;

    /// Counts so many values of a bucket.
    fn add(&mut self, bucket: usize, count: u64);

    /// The buckets that hold something, lowest first.
    fn nonzero(&self) -> impl Iterator<Item = (usize, u64)>;

    /// The same in any order, a bucket perhaps several times.
    fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        self.nonzero()
    }
}

/// All buckets in one array: the quickest, 59 KiB each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dense(Box<[u64]>);

impl Default for Dense {
    fn default() -> Self {
        Self(vec![0; BUCKETS].into_boxed_slice())
    }
}

impl Store for Dense {
    const WITHIN_PERCENT: f64 = 0.4;

    #[inline(always)]
    fn add(&mut self, bucket: usize, count: u64) {
        // The bucket is always in range; `get_mut` keeps the loop free of a panic path.
        if let Some(counted) = self.0.get_mut(bucket) {
            *counted += count;
        }
    }

    fn nonzero(&self) -> impl Iterator<Item = (usize, u64)> {
        self.0.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }
}

/// One array for each octave that holds something, of `N` buckets (128, or 32 for values within 1.6
/// %), for thousands of histograms: what a core's own cache holds of them decides how quick they
/// are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByOctave<const N: usize>(Vec<Option<Box<[u64; N]>>>);

impl<const N: usize> Default for ByOctave<N> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<const N: usize> ByOctave<N> {
    /// Neighbours that are counted as one.
    const AS_ONE: usize = BUCKETS_PER_OCTAVE / N;
}

impl<const N: usize> Store for ByOctave<N> {
    const WITHIN_PERCENT: f64 = 0.4 * Self::AS_ONE as f64;

    #[inline]
    fn add(&mut self, bucket: usize, count: u64) {
        let octave = bucket / BUCKETS_PER_OCTAVE;
        if self.0.len() <= octave {
            self.0.resize(octave + 1, None);
        }
        if let Some(octave) = self.0.get_mut(octave) {
            let counts = octave.get_or_insert_with(|| Box::new([0; N]));
            counts[bucket / Self::AS_ONE % N] += count;
        }
    }

    fn nonzero(&self) -> impl Iterator<Item = (usize, u64)> {
        let told = self.0.iter().enumerate().filter_map(|(o, counts)| Some((o, counts.as_ref()?)));
        let all = told.flat_map(|(octave, counts)| {
            // The one that stands for several is in their middle.
            let first = octave * BUCKETS_PER_OCTAVE + Self::AS_ONE / 2;
            let bucket = move |place: usize| first + place * Self::AS_ONE;
            counts.iter().enumerate().map(move |(place, count)| (bucket(place), *count))
        });
        all.filter(|(_, count)| *count > 0)
    }
}

/// A list of what there is, `AS_ONE` neighbouring buckets as one (a power of two; of four a value
/// is within 1.6 %): for tens of thousands of histograms of few values each. New ones are put
/// behind, and sorted in when they are as many as the sorted ones.
#[derive(Debug, Clone, Default)]
pub struct Listed<const AS_ONE: u64> {
    /// Each a bucket, in the upper 16 bits, and its count.
    counts: Vec<u64>,
    sorted: usize,
}

/// Bits of a count in a list: enough for all the nanoseconds of three days.
const COUNT_BITS: u32 = 48;
/// What is sorted together at the least.
const FEW: usize = 32;

impl<const AS_ONE: u64> PartialEq for Listed<AS_ONE> {
    /// Whatever is not sorted in yet.
    fn eq(&self, other: &Self) -> bool {
        self.nonzero().eq(other.nonzero())
    }
}

impl<const AS_ONE: u64> Eq for Listed<AS_ONE> {}

impl<const AS_ONE: u64> Listed<AS_ONE> {
    /// An entry's bucket and count.
    fn told(entry: u64) -> (usize, u64) {
        ((entry >> COUNT_BITS) as usize, entry & ((1 << COUNT_BITS) - 1))
    }

    fn sort(&mut self) {
        self.counts.sort_unstable();
        self.counts.dedup_by(|next, first| {
            let is_same = *next >> COUNT_BITS == *first >> COUNT_BITS;
            *first += if is_same { *next & ((1 << COUNT_BITS) - 1) } else { 0 };
            is_same
        });
        self.sorted = self.counts.len();
    }
}

impl<const AS_ONE: u64> Store for Listed<AS_ONE> {
    const WITHIN_PERCENT: f64 = 0.4 * AS_ONE as f64;

    #[inline]
    fn add(&mut self, bucket: usize, count: u64) {
        if self.counts.capacity() == 0 {
            self.counts.reserve(FEW / 4);
        }
        // The one that stands for several is in their middle.
        let bucket = bucket as u64 & !(AS_ONE - 1) | (AS_ONE / 2);
        self.counts.push(bucket << COUNT_BITS | count);
        if self.counts.len() >= 2 * self.sorted + FEW {
            self.sort();
        }
    }

    fn nonzero(&self) -> impl Iterator<Item = (usize, u64)> {
        let mut sorted = self.clone();
        sorted.sort();
        sorted.counts.into_iter().map(Self::told)
    }

    fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        self.counts.iter().copied().map(Self::told)
    }
}

/// Counts of values in nanoseconds, with the exact number, sum, least and greatest.
#[derive(Clone, PartialEq, Eq)]
pub struct Buckets<S> {
    counts: S,
    count: u64,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

/// The one of the measured loops.
pub type Histogram = Buckets<Dense>;
/// The one of which there are thousands.
pub type SparseHistogram = Buckets<ByOctave<128>>;
/// The same for values within 1.6 %, where many are in use at once.
pub type SmallHistogram = Buckets<ByOctave<32>>;
/// The one of which there are tens of thousands.
pub type CoarseHistogram = Buckets<Listed<4>>;
/// The same for values within 0.4 %.
pub type ListedHistogram = Buckets<Listed<1>>;

impl<S: Store> Default for Buckets<S> {
    fn default() -> Self {
        Self { counts: S::default(), count: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl<S: Store> std::fmt::Debug for Buckets<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Histogram({} values, {} to {} ns)", self.count, self.min_ns(), self.max_ns)
    }
}

/// The bucket that a value falls into.
#[inline(always)]
fn index(value_ns: u64) -> usize {
    let shift = (u64::BITS - PRECISION_BITS).saturating_sub(value_ns.leading_zeros() + 1);
    ((shift as usize) << PRECISION_BITS) + (value_ns >> shift) as usize
}

/// The least value and the width of a bucket.
fn bounds(index: usize) -> (u64, u64) {
    let shift = (index >> PRECISION_BITS).saturating_sub(1);
    let low = ((index - (shift << PRECISION_BITS)) as u64) << shift;
    (low, 1 << shift)
}

/// A value with the bucket that it falls into: found once, however many histograms count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binned {
    value_ns: u64,
    bucket: u16,
}

impl Binned {
    /// A value in ns.
    #[inline(always)]
    pub fn new(value_ns: u64) -> Self {
        Self { value_ns, bucket: index(value_ns) as u16 }
    }

    /// The value in ns.
    #[inline(always)]
    pub fn value_ns(self) -> u64 {
        self.value_ns
    }

    /// Its bucket.
    #[inline(always)]
    pub fn bucket(self) -> u16 {
        self.bucket
    }
}

/// The value that stands for a bucket: its middle.
fn middle(index: usize) -> u64 {
    let (low, width) = bounds(index);
    low + width / 2
}

/// The value that stands for a bucket by its number; none if there is no such bucket.
pub fn value_of(bucket: u64) -> Option<u64> {
    usize::try_from(bucket).ok().filter(|bucket| *bucket < BUCKETS).map(middle)
}

/// The least value of a bucket by its number; none if there is no such bucket.
pub fn first_of(bucket: u64) -> Option<u64> {
    let bucket = usize::try_from(bucket).ok().filter(|bucket| *bucket < BUCKETS);
    bucket.map(|bucket| bounds(bucket).0)
}

/// Buckets that are one eighth of an octave.
const EIGHTH: u64 = (BUCKETS_PER_OCTAVE / 8) as u64;

/// The eighth of an octave that a bucket is in, counted from 0 on.
pub fn eighth_of(bucket: u64) -> u64 {
    bucket / EIGHTH
}

/// The bucket in the middle of an eighth of an octave, which stands for all of it: its values are
/// within 7 %.
pub fn middle_of(eighth: u64) -> u64 {
    eighth.saturating_mul(EIGHTH).saturating_add(EIGHTH / 2)
}

impl<S: Store> Buckets<S> {
    /// Counts one value.
    #[inline(always)]
    pub fn record(&mut self, value_ns: u64) {
        self.record_binned(Binned::new(value_ns));
    }

    /// The same, its bucket being known.
    #[inline(always)]
    pub fn record_binned(&mut self, binned: Binned) {
        let value_ns = binned.value_ns;
        self.counts.add(binned.bucket.into(), 1);
        self.count += 1;
        self.sum_ns = self.sum_ns.wrapping_add(value_ns);
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
    }

    /// Counts values by their buckets, of which the sum, the least and the greatest are known.
    pub fn record_all(&mut self, buckets: &[u16], (sum_ns, min_ns, max_ns): (u64, u64, u64)) {
        buckets.iter().for_each(|bucket| self.counts.add(usize::from(*bucket), 1));
        self.count += buckets.len() as u64;
        self.sum_ns = self.sum_ns.wrapping_add(sum_ns);
        self.min_ns = self.min_ns.min(min_ns);
        self.max_ns = self.max_ns.max(max_ns);
    }

    /// Adds another histogram's counts: the histogram of both.
    pub fn merge<O: Store>(&mut self, other: &Buckets<O>) {
        other.counts.counts().for_each(|(bucket, count)| self.counts.add(bucket, count));
        self.count += other.count;
        self.sum_ns = self.sum_ns.wrapping_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// What is left without the values of another, which are among these. The least and the
    /// greatest are told no more: they stay those of the whole.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let gone: std::collections::BTreeMap<usize, u64> = other.counts.nonzero().collect();
        let mut left = Self { min_ns: self.min_ns, max_ns: self.max_ns, ..Self::default() };
        for (bucket, count) in self.counts.nonzero() {
            let count = count.saturating_sub(gone.get(&bucket).copied().unwrap_or(0));
            if count > 0 {
                left.counts.add(bucket, count);
            }
            left.count += count;
        }
        left.sum_ns = self.sum_ns.wrapping_sub(other.sum_ns);
        left
    }

    /// The least and the greatest no further out than the buckets that are not empty: where they
    /// are those of others, too ([`Buckets::without`]).
    #[must_use]
    pub fn tightened(mut self) -> Self {
        let mut used = self.counts.nonzero().map(|(bucket, _)| bucket);
        let ends = used.next().map(|first| (first, used.last().unwrap_or(first)));
        if let Some((first, last)) = ends {
            let ((low, _), (high, width)) = (bounds(first), bounds(last));
            (self.min_ns, self.max_ns) =
                (self.min_ns.max(low), self.max_ns.min(high + (width - 1)));
        }
        self
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The exact sum of the values, in ns.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The exact least value in ns; 0 when empty.
    pub fn min_ns(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min_ns }
    }

    /// The exact greatest value in ns; 0 when empty.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The exact mean in ns; none when empty.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// The value at a quantile from 0 to 1, by the nearest rank, within 0.4 %; none when empty.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let rank = ((quantile * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (bucket, count) in self.counts.nonzero() {
            seen += count;
            if seen >= rank {
                return Some(middle(bucket).clamp(self.min_ns, self.max_ns));
            }
        }
        None
    }

    /// The mean of the greatest values that make up a share of all, at the least one, within 0.4 %:
    /// it says of a tail what a percentile does, and depends less on a single value. None when
    /// empty.
    pub fn tail_mean_ns(&self, share: f64) -> Option<f64> {
        let wanted = ((share * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        // How many of the lower ones are left out yet.
        let mut skip = self.count.checked_sub(wanted)?;
        let mut sum = 0.0;
        for (value_ns, count) in self.values() {
            let left = count.saturating_sub(skip);
            skip = skip.saturating_sub(count);
            sum += value_ns as f64 * left as f64;
        }
        (self.count > 0).then(|| sum / wanted as f64)
    }

    /// The buckets that hold something, as (bucket, count), lowest first.
    pub fn nonzero(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.nonzero().map(|(bucket, count)| (bucket as u64, count))
    }

    /// The values that stand for what was counted, with their counts, lowest first: each within 0.4
    /// %.
    pub fn values(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.nonzero()
            .map(|(bucket, count)| (middle(bucket as usize).clamp(self.min_ns, self.max_ns), count))
    }

    /// A histogram from stored buckets and the exact figures beside them.
    /// None where a bucket is out of range or the lists differ in length.
    pub fn from_parts(
        buckets: &[u64],
        counts: &[u64],
        sum_ns: u64,
        min_ns: u64,
        max_ns: u64,
    ) -> Option<Self> {
        let mut histogram = Self::default();
        histogram.add_parts(buckets, counts, (sum_ns, min_ns, max_ns)).then_some(histogram)
    }

    /// Adds stored buckets and the exact figures beside them: the sum, the least and the greatest.
    /// False where a bucket is out of range or the lists differ in length, and nothing is added.
    pub fn add_parts(
        &mut self,
        buckets: &[u64],
        counts: &[u64],
        (sum_ns, min_ns, max_ns): (u64, u64, u64),
    ) -> bool {
        let is_known = |bucket: &u64| usize::try_from(*bucket).is_ok_and(|b| b < BUCKETS);
        if buckets.len() != counts.len() || !buckets.iter().all(is_known) {
            return false;
        }
        let mut added = 0;
        for (bucket, count) in buckets.iter().zip(counts) {
            self.counts.add(*bucket as usize, *count);
            added += count;
        }
        self.count += added;
        self.sum_ns = self.sum_ns.wrapping_add(sum_ns);
        self.max_ns = self.max_ns.max(max_ns);
        if added > 0 {
            self.min_ns = self.min_ns.min(min_ns);
        }
        true
    }
}

/// How the bucket numbers are to be read, for docs/records.md.
pub fn bucket_rule() -> String {
    format!(
        "bucket b covers the nanoseconds from (b − {n}·s)·2^s up to but not including the next \
         bucket's, where s = max(0, ⌊b/{n}⌋ − 1)",
        n = BUCKETS_PER_OCTAVE
    )
}

#[cfg(test)]
mod tests;

//! Sums of requests that have no rows, by what they have in common and by time: those of the last
//! seconds, for an incident of a watch, or of a whole trace. A part of the time is a slice of the
//! verdict, to begin with.
//!
//! Non-goals: which requests are summed up (`repeats`, `quick`).

use ::verdict::watched::{InCommon, Many};
use model::busy::{BIT_NS, Busy};
use model::histogram::SparseHistogram;
use model::record::{Commands, Summed};
use std::collections::{BTreeMap, HashMap};

/// A part of the time at first: the verdict's slices.
pub(crate) const PART_NS: i64 = 100_000_000;

/// What is told of those that were in flight.
#[derive(Debug, Clone, Copy, Default)]
enum Flight {
    /// None are known yet.
    #[default]
    None,
    /// Of some it is not known when they were.
    Unknown,
    Known(Busy),
}

/// One sum.
#[derive(Debug, Default)]
struct Sum {
    summed: Summed,
    responses: SparseHistogram,
    flight: Flight,
}

/// Within a part of the time.
type Part = HashMap<InCommon, Sum>;

/// The sums of a time.
#[derive(Debug)]
pub struct Sums {
    width_ns: i64,
    /// By the number of the part.
    parts: BTreeMap<i64, Part>,
    count: usize,
    /// More are put together with those of the time beside them.
    most: usize,
}

impl Sums {
    /// With no more sums than these; with more, neighbours in time are put together.
    pub fn new(most: usize) -> Self {
        Self { width_ns: PART_NS, parts: BTreeMap::new(), count: 0, most: most.max(1) }
    }

    /// Adds others, to the part in which they begin.
    pub fn add(&mut self, what: InCommon, many: &Many, commands: &Commands) {
        let part = many.from_ns.div_euclid(self.width_ns);
        let begin_ns = part.saturating_mul(self.width_ns);
        let sums = self.parts.entry(part).or_default();
        let before = sums.len();
        let is_fine = self.width_ns == PART_NS;
        sums.entry(what)
            .or_insert_with(|| Sum::new(what, many, commands))
            .add(many, is_fine.then_some(begin_ns));
        self.count += sums.len() - before;
        while self.count > self.most && self.width_ns < i64::MAX / 2 {
            self.widen();
        }
    }

    /// What was completed before a moment goes.
    pub fn forget_before(&mut self, time_ns: i64) {
        let first = time_ns.div_euclid(self.width_ns);
        while let Some(part) = self.parts.first_entry().filter(|part| *part.key() < first) {
            self.count -= part.remove().len();
        }
    }

    fn widen(&mut self) {
        self.width_ns *= 2;
        let mut wider: BTreeMap<i64, Part> = BTreeMap::new();
        for (number, part) in std::mem::take(&mut self.parts) {
            let into = wider.entry(number.div_euclid(2)).or_default();
            for (what, sum) in part {
                into.entry(what).or_default().join(sum);
            }
        }
        self.parts = wider;
        self.count = self.parts.values().map(HashMap::len).sum();
    }

    /// The sums, in the order of time, which are gathered anew from now on.
    pub fn take(&mut self) -> Vec<Summed> {
        let sums = self.so_far();
        *self = Self::new(self.most);
        sums
    }

    /// The sums so far, in the order of time.
    pub fn so_far(&self) -> Vec<Summed> {
        let mut sums: Vec<Summed> =
            self.parts.values().flat_map(HashMap::values).map(Sum::finished).collect();
        let place = |sum: &Summed| (sum.from_ns, sum.device, sum.op as u64, sum.pid, sum.flags);
        sums.sort_by_key(|sum| (place(sum), sum.length_bytes));
        sums
    }
}

impl Sum {
    /// Nothing yet, of those like these.
    fn new(what: InCommon, many: &Many, commands: &Commands) -> Self {
        let like = &many.like;
        // Threads of the kernel may ask for anybody, and are not named.
        let pid = like.pid.filter(|_| what.are_of_a_role());
        let command = like.command.filter(|_| pid.is_some());
        let summed = Summed {
            device: like.device.into(),
            op: like.op,
            from_ns: many.from_ns,
            until_ns: many.until_ns,
            pid: pid.map(u64::from),
            command: command.map(|command| commands.name(command).to_owned()),
            flags: Some(like.flags.0.into()),
            length_bytes: Some(like.length_bytes.into()),
            ..Summed::default()
        };
        Self { summed, ..Self::default() }
    }

    /// Adds others. When some were in flight is kept within a part that begins then.
    fn add(&mut self, many: &Many, begin_ns: Option<i64>) {
        let amounts = [many.bytes, many.admission_ns, many.queue_ns];
        let pids = many.pids().map(u64::from);
        self.gather((many.from_ns, many.until_ns), amounts, pids, &many.responses);
        self.flight = match (self.flight, many.busy, begin_ns) {
            (Flight::Unknown, ..) | (_, None, _) | (.., None) => Flight::Unknown,
            (Flight::None, Some(more), Some(begin_ns)) => Flight::begun(begin_ns).and(more),
            (known @ Flight::Known(_), Some(more), _) => known.and(more),
        };
    }

    /// Puts those of the time beside it in. When some were in flight is not known of so long.
    fn join(&mut self, other: Self) {
        if self.responses.count() == 0 {
            *self = Self { flight: Flight::Unknown, ..other };
            return;
        }
        let more = other.summed;
        let amounts = [more.bytes, more.admission_ns, more.queue_ns];
        let pids = more.pid.into_iter().chain(more.other_pids);
        self.gather((more.from_ns, more.until_ns), amounts, pids, &other.responses);
    }

    fn gather(
        &mut self,
        (from_ns, until_ns): (i64, i64),
        [bytes, admission_ns, queue_ns]: [u64; 3],
        pids: impl Iterator<Item = u64>,
        responses: &SparseHistogram,
    ) {
        let sum = &mut self.summed;
        (sum.from_ns, sum.until_ns) = (sum.from_ns.min(from_ns), sum.until_ns.max(until_ns));
        sum.bytes += bytes;
        sum.admission_ns += admission_ns;
        sum.queue_ns += queue_ns;
        for pid in pids {
            if sum.pid.is_some_and(|own| own != pid) && !sum.other_pids.contains(&pid) {
                sum.other_pids.push(pid);
            }
        }
        self.responses.merge(responses);
    }

    fn finished(&self) -> Summed {
        let Busy { from_ns, bits } = match self.flight {
            Flight::Known(busy) => busy,
            Flight::None | Flight::Unknown => Busy::default(),
        };
        let summed = Summed { busy_from_ns: from_ns, busy_bits: bits, ..self.summed.clone() };
        summed.with_responses(&self.responses)
    }
}

impl Flight {
    /// Of a part that begins then.
    fn begun(begin_ns: i64) -> Self {
        Self::Known(Busy { from_ns: begin_ns.div_euclid(BIT_NS) * BIT_NS, bits: 0 })
    }

    /// With more.
    fn and(self, more: Busy) -> Self {
        let Self::Known(mut busy) = self else { return Self::Unknown };
        busy.add(&more);
        Self::Known(busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::verdict::watched::Tally;
    use model::record::Request;

    const MS: i64 = 1_000_000;

    /// One in each part of the time.
    fn many(part: i64) -> Many {
        let like = Request { pid: Some(3), queued_ns: Some(0), ..Request::default() };
        let from_ns = part * PART_NS;
        let mut many = Many { like, from_ns, until_ns: from_ns + PART_NS, ..Many::default() };
        many.bytes = 512;
        many.busy = Busy::of(from_ns + 3 * MS, from_ns + 3 * MS);
        many.responses.record(5_000);
        many
    }

    fn sums_of(parts: std::ops::Range<i64>, most: usize) -> Sums {
        let (mut sums, mut tally) = (Sums::new(most), Tally::new(false));
        let commands = Commands::default();
        for many in parts.map(many) {
            sums.add(tally.in_common(&many.like, &commands), &many, &commands);
        }
        sums
    }

    #[test]
    fn hours_are_told_in_bounded_memory_to_the_last_request() {
        let mut sums = sums_of(0..10_000, 2048);
        assert_eq!(sums.width_ns, 8 * PART_NS);
        let summed = sums.take();
        assert_eq!(summed.len(), 1250);
        assert_eq!(summed.iter().map(|sum| sum.count).sum::<u64>(), 10_000);
        assert_eq!(summed.iter().map(|sum| sum.bytes).sum::<u64>(), 512 * 10_000);
        assert!(summed.iter().all(|sum| sum.until_ns - sum.from_ns == 8 * PART_NS));
        assert!(summed.iter().all(|sum| sum.busy().is_none()), "there are no bits for so long");
        let mut all = SparseHistogram::default();
        assert!(summed.iter().all(|sum| sum.add_responses(&mut all)));
        assert_eq!((all.count(), all.sum_ns()), (10_000, 50_000_000));
    }

    #[test]
    fn what_is_older_than_the_last_seconds_goes() {
        let mut sums = sums_of(0..40, usize::MAX);
        sums.forget_before(30 * PART_NS + 1);
        let left: Vec<i64> = sums.take().iter().map(|sum| sum.from_ns / PART_NS).collect();
        assert_eq!(left, (30..40).collect::<Vec<_>>());
        assert_eq!(sums.count, 0);
    }

    #[test]
    fn when_some_were_in_flight_is_known_of_all_or_of_none() {
        let begin_ns = 7 * PART_NS;
        let at = |bit: i64| Busy::of(begin_ns + bit * BIT_NS, begin_ns + bit * BIT_NS);
        let busy_of = |all: &[Option<Busy>]| {
            let (mut sums, mut tally) = (Sums::new(9), Tally::new(false));
            let commands = Commands::default();
            let what = tally.in_common(&many(7).like, &commands);
            for busy in all {
                sums.add(what, &Many { busy: *busy, ..many(7) }, &commands);
            }
            sums.take()[0].busy().map(|busy| busy.bits.count_ones())
        };
        assert_eq!(busy_of(&[at(3)]), Some(1));
        assert_eq!(busy_of(&[at(3), at(5), at(5), at(60)]), Some(3));
        assert_eq!(busy_of(&[at(3), None]), None);
        assert_eq!(busy_of(&[None, at(3)]), None);
        assert_eq!(busy_of(&[at(3), at(70), at(4)]), Some(1), "the last ones are known");
    }
}

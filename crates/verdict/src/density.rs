//! Where requests lie in two dimensions: how long they took over time, and which places they were
//! of over time, as counts by bins. So a heat map of any trace is of bounded size: bins of time and
//! of place begin narrow and double their width when there are too many; those of response times
//! are logarithmic and fixed. A count does not depend on the order of rows, and the bins of a trace
//! in parts are those of the whole ([`Density::merge`]).
//!
//! Non-goals: drawing; what lies in a bin.

use model::record::{Flags, Op, Request};
use std::collections::{BTreeMap, HashMap};

/// Bins of time, at the most, and the width that they begin with.
pub(crate) const TIMES: u64 = 160;
pub(crate) const TIME_NS: u64 = 1_000_000;
/// Bins of place, at the most, and the width that they begin with.
const PLACES: u64 = 96;
const PLACE_BYTES: u64 = 1 << 20;
/// Bins of response times in each power of two.
const IN_OCTAVE: f64 = 3.0;

/// Evenly wide bins from zero, whose number is bounded.
#[derive(Debug, Clone, PartialEq)]
pub struct Bins {
    /// How wide each is.
    pub width: u64,
    most: u64,
}

impl Bins {
    fn new(width: u64, most: u64) -> Self {
        Self { width, most }
    }
}

/// Counts by two kinds of bins: the first of time, the other of what is shown over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Plane {
    /// Of time, ns.
    pub times: Bins,
    /// Of the other axis; none where these are logarithmic and fixed.
    pub others: Option<Bins>,
    counts: HashMap<(u64, u64), u64>,
}

impl Plane {
    fn new(others: Option<Bins>) -> Self {
        Self { times: Bins::new(TIME_NS, TIMES), others, counts: HashMap::new() }
    }

    fn add(&mut self, time_ns: u64, other: u64) {
        while time_ns / self.times.width >= self.times.most {
            self.halve(true);
        }
        while self.others.as_ref().is_some_and(|bins| other / bins.width >= bins.most) {
            self.halve(false);
        }
        let other = self.others.as_ref().map_or(other, |bins| other / bins.width);
        *self.counts.entry((time_ns / self.times.width, other)).or_default() += 1;
    }

    /// Puts neighbours together: half as many bins of time, or of the other axis.
    fn halve(&mut self, is_time: bool) {
        let bins = if is_time { Some(&mut self.times) } else { self.others.as_mut() };
        let Some(bins) = bins else { return };
        bins.width = bins.width.saturating_mul(2);
        let halved = |(time, other): (u64, u64)| match is_time {
            true => (time / 2, other),
            false => (time, other / 2),
        };
        let mut counts = HashMap::new();
        for (place, count) in self.counts.drain() {
            *counts.entry(halved(place)).or_default() += count;
        }
        self.counts = counts;
    }

    fn merge(&mut self, mut next: Self) {
        while self.times.width < next.times.width {
            self.halve(true);
        }
        while next.times.width < self.times.width {
            next.halve(true);
        }
        let width = |plane: &Self| plane.others.as_ref().map_or(0, |bins| bins.width);
        while width(self) < width(&next) {
            self.halve(false);
        }
        while width(&next) < width(self) {
            next.halve(false);
        }
        for (place, count) in next.counts {
            *self.counts.entry(place).or_default() += count;
        }
    }

    /// Requests in a bin of time and of the other axis.
    pub fn count(&self, time: u64, other: u64) -> u64 {
        self.counts.get(&(time, other)).copied().unwrap_or(0)
    }

    /// All requests.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// How many bins of time there are up to the last that holds something.
    pub fn times_used(&self) -> u64 {
        self.counts.keys().map(|(time, _)| time + 1).max().unwrap_or(0)
    }

    /// The first and the last bin of the other axis that hold something.
    pub fn others_used(&self) -> Option<(u64, u64)> {
        let others = || self.counts.keys().map(|(_, other)| *other);
        Some((others().min()?, others().max()?))
    }
}

/// The bin of a response time; of less than a nanosecond the first.
fn bin_of(response_ns: u64) -> u64 {
    ((response_ns.max(1) as f64).log2() * IN_OCTAVE) as u64
}

/// Where a bin of response times begins, ns.
pub fn response_from_ns(bin: u64) -> f64 {
    (bin as f64 / IN_OCTAVE).exp2()
}

/// Where bins of time begin for a trace whose first request arrives then: at the last whole
/// millisecond before it, so that what lies in a run for some seconds is not shown in one bin.
pub fn begin_ns(first_arrival_ns: i64) -> u64 {
    let first_ns = u64::try_from(first_arrival_ns).unwrap_or(0);
    first_ns / TIME_NS * TIME_NS
}

/// What requests of a direction on a device are over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Planes {
    /// Times from queueing to the completion.
    pub responses: Plane,
    /// Where their first bytes lie.
    pub places: Plane,
}

impl Default for Planes {
    fn default() -> Self {
        let places = Some(Bins::new(PLACE_BYTES, PLACES));
        Self { responses: Plane::new(None), places: Plane::new(places) }
    }
}

/// The planes of each device, of reads and of writes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Density {
    /// Where its bins of time begin, ns.
    from_ns: u64,
    /// By device and direction.
    pub planes: BTreeMap<(u32, Op), Planes>,
}

impl Density {
    /// Counts whose bins of time begin there.
    pub fn from(from_ns: u64) -> Self {
        Self { from_ns, ..Self::default() }
    }

    /// Adds a row, if it was requested by somebody else than lbolt, and was a read or a write.
    pub fn add(&mut self, row: &Request) {
        let is_wanted = row.parent_id.is_none()
            && !row.flags.contains(Flags::OWN)
            && matches!(row.op, Op::Read | Op::Write);
        let Some(time_ns) = row.arrival_ns().filter(|_| is_wanted) else { return };
        let planes = self.planes.entry((row.device, row.op)).or_default();
        let at_ns = u64::try_from(time_ns).unwrap_or(0).saturating_sub(self.from_ns);
        // A completion whose request was never seen took nobody knows how long.
        let completed_ns = row.completed_ns.filter(|_| !row.is_orphan());
        if let Some(response_ns) = completed_ns.and_then(|ns| u64::try_from(ns - time_ns).ok()) {
            planes.responses.add(at_ns, bin_of(response_ns));
        }
        if let Some(offset) = row.offset_bytes {
            planes.places.add(at_ns, offset);
        }
    }

    /// Brings all bins of time to the widest, and to no less than `width_ns`; gives that width. So
    /// one time stands at one place in all heat maps.
    pub fn even(&mut self, width_ns: u64) -> u64 {
        let each = |planes: &Planes| planes.responses.times.width.max(planes.places.times.width);
        let widest = self.planes.values().map(each).max().unwrap_or(0).max(width_ns);
        for planes in self.planes.values_mut() {
            for plane in [&mut planes.responses, &mut planes.places] {
                while plane.times.width < widest {
                    plane.halve(true);
                }
            }
        }
        widest
    }

    /// Adds what another part of the same trace came to, whose bins begin where these do.
    pub fn merge(&mut self, next: Self) {
        for (key, planes) in next.planes {
            let own = self.planes.entry(key).or_default();
            own.responses.merge(planes.responses);
            own.places.merge(planes.places);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(at_ns: i64, response_ns: i64, offset: u64) -> Request {
        Request {
            op: Op::Read,
            queued_ns: Some(at_ns),
            completed_ns: Some(at_ns + response_ns),
            offset_bytes: Some(offset),
            ..Request::default()
        }
    }

    #[test]
    fn bins_are_as_wide_as_the_trace_needs_and_no_row_is_lost() {
        let mut density = Density::default();
        let day_ns = 86_400_000_000_000;
        for number in 0..1000 {
            density.add(&row(number * day_ns / 1000, 1 << (number % 30), (number as u64) << 31));
        }
        let planes = &density.planes[&(0, Op::Read)];
        for plane in [&planes.responses, &planes.places] {
            assert_eq!(plane.total(), 1000);
            assert!((TIMES / 2..=TIMES).contains(&plane.times_used()), "{}", plane.times_used());
        }
        let (_, last) = planes.places.others_used().unwrap();
        assert!((PLACES / 2 - 1..PLACES).contains(&last), "{last}");
    }

    #[test]
    fn one_time_stands_at_one_place_of_all_maps() {
        let mut density = Density::default();
        density.add(&row(0, 1, 0));
        density.add(&Request { op: Op::Write, ..row(1 << 40, 1, 0) });
        let width = density.even(0);
        assert!(width > TIME_NS);
        assert_eq!(density.even(2 * width), 2 * width);
        for planes in density.planes.values() {
            assert_eq!(planes.responses.times.width, 2 * width);
            assert_eq!(planes.places.times.width, 2 * width);
        }
    }

    /// 8 s at the end of a run of 110 s: in bins from zero they would be 8 of 110.
    #[test]
    fn what_begins_late_has_bins_as_narrow_as_what_begins_at_once() {
        let (second, late) = (1_000_000_000, 102_000_000_000_i64);
        let of = |first: i64| {
            let mut density = Density::from(begin_ns(first));
            (0..8).for_each(|n| density.add(&row(first + n * second, 1, 0)));
            density.planes[&(0, Op::Read)].responses.clone()
        };
        assert_eq!(begin_ns(late + 123_456), late as u64);
        assert_eq!([begin_ns(-5), begin_ns(999_999)], [0, 0]);
        assert_eq!(of(late + 123_456), of(123_456));
        assert!(of(late).times_used() > TIMES / 2 - 30, "{}", of(late).times_used());
    }

    #[test]
    fn own_requests_parts_and_flushes_are_left_out() {
        let own = Request { flags: Flags::OWN, ..row(0, 1, 0) };
        let part = Request { parent_id: Some(1), ..row(0, 1, 0) };
        let flush = Request { op: Op::Flush, ..row(0, 1, 0) };
        let mut density = Density::default();
        [own, part, flush].iter().for_each(|row| density.add(row));
        assert_eq!(density, Density::default());
    }

    #[test]
    fn a_completion_alone_has_a_place_and_no_response() {
        let mut density = Density::default();
        density.add(&Request { queued_ns: None, ..row(5, 1, 0) });
        let planes = &density.planes[&(0, Op::Read)];
        assert_eq!((planes.responses.total(), planes.places.total()), (0, 1));
    }

    #[test]
    fn a_response_lies_in_its_bin() {
        for response_ns in [1, 2, 999, 1_000_000, 123_456_789_012] {
            let bin = bin_of(response_ns);
            let ends = response_from_ns(bin)..response_from_ns(bin + 1) * 1.000_001;
            assert!(ends.contains(&(response_ns as f64 * 1.000_000_1)), "{response_ns}");
        }
    }

    proptest! {
        #[test]
        fn parts_sum_to_the_whole(
            rows in prop::collection::vec((0_i64..1 << 50, 0_i64..1 << 40, 0_u64..1 << 45), 0..60),
            cut in 0_usize..60,
        ) {
            let rows: Vec<Request> = rows.into_iter().map(|(a, b, c)| row(a, b, c)).collect();
            let of = |rows: &[Request]| {
                let mut density = Density::default();
                rows.iter().for_each(|row| density.add(row));
                density
            };
            let (first, rest) = rows.split_at(cut.min(rows.len()));
            let mut joined = of(first);
            joined.merge(of(rest));
            prop_assert_eq!(joined, of(&rows));
        }
    }
}

//! For a page: what each host lost in bins of time, and how long requests took by device model.
//! Bins are hours, and longer for a long time: their number is bounded, whatever the clocks say.
//!
//! Non-goals: drawing (`report::fleet`).

use super::{Asked, Sums};
use hashbrown::HashMap;
use indexmap::IndexMap;
use model::fleet::{FleetModel, FleetPictures, FleetTrack, Found};
use model::histogram::SparseHistogram;
use model::history::HOUR_NS;
use model::record::{Rollup, RollupRow};
use std::collections::BTreeSet;

/// Hosts that are kept.
const HOSTS: usize = 100;
/// Bins at most: the hours of 31 days.
const BINS: i64 = 745;
/// Hours of a bin that divide a day.
const HOURS: [i64; 8] = [1, 2, 3, 4, 6, 8, 12, 24];
/// Shares of requests whose times are told.
const SHARES: [f64; 12] =
    [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999, 0.99999];
/// A share of fewer slow requests than this is not told.
const SLOW_LEAST: f64 = 10.0;

/// Bins of time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bins {
    from_unix_ns: i64,
    width_ns: i64,
    count: i64,
}

impl Bins {
    pub(super) fn of(asked: &Asked) -> Self {
        let span_ns = asked.until_unix_ns.saturating_sub(asked.from_unix_ns).max(1);
        let hours = span_ns / HOUR_NS + 1;
        let fits = |width: &i64| hours / width <= BINS;
        let days = hours / (24 * (BINS - 1)) + 1;
        let width_ns = HOUR_NS * HOURS.into_iter().find(fits).unwrap_or(24 * days);
        let from_unix_ns = asked.from_unix_ns.div_euclid(width_ns).saturating_mul(width_ns);
        let span_ns = asked.until_unix_ns.saturating_sub(from_unix_ns).max(1);
        Self { from_unix_ns, width_ns, count: (span_ns - 1) / width_ns + 1 }
    }

    /// The bins of a row: the first one, and how many.
    fn within(&self, row: &RollupRow<'_>) -> (usize, usize) {
        let place = |unix_ns: i64| {
            let bin = unix_ns.saturating_sub(self.from_unix_ns).div_euclid(self.width_ns);
            bin.clamp(0, self.count - 1) as usize
        };
        let first = place(row.from_unix_ns);
        let last = place(row.until_unix_ns.saturating_sub(1));
        (first, last.saturating_sub(first) + 1)
    }
}

/// What a host lost in each bin, and whether it was watched then.
#[derive(Debug, Clone, Default)]
pub(super) struct Track {
    bins: Vec<(i64, bool)>,
    is_spread: bool,
}

impl Track {
    fn each(&mut self, row: &RollupRow<'_>, bins: Bins, lost_ns: i64) {
        self.bins.resize(bins.count as usize, (0, false));
        let (first, count) = bins.within(row);
        let (share, rest) = (lost_ns / count as i64, lost_ns % count as i64);
        for (place, bin) in self.bins.iter_mut().skip(first).take(count).enumerate() {
            let part = share + if place == 0 { rest } else { 0 };
            *bin = (bin.0.saturating_add(part), true);
        }
        self.is_spread |= count > 1 && lost_ns != 0;
    }

    /// Takes a row of a time that was watched.
    pub(super) fn watched(&mut self, row: &RollupRow<'_>, bins: Bins) {
        self.each(row, bins, 0);
    }

    /// Takes a row of a loss.
    pub(super) fn lost(&mut self, row: &RollupRow<'_>, bins: Bins) {
        self.each(row, bins, row.lost_ns);
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.is_spread |= other.is_spread;
        if self.bins.is_empty() {
            self.bins = other.bins;
            return;
        }
        for (own, theirs) in self.bins.iter_mut().zip(other.bins) {
            *own = (own.0.saturating_add(theirs.0), own.1 | theirs.1);
        }
    }

    fn lost_ns(&self) -> i64 {
        self.bins.iter().fold(0, |sum, bin| sum.saturating_add(bin.0))
    }
}

/// All that a page draws.
pub(super) fn pictures(
    fleet: &Sums,
    bins: Bins,
    models: &IndexMap<String, Rollup>,
) -> FleetPictures {
    let mut worst: Vec<(&String, &Track, i64)> =
        fleet.hosts.iter().map(|(host, of)| (host, &of.track, of.track.lost_ns())).collect();
    worst.sort_by(|a, b| b.2.cmp(&a.2).then(a.0.cmp(b.0)));
    worst.truncate(HOSTS);
    let track = |(host, track, lost_ns): &(&String, &Track, i64)| {
        let host = Found { host: (*host).clone(), source: fleet.source_of(host) };
        let lost_ns_of = |(ns, is_watched): &(i64, bool)| is_watched.then_some(*ns);
        let of = FleetTrack { host, lost_ns: track.bins.iter().map(lost_ns_of).collect() };
        (*lost_ns > 0).then_some(of)
    };
    FleetPictures {
        from_unix_ns: bins.from_unix_ns,
        bin_ns: bins.width_ns,
        is_spread: worst.iter().any(|(_, track, _)| track.is_spread),
        hosts: worst.iter().filter_map(track).collect(),
        models: told(fleet, models),
    }
}

/// The models with response times.
fn told(fleet: &Sums, models: &IndexMap<String, Rollup>) -> Vec<FleetModel> {
    let mut hosts: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for key in fleet.units.keys() {
        hosts.entry(key[2].as_str()).or_default().insert(key[0].as_str());
    }
    let of = |(model, sum): (&String, &Rollup)| {
        let responses: SparseHistogram = sum.responses()?;
        let count = responses.count() as f64;
        let is_told = |share: &f64| *share <= 0.5 || (1.0 - share) * count >= SLOW_LEAST;
        let quantile = |share: f64| Some((share, responses.quantile_ns(share)?));
        let quantiles_ns: Vec<(f64, u64)> =
            SHARES.into_iter().filter(is_told).filter_map(quantile).collect();
        (!quantiles_ns.is_empty()).then(|| FleetModel {
            model: model.clone(),
            hosts: hosts.get(model.as_str()).map_or(0, BTreeSet::len),
            requests: sum.count,
            quantiles_ns,
        })
    };
    let mut all: Vec<FleetModel> = models.iter().filter_map(of).collect();
    all.sort_by(|a, b| b.requests.cmp(&a.requests).then(a.model.cmp(&b.model)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fleet::FleetBy;
    use model::record::{Counted, RollupKey};

    fn bins(hours: i64) -> Bins {
        let until_unix_ns = hours.saturating_mul(HOUR_NS);
        let (by, change_unix_ns) = (FleetBy::Host, None);
        Bins::of(&Asked { from_unix_ns: 0, until_unix_ns, by, change_unix_ns, is_drawn: true })
    }

    #[test]
    fn bins_are_hours_and_never_too_many() {
        for (hours, width, count) in
            [(1, 1, 1), (720, 1, 720), (744, 1, 744), (745, 2, 373), (8_760, 12, 730)]
        {
            let bins = bins(hours);
            assert_eq!((bins.width_ns / HOUR_NS, bins.count), (width, count), "{hours}");
        }
        assert!(bins(2_000_000).count <= BINS);
        let all = Asked {
            from_unix_ns: i64::MIN,
            until_unix_ns: i64::MAX,
            by: FleetBy::Host,
            change_unix_ns: None,
            is_drawn: true,
        };
        assert!(Bins::of(&all).count <= BINS);
    }

    #[test]
    fn what_spans_bins_is_divided_and_adds_up_in_any_order() {
        let key = RollupKey { counted: Counted::Lost, ..RollupKey::default() };
        let row = |from: i64, until: i64, lost_ns| Rollup {
            lost_ns,
            ..Rollup::of(key.clone(), from * HOUR_NS, until * HOUR_NS)
        };
        let of = |rows: &[Rollup]| {
            let mut track = Track::default();
            rows.iter().for_each(|row| track.lost(&row.lent(), bins(4)));
            track
        };
        let (day, hour) = (row(0, 3, 7), row(1, 2, 5));
        let mut one = of(std::slice::from_ref(&day));
        assert!(one.is_spread);
        one.merge(of(std::slice::from_ref(&hour)));
        assert_eq!(one.bins, of(&[hour, day]).bins);
        assert_eq!(one.bins, [(3, true), (7, true), (2, true), (0, false)]);
        assert_eq!(one.lost_ns(), 12);
    }
}

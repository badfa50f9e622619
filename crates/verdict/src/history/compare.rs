//! Two times against each other: an hour (or a tenth of it) with the one of the same place in the
//! other time, so that what every day has is no difference.
//!
//! Non-goals: reckoning a difference (`analyze::compare`, with the rows of each key as series).

use crate::bound::{Bound, NAMES_MOST};
use crate::merge::Merge;
use analyze::compare::Series;
use model::histogram::SparseHistogram;
use model::record::{Counted, RollupRow, Subject, operations};
use std::collections::BTreeMap;

/// Lines of less tell nothing of a percentile.
const LEAST_REQUESTS: u64 = 100;

/// A side: what was watched, by slots of equal length from its begin on.
#[derive(Debug, Clone, Default)]
pub struct Side {
    from_unix_ns: i64,
    slot_ns: i64,
    /// By device and operation, and by slot.
    responses: BTreeMap<(String, String), BTreeMap<i64, SparseHistogram>>,
    lost_ns: BTreeMap<i64, f64>,
    watched_ns: BTreeMap<i64, u64>,
}

impl Side {
    /// Of no rows yet.
    pub fn new(from_unix_ns: i64, slot_ns: i64) -> Self {
        Self { from_unix_ns, slot_ns, ..Self::default() }
    }

    /// Takes a row.
    pub fn take(&mut self, row: &RollupRow<'_>) {
        if self.full().is_some() {
            return;
        }
        let slot = (row.from_unix_ns - self.from_unix_ns).div_euclid(self.slot_ns);
        match row.counted {
            Counted::Watch if row.operation == operations::WATCHED => {
                *self.watched_ns.entry(slot).or_default() += row.sum_ns;
            }
            Counted::Lost => *self.lost_ns.entry(slot).or_default() += row.lost_ns as f64,
            Counted::Requests => {
                let key = (row.device.unwrap_or("").to_owned(), row.operation.to_owned());
                let of_key = self.responses.entry(key).or_default().entry(slot).or_default();
                let exact = (row.sum_ns, row.min_ns, row.max_ns);
                let _ = of_key.add_parts(row.buckets, row.counts, exact);
            }
            _ => {}
        }
    }

    /// What there is more of than any history has: rows are not taken any more.
    pub fn full(&self) -> Option<Bound> {
        Bound::exceeded([(self.responses.len(), NAMES_MOST, "operations of devices")])
    }

    /// Adds what another took of other rows.
    pub fn merge(&mut self, other: Self) {
        if self.full().is_some() {
            return;
        }
        Merge::merge(&mut self.responses, other.responses);
        Merge::merge(&mut self.lost_ns, other.lost_ns);
        Merge::merge(&mut self.watched_ns, other.watched_ns);
    }
}

/// The series of both sides, of the slots that both watched; and how many these are.
pub fn series(a: &Side, b: &Side) -> (Vec<Series>, Vec<Series>, usize) {
    let watched = |side: &Side, slot: &i64| side.watched_ns.get(slot).is_some_and(|ns| *ns > 0);
    let slots: Vec<i64> =
        a.watched_ns.keys().copied().filter(|s| watched(a, s) && watched(b, s)).collect();
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    let mut push = |subject: &Subject, name: &str, values: Vec<Option<(f64, f64)>>| {
        let (values_a, values_b): (Vec<f64>, Vec<f64>) = values.into_iter().flatten().unzip();
        for (side, values) in [(&mut of_a, values_a), (&mut of_b, values_b)] {
            let (subject, quantity) = (subject.clone(), name.to_owned());
            side.push(Series { subject, quantity, values, ..Series::default() });
        }
    };
    let per_s = |side: &Side, slot: &i64, value: f64| {
        side.watched_ns.get(slot).map_or(0.0, |ns| value * 1e9 / *ns as f64)
    };
    // What was lost in as long a time: of the side that was watched for longer, its part.
    let lost = |side: &Side, other: &Side, slot: &i64| {
        let lost_ns = side.lost_ns.get(slot).copied().unwrap_or(0.0).max(0.0);
        let watched_ns = |of: &Side| of.watched_ns.get(slot).copied().unwrap_or(0) as f64;
        lost_ns * (watched_ns(other) / watched_ns(side)).min(1.0)
    };
    let values = slots.iter().map(|slot| Some((lost(a, b, slot), lost(b, a, slot))));
    push(&Subject::class("all", "all"), "lost_ns", values.collect());
    for (key, in_a) in &a.responses {
        let Some(in_b) = b.responses.get(key) else { continue };
        let subject = Subject::class("device", &format!("{} {}", key.0, key.1));
        let both = |value: &dyn Fn(&Side, &i64, &SparseHistogram) -> Option<f64>| {
            let of = |slot: &i64| {
                let empty = SparseHistogram::default();
                let of_a = value(a, slot, in_a.get(slot).unwrap_or(&empty))?;
                Some((of_a, value(b, slot, in_b.get(slot).unwrap_or(&empty))?))
            };
            slots.iter().map(of).collect::<Vec<_>>()
        };
        let quantile = |quantile: f64| {
            move |_: &Side, _: &i64, responses: &SparseHistogram| {
                let is_enough = responses.count() >= LEAST_REQUESTS;
                responses.quantile_ns(quantile).filter(|_| is_enough).map(|ns| ns as f64)
            }
        };
        let rate = |side: &Side, slot: &i64, responses: &SparseHistogram| {
            Some(per_s(side, slot, responses.count() as f64))
        };
        let greatest = |_: &Side, _: &i64, responses: &SparseHistogram| {
            (responses.count() > 0).then(|| responses.max_ns() as f64)
        };
        push(&subject, "requested_per_s", both(&rate));
        push(&subject, "response_p50_ns", both(&quantile(0.5)));
        push(&subject, "response_p99_ns", both(&quantile(0.99)));
        push(&subject, "response_max_ns", both(&greatest));
    }
    (of_a, of_b, slots.len())
}

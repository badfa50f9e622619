//! What was lost, waited or watched, by days and by hours of the day, and how far that is chance.

use crate::merge::{Merge, merged};
use model::history::{DAY_NS, HOUR_NS};

/// Days of which the differences tell what is chance.
const DAYS_LEAST: usize = 8;
/// The middle difference of two normal numbers, in deviations of one.
const MIDDLE_DIFFERENCE: f64 = 0.9539;

/// A time in ns and the variance of what it is in µs².
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) ns: i64,
    pub(super) us2: i64,
}

merged!(Sum { ns, us2 });

/// Sums by days and by hours of the day.
#[derive(Debug, Clone, Default)]
pub(super) struct Series {
    /// In ascending order; days are counted from a moment.
    days: Vec<(i64, Sum)>,
    pub(super) hours: [Sum; 24],
}

impl Merge for Series {
    fn merge(&mut self, other: Self) {
        other.days.into_iter().for_each(|(day, sum)| self.day(day).merge(sum));
        self.hours.merge(other.hours);
    }
}

/// The day of a moment, counted from another moment.
pub(super) fn day_of(unix_ns: i64, anchor_ns: i64) -> i64 {
    unix_ns.saturating_sub(anchor_ns).div_euclid(DAY_NS)
}

impl Series {
    fn day(&mut self, day: i64) -> &mut Sum {
        // Rows of a key come in the order of their time.
        let place = match self.days.last() {
            Some((last, _)) if *last == day => self.days.len() - 1,
            _ => match self.days.binary_search_by_key(&day, |(day, _)| *day) {
                Ok(place) => place,
                Err(place) => {
                    self.days.insert(place, (day, Sum::default()));
                    place
                }
            },
        };
        &mut self.days[place].1
    }

    pub(super) fn add(&mut self, unix_ns: i64, anchor_ns: i64, sum: Sum) {
        self.day(day_of(unix_ns, anchor_ns)).merge(sum);
        let hour = unix_ns.div_euclid(HOUR_NS).rem_euclid(24);
        self.hours[usize::try_from(hour).unwrap_or(0)].merge(sum);
    }

    /// The sums of days, those before or after the moment from which they are counted alone.
    pub(super) fn days(&self, side: Side) -> impl Iterator<Item = (i64, Sum)> + Clone + '_ {
        self.days.iter().copied().filter(move |(day, _)| side.has(*day))
    }

    /// All of it, in ns.
    pub(super) fn sum_ns(&self, side: Side) -> f64 {
        self.days(side).map(|(_, sum)| sum.ns as f64).sum()
    }

    /// The deviation of the sum: what the rows say of themselves, or how days differ from the days
    /// before them, whichever is more. One step between two days makes no difference of it.
    pub(super) fn chance_ns(&self, side: Side) -> f64 {
        let us2: f64 = self.days(side).map(|(_, sum)| sum.us2.max(0) as f64).sum();
        let told_ns = 1e3 * us2.sqrt();
        let values: Vec<f64> = self.days(side).map(|(_, sum)| sum.ns as f64).collect();
        if values.len() < DAYS_LEAST {
            return told_ns;
        }
        let apart = values.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        let of_day = middle(apart.collect()) / MIDDLE_DIFFERENCE;
        told_ns.max(of_day * (values.len() as f64).sqrt())
    }
}

/// So much in so long a time as it is in a day.
pub(super) fn a_day(ns: f64, watched_ns: f64) -> f64 {
    if watched_ns > 0.0 { ns / watched_ns * DAY_NS as f64 } else { 0.0 }
}

/// Which days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    All,
    Before,
    After,
}

impl Side {
    fn has(self, day: i64) -> bool {
        match self {
            Self::All => true,
            Self::Before => day < 0,
            Self::After => day >= 0,
        }
    }
}

/// The middle one; 0 of none.
pub(super) fn middle(values: Vec<f64>) -> f64 {
    quantile(values, 0.5)
}

/// The value below which such a share of all is; 0 of none.
pub(super) fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1) as f64;
    let (place, rest) = ((last * share).floor(), (last * share).fract());
    let at = |place: f64| values.get(place as usize).copied();
    let (Some(low), high) = (at(place), at(place + 1.0)) else { return 0.0 };
    low + rest * (high.unwrap_or(low) - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_no_chance_and_what_days_differ_by_is() {
        let of = |value: &dyn Fn(i64) -> i64| {
            let mut series = Series::default();
            (0..20).for_each(|day| {
                series.add(day * DAY_NS, 0, Sum { ns: value(day), us2: 4 });
            });
            series
        };
        let step = of(&|day| if day < 10 { 0 } else { 1_000_000 });
        assert!((step.chance_ns(Side::All) - 1e3 * 80f64.sqrt()).abs() < 1.0);
        let uneven = of(&|day| if day % 2 == 0 { 0 } else { 1_000_000 });
        assert!(uneven.chance_ns(Side::All) > 4e6);
        assert_eq!(uneven.sum_ns(Side::All), 1e7);
        assert_eq!(uneven.hours[0].ns, 10_000_000);
    }

    #[test]
    fn days_are_counted_from_a_moment_and_added_up() {
        let mut one = Series::default();
        for day in [5, 3, 5] {
            one.add(day * DAY_NS + 1, 4 * DAY_NS, Sum { ns: 1, us2: 0 });
        }
        let mut two = one.clone();
        two.merge(one);
        let days: Vec<(i64, i64)> = two.days(Side::All).map(|(day, sum)| (day, sum.ns)).collect();
        assert_eq!(days, [(-1, 2), (1, 4)]);
        assert_eq!((two.sum_ns(Side::Before), two.sum_ns(Side::After)), (2.0, 4.0));
        assert_eq!(quantile(vec![4.0, 0.0, 2.0], 0.25), 1.0);
        assert_eq!(quantile(vec![], 0.25), 0.0);
    }
}

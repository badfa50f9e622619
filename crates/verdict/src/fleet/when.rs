//! Since when something is much more than before, and in which hours of the day most of it is.
//!
//! Non-goals: more than one step.

use super::series::{Side, Sum, quantile};
use super::{Sums, series::Series};

/// It is a step from so many times as much on.
const TIMES: f64 = 3.0;
/// Of fewer days on either side nothing can be told.
const DAYS_LEAST: usize = 2;
/// Deviations that a step is higher than chance.
const DEVIATIONS: f64 = 4.0;
/// A day with less than this part of what comes later is before it.
const BEGUN: f64 = 0.2;
/// Hours with such a part of all are the hours of the day, if they are so few.
const MOST: f64 = 0.8;
const HOURS_MOST: usize = 6;

/// The first day of much more than before, by its begin.
pub(super) fn since(fleet: &Sums, series: &Series, days: (i64, i64)) -> Option<i64> {
    let count = usize::try_from(days.1 - days.0 + 1).ok()?;
    let mut values = vec![0.0; count.min(4_000)];
    for (day, sum) in series.days(Side::All) {
        let place = usize::try_from(day - days.0).ok();
        if let Some(value) = place.and_then(|place| values.get_mut(place)) {
            *value += sum.ns as f64;
        }
    }
    step(&values).map(|place| fleet.day_ns(days.0 + place as i64))
}

/// The place from which on values are much higher.
fn step(values: &[f64]) -> Option<usize> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    // By how much two means explain it.
    let explained = |place: &usize| {
        let (before, after) = values.split_at(*place);
        let (b, a) = (before.len() as f64, after.len() as f64);
        b * a / (b + a) * (mean(after) - mean(before)).powi(2)
    };
    let last = values.len().checked_sub(DAYS_LEAST)?;
    let mut place = (DAYS_LEAST..=last).max_by(|a, b| explained(a).total_cmp(&explained(b)))?;
    let (before, after) = values.split_at(place);
    let (low, high) = (mean(before), mean(after));
    let apart = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let chance = quantile(apart, 0.5) / 0.9539;
    let sizes = 1.0 / before.len() as f64 + 1.0 / after.len() as f64;
    let is_step = high > TIMES * low.max(0.0) && high - low > DEVIATIONS * chance * sizes.sqrt();
    // What goes up slowly began before the middle of it.
    while is_step && place > 1 && values[place - 1] > BEGUN * high {
        place -= 1;
    }
    is_step.then_some(place)
}

/// The hours of the day that have most of it: the first one, and how many.
pub(super) fn hours(hours: &[Sum; 24]) -> Option<(u8, u8)> {
    let lost = |hour: usize| hours[hour % 24].ns.max(0) as f64;
    let all: f64 = (0..24).map(lost).sum();
    let within = |first: usize, count: usize| (first..first + count).map(lost).sum::<f64>();
    let found = (1..=HOURS_MOST).find_map(|count| {
        let best = (0..24).max_by(|a, b| within(*a, count).total_cmp(&within(*b, count)))?;
        (within(best, count) >= MOST * all && all > 0.0).then_some((best, count))
    });
    found.map(|(first, count)| (first as u8, count as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_found_where_it_begins_and_noise_is_none() {
        let values = |of: &dyn Fn(usize) -> f64| (0..30).map(of).collect::<Vec<_>>();
        let noise = |day: usize| ((day * 7919) % 13) as f64;
        assert_eq!(step(&values(&|day| if day < 20 { noise(day) } else { 100.0 })), Some(20));
        let slow = |day: usize| if day < 20 { 0.0 } else { 30.0 + 7.0 * (day - 20) as f64 };
        assert_eq!(step(&values(&slow)), Some(20));
        assert_eq!(step(&values(&noise)), None);
        assert_eq!(step(&values(&|day| 100.0 + noise(day))), None);
        assert_eq!(step(&[1.0, 2.0]), None);
    }

    #[test]
    fn the_hours_of_a_night_go_past_midnight() {
        let mut of = [Sum { ns: 1, us2: 0 }; 24];
        of[23].ns = 100;
        of[0].ns = 100;
        assert_eq!(hours(&of), Some((23, 2)));
        assert_eq!(hours(&[Sum { ns: 1, us2: 0 }; 24]), None);
        assert_eq!(hours(&[Sum::default(); 24]), None);
    }
}

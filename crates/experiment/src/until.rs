//! How many passes of a cell count: just so many, or as many as it takes until the rate's interval
//! is narrow; and in either case no more once a time is over, where there is one.
//!
//! Who looks after every pass and ends at the first narrow interval ends too often by luck: the
//! deviation of the first few passes happened to be small, and the interval is too narrow
//! (Anscombe, *Large-sample theory of sequential estimation*, 1952; Chow & Robbins, 1965). So the
//! interval must be narrow in [`IN_A_ROW`] looks one after the other, or so narrow at once that
//! luck is no question. Simulated passes show what is left of 95 %: 93 % at the worst
//! (`tests/throughput.rs` of lbolt).
//!
//! Cells that take turns go on in rounds until the least certain of them is known ([`Rounds`]), so
//! that a drift of the machine falls on all.
//!
//! Non-goals: what an interval is. The caller gives the very function by which it is published.

use model::seam::SubjectError;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::HashMap;
use std::hash::Hash;

/// Looks that must find the interval narrow, one after the other.
const IN_A_ROW: u32 = 3;
/// An interval of this share of what is requested is enough at once.
const AT_ONCE: f64 = 0.5;
/// More passes than this tell hardly more: quick ones would fill the records.
const MOST_PASSES: usize = 100;

/// Why a cell has no pass.
pub(crate) const TIME_IS_OVER: &str =
    "--max-time was over before its first pass; give more time, or measure fewer cells";

/// Until when passes go on.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Until {
    /// Half of the rate's 95 % interval that is narrow enough, per cent of the rate; none where
    /// there are just so many passes, whatever is known then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision_percent: Option<f64>,
    /// No pass beyond the fewest begins when this long is over: of the cell's own passes, or of all
    /// where cells take turns, with what comes before the first.
    #[serde(rename = "max_time_s", serialize_with = "seconds", deserialize_with = "of_seconds")]
    pub max_time_ns: u64,
    /// Passes that there are in any case, the time over or not.
    #[serde(default)]
    pub fewest: u32,
    /// Half of the 95 % interval of these rates, per cent of their mean; none where they have none.
    #[serde(skip, default = "no_interval")]
    pub half_percent: fn(&[f64]) -> Option<f64>,
}

/// A plan that was read holds no function: whoever runs it again gives one.
fn no_interval() -> fn(&[f64]) -> Option<f64> {
    |_| None
}

fn seconds<S: Serializer>(ns: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(*ns as f64 / 1e9)
}

fn of_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Ok((f64::deserialize(deserializer)? * 1e9).round() as u64)
}

/// The passes of one cell that count.
#[derive(Debug)]
pub struct Passes {
    least: u32,
    until: Option<Until>,
    began_ns: u64,
    rates: Vec<f64>,
    narrow_in_a_row: u32,
    is_narrow: bool,
}

impl Passes {
    /// Just `runs` of them, or so many before the interval is first looked at.
    pub fn new(runs: u32, until: Option<Until>, now_ns: u64) -> Self {
        let rates = Vec::new();
        Self { least: runs, until, began_ns: now_ns, rates, narrow_in_a_row: 0, is_narrow: false }
    }

    /// How many there have been.
    pub fn count(&self) -> u32 {
        u32::try_from(self.rates.len()).unwrap_or(u32::MAX)
    }

    /// A pass is over.
    pub fn add(&mut self, rate: f64) {
        self.rates.push(rate);
        let Some(until) = self.until.filter(|_| self.count() >= self.least) else { return };
        let Some(precision) = until.precision_percent else {
            self.is_narrow = true;
            return;
        };
        // No interval is a wide one.
        let half = (until.half_percent)(&self.rates).unwrap_or(f64::INFINITY);
        self.narrow_in_a_row = if half <= precision { self.narrow_in_a_row + 1 } else { 0 };
        let is_at_once = half <= AT_ONCE * precision;
        self.is_narrow = is_at_once || self.narrow_in_a_row >= IN_A_ROW;
    }

    /// Whether another one is to begin.
    pub fn goes_on(&self, now_ns: u64) -> bool {
        let Some(until) = self.until else { return self.count() < self.least };
        let is_wanted = !self.is_narrow && self.rates.len() < MOST_PASSES;
        self.count() < until.fewest
            || self.has_time(now_ns) && (self.count() < self.least || is_wanted)
    }

    /// Whether the time is not over yet, where there is one.
    pub fn has_time(&self, now_ns: u64) -> bool {
        self.until.is_none_or(|of| now_ns.saturating_sub(self.began_ns) < of.max_time_ns)
    }
}

/// The passes of cells that take turns, by cell.
#[derive(Debug)]
pub struct Rounds<K>(HashMap<K, Passes>);

impl<K: Eq + Hash> Rounds<K> {
    /// Of these cells, each with passes as [`Passes::new`] has them.
    pub fn new(
        cells: impl IntoIterator<Item = K>,
        (runs, until): (u32, Option<Until>),
        now_ns: u64,
    ) -> Self {
        Self(cells.into_iter().map(|cell| (cell, Passes::new(runs, until, now_ns))).collect())
    }

    /// A pass of a cell is over.
    pub fn add(&mut self, cell: &K, rate: f64) {
        if let Some(passes) = self.0.get_mut(cell) {
            passes.add(rate);
        }
    }

    /// No more passes of a cell: it was refused, and will be again.
    pub fn leave_out(&mut self, cell: &K) {
        self.0.remove(cell);
    }

    /// Whether a cell has passes still.
    pub fn have(&self, cell: &K) -> bool {
        self.0.contains_key(cell)
    }

    /// Whether a cell may have another pass in a round that has begun: once the time is over, only
    /// up to the fewest. The very first pass of all is always there.
    /// Errors: the time was over before the cell had any.
    pub fn may(&self, cell: &K, now_ns: u64) -> Result<bool, SubjectError> {
        let Some(passes) = self.0.get(cell) else { return Ok(false) };
        let fewest = passes.until.map_or(0, |until| until.fewest);
        if passes.has_time(now_ns) || passes.count() < fewest {
            return Ok(true);
        }
        match passes.count() {
            0 if self.0.values().all(|passes| passes.count() == 0) => Ok(true),
            0 => Err(SubjectError::Unavailable(TIME_IS_OVER.into())),
            _ => Ok(false),
        }
    }

    /// Whether another round is to begin.
    pub fn go_on(&self, now_ns: u64) -> bool {
        self.0.values().any(|passes| passes.goes_on(now_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_go_on_until_the_least_certain_cell_is_known_and_refused_ones_do_not_count() {
        let mut rounds = Rounds::new(["sure", "unsure", "refused"], (3, Some(until())), 0);
        rounds.leave_out(&"refused");
        let mut count = 0;
        while rounds.go_on(count) {
            rounds.add(&"sure", 1.0);
            rounds.add(&"unsure", if count < 8 { 40.0 } else { 9.0 });
            rounds.add(&"refused", 40.0);
            count += 1;
        }
        assert_eq!(count, 11, "8 wide ones, and 3 in a row that are narrow");
        assert!(rounds.have(&"sure") && !rounds.have(&"refused"));
        let exact = Rounds::<u32>::new([], (3, None), 0);
        assert!(!exact.go_on(0), "without cells there is nothing to go on with");
    }

    #[test]
    fn a_time_that_is_over_ends_a_round_within_it() {
        let hard = Until { fewest: 0, ..until() };
        let mut rounds = Rounds::new(["first", "late"], (3, Some(hard)), 0);
        assert_eq!(rounds.may(&"first", 1000), Ok(true), "the very first pass is always there");
        rounds.add(&"first", 1.0);
        assert_eq!(rounds.may(&"first", 99), Ok(true));
        assert_eq!(rounds.may(&"first", 100), Ok(false));
        assert!(rounds.may(&"late", 100).is_err(), "it says why it has none");
        let fewest = Rounds::new(["late"], (3, Some(until())), 0);
        assert_eq!(fewest.may(&"late", 1000), Ok(true), "those are there in any case");
    }

    /// The last rate is the half itself: a test says what each look finds.
    fn until() -> Until {
        let half_percent = |rates: &[f64]| rates.last().copied();
        Until { precision_percent: Some(10.0), max_time_ns: 100, fewest: 3, half_percent }
    }

    /// How many passes there are where the looks find these halves, one a nanosecond.
    fn passes(halves: &[f64], until: Option<Until>) -> usize {
        let mut passes = Passes::new(5, until, 1000);
        let looked = halves.iter().enumerate().take_while(|(place, half)| {
            let goes_on = passes.goes_on(1000 + *place as u64);
            if goes_on {
                passes.add(**half);
            }
            goes_on
        });
        looked.count()
    }

    #[test]
    fn an_exact_number_looks_at_nothing() {
        assert_eq!(passes(&[99.0; 20], None), 5);
        assert_eq!(passes(&[0.0; 20], None), 5);
        // With a time, whichever comes first.
        let exact = |max_time_ns| Until { precision_percent: None, max_time_ns, ..until() };
        assert_eq!(passes(&[99.0; 20], Some(exact(100))), 5);
        assert_eq!(passes(&[99.0; 20], Some(exact(4))), 4);
        assert_eq!(passes(&[99.0; 20], Some(exact(1))), 3, "there in any case");
    }

    #[test]
    fn passes_end_when_the_interval_stays_narrow() {
        assert_eq!(passes(&[4.0; 20], Some(until())), 5, "so narrow that no luck made it");
        assert_eq!(passes(&[9.0; 20], Some(until())), 7);
        let mut halves = vec![30.0; 8];
        // Narrow twice by luck, then wide, then for good.
        halves.extend([9.0, 9.0, 12.0, 9.5, 9.0, 8.0, 7.0, 6.0]);
        assert_eq!(passes(&halves, Some(until())), 14);
    }

    #[test]
    fn passes_end_when_the_time_is_over_but_not_below_the_fewest() {
        let short = Until { max_time_ns: 12, ..until() };
        assert_eq!(passes(&[50.0; 40], Some(short)), 12);
        let none = Until { max_time_ns: 0, ..until() };
        assert_eq!(passes(&[50.0; 40], Some(none)), 3);
        assert_eq!(passes(&[1.0; 40], Some(Until { fewest: 5, ..none })), 5);
        let endless = Until { max_time_ns: u64::MAX, ..until() };
        assert_eq!(passes(&[50.0; 400], Some(endless)), MOST_PASSES);
        let blind = Until { half_percent: |_| None, ..endless };
        assert_eq!(passes(&[1.0; 400], Some(blind)), MOST_PASSES);
    }
}

//! Whether a figure lies where it is to be, by what its values over the rounds tell.

use analyze::compare::rank::Design;
use anyhow::{Context as _, ensure};
use std::fmt;

/// Between what a figure is to lie; without bounds nothing is wanted of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    text: String,
    low: f64,
    high: f64,
}

impl Wanted {
    /// Reads `≤ 1`, `≥ 1`, `1 to 2`, `1` or `-`.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let number = |text: &str| text.trim().parse::<f64>().context("no number");
        let (low, high) = if text == "-" {
            (f64::NEG_INFINITY, f64::INFINITY)
        } else if let Some(high) = text.strip_prefix('≤') {
            (f64::NEG_INFINITY, number(high)?)
        } else if let Some(low) = text.strip_prefix('≥') {
            (number(low)?, f64::INFINITY)
        } else {
            let (low, high) = text.split_once(" to ").unwrap_or((text, text));
            (number(low)?, number(high)?)
        };
        ensure!(low <= high, "the lower bound is above the upper one");
        Ok(Self { text: text.to_owned(), low, high })
    }

    /// What an interval says: wholly inside, wholly outside, or neither.
    pub(super) fn judge(&self, measured: &Measured) -> Verdict {
        let Measured { low, high, .. } = *measured;
        if self.text == "-" {
            Verdict::Open
        } else if low >= self.low && high <= self.high {
            Verdict::Reached
        } else if high < self.low || low > self.high {
            Verdict::Missed
        } else {
            Verdict::CannotTell("the interval spans the bound".to_owned())
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A figure and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Measured {
    /// As two sides are compared: the shift of signed ranks and its interval, of the logarithms
    /// where these exist. The interval of fewer than six values is their extremes.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let is_ratio = values.iter().all(|value| *value > 0.0);
        let scaled: Vec<f64> =
            values.iter().map(|value| if is_ratio { value.ln() } else { *value }).collect();
        let shift = Design::Pairs.shift(&vec![0.0; scaled.len()], &scaled)?;
        let (low, high) = shift.interval.unwrap_or_else(|| extremes(&scaled));
        // Nothing lies beyond the extremes but what rounding adds.
        let (least, most) = extremes(values);
        let back = |value: f64| if is_ratio { value.exp().clamp(least, most) } else { value };
        Some(Self { value: back(shift.estimate), low: back(low), high: back(high) })
    }
}

/// The least and the greatest value.
pub(super) fn extremes(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// What became of what was wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Reached,
    Missed,
    /// With the reason.
    CannotTell(String),
    /// Nothing was wanted.
    Open,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reached => f.write_str("reached"),
            Self::Missed => f.write_str("MISSED"),
            Self::CannotTell(reason) => write!(f, "could not tell: {reason}"),
            Self::Open => f.write_str("-"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_interval_decides() {
        let judge = |wanted: &str, low, high| {
            Wanted::parse(wanted).unwrap().judge(&Measured { value: low, low, high })
        };
        assert_eq!(judge("0.95 to 1.05", 0.95, 1.05), Verdict::Reached);
        assert_eq!(judge("0.95 to 1.05", 0.8, 0.94), Verdict::Missed);
        assert_eq!(judge("0.95 to 1.05", 1.06, 1.2), Verdict::Missed);
        for (low, high) in [(0.9, 1.0), (1.0, 1.1), (0.9, 1.1)] {
            let verdict = judge("0.95 to 1.05", low, high);
            assert!(matches!(verdict, Verdict::CannotTell(_)), "{low} {high}");
        }
        assert_eq!(judge("≤ 30", 24.0, 26.0), Verdict::Reached);
        assert_eq!(judge("≥ 30", 24.0, 26.0), Verdict::Missed);
        assert_eq!(judge("100", 100.0, 100.0), Verdict::Reached);
        assert_eq!(judge("-", 1.0, 2.0), Verdict::Open);
        assert!(Wanted::parse("< 1").is_err());
        assert!(Wanted::parse("2 to 1").is_err());
    }

    #[test]
    fn intervals_are_of_ratios_by_ranks_and_of_few_values_the_extremes() {
        let of = |values: &[f64]| Measured::of(values).unwrap();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let nine: Vec<f64> = (-4..=4).map(|power| 2f64.powi(power)).collect();
        let found = of(&nine);
        // The sixth of the sorted Walsh averages of -4 to 4 at each end (96.1 %: Hollander & Wolfe,
        // table A.4): two and a half.
        let bound = 2f64.powf(2.5);
        assert!(close(found.value, 1.0) && close(found.high, bound), "{found:?}");
        assert!(close(found.low, 1.0 / bound), "{found:?}");
        let few = of(&[2.0, 1.0, 4.0]);
        assert!(close(few.low, 1.0) && close(few.high, 4.0), "{few:?}");
        let negative = of(&[-28.0, 12.0, -28.0]);
        assert_eq!((negative.low, negative.high), (-28.0, 12.0));
        assert_eq!(of(&[0.0; 9]), Measured { value: 0.0, low: 0.0, high: 0.0 });
        assert_eq!(of(&[100.0; 9]), Measured { value: 100.0, low: 100.0, high: 100.0 });
        assert_eq!(Measured::of(&[]), None);
    }
}

//! Numbers as they are printed: three significant digits, one unit a table.

use model::units::show_fixed;

/// In what rates are told: the one home of it, for sentences, tables and pictures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RateUnit {
    /// `MB/s`.
    pub(crate) name: &'static str,
    /// The same in full, as the paper's readers could not be sure of it.
    pub(crate) meaning: &'static str,
    /// One of it.
    pub(crate) bytes_per_s: f64,
}

const UNITS: [RateUnit; 3] = [
    RateUnit { name: "GB/s", meaning: "10^9 bytes/s", bytes_per_s: 1e9 },
    RateUnit { name: "MB/s", meaning: "10^6 bytes/s", bytes_per_s: 1e6 },
    RateUnit { name: "kB/s", meaning: "10^3 bytes/s", bytes_per_s: 1e3 },
];

impl RateUnit {
    /// The unit in which the largest of the rates has two digits before its point, or the least.
    pub(crate) fn for_rates(rates: impl IntoIterator<Item = f64>) -> Self {
        let largest = rates.into_iter().filter(|rate| rate.is_finite()).fold(0.0, f64::max);
        let fits = |unit: &RateUnit| largest >= 10.0 * unit.bytes_per_s;
        UNITS.into_iter().find(fits).unwrap_or(UNITS[2])
    }

    /// The unit that suits the middle one of rates of many magnitudes.
    pub(crate) fn for_middle(rates: impl IntoIterator<Item = f64>) -> Self {
        let mut rates: Vec<f64> = rates.into_iter().collect();
        rates.sort_by(f64::total_cmp);
        Self::for_rates(rates.get(rates.len() / 2).copied())
    }

    /// A rate in this unit, without the unit's name.
    pub(crate) fn show(self, bytes_per_s: f64) -> String {
        significant(bytes_per_s / self.bytes_per_s)
    }

    /// A rate with the unit's name, `87.2 MB/s`.
    pub(crate) fn text(self, bytes_per_s: f64) -> String {
        format!("{} {}", self.show(bytes_per_s), self.name)
    }

    /// A rate with half its interval to as many decimals, `87.2 ± 0.5`.
    pub(crate) fn show_interval(self, bytes_per_s: f64, half: Option<f64>) -> String {
        plus_minus(bytes_per_s / self.bytes_per_s, half.map(|half| half / self.bytes_per_s))
    }
}

/// What stands for a number whose interval says nothing.
pub(crate) const CANNOT_TELL: &str = "cannot tell";

/// What would make it a number, beneath a table.
pub(crate) const WOULD_TELL: &str = "the 95 % interval spans more than a factor of 4, or numbers \
    that cannot be; more passes (--runs, --max-time) would tell";

/// An interval that reaches from an end to so many times that end says no more than the magnitude.
const MOST_TIMES: f64 = 4.0;
/// A greater factor is told as more than this one.
const MOST_SAID: f64 = 1e6;

/// What the interval of a number that is above 0 by its nature does, so that it says nothing yet:
/// it spans too much, or 0; none where it says something.
pub(crate) fn says_nothing(low: f64, high: f64) -> Option<String> {
    match high / low {
        _ if low <= 0.0 => Some("reaches down to zero".to_owned()),
        times if times > MOST_SAID => Some("spans a factor of more than a million".to_owned()),
        times if times > MOST_TIMES => Some(format!("spans a factor of {}", significant(times))),
        _ => None,
    }
}

/// The same of the interval of a ratio, which tells which way it goes, and by how much at the
/// least, where all of it lies on one side of 1, however wide.
pub(crate) fn ratio_says_nothing(low: f64, high: f64) -> Option<String> {
    let is_open = low <= 0.0 || (low..=high).contains(&1.0);
    says_nothing(low, high).filter(|_| is_open)
}

/// The same of a number with half its interval.
fn is_open(value: f64, half: f64) -> bool {
    half != 0.0 && says_nothing(value - half, value + half).is_some()
}

/// A number that is above 0 by its nature with half its interval, as [`plus_minus`].
pub(crate) fn interval(value: f64, half: Option<f64>) -> String {
    match half {
        Some(half) if is_open(value, half) => CANNOT_TELL.to_owned(),
        half => plus_minus(value, half),
    }
}

/// A number with half its interval, `87.2 ± 0.5`: no decimals beyond the second digit of the half,
/// and nothing of an interval that has no width in the digits that are printed.
pub(crate) fn plus_minus(value: f64, half: Option<f64>) -> String {
    let text = significant(value);
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let (value, half) = match half.map(f64::abs) {
        Some(half) if !text.contains('e') && half < 1e12 => {
            let meaningful = usize::try_from(1 - exponent(half)).unwrap_or(0);
            let decimals = decimals.min(meaningful);
            (show_fixed(value, decimals), show_fixed(half, decimals))
        }
        half => (text.clone(), significant(half.unwrap_or(0.0))),
    };
    match half.contains(|digit| ('1'..='9').contains(&digit)) {
        true => format!("{value} ± {half}"),
        false => text,
    }
}

/// The ends of an interval, without the unit that they share with its value: `705–767`; none where
/// they are printed alike, for an interval without width is none.
pub(crate) fn span(value: &str, low: &str, high: &str) -> Option<String> {
    if low == high {
        return None;
    }
    let unit = |text: &str| text.rsplit_once(' ').map(|(_, unit)| unit.to_owned());
    Some(match unit(value).filter(|_| unit(low) == unit(value) && unit(high) == unit(value)) {
        Some(unit) => {
            let bare = |text: &str| text[..text.len() - unit.len()].trim_end().to_owned();
            format!("{}–{}", bare(low), bare(high))
        }
        None => format!("{low}–{high}"),
    })
}

/// A count or a rate with three digits, thousands as `k`, millions as `M`: `526`, `90.7k`.
pub(crate) fn short_count(value: f64) -> String {
    const STEPS: [(f64, &str); 3] = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    // What three digits round up is of the next step.
    let step = STEPS.iter().find(|(step, _)| value.abs() >= step * 0.9995);
    match step {
        Some((step, name)) => format!("{}{name}", significant(value / step)),
        None => significant(value),
    }
}

/// `90.7k IOPS`.
pub(crate) fn show_iops(per_s: f64) -> String {
    format!("{} IOPS", short_count(per_s))
}

/// The power of ten, read from the rounded text, so that 99.96 is 100 and not 100.0.
fn exponent(value: f64) -> i32 {
    let scientific = format!("{value:.2e}");
    scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0)
}

/// A rate by itself, in the unit that suits it.
pub(crate) fn show_rate(bytes_per_s: f64) -> String {
    RateUnit::for_rates([bytes_per_s]).text(bytes_per_s)
}

/// Bytes in the largest unit of which there is one, as 1.5 GiB.
pub fn show_bytes(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let step = (bytes.max(1.0).log2() / 10.0) as usize;
    let unit = UNITS.get(step).or(UNITS.last()).unwrap_or(&"B");
    let step = step.min(UNITS.len() - 1) as i32;
    format!("{} {unit}", significant(bytes / 1024f64.powi(step)))
}

/// At least three significant digits; whole numbers from 100 on, powers of ten at the extremes.
pub(crate) fn significant(value: f64) -> String {
    match exponent(value) {
        _ if value == 0.0 => "0".to_owned(),
        power @ -3..9 => format!("{value:.*}", usize::try_from(2 - power).unwrap_or(0)),
        _ => format!("{value:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_kept() {
        for (value, text) in [
            (0.0, "0"),
            (1234.4, "1234"),
            (99.96, "100"),
            (12.345, "12.3"),
            (9.999, "10.0"),
            (1.0, "1.00"),
            (0.0123, "0.0123"),
            (-0.5, "-0.500"),
            (1e-9, "1.00e-9"),
            (1e300, "1.00e300"),
        ] {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn thousands_have_letters_and_an_interval_one_unit() {
        let counts = [0.0, 88.66, 526.0, 999.4, 999.6, 90_663.0, 999_700.0, 2e9];
        let texts = counts.map(short_count);
        assert_eq!(texts, ["0", "88.7", "526", "999", "1.00k", "90.7k", "1.00M", "2.00G"]);
        let told = |value, low, high| span(value, low, high).unwrap();
        assert_eq!(told("736 ns", "705 ns", "767 ns"), "705–767");
        assert_eq!(told("974 ns", "934 ns", "1.01 µs"), "934 ns–1.01 µs");
        assert_eq!(told("5", "4", "6"), "4–6");
        assert_eq!(span("1.42 ms", "1.42 ms", "1.42 ms"), None);
    }

    #[test]
    fn the_largest_rate_chooses_the_unit() {
        for (largest, name) in [
            (0.0, "kB/s"),
            (760e3, "kB/s"),
            (9.9e6, "kB/s"),
            (10e6, "MB/s"),
            (9.9e9, "MB/s"),
            (10e9, "GB/s"),
        ] {
            assert_eq!(RateUnit::for_rates([largest, 1.0, f64::NAN]).name, name);
        }
        assert_eq!(RateUnit::for_rates([1234e6]).show(1234e6), "1234");
        assert_eq!([show_rate(1234e6), show_rate(2.5e10)], ["1234 MB/s", "25.0 GB/s"]);
    }

    #[test]
    fn an_interval_has_its_rates_decimals() {
        let unit = RateUnit::for_rates([1e8]);
        assert_eq!(unit.show_interval(87.25e6, Some(0.5e6)), "87.2 ± 0.5");
        assert_eq!(unit.show_interval(1234e6, Some(12e6)), "1234 ± 12");
        assert_eq!(unit.show_interval(1e300, Some(1e299)), "1.00e294 ± 1.00e293");
        assert_eq!(unit.show_interval(1e8, None), "100");
        assert_eq!(interval(92.6, Some(38.5)), "93 ± 38");
        assert_eq!(plus_minus(0.0767, Some(377.1)), "0 ± 377");
        assert_eq!(plus_minus(-2.35, Some(6.56)), "-2.4 ± 6.6");
        assert_eq!(plus_minus(-0.0767, Some(377.1)), "0 ± 377");
    }

    #[test]
    fn an_interval_that_says_nothing_is_no_number_and_one_without_width_is_none() {
        for (value, half) in [(556.0, 2474.0), (-99.0, 641.0), (10.0, 10.0), (10.0, 6.1)] {
            assert_eq!(interval(value, Some(half)), CANNOT_TELL, "{value} ± {half}");
        }
        assert_eq!(interval(10.0, Some(5.9)), "10.0 ± 5.9");
        // Two passes that differ by less than the digits.
        for half in [0.0, 0.004, 1e-17] {
            assert_eq!(interval(2.55, Some(half)), "2.55", "{half}");
        }
        assert_eq!(plus_minus(-2.55, Some(0.006)), "-2.55 ± 0.01");
        let factor = says_nothing(5.16e-4, 1130.0).unwrap();
        assert_eq!(factor, "spans a factor of more than a million");
        assert_eq!(says_nothing(1.36, 24331.0).unwrap(), "spans a factor of 17890");
        assert_eq!(says_nothing(1.0, 20.0).unwrap(), "spans a factor of 20.0");
        assert_eq!(says_nothing(1.0, 4.0), None);
        for (low, high, is_open) in [
            (55.0, 1359.0, false),
            (0.001, 0.2, false),
            (0.0495, 22.6, true),
            (-0.1, 0.5, true),
            (0.9, 1.1, false),
        ] {
            assert_eq!(ratio_says_nothing(low, high).is_some(), is_open, "{low} {high}");
        }
    }
}

//! Draws of a profile: every number that is known only to lie between two others is drawn evenly
//! from there (with `log = true` evenly by its logarithm), so that runs of several draws tell how
//! far a prediction can be trusted.

use super::ProfileError;
use super::leaf::{Leaf, Source};
use super::reader::Profile;
use super::unit;
use crate::random::Random;
use toml::Value;

/// A number as it stands in a profile, and its unit.
struct Quantity<'a> {
    number: f64,
    unit: &'a str,
}

fn quantity(value: &Value) -> Option<Quantity<'_>> {
    let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
    match (number, value.as_str()) {
        (Some(number), _) => Some(Quantity { number, unit: "" }),
        (None, Some(text)) => {
            let (number, unit) = unit::split(text);
            Some(Quantity { number: number.parse().ok()?, unit })
        }
        _ => None,
    }
}

/// The bounds of a leaf, in the unit of its value; none where it has none.
fn bounds(leaf: &Leaf) -> Option<Result<(f64, f64, &str), &'static str>> {
    let (low, high) = match (&leaf.low, &leaf.high) {
        (None, None) => return None,
        (Some(low), Some(high)) => (low, high),
        _ => return Some(Err("low and high must be given together")),
    };
    let all = [&leaf.value, low, high].map(quantity);
    let [Some(value), Some(low), Some(high)] = all else {
        return Some(Err("low and high must be numbers like the value"));
    };
    if low.unit != value.unit || high.unit != value.unit {
        return Some(Err("low and high must have the unit of the value"));
    }
    if !(low.number <= value.number && value.number <= high.number) {
        return Some(Err("the value is not between low and high"));
    }
    if leaf.log && low.number <= 0.0 {
        return Some(Err("log needs a low above zero"));
    }
    Some(Ok((low.number, high.number, value.unit)))
}

impl Profile {
    /// Whether any number of it is known only to lie between two others.
    pub fn is_uncertain(&self) -> bool {
        self.leaves().any(|(_, leaf)| leaf.low.is_some() && leaf.high.is_some())
    }

    /// Checks every interval.
    /// Errors: bounds in another unit than the value's, or that it does not lie between.
    pub fn check_intervals(&self) -> Result<(), ProfileError> {
        let mut bad = self.leaves().filter_map(|(key, leaf)| match bounds(leaf)? {
            Err(reason) => Some(ProfileError::new(&leaf.file, key, reason)),
            Ok(_) => None,
        });
        bad.next().map_or(Ok(()), Err)
    }

    /// The same profile with every uncertain number drawn evenly from its interval. The draw
    /// numbered 0 is the profile itself.
    #[must_use]
    pub fn drawn(&self, number: u64) -> Self {
        let mut drawn = self.clone();
        if number == 0 {
            return drawn;
        }
        let mut random = Random::new(number);
        for (_, leaf) in drawn.leaves_mut() {
            let Some(Ok((low, high, unit))) = bounds(leaf) else { continue };
            let share = random.unit();
            let number = match leaf.log {
                true => low * (high / low).powf(share),
                false => low + share * (high - low),
            };
            let value = match &leaf.value {
                Value::Integer(_) => Value::Integer(number.round() as i64),
                Value::Float(_) => Value::Float(number),
                _ => Value::String(format!("{number} {unit}")),
            };
            leaf.value = value;
            leaf.source = leaf.source.clone().or(Some(Source::Set));
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use crate::profile::CATALOG;

    const TEXT: &str = "kind = 'drive'\n[seek]\nassumed = 'x'\nsure = '3 ms'\n\
        minimum = { value = '5 ms', fitted = 'f', low = '4 ms', high = '7 ms' }\n\
        count = { value = 5, fitted = 'f', low = 2, high = 9 }\n";

    #[test]
    fn draws_lie_in_their_intervals_and_are_the_same_again() {
        let profile = CATALOG.load_text("d", "d.toml", TEXT).unwrap();
        assert!(profile.is_uncertain() && profile.check_intervals().is_ok());
        let at = |number: u64| {
            let drawn = profile.drawn(number);
            let reader = drawn.reader().below("drive").below("seek");
            (
                reader.time_ns("minimum").unwrap(),
                reader.count("count").unwrap(),
                reader.time_ns("sure").unwrap(),
            )
        };
        assert_eq!(at(0), (5e6, 5, 3e6));
        let draws: Vec<_> = (1..200).map(at).collect();
        assert!(draws.iter().all(|(ns, count, sure)| (4e6..=7e6).contains(ns)
            && (2..=9).contains(count)
            && *sure == 3e6));
        assert!(
            draws.iter().any(|(ns, ..)| *ns < 4.2e6) && draws.iter().any(|(ns, ..)| *ns > 6.8e6)
        );
        assert_eq!(at(7), at(7));
    }

    #[test]
    fn draws_by_logarithm_are_even_in_each_octave() {
        let text =
            TEXT.replace("low = '4 ms', high = '7 ms'", "low = '1 ms', high = '16 ms', log = true");
        let profile = CATALOG.load_text("d", "d.toml", &text).unwrap();
        let of = |number| {
            let drawn = profile.drawn(number);
            drawn.reader().below("drive").below("seek").time_ns("minimum").unwrap()
        };
        let below = (1..2000).map(of).filter(|ns| *ns < 4e6).count();
        assert!((below as f64 / 2000.0 - 0.5).abs() < 0.05, "{below}");
    }

    #[test]
    fn intervals_that_cannot_be_are_refused() {
        for (bad, sentence) in [
            ("low = '4 us', high = '7 ms'", "the unit of the value"),
            ("low = '6 ms', high = '7 ms'", "not between"),
            ("low = true, high = '7 ms'", "numbers like the value"),
            ("low = '4 ms'", "must be given together"),
            ("low = '0 ms', high = '7 ms', log = true", "above zero"),
        ] {
            let text = TEXT.replace("low = '4 ms', high = '7 ms'", bad);
            let error = CATALOG.load_text("d", "d.toml", &text).unwrap_err();
            assert!(error.reason.contains(sentence), "{error}");
        }
    }
}

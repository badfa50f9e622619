//! What a flight recorder waits for, as typed: `p99>50ms`.

use model::units::parse_time;

/// The measures that can be waited for: a name, and its quantile (1 is the maximum).
const MEASURES: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999), ("max", 1.0)];

/// A condition as typed.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    pub(crate) measure: &'static str,
    pub(crate) quantile: f64,
    pub(crate) bound_ns: u64,
}

impl std::str::FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = MEASURES.map(|(name, _)| name).join(", ");
        let shape = format!(
            "{text:?} is no condition; write MEASURE>TIME as p99>50ms, MEASURE one of {known}"
        );
        let (name, bound) = text.split_once('>').ok_or_else(|| shape.clone())?;
        let measure = MEASURES.iter().find(|(measure, _)| *measure == name.trim());
        let (measure, quantile) = *measure.ok_or(shape)?;
        let bound = parse_time(bound.trim()).map_err(|e| e.to_string())?;
        let bound_ns = u64::try_from(bound.as_nanos()).map_err(|e| e.to_string())?;
        Ok(Self { measure, quantile, bound_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_condition_is_refused_with_one_that_would_do() {
        for (text, word) in
            [("p99", "p99>50ms"), ("p98>1s", "p999"), ("p99>50", "50ms"), (">1s", "p99")]
        {
            let error = text.parse::<Condition>().unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}

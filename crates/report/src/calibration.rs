//! What a run measured of itself and of its machine, on one line. Non-goals: the figures of its
//! cells.

use crate::number::{show_rate, significant};
use crate::sheet::NOT_MEASURED;
use model::record::{Finding, Verdict};
use model::units::show_time_ns;

type Show = fn(f64) -> String;

/// What the calibration line says: before the number, quantity, the number, behind it.
const CALIBRATION: &[(&str, &str, Show, &str)] = &[
    ("a clock reading costs ", "clock_cost_ns", show_time_ns, ""),
    ("the clock's step is ", "clock_precision_ns", show_time_ns, ""),
    ("the harness costs ", "harness_ns_per_operation", show_time_ns, " a request"),
    ("the machine by itself takes ", "background_difference_percent", show_percent, " of a CPU"),
    ("by the trace ", "background_trace_percent", show_percent, ""),
    ("memory copies ", "memory_copy_bytes_per_s", show_rate, ""),
];

fn show_percent(percent: f64) -> String {
    format!("{} %", significant(percent))
}

/// What the run measured of itself, on one line: the cost of the clock and of the harness, and
/// the memory's speed. None if the findings hold no calibration.
pub fn calibration_line(findings: &[Finding]) -> Option<String> {
    let parts: Vec<String> = CALIBRATION
        .iter()
        .filter_map(|(before, quantity, show, behind)| {
            let found = findings.iter().find(|f| f.quantity == *quantity)?;
            let value = found.value.filter(|v| v.is_finite()).map_or(NOT_MEASURED.into(), show);
            let sound = found.verdict == Verdict::Ok;
            let mark = if sound || value == NOT_MEASURED { "" } else { " (suspect)" };
            Some(format!("{before}{value}{behind}{mark}"))
        })
        .collect();
    (!parts.is_empty()).then(|| format!("Calibration: {}", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quantity_shown_is_in_the_models_table() {
        for (_, name, ..) in CALIBRATION {
            assert!(model::record::quantity(name).is_some(), "{name} is no quantity");
        }
    }

    #[test]
    fn the_calibration_is_one_line() {
        let found = |quantity: &str, value, verdict| Finding {
            quantity: quantity.into(),
            value,
            verdict,
            ..Finding::default()
        };
        let findings = [
            found("clock_cost_ns", Some(21.6), Verdict::Ok),
            found("harness_ns_per_operation", None, Verdict::NotMeasured),
            found("memory_copy_bytes_per_s", Some(12.34e9), Verdict::Suspect),
        ];
        assert_eq!(
            calibration_line(&findings).unwrap(),
            "Calibration: a clock reading costs 22 ns, the harness costs n.m. a request, \
             memory copies 12.3 GB/s (suspect)"
        );
        assert_eq!(calibration_line(&[]), None);
    }
}

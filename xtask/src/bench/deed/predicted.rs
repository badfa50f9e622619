//! What `lbolt whatif` says of changes.

use super::devices::done;
use anyhow::Context as _;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A predicted ratio and its interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Predicted {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Predicted {
    pub(super) fn holds(&self, ratio: f64) -> bool {
        (self.low..=self.high).contains(&ratio)
    }
}

/// All of a `whatif`.
pub(super) struct Predictions {
    findings: Vec<Value>,
}

impl Predictions {
    /// Asks for all changes at once; the runs of both sides go to `output`.
    pub(super) fn of(
        lbolt: &str,
        trace: &Path,
        model: &Path,
        changes: &[String],
        output: &Path,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(lbolt);
        command.arg("whatif").arg(trace).arg("--model").arg(model);
        command.args(["--arrivals", "open", "--format", "json", "--output"]).arg(output);
        changes.iter().for_each(|change| {
            command.args(["--change", change]);
        });
        let printed = done(&mut command)?;
        let json: Value = serde_json::from_str(&printed).context("whatif printed no JSON")?;
        let findings = json["findings"].as_array().cloned().context("whatif found nothing")?;
        Ok(Self { findings })
    }

    /// The ratio of a number of a class, after a change over before it.
    pub(super) fn ratio(&self, change: &str, class: &str, number: &str) -> Option<Predicted> {
        let quantity = format!("change_{number}_ratio");
        let is_it = |finding: &&Value| {
            finding["quantity"] == quantity.as_str()
                && finding["subject"]["change"] == change
                && finding["subject"]["op"] == class
        };
        let finding = self.findings.iter().find(is_it)?;
        let [value, low, high] = ["value", "low", "high"].map(|key| finding[key].as_f64());
        let value = value?;
        // A prediction without an interval says nothing but itself.
        Some(Predicted { value, low: low.unwrap_or(value), high: high.unwrap_or(value) })
    }
}

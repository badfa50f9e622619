//! `lbolt papers` against what was promised of it. The same for the same seeds: one run tells.

use super::super::finding::value;
use super::super::statistics::Bound;
use super::super::table::Row;
use super::super::{Bench, child};
use anyhow::Context as _;
use serde_json::Value;
use std::ffi::OsString;

/// A claim: its name, the finding's quantity and subject, and the bound.
type Claim = (&'static str, &'static str, &'static [(&'static str, &'static str)], Bound);

const ALL: &[(&str, &str)] = &[("paper", "1983"), ("group", "all")];
const EMULEX: &[(&str, &str)] = &[("paper", "1983"), ("group", "Emulex SC750 and SC780")];
const COUNTS: &[(&str, &str)] = &[("paper", "1986"), ("group", "all")];

pub(super) const NAMES: &[&str] = &[
    CLAIMS[0].0,
    CLAIMS[1].0,
    CLAIMS[2].0,
    CLAIMS[3].0,
    CLAIMS[4].0,
    CLAIMS[5].0,
    CLAIMS[6].0,
    MISSED,
    SECTORS,
    GREATEST,
];

const CLAIMS: [Claim; 7] = [
    ("simulate 1983: median error %, 93 cells", "error_median_percent", ALL, Bound::at_most(4.0)),
    ("simulate 1983: mean error %", "error_mean_percent", ALL, Bound::at_most(6.0)),
    ("simulate 1983: cells within 15 %, %", "within_15_percent", ALL, Bound::at_least(92.0)),
    ("simulate 1983: fitted parameters", "parameters_count", ALL, Bound::at_most(42.0)),
    ("simulate 1983: Emulex, median error %", "error_median_percent", EMULEX, Bound::at_most(3.0)),
    (
        "simulate 1983: CPU share, mean error, points",
        "cpu_error_mean_percent",
        ALL,
        Bound::at_most(5.0),
    ),
    (
        "simulate 1986: total-variation distance",
        "total_variation_distance",
        COUNTS,
        Bound::at_most(0.05),
    ),
];
const MISSED: &str = "simulate 1980: values of M that emerge and are not the printed ones";
const SECTORS: &str = "simulate 1980: greatest error of S, %";
const GREATEST: &str = "simulate 1980: greatest error of R_max, %";

/// Each claim's row.
pub(super) fn run(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    eprintln!("simulate: lbolt papers");
    let words: Vec<OsString> = ["papers", "--format=json"].map(Into::into).into();
    let done = child::run(&bench.lbolt, &words, &bench.records.path(), &bench.control)?;
    let json: Value = serde_json::from_str(&done.stdout).context("lbolt's JSON is broken")?;
    let mut rows = Vec::new();
    for (name, quantity, subject, bound) in CLAIMS {
        rows.push(Row::judged(name, &[value(&json, quantity, subject)?], bound));
    }
    rows.push(Row::judged(MISSED, &[unlike(&json)], Bound::at_most(0.0)));
    let sectors =
        worst(&json, ["published_sectors_per_revolution", "model_sectors_per_revolution"]);
    rows.push(Row::judged(SECTORS, &[sectors], Bound::at_most(0.1)));
    let greatest = worst(&json, ["published_words_per_s", "model_words_per_s"]);
    // Four digits.
    rows.push(Row::judged(GREATEST, &[greatest], Bound::at_most(0.01)));
    Ok(rows)
}

fn findings<'a>(json: &'a Value, quantity: &'a str) -> impl Iterator<Item = &'a Value> {
    let all = json["findings"].as_array().into_iter().flatten();
    all.filter(move |finding| finding["quantity"] == quantity)
}

/// How many values of M emerge and are others than those that are printed.
fn unlike(json: &Value) -> f64 {
    let emerging =
        findings(json, "model_missed_per_call").filter(|finding| finding["method"] == "emerges");
    emerging.filter(|finding| finding["verdict"] != "ok").count() as f64
}

/// The greatest error of a quantity over all subjects that have it printed, in per cent.
fn worst(json: &Value, [printed, modelled]: [&str; 2]) -> f64 {
    let errors = findings(json, printed).filter_map(|of_paper| {
        let of_model = findings(json, modelled).find(|f| f["subject"] == of_paper["subject"])?;
        let ratio = of_model["value"].as_f64()? / of_paper["value"].as_f64()?;
        Some(100.0 * (ratio - 1.0).abs())
    });
    errors.fold(0.0, f64::max)
}

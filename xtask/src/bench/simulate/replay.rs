//! Traces of real drives and of a real workstation, replayed on their models.

use super::super::finding::value;
use super::super::statistics::Bound;
use super::super::table::Row;
use super::super::{Bench, child};
use anyhow::{Context as _, ensure};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A model, its trace, and what DiskSim 4.0 itself reaches on it, ms.
const DRIVES: [(&str, &str, f64); 5] = [
    ("hp-c2490a", "hp_c2490a", 0.254),
    ("dec-rz26", "dec_rz26", 0.340),
    ("barracuda", "barracuda", 0.349),
    ("cheetah9lp", "cheetah9LP", 0.107),
    ("atlas10k", "atlas10k", 0.268),
];
pub(super) const DRIVE_NAMES: &[&str] = &[
    "simulate: demerit of hp-c2490a, × DiskSim's",
    "simulate: demerit of dec-rz26, × DiskSim's",
    "simulate: demerit of barracuda, × DiskSim's",
    "simulate: demerit of cheetah9lp, × DiskSim's",
    "simulate: demerit of atlas10k, × DiskSim's",
];
const OF_DRIVE: Bound = Bound::at_most(1.25);

const SERVICE: &str = "simulate hplajw: demerit of service times, % of the mean";
const READS: &str = "simulate hplajw: mean response of reads, × measured";
const WRITES: &str = "simulate hplajw: mean response of asynchronous writes, × measured";
const BEHIND: &str = "simulate hplajw: reads by writes outstanding, worst row, × measured";
pub(super) const WEEK_NAMES: &[&str] = &[SERVICE, READS, WRITES, BEHIND];
const WITHIN_20: Bound = Bound { low: 0.8, high: 1.2 };
const WITHIN_25: Bound = Bound { low: 0.75, high: 1.25 };

fn json_of(bench: &Bench, words: &[&str], files: &[&Path]) -> anyhow::Result<Value> {
    let words = words.iter().map(OsString::from);
    let words: Vec<OsString> = words.chain(files.iter().map(|file| file.into())).collect();
    let done = child::run(&bench.lbolt, &words, &bench.records.path(), &bench.control)?;
    serde_json::from_str(&done.stdout).context("lbolt's JSON is broken")
}

/// A real trace.
pub(super) fn data(bench: &Bench, name: &str) -> anyhow::Result<PathBuf> {
    let path = bench.data.join("..").join(name);
    ensure!(path.exists(), "not measured: no {name} beside {}", bench.data.display());
    Ok(path)
}

/// Each drive's demerit beside DiskSim's.
pub(super) fn drives(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, (model, trace, disksim_ms)) in DRIVE_NAMES.iter().zip(DRIVES) {
        bench.records.clear()?;
        let trace = data(bench, &format!("disks/{trace}.trace"))?;
        let run = bench.records.path().join("run");
        let run = run.display().to_string();
        let words = ["simulate", "--format=json", "--model", model, "--output", &run];
        let json = json_of(bench, &words, &[&trace])?;
        let demerit_ms = value(&json, "demerit_ns", &[("op", "all")])? / 1e6;
        let mut row = Row::judged(name, &[demerit_ms / disksim_ms], OF_DRIVE);
        row.lbolt = format!("{demerit_ms:.3} ms");
        row.peer = format!("DiskSim 4.0: {disksim_ms} ms");
        rows.push(row);
    }
    Ok(rows)
}

/// The week of hplajw.
pub(super) fn week(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    bench.records.clear()?;
    let trace = data(bench, "hplajw/ajw.1week.srt")?;
    let run = bench.records.path().join("run");
    let shown = run.display().to_string();
    let words = ["simulate", "--format=json", "--model", "hp-9000-845", "--output", &shown];
    let json = json_of(bench, &words, &[&trace])?;
    let of = |op: &str, quantity: &str| value(&json, quantity, &[("device", "0"), ("op", op)]);
    let measured = json_of(bench, &["response", "--format=json"], &[&trace])?;
    let simulated = json_of(bench, &["response", "--format=json"], &[&run])?;
    let ratio = |by: &str, class: &str| -> anyhow::Result<f64> {
        let subject = [("by", by), ("class", class)];
        let of = |json: &Value| value(json, "response_mean_ns", &subject);
        Ok(of(&simulated)? / of(&measured)?)
    };
    let classes = ["0", "1 to 4", "5 to 19", "20 and more"];
    let ratios: Vec<f64> = classes
        .iter()
        .map(|class| ratio("background writes outstanding", class))
        .collect::<anyhow::Result<_>>()?;
    let far = |ratio: &f64| (ratio - 1.0).abs();
    let worst = ratios.iter().copied().max_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(0.0);
    let reads = of("read", "simulated_mean_ns")? / of("read", "measured_mean_ns")?;
    let service = of("all", "service_demerit_percent")?;
    let mut behind = Row::judged(BEHIND, &[worst], WITHIN_25);
    behind.lbolt = classes.iter().zip(&ratios).map(|(c, r)| format!("{c}: {r:.2}; ")).collect();
    Ok(vec![
        Row::judged(SERVICE, &[service], Bound::at_most(10.0)),
        Row::judged(READS, &[reads], WITHIN_20),
        Row::judged(WRITES, &[ratio("origin", "writeback")?], WITHIN_20),
        behind,
    ])
}

//! `fleets`: does `lbolt fleet` find what is planted in fleets that are not of its own making, and
//! does it leave healthy ones alone? Each fleet is 60 hosts, request by request ([`world`]), rolled
//! up by the program that is judged.
//!
//! Seeds from 1000 on judge; whoever changes the detector looks at others.

mod world;

use crate::command;
use anyhow::Context as _;
use clap::Parser;
use rayon::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use world::{Host, Plant};

/// When all fleets begin: a Monday.
const START: &str = "2026-11-02T00:00:00Z";
const HALF: &str = "2026-11-03T00:00:00Z";
const START_UNIX_NS: i64 = 1_793_577_600_000_000_000;

/// Make fleets of hosts, and judge what `lbolt fleet` says of them.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask fleets")]
pub(crate) struct Options {
    /// Only these kinds.
    #[arg(value_name = "KIND")]
    kinds: Vec<String>,
    /// Seed of the first fleet of each kind.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Fleets of each kind.
    #[arg(long, default_value_t = 1)]
    fleets: u64,
    /// Hosts of a fleet.
    #[arg(long, default_value_t = 60)]
    hosts: usize,
    /// Days of a fleet.
    #[arg(long, default_value_t = 2.0)]
    days: f64,
    /// The program that is judged [default: target/release/lbolt].
    #[arg(long, value_name = "FILE")]
    lbolt: Option<PathBuf>,
    /// Directory of the fleets [default: target/fleets].
    #[arg(long, value_name = "DIR")]
    at: Option<PathBuf>,
}

/// A kind of fleet: what is planted, in strengths that take turns, on which hosts, and what tells
/// that it was found.
struct Kind {
    name: &'static str,
    strengths: &'static [f64],
    plant: fn(f64) -> Option<Plant>,
    /// Of a host, its number, and the fleet's seed.
    is_hit: fn(&Host, usize, u64) -> bool,
    is_found: fn(&Value, &BTreeSet<String>, f64) -> bool,
}

const KINDS: [Kind; 8] = [
    Kind {
        name: "firmware",
        strengths: &[1.4, 4.0],
        plant: |times| Some(Plant::WriteTail(times)),
        is_hit: |host, _, _| host.kind() == 1 && host.firmware == "A2",
        is_found: |said, hit, _| {
            slower(said, "level")
                .any(|of| of["key"] == "A2" && of["operation"] == "write" && &names(of) == hit)
        },
    },
    Kind {
        name: "rollout",
        strengths: &[1.15, 2.0],
        plant: |times| Some(Plant::SlowReads(times)),
        is_hit: |_, number, _| number % 60 >= 40,
        is_found: |said, hit, times| {
            slower(said, "change").any(|of| {
                let is_near = (of["ratio"].as_f64().unwrap_or(0.0) / times - 1.0).abs() < 0.03;
                of["operation"] == "read" && is_mostly(&names(of), hit) && is_near
            })
        },
    },
    Kind {
        name: "stalls",
        strengths: &[2.0, 8.0, 0.5],
        plant: |seconds| Some(Plant::Stalls(seconds)),
        is_hit: |_, number, seed| number as u64 == seed * 13 % 60,
        is_found: |said, hit, _| slower(said, "stalls").any(|of| &names(of) == hit),
    },
    Kind {
        name: "drift",
        strengths: &[2.0, 5.0, 0.5],
        plant: |percent| Some(Plant::Drift(percent)),
        is_hit: |_, number, seed| number as u64 == seed * 17 % 60,
        is_found: |said, hit, _| slower(said, "drift").any(|of| &names(of) == hit),
    },
    Kind {
        name: "night",
        strengths: &[5.0, 2.0],
        plant: |seconds| Some(Plant::Night(seconds)),
        is_hit: |_, number, _| number % 3 == 0,
        is_found: |said, hit, _| {
            slower(said, "daily").any(|of| of["hours"]["first"] == 2 && is_mostly(&names(of), hit))
        },
    },
    Kind {
        name: "backup",
        strengths: &[1.0],
        plant: |_| Some(Plant::Backup),
        is_hit: |_, number, _| number % 9 == 5,
        is_found: |said, hit, _| {
            let found = said["findings"].as_array().into_iter().flatten();
            found.into_iter().any(|of| {
                of["cause"] == "backup" && names(of).intersection(hit).count() * 5 >= hit.len() * 4
            })
        },
    },
    Kind {
        name: "loaded",
        strengths: &[10.0],
        plant: |_| None,
        is_hit: |_, number, _| number % 20 == 7,
        is_found: |said, _, _| accused(said).is_empty(),
    },
    Kind {
        name: "calm",
        strengths: &[1.0],
        plant: |_| None,
        is_hit: |_, _, _| false,
        is_found: |said, _, _| accused(said).is_empty(),
    },
];

fn slower<'a>(said: &'a Value, slowness: &'a str) -> impl Iterator<Item = &'a Value> {
    let all = said["slower"].as_array().into_iter().flatten();
    all.filter(move |of| of["slowness"] == slowness)
}

/// The hosts of a finding.
fn names(of: &Value) -> BTreeSet<String> {
    let all = of["which"].as_array().into_iter().flatten();
    all.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Four in five of those that were hit, and no more than one in five of others.
fn is_mostly(found: &BTreeSet<String>, hit: &BTreeSet<String>) -> bool {
    let both = found.intersection(hit).count();
    both * 5 >= hit.len() * 4 && (found.len() - both) * 5 <= found.len()
}

/// All hosts that anything is said of.
fn accused(said: &Value) -> BTreeSet<String> {
    let lists = ["findings", "slower"].map(|list| said[list].as_array().into_iter().flatten());
    lists.into_iter().flatten().flat_map(names).collect()
}

/// Makes the fleets and prints what was found.
/// Errors: a file that cannot be written, a program that fails.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let lbolt = command::lbolt(options.lbolt.as_deref())?;
    let at = options.at.clone().unwrap_or_else(|| crate::target().join("fleets"));
    let kinds: Vec<&Kind> = KINDS
        .iter()
        .filter(|kind| options.kinds.is_empty() || options.kinds.iter().any(|n| n == kind.name))
        .collect();
    let mut missed = 0;
    for kind in kinds {
        let mut found = 0;
        for number in 0..options.fleets {
            let strength = kind.strengths[number as usize % kind.strengths.len()];
            let seed = options.seed + number;
            let is_found = one(options, &lbolt, &at, kind, strength, seed)?;
            found += u64::from(is_found);
        }
        println!("{}: {found} of {}", kind.name, options.fleets);
        missed += options.fleets - found;
    }
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A fleet: whether it was found.
fn one(
    options: &Options,
    lbolt: &Path,
    at: &Path,
    kind: &Kind,
    strength: f64,
    seed: u64,
) -> anyhow::Result<bool> {
    let directory = at.join(format!("{}-{seed}", kind.name));
    if directory.exists() {
        std::fs::remove_dir_all(&directory)?;
    }
    std::fs::create_dir_all(&directory)?;
    let mut hosts: Vec<Host> =
        (0..options.hosts).map(|number| Host::new(number, seed << 32)).collect();
    let hit: Vec<bool> =
        hosts.iter().enumerate().map(|(number, host)| (kind.is_hit)(host, number, seed)).collect();
    for (host, _) in hosts.iter_mut().zip(&hit).filter(|(_, hit)| **hit) {
        host.plant = (kind.plant)(strength);
        if host.plant.is_none() {
            host.loaded(strength);
        }
    }
    let lost_s: Vec<f64> = hosts
        .par_iter()
        .map(|host| rolled(host, lbolt, &directory, options.days))
        .collect::<anyhow::Result<_>>()?;
    let names: BTreeSet<String> = hosts
        .iter()
        .zip(&hit)
        .filter(|(_, hit)| **hit)
        .map(|(host, _)| host.name.clone())
        .collect();
    let mut judge = Command::new(lbolt);
    judge.arg("fleet").arg(&directory).args(["--all", "--format", "json"]);
    if kind.name == "rollout" {
        judge.args(["--before-after", HALF]);
    }
    let text = command::output(&mut judge)?;
    std::fs::write(directory.join("fleet.json"), &text)?;
    let said: Value = serde_json::from_str(&text).context("failed to read what fleet says")?;
    let is_found = (kind.is_found)(&said, &names, strength);
    println!(
        "{} {strength}, seed {seed}: {} (truly lost {:.1} s on {} hosts; accused in all: {})",
        kind.name,
        if is_found { "found" } else { "NOT FOUND" },
        lost_s.iter().sum::<f64>(),
        names.len(),
        accused(&said).len(),
    );
    Ok(is_found)
}

/// Writes a host's rollup; what was truly lost, in s.
fn rolled(host: &Host, lbolt: &Path, directory: &Path, days: f64) -> anyhow::Result<f64> {
    let trace = directory.join(format!("{}.requests.parquet", host.name));
    let lost_s = host.write(&trace, days, START_UNIX_NS)?;
    let mut roll = Command::new(lbolt);
    roll.arg("rollup").arg(&trace).args(["--started", START]);
    roll.args(["--host", &host.name, "--model", host.model(), "--firmware", host.firmware]);
    roll.arg("-o").arg(directory.join(format!("{}.parquet", host.name)));
    command::output(&mut roll)?;
    std::fs::remove_file(&trace)?;
    Ok(lost_s)
}

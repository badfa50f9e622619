//! Fits the profiles of the VAXes to the tables of Kridle & McKusick 1983.
//!
//! ```text
//! cargo run --release -p sim --example fit_1983 -- [options]
//!   --group emulex|uda|si|all   the cells to fit; UDA50 and SI 9900 take the processors as they are (all)
//!   --evaluations N             of the objective; 0 only shows what the profiles give (0)
//!   --step FACTOR --seed N      of the search (1.15, 1)
//!   --mib N                     of the files during the search (3)
//!   --cold SEED                 start from values scattered by up to 1.65
//!   --one-drive                 fit the cells of one drive alone; those of two are then predicted
//!   --set KEY=VALUE             another assumption, in all machines that have the key
//!   --write                     put the values into the profiles, with intervals
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr)]

use sim::fit::{Effort, minimize, scramble};
use sim::papers::fit_1983::{Fit, Weights, driver_percents, interval, median};
use sim::papers::parameters_1983::{PARAMETERS, Parameter};
use sim::papers::throughput_1983::{Cell, Outcome, cells};
use std::error::Error;
use std::path::PathBuf;

struct Arguments {
    group: String,
    effort: Effort,
    cold: Option<u64>,
    is_one_drive: bool,
    set: Vec<(String, String)>,
    mib: f64,
    cpu: f64,
    writes: bool,
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut found = Arguments {
        group: "all".into(),
        effort: Effort { evaluations: 0, step: 1.15, seed: 1 },
        cold: None,
        is_one_drive: false,
        set: vec![],
        mib: 3.0,
        cpu: Weights::default().cpu,
        writes: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut next = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--group" => found.group = next()?,
            "--evaluations" => found.effort.evaluations = next()?.parse()?,
            "--seed" => found.effort.seed = next()?.parse()?,
            "--step" => found.effort.step = next()?.parse()?,
            "--cpu" => found.cpu = next()?.parse()?,
            "--mib" => found.mib = next()?.parse()?,
            "--cold" => found.cold = Some(next()?.parse()?),
            "--one-drive" => found.is_one_drive = true,
            "--write" => found.writes = true,
            "--set" => {
                let text = next()?;
                let (key, value) = text.split_once('=').ok_or("--set takes KEY=VALUE")?;
                found.set.push((key.into(), value.into()));
            }
            other => return Err(format!("{other} is unknown").into()),
        }
    }
    Ok(found)
}

fn is_in(cell: &Cell, group: &str) -> bool {
    match group {
        "emulex" => cell.is_emulex(),
        "uda" => cell.controller == "UDA50",
        "si" => cell.controller == "SI9900",
        _ => true,
    }
}

/// Whether a group's fit may change a parameter: the processors are fitted to the Emulex' cells, or to all.
fn is_free(parameter: &Parameter, group: &str) -> bool {
    let is_shared = ["processors/", "buses/sbi", "controllers/sc7"];
    let is_shared = is_shared.iter().any(|folder| parameter.profile.starts_with(folder));
    !is_shared || matches!(group, "all" | "emulex")
}

fn summary(name: &str, outcomes: &[Outcome], is_meant: &dyn Fn(&Cell) -> bool) {
    let meant = || outcomes.iter().filter(|outcome| is_meant(&outcome.cell));
    let errors: Vec<f64> = meant().map(|outcome| outcome.error().abs() * 100.0).collect();
    if errors.is_empty() {
        return;
    }
    let points: Vec<f64> = meant().filter_map(Outcome::cpu_error_points).map(f64::abs).collect();
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
    println!(
        "{name:10} {:2} cells: median {:5.2} %, mean {:5.2} %, most {:4.1} %, within 15 %: {:5.1} %; CPU {:.2} points",
        errors.len(),
        median(&errors),
        mean(&errors),
        errors.iter().copied().fold(0.0, f64::max),
        100.0 * errors.iter().filter(|error| **error <= 15.0).count() as f64 / errors.len() as f64,
        mean(&points),
    );
}

fn show(outcomes: &[Outcome], parameters: &[Parameter], values: &[f64]) {
    for outcome in outcomes {
        let cpu = outcome.cell.cpu_percent.map_or("   ".into(), |printed| format!("{printed:3.0}"));
        println!(
            "{:88} {:5.0} {:5.0} {:+6.1} %   CPU {cpu} {:3.0}",
            outcome.cell.name(),
            outcome.cell.kib_per_s,
            outcome.modelled.kib_per_s,
            outcome.error() * 100.0,
            outcome.modelled.cpu_percent
        );
    }
    for (parameter, value) in parameters.iter().zip(values) {
        let Parameter { profile, key, unit, bounds, .. } = parameter;
        println!("{profile:45} {key:34} {value:8.4} {unit:7} [{} {}]", bounds.low, bounds.high);
    }
    println!("drivers' share of the processor: {:.1?} %", driver_percents(outcomes));
    summary("all", outcomes, &|_| true);
    for group in ["emulex", "uda", "si"] {
        summary(group, outcomes, &|cell| is_in(cell, group));
    }
    summary("one drive", outcomes, &|cell| cell.drives == 1);
    summary("two drives", outcomes, &|cell| cell.drives == 2);
}

/// Puts a value into the profile where it stands, with its interval.
fn write(parameter: &Parameter, value: f64, interval: (f64, f64)) -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/profiles"));
    let path = folder.join(parameter.profile);
    let text = std::fs::read_to_string(&path)?;
    let name = parameter.key.rsplit('.').next().unwrap_or_default();
    let shown = |value: f64| match parameter.unit {
        "" => format!("{value:.4}"),
        unit => format!("\"{value:.4} {unit}\""),
    };
    let changed = text.lines().map(|line| match line.split_once(" = ") {
        Some((key, rest)) if key == name => {
            let source =
                rest.split_once("fitted = ").map(|(_, source)| source.trim_end_matches(" }"));
            let source = source
                .map_or("\"Kridle & McKusick 1983\"", |s| s.split(", low = ").next().unwrap_or(s));
            format!(
                "{key} = {{ value = {}, fitted = {source}, low = {}, high = {} }}",
                shown(value),
                shown(interval.0),
                shown(interval.1)
            )
        }
        _ => line.to_owned(),
    });
    let changed: Vec<String> = changed.collect();
    Ok(std::fs::write(&path, changed.join("\n") + "\n")?)
}

/// By how much the objective rises at the ends of a value's interval, as a share.
const RISE: f64 = 0.05;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments()?;
    let table = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers/throughput-1983.csv");
    let all: Vec<Cell> = cells(&std::fs::read_to_string(table)?)?
        .into_iter()
        .filter(|cell| is_in(cell, &arguments.group))
        .collect();
    let free: Vec<Parameter> =
        PARAMETERS.iter().filter(|p| is_free(p, &arguments.group)).copied().collect();
    let is_given = |cell: &&Cell| !arguments.is_one_drive || cell.drives == 1;
    let given: Vec<Cell> = all.iter().filter(is_given).cloned().collect();
    let weights = Weights { cpu: arguments.cpu, ..Weights::default() };
    let mut fit = Fit::new(&given, &free, (arguments.mib * 1048576.0) as u64, weights)?;
    let mut judge = Fit::new(&all, fit.parameters(), 8 << 20, weights)?;
    for (key, value) in &arguments.set {
        fit.set(key, value);
        judge.set(key, value);
    }
    let (parameters, bounds) = (fit.parameters().to_vec(), fit.bounds());
    let start = match arguments.cold {
        Some(seed) => scramble(&fit.values(), &bounds, 1.65, seed),
        None => fit.values(),
    };
    let (mut evaluations, mut least) = (0, f64::INFINITY);
    let mut objective = |values: &[f64]| {
        // What cannot be built or run is no solution.
        let objective = fit.objective(values).unwrap_or(f64::INFINITY);
        evaluations += 1;
        least = objective.min(least);
        if evaluations % 50 == 0 {
            eprintln!("{evaluations} evaluations: {least:.5}");
        }
        objective
    };
    let values = match arguments.effort.evaluations {
        0 => start,
        _ => minimize(&start, &bounds, arguments.effort, &mut objective).values,
    };
    show(&judge.outcomes(&values)?, &parameters, &values);
    if arguments.writes {
        for (index, parameter) in parameters.iter().enumerate() {
            let interval = interval(&mut fit, &values, index, RISE)?;
            write(parameter, values[index], interval)?;
        }
    }
    Ok(())
}

//! Fits the VAX profiles to the tables of Kridle & McKusick 1983 and prints the values.
//!
//! `cargo run --release -p sim --example fit_1983 -- [--group emulex|uda|si|all] [--evaluations N] [--cold SEED]
//! [--one-drive] [--show]`

use sim::fit::{Bounds, Effort, minimize, scramble};
use sim::papers::fit_1983::{Fit, Weights, driver_percents};
use sim::papers::parameters_1983::{PARAMETERS, Parameter};
use sim::papers::throughput_1983::{Cell, Outcome, cells};
use sim::profile::{Profile, load};
use std::collections::BTreeSet;

struct Arguments {
    group: String,
    evaluations: u32,
    cold: Option<u64>,
    one_drive: bool,
    seed: u64,
    set: Vec<(String, String)>,
    step: f64,
    cpu: f64,
    mib: f64,
}

fn arguments() -> Arguments {
    let mut found = Arguments {
        group: "all".into(),
        evaluations: 0,
        cold: None,
        one_drive: false,
        seed: 1,
        set: vec![],
        step: 1.15,
        cpu: 0.25,
        mib: 3.0,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut next = || words.next().expect("a value");
        match word.as_str() {
            "--group" => found.group = next(),
            "--evaluations" => found.evaluations = next().parse().expect("a number"),
            "--seed" => found.seed = next().parse().expect("a number"),
            "--step" => found.step = next().parse().expect("a number"),
            "--cpu" => found.cpu = next().parse().expect("a number"),
            "--mib" => found.mib = next().parse().expect("a number"),
            "--cold" => found.cold = Some(next().parse().expect("a seed")),
            "--one-drive" => found.one_drive = true,
            "--set" => {
                let text = next();
                let (key, value) = text.split_once('=').expect("key=value");
                found.set.push((key.into(), value.into()));
            }
            other => panic!("unknown: {other}"),
        }
    }
    found
}

fn group(cell: &Cell, name: &str) -> bool {
    match name {
        "emulex" => cell.is_emulex(),
        "uda" => cell.controller == "UDA50",
        "si" => cell.controller == "SI9900",
        "all" => true,
        other => cell.machine.contains(other),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    if n == 0 {
        return 0.0;
    }
    (values[(n - 1) / 2] + values[n / 2]) / 2.0
}

fn summary(name: &str, outcomes: &[&Outcome]) {
    let errors: Vec<f64> = outcomes.iter().map(|o| o.error().abs() * 100.0).collect();
    let n = errors.len() as f64;
    let cpu: Vec<f64> =
        outcomes.iter().filter_map(|o| o.cpu_error_points()).map(f64::abs).collect();
    println!(
        "{name:18} {:3} cells  median {:5.2}  mean {:5.2}  max {:5.1}  within 15 % {:4.1} %  cpu {:.2} points",
        errors.len(),
        median(errors.clone()),
        errors.iter().sum::<f64>() / n,
        errors.iter().copied().fold(0.0, f64::max),
        100.0 * errors.iter().filter(|e| **e <= 15.0).count() as f64 / n,
        cpu.iter().sum::<f64>() / cpu.len().max(1) as f64,
    );
}

fn main() {
    let arguments = arguments();
    let csv = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../papers/throughput-1983.csv"
    ));
    let all = cells(&csv.expect("the tables")).expect("the cells");
    let all: Vec<Cell> = all.into_iter().filter(|cell| group(cell, &arguments.group)).collect();
    // What hangs on other groups stays as it is.
    let profiles: Vec<Profile> = all
        .iter()
        .map(|cell| cell.machine)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .map(|m| load(m).expect("a model"))
        .collect();
    let parameters: Vec<Parameter> = PARAMETERS
        .iter()
        .filter(|p| profiles.iter().any(|m| p.is_of(m)))
        .filter(|p| {
            arguments.group == "all"
                || arguments.group == "emulex"
                || !(p.profile.starts_with("processors")
                    || p.profile.contains("sbi")
                    || p.profile.contains("sc7"))
        })
        .copied()
        .collect();
    let bounds: Vec<Bounds> = parameters.iter().map(|p| p.bounds).collect();
    let start: Vec<f64> = parameters
        .iter()
        .map(|p| profiles.iter().find(|m| p.is_of(m)).and_then(|m| p.value(m)).expect("a value"))
        .collect();
    let fitted: Vec<Cell> = all
        .iter()
        .filter(|cell| !cell.is_suspect && (!arguments.one_drive || cell.drives == 1))
        .cloned()
        .collect();
    let start = match arguments.cold {
        Some(seed) => scramble(&start, &bounds, 1.65, seed),
        None => start,
    };
    let bytes = (arguments.mib * 1048576.0) as u64;
    let weights = Weights { cpu: arguments.cpu, ..Weights::default() };
    let mut fit = Fit::new(&fitted, &parameters, bytes, weights).expect("the profiles");
    let mut judge = Fit::new(&all, &parameters, 8 << 20, weights).expect("the profiles");
    for (key, value) in &arguments.set {
        fit.set(key, value);
        judge.set(key, value);
    }
    let (mut evaluations, mut least) = (0, f64::INFINITY);
    let t = std::time::Instant::now();
    let mut evaluate = |values: &[f64]| {
        let objective = fit.objective(values).expect("a run");
        evaluations += 1;
        if objective < least {
            least = objective;
        }
        if evaluations % 50 == 0 {
            eprintln!("{evaluations} {least:.5} {:.0?}", t.elapsed());
        }
        objective
    };
    let effort =
        Effort { evaluations: arguments.evaluations, step: arguments.step, seed: arguments.seed };
    let values = match arguments.evaluations {
        0 => start.clone(),
        _ => minimize(&start, &bounds, effort, &mut evaluate).values,
    };
    let outcomes = judge.outcomes(&values).expect("a run");
    for o in &outcomes {
        let star = if o.cell.is_suspect { "*" } else { "" };
        let cpu = o.cell.cpu_percent.map_or("   ".into(), |p| format!("{p:3.0}"));
        println!(
            "{:88} {:5.0}{star:1} {:5.0} {:+6.1}%  cpu {cpu} {:3.0}",
            o.cell.name(),
            o.cell.kib_per_s,
            o.modelled.kib_per_s,
            o.error() * 100.0,
            o.modelled.cpu_percent
        );
    }
    for ((p, v), b) in parameters.iter().zip(&values).zip(&bounds) {
        println!("{:45} {:32} {v:8.3} {:7} [{} {}]", p.profile, p.key, p.unit, b.low, b.high);
    }
    println!("drivers {:?}", driver_percents(&outcomes));
    for (p, v) in parameters.iter().zip(&values) {
        eprintln!("SET {} {} {v} {}", p.profile, p.key, p.unit);
    }
    let good: Vec<&Outcome> = outcomes.iter().filter(|o| !o.cell.is_suspect).collect();
    for name in ["all", "emulex", "uda", "si"] {
        let of: Vec<&Outcome> = good.iter().filter(|o| group(&o.cell, name)).copied().collect();
        if !of.is_empty() {
            summary(name, &of);
        }
    }
    for drives in [1, 2] {
        let of: Vec<&Outcome> = good.iter().filter(|o| o.cell.drives == drives).copied().collect();
        if !of.is_empty() {
            summary(&format!("{drives} drives"), &of);
        }
    }
}

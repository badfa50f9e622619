//! Fits the VAX profiles to the tables of Kridle & McKusick 1983 and prints the values.
//!
//! `cargo run --release -p sim --example fit_1983 -- [--group emulex|uda|si|all] [--evaluations N] [--cold SEED]
//! [--one-drive] [--show]`

use sim::fit::{Bounds, Effort, minimize, scramble};
use sim::papers::parameters_1983::{PARAMETERS, Parameter, with_values};
use sim::papers::throughput_1983::{Cell, Modelled, Outcome, cells, model_with};
use sim::profile::{Profile, load};
use std::collections::BTreeMap;

struct Arguments {
    group: String,
    evaluations: u32,
    cold: Option<u64>,
    one_drive: bool,
    seed: u64,
    set: Vec<(String, String)>,
    step: f64,
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

type Machines = BTreeMap<&'static str, Profile>;

fn model_all(
    machines: &Machines,
    cells: &[Cell],
    parameters: &[Parameter],
    values: &[f64],
    bytes: u64,
    seeds: u64,
) -> Vec<Outcome> {
    let changed: BTreeMap<&str, Profile> = machines
        .iter()
        .map(|(name, profile)| (*name, with_values(profile, parameters, values).expect("a value")))
        .collect();
    cells
        .iter()
        .map(|cell| {
            let modelled = model_with(&changed[cell.machine], cell, seeds, bytes).expect("a cell");
            Outcome { cell: cell.clone(), modelled }
        })
        .collect()
}

fn value(parameters: &[Parameter], values: &[f64], profile: &str, key: &str) -> Option<f64> {
    parameters.iter().position(|p| p.profile.contains(profile) && p.key == key).map(|i| values[i])
}

/// Driver's share of the processor, averaged over the four programs on 8K with one drive.
fn driver_share(outcomes: &[Outcome], machine: &str, work_ms: f64) -> Option<f64> {
    let of: Vec<f64> = outcomes
        .iter()
        .filter(|o| o.cell.machine == machine && o.cell.drives == 1 && o.cell.block_bytes == 8192)
        .map(|o| {
            let Modelled { kib_per_s, cpu_percent } = o.modelled;
            work_ms / (cpu_percent * 10.0 * 8.0 / kib_per_s)
        })
        .collect();
    (!of.is_empty()).then(|| of.iter().sum::<f64>() / of.len() as f64)
}

fn objective(outcomes: &[Outcome], share: Option<f64>) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0);
    for o in outcomes {
        let e = (o.modelled.kib_per_s / o.cell.kib_per_s).ln().abs();
        sum += e + 0.5 * (e - 0.13).max(0.0);
        if let Some(points) = o.cpu_error_points() {
            sum += 0.25 * points.abs() / 100.0 * 1.0;
        }
        n += 1.0;
    }
    let beyond = share.map_or(0.0, |s| (s - 0.14).max(0.0) + (0.10 - s).max(0.0));
    sum / n + beyond * 0.5
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
    let mut machines: Machines =
        all.iter().map(|cell| (cell.machine, load(cell.machine).expect("a model"))).collect();
    for profile in machines.values_mut() {
        for (key, value) in &arguments.set {
            let _ = profile.set(key, value);
        }
    }
    // What hangs on other groups stays as it is.
    let parameters: Vec<Parameter> = PARAMETERS
        .iter()
        .filter(|p| machines.values().any(|m| p.is_of(m)))
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
        .map(|p| machines.values().find(|m| p.is_of(m)).and_then(|m| p.value(m)).expect("a value"))
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
    let mut evaluations = 0;
    let mut least = f64::INFINITY;
    let t = std::time::Instant::now();
    let bytes = (arguments.mib * 1048576.0) as u64;
    let share = |values: &[f64], outcomes: &[Outcome]| {
        let sum = |file: &str| {
            ["start", "done", "search"]
                .iter()
                .filter_map(|k| value(&parameters, values, file, &format!("controller.driver.{k}")))
                .sum::<f64>()
        };
        let (hp, ud) = (sum("sc780"), sum("uda50"));
        let shares = [
            driver_share(outcomes, "vax780-sc780-eagle", hp),
            driver_share(outcomes, "vax780-uda50-ra81", ud),
        ];
        let shares: Vec<f64> = shares.into_iter().flatten().filter(|s| *s > 0.0).collect();
        shares.into_iter().reduce(f64::max)
    };
    let mut evaluate = |values: &[f64]| {
        let outcomes = model_all(&machines, &fitted, &parameters, values, bytes, 1);
        let objective = objective(&outcomes, share(values, &outcomes));
        evaluations += 1;
        if objective < least {
            least = objective;
            if evaluations % 10 == 0 || evaluations < 3 {
                eprintln!("{evaluations} {objective:.5} {:.0?}", t.elapsed());
            }
        }
        objective
    };
    let effort =
        Effort { evaluations: arguments.evaluations, step: arguments.step, seed: arguments.seed };
    let values = match arguments.evaluations {
        0 => start.clone(),
        _ => minimize(&start, &bounds, effort, &mut evaluate).values,
    };
    let outcomes = model_all(
        &machines,
        &all,
        &parameters,
        &values,
        8 << 20,
        if arguments.evaluations == 0 { 1 } else { 3 },
    );
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
    println!("driver share {:?}", share(&values, &outcomes));
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

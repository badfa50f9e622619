//! The fit of the VAXes' profiles to the tables of Kridle & McKusick 1983; from a cold start, and
//! to the cells of one drive alone, what it then predicts for two.

use anyhow::Context as _;
use clap::Args;
use papers::CATALOG;
use papers::fit::Effort;
use papers::throughput_1983::fit::{Fit, Weights, driver_percents, interval};
use papers::throughput_1983::parameters::{PARAMETERS, Parameter};
use papers::throughput_1983::{Cell, Errors, Outcome, TABLE, cells};
use std::path::Path;

/// `cargo xtask fit 1983`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The cells to fit: emulex, uda, si or all; UDA50 and SI 9900 alone take the processors as
    /// they are.
    #[arg(long, default_value = "all", value_parser = ["emulex", "uda", "si", "all"])]
    group: String,
    /// Evaluations of the objective; 0 only shows what the profiles give.
    #[arg(long, default_value_t = 0)]
    evaluations: u32,
    /// The first steps of the search, as factors.
    #[arg(long, default_value_t = 1.15)]
    step: f64,
    /// The seed of the search.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Size of the files during the search, MiB.
    #[arg(long, default_value_t = 3.0)]
    mib: f64,
    /// Start from values scattered by up to 1.65, by that seed.
    #[arg(long, value_name = "SEED")]
    cold: Option<u64>,
    /// Fit the cells of one drive alone; those of two are then predicted.
    #[arg(long)]
    one_drive: bool,
    /// Weight of the CPU's shares.
    #[arg(long, default_value_t = Weights::default().cpu)]
    cpu: f64,
    /// Weight of a driver's share of the processor beyond the paper's 10 to 14 %, a point.
    #[arg(long, default_value_t = Weights::default().driver)]
    driver: f64,
    /// To which power a rate's error counts: below 1 many near cells count for more than few far
    /// ones.
    #[arg(long, default_value_t = Weights::default().power)]
    power: f64,
    /// Another assumption, in all machines that have the key.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Put the values into the profiles, with intervals.
    #[arg(long)]
    write: bool,
}

fn is_in(cell: &Cell, group: &str) -> bool {
    match group {
        "emulex" => cell.is_emulex(),
        "uda" => cell.controller == "UDA50",
        "si" => cell.controller == "SI9900",
        _ => true,
    }
}

/// Whether a group's fit may change a parameter: the processors are fitted to the Emulex' cells, or
/// to all.
fn is_free(parameter: &Parameter, group: &str) -> bool {
    let is_shared = ["processors/", "buses/sbi", "controllers/sc7"];
    let is_shared = is_shared.iter().any(|folder| parameter.profile.starts_with(folder));
    !is_shared || matches!(group, "all" | "emulex")
}

fn summary(name: &str, outcomes: &[Outcome], is_meant: &dyn Fn(&Cell) -> bool) {
    let meant = outcomes.iter().filter(|outcome| is_meant(&outcome.cell));
    let Some(errors) = Errors::of(meant) else { return };
    println!(
        "{name:10} {:2} cells: median {:5.2} %, mean {:5.2} %, most {:4.1} %, within 15 %: {:5.1} \
         %; CPU {:.2} points",
        errors.cells,
        errors.median_percent,
        errors.mean_percent,
        errors.max_percent,
        errors.within_percent,
        errors.cpu_points.unwrap_or(f64::NAN),
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
fn write(
    root: &Path,
    parameter: &Parameter,
    value: f64,
    interval: (f64, f64),
) -> anyhow::Result<()> {
    let mut known = CATALOG.profiles().filter(|known| known.path.ends_with(parameter.profile));
    let path = root.join(known.next().context("the parameter's profile is unknown")?.path);
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

/// By how much the objective rises at the ends of a value's interval, as a share: by less it rises
/// from one step to the next, for the rates are no smooth function of the parameters.
const RISE: f64 = 0.25;

fn weights(options: &Options) -> Weights {
    let Options { cpu, power, driver, .. } = *options;
    Weights { cpu, power, driver, ..Weights::default() }
}

/// Says every now and then how far a search is.
fn progress() -> impl FnMut(f64) {
    let (mut evaluations, mut least) = (0, f64::INFINITY);
    move |objective| {
        evaluations += 1;
        least = objective.min(least);
        if evaluations % 50 == 0 {
            eprintln!("{evaluations} evaluations: {least:.5}");
        }
    }
}

fn set(fit: &mut Fit, options: &Options) -> anyhow::Result<()> {
    for text in &options.set {
        let (key, value) = text.split_once('=').context("--set takes KEY=VALUE")?;
        fit.set(key, value)?;
    }
    Ok(())
}

/// Runs the command.
pub(super) fn run(root: &Path, options: &Options) -> anyhow::Result<()> {
    let all: Vec<Cell> =
        cells(TABLE)?.into_iter().filter(|cell| is_in(cell, &options.group)).collect();
    let free: Vec<Parameter> =
        PARAMETERS.iter().filter(|p| is_free(p, &options.group)).copied().collect();
    let is_given = |cell: &&Cell| !options.one_drive || cell.drives == 1;
    let given: Vec<Cell> = all.iter().filter(is_given).cloned().collect();
    let mut fit = Fit::new(&given, &free, (options.mib * 1048576.0) as u64, weights(options))?;
    set(&mut fit, options)?;
    let parameters = fit.parameters().to_vec();
    let Options { evaluations, step, seed, .. } = *options;
    let values = fit.search(Effort { evaluations, step, seed }, options.cold, progress());
    let mut judge = Fit::new(&all, &parameters, 8 << 20, weights(options))?;
    set(&mut judge, options)?;
    show(&judge.outcomes(&values)?, &parameters, &values);
    if options.write {
        for (index, parameter) in parameters.iter().enumerate() {
            let interval = interval(&mut fit, &values, index, RISE)?;
            write(root, parameter, values[index], interval)?;
        }
    }
    Ok(())
}

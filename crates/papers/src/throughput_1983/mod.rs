//! Kridle & McKusick 1983: the cells of its tables, each with the machine that it was measured on,
//! and what the model gives for it.
//!
//! A cell counts once, however many tables repeat it. Where they differ (CPU shares of the UDA50 on
//! a VAX-11/750) the later table holds: its shares fit the processor time for a block of all other
//! cells. Rates are taken from the first table, where both are the same but for rounding.

mod comparison;
pub mod fit;
pub mod parameters;
pub mod program;
pub mod scenarios;

pub use comparison::{TABLE, compare};

use crate::machine::Options;
use crate::machine::bsd::BsdMachine;
use crate::{CATALOG, Failure};
use model::seam::Operation;
use program::{FILE, FILE_BYTES, PROGRAMS, Pass, Program, remove, run};
use rayon::prelude::*;
use sim::profile::{Leaf, Profile, Source};
use sim::subject::Machine;
use std::collections::BTreeSet;

/// What the tables give rates in.
const KIB: f64 = 1024.0;

/// A cell of the tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The first table that has it, and the others.
    pub tables: Vec<u32>,
    /// `VAX-11/780`.
    pub cpu: String,
    /// `SC780`.
    pub controller: String,
    /// The state of the SC780's evolution, or `baseline`.
    pub condition: String,
    /// Bytes of the file system's blocks.
    pub block_bytes: u64,
    /// The program.
    pub program: Program,
    /// Drives, with one program each.
    pub drives: usize,
    /// Printed rate of all programs, KiB/s.
    pub kib_per_s: f64,
    /// Printed share of the processor, percent; some cells have none.
    pub cpu_percent: Option<f64>,
    /// "The operation of the hardware was suspect": starred in the paper.
    pub is_suspect: bool,
    /// The name of the model.
    pub machine: &'static str,
}

impl Cell {
    /// Whether it is of an Emulex controller.
    pub fn is_emulex(&self) -> bool {
        self.controller.starts_with("SC7")
    }

    /// A cell that no table has, for a question of one's own: blocks of 8 KiB, nothing printed.
    pub fn unprinted(machine: &'static str, program: Program, drives: usize) -> Self {
        Self {
            tables: vec![],
            cpu: String::new(),
            controller: String::new(),
            condition: FINAL.to_owned(),
            block_bytes: 8192,
            program,
            drives,
            kib_per_s: f64::NAN,
            cpu_percent: None,
            is_suspect: false,
            machine,
        }
    }

    /// A short name: `VAX-11/780 SC780 8K write_4096 ×2`.
    pub fn name(&self) -> String {
        let kib = self.block_bytes / 1024;
        let Self { cpu, controller, program, drives, condition, .. } = self;
        let which = if condition == FINAL { String::new() } else { format!(" ({condition})") };
        format!("{cpu} {controller} {kib}K {} x{drives}{which}", program.name)
    }
}

/// The condition of cells outside the evolution, which the evolution's last stage is too.
const FINAL: &str = "baseline";

/// The machines by processor, controller and condition as the table has them.
const MACHINES: &[(&str, &str, &str, &str)] = &[
    ("VAX-11/750", "SC750", FINAL, "vax750-sc750-eagle"),
    ("VAX-11/750", "UDA50", FINAL, "vax750-uda50-ra81"),
    ("VAX-11/780", "UDA50", FINAL, "vax780-uda50-ra81"),
    ("VAX-11/780", "SI9900", FINAL, "vax780-si9900-eagle"),
    ("VAX-11/780", "SC780", FINAL, "vax780-sc780-eagle"),
    (
        "VAX-11/780",
        "SC780",
        "inadequate search lead, initial SBI arbitration",
        "vax780-sc780-eagle-initial",
    ),
    (
        "VAX-11/780",
        "SC780",
        "adequate search lead, initial SBI arbitration",
        "vax780-sc780-eagle-search-lead",
    ),
];

/// The evolution's last stage is the machine of the other tables.
const IMPROVED: &str = "adequate search lead, improved SBI arbitration";

/// The distinct cells of the tables, in the order of their first appearance, starred ones included.
pub fn cells(csv: &str) -> Result<Vec<Cell>, Failure> {
    let mut cells: Vec<Cell> = Vec::new();
    for (index, line) in csv.lines().enumerate().skip(1).filter(|(_, line)| !line.is_empty()) {
        let misread = |reason| Failure::Table {
            table: "throughput-1983.csv",
            reason: format!("line {}: {reason}", index + 1),
        };
        let cell = cell(line).map_err(misread)?;
        let same = |known: &&mut Cell| {
            (known.machine, known.program.name) == (cell.machine, cell.program.name)
                && (known.block_bytes, known.drives) == (cell.block_bytes, cell.drives)
        };
        match cells.iter_mut().find(same) {
            None => cells.push(cell),
            Some(known) => {
                known.cpu_percent = cell.cpu_percent.or(known.cpu_percent);
                known.is_suspect |= cell.is_suspect;
                known.tables.extend(cell.tables);
            }
        }
    }
    Ok(cells)
}

fn cell(line: &str) -> Result<Cell, String> {
    let fields = fields(line);
    let field = |index: usize| fields.get(index).map_or("", String::as_str);
    let number = |index: usize| {
        field(index).parse::<f64>().map_err(|_| format!("\"{}\" is no number", field(index)))
    };
    let condition = if field(6) == IMPROVED { FINAL } else { field(6) };
    let (cpu, controller) = (field(1), field(2));
    let machine = MACHINES.iter().find(|m| (m.0, m.1, m.2) == (cpu, controller, condition));
    let program = PROGRAMS.iter().find(|program| program.name == field(7));
    let block_bytes = match field(5) {
        "8K/1K" => 8192,
        "4K/1K" => 4096,
        other => return Err(format!("\"{other}\" is no file system of the paper")),
    };
    Ok(Cell {
        tables: vec![number(0)? as u32],
        cpu: cpu.to_owned(),
        controller: controller.to_owned(),
        condition: condition.to_owned(),
        block_bytes,
        program: *program.ok_or_else(|| format!("\"{}\" is no program of the paper", field(7)))?,
        drives: number(8)? as usize,
        kib_per_s: number(9)?,
        cpu_percent: if field(10).is_empty() { None } else { Some(number(10)?) },
        is_suspect: field(11) == "yes",
        machine: machine.ok_or_else(|| format!("no model of {cpu}, {controller}, {condition}"))?.3,
    })
}

/// The fields of a line of CSV; commas within quotes are text.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    for character in line.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            character => {
                if let Some(last) = fields.last_mut() {
                    last.push(character);
                }
            }
        }
    }
    fields
}

/// What the model gives for a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Modelled {
    /// Rate, KiB/s.
    pub kib_per_s: f64,
    /// Share of the processor, percent.
    pub cpu_percent: f64,
    /// Share of the processor's work that is the driver's, percent.
    pub driver_percent: f64,
}

/// A cell and what the model gives for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The cell.
    pub cell: Cell,
    /// The mean over the seeds.
    pub modelled: Modelled,
}

impl Outcome {
    /// The rate's error: model over table, minus one.
    pub fn error(&self) -> f64 {
        self.modelled.kib_per_s / self.cell.kib_per_s - 1.0
    }

    /// Whether the models were fitted to this cell, or predict it.
    pub fn is_fitted(&self) -> bool {
        !self.cell.is_suspect
    }

    /// The share's error, in points.
    pub fn cpu_error_points(&self) -> Option<f64> {
        self.cell.cpu_percent.map(|printed| self.modelled.cpu_percent - printed)
    }
}

/// Beyond it, in percent, a cell resists, and is named.
pub const RESISTS_PERCENT: f64 = 15.0;

/// How far some outcomes are off, starred cells left aside: of the rates in percent of the printed
/// ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// How many cells.
    pub cells: usize,
    /// Median of the magnitudes, percent.
    pub median_percent: f64,
    /// Their mean, percent.
    pub mean_percent: f64,
    /// The greatest, percent.
    pub max_percent: f64,
    /// Cells that are not off by more than [`RESISTS_PERCENT`], percent of all.
    pub within_percent: f64,
    /// Mean magnitude of the errors of the processor's share, points; none where no cell has a
    /// share.
    pub cpu_points: Option<f64>,
    /// The greatest of these, points.
    pub cpu_points_max: Option<f64>,
}

impl Errors {
    /// None of no cells.
    pub fn of<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Option<Self> {
        let of: Vec<&Outcome> = outcomes.into_iter().filter(|o| !o.cell.is_suspect).collect();
        let mut errors: Vec<f64> = of.iter().map(|o| 100.0 * o.error().abs()).collect();
        errors.sort_by(f64::total_cmp);
        let (max_percent, count) = (*errors.last()?, errors.len());
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let points: Vec<f64> =
            of.iter().filter_map(|o| o.cpu_error_points()).map(f64::abs).collect();
        let within = errors.iter().filter(|error| **error <= RESISTS_PERCENT).count();
        Some(Self {
            cells: count,
            median_percent: (errors[(count - 1) / 2] + errors[count / 2]) / 2.0,
            mean_percent: mean(&errors),
            max_percent,
            within_percent: 100.0 * within as f64 / count as f64,
            cpu_points: (!points.is_empty()).then(|| mean(&points)),
            cpu_points_max: points.iter().copied().reduce(f64::max),
        })
    }
}

/// The machines of the tables, by the names of their models.
pub fn machines() -> impl Iterator<Item = &'static str> {
    MACHINES.iter().map(|machine| machine.3)
}

/// What was fitted of some machines, by their profiles: file and key, each once however many
/// machines share it.
pub fn fitted_parameters<'a>(
    machines: impl IntoIterator<Item = &'a str>,
) -> Result<BTreeSet<(String, String)>, Failure> {
    let mut fitted = BTreeSet::new();
    for machine in machines.into_iter().collect::<BTreeSet<&str>>() {
        let profile = CATALOG.load(machine)?;
        let is_fitted = |leaf: &Leaf| matches!(leaf.source, Some(Source::Fitted(_)));
        let leaves = profile.leaves().filter(|(_, leaf)| is_fitted(leaf));
        fitted.extend(leaves.map(|(key, leaf)| (leaf.file.to_string(), key.to_owned())));
    }
    Ok(fitted)
}

/// What the catalog's models give for cells, on all cores.
pub fn evaluate(cells: &[Cell], seeds: u64) -> Result<Vec<Outcome>, Failure> {
    let outcome = |cell: &Cell| {
        let modelled = model(&CATALOG.load(cell.machine)?, cell, seeds)?;
        Ok(Outcome { cell: cell.clone(), modelled })
    };
    cells.par_iter().with_max_len(1).map(outcome).collect()
}

/// What a profile gives for a cell: the mean over seeds from 1 on.
pub fn model(profile: &Profile, cell: &Cell, seeds: u64) -> Result<Modelled, Failure> {
    model_with(profile, cell, seeds, FILE_BYTES)
}

/// The same with files of another size: shorter ones are for fits.
pub fn model_with(
    profile: &Profile,
    cell: &Cell,
    seeds: u64,
    file_bytes: u64,
) -> Result<Modelled, Failure> {
    let mut sum = Modelled { kib_per_s: 0.0, cpu_percent: 0.0, driver_percent: 0.0 };
    for seed in 1..=seeds.max(1) {
        let pass = pass(profile, cell, seed, file_bytes)?;
        sum.kib_per_s += pass.kib_per_s() / seeds.max(1) as f64;
        sum.driver_percent += 100.0 * pass.driver_share / seeds.max(1) as f64;
        sum.cpu_percent += pass.cpu_percent() / seeds.max(1) as f64;
    }
    Ok(sum)
}

/// Bytes after which the buffers are full of what is to be written.
const BACKLOG_BYTES: u64 = 1 << 20;

/// A pass that counts: the second, since the first leaves behind what the second then waits for.
/// Nothing waits after a file was read, so that there one pass is enough.
fn pass(profile: &Profile, cell: &Cell, seed: u64, file_bytes: u64) -> Result<Pass, Failure> {
    let options = Options { drives: cell.drives, block_bytes: Some(cell.block_bytes), seed };
    let mut machine = BsdMachine::new(profile, options)?;
    machine.prepare()?;
    let Cell { program, drives, .. } = cell;
    let creates = program.opening == Operation::Create;
    if !creates {
        (0..*drives).for_each(|drive| machine.lay_out(drive, FILE, file_bytes));
    }
    if program.operation == Operation::Write {
        run(&mut machine, program, *drives, file_bytes.min(BACKLOG_BYTES.max(file_bytes / 8)))?;
        if creates {
            remove(&mut machine, *drives)?;
        }
    }
    Ok(run(&mut machine, program, *drives, file_bytes)?)
}

//! Kridle & McKusick 1983: every distinct cell of its five tables, by machine, and how far the
//! models are from them.

use super::{
    Cell, Errors, KIB, Outcome, RESISTS_PERCENT, cells, evaluate, fitted_parameters, scenarios,
};
use crate::Failure;
use crate::comparison::{Comparison, finding, subject};
use model::record::{Doubt, Finding};
use model::units::show_change;
use report::Sheet;
use report::listing::Listing;

/// The paper's tables.
pub const TABLE: &str = include_str!("../../../../papers/throughput-1983.csv");

/// Cells that are judged together: a name, and which they are.
type Group = (&'static str, fn(&Cell) -> bool);

const GROUPS: &[Group] = &[
    ("all", |_| true),
    ("Emulex SC750 and SC780", Cell::is_emulex),
    ("UDA50", |cell| cell.controller == "UDA50"),
    ("SI 9900", |cell| cell.controller == "SI9900"),
    ("one drive", |cell| cell.drives == 1),
    ("two drives", |cell| cell.drives == 2),
];

/// All cells and scenarios, each the mean of so many seeds.
pub fn compare(seeds: u64) -> Result<Comparison, Failure> {
    let outcomes = evaluate(&cells(TABLE)?, seeds)?;
    let groups = GROUPS.iter().filter_map(|group| Judged::of(group, &outcomes).transpose());
    let groups = groups.collect::<Result<Vec<_>, _>>()?;
    let of_cells = outcomes.iter().flat_map(cell_findings);
    let findings = of_cells.chain(groups.iter().flat_map(Judged::findings)).collect();
    let mut sheets = tables(&outcomes);
    sheets.push(summary(&groups, &outcomes));
    Ok(Comparison { sheets, findings }.with(scenarios::predict(seeds)?))
}

fn block(cell: &Cell) -> String {
    format!("{}K/1K", cell.block_bytes / 1024)
}

fn cell_findings(outcome: &Outcome) -> Vec<Finding> {
    let cell = &outcome.cell;
    let subject = subject(
        "1983",
        &[
            ("cpu", &cell.cpu),
            ("controller", &cell.controller),
            ("condition", &cell.condition),
            ("file_system", &block(cell)),
            ("program", cell.program.name),
            ("drives", &cell.drives.to_string()),
        ],
    );
    let tables: Vec<String> = cell.tables.iter().map(u32::to_string).collect();
    let printed = format!("Tables {}", tables.join(", "));
    let simulated = format!("simulated by {}", cell.machine);
    let modelled = &outcome.modelled;
    let mut all = vec![
        finding(&subject, "published_rate_bytes_per_s", cell.kib_per_s * KIB, &printed),
        finding(&subject, "model_rate_bytes_per_s", modelled.kib_per_s * KIB, &simulated),
        finding(&subject, "model_cpu_percent", modelled.cpu_percent, &simulated),
        finding(&subject, "error_percent", 100.0 * outcome.error(), &simulated),
    ];
    let of_cpu = cell.cpu_percent.zip(outcome.cpu_error_points());
    if let Some((published, points)) = of_cpu {
        all.push(finding(&subject, "published_cpu_percent", published, &printed));
        all.push(finding(&subject, "cpu_error_percent", points, &simulated));
    }
    if cell.is_suspect {
        for finding in &mut all {
            finding.doubt(Doubt::refused("starred: the operation of the hardware was suspect"));
        }
    }
    all
}

/// How far a group of cells is off.
struct Judged {
    name: &'static str,
    errors: Errors,
    parameters: usize,
}

impl Judged {
    /// None of a group without cells.
    fn of((name, is_in): &Group, outcomes: &[Outcome]) -> Result<Option<Self>, Failure> {
        let of = || outcomes.iter().filter(|o| !o.cell.is_suspect && is_in(&o.cell));
        let Some(errors) = Errors::of(of()) else { return Ok(None) };
        let parameters = fitted_parameters(of().map(|o| o.cell.machine))?.len();
        Ok(Some(Self { name, errors, parameters }))
    }

    fn findings(&self) -> Vec<Finding> {
        let subject = subject("1983", &[("group", self.name)]);
        let errors = &self.errors;
        let rows = [
            ("cells_count", Some(errors.cells as f64)),
            ("error_median_percent", Some(errors.median_percent)),
            ("error_mean_percent", Some(errors.mean_percent)),
            ("error_max_percent", Some(errors.max_percent)),
            ("within_15_percent", Some(errors.within_percent)),
            ("cpu_error_mean_percent", errors.cpu_points),
            ("cpu_error_max_percent", errors.cpu_points_max),
            ("parameters_count", Some(self.parameters as f64)),
        ];
        let known = rows.into_iter().filter_map(|(name, value)| Some((name, value?)));
        known.map(|(name, value)| finding(&subject, name, value, "over its cells")).collect()
    }
}

/// A table of each machine and condition, as the paper prints them.
fn tables(outcomes: &[Outcome]) -> Vec<Sheet> {
    let mut machines: Vec<&str> = Vec::new();
    for outcome in outcomes {
        if !machines.contains(&outcome.cell.machine) {
            machines.push(outcome.cell.machine);
        }
    }
    machines.into_iter().map(|machine| of_machine(machine, outcomes)).collect()
}

/// What a column says of a cell.
type Text<'t> = &'t dyn Fn(&Outcome) -> String;

fn of_machine(machine: &str, outcomes: &[Outcome]) -> Sheet {
    let of: Vec<&Outcome> = outcomes.iter().filter(|o| o.cell.machine == machine).collect();
    let cells: Vec<&Cell> = of.iter().map(|o| &o.cell).collect();
    let mut rows: Vec<(u64, &str)> = Vec::new();
    for cell in &cells {
        let row = (cell.block_bytes, cell.program.name);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let at = |row: &(u64, &str), drives: usize| {
        of.iter()
            .find(|o| (o.cell.block_bytes, o.cell.program.name) == *row && o.cell.drives == drives)
    };
    let share = |percent: Option<f64>| percent.map_or_else(String::new, |p| format!(" ({p:.0}%)"));
    let printed = |o: &Outcome| {
        let star = if o.cell.is_suspect { "*" } else { "" };
        format!("{:.0}{}{star}", o.cell.kib_per_s, share(o.cell.cpu_percent))
    };
    let modelled =
        |o: &Outcome| format!("{:.0}{}", o.modelled.kib_per_s, share(Some(o.modelled.cpu_percent)));
    let points = |o: &Outcome| {
        o.cpu_error_points().map_or_else(String::new, |points| show_change(points, 0))
    };
    let columns: [(&str, Text<'_>); 4] = [
        ("paper", &printed),
        ("model", &modelled),
        ("error", &|o| show_change(100.0 * o.error(), 1) + " %"),
        ("CPU", &points),
    ];
    let mut listing = Listing::of(&rows)
        .label("fs", |(bytes, _)| format!("{}K/1K", bytes / 1024))
        .label("Test", |(_, program)| (*program).to_owned());
    for (drives, group) in [(1, "1 Drive"), (2, "2 Drives")] {
        for (head, text) in columns {
            let of = |row: &(u64, &str)| at(row, drives).map_or_else(|| "n.m.".into(), |o| text(o));
            listing = listing.figure(group, head, of);
        }
    }
    let first = cells.first();
    let condition = first.map_or("", |cell| cell.condition.as_str());
    let condition = if condition == "baseline" { String::new() } else { format!(", {condition}") };
    let name = first.map_or_else(String::new, |cell| format!("{}, {}", cell.cpu, cell.controller));
    let starred = cells.iter().any(|cell| cell.is_suspect);
    let note = "* the hardware was suspect (the paper's star); not counted in the errors";
    let units = "error: of the rate, in % of the paper's rate; CPU: of the CPU share, in points";
    let title =
        format!("1983, {name}{condition}: KiB/s and the program's share of one CPU ({machine})");
    let notes = [units].into_iter().chain(starred.then_some(note)).map(str::to_owned);
    listing.sheet(title).with_notes(notes)
}

fn summary(groups: &[Judged], outcomes: &[Outcome]) -> Sheet {
    let percent =
        |of: fn(&Errors) -> f64| move |group: &Judged| format!("{:.1}", of(&group.errors));
    let points = |of: fn(&Errors) -> Option<f64>| {
        move |group: &Judged| of(&group.errors).map_or_else(String::new, |p| format!("{p:.1}"))
    };
    let resists = |o: &&Outcome| !o.cell.is_suspect && 100.0 * o.error().abs() > RESISTS_PERCENT;
    let resisting: Vec<String> = outcomes
        .iter()
        .filter(resists)
        .map(|o| format!("{} ({} %)", o.cell.name(), show_change(100.0 * o.error(), 0)))
        .collect();
    let resisting = match resisting.as_slice() {
        [] => "No cell is off by more than 15 %.".to_owned(),
        some => format!("Cells that are off by more than 15 %: {}.", some.join("; ")),
    };
    Listing::of(groups)
        .label("cells", |group| group.name.to_owned())
        .figure("", "cells", |group| group.errors.cells.to_string())
        .figure("", "fitted parameters", |group| group.parameters.to_string())
        .figure("", "median", percent(|errors| errors.median_percent))
        .figure("", "mean", percent(|errors| errors.mean_percent))
        .figure("", "max", percent(|errors| errors.max_percent))
        .figure("", "within 15 %", percent(|errors| errors.within_percent))
        .figure("CPU, points", "mean", points(|errors| errors.cpu_points))
        .figure("CPU, points", "max", points(|errors| errors.cpu_points_max))
        .sheet("1983: errors of the rates, in % of the published rates, without starred cells")
        .with_notes([
            resisting,
            "These are errors of a fit: the models were fitted to the same cells (lbolt simulate \
             --model M --show-model marks each fitted number). docs/guide/simulate.md has the \
             models' predictions."
                .into(),
        ])
}

//! The conclusions of Kridle & McKusick 1983, section 6, as scenarios that change one thing: one
//! queue or two with reads first, the processor's own bus or the UNIBUS, more or less buffer in the
//! controller.
//!
//! Nothing was printed to hold these against: they are predictions of the fitted models.

use super::program::PROGRAMS;
use super::{Cell, KIB, Modelled, model};
use crate::comparison::{Comparison, finding, subject};
use crate::{CATALOG, Failure};
use rayon::prelude::*;
use report::Sheet;
use report::listing::Listing;

/// One thing that is changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// What is asked.
    pub title: &'static str,
    /// The model.
    pub machine: &'static str,
    /// The programs, by their names.
    pub programs: &'static [&'static str],
    /// How many drives.
    pub drives: usize,
    /// Each variant: what it is called, and what it changes.
    pub variants: Vec<Variant>,
}

/// One way to have it.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// What it is called.
    pub name: String,
    /// The keys that it changes, and to what.
    pub changes: Vec<(&'static str, String)>,
}

/// What a variant comes to for a program, on a file system with blocks of 8 KiB.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The scenario's title.
    pub title: &'static str,
    /// The variant's name.
    pub variant: String,
    /// The program's name.
    pub program: &'static str,
    /// How many drives.
    pub drives: usize,
    /// The mean over the seeds.
    pub modelled: Modelled,
}

/// Sizes of buffers, in sectors: from the SC780's to the UDA50's.
const BUFFERS: [u32; 7] = [1, 2, 4, 8, 16, 32, 52];

fn variant(name: impl Into<String>, changes: &[(&'static str, &str)]) -> Variant {
    let changes = changes.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
    Variant { name: name.into(), changes }
}

/// What the UNIBUS of a VAX-11/780 does, as the fit found it.
fn unibus() -> Result<Vec<(&'static str, String)>, Failure> {
    let unibus = CATALOG.load("unibus-780")?;
    let text = |key: &str| {
        let leaf = unibus.leaves().find(|(known, _)| *known == key);
        leaf.and_then(|(_, leaf)| leaf.value.as_str()).unwrap_or_default().to_owned()
    };
    Ok(vec![("bus.rate", text("bus.rate")), ("bus.slowdown", text("bus.slowdown"))])
}

/// All scenarios.
pub fn scenarios() -> Result<Vec<Scenario>, Failure> {
    let queues = || {
        let policies = [
            ("one queue, in order of arrival", "fifo"),
            ("one queue, one-way elevator", "disksort"),
            ("two queues, reads first", "reads-first"),
        ];
        policies.map(|(name, policy)| variant(name, &[("queue.policy", policy)])).to_vec()
    };
    let buffers = |others: &[(&'static str, String)]| {
        let sized = |sectors: u32| Variant {
            name: if sectors == 1 { "1 sector".into() } else { format!("{sectors} sectors") },
            changes: [("controller.buffer_sectors", sectors.to_string())]
                .into_iter()
                .chain(others.iter().cloned())
                .collect(),
        };
        BUFFERS.map(sized).to_vec()
    };
    let on_unibus = unibus()?;
    let all: &[&str] = &["read_8192", "write_4096", "write_8192", "rewrite_8192"];
    let (writing, moving): (&[&str], &[&str]) =
        (&["write_4096", "write_8192"], &["read_8192", "rewrite_8192"]);
    let scenario = |title, machine, programs, drives, variants| Scenario {
        title,
        machine,
        programs,
        drives,
        variants,
    };
    Ok(vec![
        scenario("queues of the SC780's driver", "vax780-sc780-eagle", writing, 1, queues()),
        scenario("queues of the UDA50's driver", "vax780-uda50-ra81", writing, 1, queues()),
        scenario(
            "bus of the SC780",
            "vax780-sc780-eagle",
            all,
            1,
            vec![
                variant("SBI", &[]),
                Variant { name: "UNIBUS".into(), changes: on_unibus.clone() },
            ],
        ),
        scenario("buffer of the SC780 on the SBI", "vax780-sc780-eagle", moving, 1, buffers(&[])),
        scenario(
            "buffer of the SC780 on a UNIBUS",
            "vax780-sc780-eagle",
            moving,
            1,
            buffers(&on_unibus),
        ),
        scenario("buffer of the UDA50", "vax780-uda50-ra81", moving, 2, buffers(&[])),
    ])
}

/// What a scenario comes to, variant by variant.
pub fn run(scenario: &Scenario, seeds: u64) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for variant in &scenario.variants {
        let mut profile = CATALOG.load(scenario.machine)?;
        for (key, value) in &variant.changes {
            profile.set(key, value)?;
        }
        for program in PROGRAMS.iter().filter(|p| scenario.programs.contains(&p.name)) {
            let cell = Cell::unprinted(scenario.machine, *program, scenario.drives);
            rows.push(Row {
                title: scenario.title,
                variant: variant.name.clone(),
                program: program.name,
                drives: scenario.drives,
                modelled: model(&profile, &cell, seeds)?,
            });
        }
    }
    Ok(rows)
}

pub(super) fn predict(seeds: u64) -> Result<Comparison, Failure> {
    let scenarios = scenarios()?;
    let runs = scenarios.par_iter().with_max_len(1).map(|scenario| run(scenario, seeds));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    let findings = runs.iter().flatten().flat_map(|row| {
        let keys = [
            ("scenario", row.title),
            ("variant", &row.variant),
            ("program", row.program),
            ("drives", &row.drives.to_string()),
        ];
        let subject = subject("1983", &keys);
        [
            finding(&subject, "model_rate_bytes_per_s", row.modelled.kib_per_s * KIB, "predicted"),
            finding(&subject, "model_cpu_percent", row.modelled.cpu_percent, "predicted"),
        ]
    });
    let findings = findings.collect();
    let sheets =
        scenarios.iter().zip(&runs).map(|(scenario, rows)| sheet(scenario, rows)).collect();
    Ok(Comparison { sheets, findings })
}

/// A row a variant, a column a program.
fn sheet(scenario: &Scenario, rows: &[Row]) -> Sheet {
    let listing = Listing::of(&scenario.variants).label("", |variant| variant.name.clone());
    let listing = scenario.programs.iter().fold(listing, |listing, program| {
        listing.figure("", program, |variant| {
            let is_it = |row: &&Row| row.variant == variant.name && row.program == *program;
            rows.iter().find(is_it).map_or_else(String::new, |row| {
                format!("{:.0} ({:.0}%)", row.modelled.kib_per_s, row.modelled.cpu_percent)
            })
        })
    });
    let drives = if scenario.drives == 1 { "one drive" } else { "two drives" };
    listing.sheet(format!(
        "1983, section 6, predicted: {}, {drives}, 8K/1K, KiB/s and share of one CPU ({})",
        scenario.title, scenario.machine
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(title: &str) -> Vec<(String, &'static str, f64)> {
        let all = scenarios().unwrap();
        let scenario = all.iter().find(|scenario| scenario.title == title).unwrap();
        let row = |row: Row| (row.variant, row.program, row.modelled.kib_per_s);
        run(scenario, 1).unwrap().into_iter().map(row).collect()
    }

    #[test]
    fn little_buffer_is_enough_where_the_bus_is_fast_and_not_on_the_unibus() {
        let on_sbi = rates("buffer of the SC780 on the SBI");
        let on_unibus = rates("buffer of the SC780 on a UNIBUS");
        let of = |rows: &[(String, &str, f64)], variant: &str, program: &str| {
            rows.iter().find(|row| row.0 == variant && row.1 == program).unwrap().2
        };
        for program in ["read_8192", "rewrite_8192"] {
            assert_eq!(of(&on_sbi, "1 sector", program), of(&on_sbi, "52 sectors", program));
            let (little, much) =
                (of(&on_unibus, "1 sector", program), of(&on_unibus, "52 sectors", program));
            assert!(little < 0.9 * much, "{program}: {little} and {much}");
            assert!(little < 0.9 * of(&on_sbi, "1 sector", program), "{program}: {little}");
        }
    }
}

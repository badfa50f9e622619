//! Kridle & McKusick 1983, section 6: its conclusions as scenarios that change one thing.

use super::{Part, at_fault, column, finding, subject};
use crate::cores;
use report::listing::Listing;
use sim::papers::scenarios_1983::{Row, Scenario, run, scenarios};

const KIB: f64 = 1024.0;

pub(super) fn compute(seeds: u32) -> anyhow::Result<Part> {
    let scenarios = scenarios().map_err(at_fault)?;
    let runs = cores::map(&scenarios, |scenario| run(scenario, seeds.into()));
    let runs = runs.into_iter().collect::<Result<Vec<_>, _>>().map_err(at_fault)?;
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
    let listings =
        scenarios.iter().zip(&runs).map(|(scenario, rows)| listing(scenario, rows)).collect();
    Ok(Part { listings, findings })
}

/// A row a variant, a column a program.
fn listing(scenario: &Scenario, rows: &[Row]) -> Listing {
    let figures = scenario.programs.iter().map(|program| {
        let of = |variant: &String| {
            let row = rows.iter().find(|row| row.variant == *variant && row.program == *program);
            row.map_or_else(String::new, |row| {
                format!("{:.0} ({:.0}%)", row.modelled.kib_per_s, row.modelled.cpu_percent)
            })
        };
        column("", program, scenario.variants.iter().map(|variant| of(&variant.name)).collect())
    });
    let drives = if scenario.drives == 1 { "one drive" } else { "two drives" };
    Listing {
        title: format!(
            "1983, section 6, predicted: {}, {drives}, 8K/1K, KiB/s and share of one CPU ({})",
            scenario.title, scenario.machine
        ),
        labels: vec![("", scenario.variants.iter().map(|variant| variant.name.clone()).collect())],
        figures: figures.collect(),
        ..Listing::default()
    }
}

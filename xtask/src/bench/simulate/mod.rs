//! What the simulator is worth: the papers' tables beside the models', real drives and a real
//! workstation beside what was measured of them, and requests a second.

mod papers;
mod replay;
mod speed;

use super::table::Row;
use super::{Bench, not_told};

/// All rows whose names hold the text.
///
/// # Errors
/// Interruption; what else goes wrong is told in the rows.
pub(super) fn run(bench: &mut Bench, only: &str) -> anyhow::Result<Vec<Row>> {
    type Part = (&'static [&'static str], fn(&mut Bench) -> anyhow::Result<Vec<Row>>);
    let parts: [Part; 4] = [
        (papers::NAMES, papers::run),
        (replay::DRIVE_NAMES, replay::drives),
        (replay::WEEK_NAMES, replay::week),
        (speed::NAMES, speed::run),
    ];
    let mut rows = Vec::new();
    for (names, measure) in parts {
        if !names.iter().any(|name| name.contains(only)) {
            continue;
        }
        match measure(bench) {
            Ok(found) => rows.extend(found),
            Err(error) => {
                let reason = bench.unless_stopped(error)?;
                rows.extend(names.iter().map(|name| not_told(name, "-", &reason)));
            }
        }
        bench.records.clear()?;
    }
    rows.retain(|row| row.name.contains(only));
    Ok(rows)
}

//! A simulated fleet on disk: a run with a rollup by hours of each host, and `planted.json`, which
//! says what lbolt should find in it.
//!
//! Non-goals: what the hosts do (`experiment::synthesis::fleet`).

use crate::run::directory::RunPlace;
use crate::run::session::run_info;
use ::verdict::parts::in_order;
use experiment::synthesis::fleet::{
    DAYS_LEAST, Extent, HOSTS_LEAST, Host, Load, Planted, SyntheticFleet,
};
use host::drive::Control;
use messages::fault::{Fault, failure, of_records};
use model::history::{Folder, Origin};
use model::record::RollupLevel;
use model::run::{RunDirectory, RunError};
use model::whole_file::{write_new, write_whole};
use serde_json::json;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

/// What is planted in a fleet.
const PLANTED: &str = "planted.json";

/// A fleet that was made.
pub(crate) struct Made {
    /// Its directory.
    pub(crate) path: PathBuf,
    /// What is in it.
    pub(crate) planted: Vec<Planted>,
}

/// Makes the fleet.
/// Errors: too few hosts or days for what is planted; what the file system refuses; interruption.
pub(crate) fn make(
    place: &RunPlace,
    load: Load,
    extent: Extent,
    control: &Control,
) -> anyhow::Result<Made> {
    if !extent.is_calm && (extent.hosts < HOSTS_LEAST || extent.days < DAYS_LEAST) {
        let sentence = format!(
            "failed to plant outliers: they need {HOSTS_LEAST} hosts and {DAYS_LEAST} days; give \
             more, or --calm"
        );
        return Err(failure(Fault::Usage, sentence));
    }
    let fleet = SyntheticFleet::new(load, extent);
    let planted = fleet.planted();
    let mut info = run_info("synthesize", place.as_ref(), extent.seed)?;
    info.plan = json!({
        "hosts": extent.hosts, "days": extent.days, "is_calm": extent.is_calm,
        "note": "simulated: nobody watched these hosts",
    });
    let run = place.create(&mut info)?;
    let text = serde_json::to_string_pretty(&json!({
        "note": "simulated: nobody watched these hosts",
        "seed": extent.seed,
        "planted": planted,
    }))?;
    let written =
        write_new(&run.held().at(PLANTED), &(text + "\n")).map_err(refused(&run, PLANTED));
    let written = written.and_then(|()| {
        let one = |number: usize| match (control.is_stopped(), fleet.host(number)) {
            (true, _) => Err(failure(Fault::Interrupted, "interrupted; the fleet is not whole")),
            (false, Some(host)) => write(&run, &host),
            (false, None) => Ok(()),
        };
        in_order(extent.hosts, one, &mut |()| {})
    });
    let state = if written.is_ok() { "finished" } else { "interrupted" };
    state.clone_into(&mut info.state);
    run.write_info(&info).map_err(of_records)?;
    written?;
    Ok(Made { path: run.path().to_owned(), planted })
}

/// Writes a host's rollup, whole or not at all.
fn write(run: &RunDirectory, host: &Host) -> anyhow::Result<()> {
    let name = format!("{}.parquet", host.name);
    let bytes = rollup(host)?;
    write_whole(&run.held().at(&name), |mut file: &File| file.write_all(&bytes))
        .map_err(refused(run, &name))
}

/// A file that could not be written.
fn refused(run: &RunDirectory, name: &str) -> impl FnOnce(std::io::Error) -> anyhow::Error {
    let path = run.path().join(name);
    move |source| {
        let action = "write";
        of_records(RunError::Io { action, path, source })
    }
}

fn rollup(host: &Host) -> anyhow::Result<Vec<u8>> {
    let mut folder = Folder::new(Vec::new(), RollupLevel::Hour, &Origin::default())?;
    for (origin, facts, rows) in &host.runs {
        let twice = |twice| anyhow::anyhow!("failed to simulate a host: {twice}");
        folder.begin_source(origin, host.models.clone()).map_err(twice)?;
        folder.know_host(facts.clone());
        rows.iter().for_each(|row| folder.push(&row.lent()));
    }
    Ok(folder.finish("")?)
}

#[cfg(test)]
mod tests;

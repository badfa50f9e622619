//! `lbolt import`: foreign traces to a run of requests.

use super::report::kept;
use super::{note, print};
use crate::cli::ImportOptions;
use crate::print::exit::{Fault, failure};
use crate::print::render::render;
use crate::run::Watch;
use crate::run::capture::Devices;
use crate::run::directory::RunPlace;
use crate::run::import::{of_import, open, progress};
use crate::run::requests::{RequestsRun, outcome};
use crate::run::session::control;
use trace::import::{self, ImportError};
use trace::intake::Intake;

/// Runs the command.
/// Errors: files that cannot be read or are of no format; records that cannot be written.
pub(super) fn run(options: &ImportOptions) -> anyhow::Result<()> {
    let control = control()?;
    let (mut inputs, format) = open(&options.trace, &control)?;
    let path = RunPlace::of(&options.output, "import");
    let plan = serde_json::json!({ "files": options.trace.traces, "from": format.name() });
    let watch = Watch::new(&control);
    let mut run = RequestsRun::begin("import", path, plan, watch.clone())?;
    let path = run.path().to_owned();
    let ticker = progress(&inputs, watch);
    let mut intake = Intake::new(run.rows(), &format!("import:{}", format.name()));
    let read = import::read(&mut inputs, Some(format), &mut intake);
    let refused = match read {
        Ok(_) => None,
        Err(ImportError::Rows(error)) => Some(error),
        Err(error) => {
            drop((intake, ticker));
            run.discard();
            return Err(match control.is_stopped() {
                true => failure(Fault::Interrupted, "interrupted; nothing was written"),
                false => of_import(error),
            });
        }
    };
    let (provenance, commands, refused) = intake.end(refused);
    let (state, ended) = outcome(refused);
    drop(ticker);
    let name = |device: u32| {
        let noted = provenance.notes.get(&format!("device.{device}")).cloned();
        noted.unwrap_or_else(|| Devices::default().name(device))
    };
    let taken = run.finish(state, &provenance, &commands, name, vec![])?;
    let printed = print(&render(&taken.info, (&taken.findings, &[]), options.output.format)?);
    let said = provenance.notes.iter().filter(|(key, _)| key.starts_with("rejected."));
    said.for_each(|(_, complaint)| note(&format!("not understood: {complaint}")));
    let paged = kept(&path, &options.output);
    ended.and(printed).and(paged)
}

//! `lbolt import`: foreign traces to a run of requests.

use super::report::kept;
use super::{note, print};
use crate::render::render;
use crate::run::directory::RunPlace;
use crate::run::requests::RequestsRun;
use crate::run::session::control;
use analysis::import::{of_import, open, progress};
use capture::Devices;
use capture::gate::Gate;
use capture::outcome::outcome;
use cli::ImportOptions;
use formats::import::{self, ImportError};
use messages::fault::{Fault, failure};
use trace::intake::Intake;

/// Runs the command.
/// Errors: files that cannot be read or are of no format; records that cannot be written.
pub(super) fn run(options: &ImportOptions) -> anyhow::Result<()> {
    let control = control()?;
    let (mut inputs, format) = open(&options.trace, &control)?;
    let path = RunPlace::of(&options.output, "import");
    let plan = serde_json::json!({ "files": options.trace.traces, "from": format.name() });
    let gate = Gate::new(&control);
    let mut run = RequestsRun::begin("import", path, plan, gate.clone())?;
    let path = run.path().to_owned();
    let ticker = progress(&inputs, gate);
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

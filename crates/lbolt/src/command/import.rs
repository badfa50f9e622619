//! `lbolt import`: foreign traces to a run of requests.

use super::report::kept;
use super::simulate::output_parent;
use super::{note, print};
use crate::render::render;
use crate::run::directory::RunPlace;
use crate::run::requests::RequestsRun;
use crate::run::session::control;
use analysis::import::{Foreign, of_import, progress, read_in_order};
use capture::Devices;
use capture::gate::Gate;
use capture::outcome::outcome;
use cli::ImportOptions;
use host::drive::Control;
use messages::fault::{Fault, failure};
use std::sync::Arc;

/// Runs the command.
/// Errors: files that cannot be read or are of no format; records that cannot be written.
pub(super) fn run(options: &ImportOptions) -> anyhow::Result<()> {
    let control = control()?;
    let place = RunPlace::of(&options.output, "import");
    read_in_order(&options.trace, output_parent(&place), &control, |foreign| {
        once(options, foreign, &control)
    })
}

/// Imports the trace once; none if it has to be read again.
fn once(
    options: &ImportOptions,
    foreign: Foreign,
    control: &Arc<Control>,
) -> anyhow::Result<Option<()>> {
    let place = RunPlace::of(&options.output, "import");
    let of = &options.identity;
    let plan = serde_json::json!({
        "files": options.trace.traces, "from": foreign.format.name(), "host": of.host,
        "model": of.model, "firmware": of.firmware, "kernel": of.kernel,
    });
    let gate = Gate::new(control);
    let mut run = RequestsRun::begin("import", place, plan, gate.clone())?;
    let path = run.path().to_owned();
    let ticker = progress(&foreign.inputs, gate);
    let read = foreign.read(run.rows(), control);
    drop(ticker);
    let (provenance, commands, refused) = match read {
        Ok(Some(read)) => read,
        Ok(None) => {
            run.discard();
            return Ok(None);
        }
        Err(error) => {
            run.discard();
            return Err(match control.is_stopped() {
                true => failure(Fault::Interrupted, "interrupted; nothing was written"),
                false => of_import(error),
            });
        }
    };
    let (state, ended) = outcome(refused);
    let name = |device: u32| {
        let noted = provenance.notes.get(&format!("device.{device}")).cloned();
        noted.unwrap_or_else(|| Devices::default().name(device))
    };
    let taken = run.finish(state, &provenance, &commands, name, vec![])?;
    let printed = print(&render(&taken.info, (&taken.findings, &[]), options.output.format)?);
    let said = provenance.notes.iter().filter(|(key, _)| key.starts_with("rejected."));
    said.for_each(|(_, complaint)| note(&format!("not understood: {complaint}")));
    let paged = kept(&path, &options.output);
    ended.and(printed).and(paged).map(Some)
}

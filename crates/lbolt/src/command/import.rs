//! `lbolt import`: foreign traces to a run of requests.

use super::render::render;
use super::{note, print, throughput};
use crate::cli::ImportOptions;
use crate::exit::{Fault, failure, of_records};
use crate::run::Watch;
use crate::run::capture::Devices;
use crate::run::requests::{RequestsRun, outcome};
use crate::session::control;
use crate::ticker::Ticker;
use host::drive::Control;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use trace::import::{self, Format, ImportError, Input};
use trace::intake::Intake;

/// Runs the command.
///
/// # Errors
/// Files that cannot be read or are of no format; records that cannot be written.
pub fn run(options: &ImportOptions) -> anyhow::Result<()> {
    let control = control()?;
    let mut inputs = open(&options.files, &control)?;
    let format = choose(&mut inputs, options.from.as_deref()).map_err(of_import)?;
    let path = throughput::run_path(&options.output, "import");
    let plan = serde_json::json!({ "files": options.files, "from": format.name() });
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
    let printed = print(&render(&taken.info, &taken.findings, options.output.format)?);
    let said = provenance.notes.iter().filter(|(key, _)| key.starts_with("rejected."));
    said.for_each(|(_, complaint)| note(&format!("not understood: {complaint}")));
    note(&format!("records: {}", path.display()));
    ended.and(printed)
}

/// Opens all files before anything is made.
pub(crate) fn open(files: &[PathBuf], control: &Control) -> anyhow::Result<Vec<Input>> {
    let opened = files.iter().map(|file| Input::open_until(file, control.stop.clone()));
    opened.collect::<Result<_, _>>().map_err(|e| failure(Fault::Usage, format!("failed to {e}")))
}

/// The format that was asked for, or the one that all files are of.
pub(crate) fn choose(
    inputs: &mut [Input],
    from: Option<&str>,
) -> Result<&'static dyn Format, ImportError> {
    from.map_or_else(|| import::guess_together(inputs), import::named)
}

/// What the user can mend is a usage error; what the disk refuses is not.
pub(crate) fn of_import(error: ImportError) -> anyhow::Error {
    let fault = match error {
        ImportError::Input(_) | ImportError::Rows(_) => Fault::Io,
        _ => Fault::Usage,
    };
    match fault {
        Fault::Io => of_records(error),
        _ => failure(fault, format!("failed to {error}")),
    }
}

/// How much of the files was read, and how many requests came of it.
pub(crate) fn progress(inputs: &[Input], watch: Watch) -> Ticker {
    let total: u64 = inputs.iter().map(Input::length_bytes).sum();
    let taken: Vec<_> = inputs.iter().map(Input::taken_bytes).collect();
    let began = std::time::Instant::now();
    Ticker::reading(move || {
        let taken: u64 = taken.iter().map(|bytes| bytes.load(Ordering::Relaxed)).sum();
        let percent = 100.0 * taken as f64 / total.max(1) as f64;
        let rows = watch.rows();
        let rate = rows as f64 / began.elapsed().as_secs_f64();
        format!("{percent:3.0} % read, {rows} requests, {rate:.0} a second")
    })
}

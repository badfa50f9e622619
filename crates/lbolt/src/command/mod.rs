//! The commands, one file each.

mod calibrate;
mod compare;
mod device;
mod doctor;
mod explore;
mod export;
mod fleet;
mod history;
mod import;
mod measure;
mod papers;
mod profile;
mod record;
mod replay;
mod report;
mod response;
mod rollup;
mod runs;
mod simulate;
mod sql;
mod survey;
mod throughput;
mod top;
mod typed;
mod watch;
mod whatif;

pub use typed::typed;

use crate::resolve;
use capture::{caretaker, caretaker_part};
use cli::Command;
use measure::{Extent, measure};
use messages::fault::{Fault, failure};

pub(crate) use messages::output::{note, print, print_json, print_line};

/// Runs a command.
/// Errors: what could not be done, with its exit code.
pub fn run(command: &Command) -> anyhow::Result<()> {
    let done = done(command);
    // All is put in order by now.
    caretaker::end();
    done
}

/// Begins the threads on which models run: what shares work out among them would panic without any.
/// Errors: a machine that gives none.
fn begin_threads() -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new().build_global().map_err(|error| {
        let sentence = format!(
            "failed to begin a thread for each core: {error}; raise the limits (ulimit -v, ulimit \
             -u) or set RAYON_NUM_THREADS=1"
        );
        failure(Fault::Io, sentence)
    })
}

fn done(command: &Command) -> anyhow::Result<()> {
    if matches!(
        command,
        Command::Simulate(_) | Command::Whatif(_) | Command::Calibrate(_) | Command::Papers(_)
    ) {
        begin_threads()?;
    }
    match command {
        Command::Survey(options) => survey::run_survey(options),
        Command::Throughput(options) => throughput::run(options),
        Command::Overhead(options) => measure(
            "overhead",
            &options.output,
            (options.measure.dry_run, Extent::of(options.measure.all)),
            |output| resolve::overhead::resolve(options, output),
            crate::run::overhead::run,
        ),
        Command::Curve(options) => measure(
            "curve",
            &options.output,
            (options.measure.dry_run, Extent::of(options.measure.all)),
            |output| resolve::curve::resolve(options, output),
            crate::run::rounds::run,
        ),
        Command::Sync(options) => measure(
            "sync",
            &options.output,
            (options.dry_run, Extent::Whole),
            |output| resolve::sync::resolve(options, output),
            crate::run::rounds::run,
        ),
        Command::Storm(options) => measure(
            "storm",
            &options.output,
            (options.measure.dry_run, Extent::of(options.measure.all)),
            |output| resolve::storm::resolve(options, output),
            crate::run::storm::run,
        ),
        Command::Record(options) => record::run(options),
        Command::Watch(options) => watch::run(options),
        Command::Top(options) => top::run(options),
        Command::CapturePart => standing::part::run(),
        Command::CaretakerPart => caretaker_part::run(),
        Command::Response(options) => response::run(options),
        Command::Rollup(options) => rollup::run(options),
        Command::Fleet(options) => fleet::run(options),
        Command::Sql(options) => sql::run(options),
        Command::Simulate(options) => simulate::run(options),
        Command::Whatif(options) => whatif::run(options),
        Command::Calibrate(options) => calibrate::run(options),
        Command::Device(options) => device::run(options),
        Command::DevicePart => crate::run::device::part::run(),
        Command::Replay(options) => replay::run(options),
        Command::Profile(options) => profile::run(options),
        Command::Synthesize(options) => profile::synthesize(options),
        Command::Papers(options) => papers::run(options),
        Command::Import(options) => import::run(options),
        Command::Export(options) => export::run(options),
        Command::Report(options) => report::run(options),
        Command::Explore(options) => explore::run(options),
        Command::Compare(options) => compare::run(options),
        Command::History(options) => history::run(options),
        Command::Runs(options) => runs::run(options),
        Command::Doctor(options) => doctor::run(options),
    }
}

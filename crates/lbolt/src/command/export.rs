//! `lbolt export`: requests in the formats of other programs.

use super::print;
use crate::run::session::control;
use analysis::trace::{TraceFile, files_of};
use capture::gate::Gate;
use capture::leftover::Kept;
use cli::ExportOptions;
use formats::export::{self, Destination, ExportError, Exported, FileRows, Source};
use messages::fault::{Fault, failure, of_records};
use messages::ticker::Ticker;
use model::record::requests::Provenance;
use model::record::{Commands, Request};
use model::run::parent_of;
use model::text::visible;
use model::units::counted;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use trace::intake::RowsError;

/// Runs the command.
/// Errors: a trace that cannot be read; a format that there is none of; an output that refuses.
pub(super) fn run(options: &ExportOptions) -> anyhow::Result<()> {
    let format = export::named(&options.output_format).map_err(usage)?;
    let control = control()?;
    let output = &options.output;
    let trace = TraceFile::open(&options.trace, (parent_of(output), "--output"), &control)?;
    let rows = trace.rows()?;
    let gate = Gate::new(&control);
    let mut rows = Watched { rows, gate: gate.clone() };
    let ticker = progress(gate);
    let destination = Destination { path: output, mode: mode_of(&options.trace.traces) };
    let exported = {
        // Of use where an earlier file is replaced, for a moment, and where a file system knows no
        // files without names.
        let _kept = Kept::brief(output, &[export::scratch_of(output)]);
        export::write(format, &mut rows, options.with_own, destination)
    };
    drop(ticker);
    let exported = exported.map_err(|error| match error {
        ExportError::Exists { .. } => usage(error),
        _ if control.is_stopped() => {
            failure(Fault::Interrupted, "interrupted; nothing was written")
        }
        _ => of_records(error),
    })?;
    print(&said(&exported, format.name()))
}

/// Whoever may read the trace may read what is made of it, as with cp, and nobody else write it: a
/// run is its owner's alone.
pub(super) fn mode_of(traces: &[PathBuf]) -> u32 {
    let mode = |path: PathBuf| path.metadata().map_or(0o600, |m| m.permissions().mode());
    files_of(traces).map(mode).fold(0o644, |all, mode| all & mode) | 0o600
}

fn usage(error: impl std::fmt::Display) -> anyhow::Error {
    failure(Fault::Usage, format!("failed to {error}"))
}

/// Rows that are counted, and that end when the user says so.
struct Watched {
    rows: FileRows,
    gate: Gate,
}

impl Source for Watched {
    fn next_row(&mut self) -> Result<Option<Request>, RowsError> {
        self.gate.pass(1)?;
        self.rows.next_row()
    }

    fn commands(&self) -> &Commands {
        self.rows.commands()
    }

    fn provenance(&self) -> &Provenance {
        self.rows.provenance()
    }
}

fn progress(gate: Gate) -> Ticker {
    Ticker::reading(move || format!("{} requests", gate.rows()))
}

/// What was written, and what the format could not say.
fn said(exported: &Exported, format: &str) -> String {
    let files: Vec<String> =
        exported.files.iter().map(|f| visible(&f.display().to_string()).into_owned()).collect();
    let requests = |count: u64| counted(count, "request{s}");
    let mut text = format!("{} as {format}: {}\n", requests(exported.requests), files.join(", "));
    let missing = |is_row: bool| {
        exported.missing.iter().filter(move |(m, n)| m.is_row() == is_row && **n > 0)
    };
    for (head, is_row) in [("left out", true), ("not in the format", false)] {
        for (missing, count) in missing(is_row) {
            text.push_str(&format!("{head}: {} ({})\n", missing.meaning(), requests(*count)));
        }
    }
    text
}

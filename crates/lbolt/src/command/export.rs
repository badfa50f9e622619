//! `lbolt export`: requests in the formats of other programs.

use super::print;
use crate::cli::ExportOptions;
use crate::exit::{Fault, failure, of_records};
use crate::room::trace::TraceFile;
use crate::session::control;
use crate::ticker::Ticker;
use host::drive::Control;
use model::record::requests::Provenance;
use model::record::{Commands, Request};
use model::text::visible;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use trace::export::{self, ExportError, Exported, FileRows, Source};
use trace::intake::RowsError;

/// Runs the command.
///
/// # Errors
/// A trace that cannot be read; a format that there is none of; an output that refuses.
pub fn run(options: &ExportOptions) -> anyhow::Result<()> {
    let format = export::named(&options.to).map_err(usage)?;
    let control = control()?;
    let beside = options.output.parent().filter(|p| !p.as_os_str().is_empty());
    let trace = TraceFile::open(
        &options.traces,
        options.from.as_deref(),
        beside.unwrap_or(Path::new(".")),
        &control,
    )?;
    let rows = trace.rows()?;
    let mut rows = Watched { rows, control, written: Arc::default() };
    let ticker = progress(rows.written.clone());
    let exported = export::write(format, &mut rows, options.with_own, &options.output);
    drop(ticker);
    let exported = exported.map_err(|error| match error {
        ExportError::Exists { .. } => usage(error),
        _ if rows.control.stop.load(Ordering::Relaxed) => {
            failure(Fault::Interrupted, "interrupted; what was written is not whole")
        }
        _ => of_records(error),
    })?;
    print(&said(&exported, format.name()))
}

fn usage(error: impl std::fmt::Display) -> anyhow::Error {
    failure(Fault::Usage, format!("failed to {error}"))
}

/// Rows that are counted, and that end when the user says so.
struct Watched {
    rows: FileRows,
    control: Arc<Control>,
    written: Arc<AtomicU64>,
}

impl Source for Watched {
    fn next_row(&mut self) -> Result<Option<Request>, RowsError> {
        if self.control.stop.load(Ordering::Relaxed) {
            return Err(RowsError("interrupted".into()));
        }
        self.written.fetch_add(1, Ordering::Relaxed);
        self.rows.next_row()
    }

    fn commands(&self) -> &Commands {
        self.rows.commands()
    }

    fn provenance(&self) -> &Provenance {
        self.rows.provenance()
    }
}

fn progress(written: Arc<AtomicU64>) -> Ticker {
    Ticker::reading(move || format!("{} requests", written.load(Ordering::Relaxed)))
}

/// What was written, and what the format could not say.
fn said(exported: &Exported, format: &str) -> String {
    let files: Vec<String> =
        exported.files.iter().map(|f| visible(&f.display().to_string()).into_owned()).collect();
    let mut text = format!("{} requests as {format}: {}\n", exported.requests, files.join(", "));
    let missing = |is_row: bool| {
        exported.missing.iter().filter(move |(m, n)| m.is_row() == is_row && **n > 0)
    };
    for (head, is_row) in [("left out", true), ("not told by the format", false)] {
        for (missing, count) in missing(is_row) {
            text.push_str(&format!("{head}: {} ({count} requests)\n", missing.meaning()));
        }
    }
    text
}

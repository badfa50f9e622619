//! `lbolt export`: requests in the formats of other programs.

use super::import::{choose, of_import, open};
use super::{note, print};
use crate::cli::ExportOptions;
use crate::exit::{Fault, failure, of_records};
use crate::room::trace::parquet_of;
use crate::session::control;
use crate::ticker::Ticker;
use host::drive::Control;
use model::record::requests::{Provenance, RequestFile};
use model::record::{Commands, Request};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use trace::export::{self, ExportError, Exported, FileRows, Source};
use trace::import;
use trace::intake::{Intake, Rows, RowsError};
use trace::output::RequestsFile;

/// Runs the command.
///
/// # Errors
/// A trace that cannot be read; a format that there is none of; an output that refuses.
pub fn run(options: &ExportOptions) -> anyhow::Result<()> {
    let format = export::named(&options.to).map_err(usage)?;
    let control = control()?;
    let (rows, _foreign) = rows_of(options, &control)?;
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

/// The rows of a run, of a file of requests, or of a foreign trace, which is turned into a file first: that goes when
/// what is returned beside the rows does.
fn rows_of(
    options: &ExportOptions,
    control: &Control,
) -> anyhow::Result<(FileRows, Option<tempfile::TempDir>)> {
    if let Some(path) = parquet_of(&options.traces, options.from.as_deref())? {
        let file = RequestFile::open(&path).map_err(usage)?;
        return Ok((FileRows::new(&file).map_err(of_records)?, None));
    }
    let directory = options.output.parent().filter(|p| !p.as_os_str().is_empty());
    let held = tempfile::Builder::new()
        .prefix(".lbolt-")
        .tempdir_in(directory.unwrap_or(Path::new(".")))
        .map_err(|e| {
            failure(
                Fault::Io,
                format!("failed to make a file beside {}: {e}", options.output.display()),
            )
        })?;
    let path = held.path().join("requests.parquet");
    imported(&options.traces, options.from.as_deref(), &path, control)?;
    let file = RequestFile::open(&path).map_err(of_records)?;
    Ok((FileRows::new(&file).map_err(of_records)?, Some(held)))
}

/// A foreign trace as a file of requests.
fn imported(
    files: &[PathBuf],
    from: Option<&str>,
    path: &Path,
    control: &Control,
) -> anyhow::Result<()> {
    let mut inputs = open(files)?;
    let format = choose(&mut inputs, from).map_err(of_import)?;
    let mut file = RequestsFile::create(path).map_err(of_records)?;
    let mut stoppable = Stoppable { file: &mut file, control };
    let mut intake = Intake::new(&mut stoppable, &format!("import:{}", format.name()));
    let interrupted = |error| match control.stop.load(Ordering::Relaxed) {
        true => failure(Fault::Interrupted, "interrupted; nothing was written"),
        false => error,
    };
    let read = import::read(&mut inputs, Some(format), &mut intake);
    read.map_err(|e| interrupted(of_import(e)))?;
    let (provenance, commands) = intake.finish().map_err(|e| interrupted(of_records(e)))?;
    if provenance.counts.rejected > 0 {
        note(&format!("{} lines or records were not understood", provenance.counts.rejected));
    }
    file.finish(&commands, &provenance, &std::collections::BTreeMap::new()).map_err(of_records)
}

/// A file that takes rows until the user says that it is enough.
struct Stoppable<'a> {
    file: &'a mut RequestsFile,
    control: &'a Control,
}

impl Rows for Stoppable<'_> {
    fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), RowsError> {
        if self.control.stop.load(Ordering::Relaxed) {
            return Err(RowsError("interrupted".into()));
        }
        self.file.push(row, commands)
    }
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
    Ticker::new(move || format!("{} requests", written.load(Ordering::Relaxed)))
}

/// What was written, and what the format could not say.
fn said(exported: &Exported, format: &str) -> String {
    let files: Vec<String> = exported.files.iter().map(|f| f.display().to_string()).collect();
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

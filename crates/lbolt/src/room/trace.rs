//! A trace as it is named on the command line: a run, its requests.parquet, or another program's files.

use crate::command::import::{choose, of_import, open};
use crate::command::note;
use crate::exit::{Fault, failure, of_records};
use crate::room::record::Devices;
use host::drive::Control;
use model::record::requests::{Provenance, RequestFile};
use model::record::{Commands, Request};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use trace::export::FileRows;
use trace::import;
use trace::intake::{Intake, Rows, RowsError};
use trace::output::RequestsFile;

/// The file of ours that a trace is, or has in its directory; none of a foreign one.
///
/// # Errors
/// A directory that holds no trace.
pub(crate) fn parquet_of(
    traces: &[PathBuf],
    from: Option<&str>,
) -> anyhow::Result<Option<PathBuf>> {
    let [one] = traces else { return Ok(None) };
    let of_run = one.join("requests.parquet");
    if one.is_dir() && !of_run.exists() {
        let what = match one.join("run.json").exists() {
            true => "is a run without requests; `lbolt record` makes one with them",
            false => {
                "is a directory and no run; name a run, its requests.parquet, or a trace's files"
            }
        };
        return Err(failure(Fault::Usage, format!("failed to read {}: it {what}", one.display())));
    }
    let path = if of_run.exists() { of_run } else { one.clone() };
    Ok((from.is_none() && is_parquet(&path)).then_some(path))
}

/// What every Parquet file begins with.
fn is_parquet(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut magic));
    read.is_ok() && magic == *b"PAR1"
}

/// Opens a file of requests, and says what it does not tell.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn open_requests(path: &Path) -> anyhow::Result<RequestFile> {
    let file = RequestFile::open(path);
    let file = file.map_err(|error| failure(Fault::Usage, format!("failed to {error}")))?;
    let shown = path.display();
    let missing = file.missing_columns();
    if !missing.is_empty() {
        note(&format!("{shown} has no {}: unknown in every request", missing.join(", ")));
    }
    let provenance = file.provenance();
    if !provenance.unknown.is_empty() {
        let names =
            if provenance.origin.is_empty() { ", and what its devices are called," } else { "" };
        note(&format!(
            "{shown} was written anew by {}: what was lost from the trace{names} is unknown",
            file.written_by()
        ));
    }
    Ok(file)
}

/// A trace whose rows can be read again and again: a file of ours, or what a foreign trace was turned into, which
/// goes when this does.
pub(crate) struct TraceFile {
    file: RequestFile,
    _held: Option<tempfile::TempDir>,
}

impl TraceFile {
    /// Opens a trace; a foreign one is turned into a file in the directory `beside`.
    ///
    /// # Errors
    /// A trace that cannot be read; a directory that takes no file; interruption.
    pub(crate) fn open(
        traces: &[PathBuf],
        from: Option<&str>,
        beside: &Path,
        control: &Control,
    ) -> anyhow::Result<Self> {
        if let Some(path) = parquet_of(traces, from)? {
            return Ok(Self { file: open_requests(&path)?, _held: None });
        }
        let held = tempfile::Builder::new().prefix(".lbolt-").tempdir_in(beside).map_err(|e| {
            failure(Fault::Io, format!("failed to make a file in {}: {e}", beside.display()))
        })?;
        let path = held.path().join("requests.parquet");
        imported(traces, from, &path, control)?;
        let file = RequestFile::open(&path).map_err(of_records)?;
        Ok(Self { file, _held: Some(held) })
    }

    /// The rows, from the first on.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(crate) fn rows(&self) -> anyhow::Result<FileRows> {
        FileRows::new(&self.file).map_err(of_records)
    }

    /// A device's name, as it is noted with the rows.
    pub(crate) fn device_name(&self, device: u32) -> String {
        device_name(device, &self.provenance())
    }

    /// Where the rows come from.
    pub(crate) fn provenance(&self) -> Provenance {
        self.file.provenance()
    }
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

/// A device's name, as it is noted with the rows; else its numbers.
pub(crate) fn device_name(device: u32, provenance: &Provenance) -> String {
    let noted = provenance.notes.get(&format!("device.{device}")).cloned();
    noted.unwrap_or_else(|| Devices::default().name(device))
}

/// Columns of the terminal; none where the output is no terminal.
pub(crate) fn terminal_width() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

//! Rows of requests in the formats of other programs. One file a format: what its bytes mean.
//!
//! Rows come in order of arrival and are written as they come, in memory bounded by what is
//! outstanding. What a format cannot say is left out and counted ([`Missing`]); each format
//! declares it in a list.
//!
//! To add a format: one file here, one entry in [`FORMATS`], one expected file in `tests/export`.
//!
//! Non-goals: files of our own (`requests.parquet`), printing.

mod blkparse;
mod blktrace;
mod disksim_ascii;
mod fio_iolog;
mod missing;
mod msr;
mod names;
mod output;
mod perfetto;
mod rows;
mod steps;

pub use missing::{Missing, MissingCounts};
pub use output::{Output, scratch_of};
pub use rows::{ExportRows, FileRows, MemoryRows, Source};

use model::record::Flags;
use std::path::{Path, PathBuf};
use trace::intake::RowsError;

/// Why rows were not exported. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum ExportError {
    #[error("write {path}: {source}{rest}", path = path.display())]
    Output { path: PathBuf, rest: &'static str, source: std::io::Error },
    #[error("write {path}: it already exists and would be taken for a part of this trace; remove \
             it or export under another name", path = path.display())]
    Exists { path: PathBuf },
    #[error("find the format {name:?}; known are {known}")]
    UnknownFormat { name: String, known: String },
    #[error(transparent)]
    Rows(#[from] RowsError),
}

/// What was exported, and what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// The files that were written.
    pub files: Vec<PathBuf>,
    /// How many requests they hold.
    pub requests: u64,
    /// What they do not tell.
    pub missing: MissingCounts,
}

/// A format to export to.
#[derive(Debug)]
pub struct ExportFormat {
    name: &'static str,
    meaning: &'static str,
    /// What it cannot say, in groups that formats share.
    lacks: &'static [&'static [Missing]],
    /// The flags that it can say.
    flags: Flags,
    /// Whether it replaces a file of an earlier export.
    replaces: bool,
    /// Writes all rows, to a file or to several whose names begin so.
    write: fn(&mut ExportRows<'_>, &Path) -> Result<(), ExportError>,
}

impl ExportFormat {
    /// Its name, for `--output-format`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it is, in a line for the help.
    pub fn meaning(&self) -> &'static str {
        self.meaning
    }

    /// What it cannot say.
    pub fn lacks(&self) -> impl Iterator<Item = Missing> + use<> {
        self.lacks.iter().copied().flatten().copied()
    }
}

/// Every format.
pub const FORMATS: &[&ExportFormat] = &[
    &blktrace::FORMAT,
    &blkparse::FORMAT,
    &fio_iolog::FORMAT,
    &msr::FORMAT,
    &disksim_ascii::FORMAT,
    &perfetto::FORMAT,
];

/// The format of that name.
/// Errors: there is none.
pub fn named(name: &str) -> Result<&'static ExportFormat, ExportError> {
    let found = FORMATS.iter().find(|f| f.name() == name).copied();
    found.ok_or_else(|| ExportError::UnknownFormat {
        name: name.to_owned(),
        known: FORMATS.iter().map(|f| f.name()).collect::<Vec<_>>().join(", "),
    })
}

/// A name to export to.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    /// A file, or the beginning of the names of several.
    pub path: &'a Path,
    /// The files' rights, of which the umask takes its own.
    pub mode: u32,
}

/// Writes a file of other content as an export: it is there when it is whole, or not at all.
/// Errors: something has that name; an output that refuses to be written.
pub fn write_bytes(bytes: &[u8], destination: Destination<'_>) -> Result<(), ExportError> {
    let Destination { path, mode } = destination;
    let written = Output::create(path, mode).and_then(|mut output| {
        output.bytes(bytes)?;
        output.finish()?.publish(false)
    });
    output::clean_up(path);
    written
}

/// Writes all rows of a source; those of lbolt's own only if they are requested. The files are
/// there when all are whole, or not at all.
/// Errors: an output that refuses to be written; rows that cannot be read.
pub fn write(
    format: &ExportFormat,
    source: &mut dyn Source,
    with_own: bool,
    destination: Destination<'_>,
) -> Result<Exported, ExportError> {
    let Destination { path, mode } = destination;
    let mut rows = ExportRows::new(source, format, with_own, mode);
    let written = (format.write)(&mut rows, path);
    let published = written.and_then(|()| rows.publish(format.replaces));
    output::clean_up(path);
    published
}

//! `requests.parquet` on its way to the disk without getting into the way of what is measured:
//! large direct writes from our own process, into space that was reserved before.
//!
//! A disk that fills up does not cost what was captured: no row is taken for which there is no
//! space left, and the footer's room is reserved from the beginning.
//!
//! A capture that is killed leaves what it had a second before ([`survival`]); [`Left`] puts it
//! together.
//!
//! Non-goals: what the rows are.

mod direct;
mod log;
mod salvage;
mod survival;

pub use direct::DirectFile;
pub use salvage::Left;
pub use survival::LEFT_BY_A_KILL;

use crate::intake::{Refused, Rows, RowsError};
use model::held::shown;
use model::record::requests::{BATCH_ROWS, Provenance, RequestWriter};
use model::record::{Commands, Request};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use survival::{Survival, SurvivalError};

/// Space for the footer, beyond what the rows take: a few KiB a row group.
const FOOTER_BYTES: u64 = 4 << 20;

/// Why requests were not written. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum OutputError {
    #[error("write {path}: no space is left", path = shown(path).display())]
    Full {
        path: PathBuf,
        /// How many rows it will hold if it is finished, for which there is room.
        rows: u64,
    },
    /// Anything else that the file system or Parquet refuses.
    #[error("write {path}: {why}", path = shown(path).display())]
    Refused { path: PathBuf, why: String },
}

impl OutputError {
    fn refused(path: &Path, why: impl std::fmt::Display) -> Self {
        Self::Refused { path: path.to_owned(), why: why.to_string() }
    }
}

impl From<OutputError> for RowsError {
    fn from(error: OutputError) -> Self {
        Self(Box::new(error))
    }
}

/// A file of requests that is being written.
#[derive(Debug)]
pub struct RequestsFile {
    path: PathBuf,
    /// Whether it gets this name at its end.
    is_named: bool,
    writer: RequestWriter<DirectFile>,
    /// The last row, in the order of the file.
    last: Option<(i64, u64)>,
    /// Where a kill is to leave something.
    survival: Option<Survival>,
    is_full: bool,
}

impl RequestsFile {
    /// Begins a file beside its final name.
    /// Errors: a file that cannot be made, or a disk without space for its beginning.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let file = DirectFile::create(&partial(path)).map_err(|e| OutputError::refused(path, e))?;
        Self::begin(file, path, true).inspect_err(|_| {
            // Nothing is in it, and the reason is known.
            let _ = std::fs::remove_file(partial(path));
        })
    }

    /// The same in a file that is open already; `path` is what it is called in errors.
    /// Errors: a disk without space for its beginning.
    pub fn over(file: std::fs::File, path: &Path) -> Result<Self, OutputError> {
        Self::begin(DirectFile::over(file), path, false)
    }

    fn begin(mut file: DirectFile, path: &Path, is_named: bool) -> Result<Self, OutputError> {
        let path = path.to_owned();
        match file.reserve(FOOTER_BYTES) {
            Err(e) if is_full(&e) => return Err(OutputError::Full { path, rows: 0 }),
            reserved => reserved.map_err(|e| OutputError::refused(&path, e))?,
        }
        let writer = RequestWriter::new(file).map_err(|e| OutputError::refused(&path, e))?;
        Ok(Self { path, is_named, writer, last: None, survival: None, is_full: false })
    }

    /// How many rows it holds.
    pub fn rows(&self) -> u64 {
        self.writer.rows()
    }

    /// Whether it goes past the page cache.
    pub fn is_direct(&mut self) -> bool {
        self.writer.output_mut().is_direct()
    }

    /// Ends the file, and gives it its name.
    /// Errors: what the file system or Parquet refuses.
    pub fn finish(
        self,
        commands: &Commands,
        provenance: &Provenance,
        more: &BTreeMap<String, String>,
    ) -> Result<(), OutputError> {
        let path = self.path;
        let file = self.writer.finish(commands, provenance, more);
        let file = file.map_err(|e| OutputError::refused(&path, e))?;
        let renamed =
            || if self.is_named { std::fs::rename(partial(&path), &path) } else { Ok(()) };
        let finished = file.finish().and_then(|_| renamed());
        finished.map_err(|e| OutputError::refused(&path, e))?;
        if let Some(survival) = self.survival {
            survival.end();
        }
        Ok(())
    }

    /// From now on a kill leaves what there was at the last [`Rows::keep`]. What is known of the
    /// trace already goes with it.
    /// Errors: files that cannot be made beside this one.
    pub fn survive(
        &mut self,
        provenance: &Provenance,
        more: &BTreeMap<String, String>,
    ) -> Result<(), OutputError> {
        match Survival::begin(&self.path, provenance, more) {
            Ok(survival) => self.survival = Some(survival),
            // The capture goes on into the space that it has.
            Err(e) if e.is_full() => survival::remove(&self.path),
            Err(e) => return Err(OutputError::refused(&self.path, e)),
        }
        Ok(())
    }

    /// Ends the group of rows where it is worth one, and puts the rest where a kill leaves it.
    fn keep_all(
        &mut self,
        done: &[Request],
        commands: &Commands,
        provenance: &Provenance,
    ) -> Result<(), KeepError> {
        let Some(survival) = &mut self.survival else { return Ok(()) };
        let parquet = |why: &dyn std::fmt::Display| KeepError::File(why.to_string());
        if self.writer.rows_in_group() >= GROUP_ROWS_LEAST {
            self.writer.end_group(commands).map_err(|e| parquet(&e))?;
        }
        let descriptions = self.writer.describe_groups().map_err(|e| parquet(&e))?;
        if self.writer.rows_in_group() == 0 && !descriptions.is_empty() {
            self.writer.output_mut().write_through().map_err(|e| parquet(&e))?;
            survival.groups_ended(descriptions, self.last);
        }
        survival.add(done, commands, provenance)?;
        match self.survival.take_if(|survival| survival.has_failed()) {
            Some(survival) => Err(survival.failure().into()),
            None => Ok(()),
        }
    }

    /// Space for what is in memory already, for another batch, and for the footer.
    fn make_room(&mut self) -> Result<(), OutputError> {
        let needed = self.writer.anticipated_bytes() + FOOTER_BYTES + MOST_OF_A_BATCH;
        match self.writer.output_mut().reserve(needed) {
            Err(e) if is_full(&e) => {
                self.is_full = true;
                Err(OutputError::Full { path: self.path.clone(), rows: self.writer.rows() })
            }
            reserved => reserved.map_err(|e| OutputError::refused(&self.path, e)),
        }
    }
}

/// Why what a kill is to leave was not written.
#[derive(Debug, thiserror::Error)]
enum KeepError {
    #[error("{0}")]
    File(String),
    #[error(transparent)]
    Survival(#[from] SurvivalError),
}

/// Rows for which a group of their own is worth its description.
const GROUP_ROWS_LEAST: u64 = 32 * 1024;

/// A batch of rows takes less than this, however little it can be compressed.
const MOST_OF_A_BATCH: u64 = BATCH_ROWS as u64 * 128;

impl Rows for RequestsFile {
    fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), RowsError> {
        if self.is_full || self.writer.rows().is_multiple_of(BATCH_ROWS as u64) {
            self.make_room()?;
        }
        self.last = self.last.max(Some((row.arrival_ns().unwrap_or(0), row.request_id)));
        let pushed = self.writer.push(row, commands);
        Ok(pushed.map_err(|e| OutputError::refused(&self.path, e))?)
    }

    fn push_all(&mut self, rows: &[Request], commands: &Commands) -> Result<(), Refused> {
        let mut taken = 0;
        while let Some(rest) = rows.get(taken..).filter(|rest| !rest.is_empty()) {
            let refused = |why: OutputError| Refused { taken, why: why.into() };
            let room = BATCH_ROWS - (self.writer.rows() % BATCH_ROWS as u64) as usize;
            if self.is_full || room == BATCH_ROWS {
                self.make_room().map_err(refused)?;
            }
            let these = rest.get(..room).unwrap_or(rest);
            let arrivals = these.iter().map(|row| (row.arrival_ns().unwrap_or(0), row.request_id));
            self.last = self.last.max(arrivals.max());
            let pushed = self.writer.push_all(these, commands);
            pushed.map_err(|e| refused(OutputError::refused(&self.path, e)))?;
            taken += these.len();
        }
        Ok(())
    }

    fn keep(
        &mut self,
        done: &[Request],
        commands: &Commands,
        provenance: &Provenance,
    ) -> Result<(), RowsError> {
        if self.is_full {
            return Ok(());
        }
        match self.keep_all(done, commands, provenance) {
            // The capture goes on into the space that it has; a kill leaves nothing of it then.
            Err(KeepError::Survival(e)) if e.is_full() => Ok(()),
            kept => Ok(kept.map_err(|e| OutputError::refused(&self.path, e))?),
        }
    }
}

fn partial(path: &Path) -> PathBuf {
    path.with_extension("parquet.partial")
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

//! `requests.parquet` on its way to the disk without getting into the way of what is measured: large direct
//! writes from our own process, into space that was reserved before.
//!
//! A disk that fills up does not cost what was captured: no row is taken for which there is no room left, and the
//! footer's room is reserved from the beginning.
//!
//! Non-goals: what the rows are.

mod direct;

pub use direct::DirectFile;

use crate::intake::{Rows, RowsError};
use model::record::requests::{BATCH_ROWS, Provenance, RequestWriter};
use model::record::{Commands, Request};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Room for the footer, beyond what the rows take: a few KiB a row group.
const FOOTER_BYTES: u64 = 4 << 20;

/// Why requests were not written. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The disk is full.
    #[error("write {path}: no space is left", path = path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// How many rows it will hold if it is finished, for which there is room.
        rows: u64,
    },
    /// Anything else that the file system or Parquet refuses.
    #[error("write {path}: {why}", path = path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What was said.
        why: String,
    },
}

/// A file of requests that is being written.
#[derive(Debug)]
pub struct RequestsFile {
    path: PathBuf,
    /// Whether it gets this name at its end.
    is_named: bool,
    writer: RequestWriter<DirectFile>,
    is_full: bool,
}

impl RequestsFile {
    /// Begins a file beside its final name.
    ///
    /// # Errors
    /// A file that cannot be made, or a disk without room for its beginning.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let refused = |why: String| OutputError::Refused { path: path.to_owned(), why };
        let file = DirectFile::create(&partial(path)).map_err(|e| refused(e.to_string()))?;
        Self::begin(file, path, true).inspect_err(|_| {
            // Nothing is in it, and the reason is told.
            let _ = std::fs::remove_file(partial(path));
        })
    }

    /// The same in a file that is open already; `path` is what it is called in errors.
    ///
    /// # Errors
    /// A disk without room for its beginning.
    pub fn over(file: std::fs::File, path: &Path) -> Result<Self, OutputError> {
        Self::begin(DirectFile::over(file), path, false)
    }

    fn begin(mut file: DirectFile, path: &Path, is_named: bool) -> Result<Self, OutputError> {
        let path = path.to_owned();
        let refused = |why: String| OutputError::Refused { path: path.clone(), why };
        match file.reserve(FOOTER_BYTES) {
            Err(e) if is_full(&e) => return Err(OutputError::Full { path, rows: 0 }),
            reserved => reserved.map_err(|e| refused(e.to_string()))?,
        }
        let writer = RequestWriter::new(file).map_err(|e| refused(e.to_string()))?;
        Ok(Self { path, is_named, writer, is_full: false })
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
    ///
    /// # Errors
    /// What the file system or Parquet refuses.
    pub fn finish(
        self,
        commands: &Commands,
        provenance: &Provenance,
        more: &BTreeMap<String, String>,
    ) -> Result<(), OutputError> {
        let path = self.path;
        let refused = |why: String| OutputError::Refused { path: path.clone(), why };
        let file = self.writer.finish(commands, provenance, more);
        let file = file.map_err(|e| refused(e.to_string()))?;
        file.finish().map_err(|e| refused(e.to_string()))?;
        match self.is_named {
            true => std::fs::rename(partial(&path), &path).map_err(|e| refused(e.to_string())),
            false => Ok(()),
        }
    }

    /// Room for what is in memory already, for another batch, and for the footer.
    fn make_room(&mut self) -> Result<(), OutputError> {
        let needed = self.writer.anticipated_bytes() + FOOTER_BYTES + MOST_OF_A_BATCH;
        match self.writer.output_mut().reserve(needed) {
            Err(e) if is_full(&e) => {
                self.is_full = true;
                Err(OutputError::Full { path: self.path.clone(), rows: self.writer.rows() })
            }
            reserved => reserved
                .map_err(|e| OutputError::Refused { path: self.path.clone(), why: e.to_string() }),
        }
    }
}

/// A batch of rows takes less than this, however little it can be compressed.
const MOST_OF_A_BATCH: u64 = BATCH_ROWS as u64 * 128;

impl Rows for RequestsFile {
    fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), RowsError> {
        let boxed = |e: OutputError| RowsError(Box::new(e));
        if self.is_full || self.writer.rows().is_multiple_of(BATCH_ROWS as u64) {
            self.make_room().map_err(boxed)?;
        }
        self.writer.push(row, commands).map_err(|e| {
            boxed(OutputError::Refused { path: self.path.clone(), why: e.to_string() })
        })
    }
}

fn partial(path: &Path) -> PathBuf {
    path.with_extension("parquet.partial")
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

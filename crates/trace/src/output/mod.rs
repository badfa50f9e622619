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

mod besides;
mod direct;
mod log;
mod salvage;
mod survival;
mod writer;

pub use besides::ContextLog;
pub use direct::DirectFile;
pub use salvage::Left;
pub use survival::LEFT_BY_A_KILL;
pub use writer::writers_ns;

use crate::intake::{Refused, Rows, RowsError};
use direct::Space;
use model::held::shown;
use model::record::requests::{BATCH_ROWS, Part, PartWriter, Parts, Provenance};
use model::record::{Commands, Request};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use survival::{Key, Survival, key};
use writer::{Order, Writer};

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
    is_direct: bool,
    space: Space,
    /// What is not written yet.
    parts: Parts,
    writer: Writer,
    /// The last row, in the order of the file, and the last one in a group that was ended.
    last: Option<Key>,
    safe: Option<Key>,
    /// Whether a kill is to leave something, and how many rows there were when that was last kept.
    survives: bool,
    kept: u64,
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

    fn begin(file: DirectFile, path: &Path, is_named: bool) -> Result<Self, OutputError> {
        let path = path.to_owned();
        let refused = |why: io::Error| OutputError::refused(&path, why);
        let mut space = file.space().map_err(refused)?;
        match space.reserve(FOOTER_BYTES) {
            Err(e) if is_full(&e) => return Err(OutputError::Full { path, rows: 0 }),
            reserved => reserved.map_err(refused)?,
        }
        let is_direct = file.is_direct();
        let file = PartWriter::new(file).map_err(|e| OutputError::refused(&path, e))?;
        let writer = Writer::begin(file).map_err(refused)?;
        let (parts, is_full, survives) = (Parts::default(), false, false);
        let (last, safe, kept) = (None, None, 0);
        Ok(Self {
            path,
            is_named,
            is_direct,
            space,
            parts,
            writer,
            last,
            safe,
            survives,
            kept,
            is_full,
        })
    }

    /// How many rows it holds.
    pub fn rows(&self) -> u64 {
        self.parts.rows()
    }

    /// Whether it goes past the page cache.
    pub fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// Ends the file, and gives it its name.
    /// Errors: what the file system or Parquet refuses.
    pub fn finish(
        mut self,
        commands: &Commands,
        provenance: &Provenance,
        more: &BTreeMap<String, String>,
    ) -> Result<(), OutputError> {
        self.parts.end(commands).map_err(|e| OutputError::refused(&self.path, e))?;
        self.write()?;
        let path = &self.path;
        let work = self.writer.end().map_err(|why| OutputError::refused(path, why))?;
        let file = work.file.finish(provenance, more);
        let file = file.map_err(|e| OutputError::refused(path, e))?;
        let renamed = || if self.is_named { std::fs::rename(partial(path), path) } else { Ok(()) };
        let finished = file.finish().and_then(|_| renamed());
        finished.map_err(|e| OutputError::refused(path, e))?;
        work.survival.into_iter().for_each(Survival::end);
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
            Ok(survival) => {
                self.survives = true;
                self.order(Order::Survive(Box::new(survival)))?;
            }
            // The capture goes on into the space that it has.
            Err(e) if e.is_full() => survival::remove(&self.path),
            Err(e) => return Err(OutputError::refused(&self.path, e)),
        }
        Ok(())
    }

    fn order(&mut self, order: Order) -> Result<(), OutputError> {
        self.writer.order(order).map_err(|why| OutputError::refused(&self.path, why))
    }

    /// Has the parts written that are ready.
    fn write(&mut self) -> Result<(), OutputError> {
        let are_all_grouped = self.parts.rows_in_group() == 0;
        for part in self.parts.take() {
            let order = match part {
                Part::Rows(_) => Order::Rows(part),
                Part::EndOfGroup => {
                    // Where rows have come behind the group, the last one in it is not known.
                    if are_all_grouped {
                        self.safe = self.last;
                    }
                    Order::EndOfGroup(self.safe)
                }
            };
            self.writer.order(order).map_err(|why| OutputError::refused(&self.path, why))?;
        }
        Ok(())
    }

    /// How long the file will be with all rows so far; the footer comes on top. Rows that are not
    /// written yet count in full.
    fn anticipated_bytes(&self) -> u64 {
        let (rows, bytes) = self.writer.written();
        bytes + (self.rows() - rows) * std::mem::size_of::<Request>() as u64
    }

    /// Space for what is in memory already, for another batch, and for the footer.
    fn make_room(&mut self) -> Result<(), OutputError> {
        let reserve = |file: &mut Self| {
            file.space.reserve(file.anticipated_bytes() + FOOTER_BYTES + MOST_OF_A_BATCH)
        };
        let mut reserved = reserve(self);
        if reserved.as_ref().is_err_and(is_full) {
            // What is written takes less.
            self.writer.settle().map_err(|why| OutputError::refused(&self.path, why))?;
            reserved = reserve(self);
        }
        match reserved {
            Err(e) if is_full(&e) => {
                self.is_full = true;
                Err(OutputError::Full { path: self.path.clone(), rows: self.rows() })
            }
            reserved => reserved.map_err(|e| OutputError::refused(&self.path, e)),
        }
    }
}

/// Rows for which a group of their own is worth its description.
const GROUP_ROWS_LEAST: u64 = 32 * 1024;

/// A batch of rows takes less than this, however little it can be compressed.
const MOST_OF_A_BATCH: u64 = BATCH_ROWS as u64 * 128;

impl Rows for RequestsFile {
    fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), RowsError> {
        if self.is_full || self.rows().is_multiple_of(BATCH_ROWS as u64) {
            self.make_room()?;
        }
        self.last = self.last.max(Some(key(row)));
        let pushed = self.parts.push(row, commands);
        pushed.map_err(|e| OutputError::refused(&self.path, e))?;
        Ok(self.write()?)
    }

    fn push_all(&mut self, rows: &[Request], commands: &Commands) -> Result<(), Refused> {
        let mut taken = 0;
        while let Some(rest) = rows.get(taken..).filter(|rest| !rest.is_empty()) {
            let refused = |why: OutputError| Refused { taken, why: why.into() };
            let room = BATCH_ROWS - (self.rows() % BATCH_ROWS as u64) as usize;
            if self.is_full || room == BATCH_ROWS {
                self.make_room().map_err(refused)?;
            }
            let these = rest.get(..room).unwrap_or(rest);
            self.last = self.last.max(these.iter().map(key).max());
            let pushed = self.parts.push_all(these, commands);
            pushed.map_err(|e| refused(OutputError::refused(&self.path, e)))?;
            self.write().map_err(refused)?;
            taken += these.len();
        }
        Ok(())
    }

    /// Ends the group of rows where it is worth one, and has the rest put where a kill leaves it.
    fn keep(
        &mut self,
        done: &[Request],
        commands: &Commands,
        provenance: &Provenance,
    ) -> Result<(), RowsError> {
        if self.is_full || !self.survives {
            return Ok(());
        }
        if self.keeps_all() {
            self.parts.end_group(commands).map_err(|e| OutputError::refused(&self.path, e))?;
            self.write()?;
        }
        self.kept = self.rows();
        let mut rest = Vec::with_capacity(done.len());
        rest.extend(done.iter().filter(|row| Some(key(row)) > self.safe));
        // Counts alone: the notes stand with the groups.
        let counts = Provenance { notes: BTreeMap::new(), ..provenance.clone() };
        Ok(self.order(Order::Keep(rest, Box::new((commands.clone(), counts))))?)
    }

    /// A group that was ended meanwhile does not matter: this one is ended, too.
    fn keeps_all(&self) -> bool {
        self.parts.rows_in_group().max(self.rows() - self.kept) >= GROUP_ROWS_LEAST
    }

    fn settle(&mut self) -> Result<(), RowsError> {
        Ok(self.writer.settle().map_err(|why| OutputError::refused(&self.path, why))?)
    }
}

fn partial(path: &Path) -> PathBuf {
    path.with_extension("parquet.partial")
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

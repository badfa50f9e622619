//! The one writer of a history: each minute a file; hours, days and months of them as they end and
//! age; and never more bytes than allowed.
//!
//! What is put together is written and on the disk before what it is of goes, and names it in its
//! footer: whoever finds both takes the whole alone.

use super::disk::{Disk, PARTIAL};
use super::facts::HostFacts;
use super::merge::{Folder, Models, footer};
use super::name::FileName;
use super::origin::Origin;
use super::plan::{self, Merge};
use super::{HistoryError, Level, Note};
use crate::record::{RecordError, Rollup, RollupFile, RollupLevel};
use parquet::errors::ParquetError;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

/// The part of the room that is left free, so that files can be put together in it.
const FREE_PART: u64 = 16;

/// A file of the history.
#[derive(Debug)]
struct Known {
    bytes: u64,
    /// What it was made of.
    sources: BTreeSet<String>,
    /// Whether its rows can be put together with others'.
    is_readable: bool,
    span: (i64, i64),
}

/// A history that is being written.
pub struct Store {
    disk: Disk,
    keep_bytes: u64,
    files: BTreeMap<FileName, Known>,
    now_unix_ns: i64,
    notes: Vec<Note>,
    origin: Origin,
    models: Models,
    facts: HostFacts,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.disk.path()).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the history in a directory, makes it if there is none, and removes what a crash left.
    /// Errors: a directory that another process watches; what the file system refuses.
    pub fn open(path: &Path, keep_bytes: u64) -> Result<Self, HistoryError> {
        Self::of_disk(Disk::open(path)?, keep_bytes)
    }

    /// The same, whose rows are of a host and a run of it.
    pub fn of(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    /// The models of devices, from now on.
    pub fn know_models(&mut self, models: Models) {
        self.models = models;
    }

    /// What else is known of the host, from now on.
    pub fn know_host(&mut self, facts: HostFacts) {
        self.facts = facts;
    }

    pub(super) fn of_disk(mut disk: Disk, keep_bytes: u64) -> Result<Self, HistoryError> {
        let mut files = BTreeMap::new();
        let mut notes = Vec::new();
        for (name, bytes) in disk.list()? {
            if name.strip_suffix(PARTIAL).and_then(FileName::parse).is_some() {
                disk.remove(&name)?;
            } else if let Some(parsed) = FileName::parse(&name) {
                let known = match RollupFile::open(&disk.path().join(&name)) {
                    Ok(file) => Known::of(&file, parsed, bytes),
                    Err(error) => {
                        notes.push(Note::Unread(error.to_string()));
                        Known::unreadable(parsed, bytes)
                    }
                };
                files.insert(parsed, known);
            }
        }
        let now_unix_ns = files.values().map(|known| known.span.1).max().unwrap_or(0);
        let (origin, models, facts) = (Origin::default(), Models::new(), HostFacts::default());
        let mut store = Self { disk, keep_bytes, files, now_unix_ns, notes, origin, models, facts };
        store.sweep()?;
        // It may have been allowed more before.
        store.make_room(0, &[])?;
        Ok(store)
    }

    /// How many bytes its files have.
    pub fn bytes(&self) -> u64 {
        self.files.values().map(|known| known.bytes).sum()
    }

    /// What there is to say since the last time.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Keeps the rows of a time, and puts together what is due. Returns what there is to say.
    /// Errors: rows that could not be kept, of which nothing is left: they may be offered again.
    pub fn add(
        &mut self,
        rows: &[Rollup],
        from_unix_ns: i64,
        until_unix_ns: i64,
    ) -> Result<Vec<Note>, HistoryError> {
        if !rows.is_empty() {
            self.keep(rows, from_unix_ns)?;
        }
        self.now_unix_ns = until_unix_ns;
        self.tend();
        Ok(self.take_notes())
    }

    fn keep(&mut self, rows: &[Rollup], from_unix_ns: i64) -> Result<(), HistoryError> {
        let name = self.free(FileName::of(Level::Minute, from_unix_ns));
        let parquet = |source| HistoryError::Parquet {
            path: self.disk.path().join(name.to_string()),
            source,
        };
        let mut encoded = Vec::new();
        let level = RollupLevel::Minute;
        let made = Folder::new(&mut encoded, level, &self.origin).and_then(|folder| {
            let mut folder = folder.with_models(self.models.clone());
            folder.know_host(self.facts.clone());
            rows.iter().for_each(|row| folder.push(&row.lent()));
            folder.finish("").map(|_| ())
        });
        made.map_err(parquet)?;
        let bytes = encoded.len() as u64;
        self.make_room(bytes, &[])?;
        let left = self.left();
        self.disk.write(name, left, |output| Ok(std::io::Write::write_all(output, &encoded)?))?;
        let from = rows.iter().map(|row| row.from_unix_ns).min().unwrap_or(from_unix_ns);
        let until = rows.iter().map(|row| row.until_unix_ns).max().unwrap_or(from_unix_ns);
        let sources = BTreeSet::new();
        let known = Known { bytes, sources, is_readable: true, span: (from, until) };
        self.files.insert(name, known);
        // The rows are there: were this an error, they would be offered again and be there twice.
        if let Err(error) = self.disk.sync() {
            self.notes.push(Note::NotMerged(error.to_string()));
        }
        Ok(())
    }

    fn left(&self) -> u64 {
        self.keep_bytes.saturating_sub(self.bytes())
    }

    /// The first name of its time that no file has, and that no file was made of.
    fn free(&self, first: FileName) -> FileName {
        let is_used = |name: FileName| {
            let text = name.to_string();
            self.files.contains_key(&name)
                || self.files.values().any(|known| known.sources.contains(&text))
        };
        let mut name = first;
        while is_used(name) {
            name = name.next();
        }
        name
    }

    /// Puts together what is due, as far as it goes.
    fn tend(&mut self) {
        if let Err(error) = self.try_tend() {
            self.notes.push(Note::NotMerged(error.to_string()));
        }
    }

    fn try_tend(&mut self) -> Result<(), HistoryError> {
        self.sweep()?;
        while let Some(merge) = plan::due(&self.readable(), self.now_unix_ns) {
            let bytes = self.bytes_of(&merge.sources);
            self.make_room(bytes, &merge.sources)?;
            // Those that became coarser for it are other files now.
            if merge.sources.iter().all(|source| self.files.contains_key(source)) {
                self.merge(&merge)?;
            }
        }
        let most = self.keep_bytes - self.keep_bytes / FREE_PART;
        while self.bytes() > most {
            match self.coarsen() {
                Ok(true) => {}
                // Where the room is needed, the oldest will go.
                Ok(false) | Err(HistoryError::NoRoom { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn readable(&self) -> BTreeSet<FileName> {
        let readable = self.files.iter().filter(|(_, known)| known.is_readable);
        readable.map(|(name, _)| *name).collect()
    }

    fn bytes_of(&self, names: &[FileName]) -> u64 {
        names.iter().filter_map(|name| self.files.get(name)).map(|known| known.bytes).sum()
    }

    /// Sees to it that so many more bytes are allowed: old files become coarser, and the oldest go.
    /// Errors: more bytes than are allowed at all, or than the room without some files.
    fn make_room(&mut self, bytes: u64, without: &[FileName]) -> Result<(), HistoryError> {
        while self.bytes().saturating_add(bytes) > self.keep_bytes {
            let coarsened = match self.coarsen() {
                // The result had no room, or the disk has none.
                Err(HistoryError::NoRoom { .. }) => false,
                Err(error) if error.is_full() => false,
                done => done?,
            };
            if coarsened {
                continue;
            }
            match plan::oldest(self.files.keys().copied()) {
                Some(oldest) if !without.contains(&oldest) => self.drop_file(oldest)?,
                _ => return Err(HistoryError::NoRoom { path: self.disk.path().to_owned() }),
            }
        }
        Ok(())
    }

    fn drop_file(&mut self, name: FileName) -> Result<(), HistoryError> {
        self.disk.remove(&name.to_string())?;
        if let Some(known) = self.files.remove(&name) {
            let (from_unix_ns, until_unix_ns) = known.span;
            self.notes.push(Note::Dropped { from_unix_ns, until_unix_ns });
        }
        Ok(())
    }

    /// Makes the rows coarser that are nearest to the age at which they would be; false where none
    /// can be.
    fn coarsen(&mut self) -> Result<bool, HistoryError> {
        let Some(merge) = plan::coarser(&self.readable(), self.now_unix_ns) else {
            return Ok(false);
        };
        let spans = merge.sources.iter().filter(|source| source.level != merge.target.level);
        let spans = spans.filter_map(|source| Some(self.files.get(source)?.span));
        let span = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let level = merge.target.level;
        if self.merge(&merge)? {
            let (from_unix_ns, until_unix_ns) = span.unwrap_or_default();
            self.notes.push(Note::Coarser { from_unix_ns, until_unix_ns, level });
        }
        Ok(true)
    }

    /// Makes one file of several. False if one of them cannot be read: it is left alone from now
    /// on.
    fn merge(&mut self, merge: &Merge) -> Result<bool, HistoryError> {
        let name = self.free(merge.target);
        let sources: BTreeSet<String> = merge.sources.iter().map(ToString::to_string).collect();
        let told = sources.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        let path = self.disk.path().to_owned();
        let mut unread = None;
        let left = self.left();
        let written = self.disk.write(name, left, |output| {
            let mut folder = Folder::new(output, name.level.of_rows(), &Origin::default())?;
            for source in &merge.sources {
                if let Err(error) = taken(&path.join(source.to_string()), &mut folder)? {
                    unread = Some((*source, error));
                    // Nothing of it stays: it would stand for files whose rows it has not.
                    return Err(ParquetError::General("a source cannot be read".into()));
                }
            }
            folder.finish(&told).map(|_| ())
        });
        if let Some((source, error)) = unread {
            self.notes.push(Note::Unread(error.to_string()));
            if let Some(known) = self.files.get_mut(&source) {
                known.is_readable = false;
            }
            return Ok(false);
        }
        let bytes = written?;
        let spans = merge.sources.iter().filter_map(|source| Some(self.files.get(source)?.span));
        let span = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or_default();
        self.files.insert(name, Known { bytes, sources, is_readable: true, span });
        self.sweep()?;
        Ok(true)
    }

    /// Removes the files whose rows are in others: these are on the disk before.
    fn sweep(&mut self) -> Result<(), HistoryError> {
        let sources: HashSet<&str> =
            self.files.values().flat_map(|known| &known.sources).map(String::as_str).collect();
        let is_covered = |name: &FileName| sources.contains(name.to_string().as_str());
        let covered: Vec<FileName> =
            self.files.keys().copied().filter(|name| is_covered(name)).collect();
        if covered.is_empty() {
            return Ok(());
        }
        self.disk.sync()?;
        for name in covered {
            self.disk.remove(&name.to_string())?;
            self.files.remove(&name);
        }
        // Before their names can be anybody else's.
        self.disk.sync()
    }
}

/// Takes all rows of a file; the inner error is of the file that is read.
fn taken<W: std::io::Write + Send>(
    path: &Path,
    folder: &mut Folder<W>,
) -> Result<Result<(), RecordError>, ParquetError> {
    let file = match RollupFile::open(path) {
        Ok(file) => file,
        Err(error) => return Ok(Err(error)),
    };
    folder.know_hosts(super::reader::hosts_of(&file));
    for group in 0..file.groups() {
        if let Err(error) = file.each(group..group + 1, &[], |row| folder.push(row)) {
            return Ok(Err(error));
        }
        folder.end_part()?;
    }
    Ok(Ok(()))
}

impl Known {
    fn of(file: &RollupFile, name: FileName, bytes: u64) -> Self {
        let told = file.footer();
        let sources = told.get(footer::SOURCES).map(String::as_str).unwrap_or_default();
        let sources = sources.split_whitespace().map(str::to_owned).collect();
        let span = super::reader::span_of(file, (name.begin_ns(), name.end_ns()));
        Self { bytes, sources, is_readable: true, span }
    }

    fn unreadable(name: FileName, bytes: u64) -> Self {
        let span = (name.begin_ns(), name.end_ns());
        Self { bytes, sources: BTreeSet::new(), is_readable: false, span }
    }
}

//! The rows that are exported: from a file or from memory, without what the format cannot say,
//! which is counted.

use super::missing::{Missing, MissingCounts};
use super::output::{Output, Whole};
use super::{ExportError, ExportFormat, Exported};
use model::record::RecordError;
use model::record::requests::{CHUNK_ROWS, Provenance, RequestBatch, RequestFile, RequestReader};
use model::record::{Commands, Flags, Request};
use std::collections::HashMap;
use std::path::Path;
use trace::intake::RowsError;

/// Where rows come from, in order of arrival.
pub trait Source {
    /// The next row; none at the end.
    /// Errors: what the source cannot give.
    fn next_row(&mut self) -> Result<Option<Request>, RowsError>;

    /// The names of all commands so far.
    fn commands(&self) -> &Commands;

    /// Where they come from.
    fn provenance(&self) -> &Provenance;
}

/// A row that comes after one that arrived later.
#[derive(Debug, thiserror::Error)]
#[error(
    "export request {0}, which follows a request that arrived later; sort the rows by \
     coalesce(queued_ns, started_ns, issued_ns, completed_ns)"
)]
struct Disorder(u64);

/// The rows of a file.
#[derive(Debug)]
pub struct FileRows {
    reader: RequestReader,
    provenance: Provenance,
    batch: Option<RequestBatch>,
    /// Rows of the batch, made together.
    chunk: [Request; CHUNK_ROWS],
    /// How many of them there are, and which is the next.
    made: usize,
    next: usize,
    /// How many rows of the batch were made.
    place: usize,
    /// The last arrival, where nothing tells whether the rows are sorted: then each is held against
    /// it.
    order: Option<Option<i64>>,
}

impl FileRows {
    /// The rows of a file that is open, with the columns that are named, or all if none is.
    /// Errors: a file that is gone or damaged.
    pub fn new(file: &RequestFile, columns: &[&'static str]) -> Result<Self, RecordError> {
        let reader = file.read(0..file.groups(), columns)?;
        let provenance = file.provenance();
        let chunk = [Request::default(); CHUNK_ROWS];
        let order = (!provenance.knows("unsorted")).then_some(None);
        Ok(Self { reader, provenance, batch: None, chunk, made: 0, next: 0, place: 0, order })
    }

    /// Makes the next rows; tells whether there are any.
    fn refill(&mut self) -> Result<bool, RowsError> {
        loop {
            if let Some(batch) = &self.batch {
                (self.made, self.next) = (batch.chunk(self.place, &mut self.chunk).len(), 0);
                self.place += self.made;
                if self.made > 0 {
                    return Ok(true);
                }
            }
            self.batch = self.reader.next_batch().map_err(|e| RowsError(Box::new(e)))?;
            (self.chunk, self.place) = ([Request::default(); CHUNK_ROWS], 0);
            if self.batch.is_none() {
                return Ok(false);
            }
        }
    }
}

impl FileRows {
    /// The next row where it lies; none at the end.
    /// Errors: what the file cannot give.
    pub fn lend_row(&mut self) -> Result<Option<&Request>, RowsError> {
        if self.next == self.made && !self.refill()? {
            return Ok(None);
        }
        self.next += 1;
        let row = self.chunk.get(self.next - 1);
        // A row that comes too late is refused, where nothing tells that there are any.
        if let (Some(row), Some(last_ns)) = (row, &mut self.order) {
            let arrival_ns = row.arrival_ns();
            if arrival_ns.is_some() && arrival_ns < *last_ns {
                return Err(RowsError(Box::new(Disorder(row.request_id))));
            }
            *last_ns = (*last_ns).max(arrival_ns);
        }
        Ok(row)
    }
}

impl Source for FileRows {
    fn next_row(&mut self) -> Result<Option<Request>, RowsError> {
        Ok(self.lend_row()?.copied())
    }

    fn commands(&self) -> &Commands {
        &self.reader.commands
    }

    fn provenance(&self) -> &Provenance {
        &self.provenance
    }
}

/// Rows in memory.
#[derive(Debug)]
pub struct MemoryRows {
    rows: std::vec::IntoIter<Request>,
    commands: Commands,
    provenance: Provenance,
}

impl MemoryRows {
    /// Rows with the names of their commands and where they come from.
    pub fn new(rows: Vec<Request>, commands: Commands, provenance: Provenance) -> Self {
        Self { rows: rows.into_iter(), commands, provenance }
    }
}

impl Source for MemoryRows {
    fn next_row(&mut self) -> Result<Option<Request>, RowsError> {
        Ok(self.rows.next())
    }

    fn commands(&self) -> &Commands {
        &self.commands
    }

    fn provenance(&self) -> &Provenance {
        &self.provenance
    }
}

/// The rows as a format gets them.
pub struct ExportRows<'a> {
    source: &'a mut dyn Source,
    lacks: Vec<Missing>,
    flags: Flags,
    with_own: bool,
    requests: u64,
    missing: MissingCounts,
    /// Whether the names of the devices met so far are noted.
    named: HashMap<u32, bool>,
    /// The rights of the files.
    mode: u32,
    files: Vec<Whole>,
}

trace::shows!(ExportRows<'_>: requests);

impl<'a> ExportRows<'a> {
    pub(super) fn new(
        source: &'a mut dyn Source,
        format: &ExportFormat,
        with_own: bool,
        mode: u32,
    ) -> Self {
        let (mut lacks, flags): (Vec<Missing>, _) = (format.lacks().collect(), format.flags);
        // Of several reasons to leave a row out the first of all counts.
        lacks.sort();
        let missing = MissingCounts::new();
        let (named, files) = (HashMap::new(), Vec::new());
        Self { source, lacks, flags, with_own, requests: 0, missing, named, mode, files }
    }

    /// The next row that the format can say, none at the end. It may still have fields that the
    /// format lacks: those are counted already.
    /// Errors: what the source cannot give.
    pub fn next_row(&mut self) -> Result<Option<Request>, ExportError> {
        while let Some(row) = self.source.next_row()? {
            if let Some(why) = self.why_not(&row) {
                self.miss(why);
                continue;
            }
            for missing in &self.lacks {
                if missing.is_in(&row) {
                    *self.missing.entry(*missing).or_default() += 1;
                }
            }
            if self.lacks.contains(&Missing::DeviceName) && self.is_named(row.device) {
                self.miss(Missing::DeviceName);
            }
            if row.flags.0 & !(self.flags | Flags::OWN | Flags::JOB).0 != 0 {
                self.miss(Missing::Flags);
            }
            self.requests += 1;
            return Ok(Some(row));
        }
        Ok(None)
    }

    /// Whether a device's name is noted.
    pub(super) fn is_named(&mut self, device: u32) -> bool {
        let notes = &self.source.provenance().notes;
        *self.named.entry(device).or_insert_with(|| notes.contains_key(&format!("device.{device}")))
    }

    fn why_not(&self, row: &Request) -> Option<Missing> {
        let own = (!self.with_own).then_some(Missing::Own);
        let always = own.into_iter().chain([Missing::Untimed]);
        let reasons = always.chain(self.lacks.iter().copied().filter(|m| m.is_row()));
        reasons.into_iter().find(|missing| missing.is_in(row))
    }

    /// Counts something that the format cannot say.
    pub fn miss(&mut self, missing: Missing) {
        *self.missing.entry(missing).or_default() += 1;
    }

    /// The names of all commands so far.
    pub fn commands(&self) -> &Commands {
        self.source.commands()
    }

    /// Where the rows come from.
    pub fn provenance(&self) -> &Provenance {
        self.source.provenance()
    }

    /// Begins a file.
    /// Errors: the file system's refusal.
    pub fn create(&self, path: &Path) -> Result<Output, ExportError> {
        Output::create(path, self.mode)
    }

    /// Ends a file, which gets its name when all are whole.
    /// Errors: a full disk.
    pub fn finish(&mut self, file: Output) -> Result<(), ExportError> {
        self.files.push(file.finish()?);
        Ok(())
    }

    /// Gives all files their names. The first comes last: without it the others are no trace.
    pub(super) fn publish(self, replaces: bool) -> Result<Exported, ExportError> {
        for (place, file) in self.files.iter().enumerate().rev() {
            if let Err(error) = file.publish(replaces) {
                self.files.iter().skip(place + 1).for_each(Whole::retract);
                return Err(error);
            }
        }
        let files = self.files.iter().map(|file| file.path().to_owned()).collect();
        Ok(Exported { files, requests: self.requests, missing: self.missing })
    }
}

//! Requests from Parquet: a file of them, whole or by contiguous parts, a batch of columns at a
//! time.

use super::batch::RequestBatch;
use super::columns::{COLUMNS, SCHEMA};
use super::devices::{Devices, Known};
use super::provenance::Provenance;
use crate::record::RecordError;
use crate::record::file::check_schema;
use crate::record::input::{Batches, Input};
use crate::record::request::Commands;
use bytes::Bytes;
use parquet::file::statistics::Statistics;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// Rows that are read at once: their columns fit a core's own cache.
const READ_ROWS: usize = 2 * 1024;

/// Columns of words.
const WORDS: [&str; 3] = ["op", "command", "file_kind"];
/// One of these is there at least: else nobody could tell when a row was requested.
const ARRIVALS: [&str; 3] = ["queued_ns", "started_ns", "issued_ns"];
/// Earlier versions did not write these: they knew of no lost completion, of no files, and of no
/// devices above.
const YOUNGEST: [&str; 8] = [
    "completed_by_ns",
    "file_kind",
    "file_system",
    "inode",
    "generation",
    "kernel_stack",
    "user_stack",
    "above_id",
];
/// Requested by some readers only, who miss it by themselves.
const NUMBER: &str = "request_id";

/// A file of requests: ours, or what another program made of one.
#[derive(Debug, Clone)]
pub struct RequestFile {
    input: Input,
    footer: BTreeMap<String, String>,
    devices: Known,
}

impl RequestFile {
    /// Opens a file.
    /// Errors: a file that is not there, not Parquet, of another schema or version, without a
    /// column that is needed, or damaged.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        Self::of_input(Input::open(path, &WORDS)?)
    }

    /// The same of bytes in memory; `path` is what errors call them.
    /// Errors: as of [`RequestFile::open`].
    pub fn of_bytes(path: &Path, bytes: Bytes) -> Result<Self, RecordError> {
        Self::of_input(Input::of_bytes(path, bytes, &WORDS)?)
    }

    fn of_input(input: Input) -> Result<Self, RecordError> {
        check_schema(&input, &[SCHEMA], &COLUMNS.map(|column| column.name))?;
        let file = Self { footer: input.footer(), input, devices: Known::default() };
        COLUMNS
            .iter()
            .filter(|column| column.name != NUMBER)
            .try_for_each(|c| file.find(c.name))?;
        match ARRIVALS.iter().any(|name| file.input.has_column(name)) {
            true => Ok(file),
            false => Err(file.without("queued_ns", "started_ns or issued_ns would do")),
        }
    }

    /// Checks that a column is there, if it is needed.
    fn find(&self, name: &'static str) -> Result<(), RecordError> {
        let needed = COLUMNS.iter().find(|c| c.name == name && !c.null_is_unknown);
        match needed.filter(|_| !self.input.has_column(name)) {
            Some(column) => Err(self.without(name, column.why)),
            None => Ok(()),
        }
    }

    fn without(&self, column: &'static str, why: &'static str) -> RecordError {
        RecordError::Missing { path: self.input.path().to_owned(), column, why }
    }

    /// The columns that the file does not have: unknown in every row.
    pub fn missing_columns(&self) -> Vec<&'static str> {
        let all = COLUMNS.iter().map(|column| column.name).filter(|name| !YOUNGEST.contains(name));
        all.filter(|name| !self.input.has_column(name)).collect()
    }

    /// How many rows there are in all.
    pub fn rows(&self) -> u64 {
        self.input.rows()
    }

    /// What the footer says of the rows.
    pub fn provenance(&self) -> Provenance {
        Provenance::from_footer(&self.footer).of_rows(self.rows())
    }

    /// The program that wrote the file, as it calls itself.
    pub fn written_by(&self) -> &str {
        self.input.metadata().file_metadata().created_by().unwrap_or("a program that has no name")
    }

    /// The footer.
    pub fn footer(&self) -> &BTreeMap<String, String> {
        &self.footer
    }

    /// How many groups of rows the file is made of: the least parts in which it can be read.
    pub fn groups(&self) -> usize {
        self.input.metadata().num_row_groups()
    }

    /// The group that a row is in, and its place there; none behind the last row.
    pub fn group_of(&self, row: u64) -> Option<(usize, usize)> {
        let mut left = usize::try_from(row).ok()?;
        for (number, group) in self.input.metadata().row_groups().iter().enumerate() {
            let rows = usize::try_from(group.num_rows()).ok()?;
            match left.checked_sub(rows) {
                Some(behind) => left = behind,
                None => return Some((number, left)),
            }
        }
        None
    }

    /// The greatest `offset_bytes` by the file's own statistics; none where they do not tell.
    pub fn offset_bytes_max(&self) -> Option<u64> {
        let of_group = |group| match self.input.statistics(group, "offset_bytes")? {
            // Unsigned numbers are kept in the bits of signed ones.
            Statistics::Int64(known) => known.max_opt().map(|max| max.cast_unsigned()),
            _ => None,
        };
        (0..self.groups()).map(of_group).try_fold(0, |most, max| Some(most.max(max?)))
    }

    /// The greatest `completed_ns` of a group by the file's own statistics; none where they do not
    /// tell.
    pub fn completed_ns_max(&self, group: usize) -> Option<i64> {
        match self.input.statistics(group, "completed_ns")? {
            Statistics::Int64(statistics) => statistics.max_opt().copied(),
            _ => None,
        }
    }

    /// The first and the last arrival of a group's rows by the file's own statistics, which may
    /// bound them more widely; none where they do not tell.
    pub fn arrivals_ns(&self, group: usize) -> Option<(i64, i64)> {
        let is_there = |column: &&str| self.input.has_column(column);
        let is_full = |column: &&str| {
            self.input
                .statistics(group, column)
                .is_some_and(|known| known.null_count_opt() == Some(0))
        };
        let arrivals = ARRIVALS.into_iter().filter(is_there);
        // A completion whose request was never seen has no other time.
        let of_orphans =
            (!arrivals.clone().any(|column| is_full(&column))).then_some("completed_ns");
        let bounds = arrivals.chain(of_orphans).map(|column| self.bounds(group, column));
        let known: Vec<Option<(i64, i64)>> = bounds.collect::<Option<_>>()?;
        known.into_iter().flatten().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// The least and the greatest value of a column of times in a group, if it has any; none where
    /// nothing tells.
    fn bounds(&self, group: usize, column: &str) -> Option<Option<(i64, i64)>> {
        let Statistics::Int64(known) = self.input.statistics(group, column)? else { return None };
        match known.min_opt().zip(known.max_opt()) {
            Some((least, greatest)) => Some(Some((*least, *greatest))),
            None if self.input.is_null(group, column) => Some(None),
            None => None,
        }
    }

    /// Whether all values of a column in a group are those of a request by default, as the file's
    /// own statistics tell: most traces have no errors, and no parents.
    fn is_default(&self, group: usize, column: &str) -> bool {
        if COLUMNS.iter().any(|known| known.name == column && known.nullable) {
            return self.input.is_null(group, column);
        }
        match self.input.statistics(group, column) {
            // No request has an error, a device or flags by default; its operation is another
            // column.
            Some(Statistics::Int32(numbers)) => {
                let bounds = (numbers.min_opt(), numbers.max_opt());
                numbers.null_count_opt() == Some(0) && bounds == (Some(&0), Some(&0))
            }
            _ => false,
        }
    }

    /// Whether the file has a column.
    pub fn has_column(&self, column: &str) -> bool {
        self.input.has_column(column)
    }

    /// Whether any row tells a column, as far as the file's own statistics tell.
    pub fn tells(&self, column: &'static str) -> bool {
        let mut groups = 0..self.groups();
        self.input.has_column(column) && groups.any(|group| !self.is_default(group, column))
    }

    /// Reads groups; of the columns those that are named, or all if none is. What is not read has
    /// the value that a request has by default.
    /// Errors: a file that is gone or damaged.
    pub fn read(
        &self,
        groups: Range<usize>,
        columns: &[&'static str],
    ) -> Result<RequestReader, RecordError> {
        let all = COLUMNS.map(|column| column.name);
        let requested = if columns.is_empty() { &all[..] } else { columns };
        requested.iter().try_for_each(|column| self.find(column))?;
        let is_told = |column: &&str| {
            let mut groups = groups.clone();
            self.input.has_column(column) && groups.any(|group| !self.is_default(group, column))
        };
        let columns: Vec<&str> = requested.iter().copied().filter(is_told).collect();
        let batches = self.input.batches(groups.clone(), &columns, READ_ROWS)?;
        let devices = Devices::of(&self.devices);
        Ok(RequestReader { batches, columns, devices, commands: Commands::default() })
    }

    /// Reads all of it.
    /// Errors: a file that is gone or damaged.
    pub fn read_all(&self) -> Result<RequestReader, RecordError> {
        self.read(0..self.groups(), &[])
    }
}

/// Reads the rows of a file of requests.
pub struct RequestReader {
    batches: Batches,
    columns: Vec<&'static str>,
    devices: Devices,
    /// The names of all commands so far.
    pub commands: Commands,
}

impl std::fmt::Debug for RequestReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestReader").field("path", &self.batches.path()).finish_non_exhaustive()
    }
}

impl RequestReader {
    /// The next rows; none at the end.
    /// Errors: a file that is damaged or whose columns are others.
    pub fn next_batch(&mut self) -> Result<Option<RequestBatch>, RecordError> {
        let Some(batch) = self.batches.next()? else { return Ok(None) };
        let path = self.batches.path();
        let batch = RequestBatch::of(&batch, path, &self.columns, &mut self.commands)?;
        self.devices.check(batch.devices()).map_err(|problem| {
            let path = path.to_owned();
            RecordError::Damaged { path, problem }
        })?;
        Ok(Some(batch))
    }
}

#[cfg(test)]
mod tests;

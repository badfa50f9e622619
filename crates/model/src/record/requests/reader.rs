//! Requests from Parquet: a file of them, whole or by contiguous parts, a batch of columns at a time.

use super::columns::{COLUMNS, CellType, SCHEMA};
use super::provenance::Provenance;
use crate::record::RecordError;
use crate::record::file::check_schema;
use crate::record::input::{Batches, Input, numbers};
use crate::record::request::{CommandId, Commands, Flags, Op, Request};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int32Type, Int64Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, PrimitiveArray, RecordBatch, StringArray};
use bytes::Bytes;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// Rows that are read at once: their columns fit a core's own cache.
const READ_ROWS: usize = 2 * 1024;
/// Rows that are handed over at once.
pub const CHUNK_ROWS: usize = 32;

/// Columns of words.
const WORDS: [&str; 2] = ["op", "command"];
/// One of these is there at least: else nobody could tell when a row was asked for.
const ARRIVALS: [&str; 3] = ["queued_ns", "started_ns", "issued_ns"];
/// Earlier versions did not write it; they knew of no answer that it was lost.
const YOUNGEST: &str = "completed_by_ns";
/// Asked for by some readers only, who miss it by themselves.
const NUMBER: &str = "request_id";

/// A file of requests: ours, or what another program made of one.
#[derive(Debug, Clone)]
pub struct RequestFile {
    input: Input,
    footer: BTreeMap<String, String>,
}

impl RequestFile {
    /// Opens a file.
    ///
    /// # Errors
    /// A file that is not there, not Parquet, of another schema or version, without a column that is needed, or damaged.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        Self::of_input(Input::open(path, &WORDS)?)
    }

    /// The same of bytes in memory; `path` is what errors call them.
    ///
    /// # Errors
    /// As of [`RequestFile::open`].
    pub fn of_bytes(path: &Path, bytes: Bytes) -> Result<Self, RecordError> {
        Self::of_input(Input::of_bytes(path, bytes, &WORDS)?)
    }

    fn of_input(input: Input) -> Result<Self, RecordError> {
        check_schema(&input, SCHEMA, &COLUMNS.map(|column| column.name))?;
        let file = Self { footer: input.footer(), input };
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
        let all = COLUMNS.iter().map(|column| column.name).filter(|name| *name != YOUNGEST);
        all.filter(|name| !self.input.has_column(name)).collect()
    }

    /// How many rows there are in all.
    pub fn rows(&self) -> u64 {
        u64::try_from(self.input.metadata().file_metadata().num_rows()).unwrap_or(0)
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

    /// The greatest `completed_ns` of a group by the file's own statistics; none where they do not tell.
    pub fn completed_ns_max(&self, group: usize) -> Option<i64> {
        match self.statistics(group, "completed_ns")? {
            Statistics::Int64(statistics) => statistics.max_opt().copied(),
            _ => None,
        }
    }

    fn statistics(&self, group: usize, column: &str) -> Option<&Statistics> {
        let group = self.input.metadata().row_groups().get(group)?;
        let is_it = |chunk: &&ColumnChunkMetaData| chunk.column_path().string() == column;
        group.columns().iter().find(is_it)?.statistics()
    }

    /// Whether all values of a column in a group are those of a request by default, as the file's own statistics tell:
    /// most traces have no errors, and no parents.
    fn is_default(&self, group: usize, column: &str) -> bool {
        let rows = self.input.metadata().row_groups().get(group).map(|group| group.num_rows());
        let Some((statistics, rows)) = self.statistics(group, column).zip(rows) else {
            return false;
        };
        let nulls = statistics.null_count_opt();
        let is_optional = COLUMNS.iter().any(|known| known.name == column && known.nullable);
        match statistics {
            _ if is_optional => nulls.is_some_and(|nulls| i64::try_from(nulls) == Ok(rows)),
            // No request has an error, a device or flags by default; its operation is another column.
            Statistics::Int32(numbers) => {
                nulls == Some(0) && (numbers.min_opt(), numbers.max_opt()) == (Some(&0), Some(&0))
            }
            _ => false,
        }
    }

    /// Reads groups; of the columns those that are named, or all if none is. What is not read has the value that a
    /// request has by default.
    ///
    /// # Errors
    /// A file that is gone or damaged.
    pub fn read(
        &self,
        groups: Range<usize>,
        columns: &'static [&'static str],
    ) -> Result<RequestReader, RecordError> {
        let all = COLUMNS.map(|column| column.name);
        let asked = if columns.is_empty() { &all[..] } else { columns };
        asked.iter().try_for_each(|column| self.find(column))?;
        let is_told = |column: &&str| {
            let mut groups = groups.clone();
            self.input.has_column(column) && groups.any(|group| !self.is_default(group, column))
        };
        let columns: Vec<&str> = asked.iter().copied().filter(is_told).collect();
        let batches = self.input.batches(groups.clone(), &columns, READ_ROWS)?;
        Ok(RequestReader { batches, columns, commands: Commands::default() })
    }

    /// Reads all of it.
    ///
    /// # Errors
    /// A file that is gone or damaged.
    pub fn read_all(&self) -> Result<RequestReader, RecordError> {
        self.read(0..self.groups(), &[])
    }
}

/// Reads the rows of a file of requests.
pub struct RequestReader {
    batches: Batches,
    /// What is read.
    columns: Vec<&'static str>,
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
    ///
    /// # Errors
    /// A file that is damaged or whose columns are others.
    pub fn next_batch(&mut self) -> Result<Option<RequestBatch>, RecordError> {
        let Some(batch) = self.batches.next()? else { return Ok(None) };
        let commands = &mut self.commands;
        let from = Columns { batch: &batch, path: self.batches.path(), wanted: &self.columns };
        let batch = RequestBatch {
            rows: batch.num_rows(),
            request_id: from.every("request_id")?,
            device: from.every("device")?,
            op: from.words("op", Op::named)?,
            flags: from.every("flags")?,
            offset_bytes: from.some("offset_bytes")?,
            length_bytes: from.every("length_bytes")?,
            queued_ns: from.some("queued_ns")?,
            started_ns: from.some("started_ns")?,
            issued_ns: from.some("issued_ns")?,
            completed_ns: from.some("completed_ns")?,
            completed_by_ns: from.some("completed_by_ns")?,
            error: from.every("error")?,
            cpu: from.some("cpu")?,
            pid: from.some("pid")?,
            cgroup: from.some("cgroup")?,
            command: from.words("command", |name| Some(commands.number(name.as_bytes())))?,
            parent_id: from.some("parent_id")?,
        };
        match batch.absurdity() {
            Some(problem) => {
                let (path, problem) = (self.batches.path().to_owned(), problem.to_owned());
                Err(RecordError::Damaged { path, problem })
            }
            None => Ok(Some(batch)),
        }
    }
}

/// Rows as columns.
#[derive(Debug)]
pub struct RequestBatch {
    rows: usize,
    request_id: Cells<UInt64Type>,
    device: Cells<UInt32Type>,
    op: Words<Op>,
    flags: Cells<UInt16Type>,
    offset_bytes: Cells<UInt64Type>,
    length_bytes: Cells<UInt32Type>,
    queued_ns: Cells<Int64Type>,
    started_ns: Cells<Int64Type>,
    issued_ns: Cells<Int64Type>,
    completed_ns: Cells<Int64Type>,
    completed_by_ns: Cells<Int64Type>,
    error: Cells<Int32Type>,
    cpu: Cells<UInt16Type>,
    pid: Cells<UInt32Type>,
    cgroup: Cells<UInt64Type>,
    command: Words<CommandId>,
    parent_id: Cells<UInt64Type>,
}

impl RequestBatch {
    /// How many rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The rows in order, each made as it is asked for.
    pub fn rows(&self) -> impl Iterator<Item = Request> + '_ {
        (0..self.rows).map(|place| self.row(place))
    }

    /// The same a few at a time, for whoever takes them all: made column by column in a place that stays in the core's
    /// own cache, they cost less than each by itself.
    pub fn for_each_chunk(&self, mut take: impl FnMut(&[Request])) {
        let mut rows = [Request::default(); CHUNK_ROWS];
        for start in (0..self.rows).step_by(CHUNK_ROWS) {
            take(self.chunk(start, &mut rows));
        }
    }

    /// The rows from a place on, as many as the room holds and there are. The room is to hold rows of this batch, or
    /// rows by default: what a column does not tell is left as it is.
    pub fn chunk<'a>(&self, start: usize, room: &'a mut [Request]) -> &'a [Request] {
        let count = room.len().min(self.rows.saturating_sub(start));
        let Some(rows) = room.get_mut(..count) else { return &[] };
        self.fill(rows, start..start + count);
        rows
    }

    /// Numbers that no request has: whoever adds and subtracts them relies on that.
    fn absurdity(&self) -> Option<&'static str> {
        let times = [&self.queued_ns, &self.started_ns, &self.issued_ns, &self.completed_ns];
        let bounds = || times.iter().filter_map(|times| times.bounds());
        let (first, last) = (bounds().map(|b| b.0).min(), bounds().map(|b| b.1).max());
        if first.zip(last).is_some_and(|(first, last)| last.checked_sub(first).is_none()) {
            return Some("its times are centuries apart");
        }
        let offset = self.offset_bytes.bounds().map_or(0, |bounds| bounds.1);
        let length = self.length_bytes.bounds().map_or(0, |bounds| bounds.1);
        // Row by row only where it may be.
        let ends_beyond = |row: Request| {
            let length_bytes = u64::from(row.length_bytes);
            row.offset_bytes.unwrap_or(0).checked_add(length_bytes).is_none()
        };
        let is_beyond =
            offset.checked_add(u64::from(length)).is_none() && self.rows().any(ends_beyond);
        is_beyond.then_some("a request ends beyond all bytes")
    }

    /// Makes rows of a part of the batch; what a column does not tell stays as it is.
    fn fill(&self, rows: &mut [Request], chunk: Range<usize>) {
        self.request_id.every(&chunk, rows, |row, value| row.request_id = value);
        self.device.every(&chunk, rows, |row, value| row.device = value);
        self.flags.every(&chunk, rows, |row, value| row.flags = Flags(value));
        self.length_bytes.every(&chunk, rows, |row, value| row.length_bytes = value);
        self.error.every(&chunk, rows, |row, value| row.error = value);
        self.offset_bytes.some(&chunk, rows, |row, value| row.offset_bytes = value);
        self.queued_ns.some(&chunk, rows, |row, value| row.queued_ns = value);
        self.started_ns.some(&chunk, rows, |row, value| row.started_ns = value);
        self.issued_ns.some(&chunk, rows, |row, value| row.issued_ns = value);
        self.completed_ns.some(&chunk, rows, |row, value| row.completed_ns = value);
        self.completed_by_ns.some(&chunk, rows, |row, value| row.completed_by_ns = value);
        self.cpu.some(&chunk, rows, |row, value| row.cpu = value);
        self.pid.some(&chunk, rows, |row, value| row.pid = value);
        self.cgroup.some(&chunk, rows, |row, value| row.cgroup = value);
        self.parent_id.some(&chunk, rows, |row, value| row.parent_id = value);
        let op = |key: Option<i32>| key.and_then(|key| self.op.meaning(key)).unwrap_or(Op::Other);
        self.op.keys.some(&chunk, rows, |row, key| row.op = op(key));
        let command = |key: Option<i32>| key.and_then(|key| self.command.meaning(key));
        self.command.keys.some(&chunk, rows, |row, key| row.command = command(key));
    }

    /// A row by its place; beyond the last it is one of which nothing is known.
    pub fn row(&self, place: usize) -> Request {
        let mut row = [Request::default()];
        self.chunk(place, &mut row);
        let [row] = row;
        row
    }
}

/// A column of numbers; one that was not asked for has none.
#[derive(Debug)]
struct Cells<T: ArrowPrimitiveType> {
    array: Option<PrimitiveArray<T>>,
    /// So that what cannot be null is not asked whether it is.
    has_nulls: bool,
}

impl<T: ArrowPrimitiveType> Cells<T> {
    /// Sets the values of a column without nulls.
    #[inline(always)]
    fn every(
        &self,
        chunk: &Range<usize>,
        rows: &mut [Request],
        set: impl Fn(&mut Request, T::Native),
    ) {
        let values = self.array.as_ref().and_then(|array| array.values().get(chunk.clone()));
        for (row, value) in rows.iter_mut().zip(values.unwrap_or_default()) {
            set(row, *value);
        }
    }

    /// Sets the values of a column that may have nulls.
    #[inline(always)]
    fn some(
        &self,
        chunk: &Range<usize>,
        rows: &mut [Request],
        set: impl Fn(&mut Request, Option<T::Native>),
    ) {
        let Some(array) = &self.array else { return };
        match array.nulls().filter(|_| self.has_nulls) {
            None => self.every(chunk, rows, |row, value| set(row, Some(value))),
            Some(nulls) if nulls.null_count() == array.len() => {
                rows.iter_mut().for_each(|row| set(row, None));
            }
            Some(_) => {
                for (row, place) in rows.iter_mut().zip(chunk.clone()) {
                    set(row, self.at(place));
                }
            }
        }
    }

    /// The least and the greatest value; what stands where a value is null may be among them.
    fn bounds(&self) -> Option<(T::Native, T::Native)>
    where
        T::Native: Ord,
    {
        let values = self.array.as_ref()?.values();
        values.iter().copied().min().zip(values.iter().copied().max())
    }

    #[inline]
    fn at(&self, place: usize) -> Option<T::Native> {
        let array = self.array.as_ref()?;
        if self.has_nulls && array.is_null(place) {
            return None;
        }
        array.values().get(place).copied()
    }
}

/// A column of words, as what they mean: keys of a table.
#[derive(Debug)]
struct Words<T> {
    keys: Cells<Int32Type>,
    meanings: Vec<T>,
}

impl<T: Copy> Words<T> {
    #[inline(always)]
    fn meaning(&self, key: i32) -> Option<T> {
        self.meanings.get(usize::try_from(key).ok()?).copied()
    }
}

/// The columns of a batch, by name.
struct Columns<'a> {
    batch: &'a RecordBatch,
    path: &'a Path,
    wanted: &'a [&'static str],
}

impl Columns<'_> {
    fn misfit(&self, column: &'static str) -> RecordError {
        let known = COLUMNS.iter().find(|known| known.name == column);
        let wanted = match known.map(|known| known.data_type) {
            Some(CellType::Words) if column == "op" => Op::ALL.map(Op::name).join(", "),
            Some(data_type) => data_type.name().to_owned(),
            None => String::new(),
        };
        RecordError::Column { path: self.path.to_owned(), column, wanted }
    }

    /// A column as it was read; none if it was not.
    fn array(&self, name: &'static str) -> Result<Option<&dyn Array>, RecordError> {
        if !self.wanted.contains(&name) {
            return Ok(None);
        }
        let array = self.batch.column_by_name(name).ok_or_else(|| self.misfit(name))?;
        Ok(Some(array.as_ref()))
    }

    fn some<T>(&self, name: &'static str) -> Result<Cells<T>, RecordError>
    where
        T: ArrowPrimitiveType,
        T::Native: TryFrom<i128>,
    {
        let Some(array) = self.array(name)? else {
            return Ok(Cells { array: None, has_nulls: false });
        };
        let array = numbers::<T>(array).ok_or_else(|| self.misfit(name))?;
        Ok(Cells { has_nulls: array.null_count() > 0, array: Some(array) })
    }

    fn every<T>(&self, name: &'static str) -> Result<Cells<T>, RecordError>
    where
        T: ArrowPrimitiveType,
        T::Native: TryFrom<i128>,
    {
        let cells = self.some(name)?;
        if cells.has_nulls { Err(self.misfit(name)) } else { Ok(cells) }
    }

    /// A column of words, each of which is to mean something.
    fn words<T>(
        &self,
        name: &'static str,
        meaning: impl FnMut(&str) -> Option<T>,
    ) -> Result<Words<T>, RecordError> {
        let Some(array) = self.array(name)? else {
            let keys = Cells { array: None, has_nulls: false };
            return Ok(Words { keys, meanings: Vec::new() });
        };
        let misfit = || self.misfit(name);
        let keyed = array.as_dictionary_opt::<Int32Type>().ok_or_else(misfit)?;
        let words = keyed.values().as_any().downcast_ref::<StringArray>().ok_or_else(misfit)?;
        let keys = keyed.keys().clone();
        let meanings: Option<Vec<T>> =
            words.iter().map(Option::unwrap_or_default).map(meaning).collect();
        let meanings = meanings.ok_or_else(misfit)?;
        Ok(Words { keys: Cells { has_nulls: keys.null_count() > 0, array: Some(keys) }, meanings })
    }
}

#[cfg(test)]
mod tests;

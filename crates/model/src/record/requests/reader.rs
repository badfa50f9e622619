//! Requests from Parquet: a file of them, whole or by contiguous parts, a batch of columns at a time.

use super::columns::{COLUMNS, SCHEMA};
use super::provenance::Provenance;
use crate::record::RecordError;
use crate::record::file::{footer_of, open};
use crate::record::request::{CommandId, Commands, Flags, Op, Request};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int32Type, Int64Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, Int32Array, PrimitiveArray, RecordBatch, StringArray};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Rows that are read at once: their columns fit a core's own cache.
const READ_ROWS: usize = 2 * 1024;
/// Rows that are handed over at once.
pub const CHUNK_ROWS: usize = 32;

/// Files of earlier versions do not have it; of an answer that was lost they tell nothing.
const YOUNGEST: &str = "completed_by_ns";

/// A file of requests.
#[derive(Debug, Clone)]
pub struct RequestFile {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    footer: BTreeMap<String, String>,
}

impl RequestFile {
    /// Opens a file.
    ///
    /// # Errors
    /// A file that is not there, not Parquet, of another schema or version, or damaged.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let builder = open(path)?;
        let footer = footer_of(&builder);
        match footer.get("lbolt.schema").map(String::as_str) {
            Some(SCHEMA) => {}
            other => {
                let found = other.unwrap_or("no lbolt schema").to_owned();
                let path = path.to_owned();
                return Err(RecordError::Schema { path, found, wanted: SCHEMA });
            }
        }
        let metadata = ArrowReaderMetadata::try_new(builder.metadata().clone(), Default::default())
            .map_err(|source| RecordError::Parquet { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), metadata, footer })
    }

    /// How many rows there are in all.
    pub fn rows(&self) -> u64 {
        u64::try_from(self.metadata.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// What the footer says of the rows.
    pub fn provenance(&self) -> Provenance {
        Provenance::from_footer(&self.footer)
    }

    /// The footer.
    pub fn footer(&self) -> &BTreeMap<String, String> {
        &self.footer
    }

    /// How many groups of rows the file is made of: the least parts in which it can be read.
    pub fn groups(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    /// The greatest `completed_ns` of a group by the file's own statistics; none where they do not tell.
    pub fn completed_ns_max(&self, group: usize) -> Option<i64> {
        match self.statistics(group, "completed_ns")? {
            Statistics::Int64(statistics) => statistics.max_opt().copied(),
            _ => None,
        }
    }

    fn has(&self, column: &str) -> bool {
        let columns = self.metadata.parquet_schema().columns();
        columns.iter().any(|known| known.path().string() == column)
    }

    fn statistics(&self, group: usize, column: &str) -> Option<&Statistics> {
        let group = self.metadata.metadata().row_groups().get(group)?;
        let is_it = |chunk: &&ColumnChunkMetaData| chunk.column_path().string() == column;
        group.columns().iter().find(is_it)?.statistics()
    }

    /// Whether all values of a column in a group are those of a request by default, as the file's own statistics tell:
    /// most traces have no errors, and no parents.
    fn is_default(&self, group: usize, column: &str) -> bool {
        if column == YOUNGEST && !self.has(column) {
            return true;
        }
        let rows = self.metadata.metadata().row_groups().get(group).map(|group| group.num_rows());
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
        let parquet = |source| RecordError::Parquet { path: self.path.clone(), source };
        let io = |source| RecordError::Io { action: "read", path: self.path.clone(), source };
        let file = File::open(&self.path).map_err(io)?;
        let is_told = |column: &&str| groups.clone().any(|group| !self.is_default(group, column));
        let all = COLUMNS.map(|column| column.name);
        let asked = if columns.is_empty() { &all[..] } else { columns };
        let columns: Vec<&str> = asked.iter().copied().filter(is_told).collect();
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
                .with_batch_size(READ_ROWS)
                .with_row_groups(groups.collect());
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        let batches = builder.with_projection(mask).build().map_err(parquet)?;
        let path = self.path.clone();
        Ok(RequestReader { path, batches, columns, commands: Commands::default() })
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
    path: PathBuf,
    batches: ParquetRecordBatchReader,
    /// What is read.
    columns: Vec<&'static str>,
    /// The names of all commands so far.
    pub commands: Commands,
}

impl std::fmt::Debug for RequestReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestReader").field("path", &self.path).finish_non_exhaustive()
    }
}

impl RequestReader {
    /// Reads a whole file that is in memory; `path` is where it comes from.
    pub(super) fn of_bytes(bytes: bytes::Bytes, path: &Path) -> Result<Self, RecordError> {
        let parquet = |source| RecordError::Parquet { path: path.to_owned(), source };
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(parquet)?;
        let batches = builder.with_batch_size(READ_ROWS).build().map_err(parquet)?;
        let columns = COLUMNS.map(|column| column.name).to_vec();
        Ok(Self { path: path.to_owned(), batches, columns, commands: Commands::default() })
    }

    /// The next rows; none at the end.
    ///
    /// # Errors
    /// A file that is damaged or whose columns are others.
    pub fn next_batch(&mut self) -> Result<Option<RequestBatch>, RecordError> {
        let Some(batch) = self.batches.next() else { return Ok(None) };
        let parquet = |e: arrow_schema::ArrowError| RecordError::Parquet {
            path: self.path.clone(),
            source: e.into(),
        };
        let batch = batch.map_err(parquet)?;
        let commands = &mut self.commands;
        let from = Columns { batch: &batch, path: &self.path, wanted: &self.columns };
        Ok(Some(RequestBatch {
            rows: batch.num_rows(),
            request_id: from.every("request_id")?,
            device: from.every("device")?,
            op: from.words("op", |name| Op::named(name).unwrap_or(Op::Other))?,
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
            command: from.words("command", |name| commands.number(name.as_bytes()))?,
            parent_id: from.some("parent_id")?,
        }))
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
        RecordError::Column { path: self.path.to_owned(), column }
    }

    fn is_wanted(&self, name: &str) -> bool {
        self.wanted.contains(&name)
    }

    fn some<T: ArrowPrimitiveType>(&self, name: &'static str) -> Result<Cells<T>, RecordError> {
        if !self.is_wanted(name) {
            return Ok(Cells { array: None, has_nulls: false });
        }
        let array = self.batch.column_by_name(name);
        let array = array.and_then(|a| a.as_primitive_opt::<T>());
        let array = array.ok_or_else(|| self.misfit(name))?.clone();
        Ok(Cells { has_nulls: array.null_count() > 0, array: Some(array) })
    }

    fn every<T: ArrowPrimitiveType>(&self, name: &'static str) -> Result<Cells<T>, RecordError> {
        let cells = self.some(name)?;
        if cells.has_nulls { Err(self.misfit(name)) } else { Ok(cells) }
    }

    /// A column of words, kept as a dictionary or, by other writers, as plain text.
    fn words<T>(
        &self,
        name: &'static str,
        mut meaning: impl FnMut(&str) -> T,
    ) -> Result<Words<T>, RecordError> {
        if !self.is_wanted(name) {
            let keys = Cells { array: None, has_nulls: false };
            return Ok(Words { keys, meanings: Vec::new() });
        }
        let array = self.batch.column_by_name(name).ok_or_else(|| self.misfit(name))?;
        if let Some(plain) = array.as_string_opt::<i32>() {
            let keys: Int32Array =
                plain.iter().zip(0..).map(|(word, key)| word.map(|_| key)).collect();
            let meanings = plain.iter().map(|word| meaning(word.unwrap_or_default())).collect();
            return Ok(Words { keys: Cells { has_nulls: true, array: Some(keys) }, meanings });
        }
        let keyed = array.as_dictionary_opt::<Int32Type>();
        let keyed = keyed.ok_or_else(|| self.misfit(name))?;
        let words = keyed.values().as_any().downcast_ref::<StringArray>();
        let words = words.ok_or_else(|| self.misfit(name))?;
        let keys = keyed.keys().clone();
        Ok(Words {
            keys: Cells { has_nulls: keys.null_count() > 0, array: Some(keys) },
            meanings: words.iter().map(|word| meaning(word.unwrap_or_default())).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::CommandId;
    use crate::record::requests::RequestWriter;
    use proptest::prelude::*;

    /// Every field differs from its default, so that a column that is not written or read shows.
    fn full(number: u64, commands: &mut Commands) -> Request {
        Request {
            request_id: number,
            device: 7 << 20 | 1,
            op: Op::ALL[number as usize % Op::ALL.len()],
            flags: Flags(number as u16 | 1),
            offset_bytes: Some(number * 512),
            length_bytes: 4096,
            queued_ns: Some(-5 + number as i64),
            started_ns: Some(1),
            issued_ns: Some(2),
            completed_ns: Some(3),
            completed_by_ns: Some(6),
            error: 5,
            cpu: Some(1),
            pid: Some(77),
            cgroup: Some(9),
            command: Some(commands.number(format!("dd{}", number % 3).as_bytes())),
            parent_id: Some(4),
        }
    }

    fn round_trip(rows: &[Request], commands: &Commands) -> (Vec<Request>, RequestFile, Commands) {
        let (read, file, commands, _) = written(rows, commands);
        (read, file, commands)
    }

    /// The same while the file is there.
    fn written(
        rows: &[Request],
        commands: &Commands,
    ) -> (Vec<Request>, RequestFile, Commands, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("requests.parquet");
        let mut writer = RequestWriter::new(std::fs::File::create(&path).unwrap()).unwrap();
        rows.iter().for_each(|row| writer.push(row, commands).unwrap());
        let provenance = Provenance { origin: "capture".into(), ..Provenance::default() };
        writer.finish(commands, &provenance, &BTreeMap::new()).unwrap();
        let file = RequestFile::open(&path).unwrap();
        let mut reader = file.read_all().unwrap();
        let mut read = Vec::new();
        while let Some(batch) = reader.next_batch().unwrap() {
            read.extend(batch.rows());
            let mut taken = Vec::new();
            batch.for_each_chunk(|rows| taken.extend_from_slice(rows));
            assert!(batch.rows().eq(taken));
        }
        (read, file, reader.commands, directory)
    }

    #[test]
    fn every_column_comes_back_over_many_batches() {
        let mut commands = Commands::default();
        let rows: Vec<_> = (1..40_000).map(|n| full(n, &mut commands)).collect();
        let (read, file, commands) = round_trip(&rows, &commands);
        assert_eq!(read, rows);
        assert_eq!((file.rows(), file.groups()), (39_999, 1));
        assert_eq!(file.completed_ns_max(0), Some(3));
        assert_eq!(file.provenance().origin, "capture");
        assert_eq!(commands.name(CommandId(1)), "dd2");
    }

    #[test]
    fn what_is_not_known_comes_back_as_not_known() {
        let (read, ..) = round_trip(&[Request::default()], &Commands::default());
        assert_eq!(read, [Request::default()]);
        assert!(round_trip(&[], &Commands::default()).0.is_empty());
    }

    /// Columns that tell nothing are not read, and those that tell something in one row are.
    #[test]
    fn a_column_that_tells_nothing_is_left_out_and_nothing_is_lost() {
        const NAMED: &[&str] =
            &["request_id", "device", "op", "flags", "length_bytes", "error", "pid", "parent_id"];
        let plain = |n: u64| Request { request_id: n, ..Request::default() };
        let mut rows: Vec<Request> = (0..100).map(plain).collect();
        for (change, read) in [
            (Request::default(), 2),
            (Request { error: 5, ..plain(50) }, 3),
            (Request { error: 5, parent_id: Some(0), ..plain(50) }, 4),
            (Request { error: 5, parent_id: Some(0), pid: Some(0), ..plain(50) }, 5),
        ] {
            if change != Request::default() {
                rows[50] = change;
            }
            let (_, file, _, _kept) = written(&rows, &Commands::default());
            let mut reader = file.read(0..1, NAMED).unwrap();
            assert_eq!(reader.columns.len(), read);
            let mut back = Vec::new();
            while let Some(batch) = reader.next_batch().unwrap() {
                batch.for_each_chunk(|chunk| back.extend_from_slice(chunk));
            }
            assert_eq!(back, rows);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn any_mixture_of_known_and_unknown_comes_back(
            holes in prop::collection::vec((any::<bool>(), any::<bool>(), any::<i64>()), 0..50),
        ) {
            let mut commands = Commands::default();
            commands.number(b"dd");
            let rows: Vec<_> = holes.iter().enumerate().map(|(n, &(queued, answered, ns))| {
                let row = full(n as u64, &mut commands.clone());
                // One name: numbers are given in the order in which names are read.
                let command = queued.then(|| commands.number(b"dd"));
                let queued_ns = queued.then_some(ns);
                let completed_ns = answered.then_some(ns);
                Request { queued_ns, completed_ns, command, ..row }
            }).collect();
            prop_assert_eq!(round_trip(&rows, &commands).0, rows);
        }
    }
}

//! Requests from Parquet: a file of them, whole or by contiguous parts, a batch of columns at a time.

use super::columns::SCHEMA;
use super::provenance::Provenance;
use crate::record::RecordError;
use crate::record::file::{footer_of, open};
use crate::record::request::{CommandId, Commands, Flags, Op, Request};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int32Type, Int64Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, Int32Array, PrimitiveArray, RecordBatch, StringArray};
use arrow_buffer::NullBuffer;
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
        let group = self.metadata.metadata().row_groups().get(group)?;
        let is_it = |column: &&ColumnChunkMetaData| column.column_path().string() == "completed_ns";
        match group.columns().iter().find(is_it)?.statistics()? {
            Statistics::Int64(statistics) => statistics.max_opt().copied(),
            _ => None,
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
        let mut builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
                .with_batch_size(READ_ROWS)
                .with_row_groups(groups.collect());
        if !columns.is_empty() {
            let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
            builder = builder.with_projection(mask);
        }
        let batches = builder.build().map_err(parquet)?;
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
    columns: &'static [&'static str],
    /// The names of all commands so far.
    pub commands: Commands,
}

impl std::fmt::Debug for RequestReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestReader").field("path", &self.path).finish_non_exhaustive()
    }
}

impl RequestReader {
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
        let from = Columns { batch: &batch, path: &self.path, wanted: self.columns };
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

    /// The same for whoever takes them all: the columns are taken apart once, which is three times as quick.
    #[inline]
    pub fn for_each(&self, mut take: impl FnMut(&Request)) {
        let (request_id, device) = (self.request_id.all(self.rows), self.device.all(self.rows));
        let (flags, error) = (self.flags.all(self.rows), self.error.all(self.rows));
        let (length_bytes, offset_bytes) =
            (self.length_bytes.all(self.rows), self.offset_bytes.all(self.rows));
        let (queued_ns, started_ns) =
            (self.queued_ns.all(self.rows), self.started_ns.all(self.rows));
        let (issued_ns, completed_ns) =
            (self.issued_ns.all(self.rows), self.completed_ns.all(self.rows));
        let (cpu, pid) = (self.cpu.all(self.rows), self.pid.all(self.rows));
        let (cgroup, parent_id) = (self.cgroup.all(self.rows), self.parent_id.all(self.rows));
        let (op, command) = (self.op.keys.all(self.rows), self.command.keys.all(self.rows));
        for place in 0..self.rows {
            take(&Request {
                request_id: request_id.value(place),
                device: device.value(place),
                op: op.at(place).and_then(|key| self.op.meaning(key)).unwrap_or(Op::Other),
                flags: Flags(flags.value(place)),
                offset_bytes: offset_bytes.at(place),
                length_bytes: length_bytes.value(place),
                queued_ns: queued_ns.at(place),
                started_ns: started_ns.at(place),
                issued_ns: issued_ns.at(place),
                completed_ns: completed_ns.at(place),
                error: error.value(place),
                cpu: cpu.at(place),
                pid: pid.at(place),
                cgroup: cgroup.at(place),
                command: command.at(place).and_then(|key| self.command.meaning(key)),
                parent_id: parent_id.at(place),
            });
        }
    }

    /// A row by its place; beyond the last it is one of which nothing is known.
    pub fn row(&self, place: usize) -> Request {
        Request {
            request_id: self.request_id.at(place).unwrap_or_default(),
            device: self.device.at(place).unwrap_or_default(),
            op: self.op.at(place).unwrap_or(Op::Other),
            flags: Flags(self.flags.at(place).unwrap_or_default()),
            offset_bytes: self.offset_bytes.at(place),
            length_bytes: self.length_bytes.at(place).unwrap_or_default(),
            queued_ns: self.queued_ns.at(place),
            started_ns: self.started_ns.at(place),
            issued_ns: self.issued_ns.at(place),
            completed_ns: self.completed_ns.at(place),
            error: self.error.at(place).unwrap_or_default(),
            cpu: self.cpu.at(place),
            pid: self.pid.at(place),
            cgroup: self.cgroup.at(place),
            command: self.command.at(place),
            parent_id: self.parent_id.at(place),
        }
    }
}

/// A column of numbers; one that was not asked for has none.
#[derive(Debug)]
struct Cells<T: ArrowPrimitiveType> {
    array: Option<PrimitiveArray<T>>,
    /// So that what cannot be null is not asked whether it is.
    has_nulls: bool,
}

/// A column as it lies in memory: as many values as there are rows, or none.
struct Taken<'a, N> {
    values: &'a [N],
    nulls: Option<&'a NullBuffer>,
}

impl<N: Copy + Default> Taken<'_, N> {
    /// Of a column without nulls.
    #[inline(always)]
    fn value(&self, place: usize) -> N {
        self.values.get(place).copied().unwrap_or_default()
    }

    #[inline(always)]
    fn at(&self, place: usize) -> Option<N> {
        match self.nulls {
            Some(nulls) if place < nulls.len() && nulls.is_null(place) => None,
            _ => self.values.get(place).copied(),
        }
    }
}

impl<T: ArrowPrimitiveType> Cells<T> {
    fn all(&self, rows: usize) -> Taken<'_, T::Native> {
        let array = self.array.as_ref();
        let values = array.and_then(|array| array.values().get(..rows)).unwrap_or_default();
        Taken { values, nulls: array.and_then(|array| array.nulls()).filter(|_| self.has_nulls) }
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
    fn at(&self, place: usize) -> Option<T> {
        self.meaning(self.keys.at(place)?)
    }

    #[inline(always)]
    fn meaning(&self, key: i32) -> Option<T> {
        self.meanings.get(usize::try_from(key).ok()?).copied()
    }
}

/// The columns of a batch, by name.
struct Columns<'a> {
    batch: &'a RecordBatch,
    path: &'a Path,
    wanted: &'static [&'static str],
}

impl Columns<'_> {
    fn misfit(&self, column: &'static str) -> RecordError {
        RecordError::Column { path: self.path.to_owned(), column }
    }

    fn is_wanted(&self, name: &str) -> bool {
        self.wanted.is_empty() || self.wanted.contains(&name)
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
            error: 5,
            cpu: Some(1),
            pid: Some(77),
            cgroup: Some(9),
            command: Some(commands.number(format!("dd{}", number % 3).as_bytes())),
            parent_id: Some(4),
        }
    }

    fn round_trip(rows: &[Request], commands: &Commands) -> (Vec<Request>, RequestFile, Commands) {
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
            batch.for_each(|row| taken.push(*row));
            assert!(batch.rows().eq(taken));
        }
        (read, file, reader.commands)
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

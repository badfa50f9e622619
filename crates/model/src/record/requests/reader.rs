//! Requests from Parquet, a batch at a time.

use super::columns::SCHEMA;
use super::provenance::Provenance;
use crate::record::RecordError;
use crate::record::file::{footer_of, open};
use crate::record::request::{Commands, Flags, Op, Request};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int32Type, Int64Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch, StringArray};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Reads the rows of a file of requests.
pub struct RequestReader {
    path: PathBuf,
    batches: ParquetRecordBatchReader,
    footer: BTreeMap<String, String>,
    rows: u64,
    /// The names of all commands so far.
    pub commands: Commands,
}

impl std::fmt::Debug for RequestReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestReader").field("path", &self.path).finish_non_exhaustive()
    }
}

impl RequestReader {
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
        let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
        let batches = builder
            .with_batch_size(super::BATCH_ROWS)
            .build()
            .map_err(|source| RecordError::Parquet { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), batches, footer, rows, commands: Commands::default() })
    }

    /// How many rows there are in all.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// What the footer says of the rows.
    pub fn provenance(&self) -> Provenance {
        Provenance::from_footer(&self.footer)
    }

    /// The footer.
    pub fn footer(&self) -> &BTreeMap<String, String> {
        &self.footer
    }

    /// The next rows; none at the end.
    ///
    /// # Errors
    /// A file that is damaged or whose columns are others.
    pub fn next_rows(&mut self) -> Result<Option<Vec<Request>>, RecordError> {
        let Some(batch) = self.batches.next() else { return Ok(None) };
        let parquet = |e: arrow_schema::ArrowError| RecordError::Parquet {
            path: self.path.clone(),
            source: e.into(),
        };
        let batch = batch.map_err(parquet)?;
        self.rows_of(&batch).map(Some)
    }

    fn rows_of(&mut self, batch: &RecordBatch) -> Result<Vec<Request>, RecordError> {
        let mut rows = vec![Request::default(); batch.num_rows()];
        let columns = Columns { batch, path: &self.path };
        columns.every::<UInt64Type>("request_id", &mut rows, |r, v| r.request_id = v)?;
        columns.every::<UInt32Type>("device", &mut rows, |r, v| r.device = v)?;
        columns.words("op", &mut rows, |r, v| {
            r.op = v.and_then(Op::named).unwrap_or(Op::Other);
        })?;
        columns.every::<UInt16Type>("flags", &mut rows, |r, v| r.flags = Flags(v))?;
        columns.some::<UInt64Type>("offset_bytes", &mut rows, |r, v| r.offset_bytes = v)?;
        columns.every::<UInt32Type>("length_bytes", &mut rows, |r, v| r.length_bytes = v)?;
        columns.some::<Int64Type>("queued_ns", &mut rows, |r, v| r.queued_ns = v)?;
        columns.some::<Int64Type>("started_ns", &mut rows, |r, v| r.started_ns = v)?;
        columns.some::<Int64Type>("issued_ns", &mut rows, |r, v| r.issued_ns = v)?;
        columns.some::<Int64Type>("completed_ns", &mut rows, |r, v| r.completed_ns = v)?;
        columns.every::<Int32Type>("error", &mut rows, |r, v| r.error = v)?;
        columns.some::<UInt16Type>("cpu", &mut rows, |r, v| r.cpu = v)?;
        columns.some::<UInt32Type>("pid", &mut rows, |r, v| r.pid = v)?;
        columns.some::<UInt64Type>("cgroup", &mut rows, |r, v| r.cgroup = v)?;
        let commands = &mut self.commands;
        columns.words("command", &mut rows, |r, v| {
            r.command = v.map(|name| commands.number(name.as_bytes()));
        })?;
        columns.some::<UInt64Type>("parent_id", &mut rows, |r, v| r.parent_id = v)?;
        Ok(rows)
    }
}

/// The columns of a batch, by name.
struct Columns<'a> {
    batch: &'a RecordBatch,
    path: &'a Path,
}

impl Columns<'_> {
    fn misfit(&self, column: &'static str) -> RecordError {
        RecordError::Column { path: self.path.to_owned(), column }
    }

    fn some<T: ArrowPrimitiveType>(
        &self,
        name: &'static str,
        rows: &mut [Request],
        set: impl Fn(&mut Request, Option<T::Native>),
    ) -> Result<(), RecordError> {
        let array = self.batch.column_by_name(name);
        let array = array.and_then(|a| a.as_primitive_opt::<T>());
        let array = array.ok_or_else(|| self.misfit(name))?;
        rows.iter_mut().zip(array.iter()).for_each(|(row, value)| set(row, value));
        Ok(())
    }

    fn every<T: ArrowPrimitiveType>(
        &self,
        name: &'static str,
        rows: &mut [Request],
        set: impl Fn(&mut Request, T::Native),
    ) -> Result<(), RecordError> {
        let array = self.batch.column_by_name(name);
        let array = array.and_then(|a| a.as_primitive_opt::<T>());
        let array = array.filter(|a| a.null_count() == 0).ok_or_else(|| self.misfit(name))?;
        rows.iter_mut().zip(array.values()).for_each(|(row, value)| set(row, *value));
        Ok(())
    }

    /// A column of words, kept as a dictionary or, by other writers, as plain text.
    fn words(
        &self,
        name: &'static str,
        rows: &mut [Request],
        mut set: impl FnMut(&mut Request, Option<&str>),
    ) -> Result<(), RecordError> {
        let array = self.batch.column_by_name(name).ok_or_else(|| self.misfit(name))?;
        if let Some(plain) = array.as_string_opt::<i32>() {
            rows.iter_mut().zip(plain.iter()).for_each(|(row, value)| set(row, value));
            return Ok(());
        }
        let keyed = array.as_dictionary_opt::<Int32Type>();
        let keyed = keyed.and_then(|d| d.downcast_dict::<StringArray>());
        let keyed = keyed.ok_or_else(|| self.misfit(name))?;
        rows.iter_mut().zip(keyed).for_each(|(row, value)| set(row, value));
        Ok(())
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

    fn round_trip(rows: &[Request], commands: &Commands) -> (Vec<Request>, RequestReader) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("requests.parquet");
        let mut writer = RequestWriter::new(std::fs::File::create(&path).unwrap()).unwrap();
        rows.iter().for_each(|row| writer.push(row, commands).unwrap());
        let provenance = Provenance { origin: "capture".into(), ..Provenance::default() };
        writer.finish(commands, &provenance, &BTreeMap::new()).unwrap();
        let mut reader = RequestReader::open(&path).unwrap();
        let mut read = Vec::new();
        while let Some(batch) = reader.next_rows().unwrap() {
            read.extend(batch);
        }
        (read, reader)
    }

    #[test]
    fn every_column_comes_back_over_many_batches() {
        let mut commands = Commands::default();
        let rows: Vec<_> = (1..40_000).map(|n| full(n, &mut commands)).collect();
        let (read, reader) = round_trip(&rows, &commands);
        assert_eq!(read, rows);
        assert_eq!(reader.rows(), 39_999);
        assert_eq!(reader.provenance().origin, "capture");
        assert_eq!(reader.commands.name(CommandId(1)), "dd2");
    }

    #[test]
    fn what_is_not_known_comes_back_as_not_known() {
        let (read, _) = round_trip(&[Request::default()], &Commands::default());
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

//! Rows of requests to Parquet, as a stream.

use super::columns::{COLUMNS, SCHEMA, schema};
use super::provenance::Provenance;
use crate::record::file::key_values;
use crate::record::request::{Commands, FileKind, Op, Request};
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, PrimitiveArray, RecordBatch, StringArray, UInt16Array,
    UInt32Array, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    FileMetaData, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::{WriterProperties, WriterVersion};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

/// Rows that are turned into columns at once: so many as a core's own cache holds while each column
/// passes over them.
pub const BATCH_ROWS: usize = 2 * 1024;

/// Rows after which a row group ends: what a reader must hold, and what is lost if a disk is full.
const GROUP_ROWS: usize = 512 * 1024;

/// Columns with few different values in any order: a dictionary makes them smaller than differences
/// would.
const FEW: [&str; 5] = ["device", "op", "length_bytes", "command", "file_kind"];

/// Writes rows of requests, batch by batch.
#[derive(Debug)]
pub struct RequestWriter<W: Write + Send> {
    parquet: ArrowWriter<W>,
    schema: Arc<Schema>,
    rows: Vec<Request>,
    written: u64,
    /// Rows in groups that were ended.
    closed: u64,
    /// Groups that were described.
    described: usize,
}

impl<W: Write + Send> RequestWriter<W> {
    /// Begins a file.
    /// Errors: what the output or Parquet refuses.
    pub fn new(output: W) -> Result<Self, ParquetError> {
        let schema = Arc::new(schema());
        let parquet = ArrowWriter::try_new(output, schema.clone(), Some(properties()))?;
        let rows = Vec::with_capacity(BATCH_ROWS);
        Ok(Self { parquet, schema, rows, written: 0, closed: 0, described: 0 })
    }

    /// Adds a row.
    /// Errors: what the output or Parquet refuses.
    pub fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), ParquetError> {
        self.rows.push(*row);
        if self.rows.len() < BATCH_ROWS {
            return Ok(());
        }
        self.write_batch(commands)?;
        if self.rows_in_group() >= GROUP_ROWS as u64 { self.end_group(commands) } else { Ok(()) }
    }

    /// How many rows are in no group that was ended.
    pub fn rows_in_group(&self) -> u64 {
        self.rows() - self.closed
    }

    /// Ends the group of rows: it is in the output then.
    /// Errors: what the output or Parquet refuses.
    pub fn end_group(&mut self, commands: &Commands) -> Result<(), ParquetError> {
        if !self.rows.is_empty() {
            self.write_batch(commands)?;
        }
        self.parquet.flush()?;
        self.parquet.sync()?;
        self.closed = self.written;
        Ok(())
    }

    /// Describes each group that was ended since the last time, in the form of a footer by itself.
    /// Errors: what Parquet refuses.
    pub fn describe_groups(&mut self) -> Result<Vec<Vec<u8>>, ParquetError> {
        let groups = self.parquet.flushed_row_groups();
        let new = groups.get(self.described..).unwrap_or_default();
        let described = new.iter().map(describe).collect();
        self.described = groups.len();
        described
    }

    /// How many rows were added.
    pub fn rows(&self) -> u64 {
        self.written + self.rows.len() as u64
    }

    /// How long the file will be with all that was added so far; the footer comes on top. Rows that
    /// are not a batch yet count in full.
    pub fn anticipated_bytes(&self) -> u64 {
        let encoded = self.parquet.bytes_written() + self.parquet.in_progress_size();
        (encoded + self.rows.len() * std::mem::size_of::<Request>()) as u64
    }

    /// The output. Nothing is to be written to it.
    pub fn output_mut(&mut self) -> &mut W {
        self.parquet.inner_mut()
    }

    fn write_batch(&mut self, commands: &Commands) -> Result<(), ParquetError> {
        let batch = batch(&self.schema, &self.rows, commands)?;
        self.written += self.rows.len() as u64;
        self.rows.clear();
        self.parquet.write(&batch)
    }

    /// Ends the file with its footer and gives the output back. `more` is added to the footer.
    /// Errors: what the output or Parquet refuses.
    pub fn finish(
        mut self,
        commands: &Commands,
        provenance: &Provenance,
        more: &BTreeMap<String, String>,
    ) -> Result<W, ParquetError> {
        if !self.rows.is_empty() {
            self.write_batch(commands)?;
        }
        let mut footer = provenance.to_footer();
        // By it a reader knows that all of them are there, and the other counts are of them.
        footer.insert("lbolt.count.requests".into(), self.written.to_string());
        footer.extend(more.clone());
        let pairs = key_values(SCHEMA, footer);
        pairs.for_each(|pair| self.parquet.append_key_value_metadata(pair));
        self.parquet.into_inner()
    }
}

/// A group by itself.
fn describe(group: &RowGroupMetaData) -> Result<Vec<u8>, ParquetError> {
    let rows = group.num_rows();
    let file = FileMetaData::new(1, rows, None, None, group.schema_descr_ptr(), None);
    footer(&ParquetMetaData::new(file, vec![group.clone()]))
}

/// A footer of some metadata.
pub(super) fn footer(metadata: &ParquetMetaData) -> Result<Vec<u8>, ParquetError> {
    let mut bytes = Vec::new();
    ParquetMetaDataWriter::new(&mut bytes, metadata).finish()?;
    Ok(bytes)
}

/// Compression level 1: a tracer's own CPU time counts, and higher levels save little here.
fn properties() -> WriterProperties {
    let zstd = ZstdLevel::try_new(1).unwrap_or_default();
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        // Groups are ended by the writer itself, which knows then what is in the output.
        .set_max_row_group_row_count(None)
        .set_compression(Compression::ZSTD(zstd));
    // All others are times and places, which hardly ever repeat, or mostly the same: differences
    // cost a third of the CPU time that looking each value up in a dictionary does.
    for column in COLUMNS.iter().filter(|column| !FEW.contains(&column.name)) {
        properties = properties
            .set_column_dictionary_enabled(column.name.into(), false)
            .set_column_encoding(column.name.into(), Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

/// A column of values that can be null. Most have no null, or nothing else, which costs no bits to
/// be looked at.
fn optional<T: ArrowPrimitiveType>(
    rows: &[Request],
    get: impl Fn(&Request) -> Option<T::Native>,
) -> PrimitiveArray<T> {
    let known = rows.iter().filter(|row| get(row).is_some()).count();
    let nulls = match known {
        0 => Some(NullBuffer::new_null(rows.len())),
        all if all == rows.len() => None,
        _ => {
            let is_known = |n: usize| rows.get(n).is_some_and(|row| get(row).is_some());
            Some(NullBuffer::new(BooleanBuffer::collect_bool(rows.len(), is_known)))
        }
    };
    let values = match known {
        0 => vec![T::Native::default(); rows.len()],
        _ => rows.iter().map(|row| get(row).unwrap_or_default()).collect(),
    };
    PrimitiveArray::new(values.into(), nulls)
}

/// A column of words: keys into a dictionary.
fn words(keys: Int32Array, names: StringArray) -> Result<ArrayRef, ParquetError> {
    Ok(Arc::new(DictionaryArray::try_new(keys, Arc::new(names))?))
}

/// Rows as columns, in the order of the table.
fn batch(
    schema: &Arc<Schema>,
    rows: &[Request],
    commands: &Commands,
) -> Result<RecordBatch, ParquetError> {
    use arrow_array::types::{Int32Type, Int64Type, UInt16Type, UInt32Type, UInt64Type};
    let ops = StringArray::from_iter_values(Op::ALL.map(Op::name));
    let names = StringArray::from_iter_values(commands.names());
    let kinds = StringArray::from_iter_values(FileKind::ALL.map(FileKind::name));
    let stack = |number: u32| (number != 0).then_some(number);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|r| r.request_id))),
        Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.device))),
        words(Int32Array::from_iter_values(rows.iter().map(|r| r.op as i32)), ops)?,
        Arc::new(UInt16Array::from_iter_values(rows.iter().map(|r| r.flags.0))),
        Arc::new(optional::<UInt64Type>(rows, |r| r.offset_bytes)),
        Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.length_bytes))),
        Arc::new(optional::<Int64Type>(rows, |r| r.queued_ns)),
        Arc::new(optional::<Int64Type>(rows, |r| r.started_ns)),
        Arc::new(optional::<Int64Type>(rows, |r| r.issued_ns)),
        Arc::new(optional::<Int64Type>(rows, |r| r.completed_ns)),
        Arc::new(optional::<Int64Type>(rows, |r| r.completed_by_ns)),
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|r| r.error))),
        Arc::new(optional::<UInt16Type>(rows, |r| r.cpu)),
        Arc::new(optional::<UInt32Type>(rows, |r| r.pid)),
        Arc::new(optional::<UInt64Type>(rows, |r| r.cgroup)),
        words(optional::<Int32Type>(rows, |r| r.command.map(|c| c.0 as i32)), names)?,
        Arc::new(optional::<UInt64Type>(rows, |r| r.parent_id)),
        words(optional::<Int32Type>(rows, |r| r.file.map(|file| file.kind as i32)), kinds)?,
        Arc::new(optional::<UInt32Type>(rows, |r| r.file.map(|file| file.number.file_system))),
        Arc::new(optional::<UInt64Type>(rows, |r| {
            r.file.map(|file| file.number.inode).filter(|inode| *inode != 0)
        })),
        Arc::new(optional::<UInt32Type>(rows, |r| {
            r.file.map(|file| file.number.generation).filter(|generation| *generation != 0)
        })),
        Arc::new(optional::<UInt32Type>(rows, |r| stack(r.stacks.kernel))),
        Arc::new(optional::<UInt32Type>(rows, |r| stack(r.stacks.user))),
        Arc::new(optional::<UInt64Type>(rows, |r| r.above_id)),
    ];
    Ok(RecordBatch::try_new(schema.clone(), columns)?)
}

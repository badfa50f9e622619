//! Rows of requests to Parquet, as a stream.

use super::columns::{COLUMNS, SCHEMA, schema};
use super::growing::{GrowingColumns, TOGETHER};
use super::provenance::Provenance;
use crate::record::file::key_values;
use crate::record::request::{Commands, Request};
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    FileMetaData, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

/// Rows that are handed to Parquet at once: so many as a core's own cache holds as columns.
pub const BATCH_ROWS: usize = 2 * 1024;

/// Rows after which a row group ends: what a reader must hold, and what is lost if a disk is full.
const GROUP_ROWS: usize = 512 * 1024;

/// Columns with few different values in any order: a dictionary makes them smaller than differences
/// would.
const FEW: [&str; 5] = ["device", "op", "length_bytes", "command", "file_kind"];

/// What goes into a file of requests next.
#[derive(Debug)]
pub enum Part {
    /// Rows as columns.
    Rows(RecordBatch),
    /// The group of rows ends.
    EndOfGroup,
}

/// Rows on their way into the parts of a file.
#[derive(Debug)]
pub struct Parts {
    schema: Arc<Schema>,
    /// Rows that are not in the columns yet.
    rows: Vec<Request>,
    columns: GrowingColumns,
    /// What is to be written next.
    ready: Vec<Part>,
    /// Rows in batches that are ready, or were.
    batched: u64,
    /// Rows in groups that were ended.
    grouped: u64,
}

impl Default for Parts {
    fn default() -> Self {
        Self {
            schema: Arc::new(schema()),
            rows: Vec::with_capacity(TOGETHER),
            columns: GrowingColumns::new(BATCH_ROWS),
            ready: Vec::new(),
            batched: 0,
            grouped: 0,
        }
    }
}

impl Parts {
    /// Adds a row.
    /// Errors: what Arrow refuses.
    pub fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), ParquetError> {
        self.rows.push(*row);
        if self.rows.len() < TOGETHER { Ok(()) } else { self.add_rest(commands) }
    }

    /// Adds rows that lie together: they are copied into columns alone.
    /// Errors: what Arrow refuses.
    pub fn push_all(&mut self, rows: &[Request], commands: &Commands) -> Result<(), ParquetError> {
        self.add_rest(commands)?;
        self.add(rows, commands)
    }

    /// Puts the rows into columns that are in none.
    fn add_rest(&mut self, commands: &Commands) -> Result<(), ParquetError> {
        let mut rows = std::mem::take(&mut self.rows);
        self.add(&rows, commands)?;
        rows.clear();
        self.rows = rows;
        Ok(())
    }

    fn add(&mut self, rows: &[Request], commands: &Commands) -> Result<(), ParquetError> {
        let mut rest = rows;
        while !rest.is_empty() {
            let room = TOGETHER.min(BATCH_ROWS - self.columns.rows());
            let (these, others) = rest.split_at(room.min(rest.len()));
            self.columns.add(these);
            if self.columns.rows() == BATCH_ROWS {
                self.end_batch(commands)?;
                if self.rows_in_group() >= GROUP_ROWS as u64 {
                    self.end_group(commands)?;
                }
            }
            rest = others;
        }
        Ok(())
    }

    fn end_batch(&mut self, commands: &Commands) -> Result<(), ParquetError> {
        self.batched += self.columns.rows() as u64;
        self.ready.push(Part::Rows(self.columns.take(&self.schema, commands)?));
        Ok(())
    }

    /// Makes a part of what is not a whole batch.
    /// Errors: what Arrow refuses.
    pub fn end(&mut self, commands: &Commands) -> Result<(), ParquetError> {
        self.add_rest(commands)?;
        if self.columns.rows() > 0 { self.end_batch(commands) } else { Ok(()) }
    }

    /// Ends the group of rows.
    /// Errors: what Arrow refuses.
    pub fn end_group(&mut self, commands: &Commands) -> Result<(), ParquetError> {
        self.end(commands)?;
        self.grouped = self.batched;
        self.ready.push(Part::EndOfGroup);
        Ok(())
    }

    /// What is to be written next, in its order.
    pub fn take(&mut self) -> impl Iterator<Item = Part> {
        self.ready.drain(..)
    }

    /// How many rows were added.
    pub fn rows(&self) -> u64 {
        self.batched + (self.columns.rows() + self.rows.len()) as u64
    }

    /// How many rows are in no group that was ended.
    pub fn rows_in_group(&self) -> u64 {
        self.rows() - self.grouped
    }
}

/// Writes the parts of a file of requests.
#[derive(Debug)]
pub struct PartWriter<W: Write + Send> {
    parquet: ArrowWriter<W>,
    rows: u64,
    /// Groups that were described.
    described: usize,
}

impl<W: Write + Send> PartWriter<W> {
    /// Begins a file.
    /// Errors: what the output or Parquet refuses.
    pub fn new(output: W) -> Result<Self, ParquetError> {
        let parquet = ArrowWriter::try_new(output, Arc::new(schema()), Some(properties()))?;
        Ok(Self { parquet, rows: 0, described: 0 })
    }

    /// Writes the next part. A group that has ended is in the output then.
    /// Errors: what the output or Parquet refuses.
    pub fn write(&mut self, part: Part) -> Result<(), ParquetError> {
        match part {
            Part::Rows(batch) => {
                self.rows += batch.num_rows() as u64;
                self.parquet.write(&batch)
            }
            Part::EndOfGroup => {
                self.parquet.flush()?;
                Ok(self.parquet.sync()?)
            }
        }
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

    /// How many rows were written.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How long the file will be with what was written so far; the footer comes on top.
    pub fn anticipated_bytes(&self) -> u64 {
        (self.parquet.bytes_written() + self.parquet.in_progress_size()) as u64
    }

    /// The output. Nothing is to be written to it.
    pub fn output_mut(&mut self) -> &mut W {
        self.parquet.inner_mut()
    }

    /// Ends the file with its footer and gives the output back. `more` is added to the footer.
    /// Errors: what the output or Parquet refuses.
    pub fn finish(
        mut self,
        provenance: &Provenance,
        more: &BTreeMap<String, String>,
    ) -> Result<W, ParquetError> {
        let mut footer = provenance.to_footer();
        // By it a reader knows that all of them are there, and the other counts are of them.
        footer.insert("lbolt.count.requests".into(), self.rows.to_string());
        footer.extend(more.clone());
        let pairs = key_values(SCHEMA, footer);
        pairs.for_each(|pair| self.parquet.append_key_value_metadata(pair));
        self.parquet.into_inner()
    }
}

/// Writes rows of requests, batch by batch.
#[derive(Debug)]
pub struct RequestWriter<W: Write + Send> {
    parts: Parts,
    file: PartWriter<W>,
}

impl<W: Write + Send> RequestWriter<W> {
    /// Begins a file.
    /// Errors: what the output or Parquet refuses.
    pub fn new(output: W) -> Result<Self, ParquetError> {
        Ok(Self { parts: Parts::default(), file: PartWriter::new(output)? })
    }

    /// Adds a row.
    /// Errors: what the output or Parquet refuses.
    pub fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), ParquetError> {
        self.parts.push(row, commands)?;
        self.write()
    }

    /// Adds rows that lie together.
    /// Errors: what the output or Parquet refuses.
    pub fn push_all(&mut self, rows: &[Request], commands: &Commands) -> Result<(), ParquetError> {
        self.parts.push_all(rows, commands)?;
        self.write()
    }

    /// Ends the group of rows.
    /// Errors: what the output or Parquet refuses.
    pub fn end_group(&mut self, commands: &Commands) -> Result<(), ParquetError> {
        self.parts.end_group(commands)?;
        self.write()
    }

    #[inline]
    fn write(&mut self) -> Result<(), ParquetError> {
        self.parts.take().try_for_each(|part| self.file.write(part))
    }

    /// Ends the file with its footer and gives the output back. `more` is added to the footer.
    /// Errors: what the output or Parquet refuses.
    pub fn finish(
        mut self,
        commands: &Commands,
        provenance: &Provenance,
        more: &BTreeMap<String, String>,
    ) -> Result<W, ParquetError> {
        self.parts.end(commands)?;
        self.write()?;
        self.file.finish(provenance, more)
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
    // Of words the least and the greatest tell a reader nothing, and all would be compared.
    properties.set_column_statistics_enabled("op".into(), EnabledStatistics::None).build()
}

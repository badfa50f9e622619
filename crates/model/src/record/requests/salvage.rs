//! A file of requests whose writer was killed, put together from what it left: groups of rows
//! without a footer, a description of each, and rows that were in no group yet.
//!
//! A description is a Parquet footer of that group alone, so that nothing here is a format of our
//! own.
//!
//! Non-goals: where the parts lie (crate `trace`).

use super::reader::RequestFile;
use super::writer::{RequestWriter, footer};
use super::{Provenance, Request};
use crate::record::RecordError;
use crate::record::request::Commands;
use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataReader,
    RowGroupMetaData,
};
use parquet::file::statistics::Statistics;
use std::collections::BTreeMap;
use std::path::Path;

/// Where a footer counts its rows.
const ROWS: &str = "lbolt.count.requests";

/// Behind the metadata in a footer: their length, u32, and the magic word.
const FOOTER_TAIL_BYTES: usize = 8;

/// What is behind the groups that are in the output: the last group's bytes, and the footer of all.
#[derive(Debug)]
pub struct Tail {
    /// Where it begins in the file.
    pub offset_bytes: u64,
    /// What to write there; the file ends behind it.
    pub bytes: Vec<u8>,
    /// How many rows the file has then.
    pub rows: u64,
}

/// The groups that were described, each as [`super::PartWriter::describe_groups`] gave it.
#[derive(Debug, Default, Clone)]
pub struct Groups(Vec<RowGroupMetaData>);

impl Groups {
    /// Adds one; false if its description is not whole, or it is not behind the others.
    pub fn add(&mut self, description: &[u8]) -> bool {
        let length = description.len().saturating_sub(FOOTER_TAIL_BYTES);
        let decoded = description.get(..length).map(ParquetMetaDataReader::decode_metadata);
        let Some(Ok(metadata)) = decoded else { return false };
        let [group] = metadata.row_groups() else { return false };
        let is_behind = begin(group).is_some_and(|begin| begin >= self.end());
        if is_behind {
            self.0.push(group.clone());
        }
        is_behind
    }

    /// How many rows they have.
    pub fn rows(&self) -> u64 {
        self.0.iter().map(|group| group.num_rows().max(0).unsigned_abs()).sum()
    }

    /// The greatest `request_id` in any, as far as the groups tell.
    pub fn request_id_max(&self) -> Option<u64> {
        let of = |group: &RowGroupMetaData| {
            match group.columns().first()?.statistics()? {
                // The number's bits are the unsigned one's.
                Statistics::Int64(ids) => ids.max_opt().map(|id| *id as u64),
                _ => None,
            }
        };
        self.0.iter().filter_map(of).max()
    }

    /// Where the last one ends in the file; without any, behind the magic word.
    pub fn end(&self) -> u64 {
        self.0.last().and_then(end).unwrap_or(super::MAGIC_BYTES)
    }

    /// The rest of the file: these rows as a last group, and the footer.
    /// Errors: what Parquet refuses.
    pub fn tail(
        mut self,
        rest: &[Request],
        commands: &Commands,
        provenance: &Provenance,
        more: &BTreeMap<String, String>,
    ) -> Result<Tail> {
        let mut writer = RequestWriter::new(Vec::new())?;
        writer.push_all(rest, commands)?;
        let small = Bytes::from(writer.finish(commands, provenance, more)?);
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&small)?;
        let offset_bytes = self.end();
        let mut bytes = Vec::new();
        let (first, last) = (metadata.row_groups().first(), metadata.row_groups().last());
        if let Some((first, last)) = first.and_then(begin).zip(last.and_then(end)) {
            bytes.extend_from_slice(&small[first as usize..last as usize]);
            let by = offset_bytes as i64 - first as i64;
            for group in metadata.row_groups() {
                self.0.push(moved(group, by)?);
            }
        }
        let rows = self.rows();
        let file = metadata.file_metadata();
        // The writer counted the rows of the last group alone.
        let told = file.key_value_metadata().cloned().map(|pairs| {
            let of_all = |pair: KeyValue| match pair.key.as_str() {
                ROWS => KeyValue { value: Some(rows.to_string()), ..pair },
                _ => pair,
            };
            pairs.into_iter().map(of_all).collect()
        });
        let file = FileMetaData::new(
            file.version(),
            i64::try_from(rows).unwrap_or(i64::MAX),
            file.created_by().map(str::to_owned),
            told,
            file.schema_descr_ptr(),
            file.column_orders().cloned(),
        );
        bytes.extend(footer(&ParquetMetaData::new(file, self.0))?);
        Ok(Tail { offset_bytes, bytes, rows })
    }
}

/// A small file of requests in memory: rows that were in no group yet, and what was known of the
/// trace then.
#[derive(Debug)]
pub struct Piece {
    /// Its rows.
    pub rows: Vec<Request>,
    /// The names of their commands.
    pub commands: Commands,
    /// What its footer says.
    pub footer: BTreeMap<String, String>,
}

impl Piece {
    /// Reads one. `path` is where it comes from.
    /// Errors: bytes that are no file of requests.
    pub fn read(bytes: &[u8], path: &Path) -> std::result::Result<Self, RecordError> {
        let file = RequestFile::of_bytes(path, Bytes::copy_from_slice(bytes))?;
        let mut reader = file.read_all()?;
        let mut rows = Vec::new();
        while let Some(batch) = reader.next_batch()? {
            rows.extend(batch.rows());
        }
        Ok(Self { rows, commands: reader.commands, footer: file.footer().clone() })
    }
}

fn begin(group: &RowGroupMetaData) -> Option<u64> {
    group.columns().iter().map(|column| column.byte_range().0).min()
}

fn end(group: &RowGroupMetaData) -> Option<u64> {
    let ends = group.columns().iter().map(ColumnChunkMetaData::byte_range);
    ends.map(|(start, length)| start.saturating_add(length)).max()
}

/// A group so many bytes further on.
fn moved(group: &RowGroupMetaData, by: i64) -> Result<RowGroupMetaData> {
    let columns = group.columns().iter().map(|column| moved_column(column, by));
    let offset = group.file_offset().map(|offset| offset + by);
    let mut builder =
        group.clone().into_builder().set_column_metadata(columns.collect::<Result<_>>()?);
    if let Some(offset) = offset {
        builder = builder.set_file_offset(offset);
    }
    builder.build()
}

fn moved_column(column: &ColumnChunkMetaData, by: i64) -> Result<ColumnChunkMetaData> {
    if column.data_page_offset() + by < 0 {
        return Err(ParquetError::General("a column before the beginning of the file".into()));
    }
    let dictionary = column.dictionary_page_offset().map(|offset| offset + by);
    let builder = column.clone().into_builder();
    // Its indexes are left behind: nothing reads them.
    builder
        .set_data_page_offset(column.data_page_offset() + by)
        .set_dictionary_page_offset(dictionary)
        .set_offset_index_offset(None)
        .set_offset_index_length(None)
        .set_column_index_offset(None)
        .set_column_index_length(None)
        .build()
}

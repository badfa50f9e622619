//! Rollup rows to Parquet, a group of rows at a time.

use super::{Rollup, words};
use crate::record::column::Record as _;
use crate::record::file::{batch_of, key_values, schema_of};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

/// Columns by whose statistics a reader finds rows; those of words say where there are none.
const TIMES: [&str; 2] = ["from_unix_ns", "until_unix_ns"];
/// Compression: a file is written once and read often.
const LEVEL: i32 = 3;

/// Writes rollup rows.
#[derive(Debug)]
pub struct RollupWriter<W: Write + Send> {
    parquet: ArrowWriter<W>,
}

impl<W: Write + Send> RollupWriter<W> {
    /// Begins a file.
    /// Errors: what the output or Parquet refuses.
    pub fn new(output: W) -> Result<Self, ParquetError> {
        let schema = Arc::new(schema_of::<Rollup>());
        Ok(Self { parquet: ArrowWriter::try_new(output, schema, Some(properties()))? })
    }

    /// Writes a group of rows.
    /// Errors: what the output or Parquet refuses.
    pub fn write_group(&mut self, rows: &[Rollup]) -> Result<(), ParquetError> {
        self.parquet.write(&batch_of(rows)?)?;
        self.parquet.flush()
    }

    /// Ends the file with its footer, to which `more` is added, and gives the output back.
    /// Errors: what the output or Parquet refuses.
    pub fn finish(mut self, more: BTreeMap<String, String>) -> Result<W, ParquetError> {
        let pairs = key_values(Rollup::SCHEMA, more);
        pairs.for_each(|pair| self.parquet.append_key_value_metadata(pair));
        self.parquet.into_inner()
    }
}

fn properties() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_max_row_group_row_count(None)
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL).unwrap_or_default()))
        .set_offset_index_disabled(true)
        .set_statistics_enabled(EnabledStatistics::None);
    let words = words();
    for name in TIMES.iter().chain(&words) {
        properties =
            properties.set_column_statistics_enabled((*name).into(), EnabledStatistics::Chunk);
    }
    // Numbers hardly repeat, and buckets ascend: differences are smaller than a dictionary, and
    // cost less.
    for column in Rollup::columns().iter().filter(|column| !words.contains(&column.name)) {
        let path = match column.kind {
            crate::record::Kind::List => {
                vec![column.name.to_owned(), "list".into(), "item".into()]
            }
            _ => vec![column.name.to_owned()],
        };
        let path = parquet::schema::types::ColumnPath::new(path);
        properties = properties.set_column_dictionary_enabled(path.clone(), false);
        if column.kind != crate::record::Kind::F64 {
            properties = properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    properties.build()
}

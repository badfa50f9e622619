//! Parquet files that are read, of whatever program. Each may be damaged, not whole or made to do
//! harm: that is an error that names the file, never a panic, and no memory is taken that its bytes
//! do not account for.
//!
//! - [`Input`]: a file with its footer.
//! - [`Batches`]: its rows, a few at a time: the one place where the Parquet library decodes for
//!   us.
//! - [`numbers`]: a column of numbers, of whatever type they are.
//!
//! Non-goals: which columns there are to be (`super::file`, `super::requests`); writing.

mod caught;
mod lengths;
mod limits;
mod numbers;
mod pages;
mod source;
mod thrift;

pub(super) use numbers::{is_all_null, numbers};

use super::RecordError;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef, Fields};
use bytes::Bytes;
use caught::caught;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels, parquet_to_arrow_schema};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::statistics::Statistics;
use source::Source;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A Parquet file that is open.
#[derive(Debug, Clone)]
pub(super) struct Input {
    path: PathBuf,
    source: Source,
    metadata: Arc<ParquetMetaData>,
    fields: Fields,
}

impl Input {
    /// Opens a file. Columns named in `words` are read as dictionaries where they are texts.
    pub(super) fn open(path: &Path, words: &[&str]) -> Result<Self, RecordError> {
        let io = |source| RecordError::Io { action: "read", path: path.to_owned(), source };
        let source = File::open(path).and_then(Source::of_file).map_err(io)?;
        Self::of_source(path, source, words)
    }

    /// The same of bytes in memory; `path` is what errors call them.
    pub(super) fn of_bytes(path: &Path, bytes: Bytes, words: &[&str]) -> Result<Self, RecordError> {
        Self::of_source(path, Source::of_bytes(bytes), words)
    }

    fn of_source(path: &Path, source: Source, words: &[&str]) -> Result<Self, RecordError> {
        let damaged = |problem| RecordError::Damaged { path: path.to_owned(), problem };
        limits::check_tail(&source).map_err(damaged)?;
        let (metadata, fields) = caught(|| {
            let metadata = ParquetMetaDataReader::new().parse_and_finish(&source)?;
            // What a writer noted of Arrow's types is not asked: it is one more thing that may be
            // damaged.
            let schema = parquet_to_arrow_schema(metadata.file_metadata().schema_descr(), None)?;
            Ok::<_, ParquetError>((metadata, schema.fields))
        })
        .map_err(damaged)?;
        limits::check_metadata(&metadata, source.length()).map_err(damaged)?;
        let fields = fields.iter().map(|field| as_words(field, words)).collect();
        Ok(Self { path: path.to_owned(), source, metadata: Arc::new(metadata), fields })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn length(&self) -> u64 {
        self.source.length()
    }

    /// Its footer's description of its columns and row groups.
    pub(super) fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }

    /// How many rows it has.
    pub(super) fn rows(&self) -> u64 {
        u64::try_from(self.metadata.file_metadata().num_rows()).unwrap_or(0)
    }

    /// How many rows a group has; none where there is no such group.
    pub(super) fn rows_of(&self, group: usize) -> Option<u64> {
        u64::try_from(self.metadata.row_groups().get(group)?.num_rows()).ok()
    }

    /// What the file says of the values of a column in a group.
    pub(super) fn statistics(&self, group: usize, column: &str) -> Option<&Statistics> {
        let columns = self.metadata.row_groups().get(group)?.columns();
        columns.iter().find(|chunk| chunk.column_path().string() == column)?.statistics()
    }

    /// Whether a column is null in all rows of a group, as the file says.
    pub(super) fn is_null(&self, group: usize, column: &str) -> bool {
        let nulls = self.statistics(group, column).and_then(Statistics::null_count_opt);
        nulls.is_some() && nulls == self.rows_of(group)
    }

    pub(super) fn has_column(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name() == name)
    }

    /// The key-value data of its footer.
    pub(super) fn footer(&self) -> BTreeMap<String, String> {
        let pairs = self.metadata.file_metadata().key_value_metadata().into_iter().flatten();
        pairs.filter_map(|pair| Some((pair.key.clone(), pair.value.clone()?))).collect()
    }

    /// Reads these columns of these row groups, at most so many rows at once.
    pub(super) fn batches(
        &self,
        groups: Range<usize>,
        columns: &[&str],
        batch_rows: usize,
    ) -> Result<Batches, RecordError> {
        let damaged = |problem| RecordError::Damaged { path: self.path.clone(), problem };
        let numbers: Vec<usize> = groups.filter(|group| self.rows_of(*group) != Some(0)).collect();
        let groups = pages::Groups::new(self.source.clone(), self.metadata.clone(), numbers);
        let left = parquet::arrow::arrow_reader::RowGroups::num_rows(&groups);
        let schema = self.metadata.file_metadata().schema_descr();
        let mask = ProjectionMask::columns(schema, columns.iter().copied());
        let reader = caught(|| {
            let levels = parquet_to_arrow_field_levels(schema, mask, Some(&self.fields))?;
            let batch_rows = batch_rows.min(left.max(1));
            ParquetRecordBatchReader::try_new_with_row_groups(&levels, &groups, batch_rows, None)
        });
        let reader = Some(reader.map_err(damaged)?);
        Ok(Batches { path: self.path.clone(), reader, left })
    }
}

/// A field as the library is to read it.
fn as_words(field: &FieldRef, words: &[&str]) -> FieldRef {
    let is_text = matches!(field.data_type(), DataType::Utf8 | DataType::Binary);
    if !is_text || !words.contains(&field.name().as_str()) {
        return field.clone();
    }
    let kind = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    Arc::new(field.as_ref().clone().with_data_type(kind))
}

/// The rows of a file, a few at a time.
pub(super) struct Batches {
    path: PathBuf,
    /// None after an error, for the library may have stopped anywhere.
    reader: Option<ParquetRecordBatchReader>,
    left: usize,
}

impl Batches {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The next rows; none at the end, or after an error.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>, RecordError> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        let found = caught(|| reader.next().transpose()).and_then(|batch| {
            let rows = batch.as_ref().map_or(0, RecordBatch::num_rows);
            match self.left.checked_sub(rows) {
                Some(left) if left == 0 || batch.is_some() => self.left = left,
                Some(left) => return Err(format!("it ends {left} rows before its footer says")),
                None => return Err("it has more rows than its footer says".into()),
            }
            Ok(batch)
        });
        if !matches!(found, Ok(Some(_))) {
            self.reader = None;
        }
        found.map_err(|problem| RecordError::Damaged { path: self.path.clone(), problem })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::file::check_schema;

    fn none() -> Input {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet/none.parquet");
        Input::open(&path, &[]).unwrap()
    }

    /// Rows that are read, where the footer tells of so many more.
    fn rows(more: i64) -> Result<usize, String> {
        let input = none();
        let mut batches = input.batches(0..9, &["length_bytes"], 7).unwrap();
        batches.left = batches.left.saturating_add_signed(more as isize);
        let mut rows = 0;
        loop {
            match batches.next() {
                Ok(Some(batch)) => rows += batch.num_rows(),
                Ok(None) => return Ok(rows),
                Err(error) => {
                    assert!(matches!(batches.next(), Ok(None)), "after an error there is nothing");
                    return Err(error.to_string());
                }
            }
        }
    }

    #[test]
    fn there_are_as_many_rows_as_the_footer_says() {
        assert_eq!(rows(0), Ok(60));
        let error = rows(3).unwrap_err();
        assert!(error.contains(": it ends 3 rows before its footer says; if "), "{error}");
        let error = rows(-1).unwrap_err();
        assert!(error.contains(": it has more rows than its footer says; if "), "{error}");
    }

    #[test]
    fn a_file_that_names_no_schema_is_known_by_a_column() {
        let input = none();
        assert!(input.has_column("length_bytes") && !input.has_column("colour"));
        let of = |column| check_schema(&input, &["x/2", "x/1"], &["colour", column]);
        assert_eq!(of("length_bytes").unwrap(), "x/2");
        let error = of("shape").unwrap_err().to_string();
        assert!(error.ends_with("none.parquet: it holds no lbolt schema, not x/2"), "{error}");
    }
}

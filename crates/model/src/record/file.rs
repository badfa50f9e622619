//! Records to Parquet and back. A file is written beside its final name and
//! renamed over it, so that a crash leaves the last whole version.
//!
//! Non-goals: streaming of millions of rows (samples and findings are thousands).

use super::column::{Column, Kind, Record, Value};
use super::input::{Input, is_all_null, numbers};
use crate::held::shown;
use crate::whole_file::write_whole;
use arrow_array::builder::{ListBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The version that is written into every footer and into run.json.
pub const TOOL_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Rows that are read at once.
const BATCH_ROWS: usize = 1024;
/// Characters of an unknown text that an error quotes.
const QUOTED_CHARS: usize = 200;
/// Memory that the rows of any file may take, and of a larger file for each of its bytes: a few
/// bytes can stand for any number of equal rows.
const MEMORY_BYTES: u64 = 256 << 20;
const MEMORY_OF_BYTE: u64 = 64;

/// Why records were not read or written. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum RecordError {
    #[error("{action} {path}: {source}", path = shown(path).display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("write {path} as Parquet: {source}", path = shown(path).display())]
    Parquet { path: PathBuf, source: ParquetError },
    /// Not Parquet, not whole, or damaged.
    #[error(
        "read {path}: {problem}; if it should be Parquet, it is damaged or incomplete: use another \
         copy",
        path = shown(path).display()
    )]
    Damaged { path: PathBuf, problem: String },
    #[error(
        "read {path}: it holds {found}, not {wanted}{}",
        remedy(found, wanted),
        path = shown(path).display()
    )]
    Schema { path: PathBuf, found: String, wanted: &'static str },
    /// A column without which the rows tell nothing, or something else.
    #[error(
        "read {path}: column {column} is missing ({why}); keep it when you rewrite the file",
        path = shown(path).display()
    )]
    Missing { path: PathBuf, column: &'static str, why: &'static str },
    #[error(
        "read {path}: column {column} does not hold {wanted}",
        path = shown(path).display()
    )]
    Column { path: PathBuf, column: &'static str, wanted: String },
    #[error(
        "read {path}: {column} {text} is unknown to lbolt {TOOL_VERSION}; a newer version may have \
         written it",
        path = shown(path).display()
    )]
    Unknown { path: PathBuf, column: &'static str, text: String },
}

/// Which lbolt reads a file of another version of the same schema.
fn remedy(found: &str, wanted: &str) -> String {
    let version = |schema: &str| {
        let (name, version) = schema.rsplit_once('/')?;
        Some((name.to_owned(), version.parse::<u32>().ok()?))
    };
    let (Some((name, found)), Some((known, wanted))) = (version(found), version(wanted)) else {
        return String::new();
    };
    match found.cmp(&wanted) {
        _ if name != known => String::new(),
        Ordering::Greater => "; use the newer lbolt that wrote it".into(),
        _ => format!("; lbolt {} and earlier read it", LAST_OF_EARLIER),
    }
}

/// The last version that reads what this one does not.
const LAST_OF_EARLIER: &str = "0.1";

pub(super) fn schema_of<R: Record>() -> Schema {
    let fields: Vec<Field> =
        R::columns().iter().map(|c| Field::new(c.name, c.kind.arrow(), c.nullable)).collect();
    Schema::new(fields)
}

fn build(kind: Kind, values: impl Iterator<Item = Value>) -> ArrayRef {
    /// A value of another kind cannot occur, its column made it.
    macro_rules! scalar {
        ($array:ty, $kind:ident) => {{
            let values = values.filter_map(|value| match value {
                Value::$kind(value) => Some(value),
                _ => None,
            });
            Arc::new(values.collect::<$array>())
        }};
    }
    match kind {
        Kind::U64 => scalar!(UInt64Array, U64),
        Kind::I64 => scalar!(Int64Array, I64),
        Kind::F64 => scalar!(Float64Array, F64),
        Kind::Text => scalar!(StringArray, Text),
        Kind::List => {
            let mut builder = ListBuilder::new(UInt64Builder::new()).with_field(Field::new(
                "item",
                DataType::UInt64,
                false,
            ));
            for value in values {
                if let Value::List(list) = value {
                    builder.values().append_slice(&list);
                    builder.append(true);
                }
            }
            Arc::new(builder.finish())
        }
    }
}

/// The values of a column of whatever program; none if they are not of this kind.
fn values_of(kind: Kind, array: &ArrayRef) -> Option<Vec<Value>> {
    let values = match kind {
        Kind::F64 if is_all_null(array) => vec![Value::F64(None); array.len()],
        Kind::Text if is_all_null(array) => vec![Value::Text(None); array.len()],
        Kind::List if array.is_empty() => Vec::new(),
        Kind::U64 => numbers::<UInt64Type>(array)?.iter().map(Value::U64).collect(),
        Kind::I64 => numbers::<Int64Type>(array)?.iter().map(Value::I64).collect(),
        Kind::F64 => array.as_primitive_opt::<Float64Type>()?.iter().map(Value::F64).collect(),
        Kind::Text => {
            let texts = array.as_string_opt::<i32>()?.iter();
            texts.map(|text| Value::Text(text.map(str::to_owned))).collect()
        }
        Kind::List => {
            let lists = array.as_list_opt::<i32>()?.iter();
            lists.map(|list| list_of(list?.as_ref())).collect::<Option<_>>()?
        }
    };
    Some(values)
}

fn list_of(array: &dyn Array) -> Option<Value> {
    let items = numbers::<UInt64Type>(array).filter(|items| items.null_count() == 0)?;
    Some(Value::List(items.values().to_vec()))
}

enum Refusal {
    Io(std::io::Error),
    Parquet(ParquetError),
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<ParquetError> for Refusal {
    fn from(error: ParquetError) -> Self {
        match said_by_the_file_system(error) {
            Ok(source) => Self::Io(source),
            Err(error) => Self::Parquet(error),
        }
    }
}

/// What the file system said, which reaches us through the library; else what the library did.
pub(crate) fn said_by_the_file_system(error: ParquetError) -> Result<std::io::Error, ParquetError> {
    match error {
        ParquetError::External(source) => match source.downcast() {
            Ok(source) => Ok(*source),
            Err(other) => Err(ParquetError::External(other)),
        },
        error => Err(error),
    }
}

/// Rows as columns.
pub(super) fn batch_of<R: Record>(rows: &[R]) -> Result<RecordBatch, ParquetError> {
    let columns = R::columns();
    let columns = columns.iter();
    let columns =
        columns.map(|column| build(column.kind, rows.iter().map(|row| (column.get)(row))));
    Ok(RecordBatch::try_new(Arc::new(schema_of::<R>()), columns.collect())?)
}

/// What a footer says: which schema, by which version, and what is added.
pub(super) fn key_values(
    schema: &str,
    more: BTreeMap<String, String>,
) -> impl Iterator<Item = KeyValue> {
    let own = [("lbolt.schema", schema), ("lbolt.version", TOOL_VERSION)];
    let own = own.map(|(key, value)| (key.to_owned(), value.to_owned()));
    own.into_iter().chain(more).map(|(key, value)| KeyValue::new(key, value))
}

/// Writes rows to a Parquet file, whole or not at all. `footer` is added to its key-value data.
/// Errors: what the file system or Parquet refuses.
pub fn write<R: Record>(
    path: &Path,
    rows: &[R],
    footer: &BTreeMap<String, String>,
) -> Result<(), RecordError> {
    let parquet = |source| RecordError::Parquet { path: path.to_owned(), source };
    let io = |source| RecordError::Io { action: "write", path: path.to_owned(), source };
    let batch = batch_of(rows).map_err(parquet)?;
    let schema = batch.schema();

    let key_values = key_values(R::SCHEMA, footer.clone()).collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(key_values))
        .build();

    let written = write_whole::<Refusal>(path, |file| {
        let mut writer = ArrowWriter::try_new(file, schema, Some(properties))?;
        writer.write(&batch)?;
        writer.close()?;
        Ok(())
    });
    written.map_err(|refusal| match refusal {
        Refusal::Io(source) => io(source),
        Refusal::Parquet(source) => parquet(source),
    })
}

/// Checks that a footer names one of these schemas, and says which; the first, of a file that
/// another program wrote anew and that has some of the columns.
pub(super) fn check_schema(
    input: &Input,
    known: &[&'static str],
    columns: &[&str],
) -> Result<&'static str, RecordError> {
    let wanted = known.first().copied().unwrap_or_default();
    let refused = |found| RecordError::Schema { path: input.path().to_owned(), found, wanted };
    match input.footer().remove("lbolt.schema") {
        Some(found) => {
            let position = known.iter().position(|known| *known == found);
            position.map(|position| known[position]).ok_or_else(|| refused(found))
        }
        None if columns.iter().any(|column| input.has_column(column)) => Ok(wanted),
        None => Err(refused("no lbolt schema".into())),
    }
}

/// Reads all rows of a file of this record kind.
/// Errors: a file that is not there, not Parquet, of another schema or version, or damaged.
pub fn read<R: Record>(path: &Path) -> Result<Vec<R>, RecordError> {
    read_input(&Input::open(path, &[])?)
}

/// The same of bytes in memory; `path` is what errors call them.
/// Errors: as of [`read`].
pub fn read_bytes<R: Record>(path: &Path, bytes: Bytes) -> Result<Vec<R>, RecordError> {
    read_input(&Input::of_bytes(path, bytes, &[])?)
}

fn read_input<R: Record>(input: &Input) -> Result<Vec<R>, RecordError> {
    read_within(input, memory_of(input.length()))
}

/// The most memory that the rows of a file of so many bytes may take.
fn memory_of(length: u64) -> u64 {
    MEMORY_BYTES.max(length.saturating_mul(MEMORY_OF_BYTE))
}

/// Reads all rows if they take no more than so much memory.
fn read_within<R: Record>(input: &Input, most: u64) -> Result<Vec<R>, RecordError> {
    let columns = columns_of::<R>(input)?;
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    let told = u64::try_from(input.metadata().file_metadata().num_rows()).unwrap_or(u64::MAX);
    let check = |memory: u64| match memory <= most {
        true => Ok(()),
        false => Err(too_large(input, told, most)),
    };
    let mut memory = told.saturating_mul(size_of::<R>() as u64);
    check(memory)?;
    let groups = 0..input.metadata().num_row_groups();
    let mut batches = input.batches(groups, &names, BATCH_ROWS)?;
    let mut rows = Vec::new();
    while let Some(batch) = batches.next()? {
        memory = memory.saturating_add(batch.get_array_memory_size() as u64);
        check(memory)?;
        rows.extend(rows_of::<R>(&batch, &columns, input.path())?);
    }
    Ok(rows)
}

fn too_large(input: &Input, rows: u64, most: u64) -> RecordError {
    let length = input.length();
    let problem = format!("its {rows} rows take more than {most} bytes, and it has {length}");
    RecordError::Damaged { path: input.path().to_owned(), problem }
}

/// The columns of the version that wrote a file; all of them are in it.
fn columns_of<R: Record>(input: &Input) -> Result<Vec<Column<R>>, RecordError> {
    let (earlier, of_earlier) = R::earlier();
    let names: Vec<&str> = R::columns().iter().map(|column| column.name).collect();
    let mut columns = match check_schema(input, &[R::SCHEMA, earlier], &names)? {
        found if found == earlier => of_earlier,
        _ => R::columns(),
    };
    columns.retain(|column| input.has_column(column.name) || !R::LATER.contains(&column.name));
    match columns.iter().find(|column| !input.has_column(column.name)) {
        Some(Column { name: column, why, .. }) => {
            Err(RecordError::Missing { path: input.path().to_owned(), column, why })
        }
        None => Ok(columns),
    }
}

fn rows_of<R: Record>(
    batch: &RecordBatch,
    columns: &[Column<R>],
    path: &Path,
) -> Result<Vec<R>, RecordError> {
    let mut rows = vec![R::default(); batch.num_rows()];
    for column in columns {
        let misfit = || misfit(column, path);
        let array = batch.column_by_name(column.name).ok_or_else(misfit)?;
        let values = values_of(column.kind, array).ok_or_else(misfit)?;
        for (number, (row, value)) in rows.iter_mut().zip(values).enumerate() {
            if !(column.set)(row, value) {
                return Err(unknown(column, array, number, path).unwrap_or_else(misfit));
            }
        }
    }
    Ok(rows)
}

pub(super) fn misfit<R>(column: &Column<R>, path: &Path) -> RecordError {
    let (path, wanted) = (path.to_owned(), column.kind.name().to_owned());
    RecordError::Column { path, column: column.name, wanted }
}

/// Why a column's text is refused; none where it is no text, or empty.
fn unknown<R>(
    column: &Column<R>,
    array: &ArrayRef,
    row: usize,
    path: &Path,
) -> Option<RecordError> {
    let texts = array.as_string_opt::<i32>()?;
    let text = (!texts.is_null(row)).then(|| texts.value(row)).filter(|text| !text.is_empty())?;
    let text = text.chars().take(QUOTED_CHARS).collect();
    Some(RecordError::Unknown { path: path.to_owned(), column: column.name, text })
}

#[cfg(test)]
mod tests;

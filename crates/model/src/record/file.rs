//! Records to Parquet and back. A file is written beside its final name and
//! renamed over it, so that a crash leaves the last whole version.
//!
//! Non-goals: streaming of millions of rows (samples and findings are thousands).

use super::column::{Column, Kind, Record, Value};
use super::input::{Input, numbers};
use crate::whole_file::write_whole;
use arrow_array::builder::{
    ArrayBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder, UInt64Builder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
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

/// Why records were not read or written. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum RecordError {
    #[error("{action} {path}: {source}")]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("write {path} as Parquet: {source}")]
    Parquet { path: PathBuf, source: parquet::errors::ParquetError },
    /// Not Parquet, not whole, or damaged.
    #[error(
        "read {path}: {problem}; if it is to be Parquet it is damaged or not whole: take another \
         copy"
    )]
    Damaged { path: PathBuf, problem: String },
    #[error("read {path}: it holds {found}, not {wanted}{}", remedy(found, wanted))]
    Schema { path: PathBuf, found: String, wanted: &'static str },
    /// A column without which the rows tell nothing, or something else.
    #[error(
        "read {path}: it has no column {column} ({why}); keep it when the file is written anew"
    )]
    Missing { path: PathBuf, column: &'static str, why: &'static str },
    #[error("read {path}: column {column} holds something else than {wanted}")]
    Column { path: PathBuf, column: &'static str, wanted: String },
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
        Ordering::Greater => "; a newer lbolt wrote it, which reads it".into(),
        _ => format!("; lbolt {} and earlier read it", LAST_OF_EARLIER),
    }
}

/// The last version that reads what this one does not.
const LAST_OF_EARLIER: &str = "0.1";

fn schema_of<R: Record>() -> Schema {
    let fields: Vec<Field> =
        R::columns().iter().map(|c| Field::new(c.name, c.kind.arrow(), c.nullable)).collect();
    Schema::new(fields)
}

fn build(kind: Kind, values: impl Iterator<Item = Value>) -> ArrayRef {
    /// One builder a kind; a value of another kind cannot occur, its column made it.
    macro_rules! scalar {
        ($builder:expr, $variant:ident) => {{
            let mut builder = $builder;
            for value in values {
                if let Value::$variant(value) = value {
                    builder.append_option(value);
                }
            }
            ArrayBuilder::finish(&mut builder)
        }};
    }
    match kind {
        Kind::U64 => scalar!(UInt64Builder::new(), U64),
        Kind::I64 => scalar!(Int64Builder::new(), I64),
        Kind::F64 => scalar!(Float64Builder::new(), F64),
        Kind::Text => scalar!(StringBuilder::new(), Text),
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
            ArrayBuilder::finish(&mut builder)
        }
    }
}

/// The values of a column of whatever program; none if they are not of this kind.
fn values_of(kind: Kind, array: &ArrayRef) -> Option<Vec<Value>> {
    let values = match kind {
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
    Parquet(parquet::errors::ParquetError),
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<parquet::errors::ParquetError> for Refusal {
    fn from(error: parquet::errors::ParquetError) -> Self {
        match error {
            // What the file system said reaches us through the library.
            parquet::errors::ParquetError::External(source) => match source.downcast() {
                Ok(source) => Self::Io(*source),
                Err(other) => Self::Parquet(parquet::errors::ParquetError::External(other)),
            },
            error => Self::Parquet(error),
        }
    }
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
    let columns = R::columns()
        .iter()
        .map(|column| build(column.kind, rows.iter().map(|row| (column.get)(row))))
        .collect();
    let schema = Arc::new(schema_of::<R>());
    let batch = RecordBatch::try_new(schema.clone(), columns).map_err(|e| parquet(e.into()))?;

    let own = [("lbolt.schema", R::SCHEMA), ("lbolt.version", TOOL_VERSION)];
    let key_values = own
        .into_iter()
        .map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned()))
        .chain(footer.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())))
        .collect();
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
    let (earlier, of_earlier) = R::earlier();
    let names: Vec<&str> = R::columns().iter().map(|column| column.name).collect();
    let columns = match check_schema(input, &[R::SCHEMA, earlier], &names)? {
        found if found == earlier => of_earlier,
        _ => R::columns(),
    };
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    for column in &columns {
        if !input.has_column(column.name) {
            let path = input.path().to_owned();
            return Err(RecordError::Missing { path, column: column.name, why: column.why });
        }
    }
    // Each row has values of its own, however small they are when compressed; a footer may tell of
    // any number.
    let told = input.metadata().file_metadata().num_rows();
    if !u64::try_from(told).is_ok_and(|told| told <= input.length()) {
        let problem = format!("its footer tells of {told} rows in {} bytes", input.length());
        return Err(RecordError::Damaged { path: input.path().to_owned(), problem });
    }
    let groups = 0..input.metadata().num_row_groups();
    let mut batches = input.batches(groups, &names, BATCH_ROWS)?;
    let mut rows = Vec::new();
    while let Some(batch) = batches.next()? {
        rows.extend(rows_of::<R>(&batch, &columns, input.path())?);
    }
    Ok(rows)
}

fn rows_of<R: Record>(
    batch: &RecordBatch,
    columns: &[Column<R>],
    path: &Path,
) -> Result<Vec<R>, RecordError> {
    let mut rows = vec![R::default(); batch.num_rows()];
    for column in columns {
        let misfit = || RecordError::Column {
            path: path.to_owned(),
            column: column.name,
            wanted: column.kind.name().to_owned(),
        };
        let array = batch.column_by_name(column.name).ok_or_else(misfit)?;
        let values = values_of(column.kind, array).ok_or_else(misfit)?;
        for (row, value) in rows.iter_mut().zip(values) {
            if !(column.set)(row, value) {
                return Err(misfit());
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests;

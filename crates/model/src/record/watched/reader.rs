//! Watched rows from Parquet, a batch of columns at a time: a row is lent and not made, for a year
//! has millions of them.
//!
//! Non-goals: which files there are (`crate::history`).

use super::{Watched, WatchedKey, Watching};
use crate::named::Named as _;
use crate::record::RecordError;
use crate::record::column::Record as _;
use crate::record::file::{check_schema, misfit};
use crate::record::input::{Input, numbers};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, PrimitiveArray, RecordBatch, StringArray};
use parquet::file::statistics::Statistics;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// Rows that are read at once: with more, their histograms fall out of the caches.
const BATCH_ROWS: usize = 512;

/// Columns of words.
const WORDS: [&str; 7] =
    ["watching", "device", "operation", "role", "file_system", "file", "cause"];

/// The column of files' names, which few want.
const FILE: &str = "file";

/// A row that is lent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct WatchedRow<'a> {
    pub from_unix_ns: i64,
    pub until_unix_ns: i64,
    pub watching: Watching,
    pub device: Option<&'a str>,
    pub operation: &'a str,
    pub role: Option<&'a str>,
    pub file_system: Option<&'a str>,
    pub file: Option<&'a str>,
    pub cause: Option<&'a str>,
    pub count: u64,
    pub bytes: u64,
    pub failed: u64,
    pub sum_ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub lost_ns: f64,
    pub buckets: &'a [u64],
    pub counts: &'a [u64],
}

impl WatchedRow<'_> {
    /// What it is of, whenever.
    pub fn key(&self) -> WatchedKey {
        WatchedKey {
            watching: self.watching,
            device: self.device.map(str::to_owned),
            operation: self.operation.to_owned(),
            role: self.role.map(str::to_owned),
            file_system: self.file_system.map(str::to_owned),
            file: self.file.map(str::to_owned),
            cause: self.cause.map(str::to_owned),
        }
    }

    /// The row as one's own.
    pub fn to_watched(&self) -> Watched {
        let times = Watched::of(self.key(), self.from_unix_ns, self.until_unix_ns);
        Watched {
            count: self.count,
            bytes: self.bytes,
            failed: self.failed,
            sum_ns: self.sum_ns,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            lost_ns: self.lost_ns,
            buckets: self.buckets.to_vec(),
            counts: self.counts.to_vec(),
            ..times
        }
    }
}

impl Watched {
    /// The row, lent.
    pub fn lent(&self) -> WatchedRow<'_> {
        WatchedRow {
            from_unix_ns: self.from_unix_ns,
            until_unix_ns: self.until_unix_ns,
            watching: self.watching,
            device: self.device.as_deref(),
            operation: &self.operation,
            role: self.role.as_deref(),
            file_system: self.file_system.as_deref(),
            file: self.file.as_deref(),
            cause: self.cause.as_deref(),
            count: self.count,
            bytes: self.bytes,
            failed: self.failed,
            sum_ns: self.sum_ns,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            lost_ns: self.lost_ns,
            buckets: &self.buckets,
            counts: &self.counts,
        }
    }
}

/// A file of watched rows that is open: it can be read even when its name is gone.
#[derive(Debug, Clone)]
pub struct WatchedFile {
    input: Input,
}

impl WatchedFile {
    /// Opens a file.
    /// Errors: a file that is not there, not Parquet, of another schema or version, without one of
    /// the columns, or damaged.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let input = Input::open(path, &WORDS)?;
        let columns = Watched::columns();
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        check_schema(&input, &[Watched::SCHEMA], &names)?;
        match columns.iter().find(|column| !input.has_column(column.name)) {
            Some(column) => Err(RecordError::Missing {
                path: path.to_owned(),
                column: column.name,
                why: column.why,
            }),
            None => Ok(Self { input }),
        }
    }

    /// The key-value data of its footer.
    pub fn footer(&self) -> BTreeMap<String, String> {
        self.input.footer()
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> u64 {
        self.input.length()
    }

    /// How many rows it has.
    pub fn rows(&self) -> u64 {
        u64::try_from(self.input.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// How many groups of rows it has: the parts that can be read by themselves.
    pub fn groups(&self) -> usize {
        self.input.metadata().num_row_groups()
    }

    /// From when until when the rows of a group are, by the file's statistics; none where they do
    /// not tell.
    pub fn span(&self, group: usize) -> Option<(i64, i64)> {
        let from = self.bounds(group, "from_unix_ns")?.0;
        Some((from, self.bounds(group, "until_unix_ns")?.1))
    }

    fn bounds(&self, group: usize, column: &str) -> Option<(i64, i64)> {
        let group = self.input.metadata().row_groups().get(group)?;
        let found = group.columns().iter().find(|c| c.column_path().string() == column)?;
        match found.statistics()? {
            Statistics::Int64(of) => Some((*of.min_opt()?, *of.max_opt()?)),
            _ => None,
        }
    }

    /// Reads the rows of some groups; without the names of files, where nobody wants them.
    /// Errors: what is damaged, or no row of this record.
    pub fn each(
        &self,
        groups: Range<usize>,
        with_files: bool,
        mut take: impl FnMut(&WatchedRow<'_>),
    ) -> Result<(), RecordError> {
        let columns = Watched::columns();
        let names = columns.iter().map(|column| column.name);
        let names: Vec<&str> = names.filter(|name| with_files || *name != FILE).collect();
        let mut batches = self.input.batches(groups, &names, BATCH_ROWS)?;
        while let Some(batch) = batches.next()? {
            let columns = Columns::of(&batch, self.input.path())?;
            (0..batch.num_rows()).for_each(|place| take(&columns.row(place)));
        }
        Ok(())
    }
}

/// The columns of a batch.
struct Columns<'a> {
    watching: (PrimitiveArray<Int32Type>, Vec<Watching>),
    words: [Words<'a>; 5],
    file: Option<Words<'a>>,
    times: [PrimitiveArray<Int64Type>; 2],
    numbers: [PrimitiveArray<UInt64Type>; 6],
    lost_ns: PrimitiveArray<Float64Type>,
    lists: [Lists; 2],
}

impl<'a> Columns<'a> {
    fn of(batch: &'a RecordBatch, path: &'a Path) -> Result<Self, RecordError> {
        let from = Batch { batch, path };
        let watching = from.words("watching")?;
        let kinds = (0..watching.words.len()).map(|place| {
            Watching::from_name(watching.words.value(place)).ok_or_else(|| RecordError::Unknown {
                path: path.to_owned(),
                column: "watching",
                text: watching.words.value(place).chars().take(80).collect(),
            })
        });
        let kinds = kinds.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            watching: (watching.keys.clone(), kinds),
            words: [
                from.words("device")?,
                from.every_word("operation")?,
                from.words("role")?,
                from.words("file_system")?,
                from.words("cause")?,
            ],
            file: batch.column_by_name(FILE).map(|_| from.words(FILE)).transpose()?,
            times: [from.numbers("from_unix_ns")?, from.numbers("until_unix_ns")?],
            numbers: [
                from.numbers("count")?,
                from.numbers("bytes")?,
                from.numbers("failed")?,
                from.numbers("sum_ns")?,
                from.numbers("min_ns")?,
                from.numbers("max_ns")?,
            ],
            lost_ns: from.doubles("lost_ns")?,
            lists: [from.lists("buckets")?, from.lists("counts")?],
        })
    }

    fn row(&self, place: usize) -> WatchedRow<'_> {
        let (keys, kinds) = &self.watching;
        let kind = usize::try_from(keys.value(place)).ok().and_then(|key| kinds.get(key));
        let [device, operation, role, file_system, cause] = &self.words;
        let number = |column: usize| self.numbers[column].value(place);
        WatchedRow {
            from_unix_ns: self.times[0].value(place),
            until_unix_ns: self.times[1].value(place),
            watching: kind.copied().unwrap_or_default(),
            device: device.at(place),
            operation: operation.at(place).unwrap_or_default(),
            role: role.at(place),
            file_system: file_system.at(place),
            file: self.file.as_ref().and_then(|file| file.at(place)),
            cause: cause.at(place),
            count: number(0),
            bytes: number(1),
            failed: number(2),
            sum_ns: number(3),
            min_ns: number(4),
            max_ns: number(5),
            lost_ns: self.lost_ns.value(place),
            buckets: self.lists[0].at(place),
            counts: self.lists[1].at(place),
        }
    }
}

/// A column of words, as keys of a table.
struct Words<'a> {
    keys: &'a PrimitiveArray<Int32Type>,
    words: &'a StringArray,
}

impl Words<'_> {
    fn at(&self, place: usize) -> Option<&str> {
        if self.keys.is_null(place) {
            return None;
        }
        let key = usize::try_from(self.keys.value(place)).ok()?;
        (key < self.words.len() && !self.words.is_null(key)).then(|| self.words.value(key))
    }
}

/// A column of lists.
struct Lists {
    offsets: Vec<usize>,
    items: PrimitiveArray<UInt64Type>,
}

impl Lists {
    fn at(&self, place: usize) -> &[u64] {
        let ends = self.offsets.get(place).zip(self.offsets.get(place + 1));
        ends.and_then(|(from, to)| self.items.values().get(*from..*to)).unwrap_or_default()
    }
}

struct Batch<'a> {
    batch: &'a RecordBatch,
    path: &'a Path,
}

impl<'a> Batch<'a> {
    fn misfit(&self, name: &'static str) -> RecordError {
        let column = Watched::columns().into_iter().find(|column| column.name == name);
        let wanted = column.as_ref().map_or(String::new(), |c| c.kind.name().to_owned());
        column.map_or_else(
            || RecordError::Column { path: self.path.to_owned(), column: name, wanted },
            |column| misfit(&column, self.path),
        )
    }

    fn array(&self, name: &'static str) -> Result<&'a dyn Array, RecordError> {
        let array = self.batch.column_by_name(name).ok_or_else(|| self.misfit(name))?;
        Ok(array.as_ref())
    }

    fn words(&self, name: &'static str) -> Result<Words<'a>, RecordError> {
        let keyed = self.array(name)?.as_dictionary_opt::<Int32Type>();
        let keyed = keyed.ok_or_else(|| self.misfit(name))?;
        let words = keyed.values().as_any().downcast_ref().ok_or_else(|| self.misfit(name))?;
        Ok(Words { keys: keyed.keys(), words })
    }

    fn every_word(&self, name: &'static str) -> Result<Words<'a>, RecordError> {
        let words = self.words(name)?;
        if words.keys.null_count() > 0 { Err(self.misfit(name)) } else { Ok(words) }
    }

    fn numbers<T>(&self, name: &'static str) -> Result<PrimitiveArray<T>, RecordError>
    where
        T: ArrowPrimitiveType,
        T::Native: TryFrom<i128>,
    {
        let array = numbers::<T>(self.array(name)?).filter(|array| array.null_count() == 0);
        array.ok_or_else(|| self.misfit(name))
    }

    fn doubles(&self, name: &'static str) -> Result<PrimitiveArray<Float64Type>, RecordError> {
        let array = self.array(name)?.as_primitive_opt::<Float64Type>();
        let array = array.filter(|array| array.null_count() == 0);
        array.cloned().ok_or_else(|| self.misfit(name))
    }

    fn lists(&self, name: &'static str) -> Result<Lists, RecordError> {
        let misfit = || self.misfit(name);
        let lists = self.array(name)?.as_list_opt::<i32>().ok_or_else(misfit)?;
        let items = numbers::<UInt64Type>(lists.values());
        let items = items.filter(|items| items.null_count() == 0).ok_or_else(misfit)?;
        let offset = |offset: &i32| usize::try_from(*offset).ok();
        let offsets = lists.offsets().iter().map(offset).collect::<Option<_>>();
        Ok(Lists { offsets: offsets.ok_or_else(misfit)?, items })
    }
}

//! Rollup rows from Parquet, a batch of columns at a time: a row is lent and not made, for a year
//! has millions of them.
//!
//! Non-goals: which files there are (`crate::history`).

use super::{Counted, Rollup, RollupKey, RollupLevel, WORDS};
use crate::named::Named;
use crate::record::RecordError;
use crate::record::column::{Column, Record as _};
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

/// The version before: what it called a column, and what it had not. Its `lost_ns` is a double.
const EARLIER: &str = "lbolt.watched/1";
const COUNTED_EARLIER: &str = "watching";
const NEW: [&str; 4] = ["host", "run", "part", "level"];
/// What files of this version may not have: it came later.
const LATER: [&str; 6] = ["class", "model", "estimated_ns", "lost_us2", "calm_count", "calm_ns"];

/// A row that is lent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct RollupRow<'a> {
    pub host: Option<&'a str>,
    pub run: Option<&'a str>,
    pub part: Option<&'a str>,
    pub level: RollupLevel,
    pub from_unix_ns: i64,
    pub until_unix_ns: i64,
    pub counted: Counted,
    pub device: Option<&'a str>,
    pub operation: &'a str,
    pub role: Option<&'a str>,
    pub file_system: Option<&'a str>,
    pub file: Option<&'a str>,
    pub cause: Option<&'a str>,
    pub class: Option<&'a str>,
    pub model: Option<&'a str>,
    pub count: u64,
    pub bytes: u64,
    pub failed: u64,
    pub sum_ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub lost_ns: i64,
    pub estimated_ns: i64,
    pub lost_us2: i64,
    pub calm_count: i64,
    pub calm_ns: i64,
    pub buckets: &'a [u64],
    pub counts: &'a [u64],
}

impl RollupRow<'_> {
    /// What it is of, whenever.
    pub fn key(&self) -> RollupKey {
        RollupKey {
            host: self.host.map(str::to_owned),
            run: self.run.map(str::to_owned),
            part: self.part.map(str::to_owned),
            counted: self.counted,
            device: self.device.map(str::to_owned),
            operation: self.operation.to_owned(),
            role: self.role.map(str::to_owned),
            file_system: self.file_system.map(str::to_owned),
            file: self.file.map(str::to_owned),
            cause: self.cause.map(str::to_owned),
            class: self.class.map(str::to_owned),
            model: self.model.map(str::to_owned),
        }
    }

    /// The row as one's own.
    pub fn to_rollup(&self) -> Rollup {
        let times = Rollup::of(self.key(), self.from_unix_ns, self.until_unix_ns);
        Rollup {
            level: self.level,
            count: self.count,
            bytes: self.bytes,
            failed: self.failed,
            sum_ns: self.sum_ns,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            lost_ns: self.lost_ns,
            estimated_ns: self.estimated_ns,
            lost_us2: self.lost_us2,
            calm_count: self.calm_count,
            calm_ns: self.calm_ns,
            buckets: self.buckets.to_vec(),
            counts: self.counts.to_vec(),
            ..times
        }
    }
}

impl Rollup {
    /// The row, lent.
    pub fn lent(&self) -> RollupRow<'_> {
        RollupRow {
            host: self.host.as_deref(),
            run: self.run.as_deref(),
            part: self.part.as_deref(),
            level: self.level,
            from_unix_ns: self.from_unix_ns,
            until_unix_ns: self.until_unix_ns,
            counted: self.counted,
            device: self.device.as_deref(),
            operation: &self.operation,
            role: self.role.as_deref(),
            file_system: self.file_system.as_deref(),
            file: self.file.as_deref(),
            cause: self.cause.as_deref(),
            class: self.class.as_deref(),
            model: self.model.as_deref(),
            count: self.count,
            bytes: self.bytes,
            failed: self.failed,
            sum_ns: self.sum_ns,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            lost_ns: self.lost_ns,
            estimated_ns: self.estimated_ns,
            lost_us2: self.lost_us2,
            calm_count: self.calm_count,
            calm_ns: self.calm_ns,
            buckets: &self.buckets,
            counts: &self.counts,
        }
    }
}

/// A file of rollup rows that is open: it can be read even when its name is gone.
#[derive(Debug, Clone)]
pub struct RollupFile {
    input: Input,
    is_earlier: bool,
}

impl RollupFile {
    /// Opens a file.
    /// Errors: a file that is not there, not Parquet, of another schema or version, without one of
    /// the columns, or damaged.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let words = [&WORDS[..], &[COUNTED_EARLIER]].concat();
        let input = Input::open(path, &words)?;
        let columns = Rollup::columns();
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        let is_earlier = check_schema(&input, &[Rollup::SCHEMA, EARLIER], &names)? == EARLIER;
        let missing = |column: &&Column<Rollup>| {
            let may_be = LATER.contains(&column.name) || is_earlier && NEW.contains(&column.name);
            !may_be && !input.has_column(name_of(column.name, is_earlier))
        };
        match columns.iter().find(missing) {
            Some(column) => Err(RecordError::Missing {
                path: path.to_owned(),
                column: column.name,
                why: column.why,
            }),
            None => Ok(Self { input, is_earlier }),
        }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        self.input.path()
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
        match self.statistics(group, column)? {
            Statistics::Int64(of) => Some((*of.min_opt()?, *of.max_opt()?)),
            _ => None,
        }
    }

    /// The kind of all rows of a group, by the file's statistics; none where there are several.
    pub fn only_kind(&self, group: usize) -> Option<Counted> {
        let column = name_of("counted", self.is_earlier);
        let Statistics::ByteArray(of) = self.statistics(group, column)? else { return None };
        let (least, greatest) = (of.min_opt()?, of.max_opt()?);
        (least == greatest).then(|| Counted::from_name(least.as_utf8().ok()?)).flatten()
    }

    fn statistics(&self, group: usize, column: &str) -> Option<&Statistics> {
        let group = self.input.metadata().row_groups().get(group)?;
        let found = group.columns().iter().find(|c| c.column_path().string() == column)?;
        found.statistics()
    }

    /// Whether a column of words is null in all rows of a group, by the file's statistics: reading
    /// it would take as long as any.
    fn is_null(&self, group: usize, column: &str) -> bool {
        let rows = self.input.metadata().row_groups().get(group).map(|group| group.num_rows());
        let nulls = self.statistics(group, column).and_then(Statistics::null_count_opt);
        nulls.is_some() && nulls == rows.and_then(|rows| u64::try_from(rows).ok())
    }

    /// Reads the rows of some groups, without some columns that may be left out: words but for what
    /// is counted and the operation, and those that came later.
    /// Errors: what is damaged, or no row of this record.
    pub fn each(
        &self,
        groups: Range<usize>,
        without: &[&str],
        mut take: impl FnMut(&RollupRow<'_>),
    ) -> Result<(), RecordError> {
        let columns = Rollup::columns();
        let is_left_out = |name: &str| {
            without.contains(&name)
                || self.is_earlier && NEW.contains(&name)
                || LATER.contains(&name) && !self.input.has_column(name)
                || groups.clone().all(|group| self.is_null(group, name))
        };
        let names = columns.iter().map(|column| column.name).filter(|name| !is_left_out(name));
        let names: Vec<&str> = names.map(|name| name_of(name, self.is_earlier)).collect();
        let mut batches = self.input.batches(groups, &names, BATCH_ROWS)?;
        while let Some(batch) = batches.next()? {
            let columns = Columns::of(&batch, self.input.path(), self.is_earlier)?;
            (0..batch.num_rows()).for_each(|place| take(&columns.row(place)));
        }
        Ok(())
    }
}

/// What a column is called in a file.
fn name_of(name: &'static str, is_earlier: bool) -> &'static str {
    if is_earlier && name == "counted" { COUNTED_EARLIER } else { name }
}

/// The columns of a batch.
struct Columns<'a> {
    counted: (&'a Keys, Vec<Counted>),
    level: Option<(&'a Keys, Vec<RollupLevel>)>,
    operation: Words<'a>,
    /// Those that may not be there: host, run, part, device, role, file system, file, cause, class,
    /// model.
    others: [Option<Words<'a>>; 10],
    times: [PrimitiveArray<Int64Type>; 2],
    numbers: [PrimitiveArray<UInt64Type>; 6],
    lost_ns: PrimitiveArray<Int64Type>,
    /// Those that came later, but for the words.
    later: [Option<PrimitiveArray<Int64Type>>; 4],
    lists: [Lists; 2],
}

type Keys = PrimitiveArray<Int32Type>;

impl<'a> Columns<'a> {
    fn of(batch: &'a RecordBatch, path: &'a Path, is_earlier: bool) -> Result<Self, RecordError> {
        let from = Batch { batch, path };
        let has = |name: &str| batch.column_by_name(name).is_some();
        let other = |name| has(name).then(|| from.words(name)).transpose();
        let later = |name| has(name).then(|| from.numbers(name)).transpose();
        Ok(Self {
            counted: from.values(name_of("counted", is_earlier))?,
            level: has("level").then(|| from.values("level")).transpose()?,
            operation: from.every_word("operation")?,
            others: [
                other("host")?,
                other("run")?,
                other("part")?,
                other("device")?,
                other("role")?,
                other("file_system")?,
                other("file")?,
                other("cause")?,
                other("class")?,
                other("model")?,
            ],
            times: [from.numbers("from_unix_ns")?, from.numbers("until_unix_ns")?],
            numbers: [
                from.numbers("count")?,
                from.numbers("bytes")?,
                from.numbers("failed")?,
                from.numbers("sum_ns")?,
                from.numbers("min_ns")?,
                from.numbers("max_ns")?,
            ],
            lost_ns: match is_earlier {
                true => from.doubles("lost_ns")?.unary(|ns| ns.round() as i64),
                false => from.numbers("lost_ns")?,
            },
            later: [
                later("estimated_ns")?,
                later("lost_us2")?,
                later("calm_count")?,
                later("calm_ns")?,
            ],
            lists: [from.lists("buckets")?, from.lists("counts")?],
        })
    }

    fn row(&self, place: usize) -> RollupRow<'_> {
        let [host, run, part, device, role, file_system, file, cause, class, model] =
            self.others.each_ref().map(|words| words.as_ref().and_then(|words| words.at(place)));
        let number = |column: usize| self.numbers[column].value(place);
        let later = |column: usize| self.later[column].as_ref().map_or(0, |of| of.value(place));
        RollupRow {
            host,
            run,
            part,
            level: self.level.as_ref().map_or_else(Default::default, |level| at(level, place)),
            from_unix_ns: self.times[0].value(place),
            until_unix_ns: self.times[1].value(place),
            counted: at(&self.counted, place),
            device,
            operation: self.operation.at(place).unwrap_or_default(),
            role,
            file_system,
            file,
            cause,
            class,
            model,
            count: number(0),
            bytes: number(1),
            failed: number(2),
            sum_ns: number(3),
            min_ns: number(4),
            max_ns: number(5),
            lost_ns: self.lost_ns.value(place),
            estimated_ns: later(0),
            lost_us2: later(1),
            calm_count: later(2),
            calm_ns: later(3),
            buckets: self.lists[0].at(place),
            counts: self.lists[1].at(place),
        }
    }
}

/// A value of a column whose words are those of an enum.
fn at<T: Copy + Default>((keys, values): &(&Keys, Vec<T>), place: usize) -> T {
    let value = usize::try_from(keys.value(place)).ok().and_then(|key| values.get(key));
    value.copied().unwrap_or_default()
}

/// A column of words, as keys of a table.
struct Words<'a> {
    keys: &'a Keys,
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
        let column = Rollup::columns().into_iter().find(|column| column.name == name);
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

    /// A column whose words are those of an enum.
    fn values<T: Named>(&self, name: &'static str) -> Result<(&'a Keys, Vec<T>), RecordError> {
        let of = self.every_word(name)?;
        let values = (0..of.words.len()).map(|place| {
            T::from_name(of.words.value(place)).ok_or_else(|| RecordError::Unknown {
                path: self.path.to_owned(),
                column: name,
                text: of.words.value(place).chars().take(80).collect(),
            })
        });
        Ok((of.keys, values.collect::<Result<Vec<_>, _>>()?))
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

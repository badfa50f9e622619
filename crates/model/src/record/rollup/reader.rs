//! Rollup rows from Parquet, a batch of columns at a time: a row is lent and not made, for a year
//! has millions of them.
//!
//! Non-goals: which files there are (`crate::history`).

use super::{Batch, Counted, Rollup, RollupRow};
use crate::named::Named;
use crate::record::RecordError;
use crate::record::column::{Column, Kind, Record as _};
use crate::record::file::check_schema;
use crate::record::input::{Input, numbers};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, StringArray};
use parquet::file::statistics::Statistics;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Rows that are read at once: with more, their histograms fall out of the caches.
const BATCH_ROWS: usize = 512;

/// The version before: what it called a column, which one is a double, and what it had not.
const EARLIER: &str = "lbolt.watched/1";
const COUNTED_EARLIER: &str = "watching";
const LOST: &str = "lost_ns";
const NEW: [&str; 4] = ["host", "run", "part", "level"];
/// What files of this version may not have: it came later.
const LATER: [&str; 7] =
    ["cgroup", "class", "model", "estimated_ns", "lost_us2", "calm_count", "calm_ns"];

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
        let words = [super::words(), vec![COUNTED_EARLIER]].concat();
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
        self.input.rows()
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
        match self.input.statistics(group, column)? {
            Statistics::Int64(of) => Some((*of.min_opt()?, *of.max_opt()?)),
            _ => None,
        }
    }

    /// The kind of all rows of a group, by the file's statistics; none where there are several.
    pub fn only_kind(&self, group: usize) -> Option<Counted> {
        let column = name_of("counted", self.is_earlier);
        let Statistics::ByteArray(of) = self.input.statistics(group, column)? else { return None };
        let (least, greatest) = (of.min_opt()?, of.max_opt()?);
        (least == greatest).then(|| Counted::from_name(least.as_utf8().ok()?)).flatten()
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
                // Reading it would take as long as any.
                || groups.clone().all(|group| self.input.is_null(group, name))
        };
        let names = columns.iter().map(|column| column.name).filter(|name| !is_left_out(name));
        let names: Vec<&str> = names.map(|name| name_of(name, self.is_earlier)).collect();
        let mut batches = self.input.batches(groups, &names, BATCH_ROWS)?;
        while let Some(batch) = batches.next()? {
            let (path, is_earlier) = (self.input.path(), self.is_earlier);
            let columns = Batch::of(&Source { batch: &batch, path, is_earlier })?;
            (0..batch.num_rows()).for_each(|place| take(&columns.row(place)));
        }
        Ok(())
    }
}

/// What a column is called in a file.
fn name_of(name: &'static str, is_earlier: bool) -> &'static str {
    if is_earlier && name == "counted" { COUNTED_EARLIER } else { name }
}

/// A batch of a file.
pub(super) struct Source<'a> {
    batch: &'a RecordBatch,
    path: &'a Path,
    is_earlier: bool,
}

impl<'a> Source<'a> {
    fn misfit(&self, name: &'static str) -> RecordError {
        let columns = Rollup::columns();
        let kind = columns.iter().find(|column| column.name == name).map(|column| column.kind);
        RecordError::Column {
            path: self.path.to_owned(),
            column: name_of(name, self.is_earlier),
            wanted: kind.map_or("", Kind::name).to_owned(),
        }
    }

    fn array(&self, name: &'static str) -> Result<&'a dyn Array, RecordError> {
        let array = self.batch.column_by_name(name_of(name, self.is_earlier));
        array.map(AsRef::as_ref).ok_or_else(|| self.misfit(name))
    }
}

/// A column of a batch: how it is taken out of the batch, and what a row has of it.
pub(super) trait Cells<'a>: Sized {
    type Value<'v>: Default
    where
        Self: 'v;
    fn of(source: &Source<'a>, name: &'static str) -> Result<Self, RecordError>;
    fn at(&self, place: usize) -> Self::Value<'_>;
}

/// A column that may not be there.
impl<'a, C: Cells<'a>> Cells<'a> for Option<C> {
    type Value<'v>
        = C::Value<'v>
    where
        Self: 'v;

    fn of(source: &Source<'a>, name: &'static str) -> Result<Self, RecordError> {
        let is_there = source.batch.column_by_name(name).is_some();
        is_there.then(|| C::of(source, name)).transpose()
    }

    #[inline]
    fn at(&self, place: usize) -> C::Value<'_> {
        self.as_ref().map_or_else(Default::default, |column| column.at(place))
    }
}

type Keys = PrimitiveArray<Int32Type>;

/// A column of words, as keys of a table.
pub(super) struct Words<'a> {
    keys: &'a Keys,
    words: &'a StringArray,
}

impl<'a> Cells<'a> for Words<'a> {
    type Value<'v>
        = Option<&'v str>
    where
        Self: 'v;

    fn of(source: &Source<'a>, name: &'static str) -> Result<Self, RecordError> {
        let misfit = || source.misfit(name);
        let keyed = source.array(name)?.as_dictionary_opt::<Int32Type>().ok_or_else(misfit)?;
        let words = keyed.values().as_any().downcast_ref().ok_or_else(misfit)?;
        Ok(Self { keys: keyed.keys(), words })
    }

    #[inline]
    fn at(&self, place: usize) -> Option<&str> {
        if self.keys.is_null(place) {
            return None;
        }
        let key = usize::try_from(self.keys.value(place)).ok()?;
        (key < self.words.len() && !self.words.is_null(key)).then(|| self.words.value(key))
    }
}

/// A column of words without nulls.
pub(super) struct Texts<'a>(Words<'a>);

impl<'a> Cells<'a> for Texts<'a> {
    type Value<'v>
        = &'v str
    where
        Self: 'v;

    fn of(source: &Source<'a>, name: &'static str) -> Result<Self, RecordError> {
        let words = Words::of(source, name)?;
        if words.keys.null_count() > 0 { Err(source.misfit(name)) } else { Ok(Self(words)) }
    }

    #[inline]
    fn at(&self, place: usize) -> &str {
        self.0.at(place).unwrap_or_default()
    }
}

/// A column whose words are those of an enum.
pub(super) struct Values<'a, T> {
    keys: &'a Keys,
    values: Vec<T>,
}

impl<'a, T: Named + Default> Cells<'a> for Values<'a, T> {
    type Value<'v>
        = T
    where
        Self: 'v;

    fn of(source: &Source<'a>, name: &'static str) -> Result<Self, RecordError> {
        let Texts(Words { keys, words }) = Texts::of(source, name)?;
        let values = (0..words.len()).map(|place| {
            T::from_name(words.value(place)).ok_or_else(|| RecordError::Unknown {
                path: source.path.to_owned(),
                column: name_of(name, source.is_earlier),
                text: words.value(place).chars().take(80).collect(),
            })
        });
        Ok(Self { keys, values: values.collect::<Result<_, _>>()? })
    }

    #[inline]
    fn at(&self, place: usize) -> T {
        let key = usize::try_from(self.keys.value(place)).ok();
        key.and_then(|key| self.values.get(key)).copied().unwrap_or_default()
    }
}

impl<'a, T: ArrowPrimitiveType> Cells<'a> for PrimitiveArray<T>
where
    T::Native: TryFrom<i128>,
{
    type Value<'v>
        = T::Native
    where
        Self: 'v;

    fn of(source: &Source<'a>, name: &'static str) -> Result<Self, RecordError> {
        let array = source.array(name)?;
        let whole = array.as_primitive_opt::<Float64Type>().filter(|_| source.is_earlier);
        let whole: Option<ArrayRef> = match whole.filter(|_| name == LOST) {
            Some(of) => Some(Arc::new(of.unary::<_, Int64Type>(|ns| ns.round() as i64))),
            None => None,
        };
        let found = numbers::<T>(whole.as_deref().unwrap_or(array));
        found.filter(|of| of.null_count() == 0).ok_or_else(|| source.misfit(name))
    }

    #[inline]
    fn at(&self, place: usize) -> T::Native {
        self.value(place)
    }
}

/// A column of lists.
pub(super) struct Lists {
    offsets: Vec<usize>,
    items: PrimitiveArray<UInt64Type>,
}

impl<'a> Cells<'a> for Lists {
    type Value<'v> = &'v [u64];

    fn of(source: &Source<'a>, name: &'static str) -> Result<Self, RecordError> {
        let misfit = || source.misfit(name);
        let lists = source.array(name)?.as_list_opt::<i32>().ok_or_else(misfit)?;
        let items = numbers::<UInt64Type>(lists.values());
        let items = items.filter(|items| items.null_count() == 0).ok_or_else(misfit)?;
        let offset = |offset: &i32| usize::try_from(*offset).ok();
        let offsets = lists.offsets().iter().map(offset).collect::<Option<_>>();
        Ok(Self { offsets: offsets.ok_or_else(misfit)?, items })
    }

    #[inline]
    fn at(&self, place: usize) -> &[u64] {
        let ends = self.offsets.get(place).zip(self.offsets.get(place + 1));
        ends.and_then(|(from, to)| self.items.values().get(*from..*to)).unwrap_or_default()
    }
}

//! Rows of requests as columns: the batches that a file of them is read in.

use super::columns::{COLUMNS, CellType};
use crate::record::RecordError;
use crate::record::input::{is_all_null, numbers};
use crate::record::request::{
    CommandId, Commands, FileKey, FileKind, FileNumber, Flags, Op, Request,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int32Type, Int64Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, PrimitiveArray, RecordBatch, StringArray};
use std::ops::Range;
use std::path::Path;

/// Rows that are handed over at once.
pub const CHUNK_ROWS: usize = 32;

/// Rows as columns.
#[derive(Debug)]
pub struct RequestBatch {
    rows: usize,
    request_id: Cells<UInt64Type>,
    device: Cells<UInt32Type>,
    op: Words<Op>,
    flags: Cells<UInt16Type>,
    offset_bytes: Cells<UInt64Type>,
    length_bytes: Cells<UInt32Type>,
    queued_ns: Cells<Int64Type>,
    started_ns: Cells<Int64Type>,
    issued_ns: Cells<Int64Type>,
    completed_ns: Cells<Int64Type>,
    completed_by_ns: Cells<Int64Type>,
    error: Cells<Int32Type>,
    cpu: Cells<UInt16Type>,
    pid: Cells<UInt32Type>,
    cgroup: Cells<UInt64Type>,
    command: Words<CommandId>,
    parent_id: Cells<UInt64Type>,
    file_kind: Words<FileKind>,
    file_system: Cells<UInt32Type>,
    inode: Cells<UInt64Type>,
    generation: Cells<UInt32Type>,
    kernel_stack: Cells<UInt32Type>,
    user_stack: Cells<UInt32Type>,
    above_id: Cells<UInt64Type>,
}

impl RequestBatch {
    pub(super) fn of(
        batch: &RecordBatch,
        path: &Path,
        wanted: &[&'static str],
        commands: &mut Commands,
    ) -> Result<Self, RecordError> {
        let from = Columns { batch, path, wanted };
        let batch = Self {
            rows: batch.num_rows(),
            request_id: from.every("request_id")?,
            device: from.every("device")?,
            op: from.words("op", Op::named)?,
            flags: from.every("flags")?,
            offset_bytes: from.some("offset_bytes")?,
            length_bytes: from.every("length_bytes")?,
            queued_ns: from.some("queued_ns")?,
            started_ns: from.some("started_ns")?,
            issued_ns: from.some("issued_ns")?,
            completed_ns: from.some("completed_ns")?,
            completed_by_ns: from.some("completed_by_ns")?,
            error: from.every("error")?,
            cpu: from.some("cpu")?,
            pid: from.some("pid")?,
            cgroup: from.some("cgroup")?,
            command: from.words("command", |name| Some(commands.number(name.as_bytes())))?,
            parent_id: from.some("parent_id")?,
            file_kind: from.words("file_kind", FileKind::named)?,
            file_system: from.some("file_system")?,
            inode: from.some("inode")?,
            generation: from.some("generation")?,
            kernel_stack: from.some("kernel_stack")?,
            user_stack: from.some("user_stack")?,
            above_id: from.some("above_id")?,
        };
        match batch.absurdity() {
            Some(problem) => {
                let (path, problem) = (path.to_owned(), problem.to_owned());
                Err(RecordError::Damaged { path, problem })
            }
            None => Ok(batch),
        }
    }

    /// The devices of the rows; none where they were not asked for, or are all the first.
    pub(super) fn devices(&self) -> &[u32] {
        self.device.array.as_ref().map_or(&[], |array| array.values())
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The rows in order, each made as it is requested.
    pub fn rows(&self) -> impl Iterator<Item = Request> + '_ {
        (0..self.rows).map(|place| self.row(place))
    }

    /// The same a few at a time, for whoever takes them all: made column by column in a place that
    /// stays in the core's own cache, they cost less than each by itself.
    pub fn for_each_chunk(&self, mut take: impl FnMut(&[Request])) {
        let mut rows = [Request::default(); CHUNK_ROWS];
        for start in (0..self.rows).step_by(CHUNK_ROWS) {
            take(self.chunk(start, &mut rows));
        }
    }

    /// The rows from a place on, as many as the room holds and there are. The room is to hold rows
    /// of this batch, or rows by default: what a column does not tell is left as it is.
    pub fn chunk<'a>(&self, start: usize, room: &'a mut [Request]) -> &'a [Request] {
        let count = room.len().min(self.rows.saturating_sub(start));
        let Some(rows) = room.get_mut(..count) else { return &[] };
        self.fill(rows, start..start + count);
        rows
    }

    /// Numbers that no request has: whoever adds and subtracts them relies on that.
    fn absurdity(&self) -> Option<&'static str> {
        let times = [
            &self.queued_ns,
            &self.started_ns,
            &self.issued_ns,
            &self.completed_ns,
            &self.completed_by_ns,
        ];
        // The bits of all together cost less than the least and the greatest, and mostly tell.
        let is_high = times.iter().any(|times| times.bits(|ns| ns as u64) >> 62 != 0);
        let bounds = || times.iter().filter_map(|times| times.bounds());
        let (first, last) = match is_high {
            true => (bounds().map(|b| b.0).min(), bounds().map(|b| b.1).max()),
            false => (None, None),
        };
        if first.zip(last).is_some_and(|(first, last)| last.checked_sub(first).is_none()) {
            return Some("its times are centuries apart");
        }
        let ends_beyond = |row: Request| {
            let length_bytes = u64::from(row.length_bytes);
            row.offset_bytes.unwrap_or(0).checked_add(length_bytes).is_none()
        };
        let is_far = self.offset_bytes.bits(|bytes| bytes) >> 63 != 0;
        (is_far && self.rows().any(ends_beyond)).then_some("a request ends beyond all bytes")
    }

    /// Makes rows of a part of the batch; what a column does not tell stays as it is.
    fn fill(&self, rows: &mut [Request], chunk: Range<usize>) {
        self.request_id.every(&chunk, rows, |row, value| row.request_id = value);
        self.device.every(&chunk, rows, |row, value| row.device = value);
        self.flags.every(&chunk, rows, |row, value| row.flags = Flags(value));
        self.length_bytes.every(&chunk, rows, |row, value| row.length_bytes = value);
        self.error.every(&chunk, rows, |row, value| row.error = value);
        self.offset_bytes.some(&chunk, rows, |row, value| row.offset_bytes = value);
        self.queued_ns.some(&chunk, rows, |row, value| row.queued_ns = value);
        self.started_ns.some(&chunk, rows, |row, value| row.started_ns = value);
        self.issued_ns.some(&chunk, rows, |row, value| row.issued_ns = value);
        self.completed_ns.some(&chunk, rows, |row, value| row.completed_ns = value);
        self.completed_by_ns.some(&chunk, rows, |row, value| row.completed_by_ns = value);
        self.cpu.some(&chunk, rows, |row, value| row.cpu = value);
        self.pid.some(&chunk, rows, |row, value| row.pid = value);
        self.cgroup.some(&chunk, rows, |row, value| row.cgroup = value);
        self.parent_id.some(&chunk, rows, |row, value| row.parent_id = value);
        self.above_id.some(&chunk, rows, |row, value| row.above_id = value);
        let op = |key: Option<i32>| key.and_then(|key| self.op.meaning(key)).unwrap_or(Op::Other);
        self.op.keys.some(&chunk, rows, |row, key| row.op = op(key));
        let command = |key: Option<i32>| key.and_then(|key| self.command.meaning(key));
        self.command.keys.some(&chunk, rows, |row, key| row.command = command(key));
        self.fill_files(rows, &chunk);
        let stack = |value: Option<u32>| value.unwrap_or(0);
        self.kernel_stack.some(&chunk, rows, |row, value| row.stacks.kernel = stack(value));
        self.user_stack.some(&chunk, rows, |row, value| row.stacks.user = stack(value));
    }

    fn fill_files(&self, rows: &mut [Request], chunk: &Range<usize>) {
        let kind = |key: Option<i32>| key.and_then(|key| self.file_kind.meaning(key));
        self.file_kind.keys.some(chunk, rows, |row, key| {
            row.file = kind(key).map(|kind| FileKey { kind, number: FileNumber::default() });
        });
        self.file_system.some(chunk, rows, |row, value| {
            row.file.iter_mut().for_each(|file| file.number.file_system = value.unwrap_or(0));
        });
        self.inode.some(chunk, rows, |row, value| {
            row.file.iter_mut().for_each(|file| file.number.inode = value.unwrap_or(0));
        });
        self.generation.some(chunk, rows, |row, value| {
            row.file.iter_mut().for_each(|file| file.number.generation = value.unwrap_or(0));
        });
    }

    /// A row by its place; beyond the last it is one of which nothing is known.
    pub fn row(&self, place: usize) -> Request {
        let mut row = [Request::default()];
        self.chunk(place, &mut row);
        let [row] = row;
        row
    }
}

/// A column of numbers; one that was not requested has none.
#[derive(Debug)]
struct Cells<T: ArrowPrimitiveType> {
    array: Option<PrimitiveArray<T>>,
    /// So that what cannot be null is not asked whether it is.
    has_nulls: bool,
}

impl<T: ArrowPrimitiveType> Cells<T> {
    /// Sets the values of a column without nulls.
    #[inline(always)]
    fn every(
        &self,
        chunk: &Range<usize>,
        rows: &mut [Request],
        set: impl Fn(&mut Request, T::Native),
    ) {
        let values = self.array.as_ref().and_then(|array| array.values().get(chunk.clone()));
        for (row, value) in rows.iter_mut().zip(values.unwrap_or_default()) {
            set(row, *value);
        }
    }

    /// Sets the values of a column that may have nulls.
    #[inline(always)]
    fn some(
        &self,
        chunk: &Range<usize>,
        rows: &mut [Request],
        set: impl Fn(&mut Request, Option<T::Native>),
    ) {
        let Some(array) = &self.array else { return };
        match array.nulls().filter(|_| self.has_nulls) {
            None => self.every(chunk, rows, |row, value| set(row, Some(value))),
            Some(nulls) if nulls.null_count() == array.len() => {
                rows.iter_mut().for_each(|row| set(row, None));
            }
            Some(_) => {
                for (row, place) in rows.iter_mut().zip(chunk.clone()) {
                    set(row, self.at(place));
                }
            }
        }
    }

    /// The bits that any value has; what stands where a value is null may be among them.
    fn bits(&self, of: impl Fn(T::Native) -> u64) -> u64 {
        let values = self.array.as_ref().map(|array| &array.values()[..]).unwrap_or_default();
        values.iter().fold(0, |bits, value| bits | of(*value))
    }

    /// The least and the greatest value; what stands where a value is null may be among them.
    fn bounds(&self) -> Option<(T::Native, T::Native)>
    where
        T::Native: Ord,
    {
        let values = self.array.as_ref()?.values();
        values.iter().copied().min().zip(values.iter().copied().max())
    }

    #[inline]
    fn at(&self, place: usize) -> Option<T::Native> {
        let array = self.array.as_ref()?;
        if self.has_nulls && array.is_null(place) {
            return None;
        }
        array.values().get(place).copied()
    }
}

/// A column of words, as what they mean: keys of a table.
#[derive(Debug)]
struct Words<T> {
    keys: Cells<Int32Type>,
    meanings: Vec<T>,
}

impl<T: Copy> Words<T> {
    #[inline(always)]
    fn meaning(&self, key: i32) -> Option<T> {
        self.meanings.get(usize::try_from(key).ok()?).copied()
    }
}

struct Columns<'a> {
    batch: &'a RecordBatch,
    path: &'a Path,
    wanted: &'a [&'static str],
}

impl Columns<'_> {
    fn misfit(&self, column: &'static str) -> RecordError {
        let known = COLUMNS.iter().find(|known| known.name == column);
        let wanted = match known.map(|known| known.data_type) {
            Some(CellType::Words) if column == "op" => Op::ALL.map(Op::name).join(", "),
            Some(CellType::Words) if column == "file_kind" => {
                FileKind::ALL.map(FileKind::name).join(", ")
            }
            Some(data_type) => data_type.name().to_owned(),
            None => String::new(),
        };
        RecordError::Column { path: self.path.to_owned(), column, wanted }
    }

    /// A column as it was read; none if it was not.
    fn array(&self, name: &'static str) -> Result<Option<&dyn Array>, RecordError> {
        if !self.wanted.contains(&name) {
            return Ok(None);
        }
        let array = self.batch.column_by_name(name).ok_or_else(|| self.misfit(name))?;
        Ok(Some(array.as_ref()))
    }

    fn some<T>(&self, name: &'static str) -> Result<Cells<T>, RecordError>
    where
        T: ArrowPrimitiveType,
        T::Native: TryFrom<i128>,
    {
        let Some(array) = self.array(name)? else {
            return Ok(Cells { array: None, has_nulls: false });
        };
        let array = numbers::<T>(array).ok_or_else(|| self.misfit(name))?;
        Ok(Cells { has_nulls: array.null_count() > 0, array: Some(array) })
    }

    fn every<T>(&self, name: &'static str) -> Result<Cells<T>, RecordError>
    where
        T: ArrowPrimitiveType,
        T::Native: TryFrom<i128>,
    {
        let cells = self.some(name)?;
        if cells.has_nulls { Err(self.misfit(name)) } else { Ok(cells) }
    }

    /// A column of words, each of which is to mean something.
    fn words<T>(
        &self,
        name: &'static str,
        meaning: impl FnMut(&str) -> Option<T>,
    ) -> Result<Words<T>, RecordError> {
        let Some(array) = self.array(name)? else {
            let keys = Cells { array: None, has_nulls: false };
            return Ok(Words { keys, meanings: Vec::new() });
        };
        let misfit = || self.misfit(name);
        let may_be_null = COLUMNS.iter().any(|known| known.name == name && known.nullable);
        if is_all_null(array) && (may_be_null || array.is_empty()) {
            let keys =
                Cells { array: Some(PrimitiveArray::new_null(array.len())), has_nulls: true };
            return Ok(Words { keys, meanings: Vec::new() });
        }
        let keyed = array.as_dictionary_opt::<Int32Type>().ok_or_else(misfit)?;
        let words = keyed.values().as_any().downcast_ref::<StringArray>().ok_or_else(misfit)?;
        let keys = keyed.keys().clone();
        let meanings: Option<Vec<T>> =
            words.iter().map(Option::unwrap_or_default).map(meaning).collect();
        let meanings = meanings.ok_or_else(misfit)?;
        Ok(Words { keys: Cells { has_nulls: keys.null_count() > 0, array: Some(keys) }, meanings })
    }
}

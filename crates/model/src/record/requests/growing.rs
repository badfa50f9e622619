//! Rows on their way into columns: a few at a time, while the nearest cache holds them.
//!
//! Non-goals: files.

use crate::record::request::{Commands, FileKind, Op, Request};
use arrow_array::types::{
    ArrowPrimitiveType, Int32Type, Int64Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, PrimitiveArray, RecordBatch, StringArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_schema::{ArrowError, Schema};
use std::sync::Arc;

/// Rows that are added together at the most: so that one number tells which of them have a value.
pub(super) const TOGETHER: usize = u64::BITS as usize;

/// A column, of which any value may be null.
#[derive(Debug)]
struct Growing<T: ArrowPrimitiveType> {
    /// Up to the last rows together of which any has a value.
    values: Vec<T::Native>,
    /// A bit a row: whether it has a value.
    known: Vec<u64>,
    /// A whole batch without any value, as most sources leave most columns.
    nothing: PrimitiveArray<T>,
}

impl<T: ArrowPrimitiveType> Growing<T> {
    fn new(rows: usize) -> Self {
        Self { values: vec![], known: vec![], nothing: PrimitiveArray::new_null(rows) }
    }

    /// Adds rows behind so many.
    #[inline(always)]
    fn add(
        &mut self,
        before: usize,
        rows: &[Request],
        get: impl Fn(&Request) -> Option<T::Native>,
    ) {
        let known = known_of(rows, |row| get(row).is_some());
        if known != 0 {
            self.values.resize(before, T::Native::default());
            self.values.extend(rows.iter().map(|row| get(row).unwrap_or_default()));
        }
        let begun = before % TOGETHER;
        match self.known.last_mut().filter(|_| begun > 0) {
            None => self.known.push(known),
            Some(last) => {
                *last |= known << begun;
                if begun + rows.len() > TOGETHER {
                    self.known.push(known >> (TOGETHER - begun));
                }
            }
        }
    }

    /// The column of so many rows; the next one begins.
    fn take(&mut self, rows: usize) -> PrimitiveArray<T> {
        let count: usize = self.known.iter().map(|known| known.count_ones() as usize).sum();
        if count == 0 && rows <= self.nothing.len() {
            self.known.clear();
            return self.nothing.slice(0, rows);
        }
        let next = Vec::with_capacity(self.nothing.len());
        let mut values = std::mem::replace(&mut self.values, next);
        values.resize(rows, T::Native::default());
        let nulls = (count < rows).then(|| {
            let bits = Buffer::from_slice_ref(&self.known);
            NullBuffer::new(BooleanBuffer::new(bits, 0, rows))
        });
        self.known.clear();
        PrimitiveArray::new(values.into(), nulls)
    }
}

/// A bit a row: whether it has a value. Mostly all rows have one or none has, which is found out
/// without putting bits together.
#[inline(always)]
fn known_of(rows: &[Request], is_known: impl Fn(&Request) -> bool) -> u64 {
    let count = rows.iter().map(|row| u32::from(is_known(row))).sum::<u32>() as usize;
    match count {
        0 => 0,
        _ if count == rows.len() => u64::MAX >> (TOGETHER - count),
        _ => rows.iter().rev().fold(0, |known, row| known << 1 | u64::from(is_known(row))),
    }
}

/// A column of words: keys into a dictionary.
fn words(keys: Int32Array, names: StringArray) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(DictionaryArray::try_new(keys, Arc::new(names))?))
}

/// Declares each column in the order of the table: its type, what it has of a row, and the words
/// that its numbers stand for.
macro_rules! columns {
    ($commands:ident; $($name:ident: $type:ident = $get:expr $(, $words:expr)?;)*) => {
        /// Rows as columns, in the order of the table.
        #[derive(Debug)]
        pub(super) struct GrowingColumns {
            rows: usize,
            $($name: Growing<$type>),*
        }

        impl GrowingColumns {
            /// Columns for batches of at most so many rows.
            pub(super) fn new(rows: usize) -> Self {
                Self { rows: 0, $($name: Growing::new(rows)),* }
            }

            /// How many rows they hold.
            pub(super) fn rows(&self) -> usize {
                self.rows
            }

            /// Adds rows: at most as many as are added together.
            pub(super) fn add(&mut self, rows: &[Request]) {
                $(self.$name.add(self.rows, rows, $get);)*
                self.rows += rows.len();
            }

            /// The rows so far as a batch; the next one begins.
            pub(super) fn take(
                &mut self,
                schema: &Arc<Schema>,
                $commands: &Commands,
            ) -> Result<RecordBatch, ArrowError> {
                let rows = std::mem::take(&mut self.rows);
                let columns: Vec<ArrayRef> =
                    vec![$(columns!(@array self.$name.take(rows) $(, $words)?)),*];
                RecordBatch::try_new(schema.clone(), columns)
            }
        }
    };
    (@array $numbers:expr) => { Arc::new($numbers) };
    (@array $numbers:expr, $words:expr) => {
        words($numbers, StringArray::from_iter_values($words))?
    };
}

columns! {
    commands;
    request_id: UInt64Type = |r| Some(r.request_id);
    device: UInt32Type = |r| Some(r.device);
    op: Int32Type = |r| Some(r.op as i32), Op::ALL.map(Op::name);
    flags: UInt16Type = |r| Some(r.flags.0);
    offset_bytes: UInt64Type = |r| r.offset_bytes;
    length_bytes: UInt32Type = |r| Some(r.length_bytes);
    queued_ns: Int64Type = |r| r.queued_ns;
    started_ns: Int64Type = |r| r.started_ns;
    issued_ns: Int64Type = |r| r.issued_ns;
    completed_ns: Int64Type = |r| r.completed_ns;
    completed_by_ns: Int64Type = |r| r.completed_by_ns;
    error: Int32Type = |r| Some(r.error);
    cpu: UInt16Type = |r| r.cpu;
    pid: UInt32Type = |r| r.pid;
    cgroup: UInt64Type = |r| r.cgroup;
    command: Int32Type = |r| r.command.map(|command| command.0 as i32), commands.names();
    parent_id: UInt64Type = |r| r.parent_id;
    file_kind: Int32Type = |r| r.file.map(|file| file.kind as i32),
        FileKind::ALL.map(FileKind::name);
    file_system: UInt32Type = |r| r.file.map(|file| file.number.file_system);
    inode: UInt64Type =
        |r| r.file.map(|file| file.number.inode).filter(|inode| *inode != 0);
    generation: UInt32Type =
        |r| r.file.map(|file| file.number.generation).filter(|generation| *generation != 0);
    kernel_stack: UInt32Type = |r| Some(r.stacks.kernel).filter(|stack| *stack != 0);
    user_stack: UInt32Type = |r| Some(r.stacks.user).filter(|stack| *stack != 0);
    above_id: UInt64Type = |r| r.above_id;
}

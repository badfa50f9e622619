//! The columns of `lbolt.requests/1`.

use crate::record::column::column_types;
use crate::record::request::{Flags, Op};
use arrow_schema::{DataType, Field, Schema};
use std::fmt::Write as _;

/// The schema's name and version, as in the footer.
pub const SCHEMA: &str = "lbolt.requests/1";

/// A column of requests.
#[derive(Debug, Clone, Copy)]
pub struct RequestColumn {
    /// Its name, with its unit last.
    pub name: &'static str,
    /// Its Arrow type.
    pub data_type: CellType,
    /// Whether it can be null.
    pub nullable: bool,
    /// Whether null says no more than that it is not known: a file may be without such a column.
    pub null_is_unknown: bool,
    /// What it means.
    pub why: &'static str,
}

column_types! {
    /// The types that occur, so that the table can be constant.
    #[allow(missing_docs, reason = "named as Arrow names them")]
    pub enum CellType {
        UInt16 "u16" DataType::UInt16;
        UInt32 "u32" DataType::UInt32;
        UInt64 "u64" DataType::UInt64;
        Int32 "i32" DataType::Int32;
        Int64 "i64" DataType::Int64;
        /// Few different words.
        Words "dictionary"
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    }
}

/// The columns of a request's steps, which tell when it arrived, too.
pub const STEPS: &[&str] = &["queued_ns", "started_ns", "issued_ns", "completed_ns"];
/// Those that tell its file.
pub const OF_FILE: &[&str] = &["file_kind", "file_system", "inode", "generation"];

/// A row for each column: what null says of it, its name, type and meaning.
macro_rules! columns {
    (@known) => { (false, false) };
    (@or_null) => { (true, true) };
    // Null says something, so that a file without the column would say it of every row.
    (@null_tells) => { (true, false) };
    ($($null:ident $name:ident $data_type:ident $why:literal;)*) => {
        /// Every column, in order.
        pub const COLUMNS: [RequestColumn; 24] = [$({
            let (nullable, null_is_unknown) = columns!(@$null);
            let (name, data_type) = (stringify!($name), CellType::$data_type);
            RequestColumn { name, data_type, nullable, null_is_unknown, why: $why }
        }),*];
    };
}

columns! {
    known request_id UInt64 "stable key, in the order of first appearance";
    known device UInt32 "device number of the whole disk; its name is in run.json";
    known op Words "the operation";
    known flags UInt16 "bits, listed below";
    or_null offset_bytes UInt64 "offset on the device; null for a flush";
    known length_bytes UInt32 "length as issued, merges included";
    or_null queued_ns Int64
        "the request's first bio entered the block layer: S of the 1986 paper (put on the drive's \
         queue)";
    or_null started_ns Int64
        "a request was allocated; the time before is admission: waiting for a tag, or throttled";
    or_null issued_ns Int64
        "handed to the driver, for the last time if requeued; the time before is the scheduler's. \
         Null in a flush sequence's own row: the device's work is in the rows with its parent_id";
    null_tells completed_ns Int64
        "completed: R of the 1986 paper; null: never completed. With the three times before null: \
         an orphan receive";
    or_null completed_by_ns Int64
        "lost completion (completed_ns is null): when the identity was used again, so the request \
         had completed by then";
    known error Int32 "0 or errno";
    or_null cpu UInt16 "CPU that queued the request";
    or_null pid UInt32 "thread that queued the request, never the one that completed it";
    or_null cgroup UInt64 "cgroup (version 2) charged for the I/O";
    or_null command Words "the thread's name at that time";
    null_tells parent_id UInt64 "the write that this preflush, data or postflush serves";
    or_null file_kind Words
        "what the data belongs to: regular (a file), journal, metadata, or device (the device by \
         name, or metadata through the device's page cache)";
    or_null file_system UInt32 "device number of the file's file system";
    or_null inode UInt64 "inode of a regular file; names are in files.parquet";
    or_null generation UInt32 "distinguishes files that have had the same inode";
    or_null kernel_stack UInt32
        "kernel stack that queued the request (--stacks): a row of stacks.parquet";
    or_null user_stack UInt32 "the program's own stack at that time (--stacks)";
    or_null above_id UInt64
        "the request to the device above (device mapper, md) that this request serves; null: none \
         known. A request made to a stack has neither above_id nor parent_id";
}

pub(super) fn schema() -> Schema {
    let field = |c: &RequestColumn| Field::new(c.name, c.data_type.arrow(), c.nullable);
    Schema::new(COLUMNS.iter().map(field).collect::<Vec<_>>())
}

/// The section of docs/records.md on requests.
pub(crate) fn describe(page: &mut String) {
    let _ = write!(
        page,
        "\n## requests\n\n`{SCHEMA}`, one row per request to a device. The rows without \
         `parent_id` are what\nprograms and the kernel requested; the rows with `issued_ns` are \
         what the device did. Where null\nmeans no more than *unknown*, a file may lack the \
         column.\n\n\
         | column | type | null | meaning |\n| --- | --- | --- | --- |\n"
    );
    for column in COLUMNS {
        let null = match (column.nullable, column.null_is_unknown) {
            (_, true) => "unknown",
            (true, false) => "yes",
            (false, false) => "",
        };
        let _ = writeln!(
            page,
            "| {} | {} | {null} | {} |",
            column.name,
            column.data_type.name(),
            column.why
        );
    }
    let ops: Vec<_> = Op::ALL.iter().map(|op| op.name()).collect();
    let _ = write!(
        page,
        "\n`op` is one of {}. The bits of `flags`:\n\n| bit | name | meaning |\n| --- | --- | --- \
         |\n",
        ops.join(", ")
    );
    for (flag, name, meaning) in Flags::ALL {
        let _ = writeln!(page, "| {} | {name} | {meaning} |", flag.0.trailing_zeros());
    }
    super::provenance::describe(page);
}

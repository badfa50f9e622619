//! The records: rows of plain data, each kind with one table of columns from
//! which its Arrow schema, its Parquet files and its page of docs/records.md are made.

mod call;
mod column;
mod context;
mod cpu_time;
mod device;
mod earlier;
mod file;
mod finding;
mod input;
mod journal_use;
mod json;
mod named_file;
mod pressure;
mod process;
mod quantity;
mod request;
pub mod requests;
mod rollup;
mod sample;
mod stack;
pub mod subject;
mod wait;

pub use crate::doubt::{Doubt, Judgement, Verdict};
pub use call::{Call, CallKind, JournalCommit};
pub use column::{Column, Kind, Record};
pub use context::Context;
pub use cpu_time::CpuTime;
pub use device::{device_number, major_minor};
pub use file::{RecordError, TOOL_VERSION, read, read_bytes, write};
pub use finding::{Finding, Interval};
pub use journal_use::JournalUse;
pub use json::{from_json, to_json};
pub use named_file::NamedFile;
pub use pressure::Pressure;
pub use process::Process;
pub use quantity::{Better, Quantity, quantities, quantity};
pub use request::{CommandId, Commands, FileKey, FileKind, FileNumber, Flags, Op, Request, Stacks};
pub use rollup::{
    Counted, Rollup, RollupFile, RollupKey, RollupLevel, RollupRow, RollupWriter, operations,
};
pub use sample::{Cold, Overhead, Role, Sample};
pub use stack::Stack;
pub use subject::{Experiment, Subject};
pub use wait::{WAIT_FOR_THREAD, WAIT_LEAST_NS, Wait, WaitKind, waited_for};

/// docs/records.md, made from the tables; `others` are quantities that another crate's findings
/// have.
pub fn document(others: &'static [Quantity]) -> String {
    let mut page = String::from(
        "# The records\n\n\
         Each kind of record is one Arrow schema, kept as Parquet in a run directory. The version\n\
         is in the file's footer under `lbolt.schema`, with `lbolt.version` and what the writer\n\
         adds. This page is made from the tables in `crates/model/src/record`; `make bless` \
         rewrites\n\
         it, and a test fails when it does not agree with the code.\n",
    );
    column::describe::<Sample>(&mut page, "samples", "one row per measured pass");
    page.push_str(&format!("\nHistograms: {}.\n", crate::histogram::bucket_rule()));
    requests::describe(&mut page);
    column::describe::<Call>(&mut page, "calls", "one row per call that made a file durable");
    column::describe::<Wait>(&mut page, "waits", "one row per wait of a thread for storage");
    column::describe::<JournalUse>(
        &mut page,
        "journal_use",
        "one row per thread that changed metadata, and tenth of a second",
    );
    column::describe::<JournalCommit>(&mut page, "commits", "one row per commit of a journal");
    column::describe::<Process>(&mut page, "processes", "one row per thread that made requests");
    column::describe::<NamedFile>(
        &mut page,
        "files",
        "one row per name of a file that requests \
        or calls were of",
    );
    column::describe::<Stack>(&mut page, "stacks", "one row per stack, with `--stacks`");
    column::describe::<CpuTime>(&mut page, "cpu_times", "one row per tenth of a second of the run");
    column::describe::<Pressure>(&mut page, "pressure", "one row per cgroup and second of the run");
    column::describe::<Rollup>(&mut page, "rollup", "one row per key and time");
    column::describe::<Finding>(&mut page, "findings", "one row per published number");
    crate::doubt::describe(&mut page);
    quantity::describe(&mut page, others);
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doubt::Code;

    fn check_columns<R: Record>(page: &str, null: usize) {
        assert!(page.contains(&format!("\n`{}`, one row per ", R::SCHEMA)), "{}", R::SCHEMA);
        for column in R::columns() {
            let (kind, null) = (column.kind.name(), if column.nullable { "yes" } else { "" });
            let row = format!("\n| {} | {kind} | {null} | {} |\n", column.name, column.why);
            assert!(page.contains(&row), "{row}");
        }
        assert_eq!(R::columns().iter().filter(|column| !column.nullable).count(), null);
    }

    #[test]
    fn the_page_has_a_row_for_each_column_code_and_quantity() {
        let other = Quantity { name: "colour", ..quantities().next().copied().unwrap() };
        let others: &[Quantity] = Box::leak(Box::new([other]));
        let page = document(others);
        check_columns::<Finding>(&page, 6);
        for row in ["| pass | u64 |  |", "| started_ns | i64 |  |", "| device_depth | f64 | yes |"]
        {
            assert!(page.contains(row), "{row}");
        }
        assert!(page.contains("| latency_counts | list of u64 |"));
        assert!(page.contains("Histograms: bucket b covers the nanoseconds from (b − 128·s)·2^s"));
        for (_, name, values) in Code::ALL {
            assert!(page.contains(&format!("\n| {name} | {} |\n", values.join(", "))), "{name}");
        }
        for q in quantities().chain(others) {
            let row = format!("\n| {} | {} | {} | ", q.name, q.unit, q.meaning);
            assert!(page.contains(&row), "{row}");
        }
        assert!(page.contains("| device, op or by, class | record, import, response, --trace |"));
    }
}

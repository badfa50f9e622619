//! The records: rows of plain data, each kind with one table of columns from
//! which its Arrow schema, its Parquet files and its page of docs/records.md are made.

mod call;
mod column;
mod context;
mod cpu_time;
mod cpu_use;
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
mod summed;
mod wait;

pub use crate::doubt::{Doubt, Judgement, Verdict};
pub use call::{Call, CallKind, JournalCommit};
pub use column::{Column, Kind, Record};
pub use context::Context;
pub use cpu_time::CpuTime;
pub use cpu_use::CpuUse;
pub use device::{device_number, major_minor};
pub(crate) use file::said_by_the_file_system;
pub use file::{RecordError, TOOL_VERSION, read, read_bytes, write};
pub use finding::{Finding, Interval};
pub use journal_use::JournalUse;
pub use json::{from_json, to_json, to_objects};
pub use named_file::{LARGE_WRITE_BYTES, NamedFile};
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
pub use summed::Summed;
pub use wait::{
    EVICTED_PAGE, WAIT_FOR_THREAD, WAIT_LEAST_NS, Wait, WaitKind, is_among_others, waited_for,
};

/// docs/records.md, made from the tables; `others` are quantities that another crate's findings
/// have.
pub fn document(others: &'static [Quantity]) -> String {
    let mut page = String::from(
        "# The records\n\n\
         Each kind of record is one Arrow schema, kept as Parquet in a run directory. The file's\n\
         footer has the schema's version as `lbolt.schema`, lbolt's own as `lbolt.version`, and\n\
         the writer's additions. `make bless` makes this page from the tables in\n\
         `crates/model/src/record`.\n\n\
         Times count from the run's start, by the clock of the requests; only a name with `unix`\n\
         counts from 1970 (UTC). A device number is `major << 20 | minor`, as in the kernel.\n",
    );
    column::describe::<Sample>(&mut page, "samples", "one row per measured pass");
    page.push_str(&format!("\nHistograms: {}.\n", crate::histogram::bucket_rule()));
    requests::describe(&mut page);
    column::describe::<Call>(&mut page, "calls", "one row per call that made a file durable");
    column::describe::<Wait>(&mut page, "waits", "one row per wait of a thread for storage");
    column::describe::<JournalUse>(
        &mut page,
        "journal_use",
        "one row per thread that changed metadata and 0.1 s",
    );
    column::describe::<JournalCommit>(&mut page, "commits", "one row per commit of a journal");
    column::describe::<Process>(
        &mut page,
        "processes",
        "one row per thread that made requests, and per process that used the CPUs",
    );
    column::describe::<NamedFile>(
        &mut page,
        "files",
        "one row per name of a file that was requested or synced",
    );
    column::describe::<Stack>(&mut page, "stacks", "one row per stack, with `--stacks`");
    column::describe::<CpuTime>(&mut page, "cpu_times", "one row per 0.1 s of the run");
    column::describe::<CpuUse>(
        &mut page,
        "cpu_uses",
        "one row per process that ran, or traced thread that waited for a CPU, and second in which \
         all CPUs were busy",
    );
    column::describe::<Pressure>(&mut page, "pressure", "one row per cgroup and second of the run");
    column::describe::<Summed>(
        &mut page,
        "summed",
        "one row per role, class, file system and 100 ms, in incidents and with `--slower-than`",
    );
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

    /// Whether a line of the page begins with a cell of names, with this one among them, and goes
    /// on like this.
    fn has_row(page: &str, name: &str, rest: &str) -> bool {
        let cells = |line: &str| {
            let names = line.strip_suffix(rest)?.strip_prefix("| ")?.trim_end();
            Some(names.split(", ").any(|known| known == name))
        };
        page.lines().any(|line| cells(line) == Some(true))
    }

    fn check_columns<R: Record>(page: &str, null: usize) {
        assert!(page.contains(&format!("\n`{}`, one row per ", R::SCHEMA)), "{}", R::SCHEMA);
        for column in R::columns() {
            let (kind, null) = (column.kind.name(), if column.nullable { "yes" } else { "" });
            let rest = format!("| {kind} | {null} | {} |", column.why);
            assert!(has_row(page, column.name, &rest), "{}", column.name);
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
        let counts = "| list of u64 |  | histogram of these: bucket numbers, and counts |";
        assert!(has_row(&page, "latency_counts", counts));
        assert!(page.contains("Histograms: bucket b covers the nanoseconds from (b − 128·s)·2^s"));
        for (_, name, values) in Code::ALL {
            assert!(has_row(&page, name, &format!("| {} |", values.join(", "))), "{name}");
        }
        for q in quantities().chain(others) {
            assert!(
                has_row(&page, q.name, &format!("| {} | {} |", q.unit, q.meaning)),
                "{}",
                q.name
            );
        }
        let head = "| quantity | unit | meaning |\n| --- | --- | --- |\n";
        let of_commands = format!("\n#### record, import, response, --trace\n\n{head}");
        assert!(page.contains(&format!("{of_commands}| **device, op or by, class** | | |\n")));
        assert!(page.contains("\n| latency_p50_ns, latency_p99_ns | ns | latency from "));
    }
}

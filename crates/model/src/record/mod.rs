//! The records: rows of plain data, each kind with one table of columns from
//! which its Arrow schema, its Parquet files and its page of docs/records.md are made.

mod column;
mod device;
mod file;
mod finding;
mod input;
mod quantity;
mod request;
pub mod requests;
mod sample;
pub mod subject;

pub use crate::doubt::{Doubt, Judgement, Verdict};
pub use column::{Column, Kind, Record};
pub use device::{device_number, major_minor};
pub use file::{RecordError, TOOL_VERSION, read, read_bytes, write};
pub use finding::{Finding, Interval};
pub use quantity::{Better, Quantity, quantities, quantity};
pub use request::{CommandId, Commands, Flags, Op, Request};
pub use sample::{Cold, Overhead, Role, Sample};
pub use subject::{Experiment, Subject};

/// docs/records.md, made from the tables; `others` are quantities that another crate's findings
/// have.
pub fn document(others: &'static [Quantity]) -> String {
    let mut page = String::from(
        "# The records\n\n\
         Each kind of record is one Arrow schema, kept as Parquet in a run directory. The version\n\
         is in the file's footer under `lbolt.schema`, beside `lbolt.version` and what the writer\n\
         adds. This page is made from the tables in `crates/model/src/record`; `make bless` \
         rewrites\n\
         it, and a test fails when it does not agree with the code.\n",
    );
    column::describe::<Sample>(&mut page, "samples", "one row per measured pass");
    page.push_str(&format!("\nHistograms: {}.\n", crate::histogram::bucket_rule()));
    requests::describe(&mut page);
    column::describe::<Finding>(&mut page, "findings", "one row per published number");
    crate::doubt::describe(&mut page);
    quantity::describe(&mut page, others);
    page
}

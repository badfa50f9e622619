//! A trace on a modelled machine: *open* (by arrival), *closed* (by think time) or *dependent* (after what its process
//! waited for).
//!
//! Rows go through as a stream; what is kept is bounded by what is outstanding. A replay that breaks a law (requests
//! in are requests out, nobody is busy for longer than time goes, no bus is faster than its rate) fails.
//!
//! Non-goals: reading traces (crate `trace`), statistics of the outcome (crate `analyze`).

pub mod bus;
mod closed;
mod demerit;
mod dependent;
pub mod drive;
mod engine;
mod machine;
mod open;
mod outcome;
mod station;

#[cfg(test)]
mod tests;

use model::record::{Op, Request};

pub use bus::Bus;
pub use closed::closed;
pub use demerit::{Demerit, demerit, demerit_of_sorted};
pub use dependent::{READ_AHEAD, THINK_MAX_NS, dependent};
pub use drive::{Access, Drive};
pub use machine::{Credits, ReplayMachine};
pub use open::open;
pub use outcome::{DeviceOutcome, Outcome, ReplayError};

/// Whether a drive has something to do with a row: a read or a write of some blocks that something asked for.
pub fn is_served(row: &Request) -> bool {
    matches!(row.op, Op::Read | Op::Write)
        && row.parent_id.is_none()
        && row.offset_bytes.is_some()
        && row.length_bytes > 0
        && !row.is_orphan()
}

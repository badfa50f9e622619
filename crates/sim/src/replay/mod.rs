//! A trace on a modelled machine: *open* (by arrival), *closed* (by think time) or *dependent*
//! (after what its process waited for); and requests as they come ([`Live`]).
//!
//! Rows go through as a stream; what is kept is bounded by what is outstanding. A replay that
//! breaks a law (requests in are requests out, nobody is busy for longer than time goes, no bus is
//! faster than its rate) fails.
//!
//! Non-goals: reading traces (crate `trace`), statistics of the outcome (crate `analyze`).

mod closed;
mod closed_loop;
mod demerit;
mod dependent;
mod engine;
mod laws;
mod live;
mod machine;
mod open;
mod outcome;
mod row;
mod station;
mod subject;

#[cfg(test)]
mod tests;

pub use closed::closed;
pub use closed_loop::closed_loop;
pub use demerit::{Demerit, demerit, demerit_of_sorted};
pub use dependent::{READ_AHEAD, THINK_MAX_NS, dependent};
pub use live::Live;
pub use machine::{Credits, ReplayMachine};
pub use open::open;
pub use outcome::{DeviceOutcome, Outcome, ReplayError};
pub use row::{each, is_served};
pub use subject::DeviceMachine;

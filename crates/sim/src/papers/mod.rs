//! The papers' experiments as scenarios, computed anew: text of a table in, published and modelled
//! values out.
//!
//! Non-goals: reading the tables' files, printing.

pub mod fit_1983;
pub mod overhead_1980;
pub mod parameters_1983;
pub mod program;
pub mod response_1986;
pub mod scenarios_1983;
pub mod throughput_1983;

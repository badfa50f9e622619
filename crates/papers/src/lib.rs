//! The published experiments as scenarios, computed anew on modelled machines of their time: Bucher
//! & Hayes 1980 (supercomputers), Kridle & McKusick 1983 (VAXes under 4.2BSD), Johnson, Smith &
//! Wilson 1986 (RA81 disks). Text of a paper's table in; published and modelled values out, as
//! tables and as findings.
//!
//! Pure and deterministic, as `sim` is, but that independent cells are computed on all cores.
//!
//! Non-goals: reading files, printing.
#![forbid(unsafe_code)]

mod buffer_cache;
mod bus;
mod catalog;
mod comparison;
mod controller;
mod file_system;
pub mod fit;
pub mod machine;
pub mod overhead_1980;
mod processor;
pub mod quantities;
pub mod response_1986;
mod screen;
pub mod throughput_1983;

pub use catalog::CATALOG;
pub use comparison::{Comparison, Failure};
pub use screen::{screen, sentences};

//! Traces as they are named on the command line: opened or imported, several of them put beside
//! each other, and analysed on all cores.
//!
//! Non-goals: what is found of rows (`verdict`), options (`cli`), what is printed of it (`report`).
#![forbid(unsafe_code)]

mod density;
pub mod import;
pub mod inputs;
mod opened;
pub mod page;
pub mod response;
pub mod rollup;
pub mod trace;
mod traced;
mod verdict;

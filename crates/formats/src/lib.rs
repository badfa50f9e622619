//! Other programs' traces: read, and written. What is read becomes events or requests for
//! [`trace::intake`]; what is written comes from the rows of a trace.
//!
//! Non-goals: capturing, what the figures mean.
#![forbid(unsafe_code)]

pub mod export;
pub mod import;
mod spelling;

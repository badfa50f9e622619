//! What a command tells its user, and how: failures with their exit codes, results on standard
//! output, notes and progress on standard error. The one crate that prints.
//!
//! Non-goals: what results look like (`report`).
#![forbid(unsafe_code)]

pub mod fault;
pub mod output;
pub mod progress;
pub mod ticker;

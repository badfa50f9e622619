//! Findings in, text out: tables as the 1983 paper prints them, Markdown, CSV
//! and JSON. A report is drawn from findings alone, without analysing again.
//!
//! Non-goals: computing a figure, printing (every function returns its text),
//! colours.
#![forbid(unsafe_code)]

mod calibration;
mod columns;
pub mod compare;
pub mod doubt;
mod export;
mod figure;
mod footnote;
mod grid;
pub mod joined;
pub mod listing;
mod number;
pub mod overhead;
pub mod requests;
pub mod response;
mod sheet;
pub mod simulated;
pub mod throughput;
mod visible;
mod words;

pub use calibration::calibration_line;
pub use export::{csv, json};
pub use visible::visible_findings;
pub use words::facts;

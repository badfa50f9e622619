//! Findings in, text out: tables as the 1983 paper prints them, Markdown, CSV
//! and JSON. A report is drawn from findings alone, without analysing again.
//!
//! Non-goals: computing a figure, printing (every function returns its text),
//! colours.

mod export;
mod footnote;
mod grid;
mod number;
pub mod throughput;
mod words;

pub use export::{csv, json};
pub use words::facts;

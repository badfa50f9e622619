//! Findings in, text out: tables as the 1983 paper prints them, Markdown, CSV
//! and JSON. A report is drawn from findings alone, without analysing again.
//!
//! Non-goals: computing a figure, printing (every function returns its text),
//! colours.
#![forbid(unsafe_code)]

mod answer;
pub mod calibrated;
mod calibration;
pub mod chart;

pub mod compare;
mod curve;
pub mod doubt;
mod experiments;
mod export;
mod figure;
pub mod fleet;
pub mod fold;
mod footnote;
mod grid;
pub mod history;
mod joined;
pub mod listing;
mod number;
pub mod overhead;
pub mod page;
mod ranking;
pub mod replayed;
mod requests;
pub mod response;
mod rows;
mod run;
pub mod screen;
pub mod setting;
mod sheet;
pub mod simulated;
mod statement;
mod storm;
pub mod survey;
mod sync;
pub mod throughput;
pub mod verdict;
mod visible;
pub mod whatif;
mod words;

pub use calibration::calibration_line;
pub use experiments::Run;
pub use export::{answer, csv, json, json_with};
pub use number::show_bytes;
pub use requests::capture_text;
pub use sheet::Sheet;
pub use statement::Statement;
pub use visible::visible_findings;
pub use words::facts;

/// Every experiment, in the order in which the tables are printed.
const EXPERIMENTS: [experiments::Experiment; 5] = [
    throughput::EXPERIMENT,
    curve::EXPERIMENT,
    overhead::EXPERIMENT,
    sync::EXPERIMENT,
    storm::EXPERIMENT,
];

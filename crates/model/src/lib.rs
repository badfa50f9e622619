//! The leaf that every other crate of lbolt stands on: what a request, a
//! sample, a finding and a run *are*, the units they are given in, the
//! workloads that can be requested, and the seams (`Subject`, `Engine`,
//! `Clock`, `Job`) between an experiment and what it measures.
//!
//! Non-goals: measuring, system calls, statistics, printing.
#![forbid(unsafe_code)]

pub mod busy;
pub mod calibration;
pub mod circumstance;
pub mod comparison;
pub mod doubt;
pub mod engine;
pub mod fleet;
pub mod heaviest;
pub mod held;
pub mod histogram;
pub mod history;
pub mod job_role;
pub mod mix;
pub mod named;
pub mod plan;
pub mod pod;
pub mod process;
pub mod quote;
pub mod rank;
pub mod record;
pub mod role_name;
pub mod room;
pub mod run;
pub mod seam;
pub mod text;
pub mod text_file;
pub mod units;
pub mod whole_file;
pub mod workload;

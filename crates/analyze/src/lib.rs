//! Records in, findings out: means and their intervals, steadiness, the rates
//! held against the speed of light, the cost of a call and of its bytes, and what differs between
//! two runs.
//!
//! Non-goals: measuring, printing.
#![forbid(unsafe_code)]

pub mod calibrate;
pub mod cells;
pub mod compare;
mod curve;
pub mod overhead;
pub mod profile;
mod random;
pub mod replay;
pub mod statistics;
pub mod storm;
pub mod stretches;
pub mod throughput;
pub mod whatif;

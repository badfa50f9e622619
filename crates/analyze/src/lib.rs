//! Records in, findings out: means and their intervals, steadiness, and the
//! rates held against the speed of light.
//!
//! Non-goals: measuring, printing.

pub mod overhead;
pub mod statistics;
pub mod throughput;

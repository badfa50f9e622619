//! Records in, findings out: means and their intervals, steadiness, the rates
//! held against the speed of light, and the cost of a call and of its bytes.
//!
//! Non-goals: measuring, printing.

pub mod joined;
pub mod overhead;
pub mod requests;
pub mod response;
pub mod statistics;
pub mod throughput;
mod traffic;

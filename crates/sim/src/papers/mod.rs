//! The published experiments as scenarios: which machine, which program, and what was printed of it.

pub mod program;
pub mod throughput_1983;

//! The published experiments as scenarios: which machine, which program, and what was printed of it.

pub mod fit_1983;
pub mod parameters_1983;
pub mod program;
pub mod scenarios_1983;
pub mod throughput_1983;

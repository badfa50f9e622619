//! The experiments, over the seams of `model`: they know neither Linux nor VAX,
//! touch no file, thread or clock of their own, and print nothing.

pub mod throughput;

//! The experiments, over the seams of `model`: they know neither Linux nor VAX,
//! touch no file, thread or clock of their own, and print nothing.
#![forbid(unsafe_code)]

mod account;
mod bench;
pub mod calibrate;
mod checks;
pub mod curve;
mod failure;
mod observer;
mod on_file;
pub mod overhead;
pub mod replay;
pub mod rounds;
mod seconds;
mod sequence;
pub mod storm;
pub mod sync;
pub mod synthesis;
pub mod throughput;
pub mod until;

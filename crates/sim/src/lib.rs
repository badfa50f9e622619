//! Modelled machines as subjects: the same experiments run on them, in virtual time, and traces are
//! replayed on their parts.
//!
//! Pure and deterministic: no files, clocks, threads or global state; the same seed gives the same
//! bytes. Times are nanoseconds since the simulation's start: whole ones (`u64`) between parts,
//! fractions (`f64`) within a drive, whose revolution is no whole number of them.
//!
//! Non-goals: flash, reading files (profiles are handed in as text), printing.

pub mod buffer_cache;
pub mod bus;
pub mod clock;
pub mod controller;
pub mod drive;
pub mod event;
pub mod file_system;
pub mod fit;
pub mod machine;
pub mod papers;
pub mod processor;
pub mod profile;
pub mod queue;
pub mod random;
pub mod replay;
pub mod subject;

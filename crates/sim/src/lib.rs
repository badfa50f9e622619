//! Modelled drives behind queues and controllers, that traces are replayed on; and the seam by
//! which a modelled machine is a subject of the experiments, in virtual time.
//!
//! Pure and deterministic: no files, clocks, threads or global state; the same seed gives the same
//! bytes. Times are nanoseconds since the simulation's start: whole ones (`u64`) between parts,
//! fractions (`f64`) within a drive, whose revolution is no whole number of them.
//!
//! Non-goals: reading files (profiles are handed in as text), printing.
#![forbid(unsafe_code)]

pub mod bus;
pub mod clock;
pub mod drive;
pub mod event;
pub mod kernel;
pub mod profile;
pub mod queue;
pub mod random;
pub mod replay;
pub mod subject;

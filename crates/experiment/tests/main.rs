//! The experiments in virtual time.
#![allow(clippy::disallowed_methods, reason = "tests read published numbers")]

mod overhead_virtual_time;
mod storm_virtual_time;
mod supercomputer;
mod vax;
mod virtual_time;

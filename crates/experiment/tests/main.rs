//! The experiments in virtual time.

mod overhead_virtual_time;
mod supercomputer;
mod vax;
mod virtual_time;

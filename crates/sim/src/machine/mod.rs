//! Machines: what runs the jobs in virtual time, each behind [`Machine`](crate::subject::Machine).

pub mod supercomputer;

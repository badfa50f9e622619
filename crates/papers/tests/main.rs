//! The published tables and their machines, from the models.
#![allow(clippy::disallowed_methods, reason = "tests read published numbers")]

mod papers_1980;
mod supercomputer;
mod throughput_1983;

//! The published tables and their machines, from the models.

mod papers_1980;
mod supercomputer;
mod throughput_1983;

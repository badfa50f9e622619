//! Drives, machines and papers against published numbers.

mod drive_commands;
mod drives;
mod hplajw;
mod papers_1980;
mod supercomputer;
mod support;
mod throughput_1983;

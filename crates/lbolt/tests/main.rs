//! The command, run as a user runs it: one binary of tests, a module for each thing.

mod bad_input;
mod common;
mod compare;
mod doctor;
mod foreign;
mod fresh;
mod guard;
mod history;
mod import;
mod interruption;
mod joined;
mod kills;
mod output;
mod overhead;
mod papers;
mod record;
mod record_exact;
mod response;
mod runs;
mod selection;
mod simulate;
mod sql;
mod state;
mod sync;
mod throughput;
mod verdict;

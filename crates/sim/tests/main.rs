//! Drives and replayed traces against published numbers.
#![allow(clippy::disallowed_methods, reason = "tests read published numbers")]

mod drive_commands;
mod drives;
mod flash;
mod hplajw;
mod support;

//! Drives and replayed traces against published numbers.

mod drive_commands;
mod drives;
mod hplajw;
mod support;

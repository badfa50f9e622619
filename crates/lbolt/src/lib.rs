//! The binary's parts: arguments, commands, wiring, progress, exit codes. Only
//! this crate prints and exits.
#![forbid(unsafe_code)]

pub mod cli;
pub mod command;
pub mod exit;
mod leftover;
mod modelled;
pub mod output;
mod place;
mod progress;
mod room;
mod run;
mod run_place;
mod session;
mod setting;
pub mod target;
mod text_file;
mod ticker;
mod tracing;

//! The binary's parts: arguments, commands, wiring, progress, exit codes. Only
//! this crate prints and exits.

pub mod cli;
pub mod command;
pub mod exit;
mod leftover;
mod progress;
mod session;
mod setting;
pub mod target;

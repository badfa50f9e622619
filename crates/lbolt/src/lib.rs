//! The binary's parts. Arrows go down only: `command` knows `run`, `resolve`, `print` and `cli`;
//! `run` knows `resolve`; none of them knows a command. Only this crate prints and exits.
#![forbid(unsafe_code)]

pub mod cli;
pub mod command;
pub mod print;
mod resolve;
mod run;

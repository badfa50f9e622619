//! The binary's parts. Arrows go down only: `command` knows `run`, `resolve`, `render` and
//! `cli`; `run` knows `resolve`; none of them knows a command.
#![forbid(unsafe_code)]

pub mod command;
mod render;
mod resolve;
mod run;

//! The live screen of `lbolt top`: who waits for whom now, devices, roles, files, calls, storms.
//! It is given the rows of each second, and keeps the last five minutes of them in bounded memory.
//!
//! Keys are answered at once: a key never waits for the next second.
//!
//! Non-goals: capturing; writing a run (the caller does, when the screen says so); history.
#![forbid(unsafe_code)]

mod answer;
mod detail;
mod draw;
mod input;
mod keys;
mod number;
mod past;
mod screen;
mod storm;
mod table;
mod tally;
mod terminal;
mod view;

pub use keys::Action;
pub use screen::{Options, Screen, keys};
pub use terminal::{Message, Signals, TopError, run};

/// What reads keys and draws: callers need no version of their own.
pub use {ratatui_core, ratatui_crossterm::crossterm};

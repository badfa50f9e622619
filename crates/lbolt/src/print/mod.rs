//! What reaches the user: results, notes, progress, exit codes.

pub mod exit;
pub mod output;
pub(crate) mod progress;
pub(crate) mod render;
pub(crate) mod ticker;

pub(crate) use output::{note, print, print_json, print_line};

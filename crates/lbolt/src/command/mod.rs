//! The commands, one file each.

pub mod compare;
pub mod doctor;
pub mod export;
pub mod import;
pub mod overhead;
pub mod papers;
pub mod record;
pub mod response;
pub mod runs;
pub mod simulate;
pub mod sql;
pub mod survey;
pub mod throughput;
mod typed;

pub use typed::typed;

pub(crate) use crate::print::{note, print, print_json, print_line};

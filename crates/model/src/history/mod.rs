//! The history of a watch: a directory of Parquet files of [`crate::record::Rollup`] rows, a file
//! for each minute, which are put together by hours and days, and become coarser as they age.
//!
//! - [`Store`] is its one writer. What it was given is on the disk when [`Store::add`] returns; at
//!   no moment has it more bytes than allowed; and whatever kills it, no row is lost or twice
//!   there.
//! - [`History`] reads it, while it is written too.
//! - [`Overview`] is what is shown of it.
//! - [`Incident`] is what a run beside it says of why it was kept.
//!
//! Non-goals: what the rows say (crate `analyze`); the runs of incidents (`crate::run`).

mod disk;
mod facts;
mod incident;
mod merge;
mod name;
mod origin;
mod overview;
mod plan;
mod reader;
mod store;
#[cfg(test)]
mod tests;

pub use disk::PARTIAL;
pub use facts::{HostFacts, Hosts};
pub use incident::{INCIDENTS, Incident, incidents, make_incidents};
pub use merge::{Folder, Models};
pub use name::{DAY_NS, FileName, HOUR_NS, Level, MINUTE_NS};
pub use origin::{Origin, Origins, Twice};
pub use overview::{By, Gap, Line, Loss, Overview, Pair};
pub use reader::{History, Part, Query};
pub use store::Store;

use crate::record::RecordError;
use jiff::Timestamp;
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

/// What to do where what is named is no history.
pub const NAME_ONE: &str = "name the directory of a `lbolt watch`, or a file that `lbolt rollup` \
                            makes of captures";

/// Why a history could not be written or read. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum HistoryError {
    #[error("{action} {path}: {source}")]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("write {path} as Parquet: {source}")]
    Parquet { path: PathBuf, source: parquet::errors::ParquetError },
    #[error(
        "keep a history in {path}: another lbolt watch already uses it; stop it or name another \
         directory"
    )]
    Taken { path: PathBuf },
    #[error("keep a history in {path}: --history-size is too small; give a larger size")]
    NoRoom { path: PathBuf },
    #[error("read a history from {path}: {problem}; {NAME_ONE}")]
    None { path: PathBuf, problem: String },
    #[error("read {path} beside {other}: {twice}; leave out one of them")]
    Twice { path: PathBuf, other: PathBuf, twice: Box<Twice> },
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl HistoryError {
    /// Whether the disk has no room left: what was to be kept may be offered again later.
    pub fn is_full(&self) -> bool {
        let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded];
        matches!(self, Self::Io { source, .. } if full.contains(&source.kind()))
    }
}

/// What a history has to say besides its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A file cannot be read: why, and which. It stays where it is.
    Unread(String),
    /// Parts of a run that was rolled up in parts are not there.
    #[allow(missing_docs, reason = "the message says what each is")]
    MissingParts { run: Origin, parts: Vec<u64>, all: u64 },
    /// Files could not be put together, which is tried again.
    NotMerged(String),
    /// There was too little room, and rows became coarser before their time.
    #[allow(missing_docs, reason = "its time")]
    Coarser { from_unix_ns: i64, until_unix_ns: i64, level: Level },
    /// There was too little room, and the oldest rows went.
    #[allow(missing_docs, reason = "its time")]
    Dropped { from_unix_ns: i64, until_unix_ns: i64 },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread(error) => write!(f, "failed to {error}; everything else is read"),
            Self::MissingParts { run, parts, all } => {
                let parts: Vec<String> = parts.iter().map(|part| format!("{part}/{all}")).collect();
                write!(f, "{run} lacks parts: {}", parts.join(", "))
            }
            Self::NotMerged(error) => {
                write!(f, "failed to {error}; retrying in the next minute")
            }
            Self::Coarser { from_unix_ns, until_unix_ns, level } => write!(
                f,
                "{} to {} is now kept per {}: --history-size allows no more",
                shown(*from_unix_ns),
                shown(*until_unix_ns),
                if *level == Level::MonthOfDays { "day" } else { "hour" },
            ),
            Self::Dropped { from_unix_ns, until_unix_ns } => write!(
                f,
                "dropped the oldest rows, {} to {}: --history-size allows no more",
                shown(*from_unix_ns),
                shown(*until_unix_ns),
            ),
        }
    }
}

/// A moment, to the minute.
fn shown(unix_ns: i64) -> String {
    let at = Timestamp::from_nanosecond(unix_ns.into()).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%MZ").to_string()
}

//! What is left of a capture whose process is killed: beside the file of requests, which has no
//! footer yet,
//!
//! - a log of its groups: first what is known of the trace from the beginning, then a description
//!   of each group;
//! - two logs of rows that were done with and are in no group yet, in the order of their ends. Rows
//!   go into one of them until a group has all that the other one holds; then that one begins anew;
//! - a log of calls, waits and what else is known ([`super::ContextLog`]).
//!
//! Rows are added once a second; what was done with since then is lost by a kill, and so are
//! requests in flight.
//!
//! Non-goals: power failures (nothing is synced); putting it together again (`salvage`).

use super::log::Log;
use model::record::requests::{Provenance, RequestWriter};
use model::record::{Commands, Request};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The logs' names end so, behind the file's own.
pub(super) const GROUPS: &str = "parquet.groups";
pub(super) const RECENT: [&str; 2] = ["parquet.recent-0", "parquet.recent-1"];

pub(super) const BESIDES: &str = "parquet.besides";

/// Every file that a killed capture leaves beside the file of requests, by how its name ends.
pub const LEFT_BY_A_KILL: [&str; 4] = [GROUPS, RECENT[0], RECENT[1], BESIDES];

/// What rows are sorted by.
pub(super) type Key = (i64, u64);

pub(super) fn key(row: &Request) -> Key {
    (row.arrival_ns().unwrap_or(0), row.request_id)
}

/// A log of recent rows.
#[derive(Debug)]
struct Recent {
    log: Log,
    /// The last of its rows, in the order of the file.
    last: Option<Key>,
}

/// The logs beside a file that is being written.
#[derive(Debug)]
pub(super) struct Survival {
    path: PathBuf,
    groups: Log,
    recent: [Recent; 2],
    /// Where rows go now.
    current: usize,
    /// The last row that is in a group.
    safe: Option<Key>,
}

/// Why what is to survive could not be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum SurvivalError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Parquet(String),
}

impl SurvivalError {
    /// Whether there is no space.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Io(error) if super::is_full(error))
    }
}

impl Survival {
    /// Begins the logs. What is known of the trace stands in the first.
    pub(super) fn begin(
        path: &Path,
        provenance: &Provenance,
        more: &BTreeMap<String, String>,
    ) -> Result<Self, SurvivalError> {
        let recent = |name| -> io::Result<Recent> {
            Ok(Recent { log: Log::create(&path.with_extension(name))?, last: None })
        };
        let mut groups = Log::create(&path.with_extension(GROUPS))?;
        let recent = [recent(RECENT[0])?, recent(RECENT[1])?];
        groups.add(&piece(&[], &Commands::default(), provenance, more)?)?;
        Ok(Self { path: path.to_owned(), groups, recent, current: 0, safe: None })
    }

    /// Rows are done with that are in no group.
    pub(super) fn add(
        &mut self,
        rows: &[Request],
        commands: &Commands,
        provenance: &Provenance,
    ) -> Result<(), SurvivalError> {
        let recent = &mut self.recent[self.current];
        recent.log.add(&piece(rows, commands, provenance, &BTreeMap::new())?)?;
        recent.last = rows.iter().map(key).max().max(recent.last);
        Ok(())
    }

    /// Groups were ended; `last` is the last row in any.
    pub(super) fn groups_ended(
        &mut self,
        descriptions: &[Vec<u8>],
        last: Option<Key>,
    ) -> Result<(), SurvivalError> {
        descriptions.iter().try_for_each(|description| self.groups.add(description))?;
        self.safe = last.max(self.safe);
        Ok(self.turn()?)
    }

    /// Goes over to the other log, if all of its rows are in groups.
    fn turn(&mut self) -> io::Result<()> {
        let other = &mut self.recent[1 - self.current];
        if other.last <= self.safe {
            if !other.log.is_empty() {
                other.log.restart()?;
            }
            other.last = None;
            self.current = 1 - self.current;
        }
        Ok(())
    }

    /// Nothing of this is needed any more.
    pub(super) fn end(self) {
        remove(&self.path);
    }
}

/// Removes the logs beside a file.
pub(super) fn remove(path: &Path) {
    for name in LEFT_BY_A_KILL {
        // One that stays is found by whoever removes the run.
        let _ = std::fs::remove_file(path.with_extension(name));
    }
}

/// Rows as a small file of requests.
fn piece(
    rows: &[Request],
    commands: &Commands,
    provenance: &Provenance,
    more: &BTreeMap<String, String>,
) -> Result<Vec<u8>, SurvivalError> {
    let made = || {
        let mut writer = RequestWriter::new(Vec::new())?;
        writer.push_all(rows, commands)?;
        writer.finish(commands, provenance, more)
    };
    made().map_err(|e| SurvivalError::Parquet(e.to_string()))
}

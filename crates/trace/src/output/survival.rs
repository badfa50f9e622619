//! What is left of a capture whose process is killed: beside the file of requests, which has no
//! footer yet,
//!
//! - a log of its groups: first what is known of the trace from the beginning, then a description
//!   of each group;
//! - two logs of rows that were done with and are in no group yet, in the order of their ends. Rows
//!   go into one of them until a group has all that the other one holds; then that one begins anew.
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
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// The logs' names end so, behind the file's own.
pub(super) const GROUPS: &str = "parquet.groups";
pub(super) const RECENT: [&str; 2] = ["parquet.recent-0", "parquet.recent-1"];

/// Every file that a killed capture leaves beside the file of requests, by how its name ends.
pub const LEFT_BY_A_KILL: [&str; 3] = [GROUPS, RECENT[0], RECENT[1]];

/// What rows are sorted by.
type Key = (i64, u64);

fn key(row: &Request) -> Key {
    (row.arrival_ns().unwrap_or(0), row.request_id)
}

/// A log of recent rows.
#[derive(Debug)]
struct Recent {
    log: Log,
    /// The last of its rows, in the order of the file.
    last: Option<Key>,
}

#[derive(Debug)]
enum Order {
    /// Rows that are in no group, and the last of them.
    Rows(Vec<u8>, Option<Key>),
    /// Descriptions of groups that were ended, and the last row in any.
    Groups(Vec<Vec<u8>>, Option<Key>),
}

/// The logs, which a thread of their own writes: a disk that is slow must not keep the rings from
/// being emptied.
#[derive(Debug)]
struct Logs {
    groups: Log,
    recent: [Recent; 2],
    /// Where rows go now.
    current: usize,
    /// The last row that is in a group.
    safe: Option<Key>,
}

/// The logs beside a file that is being written.
#[derive(Debug)]
pub(super) struct Survival {
    path: PathBuf,
    orders: Sender<Order>,
    thread: JoinHandle<io::Result<()>>,
    /// What is not written yet is not needed any more.
    is_over: Arc<AtomicBool>,
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

impl Logs {
    fn create(path: &Path) -> io::Result<Self> {
        let recent = |name| -> io::Result<Recent> {
            Ok(Recent { log: Log::create(&path.with_extension(name))?, last: None })
        };
        let groups = Log::create(&path.with_extension(GROUPS))?;
        let recent = [recent(RECENT[0])?, recent(RECENT[1])?];
        Ok(Self { groups, recent, current: 0, safe: None })
    }

    fn write(&mut self, order: Order) -> io::Result<()> {
        match order {
            Order::Rows(piece, last) => {
                let recent = &mut self.recent[self.current];
                recent.log.add(&piece)?;
                recent.last = last.max(recent.last);
            }
            Order::Groups(descriptions, safe) => {
                descriptions.iter().try_for_each(|description| self.groups.add(description))?;
                self.safe = safe.max(self.safe);
                self.turn()?;
            }
        }
        Ok(())
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
}

impl Survival {
    /// Begins the logs. What is known of the trace stands in the first.
    pub(super) fn begin(
        path: &Path,
        provenance: &Provenance,
        more: &BTreeMap<String, String>,
    ) -> Result<Self, SurvivalError> {
        let mut logs = Logs::create(path)?;
        logs.groups.add(&piece(&[], &Commands::default(), provenance, more)?)?;
        let (orders, taken) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let is_enough = is_over.clone();
        let work = move || {
            let mut needed = taken.iter().take_while(|_| !is_enough.load(Ordering::Relaxed));
            needed.try_for_each(|order| logs.write(order))
        };
        let thread = std::thread::Builder::new().name("lbolt-keep".into()).spawn(work)?;
        Ok(Self { path: path.to_owned(), orders, thread, is_over, safe: None })
    }

    /// Rows are done with; which of them are in a group is known by the last that is.
    pub(super) fn add(
        &mut self,
        done: &[Request],
        commands: &Commands,
        provenance: &Provenance,
    ) -> Result<(), SurvivalError> {
        let rest: Vec<Request> =
            done.iter().filter(|row| Some(key(row)) > self.safe).copied().collect();
        // Counts alone: the notes stand with the groups.
        let counts = Provenance { notes: BTreeMap::new(), ..provenance.clone() };
        let piece = piece(&rest, commands, &counts, &BTreeMap::new())?;
        self.order(Order::Rows(piece, rest.iter().map(key).max()));
        Ok(())
    }

    /// Groups were ended; `last` is the last row in any.
    pub(super) fn groups_ended(&mut self, descriptions: Vec<Vec<u8>>, last: Option<Key>) {
        self.safe = last.max(self.safe);
        self.order(Order::Groups(descriptions, last));
    }

    /// A thread that has ended says why at the next [`Self::failure`].
    fn order(&self, order: Order) {
        let _ = self.orders.send(order);
    }

    /// Whether the logs take no more.
    pub(super) fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Why the logs take no more. They are gone then.
    pub(super) fn failure(self) -> SurvivalError {
        drop(self.orders);
        remove(&self.path);
        match self.thread.join() {
            Ok(Err(error)) => error.into(),
            _ => io::Error::other("the thread that writes them has ended").into(),
        }
    }

    /// The file is whole: nothing of this is needed any more.
    pub(super) fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        drop(self.orders);
        // What it could not write is not needed.
        let _ = self.thread.join();
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
        rows.iter().try_for_each(|row| writer.push(row, commands))?;
        writer.finish(commands, provenance, more)
    };
    made().map_err(|e| SurvivalError::Parquet(e.to_string()))
}

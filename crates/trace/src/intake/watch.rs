//! Who is shown what an intake takes, as soon as it is known.
//!
//! Non-goals: rows in their order (`super::rows`).

use super::Intake;
use model::record::{Call, Commands, FileNumber, JournalUse, Request, Wait};

/// Is shown requests.
pub(super) type Watch<'a> = Box<dyn FnMut(&Request, &Commands) + 'a>;
/// Is shown waits.
pub(super) type WatchWaits<'a> = Box<dyn FnMut(&Wait) + 'a>;
pub(super) type WatchJournal<'a> = Box<dyn FnMut(&JournalUse) + 'a>;
/// Is shown calls.
pub(super) type WatchCalls<'a> = Box<dyn FnMut(&Call) + 'a>;
/// Is shown who changes files: a file, a thread, and its name.
pub(super) type WatchChanges<'a> = Box<dyn FnMut(FileNumber, u32, &str) + 'a>;

impl<'a> Intake<'a> {
    /// Shows each request as soon as it is done with, its times as the source has them.
    pub fn watch(&mut self, watch: impl FnMut(&Request, &Commands) + 'a) {
        self.pairing.watch();
        self.watch = Some(Box::new(watch));
    }

    /// Shows each call that makes a file durable as soon as it has ended, its times as the source
    /// has them.
    pub fn watch_calls(&mut self, watch: impl FnMut(&Call) + 'a) {
        self.watch_calls = Some(Box::new(watch));
    }

    /// Shows each wait of a thread as soon as it has ended, its times as the source has them.
    pub fn watch_waits(&mut self, watch: impl FnMut(&Wait) + 'a) {
        self.watch_waits = Some(Box::new(watch));
    }

    /// Shows who changed metadata as soon as it is told, its times as the source has them.
    pub fn watch_journal(&mut self, watch: impl FnMut(&JournalUse) + 'a) {
        self.watch_journal = Some(Box::new(watch));
    }

    /// Shows which thread, by number and name, changes a file's data as soon as it is told. Each is
    /// told of once, as long as the kernel remembers it.
    pub fn watch_changes(&mut self, watch: impl FnMut(FileNumber, u32, &str) + 'a) {
        self.watch_changes = Some(Box::new(watch));
    }
}

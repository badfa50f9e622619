//! Who is shown what a session captures, as soon as it is known.
//!
//! Non-goals: rows in their order, which the session's output takes.

use super::Session;
use model::record::{Call, Commands, FileNumber, JournalUse, Request, Wait};

impl<'a> Session<'a> {
    /// Shows each request as soon as it is completed.
    pub fn watch(&mut self, watch: impl FnMut(&Request, &Commands) + 'a) {
        self.intake.watch(watch);
    }

    /// Shows who changed metadata as soon as it is told.
    pub fn watch_journal(&mut self, watch: impl FnMut(&JournalUse) + 'a) {
        self.intake.watch_journal(watch);
    }

    /// Shows which thread, by number and name, changes a file's data as soon as it is told.
    pub fn watch_changes(&mut self, watch: impl FnMut(FileNumber, u32, &str) + 'a) {
        self.intake.watch_changes(watch);
    }

    /// Shows each wait of a thread as soon as it has ended.
    pub fn watch_waits(&mut self, watch: impl FnMut(&Wait) + 'a) {
        self.intake.watch_waits(watch);
    }

    /// Shows each call as soon as it has ended.
    pub fn watch_calls(&mut self, watch: impl FnMut(&Call) + 'a) {
        self.intake.watch_calls(watch);
    }
}

//! Calls and commits made of their steps: a call's begin and end by the thread that called, which
//! waits meanwhile; a commit's stages by its transaction.
//!
//! Non-goals: which requests served them.

use crate::event::{Durability, DurabilityEvent, Stage};
use model::record::{Call, CallKind, Commands, FileNumber, JournalCommit};
use std::collections::HashMap;

/// Calls that are kept; more are counted.
const CALLS_MOST: usize = 4 << 20;
/// Files of which it is known who changed them, and how many of these.
const FILES_MOST: usize = 100_000;
const WRITERS_MOST: usize = 8;

/// What was seen of calls that make files durable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Durable {
    /// Calls, in the order of their begins once they are taken.
    pub calls: Vec<Call>,
    /// Commits, in the order of their begins.
    pub commits: Vec<JournalCommit>,
    /// Calls that were not kept, because there were too many.
    pub left_out: u64,
    /// By file: the threads that changed it, the last one last.
    pub writers: HashMap<FileNumber, Vec<u32>>,
    new_files: Vec<(FileNumber, u32)>,
    /// Calls that have begun, by thread.
    open: HashMap<u32, Call>,
}

impl Durable {
    pub(super) fn take(&mut self, event: DurabilityEvent, commands: &Commands) {
        match event.step {
            Durability::Begin { kind } => {
                self.keep_open(event.pid);
                self.see(event.file, event.pid);
                let call = Call {
                    kind,
                    file_system: u64::from(event.file.file_system),
                    inode: event.file.inode,
                    generation: u64::from(event.file.generation),
                    pid: u64::from(event.pid),
                    command: event.command.map_or("", |id| commands.name(id)).to_owned(),
                    begin_ns: event.time_ns,
                    ..Call::default()
                };
                self.open.insert(event.pid, call);
            }
            Durability::Changed => self.changed(event.file, event.pid),
            Durability::End { error, transactions } => self.end(event, error, transactions),
            Durability::Commit { transaction, stage } => {
                self.stage(event.file.file_system, transaction, stage, event.time_ns);
            }
        }
    }

    /// The last few that changed a file; who does so again is the last.
    fn changed(&mut self, file: FileNumber, pid: u32) {
        self.see(file, pid);
        if let Some(writers) = self.writers.get_mut(&file) {
            writers.retain(|known| *known != pid);
            writers.push(pid);
            if writers.len() > WRITERS_MOST {
                writers.remove(0);
            }
        }
    }

    /// A file is new once.
    fn see(&mut self, file: FileNumber, pid: u32) {
        if self.writers.len() < FILES_MOST && !self.writers.contains_key(&file) {
            self.writers.insert(file, Vec::new());
            self.new_files.push((file, pid));
        }
    }

    /// Files that were seen for the first time since this was last asked, each with a thread that
    /// has it open.
    pub(super) fn take_new_files(&mut self) -> Vec<(FileNumber, u32)> {
        std::mem::take(&mut self.new_files)
    }

    /// A call that ended untold: its thread went on.
    fn keep_open(&mut self, pid: u32) {
        if let Some(call) = self.open.remove(&pid) {
            self.keep(call);
        }
    }

    fn keep(&mut self, call: Call) {
        match self.calls.len() < CALLS_MOST {
            true => self.calls.push(call),
            false => self.left_out += 1,
        }
    }

    /// A call whose begin was not seen has no length, and is none.
    fn end(&mut self, event: DurabilityEvent, error: u32, transactions: Option<(u32, u32)>) {
        let begun = self.open.remove(&event.pid).filter(|call| call.file() == event.file);
        let Some(mut call) = begun else { return };
        call.end_ns = Some(event.time_ns);
        call.error = u64::from(error);
        call.transaction = transactions.map(|(whole, data)| match call.kind {
            CallKind::Fdatasync => u64::from(data),
            CallKind::Fsync | CallKind::Sync => u64::from(whole),
        });
        self.keep(call);
    }

    /// Commits of a journal follow each other, so that the last one of it is meant.
    fn stage(&mut self, file_system: u32, transaction: u64, stage: Stage, time_ns: i64) {
        let file_system = u64::from(file_system);
        if stage == Stage::Started {
            let commit = JournalCommit {
                file_system,
                transaction,
                started_ns: time_ns,
                ..JournalCommit::default()
            };
            self.commits.push(commit);
            return;
        }
        let mut of_journal = self.commits.iter_mut().rev().take(64);
        let commit = of_journal
            .find(|commit| (commit.file_system, commit.transaction) == (file_system, transaction));
        let Some(commit) = commit else { return };
        let moment = match stage {
            Stage::Started => return,
            Stage::Locking => &mut commit.locking_ns,
            Stage::Flushing => &mut commit.flushing_ns,
            Stage::Logging => &mut commit.logging_ns,
            Stage::Ended => &mut commit.ended_ns,
        };
        *moment = Some(time_ns);
    }

    /// Times from the run's start, with the calls whose end was not seen.
    pub(super) fn conclude(&mut self, zero_ns: i64) {
        let open: Vec<Call> = self.open.drain().map(|(_, call)| call).collect();
        open.into_iter().for_each(|call| self.keep(call));
        self.calls.sort_by_key(|call| (call.begin_ns, call.pid));
        for call in &mut self.calls {
            call.begin_ns -= zero_ns;
            call.end_ns.iter_mut().for_each(|end_ns| *end_ns -= zero_ns);
        }
        for commit in &mut self.commits {
            commit.started_ns -= zero_ns;
            let stages = [
                &mut commit.locking_ns,
                &mut commit.flushing_ns,
                &mut commit.logging_ns,
                &mut commit.ended_ns,
            ];
            stages.into_iter().flatten().for_each(|moment| *moment -= zero_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileNumber = FileNumber { file_system: 9, inode: 12, generation: 1 };

    fn event(time_ns: i64, pid: u32, step: Durability) -> DurabilityEvent {
        DurabilityEvent { time_ns, file: FILE, pid, command: None, step }
    }

    fn taken(events: &[DurabilityEvent]) -> Durable {
        let mut durable = Durable::default();
        events.iter().for_each(|event| durable.take(*event, &Commands::default()));
        durable.conclude(100);
        durable
    }

    #[test]
    fn a_call_is_its_threads_begin_and_end_and_waited_for_its_kinds_transaction() {
        let begin = |kind| Durability::Begin { kind };
        let end = Durability::End { error: 0, transactions: Some((41, 40)) };
        let durable = taken(&[
            event(110, 1, end),
            event(120, 1, begin(CallKind::Fsync)),
            event(130, 2, begin(CallKind::Fdatasync)),
            event(140, 3, begin(CallKind::Sync)),
            event(150, 1, end),
            event(160, 2, end),
            event(170, 3, begin(CallKind::Sync)),
        ]);
        let calls: Vec<_> = durable
            .calls
            .iter()
            .map(|call| (call.pid, call.begin_ns, call.end_ns, call.transaction))
            .collect();
        let ended = [(1, 20, Some(50), Some(41)), (2, 30, Some(60), Some(40))];
        assert_eq!(calls, [&ended[..], &[(3, 40, None, None), (3, 70, None, None)]].concat());
    }

    #[test]
    fn a_file_is_new_once_and_has_those_who_changed_it_last() {
        let mut durable = Durable::default();
        for pid in (0..10).chain([3]) {
            durable.take(event(5, pid, Durability::Changed), &Commands::default());
        }
        assert_eq!(durable.take_new_files(), [(FILE, 0)]);
        assert!(durable.take_new_files().is_empty());
        assert_eq!(durable.writers[&FILE], [2, 4, 5, 6, 7, 8, 9, 3]);
    }

    #[test]
    fn a_commit_has_its_stages_and_one_that_was_not_seen_to_begin_is_none() {
        let stage = |transaction, stage| Durability::Commit { transaction, stage };
        let durable = taken(&[
            event(100, 1, stage(6, Stage::Ended)),
            event(110, 1, stage(7, Stage::Started)),
            event(120, 1, stage(7, Stage::Flushing)),
            event(130, 1, stage(7, Stage::Ended)),
            event(140, 1, stage(8, Stage::Started)),
        ]);
        let [first, second] = durable.commits.as_slice() else { panic!("{durable:?}") };
        assert_eq!((first.started_ns, first.flushing_ns, first.ended_ns), (10, Some(20), Some(30)));
        assert_eq!((second.transaction, second.ended_ns), (8, None));
    }
}

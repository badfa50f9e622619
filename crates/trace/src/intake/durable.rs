//! Calls and commits made of their steps: a call's begin and end by the thread that called, which
//! waits meanwhile; a commit's stages by its transaction.
//!
//! Non-goals: which requests served them.

use crate::event::{Durability, DurabilityEvent, JournaledEvent, Stage, WaitEvent, WaitTotals};
use lru::LruCache;
use model::record::{
    Call, CallKind, Commands, Context, FileNumber, JournalCommit, JournalUse, NamedFile, Wait,
};
use model::room::Room as _;
use std::collections::{HashMap, HashSet};

/// Calls that are kept; more are counted.
const CALLS_MOST: usize = 4 << 20;
/// Waits that are kept; more are counted.
const WAITS_MOST: usize = 2 << 20;
/// Files of which it is known who changed them, those used last; and how many of these.
const FILES_MOST: usize = 100_000;
const WRITERS_MOST: usize = 8;

/// A call that has begun.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Open {
    call: Call,
    /// Whether its system call was seen, which tells its kind and its end.
    is_whole: bool,
    /// Whether it was told as news as it is.
    is_told: bool,
}

/// What was seen of calls that make files durable.
#[derive(Debug, Clone)]
pub struct Durable {
    /// Calls, in the order of their begins once they are taken.
    pub calls: Vec<Call>,
    /// Commits, in the order of their begins.
    pub commits: Vec<JournalCommit>,
    /// Waits of threads, in the order of their begins once they are taken.
    pub waits: Vec<Wait>,
    /// Who changed metadata, in the order of time.
    pub journal_use: Vec<JournalUse>,
    /// How long threads waited in all.
    pub waited: HashMap<u32, WaitTotals>,
    /// Calls and waits that were not kept, because there were too many.
    pub left_out: u64,
    /// By file: the threads that changed it, the last one last.
    pub writers: LruCache<FileNumber, Vec<u32>>,
    new_files: Vec<(FileNumber, u32)>,
    /// The last step, in the source's time.
    last_ns: i64,
    /// Calls that have begun, by thread.
    open: HashMap<u32, Open>,
    /// How much was told as news; none where nobody asks for it.
    told: Option<Told>,
}

/// How much of each was told as news, and the files that were changed since.
#[derive(Debug, Clone, Default)]
struct Told {
    calls: usize,
    commits: usize,
    waits: usize,
    journal_use: usize,
    changed: HashSet<FileNumber>,
}

/// Of commits, the last ones may have further stages.
const COMMITS_OPEN: usize = 64;

impl Default for Durable {
    fn default() -> Self {
        Self {
            calls: Vec::new(),
            commits: Vec::new(),
            waits: Vec::new(),
            journal_use: Vec::new(),
            waited: HashMap::new(),
            left_out: 0,
            writers: LruCache::unbounded(),
            new_files: Vec::new(),
            last_ns: 0,
            open: HashMap::new(),
            told: None,
        }
    }
}

impl Durable {
    pub(super) fn take(&mut self, event: DurabilityEvent, commands: &Commands) {
        self.last_ns = self.last_ns.max(event.time_ns);
        match event.step {
            Durability::Begin { kind } => {
                self.see(event.file, event.pid);
                if !self.is_within_a_call(event) {
                    self.open(call_of(event, kind, commands), event.pid, false);
                }
            }
            Durability::Called { kind } => {
                self.open(call_of(event, kind, commands), event.pid, true);
            }
            Durability::Returned { error } => {
                let open = self.open.remove(&event.pid).filter(|open| open.is_whole);
                let ended = open.map(|open| Call {
                    end_ns: Some(event.time_ns),
                    error: u64::from(error),
                    ..open.call
                });
                ended.into_iter().for_each(|call| self.keep(call));
            }
            Durability::Changed => self.changed(event.file, event.pid),
            Durability::End { error, transactions } => self.end(event, error, transactions),
            Durability::Commit { transaction, stage } => {
                self.stage(event.file.file_system, transaction, stage, event.time_ns);
            }
        }
    }

    /// A wait has ended.
    pub(super) fn wait(&mut self, event: &WaitEvent, commands: &Commands) {
        self.last_ns = self.last_ns.max(event.end_ns);
        if self.waits.len() >= WAITS_MOST {
            self.left_out += 1;
            return;
        }
        self.waits.push(Wait {
            kind: event.kind,
            file_system: u64::from(event.file.file_system),
            inode: event.file.inode,
            generation: u64::from(event.file.generation),
            pid: u64::from(event.pid),
            command: event.command.map_or("", |id| commands.name(id)).to_owned(),
            begin_ns: event.begin_ns,
            end_ns: event.end_ns,
            for_request: u64::from(event.is_for_request),
            holder: u64::from(event.holder),
            in_transaction: u64::from(event.is_in_transaction),
            stack: u64::from(event.stack),
        });
    }

    /// Somebody changed metadata.
    pub(super) fn journaled(&mut self, event: &JournaledEvent, commands: &Commands) {
        if self.journal_use.len() >= WAITS_MOST {
            self.left_out += 1;
            return;
        }
        self.journal_use.push(JournalUse {
            file_system: u64::from(event.file_system),
            pid: u64::from(event.pid),
            command: event.command.map_or("", |id| commands.name(id)).to_owned(),
            begin_ns: event.begin_ns,
            end_ns: event.end_ns,
            blocks: event.blocks,
        });
    }

    /// The last few that changed a file; who does so again is the last.
    fn changed(&mut self, file: FileNumber, pid: u32) {
        self.see(file, pid);
        self.told.iter_mut().for_each(|told| told.changed.extend([file]));
        if let Some(writers) = self.writers.get_mut(&file) {
            writers.retain(|known| *known != pid);
            writers.push(pid);
            if writers.len() > WRITERS_MOST {
                writers.remove(0);
            }
        }
    }

    /// A file is new once, as long as it is known.
    fn see(&mut self, file: FileNumber, pid: u32) {
        if self.writers.get(&file).is_none() {
            self.writers.put(file, Vec::new());
            self.new_files.push((file, pid));
        }
        if self.writers.len() > FILES_MOST {
            self.writers.pop_lru();
        }
    }

    /// Files that were seen for the first time since this was last asked, each with a thread that
    /// has it open.
    pub(super) fn take_new_files(&mut self) -> Vec<(FileNumber, u32)> {
        std::mem::take(&mut self.new_files)
    }

    /// A call that ended untold is kept: its thread went on.
    fn open(&mut self, call: Call, pid: u32, is_whole: bool) {
        if let Some(earlier) = self.open.insert(pid, Open { call, is_whole, is_told: false }) {
            self.keep(earlier.call);
        }
    }

    /// Whether the file system's part of a system call begins. A part of msync tells its file;
    /// syncfs and sync have parts of many.
    fn is_within_a_call(&mut self, event: DurabilityEvent) -> bool {
        let open = self.open.get_mut(&event.pid).filter(|open| open.is_whole);
        let Some(Open { call, is_told, .. }) = open else { return false };
        if call.kind == CallKind::Msync {
            set_file(call, event.file);
            *is_told = false;
        }
        true
    }

    fn keep(&mut self, call: Call) {
        match self.calls.len() < CALLS_MOST {
            true => self.calls.push(call),
            false => self.left_out += 1,
        }
    }

    /// A call whose begin was not seen has no length, and is none.
    fn end(&mut self, event: DurabilityEvent, error: u32, transactions: Option<(u32, u32)>) {
        let open = self.open.get_mut(&event.pid);
        let Some(open) = open.filter(|open| open.call.file() == event.file) else { return };
        open.call.transaction = transactions.map(|(whole, data)| match open.call.kind {
            CallKind::Fdatasync => u64::from(data),
            _ => u64::from(whole),
        });
        if open.is_whole {
            open.is_told = false;
            return;
        }
        open.call.end_ns = Some(event.time_ns);
        open.call.error = u64::from(error);
        let ended = self.open.remove(&event.pid);
        ended.into_iter().for_each(|open| self.keep(open.call));
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
        let mut of_journal = self.commits.iter_mut().rev().take(COMMITS_OPEN);
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

    /// What came since this was last asked, times from zero: calls that went on and commits may be
    /// told again, with more. Not to be asked where anything is dropped.
    pub(super) fn news(&mut self, zero_ns: i64) -> Context {
        let mut told = self.told.take().unwrap_or_default();
        let since = |count: &mut usize, all: usize| std::mem::replace(count, all)..;
        let calls = self.calls.get(since(&mut told.calls, self.calls.len()));
        // Where a file system tells no ends, every thread has one that stays.
        let open = self.open.values_mut();
        let open = open
            .filter_map(|open| (!std::mem::replace(&mut open.is_told, true)).then_some(&open.call));
        let is_open = |commit: &JournalCommit| commit.ended_ns.is_none();
        let commits = self.commits.get(told.commits..).unwrap_or_default();
        let behind = commits.len().saturating_sub(COMMITS_OPEN);
        let first_open = commits.iter().skip(behind).position(is_open);
        told.commits += first_open.map_or(commits.len(), |first| behind + first);
        let waits = self.waits.get(since(&mut told.waits, self.waits.len()));
        let journal_use =
            self.journal_use.get(since(&mut told.journal_use, self.journal_use.len()));
        let changed = std::mem::take(&mut told.changed);
        let files = changed.into_iter().map(|file| NamedFile {
            file_system: u64::from(file.file_system),
            inode: file.inode,
            generation: u64::from(file.generation),
            writers: self.writers.peek(&file).iter().flat_map(|of| widened(of)).collect(),
            ..NamedFile::default()
        });
        let news = Context {
            calls: calls.unwrap_or_default().iter().chain(open).cloned().collect(),
            commits: commits.to_vec(),
            waits: waits.unwrap_or_default().to_vec(),
            journal_use: journal_use.unwrap_or_default().to_vec(),
            files: files.collect(),
            ..Context::default()
        };
        self.told = Some(told);
        news.counted_from(zero_ns)
    }

    /// Drops what was over so long before the last step.
    pub(super) fn keep_last(&mut self, keep_ns: i64) {
        let since_ns = self.last_ns.saturating_sub(keep_ns);
        self.calls.retain(|call| call.end_ns.unwrap_or(call.begin_ns) >= since_ns);
        self.waits.retain(|wait| wait.end_ns >= since_ns);
        self.journal_use.retain(|one| one.end_ns >= since_ns);
        self.commits.retain(|commit| commit.ended_ns.unwrap_or(commit.started_ns) >= since_ns);
        self.calls.give_room_back();
        self.waits.give_room_back();
        self.journal_use.give_room_back();
        self.commits.give_room_back();
    }

    /// Times from the run's start, with the calls whose end was not seen.
    pub(super) fn conclude(&mut self, zero_ns: i64) {
        let open: Vec<Open> = self.open.drain().map(|(_, open)| open).collect();
        open.into_iter().for_each(|open| self.keep(open.call));
        self.calls.sort_by_key(|call| (call.begin_ns, call.pid));
        self.waits.sort_by_key(|wait| (wait.begin_ns, wait.pid));
        let Self { calls, commits, waits, journal_use, .. } = self;
        journal_use.sort_by_key(|one| (one.begin_ns, one.pid));
        journal_use.iter_mut().for_each(|one| *one = std::mem::take(one).counted_from(zero_ns));
        waits.iter_mut().for_each(|one| *one = std::mem::take(one).counted_from(zero_ns));
        calls.iter_mut().for_each(|one| *one = std::mem::take(one).counted_from(zero_ns));
        commits.iter_mut().for_each(|one| *one = std::mem::take(one).counted_from(zero_ns));
    }
}

fn widened(pids: &[u32]) -> impl Iterator<Item = u64> {
    pids.iter().map(|pid| u64::from(*pid))
}

fn call_of(event: DurabilityEvent, kind: CallKind, commands: &Commands) -> Call {
    let command = event.command.map_or("", |id| commands.name(id)).to_owned();
    let pid = u64::from(event.pid);
    let mut call = Call { kind, pid, command, begin_ns: event.time_ns, ..Call::default() };
    set_file(&mut call, event.file);
    call
}

fn set_file(call: &mut Call, file: FileNumber) {
    call.file_system = u64::from(file.file_system);
    call.inode = file.inode;
    call.generation = u64::from(file.generation);
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
            event(140, 3, begin(CallKind::Untold)),
            event(150, 1, end),
            event(160, 2, end),
            event(170, 3, begin(CallKind::Untold)),
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
    fn only_what_was_over_lately_is_kept_and_what_is_open() {
        let begin = Durability::Begin { kind: CallKind::Fsync };
        let end = Durability::End { error: 0, transactions: None };
        let stage = |stage| Durability::Commit { transaction: 7, stage };
        let mut durable = Durable::default();
        let events = [
            event(100, 1, begin),
            event(105, 3, begin),
            event(110, 9, stage(Stage::Started)),
            event(120, 9, stage(Stage::Ended)),
            event(150, 1, end),
            event(160, 2, begin),
            event(190, 2, end),
            event(200, 9, stage(Stage::Started)),
        ];
        events.iter().for_each(|event| durable.take(*event, &Commands::default()));
        durable.keep_last(20);
        durable.conclude(0);
        let calls: Vec<_> = durable.calls.iter().map(|call| (call.pid, call.end_ns)).collect();
        assert_eq!(calls, [(3, None), (2, Some(190))]);
        assert_eq!(durable.commits.iter().map(|c| c.started_ns).collect::<Vec<_>>(), [200]);
        durable.calls.reserve(1 << 20);
        durable.keep_last(20);
        assert!(durable.calls.capacity() < 1 << 15, "room of a burst");
    }

    #[test]
    fn a_system_call_tells_kind_and_end_and_the_file_system_the_rest() {
        let called = |kind| Durability::Called { kind };
        let begin = Durability::Begin { kind: CallKind::Fsync };
        let end = Durability::End { error: 0, transactions: Some((41, 40)) };
        let returned = Durability::Returned { error: 5 };
        let nowhere = |event| DurabilityEvent { file: FileNumber::default(), ..event };
        let durable = taken(&[
            event(110, 1, returned),
            nowhere(event(120, 1, called(CallKind::Msync))),
            event(121, 1, begin),
            event(128, 1, end),
            nowhere(event(130, 1, returned)),
            event(140, 2, called(CallKind::SyncFileRange)),
            nowhere(event(150, 2, returned)),
            event(160, 3, called(CallKind::Fdatasync)),
            event(170, 3, begin),
        ]);
        let [msync, range, open] = durable.calls.as_slice() else { panic!("{durable:?}") };
        assert_eq!((msync.kind, msync.file(), msync.error), (CallKind::Msync, FILE, 5));
        assert_eq!((msync.begin_ns, msync.end_ns, msync.transaction), (20, Some(30), Some(41)));
        assert_eq!((range.kind, range.end_ns), (CallKind::SyncFileRange, Some(50)));
        assert_eq!((open.kind, open.end_ns), (CallKind::Fdatasync, None));
    }

    #[test]
    fn a_call_that_goes_on_is_told_once_and_again_where_more_is_known() {
        let nowhere = |event| DurabilityEvent { file: FileNumber::default(), ..event };
        let begin = Durability::Begin { kind: CallKind::Fsync };
        let mut durable = Durable::default();
        durable.news(0);
        let mut told = Context::default();
        let mut count = |durable: &mut Durable, steps: &[DurabilityEvent]| {
            steps.iter().for_each(|step| durable.take(*step, &Commands::default()));
            let news = durable.news(0);
            told.extend(news.clone());
            news.calls.len()
        };
        let msync = Durability::Called { kind: CallKind::Msync };
        let first = [event(10, 1, begin), nowhere(event(20, 2, msync))];
        assert_eq!(count(&mut durable, &first), 2);
        (0..100).for_each(|_| assert_eq!(count(&mut durable, &[]), 0));
        // The file of an msync, its transaction and its end.
        let end = Durability::End { error: 0, transactions: Some((7, 7)) };
        assert_eq!(count(&mut durable, &[event(30, 2, begin)]), 1);
        assert_eq!(count(&mut durable, &[]), 0);
        assert_eq!(count(&mut durable, &[event(40, 2, end)]), 1);
        told.settle();
        let [fsync, msync] = told.calls.as_slice() else { panic!("{told:?}") };
        assert_eq!((fsync.pid, fsync.end_ns), (1, None));
        assert_eq!((msync.file(), msync.transaction, msync.end_ns), (FILE, Some(7), None));
    }

    #[test]
    fn a_file_is_new_once_and_has_those_who_changed_it_last() {
        let mut durable = Durable::default();
        for pid in (0..10).chain([3]) {
            durable.take(event(5, pid, Durability::Changed), &Commands::default());
        }
        assert_eq!(durable.take_new_files(), [(FILE, 0)]);
        assert!(durable.take_new_files().is_empty());
        let writers = durable.writers.peek(&FILE);
        assert_eq!(writers, Some(&vec![2, 4, 5, 6, 7, 8, 9, 3]));
    }

    /// The files that came first were the ones known.
    #[test]
    fn of_more_files_than_there_is_room_for_those_used_last_are_known() {
        let mut durable = Durable::default();
        let file = |inode| FileNumber { inode, ..FILE };
        for inode in (0..FILES_MOST as u64).chain([0, FILES_MOST as u64]) {
            let changed = event(5, 7, Durability::Changed);
            let changed = DurabilityEvent { file: file(inode), ..changed };
            durable.take(changed, &Commands::default());
        }
        let is_known = |inode| durable.writers.contains(&file(inode));
        assert!(is_known(0) && is_known(FILES_MOST as u64) && !is_known(1));
        assert_eq!(durable.writers.len(), FILES_MOST);
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

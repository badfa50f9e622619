//! What is counted of requests and calls as they end: by span, device, operation, role and file
//! system; requests by size and by origin; and what was requested of the files with most bytes.
//!
//! A request's time is the one of `response`: queued to completed, and where its queueing is not
//! known from the driver's issue on; parts of flush sequences and lbolt's own are left out.
//!
//! Non-goals: who waited for whom (`super::losses`).

mod bulk;
mod many;

pub use many::InCommon;

use super::OWNERS_MOST;
use super::spans::{Span, Spans};
use crate::names::{without_name, without_segment};
use crate::requests::Share;
use crate::response::Combination;
use crate::{Actors, RoleId, Work};
use bulk::WrittenLately;
use hashbrown::HashMap;
use model::heaviest::Heaviest;
use model::histogram::{CoarseHistogram, SparseHistogram};
use model::record::{
    Call, CallKind, Commands, Context, Counted, FileKey, FileKind, FileNumber, Flags, Op, Process,
    Request, Rollup, RollupKey, operations,
};
use std::collections::{BTreeMap, BTreeSet};

/// Files that are counted one by one between two takings: those with most bytes.
const FILES_MOST: usize = 20_000;
/// Files that are told of at each taking: those with most bytes.
const FILES_TOLD: usize = 50;

/// What things are called.
pub struct Names<'a> {
    /// A device, by its number.
    pub device: &'a dyn Fn(u32) -> String,
    /// A file, where its name is known.
    pub file: &'a dyn Fn(FileNumber) -> Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum What {
    Requests(Op),
    Calls(CallKind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    span: u64,
    device: u32,
    what: What,
    role: RoleId,
    file_system: u32,
}

#[derive(Debug, Clone, Default)]
struct Sum {
    count: u64,
    bytes: u64,
    failed: u64,
    responses: SparseHistogram,
}

impl Sum {
    fn add(&mut self, share: &Share) {
        self.count += 1;
        self.bytes += share.bytes();
        self.failed += u64::from(share.has_failed());
        if let Some(took) = share.took() {
            self.responses.record_binned(took);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.failed += other.failed;
        self.responses.merge(&other.responses);
    }

    fn row(&self, key: RollupKey, span: &Span) -> Rollup {
        let mut row = Rollup::of(key, span.from_unix_ns, span.until_unix_ns);
        (row.count, row.bytes, row.failed) = (self.count, self.bytes, self.failed);
        row.set_responses(&self.responses);
        row
    }
}

/// Sums by key. Requests come in runs, so the last one added to is at hand.
#[derive(Debug)]
struct Runs<K> {
    last: Option<(K, Sum)>,
    others: HashMap<K, Sum>,
}

impl<K> Default for Runs<K> {
    fn default() -> Self {
        Self { last: None, others: HashMap::new() }
    }
}

impl<K: Copy + Eq + std::hash::Hash> Runs<K> {
    fn of(&mut self, key: K) -> &mut Sum {
        if self.last.as_ref().is_none_or(|(last, _)| *last != key) {
            self.others.extend(self.last.take());
            let sum = self.others.remove(&key).unwrap_or_default();
            self.last = Some((key, sum));
        }
        &mut self.last.get_or_insert_with(|| (key, Sum::default())).1
    }

    fn drain(&mut self) -> impl Iterator<Item = (K, Sum)> {
        self.last.take().into_iter().chain(self.others.drain())
    }
}

/// What was requested of a file, or called for it.
#[derive(Debug, Clone, Default)]
struct OfFile {
    count: u64,
    bytes: u64,
    /// The times that are known: of a completion that was lost there is none.
    responses: CoarseHistogram,
    /// A thread that used it.
    pid: u32,
}

/// The counts since they were last taken.
#[derive(Debug)]
pub struct Tally {
    actors: Actors,
    written: WrittenLately,
    sums: Runs<Key>,
    /// Requests by all that they are classed by.
    classes: Runs<(u64, Combination)>,
    with_files: bool,
    files: Heaviest<(u32, FileKey, What), OfFile>,
    /// On which device a file system lies.
    homes: HashMap<u32, u32>,
    /// Requests that were counted, in all.
    requests: u64,
    /// Those since the last taking whose queueing is not known.
    from_issue: u64,
    own: Own,
}

/// What is lbolt's own: its processes, their roles, and what they requested.
#[derive(Debug, Default)]
struct Own {
    processes: BTreeSet<u64>,
    roles: BTreeSet<RoleId>,
    requests: u64,
    bytes: u64,
}

impl Tally {
    /// Of nothing yet. Files are counted where they are wanted.
    pub fn new(with_files: bool) -> Self {
        Self {
            actors: Actors::new(&Context::default(), None),
            written: WrittenLately::default(),
            sums: Runs::default(),
            classes: Runs::default(),
            with_files,
            files: Heaviest::new(FILES_MOST),
            homes: HashMap::new(),
            requests: 0,
            from_issue: 0,
            own: Own::default(),
        }
    }

    /// What these processes do is lbolt's own, and counted by itself: also what the kernel writes
    /// of their files.
    pub fn leave_out(&mut self, processes: &[u32]) {
        self.own.processes.extend(processes.iter().copied().map(u64::from));
    }

    /// What a thread is, is known now.
    pub fn learn(&mut self, process: &Process) {
        let role = self.actors.learn(process);
        if process.process.is_some_and(|process| self.own.processes.contains(&process)) {
            // What others are, too, is not lbolt's alone.
            self.own.roles.extend(role.filter(|role| !self.actors.is_others(*role)));
        }
    }

    /// What these threads are, is known now.
    pub(super) fn learn_all<'p>(&mut self, processes: impl Iterator<Item = &'p Process> + Clone) {
        self.actors.expect(processes.clone());
        processes.for_each(|process| self.learn(process));
    }

    /// Forgets threads that are gone.
    pub fn forget(&mut self, gone: &[u32]) {
        self.actors.forget_threads(gone);
    }

    /// Whether there are so many roles that more would be one.
    pub fn has_all_roles(&self) -> bool {
        self.actors.has_all()
    }

    /// Just after a taking: forgets all roles but those of these, and of the last files' owners.
    pub fn forget_roles<'p>(&mut self, known: impl Iterator<Item = &'p Process> + Clone) {
        self.actors = self.actors.with_room(known.clone());
        self.own.roles.clear();
        self.learn_all(known);
    }

    /// A request is done with.
    pub fn request(&mut self, row: &Request, commands: &Commands, spans: &Spans) {
        let Some(begin_ns) = row.arrival_ns() else { return };
        let Some(span) = spans.of(begin_ns).filter(|_| row.parent_id.is_none()) else { return };
        // Whoever asked is counted at the top of the stack, and once.
        let role = match row.above_id {
            None => self.actors.of_request(row, commands),
            Some(_) => self.actors.of_devices_above(),
        };
        let share = Share::of(row);
        if self.is_own(row, role) {
            self.own.requests += 1;
            self.own.bytes += u64::from(row.length_bytes);
            return;
        }
        self.requests += 1;
        self.written.add(row, row.length_bytes.into());
        self.from_issue += u64::from(share.is_from_issue());
        let file_system = row.file.map_or(0, |file| file.number.file_system);
        if file_system != 0 && row.above_id.is_none() {
            self.homes.entry(file_system).or_insert(row.device);
        }
        let what = What::Requests(row.op);
        let key = Key { span: span.number, device: row.device, what, role, file_system };
        self.sums.of(key).add(&share);
        self.classes.of((span.number, Combination::of(row))).add(&share);
        if let Some(file) = row.file.filter(|_| self.with_files && row.above_id.is_none()) {
            let of = (share.bytes(), share.took().map(|took| took.value_ns()));
            self.of_file((row.device, file, what), of, row.pid.unwrap_or(0));
        }
    }

    fn is_own(&self, row: &Request, role: RoleId) -> bool {
        row.flags.contains(Flags::OWN) || self.own.roles.contains(&role)
    }

    /// Whose files are whose, is known now.
    pub(super) fn learn_owners(&mut self, from: &Actors) {
        self.actors.learn_owners(from);
    }

    /// A thread, by number and name, changes a file's data.
    pub fn changed(&mut self, file: FileNumber, pid: u32, command: &str) {
        self.actors.change(file, pid, command);
    }

    /// The files that are committed to, and written in bulk beside that, if they are others than
    /// last time: what is written in bulk is of a role of its own from now on.
    pub fn new_work(
        &mut self,
        now_ns: i64,
        path: &dyn Fn(FileNumber) -> Option<String>,
    ) -> Option<Vec<(FileNumber, Work)>> {
        let files = self.written.changed(now_ns, &self.actors, path)?;
        self.actors.learn_work(&files);
        Some(files)
    }

    /// A call has ended.
    pub fn call(&mut self, call: &Call, spans: &Spans) {
        let Some(span) = spans.of(call.begin_ns) else { return };
        self.actors.own(call.file(), call.pid as u32, &call.command);
        let role = self.actors.of_call(call);
        if self.own.roles.contains(&role) {
            return;
        }
        self.written.call(call.file());
        let file_system = call.file_system as u32;
        let device = self.homes.get(&file_system).copied().unwrap_or(file_system);
        let what = What::Calls(call.kind);
        let took_ns = call.end_ns.map(|end_ns| (end_ns - call.begin_ns).max(0).unsigned_abs());
        let key = Key { span: span.number, device, what, role, file_system };
        let sum = self.sums.of(key);
        sum.count += 1;
        sum.failed += u64::from(call.error != 0);
        took_ns.into_iter().for_each(|ns| sum.responses.record(ns));
        if self.with_files {
            let file = FileKey { kind: FileKind::Regular, number: call.file() };
            self.of_file((device, file, what), (0, took_ns), call.pid as u32);
        }
    }

    fn of_file(
        &mut self,
        key: (u32, FileKey, What),
        (bytes, took_ns): (u64, Option<u64>),
        pid: u32,
    ) {
        // A call has no bytes, and counts.
        let file = self.files.add(key, bytes.max(1));
        file.count += 1;
        file.bytes += bytes;
        took_ns.into_iter().for_each(|ns| file.responses.record(ns));
        file.pid = pid;
    }

    /// Requests that were counted so far, in all.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The files with most bytes since the last taking, each with a thread that used it: those of
    /// which names are wanted.
    pub fn files(&self) -> Vec<(FileNumber, u32)> {
        let regular = |(_, key, _): &(u32, FileKey, What)| key.kind == FileKind::Regular;
        let largest = self.largest().into_iter().filter(|(key, _)| regular(key));
        largest.map(|((_, key, _), of)| (key.number, of.pid)).collect()
    }

    fn largest(&self) -> Vec<((u32, FileKey, What), OfFile)> {
        let mut all: Vec<_> = self.files.iter().map(|(key, of)| (*key, of)).collect();
        let order = |of: &OfFile| std::cmp::Reverse((of.bytes, of.responses.sum_ns()));
        all.sort_unstable_by_key(|(key, of)| (order(of), *key));
        all.truncate(FILES_TOLD);
        all.into_iter().map(|(key, of)| (key, of.clone())).collect()
    }

    /// What was counted since the last taking, as rows.
    pub fn take(&mut self, spans: &Spans, names: &Names<'_>) -> Vec<Rollup> {
        let mut sums: Vec<(Key, Sum)> = self.sums.drain().collect();
        sums.sort_unstable_by_key(|(key, _)| *key);
        let mut rows: Vec<Rollup> =
            sums.iter().filter_map(|(key, sum)| self.row(key, sum, spans, names)).collect();
        rows.extend(self.of_classes(spans, names));
        if let Some(span) = spans.current() {
            let files = self.largest().into_iter();
            rows.extend(files.map(|(key, of)| self.of_file_row(key, &of, span, names)));
            rows.extend(self.own.take(span));
            let count = std::mem::take(&mut self.from_issue);
            let row = of_watch(operations::FROM_ISSUE, (span.from_unix_ns, span.until_unix_ns));
            rows.extend((count > 0).then_some(Rollup { count, ..row }));
        }
        self.files.clear();
        self.actors.forget_owners_beyond(OWNERS_MOST);
        rows
    }

    fn row(&self, key: &Key, sum: &Sum, spans: &Spans, names: &Names<'_>) -> Option<Rollup> {
        let span = spans.numbered(key.span)?;
        let file_system = (key.file_system != 0).then(|| (names.device)(key.file_system));
        let role = self.actors.name(key.role);
        let of = RollupKey {
            counted: match key.what {
                What::Requests(_) => Counted::Requests,
                What::Calls(_) => Counted::Calls,
            },
            device: Some((names.device)(key.device)),
            operation: key.what.name().to_owned(),
            role: Some(role.to_owned()),
            cgroup: self.actors.cgroup(role).map(str::to_owned),
            file_system,
            ..RollupKey::default()
        };
        Some(sum.row(of, span))
    }

    /// Requests by each of the classes that are kept.
    fn of_classes(&mut self, spans: &Spans, names: &Names<'_>) -> Vec<Rollup> {
        let mut sums: BTreeMap<(u64, u32, Op, String), Sum> = BTreeMap::new();
        for ((span, of), sum) in self.classes.drain() {
            for class in of.kept() {
                sums.entry((span, of.device, of.op, class)).or_default().merge(&sum);
            }
        }
        let row = |((span, device, op, class), sum): (_, Sum)| {
            let key = RollupKey {
                counted: Counted::Class,
                device: Some((names.device)(device)),
                operation: Op::name(op).to_owned(),
                class: Some(class),
                ..RollupKey::default()
            };
            let mut row = sum.row(key, spans.numbered(span)?);
            // They would be half of a history else.
            row.coarsen();
            Some(row)
        };
        sums.into_iter().filter_map(row).collect()
    }

    fn of_file_row(
        &self,
        (device, key, what): (u32, FileKey, What),
        of: &OfFile,
        span: &Span,
        names: &Names<'_>,
    ) -> Rollup {
        let file_system = (names.device)(key.number.file_system);
        let path = Some(key.number).filter(|_| key.kind == FileKind::Regular).and_then(names.file);
        let file = path
            .map_or_else(|| without_name(key.kind, &file_system), |path| without_segment(&path));
        let of_row = RollupKey {
            counted: Counted::File,
            device: Some((names.device)(device)),
            operation: what.name().to_owned(),
            file_system: Some(file_system),
            file: Some(file),
            ..RollupKey::default()
        };
        let mut row = Rollup::of(of_row, span.from_unix_ns, span.until_unix_ns);
        (row.count, row.bytes) = (of.count, of.bytes);
        row.set_responses(&of.responses);
        // As of classes, and for a mean over the times that are known.
        row.coarsen();
        row
    }
}

impl Own {
    fn take(&mut self, span: &Span) -> Option<Rollup> {
        let (count, bytes) = (std::mem::take(&mut self.requests), std::mem::take(&mut self.bytes));
        let row = of_watch(operations::OWN, (span.from_unix_ns, span.until_unix_ns));
        (count > 0).then_some(Rollup { count, bytes, ..row })
    }
}

/// A row that the watch tells of itself.
pub(super) fn of_watch(operation: &str, (from_unix_ns, until_unix_ns): (i64, i64)) -> Rollup {
    let key = RollupKey {
        counted: Counted::Watch,
        operation: operation.to_owned(),
        ..RollupKey::default()
    };
    Rollup::of(key, from_unix_ns, until_unix_ns)
}

impl What {
    fn name(self) -> &'static str {
        match self {
            Self::Requests(op) => op.name(),
            Self::Calls(kind) => kind.name(),
        }
    }
}

#[cfg(test)]
mod tests;

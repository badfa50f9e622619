//! What is counted of requests and calls as they end: by span, device, operation, role and file
//! system; requests by size and by origin; and what was requested of the files with most bytes.
//!
//! A request's time is the one of `response`: queued to completed, parts of flush sequences and
//! lbolt's own left out.
//!
//! Non-goals: who waited for whom (`super::losses`).

mod many;

pub use many::InCommon;

use super::spans::{Span, Spans};
use crate::names::{without_name, without_segment};
use crate::requests::Share;
use crate::response::Combination;
use crate::{Actors, RoleId};
use hashbrown::HashMap;
use model::heaviest::Heaviest;
use model::histogram::SparseHistogram;
use model::record::{
    Call, CallKind, Commands, Context, Counted, FileKey, FileKind, FileNumber, Flags, Op, Process,
    Request, Rollup, RollupKey, operations,
};
use std::collections::{BTreeMap, BTreeSet};

/// Files whose owners are remembered; with more all are forgotten, and those in use turn up again.
const OWNERS_MOST: usize = 100_000;
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
        if let Some(response) = share.response {
            self.responses.record_binned(response);
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
#[derive(Debug, Clone, Copy, Default)]
struct OfFile {
    count: u64,
    bytes: u64,
    sum_ns: u64,
    max_ns: u64,
    /// A thread that used it.
    pid: u32,
}

/// The counts since they were last taken.
#[derive(Debug)]
pub struct Tally {
    actors: Actors,
    sums: Runs<Key>,
    /// Requests by all that they are classed by.
    classes: Runs<(u64, Combination)>,
    with_files: bool,
    files: Heaviest<(u32, FileKey, What), OfFile>,
    /// On which device a file system lies.
    homes: HashMap<u32, u32>,
    /// Requests that were counted, in all.
    requests: u64,
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
            sums: Runs::default(),
            classes: Runs::default(),
            with_files,
            files: Heaviest::new(FILES_MOST),
            homes: HashMap::new(),
            requests: 0,
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

    /// Forgets threads that are gone.
    pub fn forget(&mut self, gone: &[u32]) {
        self.actors.forget_threads(gone);
    }

    /// Whether there are so many roles that more would be one.
    pub fn has_all_roles(&self) -> bool {
        self.actors.has_all()
    }

    /// Just after a taking: forgets all roles but those of these.
    pub fn forget_roles<'p>(&mut self, known: impl Iterator<Item = &'p Process>) {
        self.actors = Actors::new(&Context::default(), None);
        self.own.roles.clear();
        known.for_each(|process| self.learn(process));
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
        let took_ns = share.response.map_or(0, |response| response.value_ns());
        if self.is_own(row, role) {
            self.own.requests += 1;
            self.own.bytes += u64::from(row.length_bytes);
            return;
        }
        self.requests += 1;
        let file_system = row.file.map_or(0, |file| file.number.file_system);
        if file_system != 0 && row.above_id.is_none() {
            self.homes.entry(file_system).or_insert(row.device);
        }
        let what = What::Requests(row.op);
        let key = Key { span: span.number, device: row.device, what, role, file_system };
        self.sums.of(key).add(&share);
        self.classes.of((span.number, Combination::of(row))).add(&share);
        if let Some(file) = row.file.filter(|_| self.with_files && row.above_id.is_none()) {
            let of = (share.bytes(), took_ns);
            self.of_file((row.device, file, what), of, row.pid.unwrap_or(0));
        }
    }

    fn is_own(&self, row: &Request, role: RoleId) -> bool {
        row.flags.contains(Flags::OWN) || self.own.roles.contains(&role)
    }

    /// A call has ended.
    pub fn call(&mut self, call: &Call, spans: &Spans) {
        let Some(span) = spans.of(call.begin_ns) else { return };
        let role = self.actors.of_thread(call.pid as u32, || call.command.clone());
        self.actors.own(call.file(), role);
        if self.own.roles.contains(&role) {
            return;
        }
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
            self.of_file((device, file, what), (0, took_ns.unwrap_or(0)), call.pid as u32);
        }
    }

    fn of_file(&mut self, key: (u32, FileKey, What), (bytes, took_ns): (u64, u64), pid: u32) {
        // A call has no bytes, and counts.
        let file = self.files.add(key, bytes.max(1));
        file.count += 1;
        file.bytes += bytes;
        file.sum_ns += took_ns;
        file.max_ns = file.max_ns.max(took_ns);
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
        let mut all: Vec<_> = self.files.iter().map(|(key, of)| (*key, *of)).collect();
        all.sort_unstable_by_key(|(key, of)| (std::cmp::Reverse((of.bytes, of.sum_ns)), *key));
        all.truncate(FILES_TOLD);
        all
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
            rows.extend(files.map(|(key, of)| self.of_file_row(key, of, span, names)));
            rows.extend(self.own.take(span));
        }
        self.files.clear();
        if self.actors.owners() > OWNERS_MOST {
            self.actors.forget_owners();
        }
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
        of: OfFile,
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
        let OfFile { count, bytes, sum_ns, max_ns, .. } = of;
        let row = Rollup::of(of_row, span.from_unix_ns, span.until_unix_ns);
        Rollup { count, bytes, sum_ns, max_ns, ..row }
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
mod tests {
    use super::*;
    use model::record::CommandId;

    const S: i64 = 1_000_000_000;

    fn names<'a>() -> Names<'a> {
        Names { device: &|number| format!("d{number}"), file: &|_| Some("/a/b".to_owned()) }
    }

    fn row(pid: u32, op: Op, queued_ns: i64, response_ns: i64) -> Request {
        Request {
            device: 7,
            op,
            length_bytes: 4096,
            pid: Some(pid),
            command: Some(CommandId(0)),
            queued_ns: Some(queued_ns),
            completed_ns: Some(queued_ns + response_ns),
            ..Request::default()
        }
    }

    /// Takes the rows of classes out: their second, operation, class and count.
    fn of_classes(rows: &mut Vec<Rollup>) -> Vec<(i64, String, String, u64)> {
        let of = rows.extract_if(.., |row| row.counted == Counted::Class);
        of.map(|row| (row.from_unix_ns / S, row.operation, row.class.unwrap(), row.count)).collect()
    }

    #[test]
    fn a_request_is_counted_in_the_span_in_which_it_arrived() {
        let (mut tally, mut spans) = (Tally::new(false), Spans::new(60 * S));
        let mut commands = Commands::default();
        commands.number(b"dd");
        spans.advance(0, 0);
        tally.request(&row(1, Op::Read, 10 * S, 500), &commands, &spans);
        tally.request(&row(1, Op::Read, 11 * S, 700), &commands, &spans);
        spans.advance(61 * S, 61 * S);
        // One that took long, one that was lost, one of lbolt's own, a part of another.
        tally.request(&row(1, Op::Read, 59 * S, 4 * S), &commands, &spans);
        let lost = Request { completed_ns: None, error: 5, ..row(1, Op::Write, 62 * S, 0) };
        tally.request(&lost, &commands, &spans);
        let own = Request { flags: Flags::OWN, ..row(1, Op::Read, 62 * S, 1) };
        tally.request(&own, &commands, &spans);
        let part = Request { parent_id: Some(3), ..row(1, Op::Flush, 62 * S, 1) };
        tally.request(&part, &commands, &spans);
        let mut rows = tally.take(&spans, &names());
        let own = rows.pop().map(|row| (row.operation, row.count, row.bytes));
        assert_eq!(own, Some((operations::OWN.to_owned(), 1, 4096)));
        let of_classes = of_classes(&mut rows);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| {
                let role = row.role.clone().unwrap_or_default();
                let key = (row.from_unix_ns / S, row.operation.as_str(), role);
                (key, row.count, row.bytes, row.failed, row.sum_ns, row.max_ns)
            })
            .collect();
        let of = |from, operation| (from, operation, "dd".to_owned());
        let read_ns = 4 * S as u64;
        let expected = [
            (of(0, "read"), 3, 3 * 4096, 0, read_ns + 1200, read_ns),
            (of(60, "write"), 1, 4096, 1, 0, 0),
        ];
        assert_eq!(shown, expected);
        let of = |from, operation: &str, class: &str, count| {
            (from, operation.to_owned(), class.to_owned(), count)
        };
        let expected = [
            of(0, "read", "origin other", 3),
            of(0, "read", "size to 4k", 3),
            of(60, "write", "origin other", 1),
            of(60, "write", "size to 4k", 1),
        ];
        assert_eq!(of_classes, expected);
        assert!(tally.take(&spans, &names()).is_empty(), "they are taken");
        assert_eq!(tally.requests(), 4);
    }

    #[test]
    fn what_lbolt_itself_does_is_counted_by_itself() {
        let (mut tally, mut spans) = (Tally::new(false), Spans::new(60 * S));
        spans.advance(0, 0);
        tally.leave_out(&[70]);
        let of = |pid, process| Process {
            pid,
            process: Some(process),
            command: "lbolt".into(),
            title: Some("lbolt watch".into()),
            thread: (pid == 71).then(|| "lbolt-writer".into()),
            ..Process::default()
        };
        [of(70, 70), of(71, 70), of(80, 80)].iter().for_each(|process| tally.learn(process));
        let file = FileNumber { file_system: 9, inode: 4, generation: 0 };
        let call = Call { inode: 4, file_system: 9, pid: 71, ..Call::default() };
        tally.call(&call, &spans);
        let key = Some(FileKey { kind: FileKind::Regular, number: file });
        let mut commands = Commands::default();
        commands.number(b"kworker/u8:1-flush-7:0");
        let written = Request { file: key, ..row(77, Op::Write, S, 100) };
        tally.request(&written, &commands, &spans);
        let rows = tally.take(&spans, &names());
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!((rows[0].operation.as_str(), rows[0].count), (operations::OWN, 1));
    }

    #[test]
    fn calls_and_files_are_told_of_and_a_thread_by_its_title() {
        let (mut tally, mut spans) = (Tally::new(true), Spans::new(60 * S));
        spans.advance(0, 0);
        tally.learn(&Process {
            pid: 5,
            process: Some(5),
            command: "postgres".into(),
            title: Some("postgres: checkpointer ".into()),
            ..Process::default()
        });
        let file = FileNumber { file_system: 9, inode: 4, generation: 0 };
        let key = Some(FileKey { kind: FileKind::Regular, number: file });
        let write = Request { file: key, ..row(5, Op::Write, S, 900) };
        tally.request(&write, &Commands::default(), &spans);
        let call = Call {
            file_system: 9,
            inode: 4,
            pid: 5,
            begin_ns: 2 * S,
            end_ns: Some(2 * S + 4000),
            ..Call::default()
        };
        tally.call(&call, &spans);
        // What the kernel writes of a file is its owner's.
        let kernel = Request { file: key, ..row(77, Op::Write, S, 100) };
        let mut commands = Commands::default();
        commands.number(b"kworker/u8:1-flush-7:0");
        tally.request(&kernel, &commands, &spans);
        assert_eq!(tally.files(), [(file, 77), (file, 5)]);
        let mut rows = tally.take(&spans, &names());
        of_classes(&mut rows);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| {
                let who = row.role.as_ref().or(row.file.as_ref()).unwrap();
                (row.counted, row.device.as_deref().unwrap(), who.as_str(), row.count, row.sum_ns)
            })
            .collect();
        let of = "postgres: checkpointer";
        let expected = [
            (Counted::Requests, "d7", of, 2, 1000),
            (Counted::Calls, "d7", of, 1, 4000),
            (Counted::File, "d7", "/a/b", 2, 1000),
            (Counted::File, "d7", "/a/b", 1, 4000),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn new_roles_have_their_names_after_a_thousand_others() {
        let (mut tally, mut spans) = (Tally::new(false), Spans::new(60 * S));
        spans.advance(0, 0);
        let of = |pid: u64, command: String| Process {
            pid,
            process: Some(pid),
            title: Some(command.clone()),
            command,
            ..Process::default()
        };
        let lbolt = of(2000, "lbolt".into());
        tally.leave_out(&[2000]);
        // Of digits at the end a role knows nothing.
        let name = |n: u64| format!("{n}th");
        (1..2000).for_each(|pid| tally.learn(&of(pid, name(pid))));
        tally.learn(&lbolt);
        let role = |tally: &mut Tally, pid: u32| {
            tally.request(&row(pid, Op::Read, S, 100), &Commands::default(), &spans);
            let rows = tally.take(&spans, &names());
            (rows[0].role.clone(), rows[0].operation.clone())
        };
        let late = of(3000, "late".into());
        tally.learn(&late);
        assert!(tally.has_all_roles());
        assert_eq!(role(&mut tally, 3000).0.as_deref(), Some("others"));
        tally.forget_roles([&late, &lbolt].into_iter());
        assert!(!tally.has_all_roles());
        assert_eq!(role(&mut tally, 3000).0.as_deref(), Some("late"));
        assert_eq!(role(&mut tally, 2000).1, operations::OWN, "lbolt's own stays its own");
    }
}

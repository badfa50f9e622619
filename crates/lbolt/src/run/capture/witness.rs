//! Who made the requests of a trace and for which files: asked of the machine while they live.
//!
//! A thread is asked about when it is first seen, a few ms after its first request; a file's name
//! is looked for among those that its first user has open, for a small part of the time; what is
//! left at the end, in directories. What the CPUs did meanwhile is noted, too.
//!
//! Non-goals: roles and verdicts (`analyze`).

use super::cpu_watch::CpuWatch;
use host::device::Tree;
use host::file_name::{Names, find_named, find_open, find_open_in};
use host::process;
use model::record::{Call, Context, FileKind, FileNumber, NamedFile, Process, Request};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant};
use trace::intake::Durable;

/// Files that are remembered; the first ones are.
const FILES_MOST: usize = 100_000;
/// Threads that are remembered of a flight recorder, before those that are gone are forgotten.
const PROCESSES_MOST: usize = 5_000;
/// Files whose names are looked for: those with most bytes, and those that calls were of.
const NAMED_MOST: usize = 2000;
/// How long is looked for names at the end.
const NAMING: Duration = Duration::from_secs(3);
/// A small part of the time that is spent on names before, and what may be spent at once.
const PART: u32 = 50;
const AT_ONCE: Duration = Duration::from_millis(50);
/// So long after it was first seen a thread is asked about again.
const YOUNG: Duration = Duration::from_secs(2);

/// A thread that became known.
#[derive(Debug, Clone)]
pub(crate) struct NewThread {
    pub(crate) process: Process,
    /// When it was started, as `host::process` tells it: before it was asked what it is.
    pub(crate) started: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Witness {
    began: Instant,
    spent: Duration,
    processes: BTreeMap<u32, Process>,
    /// Those that became known since they were last taken, where they are; and those that are to
    /// be asked about once more, because programs tell what they do only then.
    new: Option<Vec<NewThread>>,
    young: VecDeque<(Instant, u32, u32)>,
    /// With more of them, those that are gone are looked for.
    processes_most: usize,
    /// Bytes of requests by file; of a flight recorder those of the time that goes on, and of the
    /// one before.
    files: HashMap<FileNumber, u64>,
    files_before: HashMap<FileNumber, u64>,
    /// When the time that goes on began.
    turned: Instant,
    /// The last one added to: requests come in runs.
    last: Option<(FileNumber, u64)>,
    names: Names,
    pub(super) cpu_watch: CpuWatch,
}

impl Default for Witness {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            spent: Duration::ZERO,
            processes: BTreeMap::new(),
            new: None,
            young: VecDeque::new(),
            processes_most: PROCESSES_MOST,
            files: HashMap::new(),
            files_before: HashMap::new(),
            turned: Instant::now(),
            last: None,
            names: Names::new(),
            cpu_watch: CpuWatch::default(),
        }
    }
}

impl Witness {
    /// A request of the trace.
    pub(super) fn add(&mut self, row: &Request) {
        let Some(file) = row.file.filter(|file| file.kind == FileKind::Regular) else { return };
        let number = file.number;
        match &mut self.last {
            Some((last, bytes)) if *last == number => *bytes += u64::from(row.length_bytes),
            _ => {
                self.add_last();
                self.last = Some((number, u64::from(row.length_bytes)));
            }
        }
    }

    fn add_last(&mut self) {
        let Some((number, bytes)) = self.last.take() else { return };
        if self.files.len() < FILES_MOST || self.files.contains_key(&number) {
            *self.files.entry(number).or_default() += bytes;
        }
    }

    /// Of a flight recorder: forgets what was over so long ago, and who is gone where there are too
    /// many to remember.
    pub(super) fn keep_last(&mut self, keep: Duration) {
        let keep_ns = i64::try_from(keep.as_nanos()).unwrap_or(i64::MAX);
        self.cpu_watch.keep_last(keep_ns);
        if self.turned.elapsed() >= keep {
            self.add_last();
            self.files_before = std::mem::take(&mut self.files);
            self.turned = Instant::now();
        }
        if self.processes.len() > self.processes_most {
            self.processes.retain(|pid, _| process::is_there(*pid));
            self.processes_most = PROCESSES_MOST.max(2 * self.processes.len());
        }
        if self.names.len() > FILES_MOST {
            self.names.clear();
        }
    }

    /// Asks about threads and files that were seen for the first time.
    pub(super) fn look(&mut self, threads: Vec<(u32, u32)>, files: Vec<(FileNumber, u32)>) {
        for (pid, process) in threads {
            let started = process::started(pid);
            let asked = asked(pid, process);
            if let Some(new) = &mut self.new {
                new.push(NewThread { process: asked.clone(), started });
                self.young.push_back((Instant::now(), pid, process));
            }
            self.processes.insert(pid, asked);
        }
        for (number, pid) in files {
            if self.spent > AT_ONCE + self.began.elapsed() / PART {
                break;
            }
            let began = Instant::now();
            find_open_in(pid, &BTreeSet::from([number]), &mut self.names);
            self.spent += began.elapsed();
        }
    }

    /// Threads that became known since this was last asked, or have another title now.
    pub(super) fn take_new(&mut self) -> Vec<NewThread> {
        let Some(new) = &mut self.new else {
            self.new = Some(Vec::new());
            let known = self.processes.values().cloned();
            return known.map(|process| NewThread { process, started: None }).collect();
        };
        let mut new = std::mem::take(new);
        let is_old = |(since, ..): &mut (Instant, u32, u32)| since.elapsed() >= YOUNG;
        while let Some((_, pid, process)) = self.young.pop_front_if(is_old) {
            let started = process::started(pid);
            let again = asked(pid, process);
            if again.title.is_some() && self.processes.get(&pid) != Some(&again) {
                new.push(NewThread { process: again.clone(), started });
                self.processes.insert(pid, again);
            }
        }
        new
    }

    /// The name of a file, if it is known.
    pub(super) fn file_name(&self, file: FileNumber) -> Option<String> {
        self.names.get(&file).map(|path| path.to_string_lossy().into_owned())
    }

    /// What is known now.
    pub(super) fn copy(&self) -> Self {
        Self {
            processes: self.processes.clone(),
            files: self.files.clone(),
            files_before: self.files_before.clone(),
            last: self.last,
            names: self.names.clone(),
            cpu_watch: self.cpu_watch.clone(),
            ..Self::default()
        }
    }

    /// What is known at the end, but for stacks.
    pub(super) fn conclude(mut self, mut durable: Durable) -> Context {
        self.add_last();
        for (number, bytes) in std::mem::take(&mut self.files_before) {
            *self.files.entry(number).or_default() += bytes;
        }
        self.ask_again();
        let of_calls = durable.calls.iter().map(Call::file);
        let mut wanted: BTreeSet<FileNumber> = of_calls.collect();
        let mut by_bytes: Vec<(u64, FileNumber)> =
            self.files.iter().map(|(number, bytes)| (*bytes, *number)).collect();
        by_bytes.sort_unstable_by(|a, b| b.cmp(a));
        wanted.extend(by_bytes.iter().take(NAMED_MOST).map(|(_, number)| *number));
        let nameless = wanted.iter().filter(|number| !self.names.contains_key(number));
        let nameless: BTreeSet<FileNumber> = nameless.take(NAMED_MOST).copied().collect();
        find_open(&nameless, &mut self.names);
        find_named(&Tree::system(), &nameless, NAMING, &mut self.names);
        let mut names = self.names;
        let file = |number: FileNumber| NamedFile {
            file_system: u64::from(number.file_system),
            inode: number.inode,
            generation: u64::from(number.generation),
            path: names.remove(&number).map(|path| path.to_string_lossy().into_owned()),
            writers: durable
                .writers
                .remove(&number)
                .map_or_else(Vec::new, |writers| writers.into_iter().map(u64::from).collect()),
        };
        let files = wanted.into_iter().map(file).collect();
        Context {
            calls: durable.calls,
            commits: durable.commits,
            processes: self.processes.into_values().collect(),
            files,
            cpu_times: self.cpu_watch.take(),
            ..Context::default()
        }
    }

    /// Titles change: what a process is for may stand there only after its first request.
    fn ask_again(&mut self) {
        for (pid, process) in &mut self.processes {
            let of = process.process.and_then(|of| u32::try_from(of).ok());
            let again = of.map(|of| asked(*pid, of));
            let is_it = |again: &Process| {
                again.command == process.command
                    && (again.title.is_some() || process.title.is_none())
            };
            if let Some(again) = again.filter(is_it) {
                *process = again;
            }
        }
    }
}

/// What the machine tells of a thread's process; of one that is gone its number alone.
fn asked(pid: u32, process: u32) -> Process {
    let seen = process::seen(process);
    let is_there = seen.is_some();
    let seen = seen.unwrap_or_default();
    let thread = (pid != process).then(|| process::thread_name(process, pid, &seen.command));
    Process {
        pid: u64::from(pid),
        process: is_there.then_some(u64::from(process)),
        thread: thread.flatten(),
        command: seen.command,
        title: seen.title,
        unit: seen.unit,
    }
}

//! Who made the requests of a trace and for which files: asked of the machine while they live, and
//! the names of files at the end.
//!
//! A thread is asked about when it is first seen, a few ms after its first request. Files that a
//! kernel's thread writes for others are looked for among the open ones, at most once a second and
//! for a small part of the time, so that they have somebody to be blamed.
//!
//! Non-goals: roles and verdicts (`analyze`).

use host::device::Tree;
use host::file_name::{FileNumber, Found, find_named, find_open};
use host::process;
use model::record::{Context, FileKind, NamedFile, Process, Request};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};
use trace::intake::Durable;

/// Files that are remembered; the first ones are.
const FILES_MOST: usize = 100_000;
/// Files whose names are looked for: those with most bytes, and those that calls were of.
const NAMED_MOST: usize = 2000;
/// How long is looked for names at the end.
const NAMING: Duration = Duration::from_secs(3);
/// How often open files are looked at, at the most, and how small a part of the time that takes.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const LOOK_PART: u32 = 50;

#[derive(Debug, Default)]
pub(super) struct Witness {
    processes: BTreeMap<u32, Process>,
    /// Bytes of requests by file.
    files: HashMap<FileNumber, u64>,
    /// The last one added to: requests come in runs.
    last: Option<(FileNumber, u64)>,
    /// Files that the kernel's threads wrote and nobody has been found for.
    sought: BTreeSet<FileNumber>,
    /// Files that were sought once: who is not found then is not there.
    known: BTreeSet<FileNumber>,
    found: BTreeMap<FileNumber, Found>,
    /// When open files may be looked at again.
    next_look: Option<Instant>,
}

impl Witness {
    /// A request of the trace.
    pub(super) fn add(&mut self, row: &Request) {
        let Some(file) = row.file.filter(|file| file.kind == FileKind::Regular) else { return };
        let number = (file.file_system, file.inode);
        match &mut self.last {
            Some((last, bytes)) if *last == number => *bytes += u64::from(row.length_bytes),
            _ => {
                self.add_last();
                self.last = Some((number, u64::from(row.length_bytes)));
                let by_kernel = row.pid.is_some_and(|pid| {
                    self.processes.get(&pid).is_some_and(|process| process.title.is_none())
                });
                if by_kernel && !self.known.contains(&number) && self.known.len() < FILES_MOST {
                    self.sought.insert(number);
                }
            }
        }
    }

    fn add_last(&mut self) {
        let Some((number, bytes)) = self.last.take() else { return };
        if self.files.len() < FILES_MOST || self.files.contains_key(&number) {
            *self.files.entry(number).or_default() += bytes;
        }
    }

    /// Asks about threads that were seen for the first time, and looks at open files if it is time.
    pub(super) fn look(&mut self, threads: Vec<(u32, u32)>) {
        for (pid, process) in threads {
            self.processes.insert(pid, asked(pid, process));
        }
        let now = Instant::now();
        if self.sought.is_empty() || self.next_look.is_some_and(|next| now < next) {
            return;
        }
        find_open(&self.sought, &mut self.found);
        self.known.append(&mut self.sought);
        self.next_look = Some(now + LOOK_EVERY.max(now.elapsed() * LOOK_PART));
    }

    /// What is known at the end.
    pub(super) fn conclude(mut self, durable: Durable) -> Context {
        self.add_last();
        self.ask_again();
        let of_calls = durable.calls.iter().map(|call| (call.file_system as u32, call.inode));
        let mut wanted: BTreeSet<FileNumber> = of_calls.take(NAMED_MOST).collect();
        let mut by_bytes: Vec<(u64, FileNumber)> =
            self.files.iter().map(|(number, bytes)| (*bytes, *number)).collect();
        by_bytes.sort_unstable_by(|a, b| b.cmp(a));
        wanted.extend(by_bytes.iter().take(NAMED_MOST).map(|(_, number)| *number));
        find_open(&wanted, &mut self.found);
        find_named(&Tree::system(), &wanted, NAMING, &mut self.found);
        wanted.extend(self.found.keys());
        let mut found = self.found;
        let file = |number: FileNumber| {
            let Found { path, writers } = found.remove(&number).unwrap_or_default();
            NamedFile {
                file_system: u64::from(number.0),
                inode: number.1,
                path: path.map(|path| path.to_string_lossy().into_owned()),
                writers: writers.into_iter().map(u64::from).collect(),
            }
        };
        let files = wanted.into_iter().map(file).collect();
        Context {
            calls: durable.calls,
            commits: durable.commits,
            processes: self.processes.into_values().collect(),
            files,
        }
    }

    /// Titles change: what a process is for may stand there only after its first request.
    fn ask_again(&mut self) {
        for (pid, process) in &mut self.processes {
            let of = process.process.and_then(|of| u32::try_from(of).ok());
            let again = of.map(|of| asked(*pid, of));
            if let Some(again) = again.filter(|again| again.command == process.command) {
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
    Process {
        pid: u64::from(pid),
        process: is_there.then_some(u64::from(process)),
        command: seen.command,
        title: seen.title,
        unit: seen.unit,
    }
}

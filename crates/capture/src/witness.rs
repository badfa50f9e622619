//! Who made the requests of a trace and for which files: asked of the machine while they live.
//!
//! A thread is asked about when it is first seen, a few ms after its first request. What a file is
//! called, the tracer tells at its requests and calls ([`ToldName`]); where it did not, the name is
//! looked for among those that the file's first user has open, for a small part of the time; what
//! is left at the end, in directories. What the CPUs did meanwhile is noted, too.
//!
//! Non-goals: roles and verdicts (`analyze`).

mod cpus;
mod jobs;
mod requested;

use super::cpu_use_watch::CpuUseWatch;
use super::cpu_watch::CpuWatch;
use super::pressure_watch::PressureWatch;
use host::cgroup::KnownCgroups;
use host::device::Tree;
use host::file_name::{Mounted, Names, find_named, find_open, find_open_in};
use host::pod::PodNames;
use host::process;
use jobs::{Jobs, Young};
use model::heaviest::Heaviest;
use model::record::{
    Call, Commands, Context, FileKind, FileNumber, NamedFile, Process, Request, Wait,
};
pub(super) use requested::Requested;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant};
use trace::intake::{Durable, SeenThread, ToldName};

/// Files that are remembered: those with most bytes.
const FILES_MOST: usize = 100_000;
/// Threads that are remembered of a flight recorder, before those that are gone are forgotten.
const PROCESSES_MOST: usize = 5_000;
/// Names that were told and are remembered, of all files together.
const TOLD_MOST: usize = 200_000;
/// Files whose names are looked for: those with most bytes, and those that calls were of.
const NAMED_MOST: usize = 2000;
/// How long is looked for names at the end.
const NAMING: Duration = Duration::from_secs(3);
/// A small part of the time that is spent on names before, and what may be spent at once.
const PART: u32 = 50;
const AT_ONCE: Duration = Duration::from_millis(50);
/// Main processes of one name that are remembered.
const MAINS_MOST: usize = 8;

/// A thread that became known.
#[derive(Debug, Clone)]
pub struct NewThread {
    /// Whose it is.
    pub process: Process,
    /// When it was started, as `host::process` tells it: before it was asked what it is.
    pub started: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Witness {
    began: Instant,
    spent: Duration,
    processes: BTreeMap<u32, Process>,
    /// The main processes of each name.
    mains: BTreeMap<String, Vec<u64>>,
    /// Those that became known since they were last taken, where they are; and those that are to
    /// be asked about once more, because programs tell what they do only then.
    new: Option<Vec<NewThread>>,
    /// Processes and names of files that became known since they were last taken as news, where
    /// they are; and until when it was told of the CPUs.
    news: Option<Context>,
    cpus_told_ns: i64,
    cpu_uses_told_ns: i64,
    young: VecDeque<Young>,
    jobs: Jobs,
    /// With more of them, those that are gone are looked for.
    processes_most: usize,
    /// Bytes of requests by file; of a flight recorder those of the time that goes on, and of the
    /// one before.
    files: Heaviest<FileNumber, Requested>,
    files_before: Heaviest<FileNumber, Requested>,
    /// When the time that goes on began.
    turned: Instant,
    /// The last one added to: requests come in runs.
    last: Option<(FileNumber, Requested)>,
    /// What files are called as it was told, from when on; and how many names these are.
    told: HashMap<FileNumber, Vec<(i64, String)>>,
    told_count: usize,
    mounted: Mounted,
    /// What files were found to be called of which nothing was told.
    names: Names,
    pods: PodNames,
    cgroups: KnownCgroups,
    pub(super) cpu_watch: CpuWatch,
    pub(super) cpu_use_watch: CpuUseWatch,
    pub(super) pressure_watch: PressureWatch,
}

impl Default for Witness {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            spent: Duration::ZERO,
            processes: BTreeMap::new(),
            mains: BTreeMap::new(),
            new: None,
            news: None,
            cpus_told_ns: i64::MIN,
            cpu_uses_told_ns: i64::MIN,
            young: VecDeque::new(),
            jobs: Jobs::default(),
            processes_most: PROCESSES_MOST,
            files: Heaviest::new(FILES_MOST),
            files_before: Heaviest::new(FILES_MOST),
            turned: Instant::now(),
            last: None,
            told: HashMap::new(),
            told_count: 0,
            mounted: Mounted::default(),
            names: Names::new(),
            pods: PodNames::default(),
            cgroups: KnownCgroups::default(),
            cpu_watch: CpuWatch::default(),
            cpu_use_watch: CpuUseWatch::default(),
            pressure_watch: PressureWatch::default(),
        }
    }
}

impl Witness {
    /// A request of the trace.
    pub(super) fn add(&mut self, row: &Request) {
        let Some(file) = row.file.filter(|file| file.kind == FileKind::Regular) else { return };
        let number = file.number;
        match &mut self.last {
            Some((last, requested)) if *last == number => requested.add(Requested::of(row)),
            _ => {
                self.add_last();
                self.last = Some((number, Requested::of(row)));
            }
        }
    }

    fn add_last(&mut self) {
        let Some((number, requested)) = self.last.take() else { return };
        self.files.add(number, requested.all).add(requested);
    }

    /// Of a flight recorder: forgets what was over so long ago, and who is gone where there are too
    /// many to remember.
    pub(super) fn keep_last(&mut self, keep: Duration) {
        let keep_ns = i64::try_from(keep.as_nanos()).unwrap_or(i64::MAX);
        self.cpu_watch.keep_last(keep_ns);
        self.cpu_use_watch.keep_last(keep_ns);
        self.pressure_watch.keep_last(keep_ns);
        if self.turned.elapsed() >= keep {
            self.add_last();
            self.files_before = std::mem::replace(&mut self.files, Heaviest::new(FILES_MOST));
            self.turned = Instant::now();
        }
        if self.processes.len() > self.processes_most {
            self.processes.retain(|pid, _| process::is_there(*pid));
            self.processes_most = PROCESSES_MOST.max(2 * self.processes.len());
        }
        if self.names.len() > FILES_MOST {
            self.names.clear();
        }
        let last_ns = self.told.values().filter_map(|of| of.last()).map(|(ns, _)| *ns).max();
        let since_ns = last_ns.unwrap_or(0).saturating_sub(keep_ns);
        if self.told.len() > FILES_MOST {
            self.told.retain(|_, of| of.last().is_some_and(|(ns, _)| *ns >= since_ns));
        }
        for of in self.told.values_mut() {
            // The last one before is the name that it had then.
            let before = of.partition_point(|(ns, _)| *ns <= since_ns);
            of.drain(..before.saturating_sub(1));
        }
        self.told_count = self.told.values().map(Vec::len).sum();
    }

    /// What files are called from now on. Where there is no room for more, a file's earlier names
    /// are forgotten, and a file that has none gets none.
    pub(super) fn name(&mut self, names: Vec<ToldName>) {
        for ToldName { file, since_ns, path } in names {
            let is_full = self.told_count >= TOLD_MOST;
            if is_full && !self.told.contains_key(&file) {
                continue;
            }
            let path = self.mounted.seen(&Tree::system(), file.file_system, &path);
            let of = self.told.entry(file).or_default();
            match is_full {
                _ if of.last().is_some_and(|(_, last)| *last == path) => continue,
                true => drop(of.remove(0)),
                false => self.told_count += 1,
            }
            self.news.iter_mut().for_each(|news| news.files.push(named(file, since_ns, &path)));
            of.push((since_ns, path));
        }
    }

    /// Asks about threads and files that were seen for the first time.
    pub(super) fn look(
        &mut self,
        threads: Vec<SeenThread>,
        commands: &Commands,
        files: Vec<(FileNumber, u32)>,
    ) {
        for thread in threads {
            let SeenThread { pid, process, .. } = thread;
            let started = model::process::started(pid);
            let (asked, path) = self.ask(thread, commands);
            let mut asked = self.among_others(asked);
            let young = Young::new((pid, process), started, &asked);
            asked.job = self.jobs.expected(&asked, &young);
            let unit = path.as_ref().zip(asked.unit.as_ref());
            unit.iter().for_each(|(path, unit)| self.pressure_watch.follow(path, unit));
            self.young.push_back(young);
            if let Some(new) = &mut self.new {
                new.push(NewThread { process: asked.clone(), started });
            }
            if asked.process.is_some() || !self.is_known(thread) {
                self.know(pid, asked);
            }
        }
        self.ask_young();
        self.look_for(files);
    }

    fn know(&mut self, pid: u32, process: Process) {
        self.news.iter_mut().for_each(|news| news.processes.push(process.clone()));
        self.processes.insert(pid, process);
    }

    /// Nobody asks for news any more.
    pub(super) fn tells_no_news(&mut self) {
        self.news = None;
    }

    /// Processes, names of files and the CPUs' times that became known since this was last asked.
    pub(super) fn news(&mut self) -> Context {
        let mut news = self.news.replace(Context::default()).unwrap_or_default();
        news.cpu_times = self.cpu_watch.since(self.cpus_told_ns);
        let told = news.cpu_times.iter().map(|interval| interval.until_ns).max();
        self.cpus_told_ns = told.unwrap_or(self.cpus_told_ns);
        news.cpu_uses = self.cpu_use_watch.since(self.cpu_uses_told_ns);
        let told = news.cpu_uses.iter().map(|one| one.until_ns).max();
        self.cpu_uses_told_ns = told.unwrap_or(self.cpu_uses_told_ns);
        news
    }

    fn is_known(&self, SeenThread { pid, process, .. }: SeenThread) -> bool {
        let of = Some(u64::from(process));
        self.processes.get(&pid).is_some_and(|known| known.process == of)
    }

    /// What a thread's process is, and the path of its cgroup. One that is gone by now is what it
    /// was before; else its events tell its name and its cgroup.
    fn ask(&mut self, thread: SeenThread, commands: &Commands) -> (Process, Option<String>) {
        let SeenThread { pid, process, name, cgroup } = thread;
        let (asked, path) = asked(pid, process, &mut self.pods);
        if asked.process.is_some() {
            if let (Some(number), Some(path)) = (cgroup, &path) {
                self.cgroups.learn(number, path);
            }
            return (asked, path);
        }
        let (Some(name), Some(number), false) = (name, cgroup, self.is_known(thread)) else {
            return (asked, None);
        };
        // The root's are the kernel's own threads, too.
        let Some(path) = self.cgroups.path(number).filter(|path| *path != "/") else {
            return (asked, None);
        };
        let (path, command) = (path.to_owned(), commands.name(name).to_owned());
        let gone = Process {
            process: Some(u64::from(process)),
            title: Some(command.clone()),
            unit: Some(self.pods.named(path.clone())),
            command,
            ..asked
        };
        (gone, Some(path))
    }

    /// Looks for the names of files of which none was told.
    pub(super) fn look_for(&mut self, files: Vec<(FileNumber, u32)>) {
        for (number, pid) in files {
            if self.told.contains_key(&number) {
                continue;
            }
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
        std::mem::take(new)
    }

    /// How many main processes of its name are there now: those that were seen, and its own.
    fn among_others(&mut self, asked: Process) -> Process {
        let Some(own) = asked.main_process else { return asked };
        if self.mains.len() > PROCESSES_MOST {
            self.mains.clear();
        }
        let mains = self.mains.entry(asked.command.clone()).or_default();
        mains.retain(|main| *main != own && u32::try_from(*main).is_ok_and(process::is_there));
        if mains.len() >= MAINS_MOST {
            mains.remove(0);
        }
        mains.push(own);
        Process { main_processes: Some(mains.len() as u64), ..asked }
    }

    /// The name of a file, if it is known.
    pub(super) fn file_name(&self, file: FileNumber) -> Option<String> {
        let told = self.told.get(&file).and_then(|of| of.last()).map(|(_, path)| path.clone());
        told.or_else(|| self.names.get(&file).map(|path| path.to_string_lossy().into_owned()))
    }

    /// What is known now.
    pub(super) fn copy(&self) -> Self {
        Self {
            processes: self.processes.clone(),
            files: self.files.clone(),
            files_before: self.files_before.clone(),
            last: self.last,
            told: self.told.clone(),
            names: self.names.clone(),
            cpu_watch: self.cpu_watch.clone(),
            cpu_use_watch: self.cpu_use_watch.clone(),
            pressure_watch: self.pressure_watch.clone(),
            ..Self::default()
        }
    }

    /// What is known at the end, but for stacks.
    pub(super) fn conclude(mut self, mut durable: Durable) -> Context {
        self.add_last();
        for (number, requested) in self.files_before.iter() {
            self.files.add(*number, requested.all).add(*requested);
        }
        self.ask_again();
        for (pid, totals) in &durable.waited {
            if let Some(process) = self.processes.get_mut(pid) {
                process.waits_count = Some(totals.count);
                process.waited_ns = Some(totals.sum_ns);
                process.waited_for_requests_ns = Some(totals.for_requests_ns);
            }
        }
        // What is of all files (sync) is of none.
        let of_calls = durable.calls.iter().map(Call::file).filter(|number| number.inode != 0);
        let of_waits = durable.waits.iter().map(Wait::file).filter(|number| number.inode != 0);
        let mut wanted: BTreeSet<FileNumber> = of_calls.chain(of_waits).collect();
        let mut by_bytes: Vec<(u64, FileNumber)> =
            self.files.iter().map(|(number, of)| (of.all, *number)).collect();
        by_bytes.sort_unstable_by(|a, b| b.cmp(a));
        wanted.extend(by_bytes.iter().take(NAMED_MOST).map(|(_, number)| *number));
        let files = self.files.iter().map(|(number, _)| *number);
        wanted.extend(files.filter(|number| self.told.contains_key(number)));
        let is_nameless = |number: &&FileNumber| {
            !self.told.contains_key(*number) && !self.names.contains_key(*number)
        };
        let nameless: BTreeSet<FileNumber> =
            wanted.iter().filter(is_nameless).take(NAMED_MOST).copied().collect();
        find_open(&nameless, &mut self.names);
        find_named(&Tree::system(), &nameless, NAMING, &mut self.names);
        let written: BTreeMap<FileNumber, Requested> =
            self.files.iter().map(|(number, of)| (*number, *of)).collect();
        let files = wanted.into_iter().flat_map(|number| {
            let writers = durable.writers.pop(&number).unwrap_or_default();
            let file = NamedFile {
                file_system: u64::from(number.file_system),
                inode: number.inode,
                generation: u64::from(number.generation),
                writers: writers.into_iter().map(u64::from).collect(),
                written_bytes: written.get(&number).map(|of| of.written),
                written_large_bytes: written.get(&number).map(|of| of.written_large),
                ..NamedFile::default()
            };
            self.names_of(number).into_iter().map(move |(since_ns, path)| NamedFile {
                path,
                since_ns,
                ..file.clone()
            })
        });
        let files = files.collect();
        Context {
            calls: durable.calls,
            waits: durable.waits,
            journal_use: durable.journal_use,
            commits: durable.commits,
            processes: self.processes.into_values().collect(),
            files,
            cpu_times: self.cpu_watch.take(),
            cpu_uses: self.cpu_use_watch.take(),
            pressure: self.pressure_watch.take(),
            ..Context::default()
        }
    }

    /// All names of a file, each with when it was told; of one that has none, that.
    fn names_of(&mut self, file: FileNumber) -> Vec<(Option<i64>, Option<String>)> {
        match self.told.remove(&file) {
            Some(of) => of.into_iter().map(|(ns, path)| (Some(ns), Some(path))).collect(),
            None => {
                let found = self.names.remove(&file);
                vec![(None, found.map(|path| path.to_string_lossy().into_owned()))]
            }
        }
    }
}

fn named(file: FileNumber, since_ns: i64, path: &str) -> NamedFile {
    NamedFile {
        file_system: u64::from(file.file_system),
        inode: file.inode,
        generation: u64::from(file.generation),
        path: Some(path.to_owned()),
        since_ns: Some(since_ns),
        ..NamedFile::default()
    }
}

/// What the machine tells of a thread's process, and the path of its cgroup; of one that is gone
/// its number alone.
fn asked(pid: u32, process: u32, pods: &mut PodNames) -> (Process, Option<String>) {
    let seen = process::seen(process);
    let is_there = seen.is_some();
    let main_process = seen.as_ref().map(|seen| u64::from(seen.main_process));
    let seen = seen.unwrap_or_default();
    let thread = (pid != process).then(|| process::thread_name(process, pid, &seen.command));
    let path = seen.unit;
    let asked = Process {
        pid: u64::from(pid),
        process: is_there.then_some(u64::from(process)),
        thread: thread.flatten(),
        command: seen.command,
        title: seen.title,
        unit: path.clone().map(|path| pods.named(path)),
        main_process,
        ..Process::default()
    };
    (asked, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a file system that is mounted nowhere, whose paths are left as they are.
    fn told(inode: u64, since_ns: i64, path: &str) -> ToldName {
        let file = FileNumber { file_system: 4095 << 20, inode, generation: 1 };
        ToldName { file, since_ns, path: path.to_owned() }
    }

    fn names(witness: Witness, of: &[u64]) -> Vec<(u64, Option<i64>, String)> {
        let call = |inode: &u64| Call {
            file_system: 4095 << 20,
            inode: *inode,
            generation: 1,
            ..Call::default()
        };
        let mut durable = Durable::default();
        durable.calls = of.iter().map(call).collect();
        let files = witness.conclude(durable).files;
        files.into_iter().map(|f| (f.inode, f.since_ns, f.path.unwrap_or_default())).collect()
    }

    #[test]
    fn each_name_that_a_file_had_has_a_row() {
        let mut witness = Witness::default();
        witness.name(vec![told(5, 10, "/f"), told(6, 11, "/x"), told(5, 20, "/g")]);
        // Told anew, because another file had its place in the kernel's memory.
        witness.name(vec![told(5, 30, "/g"), told(5, 40, "/f")]);
        assert_eq!(witness.file_name(told(5, 0, "").file).as_deref(), Some("/f"));
        let row = |ns, path: &str| (5, Some(ns), path.to_owned());
        let expected = [row(10, "/f"), row(20, "/g"), row(40, "/f"), (7, None, String::new())];
        assert_eq!(names(witness, &[5, 7, 0]), expected, "what was not asked for has none");
    }

    #[test]
    fn a_thread_is_asked_again_soon_and_keeps_what_it_was_when_it_is_gone() {
        let own = std::process::id();
        let before = Process {
            title: Some("perl".to_owned()),
            ..asked(own, own, &mut PodNames::default()).0
        };
        let gone = Process { pid: 9, process: Some(9), title: Some("dd".into()), ..before.clone() };
        let young = Young::new((own, own), model::process::started(own), &before);
        let processes = BTreeMap::from([(own, before), (9, gone.clone())]);
        let mut witness = Witness { processes, ..Witness::default() };
        witness.young.push_back(young.seen_before(jobs::YOUNG));
        let seen = |pid| SeenThread { pid, process: pid, ..SeenThread::default() };
        witness.look(vec![seen(9)], &Commands::default(), Vec::new());
        let expected =
            Process { main_processes: Some(1), ..asked(own, own, &mut PodNames::default()).0 };
        assert_eq!(witness.processes[&own], expected);
        // A worker of another one of its name, which is there, too.
        let of_init = Process { main_process: Some(1), ..expected };
        assert_eq!(witness.among_others(of_init).main_processes, Some(2));
        assert!(process::is_there(9) || witness.processes[&9] == gone);
    }

    #[test]
    fn who_is_gone_has_the_name_and_the_cgroup_that_its_events_told() {
        // No thread has these numbers: they are beyond the most that a kernel gives (proc(5)).
        let seen = |n: u32, name, cgroup| {
            let pid = (1 << 22) + n;
            SeenThread { pid, process: pid, name, cgroup }
        };
        let mut commands = Commands::default();
        let [dd, cat] = [b"dd".as_slice(), b"cat"].map(|name| Some(commands.number(name)));
        let mut witness = Witness::default();
        witness.cgroups.extend([(7, "/shop.slice".to_owned()), (1, "/".to_owned())]);
        let threads = [
            seen(1, dd, Some(7)),
            // What is known remains, whatever its number is called now.
            seen(1, cat, Some(7)),
            // Neither is told, or is known, or it may be the kernel's own.
            seen(2, None, Some(7)),
            seen(3, dd, None),
            seen(4, dd, Some(u64::MAX)),
            seen(5, dd, Some(1)),
        ];
        witness.look(threads.to_vec(), &commands, Vec::new());
        let pid = u64::from(threads[0].pid);
        let expected = Process {
            pid,
            process: Some(pid),
            command: "dd".to_owned(),
            title: Some("dd".to_owned()),
            unit: Some("/shop.slice".to_owned()),
            ..Process::default()
        };
        let known: Vec<Process> = witness.processes.into_values().collect();
        assert_eq!(known[0], expected);
        assert_eq!(known.len(), 5);
        assert!(known[1..].iter().all(|of| of.process.is_none() && of.unit.is_none()), "{known:?}");
    }

    #[test]
    fn a_flight_recorder_forgets_names_that_were_over_before_its_time() {
        let mut witness = Witness::default();
        let second = 1_000_000_000;
        witness.name(vec![told(5, 0, "/a"), told(5, second, "/b"), told(5, 9 * second, "/c")]);
        witness.keep_last(Duration::from_secs(5));
        assert_eq!(witness.told_count, 2);
        let expected = [(5, Some(second), "/b".to_owned()), (5, Some(9 * second), "/c".to_owned())];
        assert_eq!(names(witness, &[5]), expected);
    }

    #[test]
    fn where_there_is_no_room_a_files_last_name_is_kept_and_new_files_have_none() {
        let mut witness = Witness::default();
        witness.name((0..TOLD_MOST as u64).map(|inode| told(inode + 1, 1, "/x")).collect());
        witness.name(vec![told(1, 2, "/y"), told(1, 3, "/z"), told(TOLD_MOST as u64 + 1, 3, "/n")]);
        assert_eq!((witness.told_count, witness.told.len()), (TOLD_MOST, TOLD_MOST));
        assert_eq!(witness.file_name(told(1, 0, "").file).as_deref(), Some("/z"));
        assert_eq!(witness.told[&told(1, 0, "").file].len(), 1);
    }
}

//! Who acts: each thread has a role, and a kernel's thread acts for the owner of the file that it
//! writes.
//!
//! A file's owner is who calls for its durability; else who changed it last; else who first writes
//! it himself. Journals act for everybody, and are nobody's.
//!
//! Non-goals: what roles are called (`super::role`).

use super::bulk::{self, Written};
use super::families::Families;
use super::instance::{Instances, role_of};
use super::names::without_segment;
use super::role::{of_process, role};
use crate::selection::Who;
use hashbrown::{DefaultHashBuilder, HashMap};
use indexmap::IndexMap;
use model::record::{
    Commands, Context, FileKey, FileKind, FileNumber, Flags, NamedFile, Op, Process, Request,
};
use model::role_name::is_of_kernel;
use std::collections::BTreeSet;
use std::hash::Hash;
use std::sync::Arc;

/// A role by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RoleId(pub u16);

/// More roles than this are one.
const MOST: usize = 1000;
pub(crate) const OTHERS: &str = "others";
/// Threads, and files with an owner, that are remembered. A thread beyond them has the role that
/// its name tells each time; a file beyond them is its writer's.
const LEARNED_MOST: usize = 1 << 20;
/// For whom a device beneath others works, where it is counted by itself.
const ABOVE: &str = "devices above";

/// The journal's: it acts for everybody.
pub(crate) const JOURNAL: RoleId = RoleId(0);

/// What was known before, shared by all who go on from there, and what each has learned since.
#[derive(Debug, Clone, Default)]
struct Learned<K> {
    before: Arc<HashMap<K, RoleId>>,
    since: HashMap<K, RoleId>,
}

impl<K: Copy + Eq + Hash> Learned<K> {
    fn get(&self, key: &K) -> Option<RoleId> {
        self.since.get(key).or_else(|| self.before.get(key)).copied()
    }

    /// The last that is learned of one holds; of more than [`LEARNED_MOST`] nothing is learned.
    fn learn(&mut self, key: K, role: RoleId) {
        if self.since.len() < LEARNED_MOST || self.since.contains_key(&key) {
            self.since.insert(key, role);
        }
    }

    fn learn_first(&mut self, key: K, role: RoleId) {
        if self.get(&key).is_none() {
            self.learn(key, role);
        }
    }

    /// Whoever goes on from here shares what is known now.
    fn share(&mut self) {
        if self.before.is_empty() {
            self.before = Arc::new(std::mem::take(&mut self.since));
        }
    }
}

/// What is known of a role besides its name.
#[derive(Debug, Clone, Default)]
struct Role {
    /// Whether it is the kernel's own threads.
    is_kernel: bool,
    /// The cgroup of its processes: none where they are of several, or it is not told; nothing
    /// where no process is known.
    cgroup: Option<Option<String>>,
}

impl Role {
    /// A process of it is of a cgroup.
    fn is_in(&mut self, cgroup: Option<&String>) {
        match &self.cgroup {
            None => self.cgroup = Some(cgroup.cloned()),
            Some(known) if known.as_ref() == cgroup => {}
            Some(_) => self.cgroup = Some(None),
        }
    }
}

/// Cheap to clone once it is shared ([`Actors::shared`]).
#[derive(Debug, Clone, Default)]
pub struct Actors {
    /// By their numbers.
    names: IndexMap<String, Role, DefaultHashBuilder>,
    threads: Learned<u32>,
    /// Of files, who calls for their durability; and of others who changed them last, or writes
    /// them first.
    owners: Learned<FileNumber>,
    writers: Learned<FileNumber>,
    /// Files that their owner writes in bulk beside his commits, and the role that this is.
    bulk: Arc<HashMap<FileNumber, (RoleId, RoleId)>>,
    /// The last thread that was looked up: they come in runs.
    last: Option<(u32, RoleId)>,
    /// Those of requests that tell neither thread nor command.
    origins: [Option<RoleId>; ORIGINS.len()],
    /// Which processes have a role of their own, and these roles.
    alone: Option<Who>,
    own: BTreeSet<RoleId>,
    families: Arc<Families>,
    instances: Arc<Instances>,
}

impl Actors {
    /// By what a trace says of processes; `alone` is told apart from its role.
    pub fn new(context: &Context, alone: Option<Who>) -> Self {
        let mut actors = Self { alone, ..Self::default() };
        actors.expect(context.processes.iter());
        let seen = actors.families.all_seen(&context.processes);
        actors.instances = Arc::new(Instances::of(&seen));
        actors.number("journal", true);
        for process in &context.processes {
            actors.learn(process);
        }
        for call in &context.calls {
            if let Some(role) = actors.threads.get(&(call.pid as u32)) {
                actors.owners.learn_first(call.file(), role);
            }
        }
        for file in &context.files {
            // A file that nobody calls for is the last one's who changed it.
            let writers = file.writers.iter().rev();
            let mut roles = writers.filter_map(|pid| actors.threads.get(&(*pid as u32)));
            if let Some(role) = roles.next() {
                actors.change(file.number(), role);
            }
        }
        actors.find_bulk(context);
        actors
    }

    /// Finds what is written in bulk beside commits.
    fn find_bulk(&mut self, context: &Context) {
        let mut all: HashMap<FileNumber, (RoleId, Written)> = HashMap::new();
        for file in &context.files {
            let (number, bytes) = (file.number(), file.written_bytes);
            if let Some((role, bytes)) = self.owner(&number).zip(bytes) {
                all.insert(number, (role, Written { bytes, calls: 0 }));
            }
        }
        for call in &context.calls {
            if let Some((_, file)) = all.get_mut(&call.file()) {
                file.calls += 1;
            }
        }
        // The segments of a log are one file: in a storm each has fewer calls.
        let segments = |file: &NamedFile| {
            let role = all.get(&file.number())?.0;
            Some((file.number(), (role, without_segment(file.path.as_deref()?))))
        };
        let named: HashMap<FileNumber, (RoleId, String)> =
            context.files.iter().filter_map(segments).collect();
        bulk::unite(&mut all, &named);
        let found: Vec<(FileNumber, RoleId)> = bulk::files(&all).collect();
        let bulk = found.into_iter().map(|(file, role)| (file, (role, self.bulk_of(role))));
        self.bulk = Arc::new(bulk.collect());
    }

    /// The role that another one's bulk writes are: of the same processes.
    fn bulk_of(&mut self, role: RoleId) -> RoleId {
        let bulk = self.number(&bulk::name(self.name(role)), self.is_kernel(role));
        if self.own.contains(&role) {
            self.own.insert(bulk);
        }
        let cgroup = self.names.get_index(role.0.into()).and_then(|(_, of)| of.cgroup.clone());
        if let Some((_, of)) = self.names.get_index_mut(bulk.0.into()) {
            of.cgroup = cgroup;
        }
        bulk
    }

    /// Bulk writes are their program's from now on.
    pub(crate) fn forget_bulk(&mut self) {
        self.bulk = Arc::default();
    }

    /// Whose it is what a role does to a file's data: its bulk writes are a role of their own.
    pub(crate) fn of_work(&self, role: RoleId, file: &FileNumber) -> RoleId {
        match self.bulk.get(file) {
            Some((owner, bulk)) if *owner == role => *bulk,
            _ => role,
        }
    }

    /// The same, whose clones share what it knows.
    pub fn shared(mut self) -> Self {
        self.threads.share();
        self.owners.share();
        self.writers.share();
        self
    }

    /// These processes are to be learned: a job is known by all that it runs.
    pub(crate) fn expect<'p>(&mut self, processes: impl Iterator<Item = &'p Process>) {
        for process in processes.filter(|process| process.job.is_some()) {
            Arc::make_mut(&mut self.families).learn(process);
        }
    }

    /// What these threads are.
    pub(crate) fn learn_all<'p>(&mut self, processes: impl Iterator<Item = &'p Process> + Clone) {
        self.expect(processes.clone());
        processes.for_each(|process| {
            self.learn(process);
        });
    }

    /// What a thread is. What was gone before it could be asked has its requests' names.
    pub fn learn(&mut self, process: &Process) -> Option<RoleId> {
        process.process?;
        self.expect(std::iter::once(process));
        let number = self.of_process(process, process.title.is_none());
        if let Some((_, role)) = self.names.get_index_mut(number.0.into()) {
            role.is_in(process.unit.as_ref());
        }
        self.threads.learn(process.pid as u32, number);
        self.last = None;
        Some(number)
    }

    /// Somebody calls for a file's durability: he is its owner.
    pub fn own(&mut self, file: FileNumber, role: RoleId) {
        self.owners.learn(file, role);
    }

    /// Somebody changes a file's data: if nobody calls for it, it is his.
    pub fn change(&mut self, file: FileNumber, role: RoleId) {
        self.writers.learn(file, role);
    }

    fn owner(&self, file: &FileNumber) -> Option<RoleId> {
        self.owners.get(file).or_else(|| self.writers.get(file))
    }

    /// Learns whose files are whose from another one, with the names that their owners have there.
    pub fn learn_owners(&mut self, from: &Self) {
        let mut roles: HashMap<RoleId, RoleId> = HashMap::new();
        let mut learn = |known: &Learned<FileNumber>| {
            let all = known.before.iter().chain(&known.since);
            let mut learned = Learned::default();
            for (file, role) in all {
                let role = *roles
                    .entry(*role)
                    .or_insert_with(|| self.number(from.name(*role), from.is_kernel(*role)));
                learned.learn(*file, role);
            }
            learned
        };
        let (owners, writers) = (learn(&from.owners), learn(&from.writers));
        (self.owners, self.writers) = (owners, writers);
    }

    /// Forgets threads that are gone: their numbers will be others'.
    pub fn forget_threads(&mut self, gone: &[u32]) {
        for pid in gone {
            self.threads.since.remove(pid);
        }
        self.last = None;
    }

    /// Whether there are so many roles that more would be one.
    pub fn has_all(&self) -> bool {
        self.names.len() >= MOST
    }

    /// Whether a role is that of all for which there was no room.
    pub fn is_others(&self, role: RoleId) -> bool {
        self.name(role) == OTHERS
    }

    /// Forgets whose files are whose, if these are more: those in use turn up again.
    pub fn forget_owners_beyond(&mut self, most: usize) {
        for owners in [&mut self.owners, &mut self.writers] {
            if owners.since.len() > most {
                *owners = Learned::default();
            }
        }
    }

    /// The role that a process has, or shares with those of its purpose.
    fn of_process(&mut self, process: &Process, is_kernel: bool) -> RoleId {
        let Process { title, command, .. } = process;
        let seen = self.families.seen(process);
        let shared = role_of(&seen);
        let shared = match self.instances.of_process(&shared, &seen) {
            Some(instance) => format!("{shared} ({instance})"),
            None => shared,
        };
        if !self.alone.as_ref().is_some_and(|alone| alone.is(process)) {
            return self.number(&shared, is_kernel);
        }
        let pid = process.process.unwrap_or(process.pid);
        let name = of_process(title.as_deref(), command, pid);
        self.own_number(&name, is_kernel || is_of_kernel(&shared))
    }

    fn own_number(&mut self, name: &str, is_kernel: bool) -> RoleId {
        let number = self.number(name, is_kernel);
        self.own.insert(number);
        number
    }

    /// The roles that processes have of their own.
    pub fn own_roles(&self) -> &BTreeSet<RoleId> {
        &self.own
    }

    fn number(&mut self, name: &str, is_kernel: bool) -> RoleId {
        let name = if self.names.len() < MOST { name } else { OTHERS };
        let number = self.names.get_index_of(name).unwrap_or_else(|| {
            let is_kernel = is_kernel || is_of_kernel(name);
            self.names.insert_full(name.to_owned(), Role { is_kernel, cgroup: None }).0
        });
        RoleId(number as u16)
    }

    /// What all roles are called, in the order of their numbers.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.names.keys()
    }

    /// What a role is called.
    pub fn name(&self, role: RoleId) -> &str {
        self.names.get_index(role.0.into()).map_or("", |(name, _)| name)
    }

    /// Whether it is the kernel itself.
    pub fn is_kernel(&self, role: RoleId) -> bool {
        self.names.get_index(role.0.into()).is_some_and(|(_, role)| role.is_kernel)
    }

    /// The cgroup of all processes of a role that are known; none where they are of several.
    pub fn cgroup(&self, role: &str) -> Option<&str> {
        self.names.get(role)?.cgroup.as_ref()?.as_deref()
    }

    /// The role of a thread; of one that was not asked about, what its name tells.
    pub fn of_thread(&mut self, pid: u32, command: impl FnOnce() -> String) -> RoleId {
        match self.last {
            Some((last, role)) if last == pid => return role,
            _ => {}
        }
        let role = match self.threads.get(&pid) {
            Some(role) => role,
            None => {
                let command = command();
                let process = Process { pid: pid.into(), command, ..Process::default() };
                let number = self.of_process(&process, false);
                self.threads.learn(pid, number);
                number
            }
        };
        self.last = Some((pid, role));
        role
    }

    /// The role of a thread of which something is known.
    pub fn of_known_thread(&self, pid: u32) -> Option<RoleId> {
        self.threads.get(&pid)
    }

    /// The role of a command whose process is not known.
    fn of_command(&mut self, command: &str) -> RoleId {
        match self.alone.as_ref().is_some_and(|alone| alone.is_called(command)) {
            true => self.own_number(command, is_of_kernel(&role(None, command))),
            false => self.number(&role(None, command), false),
        }
    }

    /// The role of all requests of such an origin: there are few, and one is looked up for each
    /// request.
    fn of_origin(&mut self, origin: Origin) -> RoleId {
        if let Some(role) = self.origins[origin as usize].filter(|_| !self.has_all()) {
            return role;
        }
        let role = self.number(ORIGINS[origin as usize], false);
        self.origins[origin as usize] = Some(role);
        role
    }

    /// The role of all requests that serve those of a device above, whoever asked there.
    pub fn of_devices_above(&mut self) -> RoleId {
        self.number(ABOVE, true)
    }

    /// Whose request it is, and whether somebody else made it for him.
    pub fn of_request(&mut self, row: &Request, commands: &Commands) -> RoleId {
        if row.file.is_some_and(|file| file.kind == FileKind::Journal) {
            return JOURNAL;
        }
        let name = || row.command.map_or(String::new(), |id| commands.name(id).to_owned());
        // Foreign traces tell no thread, but perhaps a command.
        let role = match row.pid {
            Some(pid) => self.of_thread(pid, name),
            None if row.command.is_some() => self.of_command(&name()),
            None => self.of_origin(of_origin(row)),
        };
        let Some(FileKey { kind: FileKind::Regular, number }) = row.file else {
            return role;
        };
        match self.is_kernel(role) {
            true => self.of_work(self.owner(&number).unwrap_or(role), &number),
            false if row.op == Op::Write => {
                self.writers.learn_first(number, role);
                self.of_work(role, &number)
            }
            false => role,
        }
    }
}

/// Who is behind a request of a trace that tells no programs.
#[derive(Debug, Clone, Copy)]
enum Origin {
    Readers,
    BackgroundWriters,
    WritersOfMetadata,
    Writers,
}

/// What they are called.
const ORIGINS: [&str; 4] = ["readers", "background writers", "writers of metadata", "writers"];

fn of_origin(row: &Request) -> Origin {
    match row.op {
        Op::Read => Origin::Readers,
        Op::Write if row.flags.contains(Flags::BACKGROUND) => Origin::BackgroundWriters,
        Op::Write if row.flags.contains(Flags::META) => Origin::WritersOfMetadata,
        _ => Origin::Writers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::{Call, NamedFile};

    #[test]
    fn of_ever_more_threads_the_first_are_remembered() {
        let mut threads = Learned::default();
        for pid in 0..LEARNED_MOST as u32 + 9 {
            threads.learn_first(pid, RoleId(1));
        }
        assert_eq!(threads.since.len(), LEARNED_MOST);
        threads.learn(0, RoleId(2));
        threads.learn_first(0, RoleId(3));
        assert_eq!(threads.get(&0), Some(RoleId(2)));
        assert_eq!(threads.get(&(LEARNED_MOST as u32)), None);
    }

    #[test]
    fn threads_of_a_name_of_their_own_have_a_role_of_it() {
        let of = |thread: Option<&str>| {
            let thread = thread.map(str::to_owned);
            role_of(&Process { thread, ..process(9, Some("db_bench --x"), "db_bench") })
        };
        assert_eq!(of(None), "db_bench");
        assert_eq!(of(Some("rocksdb:low")), "db_bench: rocksdb:low");
        assert_eq!(of(Some("worker-12")), "db_bench: worker");
        assert_eq!(of(Some("lbolt-job-write")), "writer", "what runs it says nothing more");
    }

    fn process(pid: u64, title: Option<&str>, command: &str) -> Process {
        let (command, title) = (command.to_owned(), title.map(str::to_owned));
        Process { pid, process: Some(pid), command, title, ..Process::default() }
    }

    #[test]
    fn a_role_is_of_the_cgroup_that_all_its_processes_are_in() {
        let mut actors = Actors::new(&Context::default(), None);
        let mut learn = |pid, title, unit: Option<&str>| {
            let unit = unit.map(str::to_owned);
            actors.learn(&Process { unit, ..process(pid, Some(title), title) });
            actors.cgroup(title).map(str::to_owned)
        };
        let shop = Some("/shop.service");
        assert_eq!(learn(1, "cron", None), None);
        assert_eq!(learn(2, "redis", shop).as_deref(), shop);
        assert_eq!(learn(3, "redis", shop).as_deref(), shop);
        assert_eq!(learn(4, "redis", Some("/b")), None, "of two");
        assert_eq!(learn(5, "redis", Some("/b")), None);
        assert_eq!(learn(6, "cron", shop), None, "of the root, too");
        assert_eq!(actors.cgroup("nobody"), None);
    }

    #[test]
    fn the_kernel_writes_for_the_owner_of_the_file() {
        let context = Context {
            processes: vec![
                process(7, None, "kworker/u8:1-flush-7:0"),
                process(8, Some("postgres: checkpointer"), "postgres"),
                process(9, Some("dd of=x"), "dd"),
            ],
            calls: vec![Call { file_system: 1, inode: 20, pid: 8, ..Call::default() }],
            files: vec![NamedFile {
                file_system: 1,
                inode: 30,
                writers: vec![9],
                ..NamedFile::default()
            }],
            ..Context::default()
        };
        let mut actors = Actors::new(&context, None);
        let mut commands = Commands::default();
        let command = Some(commands.number(b"gzip"));
        let mut name = |pid, kind, inode| {
            let file =
                Some(FileKey { kind, number: FileNumber { file_system: 1, inode, generation: 0 } });
            let row =
                Request { op: Op::Write, pid: Some(pid), command, file, ..Request::default() };
            let role = actors.of_request(&row, &commands);
            actors.name(role).to_owned()
        };
        assert_eq!(name(7, FileKind::Regular, 20), "postgres: checkpointer");
        assert_eq!(name(7, FileKind::Regular, 30), "dd");
        assert_eq!(name(7, FileKind::Regular, 40), "kernel writeback");
        assert_eq!(name(55, FileKind::Regular, 40), "gzip");
        assert_eq!(name(7, FileKind::Regular, 40), "gzip", "who wrote it himself owns it");
        assert_eq!(name(9, FileKind::Regular, 20), "dd", "what he does himself is his");
        assert_eq!(name(8, FileKind::Journal, 0), "journal");
    }

    #[test]
    fn who_changed_a_file_owns_it_when_he_is_gone_and_until_somebody_calls_for_it() {
        let mut actors = Actors::new(&Context::default(), None);
        actors.learn(&process(7, None, "kworker/u8:1-flush-7:0"));
        actors.learn(&process(9, Some("cp a b"), "cp"));
        let number = FileNumber { file_system: 1, inode: 20, generation: 0 };
        let owner = |actors: &mut Actors| {
            let file = Some(FileKey { kind: FileKind::Regular, number });
            let row = Request { op: Op::Write, pid: Some(7), file, ..Request::default() };
            let role = actors.of_request(&row, &Commands::default());
            actors.name(role).to_owned()
        };
        assert_eq!(owner(&mut actors), "kernel writeback");
        let cp = actors.of_thread(9, String::new);
        actors.change(number, cp);
        actors.forget_threads(&[9]);
        assert_eq!(owner(&mut actors), "cp");
        // Another one, with numbers of its own.
        let mut later = Actors::new(&Context::default(), None);
        later.learn(&process(11, Some("redis"), "redis"));
        later.learn(&process(7, None, "kworker/u8:1-flush-7:0"));
        later.learn_owners(&actors);
        assert_eq!(owner(&mut later), "cp");
        let redis = later.of_thread(11, String::new);
        later.own(number, redis);
        assert_eq!(owner(&mut later), "redis");
        let gzip = later.of_thread(12, || "gzip".to_owned());
        later.change(number, gzip);
        assert_eq!(owner(&mut later), "redis", "who calls for it, whoever changes it");
        later.forget_owners_beyond(0);
        assert_eq!(owner(&mut later), "kernel writeback");
    }
}

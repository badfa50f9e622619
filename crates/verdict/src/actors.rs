//! Who acts: each thread has a role, and a kernel's thread acts for the owner of the file that it
//! writes.
//!
//! A file's owner is who calls for its durability; else who changed it last; else who first writes
//! it himself. Journals act for everybody, and are nobody's.
//!
//! Non-goals: what roles are called (`super::role`).

use super::bulk::{self, Work, Worked, Written};
use super::families::Families;
use super::guessed::Guessed;
use super::instance::{Instances, role_of};
use super::names::without_segment;
use super::role::{of_process, role};
use super::waits::{Class, Kind, OF_BULK, size_of};
use crate::selection::Who;
use hashbrown::{DefaultHashBuilder, HashMap};
use indexmap::IndexMap;
use model::record::{
    Call, Commands, Context, FileKey, FileKind, FileNumber, Flags, Op, Process, Request,
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

    /// Whether that was news.
    fn learn_first(&mut self, key: K, role: RoleId) -> bool {
        let is_new = self.get(&key).is_none();
        if is_new {
            self.learn(key, role);
        }
        is_new
    }

    /// Of more than these, what was not learned since they were as many is forgotten.
    fn forget_beyond(&mut self, most: usize) {
        if self.since.len() > most {
            self.before = Arc::new(std::mem::take(&mut self.since));
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
    /// When it became a file's owner last, as the number of that among all; 0: never.
    owned: u64,
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
    /// Files that their owner writes in bulk beside his commits, and to which he commits.
    work: Arc<HashMap<FileNumber, Worked>>,
    /// Owners that were only known by their threads' names then.
    guessed: Guessed,
    /// How often somebody became an owner.
    owned: u64,
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
                actors.writers.learn(file.number(), role);
            }
        }
        actors.find_work(context);
        actors
    }

    /// Finds what is written in bulk beside commits.
    fn find_work(&mut self, context: &Context) {
        let mut written: HashMap<FileNumber, Written> = HashMap::new();
        let mut paths: HashMap<FileNumber, &str> = HashMap::new();
        for file in &context.files {
            let number = file.number();
            paths.extend(file.path.as_deref().map(|path| (number, path)));
            let large_bytes = file.written_large_bytes.unwrap_or(0);
            let of = file.written_bytes.map(|bytes| Written { bytes, large_bytes, calls: 0 });
            written.extend(of.map(|of| (number, of)));
        }
        for call in &context.calls {
            written.get_mut(&call.file()).into_iter().for_each(|file| file.calls += 1);
        }
        let path = |file: FileNumber| paths.get(&file).map(|path| (*path).to_owned());
        let found = self.work_among(written.into_iter(), &path);
        let found: Vec<_> = found.into_iter().map(|(file, _, work)| (file, work)).collect();
        self.learn_work(&found);
    }

    /// The files to which their owners commit, and that they write in bulk beside that, with these,
    /// of files that were written so.
    pub(crate) fn work_among(
        &self,
        written: impl Iterator<Item = (FileNumber, Written)>,
        path: &dyn Fn(FileNumber) -> Option<String>,
    ) -> Vec<(FileNumber, RoleId, Work)> {
        let owned = |(file, of): (FileNumber, Written)| Some((file, (self.owner(&file)?, of)));
        let mut all: HashMap<FileNumber, (RoleId, Written)> = written.filter_map(owned).collect();
        bulk::retain_candidates(&mut all);
        // The segments of a log are one file: in a storm each has fewer calls.
        let segments = all
            .iter()
            .filter_map(|(file, (role, _))| Some((*file, (*role, without_segment(&path(*file)?)))));
        let named: HashMap<FileNumber, (RoleId, String)> = segments.collect();
        bulk::unite(&mut all, &named);
        bulk::files(&all)
    }

    /// To these files, and no others, their owners commit, or write them in bulk beside that.
    pub(crate) fn learn_work(&mut self, files: &[(FileNumber, Work)]) {
        let owned = files.iter().filter_map(|(file, work)| Some((*file, self.owner(file)?, *work)));
        let owned: Vec<(FileNumber, RoleId, Work)> = owned.collect();
        let in_bulk = owned.iter().filter(|(_, _, work)| work.tells_bulk());
        let bulk: HashMap<RoleId, RoleId> =
            in_bulk.map(|(_, role, _)| (*role, self.bulk_of(*role))).collect();
        let worked = |owner, work| Worked { owner, bulk: bulk.get(&owner).copied(), work };
        let work = owned.into_iter().map(|(file, owner, work)| (file, worked(owner, work)));
        self.work = Arc::new(work.collect());
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

    /// Whose it is what a role does to a file's data: its bulk writes are a role of their own.
    pub(crate) fn of_work(&self, role: RoleId, file: &FileNumber) -> RoleId {
        self.work.get(file).filter(|of| of.owner == role).map_or(role, |of| of.role())
    }

    /// What is known of the file that a request writes.
    fn worked(&self, row: &Request) -> Option<Worked> {
        let file = row.file.filter(|_| row.op == Op::Write)?;
        self.work.get(&file.number).copied()
    }

    /// The class of a request's length: commits are comparable, though they are of many sizes.
    pub(crate) fn size_of(&self, row: &Request) -> u8 {
        let are_alike = |of: Worked| of.are_alike(row.length_bytes);
        if self.worked(row).is_some_and(are_alike) { 0 } else { size_of(row.length_bytes) }
    }

    /// Whose doing a role's request is: of a log, bulk is written with the commits.
    pub(crate) fn doer_of(&self, row: &Request, role: RoleId) -> RoleId {
        let of_role = self.worked(row).filter(|of| of.owner == role);
        of_role.map_or(role, |of| of.doer(row.length_bytes))
    }

    /// A role's wait for a thread that waits itself as a role: for its program.
    pub(crate) fn sleep_for(&self, waker: RoleId, (device, role): (u32, RoleId)) -> Class {
        let program = bulk::program_if_bulk(self.name(waker)).and_then(|name| self.known(name));
        let (of, size) = program.map_or((waker, 0), |program| (program, OF_BULK));
        Class { device, role, kind: Kind::Thread(of), size }
    }

    /// The role that a program's bulk writes are.
    pub(crate) fn bulk_writes(&self, program: RoleId) -> Option<RoleId> {
        self.known(&bulk::name(self.name(program)))
    }

    fn known(&self, name: &str) -> Option<RoleId> {
        self.names.get_index_of(name).map(|number| RoleId(number as u16))
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
        let pid = process.pid as u32;
        if process.process.is_none() {
            // Its number will be another's, who did nothing of that.
            self.guessed.take(pid);
            return None;
        }
        self.expect(std::iter::once(process));
        let number = self.of_process(process, process.title.is_none());
        if let Some((_, role)) = self.names.get_index_mut(number.0.into()) {
            role.is_in(process.unit.as_ref());
        }
        self.threads.learn(pid, number);
        // What it did while only its name was known, it did as what it is.
        let (guess, files) = self.guessed.take(pid).unwrap_or((number, Vec::new()));
        for file in files {
            for owners in [&mut self.owners, &mut self.writers] {
                if owners.get(&file) == Some(guess) {
                    owners.learn(file, number);
                }
            }
        }
        self.last = None;
        Some(number)
    }

    /// A thread calls for a file's durability: its role is the owner.
    pub fn own(&mut self, file: FileNumber, pid: u32, command: &str) {
        let role = self.of_thread(pid, || command.to_owned());
        self.owners.learn(file, role);
        self.note_owner(file, Some(pid), role);
    }

    /// A thread changes a file's data: if nobody calls for it, it is its role's.
    pub fn change(&mut self, file: FileNumber, pid: u32, command: &str) {
        let role = self.of_thread(pid, || command.to_owned());
        self.writers.learn(file, role);
        self.note_owner(file, Some(pid), role);
    }

    fn note_owner(&mut self, file: FileNumber, pid: Option<u32>, role: RoleId) {
        self.owned += 1;
        if let Some((_, of)) = self.names.get_index_mut(role.0.into()) {
            of.owned = self.owned;
        }
        pid.into_iter().for_each(|pid| self.guessed.note(pid, file));
    }

    fn owner(&self, file: &FileNumber) -> Option<RoleId> {
        self.owners.get(file).or_else(|| self.writers.get(file))
    }

    /// Learns whose files are whose from another one, with the names that their owners have there,
    /// and which are written in bulk.
    pub fn learn_owners(&mut self, from: &Self) {
        self.learn_owners_of(from, &|_| true);
    }

    fn learn_owners_of(&mut self, from: &Self, is_wanted: &dyn Fn(RoleId) -> bool) {
        let mut roles: HashMap<RoleId, RoleId> = HashMap::new();
        let mut learn = |known: &Learned<FileNumber>| {
            let all = known.before.iter().chain(&known.since);
            let is_last = |(file, role): &(&FileNumber, &RoleId)| known.get(file) == Some(**role);
            let mut learned = Learned::default();
            for (file, role) in all.filter(is_last).filter(|(_, role)| is_wanted(**role)) {
                let role = *roles.entry(*role).or_insert_with(|| self.number_as(from, *role));
                learned.learn(*file, role);
            }
            learned
        };
        let (owners, writers) = (learn(&from.owners), learn(&from.writers));
        (self.owners, self.writers) = (owners, writers);
        self.owned = self.owned.max(from.owned);
        self.guessed = from.guessed.with_roles(|role| roles.get(&role).copied());
        let mut files: Vec<_> = from.work.iter().map(|(file, of)| (*file, of.work)).collect();
        files.sort_unstable();
        self.learn_work(&files);
    }

    /// The number here of a role that owns files there.
    fn number_as(&mut self, from: &Self, role: RoleId) -> RoleId {
        let number = self.number(from.name(role), from.is_kernel(role));
        let owned = from.names.get_index(role.0.into()).map_or(0, |(_, of)| of.owned);
        if let Some((_, of)) = self.names.get_index_mut(number.0.into()) {
            of.owned = of.owned.max(owned);
        }
        number
    }

    /// The same with room for more roles: those of these processes, and of the owners of files
    /// those that became one last.
    #[must_use]
    pub fn with_room<'p>(&self, processes: impl Iterator<Item = &'p Process> + Clone) -> Self {
        let mut actors = Self::new(&Context::default(), None);
        actors.learn_all(processes);
        let all = self.names.iter().enumerate().filter(|(_, (name, _))| *name != OTHERS);
        let mut last: Vec<(bool, u64, RoleId)> = all
            .filter(|(_, (_, of))| of.owned > 0)
            .map(|(n, (name, of))| (actors.names.contains_key(name), of.owned, RoleId(n as u16)))
            .collect();
        last.sort_unstable_by(|a, b| b.cmp(a));
        let room = MOST / 2;
        let wanted: BTreeSet<RoleId> = last.iter().take(room).map(|(.., role)| *role).collect();
        actors.learn_owners_of(self, &|role| wanted.contains(&role));
        actors
    }

    /// Forgets threads that are gone: their numbers will be others'.
    pub fn forget_threads(&mut self, gone: &[u32]) {
        for pid in gone {
            self.threads.since.remove(pid);
            self.guessed.take(*pid);
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

    /// Remembers the owners of so many files at the least, those that were learned last, and of
    /// twice as many at the most.
    pub fn forget_owners_beyond(&mut self, most: usize) {
        self.owners.forget_beyond(most);
        self.writers.forget_beyond(most);
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
        let has_room = self.names.len() < MOST || self.names.contains_key(name);
        let name = if has_room { name } else { OTHERS };
        let number = self.names.get_index_of(name).unwrap_or_else(|| {
            let is_kernel = is_kernel || is_of_kernel(name);
            self.names.insert_full(name.to_owned(), Role { is_kernel, ..Role::default() }).0
        });
        RoleId(number as u16)
    }

    /// The role of a name.
    pub(crate) fn of_name(&mut self, name: &str) -> RoleId {
        self.number(name, false)
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
                self.guessed.guess(pid, number);
                number
            }
        };
        self.last = Some((pid, role));
        role
    }

    /// The role of a call: of its thread, or of its bulk writes.
    pub(crate) fn of_call(&mut self, call: &Call) -> RoleId {
        let role = self.of_thread(call.pid as u32, || call.command.clone());
        self.of_work(role, &call.file())
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
                if self.writers.learn_first(number, role) {
                    self.note_owner(number, row.pid, role);
                }
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
mod tests;

//! What is known of a trace besides its requests, before any of them is looked at: who made them,
//! which calls waited, what lies on what. All spans of the trace share it, so that what is found of
//! a span depends on nothing that happened before but on what was in flight at its begin.
//!
//! Non-goals: what requests tell by themselves.

use super::actors::Actors;
use super::calls::{Commits, by_number};
use super::cpus::Cpus;
use super::intervals::Intervals;
use super::run_queue::CpuUses;
use super::units::Units;
use crate::names::FileNames;
use crate::selection::Selection;
use crate::watched::Many;
use hashbrown::{HashMap, HashSet};
use model::history::MINUTE_NS;
use model::record::requests::DeviceStack;
use model::record::{
    Call, Commands, Context, FileKey, FileNumber, JournalUse, Process, Request, Stack, Wait,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What is known of a trace.
#[derive(Debug, Default)]
pub struct Known {
    pub(super) actors: Actors,
    /// Calls with both ends.
    pub(super) calls: Intervals<Call>,
    /// Waits of threads.
    pub(super) waits: Intervals<Wait>,
    /// Requests that are known as sums, and the names of their threads.
    pub(super) many: Intervals<Many>,
    pub(super) commands_of_many: Commands,
    /// Who changed metadata.
    pub(super) journal_use: Intervals<JournalUse>,
    /// Who woke threads that slept meanwhile; none where waits become known later.
    pub(super) wakers: Option<HashSet<u32>>,
    /// In whose journal a thread has changed metadata last.
    pub(super) journals: HashMap<u32, u64>,
    /// Those whose end is not known.
    pub(super) endless: Vec<Call>,
    pub(super) commits: Commits,
    pub(super) file_names: FileNames,
    pub(super) stacks: Vec<Stack>,
    pub(super) cpus: Cpus,
    pub(super) cpu_uses: CpuUses,
    pub(super) units: Units,
    /// How long each role's threads waited for requests in all, as the kernel's side summed it.
    pub(super) waited_ns: BTreeMap<String, u64>,
    pub(super) homes: Homes,
    pub(super) stack: DeviceStack,
    /// In which layer of its stack most of a device's waiting goes by, where not in its own: what
    /// is in flight there is to blame.
    pub(super) queues: BTreeMap<u32, u32>,
    pub(super) selection: Selection,
    /// Calls are known: a flush is a part of one, and no wait of its own.
    pub(super) has_calls: bool,
    /// Waits are told: what a thread asked for meanwhile is remembered, and who sleeps for a page
    /// that is read ahead is known.
    pub(super) has_waits: bool,
    /// Files and stacks are told of, too.
    pub(super) of_files: bool,
    /// A moment at which a minute begins.
    minutes_from_ns: i64,
    /// The clock on the wall at 0, in ns since 1970, where it is known.
    pub(super) zero_unix_ns: Option<i64>,
}

/// Whether the capture summed a thread's waits, and so told of them.
fn has_totals(process: &Process) -> bool {
    process.waits_count.is_some()
}

fn wakers(waits: &[Wait]) -> HashSet<u32> {
    let sleeps = waits.iter().filter(|wait| wait.kind.is_sleep());
    sleeps.flat_map(|sleep| [sleep.holder as u32, sleep.pid as u32]).collect()
}

impl Known {
    /// Of a trace, of which a time is selected; calls whose end is not known have been given one
    /// ([`super::Ends`]).
    pub fn new(context: Context, selection: Selection) -> Self {
        let actors = Actors::new(&context, selection.process.clone()).shared();
        let Context {
            calls,
            waits,
            journal_use,
            commits,
            processes,
            files,
            stacks,
            cpu_times,
            cpu_uses,
            pressure,
            summed,
        } = context;
        // What is of all threads is in nobody's way for longer than the trace's threshold.
        let mut commands_of_many = Commands::default();
        let many = summed.iter().filter_map(|sum| Many::of(sum, &mut commands_of_many)).collect();
        let mut waited_ns: BTreeMap<String, u64> = BTreeMap::new();
        for process in &processes {
            let role = actors.of_known_thread(process.pid as u32);
            let role = role.filter(|role| !actors.is_kernel(*role));
            if let (Some(role), Some(ns)) = (role, process.waited_for_requests_ns) {
                *waited_ns.entry(actors.name(role).to_owned()).or_default() += ns;
            }
        }
        let (calls, endless): (Vec<Call>, Vec<Call>) =
            calls.into_iter().partition(|call| call.end_ns.is_some());
        Self {
            actors,
            homes: Homes::of(&calls, &waits),
            has_calls: !calls.is_empty(),
            has_waits: !waits.is_empty() || processes.iter().any(has_totals),
            calls: Intervals::new(calls),
            many: Intervals::new(many),
            commands_of_many,
            wakers: Some(wakers(&waits)),
            waits: Intervals::new(waits),
            journals: journal_use.iter().map(|one| (one.pid as u32, one.file_system)).collect(),
            journal_use: Intervals::new(journal_use),
            endless,
            commits: by_number(commits),
            file_names: FileNames::new(&files),
            stacks,
            cpus: Cpus::new(cpu_times),
            cpu_uses: CpuUses::new(cpu_uses),
            units: Units::new(pressure, &processes),
            waited_ns,
            selection,
            of_files: true,
            ..Self::default()
        }
    }

    /// Of a time that goes on: who is who, and where file systems lie; `owners` knows whose files
    /// are whose. Calls come as they end, and nothing is told of files.
    pub(crate) fn so_far<'p>(
        processes: impl Iterator<Item = &'p Process> + Clone,
        owners: &Actors,
        homes: Homes,
        (has_calls, has_waits): (bool, bool),
    ) -> Self {
        let nothing = Context::default();
        // What else runs is not known yet: instances that it would tell apart are one.
        let mut actors = Actors::new(&nothing, None);
        actors.learn_all(processes);
        actors.learn_owners(owners);
        let known = Self { actors: actors.shared(), ..Self::new(nothing, Selection::default()) };
        Self { homes, has_calls, has_waits, of_files: false, wakers: None, ..known }
    }

    /// The same with what lies on what, and in which layer of each stack most of the time goes.
    #[must_use]
    pub fn with_stack(self, stack: DeviceStack, queues: BTreeMap<u32, u32>) -> Self {
        Self { stack, queues, ..self }
    }

    /// The same with the clock on the wall at 0, in ns since 1970, where it is known.
    #[must_use]
    pub fn with_zero(self, zero_unix_ns: Option<i64>) -> Self {
        Self { zero_unix_ns, ..self }
    }

    /// The same, whose minutes begin at this moment and each 60 s before and after it; else they
    /// begin with the trace.
    #[must_use]
    pub fn with_minutes_from(self, minutes_from_ns: i64) -> Self {
        Self { minutes_from_ns, ..self }
    }

    /// The number of the minute that a moment is in.
    pub fn minute_of(&self, time_ns: i64) -> i64 {
        time_ns.saturating_sub(self.minutes_from_ns).div_euclid(MINUTE_NS)
    }

    /// When a minute begins.
    pub fn begin_of(&self, minute: i64) -> i64 {
        minute.saturating_mul(MINUTE_NS).saturating_add(self.minutes_from_ns)
    }

    /// The numbers of all minutes that there can be.
    pub fn all_minutes(&self) -> Range<i64> {
        self.minute_of(i64::MIN)..self.minute_of(i64::MAX)
    }

    /// What a file is called.
    pub fn file_name(&self, file: FileNumber) -> Option<String> {
        self.file_names.of_number(file)
    }

    /// The same, without findings of files and stacks.
    #[must_use]
    pub fn without_files(self) -> Self {
        Self { of_files: false, ..self }
    }

    /// Where file systems lie, of which calls are known: to be found before the first span.
    pub fn homes(&mut self) -> &mut Homes {
        &mut self.homes
    }

    /// What of a time is selected.
    pub(super) fn selected(&self, time_ns: &Range<i64>) -> Range<i64> {
        let selected = &self.selection.time_ns;
        time_ns.start.max(selected.start)..time_ns.end.min(selected.end)
    }

    /// Calls that begin in a time or are under way at its begin.
    pub(crate) fn calls_of(&self, time_ns: &Range<i64>) -> Vec<Call> {
        self.calls.of(time_ns)
    }

    /// When the last of the calls and waits ends that begin before a moment.
    pub(super) fn waited_until_ns(&self, before_ns: i64) -> Option<i64> {
        self.calls.end_ns(before_ns).max(self.waits.end_ns(before_ns))
    }

    /// When the first call, wait or sum begins that begins at a moment or later.
    pub(super) fn next_wait_ns(&self, from_ns: i64) -> Option<i64> {
        let many_ns = self.many.next_ns(from_ns);
        let next = [self.calls.next_ns(from_ns), self.waits.next_ns(from_ns), many_ns];
        next.into_iter().flatten().min()
    }
}

/// On which device each file system lies: where the first request for one of its files went.
#[derive(Debug, Clone, Default)]
pub struct Homes {
    found: HashMap<u32, u32>,
    wanted: BTreeSet<u32>,
}

impl Homes {
    fn of(calls: &[Call], waits: &[Wait]) -> Self {
        let of_waits = waits.iter().map(|wait| wait.file_system).filter(|number| *number != 0);
        let of_calls = calls.iter().map(|call| call.file_system);
        let wanted = of_calls.chain(of_waits).map(|number| number as u32).collect();
        Self { found: HashMap::new(), wanted }
    }

    /// Whether one is still wanted.
    pub fn are_wanted(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Takes a request.
    pub fn add(&mut self, row: &Request) {
        let Some(FileKey { number, .. }) = row.file.filter(|_| row.above_id.is_none()) else {
            return;
        };
        self.wanted.remove(&number.file_system);
        self.found.entry(number.file_system).or_insert(row.device);
    }

    pub(super) fn get(&self, file_system: u32) -> Option<u32> {
        self.found.get(&file_system).copied()
    }
}

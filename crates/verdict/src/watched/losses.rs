//! Who lost time to whom, by spans: the ledger of `verdict` for each span, over the requests that
//! concern it, in the order of their arrival. What is told is what has changed since it was last
//! told, so that the rows of a span sum to its verdict.
//!
//! Where no calm is in a span, what was lost is an estimate, as in `response` of the same time.
//!
//! Non-goals: requests in the order of their ends (`super::tally`).

use super::OWNERS_MOST;
use super::many::Many;
use super::spans::{Span, Spans};
use super::tally::Names;
use crate::evicted::Past;
use crate::{Actors, Homes, Known, Ledger, LostSoFar, SoFar, WaitsSoFar, Work, united};
use analyze::statistics::NORMAL_95;
use model::circumstance::Circumstance;
use model::record::{
    Call, Commands, Counted, CpuTime, CpuUse, FileNumber, JournalUse, Process, Request, Rollup,
    RollupKey, Wait,
};
use model::room::Room as _;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// So long after a span's end its waits have ended, in ns: then it is told of for the last time.
const LATE_NS: i64 = 60_000_000_000;
/// Calls that are remembered for the spans to come.
const CALLS_NS: i64 = 90_000_000_000;
/// So long after a span's end it is looked at again for reads of evicted pages that go on, at the
/// least.
const AGAIN_LATE_NS: i64 = 5_000_000_000;
/// What filled memory for so long before is held against what is read again.
const PAST_NS: i64 = 600_000_000_000;

/// As much of a process's title as is remembered.
const TITLE_CHARS: usize = 256;

/// Less that was lost at once is no storm to be kept.
const STORM_NS: u64 = 50_000_000;

/// What rows are of: storms of one key are told from each other by their begins.
type Place = (RollupKey, i64);

/// What is told of a place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sums {
    count: u64,
    sum_ns: u64,
    lost_ns: i64,
    estimated_ns: i64,
    lost_us2: i64,
    calm_count: i64,
    calm_ns: i64,
    until_unix_ns: i64,
}

impl Sums {
    /// What is to be added to what was told; what was waited is never taken back.
    fn beyond(&self, told: &mut Self) -> Self {
        let more = Self {
            count: self.count.saturating_sub(told.count),
            sum_ns: self.sum_ns.saturating_sub(told.sum_ns),
            lost_ns: self.lost_ns - told.lost_ns,
            estimated_ns: self.estimated_ns - told.estimated_ns,
            lost_us2: self.lost_us2 - told.lost_us2,
            calm_count: self.calm_count - told.calm_count,
            calm_ns: self.calm_ns - told.calm_ns,
            until_unix_ns: 0,
        };
        let (count, sum_ns) = (self.count.max(told.count), self.sum_ns.max(told.sum_ns));
        *told = Self { count, sum_ns, until_unix_ns: 0, ..*self };
        more
    }

    fn is_nothing(&self) -> bool {
        *self == Self { until_unix_ns: self.until_unix_ns, ..Self::default() }
    }

    /// Its row; `cgroups` are those of roles, which are no part of a place: they may become known
    /// while a span goes on.
    fn row(
        &self,
        (key, from_unix_ns): Place,
        until_unix_ns: i64,
        cgroups: &BTreeMap<String, String>,
    ) -> Rollup {
        let cgroup = key.role.as_ref().and_then(|role| cgroups.get(role)).cloned();
        let key = RollupKey { cgroup, ..key };
        Rollup {
            count: self.count,
            sum_ns: self.sum_ns,
            lost_ns: self.lost_ns,
            estimated_ns: self.estimated_ns,
            lost_us2: self.lost_us2,
            calm_count: self.calm_count,
            calm_ns: self.calm_ns,
            ..Rollup::of(key, from_unix_ns, until_unix_ns)
        }
    }
}

#[derive(Debug)]
struct Open {
    span: Span,
    ledger: Ledger,
    told: BTreeMap<Place, Sums>,
    /// Until when.
    told_ns: i64,
    has_changed: bool,
}

/// The verdicts of the spans that go on.
#[derive(Debug, Default)]
pub struct Losses {
    open: VecDeque<Open>,
    /// What filled memory in spans that are over.
    past: VecDeque<Past>,
    /// The number of the next span for which there is no ledger yet.
    next: u64,
    processes: BTreeMap<u32, Process>,
    /// Whose files are whose, also of those that are gone.
    owners: Actors,
    calls: VecDeque<Call>,
    waits: VecDeque<Wait>,
    journal_use: VecDeque<JournalUse>,
    cpu_times: VecDeque<CpuTime>,
    cpu_uses: VecDeque<CpuUse>,
    has_calls: bool,
    has_waits: bool,
    homes: Homes,
    /// What came as sums, until all is shown that arrived before.
    many: VecDeque<Many>,
}

impl Losses {
    /// Waits are told from now on, too.
    pub fn tells_waits(&mut self) {
        self.has_waits = true;
    }

    /// A thread's process is known now.
    pub fn learn(&mut self, process: &Process) {
        self.open.iter_mut().for_each(|open| open.ledger.learn(process));
        // A role is known by the title's begin, and some titles are long.
        let begin = |title: &String| title.chars().take(TITLE_CHARS).collect::<String>();
        let (title, job) = (process.title.as_ref().map(begin), process.job.as_ref().map(begin));
        let known = Process { title, job, ..process.clone() };
        self.owners.learn(&known);
        self.processes.insert(process.pid as u32, known);
    }

    /// Forgets threads that are gone.
    pub fn forget(&mut self, gone: &[u32]) {
        for pid in gone {
            self.processes.remove(pid);
        }
        self.owners.forget_threads(gone);
    }

    /// Whether it is known what a thread is.
    pub fn knows(&self, pid: u32) -> bool {
        self.processes.contains_key(&pid)
    }

    /// The threads that are known.
    pub fn processes(&self) -> impl Iterator<Item = &Process> + Clone {
        self.processes.values()
    }

    /// A thread, by number and name, changes a file's data.
    pub fn changed(&mut self, file: FileNumber, pid: u32, command: &str) {
        for open in &mut self.open {
            open.ledger.changed(file, pid, command);
        }
        self.owners.change(file, pid, command);
    }

    /// These files, and no others, are committed to or written in bulk
    /// ([`super::Tally::new_work`]).
    pub fn learn_work(&mut self, files: &[(FileNumber, Work)]) {
        self.owners.learn_work(files);
        self.open.iter_mut().for_each(|open| open.ledger.learn_work(files));
    }

    /// A call has ended.
    pub fn call(&mut self, call: &Call) {
        self.has_calls = true;
        self.owners.own(call.file(), call.pid as u32, &call.command);
        for open in &mut self.open {
            open.ledger.call(call.clone());
        }
        self.calls.push_back(call.clone());
    }

    /// A wait of a thread has ended.
    pub fn wait(&mut self, wait: &Wait) {
        for open in &mut self.open {
            open.ledger.wait(wait.clone());
        }
        self.waits.push_back(wait.clone());
    }

    /// Somebody has changed metadata.
    pub fn journal_use(&mut self, one: &JournalUse) {
        for open in &mut self.open {
            open.ledger.journal_use(one.clone());
        }
        self.journal_use.push_back(one.clone());
    }

    /// What the CPUs did in an interval.
    pub fn cpu_time(&mut self, interval: &CpuTime) {
        for open in &mut self.open {
            open.ledger.cpu_time(interval.clone());
        }
        self.cpu_times.push_back(interval.clone());
    }

    /// Who used the CPUs in an interval, or waited for one.
    pub fn cpu_use(&mut self, one: &CpuUse) {
        for open in &mut self.open {
            open.ledger.cpu_use(one.clone());
        }
        self.cpu_uses.push_back(one.clone());
    }

    /// The next request, in the order of arrival; whatever arrived before was shown.
    pub fn request(&mut self, row: &Request, commands: &Commands, spans: &Spans) {
        let (Some(begin_ns), Some(end_ns)) = (row.arrival_ns(), row.completed_ns) else { return };
        self.show_many(begin_ns, commands, spans);
        self.begin_spans(end_ns, spans);
        self.homes.add(row);
        for open in &mut self.open {
            if open.ledger.concerns(begin_ns, end_ns) {
                open.ledger.add(row, commands);
                open.has_changed = true;
            }
        }
    }

    /// Many requests that were completed after those that were told of so before; some that arrived
    /// earlier may still come.
    pub fn many(&mut self, many: Many) {
        self.many.push_back(many);
    }

    /// Whatever arrived before a moment was shown.
    fn show_many(&mut self, until_ns: i64, commands: &Commands, spans: &Spans) {
        while let Some(many) = self.many.pop_front_if(|many| many.from_ns <= until_ns) {
            self.begin_spans(many.until_ns, spans);
            self.homes.add(&many.like);
            for open in &mut self.open {
                if open.ledger.concerns(many.from_ns, many.until_ns) {
                    open.ledger.add_many(&many, commands);
                    open.has_changed = true;
                }
            }
        }
    }

    /// Ledgers for the spans that have begun until a moment.
    fn begin_spans(&mut self, until_ns: i64, spans: &Spans) {
        if spans.current().is_none_or(|span| span.number < self.next) {
            return;
        }
        let begun = spans.iter().filter(|span| span.number >= self.next);
        let begun: Vec<Span> = begun.take_while(|span| span.from_ns <= until_ns).copied().collect();
        for span in begun {
            self.next = span.number + 1;
            let ledger = self.ledger(&span);
            self.open.push_back(ledger);
        }
    }

    fn ledger(&self, span: &Span) -> Open {
        let (processes, homes) = (self.processes.values(), self.homes.clone());
        let known = Known::so_far(processes, &self.owners, homes, (self.has_calls, self.has_waits));
        let mut ledger = Ledger::new(&Arc::new(known), span.from_ns..span.until_ns);
        let calls = self.calls.iter().filter(|call| call.end_ns >= Some(span.from_ns));
        calls.for_each(|call| ledger.call(call.clone()));
        let waits = self.waits.iter().filter(|wait| wait.end_ns >= span.from_ns);
        waits.for_each(|wait| ledger.wait(wait.clone()));
        self.journal_use.iter().for_each(|one| ledger.journal_use(one.clone()));
        self.cpu_times.iter().for_each(|interval| ledger.cpu_time(interval.clone()));
        self.cpu_uses.iter().for_each(|one| ledger.cpu_use(one.clone()));
        let told = BTreeMap::new();
        Open { span: *span, ledger, told, told_ns: i64::MIN, has_changed: false }
    }

    /// What has changed since the last time. `shown_ns` is until when requests were shown.
    pub fn take(
        &mut self,
        shown_ns: i64,
        (spans, commands): (&Spans, &Commands),
        names: &Names<'_>,
    ) -> Vec<Rollup> {
        self.show_many(shown_ns, commands, spans);
        let mut rows = Vec::new();
        for at in 0..self.open.len() {
            let (earlier, open) = self.open.make_contiguous().split_at_mut(at);
            let Some(open) = open.first_mut() else { break };
            // A span may have ended early, or late: the clock was set, or drifts.
            if let Some(span) = spans.numbered(open.span.number) {
                open.span = *span;
                open.ledger.end_span(span.until_ns);
            }
            if open.span.from_ns <= shown_ns {
                let until_ns = shown_ns.min(open.span.until_ns + LATE_NS);
                open.has_changed |= open.ledger.advance(until_ns) || open.reads_again();
                rows.extend(open.changes((&self.past, &*earlier), until_ns, names));
            }
        }
        let is_over = |open: &mut Open| open.span.until_ns + LATE_NS < shown_ns;
        while let Some(over) = self.open.pop_front_if(is_over) {
            self.past.push_back(over.ledger.past());
        }
        self.open.give_room_back();
        let_go(&mut self.past, |past| past.time_ns.end + PAST_NS < shown_ns);
        let from_ns = shown_ns - CALLS_NS;
        let_go(&mut self.calls, |call| call.end_ns < Some(from_ns));
        let_go(&mut self.waits, |wait| wait.end_ns < from_ns);
        let_go(&mut self.journal_use, |one| one.end_ns < from_ns);
        let_go(&mut self.cpu_times, |one| one.until_ns < from_ns);
        let_go(&mut self.cpu_uses, |one| one.until_ns < from_ns);
        self.forget_owners();
        rows
    }

    /// What is remembered of files' owners has bounds.
    fn forget_owners(&mut self) {
        if self.owners.has_all() {
            self.owners = self.owners.with_room(self.processes.values());
        }
        self.owners.forget_owners_beyond(OWNERS_MOST);
    }
}

/// Lets the first ones go that are over, and the room that they had.
fn let_go<T>(queue: &mut VecDeque<T>, is_over: impl Fn(&T) -> bool) {
    while queue.front().is_some_and(&is_over) {
        queue.pop_front();
    }
    queue.give_room_back();
}

impl Open {
    /// Whether more of what was read again may be told: spans of it end while this one goes on.
    fn reads_again(&self) -> bool {
        self.told_ns < self.span.until_ns + AGAIN_LATE_NS && self.ledger.reads_again()
    }

    /// What has changed until a moment. What filled memory before is of use where pages are read
    /// again: spans that are over, and those that go on.
    fn changes(
        &mut self,
        (past, earlier): (&VecDeque<Past>, &[Self]),
        until_ns: i64,
        names: &Names<'_>,
    ) -> Vec<Rollup> {
        if !std::mem::take(&mut self.has_changed) {
            return Vec::new();
        }
        self.told_ns = until_ns;
        let mut so_far = self.ledger.so_far();
        if self.ledger.reads_again() {
            let earlier: Vec<Past> = earlier.iter().map(|open| open.ledger.past()).collect();
            let past: Vec<&Past> = past.iter().chain(&earlier).collect();
            self.ledger.add_evicted(&past, until_ns, &mut so_far);
        }
        let mut now = sums(&so_far, &self.span, names);
        // What was put down to somebody may turn out to be chance.
        for (place, _) in self.told.iter().filter(|(_, told)| told.lost_ns != 0) {
            now.entry(place.clone()).or_default();
        }
        let mut rows = Vec::new();
        for (place, sums) in now {
            let more = sums.beyond(self.told.entry(place.clone()).or_default());
            if !more.is_nothing() {
                let until_unix_ns = sums.until_unix_ns.max(self.span.from_unix_ns);
                rows.push(more.row(place, until_unix_ns, &so_far.cgroups));
            }
        }
        rows
    }
}

/// What was waited and lost in a span.
fn sums(so_far: &SoFar, span: &Span, names: &Names<'_>) -> BTreeMap<Place, Sums> {
    let mut sums: BTreeMap<Place, Sums> = BTreeMap::new();
    let whole = |key| (key, span.from_unix_ns);
    for of in &so_far.waits {
        let sum = sums.entry(whole(key_of_waits(of, names))).or_default();
        sum.until_unix_ns = span.until_unix_ns;
        sum.count = sum.count.saturating_add(of.count);
        sum.sum_ns = sum.sum_ns.saturating_add(of.sum_ns);
        sum.calm_count += of.calm_count as i64;
        sum.calm_ns += of.calm_ns.round() as i64;
    }
    for of in &so_far.losses {
        let key = key_of_lost(of, names);
        for storm in united(of.storms.clone(), of.cause == Err(Circumstance::Device)) {
            if storm.lost_ns >= STORM_NS {
                let key = RollupKey { counted: Counted::Storm, ..key.clone() };
                let unix_ns = |ns: i64| span.from_unix_ns + (ns - span.from_ns);
                let sum = sums.entry((key, unix_ns(storm.from_ns))).or_default();
                sum.until_unix_ns = unix_ns(storm.until_ns);
                sum.count = 1;
                sum.sum_ns = (storm.until_ns - storm.from_ns).unsigned_abs();
                sum.lost_ns = i64::try_from(storm.lost_ns).unwrap_or(i64::MAX);
            }
        }
        let sum = sums.entry(whole(key)).or_default();
        let lost_ns = of.lost_ns.round() as i64;
        sum.until_unix_ns = span.until_unix_ns;
        sum.count = sum.count.saturating_add(of.count.round().max(0.0) as u64);
        sum.lost_ns = sum.lost_ns.saturating_add(lost_ns);
        match of.half_ns {
            None => sum.estimated_ns += lost_ns,
            Some(half_ns) => sum.lost_us2 += (half_ns / NORMAL_95 / 1e3).powi(2).round() as i64,
        }
    }
    sums
}

/// The rows of a span that is over.
pub(super) fn rows_of(so_far: &SoFar, span: &Span, names: &Names<'_>) -> Vec<Rollup> {
    let told = sums(so_far, span, names).into_iter().filter(|(_, sums)| !sums.is_nothing());
    told.map(|(place, sums)| sums.row(place, sums.until_unix_ns, &so_far.cgroups)).collect()
}

fn key_of_waits(of: &WaitsSoFar, names: &Names<'_>) -> RollupKey {
    RollupKey {
        counted: Counted::Waits,
        device: Some((names.device)(of.device)),
        operation: of.wait.to_owned(),
        role: Some(of.role.clone()),
        ..RollupKey::default()
    }
}

fn key_of_lost(of: &LostSoFar, names: &Names<'_>) -> RollupKey {
    let cause = of.cause.clone();
    RollupKey {
        counted: Counted::Lost,
        device: Some((names.device)(of.device)),
        operation: of.wait.to_owned(),
        role: Some(of.role.clone()),
        cause: Some(cause.unwrap_or_else(Circumstance::marked)),
        ..RollupKey::default()
    }
}

#[cfg(test)]
mod tests;

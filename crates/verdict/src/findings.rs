//! What is published of the verdict: waits, losses, files.
//!
//! Non-goals: which of it is said first (`report::verdict`).

mod of_files;

use super::blame::{Loss, Waits, blame, matters};
use super::bulk;
use super::calls::{PARTS, Served};
use super::cpus::CpuSum;
use super::evicted::{Again, CacheLoss, Reader};
use super::stacks::Queued;
use super::stalled::Unplaced;
use super::sums::{Cause, Share, Victim};
use super::units::UnitSum;
use super::waits::Kind;
use super::whole::Verdict;
use crate::merge::{Merge as _, sum};
use crate::names::Called;
use crate::requests::zero_finding;
use hashbrown::HashMap;
use model::doubt::{Code, Doubt, Judgement};
use model::record::subject::{Blame, Stack, Wait};
use model::record::{EVICTED_PAGE, Finding, Interval, Op, Subject};
use of_files::{LostByFile, of_files};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

/// A file that has this part of a loss is told of with it.
const LOST_PART: f64 = 0.1;

/// Stacks that are told of: those whose requests took most time together.
const STACKS_MOST: usize = 1000;

/// Quantities of a loss by what the cause did.
const BY_OP: [(Op, &str); 4] = [
    (Op::Read, "lost_to_reads_percent"),
    (Op::Write, "lost_to_writes_percent"),
    (Op::Flush, "lost_to_flushes_percent"),
    (Op::Discard, "lost_to_discards_percent"),
];

/// Of the CPUs' time.
const STOLEN_PERCENT_MAX: f64 = 2.0;

const LOST: &str = "response beyond that of comparable waits in calm, divided among those whose \
    requests were in flight by the work that they requested";
const CACHE_LOST: &str = "reads of evicted pages beyond calm, divided among those who filled \
    memory within the minute before by the bytes that they read";
const COUNTED: &str = "counted";
const PART_OF_CALL: &str = "mean over calls; the parts of each sum to its time";

/// What the CPUs did in the time that was looked at, where that is known.
fn of_cpus(sum: &CpuSum) -> Vec<Finding> {
    let run = Subject::this_run();
    let percent = |part_ns: f64| Some(100.0 * part_ns / sum.all_ns);
    let found = |name, value| Finding::new(&run, name, value, 1, "/proc/stat");
    match sum.all_ns > 0.0 {
        false => Vec::new(),
        true => vec![
            found("cpu_idle_percent", percent(sum.idle_ns)),
            found("cpu_stolen_ns", Some(sum.stolen_ns)),
            found("cpu_stolen_percent", percent(sum.stolen_ns)),
        ],
    }
}

/// For how long some thread waited for a request, as the kernel counts it, and how much of that
/// are the waits that are known here.
fn of_pressure(subject: &Subject, method: &str, times_ns: [f64; 3]) -> Vec<Finding> {
    let [stalled_ns, counted_ns, seen_ns] = times_ns;
    let found = |name, value| Finding::new(subject, name, value, 1, method);
    let seen = (stalled_ns > 0.0).then(|| (100.0 * seen_ns / stalled_ns).min(100.0));
    match counted_ns > 0.0 {
        false => Vec::new(),
        true => vec![
            found("io_pressure_ns", Some(stalled_ns)),
            found("io_pressure_percent", Some(100.0 * stalled_ns / counted_ns)),
            found("io_pressure_seen_percent", seen),
        ],
    }
}

/// The same by cgroup, of those that waited at all.
fn of_units(all: &[Told<'_>]) -> Vec<Finding> {
    let units: BTreeMap<String, UnitSum> = sum(all.iter().map(|told| told.verdict.units.clone()));
    let found = |(unit, sum): (String, UnitSum)| {
        let times_ns = [sum.stalled_ns, sum.time_ns, sum.seen_ns].map(|ns| ns as f64);
        of_pressure(&Subject::class("cgroup", &unit), "io.pressure, some", times_ns)
    };
    units.into_iter().filter(|(_, sum)| sum.stalled_ns > 0).flat_map(found).collect()
}

/// Waits of no known device: of all, and by role.
fn of_unplaced(all: &[Told<'_>]) -> Vec<Finding> {
    let mut roles: BTreeMap<String, Unplaced> = BTreeMap::new();
    let mut sum = Unplaced::default();
    for Told { verdict, .. } in all {
        for (role, unplaced) in &verdict.unplaced {
            roles.entry(verdict.role(*role)).or_default().merge(*unplaced);
            sum.merge(*unplaced);
        }
    }
    let found = |subject: Subject, of: Unplaced| {
        let found = |name, value| Finding::new(&subject, name, Some(value), of.count, COUNTED);
        let untraced =
            (of.untraced_ns > 0).then(|| found("unplaced_untraced_ns", of.untraced_ns as f64));
        let count = found("unplaced_waits_count", of.count as f64);
        [count, found("unplaced_waits_ns", of.sum_ns as f64)].into_iter().chain(untraced)
    };
    let of_roles = roles.iter().flat_map(|(role, of)| found(Subject::class("role", role), *of));
    let of_all = (sum.count > 0).then(|| found(Subject::this_run(), sum));
    of_all.into_iter().flatten().chain(of_roles).collect()
}

/// What roles waited for requests in all, less what is told of one by one: waits that were too
/// short for that.
fn of_short(all: &[Told<'_>]) -> Vec<Finding> {
    let mut short_ns: BTreeMap<&str, f64> = BTreeMap::new();
    for Told { verdict, .. } in all.iter().filter(|told| told.verdict.known.selection.is_whole()) {
        let mut told_ns: BTreeMap<String, u64> = BTreeMap::new();
        for (class, of_class) in &verdict.sums.classes {
            if class.kind.waker().is_none() {
                let role = verdict.role(class.role);
                *told_ns.entry(bulk::program(&role).to_owned()).or_default() += of_class.sum_ns;
            }
        }
        for (role, unplaced) in &verdict.unplaced {
            let sum_ns = unplaced.sum_ns.max(0).unsigned_abs();
            *told_ns.entry(verdict.role(*role)).or_default() += sum_ns;
        }
        for (role, ns) in &verdict.known.waited_ns {
            let told_ns = told_ns.get(role).copied().unwrap_or(0);
            *short_ns.entry(role).or_default() += ns.saturating_sub(told_ns) as f64;
        }
    }
    let found = |(role, ns): (&str, f64)| {
        Finding::new(&Subject::class("role", role), "short_waits_ns", Some(ns), 1, COUNTED)
    };
    short_ns.into_iter().filter(|(_, ns)| *ns > 0.0).map(found).collect()
}

/// Stolen CPU time is in every time that was measured.
fn of_stolen(sum: &CpuSum) -> Option<Doubt> {
    let percent = 100.0 * sum.stolen_ns / sum.all_ns;
    let doubt = || Doubt::new(Code::StolenTime, [("percent", percent.into())]);
    (percent > STOLEN_PERCENT_MAX).then(doubt)
}

/// A verdict, and what devices are called in it.
#[derive(Clone, Copy)]
pub struct Told<'a> {
    /// The verdict of a trace.
    pub verdict: &'a Verdict,
    /// The name of a device of it.
    pub name: &'a dyn Fn(u32) -> String,
}

/// All findings of traces of several machines or times, whose devices have names of their own: who
/// waits for whom is known within each, and files and stacks are told of those of all.
pub fn findings(all: &[Told<'_>]) -> Vec<Finding> {
    let spans = all.iter().map(|told| told.verdict.time_ns());
    let span_ns: f64 = spans.map(|time_ns| (time_ns.end - time_ns.start).max(0) as f64).sum();
    let requests = all.iter().map(|told| told.verdict.requests).sum();
    let cpus = all.iter().map(|told| told.verdict.known.cpus.within(&told.verdict.time_ns()));
    let cpus: CpuSum = sum(cpus);
    let run = Subject::this_run();
    let span = Finding::new(&run, "verdict_span_ns", Some(span_ns), requests, COUNTED);
    let mut findings = vec![span.judged(Judgement::default().with(of_stolen(&cpus)))];
    // Of several traces each has a beginning of its own.
    if let [Told { verdict, .. }] = all {
        findings.extend(zero_finding(&run, verdict.known.zero_unix_ns));
    }
    let mut lost = LostByFile::default();
    all.iter().for_each(|told| findings.extend(told.of_pairs(&mut lost)));
    findings.extend(of_cpus(&cpus));
    let seen_ns = all.iter().map(|told| told.verdict.stalled_ns).sum::<i64>() as f64;
    let times_ns = [cpus.io_stalled_ns, cpus.io_counted_ns, seen_ns];
    findings.extend(of_pressure(&run, "/proc/pressure/io, some", times_ns));
    findings.extend(of_units(all));
    findings.extend(of_short(all));
    findings.extend(of_unplaced(all));
    all.iter().for_each(|told| findings.extend(told.verdict.of_calls(told.name)));
    findings.extend(of_files(all, &lost));
    findings.extend(of_stacks(all));
    findings
}

impl Told<'_> {
    /// Who waited, and who lost what to whom.
    fn of_pairs(&self, lost: &mut LostByFile) -> Vec<Finding> {
        let Self { verdict, name } = self;
        let time_ns = verdict.time_ns();
        let span_ns = (time_ns.end - time_ns.start).max(0) as f64;
        let (waits, mut losses) = blame(&verdict.sums, verdict.calm.as_ref());
        losses.sort_by(|a, b| {
            let device = a.victim.device.cmp(&b.victim.device);
            let pair = || verdict.pair(a).cmp(&verdict.pair(b));
            device.then(b.lost_ns.total_cmp(&a.lost_ns)).then_with(pair)
        });
        let mut victims: Vec<(&Victim, &Waits)> = waits.iter().collect();
        victims.sort_by_cached_key(|(victim, _)| verdict.order(victim));
        let of_waits = |(victim, waits): (&Victim, &Waits)| {
            verdict.of_waits(victim, waits, &name(victim.device))
        };
        let mut findings: Vec<Finding> = victims.into_iter().flat_map(of_waits).collect();
        let mut of_all_ns: BTreeMap<Victim, f64> = BTreeMap::new();
        for loss in losses.iter().filter(|loss| loss.lost_ns > 0.0) {
            *of_all_ns.entry(loss.victim).or_default() += loss.lost_ns;
        }
        for loss in losses.iter().filter(|loss| loss.lost_ns > 0.0) {
            let Some(waits) = waits.get(&loss.victim) else { continue };
            let of_victim = (waits, of_all_ns.get(&loss.victim).copied().unwrap_or(0.0));
            let device = name(loss.victim.device);
            lost.add(loss, &device, self);
            findings.extend(verdict.of_loss(loss, of_victim, span_ns, &device));
        }
        // What was lost by reads that took longer is not lost a second time.
        let is_left = |(device, role): Reader| {
            let victim = Victim { device, role, kind: Kind::Read };
            let lost_ns = of_all_ns.get(&victim).copied().unwrap_or(0.0);
            waits.get(&victim).map_or(0.0, |of| 1.0 - lost_ns / of.sum_ns.max(1) as f64)
        };
        findings.extend(self.of_evicted(&is_left));
        findings
    }

    /// Who read pages again because others had filled memory.
    fn of_evicted(&self, is_left: &dyn Fn(Reader) -> f64) -> Vec<Finding> {
        let Self { verdict, name } = self;
        let time_ns = verdict.time_ns();
        let span_ns = (time_ns.end - time_ns.start).max(0) as f64;
        let mut losses = verdict.evicted.losses(&time_ns, is_left);
        losses.sort_by_cached_key(|CacheLoss { reader: (device, role), cause, .. }| {
            (*device, verdict.role(*role), verdict.role(*cause))
        });
        let mut findings = Vec::new();
        let mut told: Option<Reader> = None;
        for loss in losses {
            let device = name(loss.reader.0);
            if told.replace(loss.reader) != Some(loss.reader) {
                findings.extend(verdict.of_again(loss.reader, loss.all, &device));
            }
            findings.extend(verdict.of_cache_loss(&loss, span_ns, &device));
        }
        findings
    }
}

impl Verdict {
    /// All findings. `name` is a device's.
    pub fn findings(&self, name: &dyn Fn(u32) -> String) -> Vec<Finding> {
        findings(&[Told { verdict: self, name }])
    }

    /// The time that it is of: it goes on where nothing was requested any more.
    fn time_ns(&self) -> Range<i64> {
        let watched_until_ns = self.known.cpus.until_ns().unwrap_or(0);
        self.known.selection.within(self.last_ns.max(watched_until_ns).max(0))
    }

    /// Where a victim stands among all: roles are numbered as they come.
    fn order(&self, victim: &Victim) -> (u32, String, Kind) {
        (victim.device, self.role(victim.role), victim.kind)
    }

    /// Victim and cause, by their names.
    fn pair(&self, loss: &Loss) -> (String, String) {
        let cause = self.cause(loss.cause).unwrap_or_else(str::to_owned);
        (self.role(loss.victim.role), cause)
    }

    /// What calls waited for, part by part.
    fn of_calls(&self, name: &dyn Fn(u32) -> String) -> Vec<Finding> {
        let of = |(victim, served): (&Victim, &Served)| {
            let subject = self.wait(victim, &name(victim.device));
            let mean = |sum: i64| Some(sum as f64 / served.calls as f64);
            let found = |quantity, value| {
                Finding::new(&subject, quantity, value, served.calls, PART_OF_CALL)
            };
            let parts = PARTS.iter().zip(served.parts_ns);
            let mut findings: Vec<Finding> =
                parts.map(|(part, sum_ns)| found(part, mean(sum_ns))).collect();
            let commits = served.commits() as f64;
            let shared = (commits > 0.0).then(|| served.by_commit as f64 / commits);
            findings.push(found("calls_of_commit", shared));
            findings
        };
        let mut served: Vec<(&Victim, &Served)> = self.served.iter().collect();
        served.sort_by_cached_key(|(victim, _)| self.order(victim));
        served.into_iter().flat_map(of).collect()
    }

    fn wait(&self, victim: &Victim, device: &str) -> Subject {
        Subject::Wait(Wait {
            device: device.to_owned(),
            victim: self.role(victim.role),
            wait: self.kind(victim.kind),
        })
    }

    /// What a kind of waits is called.
    fn kind(&self, kind: Kind) -> String {
        kind.name(|role| self.role(role))
    }

    /// A role's name, or what is no role.
    pub(super) fn cause(&self, cause: Cause) -> Result<String, &'static str> {
        match cause {
            Cause::Role(role) => Ok(self.role(role)),
            Cause::Nobody(circumstance) => Err(circumstance.name()),
        }
    }

    /// The files of its waits, each with its part of what was lost.
    fn on_files(&self, loss: &Loss) -> Vec<(Called, f64)> {
        let of = self.sums.on_files.get(&(loss.victim, loss.cause));
        of.map_or_else(Vec::new, |of| of.parts().collect())
    }

    /// Its waits for locks that the cause held.
    fn held(&self, loss: &Loss) -> Option<Share> {
        match loss.cause {
            Cause::Role(role) => self.sums.held.get(&(loss.victim, role)).copied(),
            Cause::Nobody(_) => None,
        }
    }

    fn of_waits(&self, victim: &Victim, waits: &Waits, device: &str) -> Vec<Finding> {
        let subject = self.wait(victim, device);
        let found = |name, value| Finding::new(&subject, name, value, waits.count, COUNTED);
        let (count, sum_ns) = (waits.count as f64, waits.sum_ns as f64);
        let calm = found("calm_mean_ns", waits.calm_mean_ns());
        // Of some it may only be known how long they took together.
        let times = Some(&waits.times).filter(|times| times.count() >= waits.count);
        let p99_ns = times.and_then(|times| times.quantile_ns(0.99));
        let mut findings = vec![
            found("waits_count", Some(count)),
            found("waited_ns", Some(sum_ns)),
            found("waited_mean_ns", Some(sum_ns / count)),
            found("waited_p99_ns", p99_ns.map(|ns| ns as f64)),
            found("waited_max_ns", times.map(|times| times.max_ns() as f64)),
            Finding { count: waits.calm_count, ..calm },
        ];
        let compared = waits.compared_mean_ns().map(|ns| found("compared_mean_ns", Some(ns)));
        findings.extend(compared.map(|of| Finding { count: waits.compared_count, ..of }));
        if waits.uncompared_count > 0 {
            findings.push(found("uncompared_count", Some(waits.uncompared_count as f64)));
            findings.push(found("uncompared_ns", Some(waits.uncompared_ns as f64)));
        }
        findings
    }

    fn of_loss(
        &self,
        loss: &Loss,
        (waits, of_all_ns): (&Waits, f64),
        span_ns: f64,
        device: &str,
    ) -> Vec<Finding> {
        let cause = self.cause(loss.cause);
        let whole = Blame {
            is_role: cause.is_ok(),
            cause: cause.unwrap_or_else(str::to_owned),
            device: device.to_owned(),
            file: None,
            storm: None,
            victim: self.role(loss.victim.role),
            wait: self.kind(loss.victim.kind),
        };
        let subject = Subject::Blame(whole.clone());
        let found =
            |name, value| Finding::new(&subject, name, Some(value), loss.count as u64, LOST);
        let is_without = loss.victim.kind.is_lost_whole() || loss.low_ns == loss.high_ns;
        let interval = match loss.is_estimate || is_without {
            true => (None, None),
            false => (Some(loss.low_ns), Some(loss.high_ns)),
        };
        let mut findings = vec![
            found("lost_ns", loss.lost_ns).within(Interval::Comparison, interval),
            found("lost_percent", 100.0 * loss.lost_ns / waits.sum_ns as f64),
            found("matters", f64::from(matters(loss, waits, of_all_ns, span_ns))),
            found("affected_count", loss.count.round()),
        ];
        if !loss.is_estimate && loss.count > 0.0 {
            findings.push(found("affected_mean_ns", loss.mean_ns));
            let calm = (!loss.victim.kind.is_lost_whole()).then_some(loss.calm_mean_ns);
            findings.extend(calm.map(|ns| found("affected_calm_mean_ns", ns)));
        }
        findings.extend(self.held(loss).map(|share| found("lock_held_ns", share.ns as f64)));
        findings.extend(loss.period_ns.map(|ns| found("affected_period_ns", ns)));
        for (op, name) in BY_OP {
            let lost = loss.by_op.iter().find(|(known, _)| *known == op);
            findings.extend(lost.map(|(_, ns)| found(name, 100.0 * ns / loss.lost_ns)));
        }
        // Who waits for a thread has its losses, whatever they are by.
        let is_cpu = whole.is_role && loss.victim.kind.waker().is_none();
        let cpu_percent = 100.0 * loss.without_op_ns / loss.lost_ns;
        let cpu = (is_cpu && cpu_percent > 0.0).then_some(cpu_percent);
        findings.extend(cpu.map(|percent| found("lost_to_cpu_percent", percent)));
        findings.extend(zero_finding(&subject, self.known.zero_unix_ns));
        for (called, part) in self.on_files(loss) {
            // What is no file, or had the name at another time, is not said to have been it.
            if part >= LOST_PART && matches!(called, Called::Name(_)) {
                let file = Some(self.known.file_names.text(called, &|_| device.to_owned()));
                let subject = Subject::Blame(Blame { file, ..whole.clone() });
                let value = Some(part * loss.lost_ns);
                let count = loss.count as u64;
                findings.push(Finding::new(&subject, "lost_on_file_ns", value, count, LOST));
            }
        }
        // A slice of time may reach beyond what was looked at.
        let Range { start, end } = self.time_ns();
        let storms = loss.storms_ns.iter();
        let storms = storms.map(|(from_ns, until_ns)| (*from_ns.max(&start), *until_ns.min(&end)));
        let storms = storms.filter(|(from_ns, until_ns)| from_ns < until_ns);
        for (number, (from_ns, until_ns)) in storms.enumerate() {
            let storm = Some(number as u64 + 1);
            let subject = Subject::Blame(Blame { storm, ..whole.clone() });
            let found = |name, ns: i64| Finding::new(&subject, name, Some(ns as f64), 1, LOST);
            findings.push(found("affected_from_ns", from_ns));
            findings.push(found("affected_until_ns", until_ns));
        }
        findings
    }

    /// What somebody read again, whoever evicted it.
    fn of_again(&self, (_, role): Reader, all: Again, device: &str) -> [Finding; 3] {
        let (device, wait) = (device.to_owned(), EVICTED_PAGE.to_owned());
        let subject = Subject::Wait(Wait { device, victim: self.role(role), wait });
        let found = |name, value| Finding::new(&subject, name, Some(value), all.count, COUNTED);
        let (count, sum_ns) = (all.count as f64, all.sum_ns as f64);
        [
            found("waits_count", count),
            found("waited_ns", sum_ns),
            found("waited_mean_ns", sum_ns / count),
        ]
    }

    /// What of it was lost to one who filled memory.
    fn of_cache_loss(&self, loss: &CacheLoss, span_ns: f64, device: &str) -> Vec<Finding> {
        let subject = Subject::Blame(Blame {
            is_role: true,
            cause: self.role(loss.cause),
            device: device.to_owned(),
            file: None,
            storm: None,
            victim: self.role(loss.reader.1),
            wait: EVICTED_PAGE.to_owned(),
        });
        let count = loss.count.round() as u64;
        let found = |name, value| Finding::new(&subject, name, Some(value), count, CACHE_LOST);
        let interval = (Some(loss.low_ns), Some(loss.high_ns));
        let all_ns = loss.all.sum_ns as f64;
        let mut findings = vec![
            found("lost_ns", loss.lost_ns).within(Interval::Comparison, interval),
            found("lost_percent", 100.0 * loss.lost_ns / all_ns),
            found("matters", f64::from(loss.matters(span_ns))),
            found("affected_count", loss.count.round()),
            found("affected_mean_ns", all_ns / loss.all.count as f64),
            found("lost_to_reads_percent", 100.0),
        ];
        findings.extend(zero_finding(&subject, self.known.zero_unix_ns));
        findings
    }
}

/// Functions that are the same, at whatever address in them, are one.
fn of_stacks(all: &[Told<'_>]) -> Vec<Finding> {
    let mut rows: BTreeMap<Stack, Queued> = BTreeMap::new();
    for Told { verdict, name } in all {
        let stacks = verdict.known.stacks.iter();
        let functions: HashMap<u64, &str> =
            stacks.map(|stack| (stack.stack, stack.functions.as_str())).collect();
        let named = |stack: u32| functions.get(&u64::from(stack)).map_or("", |names| names);
        for (way, queued) in verdict.ways.all() {
            let of = Stack {
                device: name(way.device),
                kernel: named(way.stacks.kernel).to_owned(),
                role: verdict.role(way.role),
                user: named(way.stacks.user).to_owned(),
            };
            rows.entry(of).or_default().merge(*queued);
        }
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by_key(|(_, queued)| Reverse(queued.response_ns + queued.waited_ns));
    let found = |(of, queued): (Stack, Queued)| {
        let subject = Subject::Stack(of);
        let found =
            |name, value: f64| Finding::new(&subject, name, Some(value), queued.requests, COUNTED);
        [
            found("stack_requests_count", queued.requests as f64),
            found("stack_bytes", queued.bytes as f64),
            found("stack_response_ns", queued.response_ns as f64),
            found("stack_waited_ns", queued.waited_ns as f64),
        ]
    };
    rows.into_iter().take(STACKS_MOST).flat_map(found).collect()
}

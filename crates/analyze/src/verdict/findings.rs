//! What is published of the verdict: waits, losses, files.
//!
//! Non-goals: which of it is said first (`report::verdict`).

use super::blame::{Loss, Waits, blame, matters};
use super::calls::{PARTS, Served};
use super::cpus::CpuSum;
use super::files::Requested;
use super::stacks::Queued;
use super::sums::{Cause, Victim};
use super::whole::Verdict;
use hashbrown::HashMap;
use model::doubt::{Code, Doubt, Judgement};
use model::record::subject::{Blame, File, Stack, Wait};
use model::record::{FileKey, FileKind, Finding, Interval, Op, Subject};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Files that are told of one by one: those with most bytes or most time in calls.
const FILES_MOST: usize = 200;

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
            found("cpu_stolen_percent", percent(sum.stolen_ns)),
        ],
    }
}

/// Stolen CPU time is in every time that was measured.
fn of_stolen(sum: &CpuSum) -> Option<Doubt> {
    let percent = 100.0 * sum.stolen_ns / sum.all_ns;
    let doubt = || Doubt::new(Code::StolenTime, [("percent", percent.into())]);
    (percent > STOLEN_PERCENT_MAX).then(doubt)
}

impl Verdict {
    /// All findings. `name` is a device's.
    pub fn findings(&self, name: &dyn Fn(u32) -> String) -> Vec<Finding> {
        let time_ns = self.known.selection.within(self.last_ns.max(0));
        let span_ns = (time_ns.end - time_ns.start).max(0) as f64;
        let run = Subject::this_run();
        let cpus = self.known.cpus.within(&time_ns);
        let span = Finding::new(&run, "verdict_span_ns", Some(span_ns), self.requests, COUNTED);
        let mut findings = vec![span.judged(Judgement::default().with(of_stolen(&cpus)))];
        let (waits, mut losses) = blame(&self.sums);
        losses.sort_by(|a, b| {
            let device = a.victim.device.cmp(&b.victim.device);
            let pair = || self.pair(a).cmp(&self.pair(b));
            device.then(b.lost_ns.total_cmp(&a.lost_ns)).then_with(pair)
        });
        let mut victims: Vec<(&Victim, &Waits)> = waits.iter().collect();
        victims
            .sort_by_cached_key(|(victim, _)| (victim.device, self.role(victim.role), victim.kind));
        for (victim, waits) in victims {
            findings.extend(self.of_waits(victim, waits, &name(victim.device)));
        }
        for loss in losses.iter().filter(|loss| loss.lost_ns > 0.0) {
            let Some(waits) = waits.get(&loss.victim) else { continue };
            findings.extend(self.of_loss(loss, waits, span_ns, &name(loss.victim.device)));
        }
        findings.extend(of_cpus(&cpus));
        findings.extend(self.of_calls(name));
        findings.extend(self.of_files(name));
        findings.extend(self.of_stacks(name));
        findings
    }

    /// Victim and cause, by their names: roles are numbered as they come.
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
        served
            .sort_by_cached_key(|(victim, _)| (victim.device, self.role(victim.role), victim.kind));
        served.into_iter().flat_map(of).collect()
    }

    fn wait(&self, victim: &Victim, device: &str) -> Subject {
        Subject::Wait(Wait {
            device: device.to_owned(),
            victim: self.role(victim.role),
            wait: victim.kind.name().to_owned(),
        })
    }

    /// A role's name, or what is no role.
    pub(super) fn cause(&self, cause: Cause) -> Result<String, &'static str> {
        match cause {
            Cause::Role(role) => Ok(self.role(role)),
            Cause::Nobody(circumstance) => Err(circumstance.name()),
        }
    }

    fn of_waits(&self, victim: &Victim, waits: &Waits, device: &str) -> Vec<Finding> {
        let subject = self.wait(victim, device);
        let found = |name, value| Finding::new(&subject, name, value, waits.count, COUNTED);
        let (count, sum_ns) = (waits.count as f64, waits.sum_ns as f64);
        let calm = found("calm_mean_ns", waits.calm_mean_ns());
        vec![
            found("waits_count", Some(count)),
            found("waited_ns", Some(sum_ns)),
            found("waited_mean_ns", Some(sum_ns / count)),
            Finding { count: waits.calm_count, ..calm },
        ]
    }

    fn of_loss(&self, loss: &Loss, waits: &Waits, span_ns: f64, device: &str) -> Vec<Finding> {
        let cause = self.cause(loss.cause);
        let whole = Blame {
            is_role: cause.is_ok(),
            cause: cause.unwrap_or_else(str::to_owned),
            device: device.to_owned(),
            storm: None,
            victim: self.role(loss.victim.role),
            wait: loss.victim.kind.name().to_owned(),
        };
        let subject = Subject::Blame(whole.clone());
        let found =
            |name, value| Finding::new(&subject, name, Some(value), loss.count as u64, LOST);
        let interval = match loss.is_estimate {
            true => (None, None),
            false => (Some(loss.low_ns), Some(loss.high_ns)),
        };
        let mut findings = vec![
            found("lost_ns", loss.lost_ns).within(Interval::Comparison, interval),
            found("lost_percent", 100.0 * loss.lost_ns / waits.sum_ns as f64),
            found("matters", f64::from(matters(loss, waits, span_ns))),
            found("affected_count", loss.count.round()),
        ];
        if !loss.is_estimate && loss.count > 0.0 {
            findings.push(found("affected_mean_ns", loss.mean_ns));
            findings.push(found("affected_calm_mean_ns", loss.calm_mean_ns));
        }
        for (op, name) in BY_OP {
            let lost = loss.by_op.iter().find(|(known, _)| *known == op);
            findings.extend(lost.map(|(_, ns)| found(name, 100.0 * ns / loss.lost_ns)));
        }
        for (number, (from_ns, until_ns)) in loss.storms_ns.iter().enumerate() {
            let storm = Some(number as u64 + 1);
            let subject = Subject::Blame(Blame { storm, ..whole.clone() });
            let found = |name, ns: i64| Finding::new(&subject, name, Some(ns as f64), 1, LOST);
            findings.push(found("affected_from_ns", *from_ns));
            findings.push(found("affected_until_ns", *until_ns));
        }
        findings
    }

    /// Functions that are the same, at whatever address in them, are one.
    fn of_stacks(&self, name: &dyn Fn(u32) -> String) -> Vec<Finding> {
        let stacks = self.known.stacks.iter();
        let functions: HashMap<u64, &str> =
            stacks.map(|stack| (stack.stack, stack.functions.as_str())).collect();
        let named = |stack: u32| functions.get(&u64::from(stack)).map_or("", |names| names);
        let mut all: BTreeMap<Stack, Queued> = BTreeMap::new();
        for (way, queued) in self.ways.all() {
            let of = Stack {
                device: name(way.device),
                kernel: named(way.stacks.kernel).to_owned(),
                role: self.role(way.role),
                user: named(way.stacks.user).to_owned(),
            };
            all.entry(of).or_default().merge(queued);
        }
        let mut rows: Vec<_> = all.into_iter().collect();
        rows.sort_by_key(|(_, queued)| Reverse(queued.response_ns));
        let found = |(of, queued): (Stack, Queued)| {
            let subject = Subject::Stack(of);
            let found = |name, value: f64| {
                Finding::new(&subject, name, Some(value), queued.requests, COUNTED)
            };
            [
                found("stack_requests_count", queued.requests as f64),
                found("stack_bytes", queued.bytes as f64),
                found("stack_response_ns", queued.response_ns as f64),
            ]
        };
        rows.into_iter().take(STACKS_MOST).flat_map(found).collect()
    }

    fn of_files(&self, name: &dyn Fn(u32) -> String) -> Vec<Finding> {
        let mut files: BTreeMap<(String, String), (Requested, u64, f64)> = BTreeMap::new();
        let (mut all, mut known) = (self.files.unknown, Requested::default());
        for ((device, called), requested) in &self.files.known {
            all.merge(requested);
            if called.is_known() {
                known.merge(requested);
            }
            let of = (name(*device), self.known.file_names.text(*called, name));
            files.entry(of).or_default().0.merge(requested);
        }
        let (mut all_calls, mut known_calls) = (0, 0);
        for call in self.known.calls.iter().chain(&self.known.endless) {
            let number = call.file();
            // What is of all files (sync) is of none.
            if number.inode == 0 || !self.known.selection.time_ns.contains(&call.begin_ns) {
                continue;
            }
            let device = self.known.homes.get(number.file_system);
            let device = device.unwrap_or(number.file_system);
            let key = FileKey { kind: FileKind::Regular, number };
            let called = self.known.file_names.at(&key, call.begin_ns);
            all_calls += 1;
            known_calls += u64::from(called.is_known());
            let of = (name(device), self.known.file_names.text(called, name));
            let (_, calls, sum_ns) = files.entry(of).or_default();
            *calls += 1;
            *sum_ns += call.end_ns.map_or(0.0, |end_ns| (end_ns - call.begin_ns) as f64);
        }
        let percent = |part: u64, all: u64| (all > 0).then(|| 100.0 * part as f64 / all as f64);
        let run = Subject::this_run();
        let found = |name, value, count| Finding::new(&run, name, value, count, COUNTED);
        let of_bytes = percent(known.bytes(), all.bytes());
        let mut findings = vec![
            found("files_known_percent", of_bytes, known.requests),
            found("file_calls_known_percent", percent(known_calls, all_calls), known_calls),
        ];
        let mut rows: Vec<_> = files.into_iter().collect();
        rows.sort_by_key(|(_, (requested, calls, _))| Reverse((requested.bytes(), *calls)));
        for ((device, file), (requested, calls, sum_ns)) in rows.into_iter().take(FILES_MOST) {
            let subject = Subject::File(File { device, file });
            let found = |name, value| Finding::new(&subject, name, Some(value), 1, COUNTED);
            findings.push(found("file_requests_count", requested.requests as f64));
            findings.push(found("file_read_bytes", requested.read_bytes as f64));
            findings.push(found("file_write_bytes", requested.write_bytes as f64));
            if calls > 0 {
                findings.push(found("file_calls_count", calls as f64));
                findings.push(found("file_calls_mean_ns", sum_ns / calls as f64));
            }
        }
        findings
    }
}

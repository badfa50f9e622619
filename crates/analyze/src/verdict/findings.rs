//! What is published of the verdict: waits, losses, files.
//!
//! Non-goals: which of it is said first (`report::verdict`).

use super::blame::{Cause, Loss, Scene, Victim, Waits, blame, matters};
use super::calls::{PARTS, Served};
use super::cpus::CpuSum;
use super::files::Requested;
use super::stacks::Queued;
use super::waits::Kind;
use super::{Ledger, actors};
use hashbrown::HashMap;
use model::doubt::{Code, Doubt, Judgement};
use model::record::subject::{Blame, File, Stack, Wait};
use model::record::{Call, Context, FileKey, FileKind, FileNumber, Finding, Interval, Op, Subject};
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

impl Ledger {
    /// All findings; what is still open is ended first. `name` is a device's.
    pub fn findings(&mut self, name: &dyn Fn(u32) -> String) -> Vec<Finding> {
        self.finish();
        self.files.settle();
        let time_ns = self.selection.within(self.last_ns);
        let span_ns = (time_ns.end - time_ns.start).max(0) as f64;
        let run = Subject::this_run();
        let cpus = self.cpus.within(&time_ns);
        let span = Finding::new(&run, "verdict_span_ns", Some(span_ns), self.requests, COUNTED);
        let mut findings = vec![span.judged(Judgement::default().with(of_stolen(&cpus)))];
        for device in self.devices.values() {
            let book = &device.book;
            let stolen_ns = self.cpus.stolen_by_slice(book.width_ns);
            let scene = Scene { book, actors: &self.actors, stolen_ns };
            let (waits, mut losses) = blame(&scene);
            losses.sort_by(|a, b| b.lost_ns.total_cmp(&a.lost_ns).then(a.victim.cmp(&b.victim)));
            for (victim, waits) in &waits {
                findings.extend(self.of_waits(victim, waits, &name(victim.device)));
            }
            for loss in losses.iter().filter(|loss| loss.lost_ns > 0.0) {
                let Some(waits) = waits.get(&loss.victim) else { continue };
                findings.extend(self.of_loss(loss, waits, span_ns, &name(loss.victim.device)));
            }
        }
        findings.extend(of_cpus(&cpus));
        findings.extend(self.of_calls(name));
        findings.extend(self.of_files(name));
        findings.extend(self.of_stacks(name));
        findings
    }

    /// What calls waited for, part by part.
    fn of_calls(&mut self, name: &dyn Fn(u32) -> String) -> Vec<Finding> {
        let Self { calls, steps, actors, homes, context, selection, .. } = self;
        let served = steps.served(calls, &context.commits, |call| {
            if !selection.time_ns.contains(&call.begin_ns) {
                return None;
            }
            let device = homes.get(&(call.file_system as u32)).copied()?;
            let role = actors.of_thread(call.pid as u32, || call.command.clone());
            Some(Victim { role, kind: Kind::Call(call.kind), device })
        });
        let of = |(victim, served): (Victim, Served)| {
            let subject = self.wait(&victim, &name(victim.device));
            let mean = |sum: f64| Some(sum / served.calls as f64);
            let found = |quantity, value| {
                Finding::new(&subject, quantity, value, served.calls, PART_OF_CALL)
            };
            let parts = PARTS.iter().zip(served.parts_ns);
            let mut findings: Vec<Finding> =
                parts.map(|(part, sum_ns)| found(part, mean(sum_ns))).collect();
            let commits = served.commits.len() as f64;
            let shared = (commits > 0.0).then(|| served.by_commit as f64 / commits);
            findings.push(found("calls_of_commit", shared));
            findings
        };
        served.into_iter().flat_map(of).collect()
    }

    fn wait(&self, victim: &Victim, device: &str) -> Subject {
        Subject::Wait(Wait {
            device: device.to_owned(),
            victim: self.role(victim.role),
            wait: victim.kind.name().to_owned(),
        })
    }

    pub(super) fn role(&self, role: actors::RoleId) -> String {
        self.actors.name(role).to_owned()
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
        let count = waits.count as u64;
        let found = |name, value| Finding::new(&subject, name, value, count, COUNTED);
        vec![
            found("waits_count", Some(waits.count)),
            found("waited_ns", Some(waits.sum_ns)),
            found("waited_mean_ns", Some(waits.sum_ns / waits.count)),
            Finding { count: waits.calm_count as u64, ..found("calm_mean_ns", waits.calm_mean_ns) },
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
            found("lost_percent", 100.0 * loss.lost_ns / waits.sum_ns),
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
        let stacks = self.context.stacks.iter();
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
        let paths = paths(&self.context);
        let mut files: BTreeMap<(String, String), (Requested, u64, f64)> = BTreeMap::new();
        let mut known = Requested::default();
        for ((device, key), requested) in &self.files.known {
            known.merge(requested);
            let of = (name(*device), file_name(key, &paths, name));
            files.entry(of).or_default().0.merge(requested);
        }
        let is_selected = |call: &&Call| self.selection.time_ns.contains(&call.begin_ns);
        for call in self.calls.iter().chain(&self.endless).filter(is_selected) {
            let number = call.file();
            let device = self.homes.get(&number.file_system).copied();
            let device = device.unwrap_or(number.file_system);
            let key = FileKey { kind: FileKind::Regular, number };
            let of = (name(device), file_name(&key, &paths, name));
            let (_, calls, sum_ns) = files.entry(of).or_default();
            *calls += 1;
            *sum_ns += call.end_ns.map_or(0.0, |end_ns| (end_ns - call.begin_ns) as f64);
        }
        let all = (known.bytes() + self.files.unknown.bytes()) as f64;
        let percent = (all > 0.0).then(|| 100.0 * known.bytes() as f64 / all);
        let run = Subject::this_run();
        let mut findings =
            vec![Finding::new(&run, "files_known_percent", percent, known.requests, COUNTED)];
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

/// The paths of files that are known.
pub(crate) fn paths(context: &Context) -> HashMap<FileNumber, &str> {
    let files = context.files.iter();
    files.filter_map(|file| Some((file.number(), file.path.as_deref()?))).collect()
}

/// A file's name without what tells one segment of it from the next; of what has none, what it is.
pub(crate) fn file_name(
    key: &FileKey,
    paths: &HashMap<FileNumber, &str>,
    name: &dyn Fn(u32) -> String,
) -> String {
    let number = &key.number;
    match key.kind {
        FileKind::Journal => format!("journal of {}", name(number.file_system)),
        FileKind::Metadata => format!("metadata of {}", name(number.file_system)),
        FileKind::Device => format!("{} itself, or its metadata", name(number.file_system)),
        FileKind::Regular => match paths.get(number) {
            Some(path) => without_segment(path),
            None => format!("files without a name on {}", name(number.file_system)),
        },
    }
}

/// Files of a log-structured merge tree, each of which lives until it is compacted.
/// Source: RocksDB's filename.cc, LevelDB's.
const OF_A_TREE: [&str; 3] = ["log", "sst", "ldb"];

/// PostgreSQL's log is a folder of segments, its relations are cut into files of a GiB.
/// Source: PostgreSQL's xlog_internal.h and md.c.
pub(crate) fn without_segment(path: &str) -> String {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let Some((folder, name)) = path.rsplit_once('/') else { return path.to_owned() };
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if folder.ends_with("pg_wal") && name.len() == 24 && is_hex(name) {
        return format!("{folder}/*");
    }
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match name.split_once('.') {
        Some((number, kind)) if is_number(number) && OF_A_TREE.contains(&kind) => {
            format!("{folder}/*.{kind}")
        }
        Some((relation, segment)) if is_number(relation) && is_number(segment) => {
            format!("{folder}/{relation}")
        }
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_a_log_or_a_relation_are_one_file() {
        for (path, file) in [
            ("/data/pg_wal/0000000100000000000000A3", "/data/pg_wal/*"),
            ("/data/pg_wal/archive_status", "/data/pg_wal/archive_status"),
            ("/data/base/5/16401.12", "/data/base/5/16401"),
            ("/data/base/5/16401_fsm", "/data/base/5/16401_fsm"),
            ("/var/log/a.1 (deleted)", "/var/log/a.1"),
            ("/srv/rocks/000123.sst", "/srv/rocks/*.sst"),
            ("/srv/rocks/000009.log (deleted)", "/srv/rocks/*.log"),
            ("/srv/rocks/MANIFEST-000004", "/srv/rocks/MANIFEST-000004"),
            ("plain", "plain"),
        ] {
            assert_eq!(without_segment(path), file);
        }
    }
}

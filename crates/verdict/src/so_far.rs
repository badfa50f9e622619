//! What a ledger knows while requests still come: they are added in the order of their arrival, and
//! what is known of threads, calls and CPUs as it becomes known.
//!
//! Non-goals: what is published of a whole trace (`super::findings`).

use super::blame::blame;
use super::bulk::Work;
use super::evicted::{Past, Reader};
use super::sums::{Cause, Storm};
use super::waits::Kind;
use super::{Device, Ledger, RoleId};
use model::circumstance::Circumstance;
use model::record::{Call, CpuTime, CpuUse, EVICTED_PAGE, FileNumber, JournalUse, Process, Wait};
use std::collections::BTreeMap;

/// All waits of a victim, for something, at a device.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WaitsSoFar {
    pub(crate) device: u32,
    pub(crate) role: String,
    pub(crate) wait: String,
    pub(crate) count: u64,
    pub(crate) sum_ns: u64,
    /// Comparable ones in calm, and their time.
    pub(crate) calm_count: u64,
    pub(crate) calm_ns: f64,
}

/// What it lost to a cause: a role's name, or what is no role. Less than nothing is chance.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LostSoFar {
    pub(crate) device: u32,
    pub(crate) role: String,
    pub(crate) wait: String,
    pub(crate) cause: Result<String, Circumstance>,
    pub(crate) count: f64,
    pub(crate) lost_ns: f64,
    /// Half of its interval of 95 %; none of an estimate.
    pub(crate) half_ns: Option<f64>,
    /// When, of what is sure: begins, ends, and how much.
    pub(crate) storms: Vec<Storm>,
}

/// All waits and losses of a span.
#[derive(Debug, Clone, Default)]
pub(crate) struct SoFar {
    pub(crate) waits: Vec<WaitsSoFar>,
    pub(crate) losses: Vec<LostSoFar>,
    /// The cgroups of roles that waited, where each is of one.
    pub(crate) cgroups: BTreeMap<String, String>,
}

impl SoFar {
    /// Which part of what each role waited for something was not lost, by device.
    fn left(&self, wait: &str) -> BTreeMap<(u32, String), f64> {
        let mut lost_ns: BTreeMap<(u32, &str), f64> = BTreeMap::new();
        for lost in self.losses.iter().filter(|lost| lost.lost_ns > 0.0 && lost.wait == wait) {
            *lost_ns.entry((lost.device, lost.role.as_str())).or_default() += lost.lost_ns;
        }
        let left = self.waits.iter().filter(|of| of.wait == wait).map(|of| {
            let lost_ns = lost_ns.get(&(of.device, of.role.as_str())).copied().unwrap_or(0.0);
            ((of.device, of.role.clone()), 1.0 - lost_ns / of.sum_ns.max(1) as f64)
        });
        left.collect()
    }
}

impl Ledger {
    /// When the span begins.
    pub(crate) fn begin_ns(&self) -> i64 {
        self.time_ns.start
    }

    /// A thread's process is known now.
    pub(crate) fn learn(&mut self, process: &Process) {
        self.actors.learn(process);
    }

    /// A thread, by number and name, changes a file's data.
    pub(crate) fn changed(&mut self, file: FileNumber, pid: u32, command: &str) {
        self.actors.change(file, pid, command);
    }

    /// These files, and no others, are committed to or written in bulk.
    pub(crate) fn learn_work(&mut self, files: &[(FileNumber, Work)]) {
        self.actors.learn_work(files);
    }

    /// A call has ended, however long ago it began. One that comes after what was requested
    /// behind its begin lost nothing that could be told.
    pub(crate) fn call(&mut self, call: Call) {
        self.has_calls = true;
        self.actors.own(call.file(), call.pid as u32, &call.command);
        if let (true, Some(end_ns)) = (self.time_ns.contains(&call.begin_ns), call.end_ns) {
            self.loaded_until_ns = self.loaded_until_ns.max(end_ns);
        }
        let later = self.calls.partition_point(|known| known.begin_ns <= call.begin_ns);
        self.calls.insert(later.max(self.begun), call);
    }

    /// A wait has ended, however long ago it began; as of [`Self::call`].
    pub(crate) fn wait(&mut self, wait: Wait) {
        if self.time_ns.contains(&wait.begin_ns) {
            self.loaded_until_ns = self.loaded_until_ns.max(wait.end_ns);
        }
        let later = self.waits.partition_point(|known| known.begin_ns <= wait.begin_ns);
        self.waits.insert(later.max(self.waits_begun), wait);
    }

    /// Somebody has changed metadata.
    pub(crate) fn journal_use(&mut self, one: JournalUse) {
        let later = self.journal_use.partition_point(|known| known.begin_ns <= one.begin_ns);
        self.journal_use.insert(later, one);
    }

    /// The span ends then.
    pub(crate) fn end_span(&mut self, end_ns: i64) {
        self.time_ns.end = end_ns;
        self.devices.values_mut().for_each(|device| device.book.time_ns.end = end_ns);
    }

    /// What the CPUs did in an interval.
    pub(crate) fn cpu_time(&mut self, interval: CpuTime) {
        self.cpus.add(interval);
    }

    /// Who used the CPUs in an interval, or waited for one.
    pub(crate) fn cpu_use(&mut self, one: CpuUse) {
        self.cpu_uses.add(one);
    }

    /// All that arrived until a moment was added: what has ended until then has ended. Says
    /// whether anything was going on.
    pub(crate) fn advance(&mut self, until_ns: i64) -> bool {
        self.begin_waits(until_ns);
        let was_busy = self.devices.values().any(|device| device.disk.is_busy());
        for Device { disk, book } in self.devices.values_mut() {
            disk.advance(until_ns, book);
        }
        was_busy
    }

    /// All waits and losses by the requests that were added so far.
    pub(crate) fn so_far(&mut self) -> SoFar {
        let sums = self.sums();
        let (waits, losses) = blame(&sums, None);
        let name = |role: RoleId| self.actors.name(role).to_owned();
        let kind = |kind: Kind| kind.name(name);
        let waits = waits.iter().map(|(victim, of)| WaitsSoFar {
            device: victim.device,
            role: name(victim.role),
            wait: kind(victim.kind),
            count: of.count,
            sum_ns: of.sum_ns,
            calm_count: of.calm_count,
            calm_ns: of.calm_ns,
        });
        let lost = losses.iter().map(|loss| LostSoFar {
            device: loss.victim.device,
            role: name(loss.victim.role),
            wait: kind(loss.victim.kind),
            cause: match loss.cause {
                Cause::Role(role) => Ok(name(role)),
                Cause::Nobody(circumstance) => Err(circumstance),
            },
            count: loss.count,
            lost_ns: loss.lost_ns,
            half_ns: (!loss.is_estimate).then_some(loss.high_ns - loss.lost_ns),
            storms: match loss.low_ns > 0.0 && !loss.is_estimate {
                true => sums.storms.get(&(loss.victim, loss.cause)).cloned().unwrap_or_default(),
                false => Vec::new(),
            },
        });
        let waits: Vec<WaitsSoFar> = waits.collect();
        let cgroup =
            |of: &WaitsSoFar| Some((of.role.clone(), self.actors.cgroup(&of.role)?.to_owned()));
        let cgroups = waits.iter().filter_map(cgroup).collect();
        SoFar { losses: lost.collect(), cgroups, waits }
    }

    /// Whether pages were read again that had been evicted.
    pub(crate) fn reads_again(&self) -> bool {
        self.evicted.has_any()
    }

    /// What filled memory, for later spans.
    pub(crate) fn past(&self) -> Past {
        let name = |role: RoleId| self.actors.name(role).to_owned();
        self.evicted.past(self.time_ns.clone(), &name)
    }

    /// Adds what was read again until a moment, and lost to who filled memory then or in the past.
    pub(crate) fn add_evicted(&mut self, past: &[&Past], until_ns: i64, so_far: &mut SoFar) {
        if !self.evicted.has_any() {
            return;
        }
        let Self { actors, evicted, time_ns, .. } = self;
        let all = evicted.behind(past, |name| actors.of_name(name));
        let time_ns = time_ns.start..until_ns.min(time_ns.end).max(time_ns.start);
        let since_ns = past.iter().map(|past| past.time_ns.start).min().unwrap_or(time_ns.start);
        let name = |role: RoleId| actors.name(role).to_owned();
        let left = so_far.left(&Kind::Read.name(name));
        let is_left =
            |(device, role): Reader| left.get(&(device, name(role))).copied().unwrap_or(0.0);
        let lost = all.losses_in(&time_ns, since_ns, &is_left).into_iter().map(|loss| LostSoFar {
            device: loss.reader.0,
            role: name(loss.reader.1),
            wait: EVICTED_PAGE.to_owned(),
            cause: Ok(name(loss.cause)),
            count: loss.count,
            lost_ns: loss.lost_ns,
            half_ns: Some((loss.high_ns - loss.lost_ns).max(loss.lost_ns - loss.low_ns)),
            storms: Vec::new(),
        });
        let lost: Vec<LostSoFar> = lost.collect();
        let waits = all.again_in(&time_ns).map(|((device, role), of)| WaitsSoFar {
            device,
            role: name(role),
            wait: EVICTED_PAGE.to_owned(),
            count: of.count,
            sum_ns: of.sum_ns,
            calm_count: 0,
            calm_ns: 0.0,
        });
        so_far.waits.extend(waits);
        so_far.losses.extend(lost);
    }
}

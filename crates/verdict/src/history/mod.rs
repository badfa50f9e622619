//! What was watched, as a table of intervals: `sar -d`'s columns, then response times, and who lost
//! most to whom.
//!
//! The columns are defined as sysstat's `sar -d` defines them, over the time that was *watched* in
//! an interval, and not over all of it:
//!
//! - tps: reads, writes and discards that completed, a second (flushes are none of them);
//! - rkB/s, wkB/s, dkB/s: kilobytes (1024 bytes) read, written and discarded a second;
//! - areq-sz: their mean size in kB;
//! - aqu-sz: the mean number of requests in the queue and at the device: the kernel's
//!   time_in_queue, over the time;
//! - await: the mean time from a request's arrival until its completion, in ms: the sum of the
//!   kernel's times of reads, writes and discards, over their number;
//! - %util: the part of the time in which the device had requests: io_ticks, over the time. Of
//!   several devices in one line it is the busiest one's, and all others are sums.
//!
//! These come from the kernel's own counts of a device (`Counted::Disk`). Where lines are of roles
//! or file systems, which the kernel does not count, they are of the requests that were traced:
//! aqu-sz is then the sum of their response times over the time, which is the same by Little's law.
//! Percentiles are of the traced requests always.
//!
//! Non-goals: reading files (`model::history`), words (`report::history`).

pub mod compare;
mod line;
mod losses;
#[cfg(test)]
pub(crate) mod tests;
mod watch;

use crate::bound::{Bound, NAMES_MOST};
use crate::merge::Merge as _;
use hashbrown::{Equivalent, HashMap};
use line::Cell;
use losses::Losses;
use model::circumstance::Circumstance;
use model::history::{By, Line, Overview};
use model::record::{Counted, RollupRow, operations};
use model::text::NAMES_COUNTED;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use watch::Watch;

/// Views of rollups as standard SQL: for an engine that is there already (Spark, DuckDB).
pub const VIEWS: &str = include_str!("views.sql");

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The time's begin.
    pub from_unix_ns: i64,
    /// Its end.
    pub until_unix_ns: i64,
    /// The time of a line; none: all of it.
    pub step_ns: Option<i64>,
    /// What else a line is of.
    pub by: By,
    /// Only devices with this in their names.
    pub device: Option<String>,
    /// Only roles with this in their names.
    pub role: Option<String>,
    /// The hosts that rows are of; of several, a device's name is behind its host's.
    pub hosts: Vec<String>,
}

impl Asked {
    fn takes(&self, row: &RollupRow<'_>) -> bool {
        let has = |wanted: &Option<String>, names: &[Option<&str>]| {
            wanted.as_deref().is_none_or(|wanted| {
                names.iter().any(|name| name.is_some_and(|name| name.contains(wanted)))
            })
        };
        let is_of_device = row.counted == Counted::Calls || has(&self.device, &[row.device]);
        let roles: &[Option<&str>] = match row.counted {
            Counted::Lost | Counted::Storm => &[row.role, row.cause],
            _ => &[row.role],
        };
        is_of_device && has(&self.role, roles)
    }

    /// The line's time that a moment is in, by its begin.
    fn interval(&self, unix_ns: i64) -> i64 {
        match self.step_ns {
            Some(step) => unix_ns.div_euclid(step) * step,
            None => self.from_unix_ns,
        }
    }

    /// What the line of a row is of; none where it is of no line.
    fn group<'a>(&self, row: &RollupRow<'a>) -> Option<&'a str> {
        match self.by {
            By::Time => Some(""),
            By::Device => row.device,
            By::Model => row.model.or(row.device),
            By::Operation => Some(row.operation),
            By::Role => Some(row.role.unwrap_or("")),
            By::Cgroup | By::Pod | By::Namespace => {
                Some(self.by.of_cgroup(row.cgroup.unwrap_or("")))
            }
            By::FileSystem => Some(row.file_system.unwrap_or("")),
            By::Host => Some(row.host.unwrap_or("")),
            By::Size => row.class?.strip_prefix("size "),
            By::Origin => row.class?.strip_prefix("origin "),
            By::Cause => None,
        }
    }

    /// The row of a loss, with what is to be told apart.
    fn named<'a>(&self, row: &RollupRow<'a>) -> RollupRow<'a> {
        let device = if self.by == By::Model { row.model.or(row.device) } else { row.device };
        let cgroup = row.cgroup.filter(|_| self.by.is_of_cgroups()).map(|of| self.by.of_cgroup(of));
        RollupRow { device, cgroup, ..*row }
    }

    /// Whether lines are of what the kernel does not count.
    fn is_of_traced(&self) -> bool {
        let is_of_traced = matches!(self.by, By::Role | By::FileSystem);
        self.role.is_some() || is_of_traced || self.by.is_of_cgroups() || self.is_of_classes()
    }

    fn is_of_classes(&self) -> bool {
        matches!(self.by, By::Size | By::Origin)
    }
}

/// What is selected by its name, and whether a row has it; until then the names that rows have, the
/// first ones of the alphabet.
#[derive(Debug, Clone, Default)]
pub struct Names {
    wanted: Option<String>,
    is_there: bool,
    known: BTreeSet<String>,
}

impl Names {
    /// Of no rows yet.
    pub fn new(wanted: Option<&String>) -> Self {
        Self { wanted: wanted.cloned(), ..Self::default() }
    }

    /// Takes a name of a row, if that has one that is no circumstance.
    pub fn take(&mut self, name: Option<&str>) {
        let Some(wanted) = self.wanted.as_deref().filter(|_| !self.is_there) else { return };
        let name = name.filter(|name| !name.is_empty() && Circumstance::of_marked(name).is_none());
        let Some(name) = name.filter(|name| !self.known.contains(*name)) else { return };
        self.is_there = name.contains(wanted);
        self.known.insert(name.to_owned());
        self.keep_first();
    }

    /// Adds what another took of other rows.
    pub fn merge(&mut self, other: Self) {
        self.is_there |= other.is_there;
        self.known.extend(other.known);
        self.keep_first();
    }

    fn keep_first(&mut self) {
        while self.known.len() > NAMES_COUNTED {
            self.known.pop_last();
        }
    }

    /// What is selected and in no name, and the names that there are.
    pub fn absent(&self) -> Option<(&str, &BTreeSet<String>)> {
        let wanted = self.wanted.as_deref().filter(|_| !self.is_there)?;
        Some((wanted, &self.known))
    }
}

/// A line's time and group.
type CellKey = (i64, String);

/// The same, lent: a year has millions of rows and few lines.
#[derive(Hash)]
struct LentKey<'a>(i64, &'a str);

impl Equivalent<CellKey> for LentKey<'_> {
    fn equivalent(&self, (time, group): &CellKey) -> bool {
        // Where both are empty nothing is read: glibc's memcmp takes 40 ns to find out that it may
        // not read at an address that is none.
        self.0 == *time && self.1.len() == group.len() && (group.is_empty() || self.1 == group)
    }
}

/// Rows that were watched, as they come.
#[derive(Debug, Clone)]
pub struct Ledger {
    asked: Asked,
    /// The host, where there is one and lines are of it.
    host: Option<Arc<str>>,
    cells: HashMap<CellKey, Cell>,
    /// The last one added to: rows come in runs.
    last: Option<(CellKey, Cell)>,
    losses: Losses,
    watch: Watch,
    devices: Names,
    roles: Names,
    /// Whether there are requests, and whether any tells how long it took.
    has_requests: bool,
    has_times: bool,
    full: Option<Bound>,
}

impl Ledger {
    /// The kinds of rows that it takes, by what its lines are of.
    pub fn kinds(by: By) -> Vec<Counted> {
        let of_lines: &[Counted] = match by {
            By::Size | By::Origin => &[Counted::Class],
            _ => &[Counted::Requests, Counted::Calls, Counted::Disk],
        };
        let of_all = [Counted::Waits, Counted::Lost, Counted::Storm, Counted::Watch];
        [of_lines, &of_all].concat()
    }

    /// The columns that it does not look at, by what its lines are of and of how many hosts.
    pub fn without(by: By, hosts: usize) -> Vec<&'static str> {
        let never = ["file", "run", "part", "level", "calm_count", "calm_ns"];
        let unless = [
            ("cgroup", by.is_of_cgroups()),
            ("file_system", by == By::FileSystem),
            ("model", by == By::Model),
            ("host", hosts >= 2),
        ];
        let not_wanted = unless.into_iter().filter(|(_, is_wanted)| !is_wanted);
        never.into_iter().chain(not_wanted.map(|(name, _)| name)).collect()
    }

    /// Of no rows yet.
    pub fn new(asked: &Asked) -> Self {
        Self {
            asked: asked.clone(),
            host: match asked.hosts.as_slice() {
                [host] if asked.by == By::Host => Some(Arc::from(host.as_str())),
                _ => None,
            },
            cells: HashMap::new(),
            last: None,
            losses: Losses::default(),
            watch: Watch::default(),
            devices: Names::new(asked.device.as_ref()),
            roles: Names::new(asked.role.as_ref()),
            has_requests: false,
            has_times: false,
            full: None,
        }
    }

    /// What there is more of than any history has: rows are not taken any more.
    pub fn full(&self) -> Option<Bound> {
        self.full
    }

    /// The option whose name no row has, the name, and the names that there are.
    pub fn absent(&self) -> Option<(&'static str, &str, &BTreeSet<String>)> {
        let of = [("device", &self.devices), ("role", &self.roles)];
        of.into_iter().find_map(|(option, names)| {
            names.absent().map(|(wanted, known)| (option, wanted, known))
        })
    }

    fn look_whether_full(&mut self) {
        let [lost, waited] = self.losses.counts();
        let counts = [
            (self.watch.count_hosts(), NAMES_MOST, "hosts"),
            (lost, 2 * NAMES_MOST, "pairs of a role and a cause on a device"),
            (waited, 2 * NAMES_MOST, "roles that wait for a device"),
            (self.cells.len(), 8 * NAMES_MOST, "lines of a time and a name"),
        ];
        self.full = self.full.or_else(|| Bound::exceeded(counts));
    }

    /// Takes a row.
    pub fn take(&mut self, row: &RollupRow<'_>) {
        if self.full.is_some() {
            return;
        }
        self.look_whether_full();
        if self.asked.hosts.len() < 2 {
            // Of an earlier version rows do not say whose they are.
            let host = self.host.clone();
            return self.take_one(&RollupRow { host: host.as_deref(), ..*row });
        }
        let device = row.device.map(|device| format!("{}:{device}", row.host.unwrap_or("-")));
        self.take_one(&RollupRow { device: device.as_deref(), ..*row });
    }

    fn take_one(&mut self, row: &RollupRow<'_>) {
        if row.counted == Counted::Watch {
            return self.watch.take(row, self.asked.interval(row.from_unix_ns));
        }
        self.devices.take(row.device);
        self.roles.take(row.role);
        self.roles.take(row.cause);
        if !self.asked.takes(row) {
            return;
        }
        if matches!(row.counted, Counted::Requests | Counted::Class) {
            self.has_requests |= row.count > 0;
            self.has_times |= !row.counts.is_empty();
        }
        match row.counted {
            Counted::Lost => self.losses.lost(&self.asked.named(row)),
            Counted::Waits => self.losses.waited(&self.asked.named(row)),
            Counted::Storm => self.losses.storm(&self.asked.named(row)),
            Counted::Disk if self.asked.is_of_traced() => {}
            Counted::Disk if is_of_device(row) && self.asked.by == By::Operation => {}
            // A call has no place in the sums of requests: it waits for them.
            Counted::Calls if self.asked.by != By::Operation => {}
            // Each request is in one of either.
            Counted::Class if self.asked.is_of_classes() => self.cell(row),
            Counted::Requests if self.asked.is_of_classes() => {}
            Counted::Requests | Counted::Calls | Counted::Disk => self.cell(row),
            Counted::Class | Counted::File | Counted::Watch => {}
        }
    }

    fn cell(&mut self, row: &RollupRow<'_>) {
        let Some(group) = self.asked.group(row) else { return };
        let key = LentKey(self.asked.interval(row.from_unix_ns), group);
        if self.last.as_ref().is_none_or(|(last, _)| !key.equivalent(last)) {
            self.settle();
            let known = self.cells.remove_entry(&key);
            self.last = known.or_else(|| Some(((key.0, group.to_owned()), Cell::default())));
        }
        self.last.iter_mut().for_each(|(_, cell)| cell.take(row));
    }

    fn settle(&mut self) {
        if let Some((key, cell)) = self.last.take() {
            self.cells.entry(key).or_default().merge(cell);
        }
    }

    /// Adds what another took of other rows.
    pub fn merge(&mut self, mut other: Self) {
        other.settle();
        self.full = self.full.or(other.full);
        if self.full.is_some() {
            return;
        }
        self.cells.merge(other.cells);
        self.losses.merge(other.losses);
        self.watch.merge(other.watch);
        self.devices.merge(other.devices);
        self.roles.merge(other.roles);
        self.has_requests |= other.has_requests;
        self.has_times |= other.has_times;
        self.look_whether_full();
    }

    /// What it comes to.
    pub fn finish(mut self) -> Overview {
        self.settle();
        let tells_no_time = self.has_requests && !self.has_times;
        let Self { asked, cells, losses, watch, .. } = self;
        let by_time =
            if asked.by.has_losses() { losses.by_interval(&asked) } else { BTreeMap::new() };
        let cells: BTreeMap<CellKey, Cell> = cells.into_iter().collect();
        let mut lines: Vec<Line> = match asked.by {
            By::Cause => losses.lines(&asked, &watch),
            _ => cells.iter().map(|(key, cell)| cell.line(key, &asked, &watch)).collect(),
        };
        if asked.by == By::Time {
            // Times of which nothing is known but that they were watched, or what was lost.
            let known: Vec<i64> = lines.iter().map(|line| line.from_unix_ns).collect();
            let silent = watch.intervals().into_iter().filter(|begin| !known.contains(begin));
            let silent =
                silent.map(|begin| Cell::default().line(&(begin, String::new()), &asked, &watch));
            lines.extend(silent.collect::<Vec<_>>());
            lines.sort_by_key(|line| line.from_unix_ns);
        }
        for line in &mut lines {
            let found = by_time.get(&(line.from_unix_ns, asked.loss_group(&line.group)));
            if let Some((lost_ns, pair)) = found {
                (line.lost_ns, line.who) = (*lost_ns, Some(pair.clone()));
            }
        }
        if asked.by != By::Time {
            lines.sort_by(|a, b| {
                (a.from_unix_ns, weight(b))
                    .partial_cmp(&(b.from_unix_ns, weight(a)))
                    .unwrap_or(std::cmp::Ordering::Equal)
            });
        }
        Overview {
            by: asked.by,
            step_ns: asked.step_ns,
            span_unix_ns: (asked.from_unix_ns, asked.until_unix_ns),
            slowest: slowest(&lines),
            lines,
            losses: losses.pairs(),
            tells_no_time,
            watched_unix_ns: watch.span(),
            hosts: watch.hosts(),
            watched_ns: watch.all_ns(),
            gaps: watch.gaps(),
            events_lost: watch.events_lost,
            from_issue: watch.from_issue,
            forward: watch.forward,
            back: watch.back,
            not_kept_ns: watch.not_kept_ns,
        }
    }
}

/// The line of the longest 99th percentile, among those with enough requests to have one, and the
/// middle one of all of them.
fn slowest(lines: &[Line]) -> Option<(Line, u64)> {
    let known = || lines.iter().filter(|line| line.requests >= LEAST_REQUESTS);
    let mut all: Vec<u64> = known().filter_map(|line| line.p99_ns).collect();
    all.sort_unstable();
    let middle = all.get(all.len() / 2).copied()?;
    known().max_by_key(|line| line.p99_ns).map(|line| (line.clone(), middle))
}

/// By what lines of one time stand in order: the most lost, then the most requests.
fn weight(line: &Line) -> (i64, u64) {
    // By the tenth of a second: less is chance.
    ((line.lost_ns / 1e8) as i64, line.requests)
}

/// Whether a row of a disk is of the device as a whole.
fn is_of_device(row: &RollupRow<'_>) -> bool {
    [operations::BUSY, operations::QUEUED].contains(&row.operation)
}

impl Asked {
    /// By which of a loss's names the lines have it.
    fn loss_group(&self, group: &str) -> String {
        match self.by {
            By::Time => String::new(),
            _ => group.to_owned(),
        }
    }
}

/// Requests of which a 99th percentile tells something.
const LEAST_REQUESTS: u64 = 100;

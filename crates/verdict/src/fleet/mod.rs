//! Rollups of many hosts: which of them lost most, to what, and since when; what hosts have in
//! common that lose more than others; what hit many at once; and what changed at a moment.
//!
//! - `series`: sums by days and hours of the day, and what of them is chance.
//! - `stand`: who lost more than others, and what these have in common.
//! - `when`: since when, and in which hours of the day.
//! - `storms`: many hosts at once, or one alone.
//! - `kind`: who is slower than others of its kind, whatever it lost; `pace` is what that reads.
//! - `lines`: tables, with the percentiles of merged histograms.
//! - `pictures`: what a page draws.
//!
//! What is compared is a *unit*: a device of a host under one kernel. Every interval is as wide as
//! the number of those beside it needs (Bonferroni), so that among a thousand hosts none stands out
//! by chance.
//!
//! Non-goals: reading files (`model::history`), words (`report::fleet`).

mod kind;
mod lines;
mod pace;
mod pictures;
mod series;
mod stand;
mod storms;
#[cfg(test)]
mod tests;
mod when;

use crate::bound::{Bound, NAMES_MOST};
use crate::merge::{Merge, merged};
use hashbrown::HashMap;
use indexmap::IndexMap;
use model::fleet::{Fleet, FleetBy};
use model::history::{DAY_NS, HOUR_NS, Hosts};
use model::record::{Counted, Rollup, RollupRow, is_among_others, operations};
use pace::Pace;
use pictures::{Bins, Track};
use series::{Series, Side, Sum};
use std::collections::BTreeMap;

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// The time's begin.
    pub from_unix_ns: i64,
    /// Its end.
    pub until_unix_ns: i64,
    /// What lines are of.
    pub by: FleetBy,
    /// What is before this moment is compared with what is after it.
    pub change_unix_ns: Option<i64>,
    /// Whether a page is to be drawn.
    pub is_drawn: bool,
}

/// Where rows come from.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// The input's place among all.
    pub number: usize,
    /// The host of rows that do not say it.
    pub label: &'a str,
    /// What is known of its hosts.
    pub hosts: &'a Hosts,
    /// Times of hosts that another input has too: they count there.
    pub skipped: &'a [(Option<String>, (i64, i64))],
}

/// Pairs of roles and causes of a unit, at the most, and of all units with the causes of each
/// host's storms.
const PAIRS_MOST: usize = 1 << 12;
const ALL_PAIRS_MOST: usize = 1 << 20;
/// Hours with storms, by host and cause, at the most, of some 40 bytes each: a thousand hosts with
/// a storm of one cause in every hour of a month have 720,000.
const STORMS_MOST: usize = 1 << 22;

/// What makes a unit: host, device, model, firmware, kernel.
type UnitKey = [String; 5];

/// A device of a host under one kernel.
#[derive(Debug, Clone, Default)]
struct Unit {
    waited: Series,
    /// By the role that lost and what it lost to.
    losses: IndexMap<(String, String), Series>,
    /// How long its requests took, by operation.
    paces: IndexMap<String, Pace>,
    /// The pair of the row before.
    last: usize,
}

impl Unit {
    fn losses(&mut self, row: &RollupRow<'_>) -> &mut Series {
        let (role, cause) = (row.role.unwrap_or_default(), row.cause.unwrap_or_default());
        let is_last =
            |(names, _): (&(String, String), &Series)| names.0 == role && names.1 == cause;
        if !self.losses.get_index(self.last).is_some_and(is_last) {
            let entry = self.losses.entry((role.to_owned(), cause.to_owned()));
            self.last = entry.index();
            entry.or_default();
        }
        &mut self.losses[self.last]
    }
}

impl Unit {
    fn pace(&mut self, operation: &str) -> &mut Pace {
        if !self.paces.contains_key(operation) {
            self.paces.insert(operation.to_owned(), Pace::default());
        }
        &mut self.paces[operation]
    }
}

impl Merge for Unit {
    fn merge(&mut self, other: Self) {
        self.waited.merge(other.waited);
        other.losses.into_iter().for_each(|(names, series)| {
            self.losses.entry(names).or_default().merge(series);
        });
        for (operation, pace) in other.paces {
            self.pace(&operation).merge(pace);
        }
    }
}

/// Storms of an hour: how many, and what was lost.
#[derive(Debug, Clone, Copy, Default)]
struct Storms {
    count: u64,
    lost_ns: i64,
}

merged!(Storms { count, lost_ns });

/// What is kept of a host as a whole.
#[derive(Debug, Clone, Default)]
struct OfHost {
    source: usize,
    is_simulated: bool,
    /// By kernel.
    watched: BTreeMap<String, Series>,
    /// By cause, and by hour.
    storms: BTreeMap<String, BTreeMap<i64, Storms>>,
    /// By bins of a page.
    track: Track,
}

impl OfHost {
    /// How many causes its storms have, and how many hours these have in all.
    fn kept(&self) -> (usize, usize) {
        (self.storms.len(), self.storms.values().map(BTreeMap::len).sum())
    }
}

/// Rows of a fleet, as they come.
#[derive(Debug, Clone)]
pub struct Ledger {
    asked: Asked,
    units: IndexMap<UnitKey, Unit>,
    hosts: IndexMap<String, OfHost>,
    /// Requests of each line, added up.
    requests: IndexMap<String, Rollup>,
    /// Requests of each device model, where a page is drawn.
    models: IndexMap<String, Rollup>,
    /// The bins of a page, where one is drawn.
    bins: Option<Bins>,
    /// The line of each unit, where lines are of units.
    groups: HashMap<usize, usize>,
    rows: u64,
    last: Option<Last>,
    /// Pairs of all units and causes of all hosts' storms, and the hours of these: each once, in
    /// however many pieces it is.
    pairs: usize,
    storms: usize,
    full: Option<Bound>,
}

/// What the row before was of.
#[derive(Debug, Clone, Default)]
struct Last {
    source: usize,
    host: Option<String>,
    run: Option<String>,
    device: Option<String>,
    model: Option<String>,
    unit: usize,
}

impl Last {
    fn is_of(&self, row: &RollupRow<'_>, source: usize) -> bool {
        let names = [&self.host, &self.run, &self.device, &self.model].map(Option::as_deref);
        self.source == source && names == [row.host, row.run, row.device, row.model]
    }
}

impl Ledger {
    /// The kinds of rows that it takes.
    pub const KINDS: [Counted; 5] =
        [Counted::Requests, Counted::Waits, Counted::Lost, Counted::Storm, Counted::Watch];

    /// The columns that it does not look at.
    pub const WITHOUT: [&'static str; 8] =
        ["part", "level", "cgroup", "file_system", "file", "class", "calm_count", "calm_ns"];

    /// Of no rows yet.
    pub fn new(asked: Asked) -> Self {
        let (units, hosts, requests) = (IndexMap::new(), IndexMap::new(), IndexMap::new());
        let (models, groups) = (IndexMap::new(), HashMap::new());
        let bins = asked.is_drawn.then(|| Bins::of(&asked));
        Self {
            asked,
            units,
            hosts,
            requests,
            models,
            bins,
            groups,
            rows: 0,
            last: None,
            pairs: 0,
            storms: 0,
            full: None,
        }
    }

    /// What there is more of than any fleet has: rows are not taken any more.
    pub fn full(&self) -> Option<Bound> {
        self.full
    }

    fn look_whether_full(&mut self, pairs_of_one: usize) {
        let counts = [
            (self.hosts.len(), NAMES_MOST, "hosts"),
            (self.units.len(), 4 * NAMES_MOST, "devices of hosts, by firmware and kernel"),
            (self.models.len(), NAMES_MOST, names_of(FleetBy::Model)),
            (self.requests.len(), NAMES_MOST, names_of(self.asked.by)),
            (pairs_of_one, PAIRS_MOST, "pairs of a role and a cause on one device"),
            (self.pairs, ALL_PAIRS_MOST, "pairs of a cause and a role or a host that it hit"),
            (self.storms, STORMS_MOST, "hours with storms, by host and cause"),
        ];
        self.full = self.full.or_else(|| Bound::exceeded(counts));
    }

    /// Takes a row.
    pub fn take(&mut self, row: &RollupRow<'_>, source: &Source<'_>) {
        if self.full.is_some() {
            return;
        }
        let is_in = row.from_unix_ns >= self.asked.from_unix_ns
            && row.from_unix_ns < self.asked.until_unix_ns;
        let is_elsewhere = || {
            source.skipped.iter().any(|(host, (from, until))| {
                host.as_deref() == row.host && (*from..*until).contains(&row.from_unix_ns)
            })
        };
        if !is_in || is_elsewhere() {
            return;
        }
        self.rows += 1;
        if let Some(bins) = self.bins {
            self.draw(row, source, bins);
        }
        let anchor_ns = self.anchor_ns();
        let from_ns = row.from_unix_ns;
        match row.counted {
            Counted::Watch if row.operation == operations::WATCHED => {
                let kernel = source.hosts.of(row.host, row.run).and_then(|of| of.kernel.clone());
                let ns = i64::try_from(row.sum_ns).unwrap_or(i64::MAX);
                let watched = self.host(row, source).watched.entry(kernel.unwrap_or_default());
                watched.or_default().add(from_ns, anchor_ns, Sum { ns, us2: 0 });
            }
            Counted::Waits if !is_among_others(row.operation) => {
                let ns = i64::try_from(row.sum_ns).unwrap_or(i64::MAX);
                self.unit(row, source).waited.add(from_ns, anchor_ns, Sum { ns, us2: 0 });
            }
            Counted::Lost => {
                let sum = Sum { ns: row.lost_ns, us2: row.lost_us2 };
                let unit = self.unit(row, source);
                let before = unit.losses.len();
                unit.losses(row).add(from_ns, anchor_ns, sum);
                let pairs = unit.losses.len();
                self.pairs += pairs - before;
                self.look_whether_full(pairs);
            }
            // What turned out to be chance is none.
            Counted::Storm if row.lost_ns > 0 => {
                let (cause, hour) = (row.cause.unwrap_or_default(), from_ns.div_euclid(HOUR_NS));
                let causes = &mut self.host(row, source).storms;
                let before = causes.len();
                let hours = causes.entry(cause.to_owned()).or_default();
                let before_hours = hours.len();
                let of_hour = hours.entry(hour).or_default();
                of_hour.merge(Storms { count: row.count, lost_ns: row.lost_ns });
                let (new_hours, new) = (hours.len() - before_hours, causes.len() - before);
                (self.pairs, self.storms) = (self.pairs + new, self.storms + new_hours);
            }
            Counted::Requests => self.requested(row, source),
            _ => {}
        }
        self.look_whether_full(0);
    }

    /// Keeps what a page draws of a row.
    fn draw(&mut self, row: &RollupRow<'_>, source: &Source<'_>, bins: Bins) {
        match row.counted {
            Counted::Watch if row.operation == operations::WATCHED => {
                self.host(row, source).track.watched(row, bins);
            }
            Counted::Lost => self.host(row, source).track.lost(row, bins),
            Counted::Requests => {
                summed(&mut self.models, row.model.unwrap_or_default()).add(row);
            }
            _ => {}
        }
    }

    /// The moment from which days are counted.
    fn anchor_ns(&self) -> i64 {
        self.asked.change_unix_ns.unwrap_or(0)
    }

    fn host(&mut self, row: &RollupRow<'_>, source: &Source<'_>) -> &mut OfHost {
        let name = row.host.unwrap_or(source.label);
        if !self.hosts.contains_key(name) {
            let facts = source.hosts.of(row.host, row.run);
            let is_simulated = facts.is_some_and(|facts| facts.is_simulated);
            let host = OfHost { source: source.number, is_simulated, ..OfHost::default() };
            self.hosts.insert(name.to_owned(), host);
        }
        &mut self.hosts[name]
    }

    fn unit(&mut self, row: &RollupRow<'_>, source: &Source<'_>) -> &mut Unit {
        let place = self.place(row, source);
        &mut self.units[place]
    }

    /// The place of a row's unit.
    fn place(&mut self, row: &RollupRow<'_>, source: &Source<'_>) -> usize {
        if let Some(last) = self.last.as_ref().filter(|last| last.is_of(row, source.number)) {
            return last.unit;
        }
        self.host(row, source);
        let facts = source.hosts.of(row.host, row.run);
        let firmware = facts.zip(row.device).and_then(|(facts, of)| facts.firmware.get(of));
        let kernel = facts.and_then(|facts| facts.kernel.as_deref());
        let key = [
            Some(row.host.unwrap_or(source.label)),
            row.device,
            row.model,
            firmware.map(String::as_str),
            kernel,
        ];
        let entry = self.units.entry(key.map(|name| name.unwrap_or_default().to_owned()));
        let unit = entry.index();
        entry.or_default();
        let [host, run, device, model] =
            [row.host, row.run, row.device, row.model].map(|name| name.map(str::to_owned));
        self.last = Some(Last { source: source.number, host, run, device, model, unit });
        unit
    }

    fn requested(&mut self, row: &RollupRow<'_>, source: &Source<'_>) {
        let place = self.place(row, source);
        let bin_ns = pace::bin_ns(self.asked.from_unix_ns, self.asked.until_unix_ns);
        self.units[place].pace(row.operation).add(row.from_unix_ns.div_euclid(bin_ns), row);
        let group = match self.asked.by {
            FleetBy::Cause => return,
            FleetBy::Role => self.group(row.role.unwrap_or_default()),
            FleetBy::Hour => self.group(lines::hour_name(row.from_unix_ns)),
            by => match self.groups.get(&place) {
                Some(group) => *group,
                None => {
                    let name =
                        self.units.get_index(place).map(|(key, _)| lines::attribute(by, key));
                    let group = self.group(&name.unwrap_or_default());
                    self.groups.insert(place, group);
                    group
                }
            },
        };
        self.requests[group].add(row);
    }

    /// The place of the requests of a line.
    fn group(&mut self, name: &str) -> usize {
        if let Some(place) = self.requests.get_index_of(name) {
            return place;
        }
        self.requests.insert_full(name.to_owned(), nothing()).0
    }

    /// Adds what another took of other rows.
    pub fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        self.full = self.full.or(other.full);
        if self.full.is_some() {
            return;
        }
        let mut most_pairs = 0;
        for (key, unit) in other.units {
            let own = self.units.entry(key).or_default();
            let before = own.losses.len();
            own.merge(unit);
            self.pairs += own.losses.len() - before;
            most_pairs = most_pairs.max(own.losses.len());
        }
        for (name, host) in other.hosts {
            let own = self.hosts.entry(name).or_insert_with(|| OfHost {
                source: host.source,
                is_simulated: host.is_simulated,
                ..OfHost::default()
            });
            let before = own.kept();
            Merge::merge(&mut own.watched, host.watched);
            Merge::merge(&mut own.storms, host.storms);
            own.track.merge(host.track);
            let after = own.kept();
            (self.pairs, self.storms) =
                (self.pairs + after.0 - before.0, self.storms + after.1 - before.1);
        }
        for (own, theirs) in
            [(&mut self.requests, other.requests), (&mut self.models, other.models)]
        {
            theirs.into_iter().for_each(|(name, sum)| summed(own, &name).merge(&sum));
        }
        // Places of units are those of before.
        self.last = None;
        self.look_whether_full(most_pairs);
    }

    /// What it comes to.
    pub fn finish(self) -> Fleet {
        let Self { asked, units, hosts, requests, models, bins, rows, .. } = self;
        let fleet = Sums { asked, units, hosts, requests };
        let sum = |of: &dyn Fn(&Unit) -> f64| fleet.units.values().map(of).sum::<f64>();
        let lost_ns = |side: Side| {
            sum(&|unit| unit.losses.values().map(|series| series.sum_ns(side)).sum::<f64>())
        };
        let watched_ns = |side: Side| {
            let all = fleet.hosts.values().flat_map(|host| host.watched.values());
            all.map(|series| series.sum_ns(side)).sum::<f64>()
        };
        let a_day = |side| series::a_day(lost_ns(side), watched_ns(side));
        Fleet {
            by: asked.by,
            span_unix_ns: (asked.from_unix_ns, asked.until_unix_ns),
            hosts: fleet.hosts.len(),
            simulated: fleet.hosts.values().filter(|host| host.is_simulated).count(),
            rows,
            watched_ns: watched_ns(Side::All) as u64,
            lost_ns: lost_ns(Side::All),
            waited_ns: sum(&|unit| unit.waited.sum_ns(Side::All)) as u64,
            findings: stand::findings(&fleet),
            slower: kind::slower(&fleet),
            stall_ns: pace::SLOW_NS,
            lines: lines::lines(&fleet),
            storms: storms::storms(&fleet),
            change_unix_ns: asked.change_unix_ns,
            before_after: asked.change_unix_ns.map(|_| (a_day(Side::Before), a_day(Side::After))),
            pictures: bins.map(|bins| pictures::pictures(&fleet, bins, &models)),
        }
    }
}

/// What lines are of, in the plural.
fn names_of(by: FleetBy) -> &'static str {
    match by {
        FleetBy::Host => "hosts",
        FleetBy::Model => "device models",
        FleetBy::Firmware => "versions of firmware",
        FleetBy::Kernel => "kernels",
        FleetBy::Role => "roles",
        FleetBy::Cause => "causes",
        FleetBy::Hour => "hours",
    }
}

/// Requests of no row yet.
fn nothing() -> Rollup {
    Rollup { from_unix_ns: i64::MAX, ..Rollup::default() }
}

/// The sum of a name.
fn summed<'a>(all: &'a mut IndexMap<String, Rollup>, name: &str) -> &'a mut Rollup {
    if !all.contains_key(name) {
        all.insert(name.to_owned(), nothing());
    }
    &mut all[name]
}

/// All rows, added up.
struct Sums {
    asked: Asked,
    units: IndexMap<UnitKey, Unit>,
    hosts: IndexMap<String, OfHost>,
    requests: IndexMap<String, Rollup>,
}

impl Sums {
    /// The input that a host's rows are in.
    fn source_of(&self, host: &str) -> usize {
        self.hosts.get(host).map_or(0, |of| of.source)
    }

    /// When a day begins.
    fn day_ns(&self, day: i64) -> i64 {
        self.asked.change_unix_ns.unwrap_or(0).saturating_add(day.saturating_mul(DAY_NS))
    }
}

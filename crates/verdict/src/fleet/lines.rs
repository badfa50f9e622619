//! Tables: a line for each host, model, firmware, kernel, role, cause or hour, with what was lost,
//! and percentiles of the merged histograms.

use super::series::{Side, Sum, a_day};
use super::{Sums, UnitKey};
use analyze::statistics::student_of;
use model::fleet::{FleetBy, FleetLine, Found};
use model::histogram::SparseHistogram;
use model::history::HOUR_NS;
use model::record::Rollup;
use std::collections::{BTreeMap, BTreeSet};

const HOURS: [&str; 24] = [
    "00:00Z", "01:00Z", "02:00Z", "03:00Z", "04:00Z", "05:00Z", "06:00Z", "07:00Z", "08:00Z",
    "09:00Z", "10:00Z", "11:00Z", "12:00Z", "13:00Z", "14:00Z", "15:00Z", "16:00Z", "17:00Z",
    "18:00Z", "19:00Z", "20:00Z", "21:00Z", "22:00Z", "23:00Z",
];

/// The line of an hour of the day.
pub(super) fn hour_name(unix_ns: i64) -> &'static str {
    let hour = unix_ns.div_euclid(HOUR_NS).rem_euclid(24);
    usize::try_from(hour).ok().and_then(|hour| HOURS.get(hour)).copied().unwrap_or_default()
}

/// The line of a unit; empty where it is not known.
pub(super) fn attribute(by: FleetBy, [host, _, model, firmware, kernel]: &UnitKey) -> String {
    match by {
        FleetBy::Model => model.clone(),
        FleetBy::Firmware if firmware.is_empty() => String::new(),
        FleetBy::Firmware => format!("{model} {firmware}").trim().to_owned(),
        FleetBy::Kernel => kernel.clone(),
        FleetBy::Host | FleetBy::Role | FleetBy::Cause | FleetBy::Hour => host.clone(),
    }
}

/// What a line adds up.
#[derive(Debug, Default)]
struct Line<'a> {
    hosts: BTreeMap<&'a str, f64>,
    /// Before a moment, after it, and in all.
    lost_ns: [f64; 3],
    chance_ns2: f64,
    waited_ns: f64,
    causes: BTreeMap<&'a str, f64>,
}

const SIDES: [Side; 3] = [Side::Before, Side::After, Side::All];

impl<'a> Line<'a> {
    fn lost(&mut self, host: &'a str, cause: &'a str, lost_ns: [f64; 3], chance_ns: f64) {
        self.lost_ns.iter_mut().zip(lost_ns).for_each(|(sum, ns)| *sum += ns);
        self.chance_ns2 += chance_ns.powi(2);
        *self.hosts.entry(host).or_default() += lost_ns[2];
        *self.causes.entry(cause).or_default() += lost_ns[2];
    }

    fn waited(&mut self, host: &'a str, waited_ns: f64) {
        self.waited_ns += waited_ns;
        self.hosts.entry(host).or_default();
    }
}

/// The deviation of an hour's sum.
fn chance_ns(sum: &Sum) -> f64 {
    1e3 * (sum.us2.max(0) as f64).sqrt()
}

/// All lines.
pub(super) fn lines(fleet: &Sums) -> Vec<FleetLine> {
    let by = fleet.asked.by;
    let mut all: BTreeMap<String, Line<'_>> = BTreeMap::new();
    for (key, unit) in &fleet.units {
        let host = key[0].as_str();
        for ((role, cause), series) in &unit.losses {
            let lost_ns = SIDES.map(|side| series.sum_ns(side));
            let group = match by {
                FleetBy::Role => role.clone(),
                FleetBy::Cause => cause.clone(),
                FleetBy::Hour => {
                    for (name, sum) in HOURS.iter().zip(&series.hours) {
                        let line = all.entry((*name).to_owned()).or_default();
                        line.lost(host, cause, [0.0, 0.0, sum.ns as f64], chance_ns(sum));
                    }
                    continue;
                }
                by => attribute(by, key),
            };
            let chance_ns = series.chance_ns(Side::All);
            all.entry(group).or_default().lost(host, cause, lost_ns, chance_ns);
        }
        let waited_ns = unit.waited.sum_ns(Side::All);
        match by {
            FleetBy::Hour => {
                for (name, sum) in HOURS.iter().zip(&unit.waited.hours) {
                    all.entry((*name).to_owned()).or_default().waited(host, sum.ns as f64);
                }
            }
            // What was waited is not known by cause, and is all hosts' of a role.
            FleetBy::Role | FleetBy::Cause => {}
            by => all.entry(attribute(by, key)).or_default().waited(host, waited_ns),
        }
    }
    let wide = student_of(all.len(), f64::INFINITY).unwrap_or(f64::INFINITY);
    let mut lines: Vec<FleetLine> =
        all.iter().map(|(group, line)| told(fleet, group, line, wide)).collect();
    if by != FleetBy::Hour {
        lines.sort_by(|a, b| b.lost_ns.total_cmp(&a.lost_ns).then(a.group.cmp(&b.group)));
    }
    lines
}

fn told(fleet: &Sums, group: &str, line: &Line<'_>, wide: f64) -> FleetLine {
    let hosts: BTreeSet<&str> = line.hosts.keys().copied().collect();
    let watched_ns = |side: Side| {
        let of_hosts = hosts.iter().filter_map(|host| fleet.hosts.get(*host));
        let of_kernel = |kernel: &str| fleet.asked.by != FleetBy::Kernel || kernel == group;
        let all = of_hosts.flat_map(|host| &host.watched).filter(|(kernel, _)| of_kernel(kernel));
        all.map(|(_, series)| series.sum_ns(side)).sum::<f64>()
    };
    let requests = fleet.requests.get(group);
    let responses: Option<SparseHistogram> = requests.and_then(Rollup::responses);
    let responses = responses.filter(|responses| responses.count() > 0);
    let quantile = |share| responses.as_ref().and_then(|responses| responses.quantile_ns(share));
    let cause = line.causes.iter().max_by(|a, b| a.1.total_cmp(b.1));
    let cause = cause.filter(|(_, lost_ns)| **lost_ns > 0.0);
    let worst = line.hosts.iter().max_by(|a, b| a.1.total_cmp(b.1)).map_or("", |worst| worst.0);
    let a_day = |place: usize| a_day(line.lost_ns[place], watched_ns(SIDES[place]));
    let is_compared = fleet.asked.change_unix_ns.is_some() && fleet.asked.by != FleetBy::Hour;
    FleetLine {
        group: group.to_owned(),
        hosts: hosts.len(),
        watched_ns: watched_ns(Side::All) as u64,
        lost_ns: line.lost_ns[2],
        half_ns: wide * line.chance_ns2.sqrt(),
        percent: (line.waited_ns > 0.0).then(|| 100.0 * line.lost_ns[2] / line.waited_ns),
        cause: cause.map(|(cause, lost_ns)| ((*cause).to_owned(), *lost_ns)),
        requests: requests.map_or(0, |sum| sum.count),
        failed: requests.map_or(0, |sum| sum.failed),
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
        max_ns: responses.as_ref().map(|responses| responses.max_ns()),
        before_after: is_compared.then(|| (a_day(0), a_day(1))),
        worst: Found { host: worst.to_owned(), source: fleet.source_of(worst) },
    }
}

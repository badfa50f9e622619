//! Tables of one quantity across something: request sizes, channels, test intervals.

use super::cell::{Cell, Column, Draft, Row, labels, sheet as draw, show_interval};
use super::routine::{Group, Routine, Routines};
use crate::figure::Figure;
use crate::number::{RateUnit, significant};
use crate::sheet::Sheet;
use model::units::show_size;

const RATE: &str = "routine_bytes_per_s";
const OPERATIONS: &str = "routine_operations_per_s";
const P50: &str = "operation_latency_p50_ns";

/// How a figure is printed.
type Show<'a> = &'a dyn Fn(f64, &Figure) -> String;

/// Columns with their keys, and the figure of a row under a key.
fn columns<'a, R, K>(
    rows: &[R],
    keys: &[K],
    head: impl Fn(&K) -> String,
    cell: impl Fn(&R, &K) -> Cell + 'a,
) -> Vec<Column> {
    let column = |key: &K| Column {
        group: "",
        head: head(key),
        cells: rows.iter().map(|row| cell(row, key)).collect(),
    };
    keys.iter().map(column).collect()
}

/// In order, each once.
fn distinct<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items.dedup();
    items
}

/// A quantity of the routines of each group by request size.
fn size_draft(group: &Group<'_>, quantity: &str, show: impl Fn(f64, &Figure) -> String) -> Draft {
    let rows = &group.routines;
    let sizes = distinct(rows.iter().flat_map(|routine| routine.sizes(quantity)));
    let keys: Vec<Row> = rows.iter().map(|routine| (&routine.key, None)).collect();
    let cell = |routine: &&Routine, bytes: &u64| {
        Cell::of(&routine.key, routine.at(*bytes, quantity), &show)
    };
    Draft {
        heading: group.heading.clone(),
        labels: labels(&keys),
        columns: columns(rows, &sizes, |bytes| show_size(*bytes), cell),
    }
}

/// Routines that do not compute, more channels than one only where they have several sizes.
fn by_size_groups<'a>(routines: &'a Routines, quantity: &str) -> Vec<Group<'a>> {
    routines.groups(|routine| {
        let sizes = routine.sizes(quantity).count();
        let is_wanted = if routine.key.channels == 1 { sizes > 0 } else { sizes > 1 };
        is_wanted && routine.key.computing.is_none()
    })
}

/// The unit of a quantity of rates.
fn rate_unit(groups: &[Group<'_>]) -> RateUnit {
    let all = groups.iter().flat_map(|group| &group.routines);
    let rates = all.flat_map(|r| r.sizes(RATE).filter_map(|bytes| r.at(bytes, RATE)?.value));
    RateUnit::for_rates(rates)
}

/// R(B,N): a row a routine, a column a request size.
pub(super) fn rates_by_size(routines: &Routines) -> Option<Sheet> {
    let groups = by_size_groups(routines, RATE);
    let unit = rate_unit(&groups);
    let show = |value: f64, _: &Figure| unit.show(value);
    let drafts = groups.iter().map(|group| size_draft(group, RATE, show)).collect();
    let title = format!("Rate R(B,N) in {} ({}), by request size", unit.name, unit.meaning);
    draw(title, drafts)
}

/// Whether there is more by request size than rates.
pub(super) fn has_latencies(routines: &Routines) -> bool {
    !by_size_groups(routines, P50).is_empty()
}

/// What else was measured at each request size.
pub(super) fn by_size(routines: &Routines) -> Vec<Sheet> {
    const TABLES: &[(&str, &str)] = &[
        (P50, "Median latency of a request in ns, by request size"),
        ("operation_latency_p99_ns", "99th percentile of the latency in ns, by request size"),
        ("operation_cpu_own_ns", "CPU time of a request in ns, own thread, by request size"),
        (
            "operation_cpu_difference_ns",
            "CPU time of a request in ns, whole bill by difference, by request size",
        ),
    ];
    let sheet = |(quantity, title): &(&str, &str)| {
        let groups = by_size_groups(routines, quantity);
        let show = |value: f64, _: &Figure| significant(value);
        let drafts = groups.iter().map(|group| size_draft(group, quantity, show)).collect();
        draw((*title).to_owned(), drafts)
    };
    TABLES.iter().filter_map(sheet).collect()
}

/// Routines that differ in one thing only, at one request size.
struct Family<'a> {
    members: Vec<&'a Routine>,
    bytes: u64,
}

/// The families of a group by what `alike` leaves apart, each at each of its sizes, where at least
/// `least` members were measured.
fn families<'a>(
    group: &Group<'a>,
    alike: impl Fn(&Routine, &Routine) -> bool,
    least: usize,
) -> Vec<Family<'a>> {
    let mut found: Vec<Family<'a>> = Vec::new();
    for routine in &group.routines {
        for bytes in routine.sizes(RATE) {
            let is_kin = |family: &&mut Family<'a>| {
                family.bytes == bytes && family.members.iter().all(|known| alike(known, routine))
            };
            match found.iter_mut().find(is_kin) {
                Some(family) => family.members.push(routine),
                None => found.push(Family { members: vec![routine], bytes }),
            }
        }
    }
    found.retain(|family| family.members.len() >= least);
    found
}

/// A quantity of families across what sets their members apart.
fn family_draft<K: Ord>(
    group: &Group<'_>,
    families: &[Family<'_>],
    apart: impl Fn(&Routine) -> K,
    head: impl Fn(&K) -> String,
    (quantity, show): (&str, Show<'_>),
) -> Draft {
    let keys = distinct(families.iter().flat_map(|f| &f.members).map(|r| apart(r)));
    let mut names: Vec<crate::grid::Labels> = Vec::new();
    let engines = families.iter().map(|f| f.members[0].key.engine.clone()).collect();
    let sizes = families.iter().map(|f| show_size(f.bytes)).collect();
    names.push(crate::grid::Labels { head: "Engine", texts: engines });
    names.push(crate::grid::Labels { head: "B", texts: sizes });
    let cell = |family: &Family<'_>, key: &K| {
        let member = family.members.iter().find(|routine| apart(routine) == *key);
        member.map_or_else(Cell::default, |r| Cell::of(&r.key, r.at(family.bytes, quantity), show))
    };
    Draft {
        heading: group.heading.clone(),
        labels: names,
        columns: columns(families, &keys, head, cell),
    }
}

/// R(B,N) against the number of channels.
pub(super) fn rates_by_channels(routines: &Routines) -> Option<Sheet> {
    let groups = routines.groups(|routine| routine.key.computing.is_none());
    let unit = rate_unit(&groups);
    let show = |value: f64, _: &Figure| unit.show(value);
    let alike = |a: &Routine, b: &Routine| a.key.engine == b.key.engine;
    let draft = |group: &Group<'_>| {
        let families = families(group, alike, 2);
        let channels = |routine: &Routine| routine.key.channels;
        let head = |channels: &u64| format!("N = {channels}");
        (!families.is_empty())
            .then(|| family_draft(group, &families, channels, head, (RATE, &show)))
    };
    let title = format!("Rate R(B,N) in {} ({}), all channels together", unit.name, unit.meaning);
    draw(title, groups.iter().filter_map(draft).collect())
}

/// Fewer test intervals than this are no sweep.
const INTERVALS_MIN: usize = 4;

/// Requests a second against the interval at which their completion is tested.
pub(super) fn rates_by_interval(routines: &Routines) -> Option<Sheet> {
    let groups = routines.groups(|_| true);
    let alike = |a: &Routine, b: &Routine| {
        let what = |r: &Routine| r.key.computing.clone().map(|(what, _)| what);
        let is_other = what(a).zip(what(b)).is_some_and(|(a, b)| a != b);
        (&a.key.engine, a.key.channels) == (&b.key.engine, b.key.channels) && !is_other
    };
    let show = |value: f64, _: &Figure| significant(value);
    let draft = |group: &Group<'_>| {
        let families = families(group, alike, INTERVALS_MIN);
        let interval = |r: &Routine| r.key.computing.as_ref().map_or(0, |(_, ns)| *ns);
        let head = |ns: &u64| match ns {
            0 => "waiting".into(),
            ns => show_interval(*ns),
        };
        (!families.is_empty())
            .then(|| family_draft(group, &families, interval, head, (OPERATIONS, &show)))
    };
    let title =
        "Requests a second, by the interval at which a computing program tests for completion";
    let sheet = draw(title.into(), groups.iter().filter_map(draft).collect())?;
    let legend = vec![("waiting", "the program does nothing but wait for its requests".to_owned())];
    Some(Sheet { legend, ..sheet })
}

//! Tables of one quantity across something: request sizes, channels, test intervals.

use super::cell::{
    Cell, Column, Draft, Row, distinct, labels, sheet as draw, show_interval, sized, with_interval,
};
use super::routine::{Group, Key, OVERHEAD, RATE, Routine, Routines};
use crate::figure::Figure;
use crate::grid::Labels;
use crate::number::{RateUnit, significant};
use crate::sheet::Sheet;
use model::units::show_size;

const OPERATIONS: &str = "routine_operations_per_s";
const P50: &str = "operation_latency_p50_ns";

type Show<'a> = &'a dyn Fn(f64, &Figure) -> String;

/// Columns with their keys, and the figure of a row under a key.
fn columns<R, K>(
    rows: &[R],
    keys: &[K],
    head: impl Fn(&K) -> String,
    cell: impl Fn(&R, &K) -> Cell,
) -> Vec<Column> {
    let column = |key: &K| Column {
        group: String::new(),
        head: head(key),
        cells: rows.iter().map(|row| cell(row, key)).collect(),
    };
    keys.iter().map(column).collect()
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

/// R(B,N): a row a routine, a column a request size.
pub(super) fn rates_by_size(routines: &Routines) -> Option<Sheet> {
    let groups = by_size_groups(routines, RATE);
    let unit = routines.rate_unit();
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
        ("operation_cpu_thread_ns", "Thread CPU of a request in ns, by request size"),
        ("operation_cpu_total_ns", "Total CPU of a request in ns, by request size"),
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

/// The families of routines by what `alike` leaves apart, each at each of its sizes, where at least
/// `least` members were measured.
fn families<'a>(
    routines: &[&'a Routine],
    alike: fn(&Routine, &Routine) -> bool,
    least: usize,
) -> Vec<Family<'a>> {
    let mut found: Vec<Family<'a>> = Vec::new();
    for routine in routines {
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

/// R(B,N) against the number of channels: a row an engine.
pub(super) fn rates_by_channels(routines: &Routines) -> Option<Sheet> {
    let groups = routines.groups(|routine| routine.key.computing.is_none());
    let alike = |a: &Routine, b: &Routine| a.key.engine == b.key.engine;
    let families: Vec<(&Group, Vec<Family>)> =
        groups.iter().map(|group| (group, families(&group.routines, alike, 2))).collect();
    let unit = routines.rate_unit();
    let drafts = families.iter().filter(|(_, all)| !all.is_empty());
    let drafts = drafts.map(|(group, families)| channels_draft(group, families, unit)).collect();
    let title = format!("Rate R(B,N) in {} ({}), all channels together", unit.name, unit.meaning);
    draw(title, drafts)
}

fn channels_draft(group: &Group<'_>, families: &[Family<'_>], unit: RateUnit) -> Draft {
    let (heading, sizes) = sized(group, families.iter().map(|family| family.bytes));
    let channels = distinct(families.iter().flat_map(|f| &f.members).map(|r| r.key.channels));
    // The first member names the row, as if it had one channel: the columns have the channels.
    let named = |family: &Family| Key { channels: 1, ..family.members[0].key.clone() };
    let keys: Vec<Key> = families.iter().map(named).collect();
    let rows: Vec<Row> = keys.iter().zip(sizes).collect();
    let cell = |family: &Family, channels: &u64| {
        let member = family.members.iter().find(|routine| routine.key.channels == *channels);
        let show = |value: f64, _: &Figure| unit.show(value);
        member.map_or_else(Cell::default, |r| Cell::of(&r.key, r.at(family.bytes, RATE), show))
    };
    let head = |channels: &u64| format!("N = {channels}");
    Draft { heading, labels: labels(&rows), columns: columns(families, &channels, head, cell) }
}

/// Fewer test intervals than this are no sweep.
const INTERVALS_MIN: usize = 4;

/// Whether two routines differ in their test interval alone, waiting for completion being one.
fn differs_in_interval(one: &Routine, other: &Routine) -> bool {
    let what = |routine: &Routine| routine.key.computing.clone().map(|(what, _)| what);
    let is_same = what(one).zip(what(other)).is_none_or(|(one, other)| one == other);
    (&one.key.engine, one.key.channels) == (&other.key.engine, other.key.channels) && is_same
}

/// Whether a routine is one of a sweep of test intervals.
pub(super) fn is_swept(routine: &Routine, all: &[&Routine]) -> bool {
    let is_in = |family: &Family| family.members.iter().any(|member| member.key == routine.key);
    families(all, differs_in_interval, INTERVALS_MIN).iter().any(is_in)
}

/// Requests a second and T_OH against the interval at which completion is tested: a row an
/// interval.
pub(super) fn rates_by_interval(routines: &Routines) -> Option<Sheet> {
    let groups = routines.groups(|_| true);
    let draft = |group: &Group<'_>| {
        let families = families(&group.routines, differs_in_interval, INTERVALS_MIN);
        (!families.is_empty()).then(|| interval_draft(group, &families))
    };
    let title = "The test interval: requests a second, and T_OH in ns, where a computing program \
        tests for completion";
    let sheet = draw(title.into(), groups.iter().filter_map(draft).collect())?;
    let legend = vec![("waiting", "the program does nothing but wait for its requests".to_owned())];
    Some(Sheet { legend, ..sheet })
}

fn interval_draft(group: &Group<'_>, families: &[Family<'_>]) -> Draft {
    let (heading, sizes) = sized(group, families.iter().map(|family| family.bytes));
    let interval = |r: &Routine| r.key.computing.as_ref().map_or(0, |(_, ns)| *ns);
    let all = families.iter().flat_map(|family| &family.members);
    let intervals = distinct(all.map(|routine| interval(routine)));
    let text = |ns: &u64| if *ns == 0 { "waiting".into() } else { show_interval(*ns) };
    let labels = vec![Labels { head: "Test every", texts: intervals.iter().map(text).collect() }];
    let show_rate = |value: f64, _: &Figure| significant(value);
    let column =
        |family: &Family, size: Option<u64>, (head, quantity, show): (&str, &str, Show)| {
            let Key { engine, channels, .. } = &family.members[0].key;
            let size = size.map_or_else(String::new, |bytes| format!(", B = {}", show_size(bytes)));
            let several = if *channels == 1 { String::new() } else { format!(" × {channels}") };
            let cell = |ns: &u64| {
                let member = family.members.iter().find(|routine| interval(routine) == *ns);
                let found = |r: &&Routine| Cell::of(&r.key, r.at(family.bytes, quantity), show);
                member.map_or_else(Cell::default, found)
            };
            let cells = intervals.iter().map(cell).collect();
            Column { group: format!("{}{several}{size}", engine.name()), head: head.into(), cells }
        };
    let columns = families.iter().zip(sizes).flat_map(|(family, size)| {
        let rate: (&str, &str, Show) = ("requests/s", OPERATIONS, &show_rate);
        [rate, ("T_OH", OVERHEAD, &with_interval)].map(|number| column(family, size, number))
    });
    Draft { heading, labels, columns: columns.collect() }
}

//! The sync experiment's charts: for each pattern and number of writers, how long a commit takes by
//! each method.
//!
//! Non-goals: drawing.

use super::{Row, method, rows};
use crate::chart::{Axis, Chart, Entry, Kind, Scale, entries};
use crate::experiments::Named;
use model::units::show_size;

const LATENCIES: [(&str, &str); 3] =
    [("median", "latency_p50_ns"), ("p99", "latency_p99_ns"), ("max", "latency_max_ns")];

/// What the commits of a chart have in common.
type Group = (String, u64);

/// All charts of these runs.
pub(super) fn all(runs: &[Named<'_>]) -> Vec<Chart> {
    let rows = runs
        .iter()
        .flat_map(|named| rows(named.run.findings).into_iter().map(move |row| (named, row)));
    let rows: Vec<(&Named<'_>, Row)> = rows.collect();
    let group = |row: &Row| (row.key.pattern.clone(), row.key.writers);
    let groups = crate::words::first_seen(&rows.iter().map(|(_, r)| group(r)).collect::<Vec<_>>());
    let is_alone = groups.len() == 1;
    let of = |(place, wanted): (usize, &Group)| {
        let own = rows.iter().filter(|(_, row)| group(row) == *wanted);
        chart(place, wanted, own.collect(), is_alone)
    };
    groups.iter().enumerate().filter_map(of).collect()
}

fn chart(
    place: usize,
    (pattern, writers): &Group,
    rows: Vec<&(&Named<'_>, Row)>,
    is_alone: bool,
) -> Option<Chart> {
    let of = |(named, row): &(&Named<'_>, Row)| {
        let size = show_size(row.key.block_bytes);
        let category = named.within(&format!("{}, {size}", method(&row.key)));
        entries(&category, &LATENCIES, |quantity| row.figure(quantity))
    };
    let entries: Vec<Entry> = rows.into_iter().flat_map(of).collect();
    let (id, title) = match is_alone {
        true => ("commits".to_owned(), "Latency of a commit".to_owned()),
        false => (
            format!("commits-{}", place + 1),
            format!("{pattern}, {writers} writer{}", if *writers == 1 { "" } else { "s" }),
        ),
    };
    let axis = Axis::new("latency of write and sync", "ns", Scale::Log);
    let chart = Chart::rows(&id, &title, Kind::Dots, axis, &entries)?;
    let method = "A write and the call that makes it durable, all passes together; within a size \
        the fastest method first.";
    let chart = chart.by(method);
    Some(if is_alone { chart } else { chart.half() })
}

//! The accounts of CPU time side by side: the submitting thread, and total CPU found three
//! times over. Where the total is a multiple of the own thread's, others do the work.

use super::cell::{Cell, Column, Draft, distinct, labels, sheet as draw, sized, with_interval};
use super::routine::{Group, Routine, Routines};
use crate::sheet::{Sheet, lines};

const OWN: &str = "operation_cpu_thread_ns";
const DIFFERENCE: &str = "operation_cpu_difference_ns";
const IDLE_LOAD: &str = "operation_cpu_idle_load_ns";
const TRACE: &str = "operation_cpu_trace_ns";
const TRACE_RATIO: &str = "cpu_total_trace_ratio";
const DIFFERENCE_RATIO: &str = "cpu_total_difference_ratio";

/// Group, head, quantity.
const COLUMNS: &[(&str, &str, &str)] = &[
    ("", "thread CPU", OWN),
    (TOTAL, "difference", DIFFERENCE),
    (TOTAL, "idle-load", IDLE_LOAD),
    (TOTAL, "trace", TRACE),
];
const TOTAL: &str = "total CPU by";

/// A row: a routine at a request size.
type Row<'a> = (&'a Routine, u64);

/// The table of the cells that were measured by idle load or by trace; none without such.
pub(super) fn sheet(routines: &Routines) -> Option<Sheet> {
    let is_measured = |routine: &Routine| sizes(routine).next().is_some();
    let groups = routines.groups(is_measured);
    let sheet = draw(
        format!("CPU time of a request in ns, by account, ± {}", routines.interval()),
        groups.iter().map(draft).collect(),
    )?;
    let legend = [
        ("thread CPU", "what the job's thread used"),
        (
            "difference",
            "all CPUs' time less idle, stolen, other programs' and the machine's by itself",
        ),
        ("idle-load", "what loops of the lowest priority on every CPU did not get"),
        ("trace", "every switch and interrupt, by BPF"),
        (
            "total/thread",
            "the trace's total (the difference's where there is no trace) over the thread's CPU, \
             of the same passes: above 1, others do work for the request",
        ),
    ];
    Some(Sheet { legend: lines(&legend), ..sheet })
}

fn sizes(routine: &Routine) -> impl Iterator<Item = u64> {
    distinct(routine.sizes(IDLE_LOAD).chain(routine.sizes(TRACE))).into_iter()
}

fn draft(group: &Group<'_>) -> Draft {
    let routines = group.routines.iter();
    let rows: Vec<Row> = routines.flat_map(|r| sizes(r).map(|bytes| (*r, bytes))).collect();
    let (heading, sizes) = sized(group, rows.iter().map(|(_, bytes)| *bytes));
    let keys: Vec<_> = rows.iter().zip(sizes).map(|((r, _), size)| (&r.key, size)).collect();
    let cell = |(routine, bytes): &Row, quantity| {
        Cell::of(&routine.key, routine.at(*bytes, quantity), with_interval)
    };
    let column =
        |group: &str, head: &str, cells| Column { group: group.into(), head: head.into(), cells };
    let accounts = COLUMNS.iter().map(|(group, head, quantity)| {
        column(group, head, rows.iter().map(|row| cell(row, quantity)).collect())
    });
    let ratios = rows.iter().map(|(routine, bytes)| {
        let figure = |quantity| routine.at(*bytes, quantity);
        let figure = figure(TRACE_RATIO).or_else(|| figure(DIFFERENCE_RATIO));
        Cell::of(&routine.key, figure, with_interval)
    });
    let ratios = column("", "total/thread", ratios.collect());
    Draft { heading, labels: labels(&keys), columns: accounts.chain([ratios]).collect() }
}

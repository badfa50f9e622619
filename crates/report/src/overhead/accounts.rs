//! Total CPU of a request, and the accounts that it is held against. Where the total is a multiple
//! of the own thread's, others do the work.

use super::cell::{Cell, Column, Draft, distinct, labels, sheet as draw, sized, with_interval};
use super::routine::{Group, Routine, Routines};
use crate::sheet::{Sheet, lines};

const OWN: &str = "operation_cpu_thread_ns";
const TOTAL: &str = "operation_cpu_total_ns";
const TOTAL_RATIO: &str = "cpu_total_ratio";
const IDLE_LOAD: &str = "operation_cpu_idle_load_ns";
const TRACE: &str = "operation_cpu_trace_ns";
const BESIDE: &str = "held against";

/// A row: a routine at a request size.
type Row<'a> = (&'a Routine, u64);

/// The table of the cells that were measured by idle load or by trace; none without such.
pub(super) fn sheet(routines: &Routines) -> Option<Sheet> {
    let is_measured = |routine: &Routine| sizes(routine).next().is_some();
    let groups = routines.groups(is_measured);
    let sheet = draw(
        format!("CPU time of a request in ns, ± {}", routines.interval()),
        groups.iter().map(draft).collect(),
    )?;
    let legend = [
        ("thread CPU", "what the job's thread used"),
        (
            "total CPU",
            "from what the clocks of all threads that worked in the program say, to all CPUs' time \
             less idle, stolen, other programs' and the machine's by itself",
        ),
        (
            "total/thread",
            "the total over the thread's CPU: above 1, others do work for the request",
        ),
        ("idle-load", "what loops of the lowest priority on every CPU did not get"),
        ("trace", "every switch and interrupt, by BPF"),
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
    let column = |group: &str, head: &str, show: &dyn Fn(&Row) -> Cell| {
        let cells = rows.iter().map(show).collect();
        Column { group: group.into(), head: head.into(), cells }
    };
    let columns = vec![
        column("", "thread CPU", &|row| cell(row, OWN)),
        column("", "total CPU", &|row| cell(row, TOTAL)),
        column("", "total/thread", &|row| cell(row, TOTAL_RATIO)),
        column(BESIDE, "idle-load", &|row| cell(row, IDLE_LOAD)),
        column(BESIDE, "trace", &|row| cell(row, TRACE)),
    ];
    Draft { heading, labels: labels(&keys), columns }
}

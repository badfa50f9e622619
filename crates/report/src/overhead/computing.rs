//! Computing beside I/O: what a request takes away from the computing, by equation 2, at each
//! request size and test interval, and its line.

use super::cell::{Cell, Column, Draft, Row, labels, sheet as draw};
use super::routine::{Group, Routine, Routines};
use crate::figure::Figure;
use crate::number::{interval, significant};
use crate::sheet::Sheet;
use model::units::show_size;

const OVERHEAD: &str = "operation_overhead_ns";

/// The columns behind the sizes: head, quantity of the account of loops.
const LINE: &[(&str, &str)] = &[
    ("T_call ns", "t_call_ns"),
    ("T_trans ns/KiB", "t_trans_ns_per_kib"),
    ("t_loop ns", "loop_ns"),
];

/// The table; none if nothing was computed.
pub(super) fn sheet(routines: &Routines) -> Option<Sheet> {
    let groups = routines.groups(|routine| routine.sizes(OVERHEAD).next().is_some());
    let title = "Computing beside I/O: T_OH, what a request takes away from computing (equation 2), in ns, ± half the 95 % interval";
    let sheet = draw(title.into(), groups.iter().map(draft).collect())?;
    let legend = [
        ("T_OH", "(T_t − N_loop × t_loop) / requests, less the harness's own"),
        ("t_loop", "one compute-and-test loop without I/O"),
    ];
    let legend = legend.map(|(name, text)| (name, text.to_owned())).into();
    Some(Sheet { legend, ..sheet })
}

fn draft(group: &Group<'_>) -> Draft {
    let mut rows = group.routines.clone();
    // An engine's intervals together, in the order in which the engines were measured.
    let engines: Vec<String> = rows.iter().map(|r| r.key.engine.clone()).collect();
    rows.sort_by_key(|r| {
        let place = engines.iter().position(|engine| *engine == r.key.engine);
        (place, r.key.channels, r.key.computing.clone())
    });
    let keys: Vec<Row> = rows.iter().map(|routine| (&routine.key, None)).collect();
    let mut sizes: Vec<u64> = rows.iter().flat_map(|routine| routine.sizes(OVERHEAD)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let column = |group, head: String, of: &dyn Fn(&Routine) -> Cell| Column {
        group,
        head,
        cells: rows.iter().map(|routine| of(routine)).collect(),
    };
    let show = |value: f64, figure: &Figure| interval(value, figure.half_interval());
    let by_size = sizes.iter().map(|bytes| {
        let cell = |r: &Routine| Cell::of(&r.key, r.at(*bytes, OVERHEAD), show);
        column("T_OH ns", show_size(*bytes), &cell)
    });
    let line = LINE.iter().map(|(head, quantity)| {
        let text = |value: f64, figure: &Figure| match *quantity {
            "loop_ns" => significant(value),
            _ => show(value, figure),
        };
        let cell = |r: &Routine| Cell::of(&r.key, r.line("loops", quantity), text);
        column("", (*head).into(), &cell)
    });
    let columns = by_size.chain(line).collect();
    Draft { heading: group.heading.clone(), labels: labels(&keys), columns }
}

//! Computing during I/O: what a request takes away from the computing, by equation 2, at each
//! request size and test interval, and its line.

use super::across::is_swept;
use super::cell::{Cell, Column, Draft, Row, distinct, labels, sheet as draw, with_interval};
use super::routine::{Group, OVERHEAD, Routine, Routines};
use crate::number::significant;
use crate::sheet::{Sheet, lines};
use model::units::show_size;

/// The table; none if nothing was computed. What was measured for a sweep of the test interval
/// alone stands in the table of that.
pub(super) fn sheet(routines: &Routines) -> Option<Sheet> {
    let groups = routines.groups(|_| true).into_iter().filter_map(|mut group| {
        let all = std::mem::take(&mut group.routines);
        let is_shown = |r: &&Routine| match r.sizes(OVERHEAD).count() {
            0 => false,
            1 => !is_swept(r, &all),
            _ => true,
        };
        group.routines = all.iter().copied().filter(is_shown).collect();
        (!group.routines.is_empty()).then_some(group)
    });
    let title = format!(
        "Computing during I/O: T_OH, what a request takes away from computing (equation 2), ± {}",
        routines.interval()
    );
    let sheet = draw(title, groups.map(|group| draft(&group)).collect())?;
    let legend = [
        (
            "T_OH",
            "(T_t − N_loop × t_loop) / requests, less the harness's own; T_call and T_trans are \
             its line",
        ),
        ("t_loop", "one compute-and-test loop without I/O"),
    ];
    Some(Sheet { legend: lines(&legend), ..sheet })
}

fn draft(group: &Group<'_>) -> Draft {
    let rows = &group.routines;
    let keys: Vec<Row> = rows.iter().map(|routine| (&routine.key, None)).collect();
    let sizes = distinct(rows.iter().flat_map(|routine| routine.sizes(OVERHEAD)));
    let column = |group: &str, head: &str, of: &dyn Fn(&Routine) -> Cell| Column {
        group: group.into(),
        head: head.into(),
        cells: rows.iter().map(|routine| of(routine)).collect(),
    };
    let by_size = sizes.iter().map(|bytes| {
        let cell = |r: &Routine| Cell::of(&r.key, r.at(*bytes, OVERHEAD), with_interval);
        column("T_OH, ns, of B =", &show_size(*bytes), &cell)
    });
    let lines = [("T_call", "t_call_ns"), ("T_trans/KiB", "t_trans_ns_per_kib")];
    let lines = lines.map(|(head, quantity)| {
        let cell = |r: &Routine| Cell::of(&r.key, r.line("loops", quantity), with_interval);
        column("Line, ns:", head, &cell)
    });
    let t_loop =
        |r: &Routine| Cell::of(&r.key, r.line("loops", "loop_ns"), |value, _| significant(value));
    let t_loop = column("", "t_loop ns", &t_loop);
    let columns = std::iter::once(t_loop).chain(by_size).chain(lines).collect();
    Draft { heading: group.heading.clone(), labels: labels(&keys), columns }
}

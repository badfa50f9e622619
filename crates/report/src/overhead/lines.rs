//! Table 1 of this machine: a row per engine, a section per path and access; the rate's law, and
//! T_call and T_trans (equation 8) by the submitting thread and by total CPU. Where two lines
//! were needed, a second row has what changes from the break on.

use super::cell::{Cell, Column, Draft, labels, sheet as draw};
use super::routine::{Group, LINE_RATE, Routine, Routines};
use crate::figure::Figure;
use crate::grid::Labels;
use crate::number::{CANNOT_TELL, RateUnit, plus_minus, significant};
use crate::sheet::{Sheet, lines};
use model::units::show_size;

/// A column: the account, its quantity, and that which takes its place beyond a break.
struct Number {
    group: &'static str,
    head: &'static str,
    account: &'static str,
    quantity: &'static str,
    beyond: Option<&'static str>,
    show: fn(f64, &Figure, RateUnit) -> String,
}

impl Number {
    /// Its group and its heading.
    fn name(&self) -> String {
        format!("{} {}", self.group, self.head)
    }
}

pub(super) const CALL: &str = "t_call_ns";
pub(super) const HALF: &str = "half_rate_bytes";
const TRANS: &str = "t_trans_ns_per_kib";
const TRANS_LARGE: &str = "t_trans_large_ns_per_kib";
const RATE_GROUP: &str = "Rate";
const THREAD_GROUP: &str = "Thread CPU, ns:";
const TOTAL_GROUP: &str = "Total CPU, ns:";

const fn rate(
    head: &'static str,
    quantity: &'static str,
    show: fn(f64, &Figure, RateUnit) -> String,
) -> Number {
    Number { group: RATE_GROUP, head, account: "wall", quantity, beyond: None, show }
}

const fn call(group: &'static str, account: &'static str) -> Number {
    Number { group, head: "T_call", account, quantity: CALL, beyond: None, show: with_interval }
}

const fn trans(group: &'static str, account: &'static str) -> Number {
    let beyond = Some(TRANS_LARGE);
    let head = "T_trans/KiB";
    Number { group, head, account, quantity: TRANS, beyond, show: with_interval }
}

const COLUMNS: &[Number] = &[
    Number {
        beyond: Some(LINE_RATE),
        ..rate("R_inf {unit}", LINE_RATE, |value, figure, unit| told(figure, unit.show(value)))
    },
    rate("n_half", HALF, |value, figure, _| {
        told(figure, format!("{}k", significant(value / 1024.0)))
    }),
    rate("t0 ns", "latency_zero_ns", |value, _, _| match value > 0.0 {
        true => significant(value),
        false => NONE.to_owned(),
    }),
    call(THREAD_GROUP, "thread"),
    trans(THREAD_GROUP, "thread"),
    call(TOTAL_GROUP, "difference"),
    trans(TOTAL_GROUP, "difference"),
    Number { group: "Revolutions", ..rate("S", "sectors_per_revolution", with_interval) },
    Number { group: "Revolutions", ..rate("M", "revolutions_missed", from_zero) },
];

/// A number whose interval is not printed, where it says something.
fn told(figure: &Figure, text: String) -> String {
    figure.says_nothing().map_or(text, |_| CANNOT_TELL.to_owned())
}

fn with_interval(value: f64, figure: &Figure, _: RateUnit) -> String {
    super::cell::with_interval(value, figure)
}

/// Of a number that may be 0.
fn from_zero(value: f64, figure: &Figure, _: RateUnit) -> String {
    plus_minus(value, figure.half_interval())
}

/// What stands where a line has no such number.
const NONE: &str = "–";

/// A row: a routine, or what changes for it from a break on.
type Row<'a> = (&'a Routine, Option<f64>);

/// Table 1; none if no routine was measured at enough sizes for a line.
pub(super) fn sheet(routines: &Routines) -> Option<Sheet> {
    let groups = routines.groups(is_listed);
    let listed = || groups.iter().flat_map(|group| &group.routines);
    let mut legend = LEGEND.to_vec();
    legend.extend(TURNS.iter().filter(|_| has(listed(), "sectors_per_revolution")));
    legend.extend(BREAKS.iter().filter(|_| has(listed(), "break_bytes")));
    let title = format!(
        "Table 1. What each I/O routine costs: T = T_call + T_trans × B (equation 8), ± {}",
        routines.interval()
    );
    let mut legend = lines(&legend);
    legend.extend(misfit(listed()).map(|text| ("misfit", text)));
    let sheet = draw(title, groups.iter().map(|g| draft(g, routines.rate_unit(), &[])).collect());
    sheet.map(|sheet| Sheet { legend, ..sheet })
}

/// The same for a first screen: without some columns, and with a short legend.
pub(super) fn short(routines: &Routines, unit: RateUnit, left_out: &[&str]) -> Option<Sheet> {
    let groups = routines.groups(is_listed);
    let listed = || groups.iter().flat_map(|group| &group.routines);
    let mut legend = SHORT_LEGEND.to_vec();
    legend.extend(BREAKS.iter().filter(|_| has(listed(), "break_bytes")));
    let title = format!("What each I/O routine costs, ± {}", routines.interval());
    let sheet = draw(title, groups.iter().map(|group| draft(group, unit, left_out)).collect());
    sheet.map(|sheet| Sheet { legend: lines(&legend), ..sheet })
}

/// Whether any of them has a number of that name.
fn has<'a>(mut routines: impl Iterator<Item = &'a &'a Routine>, quantity: &str) -> bool {
    let accounts = ["wall", "thread", "difference"];
    routines.any(|r| accounts.iter().any(|account| r.line(account, quantity).is_some()))
}

/// How well the lines of the submitting thread's time fit, in the middle of all rows.
fn misfit<'a>(routines: impl Iterator<Item = &'a &'a Routine> + Clone) -> Option<String> {
    let middle = |quantity| {
        let fitted = routines.clone().filter(|r| r.line_value("thread", CALL).is_some());
        let mut all: Vec<f64> = fitted.filter_map(|r| r.line_value("thread", quantity)).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied()
    };
    let (misfit, noise) = (middle("fit_misfit_percent")?, middle("fit_noise_percent")?);
    Some(format!(
        "in the median row the line of thread CPU misses the mean of its worst size by {} %, where \
         passes scatter by {} %",
        significant(misfit),
        significant(noise)
    ))
}

const LEGEND: &[(&str, &str)] = &[
    (
        "R_inf",
        "the rate that ever larger requests approach; – where a byte's time does not differ from \
         zero",
    ),
    (
        "n_half",
        "the request size (k: KiB) at which half of R_inf is reached; – where two lines were \
         needed, or where t0 is –",
    ),
    ("t0", "wall time of a request of no bytes; – where the fit does not find it above 0"),
    ("T_call", "CPU time of a request whatever its size"),
    ("T_trans", "CPU time that each KiB adds"),
    ("thread CPU", "what the job's thread used"),
    ("total CPU", "all CPUs, by difference: worker and kernel threads and interrupts too"),
    (
        "deducted",
        "from CPU times the harness's own; from total CPU also other programs and the machine \
         by itself",
    ),
];
/// What a first screen says of them.
const SHORT_LEGEND: &[(&str, &str)] = &[
    (
        "Rate",
        "R_inf, its limit; n_half, the request size (k: KiB) that reaches half of it; – where two \
         lines were needed, or the fit finds no time of a request of no bytes",
    ),
    ("CPU", "T_call, of a request of any size; T_trans, of each KiB; the harness's own deducted"),
];
const TURNS: &[(&str, &str)] = &[(
    "S, M",
    "sectors (of 512 bytes; of a model its own) transferred a revolution, and revolutions missed a \
     request (equation 6)",
)];
const BREAKS: &[(&str, &str)] =
    &[("└ from", "two lines were needed: what holds for requests of that size and larger")];

/// A routine that does not compute and has lines, or was refused as a whole.
pub(super) fn is_listed(routine: &Routine) -> bool {
    let known = |number: &Number| routine.line(number.account, number.quantity);
    let found: Vec<&Figure> = COLUMNS.iter().filter_map(known).collect();
    let is_one_channel = routine.key.channels == 1;
    routine.key.computing.is_none()
        && found.iter().any(|figure| is_one_channel || figure.value.is_some())
}

fn draft(group: &Group<'_>, unit: RateUnit, left_out: &[&str]) -> Draft {
    let rows: Vec<Row> = group.routines.iter().flat_map(|routine| rows(routine)).collect();
    let keys: Vec<_> = rows.iter().map(|(routine, _)| (&routine.key, None)).collect();
    let mut labels: Vec<Labels> = labels(&keys);
    for (place, (_, breaks)) in rows.iter().enumerate() {
        let Some(bytes) = breaks else { continue };
        for (position, label) in labels.iter_mut().enumerate() {
            let from = || format!("└ from {}", show_size(*bytes as u64));
            label.texts[place] = if position == 0 { from() } else { String::new() };
        }
    }
    let is_wanted = |number: &&Number| !left_out.contains(&number.name().as_str());
    let columns = COLUMNS.iter().filter(is_wanted).map(|number| Column {
        group: number.group.into(),
        head: number.head.replace("{unit}", unit.name),
        cells: rows.iter().map(|row| cell(number, row, unit)).collect(),
    });
    Draft { heading: group.heading.clone(), labels, columns: columns.collect() }
}

/// A routine's rows: its own, and one for each size at which a line of it breaks.
fn rows(routine: &Routine) -> Vec<Row<'_>> {
    let accounts = ["wall", "thread", "difference"].iter();
    let mut breaks: Vec<f64> =
        accounts.filter_map(|account| routine.line_value(account, "break_bytes")).collect();
    breaks.sort_by(f64::total_cmp);
    breaks.dedup();
    let beyond = breaks.into_iter().map(|bytes| (routine, Some(bytes)));
    std::iter::once((routine, None)).chain(beyond).collect()
}

fn cell(number: &Number, (routine, beyond): &Row<'_>, unit: RateUnit) -> Cell {
    let show = |value: f64, figure: &Figure| (number.show)(value, figure, unit);
    let figure = |quantity| routine.line(number.account, quantity);
    if let Some(bytes) = beyond {
        let is_here = routine.line_value(number.account, "break_bytes") == Some(*bytes);
        let quantity = number.beyond.filter(|_| is_here);
        return quantity.map_or_else(Cell::default, |q| Cell::of(&routine.key, figure(q), show));
    }
    let is_turn = number.group == "Revolutions";
    match figure(number.quantity) {
        Some(found) => Cell::of(&routine.key, Some(found), show),
        // There is a line, and it has no such number.
        None if !is_turn && figure("latency_zero_ns").is_some() => Cell::plain(NONE),
        None => Cell::default(),
    }
}

/// What the harness itself costs a request: the null engine, one channel, without computing.
pub(super) fn harness(routines: &Routines) -> Option<String> {
    let quantity = "operation_cpu_thread_ns";
    let mut plain = routines.harness().filter(|r| r.key.computing.is_none() && r.key.channels == 1);
    let found = plain.find_map(|r| r.sizes(quantity).find_map(|bytes| r.at(bytes, quantity)))?;
    let suspect = if !found.doubts().is_empty() { " (suspect)" } else { "" };
    let ns = plus_minus(found.value?, found.half_interval());
    Some(format!(
        "The harness itself: {ns} ns a request (the null engine, one channel){suspect}; deducted \
         from CPU times."
    ))
}

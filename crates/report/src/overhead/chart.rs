//! The overhead experiment's charts: rates R(B,N), the cost of a call, and CPU time a KiB against
//! 1/B with the fitted lines, as figures 1 to 4 of Bucher & Hayes (1980).
//!
//! Non-goals: fitting (the findings hold the lines), drawing.

use super::cell::decided;
use super::lines::CALL;
use super::routine::{Group, RATE, Routine, Routines};
use crate::chart::{Axis, Chart, Entry, Fit, Kind, Role, Scale, entries};
use crate::experiments::Named;
use crate::number::{CANNOT_TELL, significant};
use model::units::show_size;

const OWN: &str = "operation_cpu_thread_ns";
const TRANS: &str = "t_trans_ns_per_kib";
const TRANS_LARGE: &str = "t_trans_large_ns_per_kib";
const BREAK: &str = "break_bytes";
const KIB: f64 = 1024.0;

/// All charts of these runs, a run after the other.
pub(super) fn all(runs: &[Named<'_>]) -> Vec<Chart> {
    let of = |(place, named): (usize, &Named<'_>)| {
        let prefix = match runs.len() {
            1 => String::new(),
            _ => format!("run{}-", place + 1),
        };
        charts(named, &prefix)
    };
    runs.iter().enumerate().flat_map(of).collect()
}

fn charts(named: &Named<'_>, prefix: &str) -> Vec<Chart> {
    let routines = Routines::from_findings(named.run.findings);
    let plain = |routine: &Routine| routine.key.computing.is_none();
    let groups = routines.groups(plain);
    let numbered = |kind: &str, place: usize| format!("{prefix}{kind}-{}", place + 1);
    let mut charts: Vec<Chart> = Vec::new();
    for (place, mut group) in groups.into_iter().enumerate() {
        // So a routine has one colour in all charts of its group.
        group.routines.sort_by_key(|routine| routine.key.channels > 1);
        let group = &group;
        let heading = named.within(&group.heading);
        charts.extend(calls(&numbered("calls", place), &heading, group));
        let rates = rates(&numbered("sizes", place), &heading, group);
        charts.extend(rates.map(|chart| chart.in_rates_of(routines.rate_unit())));
        charts.extend(costs(&numbered("costs", place), &heading, group));
    }
    charts
}

/// What a routine is called within its group.
fn series(routine: &Routine) -> String {
    let key = &routine.key;
    match key.channels {
        1 => key.engine.name().to_owned(),
        channels => format!("{}, N = {channels}", key.engine.name()),
    }
}

/// Table 1's first question: the cost of a call.
fn calls(id: &str, heading: &str, group: &Group<'_>) -> Option<Chart> {
    const ACCOUNTS: [(&str, &str); 2] =
        [("its own thread", "thread"), ("all CPUs, by difference", "difference")];
    let of = |routine: &&Routine| {
        entries(&series(routine), &ACCOUNTS, |account| routine.line(account, CALL))
    };
    let mut found: Vec<Entry> = group.routines.iter().flat_map(of).collect();
    found.iter_mut().for_each(|(.., figure)| *figure = decided(figure));
    // An estimate that is not above zero stands at the begin of an axis of powers.
    let known = found.iter().filter_map(|(.., figure)| figure.told().filter(|ns| *ns > 0.0));
    let axis = Axis::new("T_call", "ns", Scale::of(known));
    let title = format!("The cost of a call: {heading}");
    let chart = Chart::rows(id, &title, Kind::Dots, axis, &found)?;
    let method = "CPU time of a request whatever its size: the line T = T_call + T_trans × B \
        (equation 8 of 1980), with the 95 % interval of its coefficient.";
    Some(chart.by(method).half())
}

/// R(B,N).
fn rates(id: &str, heading: &str, group: &Group<'_>) -> Option<Chart> {
    let point = |routine: &Routine, bytes: u64| {
        let figure = routine.at(bytes, RATE)?.clone();
        Some((series(routine), bytes, figure))
    };
    let all = group.routines.iter().flat_map(|routine| {
        routine.sizes(RATE).filter_map(|bytes| point(routine, bytes)).collect::<Vec<_>>()
    });
    let all: Vec<_> = all.collect();
    // A line needs two sizes.
    all.iter().find(|(_, bytes, _)| *bytes != all[0].1)?;
    let axes = (Axis::new("B", "B", Scale::Log), Axis::new("rate", "B/s", Scale::Log));
    let number = |of: fn(&crate::figure::Figure) -> Option<f64>| {
        all.iter().map(move |(.., figure)| of(figure))
    };
    let chart = Chart::plane(id, &format!("R(B,N): {heading}"), Kind::Lines, axes)
        .texts(Role::Series, "routine", all.iter().map(|(series, ..)| series.clone()))
        .numbers(Role::X, "request", "B", all.iter().map(|(_, bytes, _)| Some(*bytes as f64)))
        .numbers(Role::Y, "rate", "B/s", number(|figure| figure.value))
        .numbers(Role::Low, "from", "B/s", number(|figure| figure.low))
        .numbers(Role::High, "to", "B/s", number(|figure| figure.high))
        .texts(Role::Note, "doubts", all.iter().map(|(.., figure)| figure.reason()));
    let method = "Bytes moved a second of wall time by requests of B bytes on N channels; bands: \
        95 % intervals.";
    Some(chart.by(method).half())
}

/// A measured size of a routine: 1/KiB, ns/KiB, and what its line leaves over of this.
struct Point {
    series: String,
    inverse_kib: f64,
    ns_per_kib: f64,
    residual_percent: Option<f64>,
    note: String,
}

/// CPU time a KiB against 1/B: a line's slope is T_call, its intercept T_trans.
fn costs(id: &str, heading: &str, group: &Group<'_>) -> Option<Chart> {
    let lined = group.routines.iter().filter(|routine| routine.key.channels == 1);
    let laws: Vec<Law<'_>> = lined.filter_map(|routine| Law::of(routine)).collect();
    let points: Vec<Point> = laws.iter().flat_map(Law::points).collect();
    if points.is_empty() {
        return None;
    }
    let scale = |of: fn(&Point) -> f64| Scale::of(points.iter().map(of));
    let x = Axis::new("1/B", "1/KiB", scale(|point| point.inverse_kib));
    let y = Axis::new("CPU time", "ns/KiB", scale(|point| point.ns_per_kib));
    let title = format!("CPU time a KiB against 1/B: {heading}");
    let column = |of: fn(&Point) -> Option<f64>| points.iter().map(of);
    let chart = Chart::plane(id, &title, Kind::Points, (x, y))
        .texts(Role::Series, "routine", points.iter().map(|point| point.series.clone()))
        .numbers(Role::X, "1/B", "1/KiB", column(|point| Some(point.inverse_kib)))
        .numbers(Role::Y, "CPU time", "ns/KiB", column(|point| Some(point.ns_per_kib)))
        .numbers(Role::Residual, "residual", "%", column(|point| point.residual_percent))
        .texts(Role::Note, "doubts", points.iter().map(|point| point.note.clone()));
    let method = "The submitting thread's CPU time of a request over its size; the line: T_trans + \
        T_call × 1/B. Below: what the line leaves over, of the measured time.";
    let chart = chart.by(method).noted(laws.iter().filter_map(Law::note)).high(450);
    Some(Chart { fits: laws.iter().flat_map(Law::fits).collect(), ..chart })
}

/// The line of a routine, and a second one from a break on.
struct Law<'a> {
    routine: &'a Routine,
    call_ns: f64,
    trans_ns_per_kib: f64,
    beyond: Option<Beyond>,
    /// Whether the table tells all of it; else it is not drawn, nor what it leaves over.
    is_told: bool,
}

/// The second line: the findings hold its slope; it is laid through the middle of its points.
struct Beyond {
    from_bytes: f64,
    call_ns: f64,
    trans_ns_per_kib: f64,
}

impl<'a> Law<'a> {
    fn of(routine: &'a Routine) -> Option<Self> {
        let value = |quantity| routine.line_value("thread", quantity);
        let beyond = || {
            let (from_bytes, trans_ns_per_kib) = (value(BREAK)?, value(TRANS_LARGE)?);
            let large = |bytes: &u64| *bytes as f64 >= from_bytes;
            let left = |bytes: u64| {
                Some(routine.at(bytes, OWN)?.value? - trans_ns_per_kib * bytes as f64 / KIB)
            };
            let left: Vec<f64> = routine.sizes(OWN).filter(large).filter_map(left).collect();
            let call_ns = left.iter().sum::<f64>() / left.len() as f64;
            (!left.is_empty()).then_some(Beyond { from_bytes, call_ns, trans_ns_per_kib })
        };
        let numbers = [CALL, TRANS, TRANS_LARGE];
        let mut figures = numbers.iter().filter_map(|of| routine.line("thread", of));
        Some(Self {
            routine,
            call_ns: value(CALL)?,
            trans_ns_per_kib: value(TRANS)?,
            beyond: beyond(),
            is_told: figures.all(|figure| !decided(figure).is_open),
        })
    }

    /// What the line says of requests of so many bytes, ns/KiB.
    fn at(&self, bytes: f64) -> f64 {
        match self.beyond.as_ref().filter(|beyond| bytes >= beyond.from_bytes) {
            Some(beyond) => beyond.call_ns * KIB / bytes + beyond.trans_ns_per_kib,
            None => self.call_ns * KIB / bytes + self.trans_ns_per_kib,
        }
    }

    fn points(&self) -> Vec<Point> {
        let point = |bytes: u64| {
            let figure = self.routine.at(bytes, OWN)?;
            let (bytes, ns_per_kib) = (bytes as f64, figure.value? * KIB / bytes as f64);
            let residual_percent = 100.0 * (1.0 - self.at(bytes) / ns_per_kib);
            Some(Point {
                series: series(self.routine),
                inverse_kib: KIB / bytes,
                ns_per_kib,
                residual_percent: self.is_told.then_some(residual_percent),
                note: figure.reason(),
            })
        };
        self.routine.sizes(OWN).filter(|bytes| *bytes > 0).filter_map(point).collect()
    }

    fn fits(&self) -> Vec<Fit> {
        if !self.is_told {
            return vec![];
        }
        let sizes: Vec<f64> = self.routine.sizes(OWN).map(|bytes| bytes as f64).collect();
        let least = sizes.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = sizes.iter().copied().fold(0.0, f64::max);
        let from = self.beyond.as_ref().map(|beyond| beyond.from_bytes);
        let on =
            |call_ns: f64, trans: f64, bytes: f64| (KIB / bytes, call_ns * KIB / bytes + trans);
        let fit = |points| Fit { series: series(self.routine), points };
        let first = match from {
            Some(bytes) => on(self.call_ns, self.trans_ns_per_kib, bytes),
            None => (0.0, self.trans_ns_per_kib),
        };
        let first = vec![first, on(self.call_ns, self.trans_ns_per_kib, least)];
        let second = self.beyond.as_ref().map(|beyond| {
            let at = |bytes| on(beyond.call_ns, beyond.trans_ns_per_kib, bytes);
            vec![at(greatest), at(beyond.from_bytes)]
        });
        std::iter::once(first).chain(second).map(fit).collect()
    }

    fn note(&self) -> Option<String> {
        if !self.is_told {
            let series = series(self.routine);
            return Some(format!(
                "{series}: {CANNOT_TELL} yet which line; its sizes alone are drawn."
            ));
        }
        let beyond = self.beyond.as_ref()?;
        Some(format!(
            "{}: from {} on another line, {} ns/KiB; the findings hold its slope, and it is laid \
             through the middle of its sizes.",
            series(self.routine),
            show_size(beyond.from_bytes as u64),
            significant(beyond.trans_ns_per_kib)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Values;
    use crate::experiments::Run;
    use crate::overhead::{answer, plot, table};
    use model::record::{Finding, Subject};

    fn found(of: (&str, &str), quantity: &str, (value, half): (f64, f64)) -> Finding {
        let keys = [
            ("access", "randread"),
            ("arithmetic", "none"),
            ("channels", "1"),
            ("direct", "0"),
            ("engine", "psync"),
            ("target", "d"),
            ("test_interval_ns", "none"),
            of,
        ];
        let keys: std::collections::BTreeMap<&str, &str> = keys.into();
        let subject = Subject::from_text(&serde_json::to_string(&keys).unwrap()).unwrap();
        let found = Finding::new(&subject, quantity, Some(value), 3, "mean");
        Finding { low: Some(value - half), high: Some(value + half), ..found }
    }

    /// Two sizes of a routine, and its lines, whose T_call has these half intervals.
    fn findings(own_half: f64, total_half: f64) -> Vec<Finding> {
        vec![
            found(("block_bytes", "1024"), OWN, (689.0, 4.0)),
            found(("block_bytes", "4096"), OWN, (915.0, 4.0)),
            found(("account", "wall"), "latency_zero_ns", (647.0, 13.0)),
            found(("account", "thread"), CALL, (613.0, own_half)),
            found(("account", "thread"), TRANS, (75.6, 8.4)),
            found(("account", "difference"), CALL, (700.0, total_half)),
        ]
    }

    fn drawn(findings: &[Finding]) -> Vec<Chart> {
        all(&[Named { name: "", run: Run { findings, rows: &[] } }])
    }

    fn values(charts: &[Chart], id: &str, role: Role) -> Option<Values> {
        let chart = charts.iter().find(|chart| chart.id == id)?;
        let column = chart.columns.iter().find(|column| column.role == role)?;
        Some(column.values.clone())
    }

    #[test]
    fn what_the_table_cannot_tell_is_neither_drawn_nor_a_headline() {
        let (told, open) = (findings(30.0, 30.0), findings(600.0, 30.0));
        for (findings, own, is_told) in [(&told, Some(613.0), true), (&open, None, false)] {
            let charts = drawn(findings);
            let calls = values(&charts, "calls-1", Role::Value);
            assert_eq!(calls, Some(Values::Numbers(vec![own, Some(700.0)])));
            // The sizes are measured; their line is not known.
            assert_eq!(values(&charts, "costs-1", Role::Y).map(|sizes| sizes.len()), Some(2));
            assert_eq!(values(&charts, "costs-1", Role::Residual).is_some(), is_told);
            let costs = charts.iter().find(|chart| chart.id == "costs-1").unwrap();
            assert_eq!((costs.fits.len(), costs.notes.is_empty()), (usize::from(is_told), is_told));
            assert_eq!(plot::text(&Routines::from_findings(findings), None).is_some(), is_told);
            assert_eq!(table(findings, None).contains(CANNOT_TELL), !is_told);
            assert_eq!(answer(findings).unwrap().headline.0, "700 ns");
        }
        let open = findings(600.0, 690.0);
        assert_eq!(values(&drawn(&open), "calls-1", Role::Value), None);
        let answer = answer(&open).unwrap();
        assert_eq!((answer.headline.0.as_str(), answer.bars.len()), (CANNOT_TELL, 0));
    }
}

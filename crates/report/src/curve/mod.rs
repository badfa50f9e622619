//! How much a device can do: a sentence for each kind of requests, a row for each curve, and behind
//! `--all` a row for each point.
//!
//! Non-goals: computing a figure.

mod chart;

use crate::answer::{Bar, Fact};
use crate::experiments::{Experiment, Screen, TimeTable};
use crate::number::{short_count, show_iops, show_rate};
use crate::ranking::Entrant;
use crate::rows::{self, Label, View, plain, within};
use crate::sheet::{Section, Sheet};
use model::record::Finding;
use model::record::subject::{Curve, Subject};
use model::units::{show_size, show_time_ns};
use model::workload::Access;

const RATE: &str = "rate_operations_per_s";
const KNEE: &str = "knee_rate_operations_per_s";
const PEAK: &str = "most_rate_operations_per_s";
const PEAK_BYTES: &str = "most_rate_bytes_per_s";

/// A row for each curve.
pub(crate) const CURVES: View<Curve> = View {
    title: "Knees and peaks",
    labels: &[
        ("requests", |curve| requests(curve).to_owned()),
        ("size", |curve| show_size(curve.block_bytes)),
    ],
    columns: &[
        ("peak", "IOPS", PEAK, short_count),
        ("peak", "bandwidth", PEAK_BYTES, show_rate),
        ("knee", "depth", "knee_depth", short_depth),
        ("knee", "IOPS", KNEE, short_count),
        ("knee", "mean", "knee_latency_mean_ns", show_time_ns),
        ("knee", "p99", "knee_latency_p99_ns", show_time_ns),
    ],
    judged: KNEE,
    marked: KNEE,
    name: kind,
    show: of_curve,
    legend: &[
        ("peak", "the highest rate of any queue depth; [ ] is a 95 % interval"),
        ("knee", "the queue depth with the greatest IOPS over mean latency (Kleinrock 1979)"),
    ],
};

/// A row for each point.
const POINTS: View<Curve> = View {
    title: "Latency against IOPS, by queue depth",
    labels: &[CURVES.labels[0], CURVES.labels[1], DEPTH],
    columns: &[
        ("", "IOPS", RATE, short_count),
        ("", "bandwidth", "rate_bytes_per_s", show_rate),
        ("", "mean", "latency_mean_ns", show_time_ns),
        ("", "p50", "latency_p50_ns", show_time_ns),
        ("", "p99", "latency_p99_ns", show_time_ns),
    ],
    judged: RATE,
    marked: RATE,
    name: |curve| format!("{} × {}", kind(curve), DEPTH.1(curve)),
    show: of_point,
    legend: &[("[ ]", "95 % interval of the mean over passes")],
};
const DEPTH: Label<Curve> =
    ("depth", |curve| curve.depth.map_or_else(String::new, |depth| depth.to_string()));

/// The experiment's row.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "curve",
    title: "How much the device can do",
    sentences: |run| sentences(run.findings),
    sheets: |run| vec![sheet(run.findings)],
    charts: chart::all,
    is_cell: |subject| matches!(subject, Subject::Curve(_)),
    screen: Screen::Sheet(|run| {
        let (points, curves) = rows(run.findings);
        // What has too few depths for a knee has its points.
        let loose: Vec<Row> = loose(&points, &curves).cloned().collect();
        if loose.is_empty() { CURVES.sheet(&curves) } else { both(&loose, &curves) }
    }),
    whole: None,
    time: Some(TimeTable {
        title: "Where a request's time went",
        labels: &[("requests", "access"), ("size", "block_bytes"), ("depth", "depth")],
    }),
};

/// A curve, or a point of it.
pub(crate) type Row = rows::Row<Curve>;

/// By access, size and depth: the points, and the curves as wholes.
pub(crate) fn rows(findings: &[Finding]) -> (Vec<Row>, Vec<Row>) {
    let mut rows = rows::rows(findings, |finding| match &finding.subject {
        Subject::Curve(curve) => Some((curve.clone(), finding.quantity.clone())),
        _ => None,
    });
    rows.sort_by_key(|row| (row.key.access, row.key.block_bytes, row.key.depth));
    rows.into_iter().partition(|row| row.key.depth.is_some())
}

/// A curve's figures: its two rates have their intervals.
fn of_curve(row: &Row, column: &rows::Column) -> String {
    if [PEAK, KNEE].contains(&column.2) { within(row, column) } else { plain(row, column) }
}

/// A point's figures: its rate has its interval.
fn of_point(row: &Row, column: &rows::Column) -> String {
    if column.2 == RATE { within(row, column) } else { plain(row, column) }
}

/// The points of no curve.
fn loose<'a>(points: &'a [Row], curves: &'a [Row]) -> impl Iterator<Item = &'a Row> {
    points.iter().filter(|point| !curves.iter().any(|curve| is_point(point, curve)))
}

fn short_depth(depth: f64) -> String {
    format!("{depth:.0}")
}

/// `4k random reads`.
fn kind(curve: &Curve) -> String {
    format!("{} {}", show_size(curve.block_bytes), requests(curve))
}

fn requests(curve: &Curve) -> &'static str {
    match curve.access {
        Access::RandRead => "random reads",
        Access::RandWrite => "random writes",
        Access::RandRw => "random reads and writes",
        Access::Read => "sequential reads",
        Access::Write | Access::Rewrite => "sequential writes",
        Access::Rw => "sequential reads and writes",
    }
}

/// All points; above them the curves, where these are known.
fn sheet(findings: &[Finding]) -> Sheet {
    let (points, curves) = rows(findings);
    both(&points, &curves)
}

fn both(points: &[Row], curves: &[Row]) -> Sheet {
    let mut sheet = POINTS.sheet(points);
    if !curves.is_empty() {
        sheet.sections[0].heading = "By queue depth".into();
        let Sheet { mut sections, legend, .. } = CURVES.sheet(curves);
        sheet.sections.insert(0, Section { heading: "By kind".into(), ..sections.remove(0) });
        sheet.legend.extend(legend);
    }
    sheet
}

/// The greatest depth's rate is above the one before by more than this: it still rises.
const RISING: f64 = 1.1;

/// A sentence for a curve.
pub(crate) fn sentence(curve: &Row, points: &[Row]) -> Option<String> {
    let name = kind(&curve.key);
    let peak = |quantity| Entrant::of(&name, curve.figure(quantity)?);
    if !curve.key.access.is_random() {
        return Some(format!("{name} peak at {}.", peak(PEAK_BYTES)?.text(show_rate)));
    }
    let time = |quantity| curve.value(quantity).map(show_time_ns);
    let p99 = time("knee_latency_p99_ns").map_or_else(String::new, |p99| format!(", p99 {p99}"));
    let own: Vec<&Row> = points.iter().filter(|point| is_point(point, curve)).collect();
    let (reach, knee) = match own.as_slice() {
        // The peak is not reached, and what is the knee so far need not be it.
        [.., before, last] if rises(before, last) => (
            "reach",
            format!(
                " and still rise at queue depth {}, the deepest; the knee so far",
                DEPTH.1(&last.key)
            ),
        ),
        _ => ("peak at", "; the knee".to_owned()),
    };
    Some(format!(
        "{name} {reach} {}{knee} is at queue depth {}: {}, mean {}{p99}.",
        peak(PEAK)?.text(show_iops),
        short_depth(curve.value("knee_depth")?),
        show_iops(curve.value(KNEE)?),
        time("knee_latency_mean_ns")?,
    ))
}

/// Whether a rate is surely above the one of the depth before, and by how much matters.
fn rises(before: &Row, last: &Row) -> bool {
    let high = before.figure(RATE).and_then(|figure| figure.high);
    let low = last.figure(RATE).and_then(|figure| figure.low);
    let is_sure = high.zip(low).is_none_or(|(high, low)| low > high);
    let rates = before.value(RATE).zip(last.value(RATE));
    is_sure && rates.is_some_and(|(before, last)| last > before * RISING)
}

/// A sentence for points of one kind that are too few for a knee.
fn without_knee(points: &[&Row]) -> Option<String> {
    let best = points
        .iter()
        .copied()
        .max_by(|a, b| a.value(RATE).unwrap_or(0.0).total_cmp(&b.value(RATE).unwrap_or(0.0)))?;
    let name = kind(&best.key);
    let rate = Entrant::of(&name, best.figure(RATE)?)?.text(show_iops);
    let depth = DEPTH.1(&best.key);
    Some(match points.len() {
        1 => format!("{name} reach {rate} at queue depth {depth}, the only one."),
        many => format!(
            "{name} reach {rate} at queue depth {depth}; {many} depths show no knee, so give 3 or \
             more (--iodepth)."
        ),
    })
}

/// The peak, and of what it is.
pub(crate) fn headline(curve: &Row) -> Option<(String, String)> {
    let peak = format!("{}{}", show_iops(curve.value(PEAK)?), curve.mark(PEAK));
    Some((peak, format!("{}, peak", kind(&curve.key))))
}

/// What a device can do at the most, and of random reads at its knee; nothing of large requests.
pub(crate) fn facts(curve: &Row) -> Vec<Fact> {
    let of = |what: &str, quantity: &str| {
        let what = format!("{}, {what}", kind(&curve.key));
        Some((Entrant::of(&what, curve.figure(quantity)?)?, what))
    };
    let rate =
        |what, quantity| of(what, quantity).map(|(of, what)| Fact::rate(&what, of, show_iops));
    let time =
        |what: &str, quantity: &str| of(what, quantity).map(|(of, what)| Fact::time(&what, of));
    let all = [
        rate("peak", PEAK),
        rate("at the knee", KNEE),
        time("mean at the knee", "knee_latency_mean_ns"),
        time("p99 at the knee", "knee_latency_p99_ns"),
    ];
    let told = match curve.key.access {
        Access::RandRead => all.len(),
        access if access.is_random() => 1,
        _ => 0,
    };
    all.into_iter().take(told).flatten().collect()
}

/// IOPS by queue depth.
pub(crate) fn bars(curve: &Row, points: &[Row]) -> Vec<Bar> {
    let points = points.iter().filter(|point| is_point(point, curve));
    let bar = |point: &Row| {
        Bar::of(&format!("depth {}", DEPTH.1(&point.key)), point.value(RATE), short_count)
    };
    points.filter_map(bar).collect()
}

fn is_point(point: &Row, curve: &Row) -> bool {
    Curve { depth: None, ..point.key.clone() } == curve.key
}

/// A sentence for each curve.
fn sentences(findings: &[Finding]) -> Vec<String> {
    let (points, curves) = rows(findings);
    let of_curves = curves.iter().filter_map(|row| sentence(row, &points));
    let whole = |row: &Row| Curve { depth: None, ..row.key.clone() };
    let mut kinds: Vec<Curve> = loose(&points, &curves).map(whole).collect();
    kinds.dedup();
    let of_kind = |kind: &Curve| {
        let own: Vec<&Row> = points.iter().filter(|point| whole(point) == *kind).collect();
        without_knee(&own)
    };
    of_curves.chain(kinds.iter().filter_map(of_kind)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Run;
    use crate::sheet::NOTHING;
    use model::engine::EngineKind;

    fn subject(depth: Option<u64>) -> Subject {
        Subject::Curve(Curve {
            access: Access::RandRead,
            block_bytes: 4096,
            depth,
            direct: 1,
            engine: EngineKind::IoUring,
            target: Some("d".into()),
        })
    }

    #[test]
    fn a_curve_is_a_sentence_and_a_row() {
        let found = |depth, quantity: &str, value| {
            Finding::new(&subject(depth), quantity, Some(value), 3, "x")
        };
        let findings = [
            found(Some(1), RATE, 1000.0),
            found(Some(2), RATE, 1900.0),
            found(Some(4), RATE, 2600.0),
            found(None, "knee_depth", 2.0),
            found(None, KNEE, 1900.0),
            found(None, "knee_latency_mean_ns", 1.05e6),
            found(None, PEAK, 2600.0),
        ];
        let run = Run { findings: &findings, rows: &[] };
        let text = EXPERIMENT.first(&run, None, 40);
        let whole = text.replace('\n', " ");
        assert!(
            whole.starts_with(
                "4k random reads reach 2.60k IOPS (no interval) and still rise at queue depth 4, \
                 the deepest; the knee so far is at queue depth 2: 1.90k IOPS, mean 1.05 ms."
            ),
            "{text}"
        );
        assert!(!text.contains("1.00k"), "{text}");
        assert!(EXPERIMENT.table(&run, None).contains("1.00k"));
        let none = Run { findings: &[], rows: &[] };
        assert_eq!(EXPERIMENT.first(&none, None, 40), NOTHING);
    }

    #[test]
    fn few_depths_are_on_the_first_screen_with_their_intervals() {
        let found = |access, depth, rate: f64| {
            let Subject::Curve(curve) = subject(depth) else { unreachable!("a curve") };
            let subject = Subject::Curve(Curve { access, ..curve });
            let ends = (Some(rate * 0.9), Some(rate * 1.1));
            let found = Finding::new(&subject, RATE, Some(rate), 3, "x");
            found.within(model::record::Interval::Passes, ends)
        };
        let peak = |rate| {
            let Subject::Curve(curve) = subject(None) else { unreachable!("a curve") };
            let subject = Subject::Curve(Curve { access: Access::Read, ..curve });
            Finding::new(&subject, PEAK_BYTES, Some(rate), 3, "x")
        };
        let findings = [
            found(Access::RandRead, Some(1), 1000.0),
            found(Access::RandRead, Some(8), 5000.0),
            found(Access::Read, Some(1), 100.0),
            peak(1e8),
        ];
        let run = Run { findings: &findings, rows: &[] };
        let text = EXPERIMENT.first(&run, Some(100), 40);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains(
                "4k random reads reach 5.00k IOPS (95 % CI 4.50k–5.50k) at queue depth 8; 2 \
                 depths show no knee, so give 3 or more (--iodepth)."
            ),
            "{text}"
        );
        assert!(words.contains("random reads 4k 8 5.00k [4.50k–5.50k]"), "{text}");
        assert!(words.contains("sequential reads 4k"), "{text}");
    }
}

//! How much a device can do: a sentence for each kind of requests, a row for each curve, and behind
//! `--all` a row for each point.
//!
//! Non-goals: computing a figure.

mod chart;

use crate::answer::{Bar, Fact};
use crate::experiments::{Experiment, Screen, TimeTable};
use crate::number::{short_count, show_iops, show_rate};
use crate::ranking::Entrant;
use crate::rows::{self, INTERVAL, Label, View, plain, within};
use crate::sheet::{Section, Sheet};
use model::record::Finding;
use model::record::subject::{Curve, Subject};
use model::units::{show_size, show_time_ns};
use model::workload::Access;

const RATE: &str = "rate_operations_per_s";
const KNEE: &str = "knee_rate_operations_per_s";
const PEAK: &str = "most_rate_operations_per_s";
const PEAK_BYTES: &str = "most_rate_bytes_per_s";

/// What a point's rate is in other words: of a closed loop its latencies are, too. The same of a
/// knee, and of where it is.
const OF_POINT: [&str; 4] =
    ["rate_bytes_per_s", "latency_mean_ns", "latency_p50_ns", "latency_p99_ns"];
const AT_KNEE: [&str; 3] = ["knee_depth", "knee_latency_mean_ns", "knee_latency_p99_ns"];

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
        ("knee", "depth", AT_KNEE[0], short_depth),
        ("knee", "IOPS", KNEE, short_count),
        ("knee", "mean", AT_KNEE[1], show_time_ns),
        ("knee", "p99", AT_KNEE[2], show_time_ns),
    ],
    judged: KNEE,
    marked: KNEE,
    name: kind,
    show: of_curve,
    legend: &[
        INTERVAL,
        ("peak", "the highest rate of any queue depth"),
        ("knee", "the queue depth with the greatest IOPS over mean latency (Kleinrock 1979)"),
    ],
};

/// A row for each point.
const POINTS: View<Curve> = View {
    title: "Latency against IOPS, by queue depth",
    labels: &[CURVES.labels[0], CURVES.labels[1], DEPTH],
    columns: &[
        ("", "IOPS", RATE, short_count),
        ("", "bandwidth", OF_POINT[0], show_rate),
        ("", "mean", OF_POINT[1], show_time_ns),
        ("", "p50", OF_POINT[2], show_time_ns),
        ("", "p99", OF_POINT[3], show_time_ns),
    ],
    judged: RATE,
    marked: RATE,
    name: |curve| format!("{} × {}", kind(curve), DEPTH.1(curve)),
    show: of_point,
    legend: &[INTERVAL],
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

/// By access, size and depth: the points, and the curves as wholes. Where a point rests on one
/// pass, which has no interval, neither the highest rate nor a knee is known.
pub(crate) fn rows(findings: &[Finding]) -> (Vec<Row>, Vec<Row>) {
    let mut rows = rows::rows(findings, |finding| match &finding.subject {
        Subject::Curve(curve) => Some((curve.clone(), finding.quantity.clone())),
        _ => None,
    });
    rows.sort_by_key(|row| (row.key.access, row.key.block_bytes, row.key.depth));
    for row in &mut rows {
        row.decide(RATE, &OF_POINT);
        row.decide(PEAK, &[PEAK_BYTES]);
        row.decide(KNEE, &AT_KNEE);
    }
    let (points, mut curves): (Vec<Row>, Vec<Row>) =
        rows.into_iter().partition(|row| row.key.depth.is_some());
    curves.retain(|curve| !points.iter().any(|of| is_point(of, curve) && is_of_one_pass(of)));
    (points, curves)
}

fn is_of_one_pass(point: &Row) -> bool {
    point.figure(RATE).is_some_and(|rate| rate.value.is_some() && rate.count == 1)
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
        sheet.legend.dedup();
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
    let time = |quantity| curve.told(quantity).map(show_time_ns);
    let p99 = time(AT_KNEE[2]).map_or_else(String::new, |p99| format!(", p99 {p99}"));
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
    let peak = peak(PEAK)?.text(show_iops);
    let Some(depth) = curve.told(AT_KNEE[0]) else {
        let why = curve.figure(KNEE)?.says_nothing()?;
        return Some(format!(
            "{name} {reach} {peak}. Cannot tell yet where the knee is: the 95 % CI of its IOPS \
             {why}."
        ));
    };
    Some(format!(
        "{name} {reach} {peak}{knee} is at queue depth {}: {}, mean {}{p99}.",
        short_depth(depth),
        show_iops(curve.told(KNEE)?),
        time(AT_KNEE[1])?,
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

/// A sentence for points of one kind that are too few for a knee, or rest on too few passes.
fn without_knee(points: &[&Row]) -> Option<String> {
    let known = points.iter().filter_map(|point| Some((point.value(RATE)?, *point)));
    let mut by_rate: Vec<(f64, &Row)> = known.collect();
    by_rate.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ((least, _), (most, best)) = (by_rate.first()?, by_rate.last()?);
    let name = kind(&best.key);
    let rate = Entrant::of(&name, best.figure(RATE)?)?.text(show_iops);
    let depth = DEPTH.1(&best.key);
    let few = by_rate.iter().filter(|(_, point)| is_of_one_pass(point)).count();
    Some(match by_rate.len() {
        1 => format!("{name} reach {rate} at queue depth {depth}, the only one."),
        many if few > 0 => format!(
            "{name} reach {} to {} at {many} queue depths; {}: not ranked, and no knee (more \
             --runs or --max-time would tell).",
            show_iops(*least),
            show_iops(*most),
            if few == many { "one pass each".into() } else { format!("{few} have one pass") },
        ),
        many => format!(
            "{name} reach {rate} at queue depth {depth}; {many} depths show no knee, so give 3 or \
             more (--iodepth)."
        ),
    })
}

/// The peak, and of what it is.
pub(crate) fn headline(curve: &Row) -> Option<(String, String)> {
    let peak = format!("{}{}", curve.shown(PEAK, show_iops), curve.mark(PEAK));
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
        time("mean at the knee", AT_KNEE[1]),
        time("p99 at the knee", AT_KNEE[2]),
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
        Bar::of(&format!("depth {}", DEPTH.1(&point.key)), point.told(RATE), short_count)
    };
    points.filter_map(bar).collect()
}

fn is_point(point: &Row, curve: &Row) -> bool {
    Curve { depth: None, ..point.key.clone() } == curve.key
}

/// A sentence for each curve.
pub(crate) fn sentences(findings: &[Finding]) -> Vec<String> {
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
    fn a_knee_whose_rate_is_not_known_is_not_told_and_one_pass_each_has_none() {
        let point = |depth: u64, rate: f64, count| {
            let subject = subject(Some(depth));
            let found = Finding::new(&subject, RATE, Some(rate), count, "x");
            let bytes = Finding::new(&subject, "rate_bytes_per_s", Some(4096.0 * rate), count, "x");
            [found, bytes]
        };
        let knee = |quantity: &str, value, wide: bool| {
            let half = if wide { value } else { value / 10.0 };
            Finding::new(&subject(None), quantity, Some(value), 3, "x")
                .within(model::record::Interval::Passes, (Some(value - half), Some(value + half)))
        };
        let curve = [
            knee(PEAK, 2600.0, false),
            knee(PEAK_BYTES, 2600.0 * 4096.0, false),
            knee(KNEE, 1900.0, true),
            Finding::new(&subject(None), "knee_depth", Some(2.0), 3, "x"),
            Finding::new(&subject(None), "knee_latency_mean_ns", Some(1.05e6), 3, "x"),
            Finding::new(&subject(None), "knee_latency_p99_ns", Some(1.5e6), 3, "x"),
        ];
        let points = |count| [point(1, 1000.0, count), point(2, 1900.0, count)].concat();
        let findings = [points(3), curve.to_vec()].concat();
        let text = EXPERIMENT.first(&Run { findings: &findings, rows: &[] }, Some(120), 40);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said =
            "Cannot tell yet where the knee is: the 95 % CI of its IOPS reaches down to zero.";
        assert!(words.contains(said), "{text}");
        assert!(!words.contains("1.05 ms") && !words.contains("queue depth 2"), "{text}");
        let row = "2.60k [2.34k–2.86k] 10.6 MB/s cannot tell cannot tell cannot tell cannot tell";
        assert!(words.contains(row), "{text}");

        let findings = [points(1), curve.to_vec()].concat();
        let text = EXPERIMENT.first(&Run { findings: &findings, rows: &[] }, Some(100), 40);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = "4k random reads reach 1.00k IOPS to 1.90k IOPS at 2 queue depths; one pass \
            each: not ranked, and no knee";
        assert!(words.starts_with(said) && !words.contains("[ ]"), "{text}");
        assert!(!words.contains("peak") && words.contains("random reads 4k 1 1.00k"), "{text}");
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

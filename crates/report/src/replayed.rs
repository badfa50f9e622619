//! A replay's findings: first how faithful it was, then the target's response times beside those of
//! the trace, then what was left out. Beyond its bounds, or where reads reach no device, it is no
//! measurement of the trace's load: nothing is compared then.
//!
//! Non-goals: computing (the findings hold the numbers), printing.

use crate::doubt::sentence;
use crate::listing::Listing;
use crate::number::significant;
use crate::rows::{Column, plain, rows};
use crate::screen::{Screen, short};
use crate::sheet::{Sheet, markdown_paragraphs};
use crate::statement::Statement;
use model::doubt::{Code, Doubt, Value};
use model::record::{Finding, Subject};
use model::units::show_time_ns;

fn count(value: f64) -> String {
    format!("{value:.0}")
}

const COLUMNS: &[Column] = &[
    ("", "requests", "replayed_count", count),
    ("", "1/s", "replayed_per_s", significant),
    ("response on the target", "mean", "replayed_mean_ns", show_time_ns),
    ("response on the target", "p50", "replayed_p50_ns", show_time_ns),
    ("response on the target", "p99", "replayed_p99_ns", show_time_ns),
    ("response on the target", "max", "replayed_max_ns", show_time_ns),
    ("response in the trace", "mean", "recorded_mean_ns", show_time_ns),
    ("response in the trace", "p50", "recorded_p50_ns", show_time_ns),
    ("response in the trace", "p99", "recorded_p99_ns", show_time_ns),
    ("response in the trace", "max", "recorded_max_ns", show_time_ns),
];

/// The columns that go first where a terminal is narrow.
const LESS_NEEDED: [&str; 4] = [
    "response in the trace max",
    "response on the target max",
    "response in the trace mean",
    "response on the target mean",
];

const BELOW: &str = "lbolt response OUTPUT has what each request went through: there a request is \
    queued when it was due, and issued when it was handed over.";

/// The first screen for a terminal of `width` columns; `all` columns where they are requested.
pub fn screen(findings: &[Finding], all: bool, width: Option<u16>) -> String {
    let tables = vec![sheet(findings)];
    let less_needed: &[&str] = if all { &[] } else { &LESS_NEEDED };
    let below = BELOW.to_owned();
    Screen {
        sentences: sentences(findings),
        tables,
        which: "first",
        less_needed,
        needed: &[],
        below,
    }
    .text(width)
}

/// The same as Markdown.
pub fn markdown(findings: &[Finding]) -> String {
    let sentences = markdown_paragraphs(sentences(findings)).into_iter();
    sentences.chain([sheet(findings).markdown()]).collect::<Vec<_>>().join("\n")
}

fn of<'a>(findings: &'a [Finding], quantity: &str) -> Option<&'a Finding> {
    findings.iter().find(|finding| finding.quantity == quantity)
}

fn value(findings: &[Finding], quantity: &str) -> Option<f64> {
    of(findings, quantity).and_then(|finding| finding.value)
}

fn doubt(findings: &[Finding], code: Code) -> Option<&Doubt> {
    let doubts = of(findings, "lateness_p50_ns").into_iter().flat_map(|found| &found.doubts);
    doubts.into_iter().find(|doubt| doubt.code == code)
}

/// Why the requests were not the trace's load, and what would help; none where they were.
pub fn unfaithful(findings: &[Finding]) -> Option<String> {
    let late = doubt(findings, Code::ReplayLate).map(|_| {
        let help = match is_of_target(findings) {
            Some(true) => "; use a lower --scale",
            Some(false) => "; leave lbolt a free core",
            None => "",
        };
        format!("requests were later than --lateness-p50 or --lateness-p99 allows{help}")
    });
    let hollow = doubt(findings, Code::ReplayHoles)
        .map(|doubt| format!("{}; fill the file first", sentence(doubt)));
    let all: Vec<String> = late.into_iter().chain(hollow).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn is_faithful(findings: &[Finding]) -> bool {
    unfaithful(findings).is_none()
}

/// Whether most of the lateness is the target's.
fn is_of_target(findings: &[Finding]) -> Option<bool> {
    value(findings, "lateness_target_percent").map(|percent| percent > 50.0)
}

/// Whether the replay was faithful, and what it says.
pub fn answer(findings: &[Finding]) -> Vec<Statement<'_>> {
    sentences(findings).into_iter().map(Statement::from).collect()
}

fn sentences(findings: &[Finding]) -> Vec<String> {
    let told = [faith(findings), blame(findings), comparison(findings), changed(findings)];
    told.into_iter().flatten().chain(left_out(findings)).collect()
}

/// How late the requests were.
fn faith(findings: &[Finding]) -> Option<String> {
    let p50 = of(findings, "lateness_p50_ns")?;
    let time = |quantity| value(findings, quantity).map(show_time_ns).unwrap_or_default();
    let late = format!(
        "{} requests, lateness p50 {}, p99 {}, max {}",
        p50.count,
        time("lateness_p50_ns"),
        time("lateness_p99_ns"),
        time("lateness_max_ns")
    );
    if is_faithful(findings) {
        return Some(format!("Faithful: {late}."));
    }
    let bounds = doubt(findings, Code::ReplayLate).map(|doubt| {
        let bound = |name: &str| match doubt.values.get(name) {
            Some(Value::Number(ns)) => show_time_ns(*ns),
            _ => String::new(),
        };
        format!("; the bounds are p50 {} and p99 {}", bound("p50_bound_ns"), bound("p99_bound_ns"))
    });
    let hollow = doubt(findings, Code::ReplayHoles)
        .map(|doubt| format!("; {} (fill the file first)", sentence(doubt)));
    Some(format!(
        "Unfaithful: {late}{}{}. This load differs from the trace's, so nothing is compared.",
        bounds.unwrap_or_default(),
        hollow.unwrap_or_default()
    ))
}

/// Whose doing an unfaithful replay is, and what would help.
fn blame(findings: &[Finding]) -> Option<String> {
    doubt(findings, Code::ReplayLate)?;
    let shown = significant(value(findings, "lateness_target_percent")?);
    Some(match is_of_target(findings)? {
        true => format!(
            "For {shown} % of the lateness the target accepted no request: it cannot keep up with \
             this trace. Use --scale 0.5 for half the rate, or --arrivals closed, where each \
             request waits for the one before it."
        ),
        false => format!(
            "For {shown} % of the lateness the target accepted no request; for the rest lbolt \
             itself was late. Leave it a free core."
        ),
    })
}

/// The target's mean response beside the trace's.
fn comparison(findings: &[Finding]) -> Option<String> {
    if !is_faithful(findings) {
        return None;
    }
    let is_all = |f: &&Finding| f.subject.get("op").is_some_and(|op| op == "all");
    let all: Vec<Finding> = findings.iter().filter(is_all).cloned().collect();
    let mean = value(&all, "replayed_mean_ns")?;
    let device = of(&all, "replayed_mean_ns")?.subject.get("device").unwrap_or_default();
    let rate = value(&all, "replayed_per_s").map(|rate| format!("{}/s, ", significant(rate)));
    let lead = format!(
        "On {} the mean response is {} ({}each from handing over)",
        short(&device),
        show_time_ns(mean),
        rate.unwrap_or_default()
    );
    let recorded = value(&all, "recorded_mean_ns").filter(|recorded| *recorded > 0.0);
    Some(match recorded {
        None => format!("{lead}; the trace does not tell when its requests were completed."),
        Some(recorded) => format!(
            "{lead}, {} × the {} that the same requests took in the trace.",
            significant(mean / recorded),
            show_time_ns(recorded)
        ),
    })
}

/// What was changed of the requests, and what failed.
fn changed(findings: &[Finding]) -> Option<String> {
    let some = |quantity, text: &str| {
        let found = value(findings, quantity).filter(|count| *count > 0.0)?;
        Some(format!("{found:.0} {text}"))
    };
    let hollow = some("replay_hole_count", "read what was never written, and reached no device");
    let told = [
        some("replay_failed_count", "failed, and are in no figure"),
        some("replay_rounded_count", "were rounded outward to the target's blocks"),
        some("replay_wrapped_count", "were wrapped into the target"),
        hollow.filter(|_| doubt(findings, Code::ReplayHoles).is_none()),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    (!told.is_empty()).then(|| format!("Of the requests {}.", told.join(", ")))
}

/// What of the trace was not made.
fn left_out(findings: &[Finding]) -> Option<String> {
    let reason = |finding: &Finding| match (&finding.subject, finding.value) {
        (Subject::Class(class), Some(value)) if finding.quantity == "replay_left_out_count" => {
            Some(format!("{value:.0} {}", class.class))
        }
        _ => None,
    };
    let told: Vec<String> = findings.iter().filter_map(reason).collect();
    (!told.is_empty()).then(|| format!("Left out: {}.", told.join("; ")))
}

/// The response times by operation; those of the trace only where the replay was faithful.
fn sheet(findings: &[Finding]) -> Sheet {
    let mut rows = rows(findings, |finding| match &finding.subject {
        Subject::DeviceOp(of) => Some((of.op.clone(), finding.quantity.clone())),
        _ => None,
    });
    rows.retain(|row| row.figure("replayed_count").is_some());
    let is_shown = |column: &&Column| {
        let is_known = rows.iter().any(|row| row.value(column.2).is_some());
        is_known && (is_faithful(findings) || !column.2.starts_with("recorded"))
    };
    let title = match is_faithful(findings) {
        true => "The trace, replayed",
        false => "A different load from the trace's",
    };
    Listing::of(&rows)
        .label("op", |row| row.key.clone())
        .columns(COLUMNS.iter().filter(is_shown), plain)
        .sheet(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(codes: &[Code]) -> Vec<Finding> {
        let run = Subject::this_run();
        let of = |name: &str, value: f64| Finding::new(&run, name, Some(value), 100, "replayed");
        let mut found = vec![
            of("lateness_p50_ns", 2e3),
            of("lateness_p99_ns", 3e6),
            of("lateness_max_ns", 9e6),
            of("lateness_target_percent", 98.0),
            of("replay_rounded_count", 7.0),
        ];
        let all = Subject::device_op("loop0", "all");
        for (name, value) in [
            ("replayed_count", 100.0),
            ("replayed_per_s", 50.0),
            ("replayed_mean_ns", 1e6),
            ("recorded_mean_ns", 4e6),
        ] {
            found.push(Finding::new(&all, name, Some(value), 100, "replayed"));
        }
        let reason = Subject::class("left out", "writes: name the target again by --destroy");
        found.push(Finding::new(&reason, "replay_left_out_count", Some(5.0), 5, "replayed"));
        for code in codes {
            let values = [
                ("p50_bound_ns", 5e4.into()),
                ("p99_bound_ns", 1e6.into()),
                ("holes", 40.0.into()),
                ("reads", 100.0.into()),
            ];
            let doubt = Doubt::new(*code, values);
            found.iter_mut().for_each(|finding| finding.doubt(doubt.clone()));
        }
        found
    }

    fn said(findings: &[Finding]) -> String {
        let text = screen(findings, false, None);
        assert!(text.lines().count() <= 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        text.replace('\n', " ")
    }

    #[test]
    fn a_faithful_replay_is_compared_with_its_trace() {
        let text = said(&findings(&[]));
        for words in [
            "Faithful: 100 requests, lateness p50 2.00 µs, p99 3.00 ms, max 9.00 ms.",
            "the mean response is 1.00 ms (50.0/s, each from handing over), 0.250 × the 4.00 ms",
            "Of the requests 7 were rounded outward",
            "Left out: 5 writes: name the target again",
            "response in the trace",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn an_unfaithful_replay_is_called_so_first_and_compared_with_nothing() {
        let text = said(&findings(&[Code::ReplayLate]));
        assert!(text.starts_with("Unfaithful: 100"), "{text}");
        assert!(text.contains("the bounds are p50 50.0 µs and p99 1.00 ms"), "{text}");
        assert!(text.contains("98.0 % of the lateness the target accepted no request"), "{text}");
        assert!(!text.contains("in the trace mean") && !text.contains("0.250 ×"), "{text}");
        assert!(!markdown(&findings(&[Code::ReplayLate])).contains("response in the trace"));
    }

    #[test]
    fn a_replay_whose_reads_reach_no_device_is_unfaithful_for_that_alone() {
        let hollow = findings(&[Code::ReplayHoles]);
        let text = said(&hollow);
        let words = "40 of 100 reads are of what was never written in the file: they reach no \
            device (fill the file first). This load differs from the trace's, so nothing is \
            compared.";
        assert!(text.starts_with("Unfaithful: 100") && text.contains(words), "{text}");
        assert!(!text.contains("bounds are") && !text.contains("0.250 ×"), "{text}");
        assert!(!unfaithful(&hollow).unwrap().contains("--lateness"), "{:?}", unfaithful(&hollow));
        let late = unfaithful(&findings(&[Code::ReplayLate])).unwrap();
        assert!(late.contains("lower --scale") && !late.contains("never written"), "{late}");
        assert_eq!(unfaithful(&findings(&[])), None);
    }
}

//! A history for machines: JSON and CSV. Neither rounds.

use super::FIGURES;
use super::told::sentences;
use crate::export::{answer, line};
use jiff::Timestamp;
use model::history::{Gap, Line, Overview};
use model::text::visible_json;
use serde_json::{Value, json};

/// The schema of the JSON.
const SCHEMA: &str = "lbolt.history/1";

fn time(unix_ns: i64) -> String {
    Timestamp::from_nanosecond(unix_ns.into()).unwrap_or_default().to_string()
}

/// A name with its unit, and the value in a line.
type Figure = (&'static str, fn(&Line) -> Option<f64>);

/// The figures that are no column of the table; the first stands before these.
const MORE: &[Figure] = &[
    ("watched_s", |line| Some(line.watched_ns as f64 / 1e9)),
    ("requests", |line| Some(line.requests as f64)),
    ("failed", |line| Some(line.failed as f64)),
    ("p50_ns", |line| line.p50_ns.map(|ns| ns as f64)),
    ("p99_ns", |line| line.p99_ns.map(|ns| ns as f64)),
    ("max_ns", |line| line.max_ns.map(|ns| ns as f64)),
    ("lost_ns", |line| Some(line.lost_ns)),
];

/// All figures of a line.
fn figures(line: &Line) -> impl Iterator<Item = (&'static str, Option<f64>)> {
    let of_table = FIGURES.iter().filter(|(group, ..)| group.is_empty());
    let of_table = of_table.map(|(_, name, figure)| (*name, *figure));
    let (first, rest) = MORE.split_at(1);
    let all = first.iter().copied().chain(of_table).chain(rest.iter().copied());
    all.map(|(name, figure)| (name, figure(line).filter(|value| value.is_finite())))
}

/// `{"schema":"lbolt.history/1","answer":[…],"rows":[…],"gaps":[…],…}`.
/// Errors: none that these types can cause; the serializer's own are passed on.
pub fn json(overview: &Overview, notes: &[String]) -> serde_json::Result<String> {
    let span = |(from, until): (i64, i64)| json!({ "from": time(from), "until": time(until) });
    let gap = |gap: &Gap| match gap.host.as_str() {
        "" => span(gap.span_unix_ns),
        host => {
            let mut of_host = span(gap.span_unix_ns);
            of_host["host"] = host.into();
            of_host
        }
    };
    let row = |line: &Line| {
        let mut row = serde_json::Map::new();
        row.insert("from".into(), time(line.from_unix_ns).into());
        row.insert("until".into(), time(line.until_unix_ns).into());
        row.insert(overview.by.name().into(), line.group.clone().into());
        row.extend(figures(line).map(|(name, value)| (name.into(), value.into())));
        let who = line.who.as_ref().map(|(pair, lost_ns)| {
            json!({
                "victim": pair.victim, "operation": pair.operation, "device": pair.device,
                "cause": pair.cause, "lost_ns": lost_ns,
            })
        });
        row.insert("who".into(), who.into());
        Value::Object(row)
    };
    let losses = overview.losses.iter().map(|loss| {
        // Rows of earlier versions tell no variance: that is no interval of no width.
        let half_ns = loss.half_ns.filter(|half_ns| *half_ns > 0.0);
        json!({
            "victim": loss.pair.victim, "operation": loss.pair.operation,
            "device": loss.pair.device, "cause": loss.pair.cause, "lost_ns": loss.lost_ns,
            "lost_low_ns": half_ns.map(|half_ns| loss.lost_ns - half_ns),
            "lost_high_ns": half_ns.map(|half_ns| loss.lost_ns + half_ns),
            "percent": loss.percent, "matters": loss.matters,
            "storms": loss.storms.0, "storms_ns": loss.storms.1, "storms_period_ns": loss.period_ns,
            "worst": span(loss.worst_unix_ns), "worst_lost_ns": loss.worst_lost_ns,
        })
    });
    let document = json!({
        "schema": SCHEMA,
        "span": span(overview.span_unix_ns),
        "by": overview.by.name(),
        "every_s": overview.step_ns.map(|ns| ns as f64 / 1e9),
        "answer": answer(sentences(overview)),
        "notes": notes,
        "hosts": overview.hosts,
        "watched_s": overview.watched_ns as f64 / 1e9,
        "gaps": overview.gaps.iter().map(gap).collect::<Vec<_>>(),
        "events_lost": overview.events_lost,
        "from_issue": overview.from_issue,
        "clock_forward": { "count": overview.forward.0, "ns": overview.forward.1 },
        "clock_back": { "count": overview.back.0, "ns": overview.back.1 },
        "not_kept_s": overview.not_kept_ns as f64 / 1e9,
        "rows": overview.lines.iter().map(row).collect::<Vec<_>>(),
        "losses": losses.collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&document).map(|text| visible_json(&text).into_owned() + "\n")
}

/// A line of CSV for each line of the table.
pub fn csv(overview: &Overview) -> String {
    let names: Vec<&str> = figures(&Line::default()).map(|(name, _)| name).collect();
    let of_who = ["who_victim", "who_operation", "who_device", "who_cause", "who_lost_ns"];
    let head = ["from", "until", overview.by.name()].into_iter().chain(names);
    let mut text = line(head.chain(of_who).map(str::to_owned));
    for row in &overview.lines {
        let begin = [time(row.from_unix_ns), time(row.until_unix_ns), row.group.clone()];
        let texts =
            figures(row).map(|(_, value)| value.map_or_else(String::new, |v| v.to_string()));
        let who = row.who.clone().map_or_else(<[String; 5]>::default, |(pair, lost_ns)| {
            [pair.victim, pair.operation, pair.device, pair.cause, lost_ns.to_string()]
        });
        text.push_str(&line(begin.into_iter().chain(texts).chain(who)));
    }
    text
}

//! A history for machines: JSON and CSV. Neither rounds.

use super::told::sentences;
use crate::export::cell;
use jiff::Timestamp;
use model::history::{Gap, Line, Overview};
use model::text::visible_json;
use serde_json::{Value, json};

/// The schema of the JSON.
const SCHEMA: &str = "lbolt.history/1";

fn time(unix_ns: i64) -> String {
    Timestamp::from_nanosecond(unix_ns.into()).unwrap_or_default().to_string()
}

/// A figure's name, with its unit, and its value in a line.
type Figure = (&'static str, fn(&Line) -> Option<f64>);

const FIGURES: &[Figure] = &[
    ("watched_s", |line| Some(line.watched_ns as f64 / 1e9)),
    ("tps", |line| line.tps),
    ("rkB/s", |line| line.read_bytes_per_s.map(|bytes| bytes / 1024.0)),
    ("wkB/s", |line| line.written_bytes_per_s.map(|bytes| bytes / 1024.0)),
    ("dkB/s", |line| line.discarded_bytes_per_s.map(|bytes| bytes / 1024.0)),
    ("areq-sz", |line| line.request_bytes.map(|bytes| bytes / 1024.0)),
    ("aqu-sz", |line| line.queued),
    ("await", |line| line.await_ns.map(|ns| ns / 1e6)),
    ("%util", |line| line.util_percent),
    ("requests", |line| Some(line.requests as f64)),
    ("failed", |line| Some(line.failed as f64)),
    ("p50_ns", |line| line.p50_ns.map(|ns| ns as f64)),
    ("p99_ns", |line| line.p99_ns.map(|ns| ns as f64)),
    ("max_ns", |line| line.max_ns.map(|ns| ns as f64)),
    ("lost_ns", |line| Some(line.lost_ns)),
];

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
        for (name, figure) in FIGURES {
            row.insert((*name).into(), figure(line).filter(|value| value.is_finite()).into());
        }
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
        "answer": sentences(overview),
        "notes": notes,
        "hosts": overview.hosts,
        "watched_s": overview.watched_ns as f64 / 1e9,
        "gaps": overview.gaps.iter().map(gap).collect::<Vec<_>>(),
        "events_lost": overview.events_lost,
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
    let names = FIGURES.iter().map(|(name, _)| *name);
    let of_who = ["who_victim", "who_operation", "who_device", "who_cause", "who_lost_ns"];
    let head = ["from", "until", overview.by.name()].into_iter().chain(names);
    let mut text = line(head.chain(of_who).map(str::to_owned));
    for row in &overview.lines {
        let begin = [time(row.from_unix_ns), time(row.until_unix_ns), row.group.clone()];
        let figures = FIGURES.iter().map(|(_, figure)| {
            let value = figure(row).filter(|value| value.is_finite());
            value.map_or_else(String::new, |value| value.to_string())
        });
        let who = row.who.clone().map_or_else(<[String; 5]>::default, |(pair, lost_ns)| {
            [pair.victim, pair.operation, pair.device, pair.cause, lost_ns.to_string()]
        });
        text.push_str(&line(begin.into_iter().chain(figures).chain(who)));
    }
    text
}

pub(super) fn line(cells: impl Iterator<Item = String>) -> String {
    cells.map(|text| cell(&text)).collect::<Vec<_>>().join(",") + "\n"
}

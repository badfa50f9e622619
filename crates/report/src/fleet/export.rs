//! A fleet for machines: JSON and CSV. Neither rounds.

use super::{About, told};
use crate::export::{answer, line};
use jiff::Timestamp;
use model::fleet::{Fleet, FleetFinding, FleetLine, FleetSlower, FleetStorm, Found, Slowness};
use model::text::visible_json;
use serde_json::{Value, json};

/// The schema of the JSON.
const SCHEMA: &str = "lbolt.fleet/1";

fn time(unix_ns: i64) -> String {
    Timestamp::from_nanosecond(unix_ns.into()).unwrap_or_default().to_string()
}

/// A figure's name and its value in a line.
type Figure = (&'static str, fn(&FleetLine) -> Option<f64>);

const FIGURES: &[Figure] = &[
    ("hosts", |line| Some(line.hosts as f64)),
    ("watched_s", |line| Some(line.watched_ns as f64 / 1e9)),
    ("lost_ns", |line| Some(line.lost_ns)),
    ("lost_low_ns", |line| Some(line.lost_ns - line.half_ns)),
    ("lost_high_ns", |line| Some(line.lost_ns + line.half_ns)),
    ("percent", |line| line.percent),
    ("before_ns_per_day", |line| line.before_after.map(|of| of.0)),
    ("after_ns_per_day", |line| line.before_after.map(|of| of.1)),
    ("requests", |line| Some(line.requests as f64)),
    ("failed", |line| Some(line.failed as f64)),
    ("p50_ns", |line| line.p50_ns.map(|ns| ns as f64)),
    ("p99_ns", |line| line.p99_ns.map(|ns| ns as f64)),
    ("max_ns", |line| line.max_ns.map(|ns| ns as f64)),
];

fn figures(line: &FleetLine) -> impl Iterator<Item = (&'static str, Option<f64>)> {
    FIGURES.iter().map(|(name, of)| (*name, of(line).filter(|value| value.is_finite())))
}

fn path(about: &About, found: &Found) -> String {
    let place = about.places.get(found.source);
    place.map_or_else(String::new, |place| place.path.display().to_string())
}

fn names(hosts: &[Found]) -> Vec<&str> {
    hosts.iter().map(|found| found.host.as_str()).collect()
}

fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

/// `{"schema":"lbolt.fleet/1","answer":[…],"findings":[…],"rows":[…],"storms":[…],…}`.
/// Errors: none that these types can cause; the serializer's own are passed on.
pub fn json(fleet: &Fleet, about: &About) -> serde_json::Result<String> {
    let finding = |found: &FleetFinding| {
        json!({
            "common": found.common.name(), "key": found.key, "model": found.model,
            "cause": found.cause, "victim": found.victim, "device": found.device,
            "hosts": found.hosts, "of_hosts": found.of_hosts, "lost_ns": found.lost_ns,
            "lost_low_ns": found.lost_ns - found.half_ns,
            "lost_high_ns": found.lost_ns + found.half_ns, "percent": found.percent,
            "since": found.since_unix_ns.map(time),
            "hours": found.hours.map(|(first, count)| json!({ "first": first, "count": count })),
            "worst": found.first().host, "path": path(about, &found.first()),
            "which": names(&found.worst),
        })
    };
    let slower = |of: &FleetSlower| {
        json!({
            "slowness": of.slowness.name(), "common": of.common.name(), "key": of.key,
            "model": of.model, "device": of.device, "operation": of.operation,
            "share": of.share, "against_all": of.is_against_all, "ratio": finite(of.ratio),
            "ratio_low": finite(of.low), "ratio_high": finite(of.high),
            "stalls": of.stalls.0, "longest_ns": of.stalls.1,
            "stalls_of_others": of.stalls_of_others,
            "from": (of.slowness == Slowness::Drift).then(|| time(of.span_unix_ns.0)),
            "until": (of.slowness == Slowness::Drift).then(|| time(of.span_unix_ns.1)),
            "hours": of.hours.map(|(first, count)| json!({ "first": first, "count": count })),
            "which": names(&of.hosts), "of_hosts": of.of_hosts,
        })
    };
    let row = |line: &FleetLine| {
        let mut row = serde_json::Map::new();
        row.insert(fleet.by.name().into(), line.group.clone().into());
        row.extend(figures(line).map(|(name, value)| (name.into(), value.into())));
        let cause = line.cause.as_ref();
        row.insert("cause".into(), cause.map(|(cause, _)| cause.clone()).into());
        row.insert("cause_lost_ns".into(), cause.map(|(_, lost_ns)| *lost_ns).into());
        row.insert("worst".into(), line.worst.host.clone().into());
        row.insert("path".into(), path(about, &line.worst).into());
        Value::Object(row)
    };
    let storm = |storm: &FleetStorm| {
        json!({
            "cause": storm.cause, "from": time(storm.from_unix_ns),
            "until": time(storm.until_unix_ns), "hours": storm.hours, "hosts": storm.hosts,
            "storms": storm.storms, "lost_ns": storm.lost_ns, "worst": storm.worst.host,
            "path": path(about, &storm.worst),
        })
    };
    let (from, until) = fleet.span_unix_ns;
    let document = json!({
        "schema": SCHEMA,
        "span": { "from": time(from), "until": time(until) },
        "by": fleet.by.name(),
        "answer": answer(told::sentences(fleet, about)),
        "notes": about.notes,
        "hosts": fleet.hosts,
        "simulated": fleet.simulated,
        "rollup_rows": fleet.rows,
        "watched_s": fleet.watched_ns as f64 / 1e9,
        "lost_ns": fleet.lost_ns,
        "waited_ns": fleet.waited_ns,
        "before_after": fleet.change_unix_ns.map(time),
        "findings": fleet.findings.iter().map(finding).collect::<Vec<_>>(),
        "slower": fleet.slower.iter().map(slower).collect::<Vec<_>>(),
        "rows": fleet.lines.iter().map(row).collect::<Vec<_>>(),
        "storms": fleet.storms.iter().map(storm).collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&document).map(|text| visible_json(&text).into_owned() + "\n")
}

/// A line of CSV for each line of the table.
pub fn csv(fleet: &Fleet, about: &About) -> String {
    let names = FIGURES.iter().map(|(name, _)| *name);
    let more = ["cause", "cause_lost_ns", "worst", "path"];
    let head = ["subject", "group"].into_iter().chain(names).chain(more);
    let mut text = line(head.map(str::to_owned));
    for row in &fleet.lines {
        let begin = [fleet.by.name().to_owned(), row.group.clone()];
        let texts =
            figures(row).map(|(_, value)| value.map_or_else(String::new, |v| v.to_string()));
        let cause = row
            .cause
            .clone()
            .map_or_else(Default::default, |(cause, lost_ns)| [cause, lost_ns.to_string()]);
        let worst = [row.worst.host.clone(), path(about, &row.worst).to_owned()];
        text.push_str(&line(begin.into_iter().chain(texts).chain(cause).chain(worst)));
    }
    text
}

//! The incidents that a watch kept, a line each: when, why, what it was, and how to open it.

use super::{length, stamp};
use crate::export::line;
use crate::listing::Listing;
use crate::number::show_bytes;
use crate::screen::limited;
use crate::words::{clean, hang};
use jiff::Timestamp;
use model::history::Incident;
use model::quote;
use model::text::visible_json;
use serde_json::json;
use std::path::PathBuf;

fn of_time(incident: &Incident) -> String {
    let ns = (incident.until_unix_ns - incident.from_unix_ns) as f64;
    format!("{}, {}", stamp(incident.from_unix_ns, "%Y-%m-%d %H:%M:%SZ"), length(ns))
}

/// When it was, and why it was kept.
fn head(incident: &Incident) -> String {
    format!("{}: {}", of_time(incident), incident.why)
}

fn verdict(incident: &Incident) -> &str {
    if incident.verdict.is_empty() { "no verdict was made" } else { &incident.verdict }
}

const NONE: &str = "No incident was kept.";

/// For a terminal: each incident with its run's directory, oldest first.
pub fn incidents(found: &[(PathBuf, Incident)], width: Option<u16>) -> String {
    let limit = limited(width);
    let of = |(run, incident): &(PathBuf, Incident)| {
        let size = format!(
            "{} requests, {}: lbolt response {}",
            incident.requests,
            show_bytes(incident.bytes as f64),
            quote::path(run)
        );
        format!(
            "{}{}{}",
            hang("", &clean(&head(incident)), limit),
            hang("    ", &clean(verdict(incident)), limit),
            // A path is never wrapped: it is copied.
            format_args!("    {size}\n"),
        )
    };
    match found.len() {
        0 => format!("{NONE}\n"),
        1 => format!("1 incident.\n\n{}", of(&found[0])),
        count => {
            let all: Vec<String> = found.iter().map(of).collect();
            format!("{count} incidents, the last one last.\n\n{}", all.join("\n"))
        }
    }
}

/// The same as JSON.
/// Errors: none that these types can cause; the serializer's own are passed on.
pub fn incidents_json(found: &[(PathBuf, Incident)]) -> serde_json::Result<String> {
    let row = |(run, incident): &(PathBuf, Incident)| {
        let run = run.display().to_string();
        json!({ "run": run, "incident": incident })
    };
    let said = |sentence: String| json!({ "sentence": sentence, "finding": null });
    let none = found.is_empty().then(|| NONE.to_owned());
    let told = found.iter().map(|(_, of)| format!("{}: {}", head(of), verdict(of)));
    let document = json!({
        "schema": "lbolt.incidents/1",
        "answer": none.into_iter().chain(told).map(said).collect::<Vec<_>>(),
        "incidents": found.iter().map(row).collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&document).map(|text| visible_json(&text).into_owned() + "\n")
}

/// The same as CSV.
pub fn incidents_csv(found: &[(PathBuf, Incident)]) -> String {
    let head = ["from", "until", "why", "verdict", "requests", "bytes", "run"];
    let mut text = line(head.into_iter().map(str::to_owned));
    let time = |ns: i64| Timestamp::from_nanosecond(ns.into()).unwrap_or_default().to_string();
    for (run, incident) in found {
        let cells = [
            time(incident.from_unix_ns),
            time(incident.until_unix_ns),
            incident.why.clone(),
            incident.verdict.clone(),
            incident.requests.to_string(),
            incident.bytes.to_string(),
            run.display().to_string(),
        ];
        text.push_str(&line(cells.into_iter()));
    }
    text
}

/// The same as Markdown.
pub fn incidents_markdown(found: &[(PathBuf, Incident)]) -> String {
    Listing::of(found)
        .label("time", |(_, incident)| of_time(incident))
        .label("why", |(_, incident)| incident.why.clone())
        .label("verdict", |(_, incident)| incident.verdict.clone())
        .remark("run", |(run, _)| run.display().to_string())
        .sheet(format!("{} incidents", found.len()))
        .markdown()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incidents_are_rows_of_a_markdown_table() {
        let incident = Incident { why: "p99 > 5 ms".into(), ..Incident::default() };
        let text = incidents_markdown(&[("run-1".into(), incident)]);
        assert!(text.contains("p99") && text.contains("run-1"), "{text}");
    }
}

//! The first screen: what was measured on what, the answer, what is doubted, how to repeat it.
//!
//! Non-goals: the experiments' own sentences (each says its own).

use super::{RunFacts, Source};
use crate::doubt::sentences;
use crate::experiments::Run;
use crate::footnote::{Footnotes, Note};
use crate::history::stamp;
use crate::number::{show_bytes, significant};
use crate::words::{first_seen, name, upper};
use crate::{EXPERIMENTS, figure::Figure, survey};
use model::quote;
use model::record::{Finding, Subject, Verdict};
use model::units::show_about;
use serde_json::Value;
use std::collections::BTreeSet;

/// Doubts that the first screen names.
const MOST_DOUBTS: usize = 10;

/// The experiment that reads what was recorded elsewhere.
const IMPORT: &str = "import";

/// What the page is of.
pub(super) fn title(sources: &[Source<'_>]) -> String {
    match sources {
        [] => "No run".to_owned(),
        [one] => match targets(one.findings).as_slice() {
            [] => format!("{}: {}", upper(&one.info.experiment), one.info.name),
            targets => {
                let targets: Vec<String> = targets.iter().map(|target| name(target)).collect();
                format!("{} of {}", upper(&one.info.experiment), targets.join(", "))
            }
        },
        several => {
            let names: Vec<String> = several.iter().map(|one| name(&one.info.name)).collect();
            format!("{} runs: {}", several.len(), names.join(", "))
        }
    }
}

/// The first screen of a run.
pub(super) fn facts(source: &Source<'_>) -> RunFacts {
    let run = Run { findings: source.findings, rows: &source.info.rows };
    let experiments = EXPERIMENTS.iter().filter(|of| of.has_findings(source.findings));
    let is_survey = source.info.experiment == "survey";
    let cards = if is_survey { survey::cards(&run) } else { Vec::new() };
    let mut told: Vec<String> = match is_survey {
        true => Vec::new(),
        false => experiments.flat_map(|of| (of.sentences)(&run)).collect(),
    };
    told.extend(super::sections::first_sentences(source));
    if source.findings.is_empty() {
        told.push("The run has no findings.".to_owned());
    }
    let doubts = source.remarks.iter().cloned().chain(doubts(source.findings)).collect();
    RunFacts {
        name: source.info.name.clone(),
        cards,
        sentences: told,
        facts: circumstances(source),
        doubts,
        sure: sure(source.findings),
        command: command(&source.info.command_line),
    }
}

/// The systems that were measured, each once.
fn targets(findings: &[Finding]) -> Vec<String> {
    let all = findings.iter().filter_map(|finding| finding.subject.target());
    first_seen(&all.map(str::to_owned).collect::<Vec<_>>())
}

/// What was measured, when, and on which machine.
fn circumstances(source: &Source<'_>) -> Vec<(String, String)> {
    let info = source.info;
    let machine = &info.machine;
    let text = |key: &str| machine.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |key: &str| machine.get(key).and_then(Value::as_f64);
    let cpu = text("cpu_model").map(|model| match number("cpus") {
        Some(cpus) => format!("{cpus:.0} × {model}"),
        None => model,
    });
    let memory = number("memory_bytes").map(show_bytes);
    let is_virtual = machine.get("is_virtual").and_then(Value::as_bool) == Some(true);
    let kind = is_virtual.then(|| "a virtual machine".to_owned());
    let parts: Vec<String> = [cpu, memory, kind].into_iter().flatten().collect();
    let measured = targets(source.findings).join(", ");
    // An import's requests were not made on the machine that read them.
    let is_own = |text: String| if info.experiment == IMPORT { String::new() } else { text };
    let began_label = if info.experiment == IMPORT { "Imported" } else { "Began" };
    let all = [
        ("Measured", measured),
        ("Trace", trace(source.findings).unwrap_or_default()),
        ("Machine", is_own(parts.join(", "))),
        ("Devices", is_own(devices(machine).join("; "))),
        ("File systems", file_systems(&info.plan)),
        ("Kernel", is_own(text("kernel").unwrap_or_default())),
        (began_label, began(&info.started)),
        ("Run", format!("{} ({}), by lbolt {}", info.name, info.state, info.version)),
    ];
    let known = all.into_iter().filter(|(_, text)| !text.is_empty());
    known.map(|(label, text)| (label.to_owned(), text)).collect()
}

/// `44519 requests in 6 d 23:31:05; times count from 2026-11-22 08:35:35.9Z`; none of a run whose
/// requests were not analysed.
fn trace(findings: &[Finding]) -> Option<String> {
    let of_run = |quantity: &str| {
        let is_of = |finding: &&Finding| {
            finding.quantity == quantity && matches!(finding.subject, Subject::Run(_))
        };
        findings.iter().find(is_of)?.value
    };
    match of_run("requests_count")? {
        0.0 => Some("no request".to_owned()),
        count => {
            let span = of_run("verdict_span_ns").map(|ns| format!(" in {}", show_about(ns)));
            let zero = of_run("clock_zero_unix_ns").map(|ns| {
                format!("; times count from {}", stamp(ns as i64, "%Y-%m-%d %H:%M:%S%.1fZ"))
            });
            let of_time = [span, zero].into_iter().flatten().collect::<String>();
            Some(format!("{count:.0} requests{of_time}"))
        }
    }
}

/// To the second; what is no time as it is.
fn began(started: &str) -> String {
    let known = started.parse::<jiff::Timestamp>();
    known.map_or_else(|_| started.to_owned(), |at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// `vda: 256 GiB, rotating, write back`.
fn devices(machine: &Value) -> Vec<String> {
    let of = |device: &Value| {
        let text = |key: &str| device.get(key).and_then(Value::as_str).map(str::to_owned);
        let size = device.get("size_bytes").and_then(Value::as_f64).map(show_bytes);
        let turns = device.get("rotational").and_then(Value::as_bool);
        let turns = turns
            .map(|turns| if turns { "rotating, as the kernel reports" } else { "not rotating" });
        let cache = text("write_cache").map(|cache| format!("cache {cache}"));
        let scheduler = text("scheduler").map(|name| format!("scheduler {name}"));
        let turns = turns.map(str::to_owned);
        let parts: Vec<String> =
            [text("model"), size, turns, cache, scheduler].into_iter().flatten().collect();
        Some(format!("{}: {}", text("name")?, parts.join(", ")))
    };
    machine.get("devices").and_then(Value::as_array).into_iter().flatten().filter_map(of).collect()
}

/// The file systems beneath the systems that were measured, each once.
fn file_systems(plan: &Value) -> String {
    let systems = plan.get("systems").and_then(Value::as_array).into_iter().flatten();
    let places = systems.filter_map(|system| system.get("places")?.as_array()).flatten();
    let names = places.filter_map(|place| place.get("file_system")?.as_str());
    names.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
}

/// What is suspect or was not measured, each reason once with where it holds.
fn doubts(findings: &[Finding]) -> Vec<String> {
    let counted = |verdict: Verdict| {
        let of = |finding: &&Finding| finding.is_rate() && finding.verdict == verdict;
        findings.iter().filter(of).count()
    };
    let cells = findings.iter().filter(|finding| finding.is_rate()).count();
    let cell = |finding: &Finding| {
        let notes: Vec<Note> = Figure::of(finding).notes().collect();
        let target = finding.subject.target().unwrap_or_default().to_owned();
        (target, brief(&finding.subject), notes)
    };
    let rates = findings.iter().filter(|finding| finding.is_rate()).map(cell);
    let notes = Footnotes::of_cells("cells", rates);
    let count = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let counts = [
        count(counted(Verdict::Suspect), "suspect"),
        count(counted(Verdict::NotMeasured), "not measured"),
    ];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let head = (!counts.is_empty()).then(|| format!("Of {cells} cells: {}.", counts.join(", ")));
    let reasons: Vec<String> = notes.reasons().map(|reason| upper(&reason)).collect();
    let left = reasons.len().saturating_sub(MOST_DOUBTS);
    let more = (left > 0).then(|| format!("And {left} more, under the tables."));
    let reasons = reasons.into_iter().take(MOST_DOUBTS);
    let of_run = of_whole_run(findings).into_iter().chain(of_others(findings));
    head.into_iter().chain(reasons).chain(of_run).chain(more).collect()
}

/// What is said where nothing is doubted.
fn sure(findings: &[Finding]) -> String {
    match findings.iter().any(Finding::is_rate) {
        true => "No figure is suspect; everything that was requested was measured.".to_owned(),
        false => "No figure is suspect.".to_owned(),
    }
}

/// How many numbers besides are suspect, such as those of a trace that lost events, and why.
fn of_others(findings: &[Finding]) -> Option<String> {
    let is_other = |finding: &&Finding| {
        let is_told = finding.is_rate() || matches!(finding.subject, Subject::Run(_));
        finding.verdict == Verdict::Suspect && !is_told
    };
    let others: Vec<&Finding> = findings.iter().filter(is_other).collect();
    let first = sentences(&others.first()?.doubts);
    let first = if first.is_empty() { first } else { format!(", the first: {first}") };
    Some(format!("Of all other numbers {} are suspect{first}.", others.len()))
}

/// What is doubted of the run as a whole, such as lost events.
fn of_whole_run(findings: &[Finding]) -> Option<String> {
    let is_whole = |finding: &&Finding| matches!(finding.subject, Subject::Run(_));
    let distinct = first_seen(findings.iter().filter(is_whole).flat_map(|of| &of.doubts));
    (!distinct.is_empty()).then(|| format!("The run as a whole: {}.", sentences(&distinct)))
}

/// What tells a cell from others of its system.
fn brief(subject: &Subject) -> String {
    let keys = ["program", "method", "remedy", "engine", "access", "pattern", "block_bytes"];
    let words = keys.iter().filter_map(|key| {
        let value = subject.get(key)?;
        match *key {
            "block_bytes" => value.parse().ok().map(|bytes: f64| significant_size(bytes)),
            _ => Some(value),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn significant_size(bytes: f64) -> String {
    if bytes >= 1024.0 { show_bytes(bytes) } else { format!("{} B", significant(bytes)) }
}

/// The command line as a shell takes it, without the directory of its program.
pub(crate) fn command(words: &[String]) -> String {
    let program = words.iter().take(1).map(|word| word.rsplit('/').next().unwrap_or(word));
    quote::line(program.chain(words.iter().skip(1).map(String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let words = ["/opt/x/lbolt", "sync", "a b", "it's", ""].map(str::to_owned);
        assert_eq!(command(&words), r"lbolt sync 'a b' 'it'\''s' ''");
    }
}

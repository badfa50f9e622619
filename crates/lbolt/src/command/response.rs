//! `lbolt response`: what each request of a trace went through, and which of them fared badly.

use super::{note, print};
use crate::resolve::selection;
use crate::run::session::reading_control;
use analysis::inputs::{expanded, several};
use analysis::response::{Analysed, analyse, analyse_part, analyse_several};
use analysis::trace::TraceFile;
use capture::CHANGED;
use capture::gate::Gate;
use cli::{Format, ResponseOptions};
use messages::fault::{Fault, failure, not_there};
use messages::output::terminal_width;
use messages::ticker::Ticker;
use model::record::Finding;
use report::verdict::{Shown, absent, chosen};
use report::visible_findings;
use std::collections::BTreeSet;

/// Runs the command.
/// Errors: a trace that cannot be read; interruption.
pub(super) fn run(options: &ResponseOptions) -> anyhow::Result<()> {
    if options.ticks && !matches!(options.format, Format::Table | Format::Csv) {
        let sentence = "--ticks prints lines or CSV; leave out --format or give --format csv";
        return Err(failure(Fault::Usage, sentence));
    }
    if options.top.is_some() && options.format != Format::Table {
        let sentence =
            "--top limits the rows of tables on a terminal; leave out --top, or --format";
        return Err(failure(Fault::Usage, sentence));
    }
    can_select(options)?;
    let mut analysed = analysed(options)?;
    analysed.provenance.notes.range(CHANGED.to_owned()..).map_while(changed).for_each(note);
    let findings = analysed.findings();
    let selection = shown_rows(options, analysed.processes());
    is_there(options, &selection, &findings)?;
    print(&shown(options, &selection, &mut analysed, &findings)?)
}

/// Refuses a selection that the rows of --by cannot have.
fn can_select(options: &ResponseOptions) -> anyhow::Result<()> {
    let Some(by) = options.by.as_deref() else { return Ok(()) };
    let given = [
        ("device", options.device.is_some()),
        ("role", options.role.is_some()),
        ("process", options.process.is_some()),
        ("file", options.file.is_some()),
    ];
    let known = report::verdict::selected_by(by);
    match given.into_iter().find(|(option, is_given)| *is_given && !known.contains(option)) {
        Some((option, _)) => {
            let sentence = format!(
                "failed to select a {option}: --by {by} does not count by {option}; leave out \
                 --{option} or choose another --by"
            );
            Err(failure(Fault::Usage, sentence))
        }
        None => Ok(()),
    }
}

/// Refuses a selection of names that nothing in the trace has.
fn is_there(
    options: &ResponseOptions,
    selection: &Shown,
    findings: &[Finding],
) -> anyhow::Result<()> {
    if let Some((option, wanted, known)) = absent(findings, selection) {
        return Err(not_there(option, wanted, "the trace", known));
    }
    match (&options.process, &selection.processes) {
        (Some(wanted), Some(found)) if found.is_empty() => {
            let of_process = |f: &Finding| {
                f.subject.by_class().filter(|(by, _)| *by == "process").map(|(_, of)| of.to_owned())
            };
            let known: BTreeSet<String> = findings.iter().filter_map(of_process).collect();
            Err(not_there("process", wanted, "the trace", known))
        }
        _ => Ok(()),
    }
}

/// What became of a device during the capture, of a note of the trace.
fn changed<'a>((key, sentence): (&String, &'a String)) -> Option<&'a str> {
    key.starts_with(CHANGED).then_some(sentence)
}

/// The trace, or the part of it that is selected, analysed.
fn analysed(options: &ResponseOptions) -> anyhow::Result<Analysed> {
    let control = reading_control()?;
    let gate = Gate::new(&control);
    let trace = options.trace.of(expanded(&options.trace.traces)?);
    if let Some(inputs) = several(&trace)? {
        if selection::selects_time(options) {
            let sentence = format!(
                "--from, --to and --last select a part of one trace, but {} traces are named; name \
                 one",
                inputs.len()
            );
            return Err(failure(Fault::Usage, sentence));
        }
        let _ticker = progress(gate.clone());
        return analyse_several(&inputs, &selection::whole(options), &gate);
    }
    if !selection::selects_time(options) {
        let _ticker = progress(gate.clone());
        return analyse(&trace, selection::whole(options), &gate);
    }
    let held_in = std::env::temp_dir();
    let trace = TraceFile::open(&trace, (&held_in, "TMPDIR"), &control)?;
    let started_unix_ns = trace.provenance().started_unix_ns;
    let span = selection::Span { end_ns: trace.end_ns()?, started_unix_ns };
    let selection = selection::part(options, span)?;
    let _ticker = progress(gate.clone());
    analyse_part(trace, selection, &gate)
}

/// Rows that were read, and their rate.
pub(super) fn progress(gate: Gate) -> Ticker {
    let began = std::time::Instant::now();
    Ticker::reading(move || {
        let rows = gate.rows();
        format!("{rows} requests, {:.0} a second", rows as f64 / began.elapsed().as_secs_f64())
    })
}

/// The findings in the format that was requested.
fn shown(
    options: &ResponseOptions,
    selection: &Shown,
    analysed: &mut Analysed,
    findings: &[Finding],
) -> anyhow::Result<String> {
    if options.ticks {
        let counts = analysed.response.ticks().into_iter();
        let counts = counts.map(|count| (count.ticks, count.responses));
        return Ok(report::response::ticks(counts, options.format == Format::Csv));
    }
    if let Some(weight) = &options.folded {
        return folded(findings, selection, weight);
    }
    Ok(match options.format {
        Format::Json => {
            let answer = report::verdict::answer(findings, selection);
            let trace = serde_json::json!({
                "trace": options.trace.traces,
                "origin": analysed.provenance.origin_name(),
                "started_unix_ns": analysed.provenance.started_unix_ns,
            });
            report::json(&trace, &answer, &chosen(findings, selection))?
        }
        Format::Csv => report::csv(&chosen(findings, selection)),
        Format::Markdown => {
            let findings = visible_findings(findings);
            selected(&findings) + &report::response::markdown(&findings, selection)
        }
        Format::Table => tables(options, selection, &visible_findings(findings)),
    })
}

/// All stacks of the trace, if it has any.
fn folded(findings: &[Finding], shown: &Shown, weight: &str) -> anyhow::Result<String> {
    let weights = report::verdict::WEIGHTS.into_iter();
    let quantity = weights.into_iter().find(|(name, _)| *name == weight).map_or("", |(_, of)| of);
    let text = report::verdict::folded(&visible_findings(findings), shown, quantity);
    if text.is_empty() {
        let sentence = "the trace has no stacks for this selection; `lbolt record --stacks` \
                        records them";
        return Err(failure(Fault::Usage, sentence));
    }
    Ok(text)
}

/// What was selected, then every table, or the first rows.
fn tables(options: &ResponseOptions, selection: &Shown, findings: &[Finding]) -> String {
    let tables = match options.all {
        true => report::response::table(findings, terminal_width()),
        false => first_rows(options, selection, findings),
    };
    selected(findings) + &tables
}

/// What was selected of the time, ahead of the rest.
fn selected(findings: &[Finding]) -> String {
    let line = report::verdict::selected(findings);
    line.map_or_else(String::new, |line| format!("{line}\n\n"))
}

/// The first screen, or the tables that were requested.
fn first_rows(options: &ResponseOptions, selection: &Shown, findings: &[Finding]) -> String {
    let top = options.top.map_or(usize::MAX, |top| top as usize);
    match options.by.as_deref().filter(|by| !report::verdict::TABLES.contains(by)) {
        Some(by) => report::response::by(&chosen(findings, selection), by, top, terminal_width()),
        None => report::verdict::screen(findings, selection, terminal_width()),
    }
}

/// What the first screen shows.
fn shown_rows(options: &ResponseOptions, processes: Vec<String>) -> Shown {
    Shown {
        top: options.top.map(|top| top as usize),
        device: options.device.clone(),
        role: options.role.clone(),
        processes: options.process.as_ref().map(|_| processes),
        file: options.file.clone(),
        by: options.by.clone(),
    }
}

//! Bucher & Hayes 1980: table 1 row by row, the greatest rates, and the lines of figures 1 to 4.

use super::{
    Figure, Label, Line, Missed, Outcome, Published, Rate, Row, Waiting, figures, free_parameters,
    rates, row, table,
};
use crate::Failure;
use crate::comparison::{Comparison, finding, subject};
use model::record::{Doubt, Finding, Subject};
use rayon::prelude::*;
use report::Sheet;
use report::listing::Listing;

/// The paper's table 1.
pub const TABLE: &str = include_str!("../../../../papers/routines-1980.csv");

/// All rows, rates and figures.
pub fn compare() -> Result<Comparison, Failure> {
    let rows = table(TABLE)?.par_iter().with_max_len(1).map(row).collect::<Result<Vec<_>, _>>()?;
    let (rates, figures, free) = (rates()?, figures()?, free_parameters()?);
    let count = |kind: &str| free.iter().filter(|free| free.kind == kind).count();
    let all = subject("1980", &[("group", "all")]);
    let fitted = finding(&all, "parameters_count", count("fitted") as f64, "fitted");
    let of_rows = rows.iter().flat_map(row_findings);
    let findings = of_rows.chain(rates.iter().flat_map(rate_findings)).chain([fitted]).collect();
    let free = format!(
        "{} numbers of the models were fitted to this table and its text, and {} are assumed \
         (lbolt simulate --model M --show-model names them).",
        count("fitted"),
        count("assumed")
    );
    let routines = routines(&rows).with_notes([free]);
    Ok(Comparison { sheets: vec![routines, greatest(&rates), lines(&figures)], findings })
}

fn condition(outcome: &Outcome) -> String {
    let condition = &outcome.condition;
    let waiting = match condition.waiting {
        Waiting::ForAnswer => "waited for",
        Waiting::Computing(..) => "overlapped",
    };
    let random = if condition.is_random { ", random" } else { "" };
    let sizes = match condition.sectors {
        (from, to) if from == to => format!(", B = {from}"),
        (1, u64::MAX) => String::new(),
        (from, u64::MAX) => format!(", B ≥ {from}"),
        (1, to) => format!(", B ≤ {to}"),
        (from, to) => format!(", B = {from} to {to}"),
    };
    format!("{waiting}{random}{sizes}")
}

fn missed_text(missed: Missed) -> String {
    match missed {
        Missed::Is(missed) => missed.to_string(),
        Missed::AtLeast(missed) => format!("≥ {missed}"),
    }
}

/// Whether the model's M is the printed one, to the printed digits.
fn is_met(outcome: &Outcome) -> bool {
    let digit = match outcome.condition.missed {
        Missed::Is(missed) if missed.fract() != 0.0 => 0.05,
        _ => 0.5,
    };
    outcome.error().abs() < digit
}

/// The keys of a row under a condition.
fn subject_of(published: &Published, condition: &str) -> Subject {
    subject(
        "1980",
        &[
            ("machine", &published.machine),
            ("operating_system", &published.operating_system),
            ("routine", &published.routine),
            ("library", &published.library),
            ("direction", if published.is_write { "write" } else { "read" }),
            ("condition", condition),
        ],
    )
}

fn row_findings(row: &Row) -> Vec<Finding> {
    let mut all = Vec::new();
    for outcome in &row.outcomes {
        let subject = subject_of(&row.published, &condition(outcome));
        let (Missed::Is(printed) | Missed::AtLeast(printed)) = outcome.condition.missed;
        let name = "published_missed_per_call";
        all.push(finding(&subject, name, printed, "Table 1, its notes and the text"));
        let found = outcome.reading.missed_per_call;
        let mut modelled =
            finding(&subject, "model_missed_per_call", found, row.missed_label.name());
        if !is_met(outcome) {
            modelled.doubt(Doubt::refused("the model misses another number of revolutions"));
        }
        all.push(modelled);
    }
    let subject = subject_of(&row.published, "all");
    let published = &row.published;
    let label = row.overhead_label;
    let pairs = [
        (
            ["published_sectors_per_revolution", "model_sectors_per_revolution"],
            published.sectors_per_revolution,
            row.sectors_per_revolution(),
            row.sectors_label,
        ),
        (
            ["published_t_call_ns", "model_t_call_ns"],
            published.t_call_us.map(ns),
            ns(row.t_call_us),
            label,
        ),
        (
            ["published_t_trans_ns", "model_t_trans_ns"],
            published.t_trans_us.map(ns),
            ns(row.t_trans_us),
            label,
        ),
    ];
    for ([of_paper, of_model], printed, found, label) in pairs {
        all.extend(printed.map(|printed| finding(&subject, of_paper, printed, "Table 1")));
        all.push(finding(&subject, of_model, found, label.name()));
    }
    all
}

fn ns(us: f64) -> f64 {
    us * 1e3
}

fn rate_findings(rate: &Rate) -> [Finding; 2] {
    let subject = subject("1980", &[("machine", rate.model)]);
    let method = "emerges";
    [
        finding(
            &subject,
            "published_words_per_s",
            rate.published_kwords_per_s * 1e3,
            "Equations 3, 4",
        ),
        finding(&subject, "model_words_per_s", rate.model_kwords_per_s * 1e3, method),
    ]
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

/// A line of table 1: a row under a condition, the row's first or a later one.
type RowLine<'a> = (&'a Row, &'a Outcome, bool);

/// Where the model's M comes from, and whether it is the printed one.
fn remark(row: &Row, outcome: &Outcome) -> String {
    let met = if is_met(outcome) { "" } else { "; not met" };
    let rests = format!("{} {}", outcome.latency_key, outcome.latency_source);
    match row.missed_label {
        Label::Emerges => format!("emerges, {rests}{met}"),
        label => format!("{}{met}", label.name()),
    }
}

/// A line a row and condition.
fn routines(rows: &[Row]) -> Sheet {
    let numbered =
        rows.iter().flat_map(|row| row.outcomes.iter().enumerate().map(move |o| (row, o)));
    let lines: Vec<RowLine<'_>> = numbered.map(|(row, (at, o))| (row, o, at == 0)).collect();
    let us = |value: f64| format!("{value:.0}");
    let system = |row: &Row| {
        let Published { machine, operating_system, .. } = &row.published;
        format!("{machine} {operating_system}")
    };
    let routine = |row: &Row| format!("{} {}", row.published.routine, row.published.library);
    let missed = |o: &Outcome| format!("{:.2}", o.reading.missed_per_call.max(0.0));
    let title = "1980, Table 1: I/O routines of the Cray-1 and the CDC 7600";
    Listing::of(&lines)
        .label("system", first(system))
        .label("routine", first(routine))
        .label("condition", |(_, outcome, _)| condition(outcome))
        .figure("S", "paper", first(|row| optional(row.published.sectors_per_revolution)))
        .figure("S", "model", first(|row| format!("{:.1}", row.sectors_per_revolution())))
        .figure("M", "paper", |(_, outcome, _)| missed_text(outcome.condition.missed))
        .figure("M", "model", |(_, outcome, _)| missed(outcome))
        .figure("T_call us", "paper", first(|row| optional(row.published.t_call_us)))
        .figure("T_call us", "model", first(|row| us(row.t_call_us)))
        .figure("T_trans us", "paper", first(|row| optional(row.published.t_trans_us)))
        .figure("T_trans us", "model", first(|row| us(row.t_trans_us)))
        .remark("M", |(row, outcome, _)| remark(row, outcome))
        .sheet(title)
        .with_notes(notes(&lines))
}

/// A row's text, in its first line.
fn first<'a>(text: impl Fn(&Row) -> String) -> impl Fn(&RowLine<'a>) -> String {
    move |(row, _, is_first)| if *is_first { text(row) } else { String::new() }
}

fn notes(lines: &[RowLine<'_>]) -> Vec<String> {
    let emerging = || lines.iter().filter(|(row, ..)| row.missed_label == Label::Emerges);
    let rows = emerging().filter(|(.., is_first)| *is_first).count();
    let met = emerging().filter(|(_, outcome, _)| is_met(outcome)).count();
    vec![
        format!(
            "M emerges in {} conditions of {rows} rows: it depends on whether the next call comes \
             within the time of one sector. It agrees with the paper in {met} conditions. How soon \
             a program learns of a completion is one latency per system and direction, named \
             beside M; the latencies of CTSS were fitted to the paper's text. S comes from the \
             line of revolutions per sector against 1/B.",
            emerging().count(),
        ),
        "T_call and T_trans are no predictions: they are inputs of the model, and its \
         compute-and-test loop measures them again. Where the paper prints none, they are fitted \
         to M."
            .into(),
    ]
}

fn greatest(rates: &[Rate]) -> Sheet {
    let number = |value: f64| format!("{value:.1}");
    Listing::of(rates)
        .label("model", |rate| rate.model.to_owned())
        .figure("", "paper", |rate| number(rate.published_kwords_per_s))
        .figure("", "model", |rate| number(rate.model_kwords_per_s))
        .sheet("1980, equations 3 and 4: the highest rate of sequential access, in kword/s")
}

/// The figures' lines: what meets 1/B = 0, and what one call adds.
fn lines(figures: &[Figure]) -> Sheet {
    let all = figures.iter().flat_map(|figure| figure.series.iter().map(move |s| (figure, s)));
    let all: Vec<_> = all.collect();
    let line = |line: Option<Line>, of: fn(Line) -> f64| {
        line.map_or_else(|| "–".to_owned(), |line| format!("{:.4}", of(line)))
    };
    Listing::of(&all)
        .label("figure", |(figure, _)| figure.number.to_string())
        .label("curve", |(_, series)| series.label.to_owned())
        .figure("at 1/B = 0", "paper", |(_, s)| line(s.published, |l| l.intercept))
        .figure("at 1/B = 0", "model", |(_, s)| line(s.model, |l| l.intercept))
        .figure("slope", "paper", |(_, s)| line(s.published, |l| l.slope))
        .figure("slope", "model", |(_, s)| line(s.model, |l| l.slope))
        .remark("unit", |(figure, _)| figure.unit.to_owned())
        .sheet("1980, Figures 1 to 4: straight lines against 1/B")
        .with_notes(figures.iter().map(|f| format!("Figure {}: {}", f.number, f.title)))
}

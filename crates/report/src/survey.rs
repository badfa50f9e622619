//! The survey's first screen: five questions, each answered in a sentence with its interval and a
//! compact table. Together with the line below they are at most 40 lines of 100 columns.
//!
//! Non-goals: all tables (those of the experiments).

use crate::experiments::Run;
use crate::figure::Figure;
use crate::grid::{Figures, Grid, Labels};
use crate::number::significant;
use crate::ranking::Entrant;
use crate::screen::{LINES, fitted, joined, limited};
use crate::words::hang;
use crate::{curve, overhead, storm, sync, throughput};
use model::record::Finding;
use model::units::{show_size, show_time_ns};
use model::workload::Access;

/// What is said to a question.
#[derive(Default)]
struct Answer {
    sentences: Vec<String>,
    table: Option<Grid>,
}

/// A question: the word that its answer begins with, and who answers.
struct Question {
    word: &'static str,
    answer: fn(&Run<'_>) -> Option<Answer>,
}

const QUESTIONS: [Question; 5] = [
    Question { word: "Files", answer: files },
    Question { word: "Device", answer: device },
    Question { word: "Durable", answer: durable },
    Question { word: "Calls", answer: calls },
    Question { word: "Storm", answer: while_somebody_syncs },
];

/// What stands where a question has no answer.
const NO_ANSWER: &str = "not measured.";

/// The screen, for a terminal of `width` columns; `below` says what else there is.
/// `who` says who waited for whom in the storm.
pub fn screen(run: &Run<'_>, who: &[String], width: Option<u16>, below: &str) -> String {
    let limit = limited(width);
    let mut answers = QUESTIONS.map(|question| (question.word, (question.answer)(run)));
    if let Some((_, Some(storm))) = answers.last_mut() {
        storm.sentences.extend(who.iter().take(WHO_MOST).cloned());
    }
    let below = hang("", below, limit);
    fitted(MOST_ROWS, LINES, |rows| {
        let parts = answers.iter().map(|(word, answer)| part(word, answer.as_ref(), rows, limit));
        joined(parts.chain([below.clone()]))
    })
}

/// The five answers, without tables.
pub(crate) fn sentences(run: &Run<'_>) -> Vec<String> {
    let said = QUESTIONS.map(|question| (question.word, (question.answer)(run)));
    said.map(|(word, answer)| {
        part(word, answer.map(|of| Answer { table: None, ..of }).as_ref(), 0, None)
    })
    .map(|text| text.trim_end().to_owned())
    .to_vec()
}

/// Sentences of who waited for whom.
const WHO_MOST: usize = 1;
/// Rows of a table, where the lines suffice.
const MOST_ROWS: usize = 6;

fn part(word: &str, answer: Option<&Answer>, rows: usize, limit: Option<u16>) -> String {
    let sentences = answer.map_or_else(String::new, |answer| answer.sentences.join(" "));
    let said = if sentences.is_empty() { NO_ANSWER } else { &sentences };
    let table = answer.and_then(|answer| answer.table.as_ref());
    let table = table.map_or_else(String::new, |grid| {
        let grid = grid.clone().without_notes();
        grid.first_rows(rows).shortened(limit).text(limit)
    });
    format!("{}{table}", hang("", &format!("{word}: {said}"), limit))
}

fn grid(labels: Vec<(&'static str, Vec<String>)>, figures: Vec<(&str, Vec<String>)>) -> Grid {
    let labels = labels.into_iter().map(|(head, texts)| Labels { head, texts });
    let figures =
        figures.into_iter().map(|(head, texts)| Figures::plain("", head, texts.into_iter()));
    Grid::new(labels.collect(), figures.collect())
}

/// The 1983 paper's question.
fn files(run: &Run<'_>) -> Option<Answer> {
    let (sentences, table) = throughput::answer(run)?;
    Some(Answer { sentences, table: Some(table) })
}

fn device(run: &Run<'_>) -> Option<Answer> {
    let (points, mut wholes) = curve::rows(run.findings);
    wholes.sort_by_key(|(of, _)| !of.access.is_random());
    let first = wholes.iter().find(|(of, _)| of.access == Access::RandRead)?;
    let sentence = curve::capital(curve::sentence(first, &points)?);
    let unit = curve::rate_unit(&wholes);
    let text = |quantity: &str, show: &dyn Fn(f64) -> String| {
        let of = |(_, figures): &curve::Row<'_>| {
            figures.get(quantity).and_then(|f| f.value).map_or_else(String::new, show)
        };
        wholes.iter().map(of).collect::<Vec<String>>()
    };
    let whole = &|value: f64| format!("{value:.0}");
    let rate = &|bytes_per_s: f64| unit.show(bytes_per_s);
    let name = |(of, _): &curve::Row<'_>| {
        format!("{} of {}", curve::kind(of.access), show_size(of.block_bytes))
    };
    let table = grid(
        vec![("requests", wholes.iter().map(name).collect())],
        vec![
            ("most/s", text("most_rate_operations_per_s", whole)),
            (unit.name, text("most_rate_bytes_per_s", rate)),
            ("knee: depth", text("knee_depth", whole)),
            ("requests/s", text("knee_rate_operations_per_s", whole)),
            ("mean", text("knee_latency_mean_ns", &show_time_ns)),
            ("p99", text("knee_latency_p99_ns", &show_time_ns)),
        ],
    );
    Some(Answer { sentences: vec![sentence], table: Some(table) })
}

fn durable(run: &Run<'_>) -> Option<Answer> {
    let rows: Vec<sync::Row<'_>> =
        sync::rows(run.findings).into_iter().filter(|row| row.0.pattern == "overwrite").collect();
    let value = |row: &sync::Row<'_>, quantity: &str| row.1.get(quantity).and_then(|f| f.value);
    let is_known = |row: &&sync::Row<'_>| value(row, sync::RATE).is_some();
    // Within a size and a number of writers the quickest comes first.
    let mut best: Vec<&sync::Row<'_>> = rows.iter().filter(is_known).collect();
    best.dedup_by_key(|row| (row.0.block_bytes, row.0.writers, row.0.direct));
    let first = best.first()?;
    let rate = Entrant::of(&first.0.method, first.1.get(sync::RATE)?)?;
    let time = |quantity| value(first, quantity).map_or_else(String::new, show_time_ns);
    let others = rows
        .iter()
        .filter(is_known)
        .filter(|row| (row.0.block_bytes, row.0.writers) == (first.0.block_bytes, first.0.writers));
    let slowest = others.min_by(|a, b| {
        let rate = |row: &sync::Row<'_>| value(row, sync::RATE).unwrap_or(0.0);
        rate(a).total_cmp(&rate(b))
    });
    let slowest =
        slowest.filter(|row| row.0.method != first.0.method).map_or_else(String::new, |row| {
            let other = row.1.get(sync::RATE).and_then(|of| Entrant::of(&row.0.method, of));
            let is_apart = other.as_ref().is_some_and(|other| rate.times(other).is_some());
            match other.filter(|_| is_apart) {
                Some(other) => {
                    format!("; the slowest way, {}, does {}", other.name, other.text(significant))
                }
                None => "; the other ways cannot be told from it beyond their intervals".to_owned(),
            }
        });
    let sentence = format!(
        "an overwritten {} is durable after {} (median; p99 {}) by {}, {} a second{slowest}.",
        show_size(first.0.block_bytes),
        time("latency_p50_ns"),
        time("latency_p99_ns"),
        first.0.method,
        rate.text(significant),
    );
    let column = |quantity: &'static str, show: fn(f64) -> String| {
        let text = |row: &&sync::Row<'_>| value(row, quantity).map_or_else(String::new, show);
        best.iter().map(text).collect::<Vec<String>>()
    };
    let label = |text: &dyn Fn(&sync::Row<'_>) -> String| {
        best.iter().map(|row| text(row)).collect::<Vec<String>>()
    };
    let table = grid(
        vec![
            ("size", label(&|row| show_size(row.0.block_bytes))),
            ("writers", label(&|row| row.0.writers.to_string())),
            ("quickest", label(&|row| row.0.method.clone())),
        ],
        vec![
            ("commits/s", column(sync::RATE, significant)),
            ("p50", column("latency_p50_ns", show_time_ns)),
            ("p99", column("latency_p99_ns", show_time_ns)),
            ("flushes", column("flushes_ratio", significant)),
        ],
    );
    Some(Answer { sentences: vec![curve::capital(sentence)], table: Some(table) })
}

/// The 1980 paper's question.
fn calls(run: &Run<'_>) -> Option<Answer> {
    let (sentences, table) = overhead::answer(run.findings)?;
    Some(Answer { sentences, table })
}

/// The 1986 paper's question.
fn while_somebody_syncs(run: &Run<'_>) -> Option<Answer> {
    let sentence = storm::storm_sentence(run.findings)?;
    Some(Answer { sentences: vec![sentence], table: None })
}

/// How many numbers are doubted, for the last lines.
pub fn doubted(findings: &[Finding]) -> Option<String> {
    use model::record::Verdict;
    let rates: Vec<Figure> =
        findings.iter().filter(|finding| finding.is_rate()).map(Figure::of).collect();
    let count = |verdict| rates.iter().filter(|figure| figure.verdict == verdict).count();
    let (suspect, missing) = (count(Verdict::Suspect), count(Verdict::NotMeasured));
    let missing = match missing {
        0 => String::new(),
        missing => format!(", and {missing} were not measured"),
    };
    (suspect > 0 || !missing.is_empty()).then(|| {
        let are = if suspect == 1 { "is" } else { "are" };
        format!("*: {suspect} of {} rates {are} suspect{missing}", rates.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_said_and_all_questions_are_there() {
        let run = Run { findings: &[], rows: &[] };
        let text = screen(&run, &[], None, "page: here");
        for question in QUESTIONS {
            assert!(text.contains(&format!("{}: {NO_ANSWER}", question.word)), "{text}");
        }
        assert!(text.ends_with("page: here\n") && doubted(&[]).is_none());
    }
}

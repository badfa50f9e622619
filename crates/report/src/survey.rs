//! The survey's first screen: five questions, each answered in a sentence with its interval and a
//! compact table. Together with the line below they are at most 40 lines of 100 columns.
//!
//! Non-goals: all tables (those of the experiments).

use crate::answer::{Answer, Card};
use crate::experiments::Run;
use crate::figure::Figure;
use crate::screen::{LINES, fitted, joined, limited};
use crate::words::{hang, upper};
use crate::{curve, overhead, storm, sync, throughput};
use model::record::Finding;
use model::workload::Access;

/// A question: the word that its answer begins with, who answers, and what to do with the answer.
struct Question {
    word: &'static str,
    answer: fn(&Run<'_>) -> Option<Answer>,
    advice: &'static str,
}

const QUESTIONS: [Question; 5] = [
    Question {
        // The 1983 paper's question.
        word: "Files",
        answer: throughput::answer,
        advice: "Compare mount options or file systems: lbolt throughput A B --abab",
    },
    Question {
        word: "Device",
        answer: device,
        advice: "Beyond the knee latency grows faster than IOPS: limit the queue depth there",
    },
    Question {
        word: "Durable",
        answer: durable,
        advice: "Group commits, or commit less often; lbolt sync . measures more sizes and writers",
    },
    Question {
        // The 1980 paper's question.
        word: "Calls",
        answer: |run| overhead::answer(run.findings),
        advice: "lbolt overhead . has all 22 interfaces, per call and per byte",
    },
    Question {
        // The 1986 paper's question.
        word: "Storm",
        answer: |run| storm::storm_of(run.findings),
        advice: "lbolt storm . --remedies all measures what helps",
    },
];

/// Bars of a card, at most.
const MOST_BARS: usize = 8;

/// The five answers as cards.
pub(crate) fn cards(run: &Run<'_>) -> Vec<Card> {
    let card = |question: &Question| {
        let answer = (question.answer)(run).unwrap_or_default();
        let (number, what) = answer.headline;
        let sentence = match answer.sentences.is_empty() {
            true => upper(NO_ANSWER),
            false => answer.sentences.join(" "),
        };
        let bars = answer.bars.into_iter().take(MOST_BARS).collect();
        let advice = if number.is_empty() { "" } else { question.advice };
        let (word, advice) = (question.word.to_owned(), advice.to_owned());
        Card { word, number, what, bars, sentence, advice }
    };
    QUESTIONS.iter().map(card).collect()
}

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

fn device(run: &Run<'_>) -> Option<Answer> {
    let (points, mut curves) = curve::rows(run.findings);
    curves.sort_by_key(|row| !row.key.access.is_random());
    let first = curves.iter().find(|row| row.key.access == Access::RandRead)?;
    Some(Answer {
        headline: curve::headline(first)?,
        bars: curve::bars(first, &points),
        sentences: vec![curve::sentence(first, &points)?],
        table: curve::CURVES.sheet(&curves).sections.into_iter().next().map(|of| of.grid),
    })
}

/// Of each size and number of writers the fastest method.
fn durable(run: &Run<'_>) -> Option<Answer> {
    let mut rows = sync::rows(run.findings);
    rows.retain(|row| row.key.pattern == OVERWRITE && row.value(sync::RATE).is_some());
    let (headline, bars) = (sync::headline(&rows)?, sync::bars(&rows));
    let sentence = sync::of_pattern(&rows, OVERWRITE)?;
    rows.dedup_by_key(|row| (row.key.block_bytes, row.key.writers));
    let table = sync::COMMITS.sheet(&rows).sections.into_iter().next();
    let table = table.map(|of| of.grid.without(&["pattern", "max", "CPU"]));
    Some(Answer { headline, bars, sentences: vec![sentence], table })
}

const OVERWRITE: &str = "overwrite";

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
        assert!(cards(&run).iter().all(|card| card.sentence == "Not measured."));
        assert!(text.ends_with("page: here\n") && doubted(&[]).is_none());
    }
}

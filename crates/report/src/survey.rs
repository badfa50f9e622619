//! The survey's first screen: five questions, each answered in a sentence with its interval and a
//! compact table. Together with the line below they are at most 40 lines of 100 columns.
//!
//! Non-goals: all tables (those of the experiments).

use crate::answer::{Answer, Card, Fact};
use crate::experiments::Run;
use crate::figure::Figure;
use crate::footnote::Footnotes;
use crate::grid::Entry;
use crate::listing::Listing;
use crate::number::CANNOT_TELL;
use crate::ranking::{Contest, Entrant};
use crate::screen::{LINES, Screen, fitted, joined, limited, short};
use crate::sheet::NOT_MEASURED;
use crate::words::{first_seen, hang, upper};
use crate::{curve, overhead, storm, sync, throughput};
use model::record::{Finding, Subject};
use model::units::counted;
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

/// The five answers as cards, of each volume.
pub(crate) fn cards(run: &Run<'_>) -> Vec<Card> {
    let of = |(name, findings): &Volume| {
        let own = cards_of(&Run { findings, rows: run.rows });
        own.into_iter()
            .map(|card| Card { word: format!("{}, {name}", card.word), ..card })
            .collect::<Vec<_>>()
    };
    match volumes(run.findings).as_slice() {
        [] => cards_of(run),
        several => several.iter().flat_map(of).collect(),
    }
}

fn cards_of(run: &Run<'_>) -> Vec<Card> {
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

/// What stands between a fresh file system and the volume that its image lies on.
const ON: &str = " on ";

/// The name of a fresh file system where several volumes have one.
pub fn on_volume(system: &str, volume: &str) -> String {
    format!("{system}{ON}{volume}")
}

/// A volume by its name, with its findings; its own system is called [`OWN`] there.
pub(crate) type Volume = (String, Vec<Finding>);

/// A volume's own file system or device, where volumes are compared.
const OWN: &str = "as it is";

/// The volumes of a survey of several, in the order in which they were named; none of any other
/// run. Every volume has a curve.
pub(crate) fn volumes(findings: &[Finding]) -> Vec<Volume> {
    let curves = findings.iter().filter(|finding| matches!(finding.subject, Subject::Curve(_)));
    let names: Vec<String> = first_seen(
        &curves.filter_map(|of| of.subject.target()).map(str::to_owned).collect::<Vec<_>>(),
    );
    let of = |volume: &String| {
        let own = findings.iter().filter_map(|finding| {
            let name = own_name(finding.subject.target()?, volume)?;
            let subject = finding.subject.clone().with_target(|_| name.clone());
            Some(Finding { subject, ..finding.clone() })
        });
        (volume.clone(), own.collect())
    };
    if names.len() < 2 { vec![] } else { names.iter().map(of).collect() }
}

/// A system of a volume, without the volume's name; none of another volume's.
fn own_name(target: &str, volume: &str) -> Option<String> {
    match target.strip_suffix(volume)? {
        "" => Some(OWN.to_owned()),
        system => system.strip_suffix(ON).map(str::to_owned),
    }
}

/// What is of none of these volumes alone: the trace of them all, and the machine.
pub(crate) fn of_no_volume(findings: &[Finding], volumes: &[Volume]) -> Vec<Finding> {
    let is_own = |finding: &&Finding| {
        let target = finding.subject.target();
        target.is_some_and(|of| volumes.iter().any(|(name, _)| own_name(of, name).is_some()))
    };
    findings.iter().filter(|finding| !is_own(finding)).cloned().collect()
}

/// The answers of several volumes: to each question who is first in its first number, and one table
/// of all numbers.
fn compared(volumes: &[Volume], rows: &[String], below: &str) -> Screen {
    let run = |volume: &Volume| QUESTIONS.map(|of| (of.answer)(&Run { findings: &volume.1, rows }));
    let answers: Vec<[Option<Answer>; 5]> = volumes.iter().map(run).collect();
    let facts = |volume: usize, question: usize| {
        answers[volume][question].iter().flat_map(|answer| &answer.facts)
    };
    let fact = |volume: usize, (question, what): &(usize, String)| {
        facts(volume, *question).find(|fact| fact.what == *what)
    };
    let all = (0..QUESTIONS.len()).flat_map(|question| {
        let own = (0..volumes.len()).flat_map(move |volume| facts(volume, question));
        let whats = first_seen(&own.map(|fact| fact.what.clone()).collect::<Vec<_>>());
        whats.into_iter().map(move |what| (question, what))
    });
    let all: Vec<(usize, String)> = all.collect();
    let sentence = |question: usize| {
        let row = all.iter().find(|row| row.0 == question);
        let told = row.and_then(|row| {
            let of = |volume: usize| Some((fact(volume, row)?, volume));
            let own: Vec<(&Fact, usize)> = (0..volumes.len()).filter_map(of).collect();
            let (first, _) = own.first()?;
            let Fact { verb, show, is_greatest_first, .. } = **first;
            let contest = Contest { verb, of: "", is_greatest_first, show: &show };
            let entrants = own.iter().map(|(fact, volume)| Entrant {
                name: short(&volumes[*volume].0),
                ..fact.entrant.clone()
            });
            Some(format!("{}: {}", row.1, contest.sentence(entrants.collect())?))
        });
        let told = told.unwrap_or_else(|| NO_ANSWER.to_owned());
        format!("{}: {told}", QUESTIONS[question].word)
    };
    let listing = Listing::of(&all)
        .label("question", |row| QUESTIONS[row.0].word.to_owned())
        .label("number", |row| row.1.clone());
    let table = volumes.iter().enumerate().fold(listing, |listing, (volume, (name, _))| {
        listing.entries("", name, |row| match fact(volume, row) {
            Some(fact) => Entry { text: fact.shown(), mark: fact.entrant.mark().to_owned() },
            None => NOT_MEASURED.to_owned().into(),
        })
    });
    Screen {
        sentences: (0..QUESTIONS.len()).map(sentence).collect(),
        tables: vec![table.sheet("Each volume")],
        which: "first",
        less_needed: &[],
        needed: &[],
        below: below.to_owned(),
    }
}

/// What a survey of several volumes answers: a sentence of all of them for each question; none of
/// any other run.
pub(crate) fn answer(run: &Run<'_>) -> Option<Vec<String>> {
    let several = volumes(run.findings);
    (!several.is_empty()).then(|| compared(&several, run.rows, "").sentences)
}

/// The screen, for a terminal of `width` columns; `below` says what else there is.
/// `who` says who waited for whom in the storm.
pub fn screen(run: &Run<'_>, who: &[String], width: Option<u16>, below: &str) -> String {
    let limit = limited(width);
    let several = volumes(run.findings);
    if !several.is_empty() {
        return compared(&several, run.rows, below).text(width);
    }
    let answers = QUESTIONS.map(|question| (question.word, (question.answer)(run)));
    // Of another definition than the storm's own sentences: a paragraph by itself.
    let who = who.iter().take(WHO_MOST).cloned().collect::<Vec<_>>().join(" ");
    let who = match who.is_empty() {
        true => who,
        false => hang("", &format!("{BY_ITSELF} {who}"), limit),
    };
    let mut tables = answers.iter().filter_map(|(_, answer)| answer.as_ref()?.table.as_ref());
    let is_open = tables.any(|table| table.says(CANNOT_TELL));
    let below = hang("", &format!("{}{below}", if is_open { OPEN } else { "" }), limit);
    // Fewer rows first; where all have one, the last tables go.
    fitted(MOST_ROWS + QUESTIONS.len() - 1, LINES, |level| {
        let rows = (level + 1).saturating_sub(QUESTIONS.len()).max(1);
        let parts = answers.iter().enumerate().map(|(place, (word, answer))| {
            let rows = if place < level { rows } else { 0 };
            part(word, answer.as_ref(), rows, limit)
        });
        joined(parts.chain([who.clone(), below.clone()]))
    })
}

/// What stands below tables in which a number is not told.
const OPEN: &str = "cannot tell: the 95 % interval says too little yet. ";

/// What the times of the sentences on who waited for whom are.
const BY_ITSELF: &str = "Who waited, each wait from its own beginning:";

/// Sentences of who waited for whom.
const WHO_MOST: usize = 1;
/// Rows of a table, where the lines suffice.
const MOST_ROWS: usize = 6;

fn part(word: &str, answer: Option<&Answer>, rows: usize, limit: Option<u16>) -> String {
    let sentences = answer.map_or_else(String::new, |answer| answer.sentences.join(" "));
    let said = if sentences.is_empty() { NO_ANSWER } else { &sentences };
    let table = answer.and_then(|answer| answer.table.as_ref()).filter(|_| rows > 0);
    let table = table.map_or_else(String::new, |grid| {
        let grid = grid.clone().without_notes();
        grid.first_rows(rows).shortened(limit).text(limit)
    });
    format!("{}{table}", hang("", &format!("{word}: {said}"), limit))
}

fn device(run: &Run<'_>) -> Option<Answer> {
    let (points, mut curves) = curve::rows(run.findings);
    curves.sort_by_key(|row| !row.key.access.is_random());
    let Some(first) = curves.iter().find(|row| row.key.access == Access::RandRead) else {
        // Points without a knee have their sentence.
        let sentences: Vec<String> = curve::sentences(run.findings).into_iter().take(1).collect();
        return (!sentences.is_empty()).then(|| Answer { sentences, ..Answer::default() });
    };
    Some(Answer {
        headline: curve::headline(first)?,
        facts: curves.iter().flat_map(curve::facts).collect(),
        bars: curve::bars(first, &points),
        sentences: vec![curve::sentence(first, &points)?],
        table: curve::CURVES.sheet(&curves).sections.into_iter().next().map(|of| of.grid),
    })
}

/// Of each size and number of writers the fastest method, and the one that a sentence holds it
/// against.
fn durable(run: &Run<'_>) -> Option<Answer> {
    let mut rows = sync::rows(run.findings);
    rows.retain(|row| row.key.pattern == OVERWRITE && row.value(sync::RATE).is_some());
    let (headline, bars, facts) = (sync::headline(&rows)?, sync::bars(&rows), sync::facts(&rows));
    let sentence = sync::of_pattern(&rows, OVERWRITE)?;
    let table = sync::COMMITS.sheet(&sync::told(&rows)).sections.into_iter().next();
    let table = table.map(|of| of.grid.without(&["pattern", "max", "CPU"]));
    Some(Answer { headline, bars, sentences: vec![sentence], table, facts })
}

const OVERWRITE: &str = "overwrite";

/// Reasons in the last lines, at most.
const MOST_REASONS: usize = 2;

/// How many numbers are doubted, and why and what to do, for the last lines.
pub fn doubted(findings: &[Finding]) -> Option<String> {
    use model::record::Verdict;
    let rates = || findings.iter().filter(|finding| finding.is_rate()).map(Figure::of);
    let count = |verdict| rates().filter(|figure| figure.verdict == verdict).count();
    let (all, suspect) = (rates().count(), count(Verdict::Suspect));
    let are = |count: usize, what| {
        let verb = if count == 1 { "is" } else { "are" };
        (count > 0).then(|| format!("{count} of {all} rates {verb} {what}"))
    };
    let parts = [
        are(suspect, "suspect").map(|text| (text, Verdict::Suspect)),
        are(count(Verdict::NotMeasured), "not measured").map(|text| (text, Verdict::NotMeasured)),
    ];
    let told = parts.into_iter().flatten().map(|(text, verdict)| {
        let own = rates().filter(|figure| figure.verdict == verdict);
        let own = own.map(|figure| (String::new(), String::new(), figure.notes().collect()));
        let reasons = Footnotes::of_cells("rates", own).by_weight();
        let left = reasons.len().saturating_sub(MOST_REASONS);
        let more = (left > 0).then(|| format!("and {}", counted(left as u64, "other reason{s}")));
        let reasons = reasons.into_iter().take(MOST_REASONS).map(|(cells, reason)| match cells {
            cells if cells == count(verdict) => reason,
            cells => format!("{reason} ({cells} of them)"),
        });
        let reasons: Vec<String> = reasons.chain(more).collect();
        if reasons.is_empty() { text } else { format!("{text}: {}", reasons.join("; ")) }
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("*: {}", told.join(". ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::doubt::{Code, Doubt, Judgement};
    use model::engine::EngineKind;
    use model::record::Interval;
    use model::record::subject::Curve;

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

    #[test]
    fn the_last_lines_say_why_numbers_are_doubted_and_what_to_do() {
        let rate = |program: &str, doubts: Vec<Doubt>| {
            let subject = Subject::cell("d", program, 1);
            let found = Finding::new(&subject, "rate_bytes_per_s", Some(1e6), 5, "mean");
            found.judged(Judgement::of(doubts))
        };
        let busy = |percent: f64| {
            let by = vec!["rustc".to_owned()];
            Doubt::new(Code::OtherPrograms, [("percent", percent.into()), ("by", by.into())])
        };
        let wide = Doubt::new(Code::IntervalExceedsValue, []);
        let findings =
            [rate("a", vec![busy(138.0)]), rate("b", vec![wide, busy(190.0)]), rate("c", vec![])];
        let text = "*: 2 of 3 rates are suspect: other programs used 138 to 190 % of one CPU \
            meanwhile, most of it rustc: stop them, or measure when the machine is idle; the \
            interval is wider than the value (1 of them)";
        assert_eq!(doubted(&findings).as_deref(), Some(text));
        assert_eq!(doubted(&findings[2..]), None);
    }

    fn curve(volume: &str, per_s: f64) -> Vec<Finding> {
        let subject = Subject::Curve(Curve {
            access: Access::RandRead,
            block_bytes: 4096,
            depth: None,
            direct: 1,
            engine: EngineKind::IoUring,
            target: Some(volume.into()),
        });
        let found = |name: &str, value: f64| {
            Finding::new(&subject, name, Some(value), 5, "x")
                .within(Interval::Passes, (Some(value * 0.9), Some(value * 1.1)))
        };
        vec![
            found("most_rate_operations_per_s", per_s),
            found("knee_depth", 4.0),
            found("knee_rate_operations_per_s", per_s / 2.0),
            found("knee_latency_mean_ns", 8e9 / per_s),
        ]
    }

    #[test]
    fn each_method_that_a_sentence_names_with_a_number_has_its_row() {
        let commit = |method: &str, block_bytes, rate: f64, half: f64| {
            let subject = sync::tests::commit(method, block_bytes);
            let ends = (Some(rate - half), Some(rate + half));
            let per_s = Finding::new(&subject, sync::RATE, Some(rate), 3, "x");
            let p50 = Finding::new(&subject, "latency_p50_ns", Some(1e9 / rate), 99, "x");
            let p99 = Finding::new(&subject, "latency_p99_ns", Some(2e9 / rate), 99, "x");
            [per_s.within(Interval::Passes, ends), p50, p99]
        };
        let findings = [
            commit("fsync", 4096, 1010.0, 50.0),
            commit("fdatasync", 4096, 1000.0, 50.0),
            commit("O_SYNC", 4096, 100.0, 5.0),
            commit("O_SYNC", 8192, 90.0, 5.0),
            commit("fdatasync", 8192, 800.0, 10.0),
        ];
        let run = Run { findings: &findings.concat(), rows: &[] };
        let text = screen(&run, &[], None, "");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("p50 990 µs by fsync (p99 1.98 ms); fsync makes"), "{text}");
        for row in ["4k 1 fsync", "4k 1 O_SYNC", "8k 1 fdatasync"] {
            assert!(words.contains(row), "{row}: {text}");
        }
        assert!(!words.contains("8k 1 O_SYNC"), "{text}");
        // However much is to be said, it is one screen.
        let full = screen(&run, &[], None, &"word ".repeat(540));
        assert!(full.lines().count() <= LINES && !full.contains("writers"), "{full}");
        assert!(full.contains("fsync makes"), "{full}");
    }

    #[test]
    fn several_volumes_are_one_table() {
        let cell = |system: &str, rate: f64| {
            let subject = Subject::cell(system, "read_seq", 1);
            let found = Finding::new(&subject, "rate_bytes_per_s", Some(rate), 5, "mean");
            found.within(Interval::Passes, (Some(rate * 0.9), Some(rate * 1.1)))
        };
        let files = [
            cell(&on_volume("ext4:4k", "/a"), 3e8),
            cell("/a", 2e8),
            cell(&on_volume("ext4:4k", "/b"), 1e8),
            cell("/b", 5e7),
        ];
        let requests =
            Finding::new(&Subject::this_run(), "requests_count", Some(4711.0), 1, "counted");
        let findings =
            [files.to_vec(), curve("/a", 9e4), curve("/b", 3e4), vec![requests]].concat();
        let run = Run { findings: &findings, rows: &[] };
        let text = screen(&run, &[], None, "page: here");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "Files: cold reads, as it is: /a reaches 200 MB/s",
            "/b 50.0 MB/s (at least 3.27× slower).",
            "question number /a /b",
            "Files cold reads, as it is 200 MB/s 50.0 MB/s",
            "Files cold reads, ext4:4k 300 MB/s 100 MB/s",
            "Device 4k random reads, peak 90.0k IOPS 30.0k IOPS",
            "Durable: not measured.",
        ] {
            assert!(words.contains(part), "{part}: {text}");
        }
        // Machines read the same sentences.
        let said: Vec<String> = run.answer().into_iter().map(|of| of.sentence).collect();
        assert!(
            said[0].starts_with("Files: cold reads, as it is: /a reaches 200 MB/s"),
            "{said:?}"
        );
        assert_eq!(said.len(), QUESTIONS.len());
        let all = run.table(None);
        assert!(all.contains("On /a:") && all.contains("On /b:"), "{all}");
        let of_all = all.split_once("On all volumes:").unwrap().1;
        assert!(of_all.contains("4711") || of_all.contains("4.71k"), "{of_all}");
        let words: Vec<String> = cards(&run).into_iter().map(|card| card.word).collect();
        assert_eq!([&*words[0], &*words[5]], ["Files, /a", "Files, /b"]);
    }
}

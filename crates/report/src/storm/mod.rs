//! The storm: what reads and commits suffer, which remedies help, and at what cost; a row for each
//! remedy, the best first.
//!
//! Non-goals: computing a figure.

mod chart;

use crate::answer::{Answer, Bar, Fact};
use crate::experiments::{Experiment, Screen};
use crate::number::{CANNOT_TELL, ratio_says_nothing, says_nothing, short_count, significant};
use crate::ranking::Entrant;
use crate::rows::{self, Column, View, plain};
use crate::sheet::{NOT_MEASURED, Section, Sheet};
use model::record::Finding;
use model::record::subject::{GAIN_MOST, NO_REMEDY as NONE, Storm, Subject, WRITER_LEAST};
use model::units::{counted, show_fixed, show_time_ns};

const GAIN: &str = "victims gain_ratio";
const PREDICTED: &str = "victims predicted_gain_ratio";
const RECOMMENDED: &str = "victims recommended";
const CPU: &str = "victims cpu_machine_percent";
const RATE: &str = "write rate_operations_per_s";
const IN_SYNC: &str = "read_in_sync latency_p99_ns";
const BETWEEN: &str = "read_between latency_p99_ns";
const COMMIT_P99: &str = "commit latency_p99_ns";

/// A row for each remedy; a quantity is that of a stream.
const REMEDIES: View<Remedy> = View {
    title: "Reads and commits during a storm",
    labels: &[
        ("", |remedy| if remedy.is_recommended { "+" } else { "" }.to_owned()),
        ("remedy", |remedy| remedy.name.clone()),
    ],
    columns: &[
        ("", "leaves", GAIN, percent),
        ("", "predicted", PREDICTED, percent),
        ("reads", "p50", "read latency_p50_ns", show_time_ns),
        ("p99 of reads", "all", "read latency_p99_ns", show_time_ns),
        ("p99 of reads", "in sync", IN_SYNC, show_time_ns),
        ("p99 of reads", "others", BETWEEN, show_time_ns),
        ("reads", "p99.9", "read latency_p999_ns", show_time_ns),
        ("commits", "p50", "commit latency_p50_ns", show_time_ns),
        ("commits", "p99", COMMIT_P99, show_time_ns),
        ("commits", "p99.9", "commit latency_p999_ns", show_time_ns),
        ("writer", "writes/s", RATE, short_count),
        ("writer", "syncing", "write sync_percent", |value| format!("{value:.0} %")),
        ("", "CPU", CPU, |value| show_fixed(value, 0) + " %"),
    ],
    judged: "read rate_operations_per_s",
    marked: RATE,
    name: |remedy| remedy.name.clone(),
    show: entry,
    legend: &[
        (
            "+",
            "recommended: leaves 95 % or less, and by its 98 % interval less than all; no clear \
             harm to reads or commits; the writer keeps 90 % of its rate",
        ),
        (
            "leaves",
            "mean of the slowest 5 % of reads and commits, as a share of that without a remedy; \
             the 95 % interval holds for all remedies together",
        ),
        (
            "p99",
            "of latencies, which count from when a request was due; those of a COMMAND from when \
             it was made",
        ),
        ("predicted", "the same from a model of kernel and drive, in virtual time"),
        ("syncing", "share of the writer's time spent making its data durable"),
        ("CPU", "the machine's CPU time, as a share of one CPU"),
    ],
};
/// What the first screen leaves to `--all`.
const LESS_NEEDED: [&str; 4] = ["reads p50", "reads p99.9", "commits p50", "commits p99.9"];

/// The experiment's row.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "storm",
    title: "What reads and commits suffer during a sync",
    sentences: |run| answer(&rows(run.findings)),
    sheets: |run| vec![sheet(run.findings)],
    charts: chart::all,
    is_cell: |subject| matches!(subject, Subject::Storm(_)),
    screen: Screen::Sheet(|run| {
        let narrow = |section: Section| Section {
            grid: section.grid.narrowed(Some(0), &LESS_NEEDED),
            ..section
        };
        let sheet = sheet(run.findings);
        Sheet { sections: sheet.sections.into_iter().map(narrow).collect(), ..sheet }
    }),
    whole: None,
    time: None,
};

fn percent(ratio: f64) -> String {
    show_fixed(ratio * 100.0, 0) + " %"
}

/// What a row is of.
struct Remedy {
    name: String,
    is_recommended: bool,
}

type Row = rows::Row<Remedy>;

/// None first, then the remedies by what they leave, then those that were not measured.
fn rows(findings: &[Finding]) -> Vec<Row> {
    let rows = rows::rows(findings, |finding| match &finding.subject {
        Subject::Storm(Storm { remedy, .. }) => {
            let stream = finding.subject.get("stream")?;
            Some((remedy.clone(), format!("{stream} {}", finding.quantity)))
        }
        _ => None,
    });
    let remedy = |row: rows::Row<String>| {
        let is_recommended = row.value(RECOMMENDED) == Some(1.0);
        row.with_key(|name| Remedy { name, is_recommended })
    };
    let mut rows: Vec<Row> = rows.into_iter().map(remedy).collect();
    let order = |row: &Row| match row.key.name.as_str() {
        NONE => f64::NEG_INFINITY,
        _ => row.value(GAIN).unwrap_or(f64::INFINITY),
    };
    rows.sort_by(|a, b| order(a).total_cmp(&order(b)));
    rows
}

fn sheet(findings: &[Finding]) -> Sheet {
    let rows = rows(findings);
    let unneeded = unneeded(&rows);
    let mut sheet = REMEDIES.sheet(&rows);
    for section in &mut sheet.sections {
        section.grid = section.grid.clone().narrowed(Some(0), &unneeded);
    }
    sheet.legend.retain(|(name, _)| !unneeded.contains(name));
    sheet
}

/// The heads of columns without figures, and of those about remedies where there are none.
fn unneeded(rows: &[Row]) -> Vec<&'static str> {
    let is_filled = |quantity| rows.iter().any(|row| row.value(quantity).is_some());
    let optional = [
        ("predicted", PREDICTED),
        ("CPU", CPU),
        ("p99 of reads in sync", IN_SYNC),
        ("p99 of reads others", BETWEEN),
    ];
    let empty = optional.into_iter().filter(|(_, quantity)| !is_filled(quantity));
    let has_remedies = rows.iter().any(|row| row.key.name != NONE);
    let of_remedies = ["leaves", "predicted", "+", ""].into_iter().filter(|_| !has_remedies);
    empty.map(|(head, _)| head).chain(of_remedies).collect()
}

/// A gain has its interval; without a remedy there is none.
fn entry(row: &Row, column: &Column) -> String {
    let (_, _, quantity, show) = *column;
    let ends = row.figure(quantity).and_then(|gain| gain.low.zip(gain.high));
    match (plain(row, column), ends) {
        (text, Some((low, high)))
            if quantity == GAIN
                && text != NOT_MEASURED
                && ratio_says_nothing(low, high).is_some() =>
        {
            CANNOT_TELL.to_owned()
        }
        (text, Some((low, high))) if quantity == GAIN && text != NOT_MEASURED => {
            format!("{} [{}, {}]", show(row.value(GAIN).unwrap_or(0.0)), end(low), end(high))
        }
        (text, _) if text == NOT_MEASURED && row.key.name == NONE => match quantity {
            GAIN | PREDICTED => String::new(),
            _ => text,
        },
        (text, _) => text,
    }
}

/// An end of an interval, per cent; far out it is only far out.
fn end(ratio: f64) -> String {
    match ratio * 100.0 {
        percent if percent >= 1000.0 => ">999".to_owned(),
        percent => format!("{percent:.0}"),
    }
}

fn answer(rows: &[Row]) -> Vec<String> {
    [storm(rows), best(rows), agreement(rows)].into_iter().flatten().collect()
}

/// What would narrow the interval of a ratio.
const MORE: &str = ", and more rounds (--runs) would tell";

/// A sync hardly raises the p99 of reads if that is surely less than this many times as long.
const FELT_RATIO: f64 = 1.5;

/// Of what volumes are compared by.
const TIMES: [(&str, &str); 3] = [
    ("p99 of reads during a sync", IN_SYNC),
    ("p99 of reads otherwise", BETWEEN),
    ("p99 of commits", COMMIT_P99),
];

/// What the storm of a run is; none where there was none.
pub(crate) fn storm_of(findings: &[Finding]) -> Option<Answer> {
    let rows = rows(findings);
    let none = rows.iter().find(|row| row.key.name == NONE)?;
    let ratio = none.figure("read storm_ratio")?;
    // A ratio that may be 1 is no number to begin with.
    let number = match ratio.low.zip(ratio.high) {
        Some((low, high)) if ratio_says_nothing(low, high).is_some() => CANNOT_TELL.to_owned(),
        Some((low, high)) if low > 1.0 && says_nothing(low, high).is_some() => {
            format!("at least {}×", significant(low))
        }
        Some((low, high)) if low <= 1.0 => format!("{}–{}×", significant(low), significant(high)),
        _ => format!("{}×", significant(ratio.value?)),
    };
    let p99 = |label, quantity| Bar::of(label, none.value(quantity), show_time_ns);
    let bars =
        [p99("during a sync", IN_SYNC), p99("otherwise", BETWEEN), p99("commits", COMMIT_P99)];
    Some(Answer {
        headline: (number, "p99 read latency, during a sync against otherwise".to_owned()),
        bars: bars.into_iter().flatten().collect(),
        sentences: vec![format!("{} Latencies count from when a request was due.", storm(&rows)?)],
        table: None,
        facts: TIMES
            .iter()
            .filter_map(|(what, of)| Some(Fact::time(what, Entrant::of(what, none.figure(of)?)?)))
            .collect(),
    })
}

/// What the storm is without a remedy.
fn storm(rows: &[Row]) -> Option<String> {
    let none = rows.iter().find(|row| row.key.name == NONE)?;
    let time = |quantity| none.value(quantity).map(show_time_ns);
    let inside = time(IN_SYNC)?;
    let outside = time(BETWEEN)?;
    let commits =
        time(COMMIT_P99).map_or_else(String::new, |p99| format!(" p99 commit latency is {p99}."));
    let both = format!("p99 read latency is {inside} during a sync and {outside} otherwise");
    let ratio = none.figure("read storm_ratio");
    let times = ratio.and_then(|ratio| ratio.value).map(significant).unwrap_or_default();
    let ends = ratio.and_then(|ratio| ratio.low.zip(ratio.high));
    let open = ends.and_then(|(low, high)| {
        Some(format!("the 95 % CI of their ratio {}{MORE}", says_nothing(low, high)?))
    });
    Some(match (ends, open) {
        (Some((low, _)), Some(open)) if low > 1.0 => format!(
            "{both}: syncs slow reads, at least {}×. Cannot tell yet how much: {open}.{commits}",
            significant(low)
        ),
        (Some((_, high)), Some(open)) if high >= FELT_RATIO => {
            format!("{both}: cannot tell yet whether syncs slow reads: {open}.{commits}")
        }
        (ends, _) => match ends {
            Some((low, _)) if low > 1.0 => format!("{both} ({times}×).{commits}"),
            Some((low, high)) => format!(
                "{both}: {} (95 % CI of their ratio {}×–{}×).{commits}",
                match high {
                    high if high <= 1.0 => "syncs do not raise it",
                    high if high < FELT_RATIO => "syncs hardly raise it",
                    _ => "the two may be the same",
                },
                significant(low),
                significant(high)
            ),
            None => format!("{both}; one round gives no interval.{commits}"),
        },
    })
}

/// What helps.
fn best(rows: &[Row]) -> Option<String> {
    let tried = rows.iter().filter(|row| row.value(GAIN).is_some()).count();
    if tried == 0 {
        // What was tried has rows, with the reasons beneath.
        return Some(match rows.iter().filter(|row| row.key.name != NONE).count() {
            0 => "To find what helps, use --remedies all.".to_owned(),
            1 => "The remedy could not be compared: the note below the table says why.".to_owned(),
            of => format!(
                "None of the {of} remedies could be compared: the notes below the table say why."
            ),
        });
    }
    let mut recommended = rows.iter().filter(|row| row.key.is_recommended);
    let Some(best) = recommended.next() else { return Some(none_helps(rows, tried)) };
    let others: Vec<&str> = recommended.map(|row| row.key.name.as_str()).collect();
    let others = match others.as_slice() {
        [] => String::new(),
        others => format!(" These help too: {}.", others.join(", ")),
    };
    Some(format!(
        "{} helps most: the slowest 5 % of reads and commits take {} as long.{others}",
        best.key.name,
        entry(best, &REMEDIES.columns[0]),
    ))
}

/// What is known where no remedy is recommended: whether one surely is not worth it the analysis
/// says, which needs more for a recommendation than the printed interval has; of the others nothing
/// is known.
fn none_helps(rows: &[Row], tried: usize) -> String {
    let is_open = |row: &&Row| {
        let recommended = row.figure(RECOMMENDED);
        row.figure(GAIN).is_some() && recommended.and_then(|figure| figure.high) != Some(0.0)
    };
    let open = rows.iter().filter(is_open).count();
    let others = rows.iter().filter(|row| row.key.name != NONE).count() - tried;
    let others = match others {
        0 => String::new(),
        others => format!(
            " {} not be compared: the notes below the table say why.",
            counted(others as u64, "other remed{y|ies} could")
        ),
    };
    let of_tried = match tried {
        1 => "the remedy helps".to_owned(),
        tried if open == 1 => format!("1 of the {tried} remedies helps"),
        tried if open < tried => format!("{open} of the {tried} remedies help"),
        tried => format!("any of the {tried} remedies helps"),
    };
    let has_interval =
        rows.iter().any(|row| row.figure(GAIN).is_some_and(|gain| gain.low.is_some()));
    let said = match (open, has_interval) {
        (0, _) if tried == 1 => format!("The remedy does not help enough: {}.", enough()),
        (0, _) => format!("None of the {tried} remedies helps enough: {}.", enough()),
        (_, true) => {
            let more = time_needed(rows.iter().filter(is_open));
            format!("Cannot tell yet whether {of_tried} enough for a recommendation.{more}")
        }
        (_, false) => format!(
            "Cannot tell yet whether {of_tried}: one round gives no interval; let it run longer, \
             or use --runs 3."
        ),
    };
    said + &others
}

/// What is asked of a remedy that is recommended.
fn enough() -> String {
    format!(
        "for a recommendation the slowest 5 % of reads and commits take {} or less as long, \
         neither of them is harmed, and the writer keeps {} of its rate",
        percent(GAIN_MOST),
        percent(WRITER_LEAST)
    )
}

/// A gain differs from none if its interval is no wider than this to either side.
const TOLD_SHARE: f64 = 0.1;
/// Advice to run more rounds than this is no advice.
const ROUNDS_MOST: f64 = 1e6;

/// How much longer it would take to see a tenth, where the rounds differ so much; the interval of
/// a mean of logarithms narrows with the root of their number.
fn time_needed<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let needed = |row: &Row| {
        let figure = row.figure(GAIN)?;
        let half = (figure.high? / figure.low?.max(f64::MIN_POSITIVE)).ln() / 2.0;
        Some((figure.count as f64, (half / -(1.0 - TOLD_SHARE).ln()).powi(2)))
    };
    let least = rows.filter_map(needed).min_by(|a, b| a.1.total_cmp(&b.1));
    match least {
        Some((rounds, times)) if times > 1.0 && rounds * times < ROUNDS_MOST => format!(
            " The rounds differ too much: to see an effect of 10 %, use --runs {:.0} ({}× this \
             run's time).",
            (rounds * times).ceil(),
            significant(times)
        ),
        Some((_, times)) if times > 1.0 => {
            " The rounds differ too much for any number of them to show an effect of 10 %.".into()
        }
        _ => String::new(),
    }
}

/// How far the model ranks remedies as they were measured.
fn agreement(rows: &[Row]) -> Option<String> {
    let none = rows.iter().find(|row| row.key.name == NONE)?;
    let apart = none.figure("victims ranked_alike_percent")?;
    let tau = none.value("victims rank_agreement")?;
    let (pairs, percent) = (apart.count, apart.value?);
    let held = none.value("victims predictions_held_percent")?;
    Some(format!(
        "The model of kernel and drive ranks {percent:.0} % of the {pairs} pairs of remedies that \
         differ beyond the noise in the measured order (Kendall's tau over all pairs: {tau:.2}); \
         {held:.0} % of the measurements lie in its interval."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Run;
    use crate::sheet::NOTHING;
    use model::record::Interval;
    use model::record::subject::{RECOMMENDED_CONFIDENCE, StormStream};

    fn finding(remedy: &str, stream: StormStream, quantity: &str, value: f64) -> Finding {
        let subject =
            Subject::Storm(Storm { remedy: remedy.into(), stream, target: Some("t".into()) });
        Finding::new(&subject, quantity, Some(value), 3, "m")
    }

    fn findings() -> Vec<Finding> {
        let within = (Some(0.4), Some(0.6));
        vec![
            finding(NONE, StormStream::Read, "rate_operations_per_s", 10.0),
            finding(NONE, StormStream::ReadInSync, "latency_p99_ns", 300e6),
            finding(NONE, StormStream::ReadBetween, "latency_p99_ns", 60e6),
            finding(NONE, StormStream::Read, "storm_ratio", 5.0)
                .within(Interval::Passes, (Some(3.0), Some(8.0))),
            finding("bfq", StormStream::Victims, "gain_ratio", 0.98),
            finding("bfq", StormStream::Victims, "recommended", 0.0),
            finding("direct", StormStream::Victims, "gain_ratio", 0.5)
                .within(Interval::Comparison, within),
            finding("direct", StormStream::Victims, "recommended", 1.0),
        ]
    }

    #[test]
    fn a_gain_that_the_table_cannot_tell_is_not_drawn() {
        for (ends, is_drawn) in [((0.4, 0.6), true), ((0.1, 40.0), false)] {
            let mut findings = findings();
            for gain in findings.iter_mut().filter(|finding| finding.quantity == "gain_ratio") {
                (gain.low, gain.high) = (Some(ends.0), Some(ends.1));
            }
            let run = Run { findings: &findings, rows: &[] };
            let charts = chart::all(&[crate::experiments::Named { name: "", run }]);
            assert_eq!(charts.iter().any(|chart| chart.id == "remedies"), is_drawn, "{ends:?}");
        }
    }

    #[test]
    fn the_storm_and_the_best_remedy_are_said_first_and_the_best_stands_first() {
        let found = findings();
        let text = EXPERIMENT.first(&Run { findings: &found, rows: &[] }, Some(100), 40);
        for words in [
            "p99 read latency is 300 ms during a sync and 60.0 ms otherwise (5.00×).",
            "direct helps most",
            "50 % [40, 60]",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        for (low, high, words) in [
            (
                Some(0.2),
                Some(0.9),
                "otherwise: syncs do not raise it (95 % CI of their ratio 0.200×–0.900×).",
            ),
            (
                Some(0.5),
                Some(1.9),
                "otherwise: the two may be the same (95 % CI of their ratio 0.500×–1.90×).",
            ),
            (
                Some(0.00976),
                Some(294.0),
                "otherwise: cannot tell yet whether syncs slow reads: the 95 % CI of their \
                 ratio spans a factor of 30123, and more rounds (--runs) would tell.",
            ),
            (
                Some(1.5),
                Some(9.0),
                "otherwise: syncs slow reads, at least 1.50×. Cannot tell yet how much:",
            ),
            (None, None, "otherwise; one round gives no interval."),
        ] {
            let mut found = findings();
            found[3] = found[3].clone().within(Interval::Passes, (low, high));
            let text = EXPERIMENT.first(&Run { findings: &found, rows: &[] }, Some(300), 40);
            assert!(text.contains(words), "{words}: {text}");
        }
        let place = |word: &str| text.rfind(word).unwrap_or_else(|| panic!("{word}: {text}"));
        assert!(place("none") < place("bfq"), "{text}");
        let alone = EXPERIMENT.first(&Run { findings: &found[..4], rows: &[] }, Some(100), 40);
        assert!(!alone.contains("leaves") && alone.contains("--remedies all"), "{alone}");
        let row = alone.lines().find(|line| line.trim_start().starts_with("none"));
        assert!(row.is_some(), "{alone}");
        let nothing = EXPERIMENT.first(&Run { findings: &[], rows: &[] }, None, 40);
        assert_eq!(nothing, NOTHING);
    }

    #[test]
    fn the_legend_has_the_bounds_that_decide() {
        let (_, recommended) = REMEDIES.legend[0];
        for bound in [GAIN_MOST, RECOMMENDED_CONFIDENCE, WRITER_LEAST] {
            assert!(recommended.contains(&percent(bound)), "{bound}: {recommended}");
        }
    }

    #[test]
    fn a_remedy_that_was_refused_says_why() {
        let mut refused = Finding::new(&Subject::this_run(), "rate_operations_per_s", None, 0, "m");
        refused.subject = finding("direct", StormStream::Read, "x", 0.0).subject;
        refused.doubt(model::doubt::Doubt::refused("another lbolt changes it"));
        let found: Vec<Finding> = findings().into_iter().take(4).chain([refused]).collect();
        let text = EXPERIMENT.first(&Run { findings: &found, rows: &[] }, Some(100), 40);
        assert!(text.contains("another lbolt changes it") && text.contains('*'), "{text}");
    }

    #[test]
    fn what_was_tried_in_vain_is_not_advised() {
        let mut refused = finding("bfq", StormStream::Read, "rate_operations_per_s", 0.0);
        refused.value = None;
        let found: Vec<Finding> = findings().into_iter().take(4).chain([refused]).collect();
        let text = EXPERIMENT.first(&Run { findings: &found, rows: &[] }, Some(100), 40);
        assert!(text.contains("The remedy could not be compared"), "{text}");
        assert!(!text.contains("--remedies all"), "{text}");
    }

    #[test]
    fn where_nothing_helps_that_is_said_and_only_there() {
        let found: Vec<Finding> = findings().into_iter().take(6).collect();
        let text = EXPERIMENT.first(&Run { findings: &found, rows: &[] }, Some(100), 40);
        let open = "Cannot tell yet whether the remedy helps: one round gives no interval";
        assert!(text.contains(open), "{text}");
        let within = |(low, high), at_most| {
            let mut found = found.clone();
            found[4] = found[4].clone().within(Interval::Comparison, (Some(low), Some(high)));
            let ends = (Some(0.0), Some(at_most));
            found[5] = found[5].clone().within(Interval::Comparison, ends);
            EXPERIMENT.first(&Run { findings: &found, rows: &[] }, Some(200), 40)
        };
        // Whether it surely is none the analysis says.
        let text = within((0.9, 1.1), 1.0);
        assert!(text.contains("Cannot tell yet whether the remedy helps enough for"), "{text}");
        let text = within((0.97, 1.0), 0.0);
        assert!(text.contains("The remedy does not help enough: for a recommendation"), "{text}");
        // The table has 95 %, a recommendation needs 98 %: the table alone decides nothing.
        let text = within((0.5, 0.98), 1.0);
        assert!(text.contains("Cannot tell yet whether the remedy helps enough for"), "{text}");
        let text = within((0.5, 0.98), 0.0);
        assert!(text.contains("The remedy does not help enough: for a recommendation"), "{text}");
        // One of several, of which the others surely do not help.
        let mut two = found.clone();
        let none = (Some(0.0), Some(0.0));
        two.extend([
            finding("kyber", StormStream::Victims, "gain_ratio", 2.0)
                .within(Interval::Comparison, (Some(1.9), Some(2.1))),
            finding("kyber", StormStream::Victims, "recommended", 0.0)
                .within(Interval::Comparison, none),
        ]);
        two[4] = two[4].clone().within(Interval::Comparison, (Some(0.9), Some(1.1)));
        let text = EXPERIMENT.first(&Run { findings: &two, rows: &[] }, Some(200), 40);
        assert!(text.contains("whether 1 of the 2 remedies helps enough for"), "{text}");
        // What had no pass is no remedy that does not help.
        let mut late = finding("direct", StormStream::Read, "rate_operations_per_s", 0.0);
        late.value = None;
        let found: Vec<Finding> = found.iter().cloned().chain([late]).collect();
        let text = EXPERIMENT.first(&Run { findings: &found, rows: &[] }, Some(200), 40);
        assert!(text.contains("1 other remedy could not be compared"), "{text}");
    }
}

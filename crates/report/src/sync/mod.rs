//! What it costs to make a write durable, as a table: a row for each method, pattern, size and
//! number of writers; of each pattern, size and number the quickest first.
//!
//! Non-goals: computing a figure.

mod chart;

use crate::answer::{Bar, Fact};
use crate::experiments::{Experiment, Screen, TimeTable};
use crate::number::{short_count, significant};
use crate::ranking::{self, Contest, Entrant, unranked};
use crate::rows::{self, INTERVAL, View, plain, within};
use crate::words::{first_seen, upper};
use model::record::Finding;
use model::record::subject::{Commit, Subject};
use model::units::{counted, show_size, show_time_ns};
use std::cmp::Reverse;

pub(crate) const RATE: &str = "rate_operations_per_s";

/// A row for each way to commit.
pub(crate) const COMMITS: View<Commit> = View {
    title: "Commits: a write made durable",
    labels: &[
        ("pattern", |commit| commit.pattern.clone()),
        ("size", |commit| show_size(commit.block_bytes)),
        ("writers", |commit| commit.writers.to_string()),
        ("method", method),
    ],
    columns: &[
        ("", "commits/s", RATE, short_count),
        ("", "p50", P50, show_time_ns),
        ("", "p99", P99, show_time_ns),
        ("", "max", "latency_max_ns", show_time_ns),
        ("", "CPU", "cpu_operation_ns", show_time_ns),
        ("", "flushes", "flushes_ratio", significant),
    ],
    judged: RATE,
    marked: RATE,
    name: named,
    show: |row, column| {
        if column.2 == RATE { within(row, column) } else { plain(row, column) }
    },
    legend: &[
        INTERVAL,
        ("CPU", "CPU time of the submitting threads per commit"),
        ("flushes", "flushes of the device's cache per commit, as the kernel counts them"),
    ],
};

/// The experiment's row.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "sync",
    title: "What a durable write costs",
    sentences: |run| answer(run.findings),
    sheets: |run| vec![COMMITS.sheet(&rows(run.findings))],
    charts: chart::all,
    is_cell: |subject| matches!(subject, Subject::Commit(_)),
    screen: Screen::Sheet(|run| COMMITS.sheet(&rows(run.findings))),
    whole: None,
    time: Some(TimeTable {
        title: "Where a commit's time went",
        labels: &[
            ("method", "method"),
            ("path", "direct"),
            ("pattern", "pattern"),
            ("size", "block_bytes"),
            ("writers", "writers"),
        ],
    }),
};

pub(crate) type Row = rows::Row<Commit>;

/// The latencies of a commit: what its rate is in other words.
const TIMES: [&str; 3] = [P50, P99, "latency_max_ns"];
const P50: &str = "latency_p50_ns";
const P99: &str = "latency_p99_ns";

/// Overwrites first; within a pattern, a size and a number of writers the quickest method. Methods
/// that cannot be told from the quickest come before the others, in the order of their names: their
/// rates are an order by chance. Without intervals that is so of all.
pub(crate) fn rows(findings: &[Finding]) -> Vec<Row> {
    let mut rows = rows::rows(findings, |finding| match &finding.subject {
        Subject::Commit(commit) => Some((commit.clone(), finding.quantity.clone())),
        _ => None,
    });
    rows.iter_mut().for_each(|row| row.decide(RATE, &TIMES));
    let pattern = |row: &Row| Reverse(row.key.pattern.clone());
    rows.sort_by_cached_key(|row| (pattern(row), group(row), row.key.clone()));
    for group in rows.chunk_by_mut(|a, b| pattern(a) == pattern(b) && group(a) == group(b)) {
        let first = fastest(&group.iter().collect::<Vec<_>>()).and_then(entrant);
        let is_slower = |row: &Row| {
            let pair = first.as_ref().zip(entrant(row));
            pair.is_none_or(|(first, other)| first.times(&other).is_some())
        };
        let order = |row: &Row| match is_slower(row) {
            true => row.value(RATE).unwrap_or(0.0),
            false => f64::INFINITY,
        };
        group.sort_by(|a, b| order(b).total_cmp(&order(a)));
    }
    rows
}

/// Rows that are compared with each other, within a pattern.
fn group(row: &Row) -> (u64, u64) {
    (row.key.block_bytes, row.key.writers)
}

fn entrant(row: &Row) -> Option<Entrant> {
    Entrant::of(&method(&row.key), row.figure(RATE)?)
}

fn method(commit: &Commit) -> String {
    format!("{}{}", commit.method, if commit.direct == 1 { ", O_DIRECT" } else { "" })
}

/// A row by all that it is of: `append, 4k, 2 writers, fsync`.
fn named(commit: &Commit) -> String {
    let Commit { pattern, block_bytes, writers, .. } = commit;
    let size = show_size(*block_bytes);
    format!("{pattern}, {size}, {}, {}", counted(*writers, "writer{s}"), method(commit))
}

/// Of each pattern with one writer and the smallest writes: the quickest method, and how much
/// longer the slowest takes.
fn answer(findings: &[Finding]) -> Vec<String> {
    let mut rows = rows(findings);
    rows.retain(|row| row.value(RATE).is_some());
    let patterns = first_seen(rows.iter().map(|row| &row.key.pattern));
    patterns.iter().filter_map(|pattern| of_pattern(&rows, pattern)).collect()
}

/// Rows of one pattern with its fewest writers and its smallest writes.
fn plain_rows(rows: &[Row]) -> Vec<&Row> {
    let writers = rows.iter().map(|row| row.key.writers).min();
    let size = rows.iter().map(|row| row.key.block_bytes).min();
    let is_plain =
        |row: &&Row| Some(row.key.writers) == writers && Some(row.key.block_bytes) == size;
    rows.iter().filter(is_plain).collect()
}

fn ranked<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<Entrant> {
    CONTEST.ranked(rows.into_iter().filter_map(entrant).collect())
}

/// The one of a group with the highest rate, wherever it stands among those that are alike: times
/// beside that rate are its own.
fn fastest<'a>(rows: &[&'a Row]) -> Option<&'a Row> {
    let ranked = ranked(rows.iter().copied());
    let first = ranking::first(&ranked)?;
    rows.iter().copied().find(|row| method(&row.key) == first.name)
}

/// Of rows of one pattern those that its answer tells: the fastest of each group, in the first also
/// the one that it is held against; all of a group in which none is known to be the fastest.
pub(crate) fn told(rows: &[Row]) -> Vec<Row> {
    let plain = plain_rows(rows).first().map(|row| group(row));
    let of_group = |own: &[Row]| {
        let ranked = ranked(own);
        let order = CONTEST.order(&ranked).filter(|_| unranked(&ranked).is_none());
        let is_plain = own.first().map(group) == plain;
        let is_told = |row: &&Row| {
            order.as_ref().is_none_or(|order| {
                let other = order.others(1).next().filter(|_| is_plain);
                let told = [Some(order.first), other];
                told.into_iter().flatten().any(|of| of.name == method(&row.key))
            })
        };
        own.iter().filter(is_told).cloned().collect::<Vec<Row>>()
    };
    rows.chunk_by(|a, b| group(a) == group(b)).flat_map(of_group).collect()
}

/// How long the fastest method takes, and of what; of rows of one pattern.
pub(crate) fn headline(rows: &[Row]) -> Option<(String, String)> {
    let plain = plain_rows(rows);
    let fastest = fastest(&plain)?;
    let Commit { pattern, block_bytes, .. } = &fastest.key;
    let what = format!("durable {} {pattern}, p50", show_size(*block_bytes));
    let mut all: Vec<f64> = plain.iter().filter_map(|row| row.told(P50)).collect();
    all.sort_by(f64::total_cmp);
    Some(match (unranked(&ranked(plain)), all.as_slice()) {
        (Some(why), [least, .., most]) => {
            let [least, most] = [*least, *most].map(show_time_ns);
            (format!("{least}–{most}"), format!("{what} ({why}, by method)"))
        }
        _ => {
            let p50 = fastest.shown(P50, show_time_ns);
            (format!("{p50}{}", fastest.mark(RATE)), format!("{what} ({})", method(&fastest.key)))
        }
    })
}

fn show_commits(rate: f64) -> String {
    format!("{} commits/s", short_count(rate))
}

/// Who makes most commits.
const CONTEST: Contest<'_> =
    Contest { verb: "makes", of: "", is_greatest_first: true, show: &show_commits };

/// How often and how quickly the fastest method makes a write durable.
pub(crate) fn facts(rows: &[Row]) -> Vec<Fact> {
    let Some(fastest) = fastest(&plain_rows(rows)) else { return vec![] };
    let Commit { pattern, block_bytes, .. } = &fastest.key;
    let of = |what: &str, quantity: &str| {
        let what = format!("durable {} {pattern}{what}", show_size(*block_bytes));
        Some((Entrant::of(&what, fastest.figure(quantity)?)?, what))
    };
    let rate = of("", RATE).map(|(of, what)| Fact::rate(&what, of, show_commits));
    let time =
        |what: &str, quantity: &str| of(what, quantity).map(|(of, what)| Fact::time(&what, of));
    let times = [time(", p50", P50), time(", p99", P99)];
    rate.into_iter().chain(times.into_iter().flatten()).collect()
}

/// How long each method takes.
pub(crate) fn bars(rows: &[Row]) -> Vec<Bar> {
    let bar = |row: &Row| Bar::of(&method(&row.key), row.told(P50), show_time_ns);
    plain_rows(rows).into_iter().filter_map(bar).collect()
}

/// `Overwrite of 4k: p50 95.5 µs by O_DSYNC (p99 174 µs); O_DSYNC makes 9.94k commits/s, …`.
pub(crate) fn of_pattern(rows: &[Row], pattern: &str) -> Option<String> {
    let own: Vec<Row> = rows.iter().filter(|row| row.key.pattern == pattern).cloned().collect();
    let plain = plain_rows(&own);
    let fastest = fastest(&plain)?;
    let all = ranked(plain);
    let time = |quantity| fastest.told(quantity).map(show_time_ns);
    let times = time(P50).zip(time(P99)).filter(|_| unranked(&all).is_none());
    let times = times.map_or_else(String::new, |(p50, p99)| {
        format!("p50 {p50} by {} (p99 {p99}); ", method(&fastest.key))
    });
    let told = CONTEST.sentence(all)?;
    Some(format!("{} of {}: {times}{told}", upper(pattern), show_size(fastest.key.block_bytes)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::experiments::Run;
    use crate::sheet::NOT_MEASURED;
    use model::doubt::{Code, Doubt};

    /// Overwrites of so many bytes by one writer.
    pub(crate) fn commit(method: &str, block_bytes: u64) -> Subject {
        Subject::Commit(Commit {
            block_bytes,
            direct: 0,
            method: method.into(),
            pattern: "overwrite".into(),
            target: Some("d".into()),
            writers: 1,
        })
    }

    #[test]
    fn the_quickest_method_of_a_group_comes_first_and_doubts_are_told() {
        let rate = |subject: &Subject, value| Finding::new(subject, RATE, Some(value), 3, "mean");
        let mut lazy = rate(&commit("fsync", 4096), 900.0);
        lazy.doubt(Doubt::new(Code::NoFlush, [("commits", 900.0.into())]));
        let findings = [
            rate(&commit("O_DSYNC", 8192), 1.0),
            lazy,
            rate(&commit("fdatasync", 4096), 1000.0),
            Finding::new(&commit("fdatasync", 4096), "latency_p99_ns", Some(2.5e6), 3, "mean"),
        ];
        assert!(EXPERIMENT.has_findings(&findings) && !EXPERIMENT.has_findings(&[]));
        let run = Run { findings: &findings, rows: &[] };
        let text = EXPERIMENT.table(&run, None);
        let place = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word}: {text}"));
        assert!(place("fdatasync") < place("fsync") && place("fsync") < place("O_DSYNC"));
        assert!(text.contains("900*") && text.contains("no flush reached the device"), "{text}");
        assert!(text.contains("2.50 ms") && text.contains(NOT_MEASURED), "{text}");
        let markdown = EXPERIMENT.markdown(&run);
        assert!(markdown.contains("| fdatasync |"), "{markdown}");
    }

    #[test]
    fn what_intervals_do_not_part_is_not_ranked() {
        let rate = |method: &str, value: f64, half: f64| {
            let subject = commit(method, 4096);
            let ends = (Some(value - half), Some(value + half));
            Finding::new(&subject, RATE, Some(value), 3, "mean")
                .within(model::record::Interval::Passes, ends)
        };
        for (fsync, fdatasync) in [(1010.0, 1000.0), (1000.0, 1010.0)] {
            let findings = [
                rate("fsync", fsync, 50.0),
                rate("fdatasync", fdatasync, 50.0),
                rate("a", 500.0, 1.0),
            ];
            let mut findings = findings.to_vec();
            for rate in findings.clone() {
                let ns = rate.value.map(|rate| 1e9 / rate);
                for time in ["latency_p50_ns", "latency_p99_ns"] {
                    findings.push(Finding::new(&rate.subject, time, ns, 3, "mean"));
                }
            }
            let all = rows(&findings);
            let order: Vec<&str> = all.iter().map(|row| row.key.method.as_str()).collect();
            assert_eq!(order, ["fdatasync", "fsync", "a"]);
            // The times in a sentence are those of the method whose rate it tells.
            let first = if fsync > fdatasync { "fsync" } else { "fdatasync" };
            let said = of_pattern(&all, "overwrite").unwrap();
            assert!(said.contains(&format!("p50 990 µs by {first} (p99 990 µs); {first} makes")));
            assert!(headline(&all).unwrap().1.ends_with(&format!("({first})")));
            let text = EXPERIMENT.table(&Run { findings: &findings, rows: &[] }, Some(100));
            assert!(text.contains("1.00k [950–1.05k]"), "{text}");
        }
        let findings = [rate("fsync", 1200.0, 50.0), rate("fdatasync", 1000.0, 50.0)];
        assert_eq!(rows(&findings)[0].key.method, "fsync");
        let wide = rate("fsync", 3045.0, 3044.6);
        // Its latencies are the same measure: one decision for the row.
        let times = TIMES.map(|of| Finding::new(&wide.subject, of, Some(1.2e6), 900, "x"));
        let wide = [&[wide][..], &times[..]].concat();
        let text = EXPERIMENT.table(&Run { findings: &wide, rows: &[] }, Some(100));
        assert_eq!(text.matches("cannot tell").count(), 4 + 1, "{text}");
        assert!(!text.contains("6.09k") && !text.contains("1.20 ms"), "{text}");
        assert!(text.contains("more than a factor of 4"), "{text}");
        assert_eq!(headline(&rows(&wide)).unwrap().0, "cannot tell");
        let said = of_pattern(&rows(&wide), "overwrite").unwrap();
        assert!(said.starts_with("Overwrite of 4k: fsync makes") && !said.contains("p50"));
    }

    #[test]
    fn one_pass_each_is_no_ranking() {
        let of = |method: &str, rate: f64| {
            let subject = commit(method, 4096);
            let found = |name, value, count| Finding::new(&subject, name, Some(value), count, "x");
            [found(RATE, rate, 1), found(P50, 1e9 / rate, 99), found(P99, 2e9 / rate, 99)]
        };
        let findings = [of("fsync", 2000.0), of("fdatasync", 1000.0), of("O_SYNC", 900.0)].concat();
        let all = rows(&findings);
        let order: Vec<&str> = all.iter().map(|row| row.key.method.as_str()).collect();
        assert_eq!(order, ["O_SYNC", "fdatasync", "fsync"]);
        let text = EXPERIMENT.first(&Run { findings: &findings, rows: &[] }, Some(100), 40);
        let said = "Overwrite of 4k: 900 commits/s to 2.00k commits/s (fsync, fdatasync and \
            O_SYNC); one pass each: not ranked.";
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").starts_with(said), "{text}");
        assert!(!text.contains("interval") && !text.contains("[ ]"), "{text}");
        let what = "durable 4k overwrite, p50 (one pass each, by method)";
        assert_eq!(headline(&all), Some(("500 µs–1.11 ms".into(), what.into())));
        assert_eq!(told(&all).len(), 3);
    }
}

//! What it costs to make a write durable, as a table: a row for each method, pattern, size and
//! number of writers; of each pattern, size and number the quickest first.
//!
//! Non-goals: computing a figure.

mod chart;

use crate::answer::{Bar, Fact};
use crate::experiments::{Experiment, Screen, TimeTable};
use crate::number::{short_count, significant};
use crate::ranking::{Contest, Entrant};
use crate::rows::{self, View, plain, within};
use crate::words::{first_seen, upper};
use model::record::Finding;
use model::record::subject::{Commit, Subject};
use model::units::{counted, show_size, show_time_ns};

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
        ("", "p50", "latency_p50_ns", show_time_ns),
        ("", "p99", "latency_p99_ns", show_time_ns),
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
        ("[ ]", "95 % interval of the mean over passes"),
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

/// Overwrites first; within a pattern, a size and a number of writers the quickest method. Methods
/// that cannot be told from the quickest come before the others, in the order of their names: their
/// rates are an order by chance.
pub(crate) fn rows(findings: &[Finding]) -> Vec<Row> {
    let mut rows = rows::rows(findings, |finding| match &finding.subject {
        Subject::Commit(commit) => Some((commit.clone(), finding.quantity.clone())),
        _ => None,
    });
    rows.sort_by(|a, b| a.key.cmp(&b.key));
    let rate = |row: &Row| row.value(RATE).unwrap_or(0.0);
    let group = |row: &Row| (row.key.block_bytes, row.key.writers);
    rows.sort_by(|a, b| {
        let by_pattern = b.key.pattern.cmp(&a.key.pattern);
        by_pattern.then(group(a).cmp(&group(b))).then(rate(b).total_cmp(&rate(a)))
    });
    let is_together = |a: &Row, b: &Row| a.key.pattern == b.key.pattern && group(a) == group(b);
    for group in rows.chunk_by_mut(is_together) {
        let entrant = |row: &Row| Entrant::of("", row.figure(RATE)?);
        let first = group.first().and_then(entrant);
        let is_first = |row: &Row| {
            let pair = first.as_ref().zip(entrant(row));
            pair.is_some_and(|(first, other)| {
                other.interval.is_some() && first.times(&other).is_none()
            })
        };
        let alike = group.iter().take_while(|row| is_first(row)).count();
        if let Some(alike) = group.get_mut(..alike) {
            alike.sort_by(|a, b| a.key.cmp(&b.key));
        }
    }
    rows
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
fn plain_rows(rows: &[Row]) -> impl Iterator<Item = &Row> {
    let writers = rows.iter().map(|row| row.key.writers).min();
    let size = rows.iter().map(|row| row.key.block_bytes).min();
    let is_plain =
        move |row: &&Row| Some(row.key.writers) == writers && Some(row.key.block_bytes) == size;
    rows.iter().filter(is_plain)
}

/// The one of them with the highest rate, wherever it stands among those that are alike: times
/// beside that rate are its own.
fn fastest(rows: &[Row]) -> Option<&Row> {
    let measured = plain_rows(rows).filter_map(|row| Some((row, row.value(RATE)?)));
    measured.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(row, _)| row)
}

/// How long the fastest method takes, and of what; of rows of one pattern.
pub(crate) fn headline(rows: &[Row]) -> Option<(String, String)> {
    let fastest = fastest(rows)?;
    let Commit { pattern, block_bytes, .. } = &fastest.key;
    let what =
        format!("durable {} {pattern}, p50 ({})", show_size(*block_bytes), method(&fastest.key));
    let p50 = show_time_ns(fastest.value("latency_p50_ns")?);
    Some((format!("{p50}{}", fastest.mark(RATE)), what))
}

/// How often and how quickly the fastest method makes a write durable.
pub(crate) fn facts(rows: &[Row]) -> Vec<Fact> {
    let Some(fastest) = fastest(rows) else { return vec![] };
    let Commit { pattern, block_bytes, .. } = &fastest.key;
    let of = |what: &str, quantity: &str| {
        let what = format!("durable {} {pattern}{what}", show_size(*block_bytes));
        Some((Entrant::of(&what, fastest.figure(quantity)?)?, what))
    };
    let show = |rate: f64| format!("{} commits/s", short_count(rate));
    let rate = of("", RATE).map(|(of, what)| Fact::rate(&what, of, show));
    let time =
        |what: &str, quantity: &str| of(what, quantity).map(|(of, what)| Fact::time(&what, of));
    let times = [time(", p50", "latency_p50_ns"), time(", p99", "latency_p99_ns")];
    rate.into_iter().chain(times.into_iter().flatten()).collect()
}

/// How long each method takes.
pub(crate) fn bars(rows: &[Row]) -> Vec<Bar> {
    let bar = |row: &Row| Bar::of(&method(&row.key), row.value("latency_p50_ns"), show_time_ns);
    plain_rows(rows).filter_map(bar).collect()
}

/// `Overwrite of 4k: p50 95.5 µs by O_DSYNC (p99 174 µs); O_DSYNC makes 9.94k commits/s, …`.
pub(crate) fn of_pattern(rows: &[Row], pattern: &str) -> Option<String> {
    let own: Vec<Row> = rows.iter().filter(|row| row.key.pattern == pattern).cloned().collect();
    let fastest = fastest(&own)?;
    let time = |quantity| fastest.value(quantity).map(show_time_ns);
    let time = time("latency_p50_ns").zip(time("latency_p99_ns"));
    let time = time.map_or_else(String::new, |(p50, p99)| {
        format!("p50 {p50} by {} (p99 {p99}); ", method(&fastest.key))
    });
    let entrant = |row: &Row| Entrant::of(&method(&row.key), row.figure(RATE)?);
    let show = |rate: f64| format!("{} commits/s", short_count(rate));
    let contest = Contest { verb: "makes", of: "", is_greatest_first: true, show: &show };
    let told = contest.sentence(plain_rows(&own).filter_map(entrant).collect())?;
    Some(format!("{} of {}: {time}{told}", upper(pattern), show_size(fastest.key.block_bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Run;
    use crate::sheet::NOT_MEASURED;
    use model::doubt::{Code, Doubt};

    #[test]
    fn the_quickest_method_of_a_group_comes_first_and_doubts_are_told() {
        let commit = |method: &str, block_bytes| {
            Subject::Commit(Commit {
                block_bytes,
                direct: 0,
                method: method.into(),
                pattern: "overwrite".into(),
                target: Some("d".into()),
                writers: 1,
            })
        };
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
            let subject = Subject::Commit(Commit {
                block_bytes: 4096,
                direct: 0,
                method: method.into(),
                pattern: "overwrite".into(),
                target: Some("d".into()),
                writers: 1,
            });
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
        let wide = [rate("fsync", 3045.0, 3044.6)];
        let text = EXPERIMENT.table(&Run { findings: &wide, rows: &[] }, Some(100));
        assert!(text.contains("cannot tell") && !text.contains("6.09k"), "{text}");
        assert!(text.contains("more than a factor of 4"), "{text}");
    }
}

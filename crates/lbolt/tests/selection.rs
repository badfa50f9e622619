//! `lbolt response` of a time of a trace, and of processes by themselves, in virtual time.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use crate::common::{Ended, Lab};
use model::record::requests::{Counts, Provenance, RequestWriter};
use model::record::{Commands, Context, Flags, Op, Process, Request};
use std::collections::BTreeMap;

const MS: i64 = 1_000_000;

fn row(pid: u32, op: Op, begin_ns: i64, took_ns: i64, length_bytes: u32) -> Request {
    Request {
        device: 8 << 20,
        op,
        flags: if op == Op::Read { Flags::default() } else { Flags::BACKGROUND },
        offset_bytes: Some(0),
        length_bytes,
        pid: Some(pid),
        queued_ns: Some(begin_ns),
        issued_ns: Some(begin_ns),
        completed_ns: Some(begin_ns + took_ns),
        ..Request::default()
    }
}

/// Two backends for 30 s: one reads every 2 ms, the other one writes from 4.5 to 5 s and every 5 s
/// later, which makes the reads longer by 8 ms.
fn rows() -> Vec<Request> {
    let is_in_burst = |ns: i64| ns / (500 * MS) % 10 == 9;
    let reads = (0..15_000).map(|number| {
        let begin_ns = number * 2 * MS + (number * 7919 % 13) * 10_000;
        let took_ns = if is_in_burst(begin_ns) { 9 * MS } else { MS };
        row(101, Op::Read, begin_ns, took_ns + (number * 104_729 % 97) * 1000, 4096)
    });
    let writes = (0..300).map(|number| {
        let begin_ns = (number / 50 * 5000 + 4500 + number % 50 * 10) * MS;
        row(102, Op::Write, begin_ns, 10 * MS, 1 << 20)
    });
    let mut rows: Vec<Request> = reads.chain(writes).collect();
    rows.sort_by_key(|row| row.queued_ns);
    rows.iter_mut().zip(1..).for_each(|(row, number)| row.request_id = number);
    rows
}

/// A run of these rows in groups of so many, which began at noon.
fn run(lab: &Lab, name: &str, group: usize) {
    let directory = lab.directory(name);
    let (commands, rows) = (Commands::default(), rows());
    let file = std::fs::File::create(directory.join("requests.parquet")).unwrap();
    let mut writer = RequestWriter::new(file).unwrap();
    for rows in rows.chunks(group) {
        rows.iter().for_each(|row| writer.push(row, &commands).unwrap());
        writer.end_group(&commands).unwrap();
    }
    let noon = "2026-11-22T12:00:00Z".parse::<jiff::Timestamp>().unwrap();
    let provenance = Provenance {
        origin: "capture".into(),
        started_unix_ns: i64::try_from(noon.as_nanosecond()).ok(),
        counts: Counts { requests: rows.len() as u64, ..Counts::default() },
        ..Provenance::default()
    };
    writer.finish(&commands, &provenance, &BTreeMap::new()).unwrap();
    let process = |pid, what: &str| Process {
        pid,
        process: Some(pid),
        command: "postgres".into(),
        title: Some(format!("postgres: app shop [local] {what}")),
        ..Process::default()
    };
    let processes = vec![process(101, "SELECT"), process(102, "VACUUM")];
    let context = Context { processes, ..Context::default() };
    context.write(&directory, &BTreeMap::new()).unwrap();
}

/// The sum of a quantity over the classes that are `by` something, or over what waited.
fn sum(ended: &Ended, by: Option<&str>, quantity: &str) -> f64 {
    let report = ended.report();
    let is_it = |f: &&serde_json::Value| {
        f["quantity"] == quantity && by.is_none_or(|by| f["subject"]["by"] == by)
    };
    report.findings().iter().filter(is_it).filter_map(|f| f["value"].as_f64()).sum()
}

#[test]
fn a_selected_time_is_told_of_in_a_line_and_every_figure_is_of_it() {
    let lab = Lab::new();
    run(&lab, "run", 2000);
    let ended = lab.run("response run --from 4 --to 6.0s --process VACUUM");
    let mut lines = ended.out.lines();
    assert_eq!(
        lines.next(),
        Some("Of the trace's 30.007 s, 4 to 6 s."),
        "{} {}",
        ended.out,
        ended.err
    );
    let text = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    // 507 ms in place of 250 reads of 1.05 ms.
    let sentence = "postgres: backend lost 242 ms";
    assert!(
        text.contains(sentence) && text.contains(", from 4.5 to 5.0 s (12:00:04Z to 12:00:05Z)."),
        "{}",
        ended.out
    );
    let times = [
        "--from 4 --to 6",
        "--from 4000ms --to 0.1m",
        "--from 12:00:04 --to 2026-11-22T13:00:06+01:00",
    ];
    let [seconds, units, clock] =
        times.map(|words| lab.run(&format!("response run {words} --format csv")).out);
    assert!(seconds.lines().count() > 20 && seconds == units && seconds == clock);
    let last = lab.run("response run --last 2s --format json");
    assert_eq!(sum(&last, Some("whole"), "requested_count"), 996.0 + 50.0);
    assert_eq!(sum(&last, None, "requests_count"), 1046.0, "{}", last.err);
}

/// In a storm that is selected by itself there is no calm: it is the whole trace's.
#[test]
fn calm_is_of_the_whole_trace() {
    let lab = Lab::new();
    run(&lab, "run", 1000);
    for words in ["", "--from 4.5 --to 5", "--from 4.6 --to 4.8", "--last 25s"] {
        // A process by itself is a role, which others lost time to.
        for (process, quantity) in
            [("", "calm_mean_ns"), ("--process VACUUM", "affected_calm_mean_ns")]
        {
            let ended = lab.run(&format!("response run {process} {words} --format json"));
            let calm_ns = sum(&ended, None, quantity);
            assert!((1.0e6..1.2e6).contains(&calm_ns), "{words} {quantity}: {calm_ns}");
        }
    }
    let words = "response run --process VACUUM --from 4.6 --to 4.8 --format json";
    let lost_ns = sum(&lab.run(words), None, "lost_ns");
    assert!((0.085e9..0.105e9).contains(&lost_ns), "200 ms for 100 reads of 1 ms: {lost_ns}");
}

/// Groups outside are not read; that changes nothing.
#[test]
fn parts_sum_to_the_whole_and_groups_make_no_difference() {
    let lab = Lab::new();
    run(&lab, "run", 1000);
    run(&lab, "one", usize::MAX);
    let json = |name: &str, words: &str| lab.run(&format!("response {name} {words} --format json"));
    let whole = json("run", "");
    let counted = |ended: &Ended| {
        let of = |by, quantity| sum(ended, by, quantity);
        [
            of(Some("direction"), "requested_count"),
            of(Some("direction"), "requested_bytes"),
            of(Some("process"), "requested_count"),
            of(None, "requests_count"),
            of(None, "waits_count"),
        ]
    };
    for cut in ["4.7", "4.7003", "20", "29.99"] {
        let parts = [format!("--to {cut}"), format!("--from {cut}")].map(|part| json("run", &part));
        let sums = std::iter::zip(counted(&parts[0]), counted(&parts[1])).map(|(a, b)| a + b);
        assert!(sums.eq(counted(&whole)), "{cut}");
        let in_one = json("one", &format!("--from {cut}"));
        assert_eq!(in_one.report().findings(), parts[1].report().findings(), "{cut}");
    }
    let all = json("run", "--from 0 --to 1h");
    let without = |ended: &Ended| {
        let mut findings = ended.report().findings().to_vec();
        findings.retain(|f| {
            let quantity = f["quantity"].as_str().unwrap();
            !quantity.starts_with("selected_") && quantity != "whole_until_ns"
        });
        findings
    };
    assert_eq!(without(&all), without(&whole));
}

#[test]
fn a_foreign_trace_is_selected_from_as_our_own() {
    let lab = Lab::new();
    let line = |n: u32| format!("{} /dev/sda read {} 4096\n", n * 1000, n * 4096);
    let log: String = (0..30).map(line).collect();
    lab.file("log", format!("fio version 3 iolog\n{log}"));
    let ended = lab.run("response log --from 10ms --to 20ms --format json");
    assert_eq!(sum(&ended, Some("whole"), "requested_count"), 10.0, "{}", ended.err);
    let text = lab.run("response log --last 10ms").out;
    assert!(text.starts_with("Of the trace's 0.029 s, 0.019 to 0.029 s.\n"), "{text}");
    lab.run("response log --from 12:00:00").assert_refused(2, &["does not record when it began"]);
    lab.assert_clean();
}

#[test]
fn times_that_cannot_be_are_refused() {
    let lab = Lab::new();
    run(&lab, "run", usize::MAX);
    for (words, word) in [
        ("--from -1", "is not a moment; write"),
        ("--to -5s", "is not a moment; write"),
        ("--from soon", "is not a moment; write"),
        ("--to 5parsecs", "is not a moment; write"),
        ("--from 25:00:00", "is not a moment; write"),
        ("--from", "a value is required"),
        ("--last 10", "10s"),
        ("--last -3s", "not a number"),
        ("--last 0s", "out of range"),
        ("--last 3s --from 2", "--last"),
        ("--last 3s --to 2", "--last"),
        ("--process=", "a value is required"),
        ("--process 12 --all", "--process"),
    ] {
        lab.run(&format!("response run {words}")).assert_refused_by_usage(word);
    }
    for (words, expected) in [
        ("--from 30 --to 20", &["--to is not after --from"][..]),
        ("--from 20 --to 20", &["--to is not after --from"]),
        ("--to 0", &["find a request", "spans 0 to 30"]),
        ("--from 80", &["find a request", "spans 0 to 30"]),
        ("--from 1h --to 2h --format json", &["find a request", "spans 0 to 30"]),
        ("--to 11:59:59", &["find a request", "spans 0 to 30"]),
        ("--from 2026-11-23T00:00:00Z", &["find a request", "spans 0 to 30"]),
        ("--from 1.0003 --to 1.0004", &["find a request", "spans 0 to 30"]),
    ] {
        lab.run(&format!("response run {words}")).assert_refused(2, expected);
    }
}

#[test]
fn a_process_is_shown_by_itself_and_none_that_matches_says_so() {
    let lab = Lab::new();
    run(&lab, "run", usize::MAX);
    let shown = |words: &str| {
        let ended = lab.run(&format!("response run {words}"));
        assert_eq!(ended.code, 0, "{words}: {}", ended.err);
        ended.out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(shown("").starts_with("Nobody waited long for others"));
    let (reader, writer) = ("postgres: app shop [l… (101)", "postgres: app shop [l… (102)");
    let text = shown("--process 101");
    assert!(text.starts_with(&format!("{reader} lost 1")), "{text}");
    assert!(text.contains("behind writes of postgres: backend, in 6 storms"), "{text}");
    let text = shown("--process VACUUM");
    assert!(text.starts_with("postgres: backend lost 1") && text.contains(writer), "{text}");
    let both = shown("--process postgres");
    assert!(both.contains(reader) && both.contains(writer), "{both}");
    for (words, sentence) in [
        ("--process 7", "--process 7 is not in the trace; its processes are pid 101, pid 102"),
        ("--process mariadbd --format json", "--process mariadbd is not in the trace"),
        ("--role mariadbd", "--role mariadbd is not in the trace; its roles are "),
        ("--role mariadbd --by cause", "--role mariadbd is not in the trace"),
        ("--device sdz", "--device sdz is not in the trace; its devices are 8:0"),
        ("--device sdz --format csv", "--device sdz is not in the trace"),
        ("--by size --role postgres", "--by size does not count by role"),
        ("--by wait --file pg_wal", "--by wait does not count by file"),
    ] {
        let ended = lab.run(&format!("response run {words}"));
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{words}: {}", ended.err);
        assert!(ended.err.contains(sentence), "{words}: {}", ended.err);
    }
    assert!(shown("--role postgres").contains("Devices, of all roles"));
}

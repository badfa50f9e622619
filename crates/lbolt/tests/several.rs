//! `lbolt response` of several traces beside each other: what is summed, what stays each trace's
//! own, and what is refused.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Ended, Lab};
use model::record::requests::{Provenance, RequestWriter};
use model::record::{Commands, Flags, Op, Request};
use std::collections::BTreeMap;
use std::path::Path;

const MS: i64 = 1_000_000;
const S: i64 = 1000 * MS;

/// A machine's run: a database reads all the time, and the second half of every fifth second others
/// write, so that it waits. `slow` is how much longer all takes; it began at that second of 1970.
pub(crate) fn make_run(directory: &Path, seconds: i64, slow: i64, started_s: Option<i64>) {
    std::fs::create_dir(directory).unwrap();
    let mut commands = Commands::default();
    let names = ["postgres", "dd"].map(|name| commands.number(name.as_bytes()));
    let mut rows = Vec::new();
    for number in 0..seconds * 500 {
        let begin_ns = number * 2 * MS + number * 7919 % 13 * 10_000;
        let is_storm = begin_ns / (500 * MS) % 10 == 9;
        let took_ns = if is_storm { 9 * MS } else { MS } * slow;
        rows.push((begin_ns, took_ns, 0, Op::Read, 4096));
        if is_storm && number % 5 == 0 {
            rows.push((begin_ns, 10 * MS, 1, Op::Write, 1 << 20));
        }
    }
    rows.sort_unstable();
    let notes = BTreeMap::from([("device.8".to_owned(), "sda".to_owned())]);
    let started_unix_ns = started_s.map(|s| s * S);
    let provenance =
        Provenance { origin: "capture".into(), notes, started_unix_ns, ..Provenance::default() };
    let file = std::fs::File::create(directory.join("requests.parquet")).unwrap();
    let mut writer = RequestWriter::new(file).unwrap();
    for (request_id, (begin_ns, took_ns, who, op, length_bytes)) in (0..).zip(rows) {
        let row = Request {
            request_id,
            device: 8,
            op,
            flags: if op == Op::Read { Flags::default() } else { Flags::BACKGROUND },
            offset_bytes: Some(request_id << 12),
            length_bytes,
            queued_ns: Some(begin_ns),
            issued_ns: Some(begin_ns),
            completed_ns: Some(begin_ns + took_ns),
            // A thread has one request in flight.
            pid: Some(100 + who + 2 * (request_id % 16) as u32),
            command: Some(names[who as usize]),
            ..Request::default()
        };
        writer.push(&row, &commands).unwrap();
    }
    writer.finish(&commands, &provenance, &BTreeMap::new()).unwrap();
}

/// All findings by subject and quantity, to the last bit.
fn findings(lab: &Lab, words: &str) -> BTreeMap<(String, String), Option<u64>> {
    let report = lab.measure(&format!("response {words}"));
    let key = |f: &serde_json::Value| (f["subject"].to_string(), f["quantity"].to_string());
    let bits = |f: &serde_json::Value| f["value"].as_f64().map(f64::to_bits);
    report.findings().iter().map(|f| (key(f), bits(f))).collect()
}

fn value(ended: &Ended, of: &[(&str, &str)], quantity: &str) -> f64 {
    ended.report().of(of, quantity)
}

fn lab() -> Lab {
    let lab = Lab::new();
    make_run(&lab.path("host1"), 70, 1, Some(1000));
    make_run(&lab.path("host2"), 65, 2, Some(1030));
    lab
}

fn json(lab: &Lab, words: &str) -> Ended {
    let ended = lab.run(&format!("response --format json {words}"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    ended
}

#[test]
fn what_traces_have_in_common_is_summed_and_a_device_keeps_its_own() {
    let lab = lab();
    let [one, two] = ["host1", "host2"].map(|run| json(&lab, run));
    let both = json(&lab, "host1 host2");
    let whole = [("by", "whole"), ("class", "all")];
    for quantity in ["requested_count", "requested_bytes", "completed_count", "done_count"] {
        let sum = value(&one, &whole, quantity) + value(&two, &whole, quantity);
        assert_eq!(value(&both, &whole, quantity), sum, "{quantity}");
    }
    // From second 1000 to 1095 of 1970, less what comes before the first request.
    let rate = value(&both, &whole, "requested_per_s") / value(&both, &whole, "requested_count");
    assert!((94.9..95.1).contains(&(1.0 / rate)), "{} s", 1.0 / rate);
    for (run, alone) in [("host1", &one), ("host2", &two)] {
        let name = format!("{run}:sda");
        let of = |class| [("by", "device"), ("class", class)];
        for quantity in
            ["response_mean_ns", "response_p99_ns", "depth_mean", "busy_percent", "seek_mean_bytes"]
        {
            let (here, there) =
                (value(&both, &of(&name), quantity), value(alone, &of("sda"), quantity));
            assert_eq!(here, there, "{quantity} of {name}");
        }
        let pair = |device| [("victim", "postgres"), ("cause", "dd"), ("device", device)];
        let lost_ns = value(alone, &pair("sda"), "lost_ns");
        assert!(lost_ns > 10e9, "{lost_ns}");
        assert_eq!(value(&both, &pair(&name), "lost_ns"), lost_ns);
    }
    let by_process = [("by", "process"), ("class", "postgres")];
    assert_eq!(value(&both, &by_process, "requested_count"), 135.0 * 500.0, "of any number");
    let spans = [&one, &two].map(|ended| value(ended, &[], "verdict_span_ns"));
    assert_eq!(value(&both, &[], "verdict_span_ns"), spans.iter().sum::<f64>());
}

/// Neither the order nor how they are named matters, to the last bit.
#[test]
fn the_order_of_traces_does_not_matter_nor_how_they_are_named() {
    let lab = lab();
    let expected = findings(&lab, "host1 host2");
    assert_eq!(findings(&lab, "host2 host1"), expected);
    assert_eq!(findings(&lab, "host1/requests.parquet host2"), expected);
    lab.file("list", "host2\n\n  host1\n");
    assert_eq!(findings(&lab, "@list"), expected);
    let fleet = lab.directory("fleet");
    for run in ["host1", "host2"] {
        std::fs::rename(lab.path(run), fleet.join(run)).unwrap();
    }
    assert_eq!(findings(&lab, "fleet"), expected);
}

/// A capture that was killed, or damaged, in a directory of runs is not passed over in silence.
#[test]
fn what_a_killed_capture_left_in_a_directory_of_runs_is_not_left_out() {
    let lab = lab();
    let fleet = lab.directory("fleet");
    std::fs::rename(lab.path("host1"), fleet.join("host1")).unwrap();
    std::fs::create_dir(fleet.join("killed")).unwrap();
    lab.file("fleet/killed/requests.parquet.partial", "PAR1");
    lab.file("fleet/killed/requests.parquet.groups", "\u{4}\0\0\0none\0\0\0\0");
    let ended = lab.run("response fleet");
    assert_ne!(ended.code, 0, "{}", ended.out);
    assert!(ended.err.contains("killed"), "{}", ended.err);
    // What is no run of requests is none here, either.
    std::fs::remove_dir_all(fleet.join("killed")).unwrap();
    std::fs::create_dir(fleet.join("throughput")).unwrap();
    lab.file("fleet/throughput/run.json", "{}");
    assert_eq!(lab.run("response fleet").code, 0);
}

#[test]
fn traces_without_a_clock_on_the_wall_are_as_long_as_all_together() {
    let lab = Lab::new();
    make_run(&lab.path("a"), 20, 1, None);
    make_run(&lab.path("b"), 10, 1, Some(1000));
    let both = json(&lab, "a b");
    let whole = [("by", "whole"), ("class", "all")];
    let rate = value(&both, &whole, "requested_per_s") / value(&both, &whole, "requested_count");
    assert!((29.9..30.1).contains(&(1.0 / rate)), "{} s", 1.0 / rate);
    let screen = lab.run("response a b").out;
    assert!(screen.contains("a:sda") && screen.contains("b:sda"), "{screen}");
}

#[test]
fn what_cannot_be_put_beside_each_other_is_refused_in_a_sentence() {
    let lab = lab();
    lab.file("trace.csv", "128166372003061629,hm,0,Read,383496192,32768,1331\n");
    lab.file("empty", "\n");
    std::os::unix::fs::symlink(lab.path("host1"), lab.path("again")).unwrap();
    for (words, hint) in [
        ("host1 host2 host1", "the same trace as host1"),
        ("host1 again", "the same trace as host1"),
        ("host1 not-there", "not-there: no such file or directory"),
        ("host1 trace.csv", "lbolt import"),
        ("@empty", "the file names no trace"),
        ("@not-there", "the list of traces not-there"),
        ("--last 1s host1 host2", "but 2 traces are named"),
    ] {
        lab.run(&format!("response {words}")).assert_refused(2, &[hint]);
    }
}

//! `lbolt replay` from the command line: on real loop devices and files, what it leaves out, what
//! it refuses, and that nothing is changed where nothing was allowed.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, Loop, Report};
use model::record::Request;
use model::record::requests::RequestFile;
use std::path::Path;

/// Bounds that a loaded machine keeps.
const PATIENT: &str = "--lateness-p50 10s --lateness-p99 10s";

/// A trace in fio's words: a request of 4 KiB each ms, `write` every third.
fn trace(requests: u64, blocks: u64) -> String {
    let line = |n: u64| {
        let action = if n % 3 == 2 { "write" } else { "read" };
        format!("{} /dev/x {action} {} 4096\n", 1 + n * 1000, n * 7919 % blocks * 4096)
    };
    let lines: String = (0..requests).map(line).collect();
    format!("fio version 3 iolog\n1 /dev/x add\n1 /dev/x open\n{lines}")
}

/// Writes alone: their buffers hold nothing that was read.
fn writes(requests: u64) -> String {
    trace(requests, 256).replace("read", "write")
}

fn of_run(report: &Report, quantity: &str) -> f64 {
    report.of(&[("run", "this")], quantity)
}

/// The requests of a run.
fn rows(run: &Path) -> Vec<Request> {
    const COLUMNS: &[&str] = &["op", "offset_bytes", "queued_ns", "issued_ns", "completed_ns"];
    let file = RequestFile::open(&run.join("requests.parquet")).unwrap();
    let mut reader = file.read(0..file.groups(), COLUMNS).unwrap();
    let mut rows = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        rows.extend(batch.rows());
    }
    rows
}

#[test]
fn a_device_is_read_at_the_traces_times_and_written_only_where_it_is_named_twice() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    lab.file("t.log", trace(300, 4096));
    let words = format!("replay t.log --on {} {PATIENT}", device.node);
    let report = lab.measure(&format!("{words} -o read"));
    assert_eq!(report.of(&[("op", "all")], "replayed_count"), 200.0);
    assert_eq!(report.of(&[("by", "left out")], "replay_left_out_count"), 100.0);
    assert!(device.is_untouched(&lab.path("image")));
    let rows = rows(&lab.path("read"));
    let due = |n: usize| rows[n].queued_ns.unwrap() - rows[0].queued_ns.unwrap();
    assert_eq!((rows.len(), due(1), due(199)), (200, 1_000_000, 298_000_000));
    assert!(rows.iter().all(|row| row.queued_ns <= row.issued_ns
        && row.issued_ns < row.completed_ns
        && row.offset_bytes.is_some()));
    let analysed = lab.run("response read");
    assert_eq!(analysed.code, 0, "{}", analysed.err);
    lab.file("w.log", writes(100));
    let words = words.replace("t.log", "w.log");
    let report = lab.measure(&format!("{words} --destroy {} -o write", device.node));
    assert_eq!(report.of(&[("op", "write")], "replayed_count"), 100.0);
    assert!(!device.is_untouched(&lab.path("image")));
}

#[test]
fn the_first_screen_says_how_faithful_it_was_and_what_was_left_out() {
    let lab = Lab::new();
    lab.file("image", vec![b'A'; 1 << 20]);
    lab.file("t.log", trace(90, 256));
    let ended = lab.run(&format!("replay t.log --on image {PATIENT}"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.lines().count() <= 24, "{}", ended.out);
    for words in ["Faithful: 60 requests", "On image the mean response is", "Left out: 30 writes"] {
        assert!(ended.out.contains(words), "{words}: {}", ended.out);
    }
    // Nobody is so punctual.
    let strict = lab.run("replay t.log --on image --lateness-p50 1ns --lateness-p99 1ns");
    assert!(strict.out.starts_with("Unfaithful: "), "{}", strict.out);
    strict.assert_refused(5, &["unfaithful", "--lateness-p99"]);
}

#[test]
fn reads_of_what_was_never_written_are_no_faithful_replay() {
    let lab = Lab::new();
    std::fs::File::create(lab.path("image")).unwrap().set_len(1 << 20).unwrap();
    lab.file("t.log", trace(90, 256));
    let ended = lab.run(&format!("replay t.log --on image {PATIENT}"));
    assert!(ended.out.starts_with("Unfaithful: "), "{}", ended.out);
    let told = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("60 of 60 reads are of what was never written"), "{told}");
    assert!(!told.contains("the mean response is"), "{told}");
    ended.assert_refused(5, &["never written", "fill the file first"]);
    // What the replay has written itself is there.
    let twice: String = [0, 1, 2, 3]
        .map(|n| {
            let at = n * 10_000;
            format!("{at} /dev/x write {0} 4096\n{at} /dev/x read {0} 4096\n", n * 4096)
        })
        .concat();
    lab.file("w.log", format!("fio version 3 iolog\n0 /dev/x add\n0 /dev/x open\n{twice}"));
    let report = lab.measure(&format!("replay w.log --on image --destroy image {PATIENT}"));
    assert_eq!(of_run(&report, "replay_hole_count"), 0.0);
}

#[test]
fn a_file_is_replayed_on_at_any_pace_and_only_written_where_it_is_allowed() {
    let lab = Lab::new();
    lab.file("image", vec![b'A'; 1 << 20]);
    // With completions, in order to know who waited: a closed trace.
    let closed: String =
        (0..40).map(|n| format!("R Hit {} 8 2000.000000 1000.000000\n", n * 8)).collect();
    lab.file("closed.trace", closed);
    let replay = |words: &str| lab.measure(&format!("replay {words} --on image {PATIENT}"));
    for (words, seconds) in [
        ("closed.trace --arrivals open --scale 2", (0.05, 0.07)),
        ("closed.trace --arrivals closed --scale 2", (0.019, 9.0)),
        ("closed.trace --pace dependent", (0.03, 9.0)),
        ("closed.trace --runtime 30ms", (0.02, 0.04)),
    ] {
        let report = replay(words);
        let rate = report.of(&[("op", "all")], "replayed_per_s");
        let count = report.of(&[("op", "all")], "replayed_count");
        let (least, most) = seconds;
        assert!((least..=most).contains(&(count / rate)), "{words}: {count} at {rate}");
    }
    assert!(std::fs::read(lab.path("image")).unwrap().iter().all(|byte| *byte == b'A'));
    lab.file("w.log", writes(10));
    let report = replay("w.log --destroy image");
    assert_eq!(report.of(&[("op", "write")], "replayed_count"), 10.0);
    assert!(!std::fs::read(lab.path("image")).unwrap().iter().all(|byte| *byte == b'A'));
    assert_eq!(std::fs::metadata(lab.path("image")).unwrap().len(), 1 << 20);
    lab.assert_clean();
}

#[test]
fn what_lies_beyond_the_target_is_refused_or_wrapped() {
    let lab = Lab::new();
    lab.file("image", vec![b'A'; 1 << 20]);
    lab.file("t.log", trace(30, 4096));
    let refused = lab.run("replay t.log --on image");
    refused.assert_refused(2, &["ends at byte", "1048576", "--wrap"]);
    let report = lab.measure(&format!("replay t.log --on image --wrap {PATIENT}"));
    assert!(of_run(&report, "replay_wrapped_count") > 10.0);
    lab.file("odd.log", "fio version 3 iolog\n1 /dev/x add\n1 /dev/x read 100 1000\n");
    let report = lab.measure(&format!("replay odd.log --on image {PATIENT}"));
    assert_eq!(of_run(&report, "replay_rounded_count"), 1.0);
}

#[test]
fn bad_input_is_refused_in_a_sentence_and_leaves_nothing() {
    let lab = Lab::new();
    lab.file("image", vec![b'A'; 1 << 20]);
    lab.file("other", vec![b'A'; 1 << 20]);
    lab.file("t.log", trace(30, 256));
    lab.file("writes.log", "fio version 3 iolog\n1 /dev/x add\n1 /dev/x write 0 4096\n");
    lab.file("empty", "");
    for (words, code, sentence) in [
        ("t.log --on missing", 2, "name a block device or an existing regular file"),
        ("t.log --on d", 2, "neither a block device nor a regular file"),
        ("t.log --on empty", 2, "is empty"),
        ("t.log --on /dev/null", 2, "neither a block device nor a regular file"),
        ("missing.log --on image", 2, "missing.log"),
        ("t.log --on image --device sdz", 2, "--device sdz is not in the trace"),
        ("t.log --on image --destroy other", 3, "are different files"),
        ("writes.log --on image", 2, "1 writes and flushes (--destroy TARGET allows them)"),
        ("t.log --on image --arrivals closed", 2, "has no completion time; use --arrivals open"),
        ("t.log --on image -o image", 2, "image"),
    ] {
        lab.run(&format!("replay {words}")).assert_refused(code, &[sentence]);
    }
    for (words, sentence) in [
        ("t.log", "--on"),
        ("t.log --on image --scale 0", "is not a factor"),
        ("t.log --on image --scale nan", "is not a factor"),
        ("t.log --on image --scale=-1", "--scale"),
        ("t.log --on image --iodepth 0", "--iodepth"),
        ("t.log --on image --runtime 5", "5s"),
        ("t.log --on image --lateness-p50 1", "1s"),
        ("t.log --on image --lateness-p99 x", "--lateness-p99"),
        ("t.log --on image --arrivals later", "dependent"),
        ("t.log --on image --device=", "--device"),
    ] {
        lab.run(&format!("replay {words}")).assert_refused_by_usage(sentence);
    }
    assert_eq!(lab.runs().len(), 0);
    assert!(std::fs::read(lab.path("image")).unwrap().iter().all(|byte| *byte == b'A'));
    lab.assert_clean();
}

#[test]
fn the_guard_stands_before_a_mounted_device_and_a_file_beneath_one() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    lab.file("t.log", trace(30, 256));
    let node = &device.node;
    let refused = lab.run("replay t.log --on image --destroy image");
    refused.assert_refused(3, &["in use by the loop device"]);
    let other = lab.run(&format!("replay t.log --on {node} --destroy /dev/null"));
    assert_eq!(other.code, 3, "{}", other.err);
    if device.format() {
        let unnamed = lab.run(&format!("replay t.log --on {node} --destroy {node} {PATIENT}"));
        assert_eq!(unnamed.code, 0, "{}", unnamed.err);
    }
}

#[test]
fn without_privilege_a_file_is_replayed_on_and_a_device_is_refused() {
    let lab = Lab::for_everyone();
    lab.file("image", vec![b'A'; 1 << 20]);
    lab.allow("image", 0o666);
    lab.file("t.log", trace(30, 256));
    let Some(command) = lab.lbolt_of_nobody(&format!("replay t.log --on image {PATIENT}")) else {
        return;
    };
    let ended = lab.end(command);
    // A file system in memory may take no direct I/O; that is said.
    assert!(ended.code == 0 || ended.sentence().contains("direct I/O"), "{}", ended.err);
    let Some(device) = Loop::new(&lab, "other") else { return };
    let words = format!("replay t.log --on {}", device.node);
    let Some(command) = lab.lbolt_of_nobody(&words) else { return };
    lab.end(command).assert_refused(2, &["cannot be opened"]);
}

//! Traces that do not tell when requests were queued, or of some of them alone: times are device
//! times there, and no figure is of a part of the requests without saying so.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Ended, Lab};
use crate::rollup::rows;
use model::record::requests::{Provenance, RequestWriter};
use model::record::{Commands, Counted, Op, Request, operations};
use std::collections::BTreeMap;

const MS: i64 = 1_000_000;

/// `perf record -e block:block_rq_issue,block:block_rq_complete`: two reads of 2 and 4 ms, and a
/// write of 300 ms.
pub(crate) const ISSUED: &str = "\
    dd  41 [000] 70.000000: block:block_rq_issue: 8,0 R 4096 () 64 + 8 [dd]
swapper  0 [001] 70.002000: block:block_rq_complete: 8,0 R () 64 + 8 [0]
    dd  41 [000] 70.010000: block:block_rq_issue: 8,0 R 4096 () 72 + 8 [dd]
swapper  0 [001] 70.014000: block:block_rq_complete: 8,0 R () 72 + 8 [0]
    dd  41 [000] 70.020000: block:block_rq_issue: 8,0 W 4096 () 800 + 8 [dd]
swapper  0 [001] 70.320000: block:block_rq_complete: 8,0 W () 800 + 8 [0]
";

/// What a class has of quantities, and their verdicts.
fn figures(
    ended: &Ended,
    by: &str,
    class: &str,
    quantities: &[&str],
) -> Vec<(Option<f64>, String)> {
    let report = ended.report();
    let of = |quantity: &&str| {
        let is_it = |f: &&serde_json::Value| {
            let subject = (&f["subject"]["by"], &f["subject"]["class"], &f["quantity"]);
            subject == (&by.into(), &class.into(), &(*quantity).into())
        };
        let found = report.findings().iter().find(is_it);
        let found = found.unwrap_or_else(|| panic!("no {quantity} of {class}"));
        (found["value"].as_f64(), found["verdict"].as_str().unwrap().to_owned())
    };
    quantities.iter().map(of).collect()
}

fn ok(values: &[f64]) -> Vec<(Option<f64>, String)> {
    values.iter().map(|value| (Some(*value), "ok".to_owned())).collect()
}

const DEVICE: [&str; 4] = ["device_known_count", "device_mean_ns", "done_mean_ns", "done_max_ns"];
const RESPONSE: [&str; 4] =
    ["completed_count", "response_known_count", "response_mean_ns", "response_max_ns"];

#[test]
fn a_trace_of_issue_and_completion_has_device_times_everywhere() {
    let lab = Lab::new();
    lab.file("issued", ISSUED);
    let imported = lab.run("import issued -o run");
    assert_eq!(imported.code, 0, "{}", imported.err);
    let said = "times are device times, from the issue to the completion";
    let table = |ended: &Ended| {
        for text in [said, "known of all 3", "3.00 ms", "300 ms"] {
            assert!(ended.out.contains(text), "{text}: {}", ended.out);
        }
        assert!(!ended.out.contains("n.m."), "{}", ended.out);
    };
    table(&imported);
    let first = lab.run("response run");
    assert!(["device p50", "300 ms"].iter().all(|text| first.out.contains(text)), "{}", first.out);
    let json = lab.run("response run --format json");
    let read = figures(&json, "direction", "read", &DEVICE);
    assert_eq!(read, ok(&[2.0, 3e6, 3e6, 4e6]));
    let whole = figures(&json, "whole", "all", &DEVICE);
    assert_eq!(whole, ok(&[3.0, 102e6, 102e6, 300e6]));
    let share = figures(&json, "direction", "write", &["time_percent"])[0].0.unwrap();
    assert!((share - 300.0 / 306.0 * 100.0).abs() < 1e-9, "{share}");

    let rolled = lab.run("rollup run -o run.rollup --started 2026-03-01T00:00:00Z");
    assert_eq!(rolled.code, 0, "{}", rolled.err);
    let rows = rows(&lab, "run.rollup");
    let requests: Vec<_> = rows.iter().filter(|row| row.counted == Counted::Requests).collect();
    let sum_ns: u64 = requests.iter().map(|row| row.sum_ns).sum();
    assert_eq!(sum_ns, 306 * MS as u64);
    assert_eq!(requests.iter().map(|row| row.max_ns).max(), Some(300 * MS as u64));
    let from_issue = rows.iter().find(|row| row.operation == operations::FROM_ISSUE);
    assert_eq!(from_issue.map(|row| row.count), Some(3));
    let history = lab.run("history run.rollup");
    let sentence = "The queueing of 3 requests is not known, so their times are device times";
    assert!(history.out.contains(sentence), "{}", history.out);

    let compared = lab.run("compare run run");
    assert!(compared.out.contains("done_mean_ns"), "{} {}", compared.out, compared.err);
    let page = lab.run("report run -o page.html");
    assert_eq!(page.code, 0, "{}", page.err);
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(page.contains(said) && page.contains("300 ms"), "{page}");
}

/// A write that tells when it was queued, and two that do not and took longer.
#[test]
fn what_is_known_of_some_is_marked_and_the_others_are_in_the_device_times() {
    let lab = Lab::new();
    let queued = "app-9 (9) [000] d..2 50.000000: block_bio_queue: 8,0 WS 160 + 8 [app]\n";
    let issue = |at: &str, sector: u64| {
        format!("app-9 (9) [000] d..2 {at}: block_rq_issue: 8,0 WS 4096 () {sector} + 8 [app]\n")
    };
    let complete = |at: &str, sector: u64| {
        format!("idle-0 (0) [000] d..2 {at}: block_rq_complete: 8,0 WS () {sector} + 8 [0]\n")
    };
    let text = [
        "# tracer: nop\n#\n".to_owned(),
        queued.to_owned(),
        issue("50.001000", 160) + &complete("50.004000", 160),
        issue("51.000000", 640) + &complete("51.006000", 640),
        issue("52.000000", 960) + &complete("52.090000", 960),
    ];
    lab.file("trace", text.concat());
    let screen = lab.run("response trace");
    let told = screen.out.replace('\n', " ");
    assert!(told.contains("Response times are known of 1 of 3 completed requests"), "{told}");
    assert!(told.contains("are known of all 3") && told.contains("90.0 ms"), "{told}");
    let json = lab.run("response trace --format json");
    assert_eq!(figures(&json, "direction", "write", &DEVICE), ok(&[3.0, 33e6, 33e6, 90e6]));
    let response = figures(&json, "direction", "write", &RESPONSE);
    let suspect = |value| (Some(value), "suspect".to_owned());
    assert_eq!(response, [ok(&[3.0, 1.0]), vec![suspect(4e6), suspect(4e6)]].concat());
}

/// Devices of which one tells everything, one no queueing, and one no issue.
#[test]
fn each_device_has_the_times_that_it_tells() {
    let lab = Lab::new();
    let path = lab.directory("run").join("requests.parquet");
    let commands = Commands::default();
    let mut writer = RequestWriter::new(std::fs::File::create(&path).unwrap()).unwrap();
    for n in 0..30_i64 {
        let at = n * 100 * MS;
        let row = Request {
            request_id: n as u64,
            device: 1 + (n % 3) as u32,
            op: if n % 2 == 0 { Op::Read } else { Op::Write },
            length_bytes: 4096,
            queued_ns: (n % 3 != 1).then_some(at),
            issued_ns: (n % 3 != 2).then_some(at + MS),
            completed_ns: Some(at + (3 + n % 3) * MS),
            ..Request::default()
        };
        writer.push(&row, &commands).unwrap();
    }
    writer.finish(&commands, &Provenance::default(), &BTreeMap::new()).unwrap();
    let json = lab.run("response run --format json");
    let none = (None, "not_measured".to_owned());
    let no_times = |known: &[f64]| [ok(known), vec![none.clone(); 4 - known.len()]].concat();
    let of = |device: &str, quantities: &[&str]| figures(&json, "device", device, quantities);
    assert_eq!(of("1", &RESPONSE), ok(&[10.0, 10.0, 3e6, 3e6]));
    assert_eq!(of("1", &DEVICE), ok(&[10.0, 2e6, 2e6, 2e6]));
    assert_eq!(of("2", &RESPONSE), no_times(&[10.0, 0.0]));
    assert_eq!(of("2", &DEVICE), ok(&[10.0, 3e6, 3e6, 3e6]));
    assert_eq!(of("3", &RESPONSE), ok(&[10.0, 10.0, 5e6, 5e6]));
    assert_eq!(of("3", &DEVICE), no_times(&[0.0]));
    // Of all devices together neither is known of all.
    let whole = figures(&json, "whole", "all", &RESPONSE);
    assert_eq!((whole[1].0, whole[2].0, &*whole[2].1), (Some(20.0), Some(4e6), "suspect"));
    assert_eq!(figures(&json, "whole", "all", &DEVICE), ok(&[20.0, 2.5e6, 2.5e6, 3e6]));
    let all = lab.run("response run --all");
    let said = "Response times are known of 20 of 30 completed requests";
    assert!(all.out.contains(said), "{}", all.out);
}

//! The rooms joined: `--trace` captures the requests of the passes that count into the same run, and says where an
//! operation's time went.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use common::{Ended, Lab, Report, can_make, is_root};
use model::record::requests::RequestFile;
use model::record::{Flags, Op, Request, Sample};
use serde_json::Value;

const PARTS: [&str; 6] = ["program", "kernel", "admission", "scheduler", "device", "remainder"];

/// Direct and cached random reads of one file, one with requests side by side, and writes with fdatasync.
const PROGRAMS: &str = r#"
[[program]]
name = "direct"
rw = "randread"
direct = true
[[program]]
name = "deep"
rw = "randread"
direct = true
iodepth = 8
ioengine = "io_uring"
[[program]]
name = "cached"
rw = "randread"
[[program]]
name = "synced"
rw = "randwrite"
fsync = 16
size = "1m"
"#;

/// Runs it on a fresh ext4; none, with a sentence, where that cannot be made or nothing can be captured.
fn on_fresh(lab: &Lab, command: &str, words: &str) -> Option<Ended> {
    if !is_root() || !can_make("ext4") {
        return None;
    }
    lab.directory("images");
    let target = "fresh:ext4,size=64m,at=images";
    let ended = lab.run(&format!("{command} {target} --trace {words} --format json"));
    if ended.code == 2 && ended.err.contains("this kernel has no")
        || ended.err.contains("failed to load BPF")
    {
        println!("skipped: {}", ended.err);
        return None;
    }
    assert_eq!(ended.code, 0, "{}", ended.err);
    lab.assert_clean();
    Some(ended)
}

/// The value of a finding whose subject has these values.
fn value(report: &Report, quantity: &str, pairs: &[(&str, &str)]) -> f64 {
    let has = |finding: &&Value| {
        pairs.iter().all(|(key, value)| finding["subject"][*key] == *value)
            && finding["quantity"] == quantity
    };
    let finding = report.findings().iter().find(has);
    let finding = finding.unwrap_or_else(|| panic!("no {quantity} of {pairs:?}"));
    finding["value"].as_f64().unwrap_or_else(|| panic!("{finding}"))
}

/// An operation's parts; they and what they leave are its time.
fn parts(report: &Report, pairs: &[(&str, &str)]) -> [f64; 6] {
    let of = |part: &str| value(report, &format!("operation_{part}_ns"), pairs);
    let parts = PARTS.map(of);
    let (sum, time) = (parts.iter().sum::<f64>(), of("time"));
    assert!((sum - time).abs() < 1e-6 * time, "{pairs:?}: {sum} {time}");
    assert!(parts[..5].iter().all(|part| *part >= 0.0), "{pairs:?}: {parts:?}");
    parts
}

fn rows(lab: &Lab) -> Vec<Request> {
    let file = RequestFile::open(&lab.runs()[0].join("requests.parquet")).unwrap();
    assert_eq!(file.provenance().counts.own, 0, "what jobs ask for is not lbolt's own");
    let mut reader = file.read_all().unwrap();
    let mut rows = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        rows.extend(batch.rows());
    }
    rows
}

/// Rows of the jobs within a sample's pass.
fn of_pass(rows: &[Request], sample: &Sample) -> u64 {
    let (from, to) = (sample.started_ns, sample.started_ns + sample.wall_ns as i64);
    let is_in = |row: &&Request| row.arrival_ns().is_some_and(|ns| (from..=to).contains(&ns));
    rows.iter().filter(is_in).filter(|row| row.flags.contains(Flags::JOB)).count() as u64
}

/// Within the few that a kernel runs no program for (docs/principles.md, 10).
fn is_about(found: f64, expected: f64) -> bool {
    (0.95 * expected..=1.02 * expected).contains(&found)
}

#[test]
fn root_throughput_says_where_an_operations_time_went() {
    let lab = Lab::new();
    lab.file("programs.toml", PROGRAMS);
    let words = "--programs programs.toml --size 4m --runs 2 --warmup 1 --no-cold --no-ceiling";
    let Some(ended) = on_fresh(&lab, "throughput", words) else { return };
    let report = ended.report();
    let of = |program: &str| parts(&report, &[("program", program)]);
    let ratio =
        |program: &str, name: &str| report.value(program, &format!("operation_{name}_ratio"));

    for program in ["direct", "deep"] {
        let [_, kernel, _, _, device, _] = of(program);
        assert!(device > 0.0 && kernel > 0.0, "{program}");
        assert!(is_about(ratio(program, "requests"), 1.0), "{}", ratio(program, "requests"));
    }
    // At depth 8 an operation's time is its latency: about eight times the wall time a request.
    let deep = report.value("deep", "operation_time_ns");
    let rate = report.value("deep", "rate_operations_per_s");
    let depth = deep * rate / 1e9;
    assert!((1.0..=8.5).contains(&depth), "{depth}");

    // Where memory is short a page may have gone.
    assert!(of("cached")[4] < 0.05 * of("direct")[4], "{:?}", of("cached"));
    assert!(ratio("cached", "requests") < 0.01, "{}", ratio("cached", "requests"));

    assert!(of("synced")[4] > 0.0 && ratio("synced", "requests") > 0.0);

    // The run holds all: each pass's requests lie within its sample, on one clock.
    let rows = rows(&lab);
    for sample in lab.samples().iter().filter(|s| s.program == "direct" && s.role == "kept") {
        let (found, expected) = (of_pass(&rows, sample), sample.operations);
        assert!(is_about(found as f64, expected as f64), "{found} of {expected}");
    }
    assert!(rows.iter().any(|row| row.op == Op::Flush && row.flags.contains(Flags::JOB)));
    for quantity in ["tracer_ns_per_event", "consumer_ns_per_request", "kernel_answered_count"] {
        let found = report.findings().iter().find(|f| f["quantity"] == quantity);
        assert!(found.is_some_and(|f| f["value"].as_f64().is_some()), "{quantity}: {found:?}");
    }

    // Drawn again from the records, in words; and a trace like any other.
    let run = lab.runs()[0].display().to_string();
    let shown = lab.run(&format!("runs show {run}"));
    assert!(shown.out.contains("Where an operation's time went"), "{}\n{}", shown.out, shown.err);
    assert_eq!(lab.run(&format!("response {run}")).code, 0);
}

#[test]
fn root_overhead_says_so_in_passes_of_their_own() {
    let lab = Lab::new();
    let words = "--size 1m --runs 2 --warmup 1 --runtime 20ms --ioengine psync --rw randread \
                 --bs 4k,64k --iodepth 1 --overlap 0 --account none";
    let Some(ended) = on_fresh(&lab, "overhead", words) else { return };
    let report = ended.report();
    for size in ["4096", "65536"] {
        let cell = |direct| [("engine", "psync"), ("direct", direct), ("block_bytes", size)];
        let [.., device, _] = parts(&report, &cell("1"));
        assert!(device > 0.0, "{size}");
        let [.., of_cached, _] = parts(&report, &cell("0"));
        assert!(of_cached < 0.05 * device, "{size}: {of_cached} {device}");
        assert!(value(&report, "operation_requests_ratio", &cell("1")) > 0.9);
    }
    let samples = lab.samples();
    let count = |account: &str| samples.iter().filter(|s| s.account == account).count();
    assert_eq!(count("requests"), 2 * 2 * 2);
    let rows = rows(&lab);
    let is_plain = |s: &&Sample| s.account == "difference" && s.role == "kept";
    for sample in samples.iter().filter(is_plain) {
        assert_eq!(of_pass(&rows, sample), 0, "nothing is captured in plain passes");
    }
    let direct = samples.iter().filter(|s| s.account == "requests" && s.direct == 1);
    for sample in direct.filter(|s| s.block_bytes == 4096) {
        let (found, expected) = (of_pass(&rows, sample), sample.operations);
        assert!(is_about(found as f64, expected as f64), "{found} of {expected}");
    }
}

/// Without the privilege the rest goes on, and a sentence says so.
#[test]
fn without_privilege_the_parts_of_requests_are_not_measured() {
    let lab = Lab::for_everyone();
    lab.allow("d", 0o777);
    let words =
        "throughput d --trace --rw read --size 4m --runs 1 --warmup 0 --no-ceiling --format json";
    let Some(command) = lab.lbolt_of_nobody(words) else { return };
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("the rest is measured"), "{}", ended.err);
    let report = ended.report();
    assert!(report.value("read_4k", "rate_bytes_per_s") > 0.0);
    assert!(report.value("read_4k", "operation_time_ns") > 0.0);
    let device = report.finding("read_4k", "operation_device_ns").unwrap();
    assert_eq!((&device["verdict"], &device["value"]), (&"not_measured".into(), &Value::Null));
    assert!(device["reason"].as_str().unwrap().contains("no requests"), "{device}");
}

#[test]
fn a_target_without_a_block_device_has_no_requests() {
    let lab = Lab::new();
    let shared = std::path::Path::new("/dev/shm");
    let is_free = host::device::Tree::system().device_of_path(shared).is_ok_and(|d| d.is_none());
    let Some(folder) = is_free.then(|| tempfile::tempdir_in(shared).ok()).flatten() else {
        println!("skipped: needs a memory file system at /dev/shm");
        return;
    };
    let words = "--trace --rw read --size 4m --runs 1 --warmup 0 --no-ceiling";
    let report = lab.measure(&format!("throughput {} {words}", folder.path().display()));
    let device = report.finding("read_4k", "operation_device_ns").unwrap();
    assert!(device["reason"].as_str().unwrap().contains("no block device"), "{device}");
    assert!(!lab.runs()[0].join("requests.parquet").exists());
}

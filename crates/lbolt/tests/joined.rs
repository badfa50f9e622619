//! The experiments joined: `--trace` captures the requests of the passes that count into the same
//! run, and says where an operation's time went.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Ended, Lab, Report, can_make, is_root, key, reason};
use model::record::requests::RequestFile;
use model::record::{Flags, Op, Request, Role, Sample};
use model::workload::Account;
use serde_json::Value;

const PARTS: [&str; 7] =
    ["program", "kernel", "admission", "scheduler", "device", "journal", "remainder"];

/// Direct and cached random reads of one file, one with requests side by side, and writes with
/// fdatasync.
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

/// Runs it on a fresh file system; none, with a sentence, where that cannot be made or nothing can
/// be captured.
fn on_fresh(lab: &Lab, file_system: &str, command: &str, words: &str) -> Option<Ended> {
    if !is_root() || !can_make(file_system) {
        return None;
    }
    lab.directory("images");
    let size = if file_system == "ext4" { "64m" } else { "512m" };
    let target = format!("fresh:{file_system},size={size},at=images");
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
        pairs.iter().all(|(name, value)| key(finding, name) == *value)
            && finding["quantity"] == quantity
    };
    let finding = report.findings().iter().find(has);
    let finding = finding.unwrap_or_else(|| panic!("no {quantity} of {pairs:?}"));
    finding["value"].as_f64().unwrap_or_else(|| panic!("{finding}"))
}

/// An operation's parts; they and what they leave are its time.
fn parts(report: &Report, pairs: &[(&str, &str)]) -> [f64; 7] {
    let of = |part: &str| value(report, &format!("operation_{part}_ns"), pairs);
    let parts = PARTS.map(of);
    let (sum, time) = (parts.iter().sum::<f64>(), of("time"));
    assert!((sum - time).abs() < 1e-6 * time, "{pairs:?}: {sum} {time}");
    assert!(parts[..6].iter().all(|part| *part >= 0.0), "{pairs:?}: {parts:?}");
    parts
}

fn rows(lab: &Lab) -> Vec<Request> {
    rows_with_names(lab).into_iter().map(|(row, _)| row).collect()
}

fn rows_with_names(lab: &Lab) -> Vec<(Request, String)> {
    let file = RequestFile::open(&lab.runs()[0].join("requests.parquet")).unwrap();
    assert_eq!(file.provenance().counts.own, 0, "what jobs ask for is not lbolt's own");
    let mut reader = file.read_all().unwrap();
    let mut rows = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        let name = |row: &Request| row.command.map_or("", |id| reader.commands.name(id)).to_owned();
        rows.extend(batch.rows().map(|row| (row, name(&row))));
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
    let Some(ended) = on_fresh(&lab, "ext4", "throughput", words) else { return };
    let report = ended.report();
    let of = |program: &str| parts(&report, &[("program", program)]);
    let ratio =
        |program: &str, name: &str| report.value(program, &format!("operation_{name}_ratio"));

    for program in ["direct", "deep"] {
        // Which mode had the CPU time of a few milliseconds is for the kernel's ticks to say: where
        // none fell into the kernel, all of it is the program's.
        let parts = of(program);
        let [in_program, kernel, _, _, device, ..] = parts;
        assert!(device > 0.0 && in_program + kernel > 0.0, "{program}: {parts:?}");
        assert!(is_about(ratio(program, "requests"), 1.0), "{}", ratio(program, "requests"));
    }
    // At depth 8 an operation's time is its latency: about eight times the wall time a request.
    let deep = report.value("deep", "operation_time_ns");
    let rate = report.value("deep", "rate_operations_per_s");
    // Both are means over the passes: where these differ, the product of the means is more than the
    // mean product.
    let samples = lab.samples();
    let rates: Vec<f64> = samples
        .iter()
        .filter(|s| s.program == "deep" && s.role == Role::Kept)
        .map(|s| s.operations as f64 / s.wall_ns as f64)
        .collect();
    let mean = |of: fn(&f64) -> f64| rates.iter().map(of).sum::<f64>() / rates.len() as f64;
    let depth = deep * rate / 1e9 / (mean(|r| *r) * mean(|r| 1.0 / r));
    assert!((1.0..=8.5).contains(&depth), "{depth}");

    // Where memory is short a page may have gone.
    assert!(of("cached")[4] < 0.05 * of("direct")[4], "{:?}", of("cached"));
    assert!(ratio("cached", "requests") < 0.01, "{}", ratio("cached", "requests"));

    assert!(of("synced")[4] > 0.0 && ratio("synced", "requests") > 0.0);
    assert!(of("cached")[5] == 0.0 && of("direct")[5] == 0.0, "nobody waits for the journal");

    // The run holds all: each pass's requests lie within its sample, on one clock.
    let rows = rows(&lab);
    for sample in lab.samples().iter().filter(|s| s.program == "direct" && s.role == Role::Kept) {
        let (found, expected) = (of_pass(&rows, sample), sample.operations);
        assert!(is_about(found as f64, expected as f64), "{found} of {expected}");
    }
    assert!(rows.iter().any(|row| row.op == Op::Flush && row.flags.contains(Flags::JOB)));
    for quantity in ["tracer_ns_per_event", "consumer_ns_per_request", "kernel_completed_count"] {
        let found = report.findings().iter().find(|f| f["quantity"] == quantity);
        assert!(found.is_some_and(|f| f["value"].as_f64().is_some()), "{quantity}: {found:?}");
    }

    // Drawn again from the records, in words; and a trace like any other.
    let run = lab.runs()[0].display().to_string();
    let shown = lab.run(&format!("runs show {run}"));
    assert!(shown.out.contains("Where an operation's time went"), "{}\n{}", shown.out, shown.err);
    assert_eq!(lab.run(&format!("response {run}")).code, 0);
}

/// How long any of the intervals lasts that `without` leaves, by their ends and nothing else.
fn union_ns(intervals: &[(i64, i64)], without: &[(i64, i64)]) -> i64 {
    let mut ends: Vec<i64> = intervals.iter().chain(without).flat_map(|(a, b)| [*a, *b]).collect();
    ends.sort_unstable();
    ends.dedup();
    let covers = |all: &[(i64, i64)], a, b| all.iter().any(|(from, to)| *from <= a && b <= *to);
    let pieces = ends.windows(2).map(|piece| (piece[0], piece[1]));
    let left = pieces.filter(|(a, b)| covers(intervals, *a, *b) && !covers(without, *a, *b));
    left.map(|(a, b)| b - a).sum()
}

/// One job, one operation at a time: what it waited for is the time with its own requests and the
/// time with the journal's alone, as the run's own rows tell it.
#[test]
fn root_an_fsync_is_booked_as_waiting_for_the_journal() {
    for file_system in ["ext4", "xfs"] {
        let lab = Lab::new();
        let words = "--rw write --bs 8k --fdatasync 1 --size 400k --runs 1 --warmup 1 --no-ceiling";
        let Some(ended) = on_fresh(&lab, file_system, "throughput", words) else { continue };
        let report = ended.report();
        let cell = [("program", "write_8k_fdatasync1")];
        let [_, _, admission, scheduler, device, journal, remainder] = parts(&report, &cell);
        let of = |part: &str| value(&report, &format!("operation_journal_{part}_ns"), &cell);
        let of_journal = ["queue", "data", "log", "preflush", "commit", "postflush"].map(of);
        let sum = of_journal.iter().sum::<f64>();
        assert!((sum - journal).abs() < 1e-6 * journal, "{file_system}: {of_journal:?} {journal}");
        assert!(of("preflush") > 0.0 && of("commit") > 0.0, "{file_system}: {of_journal:?}");

        let samples = lab.samples();
        let is_kept = |s: &&Sample| s.program == cell[0].1 && s.role == Role::Kept;
        let sample = samples.iter().find(is_kept).unwrap();
        let pass = (sample.started_ns, sample.started_ns + sample.wall_ns as i64);
        let (mut own, mut of_log) = (Vec::new(), Vec::new());
        for (row, name) in rows_with_names(&lab) {
            let (Some(from), Some(to)) = (row.arrival_ns(), row.completed_ns) else { continue };
            if !(pass.0..=pass.1).contains(&from) || row.parent_id.is_some() {
                continue;
            }
            let is_job = row.flags.contains(Flags::JOB);
            let is_metadata = row.op == Op::Write && row.flags.contains(Flags::META);
            let interval = (from, to.min(pass.1));
            if is_job && !is_metadata {
                own.push(interval);
            } else if is_job || row.flags.contains(Flags::SYNC) && name.contains('/') {
                of_log.push(interval);
            }
        }
        let operations = sample.operations as f64;
        let is_same =
            |found: f64, ns: i64| (found * operations - ns as f64).abs() < 1e-6 * ns as f64;
        assert!(is_same(admission + scheduler + device, union_ns(&own, &[])), "{file_system}");
        let of_log_ns = union_ns(&of_log, &own).min(sample.sync_ns as i64);
        assert!(is_same(journal, of_log_ns), "{file_system}: {journal}");
        // T × operations is the pass: one job waits or works.
        let time = value(&report, "operation_time_ns", &cell) * operations;
        assert!(time <= sample.wall_ns as f64, "{time} of {}", sample.wall_ns);
        println!("{file_system}: journal {journal:.0} ns, remainder {remainder:.0} ns");
    }
}

#[test]
fn root_overhead_says_so_in_passes_of_their_own() {
    let lab = Lab::new();
    let words = "--size 1m --runs 2 --warmup 1 --runtime 20ms --ioengine psync --rw randread \
                 --bs 4k,64k --iodepth 1 --overlap 0 --account none";
    let Some(ended) = on_fresh(&lab, "ext4", "overhead", words) else { return };
    let report = ended.report();
    for size in ["4096", "65536"] {
        let cell = |direct| [("engine", "psync"), ("direct", direct), ("block_bytes", size)];
        let [_, _, _, _, device, ..] = parts(&report, &cell("1"));
        assert!(device > 0.0, "{size}");
        let [_, _, _, _, of_cached, ..] = parts(&report, &cell("0"));
        assert!(of_cached < 0.05 * device, "{size}: {of_cached} {device}");
        assert!(value(&report, "operation_requests_ratio", &cell("1")) > 0.9);
    }
    let samples = lab.samples();
    let count =
        |account: Account| samples.iter().filter(|s| s.overhead().account == account).count();
    assert_eq!(count(Account::Requests), 2 * 2 * 2);
    let rows = rows(&lab);
    let is_plain =
        |s: &&Sample| s.overhead().account == Account::Difference && s.role == Role::Kept;
    for sample in samples.iter().filter(is_plain) {
        assert_eq!(of_pass(&rows, sample), 0, "nothing is captured in plain passes");
    }
    let direct =
        samples.iter().filter(|s| s.overhead().account == Account::Requests && s.direct == 1);
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
    assert!(ended.err.contains("everything else is measured"), "{}", ended.err);
    let report = ended.report();
    assert!(report.value("read_4k", "rate_bytes_per_s") > 0.0);
    assert!(report.value("read_4k", "operation_time_ns") > 0.0);
    let device = report.finding("read_4k", "operation_device_ns").unwrap();
    assert_eq!((&device["verdict"], &device["value"]), (&"not_measured".into(), &Value::Null));
    assert!(reason(device).contains("no requests"), "{device}");
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
    assert!(reason(device).contains("no block device"), "{device}");
    assert!(!lab.runs()[0].join("requests.parquet").exists());
}

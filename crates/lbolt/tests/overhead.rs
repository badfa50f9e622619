//! The overhead experiment on a directory: what is measured agrees with itself and with the
//! thread's own clock, is kept and printed again; what is refused is said; and nothing stays
//! behind.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, Report, is_root, key, reason, tool};
use model::engine::EngineKind;
use model::record::{Experiment, Role, Verdict, quantity};
use model::workload::{Access, Account};
use serde_json::Value;

/// Short passes of few engines.
const SHORT: &str = "--size 4m --runs 2 --warmup 0 --runtime 4ms";

fn subject(finding: &Value, name: &str) -> String {
    key(finding, name)
}

/// The finding of a quantity with these values in its subject.
fn find<'a>(report: &'a Report, name: &str, pairs: &[(&str, &str)]) -> Option<&'a Value> {
    let is_it = |finding: &&Value| {
        finding["quantity"] == name
            && pairs.iter().all(|(key, value)| subject(finding, key) == *value)
    };
    report.findings().iter().find(is_it)
}

fn value(report: &Report, name: &str, pairs: &[(&str, &str)]) -> f64 {
    let finding = find(report, name, pairs).unwrap_or_else(|| panic!("no {name} of {pairs:?}"));
    finding["value"].as_f64().unwrap_or_else(|| panic!("{finding}"))
}

#[test]
fn findings_are_of_the_table_and_follow_from_the_samples() {
    let lab = Lab::new();
    let report = lab.measure(&format!(
        "overhead d {SHORT} --ioengine psync,libaio --rw randread,randwrite --bs 1k,4k,16k,64k \
         --direct 0 --iodepth 1 --account none --test-interval 5us,10us"
    ));
    assert_eq!(report.0["run"]["state"], "finished");
    for finding in report.findings() {
        let name = finding["quantity"].as_str().unwrap();
        let known = quantity(name).unwrap_or_else(|| panic!("{name} is not in the table"));
        assert_eq!(finding["unit"], known.unit, "{name}");
        let keys: Vec<_> = finding["subject"].as_object().unwrap().keys().collect();
        assert!(known.subjects.iter().any(|subject| keys == *subject), "{name}");
    }
    let samples = lab.samples();
    for sample in samples.iter().filter(|s| s.role == Role::Kept) {
        assert_eq!(sample.experiment, Experiment::Overhead);
        assert_eq!(sample.operations * sample.block_bytes, sample.bytes, "{sample:?}");
        assert_eq!(sample.latency().unwrap().count(), sample.operations);
        assert!(
            sample.overhead().cpu_timed_ns.unwrap() <= sample.wall_ns + 1_000_000,
            "{sample:?}"
        );
        assert_eq!(
            sample.overhead().loop_count.is_some(),
            sample.overhead().test_interval_ns.is_some()
        );
    }
    // Rates, times and counts are of one piece.
    let cell = [
        ("engine", "psync"),
        ("access", "randread"),
        ("block_bytes", "4096"),
        ("arithmetic", "none"),
    ];
    let rate = value(&report, "routine_bytes_per_s", &cell);
    let operations = value(&report, "routine_operations_per_s", &cell);
    assert!((rate / operations - 4096.0).abs() < 0.5);
    let passes = samples.iter().filter(|s| {
        s.role == Role::Kept
            && s.engine == EngineKind::Psync
            && s.access == Access::RandRead
            && s.block_bytes == 4096
            && s.overhead().test_interval_ns.is_none()
    });
    // Passes that failed a check do not count where at least half are sound.
    let passes: Vec<_> = passes.collect();
    let sound: Vec<_> = passes.iter().copied().filter(|s| s.verdict == Verdict::Ok).collect();
    let counted = if 2 * sound.len() < passes.len() { passes } else { sound };
    let rates: Vec<f64> = counted.iter().map(|s| s.bytes as f64 / s.wall_ns as f64 * 1e9).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    assert!((rate / mean - 1.0).abs() < 1e-9, "{rate} {rates:?}");
    // The null engine stands beside them, and its cost is taken off.
    let harness =
        value(&report, "operation_cpu_thread_ns", &[("engine", "null"), ("arithmetic", "none")]);
    assert!(harness > 1.0 && harness < 5_000.0, "{harness}");
    // The compute-and-test loop takes about as long as it was asked to, on a machine that others
    // use.
    let loop_ns = value(&report, "loop_ns", &[("engine", "libaio"), ("test_interval_ns", "10000")]);
    assert!((5_000.0..60_000.0).contains(&loop_ns), "{loop_ns}");
    lab.assert_clean();
}

#[test]
fn four_sizes_give_a_line_or_the_reason_why_not() {
    let lab = Lab::new();
    let report = lab.measure(
        "overhead d --size 8m --runs 5 --runtime 10ms --ioengine psync --rw randread --bs \
         1k,4k,16k,64k \
         --direct 0 --iodepth 1 --overlap 0 --account none",
    );
    let own = [("engine", "psync"), ("account", "thread")];
    let finding = find(&report, "t_call_ns", &own).unwrap();
    match finding["value"].as_f64() {
        Some(t_call_ns) => {
            let t_trans = value(&report, "t_trans_ns_per_kib", &own);
            assert!(t_call_ns > 50.0 && t_trans > 5.0, "{t_call_ns} {t_trans}");
            // The line goes through what was measured: 16 KiB cost about what it says.
            let size = [("engine", "psync"), ("block_bytes", "16384")];
            let measured = value(&report, "operation_cpu_thread_ns", &size);
            let line = t_call_ns + 16.0 * t_trans;
            assert!((line / measured - 1.0).abs() < 0.5, "{line} {measured}");
        }
        None => {
            assert!(reason(finding).contains("does not apply"), "{finding}")
        }
    }
    lab.assert_clean();
}

#[test]
fn what_the_machine_refuses_is_not_measured_and_says_why() {
    let lab = Lab::new();
    let report = lab.measure(&format!(
        "overhead d {SHORT} --ioengine psync,io_uring_iopoll,copy_file_range --bs 4k --iodepth 1 \
         --overlap 0 --account none"
    ));
    let polled = [("engine", "io_uring_iopoll"), ("access", "randread")];
    if let Some(finding) = find(&report, "routine_bytes_per_s", &polled)
        && finding["verdict"] == "not_measured"
    {
        assert!(finding["value"].is_null());
        assert!(reason(finding).contains("poll"), "{finding}");
    }
    let copies = [("engine", "copy_file_range"), ("access", "randrw"), ("direct", "0")];
    let copied = value(&report, "routine_bytes_per_s", &copies);
    assert!(copied > 0.0);
    assert!(
        find(&report, "routine_bytes_per_s", &[("engine", "psync"), ("direct", "1")]).is_some()
    );
    lab.assert_clean();
}

#[test]
fn root_total_cpu_shows_who_works_for_the_job() {
    // What a hypervisor takes from a pass is in the trace's intervals; and the kernel's threads
    // that work for somebody else meanwhile are taken for the job's.
    if !is_root() {
        return;
    }
    let mut undisturbed = (0..9).filter_map(|_| total_cpu_is_the_jobs()).peekable();
    match undisturbed.peek() {
        None => println!("skipped: the hypervisor took the CPUs away in each of 9 runs"),
        Some(_) => assert!(undisturbed.any(|is_it| is_it), "the total is not what the job took"),
    }
}

/// Whether total CPU is what the job took, where no CPU was taken away.
fn total_cpu_is_the_jobs() -> Option<bool> {
    let lab = Lab::new();
    let report = lab.measure(
        "overhead d --size 4m --runs 3 --warmup 0 --runtime 40ms --ioengine psync,threads --rw \
         randread \
         --bs 4k --iodepth 1 --overlap 0 --account idle-load,trace",
    );
    let samples = lab.samples();
    if samples.iter().any(|sample| sample.stolen_ns > sample.wall_ns / 50) {
        return None;
    }
    // Cached calls are the thread's own; a pool's direct ones take five times what the thread does.
    let of = |engine: &str, account: &str| {
        let name = format!("operation_cpu_{account}_ns");
        let direct = if engine == "psync" { "0" } else { "1" };
        let finding = find(&report, &name, &[("engine", engine), ("direct", direct)])?;
        if finding["verdict"] == "not_measured" {
            println!("skipped: {}", reason(finding));
        }
        finding["value"].as_f64()
    };
    // Alone, the thread's clock is the total; a shared machine allows no more than a factor.
    let own = of("psync", "thread").unwrap();
    let traced = of("psync", "trace");
    let is_own = traced.is_none_or(|traced| (0.5..3.0).contains(&(traced / own)));
    // A pool's threads work for the job, and only the total sees them.
    let of_pool = of("threads", "thread").zip(of("threads", "trace"));
    let is_more = of_pool.is_none_or(|(own, traced)| traced > 1.5 * own);
    println!("psync: {own} {traced:?}; threads: {of_pool:?}");
    for sample in samples.iter().filter(|s| s.overhead().account == Account::IdleLoad) {
        assert_eq!(sample.cpu_other_ns, None, "idle-priority loops are in the difference");
        assert!(
            sample.verdict == Verdict::NotMeasured || sample.overhead().idle_load_loops.len() > 1,
            "{sample:?}"
        );
    }
    lab.assert_clean();
    Some(is_own && is_more)
}

#[test]
fn idle_load_needs_every_cpu() {
    if tool("taskset", &["-c", "0", "true"]).is_none() {
        println!("skipped: needs taskset");
        return;
    }
    let lab = Lab::new();
    let words = format!(
        "overhead d {SHORT} --ioengine psync --rw randread --bs 4k --direct 0 --iodepth 1 \
         --overlap 0 \
         --account idle-load --format json"
    );
    let mut command = lab.command("taskset");
    command.args(["-c", "0", env!("CARGO_BIN_EXE_lbolt")]).args(words.split_whitespace());
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let report = ended.report();
    let idle_load = find(&report, "operation_cpu_idle_load_ns", &[("engine", "psync")]).unwrap();
    assert_eq!(idle_load["verdict"], "not_measured");
    let reason = reason(idle_load);
    assert!(reason.contains("idle-priority loops need") && reason.contains("remain"), "{reason}");
    assert!(value(&report, "routine_bytes_per_s", &[("engine", "psync")]) > 0.0);
}

#[test]
fn a_dry_run_prints_the_plan_with_its_time_and_makes_nothing() {
    let lab = Lab::new();
    let ended = lab.run("overhead d --dry-run");
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let plan: Value = serde_json::from_str(&ended.out).unwrap();
    let seconds = plan["estimate_s"].as_f64().unwrap();
    assert!((60.0..240.0).contains(&seconds), "about three minutes: {seconds}");
    assert!(plan["left_out"].as_str().unwrap().contains("sequential"));
    let full: Value = serde_json::from_str(&lab.run("overhead d --full --dry-run").out).unwrap();
    assert!(full["cells_count"].as_u64() > plan["cells_count"].as_u64());
    assert!(full["left_out"].is_null());
    assert!(lab.runs().is_empty());
    lab.assert_clean();
}

#[test]
fn a_run_is_shown_as_it_was_printed() {
    let lab = Lab::new();
    for format in ["table", "json", "csv", "markdown"] {
        let words = format!(
            "overhead d {SHORT} --ioengine psync --rw randread --bs 1k,4k,16k --iodepth 1 \
             --account none --all \
             --format {format} -o runs/{format}"
        );
        let printed = lab.run(&words);
        assert_eq!(printed.code, 0, "{}", printed.err);
        assert!(printed.out.contains("psync"), "{}", printed.out);
        let shown = lab.run(&format!("runs show {format} --format {format}"));
        assert_eq!(shown.out, printed.out);
    }
    let list = lab.run("runs list");
    assert!(list.out.contains("overhead d"), "{}", list.out);
    lab.assert_clean();
}

#[test]
fn revolutions_are_told_of_a_disk_that_turns() {
    let lab = Lab::new();
    let report = lab.measure(
        "overhead d --size 8m --runs 3 --warmup 0 --runtime 10ms --ioengine psync --rw randread \
         --bs 4k,16k,64k,256k --direct 1 --iodepth 1 --overlap 0 --account none --rpm 7200",
    );
    let wall = [("engine", "psync"), ("account", "wall")];
    let Some(t0) = find(&report, "latency_zero_ns", &wall) else {
        let line = find(&report, "rate_asymptotic_bytes_per_s", &wall).unwrap();
        assert_eq!(line["verdict"], "not_measured", "{line}");
        return;
    };
    let missed = value(&report, "revolutions_missed", &wall);
    let revolution_ns = 60e9 / 7200.0;
    assert!((missed * revolution_ns / t0["value"].as_f64().unwrap() - 1.0).abs() < 1e-9);
}

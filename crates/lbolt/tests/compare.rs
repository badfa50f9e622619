//! `lbolt compare` on runs with known results, on fio's JSON, on bad input; and `lbolt throughput`
//! with --abab and --against.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Ended, Lab};
use crate::machine::assert_described;
use crate::several::make_run;
use model::doubt::Code;
use model::record::{Call, Context, Doubt, Finding, Judgement, Role, Sample, Subject, Verdict};
use model::run::{RUN_SCHEMA, RunDirectory, RunInfo};
use serde_json::{Value, json};
use std::path::PathBuf;

/// fio's result of two jobs, shortened.
const FIO: &str = include_str!("fixtures/fio.json");

fn info(name: &str, kernel: &str) -> RunInfo {
    RunInfo {
        schema: RUN_SCHEMA.into(),
        name: name.into(),
        experiment: "throughput".into(),
        version: "0.1.0".into(),
        command_line: vec!["lbolt".into()],
        started: format!("2026-01-01T00:00:00Z {name}"),
        state: "finished".into(),
        seed: 1,
        rows: vec![],
        machine: json!({
            "cpu_model": "x", "cpus_allowed": 2, "memory_bytes": 1u64 << 34, "kernel": kernel,
        }),
        plan: json!({}),
        calibration: json!({"harness_ns_per_operation": 20.0}),
    }
}

fn pass(program: &str, number: u64, wall_ns: f64) -> Sample {
    Sample {
        subject: Subject::cell("d", program, 1),
        target: "d".into(),
        program: program.into(),
        block_bytes: 4096,
        file_bytes: 1 << 20,
        jobs: 1,
        pass: number,
        role: Role::Kept,
        bytes: 1 << 20,
        operations: 256,
        wall_ns: wall_ns as u64,
        cpu_user_ns: wall_ns as u64 / 2,
        verdict: Verdict::Ok,
        ..Sample::default()
    }
}

/// A run of passes that spread by about a per cent, times a factor.
fn keep(lab: &Lab, info: &RunInfo, factor: f64, passes: u64) {
    keep_with(lab, info, factor, passes, |_| ());
}

/// The same, each sample edited.
fn keep_with(lab: &Lab, info: &RunInfo, factor: f64, passes: u64, edit: impl Fn(&mut Sample)) {
    let run = RunDirectory::create(&lab.path("runs").join(&info.name), info).unwrap();
    run.write_info(info).unwrap();
    let wobble = |n: u64| 1.0 + 0.01 * ((n * 7 + 3) % 5) as f64;
    let of = |program: &'static str| move |n| pass(program, n, 1e7 * factor * wobble(n));
    let mut samples: Vec<Sample> =
        (0..passes).map(of("read_4k")).chain((0..passes).map(of("read_8k"))).collect();
    samples.iter_mut().for_each(edit);
    run.write_samples(&samples, info).unwrap();
    run.write_findings(&Vec::<Finding>::new(), info).unwrap();
}

fn run(lab: &Lab, name: &str, factor: f64, passes: u64) {
    keep(lab, &info(name, "6.1"), factor, passes);
}

fn rows(ended: &Ended) -> Vec<Value> {
    let document: Value =
        serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {}", ended.err));
    assert_eq!(document["schema"], "lbolt.comparison/2");
    document["comparisons"].as_array().unwrap().clone()
}

fn verdicts(ended: &Ended) -> Vec<String> {
    rows(ended).iter().map(|row| row["verdict"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_delay_is_worse_and_fails_where_it_is_asked_to() {
    let lab = Lab::new();
    run(&lab, "a", 1.0, 10);
    run(&lab, "b", 1.1, 10);
    let ended = lab.run("compare a b --format json --metric rate_bytes");
    assert_eq!((ended.code, verdicts(&ended)), (0, vec!["worse".to_owned(); 2]), "{}", ended.out);
    let difference = rows(&ended)[0]["difference_percent"].as_f64().unwrap();
    assert!((difference - 100.0 * (1.0 / 1.1 - 1.0)).abs() < 1.0, "{difference}");
    let failed = lab.run("compare a b --fail-on 5%");
    failed.assert_refused(4, &["worse by 5 % or more"]);
    assert!(failed.out.contains("worse"), "{}", failed.out);
    assert_eq!(lab.run("compare a b --fail-on 20%").code, 0);
    assert_eq!(lab.run("compare b a --fail-on 5%").code, 0);
}

#[test]
fn every_format_is_written_and_the_table_fits() {
    let lab = Lab::new();
    run(&lab, "a", 1.0, 10);
    run(&lab, "b", 1.1, 10);
    let table = lab.run("compare a b").out;
    // Rates, and the CPU time of a request.
    assert!(table.contains("verdicts  4 worse"), "{table}");
    // The first line says which side, by how much, of what.
    let first = table.lines().next().unwrap();
    let sure = "B is worse: its rate of read_8k is 9.1% lower than A's, 93.5 MB/s instead of 103 \
                MB/s (95% interval -11% to -7.3%).";
    assert_eq!(first, sure, "the one farthest from none: {table}");
    assert!(table.contains("Holm") && table.contains("one run per side"), "{table}");
    assert!(lab.run("compare a b --format csv").out.starts_with("subject,quantity,unit,a,b,"));
    assert!(lab.run("compare a b --format markdown").out.contains("| read\\_4k |"));
}

/// The second kernel of a build must not fail it for a number that nobody should believe.
#[test]
fn what_is_suspect_decides_no_exit_code_and_says_so() {
    let lab = Lab::new();
    run(&lab, "a", 1.0, 10);
    let doubt = |sample: &mut Sample| {
        let stolen = Doubt::new(Code::StolenTime, [("percent", 7.0.into())]);
        sample.judge(Judgement::of(vec![stolen]));
    };
    keep_with(&lab, &info("b", "6.1"), 1.1, 10, doubt);
    let gate = |b: &str| lab.run(&format!("compare a {b} --fail-on 5% --metric rate_bytes"));
    keep_with(&lab, &info("same", "6.1"), 1.0, 10, doubt);
    for name in ["b", "same"] {
        gate(name).assert_refused(7, &["0 of 2 findings could decide: all are suspect"]);
    }
    assert!(gate("b").out.contains("verdicts  2 worse (suspect)"));
    // One cell that nobody doubts decides, worse or not.
    let of_one = |sample: &mut Sample| {
        if sample.program == "read_4k" {
            doubt(sample);
        }
    };
    keep_with(&lab, &info("c", "6.1"), 1.1, 10, of_one);
    let suspect = "1 of 2 findings is suspect and not counted in the exit code: 1 of them is worse";
    let ended = gate("c");
    ended.assert_refused(4, &["1 of 2 findings is worse by 5 % or more"]);
    assert!(ended.err.contains(suspect), "{}", ended.err);
    keep_with(&lab, &info("d", "6.1"), 1.0, 10, of_one);
    assert_eq!(gate("d").code, 0);
}

#[test]
fn a_run_did_not_drift_from_itself() {
    let lab = Lab::new();
    for name in ["a", "b"] {
        let mut info = info(name, "6.1");
        info.calibration["harness_at_end_ns_per_operation"] = json!(30.0);
        keep(&lab, &info, 1.0, 10);
    }
    let (itself, other) = (lab.run("compare a a").out, lab.run("compare a b").out);
    assert!(itself.contains("are the same") && !itself.contains("drift"), "{itself}");
    assert!(other.contains("drift") && other.contains("speed varied by up to 50 %"), "{other}");
}

/// Names of programs are a list in a document, too.
#[test]
fn documents_with_other_programs_are_described() {
    let lab = Lab::new();
    let doubts = || {
        let by = vec!["rustc".to_owned(), "cargo".to_owned()];
        vec![Doubt::new(Code::OtherPrograms, [("percent", 138.0.into()), ("by", by.into())])]
    };
    let judge = |sample: &mut Sample| sample.judge(Judgement::of(doubts()));
    keep_with(&lab, &info("a", "6.1"), 1.0, 10, judge);
    let (run, info) = RunDirectory::open(&lab.path("runs/a")).unwrap();
    let found =
        Finding::new(&Subject::cell("d", "read_4k", 1), "rate_bytes_per_s", Some(1e7), 5, "");
    run.write_findings(&[found.judged(Judgement::of(doubts()))], &info).unwrap();
    for words in ["runs show a", "compare a a"] {
        let ended = lab.run(&format!("{words} --format json"));
        assert!(ended.out.contains("\"rustc\""), "{words}: {}", ended.out);
        assert_described(&serde_json::from_str(&ended.out).unwrap());
    }
}

/// A program that keeps more of the CPU because the disk became faster is no worse.
#[test]
fn a_faster_side_is_not_worse_for_its_share_of_the_cpu() {
    let lab = Lab::new();
    run(&lab, "a", 1.0, 10);
    let same_time = |sample: &mut Sample| sample.cpu_user_ns = 5_000_000 + sample.pass * 10_000;
    keep_with(&lab, &info("c", "6.1"), 1.0, 10, same_time);
    keep_with(&lab, &info("d", "6.1"), 0.5, 10, same_time);
    let ended = lab.run("compare c d --fail-on 5%");
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("verdicts  2 better, 2 no difference"), "{}", ended.out);
    let shares = lab.run("compare c d --metric cpu_percent --format json");
    assert_eq!(verdicts(&shares), ["differs", "differs"]);
}

#[test]
fn settings_that_differ_are_printed_before_the_rows() {
    let lab = Lab::new();
    let tuned = |name: &str, scheduler: &str, ratio: &str| {
        let mut info = info(name, "6.1");
        info.machine["sysctls"] = json!({ "vm.dirty_ratio": ratio });
        info.machine["devices"] = json!([{"name": "vda", "scheduler": scheduler}]);
        keep(&lab, &info, 1.0, 10);
    };
    tuned("a", "none", "20");
    tuned("b", "bfq", "5");
    let out = lab.run("compare a b").out;
    let place = |text: &str| out.find(text).unwrap_or_else(|| panic!("{text}: {out}"));
    assert!(place("scheduler: none (vda) in A, bfq (vda) in B") < place("read_4k"), "{out}");
    assert!(place("vm.dirty_ratio: 20 in A, 5 in B") < place("read_4k"), "{out}");
}

#[test]
fn rows_that_a_side_did_not_measure_are_shown_only_where_all_are() {
    let lab = Lab::new();
    run(&lab, "a", 1.0, 10);
    run(&lab, "b", 1.0, 10);
    for side in ["a", "b"] {
        let path = lab.path("runs").join(side);
        let (run, info) = RunDirectory::open(&path).unwrap();
        let reason = Judgement::not_measured(Doubt::refused("io_uring is not permitted"));
        let cell = Subject::cell("d", "uring_4k", 1);
        let refused = Finding::not_measured(&cell, "rate_bytes_per_s", reason);
        run.write_findings(&[refused], &info).unwrap();
    }
    let short = lab.run("compare a b").out;
    assert!(!short.contains("n.m."), "{short}");
    assert!(
        short.contains("1 without a measurement on one side (uring_4k); --all shows them"),
        "{short}"
    );
    let all = lab.run("compare a b --all").out;
    assert!(all.contains("uring_4k") && all.contains("n.m."), "{all}");
}

#[test]
fn another_kernel_is_not_comparable_unless_it_is_meant() {
    let lab = Lab::new();
    run(&lab, "a", 1.0, 10);
    keep(&lab, &info("b", "6.9"), 1.1, 10);
    let ended = lab.run("compare a b --format json --metric rate_bytes --fail-on 5");
    assert_eq!((ended.code, verdicts(&ended)), (7, vec!["not comparable".to_owned(); 2]));
    assert_eq!(rows(&ended)[0]["reason"], "kernel: 6.1 in A, 6.9 in B");
    let meant = lab.run("compare a b --format json --metric rate_bytes --across kernel");
    assert_eq!(verdicts(&meant), ["worse", "worse"]);
}

#[test]
fn few_passes_are_not_enough_and_it_is_said_how_many_are() {
    let lab = Lab::new();
    run(&lab, "a", 1.0, 1);
    run(&lab, "b", 1.1, 1);
    let ended = lab.run("compare a b --format json --metric rate_bytes");
    assert_eq!(verdicts(&ended), ["cannot tell", "cannot tell"]);
    assert_eq!(rows(&ended)[0]["needed_count"], 4);
    let table = lab.run("compare a b --metric rate_bytes").out;
    assert!(table.contains("cannot tell (needs 4 passes)") && table.contains("n.m."), "{table}");
    assert!(table.starts_with("No difference is sure"), "{table}");
    assert!(table.lines().next().unwrap().ends_with("4 passes would tell."), "{table}");
    // A script learns that neither is known.
    let unsure = lab.run("compare a b --metric rate_bytes --fail-on 5%");
    unsure.assert_refused(7, &["2 of 2 findings may be"]);
    // What is known decides, whatever else is not.
    run(&lab, "c", 1.0, 10);
    run(&lab, "d", 1.5, 10);
    lab.run("compare c d --fail-on 5%").assert_refused(4, &["worse by 5 % or more"]);
}

/// An exit code of 0 says that what A measured is surely no worse in B.
#[test]
fn what_was_not_compared_fails_and_what_has_no_better_direction_does_not() {
    let lab = Lab::new();
    for name in ["a", "b"] {
        run(&lab, name, 1.0, 10);
    }
    let found = |name: &str, quantity: &str, value: Option<f64>| {
        let path = lab.path("runs").join(name);
        let (run, info) = RunDirectory::open(&path).unwrap();
        let cell = Subject::cell("d", "uring_4k", 1);
        let finding = match value {
            Some(_) => Finding::new(&cell, quantity, value, 1, "mean"),
            None => {
                let reason = Judgement::not_measured(Doubt::refused("io_uring is not permitted"));
                Finding::not_measured(&cell, quantity, reason)
            }
        };
        run.write_findings(&[finding], &info).unwrap();
    };
    let gate = |metric: &str| lab.run(&format!("compare a b --fail-on 5% --metric {metric}"));
    assert_eq!(gate("rate_bytes").code, 0);
    let rate = "rate_bytes_per_s";
    found("a", rate, Some(1e8));
    found("b", rate, None);
    gate("rate_bytes").assert_refused(7, &["B lacks 1 finding that A measured"]);
    // What is new in B, and what neither measured, is not worse.
    found("a", rate, None);
    found("b", rate, Some(1e8));
    assert_eq!(gate("rate_bytes").code, 0);
    // A single value of what only differs cannot be told, and does not matter here.
    for name in ["a", "b"] {
        found(name, "depth_achieved", Some(if name == "a" { 4.0 } else { 8.0 }));
    }
    let ended = gate("depth_achieved");
    assert_eq!(ended.code, 0, "{}", ended.err);
    for name in ["a", "b"] {
        found(name, "latency_p99_ns", None);
    }
    gate("latency_p99_ns").assert_refused(7, &["no finding is measured on both sides"]);
}

#[test]
fn several_runs_are_compared_as_runs() {
    let lab = Lab::new();
    for (name, factor) in [("a1", 1.0), ("a2", 1.01), ("a3", 0.99), ("a4", 1.0)] {
        run(&lab, name, factor, 3);
        run(&lab, &name.replace('a', "b"), factor * 1.3, 3);
    }
    let ended = lab.run("compare a1,a2,a3,a4 b1,b2,b3,b4 --metric rate_bytes --format json");
    let document: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(document["units"], "runs");
    assert_eq!(rows(&ended)[0]["count_a"], 4);
}

#[test]
fn fios_results_are_compared_with_each_other_and_with_runs() {
    let lab = Lab::new();
    for side in ["a", "b"] {
        lab.directory(side);
        for n in 0..6 {
            // Each repeat a little other; B's bytes a second are halved.
            let rate = format!(
                "\"bw_bytes\": {}",
                (if side == "a" { 100_000_000 } else { 50_000_000 }) + n * 10_007
            );
            lab.file(&format!("{side}/{n}.json"), FIO.replace("\"bw_bytes\": 116508444", &rate));
        }
    }
    let ended = lab.run("compare a b --format json --metric rate_bytes_per_s");
    let found = rows(&ended);
    let of = |job: &str| {
        let row =
            found.iter().find(|r| r["subject"]["program"] == job && r["subject"]["op"].is_null());
        row.unwrap_or_else(|| panic!("{found:?}"))
    };
    assert_eq!(of("reads")["verdict"], "worse");
    assert_eq!(of("mixed")["verdict"], "no difference beyond noise");
    assert_eq!(of("reads")["count_b"], 6);
    // One file has one value.
    let one = lab.run("compare a/0.json b/0.json --format json --metric latency_p99");
    assert!(verdicts(&one).iter().all(|v| v == "cannot tell"), "{}", one.out);
    // A run of ours has the program's name.
    run(&lab, "ours", 1.0, 10);
    let ended = lab.run("compare ours a/0.json --metric all");
    ended.assert_refused(2, &["no finding in common", "randread_4k"]);
}

#[test]
fn what_is_no_run_is_refused_in_a_sentence() {
    let lab = Lab::new();
    run(&lab, "a", 1.0, 5);
    lab.directory("empty");
    lab.file("text.json", "not JSON");
    lab.file("other.json", "{\"x\": 1}");
    lab.directory("old");
    lab.file("old/run.json", r#"{"schema":"lbolt.run/9"}"#);
    lab.run("compare a nowhere").assert_refused(2, &["nowhere", "lbolt runs list"]);
    lab.run("compare a empty").assert_refused(2, &["empty is not a run", "run.json"]);
    lab.run("compare a text.json").assert_refused(2, &["text.json", "JSON"]);
    lab.run("compare a other.json").assert_refused(2, &["other.json", "--output-format=json"]);
    lab.run("compare old a").assert_refused(2, &["lbolt.run/9", "lbolt.run/1"]);
    lab.run("compare a").assert_refused(2, &["--abab"]);
    lab.run("compare a a --metric nonsense").assert_refused(2, &["nonsense", "--metric all"]);
    lab.run("compare a a --fail-on=-3").assert_refused_by_usage("--fail-on");
    lab.run("compare a a --across moon").assert_refused_by_usage("kernel");
    lab.run("throughput d --fail-on 5").assert_refused(2, &["--against or --abab"]);
    lab.run("throughput d --abab").assert_refused(2, &["name two"]);
    lab.run("throughput --against nowhere").assert_refused(2, &["nowhere"]);
    lab.run("throughput --against a")
        .assert_refused(2, &["cannot read the plan", "missing field `programs`"]);
    // Samples of another version of the schema.
    std::fs::copy(lab.path("runs/a/findings.parquet"), lab.path("runs/a/samples.parquet")).unwrap();
    lab.run("compare a a").assert_refused(2, &["lbolt.findings/2", "lbolt.samples"]);
}

#[test]
fn two_targets_in_turn_are_compared_by_pairs() {
    let lab = Lab::new();
    lab.directory("e");
    let words =
        "throughput d e --abab --rw randread --size 256k --runs 6 --no-ceiling --format json";
    let ended = lab.run(words);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let document: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((&document["units"], &document["a"]), (&json!("rounds"), &document["a"]));
    assert_eq!(rows(&ended)[0]["count_a"], 6);
    // Every pass on the one is followed by the same pass on the other.
    let order: Vec<(String, u64)> =
        lab.samples().iter().map(|s| (s.target.clone(), s.pass)).collect();
    for (position, (target, pass)) in order.iter().enumerate() {
        let expected = ["/d", "/e"][position % 2];
        assert!(target.ends_with(&expected[1..]) && *pass == position as u64 / 2, "{order:?}");
    }
    // The stored run says the same again.
    let name = lab.runs()[0].display().to_string();
    let again = lab.run(&format!("compare {name} --format json"));
    assert_eq!(rows(&again), rows(&ended));
    lab.assert_clean();
}

/// Who compares a target with itself sees what differs by chance.
#[test]
fn a_target_is_compared_with_itself() {
    let lab = Lab::new();
    let words = "throughput d d --abab --rw randread --size 256k --runs 6 --no-ceiling";
    let ended = lab.run(&format!("{words} --format json"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    let rows = rows(&ended);
    assert_eq!((&rows[0]["count_a"], &rows[0]["count_b"]), (&json!(6), &json!(6)));
    assert_eq!(lab.samples().len(), 14, "a warm-up and six passes each");
    assert_ne!(rows[0]["a"], rows[0]["b"], "each side has passes of its own");
    // However it is spelled: the files of the one are not those of the other.
    std::os::unix::fs::symlink(lab.path("d"), lab.path("link")).unwrap();
    for spelled in ["d/".to_owned(), lab.path("d").display().to_string(), "link".to_owned()] {
        let words = words.replace("d d", &format!("d {spelled}"));
        let ended = lab.run(&format!("{words} --format json"));
        assert_eq!(ended.code, 0, "{spelled}: {}", ended.err);
        let document: Value = serde_json::from_str(&ended.out).unwrap();
        assert!(document["b"].as_str().unwrap().contains("(again)"), "{}", document["b"]);
    }
    lab.run("throughput d d --rw randread").assert_refused(2, &["name one of them"]);
    lab.assert_clean();
}

/// A trace says first how long calls took, then how long requests did.
#[test]
fn calls_of_traces_are_compared_first() {
    let lab = Lab::new();
    let trace = |name: &str, factor: u64| {
        let info = RunInfo { experiment: "record".into(), ..info(name, "6.1") };
        keep(&lab, &info, 1.0, 10);
        let call = |i: u64| Call {
            begin_ns: (i * 10_000_000) as i64,
            end_ns: Some((i * 10_000_000 + factor * (1_000_000 + i * 7919 % 50_000)) as i64),
            ..Call::default()
        };
        let calls = (0..240).map(call).collect();
        let context = Context { calls, ..Context::default() };
        context.write(&lab.path("runs").join(name), &Default::default()).unwrap();
    };
    trace("a", 1);
    trace("b", 4);
    let out = lab.run("compare a b").out;
    assert!(out.starts_with("B is worse: its mean response time of calls is 300% higher"), "{out}");
    let ended = lab.run("compare a b --format json");
    let row = &rows(&ended)[0];
    assert_eq!(row["subject"]["class"], "calls");
    assert_eq!((&row["verdict"], &row["count_a"]), (&json!("worse"), &json!(12)));
}

/// And before these which part of its waiting each role lost.
#[test]
fn what_roles_lost_is_compared_before_all() {
    let lab = Lab::new();
    // The first storm comes after 4.5 s.
    for (name, seconds) in [("a", 20), ("b", 4)] {
        keep(&lab, &RunInfo { experiment: "record".into(), ..info(name, "6.1") }, 1.0, 10);
        make_run(&lab.path(name), seconds, 1, None);
        let of = |directory: PathBuf| directory.join("requests.parquet");
        std::fs::copy(of(lab.path(name)), of(lab.path("runs").join(name))).unwrap();
    }
    let ended = lab.run("compare a b");
    let sentence = "B is better: its lost share of the waiting of postgres is 100% lower than A's, \
                    0% instead of 44.";
    assert!(ended.out.starts_with(sentence), "{} {}", ended.out, ended.err);
    let row = &rows(&lab.run("compare b a --format json"))[0];
    assert_eq!((&row["quantity"], &row["verdict"]), (&json!("lost_percent"), &json!("worse")));
}

#[test]
fn a_stored_plan_is_run_again() {
    let lab = Lab::new();
    let first =
        lab.run("throughput d --rw randread --bs 8k --size 256k --runs 4 --no-ceiling -o first");
    assert_eq!(first.code, 0, "{}", first.err);
    let ended = lab.run("throughput --against first -o second --format json");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let found = rows(&ended);
    assert!(found.iter().all(|row| row["subject"]["program"] == "randread_8k"), "{found:?}");
    assert_eq!((&found[0]["count_a"], &found[0]["count_b"]), (&json!(4), &json!(4)));
    lab.assert_clean();
}

/// A plan that went on until its rates were narrow does so again; one with a number has that
/// number.
#[test]
fn a_stored_plan_ends_its_passes_as_before() {
    let lab = Lab::new();
    let words = "throughput d --rw randread --bs 8k --size 256k --no-ceiling";
    let plan = |words: &str| -> Value {
        let ended = lab.run(&format!("{words} --dry-run"));
        serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {}", ended.err))
    };
    let ended = lab.run(&format!("{words} --precision 90% --max-time 3s -o first"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    let again = plan("throughput --against first");
    let until = json!({"precision_percent": 90.0, "max_time_s": 3.0, "fewest": 5});
    assert_eq!(again["until"], until);
    assert_eq!(again["runs"], 5);
    let tighter = plan("throughput --against first --precision 2%");
    assert_eq!(tighter["until"]["precision_percent"], 2.0);
    let exact = plan("throughput --against first --runs 7");
    assert_eq!((&exact["until"], &exact["runs"]), (&Value::Null, &json!(7)));
    assert_eq!(lab.run(&format!("{words} --runs 2 -o second")).code, 0);
    let again = plan("throughput --against second");
    assert_eq!((&again["until"], &again["runs"]), (&Value::Null, &json!(2)));
    lab.assert_clean();
}

/// For the figures of docs/PERFORMANCE.md: the runs in `LBOLT_REAL_RUNS`, of `lbolt throughput A B
/// --abab` where A and B are alike. Counts the differences in nothing, and how often a delay of 5 %
/// that is put into B's rates is found in the rounds after a pilot, at the number that the pilot
/// recommended.
#[test]
#[ignore = "needs real runs"]
fn false_differences_and_power_on_real_runs() {
    use analyze::compare::{Question, Series, Unit, compare, series::of_run};
    use model::comparison::Outcome;
    let folder = std::env::var("LBOLT_REAL_RUNS").unwrap();
    let mut numbers = vec![];
    // Of what reads and of what writes: false differences of comparisons, and delays found of those
    // that were told.
    let (mut wrong, mut power) = ([(0, 0); 2], [(0, 0); 2]);
    let question = |unit| Question {
        unit,
        effect_percent: 5.0,
        machine_percent: 0.0,
        across: vec![],
        refusal: None,
    };
    let is_difference = |o: Outcome| matches!(o, Outcome::Better | Outcome::Worse);
    for (run, _) in model::run::list(folder.as_ref()).unwrap() {
        let series = of_run(&run.read_samples().unwrap(), &[]);
        let rates: Vec<&Series> =
            series.iter().filter(|s| s.quantity == "rate_bytes_per_s").collect();
        let program = |s: &Series| s.subject.get("program").unwrap();
        for (place, a) in rates.iter().enumerate() {
            let Some(b) = rates[place + 1..].iter().find(|b| program(b) == program(a)) else {
                continue;
            };
            let part = |s: &Series, from: usize, count: usize, factor: f64| {
                let values = s.values.iter().skip(from).take(count).map(|v| v * factor).collect();
                vec![vec![Series { quantity: s.quantity.clone(), values, ..Series::default() }]]
            };
            let at = |from, count, factor| {
                compare(
                    &part(a, from, count, 1.0),
                    &part(b, from, count, factor),
                    &question(Unit::Round),
                )
                .rows
                .remove(0)
            };
            let kind = usize::from(program(a).contains("write"));
            let (length, pilot) = (a.values.len().min(b.values.len()), 8);
            for from in (0..length.saturating_sub(11)).step_by(12) {
                let (wrong, rows) = &mut wrong[kind];
                *rows += 1;
                *wrong += usize::from(is_difference(at(from, 12, 1.0).outcome));
            }
            let mut from = 0;
            while from + pilot < length {
                let requested = at(from, pilot, 1.0 / 1.05);
                from += pilot;
                let Some(needed) = requested.needed.filter(|needed| from + needed <= length) else {
                    continue;
                };
                let (found, told) = &mut power[kind];
                *told += 1;
                numbers.push(needed);
                *found += usize::from(at(from, needed, 1.0 / 1.05).outcome == Outcome::Worse);
                from += needed;
            }
        }
    }
    numbers.sort_unstable();
    for (what, kind) in ["reads", "writes"].iter().zip(0..) {
        let ((wrong, rows), (found, told)) = (wrong[kind], power[kind]);
        println!("A/A, {what}: {wrong} false differences of {rows} comparisons of 12 rounds");
        println!("5 %, {what}: found {found} of {told} at the recommended number");
    }
    println!("middle of the numbers {:?}", numbers.get(numbers.len() / 2));
}

//! The overhead room's findings from samples that were made up: what was put in must come out, by
//! every account, and what contradicts itself must be refused.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use analyze::overhead::findings;
use model::record::{Finding, Sample, quantity};

const WALL_NS: u64 = 50_000_000;
/// What the machine spends by itself, of each nanosecond.
const BY_ITSELF: f64 = 0.04;
/// Soak loops of each CPU: how many a nanosecond when idle, and how long one is.
const IDLE: [(f64, f64); 2] = [(0.015, 66.0), (0.014, 71.0)];

/// A pass of a routine that takes `own_ns` of the thread and `others_ns` of all else a request.
fn pass(engine: &str, account: &str, own_ns: f64, others_ns: f64) -> Sample {
    let operations = 10_000;
    let of = |ns: f64| (ns * f64::from(operations)) as u64;
    let background = BY_ITSELF * WALL_NS as f64;
    let bill = of(own_ns + others_ns);
    // Half of the bill on each CPU.
    let soaked = |(loops_per_ns, loop_ns): (f64, f64)| {
        (loops_per_ns * WALL_NS as f64 - bill as f64 / 2.0 / loop_ns) as u64
    };
    Sample {
        experiment: "overhead".into(),
        target: "t".into(),
        engine: engine.into(),
        access: "randread".into(),
        block_bytes: 4096,
        depth: 1,
        account: account.into(),
        role: "kept".into(),
        verdict: "ok".into(),
        operations: u64::from(operations as u32),
        bytes: u64::from(operations as u32) * 4096,
        wall_ns: WALL_NS,
        cpu_timed_ns: Some(of(own_ns)),
        cpu_other_ns: (account == "difference").then(|| of(others_ns) + background as u64),
        cpu_traced_ns: (account == "trace").then(|| bill + background as u64),
        soak_loops: if account == "soak" { IDLE.map(soaked).to_vec() } else { vec![] },
        soak_cpu_ns: if account == "soak" { vec![1, 1] } else { vec![] },
        ..Sample::default()
    }
}

/// The machine with nothing on it, by an account.
fn by_itself(account: &str) -> Sample {
    let background = Some((BY_ITSELF * WALL_NS as f64) as u64);
    let loops = IDLE.map(|(loops_per_ns, _)| (loops_per_ns * WALL_NS as f64) as u64);
    let cpu = |cpu: usize| (loops[cpu] as f64 * IDLE[cpu].1) as u64;
    Sample {
        role: "calibration".into(),
        operations: 0,
        bytes: 0,
        block_bytes: 0,
        cpu_timed_ns: None,
        cpu_other_ns: background.filter(|_| account == "difference"),
        cpu_traced_ns: background.filter(|_| account == "trace"),
        soak_loops: if account == "soak" { loops.to_vec() } else { vec![] },
        soak_cpu_ns: if account == "soak" { vec![cpu(0), cpu(1)] } else { vec![] },
        ..pass("none", account, 0.0, 0.0)
    }
}

fn find<'a>(found: &'a [Finding], name: &str, engine: &str) -> Option<&'a Finding> {
    let is_it =
        |f: &&Finding| f.quantity == name && f.subject_value("engine").as_deref() == Some(engine);
    found.iter().find(is_it)
}

fn value(found: &[Finding], name: &str, engine: &str) -> f64 {
    let finding = find(found, name, engine).unwrap_or_else(|| panic!("no {name} of {engine}"));
    assert_eq!(finding.verdict, "ok", "{finding:?}");
    finding.value.unwrap()
}

#[test]
fn every_account_finds_the_bill_less_the_machine_and_the_harness() {
    let mut samples = vec![];
    for account in ["difference", "soak", "trace"] {
        for _ in 0..4 {
            samples.push(by_itself(account));
            samples.push(pass("threads", account, 1_000.0, 2_500.0));
        }
    }
    samples.extend((0..4).map(|_| pass("null", "difference", 20.0, 0.0)));
    let found = findings(&samples, &[], None);
    assert!(found.iter().all(|f| quantity(&f.quantity).is_some_and(|q| q.unit == f.unit)));
    assert!((value(&found, "operation_cpu_own_ns", "null") - 20.0).abs() < 0.01);
    assert!((value(&found, "operation_cpu_own_ns", "threads") - 980.0).abs() < 0.01);
    for account in ["difference", "soak", "trace"] {
        let bill = value(&found, &format!("operation_cpu_{account}_ns"), "threads");
        assert!((bill - 3_480.0).abs() < 2.0, "{account}: {bill}");
        let ratio = value(&found, &format!("bill_{account}_ratio"), "threads");
        assert!((ratio - 3.5).abs() < 0.01, "{account}: {ratio}");
    }
    assert!((value(&found, "routine_operations_per_s", "threads") - 200_000.0).abs() < 1e-6);
}

#[test]
fn a_bill_below_the_threads_own_time_is_suspect() {
    let mut samples: Vec<Sample> = (0..4).map(|_| by_itself("trace")).collect();
    for extra in 0..4 {
        let sample = pass("psync", "trace", 1_000.0, 0.0);
        let traced = sample.cpu_traced_ns.map(|ns| ns / 2 + extra);
        samples.push(Sample { cpu_traced_ns: traced, ..sample });
    }
    let found = findings(&samples, &[], None);
    let bill = find(&found, "operation_cpu_trace_ns", "psync").unwrap();
    assert_eq!(bill.verdict, "suspect");
    assert!(bill.reason.as_deref().unwrap().contains("which it holds"), "{bill:?}");
}

/// A pass that computes: the loop takes `t_loop` and each request `overhead_ns` from it.
fn computing(interval_ns: u64, t_loop: f64, overhead_ns: f64) -> [Sample; 2] {
    // Few requests, so that most of the time is left for computing.
    let sample = Sample {
        arithmetic: Some("scalar".into()),
        test_interval_ns: Some(interval_ns),
        operations: 1_000,
        ..pass("libaio", "difference", 0.0, 0.0)
    };
    let left = WALL_NS as f64 - overhead_ns * sample.operations as f64;
    let loops = (left / t_loop).floor();
    let wall_ns = (loops * t_loop + overhead_ns * sample.operations as f64) as u64;
    let kept = Sample { loop_count: Some(loops as u64), wall_ns, ..sample.clone() };
    let calibration = Sample {
        role: "calibration".into(),
        loop_count: Some(1_000),
        cpu_timed_ns: Some((1_000.0 * t_loop) as u64),
        operations: 0,
        ..sample
    };
    [calibration, kept]
}

#[test]
fn equation_2_finds_the_overhead_and_two_lengths_must_agree() {
    let run = |longer_ns: f64| {
        let passes = (0..5).flat_map(|n| {
            let noise = f64::from(n);
            [
                computing(10_000, 10_050.0, 2_000.0 + noise),
                computing(20_000, 20_050.0, longer_ns + noise),
            ]
        });
        findings(&passes.flatten().collect::<Vec<_>>(), &[], None)
    };
    let agree = run(2_010.0);
    let overhead = value(&agree, "operation_overhead_ns", "libaio");
    assert!((overhead - 2_002.0).abs() < 5.0, "{overhead}");
    assert!((value(&agree, "loop_ns", "libaio") - 10_050.0).abs() < 1.0);
    let disagree = run(3_000.0);
    let refused = find(&disagree, "operation_overhead_ns", "libaio").unwrap();
    assert_eq!((refused.verdict.as_str(), refused.value), ("not_measured", None));
    assert!(refused.reason.as_deref().unwrap().contains("two lengths disagree"), "{refused:?}");
}

#[test]
fn a_loop_whose_time_wanders_is_suspect() {
    let drift = [10_050.0, 11_000.0, 11_500.0, 12_000.0, 12_500.0];
    let passes = drift.into_iter().flat_map(|t_loop| computing(10_000, t_loop, 2_000.0));
    let found = findings(&passes.collect::<Vec<_>>(), &[], None);
    let t_loop = find(&found, "loop_ns", "libaio").unwrap();
    assert_eq!((t_loop.verdict.as_str(), t_loop.count), ("suspect", 1));
    assert!(t_loop.reason.as_deref().unwrap().contains("4 of 5"), "{t_loop:?}");
}

#[test]
fn what_was_refused_has_no_number_and_a_reason() {
    let sample = pass("io_uring_iopoll", "difference", 0.0, 0.0);
    let reason = Some("no queue can be polled".to_owned());
    let samples = [Sample { verdict: "not_measured".into(), reason: reason.clone(), ..sample }];
    let found = findings(&samples, &[], None);
    let refused = |f: &&Finding| f.subject_value("engine").is_some();
    assert!(found.iter().filter(refused).count() > 0);
    for finding in found.iter().filter(refused) {
        assert_eq!((finding.verdict.as_str(), finding.value), ("not_measured", None));
        assert_eq!(finding.reason, reason);
    }
}

#[test]
fn two_lines_come_out_as_they_went_in() {
    // A call of 600 ns with 90 ns a KiB up to 64 KiB, and 50 ns a KiB beyond.
    let own_ns = |kib: f64| if kib <= 64.0 { 600.0 + 90.0 * kib } else { 3_160.0 + 50.0 * kib };
    let sizes = [1u64, 4, 16, 64, 256, 512, 1024];
    let passes = sizes.into_iter().flat_map(|kib| {
        (0..4).map(move |n| {
            let noise = 1.0 + 0.002 * (f64::from(n) - 1.5);
            let sample = pass("psync", "difference", own_ns(kib as f64) * noise, 0.0);
            Sample { block_bytes: kib << 10, ..sample }
        })
    });
    let found = findings(&passes.collect::<Vec<_>>(), &[], None);
    let own = |name: &str| {
        let is_it = |f: &&Finding| {
            f.quantity == name && f.subject_value("account").as_deref() == Some("own")
        };
        found.iter().find(is_it).and_then(|f| f.value).unwrap_or_else(|| panic!("no {name}"))
    };
    assert!((own("t_call_ns") - 600.0).abs() < 6.0, "{}", own("t_call_ns"));
    assert!((own("t_trans_ns_per_kib") - 90.0).abs() < 1.0);
    assert!((own("t_trans_large_ns_per_kib") - 50.0).abs() < 1.0);
    // The lines meet at 64 KiB, which either may have.
    assert!([65_536.0, 262_144.0].contains(&own("break_bytes")));
}

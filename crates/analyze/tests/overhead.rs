//! The overhead experiment's findings from samples that were made up: what was put in must come
//! out, by every account, and what contradicts itself must be refused.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use analyze::overhead::findings;
use model::doubt::{Code, Doubt, Judgement};
use model::engine::EngineKind;
use model::record::{Experiment, Finding, Overhead, Role, Sample, Verdict, quantity};
use model::workload::{Access, Account, Arithmetic};

const WALL_NS: u64 = 50_000_000;
/// What the machine spends by itself, of each nanosecond.
const BY_ITSELF: f64 = 0.04;
/// Idle-priority loops of each CPU: how many a nanosecond when idle, and how long one is.
const IDLE: [(f64, f64); 2] = [(0.015, 66.0), (0.014, 71.0)];

/// A pass of a routine that takes `own_ns` of the thread and `others_ns` of all else a request.
fn pass(engine: EngineKind, account: Account, own_ns: f64, others_ns: f64) -> Sample {
    let operations = 10_000;
    let of = |ns: f64| (ns * f64::from(operations)) as u64;
    let background = BY_ITSELF * WALL_NS as f64;
    let total = of(own_ns + others_ns);
    // Half of the total on each CPU.
    let soaked = |(loops_per_ns, loop_ns): (f64, f64)| {
        (loops_per_ns * WALL_NS as f64 - total as f64 / 2.0 / loop_ns) as u64
    };
    Sample {
        experiment: Experiment::Overhead,
        target: "t".into(),
        engine,
        access: Access::RandRead,
        block_bytes: 4096,
        depth: 1,
        operations: u64::from(operations as u32),
        bytes: u64::from(operations as u32) * 4096,
        wall_ns: WALL_NS,
        cpu_other_ns: (account == Account::Difference).then(|| of(others_ns) + background as u64),
        ..of_overhead(Overhead {
            account,
            cpu_timed_ns: Some(of(own_ns)),
            // A fifth of what others do is the interrupts'.
            cpu_tasks_ns: Some(of(own_ns + 0.8 * others_ns)),
            cpu_traced_ns: (account == Account::Trace).then(|| total + background as u64),
            idle_load_loops: if account == Account::IdleLoad {
                IDLE.map(soaked).to_vec()
            } else {
                vec![]
            },
            idle_load_cpu_ns: if account == Account::IdleLoad {
                IDLE.map(|idle| (soaked(idle) as f64 * idle.1) as u64).to_vec()
            } else {
                vec![]
            },
            ..Overhead::default()
        })
    }
}

fn of_overhead(part: Overhead) -> Sample {
    Sample { overhead: Some(Box::new(part)), ..Sample::default() }
}

/// The machine with nothing on it, by an account.
fn by_itself(account: Account) -> Sample {
    let background = Some((BY_ITSELF * WALL_NS as f64) as u64);
    let loops = IDLE.map(|(loops_per_ns, _)| (loops_per_ns * WALL_NS as f64) as u64);
    let cpu = |cpu: usize| (loops[cpu] as f64 * IDLE[cpu].1) as u64;
    Sample {
        role: Role::Calibration,
        operations: 0,
        bytes: 0,
        block_bytes: 0,
        cpu_other_ns: background.filter(|_| account == Account::Difference),
        overhead: Some(Box::new(Overhead {
            account,
            cpu_traced_ns: background.filter(|_| account == Account::Trace),
            idle_load_loops: if account == Account::IdleLoad { loops.to_vec() } else { vec![] },
            idle_load_cpu_ns: if account == Account::IdleLoad {
                vec![cpu(0), cpu(1)]
            } else {
                vec![]
            },
            ..Overhead::default()
        })),
        ..pass(EngineKind::Null, account, 0.0, 0.0)
    }
}

fn find<'a>(found: &'a [Finding], name: &str, engine: &str) -> Option<&'a Finding> {
    let is_it =
        |f: &&Finding| f.quantity == name && f.subject.get("engine").as_deref() == Some(engine);
    found.iter().find(is_it)
}

fn value(found: &[Finding], name: &str, engine: &str) -> f64 {
    let finding = find(found, name, engine).unwrap_or_else(|| panic!("no {name} of {engine}"));
    assert_eq!(finding.verdict, Verdict::Ok, "{finding:?}");
    finding.value.unwrap()
}

/// Findings of a line of wall times: a byte takes 1 ns, a request of no bytes `zero_ns`.
fn of_line(zero_ns: f64) -> Vec<Finding> {
    let sized = |(block_bytes, turn): (u64, u64)| {
        let request_ns = zero_ns + block_bytes as f64;
        // Passes differ by 0.1 %.
        let wall_ns = (10_000.0 * request_ns * (1.0 + 0.001 * turn as f64)) as u64;
        let sized = pass(EngineKind::Psync, Account::Difference, 1_000.0, 0.0);
        Sample { block_bytes, bytes: 10_000 * block_bytes, wall_ns, ..sized }
    };
    let sizes = (12..20).flat_map(|power| (0..4).map(move |turn| (1 << power, turn)));
    findings(&sizes.map(sized).collect::<Vec<_>>(), &[], None)
}

#[test]
fn half_of_the_rate_is_reached_at_no_size_where_the_line_begins_below_zero() {
    let above = of_line(2_000.0);
    let half = find(&above, "half_rate_bytes", "psync").unwrap().value.unwrap();
    assert!((1_900.0..2_100.0).contains(&half), "{half}");
    let below = of_line(-100.0);
    let zero = find(&below, "latency_zero_ns", "psync").unwrap().value.unwrap();
    assert!(zero < 0.0, "{zero}");
    assert!(find(&below, "rate_asymptotic_bytes_per_s", "psync").is_some());
    assert!(find(&below, "half_rate_bytes", "psync").is_none());
}

#[test]
fn every_account_finds_total_cpu_less_the_machine_and_the_harness() {
    let mut samples = vec![];
    for account in [Account::Difference, Account::IdleLoad, Account::Trace] {
        for _ in 0..4 {
            samples.push(by_itself(account));
            samples.push(pass(EngineKind::Threads, account, 1_000.0, 2_500.0));
        }
    }
    samples.extend((0..4).map(|_| pass(EngineKind::Null, Account::Difference, 20.0, 0.0)));
    let found = findings(&samples, &[], None);
    assert!(found.iter().all(|f| quantity(&f.quantity).is_some_and(|q| q.unit == f.unit)));
    assert!((value(&found, "operation_cpu_thread_ns", "null") - 20.0).abs() < 0.01);
    assert!((value(&found, "operation_cpu_thread_ns", "threads") - 980.0).abs() < 0.01);
    for account in ["difference", "idle_load", "trace"] {
        let total = value(&found, &format!("operation_cpu_{account}_ns"), "threads");
        assert!((total - 3_480.0).abs() < 2.0, "{account}: {total}");
        let ratio = value(&found, &format!("cpu_total_{account}_ratio"), "threads");
        assert!((ratio - 3.5).abs() < 0.01, "{account}: {ratio}");
        let ratio = value(&found, &format!("cpu_total_{account}_tasks_ratio"), "threads");
        assert!((ratio - 3.5 / 3.0).abs() < 0.01, "{account}: {ratio}");
    }
    // One total: from the threads' own clocks, 1,000 + 0.8 × 2,500, to the difference.
    for (quantity, low, high) in
        [("operation_cpu_total_ns", 2_980.0, 3_480.0), ("cpu_total_ratio", 3.0, 3.5)]
    {
        let middle = value(&found, quantity, "threads");
        let total = find(&found, quantity, "threads").unwrap();
        let shown = [(total.low, low), (Some(middle), (low + high) / 2.0), (total.high, high)];
        for (found, expected) in shown {
            let found = found.unwrap();
            assert!((found / expected - 1.0).abs() < 1e-3, "{quantity}: {found}, {expected}");
        }
    }
    assert!((value(&found, "routine_operations_per_s", "threads") - 200_000.0).abs() < 1e-6);
}

#[test]
fn without_the_clocks_of_all_threads_the_total_is_the_difference() {
    let mut samples = vec![by_itself(Account::Difference)];
    samples.extend((0..4).map(|extra| {
        let own_ns = 1_000.0 + f64::from(extra);
        let mut sample = pass(EngineKind::Threads, Account::Difference, own_ns, 2_500.0);
        sample.overhead_mut().cpu_tasks_ns = None;
        sample
    }));
    let found = findings(&samples, &[], None);
    let of = |name| find(&found, name, "threads").map(|f| (f.value, f.low, f.high));
    assert!(of("operation_cpu_total_ns").is_some_and(|(value, ..)| value.is_some()));
    assert_eq!(of("operation_cpu_total_ns"), of("operation_cpu_difference_ns"));
    assert_eq!(of("cpu_total_ratio"), of("cpu_total_difference_ratio"));
}

#[test]
fn a_difference_below_the_threads_own_time_bounds_no_total() {
    // The machine by itself did more than it does beside the passes.
    let busier = Sample { cpu_other_ns: Some(WALL_NS / 8), ..by_itself(Account::Difference) };
    let mut samples = vec![busier];
    samples.extend((0..4).map(|extra| {
        let own_ns = 1_000.0 + f64::from(extra);
        pass(EngineKind::Psync, Account::Difference, own_ns, 0.0)
    }));
    let found = findings(&samples, &[], None);
    for name in ["operation_cpu_difference_ns", "operation_cpu_total_ns"] {
        let total = find(&found, name, "psync").unwrap();
        assert_eq!(total.doubts.first().map(|doubt| doubt.code), Some(Code::TotalBelowOwn));
    }
}

#[test]
fn a_total_below_the_threads_own_time_is_suspect() {
    let mut samples: Vec<Sample> = (0..4).map(|_| by_itself(Account::Trace)).collect();
    for extra in 0..4 {
        let mut sample = pass(EngineKind::Psync, Account::Trace, 1_000.0, 0.0);
        let traced = sample.overhead().cpu_traced_ns.map(|ns| ns / 2 + extra);
        sample.overhead_mut().cpu_traced_ns = traced;
        samples.push(sample);
    }
    let found = findings(&samples, &[], None);
    let total = find(&found, "operation_cpu_trace_ns", "psync").unwrap();
    assert_eq!(total.verdict, Verdict::Suspect);
    assert_eq!(total.doubts[0].code, Code::TotalBelowOwn);
}

/// A pass that computes: the loop takes `t_loop` and each request `overhead_ns` from it.
fn computing(interval_ns: u64, t_loop: f64, overhead_ns: f64) -> [Sample; 2] {
    // Few requests, so that most of the time is left for computing.
    let mut sample =
        Sample { operations: 1_000, ..pass(EngineKind::Libaio, Account::Difference, 0.0, 0.0) };
    sample.overhead_mut().arithmetic = Some(Arithmetic::Scalar);
    sample.overhead_mut().test_interval_ns = Some(interval_ns);
    let left = WALL_NS as f64 - overhead_ns * sample.operations as f64;
    let loops = (left / t_loop).floor();
    let wall_ns = (loops * t_loop + overhead_ns * sample.operations as f64) as u64;
    let mut kept = Sample { wall_ns, ..sample.clone() };
    kept.overhead_mut().loop_count = Some(loops as u64);
    let mut calibration = Sample { role: Role::Calibration, operations: 0, ..sample };
    calibration.overhead_mut().loop_count = Some(1_000);
    calibration.overhead_mut().cpu_timed_ns = Some((1_000.0 * t_loop) as u64);
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
    assert_eq!((refused.verdict.name(), refused.value), ("not_measured", None));
    assert_eq!(refused.doubts[0].code, Code::LoopsDisagree);
}

#[test]
fn a_loop_whose_time_wanders_is_suspect() {
    let drift = [10_050.0, 11_000.0, 11_500.0, 12_000.0, 12_500.0];
    let passes = drift.into_iter().flat_map(|t_loop| computing(10_000, t_loop, 2_000.0));
    let found = findings(&passes.collect::<Vec<_>>(), &[], None);
    let t_loop = find(&found, "loop_ns", "libaio").unwrap();
    assert_eq!((t_loop.verdict.name(), t_loop.count), ("suspect", 1));
    assert_eq!(t_loop.doubts[0].values["skewed"], 4.0.into());
    assert_eq!(t_loop.doubts[0].values["runs"], 5.0.into());
}

#[test]
fn what_was_refused_has_no_number_and_a_reason() {
    let mut sample = pass(EngineKind::IoUringIopoll, Account::Difference, 0.0, 0.0);
    let reason = Doubt::refused("no queue can be polled");
    sample.judge(Judgement::not_measured(reason.clone()));
    let samples = [sample];
    let found = findings(&samples, &[], None);
    let refused = |f: &&Finding| f.subject.get("engine").is_some();
    assert!(found.iter().filter(refused).count() > 0);
    for finding in found.iter().filter(refused) {
        assert_eq!((finding.verdict.name(), finding.value), ("not_measured", None));
        assert_eq!(finding.doubts, std::slice::from_ref(&reason));
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
            let sample =
                pass(EngineKind::Psync, Account::Difference, own_ns(kib as f64) * noise, 0.0);
            Sample { block_bytes: kib << 10, ..sample }
        })
    });
    let found = findings(&passes.collect::<Vec<_>>(), &[], None);
    let own = |name: &str| {
        let is_it = |f: &&Finding| {
            f.quantity == name && f.subject.get("account").as_deref() == Some("thread")
        };
        found.iter().find(is_it).and_then(|f| f.value).unwrap_or_else(|| panic!("no {name}"))
    };
    assert!((own("t_call_ns") - 600.0).abs() < 6.0, "{}", own("t_call_ns"));
    assert!((own("t_trans_ns_per_kib") - 90.0).abs() < 1.0);
    assert!((own("t_trans_large_ns_per_kib") - 50.0).abs() < 1.0);
    // The lines meet at 64 KiB, which either may have.
    assert!([65_536.0, 262_144.0].contains(&own("break_bytes")));
}

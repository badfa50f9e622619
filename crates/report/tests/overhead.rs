//! The overhead experiment's report, from findings made by hand: what is sound, suspect, refused,
//! not a line, or two lines; with revolutions, several channels, and computing.

#[allow(dead_code, reason = "each test file uses its part")]
use crate::common::{about, doubted, golden};
use model::record::{Finding, Verdict};
use report::overhead::{markdown, table};

const BUSY: &str = "other programs used 49 % of a CPU meanwhile\nthe hypervisor took 6 % away";
const REFUSED: &str = "io_uring_iopoll randread direct 4k × 1: reading file.1 at byte 512: \
    Operation not supported (os error 95); the device has no queue that can be polled";
const NO_LINE: &str =
    "the model does not apply: at 1m one line misses the mean by -40.1 % (bound 5 %)";

/// A routine: engine, access, direct, channels, test interval in ns.
type Routine = (&'static str, &'static str, bool, u64, Option<u64>);

fn pairs((engine, access, direct, channels, interval): Routine) -> Vec<(&'static str, String)> {
    let arithmetic = if interval.is_some() { "scalar" } else { "none" };
    vec![
        ("access", access.into()),
        ("arithmetic", arithmetic.into()),
        ("channels", channels.to_string()),
        ("direct", u8::from(direct).to_string()),
        ("engine", engine.into()),
        ("target", "d".into()),
        ("test_interval_ns", interval.map_or("none".into(), |ns| ns.to_string())),
    ]
}

/// Findings of a request size: quantity, value, half its interval.
fn cell(of: Routine, bytes: u64, figures: &[(&str, f64, f64)]) -> Vec<Finding> {
    let mut pairs = pairs(of);
    pairs.push(("block_bytes", bytes.to_string()));
    figures.iter().map(|figure| with_half(&pairs, *figure)).collect()
}

/// Findings of a line by an account.
fn line(of: Routine, account: &str, figures: &[(&str, f64, f64)]) -> Vec<Finding> {
    let mut pairs = pairs(of);
    pairs.push(("account", account.into()));
    figures.iter().map(|figure| with_half(&pairs, *figure)).collect()
}

fn with_half(pairs: &[(&str, String)], (name, value, half): (&str, f64, f64)) -> Finding {
    let ends = |sign: f64| (half > 0.0).then_some(value + sign * half);
    Finding { low: ends(-1.0), high: ends(1.0), ..about(pairs, name, Some(value)) }
}

/// A number that there is not, and why.
fn refused(mut found: Vec<Finding>, why: &str) -> Vec<Finding> {
    for finding in &mut found {
        *finding = doubted(Finding { value: None, ..finding.clone() }, Verdict::NotMeasured, why);
    }
    found
}

fn suspect(found: Vec<Finding>) -> Vec<Finding> {
    found.into_iter().map(|finding| doubted(finding, Verdict::Suspect, BUSY)).collect()
}

/// The lines of a routine: t0, R_inf, and T_call and T_trans by both accounts.
fn lines(of: Routine, t0: f64, rate: f64, (call, trans): (f64, f64)) -> Vec<Finding> {
    let cpu = [("t_call_ns", call, call / 20.0), ("t_trans_ns_per_kib", trans, trans / 9.0)];
    let wall = [
        ("latency_zero_ns", t0, t0 / 50.0),
        ("rate_asymptotic_bytes_per_s", rate, rate / 30.0),
        ("half_rate_bytes", t0 * rate / 1e9, 99.0),
    ];
    let total = cpu.map(|(name, value, half)| (name, value * 1.2, half));
    [line(of, "wall", &wall), line(of, "thread", &cpu), line(of, "difference", &total)].concat()
}

fn is_own(finding: &Finding) -> bool {
    finding.subject.get("account").as_deref() == Some("thread")
}

const PSYNC: Routine = ("psync", "randread", false, 1, None);
const VSYNC: Routine = ("vsync", "randread", false, 1, None);
const WRITE: Routine = ("psync", "randwrite", false, 1, None);
const THREADS: Routine = ("threads", "randread", false, 1, None);
const POLLED: Routine = ("io_uring_iopoll", "randread", true, 1, None);
const LIBAIO: Routine = ("libaio", "randread", true, 1, None);

pub(crate) fn findings() -> Vec<Finding> {
    let mut all = refused(cell(POLLED, 4096, &[("routine_bytes_per_s", 0.0, 0.0)]), REFUSED);
    all.extend(refused(line(POLLED, "thread", &[("t_call_ns", 0.0, 0.0)]), REFUSED));
    let null = ("null", "randread", false, 1, None);
    all.extend(cell(null, 4096, &[("operation_cpu_thread_ns", 22.6, 0.3)]));
    all.extend(lines(PSYNC, 647.0, 13.5e9, (613.0, 75.6)));
    let fit = [("fit_misfit_percent", 4.31, 0.0), ("fit_noise_percent", 1.2, 0.0)];
    all.extend(line(PSYNC, "thread", &fit));
    for (bytes, ns) in [(512, 660.0), (1024, 689.0), (4096, 915.0), (65536, 5450.0)] {
        let rate = bytes as f64 / ns * 1e9;
        let figures = [
            ("routine_bytes_per_s", rate, rate / 40.0),
            ("routine_operations_per_s", 1e9 / ns, 9.0),
            ("operation_latency_p50_ns", ns * 0.9, 0.0),
            ("operation_cpu_thread_ns", ns, 4.0),
        ];
        all.extend(cell(PSYNC, bytes, &figures));
    }
    // One account has no line, another has two.
    all.extend(lines(VSYNC, 876.0, 16.6e9, (812.0, 80.0)));
    all.retain(|f| f.subject.get("engine").as_deref() != Some("vsync") || !is_own(f));
    all.extend(refused(line(VSYNC, "thread", &[("t_call_ns", 0.0, 0.0)]), NO_LINE));
    let break_at = [("break_bytes", 65536.0, 0.0), ("t_trans_large_ns_per_kib", 120.0, 9.5)];
    all.extend(line(VSYNC, "difference", &break_at));
    all.extend(suspect(lines(WRITE, 6664.0, 7.5e9, (6366.0, 122.0))));
    // A rate that never ends, and no total.
    all.extend(line(THREADS, "wall", &[("latency_zero_ns", 40_082.0, 5877.0)]));
    all.extend(line(THREADS, "thread", &[("t_call_ns", 12_958.0, 2329.0)]));
    all.extend(lines(LIBAIO, 55_613.0, 0.95e9, (26_507.0, 68.3)));
    let turns = [("sectors_per_revolution", 1010.0, 13.0), ("revolutions_missed", 0.98, 0.02)];
    all.extend(line(LIBAIO, "wall", &turns));
    all.extend(accounts());
    all.extend(channels_and_computing());
    all
}

fn accounts() -> Vec<Finding> {
    let own = ("operation_cpu_thread_ns", 915.0, 4.0);
    let total = ("operation_cpu_total_ns", 960.0, 40.0);
    let ratio = ("cpu_total_ratio", 1.05, 0.04);
    let idle_load = cell(PSYNC, 4096, &[("operation_cpu_idle_load_ns", 1166.0, 15.0)]);
    let trace = cell(PSYNC, 4096, &[("operation_cpu_trace_ns", 951.0, 12.0)]);
    let by_thread =
        [("operation_cpu_thread_ns", 5363.0, 200.0), ("operation_cpu_idle_load_ns", 4e4, 1e3)];
    let no_trace = cell(THREADS, 4096, &[("operation_cpu_trace_ns", 0.0, 0.0)]);
    [
        cell(PSYNC, 4096, &[own, total, ratio]),
        suspect(idle_load),
        trace,
        cell(THREADS, 4096, &by_thread),
        refused(no_trace, "no leave to load BPF programs: run as root"),
    ]
    .concat()
}

fn channels_and_computing() -> Vec<Finding> {
    let mut all = Vec::new();
    for (channels, rate) in [(1, 67.8e6), (4, 130e6), (16, 255e6)] {
        let of = (LIBAIO.0, LIBAIO.1, true, channels, None);
        let rates =
            [("routine_bytes_per_s", rate, 1e6), ("routine_operations_per_s", rate / 4096.0, 99.0)];
        let found = cell(of, 4096, &rates);
        all.extend(if channels == 16 { suspect(found) } else { found });
    }
    for (interval, rate) in [(2_000, 19_274.0), (20_000, 18_793.0), (1_000_000, 933.0)] {
        let of = (LIBAIO.0, LIBAIO.1, true, 1, Some(interval));
        let figures = [
            ("routine_bytes_per_s", rate * 4096.0, 1e6),
            ("routine_operations_per_s", rate, 99.0),
            ("operation_overhead_ns", 25_540.0, 368.0),
        ];
        all.extend(cell(of, 4096, &figures));
    }
    let of = (PSYNC.0, PSYNC.1, false, 1, Some(20_000));
    for (bytes, ns) in [(512, 620.0), (4096, 890.0)] {
        all.extend(cell(of, bytes, &[("operation_overhead_ns", ns, 30.0)]));
    }
    let loops = [("t_call_ns", 580.0, 31.0), ("loop_ns", 20_305.0, 11.0)];
    all.extend(suspect(line(of, "loops", &loops)));
    all
}

#[test]
fn the_tables_for_a_terminal() {
    let text = table(&findings(), Some(100));
    let too_wide = text.lines().find(|line| line.chars().count() > 100);
    assert_eq!(too_wide, None);
    golden("overhead.txt", &text);
}

#[test]
fn the_tables_as_markdown() {
    golden("overhead.md", &markdown(&findings()));
}

#[test]
fn a_line_that_begins_below_zero_has_no_t0() {
    let wall = [("latency_zero_ns", -13_693.0, 99.0), ("rate_asymptotic_bytes_per_s", 4e6, 1e4)];
    let text = table(&line(PSYNC, "wall", &wall), None);
    let row = text.lines().find(|line| line.starts_with("psync")).unwrap();
    assert!(row.contains('–') && !row.contains("13693"), "{text}");
}

#[test]
fn no_findings_are_said_in_words() {
    assert_eq!(table(&[], None), "Nothing was measured.\n");
    assert_eq!(markdown(&[]), "Nothing was measured.\n");
}

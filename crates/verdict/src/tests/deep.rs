//! A thread that keeps many requests in flight waits once: it loses the time that its rate does.

use super::*;

const S: i64 = 1000 * MS;

/// Begins and lengths of reads of which so many are in flight, one ends after each gap, and every
/// second one ends before the one that began before it.
pub(crate) fn reads(depth: usize, until_ns: i64, gap_ns: impl Fn(i64) -> i64) -> Vec<(i64, i64)> {
    let (mut ends_ns, mut now_ns) = (Vec::new(), 0);
    while now_ns < until_ns || ends_ns.len() % 2 == 1 {
        now_ns += gap_ns(now_ns);
        ends_ns.push(now_ns);
    }
    let span = |number: usize| {
        let begin_ns = number.checked_sub(depth).map_or(0, |before| ends_ns[before]);
        (begin_ns, ends_ns[number ^ 1] - begin_ns)
    };
    (0..ends_ns.len()).map(span).collect()
}

fn is_beside(ns: i64) -> bool {
    (15 * S..30 * S).contains(&ns)
}

/// Reads of 16 KiB, 16 at once, for 45 s; beside them somebody may read 1 MiB after the other for
/// 15 s. And what the reader's own log of its rate says it has lost, in s.
fn load(other: Option<&str>) -> (Load, f64) {
    beside(other, 3)
}

/// The same; beside somebody one of its reads ends after so many ms.
fn beside(other: Option<&str>, gap_ms: i64) -> (Load, f64) {
    let mut load = Load { is_deep: true, ..Load::with(&["scan", other.unwrap_or("nobody")]) };
    let gap_ns = |ns: i64| {
        let chance_ns = ns / 1000 % 13 * 10_000;
        if is_beside(ns) && other.is_some() { gap_ms * MS + chance_ns } else { MS + chance_ns }
    };
    for (begin_ns, took_ns) in reads(16, 45 * S, gap_ns) {
        load.request(1, Op::Read, begin_ns, took_ns, 16 << 10);
    }
    let count = |from_ns: i64, until_ns: i64| {
        let ends = load.rows.iter().filter_map(|row| row.completed_ns);
        ends.filter(|ns| (from_ns..until_ns).contains(ns)).count() as f64
    };
    let lost_s = 15.0 * (1.0 - count(15 * S, 30 * S) / count(0, 15 * S));
    let begins = (0..45 * S / (8 * MS)).map(|number| number * 8 * MS);
    for begin_ns in begins.filter(|ns| is_beside(*ns) && other.is_some()) {
        load.request(2, Op::Read, begin_ns, 8 * MS, 1 << 20);
    }
    (load, lost_s)
}

fn waited_ns(findings: &[Finding], role: &str) -> f64 {
    let is_its = |f: &&Finding| {
        f.quantity == "waited_ns" && f.subject.get("victim").as_deref() == Some(role)
    };
    findings.iter().filter(is_its).filter_map(|f| f.value).sum()
}

#[test]
fn a_reader_of_16_at_once_loses_what_its_own_log_says_to_who_reads_beside_it() {
    for (title, cause) in [("tar", "tar"), ("dd of=x", "dd")] {
        let (load, own_log_s) = load(Some(title));
        let findings = load.findings();
        let lost: Vec<_> = named(&findings).into_iter().filter(|(of, ..)| of == "scan").collect();
        let [(_, told, lost_s)] = &lost[..] else { panic!("{lost:?}") };
        assert_eq!(told, cause);
        assert!((lost_s / own_log_s - 1.0).abs() < 0.05, "{lost_s} of {own_log_s}");
        let waited_s = waited_ns(&findings, "scan") / 1e9;
        assert!((44.9..=45.1).contains(&waited_s), "a thread has 45 s: {waited_s}");
    }
}

/// By its share of the work the other one makes it wait three times as long: more of it is the
/// other's, too, for the reader asks for no more.
#[test]
fn a_reader_that_asks_for_no_more_loses_nothing_by_its_own_doing() {
    let (load, own_log_s) = beside(Some("tar"), 6);
    let findings = load.findings();
    let lost: Vec<_> = named(&findings).into_iter().filter(|(of, ..)| of == "scan").collect();
    let [(_, _, lost_s)] = &lost[..] else { panic!("{lost:?}") };
    assert!((lost_s / own_log_s - 1.0).abs() < 0.05, "{lost_s} of {own_log_s}");
}

/// A device that is slow for everybody is not the doing of who reads a little beside.
#[test]
fn who_reads_a_little_at_a_device_that_becomes_slow_is_blamed_for_its_part_alone() {
    let mut load = Load::with(&["scan", "other"]);
    let mut now_ns = 0;
    while now_ns < 45 * S {
        let took_ns = if is_beside(now_ns) { 40 * MS } else { MS + now_ns / 1000 % 7 * 1000 };
        load.request(1, Op::Read, now_ns, took_ns, 4096);
        now_ns += took_ns;
    }
    for number in 150..300 {
        load.request(2, Op::Read, number * 100 * MS, 40 * MS, 4096);
    }
    let findings = load.findings();
    let is_its = |(victim, cause, _): &(String, String, f64)| victim == "scan" && cause == "other";
    let lost_s: f64 = named(&findings).into_iter().filter(is_its).map(|(.., s)| s).sum();
    assert!(lost_s < 5.0, "{lost_s} of 14.6");
}

#[test]
fn a_reader_of_16_at_once_has_nobody_to_blame_alone() {
    let findings = load(None).0.findings();
    assert_eq!(named(&findings), []);
}

/// Two threads with a read after the other, of which every seventh goes on until the next.
#[test]
fn who_waits_for_one_request_at_a_time_waits_for_as_long_as_they_take() {
    let mut load = Load { is_deep: true, ..Load::with(&["scan", "other"]) };
    let mut expected_ns = 0;
    for number in 0..1000 {
        let took_ns = MS + number % 7 * MS / 6;
        load.request(1, Op::Read, number * 2 * MS, took_ns, 4096);
        load.request(2, Op::Read, number * 2 * MS, took_ns, 4096);
        expected_ns += took_ns;
    }
    let findings = load.findings();
    for role in ["scan", "other"] {
        assert_eq!(waited_ns(&findings, role), expected_ns as f64, "{role}");
    }
}

/// What is in flight over the end of a minute is waited for in the minute in which it began.
#[test]
fn minutes_sum_to_the_time_of_the_thread() {
    let mut load = Load { is_deep: true, ..Load::with(&["scan"]) };
    for (begin_ns, took_ns) in reads(64, 130 * S, |_| 20 * MS) {
        load.request(1, Op::Read, begin_ns, took_ns, 16 << 10);
    }
    let last_ns = load.rows.iter().filter_map(|row| row.completed_ns).max();
    let findings = load.findings();
    assert_eq!(Some(waited_ns(&findings, "scan") as i64), last_ns);
    assert_eq!(named(&findings), []);
}

/// Commits one after the other, which ask for no more beside a writer than without it.
#[test]
fn commits_lose_what_they_take_longer_beside_who_has_the_greater_part_of_them() {
    let mut load = Load::with(&["ledger", "flood"]);
    let (mut now_ns, mut lost_ns) = (0, 0);
    while now_ns < 45 * S {
        let chance_ns = now_ns / 1000 % 7 * 10_000;
        let took_ns = if is_beside(now_ns) { 60 * MS } else { 2 * MS + chance_ns };
        lost_ns += if is_beside(now_ns) { took_ns - 2 * MS } else { 0 };
        load.context.calls.push(Call {
            kind: model::record::CallKind::Fdatasync,
            file_system: 8 << 20,
            pid: 1,
            begin_ns: now_ns,
            end_ns: Some(now_ns + took_ns),
            ..Call::default()
        });
        load.request(1, Op::Write, now_ns + MS / 10, took_ns - MS / 5, 4096);
        now_ns += took_ns + MS / 10;
    }
    for number in 15 * 60..30 * 60 {
        load.request(2, Op::Write, number * S / 60, S / 60, 16 << 10);
        load.rows.last_mut().unwrap().flags = Flags::DIRECT | Flags::SYNC;
    }
    for row in load.rows.iter_mut().filter(|row| row.pid == Some(1)) {
        let number = model::record::FileNumber { file_system: 8 << 20, inode: 5, generation: 0 };
        row.file = Some(model::record::FileKey { kind: model::record::FileKind::Regular, number });
    }
    let findings = load.findings();
    let is_its =
        |(victim, cause, _): &(String, String, f64)| victim == "ledger" && cause == "flood";
    let lost_s: f64 = named(&findings).into_iter().filter(is_its).map(|(.., s)| s).sum();
    assert!((lost_s / (lost_ns as f64 / 1e9) - 1.0).abs() < 0.05, "{lost_s} of {lost_ns} ns");
}

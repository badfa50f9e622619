//! A trace cut in any way has the same verdict, to the last bit.

use super::*;
use model::record::{CpuUse, FileKey, FileKind, FileNumber, JournalCommit, NamedFile};
use proptest::prelude::*;

const FILE_SYSTEM: u32 = 8 << 20;

/// A request: when it begins, how long it takes, whose it is, its size, its kind.
type Row = (i64, i64, u32, u32, u8);

fn load(rows: &[Row], calls: &[(i64, i64, u64)], minutes: i64) -> Load {
    let mut load = Load::with(&["a", "b", "c", "kworker/u4:1-flush"]);
    let named = |inode: u64| NamedFile {
        file_system: FILE_SYSTEM.into(),
        inode,
        path: Some(format!("/{inode}")),
        since_ns: Some(0),
        ..NamedFile::default()
    };
    load.context.files = vec![named(5), named(6)];
    for (begin, took, pid, size, kind) in rows {
        let op = [Op::Read, Op::Read, Op::Write, Op::Flush][usize::from(*kind % 4)];
        load.request(*pid, op, begin % (minutes * 60_000) * MS, took * MS, 4096 << size);
        let row = load.rows.last_mut().unwrap();
        row.device = FILE_SYSTEM + u32::from(kind % 2);
        let inode = 5 + u64::from(kind / 4 % 3);
        let number = FileNumber { file_system: FILE_SYSTEM, inode, generation: 0 };
        row.file = Some(FileKey { kind: FileKind::Regular, number });
    }
    load.rows.sort_by_key(|row| row.queued_ns);
    let call = |(begin, took, pid): &(i64, i64, u64)| Call {
        file_system: FILE_SYSTEM.into(),
        inode: 5,
        pid: *pid,
        begin_ns: begin % (minutes * 60_000) * MS,
        end_ns: Some((begin % (minutes * 60_000) + took) * MS),
        transaction: Some(begin.unsigned_abs() / 30_000),
        ..Call::default()
    };
    load.context.calls = calls.iter().map(call).collect();
    load.context.calls.sort_by_key(|call| call.begin_ns);
    let commit = |number: i64| JournalCommit {
        file_system: FILE_SYSTEM.into(),
        transaction: number as u64,
        started_ns: number * 30_000 * MS,
        ended_ns: Some((number + 1) * 30_000 * MS),
        ..JournalCommit::default()
    };
    load.context.commits = (0..20).map(commit).collect();
    // Every third second all CPUs are busy; who uses them is told across the ends of minutes.
    let cpu_time = |second: i64| CpuTime {
        from_ns: second * 1000 * MS,
        until_ns: (second + 1) * 1000 * MS,
        cpus: 2,
        idle_ns: if second % 3 == 0 { 0 } else { 1_000_000_000 },
        stolen_ns: if second % 7 == 0 { 100_000_000 } else { 0 },
        io_stalled_ns: None,
    };
    load.context.cpu_times = (0..minutes * 60).map(cpu_time).collect();
    let device = u64::from(load.rows[0].device);
    let cpu_use = |number: i64| CpuUse {
        from_ns: number * 1700 * MS,
        until_ns: (number + 1) * 1700 * MS,
        pid: 1 + number.unsigned_abs() / 2 % 3,
        process: 1 + number.unsigned_abs() / 2 % 3,
        command: "x".to_owned(),
        ran_ns: if number % 2 == 0 { 900_000_000 } else { 0 },
        waited_ns: if number % 2 == 0 { 0 } else { 700_000_000 },
        serves_device: (number % 4 == 1).then_some(device),
    };
    load.context.cpu_uses = (0..minutes * 60_000 / 1700).map(cpu_use).collect();
    load
}

fn known(load: &Load) -> Arc<Known> {
    let mut known = Known::new(load.context.clone(), Selection::default());
    load.rows.iter().for_each(|row| known.homes().add(row));
    Arc::new(known)
}

/// The verdict of some minutes of it.
fn of_minutes(known: &Arc<Known>, rows: &[Request], numbers: Range<i64>) -> Verdict {
    let (mut minutes, commands) = (Minutes::of(known, numbers), Commands::default());
    for row in rows {
        if minutes.concerns(row.queued_ns.unwrap(), row.completed_ns.unwrap()) {
            minutes.add(row, &commands);
        }
    }
    minutes.verdict()
}

/// What is told, to the last bit.
fn told(verdict: &Verdict) -> Vec<String> {
    let findings = verdict.findings(&|device| device.to_string());
    let bits = |finding: &Finding| {
        let of = [finding.value, finding.low, finding.high];
        let bits = of.map(|value| value.map(f64::to_bits));
        format!("{:?} {} {} {bits:?}", finding.subject, finding.quantity, finding.count)
    };
    findings.iter().map(bits).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_trace_cut_in_any_way_has_the_same_verdict(
        rows in prop::collection::vec(
            (0i64..300_000, 1i64..4000, 1u32..6, 0u32..4, any::<u8>()),
            1..600,
        ),
        calls in prop::collection::vec((0i64..300_000, 1i64..90_000, 1u64..6), 0..60),
        cuts in prop::collection::btree_set(0i64..5, 0..4),
        is_backwards in any::<bool>(),
    ) {
        let load = load(&rows, &calls, 5);
        let known = known(&load);
        let of = |numbers: Range<i64>| of_minutes(&known, &load.rows, numbers);
        let whole = told(&of(-1000..1000));
        let starts = std::iter::once(-1000).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain(std::iter::once(1000));
        let mut parts: Vec<Verdict> = starts.zip(ends).map(|(start, end)| of(start..end)).collect();
        if is_backwards {
            parts.reverse();
        }
        let mut joined = Verdict::new(&known);
        parts.into_iter().for_each(|part| joined.merge(part));
        prop_assert_eq!(told(&joined), whole);
    }
}

/// A storm that only one of its minutes' calm can tell: in the middle one others are always busy.
#[test]
fn a_minute_without_calm_is_held_against_that_of_the_others() {
    let mut load = Load::with(&["reader", "dd of=x"]);
    let is_busy = |ns: i64| (60_000 * MS..120_000 * MS).contains(&ns);
    load.reads(1, 180, |ns| if is_busy(ns) { 9 * MS } else { MS });
    for number in 6000..12_000 {
        load.request(2, Op::Write, number * 10 * MS, 10 * MS, 1 << 20);
    }
    let findings = load.findings();
    let [(victim, cause, lost_s)] = &named(&findings)[..] else { panic!("{:?}", named(&findings)) };
    assert_eq!((victim.as_str(), cause.as_str()), ("reader", "dd"));
    // 30000 reads of 8 ms more.
    assert!((225.0..241.0).contains(lost_s), "{lost_s}");
    let low = findings.iter().find(|f| f.quantity == "lost_ns").and_then(|f| f.low);
    assert!(low.is_some_and(|ns| ns > 200e9), "it is no estimate: {low:?}");
}

/// A backup evicts pages at the end of a minute, and they are read again in the next one.
#[test]
fn what_is_evicted_in_one_minute_and_read_again_in_the_next_is_lost_however_it_is_cut() {
    let mut load = Load::with(&["shop", "backup"]);
    for number in 0..600 {
        load.request(2, Op::Read, (50_000 + number * 16) * MS, MS / 10, 1 << 20);
    }
    for number in 0..5000 {
        load.request(1, Op::Read, (60_000 + number * 4) * MS, MS, 4096);
        load.rows.last_mut().unwrap().flags = Flags::REFAULTED;
    }
    let known = known(&load);
    let whole = of_minutes(&known, &load.rows, -1000..1000);
    let mut joined = Verdict::new(&known);
    for numbers in [1..1000, -1000..1] {
        joined.merge(of_minutes(&known, &load.rows, numbers));
    }
    assert_eq!(told(&joined), told(&whole));
    let findings = joined.findings(&|_| "sda".to_owned());
    let [(victim, cause, lost_s)] = &named(&findings)[..] else { panic!("{:?}", named(&findings)) };
    assert_eq!((victim.as_str(), cause.as_str()), ("shop", "backup"));
    assert!((4.7..=5.0).contains(lost_s), "{lost_s}");
}

/// A call each ten seconds: no minute has enough of them to know what is calm.
#[test]
fn what_is_rare_is_held_against_calm_of_the_whole() {
    let mut load = Load::with(&["writer", "dd of=x"]);
    let number = FileNumber { file_system: FILE_SYSTEM, inode: 5, generation: 0 };
    load.request(9, Op::Read, 0, MS, 4096);
    load.rows[0].file = Some(FileKey { kind: FileKind::Regular, number });
    for ten in 1..60 {
        let begin_ns = ten * 10_000 * MS;
        let is_busy = ten % 6 == 3;
        let took_ns = if is_busy { 500 * MS } else { 20 * MS + ten % 7 * MS };
        load.context.calls.push(Call {
            file_system: FILE_SYSTEM.into(),
            inode: 5,
            pid: 1,
            begin_ns,
            end_ns: Some(begin_ns + took_ns),
            ..Call::default()
        });
        load.request(1, Op::Flush, begin_ns + 10, took_ns - 20, 0);
        for write in 0..if is_busy { 50 } else { 0 } {
            load.request(2, Op::Write, begin_ns + write * 10 * MS, 10 * MS, 1 << 20);
        }
    }
    let findings = load.findings();
    let [(victim, cause, lost_s)] = &named(&findings)[..] else { panic!("{:?}", named(&findings)) };
    assert_eq!((victim.as_str(), cause.as_str()), ("writer", "dd"));
    // Ten calls that took 477 ms more, of which the own flush has a part.
    assert!((3.9..4.8).contains(lost_s), "{lost_s}");
}

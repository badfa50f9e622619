//! A time of a trace, and processes by themselves.

use super::*;
use crate::selection::Who;
use proptest::prelude::*;
use std::ops::Range;

const S: i64 = 1000 * MS;

impl Load {
    fn selected(self, time_ns: Range<i64>) -> Vec<Finding> {
        self.told(Selection { time_ns, ..Selection::default() })
    }

    fn of_process(self, who: &str) -> Vec<Finding> {
        self.told(Selection { process: Some(Who::of(who)), ..Selection::default() })
    }

    /// Reads that others' writes hold up in the second half of every fifth second.
    fn bursts(programs: &[&str]) -> Self {
        let mut load = Self::with(programs);
        load.reads(1, 30, |ns| if is_in_burst(ns) { 9 * MS } else { MS });
        for number in 0..300 {
            let begin_ns = (number / 50 * 5000 + 4500 + number % 50 * 10) * MS;
            load.request(2, Op::Write, begin_ns, 10 * MS, 1 << 20);
        }
        load
    }
}

#[test]
fn of_a_selected_time_its_own_waits_are_told_of_and_times_are_the_traces() {
    let findings = Load::bursts(&["reader", "dd of=x"]).selected(9 * S..11 * S);
    let [(victim, cause, lost_s)] = &named(&findings)[..] else { panic!("{:?}", named(&findings)) };
    assert_eq!((victim.as_str(), cause.as_str()), ("reader", "dd"));
    // One burst of 250 reads that took 8 ms more.
    assert!((1.7..2.02).contains(lost_s), "{lost_s}");
    assert_eq!(values(&findings, "affected_from_ns"), [9.5e9]);
    let span = values(&findings, "verdict_span_ns");
    assert!(span.len() == 1 && (1.99e9..=2e9).contains(&span[0]), "{span:?}");
    assert_eq!(values(&findings, "waits_count"), [1000.0]);
    assert_eq!(named(&Load::bursts(&["reader", "dd of=x"]).selected(10 * S..14 * S)), []);
}

/// The one that is to blame arrives before the selection and is in flight at its beginning.
#[test]
fn what_is_in_flight_at_the_beginning_is_load_and_no_wait() {
    let load = || {
        let mut load = Load::with(&["reader", "dd of=x"]);
        load.reads(1, 10, |ns| if (4 * S..5 * S).contains(&ns) { 9 * MS } else { MS });
        load.request(2, Op::Write, 4 * S, S, 1 << 30);
        // It waits, and not in the selection.
        load.request(2, Op::Read, 4 * S + MS, S / 2, 1 << 20);
        load
    };
    let findings = load().selected(4 * S + 200 * MS..8 * S);
    let [(victim, cause, lost_s)] = &named(&findings)[..] else { panic!("{:?}", named(&findings)) };
    assert_eq!((victim.as_str(), cause.as_str()), ("reader", "dd"));
    assert!((2.8..3.25).contains(lost_s), "400 reads of 8 ms more: {lost_s}");
    let waits: Vec<_> = findings.iter().filter(|f| f.quantity == "waits_count").collect();
    assert_eq!(waits.len(), 1, "{waits:?}");
}

#[test]
fn what_comes_behind_the_end_is_load_of_the_waits_that_still_go_on() {
    let mut load = Load::with(&["reader", "dd of=x"]);
    load.reads(1, 4, |_| MS);
    (0..40).for_each(|n| load.request(1, Op::Read, 4 * S - 40 * MS + n * MS, 40 * MS, 4096));
    load.request(2, Op::Write, 4 * S + MS / 2, 38 * MS, 1 << 30);
    let findings = load.selected(0..4 * S);
    let causes: Vec<_> = named(&findings).into_iter().map(|(_, cause, _)| cause).collect();
    assert_eq!(causes, ["dd"]);
    assert_eq!(values(&findings, "verdict_span_ns"), [4e9]);
}

#[test]
fn a_process_by_itself_can_wait_for_another_of_its_role() {
    let backends = ["postgres: app shop [local] SELECT", "postgres: app shop [local] VACUUM"];
    let load = || Load::bursts(&backends);
    assert_eq!(named(&load().findings()), [], "one role cannot wait for itself");
    let alone = |number: u32, title: &str| format!("postgres: {title} ({number})");
    for (who, expected) in [
        ("1", (alone(1, "app shop [loc…"), "postgres: backend".to_owned())),
        ("2", ("postgres: backend".to_owned(), alone(2, "app shop [loc…"))),
        ("VACUUM", ("postgres: backend".to_owned(), alone(2, "app shop [loc…"))),
        ("app shop", (alone(1, "app shop [loc…"), alone(2, "app shop [loc…"))),
    ] {
        let found = named(&load().of_process(who));
        let [(victim, cause, lost_s)] = &found[..] else { panic!("{who}: {found:?}") };
        assert_eq!((victim, cause), (&expected.0, &expected.1), "{who}");
        assert!((10.5..12.1).contains(lost_s), "{who}: {lost_s}");
    }
    for who in ["3", "checkpointer"] {
        assert_eq!(named(&load().of_process(who)), [], "{who}");
    }
}

#[test]
fn processes_that_nothing_tells_of_are_known_by_their_commands() {
    let mut commands = Commands::default();
    let command = Some(commands.number(b"gzip-12"));
    let row = |pid| Request {
        command,
        pid,
        queued_ns: Some(5),
        completed_ns: Some(9),
        ..Request::default()
    };
    for (pid, who, expected) in
        [(Some(7), "7", "gzip-12 (7)"), (Some(7), "zip", "gzip-12 (7)"), (None, "zip", "gzip-12")]
    {
        let selection = Selection { process: Some(Who::of(who)), ..Selection::default() };
        let known = Known::new(Context::default(), selection);
        let verdict = whole(known, &[row(pid)], &commands);
        assert_eq!(verdict.processes(), [expected], "{who}");
    }
    let selection = Selection { process: Some(Who::of("0")), ..Selection::default() };
    let verdict = whole(Known::new(Context::default(), selection), &[row(None)], &commands);
    assert!(verdict.processes().is_empty(), "no number is not number 0");
}

/// From when, for how long, and by which process; the last of a row: whether it reads.
type Row = (i64, i64, u32, bool);
type Called = (i64, i64, u64);

/// Waits, calls and bytes of the parts sum to those of the whole; times are in ms.
fn sums_to_the_whole(rows: &[Row], calls: &[Called], cut: i64) -> Result<(), TestCaseError> {
    let load = || {
        let mut load = Load { is_deep: true, ..Load::with(&["a", "b"]) };
        for (begin, took, pid, is_read) in rows {
            let op = if *is_read { Op::Read } else { Op::Write };
            load.request(*pid, op, begin * MS, took * MS, 8192);
        }
        let file_system = 8 << 20;
        let kind = model::record::FileKind::Regular;
        let number = model::record::FileNumber { file_system, inode: 5, generation: 0 };
        let file = model::record::FileKey { kind, number };
        load.rows.iter_mut().for_each(|row| row.file = Some(file));
        // Where the file system lies the first row tells.
        load.request(9, Op::Write, -1, MS, 512);
        load.rows.last_mut().unwrap().file = Some(file);
        let call = |(begin, took, pid): &Called| Call {
            file_system: file_system.into(),
            inode: 5,
            pid: *pid,
            begin_ns: begin * MS,
            end_ns: Some((begin + took) * MS),
            ..Call::default()
        };
        load.context.calls = calls.iter().map(call).collect();
        load.context.calls.sort_by_key(|call| call.begin_ns);
        load
    };
    let parts = [i64::MIN..cut * MS, cut * MS..i64::MAX].map(|part| load().selected(part));
    let whole = load().findings();
    for quantity in
        ["waits_count", "waited_ns", "file_calls_count", "file_read_bytes", "file_write_bytes"]
    {
        let sum = |findings: &[Finding]| values(findings, quantity).iter().sum::<f64>();
        prop_assert_eq!(sum(&parts[0]) + sum(&parts[1]), sum(&whole), "{}", quantity);
    }
    Ok(())
}

#[test]
fn a_read_where_a_call_of_its_thread_ends_is_a_wait_of_its_own() {
    sums_to_the_whole(&[(338, 1, 1, true)], &[(239, 99, 1)], 338).unwrap();
}

proptest! {
    #[test]
    fn what_is_cut_in_two_sums_to_the_whole(
        rows in prop::collection::vec((0i64..1000, 1i64..400, 1u32..4, any::<bool>()), 1..60),
        calls in prop::collection::vec((0i64..1000, 1i64..400, 1u64..4), 0..20),
        cut in 0i64..1100,
    ) {
        sums_to_the_whole(&rows, &calls, cut)?;
    }

    /// Few times, so that many are the same.
    #[test]
    fn what_is_cut_where_others_begin_or_end_sums_to_the_whole(
        rows in prop::collection::vec((0i64..10, 1i64..4, 1u32..4, any::<bool>()), 1..8),
        calls in prop::collection::vec((0i64..10, 1i64..4, 1u64..4), 0..4),
        cut in 0i64..12,
    ) {
        sums_to_the_whole(&rows, &calls, cut)?;
    }
}

//! What holds for every replay, and known results on a machine that is easily reckoned with.

use super::*;
use crate::bus::Bus;
use crate::drive::{Access, Capacity, Drive};
use crate::profile::CATALOG;
use model::record::{Flags, Op, Request};
use proptest::prelude::*;

/// A revolution of 10 ms, 10 sectors of 1 ms, no skew, seeks of 5 ms, a bus of 1 kB in 1 ms.
const MACHINE: &str = "kind = 'machine'\n
    [queue]\nassumed = 'x'\npolicy = 'c-scan'\nwrite_interval = '0 ms'\n
    [controller]\nassumed = 'x'\noutstanding = 1\nordering = 'fifo'\nshared = false\n
    [bus]\nassumed = 'x'\nrate = '1 MB/s'\noverhead = '0 ms'\n
    [drive.design]\nassumed = 'x'\nkind = 'speed-matching'\n
    [drive.command]\nassumed = 'x'\noverhead = '0 ms'\n
    [drive.rotation]\nassumed = 'x'\nspeed = '6000 rpm'\n
    [drive.layout]\nassumed = 'x'\nsector_size = '1 kB'\nsectors_per_track = 10\nheads = \
    2\ncylinders = 100\n
    [drive.seek]\nassumed = 'x'\npoints_ms = [[1, 5.0], [99, 5.0]]\n";

fn machine(settings: &[(&str, &str)]) -> ReplayMachine {
    let mut profile = CATALOG.load_text("m", "m.toml", MACHINE).unwrap();
    for (key, value) in settings {
        profile.set(key, value).unwrap();
    }
    ReplayMachine::read(&profile.reader()).unwrap()
}

fn row(at_ms: f64, op: Op, block: u64, blocks: u32) -> Request {
    Request {
        op,
        offset_bytes: Some(block * 1000),
        length_bytes: blocks * 1000,
        queued_ns: Some((at_ms * 1e6) as i64),
        ..Request::default()
    }
}

type Replay =
    fn(ReplayMachine, Vec<Request>, &mut dyn FnMut(&Request)) -> Result<Outcome, ReplayError>;

const OPEN: Replay = |machine, rows, sink| open(machine, each(rows), sink);
const DEPENDENT: Replay = |machine, rows, sink| dependent(machine, each(rows), sink);

fn completions(replay: Replay, settings: &[(&str, &str)], rows: Vec<Request>) -> Vec<[f64; 3]> {
    let mut completions = vec![];
    let mut sink = |row: &Request| {
        let times = [row.queued_ns, row.issued_ns, row.completed_ns];
        completions.push(times.map(|at_ns| at_ns.unwrap() as f64 / 1e6));
    };
    replay(machine(settings), rows, &mut sink).unwrap();
    completions
}

#[test]
fn a_read_waits_for_the_platter_and_then_for_the_bus() {
    // Block 3 is under the head from 3 to 5 ms for two blocks, then 2 ms on the bus.
    let rows = vec![row(0.0, Op::Read, 3, 2)];
    assert_eq!(completions(OPEN, &[], rows), [[0.0, 0.0, 7.0]]);
    // On the crossing to the other track, 1 ms goes over the bus while the platter gives the second
    // block.
    let rows = vec![row(0.0, Op::Read, 9, 2)];
    assert_eq!(completions(OPEN, &[], rows), [[0.0, 0.0, 12.0]]);
    // A seek of 5 ms, then block 3 of the next cylinder at 13 ms.
    let rows = vec![row(0.0, Op::Read, 23, 1)];
    assert_eq!(completions(OPEN, &[], rows), [[0.0, 0.0, 15.0]]);
}

#[test]
fn a_write_s_data_come_while_the_arm_moves() {
    let rows = vec![row(0.0, Op::Write, 26, 4)];
    assert_eq!(completions(OPEN, &[], rows), [[0.0, 0.0, 10.0]]);
    // 7 ms on the bus are more than the seek: block 6 has gone by, and comes again at 16 ms.
    let rows = vec![row(0.0, Op::Write, 26, 7)];
    assert_eq!(completions(OPEN, &[], rows), [[0.0, 0.0, 23.0]]);
    let slow = [("drive.command.overhead", "2 ms"), ("drive.seek.points_ms", "[[1, 3.0]]")];
    assert_eq!(completions(OPEN, &slow, vec![row(0.0, Op::Write, 26, 1)]), [[0.0, 0.0, 7.0]]);
}

#[test]
fn what_the_controller_does_not_take_waits_in_the_driver_s_queue() {
    let rows = |device: u32| {
        let of = |block| Request { device, ..row(0.0, Op::Read, block, 1) };
        [of(0), of(45), of(25)]
    };
    let mut outcome = Outcome::default();
    let mut issued = vec![];
    let mut run = |settings: &[(&str, &str)], rows: Vec<Request>| {
        issued.clear();
        outcome =
            open(machine(settings), each(rows), |row| issued.push(row.issued_ns.unwrap())).unwrap();
        (outcome.clone(), issued.iter().filter(|at_ns| **at_ns == 0).count())
    };
    let (outcome, at_once) = run(&[], rows(0).to_vec());
    assert_eq!((at_once, outcome.queued(), outcome.devices[0].most_outstanding), (1, 2, 3));
    assert!(outcome.queueing_sentence().unwrap().starts_with("2 of 3 requests found"));
    let (outcome, at_once) = run(&[("controller.outstanding", "3")], rows(0).to_vec());
    assert_eq!((at_once, outcome.queued(), outcome.queueing_sentence()), (3, 0, None));
    let two = [rows(0), rows(1)].concat();
    let (_, at_once) = run(&[], two.clone());
    assert_eq!(at_once, 2);
    let (outcome, at_once) = run(&[("controller.shared", "true")], two);
    assert_eq!((at_once, outcome.requests), (1, 6));
}

#[test]
fn the_queue_s_order_is_the_policy_s() {
    // All wait for the first; the sweep goes up over cylinders 1 and 2.
    let rows =
        || vec![row(0.0, Op::Read, 0, 1), row(0.1, Op::Read, 45, 1), row(0.2, Op::Read, 25, 1)];
    let order = |policy| {
        let completions = completions(OPEN, &[("queue.policy", policy)], rows());
        completions[1][2] < completions[2][2]
    };
    assert!(order("fifo") && !order("c-scan"));
}

#[test]
fn dribbled_writes_are_given_to_the_queue_one_by_one() {
    let write = |block| Request { flags: Flags::BACKGROUND, ..row(0.0, Op::Write, block, 1) };
    let rows = || vec![write(0), write(1), write(2), row(0.5, Op::Read, 3, 1)];
    let issued = |settings: &[(&str, &str)]| {
        completions(OPEN, settings, rows()).into_iter().map(|times| times[1]).collect::<Vec<_>>()
    };
    assert_eq!(issued(&[("queue.write_interval", "40 ms")]), [0.0, 40.0, 80.0, 11.0]);
    let all_at_once = issued(&[]);
    assert!(all_at_once[3] > all_at_once[2]);
}

#[test]
fn what_waited_for_a_completion_waits_for_it_here_too() {
    // In the trace the first took 1 ms, and the process thought for 4 ms; here the first takes 7
    // ms.
    let first = Request { completed_ns: Some(1_000_000), pid: Some(1), ..row(0.0, Op::Read, 3, 2) };
    let second = Request { pid: Some(1), ..row(5.0, Op::Read, 0, 1) };
    let other = Request { pid: Some(2), ..row(5.5, Op::Read, 0, 1) };
    let rows = vec![first, second, other];
    let came = |replay| {
        completions(replay, &[], rows.clone()).into_iter().map(|t| t[0]).collect::<Vec<_>>()
    };
    assert_eq!(came(OPEN), [0.0, 5.0, 5.5]);
    assert_eq!(came(DEPENDENT), [0.0, 5.5, 11.0]);
    // Nobody waits for an asynchronous write.
    let first = Request { op: Op::Write, flags: Flags::BACKGROUND, ..first };
    let came = completions(DEPENDENT, &[], vec![first, second]);
    assert_eq!(came[1][0], 5.0);
    // What comes seconds later was caused by something else.
    let late = Request { queued_ns: Some(3_000_000_000), ..second };
    let first = Request { op: Op::Read, flags: Flags::default(), ..first };
    assert_eq!(completions(DEPENDENT, &[], vec![first, late])[1][0], 3000.0);
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let error = open(machine(&[]), each(vec![row(0.0, Op::Read, 1999, 2)]), |_| ()).unwrap_err();
    assert!(
        error.to_string().contains("ends at byte 2001000, but the drive has 2000000"),
        "{error}"
    );
    let beyond = Request { offset_bytes: Some(u64::MAX - 5), ..row(0.0, Op::Read, 0, 1) };
    let error = open(machine(&[]), each(vec![beyond]), |_| ()).unwrap_err();
    assert!(matches!(error, ReplayError::PastEnd { end_bytes: u64::MAX, .. }), "{error}");
    let rows = vec![row(1.0, Op::Read, 0, 1), row(0.5, Op::Read, 0, 1)];
    for replay in [OPEN, DEPENDENT] {
        let error = replay(machine(&[]), rows.clone(), &mut |_| ()).unwrap_err();
        assert_eq!(error, ReplayError::Unsorted { request_id: 0, early_ns: 500_000 });
    }
    let mut profile = CATALOG.load_text("m", "m.toml", MACHINE).unwrap();
    profile.set("queue.policy", "sst").unwrap();
    let error = ReplayMachine::read(&profile.reader()).unwrap_err().to_string();
    assert!(error.contains("did you mean \"sstf\""), "{error}");
}

#[test]
fn a_flush_is_served_and_a_write_that_asks_for_one_follows_it() {
    // A flush takes the command's 2 ms; then block 3 of the other half passes from 3 to 4 ms.
    let command = [("drive.command.overhead", "2 ms")];
    let flush = Request { offset_bytes: None, length_bytes: 0, ..row(0.0, Op::Flush, 0, 0) };
    assert_eq!(completions(OPEN, &command, vec![flush]), [[0.0, 0.0, 2.0]]);
    let write = row(0.0, Op::Write, 7, 1);
    let after = Request { flags: Flags::PREFLUSH, ..write };
    assert_eq!(completions(OPEN, &command, vec![write]), [[0.0, 0.0, 8.0]]);
    assert_eq!(completions(OPEN, &command, vec![after]), [[0.0, 0.0, 8.0]]);
    let after = Request { flags: Flags::PREFLUSH, ..row(0.0, Op::Write, 3, 1) };
    assert_eq!(completions(OPEN, &command, vec![after]), [[0.0, 0.0, 14.0]]);
    let (mut found, closed_row) = (vec![], Request { completed_ns: Some(1), ..after });
    closed(machine(&command), each([closed_row]), |row| found.push(row.completed_ns.unwrap()))
        .unwrap();
    assert_eq!(found, [14_000_000]);
    // The parts of a sequence are not served besides.
    let part = Request { parent_id: Some(0), ..flush };
    let outcome = open(machine(&command), each(vec![after, part]), |_| ()).unwrap();
    assert_eq!((outcome.requests, outcome.left_out, outcome.devices[0].requests), (1, 1, 1));
    assert_eq!(outcome.devices[0].busy_ns, 14_000_000);
}

#[test]
fn no_driver_sorts_flushes() {
    // All wait for the first; the flush came last, and goes next.
    let (of, flush) = (|block| row(0.0, Op::Read, block, 1), row(0.0, Op::Flush, 0, 0));
    let command = [("drive.command.overhead", "2 ms")];
    let issued = completions(OPEN, &command, vec![of(0), of(45), of(25), flush]);
    assert!(issued[3][1] < issued[1][1] && issued[3][1] < issued[2][1], "{issued:?}");
}

/// A drive that serves three at once; a request takes a millisecond a block.
#[derive(Debug, Clone)]
struct Three;

impl Drive for Three {
    fn capacity(&self) -> Capacity {
        Capacity { sector_bytes: 1000, blocks: 2000 }
    }

    fn depth(&self) -> usize {
        3
    }

    fn serve(&mut self, given_ns: f64, access: Access, _: &mut Bus) -> f64 {
        given_ns + access.blocks.max(1) as f64 * 1e6
    }

    fn fresh(&self) -> Box<dyn Drive> {
        Box::new(self.clone())
    }
}

#[test]
fn a_drive_may_serve_several_at_once() {
    let replay = |outstanding, rows: Vec<Request>| {
        let of = machine(&[("controller.outstanding", outstanding)]);
        let mut times = vec![];
        let outcome = open(ReplayMachine { drive: Box::new(Three), ..of }, each(rows), |row| {
            times.push([row.issued_ns, row.completed_ns].map(|ns| ns.unwrap() / 1_000_000));
        });
        (outcome.unwrap(), times)
    };
    let rows = [4, 2, 1, 1, 5].map(|blocks| row(0.0, Op::Read, 0, blocks));
    let (outcome, times) = replay("5", rows.to_vec());
    // The fourth has the place of the third, and the fifth that of the second or fourth.
    assert_eq!(times, [[0, 4], [0, 2], [0, 1], [0, 2], [0, 7]]);
    assert_eq!((outcome.devices[0].busy_ns, outcome.devices[0].requests), (7_000_000, 5));
    // Time without any is not busy.
    let later = row(20.0, Op::Read, 0, 2);
    assert_eq!(replay("5", vec![rows[0], later]).0.devices[0].busy_ns, 6_000_000);
    // A controller that takes fewer keeps places empty.
    let (_, times) = replay("2", rows.to_vec());
    assert_eq!(times, [[0, 4], [0, 2], [2, 3], [3, 4], [4, 9]]);
    // A write that asks for a flush first keeps its place meanwhile.
    let after = Request { flags: Flags::PREFLUSH, ..row(0.0, Op::Write, 0, 2) };
    assert_eq!(replay("5", vec![rows[0], after, rows[2]]).1, [[0, 4], [0, 3], [0, 1]]);
}

#[test]
fn rows_that_no_drive_serves_are_counted() {
    let discard = Request { op: Op::Discard, ..row(0.0, Op::Read, 0, 1) };
    let part = Request { parent_id: Some(7), ..row(0.0, Op::Write, 0, 1) };
    let orphan = Request { queued_ns: None, completed_ns: Some(5), ..row(0.0, Op::Read, 0, 1) };
    let rows = vec![discard, part, orphan, row(0.0, Op::Read, 0, 1)];
    let outcome = open(machine(&[]), each(rows), |_| ()).unwrap();
    assert_eq!((outcome.requests, outcome.left_out), (1, 3));
    assert!(outcome.left_out_sentence().unwrap().starts_with("3 of 4 rows are not for a drive"));
}

#[test]
fn an_empty_trace_is_no_error() {
    for replay in [OPEN, DEPENDENT] {
        let outcome = replay(machine(&[]), vec![], &mut |_| ()).unwrap();
        assert_eq!(outcome, Outcome::default());
    }
}

fn traces() -> impl Strategy<Value = Vec<Request>> {
    let one = (0u32..40, 0u32..5, 0u64..1990, 1u32..10, 0u32..3, 0u32..3, 0u32..60);
    proptest::collection::vec(one, 0..120).prop_map(|rows| {
        let mut at_ms = 0.0;
        let rows = rows.into_iter().enumerate();
        let row = |(number, (gap, kind, block, blocks, device, pid, took))| {
            at_ms += f64::from(gap);
            let op = [Op::Read, Op::Read, Op::Write, Op::Write, Op::Flush][kind as usize];
            let flags = Flags::default().with(Flags::PREFLUSH, kind == 3);
            let row = Request { flags, ..row(at_ms, op, block, blocks) };
            let completed_ns = row.queued_ns.map(|at_ns| at_ns + i64::from(took) * 1_000_000);
            let pid = (pid > 0).then_some(pid);
            Request { request_id: number as u64, device, pid, completed_ns, ..row }
        };
        rows.map(row).collect()
    })
}

proptest! {
    #[test]
    fn every_request_is_completed_once_and_in_its_time(
        rows in traces(),
        credits in 1u32..5,
        shared: bool,
    ) {
        let (credits, shared) = (credits.to_string(), shared.to_string());
        let policies = ["fifo", "c-scan", "reads-first", "deadline", "mq-deadline"];
        for (replay, policy) in [OPEN, DEPENDENT].into_iter().zip(policies.into_iter().cycle()) {
            let settings = [
                ("controller.outstanding", credits.as_str()),
                ("controller.shared", shared.as_str()),
                ("queue.policy", policy),
            ];
            let mut out = vec![];
            let keep = &mut |row: &_| out.push(*row);
            let outcome = replay(machine(&settings), rows.clone(), keep).unwrap();
            prop_assert_eq!(outcome.requests as usize, rows.len());
            prop_assert!(out.windows(2).all(|pair| pair[0].queued_ns <= pair[1].queued_ns));
            for row in &out {
                prop_assert!(row.queued_ns <= row.issued_ns && row.issued_ns <= row.completed_ns);
            }
            out.sort_by_key(|row| row.request_id);
            let numbers: Vec<u64> = out.iter().map(|row| row.request_id).collect();
            prop_assert_eq!(numbers, (0..rows.len() as u64).collect::<Vec<_>>());
        }
    }
}

//! Known results of flush sequences: whose a flush is, and what is the data's alone.

use super::Pairing;
use crate::event::{Event, Extent, Origin, Step};
use model::record::requests::Counts;
use model::record::{Flags, Op, Request};

const NOBODY: Origin = Origin::UNKNOWN;
const DONE: Step = done(0, 0, false);
const ISSUE: Step = Step::Issue { serves: None, in_sequence: false, origin: NOBODY };
const DATA: Step = Step::Issue { serves: None, in_sequence: true, origin: NOBODY };
const FLUSH: Step = Step::Issue { serves: Some(5), in_sequence: false, origin: NOBODY };

const fn done(error: i32, remaining_bytes: u32, in_sequence: bool) -> Step {
    Step::Complete { error, done_bytes: None, remaining_bytes, in_sequence, unseen: None }
}

fn start(pid: u32, tag: u64) -> Step {
    let origin = Origin { pid: Some(pid), ..NOBODY };
    Step::Start { queued_ns: Some(1), origin, tag: Some(tag) }
}

fn at(time_ns: i64, identity: Option<u64>, op: Op, flags: Flags, step: Step) -> Event {
    let is_flush = op == Op::Flush;
    let offset_bytes = (!is_flush).then_some(8192);
    let extent = Extent { op, flags, offset_bytes, length_bytes: if is_flush { 0 } else { 4096 } };
    Event { time_ns, identity, device: 1, cpu: Some(3), extent, step }
}

/// A step of a write that is to flush before it.
fn write(time_ns: i64, identity: u64, step: Step) -> Event {
    at(time_ns, Some(identity), Op::Write, Flags::PREFLUSH | Flags::FUA, step)
}

/// The same of its data, which the kernel sends without that flag.
fn data(time_ns: i64, step: Step) -> Event {
    at(time_ns, Some(7), Op::Write, Flags::FUA, step)
}

fn flush(time_ns: i64, step: Step) -> Event {
    at(time_ns, Some(1000), Op::Flush, Flags::default(), step)
}

fn pair(events: &[Event]) -> (Vec<Request>, Counts) {
    let (mut pairing, mut counts) = (Pairing::default(), Counts::default());
    events.iter().for_each(|event| pairing.event(event, &mut counts));
    pairing.finish(&mut counts);
    assert_eq!(pairing.outstanding(), 0);
    let mut rows: Vec<Request> = std::iter::from_fn(|| pairing.pop()).collect();
    rows.sort_by_key(|row| row.request_id);
    (rows, counts)
}

/// The parent of the one flush among rows.
fn parent(rows: &[Request]) -> Option<u64> {
    rows.iter().find(|row| row.op == Op::Flush).unwrap().parent_id
}

#[test]
fn the_data_has_the_flags_that_it_is_sent_with_and_times_of_its_own() {
    let (rows, counts) = pair(&[
        write(2, 7, start(9, 5)),
        data(11, DATA),
        data(20, done(0, 0, true)),
        write(31, 7, DONE),
    ]);
    let [whole, data] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((whole.flags, data.flags), (Flags::PREFLUSH | Flags::FUA, Flags::FUA));
    assert_eq!((whole.queued_ns, whole.started_ns, whole.issued_ns), (Some(1), Some(2), None));
    assert_eq!((data.queued_ns, data.started_ns, data.issued_ns), (None, None, Some(11)));
    assert_eq!((whole.completed_ns, data.completed_ns), (Some(31), Some(20)));
    assert_eq!((data.parent_id, data.pid), (Some(whole.request_id), Some(9)));
    assert_eq!(counts, Counts::default());
}

#[test]
fn what_befalls_the_data_is_the_datas() {
    // Given back, issued again, completed in two parts of which the first one failed.
    let (rows, counts) = pair(&[
        write(2, 7, start(9, 5)),
        data(11, DATA),
        data(12, Step::Requeue),
        data(15, DATA),
        data(17, done(5, 512, true)),
        data(20, done(0, 0, true)),
        write(31, 7, done(0, 0, false)),
    ]);
    let [whole, data] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((whole.error, whole.issued_ns, whole.completed_ns), (0, None, Some(31)));
    assert_eq!((data.error, data.issued_ns, data.completed_ns), (5, Some(15), Some(20)));
    assert_eq!((counts.requeued, counts.partially_completed), (1, 1));
}

#[test]
fn data_that_is_never_completed_is_a_row_whatever_becomes_of_its_sequence() {
    for end in [vec![write(31, 7, DONE)], vec![], vec![write(31, 7, start(8, 6))]] {
        let (rows, _) = pair(&[&[write(2, 7, start(9, 5)), data(11, DATA)][..], &end].concat());
        let data = rows.iter().find(|row| row.parent_id.is_some()).unwrap();
        assert_eq!((data.issued_ns, data.completed_ns), (Some(11), None), "{end:?}");
    }
}

#[test]
fn a_tag_is_its_requests_until_it_is_completed_or_merged() {
    let served = |steps: &[Event]| parent(&pair(&[steps, &[flush(50, FLUSH)]].concat()).0);
    assert_eq!(served(&[write(2, 7, start(9, 5))]), Some(0));
    // Its identity is another request's by then.
    let again = write(40, 7, start(9, 6));
    assert_eq!(served(&[write(2, 7, start(9, 5)), write(31, 7, DONE), again]), None);
    let merge = write(31, 7, Step::Merge { in_front: false });
    assert_eq!(served(&[write(2, 7, start(9, 5)), merge, again]), None);
    // The tag is another request's by then.
    let other = write(30, 8, start(9, 5));
    assert_eq!(served(&[write(2, 7, start(9, 5)), other, write(31, 7, DONE)]), Some(1));
    assert_eq!(served(&[]), None);
}

#[test]
fn a_flush_has_the_origin_of_whom_it_serves() {
    for (parents, own) in [(Flags::PREFLUSH | Flags::OWN, true), (Flags::PREFLUSH, false)] {
        let (rows, counts) = pair(&[
            at(2, Some(7), Op::Write, parents, start(9, 5)),
            flush(3, FLUSH),
            flush(10, DONE),
        ]);
        assert_eq!((rows[1].pid, rows[1].flags.contains(Flags::OWN)), (Some(9), own));
        // Its start is never seen, and none is missed.
        assert_eq!(counts, Counts::default());
    }
}

#[test]
fn an_issue_without_a_start_is_from_before_the_trace_once() {
    let (rows, counts) = pair(&[
        data(2, ISSUE),
        data(3, DONE),
        data(4, ISSUE),
        data(5, DONE),
        data(6, Step::Requeue),
        data(7, Step::Merge { in_front: false }),
    ]);
    let times: Vec<_> = rows.iter().map(|row| (row.issued_ns, row.completed_ns)).collect();
    assert_eq!(times, [(Some(2), Some(3)), (Some(4), Some(5))]);
    assert_eq!((counts.before_start, counts.requeued, counts.merged), (1, 1, 1));
}

#[test]
fn what_is_issued_again_behind_a_part_is_only_the_rest() {
    let rest = |time_ns, step| {
        let mut event = data(time_ns, step);
        (event.extent.length_bytes, event.extent.offset_bytes) = (512, Some(9000));
        event
    };
    let (rows, _) = pair(&[
        data(1, start(9, 5)),
        data(2, ISSUE),
        data(3, done(5, 512, false)),
        data(4, done(6, 100, false)),
        rest(5, Step::Requeue),
        rest(6, ISSUE),
        rest(7, done(7, 0, false)),
    ]);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].length_bytes, rows[0].offset_bytes), (4096, Some(8192)));
    assert_eq!((rows[0].issued_ns, rows[0].error), (Some(6), 5));
    assert!(!rows[0].flags.contains(Flags::MERGED));
}

#[test]
fn where_an_orphan_was_asked_is_not_known() {
    let (rows, _) = pair(&[data(3, done(4, 0, false)), data(5, start(9, 5))]);
    assert_eq!((rows[0].cpu, rows[0].error), (None, 4));
    assert_eq!((rows[1].cpu, rows[1].error), (Some(3), 0));
}

/// The same, without identity.
fn told(time_ns: i64, length_bytes: u32, step: Step) -> Event {
    let mut event = at(time_ns, None, Op::Write, Flags::PREFLUSH | Flags::FUA, step);
    event.extent.length_bytes = length_bytes;
    event
}

#[test]
fn by_place_a_flush_sequence_ends_with_a_completion_of_no_bytes() {
    let (rows, counts) = pair(&[
        told(2, 4096, start(9, 5)),
        told(3, 4096, ISSUE),
        told(10, 4096, done(5, 0, false)),
        told(20, 0, done(0, 0, false)),
    ]);
    let [whole, data] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((whole.issued_ns, whole.completed_ns), (None, Some(20)));
    assert_eq!((data.issued_ns, data.completed_ns), (Some(3), Some(10)));
    assert_eq!((data.started_ns, data.queued_ns, data.parent_id), (None, None, Some(0)));
    assert_eq!((whole.flags, data.flags), (Flags::PREFLUSH | Flags::FUA, Flags::FUA));
    assert_eq!(counts, Counts::default());
    // Without its end, the completion of its data is all that is known.
    let (rows, _) = pair(&[told(3, 4096, ISSUE), told(10, 4096, DONE)]);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].issued_ns, rows[0].completed_ns), (Some(3), Some(10)));
}

#[test]
fn by_place_an_empty_write_that_is_to_flush_is_a_flush() {
    let empty = |time_ns, step| {
        let mut event = told(time_ns, 0, step);
        event.extent.offset_bytes = None;
        event
    };
    // Its completion may have a place.
    for end in [empty(9, DONE), told(9, 0, DONE)] {
        let (rows, counts) = pair(&[empty(2, start(9, 5)), end]);
        assert_eq!((rows.len(), rows[0].op, rows[0].completed_ns), (1, Op::Flush, Some(9)));
        assert_eq!(counts, Counts::default());
    }
    // A plain write of nothing stays one, and a completion of bytes there is nobody's.
    let plain =
        |event: Event| Event { extent: Extent { flags: Flags::FUA, ..event.extent }, ..event };
    let (rows, counts) = pair(&[plain(empty(2, start(9, 5))), plain(told(8, 512, DONE))]);
    assert_eq!((rows[0].op, rows[0].completed_ns, counts.orphaned), (Op::Write, None, 1));
}

#[test]
fn by_place_two_sequences_that_end_alike_are_a_choice() {
    let (_, counts) = pair(&[
        told(1, 4096, ISSUE),
        told(2, 4096, ISSUE),
        told(3, 4096, DONE),
        told(4, 4096, DONE),
        told(5, 0, DONE),
        told(6, 0, DONE),
    ]);
    // One of the data, and one of the ends.
    assert_eq!((counts.ambiguous, counts.orphaned), (2, 0));
}

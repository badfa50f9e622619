//! Known results of pairing by place: which request a step is taken for.

use super::Pairing;
use crate::event::{Event, Extent, Origin, Step};
use model::record::requests::Counts;
use model::record::{Flags, Op, Request};

const SOMEBODY: Origin = Origin { pid: Some(9), ..Origin::UNKNOWN };
const QUEUE: Step = Step::Queue(SOMEBODY);
const START: Step = Step::Start { queued_ns: Some(0), origin: SOMEBODY, tag: None };
const ISSUE: Step = Step::Issue { serves: None, in_sequence: false, origin: SOMEBODY };
const DONE: Step = done(0);

const fn done(error: i32) -> Step {
    Step::completion(error)
}

fn at(time_ns: i64, offset: u64, length_bytes: u32, step: Step) -> Event {
    let extent =
        Extent { op: Op::Read, offset_bytes: Some(offset), length_bytes, ..Extent::default() };
    Event { time_ns, identity: None, device: 1, cpu: None, extent, step }
}

fn pair(events: &[Event]) -> (Vec<Request>, Counts) {
    let (mut pairing, mut counts) = (Pairing::default(), Counts::default());
    events.iter().for_each(|event| pairing.event(event, &mut counts));
    pairing.finish(&mut counts);
    let mut rows: Vec<Request> = std::iter::from_fn(|| pairing.pop()).collect();
    rows.sort_by_key(|row| row.request_id);
    (rows, counts)
}

/// When each that was requested was completed, and how many choices there were.
fn completed(events: &[Event]) -> (Vec<Option<i64>>, u64) {
    let (rows, counts) = pair(events);
    let requested = rows.iter().filter(|row| !row.is_orphan());
    (requested.map(|row| row.completed_ns).collect(), counts.ambiguous)
}

#[test]
fn a_completion_is_for_the_request_that_it_fits_best() {
    let issued = |time_ns, length| at(time_ns, 0, length, ISSUE);
    let queued = |time_ns, length| at(time_ns, 0, length, QUEUE);
    let completion = at(9, 0, 1024, DONE);
    for (older, newer, times, choices) in [
        // The same length goes before a longer one, if it was issued.
        (issued(1, 2048), issued(2, 1024), [None, Some(9)], 0),
        // A part of what was issued goes before all of what was queued, and that before less of
        // what was issued.
        (issued(1, 2048), queued(2, 1024), [None, None], 0),
        (issued(1, 512), queued(2, 1024), [None, Some(9)], 0),
        (queued(1, 512), queued(2, 1024), [None, Some(9)], 0),
        // What is shorter was completed only if it was issued.
        (queued(1, 512), queued(2, 256), [None, None], 0),
        (queued(1, 1024), queued(2, 1024), [Some(9), None], 1),
        (issued(1, 512), issued(2, 256), [Some(9), None], 1),
    ] {
        let found = completed(&[older, newer, completion]);
        assert_eq!(found, (times.to_vec(), choices), "{older:?} {newer:?}");
    }
}

#[test]
fn a_part_that_is_completed_leaves_the_rest_behind_it() {
    let (rows, counts) = pair(&[
        at(1, 0, 4096, ISSUE),
        at(2, 0, 1024, done(5)),
        // Nobody's: the front is completed, and that is more than is left.
        at(3, 0, 1024, DONE),
        at(4, 1024, 1024, DONE),
        at(5, 2048, 2048, done(6)),
    ]);
    assert_eq!(rows[0].completed_ns, Some(5));
    assert_eq!((rows[0].error, rows[0].offset_bytes, rows[0].length_bytes), (5, Some(0), 4096));
    assert_eq!((counts.partially_completed, counts.orphaned), (2, 1));
}

#[test]
fn a_step_is_for_the_oldest_that_has_not_taken_it() {
    let (rows, counts) = pair(&[
        at(1, 0, 512, QUEUE),
        at(2, 0, 512, QUEUE),
        at(3, 0, 512, START),
        at(4, 0, 512, START),
        at(5, 0, 512, START),
        at(6, 0, 512, ISSUE),
        at(7, 0, 512, ISSUE),
        at(8, 0, 512, Step::Requeue),
        at(9, 0, 512, ISSUE),
    ]);
    let times: Vec<_> =
        rows.iter().map(|row| (row.queued_ns, row.started_ns, row.issued_ns)).collect();
    let expected =
        [(Some(1), Some(3), Some(9)), (Some(2), Some(4), Some(7)), (Some(0), Some(5), None)];
    assert_eq!(times, expected);
    assert_eq!(counts.requeued, 1);
    // Nothing was issued that could come back.
    let (rows, counts) = pair(&[at(1, 0, 512, QUEUE), at(2, 0, 512, Step::Requeue)]);
    assert_eq!((rows.len(), counts.requeued), (1, 1));
}

#[test]
fn a_start_of_less_than_was_queued_is_of_a_part() {
    let (rows, _) = pair(&[at(1, 0, 4096, QUEUE), at(2, 0, 1024, START)]);
    assert_eq!((rows.len(), rows[0].length_bytes), (1, 1024));
    // One that tells no length leaves it.
    let (rows, _) = pair(&[at(1, 0, 4096, QUEUE), at(2, 0, 0, START), at(3, 0, 0, ISSUE)]);
    assert_eq!((rows.len(), rows[0].length_bytes), (1, 4096));
}

#[test]
fn a_merge_takes_the_newest_that_was_queued_alone() {
    let merge = |time_ns, in_front| at(time_ns, 0, 512, Step::Merge { in_front });
    let (rows, counts) =
        pair(&[at(1, 0, 512, START), at(2, 0, 512, QUEUE), at(3, 0, 512, QUEUE), merge(4, false)]);
    let times: Vec<_> = rows.iter().map(|row| (row.queued_ns, row.started_ns)).collect();
    assert_eq!(times, [(Some(0), Some(1)), (Some(2), None)]);
    assert_eq!(counts.merged, 1);
    // Where none is, a whole request that was not issued yet; what was issued stays.
    assert_eq!(pair(&[at(1, 0, 512, START), merge(4, false)]).0.len(), 0);
    assert_eq!(pair(&[at(1, 0, 512, ISSUE), merge(4, false)]).0.len(), 1);
}

#[test]
fn only_what_is_not_issued_grows_in_front() {
    let merge = at(4, 0, 512, Step::Merge { in_front: true });
    for (step, offset) in [(START, Some(0)), (ISSUE, Some(512))] {
        let (rows, _) = pair(&[at(1, 512, 512, step), at(3, 0, 512, QUEUE), merge]);
        assert_eq!((rows.len(), rows[0].offset_bytes), (1, offset), "{step:?}");
        assert_eq!(rows[0].flags.contains(Flags::MERGED), offset == Some(0));
    }
}

#[test]
fn whose_a_flush_is_nobody_guesses() {
    for (op, pid) in [(Op::Flush, None), (Op::Read, Some(9))] {
        let mut issue = at(1, 0, 0, ISSUE);
        issue.extent.op = op;
        assert_eq!(pair(&[issue]).0[0].pid, pid, "{op:?}");
    }
}

/// Outstanding requests at the most, in tests.
const OUTSTANDING: i64 = 1 << 12;

#[test]
fn of_too_many_the_older_half_is_given_up_and_no_more() {
    let (mut pairing, mut counts) = (Pairing::default(), Counts::default());
    let all = OUTSTANDING + 1;
    for n in 0..all {
        pairing.event(&at(n, n as u64 * 512, 512, ISSUE), &mut counts);
    }
    assert_eq!(pairing.outstanding(), OUTSTANDING as usize / 2 + 1);
    for n in 0..all {
        pairing.event(&at(all + n, n as u64 * 512, 512, DONE), &mut counts);
    }
    pairing.finish(&mut counts);
    let rows: Vec<Request> = std::iter::from_fn(|| pairing.pop()).collect();
    let older = OUTSTANDING / 2;
    assert_eq!(counts.orphaned, older as u64);
    for row in rows.iter().filter(|row| row.issued_ns.is_some()) {
        let place = row.offset_bytes.unwrap() as i64 / 512;
        assert_eq!(row.completed_ns, (place >= older).then_some(all + place), "{place}");
    }
}

#[test]
fn of_too_many_at_a_place_the_oldest_is_given_up() {
    let queued: Vec<Event> = (0..1026).map(|n| at(n, 0, 512, QUEUE)).collect();
    let (rows, counts) = pair(&[&queued[..], &[at(2000, 0, 512, DONE)]].concat());
    assert_eq!(rows.iter().position(|row| row.completed_ns.is_some()), Some(2));
    assert_eq!((rows.len(), counts.orphaned), (1026, 0));
}

#[test]
fn how_events_were_matched_is_told() {
    let known = Event { identity: Some(1), ..at(1, 0, 512, ISSUE) };
    for (events, words) in [
        (vec![], None),
        (vec![known], Some("by identity")),
        (vec![at(1, 0, 512, ISSUE)], Some("by place (inexact)")),
        (vec![known, at(1, 0, 512, ISSUE)], Some("by identity and by place (inexact)")),
    ] {
        let (mut pairing, mut counts) = (Pairing::default(), Counts::default());
        events.iter().for_each(|event| pairing.event(event, &mut counts));
        assert_eq!(pairing.matching(), words);
        assert_eq!((pairing.outstanding(), pairing.seen()), (events.len(), events.len() as u64));
        assert_eq!(pairing.held(), events.len());
    }
}

/// Of a row: offset, length, issue and completion.
type Ends = (Option<u64>, u32, Option<i64>, Option<i64>);

fn ends(rows: &[Request]) -> Vec<Ends> {
    rows.iter().map(|r| (r.offset_bytes, r.length_bytes, r.issued_ns, r.completed_ns)).collect()
}

/// A trace of issues and completions alone has no word of what came between two issues.
#[test]
fn what_is_issued_once_more_is_one_request() {
    let (rows, counts) = pair(&[
        at(1, 8192, 4096, ISSUE),
        at(2, 8192, 4096, ISSUE),
        at(3, 8192, 4096, ISSUE),
        at(10, 8192, 4096, DONE),
        // The next one at its place is its own.
        at(20, 8192, 4096, ISSUE),
        at(25, 8192, 4096, DONE),
        at(30, 8192, 4096, ISSUE),
        at(31, 8192, 4096, ISSUE),
        at(36, 8192, 4096, DONE),
    ]);
    let row = |issued, completed| (Some(8192), 4096, Some(issued), Some(completed));
    assert_eq!(ends(&rows), [row(1, 10), row(20, 25), row(30, 36)]);
    assert_eq!(counts, Counts { requeued: 3, ..Counts::default() });
}

#[test]
fn two_that_are_completed_are_two() {
    let (rows, counts) = pair(&[
        at(1, 8192, 4096, ISSUE),
        at(2, 8192, 4096, ISSUE),
        at(10, 8192, 4096, DONE),
        at(11, 8192, 4096, ISSUE),
        at(12, 8192, 4096, DONE),
        at(13, 8192, 4096, DONE),
    ]);
    let times: i64 = rows.iter().map(|r| r.completed_ns.unwrap() - r.issued_ns.unwrap()).sum();
    assert_eq!((rows.len(), times, counts.requeued, counts.orphaned), (3, 21, 0, 0));
    // Of a stream that tells no completions, each is one.
    let (rows, counts) = pair(&[1, 2, 3].map(|time| at(time, 8192, 4096, ISSUE)));
    assert_eq!((rows.len(), counts.requeued), (3, 0));
}

#[test]
fn where_begins_are_told_an_issue_without_one_is_again() {
    let (rows, counts) = pair(&[
        at(1, 8192, 4096, QUEUE),
        at(2, 8192, 4096, QUEUE),
        at(3, 8192, 4096, ISSUE),
        at(4, 8192, 4096, ISSUE),
        at(5, 8192, 4096, ISSUE),
        at(8, 8192, 4096, DONE),
        at(9, 8192, 4096, DONE),
    ]);
    assert_eq!(ends(&rows).len(), 2);
    assert!(rows.iter().all(|row| row.queued_ns.is_some() && row.completed_ns.is_some()));
    assert_eq!((counts.requeued, counts.orphaned), (1, 0));
}

/// Kernels before 5.12 do not tell when the scheduler merges two requests.
#[test]
fn what_the_scheduler_merged_without_a_word_is_one_request() {
    for steps in [&[QUEUE][..], &[QUEUE, START], &[START]] {
        for is_issued in [true, false] {
            let begins = [(0, 4096), (8192, 4096), (4096, 4096), (12288, 4096)];
            let begins = begins.into_iter().enumerate().flat_map(|(n, (offset, length))| {
                steps.iter().map(move |step| at(n as i64, offset, length, *step))
            });
            let issue = is_issued.then(|| at(10, 0, 12288, ISSUE));
            let rest = [at(20, 0, 12288, DONE), at(21, 12288, 4096, DONE)];
            let all: Vec<Event> = begins.chain(issue).chain(rest).collect();
            let (rows, counts) = pair(&all);
            let issued = issue.map(|event| event.time_ns);
            let merged = (Some(0), 12288, issued, Some(20));
            assert_eq!(ends(&rows), [merged, (Some(12288), 4096, None, Some(21))]);
            assert!(rows[0].flags.contains(Flags::MERGED));
            assert_eq!((counts.merged, counts.orphaned), (2, 0));
        }
    }
}

/// A completion that claims more than a request can have is taken for its rest, and no sum wraps.
#[test]
fn a_length_that_no_request_has_is_no_overflow() {
    const MOST: u32 = u32::MAX / 512 * 512;
    let (rows, _) = pair(&[
        at(1, 0, 4096, QUEUE),
        at(2, 4096, 4096, QUEUE),
        at(3, 0, 2048, DONE),
        at(4, 2048, MOST, DONE),
    ]);
    assert_eq!((rows[0].length_bytes, rows[0].completed_ns), (u32::MAX, Some(4)));
}

//! Known results, each of one peculiarity of a device's life, and any interleaving of what is not
//! one request's.

mod finished;
mod flush;
mod layer;
mod place;
mod second;

use super::Pairing;
use crate::event::{Event, Extent, Kind, Listed, Origin, Step};
use model::record::requests::Counts;
use model::record::{Flags, Op, Request};
use proptest::prelude::*;

const START: Step = Step::Start { queued_ns: None, origin: Origin::UNKNOWN, tag: None };
const ISSUE: Step = Step::Issue { serves: None, in_sequence: false, origin: NOBODY };
const NOBODY: Origin = Origin::UNKNOWN;
const QUEUE: Step = Step::Queue(Origin::UNKNOWN);
const DONE: Step = Step::completion(0);

fn extent(op: Op, offset: u64, length: u32) -> Extent {
    Extent {
        op,
        offset_bytes: (op != Op::Flush).then_some(offset),
        length_bytes: length,
        ..Extent::default()
    }
}

fn event(time_ns: i64, identity: Option<u64>, extent: Extent, step: Step) -> Event {
    Event { time_ns, identity, device: 1, cpu: None, extent, step }
}

fn read(time_ns: i64, identity: u64, step: Step) -> Event {
    event(time_ns, Some(identity), extent(Op::Read, 4096, 4096), step)
}

/// A step of a read without identity.
fn told(time_ns: i64, offset: u64, length: u32, step: Step) -> Event {
    event(time_ns, None, extent(Op::Read, offset, length), step)
}

impl Pairing {
    fn pop(&mut self) -> Option<Request> {
        let first = *self.first()?;
        self.drop_first();
        Some(first)
    }
}

fn pair(events: impl IntoIterator<Item = Event>) -> (Vec<Request>, Counts) {
    let (mut pairing, mut counts, mut rows) = (Pairing::default(), Counts::default(), vec![]);
    for event in events {
        pairing.event(&event, &mut counts);
        rows.extend(std::iter::from_fn(|| pairing.pop()));
    }
    pairing.finish(&mut counts);
    rows.extend(std::iter::from_fn(|| pairing.pop()));
    assert_eq!(pairing.outstanding(), 0);
    (rows, counts)
}

/// Issued and completed, of each row.
fn served(rows: &[Request]) -> Vec<(Option<i64>, Option<i64>)> {
    rows.iter().map(|row| (row.issued_ns, row.completed_ns)).collect()
}

#[test]
fn an_identity_is_used_again_when_its_request_is_completed() {
    let (rows, counts) = pair([
        read(1, 7, START),
        read(2, 7, ISSUE),
        read(3, 7, DONE),
        read(4, 7, START),
        read(5, 7, ISSUE),
        read(6, 7, DONE),
    ]);
    assert_eq!(served(&rows), [(Some(2), Some(3)), (Some(5), Some(6))]);
    assert_eq!(counts, Counts::default());
}

#[test]
fn an_identity_that_comes_again_before_its_completion_is_counted_and_both_are_rows() {
    let (rows, counts) =
        pair([read(1, 7, START), read(2, 7, ISSUE), read(4, 7, START), read(6, 7, DONE)]);
    assert_eq!(served(&rows), [(Some(2), None), (None, Some(6))]);
    assert_eq!((counts.reused, counts.lost), (1, 1), "a completion was lost");
    assert_eq!(rows.iter().map(|row| row.completed_by_ns).collect::<Vec<_>>(), [Some(4), None]);
}

#[test]
fn a_request_that_is_requeued_is_served_from_its_last_issue() {
    let (rows, counts) = pair([
        read(1, 7, START),
        read(2, 7, ISSUE),
        read(3, 7, Step::Requeue),
        read(8, 7, ISSUE),
        read(9, 7, DONE),
    ]);
    assert_eq!(served(&rows), [(Some(8), Some(9))]);
    assert_eq!(counts.requeued, 1);
}

#[test]
fn a_completion_in_part_is_not_the_end() {
    let part = Step::Complete {
        error: 0,
        done_bytes: Some(512),
        remaining_bytes: 3584,
        in_sequence: false,
        unseen: None,
    };
    let (rows, counts) =
        pair([read(1, 7, START), read(2, 7, ISSUE), read(3, 7, part), read(4, 7, DONE)]);
    assert_eq!(served(&rows), [(Some(2), Some(4))]);
    assert_eq!(counts.partially_completed, 1);
}

#[test]
fn orphans_and_the_unanswered_are_rows() {
    let (rows, counts) = pair([read(1, 7, DONE), read(2, 8, START), read(3, 8, ISSUE)]);
    assert_eq!(served(&rows), [(None, Some(1)), (Some(3), None)]);
    assert!(rows[0].is_orphan() && !rows[1].is_orphan());
    assert_eq!((counts.before_start, counts.orphaned), (1, 0), "7 was never seen to begin");
    let (_, counts) =
        pair([read(1, 7, START), read(2, 7, ISSUE), read(3, 7, DONE), read(4, 7, DONE)]);
    assert_eq!((counts.before_start, counts.orphaned), (0, 1), "7 was seen to begin before");
}

#[test]
fn what_begins_while_the_tracer_is_stopped_is_of_no_request() {
    let mut pairing = Pairing::default();
    let mut counts = Counts::default();
    let mut add = |event: Event| {
        pairing.begins_end((event.time_ns >= 10).then_some(10));
        pairing.event(&event, &mut counts);
    };
    // The second one's begin was not seen any more; its completion was, and a third one's issue.
    [read(1, 7, START), read(2, 7, ISSUE), read(11, 7, DONE)].into_iter().for_each(&mut add);
    [read(12, 7, DONE), read(13, 8, ISSUE)].into_iter().for_each(&mut add);
    pairing.finish(&mut counts);
    let rows: Vec<_> = std::iter::from_fn(|| pairing.pop()).collect();
    assert_eq!(served(&rows), [(Some(2), Some(11))]);
    assert_eq!((counts.before_start, counts.orphaned), (0, 0));
}

#[test]
fn a_request_that_went_into_another_is_no_row_and_the_other_is_merged() {
    let grown = event(4, Some(7), extent(Op::Read, 4096, 8192), ISSUE);
    let (rows, counts) = pair([
        read(1, 7, START),
        read(2, 8, START),
        read(3, 8, Step::Merge { in_front: false }),
        grown,
        read(5, 7, DONE),
    ]);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].length_bytes, 8192);
    assert!(rows[0].flags.contains(Flags::MERGED));
    assert_eq!(counts.merged, 1);
}

#[test]
fn errors_stand_with_their_request() {
    let failed = Step::completion(5);
    let (rows, _) = pair([read(1, 7, START), read(2, 7, ISSUE), read(3, 7, failed)]);
    assert_eq!(rows[0].error, 5);
}

/// What the kernel shows of one fsync's write: preflush, data, postflush, and the second
/// completion.
#[test]
fn a_flush_sequence_is_one_object_with_who_asked_for_it() {
    let origin = Origin { pid: Some(99), ..Origin::default() };
    let start = Step::Start { queued_ns: Some(1), origin, tag: Some(5) };
    let mut requested = extent(Op::Write, 8192, 4096);
    requested.flags = Flags::PREFLUSH | Flags::FUA;
    let flush = Step::Issue { serves: Some(5), in_sequence: false, origin: NOBODY };
    let data = Step::Issue { serves: None, in_sequence: true, origin: NOBODY };
    let data_done = Step::Complete {
        error: 0,
        done_bytes: None,
        remaining_bytes: 0,
        in_sequence: true,
        unseen: None,
    };
    let whole = |time, step| event(time, Some(7), requested, step);
    let flushes = |time, step| event(time, Some(1000), extent(Op::Flush, 0, 0), step);
    let (rows, counts) = pair([
        whole(2, start),
        flushes(3, flush),
        flushes(10, DONE),
        whole(11, data),
        whole(20, data_done),
        flushes(21, flush),
        flushes(30, DONE),
        whole(31, DONE),
    ]);
    let seen: Vec<_> =
        rows.iter().map(|r| (r.op, r.parent_id, r.issued_ns, r.completed_ns)).collect();
    assert_eq!(
        seen,
        [
            (Op::Write, None, None, Some(31)),
            (Op::Flush, Some(0), Some(3), Some(10)),
            (Op::Write, Some(0), Some(11), Some(20)),
            (Op::Flush, Some(0), Some(21), Some(30)),
        ]
    );
    assert!(rows.iter().all(|row| row.pid == Some(99)));
    assert_eq!(counts, Counts::default());
}

#[test]
fn a_request_that_waited_for_anothers_flush_completes_without_an_issue() {
    let flush = |time, step| event(time, Some(7), extent(Op::Flush, 0, 0), step);
    let (rows, counts) = pair([flush(1, START), flush(5, DONE)]);
    assert_eq!(served(&rows), [(None, Some(5))]);
    assert_eq!(counts, Counts::default());
}

#[test]
fn by_place_the_oldest_is_completed_first_and_a_choice_is_counted() {
    let (rows, counts) = pair([
        told(1, 0, 512, QUEUE),
        told(2, 0, 512, QUEUE),
        told(3, 0, 512, ISSUE),
        told(4, 0, 512, ISSUE),
        told(7, 0, 512, DONE),
        told(9, 0, 512, DONE),
    ]);
    assert_eq!(served(&rows), [(Some(3), Some(7)), (Some(4), Some(9))]);
    assert_eq!(counts.ambiguous, 1);
}

#[test]
fn by_place_a_completion_of_the_same_length_goes_before_an_older_request() {
    let (rows, counts) = pair([
        told(1, 0, 8192, ISSUE),
        told(2, 0, 512, ISSUE),
        told(3, 0, 512, DONE),
        told(4, 0, 8192, DONE),
    ]);
    assert_eq!(served(&rows), [(Some(1), Some(4)), (Some(2), Some(3))]);
    assert_eq!(counts.ambiguous, 0);
}

#[test]
fn by_place_merged_bios_are_one_request_and_one_in_front_moves_it() {
    let merge = |in_front| Step::Merge { in_front };
    let (rows, counts) = pair([
        told(1, 4096, 4096, QUEUE),
        told(2, 4096, 4096, START),
        told(3, 8192, 4096, QUEUE),
        told(4, 8192, 4096, merge(false)),
        told(5, 0, 4096, QUEUE),
        told(6, 0, 4096, merge(true)),
        told(7, 0, 12_288, ISSUE),
        told(8, 0, 12_288, DONE),
    ]);
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (rows[0].queued_ns, rows[0].offset_bytes, rows[0].length_bytes),
        (Some(1), Some(0), 12_288)
    );
    assert!(rows[0].flags.contains(Flags::MERGED));
    assert_eq!((counts.merged, counts.orphaned), (2, 0));
}

#[test]
fn by_place_parts_are_completed_one_behind_the_other() {
    let (rows, counts) =
        pair([told(1, 0, 4096, ISSUE), told(2, 0, 1024, DONE), told(3, 1024, 3072, DONE)]);
    assert_eq!(served(&rows), [(Some(1), Some(3))]);
    assert_eq!(counts.partially_completed, 1);
}

#[test]
fn by_place_what_nobody_completes_does_not_fill_the_memory() {
    let mut pairing = Pairing::default();
    let mut counts = Counts::default();
    let mut rows = 0;
    // All over the disk, and then at one place.
    for n in 0..40_000 {
        let place = if n < 20_000 { n as u64 } else { 0 };
        pairing.event(&told(n, place * 512, 512, QUEUE), &mut counts);
        rows += std::iter::from_fn(|| pairing.pop()).count();
        assert!(pairing.outstanding() <= 1 << 12);
    }
    pairing.finish(&mut counts);
    rows += std::iter::from_fn(|| pairing.pop()).count();
    assert_eq!(rows, 40_000);
}

/// The life of one request: which identity it has, its own times, and how it ends.
fn life(
    number: usize,
    identity: u64,
    first: i64,
    gaps: [i64; 3],
    is_completed: bool,
) -> Vec<Event> {
    let place = extent(Op::Write, number as u64 * 4096, 4096);
    let step = |time, step| event(time, Some(identity), place, step);
    let mut steps = vec![step(first, START), step(first + gaps[0], ISSUE)];
    if is_completed {
        steps.push(step(first + gaps[0] + gaps[1], DONE));
    }
    steps
}

/// What a table says, whatever the numbers of its rows.
fn table(rows: &[Request]) -> Vec<Request> {
    let mut rows: Vec<Request> = rows.iter().map(|r| Request { request_id: 0, ..*r }).collect();
    rows.sort_by_key(|r| (r.offset_bytes, r.started_ns));
    rows
}

proptest! {
    /// Requests by identity, interleaved as they like, are paired as if each came alone.
    #[test]
    fn any_interleaving_of_requests_gives_the_same_table(
        lives in prop::collection::vec((0i64..1000, 1i64..50, 1i64..500, any::<bool>()), 1..40),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 200),
    ) {
        let each = |n: usize, (first, a, b, completed): (i64, i64, i64, bool)| {
            life(n, 100 + n as u64, first, [a, b, 0], completed)
        };
        let lives = lives.into_iter().enumerate().map(|(n, l)| each(n, l));
        let lives: Vec<Vec<Event>> = lives.collect();
        let (alone, _) = pair(lives.iter().flatten().copied());
        let mut queues: Vec<std::collections::VecDeque<Event>> =
            lives.iter().map(|life| life.iter().copied().collect()).collect();
        let mut mixed = Vec::new();
        for pick in picks.iter().cycle() {
            queues.retain(|queue| !queue.is_empty());
            if queues.is_empty() {
                break;
            }
            let chosen = pick.index(queues.len());
            mixed.extend(queues[chosen].pop_front());
        }
        let (interleaved, counts) = pair(mixed);
        prop_assert_eq!(table(&interleaved), table(&alone));
        prop_assert_eq!(counts, Counts::default());
    }

    /// However the buffers of CPUs are read one after the other, rows by place are the same.
    #[test]
    fn any_interleaving_of_cpu_buffers_gives_the_same_rows(
        steps in prop::collection::vec((0u16..4, 0u64..6, 0usize..3), 1..120),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 240),
    ) {
        let events: Vec<Listed> = steps.iter().enumerate().map(|(n, &(cpu, place, step))| Listed {
            time_ns: n as i64 * 10,
            device: 1,
            cpu: Some(cpu),
            extent: extent(Op::Read, place * 512, 512),
            kind: [Kind::Queue, Kind::Issue, Kind::Complete][step],
            pid: None,
            command: None,
            error: 0,
        }).collect();
        let taken = |order: &[Listed]| {
            let mut rows: Vec<Request> = Vec::new();
            let mut intake = crate::intake::Intake::new(&mut rows, "test");
            intake.set_zero(0);
            order.iter().for_each(|event| intake.listed(event).unwrap());
            let (provenance, _) = intake.finish().unwrap();
            (rows, provenance.counts)
        };
        let mut buffers: Vec<std::collections::VecDeque<Listed>> = (0..4u16)
            .map(|cpu| events.iter().filter(|e| e.cpu == Some(cpu)).copied().collect())
            .collect();
        let mut mixed = Vec::new();
        for pick in picks.iter().cycle() {
            buffers.retain(|buffer| !buffer.is_empty());
            if buffers.is_empty() {
                break;
            }
            let chosen = pick.index(buffers.len());
            mixed.extend(buffers[chosen].pop_front());
        }
        prop_assert_eq!(taken(&mixed), taken(&events));
    }

    /// Every event ends in a row or a count, and nothing is made up.
    #[test]
    fn any_events_at_all_are_survived(
        events in prop::collection::vec(
            (0i64..100, prop::option::of(0u64..4), 0u64..3, 0usize..7),
            0..150,
        ),
    ) {
        let steps = [
            QUEUE, START, ISSUE, Step::Requeue, Step::Merge { in_front: true }, DONE,
            Step::Complete {
                error: 5, done_bytes: Some(1), remaining_bytes: 9, in_sequence: true, unseen: None
            },
        ];
        let events = events.into_iter().map(|(time, identity, place, step)| {
            event(time, identity, extent(Op::ALL[place as usize], place * 512, 512), steps[step])
        });
        let (rows, _) = pair(events);
        let mut ids: Vec<u64> = rows.iter().map(|r| r.request_id).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), rows.len());
        prop_assert!(rows.iter().all(|r| r.arrival_ns().is_some()));
    }
}

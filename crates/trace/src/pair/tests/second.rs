//! Known results of two sources: the first knows identities and is blind at times, the second is
//! not and knows places.

use super::Pairing;
use crate::event::{Event, Extent, Origin, Step, Unseen};
use model::record::requests::Counts;
use model::record::{Flags, Op, Request};
use proptest::prelude::*;

const NOBODY: Origin = Origin::UNKNOWN;
const START: Step = Step::Start { queued_ns: None, origin: NOBODY, tag: None };
const ISSUE: Step = Step::Issue { serves: None, in_sequence: false, origin: NOBODY };
const DATA: Step = Step::Issue { serves: None, in_sequence: true, origin: NOBODY };
const MERGE: Step = Step::Merge { in_front: false };
const DONE: Step = Step::completion(0);

#[derive(Debug, Clone, Copy)]
enum Source {
    /// By identity.
    First(u64),
    Second,
}
use Source::{First, Second};

/// A step of a block's write: who saw it, when, and where.
fn step(source: Source, time_ns: i64, block: u64, step: Step) -> (Source, Event) {
    let flags = if matches!(step, DATA) { Flags::PREFLUSH } else { Flags::default() };
    let extent =
        Extent { op: Op::Write, flags, offset_bytes: Some(block * 4096), length_bytes: 4096 };
    let identity = match source {
        First(identity) => Some(identity),
        Second => None,
    };
    (source, Event { time_ns, identity, device: 1, cpu: None, extent, step })
}

fn pair(steps: &[(Source, Event)]) -> (Vec<Request>, Counts) {
    let (mut pairing, mut counts) = (Pairing::default(), Counts::default());
    for (source, event) in steps {
        match source {
            First(_) => pairing.event(event, &mut counts),
            Second => pairing.second(*event, &mut counts),
        }
    }
    pairing.finish(&mut counts);
    assert_eq!(pairing.outstanding(), 0);
    (std::iter::from_fn(|| pairing.pop()).collect(), counts)
}

fn served(rows: &[Request]) -> Vec<(Option<i64>, Option<i64>)> {
    rows.iter().map(|row| (row.issued_ns, row.completed_ns)).collect()
}

#[test]
fn a_completion_that_the_second_source_alone_saw_is_the_requests_end() {
    let unseen = [
        step(First(7), 1, 3, START),
        step(First(7), 2, 3, ISSUE),
        step(Second, 5, 3, DONE),
        step(First(7), 9, 4, START),
        step(First(7), 10, 4, ISSUE),
        step(Second, 11, 4, DONE),
    ];
    let (rows, counts) = pair(&unseen);
    assert_eq!(served(&rows), [(Some(2), Some(5)), (Some(10), Some(11))]);
    assert_eq!((counts.recovered, counts.lost, counts.reused), (2, 0, 0));
}

/// It is told at once that an address is another's, which is told at its end.
#[test]
fn what_is_over_ends_when_that_is_told() {
    let (mut pairing, mut counts) = (Pairing::default(), Counts::default());
    let steps = [
        step(First(7), 1, 3, START),
        step(First(7), 2, 3, ISSUE),
        step(Second, 5, 3, DONE),
        step(First(7), 9, 3, Step::Over),
        step(First(8), 9, 3, Step::Over),
    ];
    for (source, event) in steps {
        match source {
            First(_) => pairing.event(&event, &mut counts),
            Second => pairing.second(event, &mut counts),
        }
    }
    assert_eq!(pairing.outstanding(), 0);
    let row = pairing.pop().unwrap();
    assert_eq!(served(&[row]), [(Some(2), Some(5))]);
    assert_eq!((counts.recovered, counts.lost, counts.reused), (1, 0, 0));
}

#[test]
fn what_both_sources_saw_is_the_first_ones() {
    let both = [
        step(First(7), 1, 3, START),
        step(First(7), 2, 3, ISSUE),
        step(Second, 5, 3, DONE),
        step(First(7), 5, 3, DONE),
        // Another request at the same place, in flight at the end: the held step is too old for it.
        step(First(8), 6, 3, START),
        step(First(8), 7, 3, ISSUE),
    ];
    let (rows, counts) = pair(&both);
    assert_eq!(served(&rows), [(Some(2), Some(5)), (Some(7), None)]);
    assert_eq!((counts.recovered, counts.lost), (0, 0));
}

#[test]
fn a_completion_of_another_place_or_time_is_not_taken() {
    for (block, time_ns) in [(4, 5), (3, 1), (3, 10)] {
        let (rows, counts) = pair(&[
            step(First(7), 1, 3, START),
            step(First(7), 2, 3, ISSUE),
            step(Second, time_ns, block, DONE),
            step(First(7), 9, 5, START),
            step(First(7), 10, 5, DONE),
        ]);
        assert_eq!(rows[0].completed_ns, None);
        assert_eq!(rows[0].completed_by_ns, Some(9));
        assert_eq!((counts.recovered, counts.lost, counts.reused), (0, 1, 1));
    }
}

#[test]
fn a_request_that_the_second_source_saw_begin_is_one_row() {
    // Issued and completed where programs run; or completed alone; or nothing of it.
    for first in [
        vec![step(First(7), 2, 3, ISSUE), step(First(7), 5, 3, DONE)],
        vec![step(Second, 2, 3, ISSUE), step(First(7), 5, 3, DONE)],
        vec![step(Second, 2, 3, ISSUE), step(Second, 5, 3, DONE)],
        vec![step(First(7), 2, 3, ISSUE), step(Second, 5, 3, DONE)],
    ] {
        let (rows, counts) = pair(&[&[step(Second, 1, 3, START)][..], &first].concat());
        assert_eq!(served(&rows), [(Some(2), Some(5))], "{first:?}");
        assert_eq!(rows[0].started_ns, Some(1));
        assert_eq!((counts.before_start, counts.orphaned), (0, 0), "{first:?}");
    }
}

#[test]
fn a_merge_that_was_not_seen_is_found() {
    let (rows, counts) = pair(&[
        step(First(8), 6, 4, START),
        step(Second, 7, 4, MERGE),
        step(First(8), 8, 5, START),
        step(First(8), 9, 5, DONE),
    ]);
    assert_eq!(served(&rows), [(None, Some(9))]);
    assert_eq!((counts.merged, counts.recovered, counts.lost), (1, 1, 0));
}

/// Whatever of its begin was not seen stands in its completion.
#[test]
fn what_began_unseen_is_a_row_with_its_times_and_who_asked() {
    let origin = Origin { pid: Some(1), ..NOBODY };
    let unseen = Some(Unseen { started_ns: 2, issued_ns: Some(4), origin });
    let told = |unseen| Step::Complete {
        error: 0,
        done_bytes: None,
        remaining_bytes: 0,
        in_sequence: false,
        unseen,
    };
    let done = step(First(7), 9, 3, told(unseen));
    let times = |steps: &[(Source, Event)]| {
        let (rows, counts) = pair(steps);
        let [row] = rows[..] else { panic!("{rows:?}") };
        assert_eq!((row.completed_ns, counts.before_start, counts.orphaned), (Some(9), 0, 0));
        ((row.started_ns, row.issued_ns, row.pid), counts.recovered)
    };
    assert_eq!(times(&[done]), ((Some(2), Some(4), Some(1)), 2));
    let issued = step(First(7), 5, 3, ISSUE);
    assert_eq!(times(&[issued, done]), ((Some(2), Some(5), Some(1)), 1));
    let begun = step(First(7), 3, 3, START);
    assert_eq!(times(&[begun, done]), ((Some(3), Some(4), None), 1));
    assert_eq!(times(&[begun, issued, done]), ((Some(3), Some(5), None), 0));
}

/// The request of a flush sequence is never issued, and a flush never started.
#[test]
fn what_is_never_taken_is_not_made_up() {
    let unseen = Some(Unseen { started_ns: 2, issued_ns: Some(4), origin: NOBODY });
    let (_, mut begun) = step(First(7), 1, 3, START);
    begun.extent.flags = Flags::PREFLUSH;
    let (_, mut done) = step(First(7), 9, 3, Step::completion(0));
    let Step::Complete { unseen: of_done, .. } = &mut done.step else { panic!() };
    *of_done = unseen;
    let (rows, counts) = pair(&[(First(7), begun), (First(7), done)]);
    assert_eq!((rows[0].issued_ns, counts.recovered), (None, 0));
}

#[test]
fn the_data_of_a_flush_sequence_is_completed_first() {
    let (rows, counts) = pair(&[
        step(First(7), 1, 3, START),
        step(First(7), 2, 3, DATA),
        step(Second, 5, 3, DONE),
        step(Second, 8, 3, DONE),
        step(First(7), 9, 4, START),
        step(First(7), 10, 4, DONE),
    ]);
    let whole = rows.iter().find(|row| row.parent_id.is_none()).unwrap();
    let data = rows.iter().find(|row| row.parent_id.is_some()).unwrap();
    assert_eq!((whole.completed_ns, data.completed_ns), (Some(8), Some(5)));
    assert_eq!((counts.recovered, counts.lost), (2, 0));
}

proptest! {
    /// Whatever completions the first source misses: with the second one each request has its own
    /// end, and none is lost.
    #[test]
    fn nothing_is_lost_of_what_either_saw(
        unseen in prop::collection::vec(any::<bool>(), 1..200),
        tags in 1u64..8,
    ) {
        let mut steps = Vec::new();
        for (number, is_unseen) in (0i64..).zip(&unseen) {
            let (identity, block) = (number as u64 % tags, number as u64 % 3);
            let by = if *is_unseen { Second } else { First(identity) };
            let at = number * 10;
            steps.push(step(First(identity), at, block, START));
            steps.push(step(First(identity), at + 1, block, ISSUE));
            steps.push(step(by, at + 5, block, DONE));
        }
        let (rows, counts) = pair(&steps);
        let times: Vec<_> = rows.iter().map(|r| (r.started_ns, r.completed_ns)).collect();
        let expected: Vec<_> =
            (0..unseen.len() as i64).map(|n| (Some(n * 10), Some(n * 10 + 5))).collect();
        prop_assert_eq!(times, expected);
        let missed = unseen.iter().filter(|is_unseen| **is_unseen).count() as u64;
        prop_assert_eq!((counts.recovered, counts.lost, counts.reused), (missed, 0, 0));
    }
}

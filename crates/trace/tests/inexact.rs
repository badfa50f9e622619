//! Pairing by place, where streams without identity are peculiar.

#![allow(clippy::unwrap_used, reason = "a test")]

use model::record::requests::Counts;
use model::record::{Flags, Op, Request};
use trace::event::{Event, Extent, Origin, Step};
use trace::pair::Pairing;

const QUEUE: Step = Step::Queue(Origin { pid: Some(1), ..Origin::UNKNOWN });
const START: Step =
    Step::Start { queued_ns: None, origin: Origin { pid: Some(2), ..Origin::UNKNOWN }, tag: None };
const ISSUE: Step = Step::Issue {
    serves: None,
    in_sequence: false,
    origin: Origin { pid: Some(3), ..Origin::UNKNOWN },
};
const MERGE: Step = Step::Merge { in_front: false };
const COMPLETE: Step = Step::completion(0);

/// Rows and counts of steps: each with its sector, none for nowhere, and its sectors; one each ns,
/// from 1 on.
fn paired(flags: Flags, steps: &[(Step, Option<u64>, u32)]) -> (Vec<Request>, Counts) {
    let (mut pairing, mut counts) = (Pairing::default(), Counts::default());
    for (number, (step, sector, sectors)) in steps.iter().enumerate() {
        let extent = Extent {
            op: Op::Write,
            flags,
            offset_bytes: sector.map(|s| s * 512),
            length_bytes: sectors * 512,
        };
        let time_ns = number as i64 + 1;
        let event = Event { time_ns, identity: None, device: 8, cpu: Some(0), extent, step: *step };
        pairing.event(&event, &mut counts);
    }
    pairing.finish(&mut counts);
    let next = || {
        let first = *pairing.first()?;
        pairing.drop_first();
        Some(first)
    };
    (std::iter::from_fn(next).collect(), counts)
}

/// When a row was queued, started, issued and completed.
fn times(row: &Request) -> [Option<i64>; 4] {
    [row.queued_ns, row.started_ns, row.issued_ns, row.completed_ns]
}

#[test]
fn a_split_leaves_the_first_part_its_own_length() {
    let at = Some(0);
    let steps = [(QUEUE, at, 16), (START, at, 8), (START, Some(8), 8)];
    let (rows, _) = paired(Flags::default(), &steps);
    assert_eq!((rows[0].length_bytes, rows[1].length_bytes), (4096, 4096));
    assert_eq!(times(&rows[0]), [Some(1), Some(2), None, None]);
}

#[test]
fn a_whole_request_can_become_a_part_of_another() {
    let (rows, counts) = paired(
        Flags::default(),
        &[
            (START, Some(0), 8),
            (START, Some(8), 8),
            (MERGE, Some(8), 8),
            (ISSUE, Some(0), 16),
            (COMPLETE, Some(0), 16),
        ],
    );
    assert_eq!((rows.len(), counts.merged), (1, 1));
    assert_eq!(times(&rows[0]), [None, Some(1), Some(4), Some(5)]);
    assert!(rows[0].flags.contains(Flags::MERGED));
}

/// What is queued becomes a part before what is started does.
#[test]
fn a_merge_is_of_what_is_queued_if_there_is_any() {
    let at = Some(8);
    let steps = [(START, at, 8), (QUEUE, at, 8), (MERGE, at, 8), (ISSUE, at, 8), (COMPLETE, at, 8)];
    let (rows, _) = paired(Flags::default(), &steps);
    assert_eq!(rows.len(), 1);
    assert_eq!(times(&rows[0]), [None, Some(1), Some(4), Some(5)]);
}

#[test]
fn an_empty_write_is_completed_wherever_its_completion_is_told_to_be() {
    for sector in [Some(0), None] {
        let steps = [(QUEUE, None, 0), (START, None, 0), (COMPLETE, sector, 0)];
        let (rows, counts) = paired(Flags::PREFLUSH, &steps);
        assert_eq!(times(&rows[0]), [Some(1), Some(2), None, Some(3)]);
        assert_eq!((rows.len(), rows[0].offset_bytes, counts.orphaned), (1, None, 0));
        assert_eq!((rows[0].op, rows[0].flags), (Op::Flush, Flags::PREFLUSH));
    }
}

/// The end of a flush sequence goes to the write that has its place, and not to an empty one.
#[test]
fn an_end_at_sector_0_is_of_the_write_there_if_there_is_one() {
    let steps = [
        (START, None, 0),
        (START, Some(0), 8),
        (ISSUE, Some(0), 8),
        (COMPLETE, Some(0), 8),
        (COMPLETE, Some(0), 0),
    ];
    let (rows, counts) = paired(Flags::PREFLUSH, &steps);
    assert_eq!((rows.len(), counts.orphaned), (3, 0));
    assert_eq!(times(&rows[0]), [None, Some(1), None, None]);
    assert_eq!(times(&rows[1]), [None, Some(2), None, Some(5)]);
    assert_eq!((rows[2].parent_id, times(&rows[2])), (Some(1), [None, None, Some(3), Some(4)]));
}

/// Who was on the CPU at the issue is who requested it only if nothing else is known.
#[test]
fn an_issue_says_who_asked_where_nothing_was_said_before() {
    let (rows, _) =
        paired(Flags::default(), &[(START, Some(0), 8), (ISSUE, Some(0), 8), (ISSUE, Some(8), 8)]);
    assert_eq!((rows[0].pid, rows[1].pid), (Some(2), Some(3)));
}

#[test]
fn two_empty_writes_at_once_leave_a_choice() {
    let steps = [(START, None, 0), (START, None, 0), (COMPLETE, None, 0), (COMPLETE, None, 0)];
    let (rows, counts) = paired(Flags::PREFLUSH, &steps);
    assert_eq!((rows.len(), counts.ambiguous), (2, 1));
}

//! Requests whose steps are told at once, at their end.

use super::{DONE, ISSUE, START, event, extent, pair};
use crate::event::{Event, Extent, Finished};
use crate::pair::Pairing;
use model::record::requests::Counts;
use model::record::{Flags, Op, Request};
use proptest::prelude::*;

fn finished(identity: u64, begin_ns: i64, [issue, end]: [i64; 2], extent: Extent) -> Finished {
    let completed_ns = Some(begin_ns + issue + end);
    let start = event(begin_ns, Some(identity), extent, START);
    Finished { start, issued_ns: Some(begin_ns + issue), has_grown: false, completed_ns, error: 5 }
}

/// As the intake does it.
fn pair_finished(all: &[Finished]) -> (Vec<Request>, Counts) {
    let (mut pairing, mut counts, mut rows) = (Pairing::default(), Counts::default(), vec![]);
    for finished in all {
        match pairing.finished(finished) {
            Some(row) => rows.push(row),
            None => finished.each().for_each(|event| pairing.event(&event, &mut counts)),
        }
        rows.extend(std::iter::from_fn(|| pairing.pop()));
    }
    pairing.finish(&mut counts);
    rows.extend(std::iter::from_fn(|| pairing.pop()));
    (rows, counts)
}

/// In the order of their begins, whichever was seen first.
fn in_order(mut rows: Vec<Request>) -> Vec<Request> {
    rows.iter_mut().for_each(|row| row.request_id = 0);
    rows.sort_by_key(|row| (row.started_ns, row.offset_bytes));
    rows
}

proptest! {
    #[test]
    fn the_rows_are_those_of_the_steps_one_by_one(
        lives in prop::collection::vec((0u64..4, 1i64..9, [1i64..9, 1i64..9], 1u32..4), 0..60),
    ) {
        let (mut free_ns, mut all) = ([0; 4], Vec::new());
        for (place, (identity, pause, parts, blocks)) in lives.into_iter().enumerate() {
            let begin_ns = free_ns[identity as usize] + pause;
            free_ns[identity as usize] = begin_ns + parts[0] + parts[1];
            let extent = extent(Op::Write, place as u64 * 4096, blocks * 512);
            all.push(finished(identity, begin_ns, parts, extent));
        }
        let mut steps: Vec<Event> = all.iter().flat_map(Finished::each).collect();
        steps.sort_by_key(|event| (event.time_ns, event.step.rank()));
        all.sort_by_key(|one| one.completed_ns);
        let (by_steps, counted) = pair(steps);
        let (at_once, counts) = pair_finished(&all);
        prop_assert_eq!(in_order(at_once), in_order(by_steps));
        prop_assert_eq!(counts, counted);
    }
}

#[test]
fn what_grew_until_its_issue_was_merged() {
    let whole = Finished { has_grown: true, ..finished(7, 1, [1, 1], extent(Op::Write, 0, 8192)) };
    let (rows, _) = pair_finished(&[whole]);
    assert!(rows[0].flags.contains(Flags::MERGED));
    let (by_steps, _) = pair(whole.each());
    assert_eq!(rows, by_steps);
}

#[test]
fn one_whose_identity_is_still_anothers_ends_that_one() {
    let (mut pairing, mut counts) = (Pairing::default(), Counts::default());
    let read = |time_ns, step| event(time_ns, Some(7), extent(Op::Read, 4096, 4096), step);
    pairing.event(&read(1, START), &mut counts);
    pairing.event(&read(2, ISSUE), &mut counts);
    let later = finished(7, 4, [1, 1], extent(Op::Read, 0, 512));
    assert_eq!(pairing.finished(&later), None);
    later.each().for_each(|event| pairing.event(&event, &mut counts));
    let rows: Vec<Request> = std::iter::from_fn(|| pairing.pop()).collect();
    let ends: Vec<_> = rows.iter().map(|row| (row.completed_ns, row.completed_by_ns)).collect();
    assert_eq!(ends, [(None, Some(4)), (Some(6), None)]);
    assert_eq!((counts.reused, counts.lost), (1, 1));
}

#[test]
fn one_without_an_issue_or_an_end_is_looked_for_step_by_step() {
    let whole = finished(7, 1, [1, 1], extent(Op::Read, 0, 512));
    let mut pairing = Pairing::default();
    assert_eq!(pairing.finished(&Finished { issued_ns: None, ..whole }), None);
    assert_eq!(pairing.finished(&Finished { completed_ns: None, ..whole }), None);
    assert!(pairing.finished(&whole).is_some());
    assert_eq!((whole.steps(), whole.each().count()), (3, 3));
    assert_eq!(whole.each().map(|event| event.step.rank()).max(), Some(DONE.rank()));
}

#[test]
fn where_devices_lie_on_others_the_order_of_steps_says_who_serves_whom() {
    let mut pairing = Pairing::default();
    pairing.lies_on(2, &[1]);
    assert_eq!(pairing.finished(&finished(7, 1, [1, 1], extent(Op::Read, 0, 512))), None);
}

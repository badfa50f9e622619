//! Requests of stacked devices: which request of the device above each one serves.
//!
//! The stack of the tests is the one that many have: a file system on LUKS (`CRYPT`) on LVM (`LV`)
//! on md raid1 (`MD`) on two disks (`LEGS`).

use super::Pairing;
use crate::event::{Event, Extent, Origin, Step};
use model::record::requests::Counts;
use model::record::{Flags, Op, Request};
use proptest::prelude::*;

const CRYPT: u32 = 253 << 20 | 1;
const LV: u32 = 253 << 20;
const MD: u32 = 9 << 20 | 9;
const LEGS: [u32; 2] = [7 << 20, 7 << 20 | 1];
const MS: i64 = 1_000_000;

const START: Step = Step::Start { queued_ns: None, origin: Origin::UNKNOWN, tag: None };
const ISSUE: Step = Step::Issue { serves: None, in_sequence: false, origin: Origin::UNKNOWN };
const DONE: Step = Step::completion(0);

fn above(device: u32, offset: u64) -> Step {
    Step::Above { device, offset_bytes: Some(offset) }
}

/// A request by its device, identity, operation, place and length.
#[derive(Debug, Clone, Copy)]
struct Of(u32, u64, Op, u64, u32);

fn at(time_ns: i64, of: Of, step: Step) -> Event {
    let Of(device, identity, op, offset, length_bytes) = of;
    let extent = Extent {
        op,
        flags: Flags::default(),
        offset_bytes: (op != Op::Flush).then_some(offset),
        length_bytes,
    };
    Event { time_ns, identity: Some(identity), device, cpu: None, extent, step }
}

fn preflush(event: Event) -> Event {
    Event { extent: Extent { flags: Flags::PREFLUSH, ..event.extent }, ..event }
}

fn known() -> Pairing {
    let mut pairing = Pairing::default();
    pairing.lies_on(CRYPT, &[LV]);
    pairing.lies_on(LV, &[MD]);
    pairing.lies_on(MD, &LEGS);
    pairing
}

/// Rows by number, and (by bio, by place, not).
fn paired(
    mut pairing: Pairing,
    events: impl IntoIterator<Item = Event>,
) -> (Vec<Request>, (u64, u64, u64)) {
    let mut counts = Counts::default();
    events.into_iter().for_each(|event| pairing.event(&event, &mut counts));
    pairing.finish(&mut counts);
    let mut rows: Vec<Request> = std::iter::from_fn(|| pairing.pop()).collect();
    rows.sort_by_key(|row| row.request_id);
    (rows, (counts.joined_by_bio, counts.joined_by_place, counts.not_joined))
}

fn aboves(rows: &[Request]) -> Vec<Option<u64>> {
    rows.iter().map(|row| row.above_id).collect()
}

/// A write that goes down the whole stack, to both legs.
fn write_down(offset: u64) -> Vec<Event> {
    let write = |device, identity, shift| Of(device, identity, Op::Write, offset + shift, 4096);
    let (crypt, lv, md) = (write(CRYPT, 1, 0), write(LV, 2, 1 << 20), write(MD, 3, 2 << 20));
    let legs = [write(LEGS[0], 4, 3 << 20), write(LEGS[1], 5, 3 << 20)];
    let mut events = vec![
        at(10, crypt, START),
        at(20, lv, START),
        at(20, lv, above(CRYPT, offset)),
        at(30, md, START),
        at(30, md, above(LV, offset + (1 << 20))),
    ];
    for leg in legs {
        let told = above(MD, offset + (2 << 20));
        events.extend([at(40, leg, START), at(40, leg, told), at(50, leg, ISSUE)]);
    }
    let ends = [(60, legs[0]), (65, legs[1]), (70, md), (80, lv), (90, crypt)];
    events.extend(ends.map(|(time_ns, of)| at(time_ns, of, DONE)));
    events
}

#[test]
fn each_request_knows_the_one_above_it() {
    let (rows, joins) = paired(known(), write_down(4096));
    assert_eq!(aboves(&rows), [None, Some(0), Some(1), Some(2), Some(2)]);
    assert_eq!(joins, (4, 0, 0));
}

#[test]
fn a_stack_that_nobody_knew_of_is_learned_from_the_kernel() {
    let (rows, joins) = paired(Pairing::default(), write_down(0));
    assert_eq!(aboves(&rows), [None, Some(0), Some(1), Some(2), Some(2)]);
    assert_eq!(joins, (4, 0, 0));
}

/// dm-crypt before Linux 5.17, perf and other tracers tell of no bio that is sent on.
#[test]
fn what_the_kernel_does_not_tell_is_joined_by_place_and_time() {
    let untold = write_down(0).into_iter();
    let untold = untold.filter(|event| !matches!(event.step, Step::Above { .. }));
    let (rows, joins) = paired(known(), untold.clone());
    assert_eq!(aboves(&rows), [None, Some(0), Some(1), Some(2), Some(2)]);
    assert_eq!(joins, (0, 4, 0));
    // The same without identities.
    let anonymous = untold.map(|event| Event { identity: None, ..event });
    let (rows, joins) = paired(known(), anonymous);
    assert_eq!(aboves(&rows), [None, Some(0), Some(1), Some(2), Some(2)]);
    assert_eq!(joins, (0, 4, 0));
}

#[test]
fn who_asks_a_lower_device_itself_serves_nobody() {
    let lv = Of(LV, 1, Op::Write, 0, 4096);
    let served = Of(MD, 2, Op::Write, 0, 4096);
    let own = Of(MD, 3, Op::Write, 0, 4096);
    let (rows, joins) = paired(
        known(),
        [
            at(10, lv, START),
            at(20, served, START),
            at(20, served, above(LV, 0)),
            // The kernel tells of writes from LV to MD: of this one it does not.
            at(30, own, START),
            at(2 * MS, own, DONE),
            at(2 * MS, served, DONE),
            at(2 * MS, lv, DONE),
        ],
    );
    assert_eq!(aboves(&rows), [None, Some(0), None]);
    assert_eq!(joins, (1, 0, 1));
}

#[test]
fn without_rows_of_a_device_above_nothing_is_missing() {
    let own = Of(LEGS[0], 3, Op::Write, 0, 4096);
    let (rows, joins) = paired(known(), [at(30, own, START), at(40, own, DONE)]);
    assert_eq!((aboves(&rows), joins), (vec![None], (0, 0, 0)));
}

/// md sends a flush to each leg without a word, before the data of a write that is to flush first;
/// each leg's driver makes a sequence of it.
#[test]
fn a_flush_serves_an_open_flush_or_the_write_that_is_to_flush_first() {
    let md = Of(MD, 1, Op::Write, 0, 4096);
    let flush = |leg: usize| Of(LEGS[leg], 10 + leg as u64, Op::Flush, 0, 0);
    let part = |leg: usize| Of(LEGS[leg], 20 + leg as u64, Op::Flush, 0, 0);
    let tagged = |tag| Step::Start { queued_ns: None, origin: Origin::UNKNOWN, tag: Some(tag) };
    let serves =
        |tag| Step::Issue { serves: Some(tag), in_sequence: false, origin: Origin::UNKNOWN };
    let data = Of(LEGS[0], 30, Op::Write, 1 << 20, 4096);
    let (rows, joins) = paired(
        known(),
        [
            preflush(at(10, md, START)),
            at(20, flush(0), tagged(7)),
            at(20, flush(1), tagged(8)),
            at(21, part(0), serves(7)),
            at(22, part(1), serves(8)),
            at(30, part(0), DONE),
            at(30, flush(0), DONE),
            at(31, part(1), DONE),
            at(31, flush(1), DONE),
            at(40, data, START),
            at(40, data, above(MD, 0)),
            at(50, data, DONE),
            at(60, md, DONE),
        ],
    );
    // The parts serve whom their sequences do.
    let parents: Vec<_> = rows.iter().map(|row| row.parent_id).collect();
    assert_eq!(parents, [None, None, None, Some(1), Some(2), None]);
    assert_eq!(aboves(&rows), [None, Some(0), Some(0), Some(0), Some(0), Some(0)]);
    assert_eq!(joins, (1, 2, 0));
}

/// raid5 reads old data and parity before it writes, and parity is at no place of the array.
#[test]
fn a_write_reads_and_writes_parity() {
    let md = Of(MD, 1, Op::Write, 8192, 4096);
    let lower = |identity, op| Of(LEGS[0], identity, op, 1 << 20, 4096);
    let (rows, joins) = paired(
        known(),
        [
            at(10, md, START),
            at(20, lower(2, Op::Read), START),
            at(20, lower(2, Op::Read), above(MD, 8192)),
            at(25, lower(2, Op::Read), DONE),
            at(30, lower(3, Op::Write), START),
            at(30, lower(3, Op::Write), above(MD, 0)),
            at(40, lower(3, Op::Write), DONE),
            at(50, md, DONE),
        ],
    );
    assert_eq!(aboves(&rows), [None, Some(0), Some(0)]);
    assert_eq!(joins, (1, 1, 0));
}

/// A bio that is split, whose parts are in flight beside those of others.
#[test]
fn the_parts_of_a_split_request_serve_it() {
    let upper = |identity, offset| Of(MD, identity, Op::Read, offset, 65536);
    let lower = |identity, offset| Of(LEGS[0], identity, Op::Read, offset, 32768);
    let mut events = vec![at(1, upper(1, 0), START), at(2, upper(2, 65536), START)];
    for (identity, offset) in [(3, 65536), (4, 0), (5, 32768), (6, 98304)] {
        let part = lower(identity, offset);
        events.extend([at(9, part, START), at(9, part, above(MD, offset))]);
    }
    let (rows, joins) = paired(known(), events);
    assert_eq!(aboves(&rows)[2..], [Some(1), Some(0), Some(0), Some(1)]);
    assert_eq!(joins, (4, 0, 0));
}

/// The same where the kernel tells nothing: parts sum to no more than the whole.
#[test]
fn by_place_the_parts_of_a_split_request_serve_it_until_it_is_served() {
    let upper = Of(MD, 1, Op::Read, 0, 65536);
    let mut events = vec![at(1, upper, START)];
    for (identity, offset) in [(3, 0), (4, 32768), (5, 4 << 20)] {
        events.push(at(9, Of(LEGS[0], identity, Op::Read, offset, 32768), START));
    }
    let (rows, joins) = paired(known(), events);
    assert_eq!(aboves(&rows), [None, Some(0), Some(0), None]);
    assert_eq!(joins, (0, 2, 1));
}

proptest! {
    /// Whatever is in flight at once: by bio each request finds its own.
    #[test]
    fn many_at_once_do_not_disturb_each_other(
        order in prop::collection::vec(0usize..40, 40..200), is_told in any::<bool>(),
    ) {
        // A step of each request's life at a time: start above, start beneath, end, end.
        let mut lives = [0u8; 40];
        let (mut now_ns, mut events) = (0, Vec::new());
        for place in order.into_iter().chain((0..40).cycle().take(160)) {
            now_ns += 10;
            let (offset, id) = (place as u64 * 8192, place as u64);
            // Different lengths, by which those that are not told of are known.
            let length = 512 * (place as u32 + 1);
            let upper = Of(LV, 1000 + id, Op::Read, offset, length);
            let lower = Of(MD, 2000 + id, Op::Read, offset + 4096, length);
            match lives[place] {
                0 => events.push(at(now_ns, upper, START)),
                1 => {
                    events.push(at(now_ns, lower, START));
                    events.extend(is_told.then(|| at(now_ns, lower, above(LV, offset))));
                }
                2 => events.push(at(now_ns, lower, DONE)),
                3 => events.push(at(now_ns, upper, DONE)),
                _ => {}
            }
            lives[place] += 1;
        }
        let (rows, joins) = paired(known(), events);
        prop_assert_eq!(rows.len(), 80);
        for row in rows.iter().filter(|row| row.device == MD) {
            let above = row.above_id.and_then(|id| rows.iter().find(|row| row.request_id == id));
            let above = above.map(|above| (above.device, above.offset_bytes.unwrap() + 4096));
            prop_assert_eq!(above, Some((LV, row.offset_bytes.unwrap())));
        }
        let counted = if is_told { joins.0 } else { joins.1 };
        prop_assert_eq!((counted, joins.2), (40, 0));
    }
}

//! Two volumes on one disk: a wait at the one is held against what is in flight in the layer where
//! its time goes, which is the other's doing.

use super::*;
use crate::layers::Layers;
use model::record::requests::DeviceStack;

const DISK: u32 = 8 << 20;
const READERS: u32 = 253 << 20;
const WRITERS: u32 = 253 << 20 | 1;
/// Threads: the two programs, and the kernel's that sends everything on.
const KERNEL: u32 = 99;

fn name(device: u32) -> String {
    match device {
        READERS => "vg/read".to_owned(),
        WRITERS => "vg/write".to_owned(),
        _ => "sda".to_owned(),
    }
}

fn stack() -> DeviceStack {
    let mut stack = DeviceStack::default();
    [READERS, WRITERS].into_iter().for_each(|upper| stack.add(upper, vec![DISK]));
    stack
}

/// Every request twice: to the volume, and from there to the disk.
fn doubled(load: &Load) -> Vec<Request> {
    let mut rows = Vec::new();
    for (number, row) in load.rows.iter().enumerate() {
        let is_reader = row.pid.is_some_and(|pid| pid % NEXT_THREAD == 1);
        let device = if is_reader { READERS } else { WRITERS };
        let (id, begin_ns) = (number as u64 * 2, row.queued_ns.map(|ns| ns + 1000));
        let end_ns = row.completed_ns.map(|ns| ns - 1000);
        rows.push(Request { request_id: id, device, issued_ns: None, ..*row });
        rows.push(Request {
            request_id: id + 1,
            above_id: Some(id),
            pid: Some(KERNEL),
            queued_ns: begin_ns,
            issued_ns: begin_ns,
            completed_ns: end_ns,
            ..*row
        });
    }
    rows.sort_by_key(|row| row.queued_ns);
    rows
}

/// The verdict in two passes, as of a file; and how often each device's waits were counted.
fn judged(mut load: Load) -> (Vec<Finding>, Vec<(String, f64)>) {
    load.divide_among_threads();
    let rows = doubled(&load);
    let mut layers = Layers::new(stack());
    rows.iter().for_each(|row| layers.add(row, true));
    let known = Known::new(load.context, Selection::default());
    let known = known.with_stack(stack(), layers.slowest());
    let findings = whole(known, &rows, &Commands::default()).findings(&name);
    let waits = findings.iter().filter(|f| f.quantity == "waits_count");
    let waits = waits.map(|f| (f.subject.get("device").unwrap(), f.value.unwrap())).collect();
    (findings, waits)
}

#[test]
fn a_wait_counts_once_and_is_held_against_the_layer_where_its_time_goes() {
    let mut load = Load::with(&["reader", "dd of=x"]);
    load.reads(1, 30, |ns| if is_in_burst(ns) { 5 * MS } else { MS });
    for number in 0..30_000 {
        if is_in_burst(number * MS) {
            load.request(2, Op::Write, number * MS, 5 * MS, 1 << 20);
        }
    }
    let (findings, waits) = judged(load);
    assert_eq!(waits, [("vg/read".to_owned(), 15_000.0)], "once, and at the top");
    let [(victim, cause, lost_s)] = &named(&findings)[..] else { panic!("{:?}", named(&findings)) };
    assert_eq!((victim.as_str(), cause.as_str()), ("reader", "dd"));
    let in_bursts = (0..15_000).filter(|number| is_in_burst(number * 2 * MS)).count() as f64;
    let expected_s = in_bursts * 4.0 / 1000.0;
    assert!((0.9 * expected_s..1.1 * expected_s).contains(lost_s), "{lost_s} of {expected_s}");
}

#[test]
fn calm_volumes_on_one_disk_blame_nobody() {
    let mut load = Load::with(&["reader", "dd of=x"]);
    load.reads(1, 30, |_| MS);
    for number in 0..30_000 {
        if is_in_burst(number * MS) {
            load.request(2, Op::Write, number * MS, 2 * MS, 4096);
        }
    }
    let (findings, waits) = judged(load);
    assert_eq!(named(&findings), []);
    assert_eq!(waits, [("vg/read".to_owned(), 15_000.0)]);
}

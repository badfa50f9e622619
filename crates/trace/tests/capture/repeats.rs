//! Requests that repeat, which the kernel sums up once they are named.

use super::RING_BYTES;
use super::lab::{Loop, capture, wait_for};
use model::busy::BIT_NS;
use model::record::Op;
use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use trace::capture::{Capture, CaptureOptions, Quick, REPEATS_BELOW, SUMS_MOST};
use trace::event::{Event, Step};
use trace::intake::Collected;

/// So many come often.
const MANY: u64 = 400;

fn of_repeats(disk: &Loop, repeats_by_file: bool) -> CaptureOptions {
    CaptureOptions {
        devices: vec![disk.number],
        ring_bytes: RING_BYTES,
        repeats_below: Some(REPEATS_BELOW),
        repeats_by_file,
        ..CaptureOptions::default()
    }
}

/// A process that reads a device for many seconds, or until this is dropped.
struct Reader(Child);

impl Reader {
    fn of(disk: &Loop, bytes: u32) -> Self {
        let mut dd = Command::new("dd");
        dd.arg(format!("if={}", disk.text())).arg(format!("bs={bytes}"));
        dd.args(["of=/dev/null", "iflag=direct"]);
        Self(dd.stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Reads that a device has done, as the kernel counts them.
fn reads_of(disk: &Loop) -> u64 {
    let stat = std::fs::read_to_string(disk.attribute("stat")).unwrap();
    stat.split_whitespace().next().unwrap().parse().unwrap()
}

/// What was told, and what was summed up.
struct Counts {
    capture: Capture,
    steps: Collected,
    summed: Quick,
    taken: Instant,
    /// How often it was told for how long some were in flight.
    busy_told: u64,
}

impl Counts {
    fn told(&mut self) -> u64 {
        self.capture.drain(&mut self.steps).unwrap();
        started(&self.steps.events)
    }

    fn summed(&mut self) -> u64 {
        let since = std::mem::replace(&mut self.taken, Instant::now());
        for (_, quick) in self.capture.take_summed() {
            self.summed.merge(&quick);
            let busy_ns = quick.busy.map(|busy| busy.ns()).expect("it is told of all");
            let most_ns = since.elapsed().as_nanos() as u64 + BIT_NS as u64;
            assert!(busy_ns > 0 && busy_ns <= most_ns, "{quick:?}");
            // Of a longer time the last bits are kept. One read after the other, of which one began
            // before: to a bit at each end.
            if most_ns < 64 * BIT_NS as u64 {
                self.busy_told += 1;
                assert!(busy_ns + 3 * BIT_NS as u64 >= quick.responses.sum_ns(), "{quick:?}");
            }
        }
        self.summed.responses.count()
    }

    /// More are told, and none are summed up.
    fn all_are_told(&mut self) {
        // Who is in a program now leaves it.
        let until = self.told() + 10;
        wait_for("some to be told", || self.told() > until);
        let (told, summed) = (self.told(), self.summed());
        wait_for("more to be told", || self.told() > told + MANY);
        assert_eq!(self.summed(), summed);
    }

    fn some_are_summed_up(&mut self) {
        let summed = self.summed();
        wait_for("some to be summed up", || {
            self.told();
            self.summed() > summed + MANY
        });
    }
}

/// Reads that were told: each has a start, and an end that a second source may have seen.
fn started(events: &[Event]) -> u64 {
    let is_start = |event: &&Event| matches!(event.step, Step::Start { .. });
    events.iter().filter(is_start).filter(|event| event.extent.op == Op::Read).count() as u64
}

#[test]
fn what_is_named_is_summed_up_and_all_else_is_told() {
    what_is_named_is_summed_up(false);
    what_is_named_is_summed_up(true);
}

fn what_is_named_is_summed_up(by_file: bool) {
    let Some(disk) = Loop::new(256) else { return };
    let Some(capture) = capture(of_repeats(&disk, by_file)) else { return };
    let before = reads_of(&disk);
    let reader = Reader::of(&disk, 512);
    let (steps, summed, taken) = (Collected::default(), Quick::default(), Instant::now());
    let mut counts = Counts { capture, steps, summed, taken, busy_told: 0 };
    wait_for("reads to come often", || {
        counts.told();
        !counts.steps.called.is_empty()
    });
    assert_eq!(counts.summed(), 0, "nothing is named yet");
    let like = counts.steps.called[0];
    assert!(counts.capture.sum_up(like, 3, i64::MAX));
    counts.some_are_summed_up();
    // Until a moment that is long past.
    assert!(counts.capture.sum_up(like, 3, 1), "it has its place");
    counts.all_are_told();
    assert!(counts.capture.sum_up(like, 3, i64::MAX));
    counts.some_are_summed_up();
    counts.capture.tell_singly(3);
    counts.all_are_told();
    assert!(counts.capture.sum_up(like, 3, i64::MAX), "its place is free again");
    counts.some_are_summed_up();
    drop(reader);
    wait_for("all to be completed", || counts.capture.on_way() == 0);
    counts.capture.stop().unwrap();
    let (told, summed) = (counts.told(), counts.summed());
    let second = counts.steps.second.len();
    assert_eq!(told + summed, reads_of(&disk) - before, "{told} {summed}, second: {second}");
    assert_eq!(counts.summed.bytes, summed * 512);
    assert!(counts.busy_told > 0);
    let responses = &counts.summed.responses;
    assert!(responses.min_ns() > 0 && responses.max_ns() < 1 << 22, "4 ms and more are told");
}

/// Two threads, and two lengths.
#[test]
fn several_names_have_the_same_sums_and_a_place_each() {
    let Some(disk) = Loop::new(256) else { return };
    let Some(capture) = capture(of_repeats(&disk, false)) else { return };
    let before = reads_of(&disk);
    let readers = [512, 1024].map(|bytes| Reader::of(&disk, bytes));
    let (steps, summed, taken) = (Collected::default(), Quick::default(), Instant::now());
    let mut counts = Counts { capture, steps, summed, taken, busy_told: 0 };
    let mut names = BTreeSet::new();
    wait_for("reads of both", || {
        counts.told();
        names.extend(counts.steps.called.drain(..));
        names.len() == 2
    });
    assert!(!counts.capture.sum_up(*names.first().unwrap(), SUMS_MOST, i64::MAX), "no such sums");
    assert!(names.iter().all(|name| counts.capture.sum_up(*name, SUMS_MOST - 1, i64::MAX)));
    let is_of_both = |summed: &Quick| {
        let each = summed.responses.count() * 512;
        summed.bytes > each + each / 10 && summed.bytes < 2 * each - each / 10
    };
    wait_for("sums of both", || {
        counts.told();
        counts.capture.take_summed().iter().for_each(|(sums, quick)| {
            assert_eq!(*sums, SUMS_MOST - 1);
            counts.summed.merge(quick);
        });
        counts.summed.responses.count() > MANY && is_of_both(&counts.summed)
    });
    drop(readers);
    wait_for("all to be completed", || counts.capture.on_way() == 0);
    counts.capture.stop().unwrap();
    let told = counts.told();
    counts.capture.take_summed().iter().for_each(|(_, quick)| counts.summed.merge(quick));
    assert_eq!(told + counts.summed.responses.count(), reads_of(&disk) - before);
}

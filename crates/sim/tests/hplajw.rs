//! A workstation's disks for a week of 1992, replayed on the machine of the trace's own header,
//! against what was measured there. Skipped, saying so, where the trace is absent.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "tests")]

use crate::support::judge;
use crate::support::srt;

use judge::*;
use model::record::{Op, Request};
use sim::profile::CATALOG;
use sim::replay::{Outcome, ReplayMachine, dependent, each, open};

fn machine(settings: &[(&str, &str)]) -> ReplayMachine {
    let mut profile = CATALOG.load("hp-9000-845").unwrap();
    for (key, value) in settings {
        profile.set(key, value).unwrap();
    }
    ReplayMachine::read(&profile.reader()).unwrap()
}

fn simulate(rows: &[Request], settings: &[(&str, &str)]) -> (Vec<Request>, Outcome) {
    let mut simulated = Vec::new();
    let sink = |row: &Request| simulated.push(*row);
    let outcome = dependent(machine(settings), each(rows.iter().copied()), sink).unwrap();
    (simulated, outcome)
}

fn is_read(row: &Request) -> bool {
    row.device == 0 && row.op == Op::Read
}

fn responses(rows: &[Request], is_of: impl Fn(&Request) -> bool) -> Vec<f64> {
    sorted(rows.iter().filter(|row| is_of(row)).map(response_ms))
}

fn disk_0_services(rows: &[Request]) -> Vec<f64> {
    sorted(rows.iter().filter(|row| row.device == 0).map(service_ms))
}

fn assert_within(what: &str, simulated: f64, measured: f64, share: f64) {
    let error = simulated / measured - 1.0;
    assert!(error.abs() <= share, "{what}: {simulated:.1} against {measured:.1}");
}

#[test]
fn the_header_s_machine_does_as_the_real_one_did() {
    let Some(measured) = srt::hplajw() else { return };
    let (simulated, outcome) = simulate(&measured, &[]);
    assert_eq!((simulated.len(), outcome.requests, outcome.left_out), (44_519, 44_519, 0));
    let (ours, theirs) = (disk_0_services(&simulated), disk_0_services(&measured));
    let theirs_mean = mean(theirs.iter().copied());
    let demerit = demerit(&ours, &theirs);
    assert!(demerit <= 0.1 * theirs_mean, "{demerit:.2} ms of {theirs_mean:.2}");
    let is_write = |row: &Request| row.device == 0 && is_async_write(row);
    let mean_of = |rows: &[Request], is_of: &dyn Fn(&Request) -> bool| mean(responses(rows, is_of));
    assert_within("reads", mean_of(&simulated, &is_read), mean_of(&measured, &is_read), 0.2);
    assert_within("writes", mean_of(&simulated, &is_write), mean_of(&measured, &is_write), 0.2);
    let rows = by_writes_outstanding(&simulated).into_iter().zip(by_writes_outstanding(&measured));
    for (row, (ours, theirs)) in rows.enumerate() {
        assert!(ours.0 > 200, "row {row} has {} reads", ours.0);
        assert_within(&format!("row {row}"), ours.1, theirs.1, 0.25);
    }
}

/// The judge's own numbers are those of ../shared/data/README.md.
#[test]
fn what_was_measured_is_read_right() {
    let Some(measured) = srt::hplajw() else { return };
    let reads = responses(&measured, is_read);
    assert_eq!(reads.len(), 10_887);
    assert_within("reads", mean(reads), 39.1, 0.002);
    assert_within("service", mean(disk_0_services(&measured)), 25.35, 0.001);
    let rows = by_writes_outstanding(&measured);
    assert_eq!(rows.map(|(count, _)| count), [12_103, 313, 339, 285]);
    for ((_, ours), theirs) in rows.into_iter().zip([30.7, 79.3, 106.0, 129.5]) {
        assert_within("row", ours, theirs, 0.002);
    }
}

#[test]
fn remedies_help_the_reads_and_first_come_first_served_does_not() {
    let Some(measured) = srt::hplajw() else { return };
    let reads = |settings: &[(&str, &str)]| {
        let reads = responses(&simulate(&measured, settings).0, is_read);
        (mean(reads.iter().copied()), quantile(&reads, 0.99))
    };
    let baseline = reads(&[]);
    for settings in [("queue.policy", "reads-first"), ("queue.write_interval", "100 ms")] {
        let remedy = reads(&[settings]);
        assert!(remedy.0 < baseline.0 && remedy.1 < baseline.1, "{settings:?}: {remedy:?}");
    }
    let fifo = reads(&[("queue.policy", "fifo")]);
    assert!(fifo.0 > baseline.0 && fifo.1 > baseline.1, "{fifo:?}, {baseline:?}");
}

#[test]
fn the_same_trace_gives_the_same_rows() {
    let Some(measured) = srt::hplajw() else { return };
    assert_eq!(simulate(&measured, &[]), simulate(&measured, &[]));
}

#[test]
fn an_open_replay_keeps_what_is_outstanding_and_no_more() {
    let Some(measured) = srt::hplajw() else { return };
    let mut last_ns = 0;
    let sink = |row: &Request| {
        let queued_ns = row.queued_ns.unwrap();
        assert!(last_ns <= queued_ns, "rows are given out by arrival");
        last_ns = queued_ns;
    };
    let outcome = open(machine(&[]), each(measured.iter().copied()), sink).unwrap();
    assert!(outcome.queueing_sentence().unwrap().contains("waited in the driver's queue"));
    assert!(outcome.most_kept < 200, "{}", outcome.most_kept);
}

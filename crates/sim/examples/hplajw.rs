//! hplajw on the HP 9000/845 of its header: simulated beside measured, and what else might have been done.
//!
//! `cargo run --release -p sim --example hplajw [open] [KEY=VALUE …]`

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "an example")]

#[path = "../tests/support/judge.rs"]
mod judge;
#[path = "../tests/support/srt.rs"]
mod srt;

use judge::*;
use model::record::{Op, Request};
use sim::replay::{Outcome, ReplayMachine, dependent, open};

fn replay(
    rows: &[Request],
    settings: &[(&str, &str)],
    is_open: bool,
) -> (Vec<Request>, Outcome, f64) {
    let mut profile = sim::profile::load("hp-9000-845").unwrap();
    for (key, value) in settings {
        profile.set(key, value).unwrap();
    }
    let machine = ReplayMachine::read(&profile.reader()).unwrap();
    let mut simulated = Vec::with_capacity(rows.len());
    let begun = std::time::Instant::now();
    let sink = |row: &Request| simulated.push(*row);
    let source = rows.iter().copied();
    let outcome =
        if is_open { open(machine, source, sink) } else { dependent(machine, source, sink) };
    let outcome = outcome.unwrap();
    let seconds = begun.elapsed().as_secs_f64();
    (simulated, outcome, rows.len() as f64 / seconds)
}

fn line(name: &str, rows: &[Request], is_of: &dyn Fn(&Request) -> bool) {
    let of = |f: fn(&Request) -> f64| sorted(rows.iter().filter(|row| is_of(row)).map(f));
    let (response, service) = (of(response_ms), of(service_ms));
    println!(
        "{name:40} {:6} requests: response mean {:7.1} p50 {:6.1} p99 {:7.1} max {:8.1} ms, service mean {:5.2}",
        response.len(),
        mean(response.iter().copied()),
        quantile(&response, 0.5),
        quantile(&response, 0.99),
        quantile(&response, 1.0),
        mean(service.iter().copied()),
    );
}

type Class<'a> = (&'a str, &'a dyn Fn(&Request) -> bool);

fn main() {
    let Some(measured) = srt::hplajw() else { return };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_open = arguments.iter().any(|text| text == "open");
    let settings: Vec<_> = arguments.iter().filter_map(|text| text.split_once('=')).collect();
    let (simulated, outcome, per_s) = replay(&measured, &settings, is_open);
    println!("{per_s:.0} requests/s, {:?}", outcome.queueing_sentence());
    println!("{outcome:?}");
    let disk_0 = |row: &Request| row.device == 0;
    let reads = |row: &Request| row.device == 0 && row.op == Op::Read;
    let writes = |row: &Request| row.device == 0 && is_async_write(row);
    let sync_writes =
        |row: &Request| row.device == 0 && row.op == Op::Write && !is_async_write(row);
    let classes: [Class; 4] = [
        ("disk 0", &disk_0),
        ("disk 0, reads", &reads),
        ("disk 0, asynchronous writes", &writes),
        ("disk 0, other writes", &sync_writes),
    ];
    for (name, is_of) in classes {
        line(&format!("measured: {name}"), &measured, is_of);
        line(&format!("simulated: {name}"), &simulated, is_of);
        let services = |rows: &[Request]| sorted(rows.iter().filter(|r| is_of(r)).map(service_ms));
        let (ours, theirs) = (services(&simulated), services(&measured));
        let (demerit, mean) = (demerit(&ours, &theirs), mean(theirs.iter().copied()));
        println!("  demerit of service {demerit:.2} ms = {:.1} %", 100.0 * demerit / mean);
    }
    println!("reads by asynchronous writes outstanding: measured, simulated");
    for (theirs, ours) in
        by_writes_outstanding(&measured).into_iter().zip(by_writes_outstanding(&simulated))
    {
        println!("  {theirs:?} {ours:?} {:+.1} %", 100.0 * (ours.1 / theirs.1 - 1.0));
    }
    for (name, key, value) in [
        ("fifo", "queue.policy", "fifo"),
        ("disksort", "queue.policy", "disksort"),
        ("reads first", "queue.policy", "reads-first"),
        ("sstf", "queue.policy", "sstf"),
        ("dribble 100 ms", "queue.write_interval", "100 ms"),
        ("dribble 250 ms", "queue.write_interval", "250 ms"),
    ] {
        let changed: Vec<_> = settings.iter().copied().chain([(key, value)]).collect();
        let (rows, ..) = replay(&measured, &changed, is_open);
        line(&format!("{name}: reads"), &rows, &reads);
        line(&format!("{name}: asynchronous writes"), &rows, &writes);
    }
}

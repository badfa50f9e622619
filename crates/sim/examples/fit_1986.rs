//! The fit of the 1986 paper's five inputs, their ranges, and what the authors suggest.
//!
//! `cargo run --release -p sim --example fit_1986 [fit] [ranges]`

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "an example")]

use sim::papers::response_1986::*;

const FILE: &str = include_str!("../../../papers/response-1986.toml");
const TABLE: &str = include_str!("../../../papers/response-times-1986.csv");
const SEED: u64 = 1;
const BOUND: f64 = 0.05;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let mut scenario = Scenario::read(FILE).unwrap();
    let theirs = published(TABLE).unwrap();
    if asked.iter().any(|word| word == "fit") {
        let found = fit(&scenario, &theirs, SEED).unwrap();
        println!("{found:?}");
        scenario.inputs = found.inputs;
    }
    show(&scenario, &scenario.inputs, &theirs);
    if asked.iter().any(|word| word == "ranges") {
        for range in ranges(&scenario, &theirs, BOUND, SEED).unwrap() {
            println!("{range:?}");
            if range.input == "writes_per_sync" {
                for writes_per_sync in [range.low, range.high] {
                    println!("with {writes_per_sync:.0} writes a sync");
                    show(&scenario, &Inputs { writes_per_sync, ..scenario.inputs }, &theirs);
                }
            }
        }
    }
}

fn show(scenario: &Scenario, inputs: &Inputs, theirs: &[u64; COUNTS]) {
    for (name, found) in remedies(scenario, inputs, theirs, SEED).unwrap() {
        println!("{name}");
        println!(
            "  counts {:?}, above 300 ticks {}, distance {:.4}",
            found.counts, found.above_300_ticks, found.distance
        );
        println!("  reads {:?}\n  writes {:?}", found.reads, found.writes);
        println!("  reads after a sync, by second, ms: {:.0?}", found.reads_after_sync_ms);
    }
}

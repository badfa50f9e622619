//! The fit of the 1986 paper's five inputs, their ranges, and what the authors suggest.

use clap::Args;
use papers::response_1986::{
    COUNTS, Inputs, Scenario, TABLE, TEXT, fit, published, ranges, remedies,
};

/// `cargo xtask fit 1986`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Look for the inputs; without it, only show what the scenario gives.
    #[arg(long)]
    search: bool,
    /// Look for the range in which each keeps the distance within 0.05.
    #[arg(long)]
    ranges: bool,
    /// The seed of the load.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The distance that is wanted.
const BOUND: f64 = 0.05;

/// Runs the command.
pub(super) fn run(options: &Options) -> anyhow::Result<()> {
    let mut scenario = Scenario::read(TEXT)?;
    let theirs = published(TABLE)?;
    if options.search {
        let found = fit(&scenario, &theirs, options.seed)?;
        println!("{found:?}");
        scenario.inputs = found.inputs;
    }
    show(&scenario, &scenario.inputs, &theirs, options.seed)?;
    if options.ranges {
        for range in ranges(&scenario, &theirs, BOUND, options.seed)? {
            println!("{range:?}");
        }
    }
    Ok(())
}

fn show(
    scenario: &Scenario,
    inputs: &Inputs,
    theirs: &[u64; COUNTS],
    seed: u64,
) -> anyhow::Result<()> {
    for (name, found) in remedies(scenario, inputs, theirs, seed)? {
        println!(
            "{name}: distance {:.4}, above 300 ticks {}",
            found.distance, found.above_300_ticks
        );
        println!("  counts {:?}", found.counts);
        println!("  reads {:?}\n  writes {:?}", found.reads, found.writes);
    }
    Ok(())
}

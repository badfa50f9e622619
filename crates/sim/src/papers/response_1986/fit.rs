//! The fit of the five inputs, and how far each may be off: a pattern search (Hooke & Jeeves 1961), one input after the
//! other, with steps that are halved where none helps; the same seed for all, so that differences are the inputs'.

use super::{COUNTS, Failure, Inputs, REMEDIES, Scenario, evaluate};

/// What the search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The best inputs.
    pub inputs: Inputs,
    /// Their distance.
    pub distance: f64,
    /// Simulations that were made for it.
    pub simulations: u32,
}

/// How far an input may be off by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// Which.
    pub input: &'static str,
    /// The least for which the distance stays within the bound.
    pub low: f64,
    /// The most.
    pub high: f64,
    /// Whether the search ended at its own limit there, not at the bound: nothing constrains it.
    pub is_open: [bool; 2],
}

/// The least and the most that each input may be: no negative rates, no share above one.
const LIMITS: [(f64, f64); 5] = [(0.0, 12.0), (0.0, 330.0), (0.0, 1.0), (0.0, 25.0), (0.0, 100.0)];

/// First steps.
const STEPS: [f64; 5] = [1.0, 30.0, 0.1, 1.0, 5.0];

/// Steps are halved so often.
const HALVINGS: u32 = 4;

/// Fits the inputs, from the scenario's on.
///
/// # Errors
/// A simulation at fault.
pub fn fit(scenario: &Scenario, theirs: &[u64; COUNTS], seed: u64) -> Result<Fitted, Failure> {
    let mut simulations = 0;
    let mut distance = |values: [f64; 5]| {
        simulations += 1;
        let inputs = Inputs::of(values);
        let found = evaluate(scenario, &inputs, theirs, &REMEDIES[0], seed)?;
        // Section 3.1: there are outliers of more than 300 ticks.
        Ok::<_, Failure>(if found.above_300_ticks > 0 { found.distance } else { 1.0 })
    };
    let mut values = scenario.inputs.values();
    let mut best = distance(values)?;
    for halving in 0..=HALVINGS {
        let mut has_helped = true;
        while has_helped {
            has_helped = false;
            for index in 0..values.len() {
                let step = STEPS[index] / f64::from(1 << halving);
                for signed in [step, -step] {
                    let (low, high) = LIMITS[index];
                    let mut tried = values;
                    tried[index] = (values[index] + signed).clamp(low, high);
                    let found = distance(tried)?;
                    if found < best {
                        (values, best, has_helped) = (tried, found, true);
                        break;
                    }
                }
            }
        }
    }
    Ok(Fitted { inputs: Inputs::of(values), distance: best, simulations })
}

/// For each input the range in which the distance stays within a bound, with some responses above 300 ticks, while the others stay as they are.
///
/// # Errors
/// A simulation at fault.
pub fn ranges(
    scenario: &Scenario,
    theirs: &[u64; COUNTS],
    bound: f64,
    seed: u64,
) -> Result<Vec<Range>, Failure> {
    let best = scenario.inputs.values();
    let is_within = |index: usize, value: f64| {
        let mut values = best;
        values[index] = value;
        let inputs = Inputs::of(values);
        let found = evaluate(scenario, &inputs, theirs, &REMEDIES[0], seed)?;
        Ok::<_, Failure>(found.distance <= bound && found.above_300_ticks > 0)
    };
    let edge = |index: usize, limit: f64| {
        if is_within(index, limit)? {
            return Ok((limit, true));
        }
        let (mut inside, mut outside) = (best[index], limit);
        for _ in 0..8 {
            let middle = 0.5 * (inside + outside);
            if is_within(index, middle)? {
                inside = middle;
            } else {
                outside = middle;
            }
        }
        Ok::<_, Failure>((inside, false))
    };
    let range = |(index, input): (usize, &'static str)| {
        let (low, is_low_open) = edge(index, LIMITS[index].0)?;
        let (high, is_high_open) = edge(index, LIMITS[index].1)?;
        Ok(Range { input, low, high, is_open: [is_low_open, is_high_open] })
    };
    Inputs::NAMES.into_iter().enumerate().map(range).collect()
}

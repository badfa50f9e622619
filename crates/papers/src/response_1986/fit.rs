//! The fit of the five inputs, and how far each may be off; the same seed of the load for all, so
//! that differences are the inputs'.

use super::{COUNTS, Inputs, REMEDIES, Scenario, evaluate};
use crate::Failure;
use crate::fit::{Bounds, Effort, minimize};

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

/// What each input may be, in the order and the units of [`Inputs::values`]: no negative rates, no
/// share above one.
const LIMITS: [Bounds; 5] = [
    Bounds { low: 0.0, high: 12.0 },
    Bounds { low: 0.0, high: 330.0 },
    Bounds { low: 0.0, high: 1.0 },
    Bounds { low: 0.0, high: 25.0 },
    Bounds { low: 0.0, high: 100.0 },
];

/// Simulations that a fit makes, to a whole generation; the first steps are a tenth of what may be.
const SIMULATIONS: u32 = 240;
const STEP: f64 = 1.1;

/// The inputs' distance; 1, the most that there is, without the outliers of more than 300 ticks of
/// section 3.1.
fn distance(
    scenario: &Scenario,
    theirs: &[u64; COUNTS],
    inputs: &Inputs,
    seed: u64,
) -> Result<f64, Failure> {
    let found = evaluate(scenario, inputs, theirs, &REMEDIES[0], seed)?;
    Ok(if found.above_300_ticks > 0 { found.distance } else { 1.0 })
}

/// Fits the inputs, from the scenario's on.
pub fn fit(scenario: &Scenario, theirs: &[u64; COUNTS], seed: u64) -> Result<Fitted, Failure> {
    let mut fault = None;
    let mut objective = |values: &[f64]| {
        let distance = distance(scenario, theirs, &inputs(values), seed);
        distance.unwrap_or_else(|failure| {
            fault.get_or_insert(failure);
            f64::INFINITY
        })
    };
    let effort = Effort { evaluations: SIMULATIONS, step: STEP, seed };
    let found = minimize(&scenario.inputs.values(), &LIMITS, effort, &mut objective);
    match fault {
        Some(failure) => Err(failure),
        None => Ok(Fitted {
            inputs: inputs(&found.values),
            distance: found.objective,
            simulations: found.evaluations,
        }),
    }
}

/// The inputs of a search's values, of which there are as many.
fn inputs(values: &[f64]) -> Inputs {
    let value = |index: usize| values.get(index).copied().unwrap_or_default();
    Inputs::of(std::array::from_fn(value))
}

/// For each input the range in which the distance stays within a bound, with some responses above
/// 300 ticks, while the others stay as they are.
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
        Ok::<_, Failure>(distance(scenario, theirs, &Inputs::of(values), seed)? <= bound)
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
        let (low, is_low_open) = edge(index, LIMITS[index].low)?;
        let (high, is_high_open) = edge(index, LIMITS[index].high)?;
        Ok(Range { input, low, high, is_open: [is_low_open, is_high_open] })
    };
    Inputs::NAMES.into_iter().enumerate().map(range).collect()
}

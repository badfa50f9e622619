//! Fits: bounded search for the parameters with the least objective, by steps along coordinates and at random.
//!
//! Parameters are times, rates and shares, which are uncertain by a factor: they are searched on a logarithmic scale
//! between their bounds. Each coordinate has a step of its own that grows where it helps and shrinks where it does
//! not. The same seed takes the same course.
//!
//! Non-goals: gradients (the objective is a simulation with chance in it, and has none), proofs of a global optimum.

use crate::random::Random;

/// What a parameter may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
}

impl Bounds {
    /// The value at a place from 0 to 1 between them, on a logarithmic scale.
    pub fn at(&self, place: f64) -> f64 {
        let place = place.clamp(0.0, 1.0);
        self.low * (self.high / self.low).powf(place)
    }

    /// The place of a value.
    pub fn place(&self, value: f64) -> f64 {
        let whole = (self.high / self.low).ln();
        if whole == 0.0 { 0.0 } else { ((value / self.low).ln() / whole).clamp(0.0, 1.0) }
    }
}

/// How a search goes about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Evaluations of the objective.
    pub evaluations: u32,
    /// The first step, as a factor on a value: 1.2 tries 20 % more and less.
    pub step: f64,
    /// For the order of the coordinates and the random directions.
    pub seed: u64,
}

/// The least that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Where.
    pub values: Vec<f64>,
    /// The objective there.
    pub objective: f64,
    /// Evaluations made.
    pub evaluations: u32,
}

/// Values scattered at random by up to a factor, within their bounds: a cold start.
pub fn scramble(values: &[f64], bounds: &[Bounds], factor: f64, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let scattered = values.iter().zip(bounds).map(|(value, bounds)| {
        let by = factor.powf(2.0 * random.unit() - 1.0);
        (value * by).clamp(bounds.low, bounds.high)
    });
    scattered.collect()
}

struct Search<'a> {
    bounds: &'a [Bounds],
    objective: &'a mut dyn FnMut(&[f64]) -> f64,
    best: Vec<f64>,
    least: f64,
    evaluations: u32,
}

impl Search<'_> {
    /// Keeps a candidate if it is better.
    fn improves(&mut self, candidate: Vec<f64>) -> bool {
        let values: Vec<f64> = candidate.iter().zip(self.bounds).map(|(p, b)| b.at(*p)).collect();
        let objective = (self.objective)(&values);
        self.evaluations += 1;
        let is_better = objective < self.least;
        if is_better {
            (self.best, self.least) = (candidate, objective);
        }
        is_better
    }

    fn moved(&self, coordinate: usize, by: f64) -> Option<Vec<f64>> {
        let mut candidate = self.best.clone();
        let place = candidate.get_mut(coordinate)?;
        let to = (*place + by).clamp(0.0, 1.0);
        if to == *place {
            return None;
        }
        *place = to;
        Some(candidate)
    }
}

/// The least steps that still mean something, as a place between bounds.
const STEP_MIN: f64 = 1e-3;
/// What a step grows by where it helped.
const GROWTH: f64 = 1.5;
/// What it shrinks by where it did not.
const SHRINKAGE: f64 = 0.6;

/// Searches from a start.
pub fn minimize(
    start: &[f64],
    bounds: &[Bounds],
    effort: Effort,
    objective: &mut dyn FnMut(&[f64]) -> f64,
) -> Found {
    let places: Vec<f64> = start.iter().zip(bounds).map(|(value, b)| b.place(*value)).collect();
    let steps = bounds.iter().map(|b| effort.step.ln() / (b.high / b.low).ln().max(1e-9));
    let mut steps: Vec<f64> = steps.collect();
    let mut random = Random::new(effort.seed);
    let mut search =
        Search { bounds, objective, best: places.clone(), least: f64::INFINITY, evaluations: 0 };
    search.improves(places);
    while search.evaluations < effort.evaluations && !start.is_empty() {
        sweep(&mut search, &mut steps, effort.evaluations, &mut random);
        for _ in 0..start.len() / 2 {
            if search.evaluations < effort.evaluations {
                let candidate =
                    search.best.iter().zip(&steps).map(|(place, step)| {
                        (place + random.normal() * step.min(0.2)).clamp(0.0, 1.0)
                    });
                let candidate = candidate.collect();
                search.improves(candidate);
            }
        }
        if steps.iter().all(|step| *step <= STEP_MIN) {
            steps.iter_mut().for_each(|step| *step = STEP_MIN * 30.0);
        }
    }
    let values = search.best.iter().zip(bounds).map(|(p, b)| b.at(*p)).collect();
    Found { values, objective: search.least, evaluations: search.evaluations }
}

/// Each coordinate once, in a random order.
fn sweep(search: &mut Search, steps: &mut [f64], evaluations: u32, random: &mut Random) {
    let mut order: Vec<usize> = (0..steps.len()).collect();
    for index in (1..order.len()).rev() {
        order.swap(index, random.below(index as u64 + 1) as usize);
    }
    for coordinate in order {
        if search.evaluations >= evaluations {
            return;
        }
        let step = steps[coordinate];
        let first = if random.unit() < 0.5 { step } else { -step };
        let helped = [first, -first].into_iter().any(|by| {
            search.moved(coordinate, by).is_some_and(|candidate| search.improves(candidate))
        });
        let factor = if helped { GROWTH } else { SHRINKAGE };
        steps[coordinate] = (step * factor).clamp(STEP_MIN, 0.5);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { low: 0.1, high: 10.0 };

    fn valley(values: &[f64]) -> f64 {
        let wanted = [0.5, 2.0, 7.0];
        let off = values.iter().zip(wanted).map(|(value, wanted)| (value / wanted).ln());
        let offs: Vec<f64> = off.collect();
        // Not separable: the second and the third hang together.
        offs[0].abs() + (offs[1] + offs[2]).abs() + (offs[1] - offs[2]).abs() * 0.2
    }

    #[test]
    fn the_least_of_a_crooked_valley_is_found_from_anywhere() {
        for seed in 0..5 {
            let start = scramble(&[1.0; 3], &[BOUNDS; 3], 8.0, seed);
            let effort = Effort { evaluations: 2000, step: 1.5, seed };
            let found = minimize(&start, &[BOUNDS; 3], effort, &mut valley);
            assert!(found.objective < 0.02, "{found:?}");
            assert!(found.evaluations <= 2000);
            assert_eq!(found, minimize(&start, &[BOUNDS; 3], effort, &mut valley));
        }
    }

    #[test]
    fn nothing_leaves_its_bounds() {
        let effort = Effort { evaluations: 300, step: 3.0, seed: 1 };
        let found = minimize(&[5.0], &[BOUNDS], effort, &mut |values| -values[0]);
        assert!((found.values[0] - 10.0).abs() < 1e-9);
        assert_eq!(BOUNDS.at(0.5), 1.0);
        assert!((BOUNDS.place(1.0) - 0.5).abs() < 1e-12);
    }
}

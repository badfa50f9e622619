//! Fits: bounded search for the parameters with the least objective, by an evolution strategy that
//! adapts the covariance of its steps (CMA-ES).
//!
//! Parameters are times, rates and shares, which are uncertain by a factor: they are searched on a
//! logarithmic scale between their bounds; those that may be zero on a linear one. Parameters that
//! trade off against each other make the objective a bent valley, which steps along the coordinates
//! do not follow. The same seed takes the same course.
//!
//! Non-goals: gradients (the objective is a simulation with chance in it, and has none), proofs of
//! a global optimum.

use sim::random::Random;

/// What a parameter may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
}

impl Bounds {
    /// No logarithm reaches zero.
    fn is_linear(&self) -> bool {
        self.low <= 0.0
    }

    /// The value at a place from 0 to 1 between them.
    pub fn at(&self, place: f64) -> f64 {
        let place = place.clamp(0.0, 1.0);
        match self.is_linear() {
            true => self.low + place * (self.high - self.low),
            false => self.low * (self.high / self.low).powf(place),
        }
    }

    /// The place of a value.
    pub fn place(&self, value: f64) -> f64 {
        let (part, whole) = match self.is_linear() {
            true => (value - self.low, self.high - self.low),
            false => ((value / self.low).ln(), (self.high / self.low).ln()),
        };
        if whole == 0.0 { 0.0 } else { (part / whole).clamp(0.0, 1.0) }
    }

    /// How far a first step goes between them.
    fn spread(&self, step: f64) -> f64 {
        let spread = match self.is_linear() {
            true => step - 1.0,
            false => step.ln() / (self.high / self.low).ln().max(1e-9),
        };
        spread.clamp(1e-6, 0.3)
    }
}

/// How a search goes about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Evaluations of the objective, as a whole generation goes.
    pub evaluations: u32,
    /// The first step, as a factor on a value: 1.2 tries 20 % more and less; on a linear scale, of
    /// all that may be.
    pub step: f64,
    /// For the candidates.
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

/// The search's knowledge: where it stands, how far it looks, and in which directions (Hansen &
/// Ostermeier 2001, with the constants of Hansen's tutorial, 2016). The factor of the covariance is
/// Cholesky's.
struct Strategy {
    mean: Vec<f64>,
    step: f64,
    covariance: Vec<Vec<f64>>,
    factor: Vec<Vec<f64>>,
    path_step: Vec<f64>,
    path_covariance: Vec<f64>,
    weights: Vec<f64>,
    constants: Constants,
}

#[derive(Clone, Copy)]
struct Constants {
    mass: f64,
    step_rate: f64,
    step_damping: f64,
    path_rate: f64,
    rank_one: f64,
    rank_all: f64,
    length: f64,
}

/// A candidate: its objective, its deviation in independent coordinates, and its place.
type Candidate = (f64, Vec<f64>, Vec<f64>);

impl Strategy {
    fn new(mean: Vec<f64>, spreads: &[f64]) -> Self {
        let count = mean.len();
        let n = count as f64;
        let parents = (2 + (1.5 * n.ln()) as usize).max(2);
        let raw = (0..parents).map(|rank| (parents as f64 + 0.5).ln() - (rank as f64 + 1.0).ln());
        let raw: Vec<f64> = raw.collect();
        let sum: f64 = raw.iter().sum();
        let weights: Vec<f64> = raw.iter().map(|weight| weight / sum).collect();
        let mass = 1.0 / weights.iter().map(|weight| weight * weight).sum::<f64>();
        let rank_one = 2.0 / ((n + 1.3).powi(2) + mass);
        let constants = Constants {
            mass,
            step_rate: (mass + 2.0) / (n + mass + 5.0),
            step_damping: 1.0
                + 2.0 * (((mass - 1.0) / (n + 1.0)).sqrt() - 1.0).max(0.0)
                + (mass + 2.0) / (n + mass + 5.0),
            path_rate: (4.0 + mass / n) / (n + 4.0 + 2.0 * mass / n),
            rank_one,
            rank_all: (2.0 * (mass - 2.0 + 1.0 / mass) / ((n + 2.0).powi(2) + mass))
                .min(1.0 - rank_one),
            length: n.sqrt() * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)),
        };
        let diagonal = |power: i32| {
            let row = |i: usize| {
                (0..count).map(|j| if i == j { spreads[i].powi(power) } else { 0.0 }).collect()
            };
            (0..count).map(row).collect::<Vec<Vec<f64>>>()
        };
        Self {
            step: 1.0,
            covariance: diagonal(2),
            factor: diagonal(1),
            path_step: vec![0.0; count],
            path_covariance: vec![0.0; count],
            weights,
            constants,
            mean,
        }
    }

    /// How many candidates make a generation.
    fn generation(&self) -> usize {
        self.weights.len() * 2
    }

    fn candidate(&self, random: &mut Random) -> (Vec<f64>, Vec<f64>) {
        let normal: Vec<f64> = self.mean.iter().map(|_| random.normal()).collect();
        let place = self.factor.iter().zip(&self.mean).map(|(row, mean)| {
            let off: f64 = row.iter().zip(&normal).map(|(factor, normal)| factor * normal).sum();
            (mean + self.step * off).clamp(0.0, 1.0)
        });
        (normal.clone(), place.collect())
    }

    /// Learns from a generation, best first.
    fn learn(&mut self, generation: &[Candidate]) {
        let Constants { mass, step_rate, step_damping, path_rate, length, .. } = self.constants;
        let parents: Vec<(&f64, &Candidate)> = self.weights.iter().zip(generation).collect();
        let weighted = |at: usize, of: fn(&Candidate) -> &Vec<f64>| -> f64 {
            parents.iter().map(|(weight, candidate)| *weight * of(candidate)[at]).sum()
        };
        let places: Vec<f64> = (0..self.mean.len()).map(|at| weighted(at, |c| &c.2)).collect();
        let normals: Vec<f64> = (0..self.mean.len()).map(|at| weighted(at, |c| &c.1)).collect();
        let kept = (step_rate * (2.0 - step_rate) * mass).sqrt();
        for (path, normal) in self.path_step.iter_mut().zip(&normals) {
            *path = (1.0 - step_rate) * *path + kept * normal;
        }
        let long = self.path_step.iter().map(|path| path * path).sum::<f64>().sqrt();
        let kept = (path_rate * (2.0 - path_rate) * mass).sqrt();
        let moved = places.iter().zip(&self.mean).map(|(new, old)| (new - old) / self.step);
        for (path, moved) in self.path_covariance.iter_mut().zip(moved) {
            *path = (1.0 - path_rate) * *path + kept * moved;
        }
        let offs: Vec<(f64, Vec<f64>)> = parents
            .iter()
            .map(|(weight, candidate)| {
                let off =
                    candidate.2.iter().zip(&self.mean).map(|(at, mean)| (at - mean) / self.step);
                (**weight, off.collect())
            })
            .collect();
        self.mean = places;
        self.bend(&offs);
        self.step *= ((step_rate / step_damping) * (long / length - 1.0)).clamp(-0.5, 0.5).exp();
        self.step = self.step.clamp(STEP_MIN, 3.0);
    }

    /// Turns the covariance towards what was good.
    fn bend(&mut self, offs: &[(f64, Vec<f64>)]) {
        let Constants { rank_one, rank_all, .. } = self.constants;
        for (i, row) in self.covariance.iter_mut().enumerate() {
            for (j, entry) in row.iter_mut().enumerate() {
                let all: f64 = offs.iter().map(|(weight, off)| weight * off[i] * off[j]).sum();
                let one = self.path_covariance[i] * self.path_covariance[j];
                *entry = (1.0 - rank_one - rank_all) * *entry + rank_one * one + rank_all * all;
            }
        }
        self.factor = cholesky(&self.covariance);
    }
}

/// The lower triangle whose square a symmetric matrix is.
fn cholesky(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let count = matrix.len();
    let mut lower = vec![vec![0.0; count]; count];
    for i in 0..count {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let left = matrix[i][j] - known;
            lower[i][j] = if i == j { left.max(1e-18).sqrt() } else { left / lower[j][j] };
        }
    }
    lower
}

/// The shortest step that still means something, in shares of the first one.
const STEP_MIN: f64 = 5e-3;

/// Searches from a start.
pub fn minimize(
    start: &[f64],
    bounds: &[Bounds],
    effort: Effort,
    objective: &mut dyn FnMut(&[f64]) -> f64,
) -> Found {
    let values = |places: &[f64]| -> Vec<f64> {
        places.iter().zip(bounds).map(|(place, bounds)| bounds.at(*place)).collect()
    };
    let places: Vec<f64> = start.iter().zip(bounds).map(|(value, b)| b.place(*value)).collect();
    let spreads: Vec<f64> = bounds.iter().map(|bounds| bounds.spread(effort.step)).collect();
    let mut random = Random::new(effort.seed);
    let mut best = (objective(&values(&places)), places.clone());
    let mut evaluations = 1;
    let mut strategy = Strategy::new(places, &spreads);
    while evaluations < effort.evaluations && !start.is_empty() {
        let mut generation: Vec<Candidate> = Vec::new();
        for _ in 0..strategy.generation() {
            let (normal, place) = strategy.candidate(&mut random);
            generation.push((objective(&values(&place)), normal, place));
            evaluations += 1;
        }
        generation.sort_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((least, _, place)) = generation.first().filter(|first| first.0 < best.0) {
            best = (*least, place.clone());
        }
        strategy.learn(&generation);
    }
    Found { values: values(&best.1), objective: best.0, evaluations }
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
            assert!(found.evaluations < 2000 + 20);
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

    #[test]
    fn what_may_be_zero_is_found_on_a_linear_scale() {
        let from_zero = Bounds { low: 0.0, high: 12.0 };
        assert_eq!((from_zero.at(0.25), from_zero.place(3.0)), (3.0, 0.25));
        let effort = Effort { evaluations: 300, step: 1.2, seed: 1 };
        for wanted in [0.0, 5.0] {
            let mut off = |values: &[f64]| (values[0] - wanted).abs();
            let found = minimize(&[9.0], &[from_zero], effort, &mut off);
            assert!(found.objective < 0.02, "{wanted}: {found:?}");
        }
    }
}

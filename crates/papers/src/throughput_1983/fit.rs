//! The fit to the tables of Kridle & McKusick 1983: the objective, and what a fit comes to.
//!
//! The objective is the mean over the cells of the rate's error (the logarithm's, so that half and
//! twice weigh the same), of what it has beyond 13 %, and of a share of the processor's error; and
//! how far the drivers are from the 10 to 14 % of the processor that the paper found by profiling.

use super::parameters::{Parameter, with_values};
use super::{Cell, Modelled, Outcome, model_with};
use crate::fit::{Bounds, Effort, minimize, scramble};
use crate::{CATALOG, Failure};
use sim::profile::Profile;
use std::collections::BTreeMap;

/// "UNIX spends about the same percentage of time in the SC780 driver and the UDA50 driver":
/// section 6.
pub const DRIVER_PERCENT: std::ops::RangeInclusive<f64> = 10.0..=14.0;

/// How the parts of the objective weigh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// To which power a rate's error counts, an error of [`EVEN`] weighing the same for all: below
    /// 1 many cells that are near count for more than few that are far.
    pub power: f64,
    /// A rate's error beyond `far`, on top of its own weight of 1.
    pub beyond: f64,
    /// What is far.
    pub far: f64,
    /// A point of a processor's share, as 1 % of rate.
    pub cpu: f64,
    /// A point of a driver's share beyond its range, likewise, once for each such driver.
    pub driver: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self { power: 1.0, beyond: 0.5, far: 0.13, cpu: 0.25, driver: 0.5 }
    }
}

/// By what factor a cold start is off at the most.
const SCATTER: f64 = 1.65;

/// The error that weighs the same whatever the power.
const EVEN: f64 = 0.05;

/// A fit of parameters to cells.
#[derive(Debug)]
pub struct Fit {
    machines: BTreeMap<&'static str, Profile>,
    cells: Vec<Cell>,
    parameters: Vec<Parameter>,
    file_bytes: u64,
    weights: Weights,
    /// What machines gave for values: most steps change few machines.
    known: BTreeMap<(&'static str, Vec<u64>), Vec<Modelled>>,
}

impl Fit {
    /// A fit of those parameters that the cells' machines have, with files of a size; starred cells
    /// are left out.
    pub fn new(
        cells: &[Cell],
        parameters: &[Parameter],
        file_bytes: u64,
        weights: Weights,
    ) -> Result<Self, Failure> {
        let mut machines = BTreeMap::new();
        for cell in cells {
            machines.insert(cell.machine, CATALOG.load(cell.machine)?);
        }
        Ok(Self {
            cells: cells.iter().filter(|cell| !cell.is_suspect).cloned().collect(),
            parameters: parameters
                .iter()
                .filter(|parameter| machines.values().any(|profile| parameter.is_of(profile)))
                .copied()
                .collect(),
            machines,
            file_bytes,
            weights,
            known: BTreeMap::new(),
        })
    }

    /// Changes a value of all machines that have it: another assumption.
    /// Errors: a key that none of them has.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Failure> {
        let set: Vec<_> =
            self.machines.values_mut().map(|profile| profile.set(key, value)).collect();
        self.known.clear();
        // Who does not have it is not meant, as long as somebody is.
        if set.iter().any(Result::is_ok) {
            return Ok(());
        }
        Ok(set.into_iter().collect::<Result<(), _>>()?)
    }

    /// What is fitted.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The parameters' bounds.
    pub fn bounds(&self) -> Vec<Bounds> {
        self.parameters.iter().map(|parameter| parameter.bounds).collect()
    }

    /// The parameters' values as they stand in the profiles.
    pub fn values(&self) -> Vec<f64> {
        let value = |parameter: &Parameter| {
            let profile = self.machines.values().find(|profile| parameter.is_of(profile))?;
            parameter.value(profile)
        };
        self.parameters.iter().map(|p| value(p).unwrap_or(p.bounds.low)).collect()
    }

    /// The values with the least objective, from the profiles' own on or, given a seed for that,
    /// from values scattered around them; tells `progress` of each evaluation and its objective.
    pub fn search(
        &mut self,
        effort: Effort,
        cold: Option<u64>,
        mut progress: impl FnMut(f64),
    ) -> Vec<f64> {
        let (bounds, start) = (self.bounds(), self.values());
        let start = cold.map_or(start.clone(), |seed| scramble(&start, &bounds, SCATTER, seed));
        if effort.evaluations == 0 {
            return start;
        }
        let mut objective = |values: &[f64]| {
            // What cannot be built or run is no solution.
            let objective = self.objective(values).unwrap_or(f64::INFINITY);
            progress(objective);
            objective
        };
        minimize(&start, &bounds, effort, &mut objective).values
    }

    /// The objective.
    pub fn objective(&mut self, values: &[f64]) -> Result<f64, Failure> {
        let outcomes = self.outcomes(values)?;
        let Weights { power, beyond, far, cpu, driver } = self.weights;
        let mut sum = 0.0;
        for outcome in &outcomes {
            let error = (1.0 + outcome.error()).ln().abs();
            let points = outcome.cpu_error_points().unwrap_or(0.0).abs();
            sum += EVEN * (error / EVEN).powf(power)
                + beyond * (error - far).max(0.0)
                + cpu * points / 100.0;
        }
        let mean = sum / outcomes.len().max(1) as f64;
        let drivers = driver_percents(&outcomes);
        let off = |percent: &f64| {
            (percent - DRIVER_PERCENT.end()).max(0.0) + (DRIVER_PERCENT.start() - percent).max(0.0)
        };
        Ok(mean + driver * drivers.values().map(off).sum::<f64>() / 100.0)
    }

    /// What the machines give with those values for the cells of the fit.
    pub fn outcomes(&mut self, values: &[f64]) -> Result<Vec<Outcome>, Failure> {
        let mut of_machine: BTreeMap<&str, std::vec::IntoIter<Modelled>> = BTreeMap::new();
        for (name, profile) in &self.machines {
            let own = self.parameters.iter().zip(values).filter(|(p, _)| p.is_of(profile));
            let key = (*name, own.map(|(_, value)| value.to_bits()).collect::<Vec<u64>>());
            if !self.known.contains_key(&key) {
                let profile = with_values(profile, &self.parameters, values)?;
                let cells = self.cells.iter().filter(|cell| cell.machine == *name);
                let modelled = cells.map(|cell| model_with(&profile, cell, 1, self.file_bytes));
                self.known.insert(key.clone(), modelled.collect::<Result<_, _>>()?);
            }
            let known = self.known.get(&key).cloned().unwrap_or_default();
            of_machine.insert(name, known.into_iter());
        }
        let outcome = |cell: &Cell| {
            let modelled = of_machine.get_mut(cell.machine)?.next()?;
            Some(Outcome { cell: cell.clone(), modelled })
        };
        Ok(self.cells.iter().filter_map(outcome).collect())
    }
}

/// Each 780's driver's share of the processor's work, percent: the mean over the programs on one
/// drive with blocks of 8 KiB.
pub fn driver_percents(outcomes: &[Outcome]) -> BTreeMap<&'static str, f64> {
    let mut of_machine: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    for Outcome { cell, modelled } in outcomes {
        let is_profiled = ["vax780-sc780-eagle", "vax780-uda50-ra81"].contains(&cell.machine);
        if is_profiled && cell.drives == 1 && cell.block_bytes == 8192 {
            of_machine.entry(cell.machine).or_default().push(modelled.driver_percent);
        }
    }
    let mean = |percents: Vec<f64>| percents.iter().sum::<f64>() / percents.len().max(1) as f64;
    of_machine.into_iter().map(|(machine, percents)| (machine, mean(percents))).collect()
}

/// How far a parameter can go up and down by itself until the objective has risen by a share of
/// itself, within the parameter's bounds.
pub fn interval(
    fit: &mut Fit,
    values: &[f64],
    index: usize,
    rise: f64,
) -> Result<(f64, f64), Failure> {
    let limit = fit.objective(values)? * (1.0 + rise);
    let bounds = fit.bounds();
    let (Some(bounds), Some(value)) = (bounds.get(index), values.get(index)) else {
        return Ok((f64::NAN, f64::NAN));
    };
    let mut end = |direction: f64| -> Result<f64, Failure> {
        let mut reached = *value;
        for step in STEPS {
            let candidate = (value * step.powf(direction)).clamp(bounds.low, bounds.high);
            let mut values = values.to_vec();
            if let Some(value) = values.get_mut(index) {
                *value = candidate;
            }
            if fit.objective(&values)? > limit {
                break;
            }
            reached = candidate;
        }
        Ok(reached)
    };
    Ok((end(-1.0)?, end(1.0)?))
}

/// The factors that an interval's ends are looked for at.
const STEPS: [f64; 9] = [1.01, 1.02, 1.04, 1.07, 1.12, 1.2, 1.35, 1.6, 2.2];

//! Johnson, Smith & Wilson 1986: how many responses of RA81 drives on a UDA50 took 0, 1, 2 … ticks
//! of a 60th of a second, what a sync does to the reads of its moment, and what would help them.
//!
//! The paper prints ten counts and no word on the load. Five inputs are *fitted* to the ten counts:
//! with so many, that they come out is no proof. What the fit leaves open is given as ranges. The
//! same questions are asked of a trace whose load is known in `tests/hplajw.rs`.
//!
//! Non-goals: System V's own file system and processor; the heuristics by which the authors paired
//! sends with completions.

mod arrivals;
mod comparison;
mod fit;
mod scenario;

#[cfg(test)]
mod tests;

pub use comparison::{TABLE, compare};
pub use fit::{Fitted, Range, fit, ranges};
pub use scenario::{Inputs, Load, Scenario, TEXT};

use crate::Failure;
use arrivals::Arrivals;
use model::record::{Op, Request};
use sim::replay::{each, open};

/// Counts that are printed: of 0 to 9 ticks.
pub const COUNTS: usize = 10;

/// Seconds after a sync that are distinguished.
pub const SECONDS: usize = 30;

const TICK_NS: f64 = 1e9 / 60.0;

/// Reads papers/response-times-1986.csv.
/// Errors: other than ten rows of a tick and a count.
pub fn published(csv: &str) -> Result<[u64; COUNTS], Failure> {
    let row = |line: &str| line.split_once(',').and_then(|(_, count)| count.trim().parse().ok());
    let counts: Option<Vec<u64>> = csv.lines().skip(1).map(row).collect();
    let counts = counts.and_then(|counts| counts.try_into().ok());
    counts.ok_or_else(|| Failure::Table {
        table: "response-times-1986.csv",
        reason: "is not ten rows of a tick and a count".into(),
    })
}

/// Response times of one kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Responses {
    /// How many.
    pub count: u64,
    /// Mean, ms.
    pub mean_ms: f64,
    /// 99 % take no longer, ms.
    pub p99_ms: f64,
    /// The longest, ms.
    pub max_ms: f64,
}

impl Responses {
    fn of(mut ms: Vec<f64>) -> Self {
        ms.sort_by(f64::total_cmp);
        let at = |share: f64| ms.get((share * ms.len() as f64).ceil() as usize - 1).copied();
        match ms.len() {
            0 => Self::default(),
            count => Self {
                count: count as u64,
                mean_ms: ms.iter().sum::<f64>() / count as f64,
                p99_ms: at(0.99).unwrap_or_default(),
                max_ms: at(1.0).unwrap_or_default(),
            },
        }
    }
}

/// What a load did on the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Responses of 0 to 9 ticks, as the paper's counter shows them: ticks that passed between the
    /// two stamps.
    pub counts: [u64; COUNTS],
    /// Responses of more than 300 ticks.
    pub above_300_ticks: u64,
    /// Total-variation distance to the published counts, both as shares of their ten.
    pub distance: f64,
    /// All reads.
    pub reads: Responses,
    /// All writes.
    pub writes: Responses,
    /// Mean response of the reads that came in each second after a sync, ms; 0 where none came.
    pub reads_after_sync_ms: [f64; SECONDS],
}

/// Total-variation distance of two tables of counts, each as shares of its sum.
pub fn distance(ours: &[u64; COUNTS], theirs: &[u64; COUNTS]) -> f64 {
    let [a, b] = [ours, theirs].map(|counts| counts.iter().sum::<u64>().max(1) as f64);
    let pairs = ours.iter().zip(theirs);
    0.5 * pairs.map(|(ours, theirs)| (*ours as f64 / a - *theirs as f64 / b).abs()).sum::<f64>()
}

/// What might have been done instead: its name, and the settings that it changes.
pub type Remedy = (&'static str, &'static [(&'static str, &'static str)]);

/// As it was, what the authors suggest, and what the controller's ordering is worth.
pub const REMEDIES: [Remedy; 4] = [
    ("as it was", &[]),
    (
        "dribbled: at most 5 asynchronous writes a second to a drive",
        &[("queue.write_interval", "200 ms")],
    ),
    (
        "reads first, at driver and controller",
        &[("queue.policy", "reads-first"), ("controller.ordering", "reads-first")],
    ),
    ("first come, first served", &[("controller.ordering", "fifo")]),
];

/// Simulates inputs on the scenario's machine with a remedy.
pub fn evaluate(
    scenario: &Scenario,
    inputs: &Inputs,
    theirs: &[u64; COUNTS],
    remedy: &Remedy,
    seed: u64,
) -> Result<Evaluation, Failure> {
    let machine = scenario.machine(inputs, remedy.1)?;
    let drive_bytes = machine.drive.capacity().bytes();
    let arrivals = Arrivals::new(&scenario.load, inputs, drive_bytes, seed);
    let mut tally = Tally::default();
    let interval_ns = scenario.load.sync_interval_ns;
    open(machine, each(arrivals), |row| tally.add(row, interval_ns))?;
    Ok(tally.evaluation(theirs))
}

/// Each remedy with what it comes to.
pub fn remedies(
    scenario: &Scenario,
    inputs: &Inputs,
    theirs: &[u64; COUNTS],
    seed: u64,
) -> Result<Vec<(&'static str, Evaluation)>, Failure> {
    let evaluated = |remedy: &Remedy| {
        evaluate(scenario, inputs, theirs, remedy, seed).map(|found| (remedy.0, found))
    };
    REMEDIES.iter().map(evaluated).collect()
}

/// The requests of the scenario's load as they come, for a replay of one's own.
/// Errors: a machine that cannot be.
pub fn requests(
    scenario: &Scenario,
    seed: u64,
) -> Result<impl Iterator<Item = Request> + '_, Failure> {
    let drive_bytes = scenario.machine(&scenario.inputs, &[])?.drive.capacity().bytes();
    Ok(Arrivals::new(&scenario.load, &scenario.inputs, drive_bytes, seed))
}

#[derive(Debug, Default)]
struct Tally {
    counts: [u64; COUNTS],
    above_300_ticks: u64,
    reads_ms: Vec<f64>,
    writes_ms: Vec<f64>,
    after_sync: [(u64, f64); SECONDS],
}

impl Tally {
    fn add(&mut self, row: &Request, sync_interval_ns: f64) {
        let (Some(sent_ns), Some(completed_ns)) = (row.queued_ns, row.completed_ns) else { return };
        let tick = |at_ns: i64| (at_ns as f64 / TICK_NS) as u64;
        let ticks = tick(completed_ns) - tick(sent_ns);
        if let Some(count) = self.counts.get_mut(ticks as usize) {
            *count += 1;
        }
        self.above_300_ticks += u64::from(ticks > 300);
        let ms = (completed_ns - sent_ns) as f64 / 1e6;
        if row.op == Op::Write {
            self.writes_ms.push(ms);
            return;
        }
        self.reads_ms.push(ms);
        let since_ns = sent_ns as f64 % sync_interval_ns;
        if let Some((count, sum)) = self.after_sync.get_mut((since_ns / 1e9) as usize) {
            *count += 1;
            *sum += ms;
        }
    }

    fn evaluation(self, theirs: &[u64; COUNTS]) -> Evaluation {
        Evaluation {
            counts: self.counts,
            above_300_ticks: self.above_300_ticks,
            distance: distance(&self.counts, theirs),
            reads: Responses::of(self.reads_ms),
            writes: Responses::of(self.writes_ms),
            reads_after_sync_ms: self.after_sync.map(|(count, sum)| sum / count.max(1) as f64),
        }
    }
}

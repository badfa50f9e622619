//! What a device is like, as a black box: classes of requests in a closed loop, in rounds over all
//! classes in turn, so that a drift of the machine falls on all. Some classes, of other sizes,
//! depths and mixes, are held out: no fit sees them, and they judge it.
//!
//! Method: response surfaces by type, size and number of outstanding requests, as DIXtrac
//! (CMU-CS-99-176) takes a drive's parameters by experiment alone. Non-goals: fits (crate
//! `analyze`), the inside of the device.

mod buffer;
pub mod disk;

use crate::account::foreign_bytes;
use crate::bench::{run, run_work};
use crate::on_file::{At, Next, Work, layer};
use crate::sequence::mix;
use model::calibration::{Burst, Cell, Class, Met, Pass, Pattern};
use model::engine::EngineKind;
use model::plan::SystemPlan;
use model::seam::{
    Accounting, JobPlacement, Operation, PreparedTarget, Request, Subject, SubjectError,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Depths of the classes that are fitted, and of those that are held out.
const DEPTHS: [u32; 6] = [1, 3, 6, 12, 24, 64];
const HELD_DEPTHS: [u32; 4] = [1, 4, 16, 64];
const SMALL_BYTES: u64 = 4 << 10;
/// The largest request.
pub const LARGE_BYTES: u64 = 256 << 10;
/// Sizes that are fitted: a line through two says nothing of those between.
const BYTES: [u64; 4] = [SMALL_BYTES, 16 << 10, 64 << 10, LARGE_BYTES];
const HELD_BYTES: [u64; 2] = [4 << 10, 32 << 10];
const HELD_READ_PERCENT: u32 = 70;
/// One of so many parts of a pass comes first and is not counted.
const WARM_PARTS: u64 = 10;
/// A pass is so many times as long as the outstanding ones take one by one, and of these so many
/// come first and are not counted: a slow disk's 64 take longer than a short pass.
const PASS_TIMES: f64 = 6.0;
const WARM_TIMES: f64 = 1.5;
/// What that makes a pass at the most, ns.
const PASS_MOST_NS: f64 = 2e10;

/// The plan. As JSON it is what `--dry-run` prints.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Plan {
    /// What is measured: one system.
    pub systems: Vec<SystemPlan>,
    /// Bytes of it that requests stay within.
    pub size_bytes: u64,
    /// These are all written first: a file is made so, and what a device never had written is read
    /// without its medium.
    pub fills: bool,
    /// The classes.
    pub cells: Vec<Cell>,
    /// Rounds over all classes, at the most.
    pub rounds: u32,
    /// So many at the least, and more while they end within `rounds_ns`.
    pub rounds_least: u32,
    /// Time for all rounds.
    pub rounds_ns: u64,
    /// Time of a pass.
    pub pass_ns: u64,
    /// Rounds of bursts that look for a write buffer; none without leave to write.
    pub burst_rounds: u32,
    /// The seed of all places and mixes.
    pub seed: u64,
}

impl Plan {
    /// Passes of all rounds.
    pub fn passes(&self) -> u64 {
        self.cells.len() as u64 * u64::from(self.rounds) + u64::from(self.burst_rounds)
    }

    /// What they take on a device whose requests take no longer than [`Self::quick_ns`].
    pub fn time_ns(&self) -> u64 {
        let passes = self.passes() - u64::from(self.burst_rounds);
        passes * self.pass_ns + self.bursts_ns()
    }

    fn bursts_ns(&self) -> u64 {
        u64::from(self.burst_rounds) * buffer::round_ns()
    }

    /// A request that takes longer by itself makes passes longer, where many are outstanding.
    pub fn quick_ns(&self) -> u64 {
        let most = self.cells.iter().map(|cell| cell.class.depth).max().unwrap_or(1);
        (self.pass_ns as f64 / (f64::from(most) * PASS_TIMES)) as u64
    }

    /// How long a pass of a class is, and how much of it is not counted, ns, where one request by
    /// itself takes so long.
    fn pass_times_ns(&self, class: &Class, one_ns: f64) -> [u64; 2] {
        let all_ns = (one_ns * f64::from(class.depth)).min(PASS_MOST_NS / PASS_TIMES);
        [
            self.pass_ns.max((all_ns * PASS_TIMES) as u64),
            (self.pass_ns / WARM_PARTS).max((all_ns * WARM_TIMES) as u64),
        ]
    }

    /// What is left of a round from a cell on, and of the rounds behind it, ns.
    fn left_ns(&self, alone: &Alone, round: u32, rest: &[(usize, &Cell)]) -> u64 {
        let pass_ns = |cell: &Cell| self.pass_times_ns(&cell.class, one_ns(alone, &cell.class))[0];
        let round_ns: u64 = self.cells.iter().map(pass_ns).sum();
        let rest_ns: u64 = rest.iter().map(|(_, cell)| pass_ns(cell)).sum();
        let in_time = u32::try_from(self.rounds_ns / round_ns.max(1)).unwrap_or(u32::MAX);
        let rounds = in_time.max(self.rounds_least).min(self.rounds);
        let behind = u64::from(rounds.saturating_sub(round + 1));
        rest_ns + behind * round_ns + self.bursts_ns()
    }
}

/// What is planned, by the subject's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    /// Time of the passes that are over, ns.
    pub done_ns: u64,
    /// Time of those to come, ns; none until requests of each kind were timed by themselves.
    pub left_ns: Option<u64>,
}

/// Called before each pass with what it is, and with what is planned where that is known.
pub type Begins<'a> = dyn FnMut(&str, Option<Ahead>) + 'a;

/// The classes: of reads alone, or of writes too. Those of like depth stand together, so that a
/// class that is held out and those that predict it meet the machine in the same mood.
pub fn cells(writes: bool) -> Vec<Cell> {
    let mut cells = Vec::new();
    let directions: &[u32] = if writes { &[100, 0] } else { &[100] };
    for &read_percent in directions {
        for pattern in [Pattern::Random, Pattern::Sequential] {
            let class = |block_bytes, depth| Class {
                pattern,
                read_percent,
                block_bytes,
                depth,
                flushes: false,
            };
            let fitted = DEPTHS
                .into_iter()
                .flat_map(|depth| BYTES.map(|block_bytes| class(block_bytes, depth)));
            cells.extend(fitted.map(fit));
            let held = HELD_DEPTHS
                .into_iter()
                .flat_map(|depth| HELD_BYTES.map(|block_bytes| class(block_bytes, depth)));
            cells.extend(held.map(hold_out));
        }
    }
    if writes {
        let mixed = |depth| Class {
            pattern: Pattern::Random,
            read_percent: HELD_READ_PERCENT,
            block_bytes: SMALL_BYTES,
            depth,
            flushes: false,
        };
        cells.extend(HELD_DEPTHS.map(mixed).map(hold_out));
        cells.push(fit(Class { read_percent: 0, flushes: true, ..mixed(1) }));
    }
    cells.sort_by_key(|cell| (cell.class.depth, cell.class.block_bytes));
    cells
}

fn fit(class: Class) -> Cell {
    Cell { class, is_held_out: false }
}

fn hold_out(class: Class) -> Cell {
    Cell { class, is_held_out: true }
}

/// Runs the plan on one subject; `begins` is called before each pass. Bursts come last: what they
/// leave a device to do would be in the passes' times.
/// Errors: whatever of the subject's was refused or failed, or an interruption.
pub fn run_system<S: Subject>(
    subject: &mut S,
    plan: &Plan,
    begins: &mut Begins<'_>,
) -> Result<(Vec<Pass>, Vec<Burst>), SubjectError> {
    let place = subject.prepare()?;
    let mut run = || {
        if plan.fills {
            fill(subject, plan, &place, begins)?;
        }
        let (passes, done_ns) = rounds(subject, plan, begins)?;
        Ok((passes, buffer::bursts(subject, plan, done_ns, begins)?))
    };
    let ran = run();
    subject.clean_up()?;
    ran
}

/// A name that scratch gives up again.
const FILE: &str = "file.calibrate";

/// Writes all that requests will stay within.
fn fill<S: Subject>(
    subject: &mut S,
    plan: &Plan,
    place: &PreparedTarget,
    begins: &mut Begins<'_>,
) -> Result<(), SubjectError> {
    let label = format!("writing {}", model::units::show_size(plan.size_bytes));
    begins(&label, None);
    run(subject, &label, vec![layer(place, FILE, (true, 0..plan.size_bytes))]).map(|_| ())
}

/// Where requests of that size are made, so many at once.
fn placement(plan: &Plan, block_bytes: u64, depth: u32) -> JobPlacement {
    JobPlacement {
        file: FILE.to_owned(),
        engine: EngineKind::Libaio,
        direct: true,
        depth,
        block_bytes: block_bytes as u32,
        file_bytes: plan.size_bytes,
        ..JobPlacement::default()
    }
}

/// All rounds, and what was planned of their time, ns.
fn rounds<S: Subject>(
    subject: &mut S,
    plan: &Plan,
    begins: &mut Begins<'_>,
) -> Result<(Vec<Pass>, u64), SubjectError> {
    let mut passes: Vec<Pass> = Vec::new();
    let mut alone = Alone::new();
    let (mut began_ns, mut done_ns) = (None, 0);
    for round in 0..plan.rounds {
        let now_ns = subject.counters(Accounting::Difference)?.at_ns;
        let taken_ns = now_ns.saturating_sub(*began_ns.get_or_insert(now_ns));
        let next_ns = taken_ns / u64::from(round.max(1));
        if round >= plan.rounds_least && taken_ns + next_ns > plan.rounds_ns {
            break;
        }
        // There and back, so that a steady drift falls on all alike.
        let mut cells: Vec<(usize, &Cell)> = plan.cells.iter().enumerate().collect();
        if round % 2 == 1 {
            cells.reverse();
        }
        for (index, (place, cell)) in cells.iter().enumerate() {
            // One at a time comes first.
            let is_known = round > 0 || cell.class.depth > 1;
            let left_ns = is_known.then(|| plan.left_ns(&alone, round, &cells[index..]));
            let label = format!("{}: round {} of {}", cell.class.name(), round + 1, plan.rounds);
            begins(&label, Some(Ahead { done_ns, left_ns }));
            let seed = mix(plan.seed, (u64::from(round) << 32) | *place as u64);
            let one_ns = one_ns(&alone, &cell.class);
            done_ns += plan.pass_times_ns(&cell.class, one_ns)[0];
            let met = pass(subject, plan, cell, (round, seed), one_ns)?;
            if cell.class.depth == 1 {
                let mean_ns = met.met.all().mean_ns().unwrap_or(0.0);
                alone.insert(kind(&cell.class), mean_ns);
            }
            passes.push(met);
        }
    }
    Ok((passes, done_ns))
}

/// What one of a kind took by itself in its last pass, ns.
type Alone = BTreeMap<(Pattern, bool, u64), f64>;

fn kind(class: &Class) -> (Pattern, bool, u64) {
    (class.pattern, class.writes(), class.block_bytes)
}

fn one_ns(alone: &Alone, class: &Class) -> f64 {
    alone.get(&kind(class)).copied().unwrap_or(0.0)
}

fn pass<S: Subject>(
    subject: &mut S,
    plan: &Plan,
    cell: &Cell,
    (round, seed): (u32, u64),
    one_ns: f64,
) -> Result<Pass, SubjectError> {
    let class = cell.class;
    let before = subject.counters(Accounting::Difference)?;
    let placement = placement(plan, class.block_bytes, class.depth);
    let probe = Probe::new(class, plan, (seed, one_ns));
    let probe = run_work(subject, &class.name(), placement, probe)?;
    let after = subject.counters(Accounting::Difference)?;
    let foreign_bytes = foreign_bytes(&before, &after, probe.completed * class.block_bytes);
    Ok(Pass { cell: *cell, round, met: probe.met, foreign_bytes })
}

/// One closed loop.
struct Probe {
    class: Class,
    blocks: u64,
    seed: u64,
    first_block: u64,
    pass_ns: u64,
    warm_ns: u64,
    began_ns: u64,
    sent: u64,
    completed: u64,
    /// By token: since when it is to be sent (the completion before it was found then; a submission
    /// that blocks is time of the request, or fewer than the depth would be outstanding).
    since_ns: Vec<u64>,
    owes_flush: bool,
    met: Met,
}

impl Probe {
    fn new(class: Class, plan: &Plan, (seed, one_ns): (u64, f64)) -> Self {
        let [pass_ns, warm_ns] = plan.pass_times_ns(&class, one_ns);
        let blocks = (plan.size_bytes / class.block_bytes).max(1);
        Self {
            class,
            blocks,
            seed,
            first_block: mix(!seed, 0) % blocks,
            pass_ns,
            warm_ns,
            began_ns: 0,
            sent: 0,
            completed: 0,
            since_ns: vec![0; class.depth as usize],
            owes_flush: false,
            met: Met::default(),
        }
    }

    /// Counts what comes after the first tenth. What was still outstanding at the end has its time
    /// too (a device may starve some), but is no part of the rate.
    fn note(&mut self, operation: Operation, sent_ns: u64, now_ns: u64) {
        self.completed += u64::from(operation != Operation::Fdatasync);
        self.owes_flush = self.class.flushes && operation == Operation::Write;
        let (warm_ns, end_ns) = (self.began_ns + self.warm_ns, self.began_ns + self.pass_ns);
        let is_timed = !self.class.flushes || operation == Operation::Fdatasync;
        if now_ns < warm_ns || !is_timed {
            return;
        }
        let times = match operation {
            Operation::Read => &mut self.met.reads,
            _ => &mut self.met.writes,
        };
        times.record(now_ns.saturating_sub(sent_ns));
        let half = usize::from(now_ns >= warm_ns.midpoint(end_ns));
        self.met.halves[half] += u64::from(now_ns <= end_ns);
        self.met.wall_ns = end_ns - warm_ns;
    }
}

impl Work for Probe {
    fn opening(&mut self, _: u64) -> Operation {
        if self.class.writes() { Operation::OpenReadWrite } else { Operation::OpenRead }
    }

    fn next(&mut self, at: At, now_ns: u64) -> Next {
        if std::mem::take(&mut self.owes_flush) {
            return Next::Do(Operation::Fdatasync, 0, 0);
        }
        if now_ns >= self.began_ns + self.pass_ns {
            return Next::Over;
        }
        if let Some(since_ns) = self.since_ns.get_mut(at.token as usize).filter(|ns| **ns == 0) {
            *since_ns = now_ns;
        }
        let reads = self.class.reads(mix(!self.seed, self.sent));
        let block = match self.class.pattern {
            Pattern::Random => mix(self.seed, self.sent) % self.blocks,
            Pattern::Sequential => (self.first_block + self.sent) % self.blocks,
        };
        self.sent += 1;
        let operation = if reads { Operation::Read } else { Operation::Write };
        let block_bytes = self.class.block_bytes;
        Next::Do(operation, block * block_bytes, block_bytes as u32)
    }

    fn done(&mut self, request: &Request, now_ns: u64) {
        let Some(since_ns) = self.since_ns.get_mut(request.token as usize) else { return };
        let sent_ns = std::mem::replace(since_ns, now_ns);
        match request.operation {
            Operation::OpenRead | Operation::OpenReadWrite => self.began_ns = now_ns,
            Operation::Close => {}
            operation => self.note(operation, sent_ns, now_ns),
        }
    }
}

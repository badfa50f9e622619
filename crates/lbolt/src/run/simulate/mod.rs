//! The simulate experiment: a trace's rows through modelled machines. The model as it stands gives
//! requests and findings; draws of its uncertain numbers give the findings their intervals;
//! variants of it give a line each. Draws and variants run on all cores.

mod striping;
mod times;
mod variants;
pub(crate) mod whatif;

pub(crate) use variants::{Variant, variants};

use crate::resolve::modelled::{load, refused};
use crate::run::requests::RequestsRun;
use analysis::trace::TraceFile;
use analyze::whatif::Noise;
use cli::Arrivals;
use formats::export::Source as _;
use host::drive::Control;
use messages::fault::{Fault, failure, of_records};
use model::doubt::{Code, Doubt};
use model::record::subject::{Model, Subject};
use model::record::{Commands, Finding, Interval, Request};
use rayon::prelude::*;
use report::doubt::sentence;
use sim::profile::{Calibrated, Profile};
use sim::random::Random;
use sim::replay::{self, Outcome, ReplayError, ReplayMachine};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use striping::Striping;
use times::{RankedTimes, Times, finding};
use trace::intake::{Rows, RowsError};

/// What is to be simulated.
pub(crate) struct SimulationRequest<'a> {
    pub(crate) trace: &'a TraceFile,
    pub(crate) model: &'a str,
    pub(crate) variants: &'a [Variant],
    pub(crate) arrivals: Arrivals,
    pub(crate) seed: u64,
    /// How many draws of the uncertain numbers.
    pub(crate) draws: u64,
    /// Whether variants are held against the first: writes that somebody waits for, and others, are
    /// classes of their own then, and every sample begins at a moment of its own.
    pub(crate) compares: bool,
    pub(crate) control: Arc<Control>,
    /// Requests completed so far, in all variants and draws.
    pub(crate) completed: Arc<AtomicU64>,
}

/// What a variant came to.
#[derive(Debug, Default)]
pub(crate) struct Simulated {
    /// What was set for it.
    pub(crate) label: String,
    pub(crate) findings: Vec<Finding>,
    /// What its reader is to know besides.
    pub(crate) said: Vec<String>,
    /// The commands of its rows.
    pub(crate) commands: Commands,
    /// Its devices, and what they are called.
    pub(crate) devices: Vec<(u32, String)>,
}

impl Simulated {
    /// Requests that the model completed.
    pub(crate) fn served(&self) -> u64 {
        let is_whole = |f: &&Finding| {
            f.quantity == "simulated_count" && f.subject.get("op").as_deref() == Some("all")
        };
        self.findings.iter().filter(is_whole).map(|f| f.count).sum()
    }
}

/// One replay of one variant's draw.
struct Replayed {
    times: Times,
    striping: Striping,
    outcome: Outcome,
    beyond: Vec<Doubt>,
    commands: Commands,
}

/// What a replay came to, without its times.
struct Found {
    findings: Vec<Finding>,
    /// How far it may be from the trace by chance; nothing of other variants than the first.
    noises: Vec<Noise>,
    beyond: Vec<Doubt>,
    /// What its reader is to know besides.
    said: Vec<String>,
    commands: Commands,
    devices: Vec<(u32, String)>,
}

/// Where the rows of a replay go, and the times of the trace, that are the same for every replay.
struct Recording<'a> {
    run: &'a mut RequestsRun,
    traced: Option<&'a mut Times>,
}

/// Replays every variant and its draws; the rows of the first variant as it stands go to `run`.
/// Errors: a model or a trace at fault; interruption; rows that cannot be written.
pub(crate) fn simulate(
    requested: &SimulationRequest<'_>,
    run: &mut RequestsRun,
) -> anyhow::Result<Vec<Simulated>> {
    let of_variants = replay_all(requested, std::slice::from_mut(run))?;
    let conclude = |(variant, draws)| conclude(variant, draws);
    Ok(requested.variants.iter().zip(of_variants).map(conclude).collect())
}

/// What the draws of each variant came to, the one as it stands first. The rows of as many variants
/// as there are runs go to these.
fn replay_all(
    requested: &SimulationRequest<'_>,
    runs: &mut [RequestsRun],
) -> anyhow::Result<Vec<Vec<Found>>> {
    let mut tasks: Vec<(usize, u64)> = (0..runs.len()).map(|index| (index, 0)).collect();
    let recorded = tasks.len();
    for (index, variant) in requested.variants.iter().enumerate() {
        let mut profile = load(requested.model, &variant.set)?;
        variant.change.apply(&mut profile, 0)?;
        let has_samples = requested.compares || profile.is_uncertain();
        let draws = if has_samples { requested.draws } else { 0 };
        tasks.extend((u64::from(index < recorded)..=draws).map(|draw| (index, draw)));
    }
    let (mut traced, mut first) = (requested.times(), Vec::new());
    if requested.compares {
        traced = traced.by_stretches();
    }
    for (index, run) in runs.iter_mut().enumerate() {
        let traced = (index == 0).then_some(&mut traced);
        first.push(replay_one(requested, index, 0, Some(Recording { run, traced }))?);
    }
    let traced = traced.ranked();
    let rest = tasks.get(recorded..).unwrap_or_default();
    let found_of = |index, replayed| found(requested, index, replayed, &traced);
    let rest = rest.par_iter().with_max_len(1).map(|(variant, draw)| {
        Ok(found_of(*variant, replay_one(requested, *variant, *draw, None)?))
    });
    let rest = rest.collect::<anyhow::Result<Vec<_>>>()?;
    let first = first.into_iter().enumerate().map(|(index, replayed)| found_of(index, replayed));
    let mut of_variants: Vec<Vec<Found>> = requested.variants.iter().map(|_| vec![]).collect();
    for ((variant, _), found) in tasks.iter().zip(first.chain(rest)) {
        of_variants[*variant].push(found);
    }
    Ok(of_variants)
}

impl SimulationRequest<'_> {
    fn times(&self) -> Times {
        Times::new(self.compares)
    }

    fn drives(&self, variant: usize) -> u32 {
        self.variants.get(variant).map_or(1, |variant| variant.change.drives)
    }
}

/// The model of a variant's draw.
fn model(requested: &SimulationRequest<'_>, variant: usize, draw: u64) -> anyhow::Result<Profile> {
    let none = Variant::default();
    let variant = requested.variants.get(variant).unwrap_or(&none);
    let number = draw_number(requested.seed, draw);
    let mut drawn = load(requested.model, &variant.set)?.drawn(number);
    variant.change.apply(&mut drawn, number)?;
    Ok(drawn)
}

/// The number of a seed's draw, of which 0 is the model as it stands. Every bit of the seed counts.
fn draw_number(seed: u64, draw: u64) -> u64 {
    if draw == 0 { 0 } else { draw.wrapping_add(seed.rotate_left(32)).max(1) }
}

/// When a sample's trace begins: at any moment of a second, which is longer than any turn of a
/// drive. Where the platters are then nobody knows, and before a change they are elsewhere than
/// after it. The model as it stands begins at 0.
fn beginning_ns(draw: u64, variant: usize) -> i64 {
    if draw == 0 {
        return 0;
    }
    let seed = draw.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) ^ variant as u64;
    Random::new(seed).below(1_000_000_000) as i64
}

/// What a replay needs of a row that is written nowhere.
const COLUMNS: [&str; 12] = [
    "request_id",
    "device",
    "op",
    "flags",
    "offset_bytes",
    "length_bytes",
    "queued_ns",
    "started_ns",
    "issued_ns",
    "completed_ns",
    "pid",
    "parent_id",
];

/// Lets a row come so much later.
fn delay(row: &mut Request, late_ns: i64) {
    if late_ns == 0 {
        return;
    }
    let Request { queued_ns, started_ns, issued_ns, completed_ns, .. } = row;
    for time in [queued_ns, started_ns, issued_ns, completed_ns] {
        *time = time.map(|ns| ns + late_ns);
    }
}

/// Rows after which it is told how many there were.
const TOLD_ROWS: u64 = 1024;

/// Where a replay's rows go, a few together; nowhere without a run.
struct Written<R> {
    run: Option<R>,
    together: Vec<Request>,
    refusal: Option<RowsError>,
}

impl<R: Rows> Written<R> {
    /// Rows that are written together.
    const ROWS: usize = 64;

    fn push(&mut self, row: &Request, commands: &Commands) {
        if self.run.is_none() {
            return;
        }
        self.together.push(*row);
        if self.together.len() == Self::ROWS {
            self.write(commands);
        }
    }

    /// Writes those that are not written yet; none after a refusal.
    fn write(&mut self, commands: &Commands) {
        if let (Some(run), None) = (&mut self.run, &self.refusal) {
            self.refusal = run.push_all(&self.together, commands).err().map(|refused| refused.why);
        }
        self.together.clear();
    }
}

fn replay_one(
    requested: &SimulationRequest<'_>,
    variant: usize,
    draw: u64,
    mut recording: Option<Recording<'_>>,
) -> anyhow::Result<Replayed> {
    let profile = model(requested, variant, draw)?;
    let machine = ReplayMachine::of(&profile).map_err(refused)?;
    let calibrated = Calibrated::read(&profile).map_err(refused)?;
    let columns = if recording.is_some() { &[][..] } else { &COLUMNS };
    let source = RefCell::new(requested.trace.rows_with(columns)?);
    let striping = Striping::over(requested.drives(variant));
    let (mut times, mut broken) = (requested.times(), None);
    let is_first = recording.as_ref().is_some_and(|recording| recording.traced.is_some());
    if is_first && requested.compares {
        times = times.by_stretches();
    }
    let (run, mut traced) = match &mut recording {
        Some(Recording { run, traced }) => (Some(run.rows()), traced.as_mut()),
        None => (None, None),
    };
    let mut large = (0u64, 0u64);
    let most_bytes = calibrated.as_ref().and_then(|range| range.request_bytes_max);
    let is_large =
        |row: &Request| most_bytes.is_some_and(|most| u64::from(row.length_bytes) > most);
    let late_ns = match requested.compares {
        true => beginning_ns(draw_number(requested.seed, draw), variant),
        false => 0,
    };
    let input = |row: &mut Request| {
        match source.borrow_mut().lend_row() {
            Ok(Some(next)) if !requested.control.stop.load(Ordering::Relaxed) => *row = *next,
            Ok(_) => return false,
            Err(error) => {
                broken = Some(error);
                return false;
            }
        }
        if replay::is_served(row) {
            traced.as_mut().into_iter().for_each(|traced| traced.add(row.device, row));
            large.0 += 1;
            large.1 += u64::from(is_large(row));
        }
        delay(row, late_ns);
        striping.spread(row);
        true
    };
    let mut written = Written { run, together: vec![], refusal: None };
    let mut untold = 0;
    let sink = |row: &Request| {
        untold += 1;
        if untold == TOLD_ROWS {
            requested.completed.fetch_add(std::mem::take(&mut untold), Ordering::Relaxed);
        }
        times.add(striping.owner(row.device).0, row);
        written.push(row, source.borrow().commands());
    };
    let outcome = match requested.arrivals {
        Arrivals::Open => replay::open(machine, input, sink),
        Arrivals::Closed => replay::closed(machine, input, sink),
        Arrivals::Dependent => replay::dependent(machine, input, sink),
    };
    written.write(source.borrow().commands());
    if requested.control.stop.load(Ordering::Relaxed) {
        return Err(failure(Fault::Interrupted, "interrupted; no simulation was completed"));
    }
    if let Some(error) = broken.or(written.refusal) {
        return Err(of_records(error));
    }
    let name = |device| striping.name(device, |device| requested.trace.device_name(device));
    let outcome = outcome.map_err(|error| of_replay(&error, name))?;
    let beyond = calibrated.map_or_else(Vec::new, |range| beyond(&range, &outcome, large));
    let commands = source.borrow().commands().clone();
    Ok(Replayed { times, striping, outcome, beyond, commands })
}

/// What a trace cannot ask of a model is the user's to mend; a broken law is the simulator's.
fn of_replay(error: &ReplayError, name: impl Fn(u32) -> String) -> anyhow::Error {
    let fault = match error {
        ReplayError::PastEnd { .. } | ReplayError::Unsorted { .. } | ReplayError::NoTime { .. } => {
            Fault::Usage
        }
        _ => Fault::Io,
    };
    let device = error.device().map(|device| format!(" device {}", name(device)));
    failure(fault, format!("failed to simulate{}: {error}", device.unwrap_or_default()))
}

/// Why the trace is outside of what the model was held against, if it is. `large` are the requests,
/// and those of them that are larger.
fn beyond(range: &Calibrated, outcome: &Outcome, large: (u64, u64)) -> Vec<Doubt> {
    let most = outcome.devices.iter().map(|device| device.most_outstanding).max().unwrap_or(0);
    let by = || ("by", range.by.as_str().into());
    let of_size = range.request_bytes_max.filter(|_| large.1 > 0).map(|bytes| {
        let (larger, requests) = (("larger", large.1.into()), ("requests", large.0.into()));
        Doubt::new(Code::BeyondModelSize, [larger, requests, ("bytes", bytes.into()), by()])
    });
    let of_depth = range.outstanding_max.filter(|bound| most > *bound).map(|bound| {
        let values = [("outstanding", most.into()), ("bound", bound.into()), by()];
        Doubt::new(Code::BeyondModelDepth, values)
    });
    of_size.into_iter().chain(of_depth).collect()
}

/// The findings of one replay.
fn found(
    requested: &SimulationRequest<'_>,
    variant: usize,
    replayed: Replayed,
    traced: &RankedTimes,
) -> Found {
    let Replayed { times, striping, outcome, beyond, commands } = replayed;
    let suffix = requested.variants.get(variant).map(Variant::suffix).unwrap_or_default();
    let model = format!("{}{suffix}", requested.model);
    let name = |device| requested.trace.device_name(device);
    let times = times.ranked();
    let noises = times.noises(traced, &model, name);
    let findings = times.findings(traced, &model, name);
    let findings =
        findings.into_iter().chain(of_devices(requested, &model, (&outcome, &striping))).collect();
    let said = outcome.queueing_sentence().into_iter().chain(outcome.left_out_sentence());
    let named = |device: u32| (device, striping.name(device, name));
    let devices = outcome.devices.iter().map(|of| named(of.device)).collect();
    Found { findings, noises, beyond, said: said.collect(), commands, devices }
}

/// What each device did.
fn of_devices<'a>(
    requested: &'a SimulationRequest<'_>,
    model: &'a str,
    (outcome, striping): (&'a Outcome, &'a Striping),
) -> impl Iterator<Item = Finding> + 'a {
    let elapsed_ns = outcome.ended_ns.saturating_sub(outcome.began_ns).max(1) as f64;
    outcome.devices.iter().flat_map(move |device| {
        let name = striping.name(device.device, |device| requested.trace.device_name(device));
        let subject = Subject::Model(Model { device: name, model: model.to_owned() });
        let numbers = [
            ("simulated_busy_percent", 100.0 * device.busy_ns as f64 / elapsed_ns),
            ("simulated_queued_count", device.queued as f64),
            ("simulated_queue_max", device.most_outstanding as f64),
        ];
        numbers.map(|(name, value)| finding(&subject, name, value, device.requests))
    })
}

/// The findings of a variant as it stands, which is the first, with the intervals that its draws
/// give.
fn conclude(variant: &Variant, draws: Vec<Found>) -> Simulated {
    let mut draws = draws.into_iter();
    let first = draws.next();
    let drawn: Vec<Vec<Finding>> = draws.map(|found| found.findings).collect();
    let label = variant.label();
    let Some(Found { mut findings, beyond, said, commands, devices, .. }) = first else {
        return Simulated { label, ..Simulated::default() };
    };
    for (place, finding) in findings.iter_mut().enumerate() {
        let is_of_trace = finding.quantity.starts_with("measured_");
        let values = drawn.iter().filter_map(|found| found.get(place)?.value).chain(finding.value);
        if !drawn.is_empty() && !is_of_trace {
            let values: Vec<f64> = values.collect();
            finding.low = values.iter().copied().reduce(f64::min);
            finding.high = values.iter().copied().reduce(f64::max);
            finding.interval = Some(Interval::Parameters);
            finding.method = format!("simulated; over {} samples of parameters", drawn.len());
        }
    }
    for finding in &mut findings {
        beyond.iter().for_each(|doubt| finding.doubt(doubt.clone()));
    }
    let said = beyond.iter().map(sentence).chain(said).collect();
    Simulated { label, findings, said, commands, devices }
}

#[cfg(test)]
mod tests {
    use super::{beginning_ns, draw_number};

    #[test]
    fn every_seed_draws_its_own_numbers() {
        assert_eq!([draw_number(1, 0), draw_number(1, 3)], [0, (1 << 32) + 3]);
        let seeds = [1, 1 << 32, 1 << 63, (1 << 32) + 1];
        let drawn: std::collections::BTreeSet<u64> = seeds.map(|seed| draw_number(seed, 2)).into();
        assert_eq!(drawn.len(), seeds.len());
        assert_eq!(draw_number(u64::MAX, 1), 1);
    }

    #[test]
    fn every_sample_of_every_variant_begins_at_its_own_moment_but_the_first() {
        assert_eq!([beginning_ns(0, 0), beginning_ns(0, 1)], [0, 0]);
        let all: Vec<i64> =
            (1..5).flat_map(|draw| [0, 1].map(|variant| beginning_ns(draw, variant))).collect();
        assert!(all.iter().all(|ns| (0..1_000_000_000).contains(ns)), "{all:?}");
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 8);
    }
}

//! The simulate room: a trace's rows through modelled machines. The model as it stands gives requests and findings; draws of its
//! uncertain numbers give the findings their intervals; variants of it give a line each. Draws and variants run on all cores.

mod times;
mod variants;

pub(crate) use variants::{Variant, variants};

use crate::cli::Arrivals;
use crate::cores;
use crate::exit::{Fault, failure, of_records};
use crate::modelled::{load, refused};
use crate::room::requests::RequestsRun;
use crate::room::trace::TraceFile;
use host::drive::Control;
use model::record::{Commands, Finding, Request, Verdict, subject_text};
use sim::profile::{Calibrated, Profile};
use sim::replay::{self, Outcome, ReplayError, ReplayMachine};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use times::{Comparison, finding};
use trace::export::Source as _;
use trace::intake::{Rows, RowsError};

/// What is to be simulated.
pub(crate) struct Asked<'a> {
    pub(crate) trace: &'a TraceFile,
    pub(crate) model: &'a str,
    pub(crate) variants: &'a [Variant],
    pub(crate) arrivals: Arrivals,
    pub(crate) seed: u64,
    /// How many draws of the uncertain numbers.
    pub(crate) draws: u64,
    pub(crate) control: Arc<Control>,
    /// Requests answered so far, in all variants and draws.
    pub(crate) answered: Arc<AtomicU64>,
}

/// What a variant came to.
#[derive(Debug)]
pub(crate) struct Simulated {
    /// What was set for it.
    pub(crate) label: String,
    pub(crate) findings: Vec<Finding>,
    /// What its reader is to know beside.
    pub(crate) said: Vec<String>,
    /// The commands of its rows.
    pub(crate) commands: Commands,
}

impl Simulated {
    /// Requests that the model answered.
    pub(crate) fn served(&self) -> u64 {
        let is_whole = |f: &&Finding| {
            f.quantity == "simulated_count" && f.subject_value("op").as_deref() == Some("all")
        };
        self.findings.iter().filter(is_whole).map(|f| f.count).sum()
    }
}

/// One replay of one variant's draw; what is kept of it is little, since there may be many.
struct Replayed {
    findings: Vec<Finding>,
    outcome: Outcome,
    beyond: Option<String>,
    commands: Commands,
}

/// Replays every variant and its draws; the rows of the first variant as it stands go to `rows`.
///
/// # Errors
/// A model or a trace at fault; interruption; rows that cannot be written.
pub(crate) fn simulate(
    asked: &Asked<'_>,
    rows: Option<&mut RequestsRun>,
) -> anyhow::Result<Vec<Simulated>> {
    let mut tasks: Vec<(usize, u64)> = Vec::new();
    for (index, variant) in asked.variants.iter().enumerate() {
        let is_uncertain = load(asked.model, &variant.set)?.is_uncertain();
        let draws = if is_uncertain { asked.draws } else { 0 };
        tasks.extend((0..=draws).map(|draw| (index, draw)));
    }
    let mut done: Vec<(usize, u64, Replayed)> = Vec::new();
    if rows.is_some() {
        tasks.retain(|task| *task != (0, 0));
        done.push((0, 0, replay_one(asked, 0, 0, rows)?));
    }
    let replayed = cores::map(&tasks, |(variant, draw)| {
        Ok((*variant, *draw, replay_one(asked, *variant, *draw, None)?))
    });
    done.extend(replayed.into_iter().collect::<anyhow::Result<Vec<_>>>()?);
    done.sort_by_key(|(variant, draw, _)| (*variant, *draw));
    let of_variant = |(index, variant): (usize, &Variant)| {
        let draws: Vec<&Replayed> =
            done.iter().filter(|(of, ..)| *of == index).map(|(.., replayed)| replayed).collect();
        conclude(variant, &draws)
    };
    Ok(asked.variants.iter().enumerate().map(of_variant).collect())
}

/// The model of a variant's draw.
fn model(asked: &Asked<'_>, variant: usize, draw: u64) -> anyhow::Result<Profile> {
    let set = asked.variants.get(variant).map_or(&[][..], |variant| &variant.set);
    Ok(load(asked.model, set)?.drawn(draw_number(asked.seed, draw)))
}

/// The number of a seed's draw, of which 0 is the model as it stands. Every bit of the seed counts.
fn draw_number(seed: u64, draw: u64) -> u64 {
    if draw == 0 { 0 } else { draw.wrapping_add(seed.rotate_left(32)).max(1) }
}

fn replay_one(
    asked: &Asked<'_>,
    variant: usize,
    draw: u64,
    mut rows: Option<&mut RequestsRun>,
) -> anyhow::Result<Replayed> {
    let profile = model(asked, variant, draw)?;
    let machine = ReplayMachine::of(&profile).map_err(refused)?;
    let calibrated = Calibrated::read(&profile).map_err(refused)?;
    let source = RefCell::new(asked.trace.rows()?);
    let (mut comparison, mut broken) = (Comparison::default(), None);
    let mut measured = Comparison::default();
    let mut large = (0u64, 0u64);
    let most_bytes = calibrated.as_ref().and_then(|range| range.request_bytes_max);
    let input = std::iter::from_fn(|| match source.borrow_mut().next_row() {
        Ok(row) if !asked.control.stop.load(Ordering::Relaxed) => row.inspect(|row| {
            // What no drive serves has nothing beside it to be compared with.
            if !replay::is_served(row) {
                return;
            }
            measured.add_measured(row);
            large.0 += 1;
            large.1 += u64::from(most_bytes.is_some_and(|most| u64::from(row.length_bytes) > most));
        }),
        Ok(_) => None,
        Err(error) => {
            broken = Some(error);
            None
        }
    });
    let mut refusal: Option<RowsError> = None;
    let sink = |row: &Request| {
        asked.answered.fetch_add(1, Ordering::Relaxed);
        comparison.add_simulated(row);
        if let (Some(rows), None) = (rows.as_deref_mut(), &refusal) {
            refusal = rows.push(row, source.borrow().commands()).err();
        }
    };
    let outcome = match asked.arrivals {
        Arrivals::Open => replay::open(machine, input, sink),
        Arrivals::Closed => replay::closed(machine, input, sink),
        Arrivals::Dependent => replay::dependent(machine, input, sink),
    };
    if asked.control.stop.load(Ordering::Relaxed) {
        return Err(failure(Fault::Interrupted, "interrupted; nothing was simulated to its end"));
    }
    if let Some(error) = broken.or(refusal) {
        return Err(of_records(error));
    }
    let outcome = outcome.map_err(of_replay)?;
    comparison.merge_measured(measured);
    let beyond = calibrated.and_then(|range| beyond(&range, &outcome, large));
    let commands = source.borrow().commands().clone();
    let findings = findings(asked, variant, &comparison, &outcome);
    Ok(Replayed { findings, outcome, beyond, commands })
}

/// What a trace cannot ask of a model is the user's to mend; a broken law is the simulator's.
fn of_replay(error: ReplayError) -> anyhow::Error {
    let fault = match error {
        ReplayError::PastEnd { .. } | ReplayError::Unsorted { .. } | ReplayError::NoTime { .. } => {
            Fault::Usage
        }
        _ => Fault::Io,
    };
    failure(fault, format!("failed to simulate: {error}"))
}

/// Why the trace is outside of what the model was held against, if it is. `large` are the requests, and those of them
/// that are larger.
fn beyond(range: &Calibrated, outcome: &Outcome, large: (u64, u64)) -> Option<String> {
    let most = outcome.devices.iter().map(|device| device.most_outstanding).max().unwrap_or(0);
    let reasons = [
        range.request_bytes_max.filter(|_| large.1 > 0).map(|bytes| {
            format!("{} of {} requests are larger than {bytes} bytes", large.1, large.0)
        }),
        range
            .outstanding_max
            .filter(|bound| most > *bound)
            .map(|bound| format!("{most} requests are outstanding at once, more than {bound}")),
    ];
    let reasons: Vec<String> = reasons.into_iter().flatten().collect();
    (!reasons.is_empty())
        .then(|| format!("outside the calibrated range ({}): {}", range.by, reasons.join("; ")))
}

/// The findings of a variant as it stands, with the intervals that its draws give.
fn conclude(variant: &Variant, draws: &[&Replayed]) -> Simulated {
    let mut findings = draws.first().map(|first| first.findings.clone()).unwrap_or_default();
    let drawn: Vec<&[Finding]> = draws.iter().skip(1).map(|drawn| &drawn.findings[..]).collect();
    for (place, finding) in findings.iter_mut().enumerate() {
        let is_of_trace = finding.quantity.starts_with("measured_");
        let values = drawn.iter().filter_map(|found| found.get(place)?.value).chain(finding.value);
        if !drawn.is_empty() && !is_of_trace {
            let values: Vec<f64> = values.collect();
            finding.low = values.iter().copied().reduce(f64::min);
            finding.high = values.iter().copied().reduce(f64::max);
            finding.method = format!(
                "simulated; the interval spans {} draws of the model's uncertain numbers",
                drawn.len()
            );
        }
    }
    let beyond = draws.first().and_then(|first| first.beyond.clone());
    if let Some(reason) = &beyond {
        for finding in &mut findings {
            finding.verdict = Verdict::Suspect.name().into();
            finding.reason = Some(reason.clone());
        }
    }
    let outcome = draws.first().map(|first| &first.outcome);
    let queueing = outcome.and_then(Outcome::queueing_sentence);
    let left_out = outcome.and_then(Outcome::left_out_sentence);
    let said = beyond.into_iter().chain(queueing).chain(left_out).collect();
    let commands = draws.first().map(|first| first.commands.clone()).unwrap_or_default();
    Simulated { label: variant.label(), findings, said, commands }
}

/// What a replay of a variant found.
fn findings(
    asked: &Asked<'_>,
    variant: usize,
    comparison: &Comparison,
    outcome: &Outcome,
) -> Vec<Finding> {
    let suffix = asked.variants.get(variant).map(Variant::suffix).unwrap_or_default();
    let model = format!("{}{suffix}", asked.model);
    let elapsed_ns = outcome.ended_ns.saturating_sub(outcome.began_ns).max(1) as f64;
    let of_devices = outcome.devices.iter().flat_map(|device| {
        let subject = subject_text([
            ("device", asked.trace.device_name(device.device)),
            ("model", model.clone()),
        ]);
        let numbers = [
            ("simulated_busy_percent", 100.0 * device.busy_ns as f64 / elapsed_ns),
            ("simulated_queued_count", device.queued as f64),
            ("simulated_queue_max", device.most_outstanding as f64),
        ];
        numbers.map(|(name, value)| finding(&subject, name, value, device.requests))
    });
    let times = comparison.findings(&model, |device| asked.trace.device_name(device));
    times.into_iter().chain(of_devices).collect()
}

#[cfg(test)]
mod tests {
    use super::draw_number;

    #[test]
    fn every_seed_draws_its_own_numbers() {
        assert_eq!([draw_number(1, 0), draw_number(1, 3)], [0, (1 << 32) + 3]);
        let seeds = [1, 1 << 32, 1 << 63, (1 << 32) + 1];
        let drawn: std::collections::BTreeSet<u64> = seeds.map(|seed| draw_number(seed, 2)).into();
        assert_eq!(drawn.len(), seeds.len());
        assert_eq!(draw_number(u64::MAX, 1), 1);
    }
}

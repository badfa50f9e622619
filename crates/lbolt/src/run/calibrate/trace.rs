//! A calibration from a trace alone: what its requests took becomes a profile, and the stretches
//! that no fit has seen are simulated with it, from the requests before them on.
//!
//! Non-goals: fits (crate `analyze`), the trace's own format.

use super::profile::{self, Frame};
use super::{Calibration, known, unpredictable};
use crate::resolve::modelled::refused;
use crate::run::profile::{busiest, each_row};
use analysis::trace::TraceFile;
use analyze::calibrate::Judged;
use analyze::calibrate::trace::{
    BLOCK_BYTES, Follower, Judge, Means, Stretches, Times, TraceClass, TraceFit,
};
use analyze::profile::is_request;
use cli::Arrivals;
use host::drive::Control;
use messages::fault::{Fault, failure, of_records};
use model::record::Request;
use papers::CATALOG;
use sim::profile::Profile;
use sim::replay::{self, ReplayMachine, is_served};
use std::collections::VecDeque;

/// The most requests that come before a stretch, so that it does not meet an idle device.
const BEFORE_MAX: u64 = 10_000;
/// Names of classes that are told, at the most.
const NAMES: usize = 4;

/// What is to be calibrated from.
pub(crate) struct TraceRequest<'a> {
    pub(crate) trace: &'a TraceFile,
    pub(crate) device: Option<&'a str>,
    /// How its requests come again.
    pub(crate) arrivals: Arrivals,
    pub(crate) limits: &'a [(String, f64)],
    pub(crate) control: &'a Control,
}

/// Fits a trace's device and judges that.
/// Errors: a trace that cannot be read, has no such device, no times, or too few requests; a device
/// that cannot be predicted; an interruption.
pub(crate) fn run(requested: &TraceRequest<'_>) -> anyhow::Result<Calibration> {
    let TraceRequest { trace, control, .. } = requested;
    let (device, seen) = busiest(trace, requested.device, control)?;
    let stretches = Stretches { requests: seen.requests };
    let each = |show: &mut dyn FnMut(&Request)| {
        each_row(trace, control, |row| {
            if row.device == device && is_request(row) && is_served(row) {
                show(row);
            }
        })
    };
    let (mut means, mut follower) = (Means::new(stretches), Follower::default());
    each(&mut |row| means.add(row, follower.see(row).as_ref()))?;
    if means.timed() == 0 {
        let sentence = "the trace has no completion times, so response times are unknown; record \
                        them with `lbolt record`";
        return Err(failure(Fault::Usage, sentence));
    }
    let (mut lines, mut again) = (means.lines(), Follower::default());
    each(&mut |row| lines.add(again.see(row).as_ref()))?;
    let TraceFit { fit, taken } = lines.fit().ok_or_else(too_short)?;
    let name = trace.device_name(device);
    let frame = Frame {
        device: &name,
        how: format!("from {} requests of a trace", seen.requests),
        capacity: (
            follower.end_bytes.next_multiple_of(BLOCK_BYTES),
            ("assumed", "the last byte that the trace uses"),
        ),
        request_bytes_max: follower.bytes_max,
        outstanding_max: follower.outstanding_max.max(1),
    };
    let text = |judged: &[Judged]| profile::text(&frame, &fit, requested.limits, judged);
    let model = CATALOG.load_text("calibrated", "the profile", &text(&[])).map_err(refused)?;
    let (judged, unknown) = judge(requested, &model, stretches, &each)?;
    if judged.is_empty() {
        return Err(too_short());
    }
    if !judged.iter().any(Judged::holds) {
        return Err(unpredictable("its response times may depend on more than the requests"));
    }
    let mut doubts = taken;
    doubts.extend(unknown_sentence(&unknown));
    let text = text(&judged);
    Ok(Calibration { known: known::of_fit(&fit, None), fit, judged, text, doubts })
}

fn too_short() -> anyhow::Error {
    let sentence = "the trace is too short: no class has 30 requests to fit and 100 in the \
                    held-out tenth; use a longer trace";
    failure(Fault::Usage, sentence)
}

fn unknown_sentence(unknown: &[String]) -> Option<String> {
    let more = match unknown.len().saturating_sub(NAMES) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let names = unknown.iter().take(NAMES).cloned().collect::<Vec<_>>().join("; ");
    (!unknown.is_empty()).then(|| {
        format!(
            "not tested, because fewer than 100 requests were held out: \
                          {names}{more}"
        )
    })
}

/// Every row of the device, to whom it is shown.
type Each<'a> = dyn Fn(&mut dyn FnMut(&Request)) -> anyhow::Result<()> + 'a;

fn judge(
    requested: &TraceRequest<'_>,
    model: &Profile,
    stretches: Stretches,
    each: &Each<'_>,
) -> anyhow::Result<(Vec<Judged>, Vec<String>)> {
    let (mut judge, mut follower) = (Judge::default(), Follower::default());
    let before = stretches.length().min(BEFORE_MAX) as usize;
    let mut waiting: VecDeque<(Request, Option<TraceClass>)> = VecDeque::new();
    let (mut number, mut is_held_out, mut broken) = (0, false, None);
    let mut end = |waiting: &mut VecDeque<_>| {
        let rows: Vec<(Request, Option<TraceClass>)> = waiting.drain(..).collect();
        simulated(requested, model, &rows).map(|stretch| judge.add(&stretch))
    };
    each(&mut |row| {
        let seen = follower.see(row);
        let is_own = Stretches::is_held_out(stretches.of(number));
        number += 1;
        if is_held_out && !is_own {
            broken = broken.take().or_else(|| end(&mut waiting).err());
        }
        is_held_out = is_own;
        if !is_own && waiting.len() >= before {
            waiting.pop_front();
        }
        waiting.push_back((*row, seen.filter(|_| is_own).as_ref().and_then(TraceClass::of)));
    })?;
    if is_held_out {
        broken = broken.or_else(|| end(&mut waiting).err());
    }
    broken.map_or(Ok(()), Err)?;
    Ok(judge.judged())
}

/// A stretch's requests that judge, as they went and as the model says.
fn simulated(
    requested: &TraceRequest<'_>,
    model: &Profile,
    rows: &[(Request, Option<TraceClass>)],
) -> anyhow::Result<Vec<(TraceClass, [Times; 2])>> {
    let machine = ReplayMachine::of(model).map_err(refused)?;
    let mut stretch = Vec::new();
    let numbered =
        rows.iter().zip(0u64..).map(|((row, _), number)| Request { request_id: number, ..*row });
    let input = replay::each(numbered);
    let times = |row: &Request| row.arrival_ns().zip(row.completed_ns);
    let sink = |row: &Request| {
        let known = usize::try_from(row.request_id).ok().and_then(|number| rows.get(number));
        let Some((of_trace, Some(class))) = known else { return };
        if let (Some(traced), Some(predicted)) = (times(of_trace), times(row)) {
            stretch.push((*class, [traced, predicted]));
        }
    };
    let replayed = match requested.arrivals {
        Arrivals::Open => replay::open(machine, input, sink),
        Arrivals::Closed => replay::closed(machine, input, sink),
        Arrivals::Dependent => replay::dependent(machine, input, sink),
    };
    replayed.map_err(of_records)?;
    Ok(stretch)
}

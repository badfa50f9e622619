//! A calibration: passes on a device, the fit, its profile, and how well that predicts.

mod disk;
mod known;
mod profile;
pub(crate) mod trace;

use crate::resolve::calibrate::{Device, ResolvedCalibration};
use crate::resolve::modelled::refused;
use crate::run::session::control;
use crate::run::subject::SystemSubject;
use crate::run::tracing::tracer;
use analyze::calibrate::buffer::NoBuffer;
use analyze::calibrate::{
    Fit, Judged, compare, fit, foreign_share, judge, limited, stays_below, throttled, unthrottled,
};
use capture::leftover::Kept;
use experiment::calibrate::disk::{Inside, inside};
use experiment::calibrate::{Ahead, Plan};
use host::clock::HostClock;
use messages::fault::{Fault, failure, of_records};
use messages::output::note;
use messages::progress::Progress;
use model::calibration::{Burst, Class, Met, Pass};
use model::seam::{Subject, SubjectError};
use papers::CATALOG;
use profile::Frame;
use report::calibrated::Known;
use sim::profile::Profile;
use sim::replay::{DeviceMachine, ReplayMachine, closed_loop};
use sim::subject::ModelSubject;

/// Others moved so much of what we did: suspect, or worth nothing.
const FOREIGN_SUSPECT: f64 = 0.02;
const FOREIGN_MOST: f64 = 0.2;
/// What a scratch directory is named after.
const RUN: &str = "calibrate";
/// Virtual time of a prediction.
const PREDICTED_NS: u64 = 30_000_000_000;

/// What a calibration found.
pub(crate) struct Calibration {
    pub(crate) fit: Fit,
    /// The numbers that were found.
    pub(crate) known: Vec<Known>,
    pub(crate) judged: Vec<Judged>,
    /// The profile, as it is written.
    pub(crate) text: String,
    /// What else is to be said of it.
    pub(crate) doubts: Vec<String>,
}

/// Measures, fits and judges.
/// Errors: whatever of the device's fails or is refused, other load, a throttle that nobody named,
/// a device that cannot be predicted, an interruption.
pub(crate) fn run(
    resolved: &ResolvedCalibration,
    limits: &[(String, f64)],
) -> anyhow::Result<Calibration> {
    let Measured { passes, bursts, inside } = measure(resolved)?;
    let mut doubts = doubts(&passes, limits)?;
    let fit = fit_below(&passes, &bursts, limits).ok_or_else(|| {
        let sentence = "one class completed no request in a pass; give a longer --runtime";
        failure(Fault::Usage, sentence)
    })?;
    let fitted = match &inside {
        Ok(disk) => disk::fitted(resolved, disk, &passes)?.ok_or(
            "an explanation of its sequential \
                                                                  streams",
        ),
        Err(what) => Err(*what),
    };
    let (judged, text) = match &fitted {
        Ok(fitted) => {
            let model = fitted.model()?;
            // What is inside was read and not written.
            let reads: Vec<Pass> =
                passes.iter().filter(|pass| !pass.cell.class.writes()).cloned().collect();
            let judged = judge(&reads, |class| predicted(&model, class))?;
            let text = fitted.text(&judged);
            doubts.push("writes were not measured; the model treats them like reads".into());
            (judged, text)
        }
        Err(what) => {
            let frame = Frame::of(resolved, &passes);
            let (fit, said) = with_buffer_or_without(&frame, &fit, limits, &passes)?;
            doubts.extend(said);
            let text = |judged: &[Judged]| profile::text(&frame, &fit, limits, judged);
            let model = loaded(&text(&[]))?;
            let judged = judge(&passes, |class| predicted(&model, class))?;
            let text = text(&judged);
            if resolved.may_turn {
                doubts.push(format!("modelled as a black box: calibration could not find {what}"));
            }
            (judged, text)
        }
    };
    if !judged.iter().any(Judged::holds) {
        return Err(unpredictable(match resolved.device {
            Device::Here(_) => "check for other load on the device",
            // Nothing else is in virtual time.
            Device::Model(_) => "give more --runs or a longer --runtime",
        }));
    }
    let truth = match &resolved.device {
        Device::Model(profile) => Some(&**profile),
        Device::Here(_) => None,
    };
    let known = match inside.as_ref().ok().filter(|_| fitted.is_ok()) {
        Some(disk) => known::of_disk(disk, truth),
        None => known::of_fit(&fit, truth),
    };
    Ok(Calibration { fit, known, judged, text, doubts })
}

/// The fit of what no limit held back. How much the device does at the most, the limits decide.
fn fit_below(passes: &[Pass], bursts: &[Burst], limits: &[(String, f64)]) -> Option<Fit> {
    let whole = fit(passes, bursts)?;
    let Some(mut below) = fit(&unthrottled(passes, limits), bursts) else { return Some(whole) };
    below.read.ceiling = whole.read.ceiling;
    if let (Some(below), Some(whole)) = (&mut below.write, whole.write) {
        below.ceiling = whole.ceiling;
    }
    // Writes that go on at the limit look like a buffer that drains at it.
    let is_limit = |drain: f64| !stays_below(limits, [0.0, drain]);
    if below.buffer.as_ref().is_ok_and(|buffer| is_limit(buffer.drain_bytes_per_s.value)) {
        below.buffer = Err(NoBuffer::NotSeen);
    }
    Some(below)
}

fn loaded(text: &str) -> anyhow::Result<Profile> {
    CATALOG.load_text("calibrated", "the profile", text).map_err(refused)
}

/// A buffer makes the fitted classes' means worse by no more than this factor, or it is left out.
const WORSE: f64 = 1.1;

/// The fit that the profile is made of: times of writes that came while the buffer was full hold
/// the waits for it already, and then it would be met twice. The classes that are fitted tell; what
/// is held out has no say.
fn with_buffer_or_without(
    frame: &Frame<'_>,
    fit: &Fit,
    limits: &[(String, f64)],
    passes: &[Pass],
) -> anyhow::Result<(Fit, Option<String>)> {
    let without = Fit { buffer: Err(NoBuffer::NotSeen), ..fit.clone() };
    if fit.buffer.is_err() {
        let changes = fit.buffer == Err(NoBuffer::NotSteady);
        let sentence = "no write buffer found: the write rate still changed after 2 s";
        return Ok((without, changes.then(|| sentence.to_owned())));
    }
    let writes: Vec<Pass> =
        passes.iter().filter(|pass| pass.cell.class.read_percent == 0).cloned().collect();
    let off = |fit: &Fit| -> anyhow::Result<f64> {
        let model = loaded(&profile::text(frame, fit, limits, &[]))?;
        let judged = compare(&writes, |class| predicted(&model, class))?;
        let offs = judged.iter().filter_map(|of| of.off_percent()[0]);
        Ok(offs.map(|percent| percent.abs().max(1.0).ln()).sum::<f64>() / judged.len() as f64)
    };
    if off(fit)? <= off(&without)? + WORSE.ln() {
        return Ok((fit.clone(), None));
    }
    let sentence = "the profile has no write buffer: the measured write times already include the \
                    waits for it";
    Ok((without, Some(sentence.to_owned())))
}

fn unpredictable(question: &str) -> anyhow::Error {
    let sentence = "this device cannot be predicted: the fit mispredicts every held-out class, so \
                    no profile is written";
    failure(Fault::Usage, format!("{sentence}; {question}"))
}

/// What was measured of a device.
struct Measured {
    passes: Vec<Pass>,
    bursts: Vec<Burst>,
    inside: Inside,
}

/// What it is like as a black box, and, where it turns, what is inside.
fn measure(resolved: &ResolvedCalibration) -> anyhow::Result<Measured> {
    let (clock, control) = (HostClock::new(), control()?);
    let mut progress = Progress::new(control.clone(), resolved.plan.passes());
    let parts = (&clock, &control);
    let mut subject = match &resolved.device {
        Device::Here(system) => {
            SystemSubject::new(&system.kind, RUN, parts, tracer(false)).map_err(met)?.0
        }
        Device::Model(profile) => {
            let machine = ReplayMachine::of(profile).map_err(refused)?;
            let machine = Box::new(DeviceMachine::new(machine));
            SystemSubject::Model(Box::new(ModelSubject::new(machine)))
        }
    };
    let _kept = noted(&subject);
    let plan = &resolved.plan;
    let (mut has_begun, mut is_told) = (false, matches!(resolved.device, Device::Model(_)));
    progress.planned(0, None);
    let mut begins = |what: &str, ahead: Option<Ahead>| {
        if std::mem::replace(&mut has_begun, true) {
            progress.pass_done();
        }
        if let Some(Ahead { done_ns, left_ns }) = ahead {
            progress.planned(done_ns, left_ns);
            // Virtual time is nobody's to wait for.
            if left_ns.is_some() && !std::mem::replace(&mut is_told, true) {
                note(&left_sentence(plan, done_ns, left_ns.unwrap_or(0)));
            }
        }
        progress.pass(what, 0);
    };
    let mut disk = Err("a revolution");
    if resolved.may_turn {
        // Before anything is written: what a buffer still writes would be in the reads' times.
        let size = (resolved.sector_bytes, resolved.capacity_bytes);
        subject.prepare().map_err(met)?;
        let found = inside(&mut subject, size, plan.seed, &mut |what| begins(what, None));
        let found = found.map_err(met);
        subject.clean_up().map_err(met)?;
        disk = found?;
    }
    let ran = experiment::calibrate::run_system(&mut subject, plan, &mut begins);
    let (passes, bursts) = ran.map_err(met)?;
    Ok(Measured { passes, bursts, inside: disk })
}

/// So much longer than a quick device would take is told with its reason.
const LONGER: f64 = 1.2;

/// How long a calibration takes, once that is known.
fn left_sentence(plan: &Plan, done_ns: u64, left_ns: u64) -> String {
    let is_longer = (done_ns + left_ns) as f64 > plan.time_ns() as f64 * LONGER;
    let why = match is_longer {
        true => ": requests of this device take so long that passes with many of them are longer",
        false => "",
    };
    format!("about {:.0} s left{why}", left_ns as f64 / 1e9)
}

/// Notes what a killed calibration would leave, until it is over.
fn noted(subject: &SystemSubject) -> Kept {
    let SystemSubject::Directory(directory) = subject else { return Kept::nothing() };
    Kept::write(directory.scratch(), &[directory.scratch().to_owned()]).unwrap_or_else(|reason| {
        note(&format!(
            "if this run is killed, `lbolt doctor` cannot find its leftovers: no note in {reason}"
        ));
        Kept::nothing()
    })
}

fn met(error: SubjectError) -> anyhow::Error {
    match error {
        SubjectError::Interrupted => failure(
            Fault::Interrupted,
            "interrupted; no profile is written, and the scratch files \
                                         are removed",
        ),
        SubjectError::Refused(_) => failure(Fault::Guard, error),
        SubjectError::Unavailable(_) => failure(Fault::Usage, error),
        SubjectError::Failed(_) => failure(Fault::Io, error),
    }
}

fn doubts(passes: &[Pass], limits: &[(String, f64)]) -> anyhow::Result<Vec<String>> {
    let mut doubts = Vec::new();
    match foreign_share(passes) {
        None => doubts.push(
            "it is unknown whether other programs used the device during \
                             calibration"
                .to_owned(),
        ),
        Some(share) if share > FOREIGN_MOST => {
            let sentence = format!(
                "other programs moved {:.0} % as many bytes on the device as the calibration; \
                 calibrate when nothing else uses the device",
                share * 100.0
            );
            return Err(failure(Fault::Usage, sentence));
        }
        Some(share) if share > FOREIGN_SUSPECT => doubts.push(format!(
            "suspect: other programs moved {:.0} % as many bytes on the device as the calibration",
            share * 100.0
        )),
        Some(_) => (),
    }
    match (limited(passes), limits.is_empty()) {
        (Some(rate), true) => {
            let sentence = format!(
                "the device is limited to {rate:.0} IOPS for every size and order, and the size of \
                 its burst is unknown; give the provider's numbers with --limit"
            );
            return Err(failure(Fault::Usage, sentence));
        }
        (Some(_), false) => doubts.push(
            "suspect: the device was at its limit during calibration, so the times include \
             throttling; calibrate when its burst bucket is full"
                .to_owned(),
        ),
        (None, _) => (),
    }
    if let (Some(ratio), true) = (throttled(passes), limits.is_empty()) {
        let sentence = format!(
            "the device was throttled: rates fell to {:.0} % during calibration; give the \
             provider's numbers with --limit, or wait until the device is at full speed",
            ratio * 100.0
        );
        return Err(failure(Fault::Usage, sentence));
    }
    Ok(doubts)
}

/// A fast device serves enough in the first time, and a slow one in the second.
const TIMES_NS: [u64; 2] = [1_000_000_000, PREDICTED_NS];
const ENOUGH: u64 = 20_000;

fn predicted(model: &Profile, class: Class) -> anyhow::Result<Met> {
    let met = predicted_in(model, class, TIMES_NS[0])?;
    match met.count() {
        ENOUGH.. => Ok(met),
        _ => predicted_in(model, class, TIMES_NS[1]),
    }
}

fn predicted_in(model: &Profile, class: Class, time_ns: u64) -> anyhow::Result<Met> {
    let machine = ReplayMachine::of(model).map_err(refused)?;
    closed_loop(machine, class, time_ns, 1).map_err(of_records)
}

#[cfg(test)]
mod tests;

//! A calibration: passes on a device, the fit, its profile, and how well that predicts.

mod profile;

use crate::print::exit::{Fault, failure, of_records};
use crate::print::progress::Progress;
use crate::resolve::calibrate::ResolvedCalibration;
use crate::resolve::modelled::refused;
use crate::run::session::control;
use crate::run::subject::SystemSubject;
use crate::run::tracing::tracer;
use analyze::calibrate::{Fit, Judged, fit, foreign_share, judge, throttled};
use host::clock::HostClock;
use model::calibration::{Class, Met, Pass};
use model::seam::SubjectError;
use papers::CATALOG;
use sim::profile::Profile;
use sim::replay::{ReplayMachine, closed_loop};

/// Others moved so much of what we did: suspect, or worth nothing.
const FOREIGN_SUSPECT: f64 = 0.02;
const FOREIGN_MOST: f64 = 0.2;
/// Virtual time of a prediction.
const PREDICTED_NS: u64 = 4_000_000_000;

/// What a calibration found.
pub(crate) struct Calibration {
    pub(crate) fit: Fit,
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
    let passes = measure(resolved)?;
    let doubts = doubts(resolved, &passes, limits)?;
    let fit = fit(&passes).ok_or_else(|| {
        let sentence = "a class had no request in a whole pass; give a longer --runtime";
        failure(Fault::Usage, sentence)
    })?;
    let name = &resolved.system.name.column;
    let unjudged = profile::text(&resolved.plan, name, &fit, limits, &[]);
    let model = CATALOG.load_text("calibrated", "the profile", &unjudged).map_err(refused)?;
    let judged = judge(&passes, |class| predicted(&model, class))?;
    if !judged.iter().any(Judged::holds) {
        return Err(failure(
            Fault::Usage,
            "this device cannot be predicted: no class that was held out is, so no profile is \
             written; was there other load?",
        ));
    }
    let text = profile::text(&resolved.plan, name, &fit, limits, &judged);
    Ok(Calibration { fit, judged, text, doubts })
}

fn measure(resolved: &ResolvedCalibration) -> anyhow::Result<Vec<Pass>> {
    let (clock, control) = (HostClock::new(), control()?);
    let mut progress = Progress::new(control.clone(), resolved.plan.passes());
    let parts = (&clock, &control);
    let made = SystemSubject::new(&resolved.system.kind, "calibrate", parts, tracer(false));
    let (mut subject, _) = made.map_err(met)?;
    let mut has_begun = false;
    let mut begins = |what: &str| {
        if std::mem::replace(&mut has_begun, true) {
            progress.pass_done();
        }
        progress.pass(what, 0);
    };
    experiment::calibrate::run_system(&mut subject, &resolved.plan, &mut begins).map_err(met)
}

fn met(error: SubjectError) -> anyhow::Error {
    match error {
        SubjectError::Interrupted => {
            failure(Fault::Interrupted, "interrupted; no profile is written, and nothing is left")
        }
        SubjectError::Refused(_) => failure(Fault::Guard, error),
        SubjectError::Unavailable(_) => failure(Fault::Usage, error),
        SubjectError::Failed(_) => failure(Fault::Io, error),
    }
}

fn doubts(
    resolved: &ResolvedCalibration,
    passes: &[Pass],
    limits: &[(String, f64)],
) -> anyhow::Result<Vec<String>> {
    let mut doubts = Vec::new();
    match foreign_share(passes) {
        None => doubts.push("whether others used the device meanwhile is not known".to_owned()),
        Some(share) if share > FOREIGN_MOST => {
            let sentence = format!(
                "others moved {:.0} % as many bytes on the device meanwhile; calibrate it when \
                 nothing else uses it",
                share * 100.0
            );
            return Err(failure(Fault::Usage, sentence));
        }
        Some(share) if share > FOREIGN_SUSPECT => doubts.push(format!(
            "suspect: others moved {:.0} % as many bytes on the device meanwhile",
            share * 100.0
        )),
        Some(_) => (),
    }
    if let (Some(ratio), true) = (throttled(passes), limits.is_empty()) {
        let sentence = format!(
            "the device was throttled: rates fell to {:.0} % while it was measured, and a \
             bucket's size is not guessed; give its provider's numbers by --limit, or wait until \
             it is as it was",
            ratio * 100.0
        );
        return Err(failure(Fault::Usage, sentence));
    }
    if resolved.is_rotating {
        let sentence = "it turns: what a seek takes is not told from what a request takes";
        doubts.push(sentence.to_owned());
    }
    Ok(doubts)
}

fn predicted(model: &Profile, class: Class) -> anyhow::Result<Met> {
    let machine = ReplayMachine::of(model).map_err(refused)?;
    closed_loop(machine, class, PREDICTED_NS, 1).map_err(of_records)
}

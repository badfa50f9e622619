//! The capture by whichever method this kernel and this user's rights allow: BPF, whose events have
//! identities, or perf, whose events have none.
//!
//! Non-goals: what either does (`super`, `super::perf`).

use super::perf::{PerfCapture, PerfError};
use super::{Capture, CaptureError, CaptureOptions, Drained, Losses, Quick};
use crate::bpf::{LoadError, RunTime};
use crate::event::{GoingOn, Repeated};
use crate::intake::{RowsError, Steps};
use model::record::requests::BPF;

/// How requests are to be captured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Method {
    /// By BPF, and by perf where that cannot be loaded.
    #[default]
    Auto,
    /// By BPF or not at all.
    Bpf,
    /// By perf.
    Perf,
}

/// Why there is no capture by what was requested. A clause with its remedy.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum TracerError {
    #[error(transparent)]
    Bpf(#[from] CaptureError),
    #[error(transparent)]
    Perf(#[from] PerfError),
    #[error("{}", LoadError::NotPermitted)]
    NotPermitted,
    #[error("capture requests by BPF or perf: failed to {bpf}; failed to {perf}")]
    Neither { bpf: CaptureError, perf: PerfError },
}

/// A capture.
#[derive(Debug)]
pub enum Tracer {
    /// By BPF.
    Exact(Box<Capture>),
    /// By perf.
    Inexact(Box<PerfCapture>),
}

type IsAskedFor = fn(&CaptureOptions) -> bool;

/// What BPF alone tells, each with how it is asked for.
const OF_BPF_ALONE: [(IsAskedFor, &str); 3] = [
    (
        |options| options.calls,
        "perf traces no durability calls, no commits, no files and no waits of threads: waits for \
         an fsync, or without a request, are missing",
    ),
    (|options| options.syscalls, "perf traces no system calls: --syscalls has no effect"),
    (|options| options.stacks, "perf traces no stacks: --stacks has no effect"),
];

impl Tracer {
    /// Begins to capture; if perf was not requested and it is perf, with the reason.
    /// Errors: whatever stands in the way, with its remedy.
    pub fn load(
        options: &CaptureOptions,
        method: Method,
    ) -> Result<(Self, Option<CaptureError>), TracerError> {
        let refused = match method {
            Method::Perf => {
                return Ok((Self::Inexact(Box::new(PerfCapture::load(options)?)), None));
            }
            Method::Bpf | Method::Auto => match Capture::load(options) {
                Ok(capture) => return Ok((Self::Exact(Box::new(capture)), None)),
                Err(refused) => refused,
            },
        };
        // What is wrong with the devices is wrong with them for perf too.
        let (CaptureError::Load(_) | CaptureError::Map(_)) = &refused else {
            return Err(refused.into());
        };
        if method == Method::Bpf {
            return Err(refused.into());
        }
        match PerfCapture::load(options) {
            Ok(capture) => Ok((Self::Inexact(Box::new(capture)), Some(refused))),
            Err(perf) => Err(match (&refused, &perf) {
                (CaptureError::Load(LoadError::NotPermitted), perf) if perf.is_of_rights() => {
                    TracerError::NotPermitted
                }
                _ => TracerError::Neither { bpf: refused, perf },
            }),
        }
    }

    /// The capture by BPF, which alone tells what follows.
    fn exact(&self) -> Option<&Capture> {
        match self {
            Self::Exact(capture) => Some(capture),
            Self::Inexact(_) => None,
        }
    }

    /// What was asked for and cannot be told here, as sentences.
    pub fn untold(&self, options: &CaptureOptions) -> Vec<String> {
        let by_perf = || {
            let asked_for = OF_BPF_ALONE.iter().filter(|(is_asked_for, _)| is_asked_for(options));
            asked_for.map(|(_, sentence)| (*sentence).to_owned()).collect()
        };
        self.exact().map_or_else(by_perf, |capture| capture.untold().to_vec())
    }

    /// Why it is the plain build of the BPF programs, and what the verifier said of the other one.
    pub fn why_plain(&self) -> Option<&LoadError> {
        self.exact()?.why_plain()
    }

    /// What captures, in a word.
    pub fn name(&self) -> &'static str {
        if self.exact().is_some() { BPF } else { "perf" }
    }

    /// What sees the steps for which the kernel runs no program; none of perf, which it always
    /// runs.
    pub fn second_source(&self) -> Option<String> {
        self.exact().map(Capture::second_source)
    }

    /// The addresses of a stack, the innermost first; perf has none.
    pub fn frames(&self, stack: u32) -> Vec<u64> {
        self.exact().map_or_else(Vec::new, |capture| capture.frames(stack))
    }

    /// What the kernel's verifier said of programs without which it captures nonetheless.
    pub fn refused_log(&self) -> Option<&str> {
        self.exact()?.refused_log()
    }

    /// Whether waits of threads are told; perf tells of none.
    pub fn tells_waits(&self) -> bool {
        self.exact().is_some_and(Capture::tells_waits)
    }

    /// Waits that have gone on for so long now, in ns; perf knows of none.
    pub fn going_on(&self, least_ns: u64) -> Vec<GoingOn> {
        self.exact().map_or_else(Vec::new, |capture| capture.going_on(least_ns))
    }

    /// What each program has cost while runs were counted; of perf the kernel counts nothing.
    pub fn run_times(&self) -> Vec<RunTime> {
        self.exact().map_or_else(Vec::new, Capture::run_times)
    }

    /// Requests that have begun and are told of when they end.
    pub fn on_way(&self) -> u64 {
        self.exact().map_or(0, Capture::on_way)
    }

    /// Sums up those that repeat, until a moment ([`Capture::sum_up`]); perf tells all.
    pub fn sum_up(&mut self, of: Repeated, sums: usize, until_ns: i64) -> bool {
        match self {
            Self::Exact(capture) => capture.sum_up(of, sums, until_ns),
            Self::Inexact(_) => false,
        }
    }

    /// Tells singly from now on what has these sums.
    pub fn tell_singly(&mut self, sums: usize) {
        if let Self::Exact(capture) = self {
            capture.tell_singly(sums);
        }
    }

    /// The moment has passed until which all were named.
    pub fn forget_names(&mut self) {
        if let Self::Exact(capture) = self {
            capture.forget_names();
        }
    }

    /// Sums of those that repeat, since this was last asked.
    pub fn take_summed(&mut self) -> Vec<(usize, Quick)> {
        match self {
            Self::Exact(capture) => capture.take_summed(),
            Self::Inexact(_) => Vec::new(),
        }
    }

    /// Hands over what was recorded.
    /// Errors: what `steps` refuses.
    pub fn drain(&mut self, steps: &mut impl Steps) -> Result<Drained, RowsError> {
        match self {
            Self::Exact(capture) => capture.drain(steps),
            Self::Inexact(capture) => capture.drain(steps),
        }
    }

    /// What could not be kept.
    /// Errors: a kernel that refuses.
    pub fn losses(&self) -> Result<Losses, TracerError> {
        match self {
            Self::Exact(capture) => Ok(capture.losses()?),
            Self::Inexact(capture) => Ok(capture.losses()),
        }
    }

    /// No more is recorded, and the rest can be drained.
    /// Errors: a kernel that refuses.
    pub fn stop(&mut self) -> Result<(), TracerError> {
        match self {
            Self::Exact(capture) => Ok(capture.stop()?),
            Self::Inexact(capture) => Ok(capture.stop()?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_perf_does_not_tell_is_said_where_it_was_asked_for() {
        let said = |options: CaptureOptions| -> usize {
            OF_BPF_ALONE.iter().filter(|(is_asked_for, _)| is_asked_for(&options)).count()
        };
        let none = CaptureOptions::default();
        assert_eq!(said(none.clone()), 0);
        assert_eq!(said(CaptureOptions { calls: true, ..none.clone() }), 1);
        assert_eq!(said(CaptureOptions { calls: true, syscalls: true, stacks: true, ..none }), 3);
    }
}

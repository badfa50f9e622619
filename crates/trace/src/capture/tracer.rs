//! The capture by whichever method this kernel and this user's rights allow: BPF, whose events have
//! identities, or perf, whose events have none.
//!
//! Non-goals: what either does (`super`, `super::perf`).

use super::perf::{PerfCapture, PerfError};
use super::{Capture, CaptureError, CaptureOptions, Drained, Losses};
use crate::bpf::RunTime;
use crate::intake::{RowsError, Steps};

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
    #[error("capture requests, by BPF and by perf: failed to {bpf}; and failed to {perf}")]
    Neither { bpf: CaptureError, perf: PerfError },
}

/// A capture.
#[derive(Debug)]
pub enum Tracer {
    /// By BPF.
    Exact(Box<Capture>),
    /// By perf.
    Inexact(PerfCapture),
}

impl Tracer {
    /// Begins to capture; if perf was not requested and it is perf, with the reason.
    /// Errors: whatever stands in the way, with its remedy.
    pub fn load(
        options: &CaptureOptions,
        method: Method,
    ) -> Result<(Self, Option<CaptureError>), TracerError> {
        let refused = match method {
            Method::Perf => return Ok((Self::Inexact(PerfCapture::load(options)?), None)),
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
            Ok(capture) => Ok((Self::Inexact(capture), Some(refused))),
            Err(perf) => Err(TracerError::Neither { bpf: refused, perf }),
        }
    }

    /// What captures, in a word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exact(_) => "BPF",
            Self::Inexact(_) => "perf",
        }
    }

    /// What sees the steps for which the kernel runs no program; none of perf, which it always
    /// runs.
    pub fn second_source(&self) -> Option<String> {
        match self {
            Self::Exact(capture) => Some(capture.second_source()),
            Self::Inexact(_) => None,
        }
    }

    /// The addresses of a stack, the innermost first; perf has none.
    pub fn frames(&self, stack: u32) -> Vec<u64> {
        match self {
            Self::Exact(capture) => capture.frames(stack),
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

    /// What each program has cost while runs were counted; of perf the kernel counts nothing.
    pub fn run_times(&self) -> Vec<RunTime> {
        match self {
            Self::Exact(capture) => capture.run_times(),
            Self::Inexact(_) => Vec::new(),
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

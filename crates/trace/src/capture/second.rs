//! The second source: perf's tracepoints in the threads of process 1.
//!
//! Some kernels run no BPF program while a thread of the machine's first process is on the CPU, and count no missed
//! run. What an interrupt completes there is seen by no program, whatever the tracepoint and however many programs
//! are attached; the same tracepoints tell it to perf and ftrace. Seen with Linux 6.18 in a virtual machine: of 364,346
//! completions the programs saw 364,333, with `recursion_misses` 0; perf counted 13 in the threads of process 1
//! (docs/principles.md, 10).
//!
//! A program that does run there marks its record, which shows that this kernel has no such gap: the second source is
//! then closed.
//!
//! Non-goals: which request a step belongs to (`pair`); other processes, of which no such thing is known: an answer that
//! is lost elsewhere is counted when the request's identity is used again.

use super::perf::{PerfError, ProcessCapture};
use super::{CaptureOptions, Drained};
use crate::intake::{RowsError, Steps};

/// The machine's first process, in the first PID namespace.
const PROCESS: u32 = 1;

/// What became of the second source.
#[derive(Debug)]
pub(super) enum Second {
    /// It is open.
    Open(Box<ProcessCapture>),
    /// Programs run in process 1: it is not needed.
    NotNeeded,
    /// It could not be opened, with the reason.
    Missing(String),
}

impl Second {
    /// Opens it, where our process is numbered as the machine numbers it.
    pub(super) fn open(own_tgid: u32, options: &CaptureOptions) -> Self {
        if own_tgid != std::process::id() {
            return Self::Missing("process 1 is in another PID namespace".into());
        }
        match ProcessCapture::load(PROCESS, options) {
            Ok(capture) => Self::Open(Box::new(capture)),
            Err(refused) => Self::Missing(format!("failed to {refused}")),
        }
    }

    /// Hands over what it saw.
    pub(super) fn drain(
        &mut self,
        steps: &mut impl Steps,
        drained: &mut Drained,
    ) -> Result<(), RowsError> {
        let Self::Open(capture) = self else { return Ok(()) };
        let events: Vec<_> = capture.take(steps, drained).collect();
        events.into_iter().try_for_each(|event| steps.second(event))
    }

    /// A program ran in process 1.
    pub(super) fn is_not_needed(&mut self) {
        *self = Self::NotNeeded;
    }

    /// Steps for which it had no room.
    pub(super) fn lost(&self) -> u64 {
        match self {
            Self::Open(capture) => capture.lost(),
            _ => 0,
        }
    }

    /// No more is recorded.
    pub(super) fn stop(&mut self) -> Result<(), PerfError> {
        match self {
            Self::Open(capture) => capture.stop(),
            _ => Ok(()),
        }
    }

    /// In a sentence's part.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Open(_) => "perf, in the threads of process 1".into(),
            Self::NotNeeded => "not needed: BPF programs run in process 1".into(),
            Self::Missing(reason) => format!("none: {reason}"),
        }
    }
}

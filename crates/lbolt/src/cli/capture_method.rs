//! The method of a capture as it is requested.

use clap::ValueEnum;
use trace::capture::Method;

/// How requests are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CaptureMethod {
    /// BPF, or perf if BPF cannot be loaded.
    Auto,
    /// BPF only.
    Bpf,
    /// perf tracepoints only.
    Perf,
}

impl From<CaptureMethod> for Method {
    fn from(method: CaptureMethod) -> Self {
        match method {
            CaptureMethod::Auto => Self::Auto,
            CaptureMethod::Bpf => Self::Bpf,
            CaptureMethod::Perf => Self::Perf,
        }
    }
}

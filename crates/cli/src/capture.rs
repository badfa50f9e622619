//! How requests are captured: of which devices, for how long, and by what. `record`, `watch` and
//! `top` have them.

use super::time;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use trace::capture::Method;

/// How requests are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
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

/// What is captured, and how.
#[derive(Debug, Clone, Args)]
pub struct CaptureOptions {
    /// Device to capture: its name (vda), its node, a partition, or a directory on it; repeatable
    /// [default: all].
    #[arg(short, long = "device", value_name = "DEV", help_heading = "Capture")]
    pub devices: Vec<String>,
    /// Stop after this time.
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Capture")]
    pub duration: Option<Duration>,
    /// How requests are captured. bpf identifies each request exactly; perf needs no BPF, but pairs
    /// completions with requests by sector, which is inexact.
    #[arg(long, value_name = "TRACER", value_enum, default_value_t = CaptureMethod::Auto,
        help_heading = "Capture")]
    pub tracer: CaptureMethod,
    /// Trace durability calls as system calls: adds sync_file_range, syncfs and msync, and the end
    /// of calls on xfs. Slows every system call of the machine by 70 to 200 ns.
    #[arg(long, help_heading = "Capture")]
    pub syscalls: bool,
}

impl CaptureOptions {
    /// Whether the time is over of what has begun then, if it has.
    pub fn is_over(&self, began: Option<Instant>) -> bool {
        self.duration.zip(began).is_some_and(|(duration, began)| began.elapsed() >= duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_what_has_not_begun_is_not_over() {
        let of = |duration| CaptureOptions {
            devices: Vec::new(),
            duration,
            tracer: CaptureMethod::Auto,
            syscalls: false,
        };
        let (second, now) = (Duration::from_secs(1), Instant::now());
        assert!(!of(Some(second)).is_over(None));
        assert!(!of(Some(60 * second)).is_over(Some(now)));
        assert!(of(Some(Duration::ZERO)).is_over(Some(now)));
        assert!(!of(None).is_over(Some(now)));
    }
}

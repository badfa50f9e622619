//! What programs cost, as the kernel itself counts it: how often each ran, and for how long.
//!
//! Non-goals: what a program's tracepoint costs around it, and what its use of the caches costs others.

use super::{LoadError, Loaded};
use std::os::fd::OwnedFd;

/// While this lives, the kernel counts the runs of all BPF programs, which costs some 20 ns each.
#[derive(Debug)]
pub struct RunCounting(#[expect(dead_code, reason = "counting ends when it is closed")] OwnedFd);

impl RunCounting {
    /// Begins to count.
    ///
    /// # Errors
    /// A kernel that refuses.
    pub fn start() -> Result<Self, LoadError> {
        let counting = aya::sys::enable_stats(aya::sys::Stats::RunTime);
        Ok(Self(counting.map_err(|e| LoadError::new("the counting of runs", &e))?))
    }
}

/// A program's runs while they were counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTime {
    /// Its name, which is its tracepoint's.
    pub program: String,
    /// How often it ran.
    pub runs: u64,
    /// How long, in ns.
    pub time_ns: u64,
}

impl Loaded {
    /// What the programs that are attached have cost so far.
    pub(crate) fn run_times(&self) -> Vec<RunTime> {
        let programs = self.ebpf.programs();
        let of = |(name, program): (&str, &aya::programs::Program)| {
            let info = program.info().ok()?;
            let time_ns = u64::try_from(info.run_time().as_nanos()).unwrap_or(u64::MAX);
            Some(RunTime { program: name.to_owned(), runs: info.run_count(), time_ns })
        };
        let mut times: Vec<RunTime> = programs.filter_map(of).collect();
        times.sort_by(|a, b| a.program.cmp(&b.program));
        times
    }
}

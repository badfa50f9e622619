//! What the kernel itself counts of programs: how often each ran, for how long, and how often it
//! was left out.
//!
//! Non-goals: what a program's tracepoint costs around it, and what its use of the caches costs
//! others.

use super::again::first_of;
use super::{LoadError, Loaded};
use aya::programs::Program;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// While this lives, the kernel counts the runs of all BPF programs, which costs some 20 ns each.
#[derive(Debug)]
pub struct RunCounting(#[expect(dead_code, reason = "counting ends when it is closed")] OwnedFd);

impl RunCounting {
    /// Begins to count.
    /// Errors: a kernel that refuses.
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
        let of = |(name, program): (&str, &Program)| {
            let info = program.info().ok()?;
            let time_ns = u64::try_from(info.run_time().as_nanos()).unwrap_or(u64::MAX);
            Some(RunTime { program: name.to_owned(), runs: info.run_count(), time_ns })
        };
        let mut times: Vec<RunTime> = programs.filter_map(of).collect();
        times.sort_by(|a, b| a.program.cmp(&b.program));
        times
    }

    /// How often each program that is attached was left out because it was running on that CPU
    /// already (the kernel lets none interrupt itself), and no second one made that good. By the
    /// programs' names, if it ever was.
    /// Errors: a kernel that does not tell.
    pub(crate) fn runs_left_out(&self) -> Result<BTreeMap<String, u64>, LoadError> {
        let of = |(name, program): (&str, &Program)| {
            if first_of(name).is_some() {
                return None;
            }
            let left = |count: u64| count.saturating_sub(self.made_good(name));
            left_out(program).map(|count| Ok((name.to_owned(), left(count?))))
        };
        let mut runs: BTreeMap<String, u64> =
            self.ebpf.programs().filter_map(of).collect::<Result<_, LoadError>>()?;
        runs.retain(|_, count| *count > 0);
        Ok(runs)
    }
}

/// None if it is not loaded. The loader does not pass this number on; the descriptor's own page
/// does.
fn left_out(program: &Program) -> Option<Result<u64, LoadError>> {
    let descriptor = program.fd().ok()?.as_fd().as_raw_fd();
    let path = format!("/proc/self/fdinfo/{descriptor}");
    let unknown = |why: String| LoadError::Other { what: "the count of runs left out", why };
    let page = match read_page(&path) {
        Ok(page) => page,
        Err(e) => return Some(Err(unknown(format!("{path}: {e}")))),
    };
    // Before Linux 5.12 none is left out, and there is no such number.
    Some(Ok(misses(&page).unwrap_or(0)))
}

/// A short file of /proc in one call: each call makes its text anew.
fn read_page(path: &str) -> std::io::Result<String> {
    let mut page = [0; 4096];
    let bytes = File::open(path)?.read(&mut page)?;
    Ok(String::from_utf8_lossy(&page[..bytes]).into_owned())
}

/// The number in a descriptor's page.
fn misses(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("recursion_misses:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_found_or_not() {
        let page =
            "pos:\t0\nprog_type:\t26\nrun_cnt:\t7\nrecursion_misses:\t12\nverified_insns:\t9\n";
        assert_eq!(misses(page), Some(12));
        assert_eq!(misses("pos:\t0\n"), None);
        assert_eq!(misses("recursion_misses:\tmany\n"), None);
    }
}

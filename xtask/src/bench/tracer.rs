//! A tracer of the case's device beside what it traces, and what the kernel counts meanwhile.

use super::child::Child;
use super::ftrace::Ftrace;
use super::kernel_threads::RunTimes;
use super::turn::Turn;
use super::work::Work;
use anyhow::Context as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// The command that lbolt and perf run when their tracing stands: it makes a file, and then waits.
const READY: &str = "ready";
const COMMAND: [&str; 4] = ["--", "sh", "-c", ": > ready; exec sleep 600"];

/// A tracer that traces.
pub(super) enum Tracer {
    Program(Child),
    Ftrace(Ftrace),
}

impl Tracer {
    /// Starts it, and waits until it traces.
    pub(super) fn start(work: &Work, command: &str) -> anyhow::Result<Self> {
        if command == "ftrace" {
            return Ftrace::start(work).map(Self::Ftrace);
        }
        let ready = work.record(READY);
        if ready.exists() {
            std::fs::remove_file(&ready)?;
        }
        let mut child = work.start(command, &COMMAND)?;
        child.until(&ready, &work.control)?;
        Ok(Self::Program(child))
    }

    /// Stops it, and gives back what it printed.
    pub(super) fn end(self) -> anyhow::Result<String> {
        match self {
            Self::Program(child) => child.end(),
            Self::Ftrace(ftrace) => {
                drop(ftrace);
                Ok(String::new())
            }
        }
    }
}

/// What the kernel counted so far.
pub(super) struct Counted {
    device: String,
    requests: u64,
    threads: RunTimes,
}

impl Counted {
    pub(super) fn read(device: &str) -> anyhow::Result<Self> {
        let path = Path::new("/sys/block").join(device).join("stat");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("failed to read {}", path.display()))?;
        let (device, requests) = (device.to_owned(), completed(&text));
        Ok(Self { device, requests, threads: RunTimes::read()? })
    }

    /// Adds what it counted since: the device's requests, and, where the turn tells its own, the
    /// CPU time of one, the kernel's threads included.
    pub(super) fn add_to(&self, turn: &mut Turn) -> anyhow::Result<()> {
        let now = Self::read(&self.device)?;
        let requests = (now.requests - self.requests) as f64;
        turn.add("device_count", requests);
        // Not every command tells what its threads took: a replay does not.
        if let Ok(own_ns) = turn.quantity("cpu_operation_ns") {
            turn.add("request_cpu_ns", own_ns + now.threads.since(&self.threads) as f64 / requests);
        }
        Ok(())
    }
}

/// Reads, writes, discards and flushes: their places are those of Documentation/block/stat.rst.
fn completed(stat: &str) -> u64 {
    let numbers: Vec<u64> = stat.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    [0, 4, 11, 15].into_iter().filter_map(|place: usize| numbers.get(place)).sum()
}

/// Does something while other tracers of the same device come and go: lbolt, and perf where it is.
pub(super) fn while_others_come_and_go<T>(work: &Work, something: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    let mut lbolt = Command::new(&work.lbolt);
    lbolt.args(["record", "--duration", "200ms", "--runs-dir", "others", "--device"]);
    lbolt.arg(&work.device);
    let mut perf = Command::new("perf");
    perf.args(["stat", "-a", "-e", "block:*", "sleep", "0.2"]);
    std::thread::scope(|scope| {
        for mut command in [lbolt, perf] {
            command.current_dir(work.records.path()).env("LBOLT_STATE", work.records.path());
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            // A tracer that is not there goes at once.
            let is_over = &is_over;
            scope.spawn(
                move || {
                    while !is_over.load(Ordering::Relaxed) && command.status().is_ok() {}
                },
            );
        }
        let done = something();
        is_over.store(true, Ordering::Relaxed);
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_count_is_of_completed_requests() {
        let stat = " 3410582 5 27295816 513978 30172 707 429728 18760 0 49672 535737 13 0 1339404 \
            987 1596 2010";
        assert_eq!(completed(stat), 3_410_582 + 30_172 + 13 + 1596);
        assert_eq!(completed(""), 0);
    }
}

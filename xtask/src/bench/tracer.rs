//! Tracers of the case's device beside what they trace, and what the kernel counts meanwhile.

use super::kernel_threads::RunTimes;
use super::turn::Turn;
use super::work::Work;
use crate::command::Child;
use anyhow::Context as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The command that tracers run when their tracing stands: it makes a file, and then waits.
const READY: &str = "ready";
const COMMAND: [&str; 4] = ["--", "sh", "-c", ": > ready; exec sleep 600"];
/// So long a tracer may take until then.
const PATIENCE: Duration = Duration::from_secs(10);

/// A tracer that traces, and where it prints.
pub(super) struct Tracer(Child, PathBuf);

impl Tracer {
    /// Starts it, and waits until it traces.
    pub(super) fn start(work: &Work, command: &str) -> anyhow::Result<Self> {
        let [ready, out] = [READY, "beside-stdout"].map(|name| work.record(name));
        if ready.exists() {
            std::fs::remove_file(&ready)?;
        }
        let mut tracer = work.command(command)?;
        tracer.args(COMMAND).stdout(std::fs::File::create(&out)?);
        let mut child = Child::start(command.trim(), &mut tracer, &work.record("beside-stderr"))?;
        child.until_made(&ready, PATIENCE, || work.go_on())?;
        Ok(Self(child, out))
    }

    /// Stops it, and gives back what it printed.
    pub(super) fn end(mut self) -> anyhow::Result<String> {
        self.0.stop()?;
        Ok(std::fs::read_to_string(&self.1)?)
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

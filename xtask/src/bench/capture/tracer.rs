//! The tracers that are held against each other: each is started before fio and stopped behind it.

use super::super::Bench;
use super::super::child::Beside;
use super::ftrace::Ftrace;
use anyhow::Context as _;
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;

/// Who traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tracer {
    /// Nobody.
    None,
    Lbolt,
    /// `perf record` of the same tracepoints, all of them.
    Perf,
    /// ftrace's `blk` tracer.
    Ftrace,
}

impl Tracer {
    pub(super) const ALL: [Self; 4] = [Self::None, Self::Lbolt, Self::Perf, Self::Ftrace];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lbolt => "lbolt",
            Self::Perf => "perf",
            Self::Ftrace => "ftrace",
        }
    }
}

/// A tracer that traces.
pub(super) enum Tracing {
    None,
    Lbolt(Beside),
    Perf(Beside),
    Ftrace(Ftrace),
}

/// The command that lbolt and perf run when their tracing stands: it makes a file, and then waits.
const READY: &str = "ready";
const COMMAND: [&str; 4] = ["--", "sh", "-c", ": > ready; exec sleep 600"];

impl Tracing {
    /// Starts a tracer, and waits until it traces.
    ///
    /// # Errors
    /// A tracer that is not there, or that the kernel refuses; interruption.
    pub(super) fn start(bench: &Bench, tracer: Tracer, device: &Path) -> anyhow::Result<Self> {
        let records = bench.records.path();
        let name = device.file_name().and_then(|n| n.to_str()).context("a device has a name")?;
        let begin = |program: &Path, words: Vec<OsString>| -> anyhow::Result<Beside> {
            let all: Vec<OsString> = words.into_iter().chain(COMMAND.map(Into::into)).collect();
            let mut beside = Beside::start(program, &all, &records)?;
            beside.until(&records.join(READY), &bench.control)?;
            Ok(beside)
        };
        Ok(match tracer {
            Tracer::None => Self::None,
            Tracer::Lbolt => Self::Lbolt(begin(&bench.lbolt, lbolt_words(device, &records))?),
            // perf mounts tracefs where it is not: in a mount namespace that ends with it.
            Tracer::Perf => Self::Perf(begin(Path::new("unshare"), perf_words(&records))?),
            Tracer::Ftrace => Self::Ftrace(Ftrace::start(name, &records)?),
        })
    }

    /// Stops it; what lbolt says is given back.
    ///
    /// # Errors
    /// A tracer that does not stop; JSON that is broken.
    pub(super) fn end(self) -> anyhow::Result<Option<Value>> {
        match self {
            Self::None => {}
            Self::Lbolt(beside) => {
                let text = beside.end()?;
                return Ok(Some(serde_json::from_str(&text).context("lbolt's JSON is broken")?));
            }
            Self::Perf(beside) => drop(beside.end()?),
            Self::Ftrace(ftrace) => drop(ftrace),
        }
        Ok(None)
    }
}

fn lbolt_words(device: &Path, records: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["record".into(), "--device".into(), device.into()];
    words.extend(["--format=json".into(), "--output".into(), records.join("run").into()]);
    words
}

/// Without the list of programs' build-ids, which is made at the end by reading all again.
const PERF: [&str; 11] = [
    "--mount",
    "--propagation",
    "private",
    "perf",
    "record",
    "-q",
    "-a",
    "-B",
    "-N",
    "-e",
    "block:*",
];

fn perf_words(records: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = PERF.map(Into::into).to_vec();
    words.extend(["-o".into(), records.join("perf.data").into()]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lbolt_itself_understands_the_words() {
        use clap::Parser as _;
        let words = lbolt_words(Path::new("/dev/loop0"), Path::new("r"));
        let all = std::iter::once(OsString::from("lbolt")).chain(words);
        let all = all.chain(COMMAND.map(OsString::from));
        if let Err(error) = ::lbolt::cli::Cli::try_parse_from(all) {
            panic!("{error}");
        }
    }
}

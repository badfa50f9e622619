//! What a case has left in the shared folder: the exit code, what was printed, the kernel's own
//! counts before and after, fio's report, and the run that lbolt kept.

use anyhow::{Context as _, bail, ensure};
use model::history::{History, Query};
use model::record::requests::{Provenance, RequestFile};
use model::record::{Context, Counted, Finding, Request, Rollup};
use model::run::RunDirectory;
use serde_json::Value;
use std::path::Path;

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    pub(super) end: End,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// In the order of time: before and after the whole command, and right around the load.
    pub(super) counters: Option<[Vec<Counters>; 4]>,
    pub(super) fio: Option<FioReport>,
    pub(super) run: Option<Run>,
    /// What `lbolt response` says of the run.
    pub(super) response: Option<Value>,
    /// Requests as a watch has kept them.
    pub(super) history: Option<Vec<Rollup>>,
    /// `unchanged` or `changed`.
    pub(super) sum: Option<String>,
}

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    Exit(u8),
    /// Its stack could not be set up.
    Setup,
}

impl Default for End {
    fn default() -> Self {
        Self::Exit(0)
    }
}

/// A device's own counts (Documentation/admin-guide/iostats.rst).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// As in /sys/block.
    pub(super) name: String,
    /// That of the device mapper, or the kernel's.
    pub(super) mapped: String,
    /// `major << 20 | minor`.
    pub(super) number: u32,
    /// Made of requests, and not of bios.
    pub(super) is_of_requests: bool,
    pub(super) reads: u64,
    pub(super) read_sectors: u64,
    pub(super) writes: u64,
    pub(super) write_sectors: u64,
    pub(super) discards: u64,
    pub(super) discard_sectors: u64,
    pub(super) flushes: u64,
}

/// fio's report (`--output-format=json`).
#[derive(Debug, Default)]
pub(super) struct FioReport(pub(super) Value);

impl FioReport {
    /// Of all jobs: a number of a kind of operations, as `/read/total_ios`.
    pub(super) fn sum(&self, what: &str) -> u64 {
        let jobs = self.0["jobs"].as_array().into_iter().flatten();
        jobs.filter_map(|job| job.pointer(what)?.as_u64()).sum()
    }

    /// The median of the first job's reads; 0 if there is none.
    pub(super) fn read_p50_ms(&self) -> f64 {
        let percentile = self.0.pointer("/jobs/0/read/clat_ns/percentile/50.000000");
        percentile.and_then(Value::as_f64).map_or(0.0, |ns| ns / 1e6)
    }
}

/// A run of lbolt.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) provenance: Provenance,
    /// Each with the name of the thread that queued it.
    pub(super) requests: Vec<(Request, String)>,
    pub(super) context: Context,
    pub(super) findings: Vec<Finding>,
}

impl Run {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let (directory, _) = RunDirectory::open(path)?;
        let file = RequestFile::open(&directory.requests())?;
        let mut reader = file.read_all()?;
        let mut requests = vec![];
        while let Some(batch) = reader.next_batch()? {
            let rows: Vec<Request> = batch.rows().collect();
            requests.extend(rows.into_iter().map(|row| {
                let command = row.command.map(|id| reader.commands.name(id).to_owned());
                (row, command.unwrap_or_default())
            }));
        }
        Ok(Self {
            provenance: file.provenance(),
            requests,
            context: Context::read(path)?,
            findings: directory.read_findings()?,
        })
    }
}

impl Evidence {
    /// Errors: what is there cannot be read.
    pub(super) fn read(place: &Path) -> anyhow::Result<Self> {
        let text = |name: &str| {
            let bytes = std::fs::read(place.join(name)).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let end = end(&text("code").context("it has not ended")?)?;
        if end == End::Setup {
            let setup = place.with_file_name("setup");
            let stdout = std::fs::read_to_string(setup).unwrap_or_default();
            return Ok(Self { end, stdout, ..Self::default() });
        }
        let counters = ["before", "within-before", "within-after", "after"].map(text);
        let counters = match counters {
            [Some(a), Some(b), Some(c), Some(d)] => Some([a, b, c, d].map(|text| all(&text))),
            _ => None,
        };
        // fio says first what went wrong, if anything did.
        let fio = text("fio.json")
            .and_then(|text| Some(serde_json::from_str(&text[text.find('{')?..]).map(FioReport)));
        let response = text("response.json").map(|text| serde_json::from_str(&text));
        let run = place.join("run");
        let run = run.join("run.json").exists().then(|| Run::read(&run)).transpose();
        // What was killed may have left half a run.
        let run = if end == End::Exit(0) { run? } else { run.unwrap_or_default() };
        Ok(Self {
            end,
            stdout: text("stdout").unwrap_or_default(),
            stderr: text("stderr").unwrap_or_default(),
            counters,
            // Without its end it is of a load that was killed; whoever needs it will miss it.
            fio: fio.and_then(Result::ok),
            run,
            response: response.transpose().context("response.json")?,
            history: requests_of(&place.join("history"))?,
            sum: text("sum").map(|text| text.trim().to_owned()),
        })
    }

    /// All that was printed.
    pub(super) fn printed(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// The requests in the history of a watch, if there is one.
fn requests_of(history: &Path) -> anyhow::Result<Option<Vec<Rollup>>> {
    if !history.exists() {
        return Ok(None);
    }
    let query = Query {
        from_unix_ns: 0,
        until_unix_ns: i64::MAX,
        kinds: vec![Counted::Requests],
        ..Query::default()
    };
    let (rows, notes) = History::open(history)?.read(&query);
    ensure!(notes.is_empty(), "the history: {notes:?}");
    Ok(Some(rows))
}

fn end(code: &str) -> anyhow::Result<End> {
    match code.trim().split_once(' ') {
        Some(("setup", _)) => Ok(End::Setup),
        None => Ok(End::Exit(code.trim().parse()?)),
        _ => bail!("an end of {code:?}"),
    }
}

fn all(text: &str) -> Vec<Counters> {
    text.lines().filter_map(counters).collect()
}

/// A line of the prelude's function `counters`.
fn counters(line: &str) -> Option<Counters> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (major, minor) = words.get(2)?.split_once(':')?;
    let numbers = words.get(5..)?.iter().map(|word| word.parse().ok());
    let numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
    let number = |place: usize| numbers.get(place).copied().unwrap_or(0);
    Some(Counters {
        name: (*words.get(1)?).to_owned(),
        mapped: match *words.get(4)? {
            "-" => (*words.get(1)?).to_owned(),
            name => name.to_owned(),
        },
        number: major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?,
        is_of_requests: *words.get(3)? == "requests",
        reads: number(0),
        read_sectors: number(2),
        writes: number(4),
        write_sectors: number(6),
        discards: number(11),
        discard_sectors: number(13),
        flushes: number(15),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_those_of_the_kernels_file() {
        let line =
            "/dev/mapper/crypt dm-7 254:7 bios crypt 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17";
        let found = counters(line).unwrap();
        assert_eq!((found.name.as_str(), found.mapped.as_str()), ("dm-7", "crypt"));
        assert_eq!((found.number, found.is_of_requests), (254 << 20 | 7, false));
        assert_eq!((found.reads, found.read_sectors), (1, 3));
        assert_eq!((found.writes, found.write_sectors), (5, 7));
        assert_eq!((found.discards, found.discard_sectors, found.flushes), (12, 14, 16));
        // Kernels without counts of discards and flushes.
        assert_eq!(counters("/dev/sda sda 8:0 requests - 1 2 3 4 5 6").unwrap().flushes, 0);
        assert_eq!(counters("/dev/sda sda"), None);
    }

    #[test]
    fn a_case_ends_with_a_code_or_never_began() {
        assert_eq!(end("3\n").unwrap(), End::Exit(3));
        assert_eq!(end("setup 1\n").unwrap(), End::Setup);
        assert!(end("").is_err());
    }

    #[test]
    fn fio_counts_over_its_jobs() {
        let text = r#"{"jobs": [{"read": {"total_ios": 3, "io_bytes": 9, "iops": 1.5}}, {}]}"#;
        let report = FioReport(serde_json::from_str(text).unwrap());
        assert_eq!(report.sum("/read/total_ios"), 3);
        assert_eq!(report.sum("/sync/total_ios"), 0);
        assert_eq!(report.read_p50_ms(), 0.0);
    }
}

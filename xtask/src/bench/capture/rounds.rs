//! The rounds: in each, every tracer has its turn, and who is first goes on by one.

use super::super::finding::value;
use super::super::place::Records;
use super::super::{Bench, child, fio};
use super::kernel_threads::RunTimes;
use super::tracer::{Tracer, Tracing};
use anyhow::Context as _;
use host::subject::LoopDisk;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// fio's requests under way.
pub(super) const DEPTH: u32 = 16;
const IMAGE_BYTES: u64 = 1 << 30;
const SECONDS: u32 = 2;

/// One tracer's turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// Of fio's job and of the kernel's threads, a request.
    pub(super) cpu_ns: f64,
    pub(super) rate: f64,
    /// Requests by the device's own count.
    pub(super) counted: f64,
    /// What lbolt says, if it was its turn.
    pub(super) said: Option<Said>,
}

/// What lbolt says of a capture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said {
    pub(super) events_per_request: f64,
    pub(super) consumer_ns: f64,
    pub(super) lost: f64,
    /// Requests whose question and answer both were seen.
    pub(super) matched: f64,
    /// Of which only one was.
    pub(super) edges: f64,
}

/// All turns, round by round.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    rounds: Vec<Vec<(Tracer, Turn)>>,
    missing: BTreeMap<&'static str, String>,
}

impl Rounds {
    /// Runs as many rounds as there are pairs.
    ///
    /// # Errors
    /// What keeps lbolt or fio from running; interruption.
    pub(super) fn run(bench: &mut Bench) -> anyhow::Result<Self> {
        // In memory: no disk is as fast, and the machine's own is as fast as its neighbours let it
        // be.
        let memory = Records::make()?;
        let disk = LoopDisk::make(&memory.path(), IMAGE_BYTES, &bench.control)?;
        eprintln!(
            "capture: {} with direct I/O, its image in memory, {DEPTH} requests under way",
            disk.path().display()
        );
        let mut all = Self::default();
        for round in 0..bench.pairs {
            let mut turns = Vec::new();
            for tracer in
                order(round).filter(|tracer| all.missing(*tracer).is_none()).collect::<Vec<_>>()
            {
                match turn(bench, tracer, disk.path()) {
                    Ok(turn) => turns.push((tracer, turn)),
                    // A peer that is not there is no reason to stop.
                    Err(error) if matches!(tracer, Tracer::Perf | Tracer::Ftrace) => {
                        let reason = bench.unless_stopped(error)?;
                        all.miss(tracer, format!("not measured: {reason}{}", remedy(tracer)));
                    }
                    Err(error) => return Err(error.context(format!("round {}", round + 1))),
                }
            }
            let each = turns.iter().map(|(tracer, turn)| {
                format!("{} {:.0}/s {:.0} ns", tracer.name(), turn.rate, turn.cpu_ns)
            });
            eprintln!(
                "capture: round {} of {}: {}",
                round + 1,
                bench.pairs,
                each.collect::<Vec<_>>().join(", ")
            );
            all.add(turns);
        }
        bench.records.clear()?;
        Ok(all)
    }

    pub(super) fn add(&mut self, turns: Vec<(Tracer, Turn)>) {
        self.rounds.push(turns);
    }

    pub(super) fn miss(&mut self, tracer: Tracer, reason: String) {
        self.missing.insert(tracer.name(), reason);
    }

    /// Why there is nothing of a tracer.
    pub(super) fn missing(&self, tracer: Tracer) -> Option<&str> {
        self.missing.get(tracer.name()).map(String::as_str)
    }

    /// A figure of all turns of a tracer.
    pub(super) fn of(&self, tracer: Tracer, get: impl Fn(&Turn) -> f64) -> Vec<f64> {
        self.rounds.iter().filter_map(|round| found(round, tracer).map(&get)).collect()
    }

    /// A figure of what lbolt says.
    pub(super) fn of_lbolt(&self, get: impl Fn(&Turn, &Said) -> f64) -> Vec<f64> {
        let of = |round: &Vec<(Tracer, Turn)>| {
            let turn = found(round, Tracer::Lbolt)?;
            Some(get(turn, turn.said.as_ref()?))
        };
        self.rounds.iter().filter_map(of).collect()
    }

    /// A figure of two turns of the same round.
    pub(super) fn pairs(
        &self,
        one: Tracer,
        other: Tracer,
        get: impl Fn(&Turn, &Turn) -> Option<f64>,
    ) -> Vec<f64> {
        let of = |round: &Vec<(Tracer, Turn)>| get(found(round, one)?, found(round, other)?);
        self.rounds.iter().filter_map(of).collect()
    }
}

fn found(round: &[(Tracer, Turn)], tracer: Tracer) -> Option<&Turn> {
    round.iter().find(|(one, _)| *one == tracer).map(|(_, turn)| turn)
}

/// Who has its turn when: whoever was first goes last in the next round.
fn order(round: usize) -> impl Iterator<Item = Tracer> {
    let count = Tracer::ALL.len();
    Tracer::ALL.into_iter().cycle().skip(round % count).take(count)
}

fn remedy(tracer: Tracer) -> &'static str {
    match tracer {
        Tracer::Perf => "; install linux-perf",
        _ => "",
    }
}

/// fio's requests under one tracer.
fn turn(bench: &mut Bench, tracer: Tracer, device: &Path) -> anyhow::Result<Turn> {
    bench.records.clear()?;
    let records = bench.records.path();
    let tracing = Tracing::start(bench, tracer, device)?;
    let (counted_before, ran_before) = (counted(device)?, RunTimes::read()?);
    let done = child::run(&bench.fio, &fio_words(device), &records, &bench.control)?;
    let threads_ns = RunTimes::read()?.since(&ran_before);
    let counted = counted(device)? - counted_before;
    let said = tracing.end()?.map(|json| Said::read(&json)).transpose()?;
    let rate = fio::parse(&done.stdout)?;
    Ok(Turn {
        cpu_ns: rate.cpu_ns + threads_ns as f64 / rate.operations as f64,
        rate: rate.operations_per_s,
        counted: counted as f64,
        said,
    })
}

fn fio_words(device: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = ["--name=bench", "--rw=randread", "--bs=4k", "--direct=1"]
        .into_iter()
        .chain(["--ioengine=libaio", "--time_based", "--readonly", "--output-format=json"])
        .map(Into::into)
        .collect();
    words.push(format!("--iodepth={DEPTH}").into());
    words.push(format!("--runtime={SECONDS}").into());
    let mut filename = OsString::from("--filename=");
    filename.push(device);
    words.push(filename);
    words
}

/// Requests that a device answered so far: reads, writes, discards and flushes.
fn counted(device: &Path) -> anyhow::Result<u64> {
    let name = device.file_name().context("a device has a name")?;
    let path = Path::new("/sys/block").join(name).join("stat");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("failed to read {}", path.display()))?;
    Ok(answered(&text))
}

/// The places of the four counts are those of Documentation/block/stat.rst.
fn answered(stat: &str) -> u64 {
    let numbers: Vec<u64> = stat.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    [0, 4, 11, 15].into_iter().filter_map(|place: usize| numbers.get(place)).sum()
}

impl Said {
    fn read(json: &Value) -> anyhow::Result<Self> {
        let of = |quantity: &str| value(json, quantity, &[("run", "this")]);
        let requests = of("requests_count")?;
        let edges = of("unanswered_count")? + of("orphaned_count")? + of("before_start_count")?;
        Ok(Self {
            events_per_request: of("events_count")? / requests,
            consumer_ns: of("consumer_ns_per_request")?,
            lost: of("lost_count")?,
            matched: requests - edges,
            edges,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_rotates() {
        let first: Vec<Tracer> = (0..5).filter_map(|round| order(round).next()).collect();
        assert_eq!(first[..4], Tracer::ALL);
        assert_eq!(first[4], Tracer::None);
        assert_eq!(order(3).last(), Some(Tracer::Perf));
    }

    #[test]
    fn the_kernels_count_is_of_answers() {
        let stat = " 3410582 5 27295816 513978 30172 707 429728 18760 0 49672 535737 13 0 1339404 \
            987 1596 2010";
        assert_eq!(answered(stat), 3_410_582 + 30_172 + 13 + 1596);
        assert_eq!(answered(""), 0);
    }

    #[test]
    fn what_lbolt_says_is_read() {
        let finding = |quantity: &str, value: f64| serde_json::json!({"subject": {"run": "this"}, "quantity": quantity, "value": value});
        let all = [
            ("requests_count", 100.0),
            ("events_count", 300.0),
            ("unanswered_count", 2.0),
            ("orphaned_count", 1.0),
            ("before_start_count", 0.0),
            ("lost_count", 4.0),
            ("consumer_ns_per_request", 350.0),
        ];
        let findings: Vec<Value> = all.iter().map(|(q, v)| finding(q, *v)).collect();
        let said = Said::read(&serde_json::json!({ "findings": findings })).unwrap();
        assert_eq!((said.events_per_request, said.matched, said.edges), (3.0, 97.0, 3.0));
        assert!(Said::read(&serde_json::json!({"findings": findings[..3]})).is_err());
    }
}

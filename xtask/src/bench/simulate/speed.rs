//! Requests a second of CPU time: the replay by itself, rows in and rows out in memory; and the
//! whole command, reading the trace, comparing and writing the requests included.

use super::super::finding::value;
use super::super::import::import;
use super::super::statistics::Bound;
use super::super::table::{Row, spread};
use super::super::{Bench, child};
use super::replay::data;
use anyhow::Context as _;
use model::record::Request;
use sim::replay::{self, ReplayMachine};
use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;
use trace::import::Input;
use trace::intake::Intake;

const RATE: Bound = Bound::at_least(1e6);
const MEMORY_MIB: Bound = Bound::at_most(256.0);
const MOST_OF_ALL_CORES: Bound = Bound::at_least(0.9);
const DRIVE_ALONE: &str = "simulate: requests a second of CPU time, Atlas 10K closed, the replay";
const WEEK_ALONE: &str = "simulate: requests a second of CPU time, hplajw dependent, the replay";
const DRIVE: &str = "simulate: requests a second of CPU time, Atlas 10K closed, the command";
const WEEK: &str = "simulate: requests a second of CPU time, hplajw dependent, the command";
const WEEK_ONCE: &str =
    "simulate: requests a second of CPU time, hplajw dependent, the command with --draws 0";
const MEMORY: &str = "simulate: peak memory, MiB, Atlas 10K × 200";
const SWEEP: &str = "simulate: share of all cores that a sweep of 64 variants uses";
pub(super) const NAMES: &[&str] = &[DRIVE_ALONE, WEEK_ALONE, DRIVE, MEMORY, WEEK, WEEK_ONCE, SWEEP];

/// Draws of a model's uncertain numbers, each of which is a replay: as many as the command makes
/// unasked.
const DRAWS: u32 = 8;

/// How often the drive's trace of 10,000 is repeated: so that start-up does not count.
const REPEATS: usize = 200;

struct Simulated {
    rate: f64,
    peak_mib: f64,
}

/// `lbolt simulate` on a run's rows.
fn command(bench: &Bench, trace: &Path, words: &[&str]) -> anyhow::Result<child::Done> {
    let run = bench.records.path().join("simulated");
    if run.exists() {
        std::fs::remove_dir_all(&run)?;
    }
    let words = ["simulate", "--format=json"].iter().chain(words).chain(&["--output"]);
    let words = words.map(OsString::from).chain([run.into(), trace.into()]);
    let words: Vec<OsString> = words.collect();
    child::run(&bench.lbolt, &words, &bench.records.path(), &bench.control)
}

/// Replays a run's rows, `draws` times beside the model as it stands; requests count each time that
/// they are answered.
fn simulate(
    bench: &Bench,
    trace: &Path,
    (model, arrivals): (&str, &str),
    draws: u32,
) -> anyhow::Result<Simulated> {
    let drawn = format!("--draws={draws}");
    let done = command(bench, trace, &["--model", model, "--arrivals", arrivals, &drawn])?;
    let json: serde_json::Value =
        serde_json::from_str(&done.stdout).context("lbolt's JSON is broken")?;
    let devices = ["0", "1"].map(|device| [("op", "all"), ("device", device)]);
    let served = devices.iter().filter_map(|of| value(&json, "simulated_count", of).ok());
    let requests = served.sum::<f64>() * f64::from(1 + draws);
    Ok(Simulated {
        rate: requests / (done.cpu_ns as f64 / 1e9),
        peak_mib: done.peak_kib as f64 / 1024.0,
    })
}

/// Variants of a sweep.
const VARIANTS: u32 = 64;

/// The share of all cores' time that a sweep over variants of a model uses from its start to its
/// end.
fn sweep(bench: &Bench, trace: &Path) -> anyhow::Result<f64> {
    let overheads: Vec<String> =
        (0..VARIANTS).map(|step| format!("{:.2} ms", 0.5 + f64::from(step) / 50.0)).collect();
    let set = format!("--set=drive.command.overhead={}", overheads.join(";"));
    let began = Instant::now();
    let done = command(bench, trace, &["--draws=0", "--model", "hp-9000-845", &set])?;
    let elapsed_s = began.elapsed().as_secs_f64();
    let cores = std::thread::available_parallelism()?.get() as f64;
    Ok(done.cpu_ns as f64 / 1e9 / elapsed_s / cores)
}

/// A trace's rows.
fn rows(path: &Path, format: &str) -> anyhow::Result<Vec<Request>> {
    let mut rows: Vec<Request> = Vec::new();
    let mut intake = Intake::new(&mut rows, "bench");
    let mut inputs = [Input::open(path)?];
    trace::import::read(&mut inputs, Some(trace::import::named(format)?), &mut intake)?;
    intake.finish()?;
    Ok(rows)
}

/// Times that a trace is replayed for one figure.
const TIMES: usize = 40;

/// How a trace is replayed; gives how many requests were answered.
type Replay = fn(ReplayMachine, &[Request]) -> anyhow::Result<u64>;

/// Requests a second of this thread's CPU time.
fn alone(rows: &[Request], model: &str, replay: Replay) -> anyhow::Result<f64> {
    let profile = sim::profile::CATALOG.load(model)?;
    let cpu_s = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let began_s = cpu_s();
    let mut answered = 0;
    for _ in 0..TIMES {
        answered += replay(ReplayMachine::of(&profile)?, rows)?;
    }
    Ok(answered as f64 / (cpu_s() - began_s))
}

fn of_replays(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let atlas = rows(&data(bench, "disks/atlas10k.trace")?, "disksim-validate")?;
    let week = rows(&data(bench, "hplajw/ajw.1week.srt")?, "srt")?;
    let closed: Replay = |machine, rows| {
        Ok(replay::closed(machine, rows.iter().copied(), |row| {
            std::hint::black_box(row);
        })?
        .requests)
    };
    let dependent: Replay = |machine, rows| {
        Ok(replay::dependent(machine, rows.iter().copied(), |row| {
            std::hint::black_box(row);
        })?
        .requests)
    };
    let cases = [
        (DRIVE_ALONE, &atlas, "atlas10k", closed, "DiskSim 4.0 -O2: 53k/s (not run here)"),
        (WEEK_ALONE, &week, "hp-9000-845", dependent, "DiskSim 4.0 -O2: 111k/s (not run here)"),
    ];
    let of_case = |(name, rows, model, replay, peer): (&str, &Vec<Request>, &str, Replay, &str)| {
        let rates = (0..bench.pairs).map(|_| alone(rows, model, replay));
        let rates: Vec<f64> = rates.collect::<anyhow::Result<_>>()?;
        Ok(Row {
            lbolt: spread(&rates, "/s"),
            peer: peer.into(),
            ..Row::judged(name, &rates, RATE)
        })
    };
    cases.into_iter().map(of_case).collect()
}

/// Rates and memory.
pub(super) fn run(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    bench.records.clear()?;
    let records = bench.records.path();
    let one = std::fs::read(data(bench, "disks/atlas10k.trace")?)?;
    let long = records.join("long.trace");
    let mut file = std::fs::File::create(&long)?;
    for _ in 0..REPEATS {
        file.write_all(&one)?;
    }
    drop(file);
    let of_drive = records.join("drive");
    import(bench, "disksim-validate", &[long], &of_drive)?;
    let week = data(bench, "hplajw/ajw.1week.srt")?;
    let of_week = records.join("week");
    import(bench, "srt", &[week], &of_week)?;
    let [of_drive, of_week] = [of_drive, of_week].map(|run| run.join("requests.parquet"));
    let (mut drive, mut peaks, mut drawn, mut once) = (vec![], vec![], vec![], vec![]);
    let mut shares = vec![];
    for pair in 0..bench.pairs {
        // Nothing of a drive's profile is uncertain: it is replayed once.
        let closed = simulate(bench, &of_drive, ("atlas10k", "closed"), 0)?;
        drive.push(closed.rate);
        peaks.push(closed.peak_mib);
        let week = |draws| simulate(bench, &of_week, ("hp-9000-845", "dependent"), draws);
        drawn.push(week(DRAWS)?.rate);
        once.push(week(0)?.rate);
        shares.push(sweep(bench, &of_week)?);
        eprintln!("{DRIVE}: {}: {:.0}", pair + 1, closed.rate);
    }
    let row = |name: &str, rates: &[f64], peer: &str| Row {
        lbolt: spread(rates, "/s"),
        peer: peer.into(),
        ..Row::judged(name, rates, RATE)
    };
    let whole = vec![
        row(DRIVE, &drive, "DiskSim 4.0 -O2: 53k/s (not run here)"),
        Row { lbolt: spread(&peaks, " MiB"), ..Row::judged(MEMORY, &peaks, MEMORY_MIB) },
        row(WEEK, &drawn, "DiskSim 4.0 -O2: 111k/s (not run here)"),
        row(WEEK_ONCE, &once, "DiskSim 4.0 -O2: 111k/s (not run here)"),
        Row { lbolt: spread(&shares, ""), ..Row::judged(SWEEP, &shares, MOST_OF_ALL_CORES) },
    ];
    Ok([of_replays(bench)?, whole].concat())
}

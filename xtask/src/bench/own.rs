//! The bench's own programs, as commands know them: they make the traces that others read, and
//! replay rows without reading and writing.

use super::deed;
use super::made::{blktrace, requests, text};
use super::turn::Turn;
use anyhow::{Context as _, bail};
use formats::import::Input;
use model::record::Request;
use sim::replay::{self, ReplayMachine};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use trace::intake::Intake;

/// A program of the bench's own: its words in, its figures added to those of the steps before.
type Own = fn(&[&str], &mut Turn) -> anyhow::Result<()>;

const PROGRAMS: [(&str, Own); 13] = [
    ("closed", deed::closed),
    ("dribble", deed::dribble),
    ("explore", deed::explore),
    ("held", deed::held),
    ("load", deed::load),
    ("make-blktrace", make_blktrace),
    ("make-history", make_history),
    ("make-replay", make_replay),
    ("make-requests", make_requests),
    ("make-text", make_text),
    ("pick", deed::pick),
    ("replay", replay),
    ("times", deed::times),
];

/// The program of a name; none where it is another's.
pub(super) fn named(name: &str) -> Option<Own> {
    PROGRAMS.iter().find(|(known, _)| *known == name).map(|(_, program)| *program)
}

/// FROM TO: a trace in blktrace's own format, of two CPUs, from a real one.
fn make_blktrace(words: &[&str], turn: &mut Turn) -> anyhow::Result<()> {
    let [from, to] = words else { bail!("make-blktrace FROM TO") };
    turn.add("records", blktrace::make(Path::new(from), Path::new(to))? as f64);
    Ok(())
}

/// DAYS FINE DIR: a history of so many days, the last of them of minutes, in 1 GiB.
fn make_history(words: &[&str], turn: &mut Turn) -> anyhow::Result<()> {
    let [days, fine, directory] = words else { bail!("make-history DAYS FINE DIR") };
    let days = (days.parse()?, fine.parse()?);
    let made = crate::history::make(Path::new(directory), days, 1 << 30)?;
    turn.add("bytes", made.bytes as f64);
    turn.add("bytes_most", made.bytes_most as f64);
    turn.add("minute_bytes", made.minute_bytes as f64);
    let files = std::fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    let of_hours =
        files.iter().filter(|file| file.file_name().to_string_lossy().contains("day-of-hours"));
    let bytes =
        of_hours.map(|file| Ok(file.metadata()?.len())).collect::<std::io::Result<Vec<_>>>()?;
    turn.add("day_of_hours_bytes", bytes.into_iter().max().unwrap_or(0) as f64);
    Ok(())
}

/// RATE SECONDS DEVICE FILE: random reads of 4 KiB in the first GiB of a device, at moments by
/// chance, as fio's log of requests.
fn make_replay(words: &[&str], _: &mut Turn) -> anyhow::Result<()> {
    let [rate, seconds, device, file] = words else {
        bail!("make-replay RATE SECONDS DEVICE FILE");
    };
    let (rate, seconds): (f64, f64) = (rate.parse()?, seconds.parse()?);
    let mut file = std::io::BufWriter::new(File::create(file)?);
    writeln!(file, "fio version 3 iolog\n0 {device} add\n0 {device} open")?;
    let mut random = sim::random::Random::new(1);
    let mut at_s = 0.0;
    while at_s < seconds {
        // From 1 on: fio skips the pause behind a line of time 0.
        let at_us = 1 + (at_s * 1e6) as u64;
        writeln!(file, "{at_us} {device} read {} 4096", random.below(1 << 18) << 12)?;
        at_s += random.exponential(1.0 / rate);
    }
    writeln!(file, "{} {device} close", 2 + (at_s * 1e6) as u64)?;
    file.flush()?;
    Ok(())
}

/// COUNT FILE [files | PROGRAMS]: a long trace of our own records; with the files that they are of,
/// or of so many programs.
fn make_requests(words: &[&str], _: &mut Turn) -> anyhow::Result<()> {
    let [count, file, more @ ..] = words else {
        bail!("make-requests COUNT FILE [files | PROGRAMS]")
    };
    let (of_files, programs) = match more {
        [] => (false, 3),
        ["files"] => (true, 3),
        [programs] => (false, programs.parse()?),
        _ => bail!("make-requests COUNT FILE [files | PROGRAMS]"),
    };
    let wanted = requests::Wanted { rows: count.parse()?, of_files, programs };
    requests::make(Path::new(file), wanted)
}

/// FORMAT COUNT lines|MiB FILE: a trace as text.
fn make_text(words: &[&str], _: &mut Turn) -> anyhow::Result<()> {
    let [format, count, unit, file] = words else { bail!("make-text FORMAT COUNT UNIT FILE") };
    let until = match *unit {
        "lines" => text::Until::Lines(count.parse()?),
        _ => text::Until::Bytes(count.parse::<u64>()? << 20),
    };
    text::named(format).context("no such text")?.write(Path::new(file), until)?;
    Ok(())
}

/// ARRIVALS MODEL TIMES FORMAT FILE: replays a trace's rows in memory.
fn replay(words: &[&str], turn: &mut Turn) -> anyhow::Result<()> {
    let [arrivals, model, times, format, file] = words else {
        bail!("replay ARRIVALS MODEL TIMES FORMAT FILE");
    };
    let rows = rows(Path::new(file), format).with_context(|| format!("failed to read {file}"))?;
    let profile = sim::profile::CATALOG.load(model)?;
    let began_s = cpu_s();
    let mut requests = 0;
    for _ in 0..times.parse()? {
        let machine = ReplayMachine::of(&profile)?;
        let given = replay::each(rows.iter().copied());
        let taken = |row: &Request| {
            std::hint::black_box(row);
        };
        requests += match *arrivals {
            "closed" => replay::closed(machine, given, taken)?.requests,
            _ => replay::dependent(machine, given, taken)?.requests,
        };
    }
    turn.add("requests", requests as f64);
    turn.add("cpu_s", cpu_s() - began_s);
    Ok(())
}

/// A trace's rows.
fn rows(path: &Path, format: &str) -> anyhow::Result<Vec<Request>> {
    let mut rows: Vec<Request> = Vec::new();
    let mut intake = Intake::new(&mut rows, "bench");
    let mut inputs = [Input::open(path)?];
    formats::import::read(&mut inputs, Some(formats::import::named(format)?), &mut intake)?;
    intake.finish()?;
    Ok(rows)
}

/// This thread's CPU time.
fn cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

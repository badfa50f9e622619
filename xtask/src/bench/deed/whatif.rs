//! `whatif` against the deed. A load is replayed on a device; of that run `whatif` predicts what
//! changes would do; then the changes are really made, and the load is replayed before and after
//! each, in turns. Whether the predicted interval holds the measured ratio is what is counted.
//!
//! What the deed is: a scheduler is written to the kernel's file; another order, cache or drive of
//! a modelled device is a device made of the changed model; another drive of a real device is the
//! other real one, which `lbolt calibrate` measured before; writes are dribbled by who makes the
//! requests, as a host would. There is no deed for an order or a cache of a real device here, and
//! none for drives=N, which needs a kernel with striping.

use super::super::turn::Turn;
use super::devices::{Device, Modelled, loop_disk, profile};
use super::load::{Load, dribbled};
use super::predicted::Predictions;
use super::rows;
use super::statistic::{P99_COUNT_MIN, Times, class, spread};
use anyhow::{Context as _, bail};
use host::subject::LoopDisk;
use model::record::Request;
use std::path::{Path, PathBuf};

/// How a change is made.
#[derive(Clone, Copy)]
enum How {
    /// Another scheduler of the kernel.
    Scheduler(&'static str),
    /// A device of the model with other values for its keys, that has all requests by itself.
    Keys(&'static [&'static str]),
    /// Another modelled drive.
    Drive(&'static str),
    /// So many writes of the background a second.
    Dribble(f64),
    /// The other loop device.
    Other,
}

/// A change: its words for `whatif`, and how it is made.
struct Change {
    words: String,
    how: How,
}

/// A device and what is done to it.
struct Setup {
    name: &'static str,
    slow: f64,
    outstanding: u32,
    load: Load,
    /// But for that of the drive of a real device, whose words are a path.
    changes: &'static [(&'static str, How)],
}

/// Requests that a device has at once if it is to order them itself.
const ALL: u32 = 128;
const GIB: u64 = 1 << 30;

/// No burst is larger than what a device has at once: else a device that orders its requests itself
/// has others in its queue than the model.
const fn load(per_s: (f64, f64, f64), burst_every_s: f64, area_bytes: u64) -> Load {
    let (reads_per_s, sync_writes_per_s, async_writes_per_s) = per_s;
    Load { reads_per_s, sync_writes_per_s, async_writes_per_s, burst_every_s, area_bytes }
}

const READS_FIRST: (&str, How) =
    ("reads-first", How::Keys(&["queue.policy=reads-first", "controller.ordering=reads-first"]));
const MQ_DEADLINE: (&str, How) = ("scheduler=mq-deadline", How::Scheduler("mq-deadline"));

/// Loads take half of what a device can do, more while a burst is written.
const SETUPS: [Setup; 5] = [
    Setup {
        name: "ra81",
        slow: 1.0,
        outstanding: 4,
        load: load((7.0, 2.5, 6.0), 2.0, 300 << 20),
        changes: &[
            MQ_DEADLINE,
            READS_FIRST,
            ("scheduler=cscan", How::Keys(&["queue.policy=c-scan"])),
            ("dribble=8/s", How::Dribble(8.0)),
            ("drive=eagle", How::Drive("eagle")),
        ],
    },
    Setup {
        name: "atlas10k",
        slow: 1.0,
        outstanding: 4,
        load: load((35.0, 12.0, 30.0), 2.0, 2 * GIB),
        changes: &[
            MQ_DEADLINE,
            READS_FIRST,
            ("cache=192k", How::Keys(&["drive.cache.segments=1"])),
            ("dribble=40/s", How::Dribble(40.0)),
            ("drive=barracuda", How::Drive("barracuda")),
        ],
    },
    Setup {
        name: "flash-sata-2021",
        slow: 10.0,
        outstanding: 32,
        load: load((300.0, 100.0, 300.0), 0.3, 4 * GIB),
        changes: &[
            MQ_DEADLINE,
            READS_FIRST,
            ("cache=1m", How::Keys(&["drive.buffer.size=1048576 B"])),
            // Ten times as many in the model's own time.
            ("dribble=4000/s", How::Dribble(400.0)),
            ("drive=flash-sata-2018", How::Drive("flash-sata-2018")),
        ],
    },
    Setup { name: "disk", ..REAL },
    Setup { name: "memory", ..REAL },
];

const REAL: Setup = Setup {
    name: "",
    slow: 1.0,
    outstanding: 0,
    load: load((600.0, 200.0, 400.0), 0.25, GIB),
    changes: &[MQ_DEADLINE, ("dribble=500/s", How::Dribble(500.0)), ("drive=", How::Other)],
};

/// LBOLT DEVICE SECONDS ROUNDS AT: how many of the measured changes are in the predicted intervals.
/// DEVICE is a modelled drive, *disk* or *memory*, AT a directory on a disk.
pub(in super::super) fn whatif(words: &[&str]) -> anyhow::Result<Turn> {
    let [lbolt, device, seconds, rounds, at] = words else {
        bail!("whatif LBOLT DEVICE SECONDS ROUNDS AT");
    };
    let setup = SETUPS.iter().find(|setup| setup.name == *device);
    let setup = setup.with_context(|| format!("no device {device}"))?;
    let directory = tempfile::tempdir_in(at)?;
    let lab = Lab::make(lbolt, setup, directory.path(), Path::new(at))?;
    let load = setup.load.rows(seconds.parse()?);
    lab.compare(&load, rounds.parse()?)
}

/// Where it is done.
struct Lab<'a> {
    lbolt: &'a str,
    setup: &'a Setup,
    directory: &'a Path,
    changes: Vec<Change>,
    /// The real devices, the one of the setup first.
    disks: Vec<LoopDisk>,
}

impl<'a> Lab<'a> {
    fn make(
        lbolt: &'a str,
        setup: &'a Setup,
        directory: &'a Path,
        at: &Path,
    ) -> anyhow::Result<Self> {
        let mut disks = Vec::new();
        if setup.outstanding == 0 {
            disks = vec![loop_disk(at)?, loop_disk(Path::new("/dev/shm"))?];
            if setup.name == "memory" {
                disks.reverse();
            }
            for (disk, name) in disks.iter().zip(["own", "other"]) {
                eprintln!("whatif: calibrating {}", disk.path().display());
                let output = directory.join(format!("{name}.toml"));
                let line = format!(
                    "{lbolt} calibrate $LBOLT_DEVICE --destroy $LBOLT_DEVICE --runs 9 -o {}",
                    output.display()
                );
                // A loop device has the scheduler of whoever had it before.
                Device::Real(disk).run(lbolt, "none", &line)?;
            }
        } else {
            let text = profile(setup.name, setup.outstanding, setup.slow);
            std::fs::write(directory.join("own.toml"), text)?;
        }
        let other = directory.join("other.toml");
        let change = |(words, how): &(&str, How)| Change {
            words: match how {
                How::Other => format!("{words}{}", other.display()),
                _ => (*words).to_owned(),
            },
            how: *how,
        };
        let changes = setup.changes.iter().map(change).collect();
        Ok(Self { lbolt, setup, directory, changes, disks })
    }

    fn own(&self) -> PathBuf {
        self.directory.join("own.toml")
    }

    /// The device as it is.
    fn modelled(&self) -> Modelled {
        let (slow, depth) = (self.setup.slow, self.setup.outstanding);
        Modelled { model: self.own(), slow, depth, keys: vec![] }
    }

    /// The device with a change made, or without any, and the kernel's scheduler.
    fn device(&self, how: Option<&How>) -> anyhow::Result<(Device<'_>, &'static str)> {
        let is_other = matches!(how, Some(How::Other));
        if let Some(disk) = self.disks.get(usize::from(is_other)) {
            let scheduler = if let Some(How::Scheduler(name)) = how { name } else { "none" };
            return Ok((Device::Real(disk), scheduler));
        }
        let mut modelled = self.modelled();
        let mut scheduler = "none";
        match how {
            Some(How::Scheduler(name)) => scheduler = name,
            Some(How::Keys(keys)) => {
                modelled.keys = keys.iter().map(|key| (*key).to_owned()).collect();
                modelled.depth = ALL;
            }
            Some(How::Drive(drive)) => {
                modelled.model = self.directory.join("other.toml");
                let text = profile(drive, self.setup.outstanding, self.setup.slow);
                std::fs::write(&modelled.model, text)?;
            }
            _ => {}
        }
        Ok((Device::Modelled(modelled), scheduler))
    }

    /// Replays a load, before or after a change; the rows as they were made.
    fn replayed(&self, load: &[Request], how: Option<&How>) -> anyhow::Result<Vec<Request>> {
        let (trace, run) = (self.directory.join("load.parquet"), self.directory.join("replayed"));
        let (rows, held_ns) = match how {
            Some(How::Dribble(per_s)) => dribbled(load, *per_s),
            _ => (load.to_vec(), vec![0; load.len()]),
        };
        rows::write(&trace, &rows)?;
        if run.exists() {
            std::fs::remove_dir_all(&run)?;
        }
        let (device, scheduler) = self.device(how)?;
        // Responses count from when a request was due: a late one is a slow one.
        let line = format!(
            "{} replay {} --on $LBOLT_DEVICE --destroy $LBOLT_DEVICE --lateness-p50 1h \
             --lateness-p99 1h -o {} > {}",
            self.lbolt,
            trace.display(),
            run.display(),
            self.directory.join("said").display(),
        );
        device.run(self.lbolt, scheduler, &line)?;
        let mut rows = rows::read(&run)?;
        // A host's dribbling is part of its requests' responses.
        for row in &mut rows {
            let held = held_ns.get(row.request_id as usize).copied().unwrap_or(0);
            row.queued_ns = row.queued_ns.map(|ns| ns - held);
        }
        Ok(rows)
    }

    /// Predicts, then measures, and prints each change.
    fn compare(&self, load: &[Request], rounds: usize) -> anyhow::Result<Turn> {
        let before = self.replayed(load, None)?;
        let trace = self.directory.join("trace.parquet");
        rows::write(&trace, &rows::quickened(&before, self.setup.slow))?;
        let words: Vec<String> = self.changes.iter().map(|change| change.words.clone()).collect();
        let output = self.directory.join("whatif");
        let predictions = Predictions::of(self.lbolt, &trace, &self.own(), &words, &output)?;
        let mut measured: Vec<Vec<(Times, Times)>> = self.changes.iter().map(|_| vec![]).collect();
        let count = self.changes.len();
        for round in 0..rounds {
            // One before for all that come after it, and the next change first in the next round.
            let before = times(&self.replayed(load, None)?);
            for place in (0..count).map(|place| (place + round) % count) {
                let after = times(&self.replayed(load, Some(&self.changes[place].how))?);
                measured[place].push((before.clone(), after));
            }
            eprintln!("whatif: {}: round {} of {rounds}", self.setup.name, round + 1);
        }
        let mut judged = Judged::default();
        for (change, pairs) in self.changes.iter().zip(&measured) {
            judged.add(&predictions, change, pairs);
        }
        Ok(judged.turn())
    }
}

fn times(rows: &[Request]) -> Times {
    let mut times = Times::default();
    for row in rows {
        if let Some((came_ns, done_ns)) = row.queued_ns.zip(row.completed_ns) {
            times.add(class(row), (done_ns - came_ns) as f64);
        }
    }
    times
}

/// What was compared so far, of means and of 99th percentiles: how many, and how many were held.
#[derive(Default)]
struct Judged([(u32, u32); 2]);

impl Judged {
    fn add(&mut self, predictions: &Predictions, change: &Change, pairs: &[(Times, Times)]) {
        let Some((first, _)) = pairs.first() else { return };
        let shown = change.words.split('/').next().unwrap_or_default();
        for class in first.classes() {
            for (place, number) in ["mean", "p99"].into_iter().enumerate() {
                if number == "p99" && first.count(class) < P99_COUNT_MIN {
                    continue;
                }
                let ratio = |(before, after): &(Times, Times)| {
                    Some(after.number(class, number)? / before.number(class, number)?)
                };
                let ratios: Vec<f64> = pairs.iter().filter_map(ratio).collect();
                let (measured, least, most) = spread(&ratios);
                let Some(of) = predictions.ratio(&change.words, class, number) else { continue };
                let is_held = of.holds(measured);
                self.0[place].0 += 1;
                self.0[place].1 += u32::from(is_held);
                let mark = if is_held { "" } else { "  MISSED" };
                eprintln!(
                    "| {shown} | {class} {number} | {:.3} [{:.3}, {:.3}] | {measured:.3} \
                     ({least:.3} to {most:.3}) |{mark}",
                    of.value, of.low, of.high
                );
            }
        }
    }

    fn turn(&self) -> Turn {
        let mut turn = Turn::default();
        let [means, tails] = self.0;
        let all = (means.0 + tails.0, means.1 + tails.1);
        let percent = |(of, held): (u32, u32)| 100.0 * f64::from(held) / f64::from(of);
        for (name, counts) in [("", all), ("mean_", means), ("p99_", tails)] {
            turn.add(&format!("compared_{name}count"), f64::from(counts.0));
            turn.add(&format!("held_{name}count"), f64::from(counts.1));
            turn.add(&format!("held_{name}percent"), percent(counts));
        }
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_has_changes_of_its_own_and_a_load_within_its_area() {
        for setup in &SETUPS {
            let mut words: Vec<&str> = setup.changes.iter().map(|(words, _)| *words).collect();
            words.dedup();
            assert_eq!(words.len(), setup.changes.len(), "{}", setup.name);
            let rows = setup.load.rows(5.0);
            let end = |row: &Request| row.offset_bytes.unwrap() + u64::from(row.length_bytes);
            assert!(rows.iter().all(|row| end(row) <= setup.load.area_bytes));
        }
    }

    #[test]
    fn a_dribble_is_as_fast_in_the_model_as_on_a_slow_device() {
        for setup in &SETUPS {
            for (words, how) in setup.changes {
                let How::Dribble(per_s) = how else { continue };
                assert_eq!(*words, format!("dribble={}/s", per_s * setup.slow));
            }
        }
    }

    #[test]
    fn what_is_held_is_counted_by_number() {
        let turn = Judged([(4, 3), (2, 2)]).turn();
        assert_eq!(turn.quantity("held_mean_percent").unwrap(), 75.0);
        assert_eq!(turn.quantity("held_p99_percent").unwrap(), 100.0);
        assert_eq!(turn.quantity("compared_count").unwrap(), 6.0);
    }
}

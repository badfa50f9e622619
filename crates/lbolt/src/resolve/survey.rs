//! The survey: from its options to those of the five experiments that answer its questions, at the
//! pace that was requested.

use super::overhead::ResolvedOverhead;
use super::place::{self, Needs, SystemKind, free_bytes};
use super::rounds::{Rounds, usage};
use super::storm::ResolvedStorm;
use super::target::Target;
use super::throughput::ResolvedThroughput;
use super::{Resolved, curve, overhead, storm, sync, throughput};
use clap::Parser;
use cli::{Cli, Command, RoundsOptions, SurveyOptions};
use host::subject::probe_write_bytes_per_s;
use messages::fault::{Fault, failure};
use model::plan::SystemPlan;
use serde::Serialize;
use std::path::Path;
use std::slice;
use std::time::Duration;

/// What is left to a pace: words for each experiment, as a user would give them.
struct Pace {
    /// Fresh file systems beside the directory.
    fresh: &'static [&'static str],
    /// The time that the passes of files may take before their rates are looked at, s.
    files_s: f64,
    /// … and more of a cell.
    max_time: Duration,
    /// Queue depths of random requests, where not the usual ones.
    depths: Option<&'static [u32]>,
    curve: &'static str,
    sync: &'static str,
    overhead: &'static str,
    storm: &'static str,
}

const QUICK: Pace = Pace {
    fresh: &["fresh:ext4"],
    files_s: 10.0,
    max_time: Duration::from_secs(2),
    depths: Some(&[1, 4, 16, 64]),
    curve: "--min-runs 2 --runtime 100ms --max-time 6s --size 256m",
    sync: "--method fdatasync,O_DSYNC --bs 4k --direct 0 --min-runs 3 --runtime 100ms \
           --max-time 5s",
    overhead: "--ioengine psync,mmap,threads,libaio,io_uring,io_uring_fixed --rw randread \
               --bs 4k,64k --iodepth 1 --overlap 0 --account none --min-runs 3 --max-time 4s",
    storm: "--period 2s --periods 1 --runs 3",
};
const USUAL: Pace = Pace {
    fresh: &["fresh:ext4", "fresh:xfs"],
    files_s: 40.0,
    max_time: Duration::from_secs(5),
    depths: None,
    curve: "--min-runs 3 --runtime 150ms --max-time 25s --size 512m",
    sync: "--bs 4k,8k --direct 0 --min-runs 3 --runtime 100ms --max-time 25s",
    overhead: "--ioengine psync,mmap,threads,libaio,io_uring,io_uring_fixed --rw randread \
               --bs 4k,16k,64k,256k --iodepth 1 --overlap 0 --account none --min-runs 3 \
               --max-time 10s",
    storm: "--period 5s --periods 2 --runs 3",
};
const FULL: Pace = Pace {
    fresh: &["fresh:ext4", "fresh:xfs"],
    files_s: 240.0,
    max_time: Duration::from_secs(30),
    depths: None,
    curve: "--min-runs 5 --runtime 500ms --max-time 3m",
    sync: "--min-runs 5 --runtime 200ms --max-time 4m",
    overhead: "--ioengine psync,mmap,threads,libaio,io_uring,io_uring_fixed \
               --rw randread,randwrite --iodepth 1 --overlap 0 --account none --min-runs 5 \
               --max-time 1m",
    storm: "--period 30s --periods 2 --runs 3",
};

/// A whole survey, resolved.
pub(crate) struct ResolvedSurvey {
    pub(crate) volumes: Vec<Volume>,
}

/// A volume with the questions that it can be asked.
pub(crate) struct Volume {
    /// As it was named.
    pub(crate) target: String,
    pub(crate) files: Option<ResolvedThroughput>,
    pub(crate) curve: Rounds<experiment::curve::Plan>,
    pub(crate) sync: Option<Rounds<experiment::sync::Plan>>,
    pub(crate) routines: ResolvedOverhead,
    pub(crate) storm: Option<ResolvedStorm>,
    /// What is not measured, and why: a sentence each.
    pub(crate) left_out: Vec<String>,
}

/// The plan: what `--dry-run` prints and run.json keeps.
#[derive(Debug, Serialize)]
struct Plan<'a> {
    /// All systems of all volumes, as a throughput run has them.
    systems: &'a [SystemPlan],
    volumes: Vec<VolumePlan<'a>>,
}

#[derive(Debug, Serialize)]
struct VolumePlan<'a> {
    target: &'a str,
    files: Option<&'a experiment::throughput::Plan>,
    curve: &'a experiment::curve::Plan,
    sync: Option<&'a experiment::sync::Plan>,
    overhead: &'a experiment::overhead::Plan,
    storm: Option<&'a experiment::storm::Plan>,
    left_out: &'a [String],
}

impl Volume {
    fn plan(&self) -> VolumePlan<'_> {
        VolumePlan {
            target: &self.target,
            files: self.files.as_ref().map(|of| &of.plan),
            curve: &self.curve.plan,
            sync: self.sync.as_ref().map(|of| &of.plan),
            overhead: &self.routines.plan,
            storm: self.storm.as_ref().map(|of| &of.plan),
            left_out: &self.left_out,
        }
    }

    fn parts(&self) -> [(&str, Option<&dyn Resolved>); 5] {
        [
            ("files", self.files.as_ref().map(|of| of as &dyn Resolved)),
            ("device", Some(&self.curve)),
            ("durable", self.sync.as_ref().map(|of| of as &dyn Resolved)),
            ("calls", Some(&self.routines)),
            ("storm", self.storm.as_ref().map(|of| of as &dyn Resolved)),
        ]
    }
}

impl Resolved for ResolvedSurvey {
    fn plan(&self) -> serde_json::Result<serde_json::Value> {
        let of = |volume: &'_ Volume| match &volume.files {
            Some(files) => files.plan.systems.clone(),
            None => volume.curve.plan.systems.clone(),
        };
        let systems: Vec<SystemPlan> = self.volumes.iter().flat_map(of).collect();
        let volumes = self.volumes.iter().map(Volume::plan).collect();
        serde_json::to_value(Plan { systems: &systems, volumes })
    }

    fn announcement(&self) -> String {
        let of = |volume: &Volume| {
            let told = volume.parts().into_iter().filter_map(|(name, part)| Some((name, part?)));
            let told = told.map(|(name, part)| format!("{name}: {}", part.announcement()));
            told.chain(volume.left_out.iter().cloned()).collect::<Vec<_>>()
        };
        self.volumes.iter().flat_map(of).collect::<Vec<_>>().join("\n")
    }
}

/// Resolves the options.
/// Errors: a sentence for whatever cannot be done as requested.
pub(crate) fn resolve(options: &SurveyOptions, output: &Path) -> anyhow::Result<ResolvedSurvey> {
    let pace = match (options.quick, options.full) {
        (true, _) => QUICK,
        (_, true) => FULL,
        _ => USUAL,
    };
    let named = match options.targets.as_slice() {
        [] => vec![".".to_owned()],
        named => named.to_vec(),
    };
    let targets: Vec<Target> = named.iter().map(|name| Target::Path(name.into())).collect();
    throughput::refuse_doubles(&targets)?;
    let of = |(name, target): (&String, &Target)| volume(options, &pace, (name, target), output);
    let mut volumes: Vec<Volume> =
        named.iter().zip(&targets).map(of).collect::<anyhow::Result<_>>()?;
    if volumes.len() > 1 {
        // Two volumes have a fresh file system of the same name.
        volumes.iter_mut().for_each(Volume::name_its_systems);
    }
    Ok(ResolvedSurvey { volumes })
}

impl Volume {
    fn name_its_systems(&mut self) {
        let Some(files) = &mut self.files else { return };
        for (system, plan) in files.systems.iter_mut().zip(&mut files.plan.systems) {
            if matches!(system.kind, SystemKind::Fresh(_)) {
                system.name.column = report::survey::on_volume(&system.name.column, &self.target);
                plan.column.clone_from(&system.name.column);
            }
        }
    }
}

/// What is asked of one volume, and what it cannot be asked.
fn volume(
    options: &SurveyOptions,
    pace: &Pace,
    (name, target): (&str, &Target),
    output: &Path,
) -> anyhow::Result<Volume> {
    let is_device = target.is_block_device();
    if !is_device && !Path::new(name).is_dir() {
        return Err(usage(format!(
            "TARGET {name} is neither a directory nor a block device; name one (`lbolt throughput` \
             also measures fresh:FS)"
        )));
    }
    let mut left_out = Vec::new();
    if is_device {
        left_out.push(format!(
            "{name} is a block device and is only read: Files, Durable and Storm are left out; \
             name a directory of its file system to measure them"
        ));
    }
    let files = (!is_device).then(|| files(options, pace, (name, target), &mut left_out));
    let free = free_bytes(target, output).unwrap_or(u64::MAX);
    Ok(Volume {
        files: files.transpose()?,
        curve: match words("curve", pace.curve)? {
            Command::Curve(mut own) => {
                name.clone_into(&mut own.target);
                let least = |size: u64| size.max(LEAST_BYTES);
                // A device needs no file: its requests go anywhere.
                let usual = own.size.filter(|_| !is_device).map(|size| size.min(free / FREE_SHARE));
                own.size = options.size.filter(|_| !is_device).or(usual).map(least);
                own.usual_iodepth = pace.depths.map(<[u32]>::to_vec);
                own.rounds = rounds(&own.rounds, options, 2);
                curve::resolve(&own, output)?
            }
            _ => return Err(strange()),
        },
        sync: match words("sync", pace.sync)? {
            Command::Sync(_) if is_device => None,
            Command::Sync(mut own) => {
                name.clone_into(&mut own.target);
                own.rounds = rounds(&own.rounds, options, 1);
                Some(sync::resolve(&own, output)?)
            }
            _ => return Err(strange()),
        },
        routines: match words("overhead", pace.overhead)? {
            Command::Overhead(mut own) => {
                name.clone_into(&mut own.target);
                own.rw.retain(|rw| !is_device || !rw.writes());
                // It reads one part of the file and writes another.
                let room = (free / 2) >> 20 << 20;
                own.size = own.size.min(options.size.unwrap_or(own.size)).min(room.max(1 << 20));
                own.rounds = rounds(&own.rounds, options, 2);
                overhead::resolve(&own, output)?
            }
            _ => return Err(strange()),
        },
        storm: match words("storm", pace.storm)? {
            Command::Storm(_) if is_device => None,
            Command::Storm(mut own) => {
                name.clone_into(&mut own.target);
                own.runs = options.runs.or(own.runs);
                Some(storm::resolve(&own, output)?)
            }
            _ => return Err(strange()),
        },
        target: name.to_owned(),
        left_out,
    })
}

/// A pace's rounds; just as many as were requested, of the least that there must be.
fn rounds(usual: &RoundsOptions, options: &SurveyOptions, least: u32) -> RoundsOptions {
    let exactly =
        |runs: u32| RoundsOptions { runs: Some(runs.max(least)), min_runs: None, max_time: None };
    options.runs.map_or_else(|| usual.clone(), exactly)
}

/// The share of a volume's free space that the file of Device takes at most.
const FREE_SHARE: u64 = 4;
/// Random places and large requests need so many.
const LEAST_BYTES: u64 = 64 << 20;

/// A command of those words on the current directory: another target is set afterwards, for it is
/// no word and may begin as an option does.
fn words(command: &str, options: &str) -> anyhow::Result<Command> {
    let words = ["lbolt", command, "."].into_iter().chain(options.split_whitespace());
    Ok(Cli::try_parse_from(words).map_err(|error| failure(Fault::Usage, error))?.command)
}

fn strange() -> anyhow::Error {
    failure(Fault::Usage, "a part of the survey is another command")
}

/// Passes of each cell before its rate is looked at; and of a disk that became slower since its
/// speed was requested.
const LEAST_PASSES: u32 = 5;
const FEWEST_PASSES: u32 = 3;
/// What the disk is tried with to learn its speed.
const PROBE_BYTES: u64 = 64 << 20;
/// Four programs and four ceilings of two passes, on each system, and their images.
const PASSES_BESIDE_RUNS: u64 = 4 + 8 + 2;
const SIZE_MIN: u64 = 32 << 20;
const SIZE_MAX: u64 = 512 << 20;

/// The size of a file with which all passes fit into the time: a power of two from 32m to 512m.
fn size_for(directory: &str, runs: u32, pace: &Pace) -> u64 {
    let control = host::drive::Control::default();
    let speed = probe_write_bytes_per_s(Path::new(directory), PROBE_BYTES, &control);
    // A directory that takes no direct writes will say so itself: small files then.
    let budget_bytes = speed.unwrap_or(0.0) * pace.files_s;
    let systems = pace.fresh.len() as u64 + 1;
    let files = systems * (4 * u64::from(runs) + PASSES_BESIDE_RUNS);
    let size = (budget_bytes / files as f64) as u64;
    // The greatest power of two that is not above it.
    (1u64 << size.max(1).ilog2()).clamp(SIZE_MIN, SIZE_MAX)
}

/// The throughput experiment, with targets and sizes chosen. The images of fresh file systems lie
/// in the directory; those that do not fit there are left out.
fn files(
    options: &SurveyOptions,
    pace: &Pace,
    (name, target): (&str, &Target),
    left_out: &mut Vec<String>,
) -> anyhow::Result<ResolvedThroughput> {
    let Command::Throughput(mut own) = words("throughput", "")? else {
        return Err(strange());
    };
    let directory = Path::new(name);
    let size = options.size.unwrap_or_else(|| match options.dry_run {
        // A dry run writes nothing, so that it cannot know the disk's speed.
        true => SIZE_MIN,
        false => size_for(name, options.runs.unwrap_or(LEAST_PASSES), pace),
    });
    let mut targets = Vec::new();
    for fresh in pace.fresh {
        let parsed = Target::parse(fresh).map_err(usage)?;
        let needs = Needs { bytes: size, writes: false, destroy: None };
        let fits = parsed.iter().try_for_each(|fresh| {
            place::system(fresh, slice::from_ref(target), &needs, directory).map(|_| ())
        });
        match fits {
            Ok(()) => targets.push((*fresh).to_owned()),
            Err(reason) => left_out.push(format!("{fresh} is left out: {reason:#}")),
        }
    }
    own.targets = targets.into_iter().chain([name.to_owned()]).collect();
    own.size = Some(size);
    let reason = "from the disk's speed and the time of the survey";
    own.size_reason = options.size.is_none().then(|| reason.into());
    own.runs = options.runs;
    let usual = options.runs.is_none().then_some(pace.max_time);
    own.max_time = options.max_time.or(usual);
    own.fewest = Some(FEWEST_PASSES);
    throughput::resolve(&own, directory)
}

//! From options as typed to what is meant: programs, sizes, systems. Everything that
//! can be refused is refused here, before anything is made or measured.

use super::Resolved;
use crate::resolve::place::{self, Needs, System, free_bytes, refuse_idle_consent};
use crate::resolve::rounds::{nanoseconds, usage};
use crate::resolve::target::Target;
use analyze::throughput::PRECISION_PERCENT;
use cli::{ThroughputOptions, fio};
use experiment::throughput::{BATTERY, Plan, default_file_bytes};
use experiment::until::Until;
use host::device::Tree;
use host::guard;
use model::text_file;
use model::units::{counted, show_size};
use model::workload::{Access, Battery, EngineKind, Program};
use std::path::Path;
use std::time::Duration;

/// The published programs' files (Kridle & McKusick 1983, section 4).
const MODEL_FILE_BYTES: u64 = 8 << 20;

/// A whole throughput run, resolved.
pub(crate) struct ResolvedThroughput {
    pub(crate) plan: Plan,
    pub(crate) systems: Vec<System>,
    /// Names in the order of the printed rows.
    pub(crate) rows: Vec<String>,
}

impl Resolved for ResolvedThroughput {
    fn plan(&self) -> serde_json::Result<serde_json::Value> {
        serde_json::to_value(&self.plan)
    }

    fn refusal(&self) -> Option<String> {
        // What can be measured beside it is.
        let refusals: Option<Vec<String>> = self.systems.iter().map(System::refusal).collect();
        refusals?.into_iter().next()
    }

    fn announcement(&self) -> String {
        let plan = &self.plan;
        let systems: Vec<String> =
            self.systems.iter().map(|s| format!("{} × {}", s.name.column, s.name.drives)).collect();
        format!(
            "{} × {} ({}), {} + {} each{}, files of {} ({}), {}, {}",
            counted(plan.programs.len() as u64, "program{s}"),
            counted(systems.len() as u64, "system{s}"),
            systems.join(", "),
            plan.warmup,
            counted(u64::from(plan.runs), "pass{es}"),
            plan.until.map_or(String::new(), |until| {
                let seconds = until.max_time_ns as f64 / 1e9;
                match until.precision_percent.filter(|_| !plan.interleaved) {
                    None => format!(", fewer if {seconds} s are over"),
                    Some(percent) => format!(
                        ", then more until the rate is known to ±{percent} % or {seconds} s are \
                         over"
                    ),
                }
            }),
            show_size(plan.file_bytes),
            plan.file_bytes_reason,
            if plan.is_cold { "caches emptied before each" } else { "caches not emptied" },
            if plan.final_sync { "fdatasync after writes" } else { "no fdatasync after writes" },
        )
    }
}

/// Resolves the options.
/// Errors: a sentence for whatever cannot be done as requested, or what the guard refuses.
pub(crate) fn resolve(
    options: &ThroughputOptions,
    output_directory: &Path,
) -> anyhow::Result<ResolvedThroughput> {
    let mut targets = Vec::new();
    for text in &options.targets {
        targets.extend(Target::parse(text).map_err(usage)?);
    }
    let mut battery = battery(options, targets.iter().all(Target::is_block_device))?;
    if options.direct {
        battery.programs.iter_mut().for_each(|program| program.direct = true);
    }
    battery.check().map_err(|e| usage(e.to_string()))?;
    // In turn, one place twice shows what differs by chance.
    if !options.abab {
        refuse_doubles(&targets)?;
    }
    let (file_bytes, size_reason) = file_size(options, &battery, &targets, output_directory)?;
    refuse_broken_blocks(options, &battery, file_bytes, &size_reason)?;
    let mut systems: Vec<System> = targets
        .iter()
        .map(|target| system(target, &targets, options, &battery, file_bytes, output_directory))
        .collect::<Result<_, _>>()?;
    refuse_idle_consent(options.measure.destroy.as_deref(), &systems)?;
    refuse_too_much_memory(&battery, &systems)?;
    if options.steady.is_some() && options.runs == Some(1) {
        return Err(usage("--steady compares passes; give --runs 2 or more"));
    }
    if options.abab {
        if let [a, b] = systems.as_mut_slice()
            && a.is_same_place(b)
        {
            b.name_again();
        }
        refuse_no_pair(&systems)?;
    }
    if let Some(model) = systems.iter().find(|system| system.is_model()) {
        refuse_on_models(options, &model.name.target)?;
    }
    let (warmup, runs) = match (options.as_published, options.abab) {
        (true, _) => (1, 2),
        // With fewer pairs, not even the clearest difference could be told among many.
        (false, true) => (1, 10),
        (false, false) => (1, 5),
    };
    let rows = battery.row_order();
    let plan = Plan {
        systems: systems.iter().map(System::described).collect(),
        interleaved: options.abab,
        programs: battery.programs,
        file_bytes,
        file_bytes_reason: size_reason,
        warmup: options.warmup.unwrap_or(warmup),
        runs: options.runs.unwrap_or(runs),
        until: until(options, runs),
        is_cold: !options.no_cold && !options.as_published,
        final_sync: !options.no_sync && !options.as_published,
        // A model has no path past its own file system.
        ceiling: !options.no_ceiling && !systems.iter().all(System::is_model),
        trace: options.trace,
        seed: options.measure.seed,
    };
    Ok(ResolvedThroughput { plan, systems, rows })
}

/// Pairs of passes that there are in any case: one has no interval.
const FEWEST_PAIRS: u32 = 2;
/// How long passes of a cell go on where nobody says.
const MAX_TIME: Duration = Duration::from_secs(60);

/// Until when passes go on; none where their number was requested and no time, or is the published
/// one.
fn until(options: &ThroughputOptions, runs: u32) -> Option<Until> {
    let &ThroughputOptions { runs: exactly, max_time, abab, .. } = options;
    let is_exact = options.as_published || max_time.is_none() && (exactly.is_some() || abab);
    let runs = if abab { FEWEST_PAIRS } else { runs };
    // Who gives both means the time: a pass of each cell is all that it waits for.
    let fewest = exactly.map_or(runs, |exactly| if abab { exactly.min(runs) } else { 1 });
    let precision = || options.precision.unwrap_or(PRECISION_PERCENT);
    (!is_exact).then(|| Until {
        precision_percent: exactly.is_none().then(precision),
        max_time_ns: nanoseconds(max_time.unwrap_or(MAX_TIME)),
        fewest: options.fewest.map_or(fewest, |fewest| exactly.unwrap_or(fewest).min(fewest)),
        half_percent: analyze::statistics::half_percent,
    })
}

/// A file is whole blocks, of which fio would leave the last one out without saying so.
fn refuse_broken_blocks(
    options: &ThroughputOptions,
    battery: &Battery,
    file_bytes: u64,
    size_reason: &str,
) -> anyhow::Result<()> {
    let size = show_size(file_bytes);
    let sized = battery.programs.iter().filter(|p| p.size.is_none());
    for program in sized.filter(|p| p.engine() != EngineKind::Null) {
        let block = show_size(program.bs);
        let sentence = if file_bytes < program.bs {
            format!(
                "--size {size} ({size_reason}) is smaller than one block, --bs {block}; give a \
                 larger --size or a smaller --bs"
            )
        } else if options.size.is_some()
            && options.stored.is_none()
            && !file_bytes.is_multiple_of(program.bs)
        {
            let below = file_bytes / program.bs * program.bs;
            format!(
                "--size {size} is not a multiple of --bs {block}; give {} or {}",
                show_size(below),
                show_size(below + program.bs)
            )
        } else {
            continue;
        };
        return Err(usage(format!("{}: {sentence}", program.name)));
    }
    Ok(())
}

/// What makes no sense where time is virtual.
fn refuse_on_models(options: &ThroughputOptions, target: &str) -> anyhow::Result<()> {
    let reasons = [
        (
            options.abab,
            "--abab corrects for the drift of a machine, which a model does not have; leave it out",
        ),
        (
            options.trace,
            "--trace captures only requests of this machine; use lbolt simulate for requests of a \
             model",
        ),
    ];
    match reasons.into_iter().find(|(is_requested, _)| *is_requested) {
        Some((_, reason)) => Err(usage(format!("{target}: {reason}"))),
        None => Ok(()),
    }
}

/// In turn go two, under two names.
fn refuse_no_pair(systems: &[System]) -> anyhow::Result<()> {
    match systems {
        [a, b] if a.name.column != b.name.column => Ok(()),
        _ => Err(usage(
            "--abab measures two targets in turn; name two targets with the same number of drives",
        )),
    }
}

/// Buffers must fit: beyond half of the memory the kernel would end some program to free some
/// space.
fn refuse_too_much_memory(battery: &Battery, systems: &[System]) -> anyhow::Result<()> {
    let half = host::machine::memory_bytes()? / 2;
    let drives = systems.iter().map(|s| s.name.drives as u64).max().unwrap_or(1);
    let buffers = |p: &Program| p.bs * u64::from(p.iodepth) * u64::from(p.numjobs) * drives;
    match battery.programs.iter().find(|p| p.engine() != EngineKind::Null && buffers(p) > half) {
        Some(program) => Err(usage(format!(
            "{}: the buffers (--bs × --iodepth × --numjobs) need {}, more than half of the \
                 memory; give smaller values",
            program.name,
            show_size(buffers(program))
        ))),
        None => Ok(()),
    }
}

/// The programs: the battery, the user's file, or the product of the workload options.
fn battery(options: &ThroughputOptions, in_place: bool) -> anyhow::Result<Battery> {
    if let Some(stored) = &options.stored {
        return Ok(stored.clone());
    }
    if !options.rw.is_empty() {
        return Ok(product(options, in_place));
    }
    let (text, name) = match &options.programs {
        None => (BATTERY.to_owned(), "the built-in battery".to_owned()),
        Some(path) => {
            let text = text_file::read(path)
                .map_err(|e| usage(format!("--programs {}: {e}", path.display())))?;
            (text, format!("--programs {}", path.display()))
        }
    };
    if fio::is_job_file(&text) {
        return Err(usage(format!("{name}: {}", fio::JOB_FILE)));
    }
    Battery::from_toml(&text).map_err(|e| usage(format!("{name}: {e}")))
}

/// Rows from lists: `--rw` × `--bs` × `--iodepth` × `--numjobs`. Block devices have no files to
/// create: there `write` overwrites in place, as fio's does.
fn product(options: &ThroughputOptions, in_place: bool) -> Battery {
    fn or_default<T: Copy>(list: &[T], default: T) -> Vec<T> {
        if list.is_empty() { vec![default] } else { list.to_vec() }
    }
    let mut programs = Vec::new();
    for rw in &options.rw {
        let access = if in_place && *rw == Access::Write { Access::Rewrite } else { *rw };
        for bs in or_default(&options.bs, 4096) {
            for iodepth in or_default(&options.iodepth, 1) {
                for numjobs in or_default(&options.numjobs, 1) {
                    programs.push(Program {
                        bs,
                        iodepth,
                        numjobs,
                        size: None,
                        direct: options.direct,
                        fsync: options.fsync,
                        fdatasync: options.fdatasync,
                        runtime: options.runtime,
                        time_based: options.time_based,
                        rwmixread: options.rwmixread,
                        rate_iops: options.rate_iops,
                        ioengine: options.ioengine,
                        ..Program::new(row_name(*rw, bs, iodepth, numjobs, options), access)
                    });
                }
            }
        }
    }
    Battery { rows: vec![], programs }
}

/// `randread_4k`, and what differs from fio's defaults.
fn row_name(
    rw: Access,
    bs: u64,
    iodepth: u32,
    numjobs: u32,
    options: &ThroughputOptions,
) -> String {
    let mut name = format!("{}_{}", rw.name(), show_size(bs));
    if iodepth > 1 {
        name += &format!("_iodepth{iodepth}");
    }
    if numjobs > 1 {
        name += &format!("_numjobs{numjobs}");
    }
    if options.direct {
        name += "_direct";
    }
    for (sync, writes) in [("fsync", options.fsync), ("fdatasync", options.fdatasync)] {
        if writes > 0 && rw.writes() {
            name += &format!("_{sync}{writes}");
        }
    }
    name
}

/// The same place twice would measure one thing under two names.
/// Errors: a sentence that names both.
pub(super) fn refuse_doubles(targets: &[Target]) -> anyhow::Result<()> {
    let tree = Tree::system();
    let identity = |target: &Target| match target {
        Target::Fresh(_) | Target::Model(_) => target.canonical(),
        Target::Path(path) => match guard::resolve(path) {
            Ok((number, _)) => tree.whole_disk(number).unwrap_or(number).to_string(),
            Err(_) => std::fs::canonicalize(path).unwrap_or(path.clone()).display().to_string(),
        },
    };
    for (position, target) in targets.iter().enumerate() {
        if let Some(earlier) = targets[..position].iter().find(|e| identity(e) == identity(target))
        {
            return Err(usage(format!(
                "{} and {} are on the same device; name one of them, or measure them in \
                     separate runs",
                earlier.canonical(),
                target.canonical()
            )));
        }
    }
    Ok(())
}

/// The most jobs that any program runs on a drive.
fn jobs_per_drive(battery: &Battery) -> u32 {
    battery.programs.iter().map(|p| p.numjobs).max().unwrap_or(1)
}

/// The size of a job's file and why.
fn file_size(
    options: &ThroughputOptions,
    battery: &Battery,
    targets: &[Target],
    output_directory: &Path,
) -> anyhow::Result<(u64, String)> {
    if let Some(size) = options.size {
        let reason = options.size_reason.clone().unwrap_or_else(|| "as requested".into());
        return Ok((size, reason));
    }
    if targets.iter().any(|target| matches!(target, Target::Model(_))) {
        let reason = "twice the memory of the 1983 machines, as in the paper";
        return Ok((MODEL_FILE_BYTES, reason.into()));
    }
    let memory = host::machine::memory_bytes()?;
    let free = targets.iter().filter_map(|target| free_bytes(target, output_directory));
    Ok(default_file_bytes(memory, free.min().unwrap_or(u64::MAX), jobs_per_drive(battery)))
}

fn system(
    target: &Target,
    targets: &[Target],
    options: &ThroughputOptions,
    battery: &Battery,
    file_bytes: u64,
    output_directory: &Path,
) -> anyhow::Result<System> {
    let sizes = battery.programs.iter().filter(|p| p.engine() != EngineKind::Null);
    let needed = sizes
        .map(|p| p.size.unwrap_or(file_bytes) * u64::from(p.numjobs))
        .max()
        .unwrap_or(0)
        .max(if options.no_ceiling { 0 } else { file_bytes.min(1 << 50) });
    let writes = |p: &Program| p.rw.writes() && !p.rw.creates() && p.engine() != EngineKind::Null;
    let needs = Needs {
        bytes: needed,
        writes: battery.programs.iter().any(writes),
        destroy: options.measure.destroy.as_deref(),
    };
    place::system(target, targets, &needs, output_directory)
}

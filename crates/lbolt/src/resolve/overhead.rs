//! The overhead experiment: from the options to the plan. Everything that can be refused is refused
//! here, before anything is made or measured.

use super::Resolved;
use super::model_disk::{self, Disk};
use super::place::{self, Needs, System, SystemKind, refuse_idle_consent};
use super::rounds::{self, estimated, nanoseconds, one_target, usage};
use super::target::Target;
use analyze::overhead::Drive;
use cli::OverheadOptions;
use experiment::overhead::{
    Account, Axes, LEFT_OUT, Plan, PlannedCell, default_sweeps, full_sweeps,
};
use experiment::until::Until;
use host::device::Tree;
use model::units::show_size;
use model::workload::EngineKind;
use std::path::Path;
use std::slice::from_ref;

/// Rounds where nobody says how many, at the least.
const ROUNDS: u32 = 4;
/// Time of a pass through the page cache, past it, and with idle-priority loops or a trace.
const PASS_NS: u64 = 25_000_000;
const DIRECT_PASS_NS: u64 = 50_000_000;
const ACCOUNT_PASS_NS: u64 = 60_000_000;

/// A sector of a rotating disk, and the tracks of a cylinder by which a revolution is missed: none
/// today, where skews hide it.
const SECTOR_BYTES: f64 = 512.0;

/// The largest request.
const BLOCK_BYTES_MAX: u64 = 1 << 30;
/// Files are laid out in whole blocks of this size.
const FILE_GRAIN_BYTES: u64 = 1 << 20;

/// A whole overhead run, resolved.
pub(crate) struct ResolvedOverhead {
    pub(crate) plan: Plan,
    pub(crate) system: System,
    pub(crate) drive: Option<Drive>,
}

impl Resolved for ResolvedOverhead {
    fn plan(&self) -> serde_json::Result<serde_json::Value> {
        serde_json::to_value(&self.plan)
    }

    fn refusal(&self) -> Option<String> {
        self.system.refusal()
    }

    fn announcement(&self) -> String {
        let plan = &self.plan;
        let mut text = format!(
            "{} cells on {}, {} + {} rounds, {} passes, {}{}",
            plan.cells().len(),
            self.system.name.column,
            plan.warmup,
            plan.runs,
            plan.passes(),
            estimated(plan.estimate_ns(), plan.until.as_ref()),
            if self.system.is_model() { " of virtual time" } else { "" },
        );
        if let Some(left_out) = &plan.left_out {
            text.push_str(&format!("\nnot measured: {left_out}; --full measures everything"));
        }
        text
    }
}

/// Resolves the options.
/// Errors: a sentence for whatever cannot be done as requested, or what the guard refuses.
pub(crate) fn resolve(
    options: &OverheadOptions,
    output_directory: &Path,
) -> anyhow::Result<ResolvedOverhead> {
    let target = &one_target(&options.target)?;
    let disk = match target {
        Target::Model(model) => Some(model_disk::disk(options, model)?),
        _ => None,
    };
    if !options.size.is_multiple_of(FILE_GRAIN_BYTES) {
        let size = show_size(options.size);
        return Err(usage(format!(
            "--size {size}: the size must be a multiple of 1 MiB and hold many blocks of the \
             largest --bs; give 1m, 2m, …"
        )));
    }
    let plan = plan(options, disk.as_ref())?;
    if target.drives() > 1 {
        return Err(usage(format!(
            "TARGET {}: overhead measures one drive; leave out \
                                  drives=",
            options.target
        )));
    }
    if let Some(reason) = plan.nonsense() {
        return Err(usage(reason));
    }
    let cells = plan.cells();
    let needs = Needs {
        bytes: 2 * plan.file_bytes,
        writes: cells.iter().any(|p| p.cell.access.writes() && !is_harness(p)),
        destroy: options.measure.destroy.as_deref(),
    };
    refuse_too_many(&plan)?;
    let system = place::system(target, from_ref(target), &needs, output_directory)?;
    refuse_idle_consent(needs.destroy, from_ref(&system))?;
    refuse_unaligned(options, &system)?;
    let by_rpm = options.rpm.map(|rpm| Drive {
        sector_bytes: SECTOR_BYTES,
        revolution_ns: 60e9 / f64::from(rpm),
        tracks_per_cylinder: f64::INFINITY,
    });
    let drive = by_rpm.or(disk.map(|disk| disk.drive));
    let is_default = is_default(options) && disk.is_none();
    let plan = Plan {
        target: system.name.target.clone(),
        places: system.places(),
        left_out: is_default.then(|| LEFT_OUT.to_owned()),
        ..plan
    };
    Ok(ResolvedOverhead { plan: plan.counted(), system, drive })
}

/// Whether the plan is the default one, of which it is known what it leaves out.
fn is_default(options: &OverheadOptions) -> bool {
    !options.full
        && options.ioengine.is_empty()
        && options.rw.is_empty()
        && options.direct.is_empty()
        && options.bs.is_empty()
        && options.iodepth.is_empty()
        && options.overlap.is_empty()
        && options.test_interval.is_empty()
        && options.account.is_empty()
}

fn plan(options: &OverheadOptions, disk: Option<&Disk>) -> anyhow::Result<Plan> {
    let account = |name: &String| Account::ALL.iter().find(|(_, known)| known == name);
    let accounts = options.account.iter().filter_map(account).map(|(account, _)| *account);
    let axes = Axes {
        engines: options.ioengine.clone(),
        accesses: options.rw.clone(),
        direct: options.direct.clone(),
        block_bytes: options.bs.clone(),
        channels: options.iodepth.clone(),
        test_intervals_ns: options.test_interval.iter().copied().map(nanoseconds).collect(),
        overlapped: options.overlap.clone(),
        accounts: (!options.account.is_empty()).then(|| accounts.collect()),
    };
    let sweeps = match (disk, options.full) {
        (Some(disk), _) => disk.sweeps(&options.compute),
        (None, true) => full_sweeps(&options.compute),
        (None, false) => default_sweeps(&options.compute),
    };
    let mut sweeps = axes.applied_to(sweeps, &options.compute);
    if options.trace {
        let traced = sweeps.iter_mut().filter(|sweep| !sweep.is_harness);
        traced.for_each(|sweep| sweep.accounts.push(Account::Requests));
    }
    let of = |default: u64| match (options.runtime, disk) {
        (Some(runtime), _) => nanoseconds(runtime),
        // A call of a cylinder takes some hundred milliseconds, of virtual time.
        (None, Some(_)) => model_disk::PASS_NS,
        (None, None) => default,
    };
    let (runs, until) = rounds::resolve(&options.rounds, ROUNDS);
    let plan = Plan {
        sweeps,
        file_bytes: options.size.next_multiple_of(FILE_GRAIN_BYTES),
        warmup: options.warmup,
        runs,
        // A model does the same each time.
        until: until.filter(|_| disk.is_none()),
        pass_ns: of(PASS_NS),
        direct_pass_ns: of(DIRECT_PASS_NS),
        account_pass_ns: of(ACCOUNT_PASS_NS),
        cpus: host::machine::allowed_cpus()?,
        no_idle_load: no_idle_load()?,
        trace: options.trace,
        seed: options.measure.seed,
        ..Plan::default()
    };
    // In so short a time, no pass is to be lost for warming up.
    let one = Plan { runs: 1, ..plan.clone() };
    let is_short = |until: Until| until.fewest == 0 && 2 * one.estimate_ns() > until.max_time_ns;
    let warmup = if plan.until.is_some_and(is_short) { 0 } else { plan.warmup };
    Ok(Plan { warmup, ..plan })
}

/// Why idle-priority loops could not see total CPU.
/// Errors: a machine that does not list its CPUs.
pub(crate) fn no_idle_load() -> anyhow::Result<Option<String>> {
    let (allowed, online) = (host::machine::allowed_cpus()?.len(), host::machine::online_cpus()?);
    Ok(match online {
        1 => Some(
            "idle-priority loops need a second CPU: on a single CPU the kernel's work for the job \
             cannot be separated from the job; the difference and trace accounts remain"
                .into(),
        ),
        online if allowed < online => Some(format!(
            "idle-priority loops need every CPU, but this process may use only {allowed} of \
             {online}; the difference and trace accounts remain"
        )),
        _ => None,
    })
}

/// The null engine touches no file.
fn is_harness(planned: &PlannedCell) -> bool {
    planned.cell.engine == EngineKind::Null
}

/// Channels have parts of the file of their own.
fn refuse_too_many(plan: &Plan) -> anyhow::Result<()> {
    let half = host::machine::memory_bytes()? / 2;
    for cell in plan.cells().iter().filter(|p| !is_harness(p)).map(|planned| planned.cell) {
        if cell.block_bytes > BLOCK_BYTES_MAX {
            let shown = show_size(cell.block_bytes);
            return Err(usage(format!(
                "--bs {shown}: a request can have at most 1g; \
                                                      give a smaller --bs"
            )));
        }
        let all = cell.block_bytes.saturating_mul(u64::from(cell.channels));
        let free = if cell.copies() { plan.file_bytes / 2 } else { plan.file_bytes };
        let shown = (cell.channels, show_size(cell.block_bytes));
        if all > free {
            return Err(usage(format!(
                "--iodepth {} with --bs {}: {} channels with one request each do not fit into \
                     {}; give a larger --size or fewer channels",
                shown.0,
                shown.1,
                shown.0,
                show_size(free)
            )));
        }
        if all > half {
            return Err(usage(format!(
                "--iodepth {} with --bs {}: the buffers need {}, more than half of the memory; \
                     give a smaller --bs or --iodepth",
                shown.0,
                shown.1,
                show_size(all)
            )));
        }
    }
    Ok(())
}

/// Direct requests come in whole logical blocks. Where buffered ones are requested too, the direct
/// ones are *not measured* by the kernel's own word.
fn refuse_unaligned(options: &OverheadOptions, system: &System) -> anyhow::Result<()> {
    if options.direct != [true] {
        return Ok(());
    }
    let Some((name, logical)) = logical_block(&system.kind) else { return Ok(()) };
    match options.bs.iter().find(|bytes| !bytes.is_multiple_of(logical)) {
        Some(bytes) => Err(usage(format!(
            "--bs {}: direct requests must be multiples of the logical block of {name}, \
                 {logical} bytes; give a multiple, or --direct 0",
            show_size(*bytes)
        ))),
        None => Ok(()),
    }
}

/// The device beneath, and its logical block; none where none can be seen.
fn logical_block(kind: &SystemKind) -> Option<(String, u64)> {
    let tree = Tree::system();
    let number = match kind {
        SystemKind::Device { number, .. } => *number,
        SystemKind::Directory(path) => {
            tree.device_of_path(&std::path::absolute(path).ok()?).ok()??
        }
        // A loop device takes the blocks of 512 bytes that it is made with.
        SystemKind::Fresh(_) => return Some(("the loop device".into(), 512)),
        SystemKind::Model(_) => return None,
    };
    Some((tree.name(number).ok()?, tree.logical_block_bytes(number).ok()?))
}

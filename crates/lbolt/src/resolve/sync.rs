//! The sync experiment: from the options to the plan and its system. What cannot be done is refused
//! here, before anything is made or measured.

use super::place::{Needs, System, SystemKind, free_bytes, system};
use super::rounds::{self, Rounds, one_target, usage};
use super::target::Target;
use cli::SyncOptions;
use experiment::sync::{METHODS, Plan};
use host::device::Tree;
use model::units::show_size;
use std::path::Path;
use std::slice::from_ref;

/// Half a revolution at 15,000 a minute; and a call that reaches flash and comes back.
const ROTATING_LEAST_NS: u64 = 2_000_000;
const OTHER_LEAST_NS: u64 = 5_000;
/// What a writer overwrites, and what it appends in a pass at the most, where there is space.
const FILE_BYTES: u64 = 16 << 20;
const APPENDED_BYTES: u64 = 256 << 20;
/// The files that nobody gave a size take no more than this share of what is free; the one that is
/// overwritten no more than this share of a writer's.
const FREE_SHARE: u64 = 2;
const FILE_SHARE: u64 = 4;

/// Resolves the options.
/// Errors: a sentence for whatever cannot be done as requested.
pub(crate) fn resolve(options: &SyncOptions, output: &Path) -> anyhow::Result<Rounds<Plan>> {
    let target = &one_target(&options.target)?;
    if matches!(target, Target::Model(_)) || target.is_block_device() || target.drives() > 1 {
        return Err(usage(format!(
            "TARGET {}: sync measures files; name a directory, or fresh:FS with one drive",
            options.target
        )));
    }
    let writers = u64::from(options.numjobs.iter().copied().max().unwrap_or(1));
    let free = free_bytes(target, output).unwrap_or(u64::MAX);
    let sizes = Sizes::of(options, free / writers);
    let broken = |bytes: &&u64| !sizes.file_bytes.is_multiple_of(**bytes) || **bytes > 1 << 30;
    if let Some(bytes) = options.bs.iter().find(broken) {
        let (bytes, size) = (show_size(*bytes), show_size(sizes.file_bytes));
        return Err(usage(format!(
            "--size {size} is not a multiple of --bs {bytes}; change one of them"
        )));
    }
    let bytes = writers.saturating_mul(sizes.file_bytes.saturating_add(sizes.appended_bytes));
    let needs = Needs { bytes, writes: false, destroy: None };
    let system = system(target, from_ref(target), &needs, output)?;
    let is_wanted =
        |name: &&str| options.method.is_empty() || options.method.iter().any(|m| m == name);
    let plan = Plan {
        systems: vec![system.described()],
        methods: METHODS
            .map(|method| method.name)
            .iter()
            .filter(|name| is_wanted(name))
            .map(|name| (*name).to_owned())
            .collect(),
        block_bytes: options.bs.clone(),
        writers: options.numjobs.clone(),
        direct: options.direct.clone(),
        file_bytes: sizes.file_bytes,
        appended_bytes: sizes.appended_bytes,
        turns: rounds::turns(&options.rounds, options.runtime, options.seed),
        medium_least_ns: medium_least_ns(&system),
        trace: options.trace,
    };
    Ok(Rounds { plan, system, left_out: None })
}

/// The files of a writer.
#[derive(Debug, PartialEq, Eq)]
struct Sizes {
    file_bytes: u64,
    appended_bytes: u64,
}

impl Sizes {
    /// Of a writer that has so much free space: whole blocks, and one at the least.
    fn of(options: &SyncOptions, free_bytes: u64) -> Self {
        let block = options.bs.iter().copied().max().unwrap_or(1);
        let whole = |bytes: u64| (bytes / block * block).max(block);
        let own = free_bytes / FREE_SHARE;
        let file_bytes = options.size.unwrap_or_else(|| whole(FILE_BYTES.min(own / FILE_SHARE)));
        let appended_bytes = whole(APPENDED_BYTES.min(own.saturating_sub(file_bytes)));
        Self { file_bytes, appended_bytes }
    }
}

/// The least time in which the medium beneath a system can make anything durable.
fn medium_least_ns(system: &System) -> u64 {
    let path = match &system.kind {
        SystemKind::Directory(path) => Some(path),
        SystemKind::Fresh(fresh) => fresh.at.first(),
        SystemKind::Device { .. } | SystemKind::Model(_) => None,
    };
    let tree = Tree::system();
    let device = path.and_then(|path| tree.device_of_path(path).ok().flatten());
    match device.is_some_and(|device| host::turning::turns(&tree, device)) {
        true => ROTATING_LEAST_NS,
        false => OTHER_LEAST_NS,
    }
}

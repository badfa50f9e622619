//! Latency against rate: from the options to the plan and its system. What cannot be done is
//! refused here, before anything is made or measured.

use super::place::{Needs, SystemKind, free_bytes, refuse_idle_consent, system};
use super::rounds::{self, Rounds, one_target, usage};
use super::target::Target;
use cli::CurveOptions;
use experiment::curve::{Cell, Plan};
use host::device::Tree;
use model::units::show_size;
use model::workload::Access;
use std::path::Path;
use std::slice::from_ref;

/// A scratch file has so much, and no more than a share of what is free.
const FILE_BYTES: u64 = 1 << 30;
const FREE_SHARE: u64 = 4;
/// Requests outstanding where nobody says how many.
const DEPTHS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Of the large requests, how many of them are outstanding, and at the most: their buffers are 64
/// MiB.
const LARGE_BYTES: u64 = 1 << 20;
const LARGE_DEPTHS: [u32; 3] = [1, 4, 8];
const LARGE_DEPTH_MOST: u32 = 64;
/// Fewer requests than this would be no random places.
const REQUESTS_LEAST: u64 = 64;

/// Resolves the options.
/// Errors: a sentence for whatever cannot be done as requested, or what the guard refuses.
pub(crate) fn resolve(options: &CurveOptions, output: &Path) -> anyhow::Result<Rounds<Plan>> {
    let target = &one_target(&options.target)?;
    if matches!(target, Target::Model(_)) || target.drives() > 1 {
        return Err(usage(format!(
            "TARGET {}: name a directory, a block device, or fresh:FS with one drive; measure a \
             modelled drive as a device: lbolt device model:NAME -- lbolt curve $LBOLT_DEVICE",
            options.target
        )));
    }
    let is_device = target.is_block_device();
    let largest = options.bs.iter().copied().max().unwrap_or(0).max(LARGE_BYTES);
    let free = free_bytes(target, output).unwrap_or(0);
    let size_bytes = match (options.size, is_device) {
        (Some(size), _) => size,
        (None, true) => free,
        (None, false) => FILE_BYTES.min(free / FREE_SHARE),
    };
    let size_bytes = size_bytes / largest * largest;
    if size_bytes < REQUESTS_LEAST * largest {
        let (size, least) = (show_size(size_bytes), show_size(REQUESTS_LEAST * largest));
        return Err(usage(format!(
            "TARGET {}: {size} is too small, the requests need at least {least}; give a larger \
             --size or a smaller --bs",
            options.target
        )));
    }
    let writes = !is_device || options.measure.destroy.is_some();
    let destroy = options.measure.destroy.as_deref();
    let system =
        system(target, from_ref(target), &Needs { bytes: size_bytes, writes, destroy }, output)?;
    refuse_idle_consent(destroy, from_ref(&system))?;
    if let SystemKind::Device { number, .. } = &system.kind {
        let device_bytes = Tree::system().size_bytes(*number).unwrap_or(u64::MAX);
        if size_bytes > device_bytes {
            return Err(usage(format!(
                "--size {}: the device has only {}; give a smaller size",
                show_size(size_bytes),
                show_size(device_bytes)
            )));
        }
    }
    let depths = Depths::of(options);
    let plan = Plan {
        systems: vec![system.described()],
        cells: cells(options, &depths, writes),
        size_bytes,
        fills: !is_device,
        turns: rounds::turns(&options.rounds, options.runtime, options.measure.seed),
    };
    Ok(Rounds { plan, system, left_out: depths.left_out() })
}

/// Requests outstanding.
struct Depths {
    random: Vec<u32>,
    large: Vec<u32>,
}

impl Depths {
    /// Those that were requested, for all requests, or the usual ones.
    fn of(options: &CurveOptions) -> Self {
        let mut random = options.iodepth.clone();
        random.sort_unstable();
        random.dedup();
        if random.is_empty() {
            let usual = options.usual_iodepth.clone().unwrap_or_else(|| DEPTHS.to_vec());
            return Self { random: usual, large: LARGE_DEPTHS.to_vec() };
        }
        let large = random.iter().copied().filter(|depth| *depth <= LARGE_DEPTH_MOST).collect();
        Self { random, large }
    }

    /// Which of those that were requested large requests do not have, in a sentence.
    fn left_out(&self) -> Option<String> {
        let is_out = |depth: &&u32| **depth > LARGE_DEPTH_MOST;
        let out: Vec<String> = self.random.iter().filter(is_out).map(u32::to_string).collect();
        let depths = if out.len() == 1 { "depth" } else { "depths" };
        (!out.is_empty()).then(|| {
            format!(
                "sequential requests of {} are not measured at queue {depths} {}: their buffers \
                 would need more than {}",
                show_size(LARGE_BYTES),
                out.join(", "),
                show_size(LARGE_BYTES * u64::from(LARGE_DEPTH_MOST))
            )
        })
    }
}

/// By depth, so that those of the same depth meet the machine in the same mood.
fn cells(options: &CurveOptions, depths: &Depths, writes: bool) -> Vec<Cell> {
    let random: &[Access] = if writes {
        &[Access::RandRead, Access::RandWrite, Access::RandRw]
    } else {
        &[Access::RandRead]
    };
    let large: &[Access] = if writes { &[Access::Read, Access::Rewrite] } else { &[Access::Read] };
    let cell = |rw, bs, iodepth| Cell { rw, bs, iodepth, rwmixread: options.rwmixread };
    let mut cells: Vec<Cell> = Vec::new();
    for &iodepth in &depths.random {
        for &bs in &options.bs {
            cells.extend(random.iter().map(|rw| cell(*rw, bs, iodepth)));
        }
    }
    for &iodepth in &depths.large {
        cells.extend(large.iter().map(|rw| cell(*rw, LARGE_BYTES, iodepth)));
    }
    cells
}

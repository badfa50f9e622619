//! What is to be run on each system: the programs, how often, from what state.

use crate::until::Until;
use model::plan::SystemPlan;
use model::workload::Program;
use serde::{Deserialize, Serialize};

/// The paper's battery, as data.
pub const BATTERY: &str = include_str!("battery.toml");

/// Block sizes and depths of the runs that find the path's greatest rate: few large requests
/// suit one disk, many smaller ones another.
pub(crate) const CEILING_SHAPES: &[(u64, u32)] = &[(1 << 20, 8), (256 << 10, 8)];
/// Passes of each shape; the best of all counts.
pub(crate) const CEILING_PASSES: u32 = 2;
/// Sizes of files for them are multiples of this.
pub(crate) const CEILING_GRAIN_BYTES: u64 = 1 << 20;

/// How many passes a system's ceilings take.
pub fn ceiling_passes(directions: u64) -> u64 {
    directions * CEILING_SHAPES.len() as u64 * u64::from(CEILING_PASSES)
}

/// The plan of a throughput run, the same for every system. As JSON it is what `--dry-run` prints
/// and run.json keeps.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Plan {
    /// What is measured.
    #[serde(default)]
    pub systems: Vec<SystemPlan>,
    /// Two systems are measured in turn, pass by pass.
    #[serde(default)]
    pub interleaved: bool,
    /// The programs in running order.
    pub programs: Vec<Program>,
    /// Bytes of a job's file where the program does not say.
    pub file_bytes: u64,
    /// Why so many.
    #[serde(default)]
    pub file_bytes_reason: String,
    /// Passes that are run and left out.
    pub warmup: u32,
    /// Passes that count; where there is an `until`, so many before the rate's interval is looked
    /// at.
    pub runs: u32,
    /// Until when more of them go on. Two systems in turn take just `runs`.
    #[serde(default)]
    pub until: Option<Until>,
    /// Empty the caches before each pass.
    #[serde(rename = "cold")]
    pub is_cold: bool,
    /// fdatasync at the end of each writing pass, inside the timed part.
    #[serde(rename = "final_fdatasync")]
    pub final_sync: bool,
    /// Measure the path's greatest rate too.
    pub ceiling: bool,
    /// Capture the requests of the passes that count.
    #[serde(default)]
    pub trace: bool,
    /// The seed of every random order.
    pub seed: u64,
}

/// What was measured of the harness and the machine before the first pass.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Calibration {
    /// One reading of the clock.
    pub clock_cost_ns: f64,
    /// The clock's least step.
    pub clock_precision_ns: f64,
    /// The harness's own cost of a request on the null engine.
    pub harness_ns_per_operation: f64,
    /// Memory to memory, one thread.
    pub memory_copy_bytes_per_s: f64,
}

/// The default size of a job's file and the reason for it, from the memory and
/// the space that a drive has.
///
/// The paper took twice the memory, because nothing else kept the cache out. Here each
/// pass starts cold and ends with fdatasync, so a file need only be long
/// enough for a steady rate: 1/32 of the memory, as a power of two from 64 MiB
/// to 1 GiB, and at most a quarter of the free space, shared by the jobs.
pub fn default_file_bytes(
    memory_bytes: u64,
    free_bytes: u64,
    jobs_per_drive: u32,
) -> (u64, String) {
    use model::units::show_size;
    let by_memory = (memory_bytes / 32).max(1).next_power_of_two().clamp(64 << 20, 1 << 30);
    let by_room = free_bytes / 4 / u64::from(jobs_per_drive.max(1));
    if by_memory <= by_room {
        (
            by_memory,
            format!(
                "1/32 of the memory of {}, rounded up to a power of two, from 64m to 1g",
                show_size(memory_bytes >> 20 << 20)
            ),
        )
    } else {
        let size = (by_room >> 20 << 20).max(1 << 20);
        (size, format!("a quarter of the free space of {}", show_size(free_bytes >> 20 << 20)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::workload::{Access, Battery};

    #[test]
    fn the_battery_is_the_papers() {
        let battery = Battery::from_toml(BATTERY).unwrap();
        let run: Vec<_> = battery.programs.iter().map(|p| (p.name.as_str(), p.rw, p.bs)).collect();
        assert_eq!(
            run,
            [
                ("write_4096", Access::Write, 4096),
                ("write_8192", Access::Write, 8192),
                ("read_8192", Access::Read, 8192),
                ("rewrite_8192", Access::Rewrite, 8192),
            ]
        );
        assert_eq!(battery.row_order(), ["read_8192", "write_4096", "write_8192", "rewrite_8192"]);
        assert!(battery.programs.iter().all(|p| p.engine().name() == "sync" && p.iodepth == 1));
    }

    #[test]
    fn the_default_size_suits_memory_and_room() {
        assert_eq!(default_file_bytes(24 << 30, 1 << 40, 1).0, 1 << 30);
        assert_eq!(default_file_bytes(16 << 30, 1 << 40, 1).0, 512 << 20);
        assert_eq!(default_file_bytes(512 << 20, 1 << 40, 1).0, 64 << 20);
        assert_eq!(default_file_bytes(24 << 30, 1 << 30, 1).0, 256 << 20);
        assert_eq!(default_file_bytes(24 << 30, 1 << 30, 4).0, 64 << 20);
    }
}

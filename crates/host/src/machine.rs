//! What this machine is, for run.json: a number means little without it.

use crate::account::malformed;
use crate::device::Tree;
use serde::Serialize;
use std::io;
use std::time::Instant;

/// The machine's facts.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// Kernel release and version.
    pub kernel: String,
    /// The processor's own name.
    pub cpu_model: String,
    /// CPUs on line.
    pub cpus: usize,
    /// CPUs that lbolt itself may run on at once.
    pub cpus_allowed: usize,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Whether a hypervisor lies beneath.
    pub is_virtual: bool,
    /// Block devices that hold anything.
    pub devices: Vec<DeviceFacts>,
}

/// A block device's facts.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceFacts {
    /// Kernel name.
    pub name: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Logical block in bytes.
    pub logical_block_bytes: Option<u64>,
    /// The vendor's name for it.
    pub model: Option<String>,
    /// The scheduler in use.
    pub scheduler: Option<String>,
    /// Whether it turns.
    pub rotational: Option<bool>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
}

/// Looks at the machine.
///
/// # Errors
/// /proc that cannot be read.
pub fn look() -> io::Result<Machine> {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo")?;
    let uname = rustix::system::uname();
    let kernel =
        format!("{} {}", uname.release().to_string_lossy(), uname.version().to_string_lossy());
    let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
    Ok(Machine {
        kernel,
        cpu_model: model.and_then(|l| l.split_once(": ")).map_or("unknown", |(_, m)| m).to_owned(),
        cpus: crate::account::online_cpus()?.len(),
        cpus_allowed: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        memory_bytes: memory_bytes()?,
        is_virtual: cpuinfo.split_whitespace().any(|flag| flag == "hypervisor"),
        devices: devices(),
    })
}

/// Memory in bytes, as the kernel counts it.
///
/// # Errors
/// /proc/meminfo that cannot be read.
pub fn memory_bytes() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/meminfo")?;
    let kib = text.lines().find_map(|line| {
        line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<u64>().ok()
    });
    kib.map(|kib| kib * 1024).ok_or_else(|| malformed("/proc/meminfo"))
}

/// The CPUs that this process may run on, by number.
///
/// # Errors
/// The kernel's refusal.
pub fn allowed_cpus() -> io::Result<Vec<u32>> {
    let set = rustix::thread::sched_getaffinity(None)?;
    let numbers = 0..rustix::thread::CpuSet::MAX_CPU;
    Ok(numbers.filter(|cpu| set.is_set(*cpu)).filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// How many CPUs are on line.
///
/// # Errors
/// /sys that cannot be read.
pub fn online_cpus() -> io::Result<usize> {
    Ok(crate::account::online_cpus()?.len())
}

fn devices() -> Vec<DeviceFacts> {
    let tree = Tree::system();
    let numbers = tree.all().unwrap_or_default();
    let facts = numbers.into_iter().filter_map(|number| {
        let size_bytes = tree.size_bytes(number).ok().filter(|size| *size > 0)?;
        Some(DeviceFacts {
            name: tree.name(number).ok()?,
            size_bytes,
            logical_block_bytes: tree.logical_block_bytes(number).ok(),
            model: tree.model(number).ok().flatten(),
            scheduler: tree.scheduler(number).ok().flatten(),
            rotational: tree.rotational(number).ok().flatten(),
            write_cache: tree.write_cache(number).ok().flatten(),
        })
    });
    facts.collect()
}

/// How fast one thread copies memory to memory, bytes a second: the best of a few copies of
/// 64 MiB, which no cache holds.
pub fn memory_copy_bytes_per_s() -> f64 {
    const BYTES: usize = 64 << 20;
    let source = vec![1u8; BYTES];
    let mut target = vec![0u8; BYTES];
    let best = (0..5)
        .map(|_| {
            let start = Instant::now();
            target.copy_from_slice(std::hint::black_box(&source));
            std::hint::black_box(&target);
            start.elapsed()
        })
        .min();
    best.map_or(0.0, |time| BYTES as f64 / time.as_secs_f64().max(1e-9))
}

//! What this machine is, for run.json: a number means little without it.

use crate::account::malformed;
use crate::device::{DeviceNumber, Tree};
use model::plan::TargetFacts;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::time::Instant;

/// The machine's facts.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// What this host is called.
    pub host: String,
    /// Kernel release and version.
    pub kernel: String,
    /// The processor's own name; on Arm its maker's and its own number.
    pub cpu_model: String,
    /// CPUs on line.
    pub cpus: usize,
    /// CPUs that lbolt itself may run on at once.
    pub cpus_allowed: usize,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Whether a hypervisor lies beneath; none where the processor does not tell, as on Arm.
    pub is_virtual: Option<bool>,
    /// [`C_LIBRARY`].
    pub c_library: &'static str,
    /// What chooses the CPUs' frequency; none where the kernel does not.
    pub cpu_governor: Option<String>,
    /// The kernel's settings of [`SYSCTLS`] that it has.
    pub sysctls: BTreeMap<&'static str, String>,
    /// Block devices that hold anything.
    pub devices: Vec<DeviceFacts>,
}

/// The C library of this program, which the engines stdio and posixaio measure: the machine's own,
/// or one within a static program.
pub const C_LIBRARY: &str = if cfg!(target_env = "musl") { "musl" } else { "glibc" };

/// Settings of the kernel that change what writing and caching cost.
pub const SYSCTLS: &[&str] = &[
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_ratio",
    "vm.dirty_writeback_centisecs",
    "vm.swappiness",
    "vm.vfs_cache_pressure",
];

/// Settings of a device's queue, besides its scheduler.
pub const QUEUE_SETTINGS: &[&str] =
    &["max_sectors_kb", "nomerges", "nr_requests", "read_ahead_kb", "rq_affinity", "wbt_lat_usec"];

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
    /// The revision of its firmware.
    pub firmware: Option<String>,
    /// The scheduler in use.
    pub scheduler: Option<String>,
    /// Whether it turns.
    pub rotational: Option<bool>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// The settings of [`QUEUE_SETTINGS`] that it has.
    pub settings: BTreeMap<&'static str, String>,
}

/// Looks at the machine.
/// Errors: /proc that cannot be read.
pub fn look() -> io::Result<Machine> {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo")?;
    let uname = rustix::system::uname();
    let kernel =
        format!("{} {}", uname.release().to_string_lossy(), uname.version().to_string_lossy());
    Ok(Machine {
        host: host_name(),
        kernel,
        cpu_model: cpu_model(&cpuinfo),
        cpus: crate::account::online_cpus()?.len(),
        cpus_allowed: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        memory_bytes: memory_bytes()?,
        cpu_governor: cpu_governor(),
        sysctls: SYSCTLS.iter().filter_map(|name| Some((*name, sysctl(name)?))).collect(),
        is_virtual: is_virtual(&cpuinfo),
        c_library: C_LIBRARY,
        devices: devices(),
    })
}

/// What this host is called.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The release of its kernel, as `uname -r` prints it.
pub fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// The kernel's name of the time since it began; nothing where it does not say.
pub fn boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

/// A line of /proc/cpuinfo by its name, of the first CPU.
fn cpu_fact<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    let facts = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    facts.into_iter().find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

fn cpu_model(cpuinfo: &str) -> String {
    let of_arm = || {
        let maker = cpu_fact(cpuinfo, "CPU implementer")?;
        Some(format!("Arm, implementer {maker}, part {}", cpu_fact(cpuinfo, "CPU part")?))
    };
    let model = cpu_fact(cpuinfo, "model name").map(str::to_owned);
    model.or_else(of_arm).unwrap_or_else(|| "unknown".to_owned())
}

fn is_virtual(cpuinfo: &str) -> Option<bool> {
    Some(cpu_fact(cpuinfo, "flags")?.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// Memory in bytes, as the kernel counts it.
/// Errors: /proc/meminfo that cannot be read.
pub fn memory_bytes() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/meminfo")?;
    let kib = text.lines().find_map(|line| {
        line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<u64>().ok()
    });
    kib.map(|kib| kib * 1024).ok_or_else(|| malformed("/proc/meminfo"))
}

/// The CPUs that this process may run on, by number.
/// Errors: the kernel's refusal.
pub fn allowed_cpus() -> io::Result<Vec<u32>> {
    let set = rustix::thread::sched_getaffinity(None)?;
    let numbers = 0..rustix::thread::CpuSet::MAX_CPU;
    Ok(numbers.filter(|cpu| set.is_set(*cpu)).filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// How many CPUs are on line.
/// Errors: /sys that cannot be read.
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
            firmware: tree.firmware(number).ok().flatten(),
            scheduler: tree.scheduler(number).ok().flatten(),
            rotational: tree.rotational(number).ok().flatten(),
            write_cache: tree.queue_setting(number, "write_cache").ok().flatten(),
            settings: queue_settings(&tree, number),
        })
    });
    facts.collect()
}

fn queue_settings(tree: &Tree, number: DeviceNumber) -> BTreeMap<&'static str, String> {
    let read = |name: &&'static str| Some((*name, tree.queue_setting(number, name).ok()??));
    QUEUE_SETTINGS.iter().filter_map(read).collect()
}

fn sysctl(name: &str) -> Option<String> {
    let text = std::fs::read_to_string(Path::new("/proc/sys").join(name.replace('.', "/")));
    Some(text.ok()?.trim().to_owned())
}

fn cpu_governor() -> Option<String> {
    let folders = std::fs::read_dir("/sys/devices/system/cpu").ok()?;
    let read = |entry: std::fs::DirEntry| {
        let text = std::fs::read_to_string(entry.path().join("cpufreq/scaling_governor"));
        Some(text.ok()?.trim().to_owned())
    };
    let found: BTreeSet<String> = folders.filter_map(Result::ok).filter_map(read).collect();
    (!found.is_empty()).then(|| found.into_iter().collect::<Vec<_>>().join(" and "))
}

/// Where a directory lies, as far as the kernel tells.
pub fn place_of_directory(directory: &Path) -> TargetFacts {
    let tree = Tree::system();
    let mounts = tree.mounts().unwrap_or_default();
    let canonical = std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let above = mounts
        .iter()
        .filter(|mount| mount.pid_seen_in.is_none() && canonical.starts_with(&mount.mount_point));
    // Of two mounts at one place the later covers the earlier, and `max_by_key` takes the later.
    let mount = above.max_by_key(|mount| mount.mount_point.components().count());
    TargetFacts {
        mount_point: mount.map(|mount| mount.mount_point.clone()),
        file_system: mount.map(|mount| mount.fs_type.clone()),
        mount_options: mount.map(|mount| mount.options.clone()),
        devices: names(&tree, tree.device_of_path(&canonical).ok().flatten()),
    }
}

/// A device that is tested itself.
pub fn place_of_device(number: DeviceNumber) -> TargetFacts {
    TargetFacts { devices: names(&Tree::system(), Some(number)), ..TargetFacts::default() }
}

/// A device and those at the bottom of what it lies on, each once.
fn names(tree: &Tree, device: Option<DeviceNumber>) -> Vec<String> {
    let beneath = device.and_then(|number| tree.lowest(number).ok()).unwrap_or_default();
    let beneath = beneath.into_iter().filter(|number| Some(*number) != device);
    device.into_iter().chain(beneath).filter_map(|number| tree.name(number).ok()).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_change_what_writing_costs_are_looked_up() {
        let machine = look().unwrap();
        // Every Linux has these, with or without disks.
        for name in ["vm.dirty_ratio", "vm.dirty_bytes", "vm.swappiness"] {
            assert!(machine.sysctls[name].parse::<u64>().is_ok(), "{:?}", machine.sysctls);
        }
        for device in &machine.devices {
            assert!(device.settings.contains_key("read_ahead_kb"), "{device:?}");
        }
    }

    #[test]
    fn a_processor_is_known_by_its_name_or_its_numbers() {
        let x86 = "processor\t: 0\nmodel name\t: A CPU: fast\nflags\t\t: fpu hypervisor lm\n";
        assert_eq!((cpu_model(x86).as_str(), is_virtual(x86)), ("A CPU: fast", Some(true)));
        assert_eq!(is_virtual("flags\t\t: fpu lm\n"), Some(false));
        let arm = "Features\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(cpu_model(arm), "Arm, implementer 0x41, part 0xd0c");
        assert_eq!(is_virtual(arm), None);
        assert_eq!(cpu_model(""), "unknown");
    }

    #[test]
    fn a_directory_lies_on_its_mount() {
        let place = place_of_directory(Path::new("/proc"));
        assert_eq!(place.mount_point.as_deref(), Some(Path::new("/proc")));
        assert_eq!(place.file_system.as_deref(), Some("proc"));
        assert!(place.mount_options.is_some_and(|options| options.contains("rw")));
        assert_eq!(place.devices, [""; 0]);
    }
}

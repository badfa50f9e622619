//! What this machine can do for lbolt and what not, why, and the remedy: one
//! table of checks, each of which looks and changes nothing that stays.

use crate::clock::HostClock;
use crate::subject::FILE_SYSTEMS;
use rustix::fs::{Mode, OFlags};
use std::path::Path;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It works.
    Yes,
    /// It works in part, or less well.
    Partly,
    /// It does not work.
    No,
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// What was looked at.
    pub subject: String,
    /// How it ended.
    pub health: Health,
    /// What was seen.
    pub seen: String,
    /// What is lost, and what to do.
    pub remedy: String,
}

fn diagnosis(subject: &str, health: Health, seen: impl Into<String>, remedy: &str) -> Diagnosis {
    Diagnosis { subject: subject.into(), health, seen: seen.into(), remedy: remedy.into() }
}

/// Looks at everything.
pub fn examine() -> Vec<Diagnosis> {
    let checks: [fn() -> Diagnosis; 9] = [
        clock,
        cpus,
        root,
        loop_devices,
        detached_mounts,
        loop_workers,
        idle_clock,
        stolen,
        io_uring,
    ];
    let mut all: Vec<_> = checks.iter().map(|check| check()).collect();
    all.extend(file_systems());
    all.push(signature_probe());
    all
}

fn clock() -> Diagnosis {
    let clock = HostClock::new();
    let seen = format!("{}, {:.0} ns a reading", clock.name(), clock.cost_ns());
    match clock.name() {
        "tsc" => diagnosis("clock", Health::Yes, seen, ""),
        _ => diagnosis(
            "clock",
            Health::Partly,
            seen,
            "stamps cost more: the kernel does not keep its time by the time-stamp counter",
        ),
    }
}

fn cpus() -> Diagnosis {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    match cpus {
        1 => diagnosis(
            "CPUs",
            Health::Partly,
            "1",
            "the program and the kernel's threads compete for one CPU: rates are lower than on two",
        ),
        n => diagnosis("CPUs", Health::Yes, n.to_string(), ""),
    }
}

fn root() -> Diagnosis {
    if rustix::process::geteuid().is_root() {
        diagnosis("root", Health::Yes, "yes", "")
    } else {
        diagnosis("root", Health::No, "no", "fresh: targets are not measured; run as root for them")
    }
}

fn loop_devices() -> Diagnosis {
    let control = Path::new("/dev/loop-control");
    match rustix::fs::open(control, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        Ok(_) => diagnosis("loop devices", Health::Yes, "/dev/loop-control opens", ""),
        Err(errno) => diagnosis(
            "loop devices",
            Health::No,
            format!("/dev/loop-control: {errno}"),
            "fresh: targets are not measured; run as root, or load the module loop",
        ),
    }
}

fn detached_mounts() -> Diagnosis {
    use rustix::mount::{FsOpenFlags, fsopen};
    match fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC) {
        Ok(_) => diagnosis("detached mounts", Health::Yes, "fsopen works", ""),
        Err(rustix::io::Errno::PERM) => diagnosis(
            "detached mounts",
            Health::No,
            "fsopen: not permitted",
            "fresh: targets are not measured; run as root (CAP_SYS_ADMIN)",
        ),
        Err(errno) => diagnosis(
            "detached mounts",
            Health::No,
            format!("fsopen: {errno}"),
            "fresh: targets are not measured; they need Linux 5.2 or later",
        ),
    }
}

fn loop_workers() -> Diagnosis {
    match crate::account::LoopWorkers::start() {
        Ok(_) => diagnosis("loop workers", Health::Yes, "perf shows when they work", ""),
        Err(e) => diagnosis(
            "loop workers",
            Health::Partly,
            e.to_string(),
            "their CPU time is part of the whole bill of fresh: targets; run as root (CAP_PERFMON, \
             CAP_SYS_ADMIN)",
        ),
    }
}

fn idle_clock() -> Diagnosis {
    if Path::new("/sys/devices/system/cpu/cpu0/cpuidle/state0/time").exists() {
        diagnosis("idle clock", Health::Yes, "cpuidle, microseconds", "")
    } else {
        diagnosis(
            "idle clock",
            Health::Partly,
            "/proc/stat, ticks of 10 ms",
            "the whole CPU bill of a pass is uncertain by tens of ms: use passes of some seconds",
        )
    }
}

fn stolen() -> Diagnosis {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields: Vec<f64> = text
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    let share = 100.0 * fields.get(7).unwrap_or(&0.0) / fields.iter().sum::<f64>().max(1.0);
    let seen = format!("{share:.2} % of all CPU time since boot");
    match share {
        s if s < 1.0 => diagnosis("stolen time", Health::Yes, seen, ""),
        _ => diagnosis(
            "stolen time",
            Health::Partly,
            seen,
            "other guests share this host: passes with more than 2 % stolen are suspect",
        ),
    }
}

fn io_uring() -> Diagnosis {
    match io_uring::IoUring::new(2) {
        Ok(_) => diagnosis("io_uring", Health::Yes, "a ring can be set up", ""),
        Err(e) => diagnosis(
            "io_uring",
            Health::No,
            e.to_string(),
            "--iodepth above 1 is not measured; see sysctl kernel.io_uring_disabled",
        ),
    }
}

/// One line a file system: its mkfs, and whether the kernel knows it.
fn file_systems() -> Vec<Diagnosis> {
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let is_known = |name: &str| known.lines().any(|line| line.trim() == name);
    FILE_SYSTEMS
        .iter()
        .map(|fs| {
            let subject = format!("fresh:{}", fs.name);
            if !fs.is_installed() {
                let remedy = format!("not measured; install the package {}", fs.package);
                diagnosis(&subject, Health::No, format!("{} is not installed", fs.mkfs), &remedy)
            } else if !is_known(fs.kernel_name) {
                let seen = format!("{} is there; the kernel lists no {}", fs.mkfs, fs.kernel_name);
                diagnosis(
                    &subject,
                    Health::Partly,
                    seen,
                    "the kernel may still load it as a module at the mount",
                )
            } else {
                diagnosis(&subject, Health::Yes, format!("{} and the kernel know it", fs.mkfs), "")
            }
        })
        .collect()
}

fn signature_probe() -> Diagnosis {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .any(|directory| directory.join("blkid").is_file());
    if is_there {
        diagnosis("guard", Health::Yes, "blkid can look for file systems on a device", "")
    } else {
        diagnosis(
            "guard",
            Health::Partly,
            "blkid is not installed",
            "writing to a block device is refused, for nobody can tell what it holds; install \
             util-linux",
        )
    }
}

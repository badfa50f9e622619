//! What this machine can do for lbolt and what not, why, and the remedy: one
//! table of checks, each of which looks and changes nothing that stays.

use crate::clock::HostClock;
use crate::machine::C_LIBRARY;
use crate::subject::{FILE_SYSTEMS, is_installed};
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

/// What a check found: how it ended, what was seen, and the remedy.
type Found = (Health, String, String);

/// A check by its subject.
type Check = (&'static str, fn() -> Found);

fn works(seen: impl Into<String>) -> Found {
    (Health::Yes, seen.into(), String::new())
}

fn partly(seen: impl Into<String>, remedy: &str) -> Found {
    (Health::Partly, seen.into(), remedy.to_owned())
}

fn fails(seen: impl Into<String>, remedy: &str) -> Found {
    (Health::No, seen.into(), remedy.to_owned())
}

fn diagnosis(subject: impl Into<String>, (health, seen, remedy): Found) -> Diagnosis {
    Diagnosis { subject: subject.into(), health, seen, remedy }
}

/// Looks at everything.
pub fn examine() -> Vec<Diagnosis> {
    const CHECKS: [Check; 10] = [
        ("clock", clock),
        ("C library", c_library),
        ("CPUs", cpus),
        ("root", root),
        ("loop devices", loop_devices),
        ("detached mounts", detached_mounts),
        ("loop workers", loop_workers),
        ("idle clock", idle_clock),
        ("stolen time", stolen),
        ("io_uring", io_uring),
    ];
    let checked = CHECKS.into_iter().map(|(subject, check)| diagnosis(subject, check()));
    checked.chain(file_systems()).chain([diagnosis("guard", signature_probe())]).collect()
}

fn clock() -> Found {
    let clock = HostClock::new();
    let seen = format!("{}, {:.0} ns per reading", clock.name(), clock.cost_ns());
    let remedy = match cfg!(target_arch = "x86_64") {
        true => "timestamps cost more: the kernel does not use the time-stamp counter (TSC)",
        false => "timestamps cost more: lbolt reads only the time-stamp counter of x86",
    };
    if clock.name() == "tsc" { works(seen) } else { partly(seen, remedy) }
}

/// Two kinds of engines measure it.
fn c_library() -> Found {
    let remedy = "stdio and posixaio are musl's implementations; compare these engines only with \
                  runs of the same C library";
    match C_LIBRARY {
        "musl" => partly("musl, statically linked", remedy),
        other => works(other),
    }
}

fn cpus() -> Found {
    let remedy =
        "the program and kernel threads compete for one CPU: rates are lower than with two";
    match std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
        1 => partly("1", remedy),
        n => works(n.to_string()),
    }
}

fn root() -> Found {
    match rustix::process::geteuid().is_root() {
        true => works("yes"),
        false => fails("no", "fresh: targets are not measured; run as root"),
    }
}

fn loop_devices() -> Found {
    let control = Path::new("/dev/loop-control");
    let remedy = "fresh: targets are not measured; run as root or load the module loop";
    match rustix::fs::open(control, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        Ok(_) => works("/dev/loop-control can be opened"),
        Err(errno) => fails(format!("/dev/loop-control: {errno}"), remedy),
    }
}

fn detached_mounts() -> Found {
    use rustix::mount::{FsOpenFlags, fsopen};
    match fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC) {
        Ok(_) => works("fsopen works"),
        Err(rustix::io::Errno::PERM) => fails(
            "fsopen: not permitted",
            "fresh: targets are not measured; run as root (CAP_SYS_ADMIN)",
        ),
        Err(errno) => fails(
            format!("fsopen: {errno}"),
            "fresh: targets are not measured; they need Linux 5.2 or later",
        ),
    }
}

fn loop_workers() -> Found {
    let remedy = "their CPU time counts in the total CPU time of fresh: targets; run as root \
                  (CAP_PERFMON, CAP_SYS_ADMIN)";
    match crate::account::LoopWorkers::start() {
        Ok(_) => works("perf shows when they run"),
        Err(e) => partly(e.to_string(), remedy),
    }
}

fn idle_clock() -> Found {
    let remedy = "the total CPU time of a pass is uncertain by tens of ms; run as root (for \
                  /proc/timer_list) or use passes of several seconds";
    match crate::account::is_fine() {
        true => works("/proc/timer_list, nanoseconds"),
        false => partly("/proc/stat, ticks of 10 ms", remedy),
    }
}

fn stolen() -> Found {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let all = text.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let fields: Vec<f64> = all.filter_map(|field| field.parse().ok()).collect();
    let share = 100.0 * fields.get(7).unwrap_or(&0.0) / fields.iter().sum::<f64>().max(1.0);
    let seen = format!("{share:.2} % of all CPU time since boot");
    let remedy = "other guests share this host: passes with more than 2 % stolen time are suspect";
    if share < 1.0 { works(seen) } else { partly(seen, remedy) }
}

fn io_uring() -> Found {
    let remedy = "--iodepth above 1 is not measured with io_uring; see sysctl \
                  kernel.io_uring_disabled";
    match io_uring::IoUring::new(2) {
        Ok(_) => works("a ring can be set up"),
        Err(e) => fails(e.to_string(), remedy),
    }
}

/// One line a file system: its mkfs, and whether the kernel knows it.
fn file_systems() -> impl Iterator<Item = Diagnosis> {
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    FILE_SYSTEMS.iter().map(move |fs| {
        let is_known = known.lines().any(|line| line.trim() == fs.kernel_name);
        let found = match (fs.is_installed(), is_known) {
            (false, _) => fails(
                format!("{} is not installed", fs.mkfs),
                &format!("not measured; install the package {}", fs.package),
            ),
            (true, false) => partly(
                format!("{} is installed; the kernel does not list {}", fs.mkfs, fs.kernel_name),
                "the kernel may load the module when mounting",
            ),
            (true, true) => works(format!("supported by {} and the kernel", fs.mkfs)),
        };
        diagnosis(format!("fresh:{}", fs.name), found)
    })
}

fn signature_probe() -> Found {
    let remedy = "writing to a block device is refused, because lbolt cannot check its contents; \
                  install util-linux";
    match is_installed("blkid") {
        true => works("blkid can detect file systems on a device"),
        false => partly("blkid is not installed", remedy),
    }
}

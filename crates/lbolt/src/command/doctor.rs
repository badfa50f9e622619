//! `lbolt doctor`: what this machine can do for us and what not, why, and the remedy.

use super::{print, print_line};
use crate::resolve::overhead::no_idle_load;
use capture::leftover::{self, Dead, Leftovers};
use cli::DoctorOptions;
use comfy_table::{ContentArrangement, Table, presets};
use host::doctor::{Diagnosis, Health, examine};
use host::scratch::Left;
use host::settings::Setting;
use messages::fault::{Fault, failure};
use messages::output::terminal_width;
use model::text::visible;
use std::path::PathBuf;
use trace::capture::perf::PerfCapture;
use trace::capture::{Capture, CaptureOptions};
use trace::kernel::{Kernel, Standing, Status, Tried, oldest, standing};

/// Columns where the output is no terminal's.
const PIPED_WIDTH: u16 = 100;

/// Runs the command.
/// Errors: leftovers that cannot be looked for or removed.
pub(super) fn run(options: &DoctorOptions) -> anyhow::Result<()> {
    if options.clean {
        return clean(&directories(options));
    }
    // First: a capture that is tried out removes what killed ones left.
    let left = told(&Leftovers::look(&directories(options)));
    print(&diagnoses())?;
    print(&left)
}

/// Where scratch is looked for that nobody noted.
fn directories(options: &DoctorOptions) -> Vec<PathBuf> {
    let usual = [options.runs_dir.clone(), PathBuf::from(".")];
    usual.into_iter().chain(options.directories.iter().cloned()).collect()
}

/// What killed runs left, in words. The machine is no worse for it.
fn told(left: &Leftovers) -> String {
    let noted = left.dead.iter().flat_map(|dead| dead.note.scratch.iter().chain(&dead.note.groups));
    let noted = noted.filter(|path| path.symlink_metadata().is_ok()).map(PathBuf::as_path);
    let unnoted = left.unnoted.iter().map(Left::path);
    let scratch = noted.chain(unnoted).map(|path| format!("a killed run left {}", path.display()));
    let instances =
        left.instances.iter().map(|name| format!("a killed capture left {}", instance(name)));
    let changed = left.dead.iter().flat_map(Dead::changed).map(|(was, is)| {
        let path = was.path.display();
        format!("a killed run left {path} at {} instead of {}", is.value, was.value)
    });
    let commands = left.dead.iter().flat_map(Dead::commands).map(|command| {
        let may = if command.is_marked { "left" } else { "may have left" };
        format!("a killed run {may} its command running: {command}")
    });
    let devices = left.dead.iter().flat_map(|dead| dead.note.devices());
    let devices = devices.map(|path| {
        let idle = || format!("a killed run left {}", path.display());
        leftover::still_used(path).unwrap_or_else(idle)
    });
    let mut lines: Vec<String> =
        scratch.chain(devices).chain(instances).chain(changed).chain(commands).collect();
    let count = left.dead.len() + left.unnoted.len() + left.instances.len();
    let is_known = left.unreadable.is_empty();
    lines.extend(left.distrusted.iter().chain(&left.unreadable).cloned());
    match count {
        0 if is_known => lines.push("No leftovers of killed runs.".to_owned()),
        0 => {}
        count => lines.push(format!(
            "Leftovers of {count} killed run(s) found; `lbolt doctor --clean` removes them."
        )),
    }
    let lines: Vec<_> = lines.iter().map(|line| visible(line)).collect();
    lines.join("\n")
}

/// An instance of the kernel's tracer.
fn instance(name: &str) -> String {
    format!("the tracer's instance {name} (in /sys/kernel/tracing/instances)")
}

fn diagnoses() -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(terminal_width().unwrap_or(PIPED_WIDTH));
    table.set_header(["", "what", "seen", "consequence and remedy"]);
    let of_capture = [kernel(), request_capture()].into_iter().chain(capabilities());
    for d in examine().into_iter().chain(of_capture).chain([cpu_trace(), idle_load()]) {
        let health = match d.health {
            Health::Yes => "yes",
            Health::Partly => "partly",
            Health::No => "no",
        };
        table.add_row([health, &visible(&d.subject), &visible(&d.seen), &visible(&d.remedy)]);
    }
    table.trim_fmt()
}

/// Whether this kernel is one of those that lbolt is held against.
fn kernel() -> Diagnosis {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let name = |(major, minor): (u32, u32)| format!("Linux {major}.{minor}");
    let untested = "its capabilities were looked up but not tested: compare the counts of `lbolt \
                    record` with the kernel's counts, which it also prints";
    let (health, seen, remedy) = match standing(&release) {
        Some(Standing::Tried(tried)) => return of_the_lab(&release, &tried),
        Some(Standing::DevelopedOn) => {
            (Health::Yes, format!("{release}: lbolt is developed and tested on it"), "")
        }
        Some(Standing::Between(below, above)) => {
            let between = format!(
                "{release}: not tested, but {} and {} \
                                   are",
                name(below),
                name(above)
            );
            (Health::Partly, between, untested)
        }
        Some(Standing::Newer) => {
            (Health::Partly, format!("{release}: newer than every tested kernel"), untested)
        }
        Some(Standing::Older) => (
            Health::No,
            format!("{release}: older than {}", name(oldest())),
            "requests can be captured only by perf, if at all; use a newer kernel",
        ),
        None => (Health::Partly, release, untested),
    };
    Diagnosis { subject: "kernel".into(), health, seen, remedy: remedy.into() }
}

/// The row of a kernel that the lab has: on how many stacks of devices what works.
fn of_the_lab(release: &str, tried: &Tried) -> Diagnosis {
    let stacks = tried.works + tried.lacks + tried.fails;
    let others =
        [(tried.lacks, "in part"), (tried.fails, "not at all"), (tried.untried, "not tested")];
    let others = others.iter().filter(|(count, _)| *count > 0);
    let others: String = others.map(|(count, how)| format!(", {count} {how}")).collect();
    let works = tried.works;
    Diagnosis {
        subject: "kernel".into(),
        health: if works == stacks && tried.untried == 0 { Health::Yes } else { Health::Partly },
        seen: format!("{release}: {works} of {stacks} tested device stacks work{others}"),
        remedy: if others.is_empty() { "" } else { "see docs/kernels.md" }.into(),
    }
}

/// What a capture by BPF can tell on this kernel: a line for all that it can, and one for each
/// thing that it cannot.
fn capabilities() -> Vec<Diagnosis> {
    let Ok(kernel) = Kernel::look() else { return Vec::new() };
    let mut known = Vec::new();
    let mut lines = Vec::new();
    for (row, status) in kernel.capabilities() {
        match status {
            Status::Has => known.push(row.name),
            Status::NotMounted(name) => lines.push(Diagnosis {
                subject: format!("capture: {}", row.name),
                health: Health::Partly,
                seen: format!("not found; no {name} is mounted"),
                remedy: "no effect now; its module may not be loaded yet".into(),
            }),
            Status::Lacks(what) => lines.push(Diagnosis {
                subject: format!("capture: {}", row.name),
                health: Health::No,
                seen: what,
                remedy: format!("{}; {}", row.lost, row.remedy),
            }),
        }
    }
    let seen = known.join(", ");
    let all = Diagnosis {
        subject: "capture covers".into(),
        health: Health::Yes,
        seen,
        remedy: String::new(),
    };
    std::iter::once(all).chain(lines).collect()
}

/// The capture of requests by either method, each of which is begun and let go again.
fn request_capture() -> Diagnosis {
    let options = CaptureOptions { ring_bytes: 0, calls: true, ..CaptureOptions::default() };
    let bpf = Capture::load(&options).map(drop).map_err(|e| e.to_string());
    let perf = PerfCapture::load(&options).map(drop).map_err(|e| e.to_string());
    let (health, seen, remedy) = capture_health(bpf, perf);
    Diagnosis { subject: "request capture".into(), health, seen, remedy }
}

fn capture_health(bpf: Result<(), String>, perf: Result<(), String>) -> (Health, String, String) {
    match (bpf, perf) {
        (Ok(()), Ok(())) => {
            (Health::Yes, "by BPF (exact) and by perf (inexact)".into(), String::new())
        }
        (Ok(()), Err(perf)) => (
            Health::Yes,
            "by BPF (exact)".into(),
            format!(
                "perf is not available: failed to \
                                                            {perf}"
            ),
        ),
        (Err(bpf), Ok(())) => (
            Health::Partly,
            "by perf (inexact)".into(),
            format!(
                "completions are paired with requests by sector; BPF is not available: failed \
                     to {bpf}"
            ),
        ),
        (Err(bpf), Err(perf)) => (
            Health::No,
            format!("failed to {bpf}; failed to {perf}"),
            "record captures nothing; run as root, or import another tracer's trace".into(),
        ),
    }
}

/// The account of CPU time by BPF, which is loaded and let go again.
fn cpu_trace() -> Diagnosis {
    let (health, seen, remedy) = match trace::account::CpuAccount::load() {
        Ok(account) => match account.missing() {
            [] => (Health::Yes, "loaded, all tracepoints attached".to_owned(), String::new()),
            missing => (
                Health::Partly,
                format!("no tracepoint {}", missing.join(", ")),
                "the time of these interrupts is charged to the interrupted task".to_owned(),
            ),
        },
        Err(error) => (
            Health::No,
            format!("failed to {error}"),
            "total CPU time is measured by difference and by idle-priority loops; the trace \
             account is not measured"
                .to_owned(),
        ),
    };
    Diagnosis { subject: "CPU trace (BPF)".into(), health, seen, remedy }
}

/// Idle-priority loops take every CPU that is left.
fn idle_load() -> Diagnosis {
    let (health, seen, remedy) = match no_idle_load() {
        Ok(None) => (Health::Yes, "may run on every CPU".to_owned(), String::new()),
        Ok(Some(reason)) => (
            Health::No,
            reason,
            "run with two or more CPUs and without a CPU restriction (cpuset, \
                                  taskset)"
                .to_owned(),
        ),
        Err(error) => (Health::No, format!("{error:#}"), "mount /sys".to_owned()),
    };
    Diagnosis { subject: "idle-priority loops".into(), health, seen, remedy }
}

/// Removes what dead runs noted, and scratch that nobody noted where it was looked for; and just
/// that.
fn clean(directories: &[PathBuf]) -> anyhow::Result<()> {
    let found = Leftovers::look(directories);
    let mut failed = found.unreadable.clone();
    for sentence in &found.distrusted {
        print_line(sentence)?;
    }
    let is_nothing =
        found.dead.is_empty() && found.unnoted.is_empty() && found.instances.is_empty();
    if is_nothing && found.unreadable.is_empty() {
        print("Nothing to clean: no leftovers of killed runs.")?;
    }
    for dead in &found.dead {
        clean_after(dead, &mut failed)?;
    }
    for name in &found.instances {
        match trace::capture::remove_abandoned(name) {
            Err(error) => failed.push(format!("failed to remove {}: {error}", instance(name))),
            Ok(()) => print(&format!("removed {}", instance(name)))?,
        }
    }
    for left in found.unnoted {
        let removed = format!("removed {}", left.path().display());
        match left.remove() {
            Err(error) => failed.push(leftover::failed(error)),
            Ok(()) => print_line(&removed)?,
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failure(Fault::Io, failed.join("; "))) }
}

/// Removes what one of them noted; each part is seen to, whatever became of those before it.
fn clean_after(dead: &Dead, failed: &mut Vec<String>) -> anyhow::Result<()> {
    // A device has no run.
    let run = match dead.note.run.as_os_str().is_empty() {
        true => format!("process {}", dead.note.pid),
        false => format!("run {}", dead.note.run.display()),
    };
    let commands = dead.commands();
    let failed_before = failed.len();
    for command in &commands {
        match dead.end(command) {
            Ok(()) => print_line(&format!("ended {command} ({run})"))?,
            Err(sentence) => failed.push(sentence),
        }
    }
    // Its note stays for a command that goes on.
    let cleaned = dead.clean(failed.len() == failed_before);
    if failed.len() == failed_before && cleaned.is_nothing() && commands.is_empty() {
        print_line(&format!("killed {run} left nothing to clean"))?;
    }
    failed.extend(cleaned.failed);
    for Setting { path, value } in &cleaned.restored {
        print_line(&format!("set {} back to {value} ({run})", path.display()))?;
    }
    for path in &cleaned.removed {
        print_line(&format!("removed {} ({run})", path.display()))?;
    }
    for sentence in &cleaned.kept {
        print_line(&format!("{sentence} ({run})"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_method_that_works_is_named_and_why_the_other_does_not() {
        let no = |what: &str| Err(format!("load {what}: not permitted; run as root"));
        for (bpf, perf, health, seen, remedy) in [
            (Ok(()), Ok(()), Health::Yes, "by BPF", ""),
            (Ok(()), no("perf"), Health::Yes, "by BPF", "load perf: not permitted; run as root"),
            (no("BPF"), Ok(()), Health::Partly, "by perf", "load BPF: not permitted; run as root"),
            (no("BPF"), no("perf"), Health::No, "failed to load perf", "run as root"),
        ] {
            let (found, text, cure) = capture_health(bpf, perf);
            assert_eq!(found, health);
            assert!(text.contains(seen) && cure.contains(remedy), "{text}: {cure}");
        }
    }
}

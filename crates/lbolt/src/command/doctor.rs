//! `lbolt doctor`: what this machine can do for us and what not, why, and the remedy.

use super::{print, print_line};
use crate::cli::DoctorOptions;
use crate::exit::{Fault, failure};
use crate::leftover;
use crate::room::overhead::no_soak;
use comfy_table::{ContentArrangement, Table, presets};
use host::doctor::{Diagnosis, Health, examine};
use model::text::visible;
use trace::capture::perf::PerfCapture;
use trace::capture::{Capture, CaptureOptions};

/// Runs the command.
///
/// # Errors
/// Leftovers that cannot be looked for or removed.
pub fn run(options: &DoctorOptions) -> anyhow::Result<()> {
    if options.clean {
        return clean();
    }
    print(&diagnoses())?;
    match leftover::of_dead_runs() {
        // The machine is no worse for it: whoever cannot read notes has left none here.
        Err(sentence) => print(&sentence),
        Ok(dead) if dead.is_empty() => print("No killed run left anything behind."),
        Ok(dead) => {
            for scratch in dead.iter().flat_map(|(_, note)| &note.scratch).filter(|s| s.exists()) {
                print_line(&format!("a killed run left {}", scratch.display()))?;
            }
            let count = dead.len();
            print(&format!(
                "{count} killed run(s) left scratch files; `lbolt doctor --clean` removes them."
            ))
        }
    }
}

fn diagnoses() -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["", "what", "seen", "what is lost, and the remedy"]);
    for d in examine().into_iter().chain([request_capture(), cpu_trace(), soak_loops()]) {
        let health = match d.health {
            Health::Yes => "yes",
            Health::Partly => "partly",
            Health::No => "no",
        };
        table.add_row([health, &visible(&d.subject), &visible(&d.seen), &visible(&d.remedy)]);
    }
    table.trim_fmt()
}

/// The capture of requests by either method, each of which is begun and let go again.
fn request_capture() -> Diagnosis {
    let options = CaptureOptions { devices: Vec::new(), ring_bytes: 0 };
    let bpf = Capture::load(&options).map(drop).map_err(|e| e.to_string());
    let perf = PerfCapture::load(&options).map(drop).map_err(|e| e.to_string());
    let (health, seen, remedy) = capture_health(bpf, perf);
    Diagnosis { subject: "request capture".into(), health, seen, remedy }
}

fn capture_health(bpf: Result<(), String>, perf: Result<(), String>) -> (Health, String, String) {
    match (bpf, perf) {
        (Ok(()), Ok(())) => {
            (Health::Yes, "by BPF, exactly; by perf, inexactly".into(), String::new())
        }
        (Ok(()), Err(perf)) => {
            (Health::Yes, "by BPF, exactly".into(), format!("not by perf: failed to {perf}"))
        }
        (Err(bpf), Ok(())) => (
            Health::Partly,
            "by perf, inexactly".into(),
            format!("answers are matched to requests by place; not by BPF: failed to {bpf}"),
        ),
        (Err(bpf), Err(perf)) => (
            Health::No,
            format!("failed to {bpf}; and failed to {perf}"),
            "record captures nothing; run as root, or import what another tracer captured".into(),
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
                "these interrupts are charged to what they interrupt".to_owned(),
            ),
        },
        Err(error) => (
            Health::No,
            format!("failed to {error}"),
            "the bill is found by difference and by soak loops; the account by trace is not measured".to_owned(),
        ),
    };
    Diagnosis { subject: "CPU trace (BPF)".into(), health, seen, remedy }
}

/// Soak loops take every CPU that is left.
fn soak_loops() -> Diagnosis {
    let (health, seen, remedy) = match no_soak() {
        Ok(None) => (Health::Yes, "may run on every CPU".to_owned(), String::new()),
        Ok(Some(reason)) => {
            (Health::No, reason, "run where all CPUs may be used, on two or more".to_owned())
        }
        Err(error) => (Health::No, format!("{error:#}"), "mount /sys".to_owned()),
    };
    Diagnosis { subject: "soak loops".into(), health, seen, remedy }
}

/// Removes what dead runs noted, and just that.
fn clean() -> anyhow::Result<()> {
    let unable = |sentence: String| failure(Fault::Io, sentence);
    let dead = leftover::of_dead_runs().map_err(unable)?;
    if dead.is_empty() {
        return print("Nothing to clean: no killed run left anything behind.");
    }
    let mut outcome = Ok(());
    for (path, note) in dead {
        let removed = match leftover::clean(&path, &note) {
            Ok(removed) => removed,
            // The others are cleaned all the same.
            Err(sentence) => {
                outcome = outcome.and(Err(unable(sentence)));
                continue;
            }
        };
        for scratch in &removed {
            print_line(&format!("removed {} (run {})", scratch.display(), note.run.display()))?;
        }
        if removed.is_empty() {
            print_line(&format!("run {} was killed and left nothing", note.run.display()))?;
        }
    }
    outcome
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
            (no("BPF"), no("perf"), Health::No, "and failed to load perf", "run as root"),
        ] {
            let (found, text, cure) = capture_health(bpf, perf);
            assert_eq!(found, health);
            assert!(text.contains(seen) && cure.contains(remedy), "{text}: {cure}");
        }
    }
}

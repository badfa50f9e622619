//! `lbolt doctor`: what this machine can do for us and what not, why, and the remedy.

use super::print;
use crate::cli::DoctorOptions;
use crate::leftover;
use comfy_table::{ContentArrangement, Table, presets};
use host::doctor::{Health, examine};

/// Runs the command.
///
/// # Errors
/// Leftovers that cannot be looked for or removed.
pub fn run(options: &DoctorOptions) -> anyhow::Result<()> {
    if options.clean {
        return clean();
    }
    print(&diagnoses())?;
    let dead = leftover::of_dead_runs()?;
    match dead.len() {
        0 => print("No killed run left anything behind."),
        n => print(&format!(
            "{n} killed run(s) left scratch files; `lbolt doctor --clean` removes them."
        )),
    }
}

fn diagnoses() -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["", "what", "seen", "what is lost, and the remedy"]);
    for d in examine() {
        let health = match d.health {
            Health::Yes => "yes",
            Health::Partly => "partly",
            Health::No => "no",
        };
        table.add_row([health, &d.subject, &d.seen, &d.remedy]);
    }
    table.trim_fmt()
}

/// Removes what dead runs noted, and just that.
fn clean() -> anyhow::Result<()> {
    let dead = leftover::of_dead_runs()?;
    if dead.is_empty() {
        return print("Nothing to clean: no killed run left anything behind.");
    }
    for (path, note) in dead {
        let removed = leftover::clean(&path, &note)?;
        for scratch in &removed {
            print(&format!("removed {} (run {})", scratch.display(), note.run.display()))?;
        }
        if removed.is_empty() {
            print(&format!("run {} was killed and left nothing", note.run.display()))?;
        }
    }
    Ok(())
}

//! The packages of `viewer/`, installed where they are not: what builds the page's script, and what
//! tests it in a browser.
//!
//! Non-goals: what is done with them.

use std::path::Path;
use std::process::{Command, Stdio};

/// Installs what package-lock.json names, if that is not there yet.
/// Errors: a sentence, where npm is missing, old, or has no way to its packages.
pub(crate) fn install(viewer: &Path) -> Result<(), String> {
    let changed = |name: &str| viewer.join(name).metadata().and_then(|file| file.modified()).ok();
    // npm writes this when all are there.
    let installed = changed("node_modules/.package-lock.json");
    if installed.is_some_and(|at| changed("package-lock.json").is_some_and(|lock| lock <= at)) {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"]);
    match npm.current_dir(viewer).stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().rfind(|line| line.contains("ERR!")).unwrap_or_default();
            Err(format!("npm could not install the viewer's packages: {last}"))
        }
        Err(error) => Err(format!("failed to run npm: {error}")),
    }
}

//! A program that must succeed.

use anyhow::{Context as _, ensure};
use std::process::{Command, Stdio};

/// What it prints, as bytes. What it complains of is in the error.
/// Errors: it cannot be started, or fails.
pub(crate) fn bytes(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let said = command.stdin(Stdio::null()).output();
    let said = said.with_context(|| format!("failed to run {}", name(command)))?;
    let [text, complaint] = [&said.stdout, &said.stderr].map(|all| String::from_utf8_lossy(all));
    ensure!(said.status.success(), "{} failed: {text}{complaint}", name(command));
    Ok(said.stdout)
}

/// What it prints, as text.
/// Errors: as above.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    Ok(String::from_utf8_lossy(&bytes(command)?).into_owned())
}

/// Runs it in sight of the user.
/// Errors: as above.
pub(crate) fn watch(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status();
    let status = status.with_context(|| format!("failed to run {}", name(command)))?;
    ensure!(status.success(), "{} failed: {status}", name(command));
    Ok(())
}

/// Whether a program is there.
pub(crate) fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    places.any(|place| place.join(program).is_file())
}

fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

//! What is checked of a package besides its installation: that the program needs no loader and no
//! library and is for the right processor, lintian's errors, and what a program for another
//! processor says under an emulator.

use super::names::Target;
use crate::command::{is_there, output};
use anyhow::{Context as _, ensure};
use model::record::TOOL_VERSION;
use object::elf::{PT_INTERP, ProgramHeader64};
use object::read::elf::{ElfFile64, ProgramHeader as _};
use object::{Endianness, Object as _};
use std::path::Path;
use std::process::Command;

/// The program is for its processor, and static.
/// Errors: it is not.
pub(super) fn binary(path: &Path, target: Target) -> anyhow::Result<()> {
    let bytes =
        std::fs::read(path).with_context(|| format!("failed to read {}", path.display()))?;
    let file = ElfFile64::<Endianness>::parse(&*bytes).context("the program is no ELF file")?;
    ensure!(file.architecture() == target.architecture, "it is for another processor");
    // A program that needs libraries names the loader that brings them.
    let is_loader = |segment: &ProgramHeader64<_>| segment.p_type(file.endian()) == PT_INTERP;
    ensure!(!file.elf_program_headers().iter().any(is_loader), "it is not static");
    Ok(())
}

/// Lintian's errors are ours; what it only warns of is said.
/// Errors: those.
pub(super) fn lintian(package: &Path) -> anyhow::Result<String> {
    if !is_there("lintian") {
        return Ok("not looked at by lintian, which is not installed".to_owned());
    }
    let mut lintian = Command::new("lintian");
    lintian.args(["--allow-root", "--fail-on", "error", "--tag-display-limit", "0"]).arg(package);
    let said = output(&mut lintian)?;
    let tags: Vec<&str> = said.lines().filter(|line| !line.starts_with("N:")).collect();
    Ok(match tags.as_slice() {
        [] => "lintian says nothing".to_owned(),
        tags => format!("lintian finds no error, and says: {}", tags.join("; ")),
    })
}

/// Runs a program for another processor under its emulator: its version, what it says of this
/// machine, files written and timed, and a paper's modelled machines, whose numbers are the same
/// everywhere. `native` is the same program for this machine.
/// Errors: it says something else.
pub(super) fn emulated(binary: &Path, target: Target, native: Option<&Path>) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let run = |command: &mut Command, words: &[&str]| {
        output(command.args(words).current_dir(scratch.path()).env("LBOLT_STATE", scratch.path()))
    };
    let foreign = |words: &[&str]| run(Command::new(target.emulator).arg(binary), words);
    let version = foreign(&["--version"])?;
    ensure!(version.trim() == format!("lbolt {TOOL_VERSION}"), "it says {version}");
    let health = foreign(&["doctor"])?;
    ensure!(health.contains("clock_gettime"), "doctor says of its clock: {health}");
    foreign(&["throughput", ".", "--rw", "write", "--bs", "64k", "--size", "2m", "--runs", "2"])?;
    let papers = ["papers", "1980", "--all"];
    let (ours, theirs) = (native.map(|n| run(&mut Command::new(n), &papers)), foreign(&papers)?);
    let is_same = ours.transpose()?.is_none_or(|ours| ours == theirs);
    ensure!(is_same, "it computes the tables of 1980 otherwise");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::names::TARGETS;

    #[test]
    fn a_program_that_needs_a_loader_or_another_processor_is_refused() {
        // This test itself is linked with the machine's C library.
        let own = std::env::current_exe().unwrap();
        for target in TARGETS {
            let said = binary(&own, target).map_err(|error| error.to_string());
            let expected = match target.is_native() {
                true if cfg!(target_feature = "crt-static") => Ok(()),
                true => Err("it is not static".to_owned()),
                false => Err("it is for another processor".to_owned()),
            };
            assert_eq!(said, expected, "{}", target.processor);
        }
        let text = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(text.path(), "#!/bin/sh").unwrap();
        assert!(binary(text.path(), TARGETS[0]).is_err());
    }
}

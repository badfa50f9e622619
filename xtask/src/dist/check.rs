//! What is checked of a package besides its installation: that the program needs no loader and no
//! library and is for the right processor, lintian's errors, and what a program for another
//! processor says under an emulator.

use super::names::Target;
use crate::command::{is_there, output};
use anyhow::{Context as _, ensure};
use model::record::TOOL_VERSION;
use std::path::Path;
use std::process::Command;

/// ELF's numbers of processors, and its kind of segment that names a loader (elf(5)).
const MACHINES: [(&str, u16); 2] = [("x86_64", 62), ("aarch64", 183)];
const LOADER: u32 = 3;
/// Where a 64-bit ELF file says what: its machine, where its segments begin, how large an entry of
/// them is, and how many there are.
const MACHINE: usize = 18;
const SEGMENTS: usize = 32;
const SEGMENT_BYTES: usize = 54;
const SEGMENT_COUNT: usize = 56;

/// The program is for its processor, and static.
/// Errors: it is not.
pub(super) fn binary(path: &Path, target: Target) -> anyhow::Result<()> {
    let bytes =
        std::fs::read(path).with_context(|| format!("failed to read {}", path.display()))?;
    let machine = u16_at(&bytes, MACHINE).context("the program is no ELF file")?;
    let wanted = MACHINES.iter().find(|(name, _)| *name == target.processor);
    ensure!(wanted.is_some_and(|(_, number)| *number == machine), "it is for another processor");
    ensure!(!needs_loader(&bytes).context("the program's segments cannot be read")?, "not static");
    Ok(())
}

/// Whether an ELF file asks for a loader, as one does that needs libraries.
fn needs_loader(bytes: &[u8]) -> Option<bool> {
    let begin = usize::try_from(u64_at(bytes, SEGMENTS)?).ok()?;
    let (size, count) = (u16_at(bytes, SEGMENT_BYTES)?, u16_at(bytes, SEGMENT_COUNT)?);
    let kinds = (0..count).map(|i| u32_at(bytes, begin + usize::from(size) * usize::from(i)));
    kinds.collect::<Option<Vec<_>>>().map(|kinds| kinds.contains(&LOADER))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
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

    /// A file of one segment of this kind.
    fn elf(machine: u16, kind: u32) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[MACHINE..MACHINE + 2].copy_from_slice(&machine.to_le_bytes());
        bytes[SEGMENTS] = 64;
        bytes[SEGMENT_BYTES] = 56;
        bytes[SEGMENT_COUNT] = 1;
        bytes.extend(kind.to_le_bytes());
        bytes
    }

    #[test]
    fn a_static_program_is_told_from_one_that_needs_a_loader() {
        assert_eq!(needs_loader(&elf(62, 1)), Some(false));
        assert_eq!(needs_loader(&elf(62, LOADER)), Some(true));
        assert_eq!(needs_loader(&elf(62, 1)[..66]), None);
        // This test itself is linked with the machine's C library.
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(needs_loader(&own), Some(cfg!(not(target_feature = "crt-static"))));
    }

    #[test]
    fn a_program_for_another_processor_is_refused() {
        use crate::dist::names::TARGETS;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), elf(183, 1)).unwrap();
        let [intel, arm] = TARGETS;
        assert!(binary(file.path(), arm).is_ok());
        assert!(binary(file.path(), intel).is_err());
        std::fs::write(file.path(), elf(183, LOADER)).unwrap();
        assert!(binary(file.path(), arm).is_err());
    }
}

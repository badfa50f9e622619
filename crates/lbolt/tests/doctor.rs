//! `doctor` says for each capability whether this machine has it, and is well for saying so.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use crate::common::{Ended, Lab};
use std::os::unix::fs::PermissionsExt;

/// A line for each capability, in words that begin with the verdict; `no` has its remedy.
fn assert_examined(ended: &Ended) {
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    for capability in [
        "clock",
        "CPUs",
        "root",
        "loop devices",
        "detached mounts",
        "idle clock",
        "stolen time",
        "io_uring",
        "request capture",
        "fresh:ext4",
        "fresh:ext4-bigalloc",
        "fresh:xfs",
        "fresh:btrfs",
        "guard",
    ] {
        let is_its = |line: &&str| {
            let words = line.trim_start();
            ["yes", "partly", "no"].iter().any(|verdict| {
                let rest = words.strip_prefix(verdict).map(str::trim_start);
                let behind = rest.and_then(|rest| rest.strip_prefix(capability));
                behind.is_some_and(|behind| behind.starts_with("  "))
            })
        };
        let lines: Vec<_> = ended.out.lines().filter(is_its).collect();
        assert_eq!(lines.len(), 1, "{capability}: {}", ended.out);
        if lines[0].trim_start().starts_with("no ") {
            let columns = lines[0].split("  ").filter(|text| !text.trim().is_empty()).count();
            assert_eq!(columns, 4, "a remedy: {}", lines[0]);
        }
    }
}

#[test]
fn each_capability_has_its_line() {
    let lab = Lab::new();
    // The kernel's tracer is everybody's: others may have been killed with an instance of it.
    lab.run("doctor --clean");
    let ended = lab.run("doctor");
    assert_examined(&ended);
    assert!(ended.out.contains("No leftovers of killed runs."), "{}", ended.out);
    // What is piped is read, too.
    assert!(ended.out.lines().all(|line| line.chars().count() <= 100), "{}", ended.out);
    let clean = lab.run("doctor --clean");
    assert_eq!(clean.code, 0);
    assert!(clean.out.starts_with("Nothing to clean"), "{}", clean.out);
}

#[test]
fn nobody_is_examined_too_and_told_what_root_would_have() {
    let lab = Lab::for_everyone();
    let Some(command) = lab.lbolt_of_nobody("doctor") else { return };
    let ended = lab.end(command);
    assert_examined(&ended);
    let words = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("no root no") && words.contains("run as root"), "{}", ended.out);
}

#[test]
fn notes_that_cannot_be_read_are_told_and_are_no_failure() {
    let lab = Lab::for_everyone();
    let Some(_) = lab.lbolt_of_nobody("doctor") else { return };
    let closed = lab.notes_of_nobody().with_file_name("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).unwrap();
    let doctor = |words: &str| {
        let mut command = lab.lbolt_of_nobody(words).unwrap();
        command.env("LBOLT_STATE", closed.join("state"));
        lab.end(command)
    };
    let ended = doctor("doctor");
    assert_examined(&ended);
    assert!(
        ended.out.contains("for leftovers of killed runs") && ended.out.contains("closed/state")
    );
    doctor("doctor --clean")
        .assert_refused(1, &["for leftovers of killed runs", "closed/state/running"]);
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o755)).unwrap();
}

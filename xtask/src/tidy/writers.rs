//! Only few modules open a path for writing, make a directory, rename or remove: what runs as root
//! writes by way of these. Each of them says how it keeps others from having put a link there.
//!
//! Non-goals: tests and chores, which write as whoever develops.

use super::Fault;
use super::source::{Source, Tree, line_at};

/// What writes by a path.
const WAYS: &[&str] = &[
    "fs::write(",
    " File::create",
    "fs::File::create",
    ".write(true)",
    ".create_new(true)",
    "create_dir",
    "DirBuilder::new",
    "fs::rename(",
    "remove_file(",
    "remove_dir",
    "OFlags::WRONLY",
    "OFlags::RDWR",
    "OFlags::CREATE",
    "OFlags::TMPFILE",
];

/// Where a file, or all files beneath, may do so, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("crates/model/src/held.rs", "in a directory that is held"),
    ("crates/model/src/run.rs", "in a run's directory, which is held"),
    ("crates/model/src/history/", "in a history's directory, which is held"),
    ("crates/model/src/whole_file.rs", "new files, no link followed"),
    ("crates/trace/src/output/", "new files in a run's directory, which is held"),
    ("crates/formats/src/export/output.rs", "new files without a name; no block device"),
    ("crates/trace/src/capture/ftrace.rs", "the kernel's tracefs, no link followed"),
    ("crates/host/src/state.rs", "notes, in a directory that nobody else can write"),
    ("crates/host/src/scratch.rs", "scratch, in a directory that is held"),
    ("crates/host/src/privilege.rs", "a history's directory, all the way to which is root's"),
    ("crates/host/src/settings/known.rs", "the kernel's settings, a closed table"),
    ("crates/host/src/group.rs", "the kernel's cgroups"),
    ("crates/host/src/engine/", "the file that is measured, in scratch, or /dev/null"),
    ("crates/host/src/subject/", "the file or the device that is measured, which the guard passed"),
    ("crates/host/src/served/", "the kernel's drivers and devices of our own"),
    ("crates/host/src/device/identity.rs", "a device, to ask what it is"),
    ("crates/host/src/guard/claim.rs", "a device, to claim it"),
    ("crates/host/src/device/fixture.rs", "a test's own machine, in a temporary directory"),
    ("crates/host/src/doctor.rs", "the driver of loop devices, to see whether it is there"),
    ("crates/lbolt/src/run/directory.rs", "the directory above a run, as mkdir -p does"),
    ("crates/top/src/terminal.rs", "the terminal"),
];

/// Nothing else opens a path for writing.
pub(super) fn paths(tree: &Tree) -> Vec<Fault> {
    let is_allowed = |path: &str| ALLOWED.iter().any(|(allowed, _)| path.starts_with(allowed));
    let ours = |source: &&Source| source.path.contains("/src/") && !is_allowed(&source.path);
    let products = tree.rust().filter(|source| source.path.starts_with("crates/"));
    products.filter(ours).flat_map(in_file).collect()
}

fn in_file(source: &Source) -> Vec<Fault> {
    let found = |way: &&'static str| {
        let (way, code) = (*way, source.code.as_str());
        code.match_indices(way).map(move |(place, _)| (line_at(code, place), way))
    };
    let mut all: Vec<(usize, &str)> = WAYS.iter().flat_map(found).collect();
    all.retain(|(line, _)| !source.is_test_line(line - 1));
    all.sort_unstable();
    all.dedup_by_key(|(line, _)| *line);
    let fault = |(line, way)| Fault { file: source.path.clone(), line, what: format!("{way:?}") };
    all.into_iter().map(fault).collect()
}

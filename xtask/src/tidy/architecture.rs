//! Who may know whom, how small the seams are, and under which licence.

use super::Fault;
use super::source::{Package, Source, Tree, block, find_word, line_at};

/// Dependencies among crates in the middle: the papers run on simulated disks, and are shown beside
/// the models as tables; metrics are shown by the small server.
const AMONG: &[(&str, &str)] = &[
    ("analysis", "capture"),
    ("analysis", "cli"),
    ("analysis", "formats"),
    ("analysis", "host"),
    ("analysis", "messages"),
    ("analysis", "report"),
    ("analysis", "trace"),
    ("analysis", "verdict"),
    ("capture", "host"),
    ("capture", "messages"),
    ("capture", "report"),
    ("capture", "trace"),
    ("capture", "verdict"),
    ("explore", "verdict"),
    ("formats", "trace"),
    ("messages", "formats"),
    ("messages", "host"),
    ("messages", "sim"),
    ("messages", "trace"),
    ("standing", "capture"),
    ("standing", "cli"),
    ("standing", "host"),
    ("standing", "messages"),
    ("standing", "trace"),
    ("standing", "verdict"),
    ("verdict", "analyze"),
    ("metrics", "server"),
    ("papers", "report"),
    ("papers", "sim"),
];

/// Those that tests alone may have: experiments run on the papers' machines.
const FOR_TESTS: &[(&str, &str)] = &[("experiment", "papers"), ("experiment", "sim")];

fn allowed(from: &str, to: &str, for_tests: bool) -> bool {
    match from {
        "model" => false,
        "lbolt" => to != "xtask",
        // Help is made of the others' tables.
        "cli" => !matches!(to, "lbolt" | "xtask"),
        "xtask" => true,
        _ => {
            let among = (from, to);
            to == "model" || AMONG.contains(&among) || (for_tests && FOR_TESTS.contains(&among))
        }
    }
}

/// model ← the crates in the middle, which hardly see each other ← lbolt.
pub(super) fn directions(tree: &Tree) -> Vec<Fault> {
    let ours = |name: &str| tree.packages.iter().any(|package| package.name == name);
    let mut faults = Vec::new();
    for package in &tree.packages {
        for (name, for_tests) in &package.dependencies {
            if ours(name) && !allowed(&package.name, name, *for_tests) {
                let what = format!("{} depends on {name}", package.name);
                faults.push(in_manifest(tree, package, name, what));
            }
        }
    }
    faults
}

/// The crate that may load programs into the kernel, and what the loader's packages begin with.
const BPF: (&str, &str) = ("trace", "aya");

/// BPF programs, and what loads them, are in one crate.
pub(super) fn bpf(tree: &Tree) -> Vec<Fault> {
    let (home, loader) = BPF;
    let others = tree.packages.iter().filter(|package| package.name != home);
    let loading = others.flat_map(|package| {
        let named = package.dependencies.iter().filter(|(name, _)| name.starts_with(loader));
        named.map(|(name, _)| {
            in_manifest(tree, package, name, format!("{} depends on {name}", package.name))
        })
    });
    let programs = tree.files.iter().filter(|source| source.path.ends_with(".bpf.c"));
    let strays = programs.filter(|source| source.package() != home).map(|source| Fault {
        file: source.path.clone(),
        line: 1,
        what: format!("a BPF program outside {home}"),
    });
    loading.chain(strays).collect()
}

/// A fault in a package's manifest, at the line that begins with `key`.
fn in_manifest(tree: &Tree, package: &Package, key: &str, what: String) -> Fault {
    let folder = if package.name == "xtask" { "" } else { "crates/" };
    let file = format!("{folder}{}/Cargo.toml", package.name);
    let text = tree.files.iter().find(|source| source.path == file).map(|s| s.text.as_str());
    let begins = |line: &str| line.starts_with(key);
    let line = text.and_then(|text| text.lines().position(begins)).map_or(1, |place| place + 1);
    Fault { file, line, what }
}

const SEAMS: &str = "crates/model/src/seam.rs";

/// The most methods that each seam may have.
const METHODS: &[(&str, usize)] = &[("Subject", 5), ("Engine", 3), ("Clock", 2), ("Job", 1)];

/// The traits that everybody implements stay small.
pub(super) fn seams(tree: &Tree) -> Vec<Fault> {
    let file = tree.files.iter().find(|source| source.path == SEAMS);
    let code = file.map_or("", |source| source.code.as_str());
    METHODS.iter().filter_map(|(name, most)| seam(code, name, *most)).collect()
}

fn seam(code: &str, name: &str, most: usize) -> Option<Fault> {
    let fault = |line, what| Some(Fault { file: SEAMS.into(), line, what });
    let Some(place) = find_word(code, &format!("trait {name}")) else {
        return fault(1, format!("the seam {name} is not here"));
    };
    let body = block(code, place).map_or("", |range| &code[range]);
    let methods = body.lines().filter(|line| find_word(line, "fn").is_some()).count();
    if methods > most {
        return fault(line_at(code, place), format!("{name} has {methods} methods, not {most}"));
    }
    None
}

const LICENCE: &str = "MIT OR Apache-2.0";

/// Every package says its licence, and the licences' texts are here.
pub(super) fn licences(tree: &Tree) -> Vec<Fault> {
    let unlicensed = tree.packages.iter().filter(|p| p.license.as_deref() != Some(LICENCE));
    let missing = ["LICENSE-MIT", "LICENSE-APACHE"]
        .into_iter()
        .filter(|name| !tree.files.iter().any(|source| source.path == *name));
    let of_package = |package: &Package| {
        let what = format!("{} is not under {LICENCE}", package.name);
        in_manifest(tree, package, "license", what)
    };
    let of_file =
        |name: &str| Fault { file: name.into(), line: 1, what: "the file is missing".into() };
    unlicensed.map(of_package).chain(missing.map(of_file)).collect()
}

/// Every package takes on the workspace's lints, which keep the other invariants.
pub(super) fn lints(tree: &Tree) -> Vec<Fault> {
    let manifest = |s: &&Source| !s.package().is_empty() && s.path.ends_with("/Cargo.toml");
    let without = tree.files.iter().filter(manifest);
    let without = without.filter(|s| !s.text.contains("[lints]\nworkspace = true"));
    let what = "the workspace's lints are not taken on";
    without.map(|s| Fault { file: s.path.clone(), line: 1, what: what.into() }).collect()
}

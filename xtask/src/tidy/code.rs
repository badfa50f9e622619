//! What code may do where.

use super::Fault;
use super::source::{Source, Tree, find_word, is_word, line_at};

fn fault(source: &Source, line: usize, what: impl Into<String>) -> Fault {
    Fault { file: source.path.clone(), line, what: what.into() }
}

/// The crates in which system calls live.
const EDGE: &[&str] = &["host", "trace"];

/// Lines above an unsafe block in which its reason may begin.
const REASON_WITHIN: usize = 6;

/// Unsafe code is in two crates only, and says there why it is sound.
pub(super) fn unsafe_at_the_edge(tree: &Tree) -> Vec<Fault> {
    let (edge, others): (Vec<&Source>, Vec<&Source>) =
        tree.rust().partition(|source| EDGE.contains(&source.package()));
    let unreasoned = edge.into_iter().flat_map(unreasoned);
    let misplaced = others.into_iter().flat_map(misplaced);
    unreasoned.chain(misplaced).chain(unlinted(tree)).collect()
}

fn misplaced(source: &Source) -> Vec<Fault> {
    let lifted = |line: &str| {
        find_word(line, "unsafe_code").is_some()
            && ["allow", "expect", "warn"].iter().any(|level| find_word(line, level).is_some())
    };
    let found = source.lines().filter_map(|(number, line)| {
        let what = if find_word(line, "unsafe").is_some() {
            "unsafe outside host and trace"
        } else if lifted(line) {
            "the lint against unsafe code is lifted outside host and trace"
        } else {
            return None;
        };
        Some(fault(source, number, what))
    });
    found.collect()
}

fn unreasoned(source: &Source) -> Vec<Fault> {
    let text: Vec<&str> = source.text.lines().collect();
    let needs_reason = |line: &str| {
        find_word(line, "unsafe").is_some_and(|place| {
            let behind = line[place..].trim_start_matches("unsafe").trim_start();
            behind.starts_with('{') || behind.starts_with("impl")
        })
    };
    let reasoned = |number: usize| {
        text[number.saturating_sub(1 + REASON_WITHIN)..number]
            .iter()
            .any(|l| l.contains("// SAFETY:"))
    };
    source
        .lines()
        .filter(|(number, line)| needs_reason(line) && !reasoned(*number))
        .map(|(number, _)| fault(source, number, "unsafe without its // SAFETY: comment"))
        .collect()
}

/// Manifests of other crates that do not take on the workspace's lints.
fn unlinted(tree: &Tree) -> impl Iterator<Item = Fault> {
    let manifest = |s: &&Source| !s.package().is_empty() && s.path.ends_with("/Cargo.toml");
    let manifests = tree.files.iter().filter(manifest);
    manifests
        .filter(|s| !EDGE.contains(&s.package()) && !s.text.contains("[lints]\nworkspace = true"))
        .map(|s| fault(s, 1, "the workspace's lints, which deny unsafe code, are not taken on"))
}

/// The crates that run in virtual time.
const PURE: &[&str] = &["experiment", "papers", "sim"];

/// What of the standard library they do without.
const IMPURE: &[&str] = &["Instant", "SystemTime", "fs", "thread", "net", "process"];

/// No clock, file, thread, socket or process in the pure crates.
pub(super) fn purity(tree: &Tree) -> Vec<Fault> {
    let pure = tree.rust().filter(|source| PURE.contains(&source.package()));
    pure.flat_map(|source| {
        let code: String = source.product_lines().map(|(_, line)| format!("{line}\n")).collect();
        let impure =
            |place: usize| IMPURE.iter().find(|w| find_word(path(&code[place..]), w).is_some());
        let places: Vec<usize> = code.match_indices("std::").map(|(place, _)| place).collect();
        let faults = places.into_iter().filter_map(|place| {
            let what = format!("std's {} in a pure crate", impure(place)?);
            Some(fault(source, line_at(&code, place), what))
        });
        faults.collect::<Vec<_>>()
    })
    .collect()
}

/// The path that a text begins with, with the braces of an import.
fn path(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        !(is_word(c) || c == ':' || c == '{' || depth > 0)
    });
    &text[..end.unwrap_or(text.len())]
}

/// The packages that print and exit.
const SPEAKERS: &[&str] = &["lbolt", "xtask"];

const SPEECH: &[&str] =
    &["println!", "eprintln!", "print!", "eprint!", "dbg!", "process::exit", "process::abort"];

/// Ways to the standard streams.
const STREAMS: &[&str] =
    &["println!", "eprintln!", "print!", "eprint!", "dbg!", "stdout()", "stderr()"];

/// Where lbolt prints, and all that it prints is made harmless.
const DOOR: &str = "crates/lbolt/src/print/output.rs";

/// Nothing prints or exits but the binaries, and lbolt in one place alone. A build script speaks to
/// cargo.
pub(super) fn silence(tree: &Tree) -> Vec<Fault> {
    let is_silent = |s: &&Source| {
        !s.package().is_empty()
            && !SPEAKERS.contains(&s.package())
            && !s.path.ends_with("/build.rs")
    };
    let is_inside = |s: &&Source| s.package() == "lbolt" && s.path != DOOR;
    let silent = tree.rust().filter(is_silent).map(|s| (s, SPEECH, "outside lbolt and xtask"));
    let inside = tree.rust().filter(is_inside).map(|s| (s, STREAMS, "outside lbolt's output.rs"));
    silent.chain(inside).flat_map(|(source, words, place)| spoken(source, words, place)).collect()
}

fn spoken(source: &Source, words: &[&str], place: &str) -> Vec<Fault> {
    let said = |(number, line)| {
        let word = words.iter().find(|word| find_word(line, word).is_some())?;
        Some(fault(source, number, format!("{word} {place}")))
    };
    source.product_lines().filter_map(said).collect()
}

/// Every module says first what it is for.
pub(super) fn introductions(tree: &Tree) -> Vec<Fault> {
    let silent = tree.rust().filter(|source| !source.text.starts_with("//!"));
    silent.map(|source| fault(source, 1, "the module does not open with //!")).collect()
}

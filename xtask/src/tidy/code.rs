//! What stands in code where no lint looks: introductions, imports, and the width of lines.

use super::Fault;
use super::source::{Source, Tree, is_word, line_at};
use std::collections::{BTreeMap, BTreeSet};

fn fault(source: &Source, line: usize, what: impl Into<String>) -> Fault {
    Fault { file: source.path.clone(), line, what: what.into() }
}

/// Every module says first what it is for.
pub(super) fn introductions(tree: &Tree) -> Vec<Fault> {
    let silent = tree.rust().filter(|source| !source.text.starts_with("//!"));
    silent.map(|source| fault(source, 1, "the module does not open with //!")).collect()
}

/// Which top modules of a crate a module imports, each with the first place where it does.
type Imports<'a> = BTreeMap<&'a str, BTreeMap<&'a str, (&'a Source, usize)>>;

/// The top modules of a crate import each other in one direction.
pub(super) fn circles(tree: &Tree) -> Vec<Fault> {
    let mut crates: BTreeMap<&str, Imports> = BTreeMap::new();
    for source in tree.rust() {
        let Some(module) = source.module() else { continue };
        let imports = crates.entry(source.package()).or_default().entry(module).or_default();
        for (line, name) in imported(&source.code).filter(|(_, name)| *name != module) {
            imports.entry(name).or_insert((source, line));
        }
    }
    crates.values().flat_map(of_crate).collect()
}

/// The names behind `crate::`, with their lines.
fn imported(code: &str) -> impl Iterator<Item = (usize, &str)> {
    const HERE: &str = "crate::";
    let places = code.match_indices(HERE).filter(|(place, _)| !code[..*place].ends_with(is_word));
    places.map(|(place, _)| {
        let behind = &code[place + HERE.len()..];
        let end = behind.find(|c| !is_word(c)).unwrap_or(behind.len());
        (line_at(code, place), &behind[..end])
    })
}

/// Each circle once, at an import of its first module.
fn of_crate(imports: &Imports) -> Vec<Fault> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|module| (*module, reached(imports, module))).collect();
    let mut known = BTreeSet::new();
    let mut faults = Vec::new();
    for (module, from) in &reached {
        let back = |other: &&&str| reached.get(**other).is_some_and(|of| of.contains(module));
        let circle: Vec<&str> = from.iter().filter(back).copied().collect();
        let step = imports[module].iter().find(|(other, _)| circle.contains(other));
        if let Some((_, (source, line))) = step.filter(|_| known.insert(circle.clone())) {
            let what = format!("{} import each other", circle.join(", "));
            faults.push(fault(source, *line, what));
        }
    }
    faults
}

/// All modules that a module imports, by others too.
fn reached<'a>(imports: &Imports<'a>, module: &'a str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut ahead = vec![module];
    while let Some(next) = ahead.pop() {
        let new = imports.get(next).into_iter().flat_map(BTreeMap::keys);
        ahead.extend(new.filter(|other| found.insert(**other)));
    }
    found
}

/// Columns of a line.
const COLUMNS: usize = 100;
/// What stands above a literal that cannot be broken, in tests.
const WIDE: &str = "// Wide: ";
/// Pages that are made from the code, whose paragraphs are lines.
const MADE: &[&str] = &["docs/cli.md", "docs/kernels.md", "docs/records.md"];

/// Lines end where two files fit beside each other.
pub(super) fn width(tree: &Tree) -> Vec<Fault> {
    let pages = tree.files.iter().filter(|source| {
        let path = source.path.as_str();
        path.ends_with(".md") && !MADE.contains(&path) && !path.contains("/expected/")
    });
    tree.rust().flat_map(wide_code).chain(pages.flat_map(wide_text)).collect()
}

fn wide(source: &Source, line: usize, text: &str) -> Option<Fault> {
    let columns = text.chars().count();
    (columns > COLUMNS).then(|| fault(source, line, format!("{columns} columns")))
}

/// A mark holds to the end of the statement behind it.
fn wide_code(source: &Source) -> Vec<Fault> {
    let mut is_marked = false;
    let lines = source.text.lines().enumerate().filter(|(place, line)| {
        is_marked |= line.trim_start().starts_with(WIDE) && source.is_test_line(*place);
        let is_kept = is_marked;
        is_marked &= !line.ends_with(';');
        !is_kept
    });
    lines.filter_map(|(place, line)| wide(source, place + 1, line)).collect()
}

/// Tables, examples and words of their own length cannot be wrapped.
fn wide_text(source: &Source) -> Vec<Fault> {
    let mut is_example = false;
    let lines = source.text.lines().enumerate().filter(|(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_example ^= is_fence;
        let is_one_word = line.split_whitespace().any(|word| word.chars().count() > COLUMNS - 20);
        !is_example && !is_fence && !line.trim_start().starts_with('|') && !is_one_word
    });
    lines.filter_map(|(place, line)| wide(source, place + 1, line)).collect()
}

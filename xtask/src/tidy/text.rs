//! What no file says, and what pages say of tests.

use super::Fault;
use super::source::{Source, Tree, find_word, is_word};
use std::collections::BTreeSet;

/// Paths of somebody's machine, and marks of work left undone; in halves, lest they be found here.
const NEVER: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];

/// No path of a developer's machine and no loose end, in any text.
pub(super) fn loose_ends(tree: &Tree) -> Vec<Fault> {
    let ours = tree.files.iter().filter(|source| source.path != "Cargo.lock");
    ours.flat_map(in_file).collect()
}

fn in_file(source: &Source) -> Vec<Fault> {
    let found = |(place, line): (usize, &str)| {
        let word = NEVER.iter().find(|word| find_word(line, word).is_some())?;
        let what = format!("\"{word}\"");
        Some(Fault { file: source.path.clone(), line: place + 1, what })
    };
    source.text.lines().enumerate().filter_map(found).collect()
}

/// A page that names a test by `module::name` names one that there is.
pub(super) fn tests_named(tree: &Tree) -> Vec<Fault> {
    let all: BTreeSet<(&str, &str)> = tree.rust().flat_map(functions).collect();
    let pages = tree.files.iter().filter(|source| source.path.ends_with(".md"));
    let in_page = |page: &Source| {
        let lines = page.text.lines().enumerate();
        let named = lines.flat_map(|(place, line)| named(line).map(move |test| (place, test)));
        let missing = named.filter(|(_, test)| !all.contains(test));
        let fault = |(place, (module, name))| Fault {
            file: page.path.clone(),
            line: place + 1,
            what: format!("{module} has no test {name}"),
        };
        missing.map(fault).collect::<Vec<_>>()
    };
    pages.flat_map(in_page).collect()
}

/// Tests have sentences for names.
const WORDS_LEAST: usize = 5;

/// `module::a_sentence_of_words` in backticks.
fn named(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let between = line.split('`').skip(1).step_by(2);
    between.filter_map(|text| text.split_once("::")).filter(|(module, name)| {
        module.chars().all(is_word)
            && name.chars().all(is_word)
            && name.split('_').count() >= WORDS_LEAST
    })
}

/// The functions of a file, each with the file's module.
fn functions(source: &Source) -> impl Iterator<Item = (&str, &str)> {
    let path = source.path.trim_end_matches(".rs").trim_end_matches("/mod");
    let module = path.rsplit('/').next().unwrap_or_default();
    source.code.split("fn ").skip(1).map(move |rest| {
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        (module, &rest[..end])
    })
}

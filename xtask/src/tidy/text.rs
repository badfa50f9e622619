//! What no file says.

use super::Fault;
use super::source::{Source, Tree, find_word};

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

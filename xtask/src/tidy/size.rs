//! How long files may be. Functions are clippy's: `too-many-lines-threshold` of clippy.toml.

use super::Fault;
use super::source::Tree;

/// Lines of a file, its tests included.
const FILE_LINES: usize = 600;

/// Files stay short.
pub(super) fn files(tree: &Tree) -> Vec<Fault> {
    let lengths = tree.rust().map(|source| (source.path.clone(), source.text.lines().count()));
    let long = lengths.filter(|(_, lines)| *lines > FILE_LINES);
    let fault = |(file, lines)| Fault {
        file,
        line: 1,
        what: format!("{lines} lines, more than {FILE_LINES}"),
    };
    long.map(fault).collect()
}

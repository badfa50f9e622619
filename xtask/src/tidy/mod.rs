//! The invariants of docs/ARCHITECTURE.md, each by name, with what to do when
//! it is broken. The checks read text, not syntax: they are here to catch a
//! slip, not a plot.

mod architecture;
mod code;
#[cfg(test)]
mod samples;
mod size;
mod source;
mod text;

use source::Tree;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;

/// A place where an invariant does not hold.
#[derive(Debug, PartialEq)]
struct Fault {
    file: String,
    /// Counted from 1.
    line: usize,
    what: String,
}

/// A rule that the whole tree keeps.
struct Invariant {
    name: &'static str,
    remedy: &'static str,
    check: fn(&Tree) -> Vec<Fault>,
}

const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "crate-directions",
        remedy: "move what both need into model, or wire them together in lbolt",
        check: architecture::directions,
    },
    Invariant {
        name: "bpf-in-trace",
        remedy: "move the probe to trace, and hand its figures over in lbolt",
        check: architecture::bpf,
    },
    Invariant {
        name: "small-seams",
        remedy: "find a way without one more method: every subject and model has to implement it",
        check: architecture::seams,
    },
    Invariant {
        name: "licences",
        remedy: "inherit license from the workspace, and keep both licence files",
        check: architecture::licences,
    },
    Invariant {
        name: "unsafe-at-the-edge",
        remedy: "move it to host or trace, and say above it, after // SAFETY:, why it is sound",
        check: code::unsafe_at_the_edge,
    },
    Invariant {
        name: "purity",
        remedy: "ask the Clock or the Subject instead: the same loop runs in virtual time",
        check: code::purity,
    },
    Invariant {
        name: "only-lbolt-speaks",
        remedy: "return the text or the error; the binary prints and exits",
        check: code::silence,
    },
    Invariant {
        name: "modules-introduce-themselves",
        remedy: "open the file with //! and say what it is for",
        check: code::introductions,
    },
    Invariant {
        name: "no-private-paths-or-loose-ends",
        remedy: "use a relative or temporary path; finish it, or open an issue",
        check: text::loose_ends,
    },
    Invariant {
        name: "short-files",
        remedy: "split it by what its parts are for",
        check: size::files,
    },
    Invariant {
        name: "short-functions",
        remedy: "give its steps names, or put its cases in a table",
        check: size::functions,
    },
];

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// Every fault of the tree as a message: where, what, which invariant, what to do.
fn messages(tree: &Tree) -> Vec<String> {
    let of = |invariant: &'static Invariant| {
        let faults = (invariant.check)(tree).into_iter();
        faults
            .map(move |fault| format!("{fault} [{}]; remedy: {}", invariant.name, invariant.remedy))
    };
    INVARIANTS.iter().flat_map(of).collect()
}

/// Checks the tree under `root` and prints what is wrong.
pub(crate) fn run(root: &Path) -> anyhow::Result<ExitCode> {
    let messages = messages(&Tree::read(root)?);
    for message in &messages {
        println!("{message}");
    }
    println!("{} invariants, {} faults", INVARIANTS.len(), messages.len());
    Ok(if messages.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let messages = messages(&Tree::read(&crate::root()).unwrap());
        assert!(messages.is_empty(), "\n{}", messages.join("\n"));
    }
}

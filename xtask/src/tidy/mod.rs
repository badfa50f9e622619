//! The invariants of docs/ARCHITECTURE.md that no lint keeps, each by name, with what to do when it
//! is broken. The checks read text, not syntax: they are here to catch a slip, not a plot. The
//! lints are those of Cargo.toml and of each clippy.toml; `tests.rs` shows that they are on.

mod architecture;
mod code;
pub(crate) mod house;
#[cfg(test)]
mod samples;
mod size;
mod source;
#[cfg(test)]
mod tests;
mod text;
mod writers;

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
        name: "lints-are-on",
        remedy: "add [lints] workspace = true to the manifest",
        check: architecture::lints,
    },
    Invariant {
        name: "no-circles",
        remedy: "move what both need into a module below them",
        check: code::circles,
    },
    Invariant {
        name: "narrow-lines",
        remedy: "wrap it; a literal of a test that cannot be broken has // Wide: and why above it",
        check: code::width,
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
        name: "tests-that-pages-name",
        remedy: "name the test as it is called now",
        check: text::tests_named,
    },
    Invariant {
        name: "one-way-to-write",
        remedy: "write by way of model::held, model::whole_file or host::scratch; a module that \
                 has to do it itself stands in the table of tidy/writers.rs, with how it is safe",
        check: writers::paths,
    },
    Invariant {
        name: "short-files",
        remedy: "split it by what its parts are for",
        check: size::files,
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
    Ok(crate::code(messages.is_empty()))
}

//! The repository's chores; `cargo xtask --help` lists them.
//!
//! Everything that `tidy`, `bpf`, `viewer` and `bless` care for is also an ordinary test.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program, for its developers")]

mod bench;
mod bpf;
mod cli_page;
mod command;
mod debian;
mod dist;
mod docs;
mod fit;
mod fleets;
mod fuzz;
mod gallery;
mod history;
mod lab;
mod pages;
mod planted;
mod served;
mod tidy;
mod viewer;

use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// The repository's chores.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
enum Chore {
    /// Check the invariants of docs/ARCHITECTURE.md
    Tidy,
    /// Count lines, files, functions, comments and tests
    House,
    Bench(bench::Options),
    Fuzz(fuzz::Options),
    Fit(fit::Options),
    Fleets(fleets::Options),
    Gallery(gallery::Options),
    Lab(lab::Options),
    History(history::Options),
    Requests(bench::Requests),
    Planted(planted::Options),
    /// Write man pages and completions into target/generated
    Docs,
    Dist(dist::Options),
    /// Rebuild the BPF objects of crate trace (needs clang and llvm)
    Bpf,
    /// Rebuild the pages of crates report and lbolt (needs node and npm)
    Viewer,
    /// Rewrite the generated pages of docs/
    Bless,
}

fn main() -> anyhow::Result<ExitCode> {
    let root = root();
    match Chore::parse() {
        Chore::Tidy => return tidy::run(&root),
        Chore::Bench(options) => return bench::run(&root, &options),
        Chore::Fleets(options) => return fleets::run(&options),
        Chore::Fuzz(options) => return fuzz::run(&root, &options),
        Chore::Lab(options) => return lab::run(&options),
        Chore::Planted(options) => return planted::run(&options),
        Chore::House => tidy::house::print(&root)?,
        Chore::Fit(options) => fit::run(&root, options)?,
        Chore::Gallery(options) => gallery::make(&root, &options)?,
        Chore::History(options) => history::run(&options)?,
        Chore::Requests(options) => bench::make_requests(&options)?,
        Chore::Dist(options) => dist::run(&root, &options)?,
        Chore::Docs => docs::write(&root)?,
        Chore::Bpf => bpf::build(&root)?,
        Chore::Viewer => viewer::build(&root)?,
        Chore::Bless => pages::bless(&root)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The workspace's directory.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Where cargo puts what it builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into)
}

/// Success, or failure.
fn code(is_good: bool) -> ExitCode {
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

//! The repository's chores: `tidy` keeps the named invariants, `docs` writes
//! man pages and completions, `bless` rewrites the generated pages of docs/.
//!
//! Everything that `tidy` and `bless` care for is also an ordinary test.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program, for its developers")]

mod cli_page;
mod docs;
mod pages;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND
  tidy   check the invariants of docs/ARCHITECTURE.md
  docs   write man pages and completions into target/generated/
  bless  rewrite the generated pages of docs/";

fn main() -> anyhow::Result<ExitCode> {
    let command = std::env::args().nth(1).unwrap_or_default();
    match command.as_str() {
        "tidy" => return tidy::run(&root()),
        "docs" => docs::write(&root())?,
        "bless" => pages::bless(&root())?,
        _ => {
            eprintln!("{USAGE}");
            return Ok(ExitCode::from(2));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The workspace's directory.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

//! The repository's chores: `tidy` keeps the named invariants, `house` counts, `bench` holds lbolt
//! against fio, `planted` judges the verdict by planted causes, `lab` tries kernels and storage
//! stacks, `fuzz` feeds the importers with arbitrary bytes, `fit` fits the models, `docs` writes
//! man pages and completions, `dist` makes packages and proves them, `bpf` rebuilds the BPF
//! objects, `viewer` the page, `gallery` makes pictures of pages, `bless` rewrites the generated
//! pages of docs/.
//!
//! Everything that `tidy`, `bpf`, `viewer` and `bless` care for is also an ordinary test.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program, for its developers")]

mod bench;
mod bpf;
mod cli_page;
mod command;
mod dist;
mod docs;
mod fit;
mod fuzz;
mod gallery;
mod history;
mod lab;
mod pages;
mod planted;
mod served;
mod tidy;
mod viewer;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND
  tidy     check the invariants of docs/ARCHITECTURE.md
  house    count lines, files, functions, comments and tests
  bench    hold target/release/lbolt against fio (--help for its options)
  fuzz     feed the importers of crate trace with arbitrary bytes (--help for its options)
  fit      fit the models to the papers' tables (--help for its options)
  gallery  pages and their pictures, for docs/gallery (--lbolt PATH; needs chromium)
  lab      try lbolt on kernels and storage stacks in QEMU (--help for its options)
  history  make a history of so many days at real size (DIR DAYS [FINE])
  requests make a long trace of so many requests (COUNT FILE [PROGRAMS])
  planted  judge the verdict by planted causes (--help for its options)
  docs     write man pages and completions into target/generated/
  dist     static programs, tarballs, packages of Debian, and their proof ([x86_64] [aarch64])
  bpf      rebuild the BPF objects of crate trace (needs clang and llvm)
  viewer   rebuild the page of crate report (needs node and npm)
  bless    rewrite the generated pages of docs/";

fn main() -> anyhow::Result<ExitCode> {
    let command = std::env::args().nth(1).unwrap_or_default();
    match command.as_str() {
        "tidy" => return tidy::run(&root()),
        "bench" => return bench::run(&root(), std::env::args().skip(2)),
        "fit" => return fit::run(&root(), std::env::args().skip(2)),
        "fuzz" => return fuzz::run(&root(), std::env::args().skip(2)),
        "lab" => return lab::run(&root(), std::env::args().skip(2)),
        "planted" => return planted::run(&root(), std::env::args().skip(2)),
        "house" => tidy::house::print(&root())?,
        "history" => history::run(std::env::args().skip(2))?,
        "requests" => bench::make_requests(std::env::args().skip(2))?,
        "gallery" => gallery::make(&root(), &std::env::args().skip(2).collect::<Vec<_>>())?,
        "dist" => dist::run(&root(), std::env::args().skip(2))?,
        "bpf" => bpf::build(&root())?,
        "viewer" => viewer::build(&root())?,
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

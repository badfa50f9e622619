//! The options of `lbolt papers`, and what its help says.

use super::Format;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Which of the papers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Paper {
    /// Bucher & Hayes: rate and CPU overhead of each I/O routine on the Cray-1 and the CDC 7600.
    #[value(name = "1980")]
    Overhead1980,
    /// Kridle & McKusick: throughput through the 4.2BSD file system on VAXes.
    #[value(name = "1983")]
    Throughput1983,
    /// Johnson, Smith & Wilson: response times of RA81 disks.
    #[value(name = "1986")]
    Response1986,
}

/// `lbolt papers`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = PAPERS_HELP)]
pub struct PapersOptions {
    /// Which; all without it.
    #[arg(value_enum, value_name = "PAPER")]
    pub papers: Vec<Paper>,
    /// Of how many seeds a cell is the mean.
    #[arg(long, value_name = "N", default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: u32,
    /// Every table, instead of the answer and the main one.
    #[arg(long)]
    pub all: bool,
    /// Also as a page, one HTML file, as `lbolt report` makes it of a run.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// How results are printed to standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// What `papers` does, for `--help`.
const PAPERS_HELP: &str = "\
Every published table against what the models say, cell by cell, with the error, how many \
parameters were
fitted, and which cells were. What is starred in a paper is shown, and left out of the errors.

Exit codes: 0 fine, 2 usage, 6 output not printed.";

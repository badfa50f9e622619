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
    /// Papers to show [default: all].
    #[arg(value_enum, value_name = "PAPER")]
    pub papers: Vec<Paper>,
    /// Number of seeds: each cell is the mean over them.
    #[arg(long, value_name = "N", default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: u32,
    /// Print every table, not only the answer and the main table.
    #[arg(long)]
    pub all: bool,
    /// Also write the results as one HTML page, as `lbolt report` does for a run.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Format of the results on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// What `papers` does, for `--help`.
const PAPERS_HELP: &str = "\
Compares every published table with the models, cell by cell: the error, the number of fitted
parameters, and the fitted cells. Cells that a paper marks with a star are shown, but not counted
in the errors.";

//! Where results go, and how they are printed: options that all commands that measure have.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// `{"schema":"lbolt.findings/2","run":{…},"findings":[…]}`.
    Json,
    /// One line a finding.
    Csv,
    /// Tables for documents.
    Markdown,
}

/// Where results go; common to all commands that measure.
#[derive(Debug, Clone, Args)]
pub struct OutputOptions {
    /// Directory of the run's records, for its owner alone [default: RUNS/TIME-COMMAND].
    #[arg(short, long, value_name = "PATH", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Directory that holds the runs.
    #[arg(
        long,
        value_name = "RUNS",
        default_value = "lbolt-runs",
        env = "LBOLT_RUNS",
        help_heading = "Output"
    )]
    pub runs_dir: PathBuf,
    /// Also the page of the run, report.html in its directory, as `lbolt report` makes it.
    #[arg(long, help_heading = "Output")]
    pub report: bool,
    /// How results are printed to standard output.
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub format: Format,
}

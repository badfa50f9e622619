//! Where results go, and how they are printed: options that all commands that measure have.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for people.
    Table,
    /// One document; `schema` names its shape, of which docs/json.md tells: `answer` has what the
    /// command says, sentence by sentence, and rows have named keys and unrounded numbers.
    Json,
    /// One line per finding.
    Csv,
    /// Tables for documents.
    Markdown,
}

/// Where results go; common to all commands that measure.
#[derive(Debug, Clone, Args)]
pub struct OutputOptions {
    /// Directory of the run's records, readable only by you [default: RUNS/TIME-COMMAND].
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
    /// Also write report.html into the run's directory: the HTML page of `lbolt report`.
    #[arg(long, help_heading = "Output")]
    pub report: bool,
    /// Format of the results on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub format: Format,
}

//! The options of `lbolt report`, and what its help says.

use clap::Args;
use std::path::PathBuf;

/// `lbolt report`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = REPORT_HELP)]
pub struct ReportOptions {
    /// Runs (names or directories), directories of runs, or @FILE with one path per line. Several
    /// runs are shown side by side.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// File of the page; an existing file is replaced [default: report.html in the run's directory;
    /// for several runs, in the current directory].
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Open the page in the browser.
    #[arg(long)]
    pub open: bool,
    /// Directory that holds the runs.
    #[arg(long, value_name = "RUNS", default_value = "lbolt-runs", env = "LBOLT_RUNS")]
    pub runs_dir: PathBuf,
}

/// What `report` does, for `--help`.
const REPORT_HELP: &str = "\
lbolt report my-run                 one page: my-run/report.html
lbolt report before after -o b.html  two runs side by side
lbolt report my-run --open          open it in the browser

The page is one self-contained file that loads nothing: you can mail it, and read it offline with
JavaScript off. It contains findings, not requests, so it stays small for any trace. For a killed
run it shows the records that were kept.";

//! The options of `lbolt report`, and what its help says.

use clap::Args;
use std::path::PathBuf;

/// `lbolt report`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = REPORT_HELP)]
pub struct ReportOptions {
    /// Runs, by their names or directories, directories of runs, or @FILE, which lists them;
    /// several are shown side by side.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// The page's file; what is there is replaced [default: report.html in the run's directory; of
    /// several runs here].
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Opens the page in the browser.
    #[arg(long)]
    pub open: bool,
    /// Directory that holds the runs.
    #[arg(long, value_name = "RUNS", default_value = "lbolt-runs", env = "LBOLT_RUNS")]
    pub runs_dir: PathBuf,
}

/// What `report` does, for `--help`.
const REPORT_HELP: &str = "\
lbolt report my-run                 one page, my-run/report.html
lbolt report before after -o b.html  two runs side by side
lbolt report my-run --open          … and look at it

The page is one file that needs no other and loads nothing: it can be mailed, and read from a stick
with JavaScript off. It holds what findings say, so it stays small however long a trace was. Of a
run that was killed it shows what was kept.

Exit codes: 0 fine, 1 I/O error, 2 usage, 6 output not printed, 130 interrupted.";

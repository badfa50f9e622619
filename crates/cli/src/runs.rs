//! The options of `lbolt runs`.

use super::Format;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `lbolt runs`.
#[derive(Debug, Clone, Args)]
pub struct RunsOptions {
    /// What to do with the runs [default: list].
    #[command(subcommand)]
    pub command: Option<RunsCommand>,
    /// Directory that holds the runs.
    #[arg(
        long,
        value_name = "RUNS",
        default_value = "lbolt-runs",
        env = "LBOLT_RUNS",
        global = true
    )]
    pub runs_dir: PathBuf,
}

/// `lbolt runs …`.
#[derive(Debug, Clone, Subcommand)]
pub enum RunsCommand {
    /// List runs, oldest first.
    List,
    /// Print a run's tables again, from its records.
    Show {
        /// Name or directory of the run.
        run: PathBuf,
        /// Format of the results on standard output.
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Remove the records of runs, and nothing else.
    Rm {
        /// Names or directories of the runs.
        #[arg(required = true)]
        runs: Vec<PathBuf>,
    },
}

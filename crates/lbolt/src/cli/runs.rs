//! The options of `lbolt runs`.

use super::Format;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `lbolt runs`.
#[derive(Debug, Clone, Args)]
pub struct RunsOptions {
    /// What to do with them [default: list].
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
    /// A line for each run, oldest first.
    List,
    /// A run's tables again, from its records.
    Show {
        /// The run's name, or its directory.
        run: PathBuf,
        /// How results are printed.
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Remove runs: their records, and nothing else.
    Rm {
        /// The runs' names, or their directories.
        #[arg(required = true)]
        runs: Vec<PathBuf>,
    },
}

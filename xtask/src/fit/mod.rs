//! `fit`: finds the parameters of the models that were fitted, from the papers' tables, and writes
//! them into the profiles.

mod response_1986;
mod throughput_1983;

use clap::{Parser, Subcommand};
use std::path::Path;

/// Fit models to the papers' tables.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask fit")]
pub(crate) struct Options {
    #[command(subcommand)]
    paper: Paper,
}

#[derive(Debug, Subcommand)]
enum Paper {
    /// The VAXes of Kridle & McKusick.
    #[command(name = "1983")]
    Throughput(throughput_1983::Options),
    /// The load of Johnson, Smith & Wilson.
    #[command(name = "1986")]
    Response(response_1986::Options),
}

/// Runs the command.
/// Errors: a profile or a table at fault.
pub(crate) fn run(root: &Path, options: Options) -> anyhow::Result<()> {
    match options.paper {
        Paper::Throughput(options) => throughput_1983::run(root, &options),
        Paper::Response(options) => response_1986::run(&options),
    }
}

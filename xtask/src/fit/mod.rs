//! `fit`: finds the parameters of the models that were fitted, from the papers' tables, and writes
//! them into the profiles.

mod response_1986;
mod throughput_1983;

use clap::{Parser, Subcommand};
use std::path::Path;
use std::process::ExitCode;

/// Fits models to the papers' tables.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask fit")]
struct Options {
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
pub(crate) fn run(root: &Path, words: impl Iterator<Item = String>) -> anyhow::Result<ExitCode> {
    let words = std::iter::once("fit".to_owned()).chain(words);
    let options = match Options::try_parse_from(words) {
        Ok(options) => options,
        Err(error) => {
            error.print()?;
            return Ok(ExitCode::from(if error.use_stderr() { 2 } else { 0 }));
        }
    };
    match options.paper {
        Paper::Throughput(options) => throughput_1983::run(root, &options)?,
        Paper::Response(options) => response_1986::run(&options)?,
    }
    Ok(ExitCode::SUCCESS)
}

//! The options of `lbolt whatif`, and what its help says.

use super::{ModelReplayOptions, OutputOptions};
use clap::Args;
use std::path::PathBuf;

/// `lbolt whatif`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = WHATIF_HELP)]
pub struct WhatifOptions {
    /// A run, its requests.parquet, or a foreign trace that `lbolt import` knows (its files).
    #[arg(value_name = "TRACE", required = true)]
    pub traces: Vec<PathBuf>,
    /// The format of a foreign trace [default: recognized by its first bytes].
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<String>,
    /// What is changed: reads-first, dribble=WRITES/s, scheduler=NAME, drives=N, drive=MODEL,
    /// cache=SIZE|on|off; several at once with + between them. Given again: another alternative.
    #[arg(long, value_name = "CHANGE", required = true)]
    pub change: Vec<String>,
    /// The model: a name of `lbolt simulate --list-models`, or the path of a profile (.toml)
    /// [default: model.toml in the run's directory, else the one that the trace was simulated on].
    #[arg(long, value_name = "M", help_heading = "Model")]
    pub model: Option<String>,
    /// How it is replayed.
    #[command(flatten)]
    pub replay: ModelReplayOptions,
    /// Every class and number, and the tables of `lbolt response` before and after.
    #[arg(long)]
    pub all: bool,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// What `whatif` does, for `--help`.
const WHATIF_HELP: &str = "\
lbolt whatif week.srt --model hp-9000-845 --change reads-first --change dribble=10/s
lbolt whatif RUN --model generic-7200rpm --change drives=2+scheduler=mq-deadline

Before is the model without the change, not the trace. The intervals hold the span over paired \
samples of the model's uncertain
parameters and of when the trace begins and, if the trace has times, the model's error and what \
two runs differ by
chance; that both are no greater after the change is assumed. The requests are kept as runs:
OUTPUT/before, OUTPUT/after (of several alternatives after-1, after-2), for lbolt response.

Exit codes: 0 fine, 1 I/O error or a simulation at fault, 2 usage, 6 output not printed, 130 \
interrupted.";

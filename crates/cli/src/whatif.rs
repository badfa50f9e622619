//! The options of `lbolt whatif`, and what its help says.

use super::{ModelReplayOptions, OutputOptions, TraceOptions};
use clap::Args;

/// `lbolt whatif`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = WHATIF_HELP)]
pub struct WhatifOptions {
    /// The trace.
    #[command(flatten)]
    pub trace: TraceOptions,
    /// Change to predict: reads-first, dribble=WRITES/s, scheduler=NAME, drives=N,
    /// drive=MODEL[,iops=N][,throughput=SIZE][,size=SIZE][,credits=PERCENT], cache=SIZE|on|off;
    /// join several with +. Repeat --change to compare alternatives.
    #[arg(long, value_name = "CHANGE", required = true)]
    pub change: Vec<String>,
    /// Model: a name of `lbolt simulate --list-models`, or the path of a profile (.toml) [default:
    /// model.toml in the run's directory, otherwise the model that simulated the trace].
    #[arg(long, value_name = "M", help_heading = "Model")]
    pub model: Option<String>,
    /// How it is replayed.
    #[command(flatten)]
    pub replay: ModelReplayOptions,
    /// Print every class and number, and the tables of `lbolt response` before and after.
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
lbolt whatif RUN --model my.toml --change drive=aws-gp3 --change drive=aws-gp3,iops=16000

Before is the model without the change, not the trace. The intervals cover paired samples of the
model's uncertain parameters and of the start of the trace. If the trace has response times, they
also cover the model's error and run-to-run noise, assuming that the change increases neither. The
requests are kept as runs for lbolt response: OUTPUT/before and OUTPUT/after (after-1, after-2 … for
several alternatives).";

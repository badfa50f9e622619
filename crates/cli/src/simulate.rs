//! The options of `lbolt simulate`, and what its help says.

use super::{OutputOptions, TraceOptions};
use clap::{Args, ValueEnum};

/// When a replayed request arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Arrivals {
    /// At its time in the trace, even if earlier requests are not complete.
    #[value(alias = "recorded")]
    Open,
    /// One think time after the completion of the previous request.
    Closed,
    /// One think time after the completion that its process waited for; other requests as in the
    /// trace.
    Dependent,
}

/// How a trace is replayed on a model.
#[derive(Debug, Clone, Args)]
pub struct ModelReplayOptions {
    /// When requests arrive [default: closed if the trace says so, dependent if it records which
    /// requests were waited for, otherwise open].
    #[arg(long, value_enum, help_heading = "Model")]
    pub arrivals: Option<Arrivals>,
    /// Number of samples of the model's uncertain parameters; they give the intervals of the
    /// findings. 0 prints no intervals.
    #[arg(long, value_name = "N", default_value_t = 8,
        value_parser = clap::value_parser!(u64).range(0..=10_000), help_heading = "Model")]
    pub draws: u64,
    /// Seed of the model and of the samples.
    #[arg(long, default_value_t = 1, help_heading = "Model")]
    pub seed: u64,
}

/// `lbolt simulate`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = SIMULATE_HELP, mut_arg("traces", |arg| arg.required(false)
    .required_unless_present_any(["list_models", "show_model"])))]
pub struct SimulateOptions {
    /// The trace.
    #[command(flatten)]
    pub trace: TraceOptions,
    /// Model: a name of --list-models, or the path of a profile (.toml).
    #[arg(long, value_name = "M", required_unless_present = "list_models", help_heading = "Model")]
    pub model: Option<String>,
    /// Set another value for a key of the model; repeatable. Values separated by semicolons make
    /// one variant each; several such keys make every combination.
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment, help_heading = "Model")]
    pub set: Vec<(String, String)>,
    /// How it is replayed.
    #[command(flatten)]
    pub replay: ModelReplayOptions,
    /// List the models, each with what it stands for, and simulate nothing.
    #[arg(long, help_heading = "Model")]
    pub list_models: bool,
    /// Print each number of the model with its unit and source, and simulate nothing.
    #[arg(long, help_heading = "Model", requires = "model")]
    pub show_model: bool,
    /// Print every table, not only the answer and the main table.
    #[arg(long)]
    pub all: bool,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// `KEY=VALUE`.
fn assignment(text: &str) -> Result<(String, String), String> {
    let pair =
        text.split_once('=').filter(|(key, value)| !key.is_empty() && !value.trim().is_empty());
    let (key, value) = pair.ok_or_else(|| format!("\"{text}\" is not KEY=VALUE"))?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// What `simulate` does, for `--help`.
const SIMULATE_HELP: &str = "\
lbolt simulate lbolt-runs/… --model generic-7200rpm        a recorded trace on a modelled drive
lbolt simulate week.srt --model hp-9000-845 -o week        a foreign trace, kept as a run for
                                                           lbolt response week
lbolt simulate week.srt --model hp-9000-845 --set 'queue.policy=fifo;c-scan;reads-first'
                                                           one variant per value, on all cores

The result is a run of requests, like a run of lbolt record. If the trace has completion times, its
response times are printed next to the model's, with the demerit of Ruemmler & Wilkes: the root mean
square distance between the quantiles of the two distributions.";

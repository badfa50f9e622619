//! The options of `lbolt simulate`, and what its help says.

use super::OutputOptions;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// When a replayed request arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Arrivals {
    /// When it did in the trace, whatever became of those before it.
    #[value(alias = "recorded")]
    Open,
    /// Its think time after the completion of the one before it.
    Closed,
    /// Its think time after the completion that it followed in its process; others as in the trace.
    Dependent,
}

/// How a trace is replayed on a model.
#[derive(Debug, Clone, Args)]
pub struct ModelReplayOptions {
    /// When requests arrive [default: closed for traces of which that is known, dependent where it
    /// is known who waited, else open].
    #[arg(long, value_enum, help_heading = "Model")]
    pub arrivals: Option<Arrivals>,
    /// Samples of the model's uncertain parameters, by which findings have intervals; 0 leaves
    /// intervals out.
    #[arg(long, value_name = "N", default_value_t = 8,
        value_parser = clap::value_parser!(u64).range(0..=10_000), help_heading = "Model")]
    pub draws: u64,
    /// The seed of whatever is random in the model, and of these samples.
    #[arg(long, default_value_t = 1, help_heading = "Model")]
    pub seed: u64,
}

/// `lbolt simulate`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = SIMULATE_HELP)]
pub struct SimulateOptions {
    /// A run, its requests.parquet, or a foreign trace that `lbolt import` knows (its files).
    #[arg(value_name = "TRACE", required_unless_present_any = ["list_models", "show_model"])]
    pub traces: Vec<PathBuf>,
    /// The format of a foreign trace [default: recognized by its first bytes].
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<String>,
    /// The model: a name of --list-models, or the path of a profile (.toml).
    #[arg(long, value_name = "M", required_unless_present = "list_models", help_heading = "Model")]
    pub model: Option<String>,
    /// Another value for a key of the model; may be given again. Values between semicolons make a
    /// variant each, and several such keys every combination.
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment, help_heading = "Model")]
    pub set: Vec<(String, String)>,
    /// How it is replayed.
    #[command(flatten)]
    pub replay: ModelReplayOptions,
    /// Print each model's name and the path of its profile, and simulate nothing.
    #[arg(long, help_heading = "Model")]
    pub list_models: bool,
    /// Print each number of the model with its unit and its source, and simulate nothing.
    #[arg(long, help_heading = "Model", requires = "model")]
    pub show_model: bool,
    /// Every table, instead of the answer and the main one.
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
lbolt simulate lbolt-runs/… --model generic-7200rpm        a trace of ours on a modelled drive
lbolt simulate week.srt --model hp-9000-845 -o week        a foreign trace; then: lbolt response \
week
lbolt simulate week.srt --model hp-9000-845 --set 'queue.policy=fifo;c-scan;reads-first'
                                                           what if: a variant each, on all cores

The outcome is a run of requests, as lbolt record makes one. Where the trace tells when its \
requests were completed, its times are printed next to
the model's results, with the demerit of Ruemmler & Wilkes: the root mean square of the distance \
between the two
distributions' quantiles.

Exit codes: 0 fine, 1 I/O error or a simulation at fault, 2 usage, 6 output not printed, 130 \
interrupted.";

//! The options of `lbolt profile` and `lbolt synthesize`, and what their help says.

use super::{OutputOptions, time};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use std::path::PathBuf;
use std::time::Duration;

/// `lbolt profile`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = PROFILE_HELP)]
pub struct ProfileOptions {
    /// A run, its requests.parquet, or a foreign trace that `lbolt import` knows (its files).
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// The format of a foreign trace [default: recognized by its first bytes].
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<String>,
    /// Only the device with this name in the trace [default: the one with the most requests].
    #[arg(long, value_name = "DEV", value_parser = NonEmptyStringValueParser::new())]
    pub device: Option<String>,
    /// The file to write, which is not there yet [default: standard output].
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
}

/// `lbolt synthesize`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = SYNTHESIZE_HELP)]
pub struct SynthesizeOptions {
    /// A profile, as `lbolt profile` writes it.
    #[arg(value_name = "PROFILE")]
    pub profile: PathBuf,
    /// So long, at the profile's rate [default: as long as the profile].
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub runtime: Option<Duration>,
    /// About N requests, at the profile's rate.
    #[arg(long = "number_ios", visible_alias = "number-ios", value_name = "N",
        conflicts_with = "runtime",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub number_ios: Option<u64>,
    /// What chance follows from: the same seed gives the same requests.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

const PROFILE_HELP: &str = "\
lbolt profile lbolt-runs/… -o mix.toml          sizes, directions, places, bursts, in numbers
lbolt synthesize mix.toml -o made               a trace with these properties
lbolt replay made --on /dev/sdx                 and its requests made

A profile is a page of TOML that a person can read and change. docs/guide/profile.md says what \
each number is and what a profile does not hold.

Exit codes: 0 fine, 1 I/O error, 2 usage, 6 output not printed, 130 interrupted.";

const SYNTHESIZE_HELP: &str = "\
lbolt synthesize mix.toml -o made               as long as the trace that the profile is of
lbolt synthesize mix.toml --runtime 1h --seed 2 another one, of an hour

The outcome is a run of requests, as lbolt record makes one. Its completions are drawn from the \
profile's response times: nothing was measured.

Exit codes: 0 fine, 1 I/O error, 2 usage, 6 output not printed, 130 interrupted.";

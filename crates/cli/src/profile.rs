//! The options of `lbolt profile` and `lbolt synthesize`, and what their help says.

use super::{OutputOptions, TraceOptions, time};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use std::path::PathBuf;
use std::time::Duration;

/// `lbolt profile`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = PROFILE_HELP)]
pub struct ProfileOptions {
    /// The trace.
    #[command(flatten)]
    pub trace: TraceOptions,
    /// Only this device of the trace [default: the one with the most requests].
    #[arg(long, value_name = "DEV", value_parser = NonEmptyStringValueParser::new())]
    pub device: Option<String>,
    /// New file to write [default: standard output].
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
}

/// `lbolt synthesize`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = SYNTHESIZE_HELP)]
pub struct SynthesizeOptions {
    /// Profile from `lbolt profile`. With --hosts: rate, sizes and response times of each host
    /// [default with --hosts: a small database on an NVMe drive].
    #[arg(value_name = "PROFILE", required_unless_present = "hosts")]
    pub profile: Option<PathBuf>,
    /// Length of the trace, at the profile's rate [default: as long as the profiled trace].
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub runtime: Option<Duration>,
    /// Make about N requests, at the profile's rate.
    #[arg(long = "number_ios", visible_alias = "number-ios", value_name = "N",
        conflicts_with = "runtime",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub number_ios: Option<u64>,
    /// Make a simulated fleet of N hosts instead of a trace: one rollup by hours per host, for
    /// `lbolt fleet`. The outliers in it are listed in planted.json.
    #[arg(long, value_name = "N", conflicts_with_all = ["runtime", "number_ios"],
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub hosts: Option<u32>,
    /// With --hosts: number of days, up to the present day.
    #[arg(long, value_name = "N", default_value_t = 30, requires = "hosts",
        value_parser = clap::value_parser!(u32).range(1..=400))]
    pub days: u32,
    /// With --hosts: plant no outliers.
    #[arg(long, requires = "hosts")]
    pub calm: bool,
    /// Random seed: the same seed gives the same requests.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

const PROFILE_HELP: &str = "\
lbolt profile lbolt-runs/… -o mix.toml          sizes, directions, offsets and bursts in numbers
lbolt synthesize mix.toml -o made               a trace with these properties
lbolt replay made --on /dev/sdx                 replay it on a device

A profile is one page of TOML, readable and editable. docs/guide/profile.md explains each number and
lists what a profile does not contain.";

const SYNTHESIZE_HELP: &str = "\
lbolt synthesize mix.toml -o made               as long as the profiled trace
lbolt synthesize mix.toml --runtime 1h --seed 2 a different trace of one hour
lbolt synthesize --hosts 1000 --days 30 -o fleet
                                                a simulated fleet with planted outliers
lbolt fleet fleet                               which lbolt should find

The result is a run of requests, like a run of lbolt record. Its completion times are drawn from the
profile's response times: nothing is measured.";

//! The options of `lbolt storm`, and what its help says.

use super::{OutputOptions, size, time};
use clap::Args;
use host::remedy::REMEDIES;
use std::path::PathBuf;
use std::time::Duration;

/// `lbolt storm`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = storm_help())]
pub struct StormOptions {
    /// Where: a directory, a block device (see --destroy), `fresh:FS[,…]`, or a modelled drive as a
    /// device, `model:NAME[,…]`, with ext4 on it. With COMMAND: the directory that it works in.
    #[arg(value_name = "TARGET", default_value = ".")]
    pub target: String,
    /// Try these remedies, in turn with passes without any: `all`, or a list.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = remedies(),
        hide_possible_values = true, help_heading = "Remedies")]
    pub remedies: Vec<String>,
    /// From one sync of the writer to the next. The paper's was 30s.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "5s",
        help_heading = "Workload")]
    pub period: Duration,
    /// Bytes that the writer dirties from one sync to the next [default: what takes the target
    /// about a third of the period].
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Workload")]
    pub dirty: Option<u64>,
    /// Reads a second, on schedule (open loop) [default: a quarter of what the target does one by
    /// one].
    #[arg(long = "rate_iops", visible_alias = "rate-iops", value_name = "RATE",
        value_parser = rate, help_heading = "Workload")]
    pub rate_iops: Option<f64>,
    /// Commits a second, on schedule: a block written and made durable [default: a twentieth].
    #[arg(long, value_name = "RATE", value_parser = rate, help_heading = "Workload")]
    pub commits: Option<f64>,
    /// Bytes a request.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "4k",
        help_heading = "Workload")]
    pub bs: u64,
    /// Size of the reader's file, and of the writer's.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64m",
        help_heading = "Workload")]
    pub size: u64,
    /// Syncs of a pass [default: 1 with --remedies, so that there are more rounds; else 2].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000),
        help_heading = "Passes")]
    pub periods: Option<u32>,
    /// Rounds of all passes: exactly N [default: 3; with --remedies from --min-runs on, until the
    /// best is known or --max-time is over].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000),
        conflicts_with_all = ["min_runs", "max_time"], help_heading = "Passes")]
    pub runs: Option<u32>,
    /// Rounds of all passes: at least N.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000),
        default_value_t = 3, help_heading = "Passes")]
    pub min_runs: u32,
    /// Begin another round while it ends within this time [default: 20m with --remedies].
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Passes")]
    pub max_time: Option<Duration>,
    /// Name the block device a second time, to allow that it is written.
    #[arg(long, value_name = "TARGET")]
    pub destroy: Option<PathBuf>,
    /// Directory of a modelled device's data [default: in memory].
    #[arg(long, value_name = "DIR")]
    pub at: Option<PathBuf>,
    /// Your own load, in the place of the three streams: it is started once, goes on through all
    /// passes, and is ended at their end.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// The seed of all random places and moments.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Capture the requests too: who waited for whom.
    #[arg(long, help_heading = "Passes")]
    pub trace: bool,
    /// Print the resolved plan and measure nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Every table, instead of the answer and the main one.
    #[arg(long)]
    pub all: bool,
    /// Predict alone: the storm on the modelled drive beneath a modelled kernel, in virtual time.
    /// It takes a moment, and needs no root.
    #[arg(long, conflicts_with_all = ["trace", "at"])]
    pub simulate: bool,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

fn remedies() -> impl clap::builder::TypedValueParser<Value = String> {
    let names = REMEDIES.iter().map(|remedy| remedy.name);
    clap::builder::PossibleValuesParser::new(["all"].into_iter().chain(names))
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (0.0..=1e6).contains(rate));
    rate.ok_or_else(|| format!("\"{text}\" is no rate from 0 to 1000000 a second"))
}

/// What `storm` does, for `--help`.
fn storm_help() -> String {
    let lines = REMEDIES.iter().map(|remedy| {
        let by = if remedy.in_program.is_some() { " [program]" } else { "" };
        format!("  {:20}{}{by}\n", remedy.name, remedy.meaning)
    });
    format!(
        "\
A reader and a committer go on at their rates while a writer dirties the page cache and syncs it at
a period. What the reads and commits suffer meanwhile is the storm. A remedy is held against passes
without any, of the same round; what it changes in the kernel is put back, by this run, or by
`lbolt doctor --clean` if it is killed. The best are tried together, too.

With `-- COMMAND` your own load runs in the place of these three, through all passes: its read
requests and its calls that make data durable are what is judged.

Remedies ([program]: what the writer does otherwise):
{}
lbolt storm .                                     what a sync costs the others here
lbolt storm fresh:ext4 --remedies all             and what would help
lbolt storm /dev/sdx --destroy /dev/sdx           a device: what it holds is lost
lbolt storm model:ra81 --remedies mq-deadline,direct
                                                  on a drive of 1982
lbolt storm /data --remedies all -- ./my-load     beside your own load on /data (root)

Exit codes: 0 fine, 1 I/O error, 2 usage, 6 output not printed, 130 interrupted.",
        lines.collect::<String>()
    )
}

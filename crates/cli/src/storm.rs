//! The options of `lbolt storm`, and what its help says.

use super::{MeasureOptions, OutputOptions, size, time};
use clap::Args;
use host::remedy::REMEDIES;
use std::path::PathBuf;
use std::time::Duration;

/// `lbolt storm`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = storm_help())]
pub struct StormOptions {
    /// Where: a directory, a block device (see --destroy), `fresh:FS[,…]`, or `model:NAME[,…]`, a
    /// modelled drive as a device with ext4. With COMMAND: the directory that the command uses.
    #[arg(value_name = "TARGET", default_value = ".")]
    pub target: String,
    /// Remedies to try, in turn with untreated passes: `all` or a list.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = remedies(),
        hide_possible_values = true, help_heading = "Remedies")]
    pub remedies: Vec<String>,
    /// Time between the writer's syncs. In the paper it was 30s.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "5s",
        help_heading = "Workload")]
    pub period: Duration,
    /// Bytes that the writer dirties between syncs [default: the amount that takes the target about
    /// a third of the period].
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Workload")]
    pub dirty: Option<u64>,
    /// Read IOPS, sent on schedule (open loop) [default: a quarter of the target's read rate at
    /// queue depth 1, at most 2000].
    #[arg(long = "rate_iops", visible_alias = "rate-iops", value_name = "RATE",
        value_parser = rate, help_heading = "Workload")]
    pub rate_iops: Option<f64>,
    /// Commits per second, sent on schedule: each writes one block and makes it durable [default: a
    /// twentieth of the target's read rate at queue depth 1, at most 200].
    #[arg(long, value_name = "RATE", value_parser = rate, help_heading = "Workload")]
    pub commits: Option<f64>,
    /// Request size.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "4k",
        help_heading = "Workload")]
    pub bs: u64,
    /// Size of the reader's file and of the writer's file.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64m",
        help_heading = "Workload")]
    pub size: u64,
    /// Syncs per pass [default: 2; 1 with --remedies, which allows more rounds].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000),
        help_heading = "Passes")]
    pub periods: Option<u32>,
    /// Rounds over all passes: exactly N, unless --max-time is over before [default: 3; with
    /// --remedies at least --min-runs, until the best remedy is known or --max-time is over].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000),
        conflicts_with = "min_runs", help_heading = "Passes")]
    pub runs: Option<u32>,
    /// Rounds over all passes: at least N, also when --max-time is over [default: 3].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000),
        help_heading = "Passes")]
    pub min_runs: Option<u32>,
    /// Stop after this time. Without --min-runs that may be within a round: remedies without a pass
    /// are then not measured [default: 20m with --remedies, and the least rounds in any case].
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Passes")]
    pub max_time: Option<Duration>,
    /// Directory for the data of a modelled device [default: in memory].
    #[arg(long, value_name = "DIR")]
    pub at: Option<PathBuf>,
    /// Your own load, in place of the three streams. It is started once, runs through all passes,
    /// and is stopped at the end.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Also trace the requests: shows who waited for whom.
    #[arg(long, help_heading = "Passes")]
    pub trace: bool,
    /// Permission, seed, and what is printed.
    #[command(flatten)]
    pub measure: MeasureOptions,
    /// Only predict: simulate the storm on the modelled drive and a modelled kernel, in virtual
    /// time. Takes a moment and needs no root.
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
    rate.ok_or_else(|| format!("\"{text}\" is not a rate from 0 to 1000000 per second"))
}

/// What `storm` does, for `--help`.
fn storm_help() -> String {
    let lines = REMEDIES.iter().map(|remedy| {
        let by = if remedy.in_program.is_some() { " [program]" } else { "" };
        format!("  {:20}{}{by}\n", remedy.name, remedy.meaning)
    });
    format!(
        "\
A reader and a committer run at constant rates while a writer dirties the page cache and syncs it
once per period. The storm is the extra latency of reads and commits. Each remedy is compared with
untreated passes of the same round, and the best remedies are also combined. Changed kernel settings
are restored by this run, or by `lbolt doctor --clean` if it is killed.

With `-- COMMAND`, your own load replaces the three streams in all passes. Its read requests and its
durability calls are measured.

Remedies ([program] changes the writer):
{}
lbolt storm .                                     the cost of a sync for other programs
lbolt storm fresh:ext4 --remedies all             and the remedies that help
lbolt storm /dev/sdx --destroy /dev/sdx           on a device; its data is lost
lbolt storm model:ra81 --remedies mq-deadline,direct
                                                  on a drive of 1982
lbolt storm /data --remedies all -- ./my-load     beside your own load on /data (root)",
        lines.collect::<String>()
    )
}

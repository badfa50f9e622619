//! The options of `lbolt fleet`, and what its help says.

use super::{Format, Point, named};
use clap::Args;
use model::fleet::FleetBy;
use std::path::PathBuf;

/// `lbolt fleet`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = FLEET_HELP)]
pub struct FleetOptions {
    /// History directories of `lbolt watch`, rollups (`lbolt rollup`), directories of these, or
    /// @FILE with one path per line.
    #[arg(value_name = "PATH", required_unless_present = "spark_script")]
    pub paths: Vec<PathBuf>,
    /// Start: a date, a time (UTC), an age (3h), today or yesterday [default: the start of the
    /// earliest rows].
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    pub from: Option<Point>,
    /// End, in the same forms [default: the end of the latest rows].
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    pub to: Option<Point>,
    /// Subject of the lines.
    #[arg(long, value_name = "WHAT", default_value = "host", value_parser = named(FleetBy::ALL))]
    pub by: FleetBy,
    /// Compare the time before MOMENT with the time after it, for example the date of a rollout.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    pub before_after: Option<Point>,
    /// Print lbolt_spark.py: traces into rollups on the executors of your own Spark, and the fleet
    /// in Spark SQL.
    #[arg(long, exclusive = true)]
    pub spark_script: bool,
    /// Print all lines, all findings and all storms.
    #[arg(long)]
    pub all: bool,
    /// Also write the results as one HTML page, with charts of the worst hosts.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Format of the results on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// What `fleet` does, for `--help`.
const FLEET_HELP: &str = "\
lbolt fleet fleet/                          which host lost most time, to what, since when
lbolt fleet fleet/ --by firmware            also by model, kernel, role, cause or hour
lbolt fleet fleet/ --before-after 2026-11-20
                                            what a rollout changed, on which hosts
lbolt fleet 'web*/history' --from 2026-11-01 --to 2026-12-01
lbolt fleet @hosts.txt --format json        one path per line in hosts.txt
lbolt fleet --spark-script > lbolt_spark.py  for traces on a Spark cluster
lbolt fleet fleet/ --page fleet.html         one page: the worst hosts, hour by hour
lbolt synthesize --hosts 1000 --days 30 -o fleet
                                            a simulated fleet with known outliers, to try it on

A host, a device model, a firmware or a kernel is a finding only if its hosts lose more than the
others beyond chance, with confidence intervals widened for the number of hosts and causes compared
(Bonferroni). docs/guide/fleet.md explains the columns.";

//! The options of `lbolt survey`, and what its help says.

use super::{OutputOptions, size, time};
use clap::Args;
use std::time::Duration;

const HELP: &str = "\
Five questions, each answered by a short form of one experiment:
  Files    how fast are cold reads and writes, by file system?      (lbolt throughput)
  Device   how do latency and rate change up to the knee?           (lbolt curve)
  Durable  what does a durable write cost?                          (lbolt sync)
  Calls    how much CPU time does a call take, by interface?        (lbolt overhead)
  Storm    how much do reads and commits slow down during a sync?   (lbolt storm)

Each TARGET is a volume: a directory, or a block device, which is only read. Images of the fresh
file systems lie in the directory, so they measure the same disk. Several volumes make one table.
What a volume cannot be asked is left out, and lbolt says why: fresh file systems need root and
space, and without a file system only Device and Calls have an answer. --resume continues an
interrupted survey.";

/// `lbolt survey`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = HELP)]
pub struct SurveyOptions {
    /// Volumes to measure, each a directory or a block device, which is only read [default: the
    /// current directory].
    #[arg(value_name = "TARGET")]
    pub targets: Vec<String>,
    /// Take one minute per volume: fewer systems, queue depths and passes.
    #[arg(long, conflicts_with = "full", help_heading = "Passes")]
    pub quick: bool,
    /// Take 15 minutes or more per volume, for narrow confidence intervals.
    #[arg(long, help_heading = "Passes")]
    pub full: bool,
    /// File size for Files; also for Device (at least 64m), and the upper limit for Calls [default:
    /// chosen from the disk's speed, so that each volume takes less than four minutes].
    #[arg(long, value_parser = size, help_heading = "Workload")]
    pub size: Option<u64>,
    /// Counted passes of every question: exactly N (at least 2 for Device and Calls); with
    /// --max-time fewer for Files [default: 5 for Files and 3 for the others, then more until the
    /// rate's 95 % confidence interval is within ±10 % or the time is over].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000),
        help_heading = "Passes")]
    pub runs: Option<u32>,
    /// Time per cell of Files (a program on a file system), not of the whole survey, which --quick
    /// and --full choose: stop adding passes to a cell after it, but not before 3 [default: 5s; 2s
    /// with --quick, 30s with --full].
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Passes")]
    pub max_time: Option<Duration>,
    /// Continue an interrupted survey: answered questions are kept and not measured again.
    #[arg(long, value_name = "RUN", help_heading = "Passes")]
    pub resume: Option<String>,
    /// Print every table, not only the five answers.
    #[arg(long)]
    pub all: bool,
    /// Print the resolved plan and measure nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

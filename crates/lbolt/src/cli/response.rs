//! The options of `lbolt response`.

use super::help::RESPONSE_HELP;
use super::{Format, Moment, time};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use std::path::PathBuf;
use std::time::Duration;

/// `lbolt response`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = RESPONSE_HELP)]
pub struct ResponseOptions {
    /// A run, its requests.parquet, or a foreign trace that `lbolt import` knows (its files).
    /// Several runs, a directory of them, or @FILE with a path a line are put beside each other:
    /// what they have in common is summed, and devices are named with their run.
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// The format of a foreign trace [default: recognized by its first bytes].
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<String>,
    /// Every table, instead of the verdict and the first rows.
    #[arg(long)]
    pub all: bool,
    /// One kind of tables instead of the first screen.
    #[arg(long, value_name = "WHAT", conflicts_with = "all", value_parser = by_what())]
    pub by: Option<String>,
    /// Rows of each table at the most [default: what fits on a screen].
    #[arg(long, value_name = "N", conflicts_with = "all",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub top: Option<u32>,
    /// Only devices with this in their names.
    #[arg(long, value_name = "DEV", conflicts_with = "all")]
    pub device: Option<String>,
    /// Only roles with this in their names, as those who waited or those they waited for.
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    pub role: Option<String>,
    /// Only those processes, by themselves: a PID, or text in their title or command.
    #[arg(long, value_name = "WHO", conflicts_with = "all",
        value_parser = NonEmptyStringValueParser::new())]
    pub process: Option<String>,
    /// Only files with this in their names.
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    pub file: Option<String>,
    /// The stacks by which requests were queued, or in which threads slept (`wait`), one a line, as
    /// programs for flame graphs read them, and nothing else; the number is of their requests,
    /// bytes, ns of response time, or ns of waiting.
    #[arg(long, value_name = "WEIGHT", conflicts_with_all = ["all", "by", "ticks"],
        value_parser = weights())]
    pub folded: Option<String>,
    /// Only what arrived from then on: seconds behind the trace's beginning, a time with its unit,
    /// or a time by the clock (UTC) where the trace tells its own.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    pub from: Option<Moment>,
    /// Only what arrived before then.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    pub to: Option<Moment>,
    /// Only the trace's end, so long.
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true,
        conflicts_with_all = ["from", "to"])]
    pub last: Option<Duration>,
    /// Count responses in ticks of 1/60 s, as the 1986 paper printed them, and nothing else.
    #[arg(long)]
    pub ticks: bool,
    /// How results are printed to standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// What a folded stack's number can be.
fn weights() -> clap::builder::PossibleValuesParser {
    report::verdict::WEIGHTS.map(|(name, _)| name).into()
}

/// What a trace's tables can be by.
fn by_what() -> clap::builder::PossibleValuesParser {
    let classes = report::response::CLASSES.into_iter().filter(|class| *class != "device");
    report::verdict::TABLES.into_iter().chain(classes).collect::<Vec<_>>().into()
}

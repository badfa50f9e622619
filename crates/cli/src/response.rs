//! The options of `lbolt response`.

use super::help::RESPONSE_HELP;
use super::{Format, Moment, TraceOptions, time};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use std::time::Duration;

/// Of which traces.
const TRACES: &str = "\
    Runs, requests.parquet, or the files of a foreign trace that `lbolt import` can read. Several \
    runs, a directory of runs, or @FILE with one path per line are analysed together: common \
    subjects are summed, and devices get the name of their run";

/// `lbolt response`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = RESPONSE_HELP, mut_arg("traces", |arg| arg.help(TRACES)))]
pub struct ResponseOptions {
    /// The traces.
    #[command(flatten)]
    pub trace: TraceOptions,
    /// Print every table, not only the verdict and the first rows.
    #[arg(long)]
    pub all: bool,
    /// Tables by one subject, instead of the first screen.
    #[arg(long, value_name = "WHAT", conflicts_with = "all", value_parser = by_what())]
    pub by: Option<String>,
    /// Maximum rows per table [default: what fits on a screen].
    #[arg(long, value_name = "N", conflicts_with = "all",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub top: Option<u32>,
    /// Only devices whose name contains DEV.
    #[arg(long, value_name = "DEV", conflicts_with = "all")]
    pub device: Option<String>,
    /// Only roles whose name contains NAME, waiting or waited for.
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    pub role: Option<String>,
    /// Only these processes, each on its own: a PID, or text in the process title or command.
    #[arg(long, value_name = "WHO", conflicts_with = "all",
        value_parser = NonEmptyStringValueParser::new())]
    pub process: Option<String>,
    /// Only files whose name contains NAME.
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    pub file: Option<String>,
    /// Print only folded stacks, one per line, for flame graph tools. The weight is the number of
    /// requests, bytes, ns of response time, or ns that threads slept (`wait`).
    #[arg(long, value_name = "WEIGHT", conflicts_with_all = ["all", "by", "ticks"],
        value_parser = weights())]
    pub folded: Option<String>,
    /// Only requests that arrived from this moment on: seconds since the start of the trace, a time
    /// with a unit, or clock time (UTC) if the trace stores it.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    pub from: Option<Moment>,
    /// Only requests that arrived before this moment.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    pub to: Option<Moment>,
    /// Only the last TIME of the trace.
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true,
        conflicts_with_all = ["from", "to"])]
    pub last: Option<Duration>,
    /// Print only counts of response times in ticks of 1/60 s, as in the 1986 paper.
    #[arg(long, conflicts_with_all = ["all", "by", "top", "device", "role", "process", "file"])]
    pub ticks: bool,
    /// Format of the results on standard output.
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

//! The options of `lbolt compare`, and what its help says.

use super::Format;
use analyze::compare::setting::Aspect;
use clap::Args;
use std::path::PathBuf;

/// `lbolt compare`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = COMPARE_HELP)]
pub struct CompareOptions {
    /// A and B: each a run (its name or directory), fio's JSON, or several of one kind between
    /// commas; one run alone if it interleaved two targets (--abab).
    #[arg(required = true, num_args = 1..=2, value_name = "RUN")]
    pub sides: Vec<String>,
    /// Quantities to compare, by the beginnings of their names, or all [default: rates, CPU time of
    /// a request, and 99th percentiles].
    #[arg(long, value_name = "QUANTITY", value_delimiter = ',')]
    pub metric: Vec<String>,
    /// Exit with code 4 where B is worse by this or more, suspect rows left aside; also the least
    /// difference that matters [default: 5%].
    #[arg(long, value_name = "PERCENT", value_parser = percent_of)]
    pub fail_on: Option<f64>,
    /// Differences that are meant, and make nothing incomparable.
    #[arg(long, value_name = "WHAT", value_delimiter = ',',
        value_parser = super::named(&Aspect::ALL))]
    pub across: Vec<Aspect>,
    /// Also the rows that a side did not measure.
    #[arg(long)]
    pub all: bool,
    /// Directory that holds the runs.
    #[arg(long, value_name = "RUNS", default_value = "lbolt-runs", env = "LBOLT_RUNS")]
    pub runs_dir: PathBuf,
    /// Also as a page, one HTML file, as `lbolt report` makes it of a run.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// How results are printed to standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// `5%` or `5`.
pub(super) fn percent_of(text: &str) -> Result<f64, String> {
    super::percent(text.strip_suffix('%').unwrap_or(text).trim_end())
}

/// What `compare` does, for `--help`.
const COMPARE_HELP: &str = "\
lbolt compare before after               two runs, by their passes
lbolt compare a1,a2,a3,a4 b1,b2,b3,b4    several a side: then whole runs are what is compared
lbolt throughput d1 d2 --abab            both sides in turn, in one run: nothing tells more with \
less
lbolt compare old.json new.json          fio --output-format=json; one side may be a run of lbolt's

Passes of one run share its moment. A machine that changes its speed by itself makes two runs \
differ with
nothing changed; several runs a side know that, and --abab is not touched by it.

Verdicts: better, worse (in a quantity without a better side: differs), no difference beyond \
noise, cannot tell
(with the number of passes that would find the least difference that matters nine times of ten), not
comparable. What is suspect on a side is shown, and decides no exit code. The guide, \
docs/guide/compare.md,
says how they are found.

Exit codes: 0 fine, 1 I/O error, 2 usage, 4 worse by --fail-on, 6 output not printed.";

//! The options of `lbolt compare`, and what its help says.

use super::{Format, percent};
use analyze::compare::setting::Aspect;
use clap::Args;
use std::path::PathBuf;

/// `lbolt compare`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = COMPARE_HELP)]
pub struct CompareOptions {
    /// A and B: each a run (name or directory), a fio JSON file, or a comma-separated list of
    /// several of one kind. Give one run if it interleaved two targets (--abab).
    #[arg(required = true, num_args = 1..=2, value_name = "RUN")]
    pub sides: Vec<String>,
    /// Quantities to compare: the start of their names, or all [default: rates, CPU time per
    /// request, and p99].
    #[arg(long, value_name = "QUANTITY", value_delimiter = ',')]
    pub metric: Vec<String>,
    /// Exit with code 4 if B is worse by this much or more, else with code 7 if that is not sure
    /// (suspect rows do not count). This is also the smallest difference that matters
    /// [default: 5%].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub fail_on: Option<f64>,
    /// Intended differences, which do not make results incomparable.
    #[arg(long, value_name = "WHAT", value_delimiter = ',',
        value_parser = super::named(&Aspect::ALL))]
    pub across: Vec<Aspect>,
    /// Also print rows that only one side measured.
    #[arg(long)]
    pub all: bool,
    /// Directory that holds the runs.
    #[arg(long, value_name = "RUNS", default_value = "lbolt-runs", env = "LBOLT_RUNS")]
    pub runs_dir: PathBuf,
    /// Also write the results as one HTML page, as `lbolt report` does for a run.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Format of the results on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// What `compare` does, for `--help`.
const COMPARE_HELP: &str = "\
lbolt compare before after               two runs, pass by pass
lbolt compare a1,a2,a3,a4 b1,b2,b3,b4    several runs per side: whole runs are compared
lbolt throughput d1 d2 --abab            both sides in turn, in one run: the most sensitive test
lbolt compare old.json new.json          fio --output-format=json; one side may be an lbolt run

Passes of one run share one moment. If the machine's speed drifts, two runs differ although nothing
changed. Several runs per side reveal this drift; --abab is immune to it.

Verdicts: better, worse (differs, if a quantity has no better direction), no difference beyond
noise, cannot tell (with the number of passes that would tell), not comparable. Suspect results are
shown, but do not affect the exit code. See docs/guide/compare.md for the method.";

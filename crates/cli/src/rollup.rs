//! The options of `lbolt rollup`, and what its help says.

use super::{IdentityOptions, TraceOptions, named};
use clap::Args;
use model::record::RollupLevel;
use std::path::PathBuf;
use std::str::FromStr;

/// Of which traces.
const TRACES: &str = "\
    Runs, requests.parquet, foreign traces, histories, rollups, directories of runs, or @FILE with \
    one path per line";

/// `lbolt rollup`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = ROLLUP_HELP, mut_arg("traces", |arg| arg.help(TRACES)))]
pub struct RollupOptions {
    /// The traces.
    #[command(flatten)]
    pub trace: TraceOptions,
    /// File to write (Parquet).
    #[arg(short, long, value_name = "PATH")]
    pub output: PathBuf,
    /// Time span of a row: the original minutes, or hours or days. Longer spans sum the minutes and
    /// have coarser histograms.
    #[arg(long, value_name = "LEVEL", default_value = "minute",
        value_parser = named(RollupLevel::ALL))]
    pub level: RollupLevel,
    /// Whose they are.
    #[command(flatten)]
    pub identity: IdentityOptions,
    /// Start time of traces that do not record it, for example 2026-11-25T10:00:00Z.
    #[arg(long, value_name = "MOMENT")]
    pub started: Option<jiff::Timestamp>,
    /// Only one part of a trace's minutes: 1/8 is the first of eight. All parts together are the
    /// whole trace.
    #[arg(long, value_name = "K/N")]
    pub part: Option<Part>,
}

/// One of so many parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Which part, from 1.
    pub number: i64,
    /// Number of parts.
    pub all: i64,
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(number, all)| {
            Some(Self { number: number.parse().ok()?, all: all.parse().ok()? })
        });
        let is_one = |part: &Self| {
            (1..=1_000_000).contains(&part.all) && part.number >= 1 && part.number <= part.all
        };
        parsed.filter(is_one).ok_or_else(|| {
            format!("\"{text}\" is not a part; write K/N, for example 2/8 for the second of eight")
        })
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.all)
    }
}

/// For `lbolt rollup --help`.
const ROLLUP_HELP: &str = "\
lbolt rollup lbolt-runs -o host.parquet     a directory of runs, minute by minute
lbolt rollup web1 web2 db -o fleet.parquet  runs of several hosts
lbolt rollup web1.csv web2.csv -o fleet.parquet
                                            foreign traces: a host each, by their names
lbolt rollup db.csv --host db1 --model \"Disk 9\" --firmware 1.2 --kernel 6.12 -o db1.parquet
lbolt rollup fleet.parquet --level hour -o hours.parquet
                                            coarser, for long spans
lbolt history fleet.parquet --by host       which host lost most time, and to whom
duckdb -c \"SELECT host, SUM(lost_ns) / 1e9 FROM 'fleet.parquet' GROUP BY host\"

A rollup holds for traces what `lbolt watch` keeps: counts, response times and lost time by minute,
host, device, operation and role. docs/records.md lists its columns. Inputs that cover the same time
of the same host twice are refused.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_one_of_so_many() {
        assert_eq!("2/8".parse(), Ok(Part { number: 2, all: 8 }));
        for text in ["", "2", "0/8", "9/8", "-1/2", "1/0", "a/b", "1/2/3", "1/9999999"] {
            let error = text.parse::<Part>().unwrap_err();
            assert!(error.contains("is not a part; write K/N"), "{text}: {error}");
        }
    }
}

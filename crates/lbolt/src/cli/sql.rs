//! The options of `lbolt sql`, and what its help says.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Which part of the SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SqlPart {
    /// What is derived of each request: response time and its parts, depth, seeks.
    Views,
    /// Counts, sums and histograms by class, which stand on the views.
    Summaries,
}

/// Whose way to read files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SqlEngine {
    /// DuckDB.
    Duckdb,
    /// Apache Spark.
    Spark,
}

/// `lbolt sql`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = SQL_HELP)]
pub struct SqlOptions {
    /// Which part [default: both].
    #[arg(value_enum)]
    pub part: Option<SqlPart>,
    /// First make the view `requests` of these: runs, their requests.parquet, patterns, or places
    /// such as s3://….
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub requests: Vec<PathBuf>,
    /// Whose way to read files that view is written in.
    #[arg(long, value_enum, default_value_t = SqlEngine::Duckdb, requires = "requests")]
    pub engine: SqlEngine,
}

/// For `lbolt sql --help`.
const SQL_HELP: &str = "\
lbolt sql --requests RUN > run.sql; duckdb -init run.sql
    of a run, in DuckDB; then ask, for example: FROM percentiles WHERE classed_by = 'origin';
lbolt sql --engine spark --requests 's3://traces/*/requests.parquet' > all.sql; spark-sql -i all.sql
    of a fleet's runs, in Spark

Exit codes: 0 fine, 2 usage, 6 output not printed.";

//! The options of `lbolt sql`, and what its help says.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

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
#[command(after_long_help = SQL_HELP, group = clap::ArgGroup::new("of_what").multiple(true)
    .args(["requests", "rollups"]))]
pub struct SqlOptions {
    /// First make the views `requests`, `devices`, `calls` and `files` of these: runs, their
    /// requests.parquet, patterns, or places such as s3://….
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub requests: Vec<PathBuf>,
    /// First make the views `rollup` and `rollup_buckets` of these: rollups, histories, patterns,
    /// or places such as s3://…; then those of what is derived of them.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub rollups: Vec<PathBuf>,
    /// Whose way to read files these views are written in.
    #[arg(long, value_enum, default_value_t = SqlEngine::Duckdb, requires = "of_what")]
    pub engine: SqlEngine,
}

/// For `lbolt sql --help`.
const SQL_HELP: &str = "\
lbolt sql --requests RUN > run.sql; duckdb -init run.sql
    of a run, in DuckDB; then ask, for example: SELECT device_name, op, COUNT(*), AVG(response_ns)
    FROM requested GROUP BY ALL;
lbolt sql --engine spark --requests 's3://traces/*/requests.parquet' > all.sql; spark-sql -i all.sql
    of a fleet's runs, in Spark
lbolt sql --rollups fleet.parquet > fleet.sql; duckdb -init fleet.sql
    of a rollup; then, for example: SELECT host, device, p99_ns FROM response_hours WHERE
    operation = 'read' ORDER BY p99_ns DESC LIMIT 10;

Exit codes: 0 fine, 2 usage, 6 output not printed.";

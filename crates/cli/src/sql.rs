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
    /// Start with the views `requests`, `devices`, `calls` and `files` over these inputs: runs,
    /// requests.parquet, patterns, or URLs such as s3://….
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub requests: Vec<PathBuf>,
    /// Start with the views `rollup` and `rollup_buckets` over these inputs, and add the views
    /// derived from them: rollups, histories, patterns, or URLs such as s3://….
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub rollups: Vec<PathBuf>,
    /// Dialect of these views.
    #[arg(long, value_enum, default_value_t = SqlEngine::Duckdb, requires = "of_what")]
    pub engine: SqlEngine,
}

/// For `lbolt sql --help`.
const SQL_HELP: &str = "\
lbolt sql --requests RUN > run.sql; duckdb -init run.sql
    one run, in DuckDB; then for example: SELECT device_name, op, COUNT(*), AVG(response_ns)
    FROM requested GROUP BY ALL;
lbolt sql --engine spark --requests 's3://traces/*/requests.parquet' > all.sql; spark-sql -i all.sql
    the runs of a fleet, in Spark
lbolt sql --rollups fleet.parquet > fleet.sql; duckdb -init fleet.sql
    a rollup; then for example: SELECT host, device, p99_ns FROM response_hours WHERE
    operation = 'read' ORDER BY p99_ns DESC LIMIT 10;";

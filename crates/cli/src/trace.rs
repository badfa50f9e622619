//! Which trace a command reads: one of ours, or of another program.

use clap::Args;
use std::path::{Path, PathBuf};

/// A trace, as it is named.
#[derive(Debug, Clone, Args)]
pub struct TraceOptions {
    /// A run, its requests.parquet, or the files of a foreign trace that `lbolt import` can read.
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// Format of a foreign trace [default: detected from its first bytes].
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<String>,
}

impl TraceOptions {
    /// A trace of ours, by its path.
    pub fn own(path: &Path) -> Self {
        Self { traces: vec![path.to_owned()], input_format: None }
    }

    /// Other files of the same format.
    pub fn of(&self, traces: Vec<PathBuf>) -> Self {
        Self { traces, input_format: self.input_format.clone() }
    }
}

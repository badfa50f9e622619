//! Which trace a command reads: one of ours, or of another program.

use clap::Args;
use std::path::{Path, PathBuf};

/// A trace, as it is named.
#[derive(Debug, Clone, Args)]
pub struct TraceOptions {
    /// A run, its requests.parquet, or the files of a foreign trace that `lbolt import` can read.
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// How a foreign one is read.
    #[command(flatten)]
    pub read_as: ReadAs,
}

/// How a foreign trace is read.
#[derive(Debug, Clone, Default, Args)]
pub struct ReadAs {
    /// Format of a foreign trace, or columns=time:ms,device,offset:sector,length:B,op:1=read for a
    /// table [default: detected from its first bytes].
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<String>,
    /// Unit of the times of a table: s, ms, us, 100ns or ns [default: the format's].
    #[arg(long, value_name = "UNIT")]
    pub time_unit: Option<String>,
    /// Unit of the offsets and lengths of a table: B, sector, 1k or 4k [default: the format's].
    #[arg(long, value_name = "UNIT")]
    pub size_unit: Option<String>,
}

impl TraceOptions {
    /// A trace of ours, by its path.
    pub fn own(path: &Path) -> Self {
        Self { traces: vec![path.to_owned()], read_as: ReadAs::default() }
    }

    /// Other files of the same format.
    pub fn of(&self, traces: Vec<PathBuf>) -> Self {
        Self { traces, ..self.clone() }
    }
}

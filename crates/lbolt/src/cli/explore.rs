//! The options of `lbolt explore`, and what its help says.

use clap::Args;
use std::path::PathBuf;

/// `lbolt explore`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = EXPLORE_HELP)]
pub struct ExploreOptions {
    /// A run, its requests.parquet, or a foreign trace that `lbolt import` knows (its files).
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// The format of a foreign trace [default: recognized by its first bytes].
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<String>,
    /// The port of 127.0.0.1 that the page is served on; 0 is any free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Opens the page in the browser, by a file that redirects there: `ps` does not show the token.
    #[arg(long)]
    pub open: bool,
}

/// What `explore` does, for `--help`.
const EXPLORE_HELP: &str = "\
lbolt explore my-run             prints an address; open it in a browser
lbolt explore my-run --open      … and opens it
lbolt explore trace.csv          a foreign trace, read anew each time (import it once to keep it)

Brush a time, a place or response times, choose devices, roles and files: every figure follows, down
to single requests with their steps. The first opening makes an index of the requests, 14 bytes
each, beside the trace (requests.index); it may be deleted at any time. It is held in memory while
the command runs.

The page is served to this machine alone, and only to who knows the address, which has a token. From
another machine: ssh -L 8123:127.0.0.1:8123, and --port 8123. ^C ends it.

Exit codes: 0 fine, 1 I/O error, 2 usage, 6 output not printed, 130 interrupted while indexing.";

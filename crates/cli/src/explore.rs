//! The options of `lbolt explore`, and what its help says.

use super::TraceOptions;
use clap::Args;

/// `lbolt explore`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = EXPLORE_HELP)]
pub struct ExploreOptions {
    /// The trace.
    #[command(flatten)]
    pub trace: TraceOptions,
    /// Port on 127.0.0.1 for the page; 0 takes any free port.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Open the page in the browser. A redirecting file hides the token from `ps`.
    #[arg(long)]
    pub open: bool,
}

/// What `explore` does, for `--help`.
const EXPLORE_HELP: &str = "\
lbolt explore my-run             print an address to open in a browser
lbolt explore my-run --open      open it in the browser
lbolt explore trace.csv          a foreign trace, read again each time (import it once to keep it)

Select a time range, a disk region or response times, and choose devices, roles and files: every
figure follows, down to single requests and their steps. The first opening writes an index (14 bytes
per request) next to the trace, requests.index; you may delete it at any time. The index stays in
memory while the command runs.

The page is served only on this machine, and only at its address with the secret token. From another
machine, use ssh -L 8123:127.0.0.1:8123 and --port 8123. Ctrl-C ends it.";

//! The options of `lbolt watch`.

use super::help::WATCH_HELP;
use super::{CaptureOptions, Condition, size, time};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// `lbolt watch`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = WATCH_HELP)]
pub struct WatchOptions {
    /// Directory of the history [default: /var/lib/lbolt/history].
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// What is captured, and how.
    #[command(flatten)]
    pub capture: CaptureOptions,

    /// Host name in the history and the metrics [default: the machine's own; in a container the
    /// node's name is better].
    #[arg(long, value_name = "NAME", help_heading = "History")]
    pub host: Option<String>,
    /// Maximum size of the history at any time. Old minutes are first made coarser, then removed.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "1g",
        help_heading = "History")]
    pub history_size: u64,

    /// Keep an incident as a run when a condition holds: p99(fsync)>20ms, max(read)>1s for 10s,
    /// depth>64, wait(dd)>1s (one wait of a thread whose name contains dd), or unusual (far beyond
    /// the same hour of earlier days); repeatable. SIGUSR1 also keeps an incident.
    #[arg(long, value_name = "CONDITION", help_heading = "Incidents")]
    pub when: Vec<Condition>,
    /// Time to keep before the incident. Requests that come often and take less than 4 ms are kept
    /// as sums.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "20s",
        help_heading = "Incidents")]
    pub before: Duration,
    /// Time to keep after the incident.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "10s",
        help_heading = "Incidents")]
    pub after: Duration,
    /// Memory for the time before an incident; if it is too small, the oldest requests are dropped.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256m",
        help_heading = "Incidents")]
    pub before_size: u64,
    /// Maximum number of kept incidents; the incident with the least lost time is removed first.
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "Incidents")]
    pub max_incidents: usize,
    /// Maximum total size of the incidents.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "1g",
        help_heading = "Incidents")]
    pub incidents_size: u64,

    /// Serve histograms for Prometheus at this address, for example 127.0.0.1:9184.
    #[arg(long, value_name = "ADDRESS", help_heading = "Prometheus")]
    pub prometheus: Option<SocketAddr>,
    /// Allow an address that other machines can reach, and answer any Host header. Everyone who can
    /// reach it sees the names of programs and devices.
    #[arg(long, requires = "prometheus", help_heading = "Prometheus")]
    pub listen_public: bool,

    /// Export metrics by OTLP (HTTP, protobuf) to this receiver once a minute, for example
    /// http://127.0.0.1:4318, with response times as exponential histograms.
    #[arg(long, value_name = "URL", help_heading = "OpenTelemetry")]
    pub otlp: Option<String>,

    /// Command to run during the watch, without privileges, as the owner of the history; the watch
    /// ends with it.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

//! The options of `lbolt watch`.

use super::help::WATCH_HELP;
use super::{CaptureMethod, Condition, size, time};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// `lbolt watch`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = WATCH_HELP)]
pub struct WatchOptions {
    /// Where the history is kept [default: /var/lib/lbolt/history].
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// A device to watch: its name (vda), its node, a partition, or a directory on it; may be given
    /// again [default: all].
    #[arg(short, long = "device", value_name = "DEV", help_heading = "Capture")]
    pub devices: Vec<String>,
    /// End after this time.
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Capture")]
    pub duration: Option<Duration>,
    /// How: bpf knows each request by its identity; perf, without BPF, matches completions of
    /// requests by place, inexactly.
    #[arg(long, value_name = "TRACER", value_enum, default_value_t = CaptureMethod::Auto,
        help_heading = "Capture")]
    pub tracer: CaptureMethod,
    /// Calls that make files durable by their system calls, too: also when calls of xfs end. Every
    /// system call of the machine then takes 70 to 200 ns longer.
    #[arg(long, help_heading = "Capture")]
    pub syscalls: bool,

    /// The most that the history may take, at every moment; the oldest becomes coarser, then it
    /// goes.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "1g",
        help_heading = "History")]
    pub history_size: u64,

    /// Keep the seconds around what happens, as a run: p99(fsync)>20ms, p99(read)>5ms for 10s,
    /// depth>64, wait(dd)>1s (one wait of a thread with this in its name); may be given again.
    /// SIGUSR1 keeps them, too.
    #[arg(long, value_name = "CONDITION", help_heading = "Incidents")]
    pub when: Vec<Condition>,
    /// How much before it is kept.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "20s",
        help_heading = "Incidents")]
    pub before: Duration,
    /// How much after it is kept.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "10s",
        help_heading = "Incidents")]
    pub after: Duration,
    /// Memory for what may have to be kept; with less than the time needs, the oldest go first.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256m",
        help_heading = "Incidents")]
    pub before_size: u64,
    /// The most incidents that are kept; the one in which least time was lost goes first.
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "Incidents")]
    pub max_incidents: usize,
    /// The most that they may take together.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "1g",
        help_heading = "Incidents")]
    pub incidents_size: u64,

    /// Serve histograms for Prometheus there, as 127.0.0.1:9184.
    #[arg(long, value_name = "ADDRESS", help_heading = "Prometheus")]
    pub prometheus: Option<SocketAddr>,
    /// The address may be one that others can reach, and any Host is answered. Whoever reaches it
    /// sees names of programs and devices.
    #[arg(long, requires = "prometheus", help_heading = "Prometheus")]
    pub listen_public: bool,

    /// What to run meanwhile, without privileges, as whoever the history belongs to; the watch ends
    /// with it.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

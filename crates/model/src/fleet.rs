//! What is told of a fleet: what stands out among its hosts, which of them lost most, what hit many
//! of them at once, and what changed at a moment.
//!
//! Non-goals: reckoning it (`verdict::fleet`), printing it (`report::fleet`).

use crate::named::named;

named! {
    /// What a line is of.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum FleetBy {
        /// A host.
        #[default]
        Host = "host",
        /// A model of devices.
        Model = "model",
        /// A firmware of a model.
        Firmware = "firmware",
        /// A kernel's release.
        Kernel = "kernel",
        /// A role that lost.
        Role = "role",
        /// What time was lost to.
        Cause = "cause",
        /// An hour of the day (UTC).
        Hour = "hour",
    }
}

named! {
    /// What the hosts of a finding have in common.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Common {
        /// They are one host.
        #[default]
        Host = "host",
        /// A model of devices.
        Model = "model",
        /// A firmware.
        Firmware = "firmware",
        /// A kernel's release.
        Kernel = "kernel",
        /// Nothing but what they lost to.
        Cause = "cause",
        /// Nothing: they are all hosts.
        All = "all",
    }
}

/// A host, and the input that its rows are in, by its place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// What it is called.
    pub host: String,
    /// Which of the inputs.
    pub source: usize,
}

/// Something that stands out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetFinding {
    /// What its hosts have in common,
    pub common: Common,
    /// and which: a host's name, a model, a cause. Empty of all hosts.
    pub key: String,
    /// The model of a firmware; empty of what is none.
    pub model: String,
    /// What time was lost to.
    pub cause: String,
    /// The role that lost most of it.
    pub victim: String,
    /// The device, where it is of one host.
    pub device: String,
    /// Hosts that lost more than others,
    pub hosts: usize,
    /// of so many of this key.
    pub of_hosts: usize,
    /// What they lost.
    pub lost_ns: f64,
    /// Half of its interval: with all intervals of this kind it holds to 95 %.
    pub half_ns: f64,
    /// Per cent of what they waited.
    pub percent: f64,
    /// Since when it is much more than before, if it is.
    pub since_unix_ns: Option<i64>,
    /// The hours of the day (UTC) in which most of it is: the first one, and how many.
    pub hours: Option<(u8, u8)>,
    /// Its hosts, those that lost most of it first.
    pub worst: Vec<Found>,
}

impl FleetFinding {
    /// The host that lost most of it.
    pub fn first(&self) -> Found {
        self.worst.first().cloned().unwrap_or_default()
    }
}

named! {
    /// In which way hosts are slower than others of their kind.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Slowness {
        /// Whenever it was: hosts with a firmware or a kernel, against others of the model.
        #[default]
        Level = "level",
        /// After a moment, against before it.
        Change = "change",
        /// More and more.
        Drift = "drift",
        /// In single hours, several requests took very long.
        Stalls = "stalls",
        /// The same in an hour of the day on many hosts.
        Daily = "daily",
    }
}

/// Hosts whose response times are longer than those of their kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetSlower {
    /// In which way.
    pub slowness: Slowness,
    /// What its hosts have in common, and which; [`Common::Cause`]: nothing that is known.
    pub common: Common,
    /// See above.
    pub key: String,
    /// The device model.
    pub model: String,
    /// The device, where it is of one host.
    pub device: String,
    /// What the requests do.
    pub operation: String,
    /// Which part of them, the slowest ones: 1 is all of them.
    pub share: f64,
    /// Whether it is those against all of the same host, which may be quick as such.
    pub is_against_all: bool,
    /// How many times as long they take, from the end of the interval to its other end; of a drift
    /// from the first hour to the last. Of stalls, 1.
    pub ratio: f64,
    /// See above: with all intervals of this kind it holds to 95 %.
    pub low: f64,
    /// See above.
    pub high: f64,
    /// Hours with stalls, of all these hosts, and the longest response in them.
    pub stalls: (u64, u64),
    /// How many such hours others with the model have, in the mean, or other hours of the day.
    pub stalls_of_others: f64,
    /// Of a drift: from when until when there were requests.
    pub span_unix_ns: (i64, i64),
    /// The hours of the day (UTC): the first one, and how many.
    pub hours: Option<(u8, u8)>,
    /// The hosts, the slowest first.
    pub hosts: Vec<Found>,
    /// Of so many with that key, or of the model.
    pub of_hosts: usize,
}

/// A line of a table; figures are none where they are not known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetLine {
    /// What it is of.
    pub group: String,
    /// How many hosts have rows of it.
    pub hosts: usize,
    /// For how long they were watched.
    pub watched_ns: u64,
    /// What they lost.
    pub lost_ns: f64,
    /// Half of its interval: with those of all lines it holds to 95 %.
    pub half_ns: f64,
    /// Per cent of what they waited.
    pub percent: Option<f64>,
    /// What most was lost to, and how much.
    pub cause: Option<(String, f64)>,
    /// Requests that were traced,
    pub requests: u64,
    /// and how many of them failed.
    pub failed: u64,
    /// Response times, of the histograms of all: the median,
    pub p50_ns: Option<u64>,
    /// the 99th percentile,
    pub p99_ns: Option<u64>,
    /// and the greatest.
    pub max_ns: Option<u64>,
    /// Lost in a watched day: before a moment, and after it.
    pub before_after: Option<(f64, f64)>,
    /// The host that lost most of it.
    pub worst: Found,
}

/// Times in which many hosts lost much to one cause at once, or one host alone did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetStorm {
    /// What time was lost to.
    pub cause: String,
    /// The hours in which there were storms: the first one's begin,
    pub from_unix_ns: i64,
    /// the last one's end,
    pub until_unix_ns: i64,
    /// and how many.
    pub hours: usize,
    /// Hosts at once, at most. 1: it was one host alone.
    pub hosts: usize,
    /// Storms of all these hosts.
    pub storms: u64,
    /// What was lost in them.
    pub lost_ns: f64,
    /// The host that lost most.
    pub worst: Found,
}

/// What a host lost over time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetTrack {
    /// Which host.
    pub host: Found,
    /// What it lost in each bin; none where it was not watched.
    pub lost_ns: Vec<Option<i64>>,
}

/// Response times of a device model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetModel {
    /// Its name; empty where it is not known.
    pub model: String,
    /// Hosts with a device of the model.
    pub hosts: usize,
    /// Requests that were traced.
    pub requests: u64,
    /// Percentiles of the merged histograms: a share of the requests, and the time of the slowest
    /// one of this share.
    pub quantiles_ns: Vec<(f64, u64)>,
}

/// What a page draws.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetPictures {
    /// When the first bin begins.
    pub from_unix_ns: i64,
    /// How long a bin is: an hour, or longer for a long time.
    pub bin_ns: i64,
    /// Whether some rows span several bins, and were divided evenly among these.
    pub is_spread: bool,
    /// The hosts that lost most, the worst first.
    pub hosts: Vec<FleetTrack>,
    /// Device models, the most requests first.
    pub models: Vec<FleetModel>,
}

/// All that is told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fleet {
    /// What the lines are of.
    pub by: FleetBy,
    /// The time that is told of.
    pub span_unix_ns: (i64, i64),
    /// Hosts with rows,
    pub hosts: usize,
    /// of which so many were made up by a simulator.
    pub simulated: usize,
    /// Rows that were read.
    pub rows: u64,
    /// For how long hosts were watched, all together.
    pub watched_ns: u64,
    /// What was lost, and what was waited in all.
    pub lost_ns: f64,
    /// See above.
    pub waited_ns: u64,
    /// What stands out, the most lost first.
    pub findings: Vec<FleetFinding>,
    /// Which hosts are slower than others of their kind, whatever they lost.
    pub slower: Vec<FleetSlower>,
    /// From how long on a response may be one of a stall.
    pub stall_ns: u64,
    /// Tables' lines, the most lost first; hours in their order.
    pub lines: Vec<FleetLine>,
    /// Storms of many hosts at once, the most lost first; then those of single hosts.
    pub storms: Vec<FleetStorm>,
    /// The moment before and after which is compared.
    pub change_unix_ns: Option<i64>,
    /// Lost in a watched day before it and after it.
    pub before_after: Option<(f64, f64)>,
    /// What a page draws; none where none was asked for.
    pub pictures: Option<FleetPictures>,
}

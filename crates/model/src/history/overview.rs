//! A history as it is shown: a table of its time, who lost to whom, and what was not watched.
//!
//! Non-goals: reckoning it (`verdict::history`), printing it (`report::history`).

use crate::named::named;
use crate::pod::{namespace_of, pod_of};

impl By {
    /// Whether lines are made of the cgroups of roles.
    pub fn is_of_cgroups(self) -> bool {
        matches!(self, Self::Cgroup | Self::Pod | Self::Namespace)
    }

    /// What lines of a cgroup are of, where they are made of cgroups: the empty name of no pod.
    pub fn of_cgroup(self, cgroup: &str) -> &str {
        match self {
            Self::Pod => pod_of(cgroup).unwrap_or_default(),
            Self::Namespace => namespace_of(cgroup).unwrap_or_default(),
            _ => cgroup,
        }
    }

    /// Whether time lost can be told of its lines: it is counted by roles, devices and operations.
    pub fn has_losses(self) -> bool {
        !matches!(self, Self::FileSystem | Self::Size | Self::Origin)
    }
}

named! {
    /// What a line is of, besides its time.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum By {
        /// Nothing: a line is of a time.
        #[default]
        Time = "time",
        /// A device.
        Device = "device",
        /// A model of devices.
        Model = "model",
        /// An operation, or a kind of calls.
        Operation = "operation",
        /// A role.
        Role = "role",
        /// A cgroup: a service, a container.
        Cgroup = "cgroup",
        /// A pod of Kubernetes.
        Pod = "pod",
        /// A namespace of Kubernetes.
        Namespace = "namespace",
        /// A file system.
        FileSystem = "file-system",
        /// A class of sizes.
        Size = "size",
        /// Where requests come from.
        Origin = "origin",
        /// A host.
        Host = "host",
        /// What time was lost to.
        Cause = "cause",
    }
}

/// Who lost to whom, and waiting for what.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// On which host; empty where there is one alone.
    pub host: String,
    /// The role that lost.
    pub victim: String,
    /// What it waited for.
    pub operation: String,
    /// On which device; empty where it is not known.
    pub device: String,
    /// The role whose requests it waited for, or something in angle brackets.
    pub cause: String,
}

/// What a pair lost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loss {
    /// Who and whom.
    pub pair: Pair,
    /// In all.
    pub lost_ns: f64,
    /// Per cent of what the victim waited for this in all; none where that is not known.
    pub percent: Option<f64>,
    /// The shortest time in which most of it was lost: its begin and its end,
    pub worst_unix_ns: (i64, i64),
    /// and how much.
    pub worst_lost_ns: f64,
    /// Half of the interval of 95 % of what was lost in all; none where most is an estimate.
    pub half_ns: Option<f64>,
    /// How many times much was lost at once, and how long that went on in all.
    pub storms: (u64, u64),
    /// The time from the begin of such a time to that of the next, where it is mostly the same.
    pub period_ns: Option<f64>,
    /// Whether it is more than chance and trifles.
    pub matters: bool,
}

/// A line's figures; none where they are not known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// Its time's begin,
    pub from_unix_ns: i64,
    /// and end.
    pub until_unix_ns: i64,
    /// What else it is of.
    pub group: String,
    /// How much of its time was watched.
    pub watched_ns: u64,
    /// tps.
    pub tps: Option<f64>,
    /// rkB/s, in bytes.
    pub read_bytes_per_s: Option<f64>,
    /// wkB/s, in bytes.
    pub written_bytes_per_s: Option<f64>,
    /// dkB/s, in bytes.
    pub discarded_bytes_per_s: Option<f64>,
    /// areq-sz, in bytes.
    pub request_bytes: Option<f64>,
    /// aqu-sz.
    pub queued: Option<f64>,
    /// await, in ns.
    pub await_ns: Option<f64>,
    /// %util.
    pub util_percent: Option<f64>,
    /// Requests (or calls) that were traced.
    pub requests: u64,
    /// How many of them failed.
    pub failed: u64,
    /// Response times: the median,
    pub p50_ns: Option<u64>,
    /// the 99th percentile,
    pub p99_ns: Option<u64>,
    /// and the greatest.
    pub max_ns: Option<u64>,
    /// What was lost in it, by all.
    pub lost_ns: f64,
    /// Who lost most to whom, and how much.
    pub who: Option<(Pair, f64)>,
}

/// A time that was not watched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gap {
    /// On which host; empty where there is one alone.
    pub host: String,
    /// From when until when.
    pub span_unix_ns: (i64, i64),
}

/// All that is shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overview {
    /// What its lines are of.
    pub by: By,
    /// The time of a line; none: all of it.
    pub step_ns: Option<i64>,
    /// The time that was asked for.
    pub span_unix_ns: (i64, i64),
    /// In the order of time; of one time the most important first.
    pub lines: Vec<Line>,
    /// Who lost to whom, the most first.
    pub losses: Vec<Loss>,
    /// There are requests, and none tells how long it took.
    pub tells_no_time: bool,
    /// The line of the longest 99th percentile, and the middle one of all.
    pub slowest: Option<(Line, u64)>,
    /// From when until when there was a watch.
    pub watched_unix_ns: Option<(i64, i64)>,
    /// The hosts, where there are several.
    pub hosts: Vec<String>,
    /// How long was watched; of several hosts the mean.
    pub watched_ns: u64,
    /// The times in between that were not.
    pub gaps: Vec<Gap>,
    /// Events that were lost.
    pub events_lost: u64,
    /// Requests whose queueing is not known: their times begin at the issue.
    pub from_issue: u64,
    /// How often the clock was set forward, and by how much in all.
    pub forward: (u64, u64),
    /// How often it was set back, and by how much in all.
    pub back: (u64, u64),
    /// Time whose rows could not be kept.
    pub not_kept_ns: u64,
}

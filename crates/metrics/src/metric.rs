//! The table of all metrics: name, kind, unit, labels, the rows that each adds up, and what it
//! means. What is counted and shown, the documents and the dashboard are held against it.
//!
//! Non-goals: values.

use model::record::{Counted, Rollup, operations};

/// What sort of number it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows. Its samples are called NAME_total.
    Counter,
    /// It is what it is at the moment.
    Gauge,
    /// Times, by buckets.
    Histogram,
    /// Labels are all that it has. Its sample is called NAME_info.
    Info,
}

/// What it is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    None,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
}

impl Unit {
    /// The end of the names of what is counted in it.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Seconds => Some("seconds"),
            Self::Bytes => Some("bytes"),
        }
    }
}

/// A metric, of however many series.
#[derive(Debug)]
pub struct Metric {
    /// Its name, without `_total` or `_info`.
    pub name: &'static str,
    /// What sort of number it is.
    pub kind: Kind,
    /// What it is counted in.
    pub unit: Unit,
    /// What tells its series apart.
    pub labels: &'static [&'static str],
    /// What it is, in a sentence.
    pub help: &'static str,
    pub(crate) source: Source,
}

/// The rows that a metric adds up.
#[derive(Debug)]
pub(crate) struct Source {
    counted: Counted,
    /// Only those of one of these operations; all, where none is named.
    operations: &'static [&'static str],
    /// What of a row is added; times are in nanoseconds.
    pub(crate) value: fn(&Rollup) -> i128,
}

impl Source {
    /// Whether a row is one of them.
    pub(crate) fn includes(&self, row: &Rollup) -> bool {
        let has_operation =
            self.operations.is_empty() || self.operations.contains(&row.operation.as_str());
        self.counted == row.counted && has_operation
    }
}

impl Metric {
    /// What its samples are called, but for a histogram's, which have ends of their own.
    pub fn sample_name(&self) -> String {
        match self.kind {
            Kind::Counter => format!("{}_total", self.name),
            Kind::Info => format!("{}_info", self.name),
            Kind::Gauge | Kind::Histogram => self.name.to_owned(),
        }
    }
}

macro_rules! metrics {
    ($($id:ident $kind:ident $unit:ident $name:literal [$($label:literal)*]
        $counted:ident $value:ident $operations:expr, $help:literal;)*) => {
        /// Which metric.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Id { $($id),* }

        /// All of them, in the order in which they are shown.
        pub const METRICS: &[Metric] = &[$(Metric {
            name: $name,
            kind: Kind::$kind,
            unit: Unit::$unit,
            labels: &[$($label),*],
            help: $help,
            source: Source {
                counted: Counted::$counted,
                operations: &$operations,
                value: |row| row.$value.into(),
            },
        }),*];

        impl Id {
            pub(crate) const ALL: &[Self] = &[$(Self::$id),*];
        }
    };
}

impl Id {
    /// What is said of it.
    pub(crate) fn metric(self) -> &'static Metric {
        &METRICS[self as usize]
    }
}

/// What the kernel counts requests of.
const REQUESTS: [&str; 4] = ["read", "write", "discard", "flush"];

metrics! {
    Build Info None "lbolt_build" ["version"] Watch count [],
        "Version of the lbolt that is watching.";
    RequestResponse Histogram Seconds "lbolt_request_response_seconds"
        ["device" "operation" "role"] Requests sum_ns [],
        "Response times of block requests, from arrival at the block layer to completion.";
    RequestBytes Counter Bytes "lbolt_request_bytes" ["device" "operation" "role"]
        Requests bytes [], "Bytes transferred by block requests.";
    RequestsFailed Counter None "lbolt_requests_failed" ["device" "operation" "role"]
        Requests failed [], "Block requests that failed.";
    Call Histogram Seconds "lbolt_call_seconds" ["device" "operation" "role"] Calls sum_ns [],
        "Durations of calls that make files durable, by the device of the file system.";
    CallsFailed Counter None "lbolt_calls_failed" ["device" "operation" "role"] Calls failed [],
        "Calls that make files durable and failed.";
    Waits Counter None "lbolt_waits" ["device" "role" "wait"] Waits count [],
        "Waits of a role for reads, direct writes, flushes and calls that make files durable; \
         waits for an evicted page are among its reads.";
    WaitSeconds Counter Seconds "lbolt_wait_seconds" ["device" "role" "wait"] Waits sum_ns [],
        "Total duration of the waits of a role; waits for an evicted page are among its reads.";
    Lost Counter Seconds "lbolt_lost_seconds" ["device" "victim" "wait" "cause"] Lost lost_ns [],
        "Time a role waited longer than in calm, by the role or circumstance that caused it.";
    Outstanding Gauge None "lbolt_outstanding_requests" ["device"]
        Watch count [operations::OUTSTANDING],
        "Requests outstanding at the device at the end of the last second.";
    DiskRequests Counter None "lbolt_disk_requests" ["device" "operation"] Disk count REQUESTS,
        "Requests that the device completed, as counted by the kernel.";
    DiskBytes Counter Bytes "lbolt_disk_bytes" ["device" "operation"] Disk bytes REQUESTS,
        "Bytes that the device transferred, as counted by the kernel.";
    DiskRequestSeconds Counter Seconds "lbolt_disk_request_seconds" ["device" "operation"]
        Disk sum_ns REQUESTS,
        "Total response time of the device's requests, as counted by the kernel.";
    DiskBusy Counter Seconds "lbolt_disk_busy_seconds" ["device"] Disk sum_ns [operations::BUSY],
        "Time with at least one request at the device, as counted by the kernel.";
    DiskQueued Counter Seconds "lbolt_disk_queued_seconds" ["device"]
        Disk sum_ns [operations::QUEUED],
        "Time at the device, summed over requests; its rate is the mean queue depth.";
    Rollup Counter Seconds "lbolt_watched_seconds" [] Watch sum_ns [operations::WATCHED],
        "Time watched.";
    EventsLost Counter None "lbolt_events_lost" [] Watch count [operations::EVENTS_LOST],
        "Kernel events lost because they came too fast; if it grows, other counts are too low.";
    Cpu Counter Seconds "lbolt_cpu_seconds" [] Watch sum_ns [operations::CPUS],
        "Time of all CPUs, idle or not.";
    CpuIdle Counter Seconds "lbolt_cpu_idle_seconds" [] Watch sum_ns [operations::CPUS_IDLE],
        "Time that CPUs were idle.";
    CpuStolen Counter Seconds "lbolt_cpu_stolen_seconds" [] Watch sum_ns [operations::CPUS_STOLEN],
        "CPU time that the hypervisor took away.";
    ClockSet Counter None "lbolt_clock_set" ["direction"]
        Watch count [operations::CLOCK_FORWARD, operations::CLOCK_BACK],
        "Number of times the wall clock was set, by direction.";
    NotKept Counter None "lbolt_history_rows_not_kept" [] Watch count [operations::NOT_KEPT],
        "History rows that could not be written.";
    NotExported Counter None "lbolt_otlp_exports_failed" []
        Watch count [operations::NOT_EXPORTED], "Exports by OTLP that failed.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_prometheus_own_way() {
        for metric in METRICS {
            let Metric { name, kind, unit, labels, help, .. } = metric;
            assert!(name.starts_with("lbolt_") && !name.ends_with("_total"), "{name}");
            if let Some(unit) = unit.name() {
                assert!(name.ends_with(unit), "{name} is in {unit}");
            }
            assert!(help.ends_with('.') && !help.contains(['\n', '\\', '"']), "{help}");
            assert!(labels.iter().all(|label| *label != "le" && label.is_ascii()));
            assert_eq!(
                *kind == Kind::Histogram,
                name.ends_with("_seconds") && *kind != Kind::Counter
            );
        }
        assert!(Id::ALL.iter().zip(METRICS).all(|(id, metric)| id.metric().name == metric.name));
    }
}

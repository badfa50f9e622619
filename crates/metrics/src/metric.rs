//! The table of all metrics: name, kind, unit, labels, and what each means. What is shown, the
//! documents and the dashboard are held against it.
//!
//! Non-goals: values.

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
#[derive(Debug, PartialEq, Eq)]
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
    ($($id:ident $kind:ident $unit:ident $name:literal [$($label:literal)*] $help:literal;)*) => {
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

metrics! {
    Build Info None "lbolt_build" ["version"]
        "The version of lbolt that watches.";
    RequestResponse Histogram Seconds "lbolt_request_response_seconds"
        ["device" "operation" "role"]
        "Response times of requests to devices, from arrival at the block layer to completion.";
    RequestBytes Counter Bytes "lbolt_request_bytes" ["device" "operation" "role"]
        "Bytes of these requests.";
    RequestsFailed Counter None "lbolt_requests_failed" ["device" "operation" "role"]
        "Those of these requests that failed.";
    Call Histogram Seconds "lbolt_call_seconds" ["device" "operation" "role"]
        "Times of calls that make files durable, by the device of the file system.";
    CallsFailed Counter None "lbolt_calls_failed" ["device" "operation" "role"]
        "Those of these calls that failed.";
    Waits Counter None "lbolt_waits" ["device" "role" "wait"]
        "Waits of a role: for reads, direct writes, flushes, and calls that make files durable.";
    WaitSeconds Counter Seconds "lbolt_wait_seconds" ["device" "role" "wait"]
        "How long these waits took together.";
    Lost Counter Seconds "lbolt_lost_seconds" ["device" "victim" "wait" "cause"]
        "What a role waited longer than in calm, by the role or circumstance that caused it.";
    Outstanding Gauge None "lbolt_outstanding_requests" ["device"]
        "Requests at the device at the end of the last second.";
    DiskRequests Counter None "lbolt_disk_requests" ["device" "operation"]
        "Requests that the device completed, by the kernel's own count.";
    DiskBytes Counter Bytes "lbolt_disk_bytes" ["device" "operation"]
        "Bytes of these requests, by the kernel's own count.";
    DiskRequestSeconds Counter Seconds "lbolt_disk_request_seconds" ["device" "operation"]
        "How long these requests took together, by the kernel's own count.";
    DiskBusy Counter Seconds "lbolt_disk_busy_seconds" ["device"]
        "How long the device had any request, by the kernel's own count.";
    DiskQueued Counter Seconds "lbolt_disk_queued_seconds" ["device"]
        "The sum over requests of their time at the device: per second, the mean depth.";
    Rollup Counter Seconds "lbolt_watched_seconds" []
        "For how long was watched.";
    EventsLost Counter None "lbolt_events_lost" []
        "Events of the kernel that came too quickly to be read: with any, other counts are low.";
    Cpu Counter Seconds "lbolt_cpu_seconds" []
        "The time of all CPUs.";
    CpuIdle Counter Seconds "lbolt_cpu_idle_seconds" []
        "The part of it in which they were idle.";
    CpuStolen Counter Seconds "lbolt_cpu_stolen_seconds" []
        "The part of it that the hypervisor took away.";
    ClockSet Counter None "lbolt_clock_set" ["direction"]
        "How often the clock was set, forward or back.";
    NotKept Counter None "lbolt_history_rows_not_kept" []
        "Rows of the history that could not be written.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_prometheus_own_way() {
        for metric in METRICS {
            let Metric { name, kind, unit, labels, help } = metric;
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
        assert!(Id::ALL.iter().zip(METRICS).all(|(id, metric)| id.metric() == metric));
    }
}

//! What all CPUs did together, by short intervals: how long they were idle, and how long the
//! hypervisor had taken them away.
//!
//! Non-goals: whose CPU time it was (`trace::account`).

use super::column::{Column, Record, column};

/// An interval of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct CpuTime {
    pub from_ns: i64,
    pub until_ns: i64,
    pub cpus: u64,
    pub idle_ns: u64,
    pub stolen_ns: u64,
    pub io_stalled_ns: Option<u64>,
}

impl CpuTime {
    /// Its times from a moment of the run instead of its beginning.
    #[must_use]
    pub fn counted_from(self, zero_ns: i64) -> Self {
        let from_ns = self.from_ns.saturating_sub(zero_ns);
        let until_ns = self.until_ns.saturating_sub(zero_ns);
        Self { from_ns, until_ns, ..self }
    }
}

impl Record for CpuTime {
    const SCHEMA: &'static str = "lbolt.cpu_times/2";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column!(CpuTime, from_ns: i64, "start and end of the interval"),
            column!(CpuTime, until_ns: i64, "start and end of the interval"),
            column!(CpuTime, cpus: u64, "online CPUs"),
            column!(CpuTime, idle_ns: u64, "idle time over all CPUs; the kernel counts in steps of \
                10 ms"),
            column!(CpuTime, stolen_ns: u64, "time stolen by the hypervisor over all CPUs, also in \
                steps of 10 ms"),
            column!(CpuTime, io_stalled_ns: Option<u64>, "time in which some thread waited for \
                requests (/proc/pressure/io, some); null: not counted"),
        ]
    }

    fn earlier() -> (&'static str, Vec<Column<Self>>) {
        let mut columns = Self::columns();
        columns.retain(|column| column.name != "io_stalled_ns");
        ("lbolt.cpu_times/1", columns)
    }
}

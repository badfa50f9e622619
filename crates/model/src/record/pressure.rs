//! How long some thread of a cgroup waited for requests, as the kernel counts it by itself
//! (io.pressure, Documentation/accounting/psi.rst): of cgroups of version 2 that have threads which
//! were seen.
//!
//! Non-goals: the machine's, which stands with its CPUs (`CpuTime`).

use super::column::{Column, Record, column};

/// A cgroup within an interval of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct Pressure {
    pub unit: String,
    pub from_ns: i64,
    pub until_ns: i64,
    pub io_stalled_ns: u64,
}

impl Pressure {
    /// Its times from a moment of the run instead of its beginning.
    #[must_use]
    pub fn counted_from(self, zero_ns: i64) -> Self {
        let from_ns = self.from_ns.saturating_sub(zero_ns);
        let until_ns = self.until_ns.saturating_sub(zero_ns);
        Self { from_ns, until_ns, ..self }
    }
}

impl Record for Pressure {
    const SCHEMA: &'static str = "lbolt.pressure/1";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column!(Pressure, unit: String, "cgroup path, as in processes"),
            column!(Pressure, from_ns: i64, "start and end of the interval"),
            column!(Pressure, until_ns: i64, "start and end of the interval"),
            column!(Pressure, io_stalled_ns: u64, "time in which some thread of the cgroup waited \
                for requests (io.pressure, some)"),
        ]
    }
}

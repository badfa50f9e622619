//! How long some thread of a cgroup waited for requests, as the kernel counts it by itself
//! (io.pressure, Documentation/accounting/psi.rst): of cgroups of version 2 that have threads which
//! were seen.
//!
//! Non-goals: the machine's, which stands with its CPUs (`CpuTime`).

use super::column::record;

record! {
    /// A cgroup within an interval of the run.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Pressure, "lbolt.pressure/1", times [from_ns until_ns] {
        unit: String = "cgroup path, as in processes";
        from_ns: i64 = "start and end of the interval";
        until_ns: i64 = "start and end of the interval";
        io_stalled_ns: u64 =
            "time in which some thread of the cgroup waited for requests (io.pressure, some)";
    }
}

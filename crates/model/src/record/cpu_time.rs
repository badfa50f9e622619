//! What all CPUs did together, by short intervals: how long they were idle, and how long the
//! hypervisor had taken them away.
//!
//! Non-goals: whose CPU time it was (`trace::account`).

use super::column::record;

record! {
    /// An interval of the run.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct CpuTime, "lbolt.cpu_times/2", times [from_ns until_ns],
        new [io_stalled_ns] since "lbolt.cpu_times/1"
    {
        from_ns: i64 = "start and end of the interval";
        until_ns: i64 = "start and end of the interval";
        cpus: u64 = "online CPUs";
        idle_ns: u64 = "idle time over all CPUs; the kernel counts in steps of 10 ms";
        stolen_ns: u64 = "time stolen by the hypervisor over all CPUs, also in steps of 10 ms";
        io_stalled_ns: Option<u64> =
            "time in which some thread waited for requests (/proc/pressure/io, some); null: not \
             counted";
    }
}

/// Idle for less than one part in so many, all CPUs are busy.
const IDLE_PART: u128 = 20;

impl CpuTime {
    /// Whether all CPUs were busy with what this machine runs: idle for less than 5 % of the time
    /// that it had them.
    pub fn is_busy(&self) -> bool {
        let length_ns = self.until_ns.saturating_sub(self.from_ns).max(0).unsigned_abs();
        let all_ns = u128::from(length_ns) * u128::from(self.cpus);
        let had_ns = all_ns.saturating_sub(self.stolen_ns.into());
        u128::from(self.idle_ns) * IDLE_PART < had_ns
    }
}

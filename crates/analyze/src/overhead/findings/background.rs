//! The machine by itself: what it spends with no job, by each account, and what an idle-priority
//! loop on each of its CPUs then gets.

use crate::statistics::median;
use model::record::{Role, Sample};
use model::workload::Account;

/// The machine by itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Background {
    /// CPU time over wall time that is nobody's.
    pub(super) difference: f64,
    pub(super) trace: f64,
    /// By CPU: what an idle-priority loop gets of the time with nothing else running.
    idle: Vec<f64>,
}

impl Background {
    pub(super) fn of(samples: &[Sample]) -> Self {
        let is_itself = |s: &&Sample| {
            s.role == Role::Calibration && s.overhead().loop_count.is_none() && s.wall_ns > 0
        };
        let by_itself: Vec<&Sample> = samples.iter().filter(is_itself).collect();
        let share = |account: Account, of: fn(&Sample) -> Option<u64>| {
            let own = by_itself.iter().filter(|s| s.overhead().account == account);
            let shares = own.filter_map(|s| Some(of(s)? as f64 / s.wall_ns as f64));
            median(&shares.collect::<Vec<f64>>()).unwrap_or(0.0)
        };
        let idle_loads: Vec<&&Sample> =
            by_itself.iter().filter(|s| !s.overhead().idle_load_cpu_ns.is_empty()).collect();
        let cpus =
            idle_loads.iter().map(|s| s.overhead().idle_load_cpu_ns.len()).min().unwrap_or(0);
        let idle = |cpu: usize| {
            let share = |s: &&&Sample| s.overhead().idle_load_cpu_ns[cpu] as f64 / s.wall_ns as f64;
            median(&idle_loads.iter().map(share).collect::<Vec<f64>>()).unwrap_or(0.0)
        };
        Self {
            difference: share(Account::Difference, |s| s.cpu_other_ns),
            trace: share(Account::Trace, |s| s.overhead().cpu_traced_ns),
            idle: (0..cpus).map(idle).collect(),
        }
    }

    /// What was measured of the machine by itself, by quantity.
    pub(super) fn by_quantity(&self) -> [(&'static str, f64); 2] {
        [
            ("background_difference_percent", 100.0 * self.difference),
            ("background_trace_percent", 100.0 * self.trace),
        ]
    }

    /// What the loops get of that time when idle, less what they got, over all CPUs. By their own
    /// clocks, to which interrupts are charged, and not by count: where two CPUs share a core, a
    /// loop runs 1.3 to 1.7 times as fast beside a thread that waits as beside another loop.
    pub(super) fn idle_load_ns(&self, sample: &Sample) -> Option<f64> {
        let got_ns = &sample.overhead().idle_load_cpu_ns;
        if self.idle.is_empty() || got_ns.len() != self.idle.len() {
            return None;
        }
        let missing = |(idle, got_ns): (&f64, &u64)| idle * sample.wall_ns as f64 - *got_ns as f64;
        Some(self.idle.iter().zip(got_ns).map(missing).sum())
    }
}

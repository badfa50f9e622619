//! The machine by itself: what it spends with no job, by each account, and how many idle-priority
//! loops each of its CPUs then gets through.

use crate::statistics::median;
use model::record::{Role, Sample};
use model::workload::Account;

/// An idle-priority loop with nothing else running.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Idle {
    loops_per_ns: f64,
    loop_ns: f64,
}

/// The machine by itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Background {
    /// CPU time over wall time that is nobody's.
    pub(super) difference: f64,
    pub(super) trace: f64,
    /// By CPU.
    idle: Vec<Idle>,
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
            by_itself.iter().filter(|s| !s.overhead().idle_load_loops.is_empty()).collect();
        let cpus = idle_loads.iter().map(|s| s.overhead().idle_load_loops.len()).min().unwrap_or(0);
        let idle = |cpu: usize| {
            let of = |value: fn(&Sample, usize) -> f64| {
                median(&idle_loads.iter().map(|s| value(s, cpu)).collect::<Vec<f64>>())
                    .unwrap_or(0.0)
            };
            Idle {
                loops_per_ns: of(|s, cpu| {
                    s.overhead().idle_load_loops[cpu] as f64 / s.wall_ns as f64
                }),
                loop_ns: of(|s, cpu| {
                    s.overhead().idle_load_cpu_ns[cpu] as f64
                        / s.overhead().idle_load_loops[cpu].max(1) as f64
                }),
            }
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

    /// (loops when idle − loops) × t_loop, over all CPUs: by count, never by the load's own clock,
    /// to which interrupts are charged.
    pub(super) fn idle_load_ns(&self, sample: &Sample) -> Option<f64> {
        if self.idle.is_empty() || sample.overhead().idle_load_loops.len() != self.idle.len() {
            return None;
        }
        let missing = |(idle, loops): (&Idle, &u64)| {
            (idle.loops_per_ns * sample.wall_ns as f64 - *loops as f64) * idle.loop_ns
        };
        Some(self.idle.iter().zip(&sample.overhead().idle_load_loops).map(missing).sum())
    }
}

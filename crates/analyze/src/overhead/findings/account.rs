//! The accounts of a pass's time, as a table: from which passes each comes, and how a pass's total
//! is reckoned. Total CPU is found three times over, by means that share nothing.

use super::background::Background;
use super::loops::LoopTime;
use model::record::Sample;
use model::workload::Account as Passes;

pub(super) struct Account {
    /// Its name in the subject of a routine's findings.
    pub(super) name: &'static str,
    pub(super) quantity: &'static str,
    /// The `account` column of the samples that it rests on.
    pub(super) passes: Passes,
    /// Its passes were run for it alone, so that their refusal is its refusal.
    pub(super) is_named_after_its_passes: bool,
    /// CPU time, from which the harness's own is taken off; otherwise wall time.
    pub(super) is_cpu: bool,
    /// It grows where the core is slower, so that it is given at the core's best speed.
    pub(super) follows_speed: bool,
    /// The quantity of this total over the thread's own time, where it is a total.
    pub(super) over_own: Option<&'static str>,
    /// The same over the time of all threads that worked in the program.
    pub(super) over_tasks: Option<&'static str>,
    pub(super) method: &'static str,
    /// A pass's time in ns.
    pub(super) total_ns: fn(&Sample, &Background, Option<&LoopTime>) -> Option<f64>,
}

/// The account that the totals are held against, that of all CPUs in the same passes, and that of
/// equation 2.
pub(super) const OWN: &Account = &ACCOUNTS[1];
pub(super) const DIFFERENCE: &Account = &ACCOUNTS[2];
pub(super) const LOOPS: &Account = &ACCOUNTS[5];

/// Wall time, against which the others stand out.
const WALL: Account = Account {
    name: "wall",
    quantity: "operation_wall_ns",
    passes: Passes::Difference,
    is_named_after_its_passes: false,
    is_cpu: false,
    follows_speed: false,
    over_own: None,
    over_tasks: None,
    method: "wall time of a pass over its requests",
    total_ns: |sample, _, _| Some(sample.wall_ns as f64),
};

pub(super) const ACCOUNTS: &[Account] = &[
    WALL,
    Account {
        name: "thread",
        quantity: "operation_cpu_thread_ns",
        is_cpu: true,
        follows_speed: true,
        method: "the job's thread by its own clock",
        total_ns: own_ns,
        ..WALL
    },
    Account {
        name: "difference",
        quantity: "operation_cpu_difference_ns",
        is_cpu: true,
        follows_speed: true,
        over_own: Some("cpu_total_difference_ratio"),
        over_tasks: Some("cpu_total_difference_tasks_ratio"),
        method: "CPUs × time − idle − stolen − other programs − the machine by itself",
        total_ns: |sample, background, _| {
            without_computing(sample)?;
            let other = sample.cpu_other_ns? as f64;
            let by_itself = background.difference * sample.wall_ns as f64;
            Some(sample.overhead().cpu_timed_ns? as f64 + other - by_itself)
        },
        ..WALL
    },
    Account {
        name: "idle-load",
        quantity: "operation_cpu_idle_load_ns",
        passes: Passes::IdleLoad,
        is_named_after_its_passes: true,
        is_cpu: true,
        over_own: Some("cpu_total_idle_load_ratio"),
        over_tasks: Some("cpu_total_idle_load_tasks_ratio"),
        method: "CPU time of idle-priority loops when idle − theirs beside the job, over all CPUs",
        total_ns: |sample, background, _| {
            without_computing(sample)?;
            background.idle_load_ns(sample)
        },
        ..WALL
    },
    Account {
        name: "trace",
        quantity: "operation_cpu_trace_ns",
        passes: Passes::Trace,
        is_named_after_its_passes: true,
        is_cpu: true,
        follows_speed: true,
        over_own: Some("cpu_total_trace_ratio"),
        over_tasks: Some("cpu_total_trace_tasks_ratio"),
        method: "every switch and interrupt by BPF − the machine by itself",
        total_ns: |sample, background, _| {
            without_computing(sample)?;
            let by_itself = background.trace * sample.wall_ns as f64;
            Some(sample.overhead().cpu_traced_ns? as f64 - by_itself)
        },
    },
    Account {
        name: "loops",
        quantity: "operation_overhead_ns",
        is_cpu: true,
        method: "(T_t − N_loop × t_loop) / requests (equation 2)",
        total_ns: |sample, _, t_loop| {
            Some(sample.wall_ns as f64 - sample.overhead().loop_count? as f64 * t_loop?.ns.value)
        },
        ..WALL
    },
];

/// A job that computes spends its CPU time on that: what is not computing is found by loops alone.
fn without_computing(sample: &Sample) -> Option<()> {
    sample.overhead().test_interval_ns.is_none().then_some(())
}

fn own_ns(sample: &Sample, _: &Background, _: Option<&LoopTime>) -> Option<f64> {
    without_computing(sample)?;
    Some(sample.overhead().cpu_timed_ns? as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_that_are_named_by_their_place_are_there() {
        let names = [OWN.name, DIFFERENCE.name, LOOPS.name];
        assert_eq!(names, ["thread", "difference", "loops"]);
    }
}

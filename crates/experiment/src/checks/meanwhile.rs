//! What the machine did beside a pass: stolen time, other programs, and whether the accounts of CPU
//! fit into it. The same checks for every experiment that measures a rate.

use super::share;
use model::doubt::{Code, Doubt};
use model::record::Sample;
use model::seam::Counters;

/// Stolen time as a share of all CPUs.
const STOLEN_SHARE_MAX: f64 = 0.02;
/// Other programs, as a share of one CPU.
const ELSEWHERE_SHARE_MAX: f64 = 0.1;

/// The kernel counts stolen time and other programs in ticks of 10 ms: between two readings a tick
/// too many at each end.
const GRAIN_NS: f64 = 2e7;

/// What the machine did beside a pass, of whatever experiment.
#[derive(Clone, Copy)]
pub(crate) struct Meanwhile<'a> {
    pub(crate) sample: &'a Sample,
    pub(crate) before: &'a Counters,
    pub(crate) after: &'a Counters,
}

impl Meanwhile<'_> {
    /// The doubts of a pass beside which nothing else was to run.
    pub(crate) fn doubts(&self) -> Vec<Doubt> {
        [stolen, elsewhere, cpu_accounts].iter().filter_map(|check| check(self)).collect()
    }

    /// The doubts of a pass in which programs of somebody else's were the load.
    pub(crate) fn doubts_beside_a_load(&self) -> Vec<Doubt> {
        stolen(self).into_iter().collect()
    }

    fn interval_ns(&self) -> u64 {
        self.after.at_ns.saturating_sub(self.before.at_ns)
    }
}

/// Time that the hypervisor took away.
pub(super) fn stolen(of: &Meanwhile) -> Option<Doubt> {
    let all = of.interval_ns() as f64 * f64::from(of.after.cpu.cpus);
    let stolen = of.sample.stolen_ns as f64;
    (stolen > STOLEN_SHARE_MAX * all + GRAIN_NS).then(|| share(Code::StolenTime, stolen, all))
}

/// Other programs that ran meanwhile.
pub(super) fn elsewhere(of: &Meanwhile) -> Option<Doubt> {
    let interval = of.interval_ns() as f64;
    let elsewhere = of.sample.cpu_elsewhere_ns? as f64;
    let doubt = || {
        let all_percent = 100.0 * f64::from(of.after.cpu.cpus);
        let mut doubt = share(Code::OtherPrograms, elsewhere, interval);
        doubt.values.insert("all_percent".into(), all_percent.into());
        doubt.values.insert("by".into(), heaviest(of).into());
        doubt
    };
    (elsewhere > ELSEWHERE_SHARE_MAX * interval + GRAIN_NS).then(doubt)
}

/// Names of other programs in a doubt, at most.
const MOST_NAMED: usize = 3;

/// The other programs with the most CPU time, the heaviest first.
fn heaviest(of: &Meanwhile) -> Vec<String> {
    let before = &of.before.cpu.elsewhere_by;
    let used = of
        .after
        .cpu
        .elsewhere_by
        .iter()
        .map(|(name, ns)| (ns.saturating_sub(before.get(name).copied().unwrap_or(0)), name));
    let mut used: Vec<(u64, &String)> = used.filter(|(ns, _)| *ns > 0).collect();
    used.sort_by(|a, b| b.cmp(a));
    used.into_iter().take(MOST_NAMED).map(|(_, name)| name.clone()).collect()
}

/// The accounts must fit into the machine: tasks' own clocks against the CPUs' busy time.
pub(super) fn cpu_accounts(of: &Meanwhile) -> Option<Doubt> {
    let (before, after) = (&of.before.cpu, &of.after.cpu);
    let interval = of.interval_ns();
    let idle = after.idle_ns.saturating_sub(before.idle_ns);
    let busy = (interval * u64::from(after.cpus)).saturating_sub(idle) as f64;
    let kernel = after.kernel_threads_ns?.saturating_sub(before.kernel_threads_ns?);
    let own = of.sample.cpu_user_ns + of.sample.cpu_system_ns;
    let tasks = (own + kernel) as f64;
    let grain = of.sample.cpu_uncertainty_ns as f64;
    (tasks > 1.05 * busy + grain + 2e7).then(|| {
        let values = [("tasks_ms", (tasks / 1e6).into()), ("busy_ms", (busy / 1e6).into())];
        Doubt::new(Code::TaskClocksExceedBusy, values)
    })
}

//! From the counters around a pass to the columns of its sample: CPU time by difference over all
//! CPUs, and what the kernel counted at the devices. The same for every experiment.

use crate::checks::traffic;
use model::histogram::Histogram;
use model::record::Sample;
use model::seam::{Counters, DeviceRole, JobCpu};

/// The jobs' own CPU time, and by difference over all CPUs what was spent on their behalf.
pub(crate) fn add_cpu(sample: &mut Sample, jobs: &[JobCpu], before: &Counters, after: &Counters) {
    sample.cpu_user_ns = jobs.iter().map(|cpu| cpu.user_ns).sum();
    sample.cpu_system_ns = jobs.iter().map(|cpu| cpu.system_ns).sum();
    let (cpu, earlier) = (&after.cpu, &before.cpu);
    let optional = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_sub(b?));
    sample.stolen_ns = cpu.stolen_ns.saturating_sub(earlier.stolen_ns);
    sample.cpu_test_bed_ns = optional(cpu.test_bed_ns, earlier.test_bed_ns);
    sample.cpu_elsewhere_ns = optional(cpu.elsewhere_ns, earlier.elsewhere_ns);
    sample.cpu_uncertainty_ns = 2 * cpu.idle_grain_ns;
    let interval_ns = after.at_ns.saturating_sub(before.at_ns);
    let all_ns = interval_ns * u64::from(cpu.cpus);
    if cpu.cpus > 0 {
        // Ticks and readings one after the other make more of a short pass than it has CPUs.
        let left_ns = all_ns.saturating_sub(sample.cpu_user_ns + sample.cpu_system_ns);
        sample.cpu_elsewhere_ns = sample.cpu_elsewhere_ns.map(|ns| ns.min(left_ns));
    }
    // Without each of its parts the difference would be another quantity: then there is none.
    let is_test_bed_known = !cpu.has_test_bed || sample.cpu_test_bed_ns.is_some();
    if cpu.cpus == 0 || sample.cpu_elsewhere_ns.is_none() || !is_test_bed_known {
        return;
    }
    let known = cpu.idle_ns.saturating_sub(earlier.idle_ns)
        + sample.stolen_ns
        + cpu.harness_ns.saturating_sub(earlier.harness_ns)
        + cpu.setup_ns.saturating_sub(earlier.setup_ns)
        + sample.cpu_user_ns
        + sample.cpu_system_ns
        + sample.cpu_test_bed_ns.unwrap_or(0)
        + sample.cpu_elsewhere_ns.unwrap_or(0);
    sample.cpu_other_ns = Some(all_ns.saturating_sub(known));
}

/// What does not fit beside the jobs into the time of the pass was spent before it or after it,
/// when the counters were read: in its own time no pass has more than its CPUs.
pub(crate) fn within_pass(sample: &mut Sample, cpus: u32) {
    let all_ns = sample.wall_ns * u64::from(cpus);
    let left_ns = all_ns.saturating_sub(sample.cpu_user_ns + sample.cpu_system_ns);
    if all_ns > 0 {
        sample.cpu_other_ns = sample.cpu_other_ns.map(|ns| ns.min(left_ns));
    }
}

/// What the kernel counted at the devices.
pub(crate) fn add_devices(sample: &mut Sample, before: &Counters, after: &Counters) {
    let tested = traffic(before, after, DeviceRole::Tested);
    let lowest = traffic(before, after, DeviceRole::Lowest);
    sample.device_read_bytes = tested.as_ref().map(|t| t.read_bytes);
    sample.device_write_bytes = tested.as_ref().map(|t| t.write_bytes);
    sample.lowest_read_bytes = lowest.as_ref().map(|t| t.read_bytes);
    sample.lowest_write_bytes = lowest.as_ref().map(|t| t.write_bytes);
    sample.device_flushes = tested.as_ref().and_then(|t| t.flushes);
    sample.device_depth = tested
        .filter(|_| sample.wall_ns > 0)
        .map(|t| t.in_flight_ns as f64 / sample.wall_ns as f64);
}

/// Bytes that others moved on the tested device, or the kernel for them, beside our own; none where
/// its counters do not tell.
pub(crate) fn foreign_bytes(before: &Counters, after: &Counters, own: u64) -> Option<u64> {
    let tested = traffic(before, after, DeviceRole::Tested)?;
    Some((tested.read_bytes + tested.write_bytes).saturating_sub(own))
}

/// What requests that were made one after the other took, from when to when, and their time in
/// syncs.
pub(crate) fn add_one_by_one(
    sample: &mut Sample,
    latency: &Histogram,
    (from_ns, to_ns): (u64, u64),
    sync_ns: u64,
) {
    sample.started_ns = i64::try_from(from_ns).unwrap_or(i64::MAX);
    sample.wall_ns = to_ns.saturating_sub(from_ns);
    sample.operations = latency.count();
    sample.bytes = sample.operations * sample.block_bytes;
    sample.sync_ns = sync_ns;
    sample.set_latency(latency);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(at_ns: u64, idle_ns: u64, elsewhere_ns: u64) -> Counters {
        let mut counters = Counters { at_ns, ..Counters::default() };
        counters.cpu.cpus = 2;
        counters.cpu.idle_ns = idle_ns;
        counters.cpu.elsewhere_ns = Some(elsewhere_ns);
        counters
    }

    #[test]
    fn a_short_pass_has_no_more_than_its_cpus() {
        let jobs = [JobCpu { user_ns: 1_000, system_ns: 3_000, ..JobCpu::default() }];
        let mut sample = Sample { wall_ns: 5_000, ..Sample::default() };
        // Ticks of another program that ran before the pass.
        let (before, after) = (counters(0, 0, 0), counters(100_000, 0, 300_000));
        add_cpu(&mut sample, &jobs, &before, &after);
        assert_eq!(sample.cpu_elsewhere_ns, Some(196_000));
        // An idle machine whose edges took 96 µs of its CPUs.
        let after = counters(100_000, 100_000, 0);
        add_cpu(&mut sample, &jobs, &before, &after);
        within_pass(&mut sample, 2);
        assert_eq!(sample.cpu_other_ns, Some(6_000));
    }
}

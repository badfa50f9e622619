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
    // Without each of its parts the difference would be another quantity: then there is none.
    let is_test_bed_known = !cpu.has_test_bed || sample.cpu_test_bed_ns.is_some();
    if cpu.cpus == 0 || sample.cpu_elsewhere_ns.is_none() || !is_test_bed_known {
        return;
    }
    let interval_ns = after.at_ns.saturating_sub(before.at_ns);
    let known = cpu.idle_ns.saturating_sub(earlier.idle_ns)
        + sample.stolen_ns
        + cpu.harness_ns.saturating_sub(earlier.harness_ns)
        + cpu.setup_ns.saturating_sub(earlier.setup_ns)
        + sample.cpu_user_ns
        + sample.cpu_system_ns
        + sample.cpu_test_bed_ns.unwrap_or(0)
        + sample.cpu_elsewhere_ns.unwrap_or(0);
    sample.cpu_other_ns = Some((interval_ns * u64::from(cpu.cpus)).saturating_sub(known));
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

//! A sample: one measured pass of one program on one system.

use super::column::{Column, Field as _, Record, Value, column, part_column};
use super::earlier;
use super::finding::reason_column;
use super::subject::{Experiment, Subject};
use crate::doubt::{Doubt, Judgement, Verdict};
use crate::engine::EngineKind;
use crate::histogram::Histogram;
use crate::named::{Named as _, named};
use crate::workload::{Access, Account, Arithmetic};

/// What a pass is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    /// Run and recorded, but left out of every figure (the paper's first pass).
    Warm,
    /// Counted.
    #[default]
    Kept,
    /// A run of the path's greatest rate: the speed of light.
    Ceiling,
    /// A run without the work, against which the others are held: a compute-and-test loop without
    /// I/O, idle-priority loops or the machine with nothing else running.
    Calibration,
}

named!(Role {
    Warm "warm",
    Kept "kept",
    Ceiling "ceiling",
    Calibration "calibration",
});

/// How the caches were emptied before a pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cold {
    /// They were left as they were.
    #[default]
    No,
    /// The file system was mounted again.
    Remount,
    /// By advice to the page cache.
    Fadvise,
}

named!(Cold { No "no", Remount "remount", Fadvise "fadvise" });

/// What passes of the overhead experiment have.
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct Overhead {
    pub account: Account,
    pub arithmetic: Option<Arithmetic>,
    pub test_interval_ns: Option<u64>,
    pub loops_per_test: Option<u64>,
    pub loop_count: Option<u64>,
    pub probe_ns: Option<f64>,
    pub probe_least_ns: Option<f64>,
    pub idle_load_loops: Vec<u64>,
    pub idle_load_cpu_ns: Vec<u64>,
    pub cpu_timed_ns: Option<u64>,
    pub cpu_tasks_ns: Option<u64>,
    pub cpu_traced_ns: Option<u64>,
}

/// What a pass of another experiment has of it.
static NO_OVERHEAD: Overhead = Overhead {
    account: Account::Difference,
    arithmetic: None,
    test_interval_ns: None,
    loops_per_test: None,
    loop_count: None,
    probe_ns: None,
    probe_least_ns: None,
    idle_load_loops: vec![],
    idle_load_cpu_ns: vec![],
    cpu_timed_ns: None,
    cpu_tasks_ns: None,
    cpu_traced_ns: None,
};

/// One measured pass. The columns' meanings are in [`Sample::columns`].
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct Sample {
    pub experiment: Experiment,
    pub subject: Subject,
    pub target: String,
    pub drives: u64,
    pub started_ns: i64,
    pub program: String,
    pub engine: EngineKind,
    pub access: Access,
    pub block_bytes: u64,
    pub file_bytes: u64,
    pub jobs: u64,
    pub depth: u64,
    pub direct: u64,
    pub pass: u64,
    pub role: Role,
    pub cold: Cold,
    pub bytes: u64,
    pub operations: u64,
    pub wall_ns: u64,
    pub cpu_user_ns: u64,
    pub cpu_system_ns: u64,
    pub cpu_other_ns: Option<u64>,
    pub cpu_test_bed_ns: Option<u64>,
    pub cpu_elsewhere_ns: Option<u64>,
    pub cpu_uncertainty_ns: u64,
    pub stolen_ns: u64,
    pub device_read_bytes: Option<u64>,
    pub device_write_bytes: Option<u64>,
    pub lowest_read_bytes: Option<u64>,
    pub lowest_write_bytes: Option<u64>,
    pub device_flushes: Option<u64>,
    pub device_depth: Option<f64>,
    pub depth_achieved: Option<f64>,
    pub rate_requested_iops: Option<f64>,
    pub latency_sum_ns: u64,
    pub latency_min_ns: u64,
    pub latency_max_ns: u64,
    pub latency_buckets: Vec<u64>,
    pub latency_counts: Vec<u64>,
    pub service_sum_ns: u64,
    pub service_min_ns: u64,
    pub service_max_ns: u64,
    pub service_buckets: Vec<u64>,
    pub service_counts: Vec<u64>,
    pub sync_ns: u64,
    pub sync_latency_sum_ns: u64,
    pub sync_latency_min_ns: u64,
    pub sync_latency_max_ns: u64,
    pub sync_latency_buckets: Vec<u64>,
    pub sync_latency_counts: Vec<u64>,
    pub verdict: Verdict,
    pub doubts: Vec<Doubt>,
    pub overhead: Option<Box<Overhead>>,
}

impl Record for Sample {
    const SCHEMA: &'static str = "lbolt.samples/3";

    #[allow(clippy::too_many_lines, reason = "a table: a line or two a column")]
    fn columns() -> Vec<Column<Self>> {
        let parts = [Self::of_pass(), Self::of_machine(), Self::of_overhead(), Self::of_times()];
        parts.into_iter().flatten().collect()
    }

    fn earlier() -> (&'static str, Vec<Column<Self>>) {
        let mut columns = Self::columns();
        let is_new = |name: &str| {
            ["doubts", "engine", "device_flushes"].contains(&name)
                || name.starts_with("sync_latency")
        };
        columns.retain(|c| !is_new(c.name));
        columns.push(column!(Sample, engine: EngineKind, "I/O engine"));
        // A pause went by none.
        columns.last_mut().into_iter().for_each(|engine| {
            engine.set = |row, value| {
                let Some(name) = String::from_value(value) else { return false };
                let name = if name == "none" { "null" } else { &name };
                EngineKind::from_name(name).map(|engine| row.engine = engine).is_some()
            };
        });
        // A pass of another experiment accounted by an empty text.
        if let Some(account) = columns.iter_mut().find(|column| column.name == "account") {
            account.set = |row, value| match String::from_value(value) {
                Some(name) if !name.is_empty() => Account::from_name(&earlier::account(name))
                    .map(|account| row.overhead_mut().account = account)
                    .is_some(),
                _ => true,
            };
        }
        columns.push(reason_column!(Sample));
        earlier::rename(&mut columns);
        ("lbolt.samples/2", columns)
    }
}

impl Sample {
    /// What was run.
    fn of_pass() -> Vec<Column<Self>> {
        vec![
            column!(Sample, experiment: Experiment, "the experiment that made the pass"),
            column!(Sample, subject: Subject, "the cell, as JSON with sorted keys, as in findings"),
            column!(Sample, target: String, "the system as requested, options included"),
            column!(Sample, drives: u64, "drives that ran at once"),
            column!(Sample, started_ns: i64, "start of the pass's first job"),
            column!(Sample, program: String, "name of the program"),
            column!(Sample, engine: EngineKind, "I/O engine"),
            column!(Sample, access: Access, "read, write, rewrite, rw, randread, randwrite or \
                randrw"),
            column!(Sample, block_bytes: u64, "bytes per request"),
            column!(Sample, file_bytes: u64, "size of each job's file"),
            column!(Sample, jobs: u64, "jobs that ran at once, over all drives"),
            column!(Sample, depth: u64, "requested queue depth of each job"),
            column!(Sample, direct: u64, "1 with O_DIRECT"),
            column!(Sample, pass: u64, "number of the pass within its cell, from 0"),
            column!(Sample, role: Role, "warm (not counted), kept, ceiling (the path's highest \
                rate) or calibration (without the work)"),
            column!(Sample, cold: Cold, "how the caches were emptied before the pass: remount, \
                fadvise or no"),
            column!(Sample, bytes: u64, "bytes moved by the program"),
            column!(Sample, operations: u64, "requests that moved these bytes"),
            column!(Sample, wall_ns: u64, "from the first job's start to the last job's end, with \
                open, the final fdatasync and close"),
        ]
    }

    /// What the machine did meanwhile.
    fn of_machine() -> Vec<Column<Self>> {
        vec![
            column!(Sample, cpu_user_ns: u64, "CPU time of the submitting threads, in user mode \
                and in the kernel"),
            column!(Sample, cpu_system_ns: u64, "CPU time of the submitting threads, in user mode \
                and in the kernel"),
            column!(Sample, cpu_other_ns: Option<u64>, "kernel threads and interrupts: busy time \
                of all CPUs minus the jobs, the harness, other programs and the test bed"),
            column!(Sample, cpu_test_bed_ns: Option<u64>, "CPU time of the loop device's workers, \
                which belong to the test bed"),
            column!(Sample, cpu_elsewhere_ns: Option<u64>, "CPU time of other user programs \
                meanwhile"),
            column!(Sample, cpu_uncertainty_ns: u64, "possible error of cpu_other_ns, from the \
                grain of the idle clock"),
            column!(Sample, stolen_ns: u64, "time stolen by the hypervisor, over all CPUs"),
            column!(Sample, device_read_bytes: Option<u64>, "bytes at the tested device (kernel \
                counters)"),
            column!(Sample, device_write_bytes: Option<u64>, "bytes at the tested device (kernel \
                counters)"),
            column!(Sample, lowest_read_bytes: Option<u64>, "bytes at the lowest device under the \
                tested one"),
            column!(Sample, lowest_write_bytes: Option<u64>, "bytes at the lowest device under the \
                tested one"),
            column!(Sample, device_flushes: Option<u64>, "cache flushes of the tested device \
                (kernel counters, since Linux 5.5)"),
            column!(Sample, device_depth: Option<f64>, "mean requests in flight at the tested \
                device (kernel counters, ms grain)"),
            column!(Sample, depth_achieved: Option<f64>, "mean requests outstanding, by Little's \
                law: service_sum_ns / wall_ns"),
            column!(Sample, rate_requested_iops: Option<f64>, "scheduled requests per second of \
                each job (open loop)"),
        ]
    }

    /// What passes of the overhead experiment have.
    fn of_overhead() -> Vec<Column<Self>> {
        vec![
            part_column!(account: Account, "overhead: account of CPU time: difference (over all \
                CPUs), idle-load (loops on every CPU), trace, or requests (no account: requests \
                are captured)"),
            part_column!(arithmetic: Option<Arithmetic>, "overhead: arithmetic of the \
                compute-and-test loop or the idle-priority loop"),
            part_column!(test_interval_ns: Option<u64>, "overhead: computing between two tests of \
                the channels, as requested; null if nothing is computed"),
            part_column!(loops_per_test: Option<u64>, "overhead: loops in one test interval"),
            part_column!(loop_count: Option<u64>, "overhead: tests of the channels during the \
                pass, each after its loops (N_loop)"),
            part_column!(probe_ns: Option<f64>, "overhead: core-speed probe: time to copy a page, \
                sampled every ms of the pass"),
            part_column!(probe_least_ns: Option<f64>, "overhead: core-speed probe in the fastest \
                of these moments"),
            part_column!(idle_load_loops: Vec<u64>, "overhead: loops of each CPU's idle-priority \
                load while the job ran"),
            part_column!(idle_load_cpu_ns: Vec<u64>, "overhead: CPU time of the idle-priority load \
                of each CPU meanwhile, without the core-speed probe's time"),
            part_column!(cpu_timed_ns: Option<u64>, "overhead: the job's own CPU time from its \
                first request to its last completion"),
            part_column!(cpu_tasks_ns: Option<u64>, "overhead: CPU time in that interval, by their \
                own clocks, of all threads that worked in the program, io_uring's included"),
            part_column!(cpu_traced_ns: Option<u64>, "overhead: total CPU time of that interval by \
                the trace: the job, its helpers, kernel threads and interrupts"),
        ]
    }

    /// How long it took, and what it is worth.
    fn of_times() -> Vec<Column<Self>> {
        vec![
            column!(Sample, latency_sum_ns: u64, "latencies from the intended start"),
            column!(Sample, latency_min_ns: u64, "latencies from the intended start"),
            column!(Sample, latency_max_ns: u64, "latencies from the intended start"),
            column!(Sample, latency_buckets: Vec<u64>, "histogram of these latencies: bucket \
                numbers"),
            column!(Sample, latency_counts: Vec<u64>, "number of latencies in each bucket"),
            column!(Sample, service_sum_ns: u64, "service times, from submission to completion"),
            column!(Sample, service_min_ns: u64, "service times, from submission to completion"),
            column!(Sample, service_max_ns: u64, "service times, from submission to completion"),
            column!(Sample, service_buckets: Vec<u64>, "histogram of the service times; empty in a \
                closed loop, where they equal the latencies"),
            column!(Sample, service_counts: Vec<u64>, "number of service times in each bucket"),
            column!(Sample, sync_ns: u64, "time in fsync and fdatasync, summed over jobs"),
            column!(Sample, sync_latency_sum_ns: u64, "latencies of the syncs between writes \
                (fsync=N, fdatasync=N), from submission to completion"),
            column!(Sample, sync_latency_min_ns: u64, "latencies of the syncs between writes \
                (fsync=N, fdatasync=N), from submission to completion"),
            column!(Sample, sync_latency_max_ns: u64, "latencies of the syncs between writes \
                (fsync=N, fdatasync=N), from submission to completion"),
            column!(Sample, sync_latency_buckets: Vec<u64>, "histogram of these latencies: bucket \
                numbers"),
            column!(Sample, sync_latency_counts: Vec<u64>, "number of syncs in each bucket"),
            column!(Sample, verdict: Verdict, "ok, suspect or not_measured"),
            column!(Sample, doubts: Vec<Doubt>, "why the verdict is not ok: a JSON list of codes \
                with values"),
        ]
    }

    /// What it has of the overhead experiment; nothing in passes of others.
    pub fn overhead(&self) -> &Overhead {
        self.overhead.as_deref().unwrap_or(&NO_OVERHEAD)
    }

    /// The same, to be filled in: the pass is of the overhead experiment.
    pub fn overhead_mut(&mut self) -> &mut Overhead {
        self.overhead.get_or_insert_default()
    }

    /// Takes what it is worth.
    pub fn judge(&mut self, judgement: Judgement) {
        (self.verdict, self.doubts) = (judgement.verdict, judgement.doubts);
    }

    /// What it is worth.
    pub fn judgement(&self) -> Judgement {
        Judgement { verdict: self.verdict, doubts: self.doubts.clone() }
    }

    /// Puts the latencies from the intended start into their columns.
    pub fn set_latency(&mut self, histogram: &Histogram) {
        (self.latency_buckets, self.latency_counts) = histogram.nonzero().unzip();
        self.latency_sum_ns = histogram.sum_ns();
        self.latency_min_ns = histogram.min_ns();
        self.latency_max_ns = histogram.max_ns();
    }

    /// Puts the service times into their columns; the buckets only where they
    /// are not the latencies themselves.
    pub fn set_service(&mut self, histogram: &Histogram, is_open_loop: bool) {
        if is_open_loop {
            (self.service_buckets, self.service_counts) = histogram.nonzero().unzip();
        }
        self.service_sum_ns = histogram.sum_ns();
        self.service_min_ns = histogram.min_ns();
        self.service_max_ns = histogram.max_ns();
    }

    /// Puts the latencies of the syncs between writes into their columns.
    pub fn set_sync_latency(&mut self, histogram: &Histogram) {
        (self.sync_latency_buckets, self.sync_latency_counts) = histogram.nonzero().unzip();
        self.sync_latency_sum_ns = histogram.sum_ns();
        self.sync_latency_min_ns = histogram.min_ns();
        self.sync_latency_max_ns = histogram.max_ns();
    }

    /// Requests a second of the pass; 0 of one that took no time.
    pub fn operations_per_s(&self) -> f64 {
        self.operations as f64 / self.wall_ns.max(1) as f64 * 1e9
    }

    /// The latencies from the intended start; none where the columns contradict each other.
    pub fn latency(&self) -> Option<Histogram> {
        Histogram::from_parts(
            &self.latency_buckets,
            &self.latency_counts,
            self.latency_sum_ns,
            self.latency_min_ns,
            self.latency_max_ns,
        )
    }

    /// The service times.
    pub fn service(&self) -> Option<Histogram> {
        if self.rate_requested_iops.is_none() {
            return self.latency();
        }
        Histogram::from_parts(
            &self.service_buckets,
            &self.service_counts,
            self.service_sum_ns,
            self.service_min_ns,
            self.service_max_ns,
        )
    }

    /// The latencies of the syncs between writes, from submission to completion; none where the
    /// columns contradict each other.
    pub fn sync_latency(&self) -> Option<Histogram> {
        Histogram::from_parts(
            &self.sync_latency_buckets,
            &self.sync_latency_counts,
            self.sync_latency_sum_ns,
            self.sync_latency_min_ns,
            self.sync_latency_max_ns,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    #[test]
    fn histograms_survive_their_columns() {
        let (latency, service) = (histogram(&[5, 1000, 1000, 90_000]), histogram(&[4, 900]));
        for (rate, found) in [(None, &latency), (Some(10.0), &service)] {
            let mut sample = Sample { rate_requested_iops: rate, ..Sample::default() };
            sample.set_latency(&latency);
            sample.set_service(&service, rate.is_some());
            assert_eq!(sample.latency().as_ref(), Some(&latency));
            // In a closed loop the service times are the latencies, and are not kept twice.
            assert_eq!(sample.service().as_ref(), Some(found));
            assert_eq!(sample.service_buckets.is_empty(), rate.is_none());
            assert_eq!((sample.service_sum_ns, sample.service_max_ns), (904, 900));
            assert_eq!(sample.sync_latency(), Some(Histogram::default()), "no syncs");
            sample.set_sync_latency(&service);
            assert_eq!(sample.sync_latency().as_ref(), Some(&service));
            sample.latency_counts.pop();
            assert_eq!(sample.latency(), None);
        }
    }

    #[test]
    fn a_judgement_is_kept_with_its_doubts() {
        let mut sample = Sample::default();
        assert_eq!(sample.judgement(), Judgement::default());
        let judgement = Judgement::not_measured(Doubt::refused("no root"));
        sample.judge(judgement.clone());
        assert_eq!(sample.judgement(), judgement);
    }
}

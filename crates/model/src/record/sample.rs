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
use std::sync::LazyLock;

named! {
    /// What a pass is for.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum Role {
        /// Run and recorded, but left out of every figure (the paper's first pass).
        Warm = "warm",
        /// Counted.
        #[default]
        Kept = "kept",
        /// A run of the path's greatest rate: the speed of light.
        Ceiling = "ceiling",
        /// A run without the work, against which the others are held: a compute-and-test loop
        /// without I/O, idle-priority loops or the machine with nothing else running.
        Calibration = "calibration",
    }
}

named! {
    /// How the caches were emptied before a pass.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum Cold {
        /// They were left as they were.
        #[default]
        No = "no",
        /// The file system was mounted again.
        Remount = "remount",
        /// By advice to the page cache.
        Fadvise = "fadvise",
    }
}

/// Declares the record: its columns, and between them those of one experiment's part, which are
/// nothing in the rows of others.
macro_rules! sample {
    (
        { $($field:ident: $type:ty = $why:literal;)* }
        $part:ident { $($of_part:ident: $part_type:ty = $part_why:literal;)* }
        { $($last:ident: $last_type:ty = $last_why:literal;)* }
    ) => {
        /// One measured pass.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Sample {
            $(#[doc = $why] pub $field: $type,)*
            /// What passes of the overhead experiment have besides.
            pub $part: Option<Box<Overhead>>,
            $(#[doc = $last_why] pub $last: $last_type,)*
        }

        /// What passes of the overhead experiment have.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Overhead {
            $(#[doc = $part_why] pub $of_part: $part_type,)*
        }

        impl Record for Sample {
            const SCHEMA: &'static str = "lbolt.samples/3";
            const LATER: &'static [&'static str] = &SPANS;

            fn columns() -> Vec<Column<Self>> {
                vec![
                    $(column!(Sample, $field: $type, $why),)*
                    $(part_column!($of_part: $part_type, $part_why),)*
                    $(column!(Sample, $last: $last_type, $last_why),)*
                ]
            }

            fn earlier() -> (&'static str, Vec<Column<Self>>) {
                version_2()
            }
        }
    };
}

sample! {
    {
        // What was run.
        experiment: Experiment = "the experiment that made the pass";
        subject: Subject = "the cell, as JSON with sorted keys, as in findings";
        target: String = "the system as requested, options included";
        drives: u64 = "drives that ran at once";
        started_ns: i64 = "start of the pass's first job";
        program: String = "name of the program";
        engine: EngineKind = "I/O engine";
        access: Access = "read, write, rewrite, rw, randread, randwrite or randrw";
        block_bytes: u64 = "bytes per request";
        file_bytes: u64 = "size of each job's file";
        jobs: u64 = "jobs that ran at once, over all drives";
        depth: u64 = "requested queue depth of each job";
        direct: u64 = "1 with O_DIRECT";
        pass: u64 = "number of the pass within its cell, from 0";
        role: Role =
            "warm (not counted), kept, ceiling (the path's highest rate) or calibration (without \
             the work)";
        cold: Cold = "how the caches were emptied before the pass: remount, fadvise or no";
        bytes: u64 = "bytes moved by the program";
        operations: u64 = "requests that moved these bytes";
        wall_ns: u64 =
            "from the first job's start to the last job's end, with open, the final fdatasync and \
             close";
        // What the machine did meanwhile.
        cpu_user_ns: u64 = "CPU time of the submitting threads, in user mode and in the kernel";
        cpu_system_ns: u64 = "CPU time of the submitting threads, in user mode and in the kernel";
        cpu_other_ns: Option<u64> =
            "kernel threads and interrupts: busy time of all CPUs minus the jobs, the harness, \
             other programs and the test bed";
        cpu_test_bed_ns: Option<u64> =
            "CPU time of the loop device's workers (test bed)";
        cpu_elsewhere_ns: Option<u64> = "CPU time of other user programs meanwhile";
        cpu_uncertainty_ns: u64 =
            "possible error of cpu_other_ns, from the grain of the idle clock";
        stolen_ns: u64 = "time stolen by the hypervisor, over all CPUs";
        device_read_bytes: Option<u64> = "bytes at the tested device (kernel counters)";
        device_write_bytes: Option<u64> = "bytes at the tested device (kernel counters)";
        lowest_read_bytes: Option<u64> = "bytes at the lowest device under the tested one";
        lowest_write_bytes: Option<u64> = "bytes at the lowest device under the tested one";
        device_flushes: Option<u64> =
            "cache flushes of the tested device (kernel counters, since Linux 5.5)";
        device_depth: Option<f64> =
            "mean requests in flight at the tested device (kernel counters, ms grain)";
        depth_achieved: Option<f64> =
            "mean requests outstanding, by Little's law: service_sum_ns / wall_ns";
        rate_requested_iops: Option<f64> = "scheduled requests per second of each job (open loop)";
    }
    overhead {
        account: Account =
            "overhead: account of CPU time: difference (over all CPUs), idle-load (loops on every \
             CPU), trace, or requests (no account: requests are captured)";
        arithmetic: Option<Arithmetic> =
            "overhead: arithmetic of the compute-and-test loop or the idle-priority loop";
        test_interval_ns: Option<u64> =
            "overhead: computing between two tests of the channels, as requested; null if nothing \
             is computed";
        loops_per_test: Option<u64> = "overhead: loops in one test interval";
        loop_count: Option<u64> =
            "overhead: tests of the channels during the pass, each after its loops (N_loop)";
        probe_ns: Option<f64> =
            "overhead: core-speed probe: time to copy a page, sampled every ms of the pass";
        probe_least_ns: Option<f64> = "overhead: core-speed probe in the fastest of these moments";
        idle_load_loops: Vec<u64> =
            "overhead: loops of each CPU's idle-priority load while the job ran";
        idle_load_cpu_ns: Vec<u64> =
            "overhead: CPU time of the idle-priority load of each CPU meanwhile, without the \
             core-speed probe";
        cpu_timed_ns: Option<u64> =
            "overhead: the job's own CPU time from its first request to its last completion";
        cpu_tasks_ns: Option<u64> =
            "overhead: CPU time in that interval, by their own clocks, of all threads that worked \
             in the program, io_uring's included";
        cpu_traced_ns: Option<u64> =
            "overhead: total CPU time of that interval by the trace: the job, its helpers, kernel \
             threads and interrupts";
    }
    {
        // How long it took, and what it is worth.
        latency_sum_ns: u64 = "latencies from the intended start";
        latency_min_ns: u64 = "latencies from the intended start";
        latency_max_ns: u64 = "latencies from the intended start";
        latency_buckets: Vec<u64> = "histogram of these: bucket numbers, and counts";
        latency_counts: Vec<u64> = "histogram of these: bucket numbers, and counts";
        service_sum_ns: u64 = "service times, from submission to completion";
        service_min_ns: u64 = "service times, from submission to completion";
        service_max_ns: u64 = "service times, from submission to completion";
        service_buckets: Vec<u64> =
            "histogram of the service times; empty in a closed loop, where they equal the \
             latencies";
        service_counts: Vec<u64> =
            "histogram of the service times; empty in a closed loop, where they equal the \
             latencies";
        span_ns: u64 =
            "length of a span: 1 s; doubled beyond 8192 spans; 0: unknown";
        span_bytes: Vec<u64> =
            "bytes and requests completed in each span since each job's start";
        span_operations: Vec<u64> =
            "bytes and requests completed in each span since each job's start";
        sync_ns: u64 = "time in fsync and fdatasync, summed over jobs";
        sync_latency_sum_ns: u64 =
            "latencies of the syncs between writes, from submission to completion";
        sync_latency_min_ns: u64 =
            "latencies of the syncs between writes, from submission to completion";
        sync_latency_max_ns: u64 =
            "latencies of the syncs between writes, from submission to completion";
        sync_latency_buckets: Vec<u64> = "histogram of these: bucket numbers, and counts";
        sync_latency_counts: Vec<u64> = "histogram of these: bucket numbers, and counts";
        verdict: Verdict = "ok, suspect or not_measured";
        doubts: Vec<Doubt> = "why the verdict is not ok: a JSON list of codes with values";
    }
}

/// Columns that the first files of this version did not have.
const SPANS: [&str; 3] = ["span_ns", "span_bytes", "span_operations"];

/// Version 2 had other names, and sentences in the place of doubts.
fn version_2() -> (&'static str, Vec<Column<Sample>>) {
    let mut columns = Sample::columns();
    let is_new = |name: &str| {
        let is_later = SPANS.contains(&name) || name.starts_with("sync_latency");
        is_later || ["doubts", "device_flushes"].contains(&name)
    };
    columns.retain(|c| !is_new(c.name));
    for column in &mut columns {
        column.set = match column.name {
            // A pause went by none.
            "engine" => |row, value| {
                let Some(name) = String::from_value(value) else { return false };
                let name = if name == "none" { "null" } else { &name };
                EngineKind::from_name(name).map(|engine| row.engine = engine).is_some()
            },
            // A pass of another experiment accounted by an empty text.
            "account" => |row, value| match String::from_value(value) {
                Some(name) if !name.is_empty() => Account::from_name(&earlier::account(name))
                    .map(|account| row.overhead_mut().account = account)
                    .is_some(),
                _ => true,
            },
            _ => continue,
        };
    }
    columns.push(reason_column!(Sample));
    earlier::rename(&mut columns);
    ("lbolt.samples/2", columns)
}

/// What a pass of another experiment has of the overhead experiment.
static NO_OVERHEAD: LazyLock<Overhead> = LazyLock::new(Overhead::default);

/// Puts times into their five columns, and takes them out of these.
macro_rules! times {
    ($what:literal, $visibility:vis $put:ident $get:ident,
        $buckets:ident $counts:ident $sum:ident $min:ident $max:ident) => {
        #[doc = concat!("Puts ", $what, " into their columns.")]
        $visibility fn $put(&mut self, histogram: &Histogram) {
            (self.$buckets, self.$counts) = histogram.nonzero().unzip();
            self.$sum = histogram.sum_ns();
            (self.$min, self.$max) = (histogram.min_ns(), histogram.max_ns());
        }

        #[doc = concat!("Gives ", $what, "; none where the columns contradict each other.")]
        $visibility fn $get(&self) -> Option<Histogram> {
            let (buckets, counts) = (&self.$buckets, &self.$counts);
            Histogram::from_parts(buckets, counts, self.$sum, self.$min, self.$max)
        }
    };
}

impl Sample {
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

    times! {
        "the latencies from the intended start", pub set_latency latency,
        latency_buckets latency_counts latency_sum_ns latency_min_ns latency_max_ns
    }

    times! {
        "the service times of an open loop", put_service service_kept,
        service_buckets service_counts service_sum_ns service_min_ns service_max_ns
    }

    times! {
        "the latencies of the syncs between writes, from submission to completion",
        pub set_sync_latency sync_latency,
        sync_latency_buckets sync_latency_counts
        sync_latency_sum_ns sync_latency_min_ns sync_latency_max_ns
    }

    /// Puts the service times into their columns; the buckets only where they
    /// are not the latencies themselves.
    pub fn set_service(&mut self, histogram: &Histogram, is_open_loop: bool) {
        self.put_service(histogram);
        if !is_open_loop {
            (self.service_buckets, self.service_counts) = (vec![], vec![]);
        }
    }

    /// The service times.
    pub fn service(&self) -> Option<Histogram> {
        if self.rate_requested_iops.is_none() { self.latency() } else { self.service_kept() }
    }

    /// Requests a second of the pass; 0 of one that took no time.
    pub fn operations_per_s(&self) -> f64 {
        self.operations as f64 / self.wall_ns.max(1) as f64 * 1e9
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

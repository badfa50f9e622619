//! The one table that names every quantity of the findings. A finding with a
//! name that is not here fails a test; changing an entry bumps the schema.

/// A table of quantities. First the kinds, each with its subjects and its commands; then a row for
/// quantities that are alike: their kind, which way they are better, names, unit and meaning.
#[macro_export]
macro_rules! quantities {
    (@better) => { None };
    (@better lower) => { Some($crate::record::Better::Lower) };
    (@better higher) => { Some($crate::record::Better::Higher) };
    (
        $(#[$meta:meta])*
        $visibility:vis const $table:ident of {
            $($kind:ident: $subjects:expr, $command:literal;)*
        }
        $($of:ident $($better:ident)? $($name:literal),+ $unit:literal $meaning:literal;)*
    ) => {
        $(#[$meta])*
        $visibility const $table: &[$crate::record::Quantity] = {
            use $crate::record::{Better, Quantity};
            $(const fn $kind(
                unit: &'static str,
                meaning: &'static str,
                better: Option<Better>,
            ) -> Quantity {
                Quantity {
                    name: "",
                    unit,
                    meaning,
                    subjects: $subjects,
                    command: $command,
                    better,
                }
            })*
            const ALIKE: &[(&[&str], Quantity)] = &[$((
                &[$($name),+],
                $of($unit, $meaning, $crate::quantities!(@better $($better)?)),
            )),*];
            &Quantity::each::<{ Quantity::count(ALIKE) }>(ALIKE)
        };
    };
}

mod joined;
mod replayed;
mod simulated;
#[cfg(test)]
mod tests;
mod traced;
mod verdict;

use super::requests::COUNTED;
use super::subject::{Commit, Curve, Operation, Routine, Storm};
use std::fmt::Write as _;

/// Which way a quantity is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// A quantity that findings can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    /// Its name, with its unit last.
    pub name: &'static str,
    /// The unit in the record.
    pub unit: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// The keys of its subject, one list for each kind of subject that it is found of.
    pub subjects: &'static [&'static [&'static str]],
    /// The commands that produce it.
    pub command: &'static str,
    /// Which way it is better; none where neither is. A share of the CPU rises with the rate.
    pub better: Option<Better>,
}

/// Quantities that can be below zero: changes, differences, and what others leave over. Whatever is
/// in no table of quantities can be, too.
const SIGNED: [&str; 16] = [
    "background_difference_percent",
    "lost_ns",
    "lost_percent",
    "operation_remainder_ns",
    "rank_agreement",
    "rank_stability",
    "rate_trend_percent",
    "reads_behind_excess_percent",
    "replay_rate_error_percent",
    "rest_mean_ns",
    "revolutions_missed",
    "slope_device_ns_per_kib",
    "slope_response_ns_per_kib",
    "slope_wait_ns_per_kib",
    "slowdown_percent",
    "tracer_slowdown_percent",
];

impl Quantity {
    /// How many names there are.
    pub const fn count(alike: &[(&[&str], Self)]) -> usize {
        let (mut count, mut row) = (0, 0);
        while row < alike.len() {
            count += alike[row].0.len();
            row += 1;
        }
        count
    }

    /// A quantity for each name, like the one beside it.
    pub const fn each<const N: usize>(alike: &[(&[&'static str], Self)]) -> [Self; N] {
        let mut all = [alike[0].1; N];
        let (mut place, mut row) = (0, 0);
        while row < alike.len() {
            let (names, like) = alike[row];
            let mut of_row = 0;
            while of_row < names.len() {
                all[place] = Self { name: names[of_row], ..like };
                (place, of_row) = (place + 1, of_row + 1);
            }
            row += 1;
        }
        all
    }

    /// Whether it can be below zero.
    pub fn is_signed(&self) -> bool {
        SIGNED.contains(&self.name)
    }
}

/// The keys of a cell of the throughput matrix.
const CELL: &[&[&str]] = &[&["drives", "program", "target"]];
/// The keys of a point of a curve of latency against rate.
const CURVE_POINT: &[&str] = Curve::KEYS;
/// The keys of a curve as a whole.
const CURVE: &[&str] = &["access", "block_bytes", "direct", "engine", "target"];
/// The keys of a way to make a write durable.
const COMMIT: &[&str] = Commit::KEYS;
/// The keys of a stream of requests beside a storm.
const STORM: &[&str] = Storm::KEYS;
/// What is found of cells and of such streams.
const CELL_AND_STORM: &[&[&str]] = &[&["drives", "program", "target"], STORM];
/// What is found of cells, of commits, of points of a curve and of streams beside a storm; and of
/// some of these.
const CELLS: &[&[&str]] = &[&["drives", "program", "target"], COMMIT, CURVE_POINT, STORM];
const CELL_AND_CURVE: &[&[&str]] = &[&["drives", "program", "target"], CURVE_POINT];
const CELL_AND_COMMIT: &[&[&str]] = &[&["drives", "program", "target"], COMMIT];
/// The keys of a number about the run as a whole.
const RUN: &[&[&str]] = &[&["run"]];

/// The keys of one request size of an I/O routine.
const OPERATION: &[&[&str]] = &[Operation::KEYS];

quantities! {
    /// Every quantity of what is measured and compared.
    const MEASURED of {
        operation: OPERATION, "overhead, survey";
        routine: &[Routine::KEYS], "overhead, survey";
        background: RUN, "overhead, survey";
        cell: CELL, "throughput, survey";
        shared: CELL_AND_COMMIT, "throughput, survey, sync";
        common: CELLS, "throughput, survey, sync, storm, curve";
        pointed: CELL_AND_CURVE, "throughput, survey, curve";
        curve: &[CURVE], "curve, survey";
        streamed: CELL_AND_STORM, "throughput, survey, storm";
        storm: &[STORM], "storm";
        commit: &[COMMIT], "sync";
        calibration: RUN, "throughput, survey";
    }

    pointed higher "rate_bytes_per_s" "B/s"
        "bytes moved per second of wall time, summed over drives and jobs";
    common higher "rate_operations_per_s" "1/s"
        "requests per second of wall time, summed over drives and jobs";
    cell "cpu_percent" "%"
        "CPU time of the submitting threads as a share of one CPU (as in the 1983 paper), summed \
         over jobs";
    cell "cpu_total_percent" "%" "total CPU time as a share of one CPU, without the test bed";
    shared lower "cpu_operation_ns" "ns" "CPU time of the submitting threads per request";
    cell lower "cpu_total_operation_ns" "ns" "total CPU time per request";
    cell "cpu_test_bed_percent" "%" "CPU time of the loop device's workers as a share of one CPU";
    cell "cpu_elsewhere_percent" "%"
        "CPU time of other user programs meanwhile, as a share of one CPU";
    cell "stolen_percent" "%" "time stolen by the hypervisor over all CPUs, as a share of one CPU";
    cell higher "ceiling_bytes_per_s" "B/s"
        "highest rate of the path in the same run: sequential direct requests of 1 MiB or 256 KiB, \
         eight outstanding (memory copying where the page cache took the bytes), or a program's \
         own pass if faster; the method says which";
    cell "ceiling_percent" "%" "rate_bytes_per_s as a share of ceiling_bytes_per_s";
    pointed lower "latency_mean_ns" "ns" "latency from the intended start";
    common lower "latency_p50_ns", "latency_p99_ns" "ns" "latency from the intended start";
    streamed lower "latency_p999_ns" "ns" "latency from the intended start";
    shared lower "latency_max_ns" "ns" "latency from the intended start";
    cell lower "service_p50_ns", "service_p99_ns" "ns"
        "service time, from submission to completion (open loop)";
    streamed lower "sync_percent" "%"
        "time in fsync and fdatasync as a share of the jobs' wall time";
    cell lower "sync_latency_mean_ns", "sync_latency_p50_ns", "sync_latency_p99_ns",
        "sync_latency_p999_ns", "sync_latency_max_ns" "ns"
        "latency of the syncs between writes (--fsync, --fdatasync), from submission to \
         completion, without the final fdatasync";
    cell "device_bytes_ratio", "lowest_bytes_ratio" "1"
        "bytes at the tested or the lowest device / bytes of the program, in its direction";
    pointed "depth_achieved" "1" "mean requests outstanding, by Little's law, summed over jobs";
    cell "rate_spread_percent" "%"
        "standard deviation of the passes' rates as a share of their mean";
    cell "rate_trend_percent" "%"
        "change of the fitted rate from the first kept pass to the last, as a share of the first";
    curve "knee_depth" "1"
        "requests outstanding at the knee, where rate / mean latency (the power) is greatest";
    curve higher "knee_rate_operations_per_s" "1/s" "requests per second at the knee";
    curve lower "knee_latency_mean_ns", "knee_latency_p99_ns" "ns" "latency at the knee";
    curve higher "most_rate_operations_per_s" "1/s" "highest rate at any depth";
    curve higher "most_rate_bytes_per_s" "B/s" "bytes per second at that rate";
    commit "flushes_ratio" "1" "cache flushes of the device per commit (kernel counters)";
    storm lower "latency_p50_ratio", "latency_p99_ratio", "latency_p999_ratio" "1"
        "latency / latency without a remedy";
    storm higher "rate_ratio" "1" "the writer's rate / its rate without a remedy";
    storm lower "storm_ratio" "1" "p99 of the reads that met a sync / p99 of the other reads";
    storm lower "gain_ratio" "1"
        "mean of the slowest twentieth of reads and commits, relative to passes without a remedy";
    storm lower "predicted_gain_ratio" "1"
        "gain_ratio predicted by the model of the drive and the kernel";
    storm lower "predicted_latency_p99_ns" "ns" "p99 latency predicted by that model";
    storm higher "predicted_rate_operations_per_s" "1/s" "rate predicted by that model";
    storm higher "rank_agreement" "1" "Kendall's tau-b between measured and predicted gain_ratio";
    storm higher "rank_stability" "1"
        "Kendall's tau-b between the gain_ratio of every second round and of the others";
    storm higher "ranked_alike_percent" "%"
        "pairs of remedies predicted in the right order, of the pairs the measurement tells apart";
    storm higher "predictions_held_percent" "%"
        "remedies whose measured gain lies within its predicted interval";
    storm lower "cpu_machine_percent" "%"
        "CPU time of the streams (or of the command and other programs), kernel threads and \
         interrupts, as a share of one CPU";
    storm "recommended" "1"
        "1 if the remedy surely helps enough, at a cost within bounds; 0 within 0 to 1 if that is \
         not known yet";
    calibration "clock_cost_ns" "ns" "one reading of the clock that stamps requests";
    calibration "clock_precision_ns" "ns" "smallest step of that clock";
    calibration "harness_ns_per_operation" "ns"
        "the harness's own cost per request, on the null engine with the histogram on";
    calibration "memory_copy_bytes_per_s" "B/s" "memory copying, 64 MiB, one thread";
    operation higher "routine_bytes_per_s" "B/s"
        "R(B,N): bytes moved per second of wall time, all channels together";
    operation higher "routine_operations_per_s" "1/s"
        "requests per second of wall time, all channels together";
    operation lower "operation_latency_p50_ns", "operation_latency_p99_ns" "ns"
        "time from a request's submission to its completion";
    operation lower "operation_wall_ns" "ns" "wall time of a pass / its requests";
    operation lower "operation_cpu_thread_ns" "ns"
        "the submitting thread's CPU time per request, without the harness's";
    operation lower "operation_cpu_difference_ns" "ns"
        "total CPU time per request by difference: all CPUs' time minus idle, stolen, other \
         programs, the machine's background and the harness";
    operation lower "operation_cpu_idle_load_ns" "ns"
        "total CPU time per request by idle-priority loops: what they lose against an idle \
         machine, without the harness's";
    operation lower "operation_cpu_trace_ns" "ns"
        "total CPU time per request by a trace of every switch and interrupt (BPF), without the \
         harness's";
    operation lower "operation_cpu_total_ns" "ns"
        "total CPU time per request, bounded: at least the clocks of all threads that worked in \
         the program, at most the difference over all CPUs; without the harness's";
    operation "cpu_total_ratio" "1"
        "total CPU time / the submitting thread's CPU time, in the same passes";
    operation "cpu_total_difference_ratio", "cpu_total_idle_load_ratio", "cpu_total_trace_ratio" "1"
        "total CPU time (by difference, idle-priority loops or trace) / the submitting thread's \
         CPU time, in the same passes";
    operation "cpu_total_difference_tasks_ratio", "cpu_total_idle_load_tasks_ratio",
        "cpu_total_trace_tasks_ratio" "1"
        "total CPU time (by difference, idle-priority loops or trace) / CPU time, by their own \
         clocks, of all threads that worked in the program, in the same passes";
    operation lower "operation_overhead_ns" "ns"
        "T_OH(B,N): computing time lost per request, by equation 2, without the harness's";
    routine "loop_ns" "ns" "t_loop: one compute-and-test loop without I/O";
    routine lower "t_call_ns" "ns"
        "T_call: CPU time of a request whatever its size (eq. 8), by the account";
    routine lower "t_trans_ns_per_kib" "ns/KiB"
        "T_trans: CPU time per additional KiB; for small requests if two lines are needed";
    routine lower "t_trans_large_ns_per_kib" "ns/KiB"
        "T_trans of the second line, for large requests";
    routine "break_bytes" "B" "smallest request size of the second line";
    routine lower "latency_zero_ns" "ns" "t0: wall time of a request of no bytes";
    routine higher "rate_asymptotic_bytes_per_s" "B/s"
        "R_inf: the rate that ever larger requests approach";
    routine lower "half_rate_bytes" "B" "n_half: the request size that reaches half of R_inf";
    routine "sectors_per_revolution" "1"
        "S: sectors of 512 bytes transferred per revolution (eq. 6)";
    routine "revolutions_missed" "1" "M: revolutions missed per request (eq. 6)";
    routine "fit_misfit_percent" "%" "largest distance of a size's mean from the line";
    routine "fit_noise_percent" "%" "standard deviation of passes about their size's mean";
    background "background_difference_percent", "background_trace_percent" "%"
        "CPU time of the machine without the experiment (by difference or trace), as a share of \
         one CPU";
    background "slowdown_percent" "%"
        "median slowdown of the job's core over all passes, by the core-speed probe, against its \
         best in the run";
}

/// Every quantity of what is measured, traced, compared and simulated.
pub fn quantities() -> impl Iterator<Item = &'static Quantity> {
    let of_traces = COUNTED.iter().chain(traced::TRACED).chain(joined::JOINED);
    let of_replays = simulated::SIMULATED.iter().chain(replayed::REPLAYED);
    MEASURED.iter().chain(of_traces).chain(of_replays).chain(verdict::VERDICT)
}

/// The table's entry of that name.
pub fn quantity(name: &str) -> Option<&'static Quantity> {
    quantities().find(|q| q.name == name)
}

/// The section of docs/records.md on quantities: these, and those of other tables. Quantities of
/// the same commands share a table, and those of one meaning a row.
pub(crate) fn describe(page: &mut String, others: &'static [Quantity]) {
    page.push_str(
        "\n### Quantities\n\nEach table is headed by the commands that publish its quantities. \
         A row of keys says what the\nquantities after it describe. The statistic is in the \
         name: mean, median, p25 to p9999 (99.99 %), max.\nA *response* is the time from queueing \
         to completion. *Total CPU time* is that of the submitting\nthreads, kernel threads \
         and interrupts.\n",
    );
    let all: Vec<_> = quantities().chain(others).collect();
    for of_commands in alike(&all, |q| q.command) {
        let commands = of_commands.first().map_or("", |q| q.command);
        let _ = write!(
            page,
            "\n#### {commands}\n\n| quantity | unit | meaning |\n| --- | --- | --- |\n"
        );
        for of_subjects in alike(&of_commands, |q| q.subjects) {
            let subjects = of_subjects.first().map_or(&[][..], |q| q.subjects);
            let keys: Vec<_> = subjects.iter().map(|keys| keys.join(", ")).collect();
            let _ = writeln!(page, "| **{}** | | |", keys.join(" or "));
            for row in alike(&of_subjects, |q| (q.unit, q.meaning)) {
                let names: Vec<_> = row.iter().map(|q| q.name).collect();
                let (unit, meaning) = row.first().map_or(("", ""), |q| (q.unit, q.meaning));
                let _ = writeln!(page, "| {} | {unit} | {meaning} |", names.join(", "));
            }
        }
    }
}

/// Quantities with the same key, together, in the order of the first of each.
fn alike<K: PartialEq>(
    all: &[&'static Quantity],
    key: impl Fn(&'static Quantity) -> K,
) -> Vec<Vec<&'static Quantity>> {
    let mut found: Vec<(K, Vec<&'static Quantity>)> = vec![];
    for q in all {
        let its = key(q);
        match found.iter_mut().find(|(key, _)| *key == its) {
            Some((_, known)) => known.push(q),
            None => found.push((its, vec![q])),
        }
    }
    found.into_iter().map(|(_, known)| known).collect()
}

//! The one table that names every quantity of the findings. A finding with a
//! name that is not here fails a test; changing an entry bumps the schema.

use std::fmt::Write as _;

/// A quantity that findings can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    /// Its name, with its unit last.
    pub name: &'static str,
    /// The unit in the record.
    pub unit: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// The keys of its subject.
    pub subject: &'static [&'static str],
    /// The commands that produce it.
    pub command: &'static str,
}

/// The keys of a cell of the throughput matrix.
const CELL: &[&str] = &["drives", "program", "target"];
/// The keys of a number about the run as a whole.
const RUN: &[&str] = &["run"];

const fn cell(name: &'static str, unit: &'static str, meaning: &'static str) -> Quantity {
    Quantity { name, unit, meaning, subject: CELL, command: "throughput, survey" }
}

const fn calibration(name: &'static str, unit: &'static str, meaning: &'static str) -> Quantity {
    Quantity { name, unit, meaning, subject: RUN, command: "throughput, survey" }
}

/// Every quantity.
pub const QUANTITIES: &[Quantity] = &[
    cell(
        "rate_bytes_per_s",
        "B/s",
        "bytes that the program moved a second of wall time, summed over drives and jobs",
    ),
    cell(
        "rate_operations_per_s",
        "1/s",
        "requests a second of wall time, summed over drives and jobs",
    ),
    cell(
        "cpu_percent",
        "%",
        "the program's own CPU time as a share of one CPU (what the 1983 paper prints), summed over jobs",
    ),
    cell(
        "cpu_bill_percent",
        "%",
        "the whole bill as a share of one CPU: the program's own, and kernel threads and interrupts meanwhile; the test bed apart",
    ),
    cell("cpu_test_bed_percent", "%", "the loop device's workers, as a share of one CPU"),
    cell("cpu_elsewhere_percent", "%", "other user programs meanwhile, as a share of one CPU"),
    cell(
        "stolen_percent",
        "%",
        "CPU time that the hypervisor gave to others, over all CPUs, as a share of one CPU",
    ),
    cell(
        "ceiling_bytes_per_s",
        "B/s",
        "the most that the path gave in the same run: the best of sequential direct requests of 1 MiB and of 256 KiB, eight outstanding (or the memory's copy rate for reads that the page cache serves)",
    ),
    cell("ceiling_percent", "%", "rate_bytes_per_s as a share of ceiling_bytes_per_s"),
    cell("latency_mean_ns", "ns", "mean latency from the intended start"),
    cell("latency_p50_ns", "ns", "median latency from the intended start"),
    cell("latency_p99_ns", "ns", "99th percentile of the latency from the intended start"),
    cell("latency_p999_ns", "ns", "99.9th percentile of the latency from the intended start"),
    cell("latency_max_ns", "ns", "greatest latency from the intended start"),
    cell("service_p50_ns", "ns", "median service time, from submission to completion (open loop)"),
    cell("service_p99_ns", "ns", "99th percentile of the service time (open loop)"),
    cell("sync_percent", "%", "time in fdatasync as a share of the jobs' wall time"),
    cell(
        "device_bytes_ratio",
        "1",
        "bytes at the tested device over bytes of the program, in the program's direction",
    ),
    cell(
        "lowest_bytes_ratio",
        "1",
        "bytes at the lowest device over bytes of the program, in the program's direction",
    ),
    cell("depth_achieved", "1", "mean requests outstanding, by Little's law, summed over jobs"),
    cell(
        "rate_spread_percent",
        "%",
        "standard deviation of the passes' rates as a share of their mean",
    ),
    cell(
        "rate_trend_percent",
        "%",
        "change of the fitted rate from the first kept pass to the last, as a share of the mean",
    ),
    calibration("clock_cost_ns", "ns", "one reading of the clock that stamps requests"),
    calibration("clock_precision_ns", "ns", "the least step of that clock"),
    calibration(
        "harness_ns_per_operation",
        "ns",
        "the harness's own cost of a request, on the null engine with the histogram on",
    ),
    calibration(
        "memory_copy_bytes_per_s",
        "B/s",
        "copying 64 MiB from memory to memory, one thread",
    ),
];

/// The table's entry of that name.
pub fn quantity(name: &str) -> Option<&'static Quantity> {
    QUANTITIES.iter().find(|q| q.name == name)
}

/// The section of docs/records.md on quantities.
pub(crate) fn describe(page: &mut String) {
    page.push_str(
        "\n### Quantities\n\n| quantity | unit | meaning | keys of the subject | command |\n\
         | --- | --- | --- | --- | --- |\n",
    );
    for q in QUANTITIES {
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} |",
            q.name,
            q.unit,
            q.meaning,
            q.subject.join(", "),
            q.command
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_end_in_their_unit() {
        for (position, q) in QUANTITIES.iter().enumerate() {
            assert!(QUANTITIES[..position].iter().all(|p| p.name != q.name), "{} twice", q.name);
            let ending = match q.unit {
                "B/s" => "bytes_per_s",
                "1/s" => "operations_per_s",
                "%" => "percent",
                "ns" => "ns",
                _ => continue,
            };
            assert!(
                q.name.ends_with(ending) || q.name.contains("_ns_per_"),
                "{} does not end in {ending}",
                q.name
            );
        }
    }
}

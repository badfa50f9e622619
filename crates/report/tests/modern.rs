//! A run of today: several reasons, intervals, latencies, every format.

#[allow(dead_code, reason = "each test file uses its part")]
use crate::common::{doubted, finding, golden};
use model::record::{Finding, Subject, Verdict};
use report::Run;
use report::calibration_line;
use report::throughput::{Matrix, details, table};

const CACHE: &str = "the device moved 0.02 of the program's bytes: the page cache served the rest";
const STEAL: &str = "the hypervisor gave 3.1 % of the CPU time to others";
const NO_ROOM: &str = "the second drive is not there: only one was given";

pub(crate) fn findings() -> Vec<Finding> {
    let mut all = Vec::new();
    let first = ("read_8192", "fresh:ext4", "1");
    let second = ("write_8192", "fresh:ext4", "1");
    let interval = |mut finding: Finding, half: f64| {
        finding.low = finding.value.map(|v| v - half);
        finding.high = finding.value.map(|v| v + half);
        finding
    };
    let rate = |place, rate| finding(place, "rate_bytes_per_s", rate);
    all.push(interval(doubted(rate(first, Some(1234.4e6)), Verdict::Suspect, CACHE), 12e6));
    all.push(finding(first, "cpu_percent", Some(45.2)));
    all.push(doubted(finding(first, "device_bytes_ratio", Some(0.02)), Verdict::Suspect, CACHE));
    all.push(interval(doubted(rate(second, Some(87.25e6)), Verdict::Suspect, STEAL), 0.5e6));
    all.push(doubted(finding(second, "cpu_percent", Some(7.1)), Verdict::Suspect, CACHE));
    all.push(finding(second, "device_bytes_ratio", Some(1.02)));
    for (place, factor) in [(first, 1.0), (second, 9.0)] {
        all.push(finding(place, "rate_operations_per_s", Some(150_684.0 / factor)));
        all.push(finding(place, "cpu_total_percent", Some(61.7 / factor)));
        let ceiling = if place == first { 2374e6 } else { 1510e6 };
        all.push(finding(place, "ceiling_bytes_per_s", Some(ceiling)));
        all.push(finding(place, "ceiling_percent", Some(52.0 / factor)));
        all.push(finding(place, "latency_p50_ns", Some(5_600.0 * factor)));
        all.push(finding(place, "latency_p99_ns", Some(81_000.0 * factor)));
        all.push(finding(place, "latency_max_ns", Some(3.2e6 * factor)));
    }
    let third = ("read_8192", "fresh:ext4", "2");
    all.push(doubted(rate(third, None), Verdict::NotMeasured, NO_ROOM));
    for (name, value) in [("clock_cost_ns", 21.6), ("memory_copy_bytes_per_s", 12.3e9)] {
        let subject = Subject::this_run();
        all.push(Finding { subject, ..finding(first, name, Some(value)) });
    }
    all
}

fn matrix() -> Matrix {
    Matrix::from_findings(&findings(), &["write_8192".into(), "read_8192".into()])
}

#[test]
fn the_table_numbers_its_footnotes() {
    golden("modern.txt", &table(&matrix(), Some(72)));
}

#[test]
fn the_details_leave_out_what_nobody_measured() {
    let text = details(&matrix(), Some(100));
    assert!(!text.contains("Test bed"));
    golden("modern-details.txt", &format!("{text}\n{}\n", calibration_line(&findings()).unwrap()));
}

#[test]
fn the_other_formats() {
    let run = Run { findings: &findings(), rows: &["write_8192".into(), "read_8192".into()] };
    golden("modern.md", &run.markdown());
    golden("modern.csv", &report::csv(&findings()));
    let run = serde_json::json!({"name": "r1"});
    golden("modern.json", &report::json(&run, &[], &findings()[..2]).unwrap());
}

#[test]
fn no_findings_are_said_in_words() {
    let nothing = Matrix::default();
    assert_eq!(table(&nothing, None), "Nothing was measured.\n");
    assert_eq!(details(&nothing, None), "Nothing was measured.\n");
}

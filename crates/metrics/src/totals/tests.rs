//! Closed-form totals of rows that were made up.

use super::*;
use model::histogram::SparseHistogram;
use model::record::RollupKey;

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn row(counted: Counted, device: &str, operation: &str, role: &str) -> Rollup {
    let (device, role) = (some(device), some(role));
    let operation = operation.to_owned();
    Rollup::of(RollupKey { counted, device, operation, role, ..RollupKey::default() }, 0, 1)
}

fn timed(mut row: Rollup, times: &[u64]) -> Rollup {
    let mut histogram = SparseHistogram::default();
    times.iter().for_each(|ns| histogram.record(*ns));
    row.set_responses(&histogram);
    row.count = times.len() as u64;
    row
}

fn lost(victim: &str, cause: &str, lost_ns: i64) -> Rollup {
    let row = row(Counted::Lost, "vda", "fsync", victim);
    Rollup { cause: some(cause), lost_ns, ..row }
}

fn of_watch(operation: &str, device: &str, count: u64, sum_ns: u64) -> Rollup {
    Rollup { count, sum_ns, ..row(Counted::Watch, device, operation, "") }
}

fn text(totals: &Totals, format: Format) -> String {
    String::from_utf8(totals.text(format).into()).unwrap()
}

/// The value of a sample, by its name and labels as they are written.
fn value(totals: &Totals, sample: &str) -> Option<f64> {
    let text = text(totals, Format::Text);
    let found = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    found.map(|value| value.parse().unwrap())
}

#[test]
fn requests_and_calls_add_up_over_seconds_and_file_systems() {
    let mut totals = Totals::default();
    let first = timed(row(Counted::Requests, "vda", "read", "pg"), &[1_023, 1_024, 1 << 30]);
    let first = Rollup { bytes: 4096, failed: 1, ..first };
    let second = Rollup { file_system: some("vda1"), ..first.clone() };
    totals.add(&[first.clone(), second]);
    totals.add(&[first]);
    let labels = "device=\"vda\",operation=\"read\",role=\"pg\"";
    for (sample, expected) in [
        ("lbolt_request_response_seconds_bucket{L,le=\"0.000001023\"}", 3.0),
        ("lbolt_request_response_seconds_bucket{L,le=\"0.000002047\"}", 6.0),
        ("lbolt_request_response_seconds_bucket{L,le=\"1.073741823\"}", 6.0),
        ("lbolt_request_response_seconds_bucket{L,le=\"2.147483647\"}", 9.0),
        ("lbolt_request_response_seconds_bucket{L,le=\"+Inf\"}", 9.0),
        ("lbolt_request_response_seconds_count{L}", 9.0),
        ("lbolt_request_response_seconds_sum{L}", 3.0 * (2_047 + (1 << 30)) as f64 / 1e9),
        ("lbolt_request_bytes_total{L}", 12_288.0),
        ("lbolt_requests_failed_total{L}", 3.0),
    ] {
        assert_eq!(value(&totals, &sample.replace('L', labels)), Some(expected), "{sample}");
    }
    // A call knows its file system, which may be all that is known of its device.
    let call = timed(row(Counted::Calls, "", "fsync", "pg"), &[2_000_000]);
    totals.add(&[Rollup { file_system: some("vda1"), ..call }]);
    let sample = "lbolt_call_seconds_sum{device=\"vda1\",operation=\"fsync\",role=\"pg\"}";
    assert_eq!(value(&totals, sample), Some(0.002));
}

#[test]
fn time_lost_is_summed_exactly_and_never_shown_to_fall() {
    let mut totals = Totals::default();
    let sample =
        "lbolt_lost_seconds_total{device=\"vda\",victim=\"pg\",wait=\"fsync\",cause=\"dd\"}";
    let mut shown = Vec::new();
    for ns in [1_000_000_000, -400_000_000, 300_000_000, 1, 200_000_000] {
        totals.add(&[lost("pg", "dd", ns)]);
        shown.push(value(&totals, sample).unwrap());
    }
    // 1 − 0.4 + 0.3 + 0.2, and a nanosecond.
    assert_eq!(shown, [1.0, 1.0, 1.0, 1.0, 1.100_000_001]);
    // What began below nothing is shown as nothing.
    totals.add(&[lost("pg", "<device>", -5)]);
    assert_eq!(value(&totals, &sample.replace("dd", "<device>")), Some(0.0));
}

#[test]
fn the_watch_and_the_kernel_have_their_counters() {
    let mut totals = Totals::default();
    assert_eq!(value(&totals, "lbolt_events_lost_total"), Some(0.0));
    let disk = |operation| row(Counted::Disk, "vda", operation, "");
    totals.add(&[
        of_watch(operations::WATCHED, "", 0, 1_000_000_001),
        of_watch(operations::EVENTS_LOST, "", 7, 0),
        of_watch(operations::CPUS, "", 0, 2_000_000_000),
        of_watch(operations::CPUS_IDLE, "", 0, 1_500_000_000),
        of_watch(operations::CPUS_STOLEN, "", 0, 250_000_000),
        of_watch(operations::CLOCK_BACK, "", 1, 5),
        of_watch(operations::NOT_KEPT, "", 3, 0),
        of_watch("of a later version", "", 3, 0),
        Rollup { count: 10, bytes: 40_960, sum_ns: 3_000, ..disk("write") },
        Rollup { sum_ns: 500_000_000, ..disk(operations::BUSY) },
        Rollup { sum_ns: 4_000_000_000, ..disk(operations::QUEUED) },
    ]);
    for (sample, expected) in [
        ("lbolt_build_info{version=\"0.2.0\"}", 1.0),
        ("lbolt_watched_seconds_total", 1.000_000_001),
        ("lbolt_events_lost_total", 7.0),
        ("lbolt_cpu_seconds_total", 2.0),
        ("lbolt_cpu_idle_seconds_total", 1.5),
        ("lbolt_cpu_stolen_seconds_total", 0.25),
        ("lbolt_clock_set_total{direction=\"back\"}", 1.0),
        ("lbolt_clock_set_total{direction=\"forward\"}", 0.0),
        ("lbolt_history_rows_not_kept_total", 3.0),
        ("lbolt_disk_requests_total{device=\"vda\",operation=\"write\"}", 10.0),
        ("lbolt_disk_bytes_total{device=\"vda\",operation=\"write\"}", 40_960.0),
        ("lbolt_disk_request_seconds_total{device=\"vda\",operation=\"write\"}", 3e-6),
        ("lbolt_disk_busy_seconds_total{device=\"vda\"}", 0.5),
        ("lbolt_disk_queued_seconds_total{device=\"vda\"}", 4.0),
    ] {
        assert_eq!(value(&totals, sample), Some(expected), "{sample}");
    }
}

#[test]
fn outstanding_is_what_the_last_second_ended_with() {
    let mut totals = Totals::default();
    let watched = of_watch(operations::WATCHED, "", 0, 1);
    let at = |device, until_unix_ns, count| Rollup {
        until_unix_ns,
        ..of_watch(operations::OUTSTANDING, device, count, 0)
    };
    let shown = |totals: &Totals, device| {
        value(totals, &format!("lbolt_outstanding_requests{{device=\"{device}\"}}"))
    };
    totals.add(&[watched.clone(), at("vda", 20, 5), at("vda", 10, 9), at("vdb", 20, 1)]);
    assert_eq!((shown(&totals, "vda"), shown(&totals, "vdb")), (Some(5.0), Some(1.0)));
    // The clock was set back, and vdb went.
    totals.add(&[watched, at("vda", 5, 2)]);
    assert_eq!((shown(&totals, "vda"), shown(&totals, "vdb")), (Some(2.0), Some(0.0)));
}

#[test]
fn waits_count() {
    let mut totals = Totals::default();
    totals.add(&[timed(row(Counted::Waits, "vda", "read", "pg"), &[5_000_000, 1_000_000])]);
    let labels = "{device=\"vda\",role=\"pg\",wait=\"read\"}";
    assert_eq!(value(&totals, &format!("lbolt_waits_total{labels}")), Some(2.0));
    assert_eq!(value(&totals, &format!("lbolt_wait_seconds_total{labels}")), Some(0.006));
}

#[test]
fn names_cannot_break_out_of_their_labels() {
    let mut totals = Totals::default();
    let role = "a\"} 1\nlbolt_x 2\r\x1b[31m\\\u{202e}é";
    totals.add(&[timed(row(Counted::Requests, "v\"da", "read", role), &[1_000])]);
    for format in [Format::Text, Format::OpenMetrics] {
        let text = text(&totals, format);
        let name = "role=\"a\\\"} 1\\\\nlbolt_x 2\\\\r\\\\x1b[31m\\\\\\\\u{202e}é\"";
        assert!(text.contains(name), "{text}");
        assert!(text.contains("device=\"v\\\"da\""));
        assert!(!text.lines().any(|line| line.starts_with("lbolt_x")));
        assert!(text.chars().all(|c| c == '\n' || !model::text::is_unsafe(c)));
    }
}

#[test]
fn ten_thousand_roles_are_two_hundred_and_the_rest() {
    let mut totals = Totals::default();
    let rows: Vec<_> = (0..10_000u64)
        .map(|role| timed(row(Counted::Requests, "vda", "read", &format!("r{role}")), &[role + 1]))
        .collect();
    totals.add(&rows);
    let shown = |totals: &Totals| {
        let text = text(totals, Format::Text);
        let count = |line: &&str| line.starts_with("lbolt_request_response_seconds_count");
        let lines: Vec<String> = text.lines().filter(count).map(str::to_owned).collect();
        lines
    };
    let before = shown(&totals);
    assert!((150..=201).contains(&before.len()), "{}", before.len());
    let sum: f64 =
        before.iter().map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum();
    assert_eq!(sum, 10_000.0, "each is counted once");
    assert!(before.iter().any(|line| line.contains("role=\"others\"")));
    assert!(before.iter().any(|line| line.contains("role=\"r9999\"")), "the one of the most time");
    // Others come; those that are shown stay, and what is shown never falls.
    let rows: Vec<_> = (10_000..20_000u64)
        .map(|role| timed(row(Counted::Requests, "vda", "read", &format!("r{role}")), &[9]))
        .collect();
    totals.add(&rows);
    let after = shown(&totals);
    assert!(after.len() <= 201);
    let label = |line: &String| line.rsplit_once(' ').unwrap().0.to_owned();
    let after: Vec<_> = after.iter().map(label).collect();
    assert!(before.iter().map(label).all(|line| after.contains(&line)));
}

#[test]
fn series_are_bounded_whatever_comes() {
    let mut totals = Totals::new(Limits { roles: 8 });
    for victim in 0..8 {
        for cause in 0..8 {
            for wait in 0..8 {
                let (victim, cause) = (format!("v{victim}"), format!("c{cause}"));
                let row = Rollup {
                    operation: format!("w{wait}"),
                    ..lost(&victim, &cause, 1_000_000_000)
                };
                totals.add(&[row]);
            }
        }
    }
    let text = text(&totals, Format::Text);
    let lost = text.lines().filter(|line| line.starts_with("lbolt_lost_seconds_total"));
    let values: Vec<f64> =
        lost.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
    // Ten for each role, and one of others for each wait.
    assert!(values.len() <= 88, "{}", values.len());
    assert_eq!(values.iter().sum::<f64>(), 512.0, "each is counted once");
}

#[test]
fn a_text_is_written_once_until_there_is_more() {
    let mut totals = Totals::default();
    for format in [Format::Text, Format::OpenMetrics, Format::Protobuf] {
        let (before, again) = (totals.text(format), totals.text(format));
        assert_eq!(before.as_ptr(), again.as_ptr(), "{format:?}");
        totals.add(&[timed(row(Counted::Requests, "vda", "read", "pg"), &[1_000])]);
        assert_ne!(totals.text(format), before, "{format:?}");
    }
}

#[test]
fn damaged_rows_do_no_harm() {
    let mut totals = Totals::default();
    for (counted, _) in Counted::ALL {
        let mut row = row(*counted, "", "", "");
        row.count = u64::MAX;
        row.bytes = u64::MAX;
        row.sum_ns = u64::MAX;
        row.lost_ns = i64::MAX;
        (row.buckets, row.counts) = (vec![u64::MAX, 3], vec![u64::MAX, u64::MAX]);
        totals.add(&[row.clone(), row.clone()]);
        (row.buckets, row.counts) = (vec![3, 4, 5], vec![u64::MAX / 4; 3]);
        totals.add(&[row.clone(), row]);
    }
    assert!(!totals.text(Format::Protobuf).is_empty());
    assert!(!totals.text(Format::Text).is_empty());
}

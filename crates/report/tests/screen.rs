//! The first screens of overhead and throughput: golden files, what their sentences say and do not
//! say, and that none is larger than a screen.

#[allow(dead_code, reason = "each test file uses its part")]
use crate::common::{doubted, finding, golden};
use crate::{modern, overhead, paper};
use model::record::{Finding, Verdict};
use report::Run;
use report::throughput::{Matrix, details};

const BELOW: &str = "--all prints every table; of this run: lbolt runs show RUN";

fn screen(findings: &[Finding], width: Option<u16>) -> String {
    let text = Run { findings, rows: &[] }.screen(width, BELOW);
    assert!(text.ends_with(&format!("{BELOW}\n")), "{text}");
    text
}

/// Its text on one line.
fn said(findings: &[Finding]) -> String {
    screen(findings, None).replace('\n', " ")
}

/// Cells of so many tests on so many systems, each rate with half its interval.
fn cells(tests: usize, rates: &[(&str, f64, f64)]) -> Vec<Finding> {
    let of = |test: usize| {
        rates.iter().flat_map(move |(system, rate, half)| {
            let (test, found) = (format!("test{test}"), |name, value| (name, value));
            let place = (test.as_str(), *system, "1");
            let ceiling = finding(place, "ceiling_bytes_per_s", Some(1e9));
            let shares =
                [found("rate_bytes_per_s", rate * 1e6), found("ceiling_percent", rate / 10.0)];
            let within = shares.map(|(name, value)| {
                let ends = |sign: f64| Some(value * (1.0 + sign * half / rate));
                Finding { low: ends(-1.0), high: ends(1.0), ..finding(place, name, Some(value)) }
            });
            within.into_iter().chain([ceiling])
        })
    };
    (0..tests).flat_map(of).collect()
}

#[test]
fn overhead_says_who_is_the_cheapest() {
    let text = screen(&overhead::findings(), Some(100));
    golden("overhead-screen.txt", &text);
    assert!(
        text.starts_with("Buffered randread: psync costs 736 ns of CPU per call (95 % CI 705–766)")
    );
}

#[test]
fn without_lines_a_size_is_named() {
    let is_of_size = |f: &&Finding| f.subject.get("account").is_none();
    let cells: Vec<Finding> = overhead::findings().iter().filter(is_of_size).cloned().collect();
    let text = said(&cells);
    assert!(text.contains("psync costs 960 ns of CPU per 4k request"), "{text}");
    assert!(text.contains("psync reaches 12025 MB/s with 64k requests"), "{text}");
}

#[test]
fn no_rate_approaches_a_limit_of_which_no_size_is_known_to_reach_half() {
    let is_other = |f: &&Finding| f.quantity != "half_rate_bytes";
    let all: Vec<Finding> = overhead::findings().iter().filter(is_other).cloned().collect();
    let text = said(&all);
    assert!(text.contains("vsync moves additional bytes at 16600 MB/s (95 % CI"), "{text}");
    assert!(!text.contains("approaches"), "{text}");
}

#[test]
fn throughput_says_which_rates_there_are() {
    golden("throughput-screen.txt", &screen(&modern::findings(), Some(100)));
    golden("paper-780-screen.txt", &screen(&paper::findings(&paper::BLOCKS_8K), None));
}

#[test]
fn a_system_is_faster_only_beyond_the_intervals() {
    let text = said(&cells(3, &[("ext4", 500.0, 10.0), ("xfs", 900.0, 10.0)]));
    assert!(text.contains("xfs is faster than ext4 in 3 of 3 tests. The largest"), "{text}");
    assert!(text.contains("at least 1.75× faster"), "{text}");
    let near = said(&cells(3, &[("ext4", 500.0, 90.0), ("xfs", 600.0, 90.0)]));
    assert!(near.contains("xfs and ext4 cannot be told apart in any of 3 tests."), "{near}");
    let one = said(&cells(1, &[("ext4", 500.0, 90.0), ("xfs", 600.0, 90.0)]));
    assert!(one.contains("cannot be told apart in the test that both have."), "{one}");
    let slower = said(&cells(1, &[("ext4", 900.0, 10.0), ("xfs", 500.0, 10.0)]));
    assert!(slower.contains("xfs is slower than ext4 in the test that both have."), "{slower}");
    assert!(!near.contains("largest difference"), "{near}");
}

#[test]
fn a_ceiling_is_missed_only_beyond_the_interval() {
    let below = said(&cells(2, &[("d", 800.0, 10.0)]));
    assert!(below.contains("All 2 tests stay below their ceiling"), "{below}");
    assert!(below.contains("test0 is furthest below it, at 80.0 %"), "{below}");
    // The ceiling stands beside what is said of it, in sentence and table.
    assert!(below.contains("80.0 % of its ceiling of 1000 MB/s;"), "{below}");
    assert!(below.contains("Of ceiling  Ceiling"), "{below}");
    let near = said(&cells(2, &[("d", 990.0, 20.0)]));
    assert!(near.contains("None of 2 tests is surely below its ceiling"), "{near}");
    let one = said(&cells(1, &[("d", 800.0, 10.0)]));
    assert!(one.contains("The test stays at 80.0 %") && !one.contains("1 of 1"), "{one}");
    // Of the tests in the table none is left out of the sentence.
    let mixed = said(&cells(1, &[("a", 800.0, 10.0), ("b", 990.0, 20.0)]));
    let sentence = "1 of 2 tests surely stays below its ceiling, the highest rate of its path in \
        this run; of 1 that cannot be told; test0 on a is furthest below it, at 80.0 %";
    assert!(mixed.contains(sentence), "{mixed}");
}

/// The rate, its share of the ceiling and the printed cell are one number in several words.
#[test]
fn what_the_interval_does_not_tell_is_told_nowhere_in_its_row() {
    let both = cells(1, &[("a", 800.0, 700.0), ("b", 500.0, 10.0)]);
    let (wide, words) = (screen(&both, Some(100)), said(&both));
    let row = wide.lines().find(|line| line.starts_with("test0  a")).unwrap();
    assert_eq!(row.matches("cannot tell").count(), 2, "{wide}");
    assert!(!row.contains("80.0%"), "{wide}");
    assert!(words.starts_with("test0 on b reaches 500 MB/s"), "{words}");
    assert!(words.contains("Of 2 cells 1 is not known yet"), "{words}");
    assert!(words.contains("test0 on b stays at 50.0 %"), "{words}");
    let table = report::throughput::table(
        &Matrix::from_findings(&cells(1, &[("a", 800.0, 700.0)]), &[]),
        None,
    );
    assert!(table.contains("cannot tell") && !table.contains("800"), "{table}");
}

#[test]
fn one_pass_each_is_not_ranked_and_has_no_interval_in_words() {
    let alone = |finding: Finding| Finding { low: None, high: None, count: 1, ..finding };
    let all: Vec<Finding> =
        cells(1, &[("a", 800.0, 1.0), ("b", 500.0, 1.0)]).into_iter().map(alone).collect();
    let text = screen(&all, Some(100));
    let said = "2 cells reach 500 MB/s to 800 MB/s; one pass each: not ranked.";
    assert!(text.starts_with(said), "{text}");
    assert!(!text.contains('±') && !text.contains("95"), "{text}");
}

#[test]
fn what_is_doubted_is_said_and_its_mark_explained() {
    let mut all = cells(2, &[("d", 800.0, 10.0)]);
    all[0] = doubted(all[0].clone(), Verdict::Suspect, "the weather was hot");
    let text = said(&all);
    assert!(text.contains("suspect)") && text.contains("Of 2 cells 1 is suspect."), "{text}");
    assert!(text.contains("± 10*") && text.contains("* the weather was hot"), "{text}");
}

#[test]
fn no_screen_is_larger_than_a_screen() {
    let systems: Vec<String> = (0..9).map(|n| format!("fresh:ext4,size={n}00m,drives=1")).collect();
    let rates: Vec<(&str, f64, f64)> = systems.iter().map(|s| (s.as_str(), 500.0, 9.0)).collect();
    let all = [
        overhead::findings(),
        modern::findings(),
        paper::findings(&paper::BLOCKS_8K),
        cells(12, &rates[..4]),
        cells(99, &rates),
    ];
    for findings in &all {
        for width in [None, Some(100), Some(200)] {
            let text = screen(findings, width);
            assert!(text.lines().count() <= 40, "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        }
    }
    assert!(screen(&all[4], None).contains("(the first "));
}

#[test]
fn no_findings_are_said_in_words() {
    assert_eq!(screen(&[], None), format!("{BELOW}\n"));
}

#[test]
fn syncs_between_writes_have_columns_and_a_sentence() {
    let cell = ("write_4k_fsync1", "d", "1");
    let quantities = [
        ("rate_bytes_per_s", 2.84e6),
        ("latency_p99_ns", 53e3),
        ("sync_percent", 98.6),
        ("sync_latency_p50_ns", 1.31e6),
        ("sync_latency_p99_ns", 2.93e6),
        ("sync_latency_max_ns", 9.1e6),
    ];
    let found = quantities.map(|(name, value)| finding(cell, name, Some(value)));
    let columns = ["Sync p50", "Sync p99", "Sync max"];
    let details = |findings: &[Finding]| details(&Matrix::from_findings(findings, &[]), None);
    let text = details(&found);
    assert!(columns.iter().all(|column| text.contains(column)), "{text}");
    assert!(text.contains("2.93 ms"), "{text}");
    let sentence = "p99 sync latency is 2.93 ms in write_4k_fsync1 (p50 1.31 ms, max 9.10 ms); \
        syncs take 98.6 % of its time.";
    assert!(said(&found).contains(sentence), "{}", said(&found));
    // On a narrow screen the p99 of syncs is the last of these to go.
    assert!(screen(&found, Some(60)).contains("Sync p99"), "{}", screen(&found, Some(60)));
    // Without syncs there is nothing of them.
    let without = &found[..2];
    assert!(!details(without).contains("Sync") && !said(without).contains("sync latency"));
}

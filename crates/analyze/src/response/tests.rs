//! The analysis of rows made by hand, and of the paper's conclusion in small.

use super::*;
use model::record::quantity;

const MS: i64 = 1_000_000;

fn row(op: Op, arrival_ms: i64, response_ms: i64) -> Request {
    Request {
        op,
        offset_bytes: Some(0),
        length_bytes: 4096,
        queued_ns: Some(arrival_ms * MS),
        issued_ns: Some(arrival_ms * MS + MS / 2),
        completed_ns: Some((arrival_ms + response_ms) * MS),
        ..Request::default()
    }
}

fn analysed(rows: &[Request]) -> Vec<Finding> {
    let mut response = Response::default();
    rows.iter().for_each(|row| response.add(row));
    response.findings(|device| format!("disk{device}"))
}

fn value(findings: &[Finding], by: &str, class: &str, quantity: &str) -> Option<f64> {
    let is_it = |f: &&Finding| {
        f.quantity == quantity
            && f.subject_value("by").as_deref() == Some(by)
            && f.subject_value("class").as_deref() == Some(class)
    };
    findings.iter().find(is_it).and_then(|f| f.value)
}

fn of_run(findings: &[Finding], quantity: &str) -> Option<f64> {
    findings.iter().find(|f| f.quantity == quantity).and_then(|f| f.value)
}

/// Six writes at once, then reads of which each finds one less.
#[test]
fn reads_are_classed_by_the_writes_that_they_find() {
    let mut rows: Vec<Request> = (1..=6).map(|n| row(Op::Write, 0, 10 * n)).collect();
    rows[5].flags = Flags::BACKGROUND;
    rows.extend((0..7).map(|n| row(Op::Read, 5 + 10 * n, 1 + n)));
    let found = analysed(&rows);
    let reads = |by: &str, class| value(&found, by, class, "asked_count");
    // The first two find six and five, the next four so many less, the last none.
    assert_eq!(reads("writes outstanding", "20 and more"), Some(0.0));
    assert_eq!(reads("writes outstanding", "5 to 19"), Some(2.0));
    assert_eq!(reads("writes outstanding", "1 to 4"), Some(4.0));
    assert_eq!(reads("writes outstanding", "0"), Some(1.0));
    assert_eq!(reads("background writes outstanding", "1 to 4"), Some(6.0));
    assert_eq!(value(&found, "writes outstanding", "0", "response_mean_ns"), Some(7.0 * MS as f64));
    assert_eq!(value(&found, "writes outstanding", "0", "wait_mean_ns"), Some(0.5 * MS as f64));
    assert_eq!(of_run(&found, "depth_max"), Some(7.0));
}

/// Little's law: the time outstanding over the span is what a clock would have counted.
#[test]
fn the_depth_is_that_of_a_clock_that_looks_every_millisecond() {
    let rows: Vec<Request> = (0..50).map(|n| row(Op::Read, 2 * n, 1 + n * 7 % 11)).collect();
    let found = analysed(&rows);
    let end = rows.iter().filter_map(|r| r.completed_ns).max().unwrap() / MS;
    let outstanding = |ms: i64| {
        let at =
            |r: &&Request| (r.queued_ns.unwrap()..r.completed_ns.unwrap()).contains(&(ms * MS));
        rows.iter().filter(at).count()
    };
    let looked: usize = (0..end).map(outstanding).sum();
    assert!((of_run(&found, "depth_mean").unwrap() - looked as f64 / end as f64).abs() < 1e-9);
}

#[test]
fn slices_widen_until_all_fits_and_lose_nothing() {
    let rows: Vec<Request> = (0..1000u64)
        .map(|n| Request { offset_bytes: Some((n * n) << 16), ..row(Op::Read, n as i64, 1) })
        .collect();
    let found = analysed(&rows);
    for by in ["region", "start"] {
        let of = |f: &&Finding| f.subject_value("by").as_deref() == Some(by);
        let counts: Vec<f64> = found
            .iter()
            .filter(of)
            .filter(|f| f.quantity == "asked_count")
            .filter_map(|f| f.value)
            .collect();
        assert!((16..=32).contains(&counts.len()), "{by}: {counts:?}");
        assert_eq!(counts.iter().sum::<f64>(), 1000.0, "{by}");
    }
    // 1000 rows, one a millisecond: slices of 31.25 ms.
    let first = classes::time_label(&(0..31_250_000));
    assert_eq!(value(&found, "start", &first, "asked_count"), Some(32.0));
}

#[test]
fn what_is_lbolts_own_or_never_answered_changes_no_times() {
    let own = Request { flags: Flags::OWN, ..row(Op::Write, 0, 900) };
    let lost = Request { completed_ns: None, ..row(Op::Write, 1, 0) };
    let found = analysed(&[own, lost, row(Op::Read, 5, 3)]);
    assert_eq!(value(&found, "whole", "all", "asked_count"), Some(2.0));
    assert_eq!(value(&found, "whole", "all", "answered_count"), Some(1.0));
    assert_eq!(value(&found, "whole", "all", "response_max_ns"), Some(3.0 * MS as f64));
    assert_eq!(of_run(&found, "depth_max"), Some(1.0));
}

#[test]
fn without_rows_or_answers_nothing_is_measured() {
    for rows in [vec![], vec![Request { completed_ns: None, ..row(Op::Read, 0, 0) }]] {
        let found = analysed(&rows);
        for quantity in ["response_p50_ns", "response_whisker_high_ns", "wait_mean_ns"] {
            let wait_is_told = quantity == "wait_mean_ns" && !rows.is_empty();
            assert_eq!(
                value(&found, "whole", "all", quantity).is_some(),
                wait_is_told,
                "{quantity}"
            );
        }
    }
}

#[test]
fn every_finding_is_in_the_models_table() {
    for finding in analysed(&[row(Op::Write, 0, 10), row(Op::Read, 1, 1)]) {
        let known = quantity(&finding.quantity).unwrap_or_else(|| panic!("{}", finding.quantity));
        assert_eq!(known.unit, finding.unit, "{}", finding.quantity);
        let has = |keys: &&&[&str]| keys.iter().all(|key| finding.subject_value(key).is_some());
        assert!(known.subjects.iter().any(|keys| has(&keys)), "{finding:?}");
    }
}

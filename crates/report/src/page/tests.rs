//! Tests of the page: what it says of findings, and that names are text.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use super::*;
use model::engine::EngineKind;
use model::record::subject::{Commit, Operation, Routine};
use model::record::{Doubt, Interval, Subject};
use model::run::RUN_SCHEMA;

fn info(name: &str) -> RunInfo {
    RunInfo {
        schema: RUN_SCHEMA.into(),
        name: name.into(),
        experiment: "throughput".into(),
        version: "0".into(),
        command_line: vec!["/x/lbolt".into(), "throughput".into(), "a b".into()],
        started: "2026-01-02T03:04:05.678Z".into(),
        state: "finished".into(),
        seed: 1,
        rows: vec!["read".into()],
        machine: serde_json::json!({ "cpu_model": "C", "cpus": 2, "memory_bytes": 1_073_741_824,
            "devices": [{ "name": "vda", "rotational": true }] }),
        plan: serde_json::json!({}),
        calibration: serde_json::json!({}),
    }
}

/// Of a run without requests.
static NONE: Traced = Traced {
    density: vec![],
    over_time: vec![],
    storms: vec![],
    marks: std::collections::BTreeMap::new(),
    all_storms: 0,
};

fn of(info: &RunInfo, findings: &[Finding]) -> Page {
    page(&[Source { info, findings, traced: &NONE, remarks: vec![] }], &[])
}

fn rate(program: &str, value: Option<f64>) -> Finding {
    let subject = Subject::cell("ext4", program, 1);
    let rate = Finding::new(&subject, "rate_bytes_per_s", value, 3, "mean");
    rate.within(Interval::Passes, (value.map(|v| v * 0.9), value.map(|v| v * 1.1)))
}

#[test]
fn every_part_of_the_template_is_filled_in() {
    let (info, found) = (info("r"), [rate("read", Some(1e8))]);
    let text = html(&of(&info, &found)).unwrap();
    assert!(!text.contains("{{") && !text.contains("%script%"), "a place is left");
    for words in ["Throughput of ext4", "Content-Security-Policy", "2026-01-02 03:04:05 UTC"] {
        assert!(text.contains(words), "{words}");
    }
    assert!(text.contains("lbolt throughput &#39;a b&#39;"));
    assert!(text.contains("No figure is suspect"));
}

#[test]
fn a_page_is_data_before_it_is_a_page() {
    let mut slow = rate("write", Some(1e6));
    slow.doubt(Doubt::refused("the disk was hot"));
    let (info, found) = (info("r"), [rate("read", Some(1e8)), slow, rate("rewrite", None)]);
    let page = serde_json::to_value(of(&info, &found)).unwrap();
    let chart = &page["sections"][0]["charts"][0];
    assert_eq!((&chart["id"], &chart["kind"]), (&"rates".into(), &"bars".into()));
    assert_eq!(chart["series"], serde_json::json!(["ext4"]));
    let column = |role: &str| {
        let columns = chart["columns"].as_array().unwrap();
        columns.iter().find(|column| column["role"] == role).unwrap()["values"].clone()
    };
    assert_eq!(column("category"), serde_json::json!(["read", "write", "rewrite"]));
    assert_eq!(
        (column("value"), &chart["x"]["unit"]),
        (serde_json::json!([100, 1, null]), &"MB/s".into())
    );
    assert_eq!(column("note")[1], "suspect: the disk was hot");
    assert!(column("note")[2].as_str().unwrap().starts_with("not measured"));
    let doubts = page["runs"][0]["doubts"].as_array().unwrap();
    assert_eq!(doubts[0], "Of 3 cells: 1 suspect, 1 not measured.");
    assert_eq!(doubts[1], "The disk was hot, in write");
    assert_eq!(page["sections"][0]["tables"][0]["rows"].as_array().unwrap().len(), 3);
}

#[test]
fn no_run_and_no_findings_make_a_page() {
    assert_eq!(page(&[], &[]).title, "No run");
    let info = info("r");
    let page = of(&info, &[]);
    assert_eq!(page.runs[0].sentences, ["The run has no findings."]);
    assert!(page.sections.is_empty());
    assert!(html(&page).unwrap().contains("The run has no findings."));
}

#[test]
fn a_trace_whose_figures_are_suspect_is_not_called_sure() {
    let whole = Subject::class("whole", "all");
    let mut found = Finding::new(&whole, "requested_count", Some(5.0), 1, "counted");
    let info = info("r");
    let page = of(&info, std::slice::from_ref(&found));
    assert!(page.runs[0].doubts.is_empty());
    assert_eq!(page.runs[0].sure, "No figure is suspect.");
    found.doubt(Doubt::refused("events were lost"));
    let doubts = of(&info, &[found]).runs.remove(0).doubts;
    assert_eq!(doubts, ["Of all other numbers 1 are suspect, the first: events were lost."]);
}

#[test]
fn names_are_text_wherever_they_stand() {
    let hostile = "</script><script>x</script><img src=x onerror=y>\u{202e}\"'&{{body}}";
    let long = format!("{hostile}{}", "é".repeat(4096));
    let subject = Subject::cell(&long, hostile, 1);
    let found = [Finding::new(&subject, "rate_bytes_per_s", Some(1.0), 1, hostile)];
    let found = crate::visible_findings(&found);
    let info = RunInfo { command_line: vec![hostile.into()], ..info(hostile) };
    let text = html(&of(&info, &found)).unwrap();
    assert!(!text.contains("<img") && !text.contains("<script>x"));
    assert_eq!(text.matches("<script").count(), 3);
    assert!(!text.contains('\u{202e}'));
    assert!(!text.contains(&"é".repeat(1200)), "names are cut");
    assert!(text.contains("<bdi>"));
}

#[test]
fn runs_of_one_experiment_share_charts_and_have_their_names() {
    let (one, two) = (info("before"), info("after"));
    let found = [rate("read", Some(1e8))];
    let source = |info| Source { info, findings: &found, traced: &NONE, remarks: vec![] };
    let page = page(&[source(&one), source(&two)], &[]);
    assert_eq!(page.sections.len(), 1);
    assert_eq!(page.sections[0].charts[0].series, ["before", "after"]);
    assert_eq!(page.runs.len(), 2);
    assert!(page.sections[0].tables[0].title.starts_with("before: "));
}

#[test]
fn commits_have_a_chart_for_each_pattern_and_number_of_writers() {
    let commit = |writers| {
        Subject::Commit(Commit {
            block_bytes: 4096,
            direct: 0,
            method: "fsync".into(),
            pattern: "append".into(),
            target: Some("d".into()),
            writers,
        })
    };
    let of_writers = |writers| {
        ["rate_operations_per_s", "latency_p50_ns", "latency_p99_ns"]
            .map(|quantity| Finding::new(&commit(writers), quantity, Some(1e5), 3, "m"))
    };
    let found = [of_writers(1), of_writers(4)].concat();
    let info = info("r");
    let page = of(&info, &found);
    let titles: Vec<&str> = page.sections[0].charts.iter().map(|c| c.title.as_str()).collect();
    assert_eq!(titles, ["append, 1 writer", "append, 4 writers"]);
}

fn operation(block_bytes: u64) -> Subject {
    Subject::Operation(Operation {
        access: Default::default(),
        arithmetic: None,
        block_bytes,
        channels: 1,
        direct: 0,
        engine: EngineKind::Psync,
        target: Some("d".into()),
        test_interval_ns: None,
    })
}

#[test]
fn a_line_and_its_break_leave_residuals_of_nothing_where_the_law_holds() {
    let routine = |account: &str| {
        Subject::Routine(Routine {
            access: Default::default(),
            account: account.into(),
            arithmetic: None,
            channels: 1,
            direct: 0,
            engine: EngineKind::Psync,
            target: Some("d".into()),
            test_interval_ns: None,
        })
    };
    let size = |block_bytes: u64| {
        let subject = operation(block_bytes);
        let kib = block_bytes as f64 / 1024.0;
        let ns = if kib < 64.0 { 500.0 + 10.0 * kib } else { 100.0 + 20.0 * kib };
        Finding::new(&subject, "operation_cpu_thread_ns", Some(ns), 3, "m")
    };
    let rate = Finding::new(&operation(4096), "routine_bytes_per_s", Some(1e9), 3, "m");
    let line = [
        ("t_call_ns", 500.0),
        ("t_trans_ns_per_kib", 10.0),
        ("t_trans_large_ns_per_kib", 20.0),
        ("break_bytes", 65536.0),
    ];
    let line =
        line.map(|(name, value)| Finding::new(&routine("thread"), name, Some(value), 3, "m"));
    let sizes: Vec<Finding> = (2..9).map(|power| size(1024 << power)).collect();
    let found = [line.to_vec(), sizes, vec![rate]].concat();
    let info = info("r");
    let page = of(&info, &found);
    let chart = page.sections[0].charts.iter().find(|c| c.fits.len() == 2).unwrap();
    let of_role = |role| chart.columns.iter().find(|column| column.role == role).unwrap();
    let crate::chart::Values::Numbers(left) = &of_role(crate::chart::Role::Residual).values else {
        panic!("numbers")
    };
    assert!(left.iter().all(|ns| ns.unwrap().abs() < 1e-9), "{left:?}");
    assert!(chart.notes[0].contains("from 64k on another line, 20.0 ns/KiB"), "{:?}", chart.notes);
}

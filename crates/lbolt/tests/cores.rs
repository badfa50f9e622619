//! What is analysed on one core and on all of them is the same to the last byte, however many
//! write.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, tool};
use model::record::requests::{Counts, Provenance, RequestWriter};
use model::record::{Commands, Op, Request};
use model::run::{RUN_SCHEMA, RunDirectory, RunInfo};
use std::collections::BTreeMap;
use std::path::Path;

const MS: i64 = 1_000_000;
/// So many write the same, in storms.
const WRITERS: u32 = 40;
const STORMS: i64 = 24;

fn row(pid: u32, op: Op, begin_ns: i64, took_ns: i64, offset_bytes: u64) -> Request {
    Request {
        device: 8 << 20,
        op,
        offset_bytes: Some(offset_bytes),
        length_bytes: 4096,
        pid: Some(pid),
        queued_ns: Some(begin_ns),
        issued_ns: Some(begin_ns + took_ns / 4),
        completed_ns: Some(begin_ns + took_ns),
        ..Request::default()
    }
}

/// Two minutes of reads, and every 5 s a storm in which each of the writers writes 20 times.
fn rows() -> Vec<Request> {
    let reads = (0..24_000i64).map(|n| {
        let took_ns = if n % 1000 < 40 { 8 * MS } else { MS };
        row(
            7,
            Op::Read,
            n * 5 * MS,
            took_ns + n * 7919 % 97 * 1000,
            (n * 104_729 % 4096) as u64 * 4096,
        )
    });
    let writes = (0..STORMS).flat_map(|storm| {
        (0..i64::from(WRITERS) * 20).map(move |n| {
            let writer = 100 + (n as u32).wrapping_mul(13) % WRITERS;
            let begin_ns = storm * 5000 * MS + n * MS / 64;
            row(writer, Op::Write, begin_ns, 10 * MS, n as u64 * 4096)
        })
    });
    let mut rows: Vec<Request> = reads.chain(writes).collect();
    rows.sort_by_key(|row| (row.queued_ns, row.pid));
    rows.iter_mut().zip(1..).for_each(|(row, number)| row.request_id = number);
    rows
}

/// A run of them, in many groups.
fn run(lab: &Lab, name: &str) {
    let info = RunInfo {
        schema: RUN_SCHEMA.into(),
        name: name.into(),
        experiment: "import".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        command_line: vec!["lbolt".into(), "import".into()],
        started: "2026-11-24T12:00:00Z".into(),
        state: "finished".into(),
        seed: 0,
        rows: vec![],
        machine: serde_json::json!({}),
        plan: serde_json::json!({}),
        calibration: serde_json::Value::Null,
    };
    let directory = RunDirectory::create(&lab.path(name), &info).unwrap();
    directory.write_findings(&[], &info).unwrap();
    let directory = directory.path();
    let (mut commands, mut rows) = (Commands::default(), rows());
    for row in &mut rows {
        let name = row.pid.map_or(String::new(), |pid| format!("writer-{pid}"));
        row.command = Some(commands.number(name.as_bytes()));
    }
    let file = std::fs::File::create(directory.join("requests.parquet")).unwrap();
    let mut writer = RequestWriter::new(file).unwrap();
    for rows in rows.chunks(1000) {
        rows.iter().for_each(|row| writer.push(row, &commands).unwrap());
        writer.end_group(&commands).unwrap();
    }
    let provenance = Provenance {
        origin: "capture".into(),
        counts: Counts { requests: rows.len() as u64, ..Counts::default() },
        ..Provenance::default()
    };
    writer.finish(&commands, &provenance, &BTreeMap::new()).unwrap();
}

#[test]
fn as_many_writers_as_there_are_share_the_blame() {
    let lab = Lab::new();
    run(&lab, "run");
    let report = lab.measure("response run");
    let shares: Vec<f64> = report
        .findings()
        .iter()
        .filter(|finding| finding["quantity"] == "blame_percent")
        .filter_map(|finding| finding["value"].as_f64())
        .collect();
    assert!(shares.len() >= 8, "{shares:?}");
    // 1 of 40, exactly.
    assert!(shares.iter().all(|share| (share - 2.5).abs() < 1e-9), "{shares:?}");
}

/// The exit code, and what is printed.
fn on_all(lab: &Lab, words: &str) -> (i32, String, String) {
    let ended = lab.run(words);
    (ended.code, ended.out, ended.err)
}

/// The same on the first core alone.
fn on_one(lab: &Lab, words: &str) -> (i32, String, String) {
    let mut command = lab.command("taskset");
    command.args(["-c", "0", env!("CARGO_BIN_EXE_lbolt")]).args(words.split_whitespace());
    let ended = lab.end(command);
    (ended.code, ended.out, ended.err)
}

fn has_taskset() -> bool {
    let is_there = tool("taskset", &["-c", "0", "true"]).is_some();
    if !is_there {
        println!("skipped: needs taskset");
    }
    is_there
}

/// All traces that are kept here, and the real ones beside the project where they are.
#[test]
fn every_trace_is_the_same_on_one_core_and_on_all() {
    if !has_taskset() {
        return;
    }
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = ["../formats/tests/import/fixtures", "../../../shared/data/formats"]
        .map(|at| home.join(at));
    let entries = places.iter().filter_map(|place| std::fs::read_dir(place).ok()).flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let lab = Lab::new();
    let mut analysed = 0;
    for path in paths.iter().filter(|path| path.is_file()) {
        let words = format!("response {} --format json", path.display());
        let (one, all) = (on_one(&lab, &words), on_all(&lab, &words));
        // What is said beside it tells how far it is, and how quickly.
        let is_same = (one.0, &one.1) == (all.0, &all.1);
        assert!(is_same, "{words}: {} and {}: {}", one.0, all.0, all.2);
        analysed += usize::from(all.0 == 0);
    }
    assert!(analysed >= 12, "only {analysed} of {} were understood", paths.len());
}

#[test]
fn one_core_finds_what_all_cores_find() {
    if !has_taskset() {
        return;
    }
    let lab = Lab::new();
    run(&lab, "run");
    let of = |words: &str, (code, out, err): (i32, String, String)| {
        assert_eq!(code, 0, "{words}: {err}");
        out
    };
    let all = |words: &str| of(words, on_all(&lab, words));
    let one = |words: &str| of(words, on_one(&lab, words));
    for words in [
        "response run",
        "response run --format json",
        "response run --by process",
        "response run --by burst",
        "response run --from 20 --to 80 --format json",
        "response run --process writer-1",
        "simulate run --model ra81 --format csv",
    ] {
        assert_eq!(one(words), all(words), "{words}");
    }
    // Pages and files, too.
    for (words, ending) in [("report run -o", "html"), ("export run --output-format msr -o", "csv")]
    {
        let made = |how: &dyn Fn(&str) -> String, name: &str| {
            how(&format!("{words} {name}.{ending}"));
            std::fs::read(lab.path(&format!("{name}.{ending}"))).unwrap()
        };
        assert!(made(&one, "one") == made(&all, "all"), "{words}");
    }
    lab.assert_clean();
}

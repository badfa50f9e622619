//! Real traces whose results are known by other means (a description, another program), imported:
//! they lie beside the project and not in it, and a test of one that is absent says so and passes.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use formats::import::{self, Input, Units};
use model::record::{Op, Request};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use trace::intake::Intake;

/// Where the traces lie.
fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data")
}

/// The rows of a trace, which has to be guessed as that format and understood throughout; none
/// where it is absent.
fn rows(name: &str, format: &str) -> Option<Vec<Request>> {
    let path = data().join(name);
    if !path.exists() {
        println!("skipped: {} is absent", path.display());
        return None;
    }
    let mut inputs = [Input::open(&path).unwrap()];
    let guessed = import::guess_together(&mut inputs, &Units::default()).unwrap();
    assert_eq!(guessed.name(), format, "{name}");
    let mut rows: Vec<Request> = Vec::new();
    let mut intake = Intake::new(&mut rows, "import");
    import::read(&mut inputs, Some(guessed), &mut intake).unwrap();
    let (provenance, _) = intake.finish().unwrap();
    assert_eq!(provenance.counts.rejected, 0, "{name}: {:?}", provenance.notes);
    assert_eq!(provenance.counts.unsorted, 0, "{name}");
    assert_eq!(provenance.counts.requests, rows.len() as u64, "{name}");
    Some(rows)
}

/// How many do that.
fn count(rows: &[Request], op: Op) -> usize {
    rows.iter().filter(|row| row.op == op).count()
}

/// How many rows are completed before the one above is, in the order of the file.
fn backwards(mut rows: Vec<Request>) -> usize {
    rows.sort_by_key(|row| row.request_id);
    rows.windows(2).filter(|pair| pair[1].completed_ns < pair[0].completed_ns).count()
}

#[test]
fn msr_is_in_order_of_issue() {
    let Some(rows) = rows("formats/msr-cambridge1-sample.csv", "msr") else { return };
    assert_eq!(rows.len(), 1000);
    assert_eq!(backwards(rows), 224);
}

#[test]
fn systor_is_in_order_of_completion() {
    let Some(rows) = rows("formats/systor17-additional-sample.csv.gz", "systor17") else { return };
    assert_eq!((rows.len(), count(&rows, Op::Read), count(&rows, Op::Write)), (999, 700, 299));
    assert_eq!(rows[0].queued_ns, Some(0));
    assert_eq!(backwards(rows.clone()), 0);
    // That is a finding only if the rows are not in the order of issue as well.
    assert!(!rows.is_sorted_by_key(|row| row.request_id));
}

#[test]
fn tencent_has_whole_seconds_and_no_completions() {
    let Some(rows) = rows("formats/tencent-cbs-sample.bz2", "tencent") else { return };
    let volumes: HashSet<u32> = rows.iter().map(|row| row.device).collect();
    assert_eq!((rows.len(), volumes.len()), (50_000, 2038));
    assert!(rows.iter().all(|row| row.completed_ns.is_none()));
    assert!(rows.iter().all(|row| row.queued_ns.unwrap() % 1_000_000_000 == 0));
}

#[test]
fn mqsim_has_a_request_a_line() {
    let Some(rows) = rows("formats/mqsim-tpcc-small.trace", "mqsim") else { return };
    // The list beside the traces says 7,000; wc(1) counts 6,999 lines, all of five words and the
    // last one ended.
    assert_eq!((rows.len(), count(&rows, Op::Read)), (6999, 4381));
    assert!(rows.iter().all(|row| row.completed_ns.is_none()));
}

#[test]
fn a_boot_of_windows_has_its_reads_writes_and_flushes() {
    let Some(rows) = rows("formats/etw-disk-usage.csv.bz2", "wpa") else { return };
    let counts = [Op::Read, Op::Write, Op::Flush].map(|op| count(&rows, op));
    assert_eq!((rows.len(), counts), (172_630, [156_028, 16_259, 343]));
    let no_place = rows.iter().filter(|row| row.offset_bytes.is_none()).count();
    assert_eq!(no_place, 343);
    // The longest are 44,167,680 bytes, which the file writes with points.
    assert_eq!(rows.iter().map(|row| row.length_bytes).max(), Some(44_167_680));
    // Times are those of the trace, whose first request begins 1.0799438 s after its start.
    assert_eq!(rows[0].queued_ns, Some(1_079_943_800));
    for row in &rows {
        assert!(row.queued_ns <= row.issued_ns && row.issued_ns <= row.completed_ns, "{row:?}");
    }
}

/// Of each trace: requests, reads, the sum of access times and the time of the last completion, in
/// us, as awk(1) adds them up.
const DRIVES: [(&str, usize, usize, f64, f64); 5] = [
    ("atlas10k", 10_000, 6569, 38_930_600.0, 500_772_275.0),
    ("barracuda", 10_000, 6511, 66_274_014.0, 500_580_806.0),
    ("cheetah9LP", 10_000, 6594, 42_728_946.0, 497_609_221.0),
    ("dec_rz26", 7980, 5424, 126_153_824.0, 236_775_547.598_395),
    ("hp_c2490a", 9984, 6817, 125_296_368.625, 263_150_395.744_155),
];

#[test]
fn real_drives_took_as_long_as_their_traces_say() {
    for (name, requests, reads, access_us, all_us) in DRIVES {
        let path = format!("disks/{name}.trace");
        let Some(rows) = rows(&path, "disksim-validate") else { continue };
        assert_eq!((rows.len(), count(&rows, Op::Read)), (requests, reads), "{name}");
        let access: i64 = rows.iter().map(|r| r.completed_ns.unwrap() - r.issued_ns.unwrap()).sum();
        // Each is cut to whole ns.
        assert!((access as f64 / 1e3 - access_us).abs() < 1e-3 * requests as f64, "{name}");
        let last = rows.last().unwrap().completed_ns.unwrap();
        assert!((last as f64 / 1e3 - all_us).abs() < 0.01, "{name}: {last}");
        // Closed: none arrives before the one above is completed.
        assert!(rows.windows(2).all(|pair| pair[0].completed_ns <= pair[1].queued_ns), "{name}");
    }
}

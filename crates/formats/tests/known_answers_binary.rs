//! What others have found in traces of theirs, found again in the rows that are imported from them.
//! The traces lie beside the project; where they do not, a test is skipped in a sentence.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use formats::import::{self, Input};
use model::record::requests::Provenance;
use model::record::{Flags, Op, Request};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trace::intake::Intake;

/// A file of the shared data, if it is there.
fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    let found = path.exists().then_some(path);
    if found.is_none() {
        println!("skipped: ../shared/{name} is not there");
    }
    found
}

fn imported(path: &Path, format: &str) -> (Vec<Request>, Provenance) {
    let mut inputs = [Input::open(path).unwrap()];
    let mut rows: Vec<Request> = Vec::new();
    let mut intake = Intake::new(&mut rows, "import");
    let found = import::read(&mut inputs, None, &mut intake).unwrap();
    assert_eq!(found.name(), format);
    let (provenance, _) = intake.finish().unwrap();
    (rows, provenance)
}

fn ms(from: Option<i64>, to: Option<i64>) -> f64 {
    (to.unwrap() - from.unwrap()) as f64 / 1e6
}

fn response_ms(row: &Request) -> f64 {
    ms(row.queued_ns, row.completed_ns)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Mean, 99th percentile (nearest rank) and maximum.
fn summary(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() as f64 * 0.99).ceil() as usize;
    [mean(&values), values[rank - 1], values[values.len() - 1]]
}

#[track_caller]
fn assert_near(found: &[f64], wanted: &[f64], tolerance: f64) {
    let is_near = found.iter().zip(wanted).all(|(f, w)| (f - w).abs() <= tolerance);
    assert!(is_near && found.len() == wanted.len(), "{found:?} is not {wanted:?}");
}

fn hp() -> Option<Vec<Request>> {
    let (rows, provenance) = imported(&shared("data/hplajw/ajw.1week.srt")?, "srt");
    assert_eq!(provenance.counts.rejected, 0);
    assert_eq!(provenance.notes["tracedate"], "Sat May 30 00:03:06 1992");
    assert_eq!(provenance.started_unix_ns, None);
    Some(rows)
}

fn is_async_write(row: &Request) -> bool {
    row.op == Op::Write && row.flags.contains(Flags::BACKGROUND)
}

#[test]
fn hp_response_and_service_times_of_disk_0() {
    let Some(rows) = hp() else { return };
    assert_eq!(rows.len(), 44_519);
    let disk: Vec<&Request> = rows.iter().filter(|r| r.device == 0).collect();
    let responses = |is_it: &dyn Fn(&Request) -> bool| -> Vec<f64> {
        disk.iter().filter(|r| is_it(r)).map(|r| response_ms(r)).collect()
    };
    let reads = responses(&|r| r.op == Op::Read);
    assert_eq!(reads.len(), 10_887);
    assert_near(&summary(reads), &[39.1, 199.0, 573.0], 0.5);
    let writes = responses(&is_async_write);
    assert_eq!(writes.len(), 15_981);
    assert_near(&summary(writes), &[268.0, 1648.0, 6781.0], 0.5);
    let services: Vec<f64> = disk.iter().map(|r| ms(r.issued_ns, r.completed_ns)).collect();
    let average = mean(&services);
    let squares: f64 = services.iter().map(|s| (s - average).powi(2)).sum();
    let deviation = (squares / services.len() as f64).sqrt();
    assert_near(&[average, deviation], &[25.35, 9.21], 0.005);
}

/// With the one that arrives.
#[test]
fn hp_queue_of_disk_0_is_up_to_104_long() {
    let Some(rows) = hp() else { return };
    let (mut outstanding, mut longest): (Vec<i64>, usize) = (Vec::new(), 0);
    for row in rows.iter().filter(|row| row.device == 0) {
        outstanding.retain(|completed| *completed > row.arrival_ns().unwrap());
        outstanding.push(row.completed_ns.unwrap());
        longest = longest.max(outstanding.len());
    }
    assert_eq!(longest, 104);
}

/// Each read, by how many asynchronous writes were outstanding on its disk when it arrived.
#[test]
fn hp_reads_wait_behind_asynchronous_writes() {
    let Some(rows) = hp() else { return };
    let classes = [0..=0, 1..=4, 5..=19, 20..=usize::MAX];
    let mut found = [const { (Vec::new(), Vec::new()) }; 4];
    let mut outstanding: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
    for row in &rows {
        let arrival = row.arrival_ns().unwrap();
        let writes = outstanding.entry(row.device).or_default();
        writes.retain(|completed| *completed > arrival);
        if is_async_write(row) {
            writes.push(row.completed_ns.unwrap());
        } else if row.op == Op::Read {
            let class = classes.iter().position(|class| class.contains(&writes.len())).unwrap();
            found[class].0.push(response_ms(row));
            found[class].1.push(ms(row.queued_ns, row.issued_ns));
        }
    }
    assert_eq!(found.each_ref().map(|(r, _)| r.len()), [12_103, 313, 339, 285]);
    assert_near(&found.each_ref().map(|(r, _)| mean(r)), &[30.7, 79.3, 106.0, 129.5], 0.05);
    assert_near(&found.each_ref().map(|(_, q)| mean(q)), &[3.5, 47.9, 76.7, 100.3], 0.05);
}

/// A burst of asynchronous writes begins after more than a second without one; bursts begin whole
/// half minutes apart.
#[test]
fn hp_bursts_of_writes_come_from_the_sync_daemon() {
    let Some(rows) = hp() else { return };
    let writes = rows.iter().filter(|r| r.device == 0 && is_async_write(r));
    let arrivals: Vec<i64> = writes.map(|r| r.queued_ns.unwrap()).collect();
    let begins = |pair: &[i64]| (pair[1] - pair[0] > 1_000_000_000).then_some(pair[1]);
    let others = arrivals.windows(2).filter_map(begins);
    let beginnings: Vec<i64> = arrivals.iter().copied().take(1).chain(others).collect();
    let mut gaps: BTreeMap<i64, u32> = BTreeMap::new();
    for pair in beginnings.windows(2) {
        *gaps.entry((pair[1] - pair[0] + 500_000_000) / 1_000_000_000).or_default() += 1;
    }
    assert_eq!([30, 60, 90].map(|seconds| gaps[&seconds]), [315, 119, 56]);
}

#[test]
fn cloud_physics_requests() {
    let Some(path) = shared("data/formats/cloudPhysicsIO.vscsi") else { return };
    let (rows, provenance) = imported(&path, "vscsi");
    assert_eq!((rows.len(), provenance.counts.rejected), (113_872, 0));
    let of = |op| rows.iter().filter(|r| r.op == op).count();
    assert_eq!((of(Op::Read), of(Op::Write)), (46_974, 66_898));
    let last_s = rows.iter().filter_map(|r| r.queued_ns).max().unwrap() as f64 / 1e9;
    assert_near(&[last_s], &[7200.0], 1.0);
    assert!(rows.iter().all(|r| r.completed_ns.is_none()));
    assert_eq!(provenance.counts.unanswered, 0);
}

#[test]
fn the_sample_of_1986_gives_six_responses_and_three_orphans() {
    let Some(path) = shared("papers/trace-sample-1986.txt") else { return };
    let (rows, provenance) = imported(&path, "lbolt86");
    assert_eq!((rows.len(), provenance.counts.events), (9, 15));
    let ticks = |r: &Request| (response_ms(r) * 60.0 / 1000.0).round() as u32;
    let completed: Vec<u32> = rows.iter().filter(|r| !r.is_orphan()).map(ticks).collect();
    assert_eq!(completed, [1, 2, 3, 2, 1, 1]);
    let orphans = rows.iter().filter(|r| r.is_orphan());
    let blocks: Vec<u64> = orphans.map(|r| r.offset_bytes.unwrap() / 512).collect();
    assert_eq!(blocks, [1976, 2152, 2144]);
    assert_eq!((provenance.counts.orphaned, provenance.counts.unanswered), (3, 0));
}

#[test]
fn fio_s_own_log() {
    let Some(path) = shared("data/formats/fio-v3.iolog") else { return };
    let (rows, provenance) = imported(&path, "fio-iolog");
    let of = |op| rows.iter().filter(|r| r.op == op).count();
    assert_eq!([of(Op::Read), of(Op::Write), of(Op::Flush)], [242, 270, 9]);
    assert_eq!((rows.len(), provenance.counts.rejected), (521, 0));
}

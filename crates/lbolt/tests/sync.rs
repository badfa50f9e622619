//! `lbolt sync`: every method on this machine, what must hold between its figures, and what is
//! refused.

use crate::common::{Lab, can_make, key, reason};
use model::record::Verdict;

const SHORT: &str = "--bs 4k --runs 1 --runtime 20ms --size 1m";

#[test]
fn every_method_has_a_rate_and_its_latencies_agree_with_it() {
    let lab = Lab::new();
    let report = lab.measure(&format!("sync d {SHORT} --numjobs 1,2"));
    let of = |quantity: &str| -> Vec<_> {
        report.findings().iter().filter(|f| f["quantity"] == quantity).collect()
    };
    // Six methods, with and without O_DIRECT, appending and overwriting, one writer and two.
    let rates = of("rate_operations_per_s");
    assert_eq!(rates.len(), 6 * 2 * 2 * 2);
    for rate in rates.iter().filter(|rate| rate["value"].is_number()) {
        let p50 = of("latency_p50_ns").into_iter().find(|f| f["subject"] == rate["subject"]);
        assert!(p50.unwrap()["value"].as_f64().unwrap() > 0.0);
    }
    let missing = rates.iter().filter(|rate| rate["value"].is_null());
    assert!(missing.clone().all(|rate| key(rate, "direct") == "1"), "{rates:?}");
    for sample in lab.samples() {
        let latency = sample.latency().unwrap();
        assert_eq!((latency.count(), sample.bytes), (sample.operations, 4096 * sample.operations));
        assert!(sample.sync_ns <= latency.sum_ns(), "{sample:?}");
        // Little's law: as many commits are outstanding as there are writers, at the most.
        assert!(latency.sum_ns() <= sample.wall_ns * sample.jobs, "{sample:?}");
    }
    lab.assert_clean();
}

#[test]
fn a_commit_of_a_journal_flushes_the_device() {
    let lab = Lab::new();
    if !can_make("ext4") {
        return;
    }
    let words = format!("sync fresh:ext4,size=600m --method fdatasync --direct 0 {SHORT}");
    let report = lab.measure(&format!("{words} --numjobs 1"));
    let ratio = report.findings().iter().find(|f| f["quantity"] == "flushes_ratio");
    // An old kernel does not count flushes.
    let Some(ratio) = ratio else { return };
    assert!(ratio["value"].as_f64().unwrap() > 0.5, "{ratio}");
    lab.assert_clean();
}

#[test]
fn what_has_no_device_is_measured_and_doubted() {
    let lab = Lab::new();
    let shm = std::path::Path::new("/dev/shm");
    let Ok(folder) = tempfile::tempdir_in(shm) else {
        println!("skipped: /dev/shm is no place for files");
        return;
    };
    let words = format!("sync {} --direct 0 --numjobs 1 {SHORT}", folder.path().display());
    let report = lab.measure(&words);
    let rate = report.findings().iter().find(|f| f["quantity"] == "rate_operations_per_s");
    let rate = rate.unwrap();
    assert_eq!(rate["verdict"], "suspect");
    assert!(reason(rate).contains("no underlying block device is visible"), "{rate}");
}

#[test]
fn files_of_no_given_size_fit_into_what_is_there() {
    let lab = Lab::new();
    let words = "sync fresh:ext4,size=256m --dry-run";
    let ended = lab.run(words);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let plan: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let bytes = |key: &str| plan[key].as_u64().unwrap();
    let of_writer = bytes("file_bytes") + bytes("appended_bytes");
    assert!(4 * of_writer <= 128 << 20, "four writers have half of it: {of_writer}");
    assert!(bytes("file_bytes") >= 4 << 20 && bytes("appended_bytes") >= 8 << 20, "{plan}");
    assert_eq!(plan["seed"], 1);
    // A size that was given is not changed.
    lab.run(&format!("{words} --size 128m")).assert_refused(2, &["--size needs"]);
    let given = lab.run("sync d --size 1m --seed 7 --dry-run");
    let plan: serde_json::Value = serde_json::from_str(&given.out).unwrap();
    assert_eq!((plan["file_bytes"].as_u64(), plan["seed"].as_u64()), (Some(1 << 20), Some(7)));
    lab.assert_clean();
}

#[test]
fn a_time_is_kept_and_what_had_no_pass_says_why() {
    let lab = Lab::new();
    let words = "sync d --size 1m --runtime 100ms --max-time 200ms";
    let ended = lab.run(&format!("{words} --format json -o r"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("--max-time ends them after"), "{}", ended.err);
    let samples = lab.samples_of("r");
    let (measured, late): (Vec<_>, Vec<_>) =
        samples.iter().partition(|sample| sample.verdict != Verdict::NotMeasured);
    let first_ns = measured.iter().map(|sample| sample.started_ns).min().unwrap();
    let last_ns = measured.iter().map(|sample| sample.started_ns).max().unwrap();
    assert!(last_ns - first_ns <= 200_000_000, "{first_ns} to {last_ns}");
    assert!(!measured.is_empty() && late.len() > 100, "{} of {}", late.len(), samples.len());
    let told =
        ended.report().findings().iter().filter(|f| reason(f).contains("--max-time")).count();
    assert!(told >= late.len(), "{told} reasons of {}", late.len());
    lab.assert_clean();
}

#[test]
fn what_cannot_be_is_refused_in_a_sentence() {
    let lab = Lab::new();
    lab.run("sync /dev/null").assert_refused(2, &["neither a directory nor a block device"]);
    lab.run("sync absent").assert_refused(2, &["name a directory"]);
    lab.run("sync model:eagle").assert_refused(2, &["sync measures files"]);
    lab.run("sync d --bs 12k --size 1m").assert_refused(2, &["--size 1m is not a multiple"]);
    let ended = lab.run("sync d --method fsink");
    assert!(ended.code == 2 && ended.err.contains("a similar value exists: 'fsync'"));
    lab.assert_clean();
}

//! `lbolt curve`: a device whose curve is known, a directory, and what is refused.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, Loop, is_root};
use model::doubt::Code;
use model::workload::Access;
use std::collections::BTreeSet;

const SHORT: &str = "--runs 2 --runtime 30ms";

/// A device for four requests at once, of 20 ms each: the knee is at four outstanding, and the most
/// is 200 a second. Bounds are wide, for the machine is busy.
#[test]
fn root_the_knee_of_a_known_device_is_found() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let known = "kind = 'drive'\ntitle = 'known'\n[design]\nassumed = 'x'\nkind = 'virtual'
[capacity]\nassumed = 'x'\nsize = '96 MiB'\nsector_size = '512 B'
[service]\nassumed = 'x'\ndepth = 4\nflush = '3 ms'
[read]\nassumed = 'x'\nrandom = '20 ms'\nrate = '4 GB/s'
[write]\nassumed = 'x'\nrandom = '20 ms'\nrate = '4 GB/s'\n";
    std::fs::write(lab.path("known.toml"), known).unwrap();
    // A machine that stands still for half a second makes every mean of a pass longer.
    assert!((0..3).any(|_| is_knee_found(&lab)), "not the knee of the device");
    lab.assert_clean();
}

/// Measures the known device; whether its knee, its rate and its mean are what they must be.
fn is_knee_found(lab: &Lab) -> bool {
    let _ = std::fs::remove_dir_all(lab.path("r"));
    let lbolt = env!("CARGO_BIN_EXE_lbolt");
    let mut command = lab.lbolt("device model:known.toml -- sh -c");
    let words =
        "--iodepth 1,2,4,8,16 --min-runs 3 --runtime 300ms --max-time 1s --format json -o r";
    command.arg(format!("{lbolt} curve $LBOLT_DEVICE {words} > curve.json"));
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let text = std::fs::read_to_string(lab.path("curve.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let value = |quantity: &str| {
        let of = |f: &&serde_json::Value| {
            f["quantity"] == quantity && f["subject"]["access"] == "randread"
        };
        findings.iter().find(of).unwrap()["value"].as_f64().unwrap()
    };
    // Nobody gave leave to write.
    let writes = |f: &&serde_json::Value| f["subject"]["access"] == "randwrite";
    assert!(!findings.iter().any(|f| writes(&f)));
    let (knee, most) = (value("knee_depth"), value("most_rate_operations_per_s"));
    let mean_ns = value("knee_latency_mean_ns");
    println!("knee {knee}, {most} operations/s, mean {mean_ns} ns");
    knee == 4.0 && (150.0..210.0).contains(&most) && (19e6..27e6).contains(&mean_ns)
}

/// A directory is read and written; what requests the samples hold, the rates say, and Little's law
/// holds in every pass.
#[test]
fn a_directory_has_its_curves() {
    let lab = Lab::new();
    let report = lab.measure(&format!("curve d --size 64m --iodepth 1,2,4 {SHORT}"));
    let of = |quantity: &str| -> Vec<_> {
        report.findings().iter().filter(|f| f["quantity"] == quantity).collect()
    };
    // Reads, writes and a mix at three depths; reads and writes one after the other at three.
    assert_eq!(of("rate_operations_per_s").len(), 9 + 6);
    assert_eq!(of("knee_depth").len(), 5);
    for sample in lab.samples() {
        let latency = sample.latency().unwrap();
        assert_eq!(sample.bytes, sample.operations * sample.block_bytes);
        let outstanding = latency.sum_ns() as f64 / sample.wall_ns as f64;
        assert!(outstanding <= sample.depth as f64 * 1.05, "{outstanding} {sample:?}");
    }
    // --runs 2 is exactly two passes of each, however wide the intervals are.
    assert_eq!(lab.samples().len(), 2 * (9 + 6));
    lab.assert_clean();
}

/// What was requested is measured, of all kinds of requests, and what is not is said.
#[test]
fn the_depths_are_those_that_were_requested() {
    let lab = Lab::new();
    let ended = lab.run("curve d --size 64m --iodepth 128,2 --runs 1 --runtime 10ms -o r");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let depths = |direction: fn(Access) -> bool| -> BTreeSet<u64> {
        let samples = lab.samples_of("r").into_iter();
        samples.filter(|sample| direction(sample.access)).map(|sample| sample.depth).collect()
    };
    assert_eq!(depths(|access| access.is_random()), [2, 128].into());
    assert_eq!(depths(|access| !access.is_random()), [2].into());
    let said = "sequential requests of 1m are not measured at queue depth 128";
    assert!(ended.err.contains(said), "{}", ended.err);
    let words = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("at 2 queue depths; one pass each: not ranked, and no knee"), "{words}");
    lab.assert_clean();
}

/// What the page cache answers beneath a loop device is not the disk's.
#[test]
fn root_a_cache_beneath_a_loop_device_is_marked() {
    let lab = Lab::new();
    if !is_root() {
        return;
    }
    let folders = [lab.path("d"), "/dev/shm".into()];
    let codes = folders.map(|folder: std::path::PathBuf| {
        // What was just written lies in the cache.
        let image = tempfile::NamedTempFile::new_in(folder).ok()?;
        std::fs::write(image.path(), vec![b'A'; 64 << 20]).ok()?;
        let device = Loop::over(image.path())?;
        let _ = std::fs::remove_dir_all(lab.path("r"));
        lab.measure(&format!("curve {} --iodepth 4 {SHORT} -o r", device.node));
        let doubts = lab.samples_of("r").into_iter().flat_map(|sample| sample.doubts);
        Some(doubts.map(|doubt| doubt.code).collect::<Vec<Code>>())
    });
    let expected = [[Code::CacheBeneath, Code::NoDeviceBeneath], [Code::NoDeviceBeneath; 2]];
    for (codes, expected) in codes.into_iter().zip(expected) {
        let Some(codes) = codes else { continue };
        assert!(codes.iter().any(|code| expected.contains(code)), "{codes:?}");
    }
    lab.assert_clean();
}

/// Of all experiments whose cells take turns.
#[test]
fn runs_are_exact_and_min_runs_the_least() {
    let lab = Lab::new();
    for (command, usual) in [("curve d", 3), ("sync d", 3), ("overhead d --ioengine psync", 4)] {
        let planned = |words: &str| {
            let ended = lab.run(&format!("{command} --size 64m --dry-run {words}"));
            assert_eq!(ended.code, 0, "{}", ended.err);
            let plan: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
            let until = ["fewest", "max_time_s"].map(|key| plan["until"][key].as_f64());
            (plan["runs"].as_u64().unwrap(), until)
        };
        assert_eq!(planned("--runs 1"), (1, [None, None]), "{command}");
        let least = planned("--min-runs 5 --max-time 2s");
        assert_eq!(least, (5, [Some(5.0), Some(2.0)]), "{command}");
        // A time by itself is kept, whatever is measured by then.
        let hard = planned("--max-time 2s");
        assert_eq!(hard, (usual, [Some(0.0), Some(2.0)]), "{command}");
        assert_eq!(planned(""), (usual, [Some(usual as f64), Some(60.0)]), "{command}");
        // Of both, whichever comes first.
        let both = planned("--runs 3 --max-time 2s");
        assert_eq!(both, (3, [Some(0.0), Some(2.0)]), "{command}");
        let both = lab.run(&format!("{command} --runs 3 --min-runs 2"));
        both.assert_refused_by_usage("cannot be used with");
    }
    lab.assert_clean();
}

#[test]
fn what_cannot_be_is_refused_in_a_sentence() {
    let lab = Lab::new();
    lab.run("curve model:eagle").assert_refused(2, &["lbolt device model:NAME -- lbolt curve"]);
    lab.run("curve d --size 1m").assert_refused(2, &["the requests need at least 64m"]);
    let ended = lab.run("curve d --iodepth 0");
    assert!(ended.code == 2 && ended.err.contains("--iodepth"), "{}", ended.err);
    lab.run("curve absent").assert_refused(2, &["name a directory"]);
    lab.run("curve d --destroy /dev/null").assert_refused(2, &["--destroy /dev/null"]);
    lab.assert_clean();
}

//! `lbolt calibrate`: a device whose parameters are known, and what is refused.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, is_root};

const KNOWN: &str = "kind = 'drive'\ntitle = 'known'\n[design]\nassumed = 'x'\nkind = 'virtual'
[capacity]\nassumed = 'x'\nsize = '64 MiB'\nsector_size = '512 B'
[service]\nassumed = 'x'\ndepth = 4\nflush = '3 ms'
[read]\nassumed = 'x'\nrandom = '8 ms'\nsequential = '5 ms'\nrate = '40 MB/s'
[write]\nassumed = 'x'\nrandom = '9 ms'\nrate = '30 MB/s'\n";

/// A profile is fitted to a real device. How near its times are is judged in virtual time (below)
/// and by `make bench`: where the machine is busy, the way through the kernel is not known well.
#[test]
fn root_a_known_device_is_found_and_its_profile_simulates() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let known = KNOWN.replace("8 ms", "1 ms").replace("5 ms", "800 us").replace("40 MB", "400 MB");
    std::fs::write(lab.path("known.toml"), known).unwrap();
    let lbolt = env!("CARGO_BIN_EXE_lbolt");
    let mut command = lab.lbolt("device model:known.toml -- sh -c");
    command.arg(format!("{lbolt} calibrate $LBOLT_DEVICE -o p.toml --runs 3 --runtime 60ms"));
    let ended = lab.end(command);
    // Where much else runs, the device comes too late, and whoever is too late says so.
    if ended.code != 0 && load_of_a_core() > 1.0 {
        println!("skipped: needs a machine with less to do: {}", ended.err);
        return;
    }
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("The profile predicts "), "{}", ended.out);
    assert!(ended.out.lines().count() <= 32, "{}", ended.out);
    let text = std::fs::read_to_string(lab.path("p.toml")).unwrap();
    let random = text.split("random = { value = \"").nth(1).unwrap();
    let random_ns: f64 = random.split(' ').next().unwrap().parse().unwrap();
    assert!(random_ns > 0.0, "{random_ns}");
    assert_eq!(lab.run("simulate --model p.toml --show-model").code, 0);
    lab.assert_clean();
}

/// How many want to run on each core, over the last minute.
fn load_of_a_core() -> f64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    let load: f64 = load.split(' ').next().unwrap().parse().unwrap();
    load / std::thread::available_parallelism().unwrap().get() as f64
}

/// A modelled device costs no time, and its truth stands beside what is found.
#[test]
fn a_modelled_device_is_calibrated_in_virtual_time() {
    let lab = Lab::new();
    let known = KNOWN.replace("8 ms", "80 us").replace("5 ms", "50 us").replace("9 ms", "90 us");
    std::fs::write(lab.path("known.toml"), &known).unwrap();
    let ended = lab.run("calibrate model:known.toml -o p.toml --runs 3 --runtime 20ms");
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("The true value lies in 4 of 4 intervals."), "{}", ended.out);
    assert!(ended.out.contains("The profile predicts 36 of 36 held-out classes"), "{}", ended.out);
    assert_eq!(lab.run("simulate --model p.toml --show-model").code, 0);
    // It is kept as a run, which prints it again.
    let listed = lab.run("runs").out;
    let run = listed.lines().find(|line| line.contains("-calibrate")).unwrap();
    assert!(run.contains("finished"), "{listed}");
    let run = run.split_whitespace().next().unwrap();
    let shown = lab.run(&format!("runs show {run}")).out;
    assert!(shown.contains("random reads of 4k at depth 4"), "{shown}");
    let profile = std::fs::read_to_string(lab.path("p.toml")).unwrap();
    let kept = std::fs::read(lab.path(&format!("runs/{run}/run.json"))).unwrap();
    let kept: serde_json::Value = serde_json::from_slice(&kept).unwrap();
    assert_eq!(kept["calibration"]["calibrated"]["profile"], profile);
    assert_eq!(lab.run(&format!("report {run} -o page.html")).code, 0);
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(page.contains("What the device is like"));
}

/// What is announced is the least, with what makes it more.
#[test]
fn a_plan_says_what_makes_it_longer() {
    let lab = Lab::new();
    std::fs::write(lab.path("known.toml"), KNOWN).unwrap();
    let ended = lab.run("calibrate model:known.toml -o p.toml --runs 3 --runtime 20ms");
    let told = ended.err.split_whitespace().collect::<Vec<_>>().join(" ");
    // 133 classes in 3 rounds, and 3 rounds of bursts.
    for words in ["402 passes on model:known.toml, at least 22 s of virtual time", "longer if one"]
    {
        assert!(told.contains(words), "{words}: {told}");
    }
}

/// With the provider's limits the times of a cloud's volume are found, although most passes are at
/// a limit.
#[test]
fn a_volume_of_a_cloud_is_refined() {
    let lab = Lab::new();
    let words = "calibrate model:aws-gp3,drive.limit.merged=0% -o p.toml --runs 3 --runtime 100ms";
    let limits = "--limit requests_per_s=3000 --limit bytes_per_s=131072000";
    let ended = lab.run(&format!("{words} {limits}"));
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("The true value lies in 4 of 4 intervals."), "{}", ended.out);
    let predicted = ended.out.split("predicts ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(predicted.parse::<u32>().unwrap() >= 24, "{}", ended.out);
    assert!(!ended.out.contains("write buffer"), "{}", ended.out);
    let profile = std::fs::read_to_string(lab.path("p.toml")).unwrap();
    for kept in ["requests_per_s = 3000", "depth = 64", "window = { value"] {
        assert!(profile.contains(kept), "{kept}: {profile}");
    }
}

/// A write buffer is found with its draining; its profile would meet the waits for it twice.
#[test]
fn a_write_buffer_is_found() {
    let lab = Lab::new();
    let known = KNOWN.replace("8 ms", "80 us").replace("5 ms", "50 us").replace("9 ms", "50 us");
    let known = known.replace("MB/s", "GB/s").replace("64 MiB", "1 GiB");
    let buffer = "[buffer]\nassumed = 'x'\nsize = '48 MiB'\ndrain = '200 MB/s'\n";
    std::fs::write(lab.path("buffered.toml"), format!("{known}{buffer}")).unwrap();
    let words = "calibrate model:buffered.toml --runs 3 --runtime 20ms --format json";
    let ended = lab.run(&format!("{words} -o p.toml"));
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let found: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let numbers = found["numbers"].as_array().unwrap();
    let near = |name: &str, truth: f64| {
        let number = numbers.iter().find(|number| number["name"] == name).unwrap();
        let [low, value, high] = ["low", "value", "high"].map(|key| number[key].as_f64().unwrap());
        assert!((value / truth - 1.0).abs() < 0.01, "{number}");
        // What is rounded is no miss.
        assert!((low - 1.0..=high + 1.0).contains(&truth), "{number}");
    };
    near("write buffer", 48.0 * 1024.0 * 1024.0);
    near("write buffer, drain rate under writes", 200e6);
    near("write buffer, drain rate while idle", 200e6);
    // Without one none is invented.
    std::fs::write(lab.path("plain.toml"), known).unwrap();
    let ended = lab.run(&words.replace("buffered", "plain").replace("json", "json -o q.toml"));
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(!ended.out.contains("write buffer"), "{}", ended.out);
    // A half of one is refused.
    let half = buffer.replace("drain", "#");
    std::fs::write(lab.path("half.toml"), format!("{KNOWN}{half}")).unwrap();
    let ended = lab.run("calibrate model:half.toml -o h.toml");
    assert_eq!(ended.code, 2, "{}", ended.out);
    assert!(ended.err.contains("are given together"), "{}", ended.err);
}

/// A bucket that was emptied is said and not guessed; what the user says of it is in the profile.
#[test]
fn a_limit_is_refused_unless_it_is_given() {
    let lab = Lab::new();
    let known = KNOWN.replace("8 ms", "80 us").replace("5 ms", "50 us").replace("9 ms", "90 us");
    let known = known.replace("MB/s", "GB/s");
    let limit = "[limit]\nassumed = 'x'\nrequests_per_s = 3000\nburst_requests = 5000\n";
    std::fs::write(lab.path("limited.toml"), format!("{known}{limit}")).unwrap();
    let words = "calibrate model:limited.toml -o p.toml --runs 3 --runtime 50ms";
    let ended = lab.run(words);
    assert_eq!(ended.code, 2, "{}{}", ended.out, ended.err);
    assert!(ended.err.contains("is limited to 30") || ended.err.contains("is limited to 29"));
    assert!(!lab.path("p.toml").exists());
    let given = "--limit requests_per_s=3000 --limit burst_requests=5000";
    let ended = lab.run(&format!("{words} {given}"));
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("the device was at its limit during calibration"), "{}", ended.out);
    let text = std::fs::read_to_string(lab.path("p.toml")).unwrap();
    assert!(text.contains("requests_per_s = 3000.0\nburst_requests = 5000.0"), "{text}");
}

/// What a directory lies on is measured by a file that is gone afterwards.
#[test]
fn a_directory_is_calibrated_by_a_file_of_its_own() {
    let lab = Lab::new();
    // A disk that others slow down takes longer than any test waits.
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let here = memory.path().join("here");
    std::fs::create_dir(&here).unwrap();
    let words = "calibrate here -o p.toml --size 16m --runs 3 --runtime 20ms";
    let words = words.replace("here", here.to_str().unwrap());
    let planned = lab.run(&format!("{words} --dry-run"));
    assert!(planned.out.contains("\"fills\": true"), "{}", planned.out);
    let ended = lab.run(&words);
    // What comes of it is the machine's.
    assert!([0, 2].contains(&ended.code), "{}{}", ended.out, ended.err);
    assert_eq!(lab.path("p.toml").exists(), ended.code == 0, "{}", ended.err);
    assert_eq!(std::fs::read_dir(&here).unwrap().count(), 0);
}

/// Reads and writes of a device that takes 100 us and its bytes, as of MSR Cambridge.
fn trace(count: u64) -> String {
    let mut text = String::new();
    for number in 0..count {
        let came = 128_166_372_000_000_000 + number * 20_000;
        let (kind, bytes) = (["Read", "Write"][(number % 2) as usize], 4096 << (number / 2 % 3));
        let took = 1000 + bytes / 100;
        let offset = (number * 7919 % 5003) << 20;
        text.push_str(&format!("{came},host,{},{kind},{offset},{bytes},{took}\n", number / 9000));
    }
    text
}

#[test]
fn a_trace_alone_makes_a_profile_that_simulates_it() {
    let lab = Lab::new();
    std::fs::write(lab.path("t.csv"), trace(10_000)).unwrap();
    let ended = lab.run("calibrate t.csv -o p.toml");
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("The profile predicts 6 of 6 held-out classes"), "{}", ended.out);
    let text = std::fs::read_to_string(lab.path("p.toml")).unwrap();
    let random = text.split("random = { value = \"").nth(1).unwrap();
    let random_ns: f64 = random.split(' ').next().unwrap().parse().unwrap();
    assert!((9e4..1.1e5).contains(&random_ns), "{random_ns}");
    assert_eq!(lab.run("simulate t.csv --model p.toml -o s").code, 0);
    for (words, sentence) in [
        ("t.csv -o q.toml --device nowhere", "--device nowhere is not in the trace"),
        ("t.csv -o q.toml --destroy /dev/null", "--destroy does not apply to a trace"),
        ("t.csv -o q.toml --size 1g", "--size does not apply to a trace"),
        ("t.csv --dry-run", "--dry-run does not apply to a trace"),
        ("t.csv -o q.toml --input-format none", "none"),
        ("t.csv -o p.toml", "already exists"),
    ] {
        let ended = lab.run(&format!("calibrate {words}"));
        assert_eq!(ended.code, 2, "{words}: {}", ended.err);
        assert!(ended.err.contains(sentence), "{words}: {}", ended.err);
    }
}

/// Without times, with too few requests, or with none, nothing is made up.
#[test]
fn a_trace_that_does_not_tell_is_refused() {
    let lab = Lab::new();
    let bio = |rows: u64| {
        let line = |row: u64| format!("128166372{row:09},host,0,Read,{},4096,1000\n", row << 20);
        (0..rows).map(line).collect::<String>()
    };
    std::fs::write(lab.path("short.csv"), bio(50)).unwrap();
    let ended = lab.run("calibrate short.csv -o p.toml");
    assert_eq!(ended.code, 2, "{}{}", ended.out, ended.err);
    assert!(ended.err.contains("the trace is too short"), "{}", ended.err);
    let mqsim = |row: u64| format!("{} 0 {} 8 1\n", row * 100_000, row * 64);
    std::fs::write(lab.path("untold.trace"), (0..900).map(mqsim).collect::<String>()).unwrap();
    let ended = lab.run("calibrate untold.trace --input-format mqsim -o p.toml");
    assert_eq!(ended.code, 2, "{}{}", ended.out, ended.err);
    assert!(ended.err.contains("the trace has no completion times"), "{}", ended.err);
    assert!(!lab.path("p.toml").exists());
}

#[test]
fn what_cannot_be_calibrated_is_refused_in_a_sentence() {
    let lab = Lab::new();
    std::fs::write(lab.path("there.toml"), "").unwrap();
    for (words, sentence) in [
        ("/dev/null -o p.toml", "is neither a directory nor a block device"),
        ("/nowhere -o p.toml", "/nowhere: No such file"),
        (". -o p.toml --size 1m", "needs at least 16m"),
        (". -o p.toml --size 4096t", "are free; give a smaller --size"),
        (". -o p.toml --destroy /dev/null", "--destroy"),
        (". . -o p.toml", "calibrate one at a time"),
        (". -o p.toml --device sda", "--device applies only to a trace"),
        (". -o p.toml --input-format msr", "--input-format applies only to a trace"),
        ("model:ra81 -o p.toml --size 1t", "give a smaller size"),
        (". -o there.toml", "already exists"),
        (". -o p.json", "must end in .toml"),
        (". -o p.toml --runtime 1ms", "at least 20ms"),
        (". -o p.toml --runs 2", "--runs"),
        (". -o p.toml --limit bytes=5", "is not a limit"),
        (". -o p.toml --limit bytes_per_s=0", "is not a limit"),
        (".", "--output"),
    ] {
        let ended = lab.run(&format!("calibrate {words}"));
        assert_eq!(ended.code, 2, "{words}: {}", ended.err);
        assert!(ended.err.contains(sentence), "{words}: {}", ended.err);
    }
}

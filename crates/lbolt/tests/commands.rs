//! One rule for every COMMAND that is traced: it does not outlive lbolt, with all that it started.
//! And what a killed lbolt left in spite of all is told by whoever measures next.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, Loop, QUICK, Running, is_root, wait_for};
use rustix::process::Signal;
use std::path::Path;

/// Whether whoever runs the tests ignores a signal, as a shell does SIGQUIT for what it runs in the
/// background: those that it starts ignore it, too.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
}

/// Two processes beside the shell itself, one of them another's child.
const FAMILY: &str = "sh -c 'echo $$ >> numbers; sleep 300; true' & \
    sleep 300 & echo $! >> numbers; echo $$ >> numbers; wait";

/// Starts `lbolt` with that command, and waits until all three are there: their numbers.
fn started(lab: &Lab, words: &str) -> (Running, Vec<u32>) {
    let mut command = lab.lbolt(&format!("{words} --"));
    command.args(["sh", "-c", FAMILY]);
    let mut running = lab.start(command);
    let numbers = running.until("the command", || {
        let text = std::fs::read_to_string(lab.path("numbers")).ok()?;
        let numbers: Vec<u32> = text.lines().map(|line| line.parse().unwrap()).collect();
        (numbers.len() == 3).then_some(numbers)
    });
    std::fs::remove_file(lab.path("numbers")).unwrap();
    (running, numbers)
}

fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z")
}

#[test]
fn root_no_command_and_nothing_that_it_started_outlives_lbolt() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let node = &device.node;
    lab.allow(".", 0o777);
    for words in [
        format!("record -d {node} -o run"),
        format!("record -d {node} -o run --keep 1s --when max>1h"),
        format!("watch history -d {node}"),
        "device model:ra81".to_owned(),
        "storm d --period 10s --periods 1 --runs 9 -o run".to_owned(),
    ] {
        for signal in [Signal::KILL, Signal::TERM, Signal::HUP, Signal::QUIT] {
            if is_ignored(signal) {
                println!("skipped: {signal:?} is ignored here");
                continue;
            }
            let (running, numbers) = started(&lab, &words);
            running.signal(signal);
            println!("{words}: {signal:?}");
            running.wait();
            wait_for(&format!("the end of all of {words}"), || {
                numbers.iter().all(|pid| is_gone(*pid)).then_some(())
            });
            let _ = std::fs::remove_dir_all(lab.path("run"));
        }
    }
    wait_for("the devices' end", || lab.notes().read_dir().unwrap().next().is_none().then_some(()));
    drop(device);
    lab.assert_clean();
}

#[test]
fn what_a_killed_run_left_changed_is_told_by_whoever_measures() {
    let lab = Lab::new();
    let path = Path::new("/proc/sys/vm/dirty_expire_centisecs");
    let now: u64 = std::fs::read_to_string(path).unwrap().trim().parse().unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let note = serde_json::json!({
        "pid": 4_194_304, "process_started": 1, "boot": boot.trim(), "run": "/r", "scratch": [],
        "settings": [{ "path": path, "value": (now + 1).to_string() }],
    });
    let write = |setting: &serde_json::Value| {
        std::fs::create_dir_all(lab.notes()).unwrap();
        std::fs::set_permissions(lab.notes(), std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .unwrap();
        std::fs::write(lab.notes().join("4194304-1-1.json"), setting.to_string()).unwrap();
    };
    write(&note);
    for words in ["throughput d --rw read", "sync d"] {
        let words = match words {
            "sync d" => format!("{words} --size 4m --runs 2 --method fdatasync --numjobs 1 -o run"),
            _ => format!("{words} {QUICK} -o run"),
        };
        let ended = lab.run(&words);
        let told = "a killed lbolt (process 4194304) left a setting changed: \
                    /proc/sys/vm/dirty_expire_centisecs";
        assert!(ended.err.contains(told), "{words}: {}", ended.err);
        let samples = lab.samples_of("run");
        let doubts = samples.iter().map(|sample| format!("{:?}", sample.doubts));
        assert!(doubts.clone().all(|doubts| doubts.contains("SettingLeft")), "{words}");
        std::fs::remove_dir_all(lab.path("run")).unwrap();
    }
    // Another boot has settings of its own.
    let mut earlier = note;
    earlier["boot"] = "earlier".into();
    write(&earlier);
    let ended = lab.run(&format!("throughput d --rw read {QUICK} -o run"));
    assert!(!ended.err.contains("left a setting"), "{}", ended.err);
    assert_eq!(lab.run("doctor --clean").code, 0);
    lab.assert_clean();
}

#[test]
fn the_caretaker_ends_with_its_process_and_cleans_after_a_kill() {
    let lab = Lab::new();
    for signal in [None, Some(Signal::KILL)] {
        let mut running = lab.start(lab.lbolt("throughput d --rw read --size 16m --runs 500 -o r"));
        running.until("its scratch", || {
            let names = lab.path("d").read_dir().unwrap();
            names.flatten().next().map(|_| ())
        });
        let caretaker = running.caretaker();
        running.signal(signal.unwrap_or(Signal::INT));
        running.wait();
        if signal.is_none() {
            assert!(is_gone(caretaker.as_raw_nonzero().get() as u32), "it ends first");
        }
        wait_for("its end", || is_gone(caretaker.as_raw_nonzero().get() as u32).then_some(()));
        assert_eq!(lab.path("d").read_dir().unwrap().count(), 0);
        lab.assert_clean();
        std::fs::remove_dir_all(lab.path("r")).unwrap();
    }
    // Killed as well: then `doctor` does it.
    let mut running = lab.start(lab.lbolt("throughput d --rw read --size 16m --runs 500 -o r"));
    running.until("its scratch", || lab.path("d").read_dir().unwrap().next().map(|_| ()));
    running.kill_with_its_caretaker();
    running.wait();
    assert_eq!(lab.path("d").read_dir().unwrap().count(), 1);
    assert_eq!(lab.run("doctor --clean").code, 0);
    lab.assert_clean();
}

/// A program that computes on a CPU until it is dropped.
struct Neighbour(std::process::Child);

impl Neighbour {
    fn start() -> Self {
        let busy = ["-c", "while :; do :; done"];
        Self(std::process::Command::new("sh").args(busy).spawn().unwrap())
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// `curve`, `sync` and `storm` said nothing, and the page "Nothing is suspect".
#[test]
fn a_busy_neighbour_is_told_of_by_every_experiment_that_measures_rates() {
    if std::fs::read_to_string("/proc/2/comm").is_ok_and(|name| name.trim() != "kthreadd") {
        println!("skipped: a namespace of processes hides the others");
        return;
    }
    let lab = Lab::new();
    let _neighbour = Neighbour::start();
    for words in [
        "throughput d --rw read --size 16m --runtime 400ms --time_based --runs 2 --no-ceiling",
        "sync d --method fdatasync --bs 4k --numjobs 1 --direct 0 --size 1m --runtime 400ms \
         --runs 2",
        "curve d --size 64m --iodepth 1 --runtime 400ms --runs 2",
        "storm d --period 500ms --size 8m --rate_iops 100 --commits 20 --dirty 1m --runs 2",
    ] {
        let report = lab.measure(words);
        let codes = |finding: &serde_json::Value| {
            let doubts = finding["doubts"].as_array().unwrap().clone();
            doubts.iter().any(|doubt| doubt["code"] == "other_programs")
        };
        assert!(report.findings().iter().any(codes), "{words}");
    }
    lab.assert_clean();
}

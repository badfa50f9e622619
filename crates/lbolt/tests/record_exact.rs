//! `lbolt record` held against the kernel's count to the last request, and killed.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Ended, Lab, Loop, Mounted, Over, Running, key, reason, tool, wait_for};
use model::record::Context;
use model::record::requests::RequestFile;
use rustix::process::Signal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Readers past the page cache, so many at once.
fn readers(node: &str, count: u32) -> String {
    format!(
        "for i in 1 2 3 4 5 6 7 8; do dd if={node} of=/dev/null bs=4k count={count} iflag=direct \
         status=none & \
         done; wait"
    )
}

/// A loop device whose requests an interrupt completes, as a disk's.
fn direct(lab: &Lab) -> Option<Loop> {
    let device = Loop::new(lab, "image")?;
    tool("losetup", &["--direct-io=on", &device.node]);
    Some(device)
}

fn is_captured(ended: &Ended) -> bool {
    let is_refused = ended.err.contains("failed to load BPF");
    if is_refused {
        println!("skipped: {}", ended.sentence());
    }
    !is_refused
}

/// Requests that the device completed, by the kernel's count.
fn completed(node: &str) -> u64 {
    let name = node.trim_start_matches("/dev/");
    let stat = std::fs::read_to_string(format!("/sys/class/block/{name}/stat")).unwrap();
    let counts: Vec<u64> = stat.split_ascii_whitespace().map(|n| n.parse().unwrap()).collect();
    counts[0] + counts[4]
}

/// What was requested was completed, lost or in flight, while other tracers come and go.
#[test]
fn root_each_request_is_accounted_for_beside_tracers_that_come_and_go() {
    let lab = Lab::new();
    let Some(device) = direct(&lab) else { return };
    let is_over = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        for other in ["a", "b"] {
            let (lab, node, is_over) = (&lab, &device.node, &is_over);
            scope.spawn(move || {
                for round in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    lab.run(&format!("record -d {node} -o {other}{round} --duration 150ms"));
                }
            });
        }
        let mut command = lab.lbolt(&format!("record -d {} -o run --format json --", device.node));
        command.args(["sh", "-c", &readers(&device.node, 2000)]);
        let _over = Over(&is_over);
        lab.end(command)
    });
    if !is_captured(&ended) {
        return;
    }
    assert_eq!(ended.code, 0, "{}", ended.err);
    let report = ended.report();
    let finding =
        |quantity: &str| report.findings().iter().find(|f| f["quantity"] == quantity).unwrap();
    let value = |quantity: &str| finding(quantity)["value"].as_u64_or_f64();
    let file = RequestFile::open(&lab.path("run/requests.parquet")).unwrap();
    let second = file.provenance().notes["second_source"].clone();
    let counted = value("kernel_completed_count");
    let held = finding("kernel_completed_count")["count"].as_u64_or_f64();
    let lost = value("lost_count");
    println!("{counted} by the kernel, {held} in the trace, {lost} lost; second source: {second}");
    assert!(counted >= 15_000, "{counted}");
    // A kernel that runs no programs in process 1, and shows us no ftrace either, loses
    // completions, and each is counted.
    assert!(lost == 0 || second.starts_with("none"), "{lost} lost; {second}");
    let reason = reason(finding("kernel_completed_count"));
    assert!(counted == held + lost, "{counted} by the kernel, {held} in the trace: {reason}");
    assert_eq!(value("reused_count"), lost);
    drop(device);
    lab.assert_clean();
}

/// Whether a request is a row or in a sum, each is one of them and none is both.
#[test]
fn root_quick_requests_are_sums_and_slow_ones_rows_and_the_kernel_counts_as_many() {
    let lab = Lab::new();
    let Some(device) = direct(&lab) else { return };
    let runs = [
        ("all", "1us", 500),
        ("some", "150us", 500),
        ("none", "100s", 500),
        ("many", "10ms", 9000),
    ];
    for (run, threshold, count) in runs {
        let words = format!("record -d {} -o {run} --format json --slower-than", device.node);
        let mut command = lab.lbolt(&format!("{words} {threshold} --"));
        command.args(["sh", "-c", &readers(&device.node, count)]);
        let ended = lab.start(command).wait();
        if !is_captured(&ended) {
            return;
        }
        assert_eq!(ended.code, 0, "{}", ended.err);
        let report = ended.report();
        let finding = |quantity: &str| {
            report.findings().iter().find(|f| f["quantity"] == quantity).unwrap().clone()
        };
        let value = |quantity: &str| finding(quantity)["value"].as_u64_or_f64();
        let counted = value("kernel_completed_count");
        let held = finding("kernel_completed_count")["count"].as_u64_or_f64();
        let reason = reason(&finding("kernel_completed_count"));
        assert_eq!(counted, held + value("lost_count"), "{threshold}: {reason}");
        assert_eq!(value("kernel_completed_bytes"), 4096 * counted, "{threshold}");
        let (rows, sums) = (value("requests_count"), value("summed_count"));
        println!("{threshold}: {rows} rows, {sums} in sums; {counted} by the kernel");
        assert_eq!(4096 * sums, value("summed_bytes"), "{threshold}");
        assert!(rows + sums >= counted, "{threshold}: {rows} {sums} {counted}");
        let file = RequestFile::open(&lab.path(&format!("{run}/requests.parquet"))).unwrap();
        assert_eq!(file.provenance().counts.requests, rows);
        // The table of devices and operations has all.
        let is_reads =
            |f: &&serde_json::Value| f["quantity"] == "requested_count" && key(f, "op") == "read";
        let reads = report.findings().iter().find(is_reads).unwrap()["value"].as_u64_or_f64();
        assert!(reads >= counted - value("lost_count") && reads <= rows + sums, "{reads}");
        match run {
            "all" => assert_eq!(sums, 0),
            "none" => assert!(sums >= 4000, "{sums}"),
            // Who comes often is summed up by the kernel, and makes none of its three events.
            "many" if !file.provenance().notes.contains_key("method.plain") => {
                assert!(value("events_count") < 2 * sums, "{}", value("events_count"));
            }
            _ => {}
        }
        let ended = lab.run(&format!("response {run} --all"));
        assert!(ended.out.contains("are traced one by one"), "{}", ended.out);
        // Whoever waited did so for rows and sums alike, and the classes have both.
        let response = lab.run(&format!("response {run} --format json")).report();
        let all = |quantity: &str| -> u64 {
            let of = response.findings().iter().filter(|f| f["quantity"] == quantity);
            let of = of.filter(|f| key(f, "wait") == "read" || key(f, "class") == "read");
            of.map(|f| f["value"].as_u64_or_f64()).sum()
        };
        assert!(all("waits_count") >= counted - value("lost_count"), "{}", all("waits_count"));
        assert_eq!(all("requested_count"), reads, "{threshold}");
        lab.run(&format!("rollup {run} -o rolled")).assert_refused(2, &["--slower-than"]);
    }
    drop(device);
    lab.assert_clean();
}

trait Number {
    fn as_u64_or_f64(&self) -> u64;
}

impl Number for serde_json::Value {
    fn as_u64_or_f64(&self) -> u64 {
        self.as_u64().or_else(|| self.as_f64().map(|number| number as u64)).unwrap()
    }
}

/// A capture of a load that goes on, until it has kept something; none where nothing can be
/// captured.
fn capturing(lab: &Lab, device: &Loop, line: &str) -> Option<Running> {
    let mut command = lab.lbolt(&format!("record -d {} -o runs/r --", device.node));
    command.args(["sh", "-c", line]);
    let mut running = lab.start(command);
    let log = lab.path("runs/r/requests.parquet.recent-0");
    let is_kept = || std::fs::metadata(&log).is_ok_and(|log| log.len() > 0);
    let found = wait_for("rows that are kept", || match running.child.try_wait().unwrap() {
        Some(_) => Some(false),
        None => is_kept().then_some(true),
    });
    if !found {
        assert!(!is_captured(&running.wait()), "it ended before anything was kept");
        return None;
    }
    Some(running)
}

/// A shell whose readers come again and again.
fn readers_for_good(lab: &Lab, node: &str) -> String {
    format!("echo $$ > {}; while :; do {}; done", lab.path("pid").display(), readers(node, 50))
}

/// The traced command does not go on alone.
fn readers_have_ended(lab: &Lab) {
    let shell = std::fs::read_to_string(lab.path("pid")).unwrap();
    let shell = shell.trim();
    wait_for("the readers' end", || (!Path::new(&format!("/proc/{shell}")).exists()).then_some(()));
}

#[test]
fn root_a_killed_record_keeps_what_was_completed_a_second_before() {
    let lab = Lab::new();
    let Some(device) = direct(&lab) else { return };
    let node = &device.node;
    let line = readers_for_good(&lab, node);
    let before = completed(node);
    let Some(running) = capturing(&lab, &device, &line) else { return };
    std::thread::sleep(Duration::from_millis(2500));
    let long_ago = completed(node) - before;
    // A second, and what a loaded machine takes from it.
    std::thread::sleep(Duration::from_secs(3));
    assert!(lab.run("runs list").out.contains("running"));
    let early = lab.run("response runs/r");
    early.assert_refused(2, &["still being recorded", "wait for its end"]);
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, -9);
    readers_have_ended(&lab);
    let by_then = completed(node) - before;

    let listed = lab.run("runs list").out;
    assert!(listed.contains("killed, at least ") && !listed.contains("running"), "{listed}");
    let ended = lab.run("response runs/r --format json");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("its capture was killed"), "{}", ended.err);
    let file = RequestFile::open(&lab.path("runs/r/requests.parquet")).unwrap();
    println!("{} kept; {long_ago} completed long before the kill, {by_then} in all", file.rows());
    assert!((long_ago..=by_then).contains(&file.rows()), "{} rows", file.rows());
    let least = listed.split_once("killed, at least ").unwrap().1.split(' ').next().unwrap();
    assert!((long_ago..=file.rows()).contains(&least.parse().unwrap()), "{listed}");
    let kept = format!("killed, {} requests kept", file.rows());
    assert!(lab.run("runs list").out.contains(&kept), "{listed}: {kept}");
    assert_eq!(file.provenance().origin, "capture");
    lab.run("doctor --clean");
    assert_eq!(lab.run("runs rm r").code, 0);
    drop(device);
    lab.assert_clean();
}

/// Two programs that each wait for fsync, of which only the device's requests would tell nothing.
#[test]
fn root_a_killed_record_keeps_calls_and_waits_and_is_no_all_clear_without_them() {
    let lab = Lab::new();
    let Some(device) = direct(&lab) else { return };
    if !device.format() {
        return;
    }
    let Some(mounted) = Mounted::device(&device.node) else { return };
    let line = format!(
        "echo $$ > {}; while :; do dd if=/dev/zero of={}/x bs=4k count=1 conv=fsync status=none; \
         done",
        lab.path("pid").display(),
        mounted.seen.display()
    );
    let Some(mut running) = capturing(&lab, &device, &line) else { return };
    let log = lab.path("runs/r/requests.parquet.besides");
    running.until("calls that are kept", || {
        let text = String::from_utf8_lossy(&std::fs::read(&log).ok()?).into_owned();
        // The last record may be cut short by the kill.
        let (before, _) = text.rsplit_once("{\"calls\":")?;
        (before.matches("\"dd\"").count() > 60).then_some(())
    });
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, -9);
    readers_have_ended(&lab);
    let left = lab.directory("left");
    for entry in std::fs::read_dir(lab.path("runs/r")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), left.join(entry.file_name())).unwrap();
    }
    let ended = lab.run("response runs/r");
    assert!(ended.err.contains("its capture was killed"), "{}", ended.err);
    assert!(!ended.out.contains("Nobody waited: "), "{}", ended.out);
    assert!(ended.out.contains("fsync"), "{}", ended.out);
    let context = Context::read(&lab.path("runs/r")).unwrap();
    let of_dd = context.calls.iter().filter(|call| call.command == "dd" && call.end_ns.is_some());
    assert!(of_dd.count() > 5, "{:?}", context.calls);
    assert!(context.processes.iter().any(|process| process.command == "dd"));
    // The same where what became known besides is lost.
    std::fs::remove_file(left.join("requests.parquet.besides")).unwrap();
    let without = lab.run("response left").out;
    assert!(without.contains("does not tell calls") || without.contains("tell fsync"), "{without}");
    assert!(!without.contains("Nobody waited: "), "{without}");
    drop(mounted);
    lab.run("doctor --clean");
    drop(device);
    lab.assert_clean();
}

#[test]
fn root_a_record_that_was_killed_before_it_kept_anything_is_no_running_one() {
    let lab = Lab::new();
    let Some(device) = direct(&lab) else { return };
    let Some(running) = capturing(&lab, &device, "sleep 30") else { return };
    running.signal(Signal::KILL);
    running.wait();
    assert!(lab.run("runs list").out.contains("killed, at least 0 requests kept"));
    let ended = lab.run("response runs/r");
    assert!(ended.err.contains("0 requests were recovered"), "{}", ended.err);
    lab.run("doctor --clean");
    drop(device);
    lab.assert_clean();
}

#[test]
fn root_a_killed_record_of_slow_requests_keeps_the_sums_of_quick_ones() {
    let lab = Lab::new();
    let Some(device) = direct(&lab) else { return };
    let node = &device.node;
    let line = readers_for_good(&lab, node);
    let before = completed(node);
    let mut command = lab.lbolt(&format!("record -d {node} -o runs/r --slower-than 100s --"));
    command.args(["sh", "-c", &line]);
    let mut running = lab.start(command);
    let run = lab.path("runs/r");
    let kept = || -> u64 {
        // Each is renamed over the one before.
        Context::read(&run).map_or(0, |kept| kept.summed.iter().map(|sum| sum.count).sum())
    };
    let early = wait_for("sums that are kept", || match running.child.try_wait().unwrap() {
        Some(_) => Some(None),
        None => Some(kept()).filter(|count| *count > 0).map(Some),
    });
    let Some(early) = early else {
        return assert!(!is_captured(&running.wait()), "it ended before anything was kept");
    };
    wait_for("more of them", || (kept() > early).then_some(()));
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, -9);
    readers_have_ended(&lab);
    let sums = kept();
    let listed = lab.run("runs list").out;
    assert!(listed.contains(&format!(" requests kept, {sums} as sums")), "{listed}");
    let ended = lab.run("response runs/r --format json");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let report = ended.report();
    let is_reads =
        |f: &&serde_json::Value| f["quantity"] == "requested_count" && key(f, "class") == "read";
    let reads = report.findings().iter().find(is_reads).unwrap()["value"].as_u64_or_f64();
    let file = RequestFile::open(&run.join("requests.parquet")).unwrap();
    let by_then = completed(node) - before;
    println!("{sums} in sums, {} rows; {by_then} by the kernel", file.rows());
    // None is a row and in a sum: no request took so long, and only lbolt's own have rows.
    assert!(reads >= sums && reads <= sums + file.rows() && reads <= by_then, "{reads} of {sums}");
    lab.run("doctor --clean");
    assert_eq!(lab.run("runs rm r").code, 0);
    drop(device);
    lab.assert_clean();
}

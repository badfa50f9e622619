//! `lbolt record` from the command line, on loop devices of our own: against the kernel's counters,
//! against what was done, and against what is in the way.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Ended, Lab, Loop, Mounted, is_root, tool};
use model::record::requests::{Provenance, RequestFile};
use model::record::{Flags, Op, Request};
use std::path::Path;

/// The rows of a run, what its footer says, and the names of their commands.
fn rows(run: &Path) -> (Vec<Request>, Provenance, Vec<String>) {
    let file = RequestFile::open(&run.join("requests.parquet")).unwrap();
    let mut reader = file.read_all().unwrap();
    let mut rows = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        rows.extend(batch.rows());
    }
    let name = |row: &Request| row.command.map(|c| reader.commands.name(c).to_owned());
    let names = rows.iter().map(|row| name(row).unwrap_or_default()).collect();
    (rows, file.provenance(), names)
}

/// Requests that the kernel says a device has read.
fn reads(node: &str) -> u64 {
    let name = node.trim_start_matches("/dev/");
    let stat = std::fs::read_to_string(format!("/sys/class/block/{name}/stat")).unwrap();
    stat.split_ascii_whitespace().next().unwrap().parse().unwrap()
}

/// `lbolt record` with words, and a shell's line as the command. None, with a sentence, where
/// nothing can be captured.
fn record(lab: &Lab, words: &str, line: &str) -> Option<Ended> {
    let mut command = lab.lbolt(&format!("record {words} --"));
    command.args(["sh", "-c", line]);
    able(lab.end(command))
}

fn able(ended: Ended) -> Option<Ended> {
    if ended.err.contains("failed to load BPF") {
        println!("skipped: {}", ended.sentence());
        return None;
    }
    Some(ended)
}

/// A capture whose command has come to the point at which it makes the file `ready`.
fn until_ready(lab: &Lab, words: &str, line: &str) -> crate::common::Running {
    let mut command = lab.lbolt(&format!("{words} --"));
    command.args(["sh", "-c", line]);
    let mut running = lab.start(command);
    let ready = lab.path("ready");
    running.until("its command", || ready.exists().then_some(()));
    running
}

fn dd_reads(node: &str, count: u32) -> String {
    format!("dd if={node} of=/dev/null bs=4k count={count} iflag=direct status=none")
}

#[test]
fn root_each_read_is_a_row_and_the_kernel_counts_as_many() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let before = reads(&device.node);
    let line = dd_reads(&device.node, 300);
    let words = format!("-d {} -o run --format json", device.node);
    let Some(ended) = record(&lab, &words, &line) else { return };
    assert_eq!(ended.code, 0, "{}", ended.err);
    let (rows, provenance, names) = rows(&lab.path("run"));
    let counted = reads(&device.node) - before;
    assert!((300..320).contains(&counted), "{counted}");
    // There are kernels that run no program in some contexts (docs/principles.md, 10): a few may be
    // missing.
    let few = counted / 20;
    assert!(rows.len() as u64 <= counted && rows.len() as u64 >= counted - few, "{}", rows.len());
    assert_eq!(
        (provenance.origin.as_str(), provenance.matching.as_str()),
        ("capture", "by identity")
    );
    assert_eq!(provenance.counts.lost, 0);
    let dd = rows.iter().zip(&names).filter(|(_, name)| *name == "dd");
    let dd: Vec<&Request> =
        dd.map(|(row, _)| row).filter(|r| r.flags.contains(Flags::DIRECT)).collect();
    let whole: Vec<&&Request> = dd.iter().filter(|row| row.completed_ns.is_some()).collect();
    assert!(whole.len() as u64 >= 300 - few && dd.len() <= 300, "{} of {}", whole.len(), dd.len());
    let places: Vec<u64> = whole.iter().filter_map(|row| row.offset_bytes).collect();
    assert!(
        places.is_sorted() && places.iter().all(|place| place % 4096 == 0 && *place < 300 * 4096)
    );
    for row in whole {
        assert_eq!((row.op, row.length_bytes), (Op::Read, 4096));
        let times = [row.queued_ns, row.started_ns, row.issued_ns, row.completed_ns];
        let times: Vec<i64> = times.into_iter().flatten().collect();
        assert!(times.len() >= 3 && times.is_sorted() && times[0] >= 0, "{times:?}");
    }
    let report = ended.report();
    let count = |quantity: &str| {
        report.findings().iter().find(|f| f["quantity"] == quantity).unwrap()["value"].as_f64()
    };
    assert_eq!(count("requests_count"), Some(rows.len() as f64));
    assert_eq!(count("lost_count"), Some(0.0));
    assert!(lab.run("runs show run").out.contains("events lost"));
    drop(device);
    lab.assert_clean();
}

/// Whether a row does that, if anybody asks.
fn op_is(row: &Request, op: Option<Op>) -> bool {
    op.is_none_or(|op| row.op == op)
}

/// One fsync of ext4: the journal's commit block is one object of four rows, and its origin is on
/// all of them.
#[test]
fn root_a_flush_sequence_is_one_object() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    if !device.format() {
        return;
    }
    let Some(mounted) = Mounted::device(&device.node) else { return };
    let file = mounted.seen.join("file");
    let line =
        format!("dd if=/dev/zero of={} bs=4k count=4 conv=fsync status=none", file.display());
    let Some(ended) = record(&lab, &format!("-d {} -o run", device.node), &line) else { return };
    assert_eq!(ended.code, 0, "{}", ended.err);
    let (rows, provenance, names) = rows(&lab.path("run"));
    // Beside the commit there may be a flush alone, of a file system that was mounted just before.
    let has = |row: &Request, op| {
        rows.iter().any(|r| r.parent_id == Some(row.request_id) && op_is(r, op))
    };
    let parent = rows.iter().position(|row| has(row, Some(Op::Write)));
    let parent = parent.or_else(|| rows.iter().position(|row| has(row, None)));
    let Some(parent) = parent else {
        // A loop device without a write cache needs no flush.
        println!("skipped: this device is given no flush sequences: {:?}", provenance.counts);
        return;
    };
    let whole = &rows[parent];
    assert!(whole.flags.contains(Flags::PREFLUSH) && whole.issued_ns.is_none(), "{whole:?}");
    let parts: Vec<&Request> =
        rows.iter().filter(|r| r.parent_id == Some(whole.request_id)).collect();
    let ops: Vec<Op> = parts.iter().map(|part| part.op).collect();
    assert!(ops.starts_with(&[Op::Flush]) && ops.contains(&Op::Write), "{ops:?}");
    for part in &parts {
        assert_eq!(part.pid, whole.pid);
        assert!(
            part.issued_ns >= whole.queued_ns && part.completed_ns <= whole.completed_ns,
            "{part:?}"
        );
    }
    assert!(names[parent].starts_with("jbd2"), "{}", names[parent]);
    assert_eq!(provenance.counts.orphaned, 0);
}

#[test]
fn root_our_own_writes_are_flagged_and_left_out_and_a_warning_says_so() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    if !device.format() {
        return;
    }
    let Some(mounted) = Mounted::device(&device.node) else { return };
    let output = mounted.seen.join("run");
    let words = format!("-d {} -o {} --format json", device.node, output.display());
    let line = dd_reads(&device.node, 50);
    let Some(ended) = record(&lab, &words, &line) else { return };
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("lbolt's own writes are left out"), "{}", ended.err);
    let (rows, provenance, _) = rows(&output);
    let own = rows.iter().filter(|row| row.flags.contains(Flags::OWN)).count() as u64;
    assert_eq!(own, provenance.counts.own);
    // In no figure: what was requested are the other rows.
    let requested =
        rows.iter().filter(|r| r.parent_id.is_none() && !r.flags.contains(Flags::OWN)).count();
    let report = ended.report();
    let of_devices = report.findings().iter().filter(|f| f["subject"]["op"].is_string());
    let counts = of_devices.filter(|f| f["quantity"] == "requested_count");
    let sum: f64 = counts.map(|f| f["value"].as_f64().unwrap()).sum();
    assert_eq!(sum, requested as f64);
}

#[test]
fn root_a_ring_that_is_too_small_loses_events_and_says_how_many() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let words = format!("-d {} -o run --ring-size 4k --format json", device.node);
    let Some(ended) = record(&lab, &words, &dd_reads(&device.node, 4000)) else { return };
    assert_eq!(ended.code, 0, "{}", ended.err);
    let (rows, provenance, _) = rows(&lab.path("run"));
    assert!(provenance.counts.lost > 0);
    assert!(
        ended.err.contains("events were lost") && ended.err.contains("--ring-size"),
        "{}",
        ended.err
    );
    // What is there is there once.
    let mut ids: Vec<u64> = rows.iter().map(|row| row.request_id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), rows.len());
}

#[test]
fn root_the_flight_recorder_writes_when_it_matters() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let line = format!("while :; do {}; done", dd_reads(&device.node, 100));
    let words = format!("-d {} -o run --keep 2s --when max>1us", device.node);
    let Some(ended) = record(&lab, &words, &format!("timeout 20 sh -c '{line}'")) else { return };
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("written because max of the last second was"), "{}", ended.err);
    let (rows, provenance, _) = rows(&lab.path("run"));
    assert!(provenance.notes["trigger"].starts_with("max of the last second"));
    let arrivals = || rows.iter().filter_map(Request::arrival_ns);
    let span_ns = arrivals().max().unwrap() - arrivals().min().unwrap();
    assert!(span_ns > 100_000_000 && span_ns <= 2_000_000_000, "{span_ns}");
}

#[test]
fn root_the_flight_recorder_writes_nothing_when_nothing_happens_and_writes_on_a_signal() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let quiet = lab.run(&format!(
        "record -d {} -o run --keep 5s --when max>100s --duration 300ms",
        device.node
    ));
    let Some(quiet) = able(quiet) else { return };
    quiet.assert_refused(1, &["before the flight recorder was triggered", "nothing was written"]);
    assert!(quiet.err.contains("armed for max>100s or SIGUSR1 (kill -USR1 "), "{}", quiet.err);
    assert!(!lab.path("run").exists());
    let until_over = "until [ -e over ]; do sleep 0.05; done";
    let line = format!("{}; : > ready; {until_over}", dd_reads(&device.node, 10));
    let words = format!("record -d {} -o run --keep 60s", device.node);
    let mut running = until_ready(&lab, &words, &line);
    running.signal(rustix::process::Signal::USR1);
    let err = running.err_path();
    running.until("what it says to the signal", || {
        std::fs::read_to_string(&err).unwrap().contains("written because SIGUSR1").then_some(())
    });
    lab.file("over", "");
    let ended = running.wait();
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(rows(&lab.path("run")).0.len() >= 10);
}

#[test]
fn root_a_signal_ends_a_flight_recorder_that_waits_for_its_command() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let line = format!("{}; : > ready; exec sleep 9999", dd_reads(&device.node, 10));
    let words = format!("record -d {} -o run --keep 60s", device.node);
    if able(lab.run(&format!("{words} --duration 100ms"))).is_none() {
        return;
    }
    let mut running = until_ready(&lab, &words, &line);
    let err = running.err_path();
    running.signal(rustix::process::Signal::USR1);
    let pid = running.until("what it waits for", || {
        let said = std::fs::read_to_string(&err).unwrap();
        let (_, pid) = said.split_once("waiting until the command ends (process ")?;
        Some(pid.split_once(')')?.0.to_owned())
    });
    running.signal(rustix::process::Signal::TERM);
    let ended = running.wait();
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(!std::path::Path::new("/proc").join(pid).exists());
    assert!(rows(&lab.path("run")).0.len() >= 10);
}

/// A signal in the time after the trigger ends the capture and the command, and is for no more.
#[test]
fn root_a_signal_after_the_trigger_of_a_flight_recorder_leaves_its_verdict() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let line = format!("{}; echo $$ > ready; exec sleep 9999", dd_reads(&device.node, 10));
    let words = format!("record -d {} -o run --keep 60s --after 1h", device.node);
    if able(lab.run(&format!("{words} --duration 100ms"))).is_none() {
        return;
    }
    let mut running = until_ready(&lab, &words, &line);
    // It looks at both signals each time that it wakes.
    let status = format!("/proc/{}/status", running.child.id());
    let slept = || -> u64 {
        let status = std::fs::read_to_string(&status).unwrap();
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count.unwrap().trim().parse().unwrap()
    };
    running.signal(rustix::process::Signal::USR1);
    let before = slept();
    running.until("its look at the first signal", || (slept() > before + 9).then_some(()));
    running.signal(rustix::process::Signal::TERM);
    let ended = running.wait();
    assert_eq!(ended.code, 0, "{}", ended.err);
    for untrue in ["no verdict", "waiting until"] {
        assert!(!ended.err.contains(untrue), "{}", ended.err);
    }
    assert!(ended.out.contains("Times count from"), "{}", ended.out);
    let pid = std::fs::read_to_string(lab.path("ready")).unwrap();
    assert!(!std::path::Path::new("/proc").join(pid.trim()).exists());
}

#[test]
fn root_time_and_a_signal_end_a_capture_and_its_records_are_whole() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let timed = record(&lab, &format!("-d {} -o timed --duration 500ms", device.node), "sleep 100");
    let Some(timed) = timed else { return };
    assert_eq!(timed.code, 0, "{}", timed.err);
    assert!(RequestFile::open(&lab.path("timed/requests.parquet")).is_ok());
    let words = format!("record -d {} -o stopped", device.node);
    let niceness = "cut -d' ' -f19 /proc/self/stat > nice; : > ready; exec sleep 60";
    let running = until_ready(&lab, &words, niceness);
    // What empties the rings goes before others on a busy machine, the command does not.
    assert_eq!(std::fs::read_to_string(lab.path("nice")).unwrap(), "0\n");
    let threads = std::fs::read_dir(format!("/proc/{}/task", running.child.id())).unwrap();
    let is_ahead = |stat: &str| {
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.split(' ').nth(16) == Some("-10"))
    };
    let stats = threads.flatten().flat_map(|t| std::fs::read_to_string(t.path().join("stat")));
    assert_eq!(stats.filter(|stat| is_ahead(stat)).count(), 1);
    running.signal(rustix::process::Signal::INT);
    let stopped = running.wait();
    assert_eq!(stopped.code, 0, "{}", stopped.err);
    assert!(RequestFile::open(&lab.path("stopped/requests.parquet")).is_ok());
    drop(device);
    lab.assert_clean();
}

#[test]
fn root_a_command_that_fails_is_told_and_its_trace_is_kept() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let Some(ended) = record(&lab, &format!("-d {} -o run", device.node), "exit 7") else { return };
    ended.assert_refused(1, &["ended with exit status: 7", "the records contain its requests"]);
    assert!(lab.path("run/requests.parquet").exists());
    let missing = lab.run(&format!("record -d {} -o other -- no-such-program", device.node));
    missing.assert_refused(2, &["no-such-program", "PATH"]);
    assert!(!lab.path("other").exists());
}

#[test]
fn what_cannot_be_captured_is_refused_with_the_remedy() {
    let lab = Lab::new();
    lab.run("record -d no-such-device").assert_refused(2, &["no-such-device", "the devices are"]);
    lab.run("record --when p99>5ms").assert_refused_by_usage("--keep");
    lab.run("record --keep 5s --when p98>5ms").assert_refused_by_usage("p999");
    lab.run("record --ring-size 1k").assert_refused_by_usage("4k to 1g");
    lab.run("record --duration 5").assert_refused_by_usage("5s");
    lab.directory("run");
    lab.file("run/precious", "mine");
    lab.run("record -o run --duration 10ms")
        .assert_refused(2, &["not an empty directory", "--output"]);
    let everyone = Lab::for_everyone();
    if let Some(command) = everyone.lbolt_of_nobody("record --duration 10ms") {
        let ended = everyone.end(command);
        assert_eq!(ended.code, 1, "{}", ended.err);
        assert!(ended.sentence().contains("root"), "{}", ended.err);
        assert!(everyone.runs().is_empty());
    }
}

/// A disk that fills up while rows are written keeps what was written, readable.
#[test]
fn root_a_full_disk_keeps_what_fits() {
    let lab = Lab::new();
    if !crate::common::is_root() {
        return;
    }
    let Some(small) = Mounted::tmpfs("size=6m") else { return };
    // Numbers that do not compress: some 20 bytes a row.
    let mut state = 88_172_645_463_325_252_u64;
    let lines: String = (0..300_000u64)
        .map(|n| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let (time, offset) = (128_166_385_295_514_663 + n * 977, state % (1 << 40) / 512 * 512);
            format!("{time},db,0,Read,{offset},{},{}\n", 512 + state % 64 * 512, state % 1_000_000)
        })
        .collect();
    let trace = lab.file("trace.csv", lines);
    let output = small.seen.join("run");
    let ended = lab.run(&format!("import {} -o {}", trace.display(), output.display()));
    ended.assert_refused(1, &["no space is left", "free some space"]);
    let (rows, provenance, _) = rows(&output);
    assert!(!rows.is_empty() && rows.len() < 300_000, "{}", rows.len());
    assert_eq!(provenance.counts.requests, rows.len() as u64);
    assert!(provenance.counts.unwritten > 0);
    assert!(ended.out.contains("no space on the disk"), "{}", ended.out);
}

#[test]
fn root_a_device_that_vanishes_is_said_to_have_by_record_and_by_response() {
    if !is_root() {
        return;
    }
    // Another test may have taken the number at once, which is then said.
    let is_over = (0..10).any(|_| {
        let lab = Lab::new();
        let image = lab.file("image", vec![b'A'; 1 << 20]);
        let Some(node) = tool("losetup", &["--find", "--show", image.to_str().unwrap()]) else {
            println!("skipped: needs losetup and a free loop device");
            return true;
        };
        let ended = record(&lab, &format!("-d {node} -o run"), &format!("losetup --detach {node}"));
        if ended.is_none() {
            tool("losetup", &["--detach", &node]);
        }
        let Some(ended) = ended else { return true };
        let name = node.trim_start_matches("/dev/");
        if ended.out.contains("was reassigned") {
            return false;
        }
        let said = format!("{name} vanished during the capture");
        assert!(ended.out.contains(&said), "{}{}", ended.out, ended.err);
        let response = lab.run("response run");
        assert!(response.err.contains(&said), "{}", response.err);
        true
    });
    assert!(is_over, "each number was taken at once");
}

//! The guard seen from the command line: a device that is in use, or was not named twice, is not
//! written; exit code 3 and a sentence that says what holds it. On loop devices of our own only.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod in_use;

use crate::common::{Lab, Loop, Mounted, QUICK, reason};

/// Refused with exit code 3 and these words, for the battery and for what else writes.
fn assert_guarded(lab: &Lab, target: &str, destroy: &str, words: &[&str]) {
    for workload in ["", "--rw rewrite", "--rw read,randwrite", "--rw randrw"] {
        let ended = lab.run(&format!("throughput {target} --destroy {destroy} {workload} {QUICK}"));
        ended.assert_refused(3, words);
        assert_eq!((ended.out.as_str(), ended.err.lines().count()), ("", 1), "{}", ended.err);
    }
    assert!(lab.runs().is_empty());
}

#[test]
fn root_a_link_to_a_mounted_device_is_refused() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    if !device.format() {
        return;
    }
    let Some(mounted) = Mounted::device(&device.node) else { return };
    std::os::unix::fs::symlink(&device.node, lab.path("second")).unwrap();
    std::os::unix::fs::symlink("second", lab.path("first")).unwrap();
    assert_guarded(&lab, "first", "first", &[&device.node, "is mounted at", "unmount it"]);
    drop(mounted);
}

#[test]
fn root_a_partition_and_its_disk_stand_up_for_each_other() {
    let lab = Lab::new();
    let (Some(whole), Some(parted)) = (Loop::new(&lab, "a"), Loop::new(&lab, "b")) else { return };
    let (Some(first), Some(second)) = (whole.partition(), parted.partition()) else { return };
    if !whole.format() || crate::common::tool("mkfs.ext4", &["-q", "-F", &second]).is_none() {
        return;
    }
    let Some(_disk) = Mounted::device(&whole.node) else { return };
    assert_guarded(&lab, &first, &first, &["its whole disk loop", "is mounted at"]);
    let Some(_partition) = Mounted::device(&second) else { return };
    assert_guarded(&lab, &parted.node, &parted.node, &["its partition loop", "is mounted at"]);
}

#[test]
fn root_a_device_that_another_is_built_on_is_refused() {
    let lab = Lab::new();
    let Some(lower) = Loop::new(&lab, "image") else { return };
    let Some(upper) = Loop::over(lower.node.as_ref()) else { return };
    let name = upper.node.trim_start_matches("/dev/");
    assert_guarded(&lab, &lower.node, &lower.node, &["it is held by", name, "release it"]);
    drop(upper);
    assert!(lower.is_untouched(&lab.path("image")));
}

#[test]
fn root_a_device_is_written_only_when_named_a_second_time() {
    let lab = Lab::new();
    let (Some(device), Some(other)) = (Loop::new(&lab, "a"), Loop::new(&lab, "b")) else { return };
    let node = &device.node;
    let remedy = format!("--destroy {node}");
    assert_guarded(&lab, node, &other.node, &["names", &other.node, "another device", &remedy]);
    assert_guarded(&lab, node, "/dev/null", &["/dev/null", "not a block device"]);
    for workload in ["", "--rw rewrite", "--rw randrw,read"] {
        let ended = lab.run(&format!("throughput {node} {workload} {QUICK}"));
        ended.assert_refused(3, &["writing needs consent", &remedy]);
    }
    assert!(device.is_untouched(&lab.path("a")) && other.is_untouched(&lab.path("b")));
    if !device.format() {
        return;
    }
    let ended = lab.run(&format!("throughput {node} --rw rewrite {QUICK}"));
    ended.assert_refused(3, &["it contains the signature of ext4", &remedy]);
    assert!(lab.runs().is_empty());
}

/// With ceilings, which write too: for the sake of a program that does not even run on a device
/// they once did so without asking.
#[test]
fn root_without_consent_nothing_is_written_whatever_is_asked() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let passes = "--size 4m --runs 1 --warmup 0";
    for (workload, code) in [("read", 0), ("write", 3), ("write,read", 3), ("randread", 0)] {
        let ended = lab.run(&format!("throughput {} --rw {workload} {passes}", device.node));
        assert_eq!(ended.code, code, "{workload}: {}", ended.err);
        assert!(device.is_untouched(&lab.path("image")), "{workload}");
    }
}

#[test]
fn root_reading_needs_no_consent_even_of_a_mounted_device() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    if !device.format() {
        return;
    }
    let Some(_mounted) = Mounted::device(&device.node) else { return };
    let report = lab.measure(&format!("throughput {} --rw read --bs 64k {QUICK}", device.node));
    // The kernel reads ahead beyond the part that was requested.
    let ratio = report.value("read_64k", "device_bytes_ratio");
    assert!(ratio >= 0.98, "{ratio}");
}

#[test]
fn root_with_consent_a_device_is_rewritten_and_what_creates_files_is_not_measured() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let words = format!("throughput {0} --destroy {0}", device.node);
    let report = lab.measure(&format!("{words} {QUICK}"));
    let cells = report.cells();
    let measured = |program: &str| {
        cells.iter().any(|(_, name, verdict)| name == program && verdict != "not_measured")
    };
    assert_eq!(cells.len(), 4);
    assert!(measured("read_8192") && measured("rewrite_8192"), "{cells:?}");
    for program in ["write_4096", "write_8192"] {
        let rate = report.finding(program, "rate_bytes_per_s").unwrap();
        assert_eq!((&rate["verdict"], &rate["value"]), (&"not_measured".into(), &().into()));
        assert!(reason(rate).contains("creates files"), "{rate}");
    }
    assert!(!device.is_untouched(&lab.path("image")), "it was written indeed");

    let report = lab.measure(&format!("{words} --rw randwrite --bs 8k --iodepth 4 {QUICK}"));
    let ratio = report.value("randwrite_8k_iodepth4", "device_bytes_ratio");
    assert!((0.98..1.25).contains(&ratio), "{ratio}");
    drop(device);
    lab.assert_clean();
}

/// What nobody else may have open at the same time.
fn claim(node: &str) -> rustix::io::Result<std::os::fd::OwnedFd> {
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL;
    rustix::fs::open(node, flags, rustix::fs::Mode::empty())
}

/// Another system is measured first, and meanwhile somebody takes the device.
#[test]
fn root_what_is_claimed_after_it_was_examined_is_refused_too() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let words = format!("throughput d {0} --destroy {0} --rw randwrite", device.node);
    let mut running = lab.start(lab.lbolt(&format!("{words} --size 4m --runs 50 --no-ceiling")));
    running.until("the run", || lab.runs().pop());
    let user = claim(&device.node).unwrap();
    let ended = running.wait();
    ended.assert_refused(3, &[&device.node, "it is claimed by the kernel", "release it"]);
    assert!(device.is_untouched(&lab.path("image")));
    assert_eq!(lab.runs().len(), 1, "what was measured is kept");
    drop((user, device));
    lab.assert_clean();
}

/// A second loop device over the file, set up and mounted while lbolt holds the first: nobody can
/// prevent that, but the next pass sees it. If lbolt sees the twin before the user has it, lbolt
/// claims it, and the user tries again with another.
#[test]
fn root_a_twin_that_is_mounted_meanwhile_stops_the_run() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let words = format!("throughput {0} --destroy {0} --rw read,randwrite", device.node);
    let passes = "--size 4m --runs 1000 --warmup 0 --no-ceiling";
    let mut running = lab.start(lab.lbolt(&format!("{words} {passes}")));
    running.until("the claim", || claim(&device.node).err());
    let mut lost = Vec::new();
    let (user, twin) = loop {
        let Some(twin) = Loop::over(&lab.path("image")) else { return };
        match claim(&twin.node) {
            Ok(user) => break (user, twin),
            Err(_) => lost.push(twin),
        }
        assert!(lost.len() < 20, "lbolt was first {} times", lost.len());
    };
    let ended = running.wait();
    ended.assert_refused(3, &["over the same file, is claimed", "release it"]);
    drop((user, twin, lost, device));
    lab.assert_clean();
}

#[test]
fn root_nothing_is_exported_onto_a_disk() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    lab.file("trace.csv", "128166385295514663,db,0,Read,4096,4096,1000\n");
    std::os::unix::fs::symlink(&device.node, lab.path("out.csv")).unwrap();
    for output in [device.node.as_str(), "out.csv"] {
        let ended = lab.run(&format!("export trace.csv --output-format msr -o {output}"));
        ended.assert_refused(1, &[output, "it is a block device"]);
    }
    assert!(device.is_untouched(&lab.path("image")));
}

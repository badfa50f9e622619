//! Fresh file systems: each kind is made, measured past every cache, and gone without a trace.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, QUICK, Report, can_make, is_root, key, reason};
use model::record::{Cold, Verdict};
use std::collections::BTreeSet;

/// Measures a fresh file system with its image in `images`; none, with a sentence, where this
/// machine cannot make it.
fn measure(lab: &Lab, target: &str, workload: &str) -> Option<Report> {
    let name = target.split(',').next().unwrap();
    if !is_root() || !can_make(name) {
        return None;
    }
    lab.directory("images");
    let words = format!("throughput fresh:{target},at=images {workload} --format json");
    let ended = lab.run(&words);
    if ended.code == 2 && ended.err.contains("this kernel has no") {
        println!("skipped: {}", ended.sentence());
        return None;
    }
    assert_eq!(ended.code, 0, "{words}: {}", ended.err);
    assert_eq!(std::fs::read_dir(lab.path("images")).unwrap().count(), 0, "no image has a name");
    lab.assert_clean();
    Some(ended.report())
}

/// Reads and writes reach the loop device, and the disk beneath it, byte for byte.
fn assert_measured(target: &str) {
    let lab = Lab::new();
    let workload = format!("--rw read,rewrite --bs 64k {}", QUICK.replace("4m", "8m"));
    let Some(report) = measure(&lab, target, &workload) else { return };
    for program in ["read_64k", "rewrite_64k"] {
        let ratio = report.value(program, "device_bytes_ratio");
        assert!((0.98..1.25).contains(&ratio), "{target}, {program}: {ratio}");
        // The disk beneath serves others too, so that more is nothing to wonder at. A hole in
        // the image or a cache below the loop device would make it less.
        if report.finding(program, "lowest_bytes_ratio").is_some() {
            let lowest = report.value(program, "lowest_bytes_ratio");
            assert!(lowest >= 0.9, "{target}, {program}: {lowest}");
        }
    }
    assert!(lab.samples().iter().all(|s| s.cold == Cold::Remount && s.bytes == 8 << 20));
}

#[test]
fn root_ext4_is_measured_at_each_block_size() {
    for block in ["1k", "2k", "4k"] {
        assert_measured(&format!("ext4,size=64m,block={block}"));
    }
}

#[test]
fn root_ext4_in_clusters_is_measured() {
    assert_measured("ext4-bigalloc,size=64m");
}

#[test]
fn root_xfs_is_measured() {
    assert_measured("xfs,size=304m");
}

#[test]
fn root_btrfs_is_measured() {
    assert_measured("btrfs,size=256m");
}

#[test]
fn root_the_devices_beneath_an_image_are_counted() {
    let lab = Lab::new();
    let directory = lab.path("d");
    let tree = host::device::Tree::system();
    if tree.device_of_path(&directory).unwrap().is_none() {
        println!("skipped: needs a block device beneath {}", directory.display());
        return;
    }
    let Some(report) = measure(&lab, "ext4,size=64m", &format!("--rw read {QUICK}")) else {
        return;
    };
    assert!(report.value("read_4k", "lowest_bytes_ratio") >= 0.9);
}

#[test]
fn root_a_matrix_of_blocks_and_drives_has_a_column_for_each() {
    let lab = Lab::new();
    if !is_root() || !can_make("xfs") {
        return;
    }
    let target = "fresh:xfs,block=4k,block=8k,drives=1,drives=2,size=304m,at=d";
    let ended = lab.run(&format!("throughput {target} --rw read {QUICK} --format json"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    let report = ended.report();
    let rates = report.findings().iter().filter(|f| f["quantity"] == "rate_bytes_per_s");
    let mut columns = Vec::new();
    for rate in rates {
        let subject = |name: &str| key(rate, name);
        columns.push((subject("target"), subject("drives")));
        let reason = reason(rate);
        // 6.12 was the first kernel to mount blocks larger than its pages.
        let is_refused = subject("target") == "xfs:8k" && reason.contains("the kernel refuses");
        assert_eq!(rate["value"].is_null(), is_refused, "{rate}");
        assert_eq!(reason.contains("the 2 drives share"), subject("drives") == "2", "{rate}");
    }
    let expected = [("xfs:4k", "1"), ("xfs:4k", "2"), ("xfs:8k", "1"), ("xfs:8k", "2")];
    assert_eq!(columns, expected.map(|(target, drives)| (target.to_owned(), drives.to_owned())));
    for sample in lab.samples().iter().filter(|s| s.verdict != Verdict::NotMeasured) {
        assert_eq!((sample.jobs, sample.bytes), (sample.drives, sample.drives * (4 << 20)));
    }
    lab.assert_clean();
}

#[test]
fn root_drives_on_one_disk_are_marked_in_the_table() {
    let lab = Lab::new();
    if !is_root() || !can_make("ext4") {
        return;
    }
    let words = format!("throughput fresh:ext4,size=32m,drives=2,at=d --rw read --all {QUICK}");
    let ended = lab.run(&words);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let row = ended.out.lines().find(|line| line.starts_with("read_4k")).unwrap();
    // Marks are numbered where there are other doubts: the machine may be busy.
    let note = ended.out.lines().find(|line| line.contains("the 2 drives share")).unwrap();
    let mark = note.split(' ').next().unwrap().strip_prefix('*').unwrap();
    let marks = row.rsplit_once(")*").unwrap_or_else(|| panic!("{}", ended.out)).1.trim();
    assert!(marks.split(',').any(|number| number == mark), "{}", ended.out);
    lab.assert_clean();
}

/// A stand-in for mkfs calls the true one and then looks at the image, which has no name but is
/// still among the descriptors of `lbolt`; the loop device is looked at while it is there.
#[test]
fn root_the_image_is_whole_and_its_loop_device_direct() {
    let lab = Lab::new();
    if !is_root() || !can_make("ext4") {
        return;
    }
    lab.script(
        "mkfs.ext4",
        "PATH=$PATH:/usr/sbin:/sbin\n\
         self=$(pwd); PATH=$(echo \"$PATH\" | sed \"s|^$self:||\")\n\
         mkfs.ext4 \"$@\" || exit\n\
         for fd in /proc/$PPID/fd/*; do\n\
         case $(readlink \"$fd\") in \"$self\"/d/*) stat -L -c '%b %s' \"$fd\" >>\"$self/seen\" ;; \
         esac\n\
         done",
    );
    let mut command = lab.lbolt(
        "throughput fresh:ext4,size=64m,at=d --rw read --size 4m --runs 1 --warmup 0 \
         --no-ceiling --runtime 60s --time_based",
    );
    let path = std::env::var("PATH").unwrap_or_default();
    command.env(
        "PATH",
        format!("{}:{path}", lab.path("").display().to_string().trim_end_matches('/')),
    );
    let mut running = lab.start(command);
    // The run is in its pass: the loop device is read.
    let device = running.until("the loop device", || lab.loops().pop().map(|(_, path)| path));
    let flag = |name: &str| std::fs::read_to_string(device.join("loop").join(name)).unwrap();
    assert_eq!(flag("dio").trim(), "1");
    assert_eq!(flag("autoclear").trim(), "1");
    let seen = running.until("a look at the image", || {
        std::fs::read_to_string(lab.path("seen")).ok().filter(|seen| seen.ends_with('\n'))
    });
    running.signal(rustix::process::Signal::INT);
    assert_eq!(running.wait().code, 130);
    let sizes: BTreeSet<Vec<u64>> =
        seen.lines().map(|l| l.split(' ').map(|n| n.parse().unwrap()).collect()).collect();
    let size = 64 << 20;
    assert!(!sizes.is_empty());
    for blocks_and_bytes in sizes {
        assert_eq!(blocks_and_bytes[1], size);
        assert!(blocks_and_bytes[0] * 512 >= size, "{blocks_and_bytes:?}: the image has holes");
    }
    lab.assert_clean();
}

//! What cannot be done is refused with exit code 2 and one sentence that names what is at fault
//! and what would do; and nothing is left behind.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Ended, Lab, Loop, Mounted, QUICK, can_make, is_root, reason};

/// Exit code 2, nothing on standard output, one sentence, no run, nothing left.
fn assert_bad(lab: &Lab, ended: &Ended, words: &[&str]) {
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert_eq!(ended.out, "");
    // The parser of options adds hints in lines of their own.
    let is_parsers = ended.err.starts_with("error: ");
    if !is_parsers {
        ended.assert_refused(2, words);
        assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    }
    for word in words {
        assert!(ended.err.contains(word), "no \"{word}\" in: {}", ended.err);
    }
    assert!(lab.runs().is_empty());
    lab.assert_clean();
}

/// Exit code 2 with the reason as the last line, no run, nothing left: what only the attempt shows.
fn assert_unavailable(lab: &Lab, ended: &Ended, words: &[&str]) {
    ended.assert_refused(2, &[&["nothing was measured"], words].concat());
    assert_eq!(ended.err.lines().count(), 2, "the plan, and one sentence: {}", ended.err);
    assert!(lab.runs().is_empty(), "{:?}", lab.runs());
    lab.assert_clean();
}

/// Wrong words, and what must be in the refusal.
pub(crate) const NONSENSE: &[(&str, &[&str])] = &[
    ("measure d", &["measure", "--help"]),
    ("throughput", &["TARGET"]),
    ("throughput d --rw read --bs 4q", &["--bs", "4q", "KiB"]),
    ("throughput d --rw read --bs 2g", &["bs", "1g"]),
    ("throughput d --size 0", &["--size", "out of range"]),
    ("throughput d --size -4m", &["'-4'"]),
    ("throughput d --rw read --runtime 5", &["--runtime", "5s"]),
    ("throughput d --rw read --time_based", &["--runtime"]),
    ("throughput d --rw scan", &["--rw", "randread"]),
    ("throughput d --rw read --iodepth 4 --ioengine psync", &["iodepth", "io_uring"]),
    ("throughput d --rw read --ioengine io_urng", &["--ioengine", "'io_uring'"]),
    ("throughput d --rw write --ioengine mmap", &["ioengine", "use rewrite"]),
    ("throughput d --rw read --direct --ioengine stdio", &["ioengine", "psync"]),
    ("throughput d --rw read --ioengine io_uring_iopoll", &["ioengine", "--direct"]),
    ("throughput d --rw read --ioengine copy_file_range", &["ioengine", "psync"]),
    ("throughput d --rw read --bs 1000 --direct", &["bs", "512"]),
    ("throughput d --rw read --rate_iops 0", &["rate_iops", "above 0"]),
    ("throughput d --warmup 4294967295", &["--warmup", "1000"]),
    ("throughput d --steady=nan", &["--steady", "percentage"]),
    ("throughput nowhere", &["TARGET nowhere", "name a directory"]),
    ("throughput file", &["TARGET file", "neither a directory nor a block device"]),
    ("throughput fresh:zfs", &["fresh:zfs", "known are ext4"]),
    ("throughput fresh:ext4,blocks=4k", &["\"blocks\"", "the keys are block"]),
    ("throughput fresh:ext4,size=1m", &["size=1m", "16m"]),
    ("throughput fresh:ext4,size=64m --size 65m", &["--size", "size=64m"]),
    ("throughput fresh:ext4,at=nowhere", &["at=nowhere", "existing"]),
    ("throughput model:vax780", &["TARGET model:vax780", "--list-models"]),
    ("throughput d --destroy /dev/null", &["--destroy /dev/null", "leave the option out"]),
    ("survey file", &["TARGET file", "lbolt throughput"]),
    // As fio's users type it.
    ("throughput d --rw read --bs 4kb", &["--bs", "4096 bytes in fio", "4000", "write 4k or"]),
    ("throughput d --size 1MB", &["--size", "1048576 bytes in fio", "write 1m or 1000000"]),
    ("throughput d --rw read --size 100", &["--size 100", "smaller than one block", "--bs 4k"]),
    ("throughput d --size 100", &["--size 100", "smaller than one block", "--bs 4k"]),
    ("throughput d --rw read --size 10000", &["--size 10000", "--bs 4k", "give 8k or 12k"]),
    ("overhead d --size 100", &["--size 100", "give 1m"]),
    ("throughput d --rw read --time 30", &["'--time'", "use '--runtime'"]),
    ("throughput d --rw=read --blocksize=4k", &["use '--bs'"]),
    ("throughput d --rw=read --block-size=4k", &["use '--bs'"]),
    ("throughput d --o_direct", &["use '--direct'"]),
    ("throughput d --rw read --io_depth 4", &["use '--iodepth'"]),
    ("throughput d --rw read --ioengine aio", &["use the value 'libaio'"]),
    ("record -d nowhere", &["\"nowhere\"", "Name a device, its node in /dev"]),
    ("record --slower-than 500ns", &["--slower-than", "from 1us to 100 s"]),
    ("record --slower-than 1h", &["--slower-than", "from 1us to 100 s"]),
    ("record --slower-than 1", &["--slower-than", "\"1\""]),
    ("record --slower-than 1ms --keep 10s", &["--slower-than", "--keep"]),
    ("throughput d --programs /dev/zero", &["--programs /dev/zero", "larger than 16 MiB"]),
    ("runs show nothing", &["nothing", "lbolt runs list"]),
];

/// The same of `overhead`: wrong words, and what must be in the refusal.
pub(crate) const NONSENSE_OF_OVERHEAD: &[(&str, &[&str])] = &[
    ("overhead", &["TARGET"]),
    ("overhead nowhere", &["TARGET nowhere", "name a directory"]),
    ("overhead fresh:ext4,drives=2", &["drives=2", "one drive"]),
    ("overhead fresh:ext4,block=1k,block=4k", &["TARGET fresh:ext4", "several systems"]),
    ("overhead d --ioengine io_urng", &["--ioengine", "'io_uring'"]),
    ("overhead d --ioengine mmap --direct 1", &["mmap", "page cache"]),
    ("overhead d --ioengine io_uring_iopoll --direct 0", &["io_uring_iopoll", "--direct"]),
    ("overhead d --ioengine psync --iodepth 4", &["psync", "one request"]),
    ("overhead d --ioengine copy_file_range --rw read", &["copy_file_range", "randrw"]),
    ("overhead d --rw write", &["rewrite"]),
    ("overhead d --direct 2", &["--direct", "neither 0 nor 1"]),
    ("overhead d --direct 1 --bs 1000", &["--bs 1000", "512", "--direct 0"]),
    ("overhead d --bs 1m --iodepth 128 --size 64m", &["--iodepth 128", "--size"]),
    ("overhead d --bs 4q", &["--bs", "4q", "KiB"]),
    ("overhead d --test-interval 5", &["--test-interval", "5s"]),
    ("overhead d --compute matrix", &["--compute", "scalar"]),
    ("overhead d --account name", &["--account", "idle-load"]),
    ("overhead d --destroy /dev/nothing", &["--destroy", "leave the option out"]),
];

#[test]
fn nonsense_is_refused_with_the_remedy() {
    let lab = Lab::new();
    lab.file("file", "");
    for (words, expected) in NONSENSE {
        assert_bad(&lab, &lab.run(words), expected);
    }
}

#[test]
fn nonsense_of_the_overhead_room_is_refused_with_the_remedy() {
    let lab = Lab::new();
    for (words, said) in NONSENSE_OF_OVERHEAD {
        assert_bad(&lab, &lab.run(words), said);
    }
}

#[test]
fn a_routine_that_the_machine_refuses_whole_is_told() {
    let lab = Lab::new();
    // ext4 and tmpfs have no RWF_NOWAIT for buffered writes.
    let ended = lab.run(
        "overhead d --ioengine pvsync2_nowait --rw randwrite --direct 0 --size 4m \
        --runs 1 --account none",
    );
    if ended.code == 0 {
        println!("skipped: this file system has RWF_NOWAIT for buffered writes");
        return;
    }
    ended.assert_refused(2, &["nothing was measured", "use pvsync2"]);
    assert!(lab.runs().is_empty(), "{:?}", lab.runs());
    lab.assert_clean();
}

#[test]
fn what_is_larger_than_the_room_is_refused() {
    let lab = Lab::new();
    let cases: [(&str, &[&str]); 4] = [
        ("throughput d --size 4000t", &["TARGET d", "smaller --size"]),
        ("throughput d --rw write --size 40t --numjobs 512", &["TARGET d", "smaller --size"]),
        (
            "throughput fresh:ext4,size=4000t,drives=64",
            &["fresh:ext4", "64 images of 4000t", "at="],
        ),
        ("throughput fresh:ext4 --size 4000t", &["fresh:ext4", "smaller --size"]),
    ];
    for (words, expected) in cases {
        assert_bad(&lab, &lab.run(words), expected);
    }
}

#[test]
fn one_place_is_not_measured_under_two_names() {
    let lab = Lab::new();
    std::os::unix::fs::symlink("d", lab.path("link")).unwrap();
    for words in ["d ./d", "d link", "fresh:xfs fresh:xfs,block=4k", "fresh:xfs,drives=2,drives=2"]
    {
        let ended = lab.run(&format!("throughput {words}"));
        assert_bad(&lab, &ended, &["on the same device"]);
    }
}

#[test]
fn root_one_device_is_not_measured_under_two_names() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    std::os::unix::fs::symlink(&device.node, lab.path("link")).unwrap();
    let ended = lab.run(&format!("throughput {} link --rw read", device.node));
    drop(device);
    assert_bad(&lab, &ended, &["link", "on the same device"]);
}

#[test]
fn a_program_file_that_is_none_is_refused_by_name() {
    let lab = Lab::new();
    assert_bad(&lab, &lab.run("throughput d --programs p"), &["--programs p", "No such file"]);
    let read = "[[program]]\nname = \"a\"\nrw = \"read\"\n";
    let cases = [
        (format!("{read}blocksize = 4096\n"), "unknown field `blocksize`"),
        (format!("{read}{read}"), "twice"),
        (format!("{read}iodepth = 0\n"), "iodepth must be from 1"),
        ("program = []".into(), "no [[program]]"),
        (String::new(), "missing field `program`"),
        ("[[".into(), "line 1"),
    ];
    for (text, expected) in cases {
        lab.file("p", text);
        assert_bad(&lab, &lab.run("throughput d --programs p"), &["--programs p", expected]);
    }
}

#[test]
fn a_run_is_not_written_over_and_its_place_is_named() {
    let lab = Lab::new();
    assert_eq!(lab.run(&format!("throughput d --rw read {QUICK} -o kept")).code, 0);
    let before = std::fs::read(lab.path("kept/run.json")).unwrap();
    let again = lab.run(&format!("throughput d --rw read {QUICK} -o kept"));
    again.assert_refused(
        2,
        &["failed to create a run in kept", "not an empty directory", "--output"],
    );
    assert_eq!(std::fs::read(lab.path("kept/run.json")).unwrap(), before);
    lab.file("file", "mine");
    let no_directory = lab.run(&format!("throughput d --rw read {QUICK} -o file"));
    no_directory.assert_refused(2, &["failed to create a run in file", "--output"]);
    assert_eq!(std::fs::read(lab.path("file")).unwrap(), b"mine");
    lab.assert_clean();
}

#[test]
fn a_command_line_of_any_bytes_is_kept() {
    use std::os::unix::ffi::OsStrExt;
    let lab = Lab::new();
    let mut command = lab.lbolt(&format!("throughput d --rw read {QUICK} -o"));
    command.arg(std::ffi::OsStr::from_bytes(b"runs/caf\xe9"));
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(lab.samples().len(), 1);
}

#[test]
fn a_directory_that_is_not_ours_is_refused() {
    let lab = Lab::for_everyone();
    lab.directory("theirs");
    lab.allow("theirs", 0o555);
    let Some(command) = lab.lbolt_of_nobody("throughput theirs") else { return };
    assert_bad(&lab, &lab.end(command), &["TARGET theirs", "choose a writable directory"]);
}

#[test]
fn root_a_read_only_file_system_is_refused() {
    let lab = Lab::new();
    if !is_root() {
        return;
    }
    let Some(mounted) = Mounted::tmpfs("ro") else { return };
    let ended = lab.run(&format!("throughput {}", mounted.seen.display()));
    assert_bad(&lab, &ended, &["TARGET", "Read-only", "choose a writable directory"]);
}

#[test]
fn without_root_a_fresh_file_system_is_not_measured_and_a_directory_is() {
    let lab = Lab::for_everyone();
    lab.allow("d", 0o777);
    let words = format!("throughput fresh:ext4,size=64m --rw read {QUICK}");
    let Some(alone) = lab.lbolt_of_nobody(&words) else { return };
    assert_unavailable(&lab, &lab.end(alone), &["fresh: needs root", "name a directory"]);

    let words = format!("throughput fresh:ext4,size=64m d --rw read {QUICK} --format json");
    let ended = lab.end(lab.lbolt_of_nobody(&words).unwrap());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let report = ended.report();
    let cells = report.cells();
    assert_eq!((cells[0].0.as_str(), cells[0].2.as_str()), ("ext4:4k", "not_measured"));
    assert_eq!(cells[1].0, "d");
    assert_ne!(cells[1].2, "not_measured");
    let rates = report.findings().iter().filter(|f| f["quantity"] == "rate_bytes_per_s");
    let values: Vec<_> = rates.map(|f| (f["value"].as_f64(), reason(f))).collect();
    assert!(values[0].0.is_none() && values[0].1.contains("needs root"), "{values:?}");
    assert!(values[1].0.unwrap() > 0.0);
    lab.assert_clean();
}

#[test]
fn root_a_block_size_that_mkfs_or_the_kernel_refuses_is_told_in_their_words() {
    let lab = Lab::new();
    if !is_root() {
        return;
    }
    let cases: [(&str, &str, &[&str]); 3] = [
        ("ext4", "size=16m,options=nonsense", &["the kernel refuses", "option nonsense"]),
        ("xfs", "size=304m,block=512", &["mkfs.xfs refuses block=512"]),
        ("ext4", "size=64m,block=64k", &["the kernel refuses to mount ext4 with block=64k"]),
    ];
    for (file_system, options, expected) in cases {
        if !can_make(file_system) {
            continue;
        }
        let target = format!("fresh:{file_system},at=d,{options}");
        let ended = lab.run(&format!("throughput {target} --rw read {QUICK}"));
        if ended.code == 0 && options.contains("64k") {
            println!("skipped: this kernel mounts large blocks");
            continue;
        }
        assert_unavailable(&lab, &ended, expected);
    }
}

#[test]
fn root_an_mkfs_that_is_missing_is_told_with_its_package() {
    let lab = Lab::new();
    if !is_root() {
        return;
    }
    // In a mount namespace of its own, the system's programs are out of sight.
    let hide = "mount -t tmpfs none /usr/sbin && { [ -L /sbin ] || mount -t tmpfs none /sbin; } && \
                echo hidden >&2 && PATH=/nowhere && exec \"$@\"";
    let mut command = lab.command("unshare");
    command.args(["-m", "sh", "-c", hide, "sh", env!("CARGO_BIN_EXE_lbolt"), "throughput"]);
    command.args("fresh:ext4,size=64m,at=d --rw read".split_whitespace());
    command.args(QUICK.split_whitespace());
    let ended = lab.end(command);
    if !ended.err.starts_with("hidden") {
        println!("skipped: needs unshare and mount");
        return;
    }
    let words = ["nothing was measured", "mkfs.ext4 is not installed", "package e2fsprogs"];
    ended.assert_refused(2, &words);
    assert!(lab.runs().is_empty());
    lab.assert_clean();
}

#[test]
fn what_cannot_be_read_is_told_as_what_it_is() {
    let lab = Lab::for_everyone();
    lab.directory("run");
    lab.file("run/requests.parquet", "PAR1");
    lab.allow("run/requests.parquet", 0o000);
    for command in ["response run", "export run --output-format msr -o x", "sql --requests run"] {
        let Some(command) = lab.lbolt_of_nobody(command) else { return };
        let ended = lab.end(command);
        ended.assert_refused(2, &["run/requests.parquet", "Permission denied"]);
        assert!(!ended.err.contains("directory"), "{}", ended.err);
    }
    lab.allow("run/requests.parquet", 0o644);
    lab.file("run/requests.parquet", "PA");
    lab.run("response run").assert_refused(2, &["run/requests.parquet", "it is not Parquet"]);
}

#[test]
fn a_directory_on_no_block_device_is_told_as_one() {
    let lab = Lab::new();
    let ended = lab.run("record -d /proc --dry-run");
    ended.assert_refused(2, &["\"/proc\"", "block device of", "name the device beneath it"]);
}

#[test]
fn root_a_block_device_is_written_in_place_by_write_and_only_with_leave() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let words =
        format!("throughput {} --rw write --size 4m --runs 1 --warmup 0 --no-ceiling", device.node);
    lab.run(&words).assert_refused(3, &["--destroy"]);
    assert!(device.is_untouched(&lab.path("image")));
    let ended = lab.run(&format!("{words} --destroy {} --format json", device.node));
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.report().value("write_4k", "rate_bytes_per_s") > 0.0);
    assert!(!device.is_untouched(&lab.path("image")));
    drop(device);
    lab.assert_clean();
}

#[test]
fn switches_take_fios_values() {
    let lab = Lab::new();
    for (words, direct) in
        [("--direct=1", true), ("--direct=0", false), ("--direct", true), ("", false)]
    {
        let ended = lab
            .run(&format!("throughput d --rw read {words} --runtime 1s --time_based=1 --dry-run"));
        assert_eq!(ended.code, 0, "{}", ended.err);
        let plan: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
        let program = &plan["programs"][0];
        assert_eq!((&program["direct"], &program["time_based"]), (&direct.into(), &true.into()));
    }
}

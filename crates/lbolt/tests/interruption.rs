//! ^C, a kill, a full disk and a place that vanishes: whole cells are kept, and nothing is left,
//! or `doctor --clean` finds and removes it.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, Mounted, QUICK, Running, can_make, cpu_ticks, is_root, wait_for};
use model::record::{Sample, Verdict};
use rustix::process::Signal;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

/// A program that is soon done, one that goes on until it is stopped, and one that is not reached.
const PROGRAMS: &str = "\
[[program]]\nname = \"short\"\nrw = \"write\"\nsize = \"1m\"\n\
[[program]]\nname = \"long\"\nrw = \"rewrite\"\nsize = \"1m\"\nruntime = \"60s\"\ntime_based = \
true\n\
[[program]]\nname = \"never\"\nrw = \"read\"\nsize = \"1m\"\n";

/// A run of these programs that has done with the first.
fn in_its_second_cell(lab: &Lab, targets: &str) -> Running {
    lab.file("programs", PROGRAMS);
    let words = format!("throughput {targets} --programs programs {QUICK} -o runs/r");
    let mut running = lab.start(lab.lbolt(&words));
    running.until("the first cell", || (!samples(lab).is_empty()).then_some(()));
    running
}

/// What is in the run's records, which may not be there yet.
fn samples(lab: &Lab) -> Vec<Sample> {
    model::record::read(&lab.path("runs/r/samples.parquet")).unwrap_or_default()
}

fn state(lab: &Lab) -> String {
    let text = std::fs::read_to_string(lab.path("runs/r/run.json")).unwrap();
    let info: serde_json::Value = serde_json::from_str(&text).unwrap();
    info["state"].as_str().unwrap().to_owned()
}

fn assert_only_the_first_cell(lab: &Lab) {
    let programs: Vec<_> = samples(lab).into_iter().map(|s| (s.program, s.verdict)).collect();
    assert_eq!(programs.len(), 1, "{programs:?}");
    assert_eq!(programs[0].0, "short");
    assert_ne!(programs[0].1, Verdict::NotMeasured);
}

fn assert_stops(lab: &Lab, target: &str, signal: Signal) {
    let running = in_its_second_cell(lab, target);
    running.signal(signal);
    let ended = running.wait();
    ended.assert_refused(130, &["interrupted", "complete cells"]);
    assert!(ended.out.contains("short") && !ended.out.contains("long "), "{}", ended.out);
    assert_only_the_first_cell(lab);
    assert_eq!(state(lab), "interrupted");
    lab.assert_clean();
}

/// Where a run has its files: named after the run and the process.
fn scratch_of(running: &Running, directory: &Path, run: &str) -> PathBuf {
    directory.join(format!(".lbolt-scratch-{run}-{}", running.child.id()))
}

#[test]
fn whole_cells_are_kept_and_nothing_else_after_an_interruption() {
    assert_stops(&Lab::new(), "d", Signal::INT);
    assert_stops(&Lab::new(), "d", Signal::TERM);
}

#[test]
fn root_an_interruption_takes_the_fresh_file_system_with_it() {
    let lab = Lab::new();
    if is_root() && can_make("ext4") {
        assert_stops(&lab, "fresh:ext4,size=32m,at=d,drives=2", Signal::INT);
    }
}

#[test]
fn passes_of_a_cell_that_was_interrupted_are_not_kept() {
    let lab = Lab::new();
    lab.file("programs", PROGRAMS.replace("runtime = \"60s\"", "runtime = \"100ms\""));
    let words = "throughput d --programs programs --size 1m --warmup 0 --runs 100 --no-ceiling";
    let mut command = lab.lbolt(words);
    command.args(["-o", "runs/r"]);
    let mut running = lab.start(command);
    running.until("the first cell", || (!samples(&lab).is_empty()).then_some(()));
    // Some passes of the second cell.
    std::thread::sleep(std::time::Duration::from_millis(500));
    running.signal(Signal::INT);
    assert_eq!(running.wait().code, 130);
    let samples = samples(&lab);
    assert_eq!(samples.len(), 100);
    assert!(samples.iter().all(|s| s.program == "short"));
    lab.assert_clean();
}

/// ^C at a terminal reaches mkfs too, whose end must not be taken for a refusal.
#[test]
fn root_an_interruption_in_mkfs_is_one() {
    let lab = Lab::new();
    if !is_root() || !can_make("ext4") {
        return;
    }
    lab.script("mkfs.ext4", "echo >began; exec sleep 60");
    let mut command =
        lab.lbolt(&format!("throughput fresh:ext4,size=16m,at=d --rw read {QUICK} -o runs/r"));
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", lab.path("d/..").canonicalize().unwrap().display()));
    let mut running = lab.start({
        command.process_group(0);
        command
    });
    running.until("mkfs", || lab.path("began").exists().then_some(()));
    let group = rustix::process::Pid::from_child(&running.child);
    rustix::process::kill_process_group(group, Signal::INT).unwrap();
    running.wait().assert_refused(130, &["interrupted"]);
    assert_eq!((state(&lab).as_str(), samples(&lab).len()), ("interrupted", 0));
    lab.assert_clean();
}

#[test]
fn what_a_killed_run_leaves_is_found_and_removed_and_nothing_else() {
    let lab = Lab::new();
    let living = Lab::new();
    let mut alive = in_its_second_cell(&living, "d");
    let running = in_its_second_cell(&lab, "d");
    let scratch = scratch_of(&running, &lab.path("d"), "r");
    let living_scratch = scratch_of(&alive, &living.path("d"), "r");
    running.kill_with_its_caretaker();
    assert_eq!(running.wait().code, -9);
    assert_only_the_first_cell(&lab);
    assert_eq!(state(&lab), "running");
    assert!(scratch.join("file.0").exists());

    // Neither what only looks like scratch, nor a living run's, nor what does not lie in scratch.
    lab.file("d/file.0", "mine");
    std::fs::create_dir(lab.path("d/.lbolt-scratch-unknown")).unwrap();
    let note = std::fs::read_dir(living.notes()).unwrap().next().unwrap().unwrap();
    std::fs::copy(note.path(), lab.notes().join(note.file_name())).unwrap();

    let doctor = lab.run("doctor");
    assert_eq!(doctor.code, 0, "{}", doctor.err);
    assert!(doctor.out.contains(&format!("left {}", scratch.display())), "{}", doctor.out);
    assert!(doctor.out.contains("1 killed run(s)"), "{}", doctor.out);
    assert!(scratch.exists(), "looking removes nothing");

    // Another run by that name has scratch of its own.
    let again = lab.run(&format!("throughput d --rw read {QUICK} -o other/r"));
    assert_eq!(again.code, 0, "{}", again.err);
    assert!(scratch.join("file.0").exists());

    let clean = lab.run("doctor --clean");
    assert_eq!(clean.code, 0, "{}", clean.err);
    assert_eq!(clean.out.lines().count(), 1, "{}", clean.out);
    assert!(clean.out.starts_with(&format!("removed {}", scratch.display())), "{}", clean.out);
    assert!(!scratch.exists());
    assert_eq!(std::fs::read(lab.path("d/file.0")).unwrap(), b"mine");
    assert!(lab.path("d/.lbolt-scratch-unknown").exists());
    assert!(living_scratch.join("file.0").exists());
    assert!(alive.child.try_wait().unwrap().is_none());
    assert_only_the_first_cell(&lab);

    let nothing = lab.run("doctor --clean");
    assert_eq!(nothing.code, 0);
    assert!(nothing.out.starts_with("Nothing to clean"), "{}", nothing.out);
    alive.signal(Signal::INT);
    assert_eq!(alive.wait().code, 130);
    living.assert_clean();
}

#[test]
fn one_foreign_file_keeps_its_scratch_and_nobody_elses() {
    let lab = Lab::new();
    // Three, for in which order they are cleaned is the file system's choice.
    let scratches = [0, 1, 2].map(|number| {
        let words =
            format!("throughput d --rw read --runtime 60s --time_based {QUICK} -o r{number}");
        let mut running = lab.start(lab.lbolt(&words));
        let scratch = scratch_of(&running, &lab.path("d"), &format!("r{number}"));
        running.until("scratch", || scratch.join("file.0").exists().then_some(()));
        running.kill_with_its_caretaker();
        running.wait();
        scratch
    });
    let foreign = scratches[1].join("precious");
    std::fs::write(&foreign, "mine").unwrap();
    let clean = lab.run("doctor --clean");
    clean.assert_refused(1, &["failed to remove", &scratches[1].display().to_string()]);
    assert_eq!(scratches.each_ref().map(|s| s.exists()), [false, true, false]);
    assert_eq!(std::fs::read(&foreign).unwrap(), b"mine");

    std::fs::remove_file(&foreign).unwrap();
    assert_eq!(lab.run("doctor --clean").code, 0);
    lab.assert_clean();
}

#[test]
fn root_a_killed_run_leaves_no_device_no_mount_and_no_file() {
    let lab = Lab::new();
    if !is_root() || !can_make("ext4") {
        return;
    }
    let running = in_its_second_cell(&lab, "fresh:ext4,size=32m,drives=2,at=d");
    assert_eq!(lab.loops().len(), 2, "the test sees what it is to miss");
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, -9);
    lab.assert_clean();
    assert_eq!(std::fs::read_dir(lab.path("d")).unwrap().count(), 0);
    assert_only_the_first_cell(&lab);
}

#[test]
fn scratch_that_vanishes_is_an_error_and_no_panic() {
    let lab = Lab::new();
    let words = "throughput d --rw write --size 1m --runs 1000 --warmup 0 --no-ceiling -o runs/r";
    let mut running = lab.start(lab.lbolt(words));
    let scratch = scratch_of(&running, &lab.path("d"), "r");
    running.until("scratch", || scratch.join("file.0").exists().then_some(()));
    wait_for("the removal", || {
        // A file may be made between its steps.
        let _ = std::fs::remove_dir_all(&scratch);
        (!scratch.exists()).then_some(())
    });
    running.wait().assert_refused(1, &["write_4k", "file.0", "No such file"]);
    assert_eq!(state(&lab), "failed");
    lab.assert_clean();
}

#[test]
fn root_a_disk_that_fills_up_is_an_error_and_leaves_nothing() {
    let lab = Lab::new();
    if !is_root() {
        return;
    }
    let Some(small) = Mounted::tmpfs("size=16m") else { return };
    let words = format!(
        "throughput {} --rw write --size 8m --runs 1000 --warmup 0 --no-ceiling -o runs/r",
        small.seen.display()
    );
    let mut running = lab.start(lab.lbolt(&words));
    let scratch = scratch_of(&running, &small.seen, "r");
    running.until("scratch", || scratch.join("file.0").exists().then_some(()));
    // Somebody else takes whatever is free, until there is too little for the next pass.
    let mut other = std::fs::File::create(small.seen.join("other")).unwrap();
    wait_for("the full disk", || {
        // It finds no space itself, now and then.
        let _ = other.write_all(&[0; 65536]);
        running.child.try_wait().unwrap()
    });
    let ended = running.wait();
    ended.assert_refused(1, &["write_4k", "writing file.0"]);
    assert!(ended.err.to_lowercase().contains("no space"), "{}", ended.err);
    assert!(!scratch.exists());
    assert!(small.seen.join("other").exists());
    assert_eq!(state(&lab), "failed");
    lab.assert_clean();
}

#[test]
fn root_records_that_find_no_room_are_an_error_and_leave_no_scratch() {
    let lab = Lab::new();
    if !is_root() {
        return;
    }
    // How much is written before anything was measured depends on the machine and its load.
    for pages in 5..16 {
        let Some(small) = Mounted::tmpfs(&format!("size={}k", 4 * pages)) else { return };
        let run = small.seen.join("r");
        let words = format!("throughput d --rw read {QUICK} -o {}", run.display());
        let ended = lab.run(&words);
        ended.assert_refused(1, &["failed to write", ".parquet", "No space left"]);
        lab.assert_clean();
        if ended.sentence().contains("are printed above") {
            // What was measured is not lost with its records.
            assert!(ended.out.starts_with("read_4k reaches "), "{}", ended.out);
            return;
        }
    }
    panic!("room for all records, and never for those before the first pass alone");
}

/// Reads a large input until a signal comes after so many bytes; gives the CPU time, in ticks, that
/// the program took from then on.
fn ticks_after_signal(lab: &Lab, words: &str, bytes: u64, signal: Signal) -> u64 {
    let mut running = lab.start(lab.lbolt(words));
    let pid = running.child.id();
    let of_process = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}"));
    running.until("a part of the input", || {
        let io = of_process("io").unwrap_or_default();
        let read =
            io.lines().find_map(|line| line.strip_prefix("rchar: "))?.parse::<u64>().unwrap();
        (read >= bytes).then_some(())
    });
    let before = cpu_ticks(pid);
    running.signal(signal);
    // It has its times until somebody waits for it.
    wait_for("its end", || of_process("stat").unwrap().contains(") Z ").then_some(()));
    let took = cpu_ticks(pid).saturating_sub(before);
    running.wait().assert_refused(130, &["interrupted"]);
    took
}

/// As the changelog says: within 3 s. Of CPU time, for other tests run beside this one.
#[test]
fn a_signal_ends_response_and_fleet_amid_a_large_input_within_three_seconds() {
    let lab = Lab::new();
    let line = |n: u64| {
        let (ticks, host, offset) = (128166385295514663 + n * 1000, n % 40_000, n * 7919 % 1000);
        format!("{ticks},h{host},{},Read,{},4096,1000\n", n % 3, offset * 4096)
    };
    let text: String = (0..150_000).map(line).collect();
    lab.file("trace.csv", &text);
    let fleet = lab.run("synthesize --hosts 40 --days 4 --calm -o fleet");
    assert_eq!(fleet.code, 0, "{}", fleet.err);
    let files = std::fs::read_dir(lab.path("fleet")).unwrap();
    let of_fleet: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    for (words, all) in [("response trace.csv", text.len() as u64), ("fleet fleet", of_fleet)] {
        for (tenths, signal) in [(2, Signal::INT), (8, Signal::TERM)] {
            let took = ticks_after_signal(&lab, words, all * tenths / 10, signal);
            let most = 3 * rustix::param::clock_ticks_per_second();
            assert!(took < most, "{words}: {took} ticks after {tenths} tenths");
        }
    }
}

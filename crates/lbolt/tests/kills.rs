//! Kills at random moments, of every command that writes or changes settings: the caretaker alone
//! leaves all as it was, but for the runs, which `runs rm` removes; `doctor` finds nothing to
//! clean.
//!
//! `LBOLT_KILLS` says how many, `LBOLT_VICTIM` of which command, `LBOLT_SEED` repeats them; the
//! table that is printed stands in docs/principles.md.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, Loop, QUICK, Running, can_make, settings_turn, wait_for};
use host::settings::{Setting, Snapshot};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A command that is killed.
struct Victim {
    name: &'static str,
    /// What is typed; `DEVICE` is a loop device.
    words: &'static str,
    /// A shell's line that is traced.
    traced: &'static str,
    needs_root: bool,
}

const fn victim(name: &'static str, words: &'static str) -> Victim {
    Victim { name, words, traced: "", needs_root: false }
}

const VICTIMS: &[Victim] = &[
    victim("throughput DIRECTORY", "throughput d --rw write,read --size 8m --runs 3 -o runs/r"),
    Victim {
        needs_root: true,
        ..victim(
            "throughput fresh:ext4",
            "throughput fresh:ext4,size=32m,at=d --rw read QUICK -o runs/r",
        )
    },
    Victim {
        needs_root: true,
        ..victim("throughput --trace", "throughput d --rw read --direct --trace QUICK -o runs/r")
    },
    Victim {
        needs_root: true,
        ..victim(
            "storm --remedies",
            "storm fresh:ext4,size=64m,at=d --size 8m --period 200ms --periods 1 --rate_iops 50 \
             --commits 10 --dirty 1m --runs 2 --remedies all -o runs/r",
        )
    },
    Victim {
        needs_root: true,
        traced: "while :; do dd if=/dev/zero of=d/x bs=4k count=9 conv=fsync status=none; done",
        ..victim(
            "storm -- COMMAND",
            "storm d --period 200ms --periods 1 --runs 2 \
             --remedies dirty-early,writeback-often -o runs/r --",
        )
    },
    Victim { needs_root: true, traced: "sleep 0.3", ..victim("device", "device model:ra81 --") },
    victim(
        "overhead",
        "overhead d --size 4m --runs 2 --runtime 10ms --ioengine psync --rw randread --bs 4k,16k \
         -o runs/r",
    ),
    victim("calibrate DIRECTORY", "calibrate d -o d/p.toml --size 64m --runs 7"),
    Victim { needs_root: true, ..victim("survey", "survey d --size 32m --runs 1 -o runs/r") },
    Victim {
        needs_root: true,
        traced: "dd if=DEVICE of=/dev/null bs=4k count=2000 iflag=direct status=none",
        ..victim("record -- COMMAND", "record -d DEVICE -o runs/r --")
    },
    victim("import", "import trace.csv -o runs/r"),
    victim("import (default name)", "import trace.csv"),
    victim("export RUN", "export run --output-format blktrace -o out"),
    victim("export FOREIGN, replacing", "export trace.csv --output-format perfetto -o earlier"),
    victim("simulate FOREIGN", "simulate trace.csv --model hp-c2490a -o runs/r"),
    victim("response RUN", "response run"),
    victim("response FOREIGN", "response trace.csv"),
    victim("compare", "compare a b"),
    victim("papers", "papers 1980"),
];

/// How a run may be found after its command was killed.
#[derive(Debug, Default)]
struct Left {
    kills: u32,
    ended: u32,
    scratch: u32,
    notes: u32,
    runs: u32,
    whole_files: u32,
}

/// When to kill, and how.
struct Moment {
    /// Counted from when there is a run, or from the start.
    waits: bool,
    delay: Duration,
    signals: &'static [Signal],
}

/// Random numbers, the same for a seed (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A laboratory with what the commands need.
fn ready(lab: &Lab) {
    let line = |n: u64| {
        let random = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let time = 128_166_385_295_514_663 + n * 977;
        format!("{time},db,0,Read,{},4096,{}\n", random >> 46 << 12, random >> 40 & 0xFFFF)
    };
    lab.file("trace.csv", (0..20_000).map(line).collect::<String>());
    assert_eq!(lab.run("import trace.csv -o run").code, 0);
    for name in ["a", "b"] {
        lab.measure(&format!("throughput d --rw read {QUICK} -o {name}"));
    }
}

fn start(lab: &Lab, victim: &Victim, device: &str) -> Running {
    let words = victim.words.replace("QUICK", QUICK).replace("DEVICE", device);
    let mut command = lab.lbolt(&words);
    if !victim.traced.is_empty() {
        command.args(["sh", "-c", &victim.traced.replace("DEVICE", device)]);
    }
    lab.start(command)
}

/// Processes that work in the laboratory.
fn processes(lab: &Lab) -> Vec<String> {
    let folder = lab.path("d").parent().unwrap().to_owned();
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let works_there =
        |path: &PathBuf| path.join("cwd").read_link().is_ok_and(|cwd| cwd.starts_with(&folder));
    let paths = entries.map(|entry| entry.path()).filter(works_there);
    paths.map(|path| std::fs::read_to_string(path.join("comm")).unwrap_or_default()).collect()
}

/// What BPF keeps by name beyond its process.
fn pinned() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/sys/fs/bpf").into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).collect()
}

fn count(directory: &Path) -> u32 {
    std::fs::read_dir(directory).map_or(0, |entries| entries.count() as u32)
}

/// The settings of all disks but for loop devices, which other tests make and set, and of the
/// system.
fn settings() -> Vec<Snapshot> {
    let mut disks = names(Path::new("/sys/block"));
    disks.retain(|name| !name.starts_with("loop"));
    let of_disk = |disk: &String| Snapshot::of(Some(disk)).ok();
    disks.iter().filter_map(of_disk).collect()
}

/// Cgroups of ours.
fn groups() -> Vec<String> {
    let Ok(group) = host::group::place(0) else { return vec![] };
    let all = group.parent().map_or_else(Vec::new, names);
    // A test of `host` makes one of a number that no process has.
    let is_ours = |name: &String| name.starts_with("lbolt-") && name != "lbolt-4000000000";
    all.into_iter().filter(is_ours).collect()
}

/// What is otherwise now than it was.
fn changed(settings: &[Snapshot]) -> Vec<(Setting, Setting)> {
    settings.iter().flat_map(Snapshot::differences).collect()
}

/// Kills one, and holds what it leaves to what is promised.
fn kill(lab: &Lab, victim: &Victim, device: &str, moment: &Moment) -> Left {
    let Moment { waits, delay, signals } = *moment;
    let folder = lab.path("d").parent().unwrap().to_owned();
    let before = names(&folder);
    let earlier = lab.file("earlier", "earlier");
    let settings = settings();
    let mut running = start(lab, victim, device);
    if waits {
        // Under load most of a run's time may be what it calibrates before.
        let is_over = |running: &mut Running| running.child.try_wait().unwrap().is_some();
        wait_for("the run", || (is_over(&mut running) || !lab.runs().is_empty()).then_some(()));
    }
    std::thread::sleep(delay);
    let mut left =
        Left { ended: u32::from(running.child.try_wait().unwrap().is_some()), ..Left::default() };
    left.kills = 1 - left.ended;
    for signal in signals {
        // It may have ended meanwhile; its number is ours until it is waited for.
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&running.child),
            *signal,
        );
    }
    running.wait();
    // The caretaker ends last.
    wait_for("the end of all processes", || processes(lab).is_empty().then_some(()));
    wait_for("the loop devices' release", || {
        (lab.loops().len() == usize::from(!device.is_empty())).then_some(())
    });

    let new: Vec<String> =
        names(&folder).into_iter().filter(|name| !before.contains(name)).collect();
    let hidden = |directory: PathBuf| {
        names(&directory).into_iter().filter(|name| name.starts_with(".lbolt-"))
    };
    left.notes = count(&lab.notes());
    left.scratch =
        [folder.clone(), lab.path("d"), lab.path("runs")].map(hidden).into_iter().flatten().count()
            as u32;
    // An export is whole or not there, and the earlier file is as it was until then.
    let outputs = new.iter().filter(|name| name.starts_with("out")).count();
    let text = std::fs::read(&earlier).unwrap();
    assert!(text == b"earlier" || text.ends_with(b"]}\n"), "{}", victim.name);
    left.whole_files = u32::from(outputs > 0 || text != b"earlier");
    for name in new.iter().filter(|name| name.starts_with("out")) {
        assert!(count_of_steps(&lab.path(name)), "{name} is whole");
        std::fs::remove_file(lab.path(name)).unwrap();
    }

    let name = victim.name;
    assert_eq!((changed(&settings), groups()), (vec![], vec![]), "{name}: before doctor");
    assert_eq!((left.notes, left.scratch), (0, 0), "{name}: before doctor");
    let clean = lab.run("doctor --clean");
    assert_eq!(clean.code, 0, "{name}: {}", clean.err);
    assert_eq!(changed(&settings), [], "{}: {}", victim.name, clean.out);
    assert_eq!(groups(), [""; 0], "{}: {}", victim.name, clean.out);
    for run in lab.runs() {
        left.runs += 1;
        let removed = lab.run(&format!("runs rm {}", run.display()));
        assert_eq!(removed.code, 0, "{}: {}", victim.name, removed.err);
    }
    let rest: Vec<String> =
        lab.leftovers().into_iter().filter(|left| !device.ends_with(left.as_str())).collect();
    assert_eq!(rest, [""; 0], "{}: {}", victim.name, clean.out);
    let after: Vec<String> =
        names(&folder).into_iter().filter(|name| !before.contains(name)).collect();
    assert!(
        after.iter().all(|name| name == "runs" || name == "earlier"),
        "{}: {after:?}",
        victim.name
    );
    left
}

/// Whether a file of blktrace's ends with a record, not within one.
fn count_of_steps(path: &Path) -> bool {
    let bytes = std::fs::read(path).unwrap();
    let mut rest = bytes.as_slice();
    while let Some(head) = rest.get(..48) {
        let payload = usize::from(u16::from_le_bytes([head[46], head[47]]));
        let Some(next) = rest.get(48 + payload..) else { return false };
        rest = next;
    }
    rest.is_empty() && !bytes.is_empty()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn kills_at_random_moments_leave_nothing_that_doctor_does_not_see() {
    let (kills, seed) =
        (number("LBOLT_KILLS", 40), number("LBOLT_SEED", std::process::id().into()));
    println!("LBOLT_KILLS={kills} LBOLT_SEED={seed}");
    let _turn = settings_turn();
    let lab = Lab::new();
    ready(&lab);
    let is_root = rustix::process::geteuid().is_root() && can_make("ext4") && can_make("xfs");
    let image = is_root.then(|| Loop::new(&lab, "image")).flatten();
    let device = image.as_ref().map_or(String::new(), |image| image.node.clone());
    let usable = |victim: &&Victim| !victim.needs_root || !device.is_empty();
    // One alone, by its first words.
    let only = std::env::var("LBOLT_VICTIM").unwrap_or_default();
    let is_wanted = |victim: &&Victim| victim.name.starts_with(&only);
    let victims: Vec<&Victim> = VICTIMS.iter().filter(usable).filter(is_wanted).collect();
    let skipped = VICTIMS.len() - victims.len();
    println!("skipped: {skipped} commands that need root, mkfs and loop devices");
    let pins = pinned();
    let mut random = Random(seed);
    let mut table: BTreeMap<&str, Left> = BTreeMap::new();
    let mut lengths: BTreeMap<&str, Duration> = BTreeMap::new();
    let mut done = 0;
    while done < kills {
        let victim = victims[random.below(victims.len() as u64) as usize];
        let alone = || rehearse(&lab, victim, &device);
        let length = *lengths.entry(victim.name).or_insert_with(alone);
        let waits = victim.words.contains("runs/r") && random.below(2) == 0;
        // Some as `timeout` does it: the second SIGTERM ends a process at once.
        let signals: &'static [Signal] = match random.below(4) {
            0 => &[Signal::TERM, Signal::TERM],
            _ => &[Signal::KILL],
        };
        let delay = Duration::from_micros(random.below(length.as_micros() as u64));
        let left = kill(&lab, victim, &device, &Moment { waits, delay, signals });
        done += u64::from(left.kills);
        let sum = table.entry(victim.name).or_default();
        sum.kills += left.kills;
        sum.ended += left.ended;
        sum.scratch += left.scratch;
        sum.notes += left.notes;
        sum.runs += left.runs;
        sum.whole_files += left.whole_files;
    }
    assert_eq!(pinned(), pins, "no BPF program outlives its process");
    println!("| command | killed | ended before | scratch | notes | runs | whole files |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (name, left) in table {
        let Left { kills, ended, scratch, notes, runs, whole_files } = left;
        println!("| {name} | {kills} | {ended} | {scratch} | {notes} | {runs} | {whole_files} |");
    }
}

/// How long a command takes when it is left alone, as far as it matters. It must go well.
fn rehearse(lab: &Lab, victim: &Victim, device: &str) -> Duration {
    let began = Instant::now();
    let mut running = start(lab, victim, device);
    let is_over = |running: &mut Running| running.child.try_wait().unwrap().is_some();
    while !is_over(&mut running) && began.elapsed() < Duration::from_secs(4) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let took = began.elapsed();
    if is_over(&mut running) {
        let ended = running.wait();
        assert_eq!(ended.code, 0, "{}: {}", victim.name, ended.err);
    } else {
        drop(running);
    }
    wait_for("its processes' end", || processes(lab).is_empty().then_some(()));
    tidy_up(lab);
    took
}

/// After the run that was only timed.
fn tidy_up(lab: &Lab) {
    assert_eq!(lab.run("doctor --clean").code, 0);
    for run in lab.runs() {
        assert_eq!(lab.run(&format!("runs rm {}", run.display())).code, 0);
    }
    let folder = lab.path("d").parent().unwrap().to_owned();
    for name in names(&folder).iter().filter(|name| name.starts_with("out")) {
        std::fs::remove_file(lab.path(name)).unwrap();
    }
}

//! What `lbolt record` keeps besides requests, and the first screen, on file systems of our own.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Ended, Lab, Loop, Mounted};
use model::record::{Call, CallKind, Context, CpuTime, FileNumber, Finding, NamedFile};
use std::collections::BTreeSet;
use std::process::Command;

/// Runs a shell's lines in a fresh file system while it is recorded; `$AT` is the file system.
/// None, with a sentence, where that cannot be done.
pub(crate) fn recorded(lab: &Lab, mkfs: &[&str], lines: &str) -> Option<Mounted> {
    recorded_with(lab, mkfs, "", lines)
}

fn recorded_with(lab: &Lab, mkfs: &[&str], words: &str, lines: &str) -> Option<Mounted> {
    let (mounted, ended) = ended_with(lab, mkfs, words, lines)?;
    let lines: Vec<&str> = ended.out.lines().collect();
    assert!(lines.iter().all(|line| line.chars().count() <= 100), "{}", ended.out);
    // What a busy machine makes doubtful has lines of its own.
    let is_doubtful = ended.out.contains("Suspect");
    assert!(lines.len() <= 40 || is_doubtful, "{}", ended.out);
    assert!(ended.out.contains("Who waited") && ended.out.contains("Completed by the kernel"));
    Some(mounted)
}

/// The same, and what was printed.
fn ended_with(lab: &Lab, mkfs: &[&str], words: &str, lines: &str) -> Option<(Mounted, Ended)> {
    let (device, mounted) = made(lab, mkfs)?;
    let ended = ended_on(lab, (&device, &mounted), words, lines)?;
    Some((mounted, ended))
}

/// A fresh file system.
pub(crate) fn made(lab: &Lab, mkfs: &[&str]) -> Option<(Loop, Mounted)> {
    let image = lab.file("image", "");
    std::fs::OpenOptions::new().write(true).open(&image).unwrap().set_len(512 << 20).unwrap();
    let device = Loop::over(&image)?;
    let made = Command::new(mkfs[0]).args(&mkfs[1..]).arg(&device.node).output();
    if !made.is_ok_and(|made| made.status.success()) {
        println!("skipped: needs {}", mkfs[0]);
        return None;
    }
    let mounted = Mounted::device(&device.node)?;
    Some((device, mounted))
}

pub(crate) fn ended_on(
    lab: &Lab,
    (device, mounted): (&Loop, &Mounted),
    words: &str,
    lines: &str,
) -> Option<Ended> {
    let mut command = lab.lbolt(&format!("record {words} -d {} -o run --", device.node));
    command.args(["sh", "-c", lines]).env("AT", &mounted.seen).env("DEVICE", &device.node);
    let ended = lab.end(command);
    if ended.err.contains("failed to load BPF") {
        println!("skipped: {}", ended.sentence());
        return None;
    }
    assert_eq!(ended.code, 0, "{}", ended.err);
    Some(ended)
}

/// Thirty writes that are made durable one by one, and one large file, whose writer lives long
/// enough to be asked for its title.
const LOAD: &str = "for n in $(seq 30); do \
    dd if=/dev/zero of=$AT/wal bs=8k count=1 seek=$n conv=notrunc,fdatasync status=none; done; \
    (head -c 4M /dev/zero; sleep 0.5; head -c 4M /dev/zero) | \
    dd of=$AT/big bs=1M iflag=fullblock conv=fsync status=none";

fn findings(lab: &Lab) -> Vec<(String, Finding)> {
    let report = lab.run("response run --format json").report();
    let found = report.findings().iter().map(|found| {
        let value = found["value"].as_f64();
        let quantity = found["quantity"].as_str().unwrap().to_owned();
        let text = found["subject"].to_string();
        (text, Finding { quantity, value, ..Finding::default() })
    });
    found.collect()
}

#[test]
fn root_each_call_has_its_file_its_commit_and_its_parts() {
    let lab = Lab::new();
    let Some(mounted) = recorded(&lab, &["mkfs.ext4", "-q", "-F"], LOAD) else { return };
    let context = Context::read(&lab.path("run")).unwrap();
    let name = |number| {
        let file = context.files.iter().find(|file| file.number() == number);
        file.and_then(|file| file.path.clone()).unwrap_or_default()
    };
    let of = |file: &str| -> Vec<_> {
        context.calls.iter().filter(|call| name(call.file()).ends_with(file)).collect()
    };
    // As many as the load made, by what it made them.
    let (wal, big) = (of("/wal"), of("/big"));
    assert_eq!((wal.len(), big.len()), (30, 1), "{:?}", context.files);
    assert!(wal.iter().all(|call| call.kind == CallKind::Fdatasync && call.error == 0));
    assert_eq!(big[0].kind, CallKind::Fsync);
    assert!(context.calls.iter().all(|call| call.end_ns.is_some_and(|end| end > call.begin_ns)));
    // The new file's size is in a transaction, whose commit ended within the call.
    let commit =
        context.commits.iter().find(|commit| Some(commit.transaction) == big[0].transaction);
    let ended_ns = commit.and_then(|commit| commit.ended_ns).unwrap();
    assert!((big[0].begin_ns..=big[0].end_ns.unwrap()).contains(&ended_ns));
    let titles = context.processes.iter().filter_map(|process| process.title.as_deref());
    assert!(titles.into_iter().any(|title| title.starts_with("dd of=")));

    let findings = findings(&lab);
    let value = |keys: &[&str], quantity: &str| {
        let is_it = |(text, found): &&(String, Finding)| {
            found.quantity == quantity && keys.iter().all(|key| text.contains(key))
        };
        findings.iter().find(is_it).and_then(|(_, found)| found.value)
    };
    assert!(value(&[], "files_known_percent").unwrap() >= 95.0);
    assert_eq!(value(&["/wal"], "file_calls_count"), Some(30.0));
    let written = value(&["/big"], "file_write_bytes").unwrap();
    assert!(((8 << 20) as f64..(9 << 20) as f64).contains(&written), "{written}");
    for kind in ["fsync", "fdatasync"] {
        let keys = ["\"victim\":\"dd\"".to_owned(), format!("\"wait\":\"{kind}\"")];
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let parts = findings.iter().filter(|(text, found)| {
            let is_part = found.quantity.starts_with("call_");
            is_part && keys.iter().all(|key| text.contains(key))
        });
        let sum: f64 = parts.filter_map(|(_, found)| found.value).sum();
        let mean = value(&keys, "waited_mean_ns").unwrap();
        assert!((sum - mean).abs() <= 1e-6 * mean, "{kind}: {sum} of {mean}");
    }
    drop(mounted);
    lab.assert_clean();
}

/// What the file system says of what the engines call.
#[test]
fn root_fsync_and_fdatasync_are_the_calls_of_these_names() {
    use std::os::unix::fs::MetadataExt;
    const ENGINES: [&str; 5] = ["psync", "libaio", "posixaio", "threads", "io_uring"];
    for (option, kind) in [("fsync", CallKind::Fsync), ("fdatasync", CallKind::Fdatasync)] {
        let lab = Lab::new();
        let program = |engine: &str| {
            format!(
                "[[program]]\nname = \"{engine}\"\nioengine = \"{engine}\"\nrw = \"write\"\n\
                 {option} = 1\n"
            )
        };
        lab.file("programs.toml", ENGINES.map(program).concat());
        let load = format!(
            "{} throughput $AT --programs programs.toml --size 40k --runs 1 --warmup 0 --no-cold \
             --no-sync --no-ceiling -o measured",
            env!("CARGO_BIN_EXE_lbolt")
        );
        let ext4 = ["mkfs.ext4", "-q", "-F"];
        let Some((mounted, _)) = ended_with(&lab, &ext4, "", &load) else { return };
        let device = std::fs::metadata(&mounted.seen).unwrap().dev();
        let number = rustix::fs::major(device) << 20 | rustix::fs::minor(device);
        let context = Context::read(&lab.path("run")).unwrap();
        let calls = context.calls.iter().filter(|call| call.file_system == u64::from(number));
        let kinds: Vec<CallKind> = calls.map(|call| call.kind).collect();
        assert_eq!(kinds, vec![kind; 10 * ENGINES.len()], "{option}");
        drop(mounted);
        lab.assert_clean();
    }
}

/// Files that are made durable and removed, so that the next one has the inode of the last, while
/// a file with another name has it at the end.
const INODES_AGAIN: &str = "for n in $(seq 10); do \
    dd if=/dev/zero of=$AT/journal bs=8k count=1 conv=fdatasync status=none; rm $AT/journal; done; \
    dd if=/dev/zero of=$AT/last bs=8k count=1 conv=fdatasync status=none";

#[test]
fn root_a_file_with_the_inode_of_an_earlier_one_is_another() {
    let lab = Lab::new();
    let ext4 = ["mkfs.ext4", "-q", "-F"];
    let Some(mounted) = recorded(&lab, &ext4, INODES_AGAIN) else { return };
    let context = Context::read(&lab.path("run")).unwrap();
    let inodes: BTreeSet<u64> = context.calls.iter().map(|call| call.inode).collect();
    let files: BTreeSet<FileNumber> = context.calls.iter().map(Call::file).collect();
    assert!(inodes.len() < 11 && files.len() == 11, "{inodes:?} {files:?}");
    let is_last = |file: &&NamedFile| file.path.as_ref().is_some_and(|p| p.ends_with("/last"));
    let last: Vec<_> = context.files.iter().filter(is_last).map(NamedFile::number).collect();
    assert_eq!(last, [context.calls.iter().max_by_key(|call| call.begin_ns).unwrap().file()]);
    drop(mounted);
    lab.assert_clean();
}

#[test]
fn root_the_parts_of_a_large_request_are_of_its_file() {
    let lines = "echo 64 >/sys/block/${DEVICE#/dev/}/queue/max_sectors_kb; \
        dd if=/dev/zero of=$AT/direct bs=1M count=8 oflag=direct status=none";
    for mkfs in [&["mkfs.ext4", "-q", "-F"][..], &["mkfs.xfs", "-q", "-f"]] {
        let lab = Lab::new();
        let Some(mounted) = recorded(&lab, mkfs, lines) else { return };
        let findings = findings(&lab);
        let of_file = |quantity: &str| -> f64 {
            let is_it = |(text, found): &&(String, Finding)| {
                text.contains("/direct") && found.quantity == quantity
            };
            findings.iter().filter(is_it).filter_map(|(_, found)| found.value).sum()
        };
        assert_eq!(of_file("file_write_bytes"), f64::from(8 << 20), "{mkfs:?}");
        assert!(of_file("file_requests_count") >= 128.0, "{mkfs:?}");
        drop(mounted);
        lab.assert_clean();
    }
}

/// Writes that are made durable for some four seconds, then a signal for the flight recorder.
const LONG: &str = "for n in $(seq 60); do \
    dd if=/dev/zero of=$AT/wal bs=8k count=1 seek=$n conv=notrunc,fdatasync status=none; \
    sleep 0.05; done; kill -USR1 $PPID; sleep 0.5";

#[test]
fn root_a_flight_recorder_keeps_the_calls_the_roles_and_the_files_of_its_time() {
    let lab = Lab::new();
    let ext4 = ["mkfs.ext4", "-q", "-F"];
    let Some((mounted, ended)) = ended_with(&lab, &ext4, "--keep 1s", LONG) else { return };
    assert!(ended.out.contains("Who waited") && ended.out.contains("/wal"), "{}", ended.out);
    let context = Context::read(&lab.path("run")).unwrap();
    let calls = &context.calls;
    assert!((1..60).contains(&calls.len()), "{}", calls.len());
    let (first, last) = (calls[0].begin_ns, calls[calls.len() - 1].begin_ns);
    assert!(last - first <= 1_500_000_000, "{first} to {last}");
    let cpu_times = &context.cpu_times;
    assert!(!cpu_times.is_empty());
    assert!(cpu_times.iter().all(|interval| interval.until_ns >= first - 1_100_000_000));
    let most_ns = |time: &CpuTime| (time.until_ns - time.from_ns) as u64 * time.cpus;
    // Ticks of 10 ms on each CPU, at both ends.
    let fits = |time: &CpuTime| time.idle_ns <= most_ns(time) + 20_000_000 * time.cpus;
    assert!(cpu_times.iter().all(fits), "{cpu_times:?}");
    let waits = findings(&lab).into_iter().find(|(text, found)| {
        text.contains("\"victim\":\"dd\"") && found.quantity == "waits_count"
    });
    assert_eq!(waits.and_then(|(_, found)| found.value), Some(calls.len() as f64));
    drop(mounted);
    lab.assert_clean();
}

#[test]
fn root_a_flight_recorder_goes_off_by_what_calls_took() {
    let lab = Lab::new();
    let ext4 = ["mkfs.ext4", "-q", "-F"];
    let words = "--keep 1s --when max(read)>100s --when max(fsync)>1us";
    let Some((mounted, ended)) = ended_with(&lab, &ext4, words, LONG) else { return };
    let why = "written because max(fsync) of the last second was ";
    assert!(ended.err.contains(why) && ended.out.contains("/wal"), "{}", ended.err);
    drop(mounted);
    lab.assert_clean();
}

#[test]
fn root_a_flight_recorder_goes_on_for_what_came_of_it() {
    let lab = Lab::new();
    let ext4 = ["mkfs.ext4", "-q", "-F"];
    // It goes off a second after the first call.
    let words = "--keep 100s --when max(fsync)>1us --after 1500ms";
    let Some((mounted, ended)) = ended_with(&lab, &ext4, words, LONG) else { return };
    assert!(ended.err.contains("written because max(fsync)"), "{}", ended.err);
    // The CPUs are read once a second, whatever a call takes.
    let Context { calls, cpu_times, .. } = Context::read(&lab.path("run")).unwrap();
    let read_ns = cpu_times.iter().map(|time| time.until_ns).max().unwrap();
    let took_ns = read_ns.max(calls[calls.len() - 1].begin_ns) - calls[0].begin_ns;
    assert!(took_ns > 1_400_000_000, "{took_ns}");
    drop(mounted);
    lab.assert_clean();
}

/// Writes through an overlay and a bind mount, in a place of their own, and renames a file.
const OTHER_WAYS: &str = "PID=${AT#/proc/}; PID=${PID%%/*}; IN=${AT#/proc/$PID/root}; \
    mkdir $AT/lower $AT/upper $AT/work $AT/over $AT/bound; \
    nsenter -m -t $PID unshare -m sh -ec 'cd '$IN'; \
    mount -t overlay over -o lowerdir=lower,upperdir=upper,workdir=work over; \
    mount --bind upper bound; \
    dd if=/dev/zero of=over/a bs=64k count=4 conv=fsync status=none; \
    dd if=/dev/zero of=bound/b bs=64k count=4 conv=fsync status=none; \
    dd if=/dev/zero of=before bs=64k count=4 conv=fsync status=none; mv before after'";

/// What each call's file was called when it was called: its last name that was seen until then.
fn called(context: &Context) -> Vec<String> {
    let of = |call: &Call| {
        let seen = |file: &&NamedFile| {
            file.number() == call.file() && file.since_ns.is_some_and(|ns| ns <= call.begin_ns)
        };
        let last = context.files.iter().filter(seen).max_by_key(|file| file.since_ns);
        last.and_then(|file| file.path.clone()).unwrap_or_default()
    };
    context.calls.iter().map(of).collect()
}

#[test]
fn root_files_have_the_names_of_their_own_file_system() {
    let lab = Lab::new();
    let ext4 = ["mkfs.ext4", "-q", "-F"];
    let Some(mounted) = recorded(&lab, &ext4, OTHER_WAYS) else { return };
    let context = Context::read(&lab.path("run")).unwrap();
    let paths = called(&context);
    let paths: Vec<_> =
        paths.iter().map(|path| path.rsplit('/').take(2).collect::<Vec<_>>()).collect();
    let [over, bound, renamed] = paths.as_slice() else { panic!("{paths:?}") };
    assert_eq!(over, &["a", "upper"], "never by a name on the overlay");
    assert!([["b", "upper"], ["b", "bound"]].contains(&[bound[0], bound[1]]), "{bound:?}");
    assert_eq!(renamed[0], "before", "and not what it is called at the end");
    drop(mounted);
    lab.assert_clean();
}

/// Calls for one file under each name that it has, for another with its inode, and for one that was
/// open before (by the test, which is told when).
const NAMES: &str = r#"python3 - "$AT" <<'END'
import os, sys, time
at = sys.argv[1]
def durable(file):
    os.write(file, b"x" * 4096)
    os.fsync(file)
def create(name):
    return os.open(at + name, os.O_CREAT | os.O_WRONLY)
file = create("/f")
durable(file)
os.rename(at + "/f", at + "/g")
durable(file)
os.mkdir(at + "/d")
os.rename(at + "/g", at + "/d/g")
durable(file)
os.rename(at + "/d", at + "/e")
durable(file)
os.link(at + "/e/g", at + "/e/linked")
os.unlink(at + "/e/g")
durable(file)
os.unlink(at + "/e/linked")
durable(file)
os.close(file)
file = create("/h")
durable(file)
os.close(file)
file = create("/" + "long" * 60)
durable(file)
os.close(file)
directory = os.open(at + "/e", os.O_RDONLY)
os.fsync(directory)
os.rename(at + "/early", at + "/later")
create("/go")
while not os.path.exists(at + "/gone"):
    time.sleep(0.01)
END"#;

/// The test's own part of it: a file that is open before the capture begins.
fn call_when_told(mut early: std::fs::File, at: &std::path::Path) {
    use std::io::Write as _;
    crate::common::wait_for("a file that says so", || at.join("go").exists().then_some(()));
    early.write_all(&[1; 4096]).unwrap();
    early.sync_all().unwrap();
    std::fs::write(at.join("gone"), "").unwrap();
}

#[test]
fn root_each_call_has_the_name_that_its_file_had_then() {
    let long = format!("/{}", "long".repeat(60));
    let expected = [
        "/f",
        "/g",
        "/d/g",
        "/e/g",
        "/e/linked",
        // The name by which it is open, as the kernel has it in /proc/PID/fd.
        "/e/g (deleted)",
        "/h",
        &long,
        "/e",
        "/later",
    ];
    let ext4 = &["mkfs.ext4", "-q", "-F"][..];
    let xfs = &["mkfs.xfs", "-q", "-f"][..];
    for (mkfs, words) in [(ext4, ""), (ext4, "--syscalls"), (xfs, ""), (xfs, "--syscalls")] {
        let lab = Lab::new();
        let Some((device, mounted)) = made(&lab, mkfs) else { continue };
        let early = std::fs::File::create(mounted.seen.join("early")).unwrap();
        let at = mounted.seen.clone();
        let own = std::thread::spawn(move || call_when_told(early, &at));
        let Some(_) = ended_on(&lab, (&device, &mounted), words, NAMES) else { return };
        own.join().unwrap();
        let context = Context::read(&lab.path("run")).unwrap();
        let names = called(&context);
        let at = mounted.at().to_string_lossy().into_owned();
        let names: Vec<&str> =
            names.iter().map(|name| name.strip_prefix(&at).unwrap_or(name)).collect();
        assert_eq!(names, expected, "{mkfs:?} {words}: {:?}", context.files);
        if mkfs == ext4 {
            let [first, again] = [0, 6].map(|place| &context.calls[place]);
            assert_eq!(first.inode, again.inode);
            assert_ne!(first.generation, again.generation);
        }
        let known = lab.run("response run --by file").out;
        assert!(known.contains("and 100 % of fsyncs)"), "{known}");
        drop((device, mounted));
        lab.assert_clean();
    }
}

#[test]
fn root_stacks_tell_by_which_functions_requests_were_queued() {
    let lab = Lab::new();
    let lines = "(head -c 4M /dev/zero; sleep 1; head -c 4M /dev/zero) | \
        dd of=$AT/big bs=1M iflag=fullblock oflag=dsync status=none";
    let ext4 = ["mkfs.ext4", "-q", "-F"];
    let Some(mounted) = recorded_with(&lab, &ext4, "--stacks", lines) else { return };
    // All of them: stacks in which it waited come before those of its writes.
    let table = lab.run("response run --by stack --top 100").out;
    let is_write = |line: &str| line.contains("write > ") && line.contains("MiB");
    let mut rows = table.lines().filter(|line| line.starts_with("dd "));
    assert!(rows.any(is_write), "{table}");
    let folded = |words: &str| lab.run(&format!("response run --folded {words}")).out;
    let lines = folded("bytes --role dd");
    let parsed = lines.lines().map(|line| line.rsplit_once(' ').unwrap());
    let (stacks, bytes): (Vec<&str>, Vec<u64>) =
        parsed.map(|(stack, number)| (stack, number.parse::<u64>().unwrap())).unzip();
    assert!((8 << 20..9 << 20).contains(&bytes.iter().sum::<u64>()), "{lines}");
    assert!(stacks.iter().all(|stack| stack.starts_with("dd;")), "{lines}");
    let of_data = "write;entry_SYSCALL";
    let is_whole = |stack: &&str| stack.contains(of_data) && stack.contains(";ext4_sync_file;");
    assert!(stacks.iter().any(is_whole), "{lines}");
    // The tracer is no part of it.
    assert!(!folded("requests").contains("bpf"));
    drop(mounted);
    lab.assert_clean();
}

/// One of each call, by a program that says how long each took, in ns.
const EACH_CALL: &str = r#"python3 - "$AT" <<'END'
import ctypes, mmap, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
file = os.open(sys.argv[1] + "/f", os.O_CREAT | os.O_RDWR)
os.ftruncate(file, 1 << 20)
mapped = mmap.mmap(file, 1 << 20)
def range_of_file():
    return libc.sync_file_range(file, ctypes.c_int64(0), ctypes.c_int64(0), 7)
calls = [("fsync", lambda: os.fsync(file)), ("fdatasync", lambda: os.fdatasync(file)),
    ("sync_file_range", range_of_file), ("syncfs", lambda: libc.syncfs(file)),
    ("msync", mapped.flush)]
with open(sys.argv[1] + "/took", "w") as took:
    for name, call in calls:
        mapped[:65536] = os.urandom(65536)
        begin = time.monotonic_ns()
        call()
        print(name, time.monotonic_ns() - begin, file=took)
END"#;

#[test]
fn root_system_calls_tell_each_kind_of_call_and_its_end() {
    for mkfs in [&["mkfs.ext4", "-q", "-F"][..], &["mkfs.xfs", "-q", "-f"]] {
        let lab = Lab::new();
        let Some(mounted) = recorded_with(&lab, mkfs, "--syscalls", EACH_CALL) else { return };
        let took = std::fs::read_to_string(mounted.seen.join("took")).unwrap();
        let took: Vec<(&str, i64)> = took
            .lines()
            .map(|line| line.split_once(' ').unwrap())
            .map(|(name, ns)| (name, ns.parse().unwrap()))
            .collect();
        let context = Context::read(&lab.path("run")).unwrap();
        let calls: Vec<&Call> =
            context.calls.iter().filter(|call| call.command.starts_with("python3")).collect();
        let kinds: Vec<&str> = calls.iter().map(|call| call.kind.name()).collect();
        let made: Vec<&str> = took.iter().map(|(name, _)| *name).collect();
        assert_eq!(kinds, made, "{mkfs:?}");
        let files: BTreeSet<FileNumber> = calls.iter().map(|call| call.file()).collect();
        assert_eq!(files.len(), 1, "{mkfs:?}: {calls:?}");
        for (call, (name, took_ns)) in calls.iter().zip(&took) {
            let ns = call.end_ns.unwrap() - call.begin_ns;
            assert!(ns > 0 && ns <= *took_ns && call.error == 0, "{name}: {ns} of {took_ns}");
        }
        drop(mounted);
        lab.assert_clean();
    }
}

#[test]
fn root_calls_of_xfs_end_with_what_their_threads_waited_for() {
    let lab = Lab::new();
    let Some(mounted) = recorded(&lab, &["mkfs.xfs", "-q", "-f"], LOAD) else { return };
    let context = Context::read(&lab.path("run")).unwrap();
    assert_eq!(context.calls.len(), 31);
    assert!(
        context.calls.iter().all(|call| call.kind == CallKind::Untold && call.end_ns.is_none())
    );
    let findings = findings(&lab);
    let count = findings.iter().find(|(_, found)| found.quantity == "waits_count");
    let waits: f64 = findings
        .iter()
        .filter(|(text, found)| found.quantity == "waits_count" && text.contains("fsync or"))
        .filter_map(|(_, found)| found.value)
        .sum();
    assert!(count.is_some() && (30.0..=31.0).contains(&waits), "{waits}");
    drop(mounted);
    lab.assert_clean();
}

#[test]
fn selections_that_cannot_be_are_refused_and_those_that_nothing_matches_say_so() {
    let lab = Lab::new();
    let line = |n: u32| format!("{n} /dev/sda read {} 4096\n", n * 4096);
    let log: String = (0..30).map(line).collect();
    lab.file("log", format!("fio version 3 iolog\n{log}"));
    lab.run("response log --by colour").assert_refused_by_usage("direction");
    lab.run("response log --top 0").assert_refused_by_usage("1..=1000");
    lab.run("response log --folded bytes").assert_refused_by_usage("lbolt record --stacks");
    lab.run("response log --folded depth").assert_refused_by_usage("response");
    lab.run("response log --all --by size").assert_refused_by_usage("--by");
    lab.run("response log --device sdz").assert_refused(2, &["its devices are"]);
    for (words, expected) in [
        ("--by call", "nothing by call"),
        ("--by cgroup", "nothing by cgroup"),
        ("--by size", "by transfer size"),
    ] {
        let ended = lab.run(&format!("response log {words}"));
        assert!(ended.code == 0 && ended.out.contains(expected), "{words}: {}", ended.out);
    }
}

//! Waits without a request: what `lbolt record` keeps of them, on file systems of our own, held
//! against what the kernel counts by itself.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, Mounted, ends, wait_for};
use crate::verdict::{ended_on, made, recorded};
use model::record::{Context, Process, Wait, WaitKind};
use std::process::{Child, Command};

/// Makes neither a request nor a call: the file system is frozen while it writes.
const FROZEN: &str = "exec 9>$AT/log; fsfreeze -f $AT || exit; head -c 4096 /dev/zero >&9 & \
    until grep -q 'Name:.head' /proc/$!/status && grep -q 'State:.D' /proc/$!/status; do \
    sleep 0.01; done; sleep 0.3; fsfreeze -u $AT; wait; sync -f $AT";

#[test]
fn root_a_wait_without_a_request_is_told_with_its_kind_its_file_and_its_stack() {
    let lab = Lab::new();
    let Some(_mounted) = recorded(&lab, &["mkfs.ext4", "-q", "-F"], FROZEN) else { return };
    let context = Context::read(&lab.path("run")).unwrap();
    let of_writer = |wait: &&Wait| wait.command == "head" && wait.kind == WaitKind::Lock;
    let took_ns = |wait: &Wait| wait.end_ns - wait.begin_ns;
    // On a busy machine it waits for other locks, too, for which it needs no file.
    let of_file = context.waits.iter().filter(of_writer).filter(|wait| wait.inode != 0);
    let longest = of_file.max_by_key(|wait| took_ns(wait));
    let Some(wait) = longest else { panic!("{:?}", context.waits) };
    let took_ns = took_ns(wait);
    assert!((200_000_000..20_000_000_000).contains(&took_ns), "{took_ns}");
    let file = context.files.iter().find(|file| file.number() == wait.file());
    let path = file.and_then(|file| file.path.as_deref()).unwrap();
    assert!(path.ends_with("/log"), "{path}");
    let stack = context.stacks.iter().find(|stack| stack.stack == wait.stack).unwrap();
    assert!(stack.functions.contains("vfs_write"), "{}", stack.functions);
    let told = lab.run("response run --by wait").out;
    assert!(told.lines().any(|line| line.contains("head") && line.contains("lock")), "{told}");
}

#[test]
fn root_a_thread_that_hangs_at_the_end_is_counted_until_then_and_is_no_all_clear() {
    let lab = Lab::new();
    let Some((device, mounted)) = made(&lab, &["mkfs.ext4", "-q", "-F"]) else { return };
    let hanging = Hanging::at(&mounted);
    let Some(ended) = ended_on(&lab, (&device, &mounted), "", "sleep 1.3") else { return };
    let pid = u64::from(hanging.head.id());
    drop(hanging);
    let waits = Context::read(&lab.path("run")).unwrap().waits;
    let hung = waits.iter().find(|wait| wait.pid == pid && wait.kind == WaitKind::Lock);
    let took_ns = hung.map_or(0, |wait| wait.end_ns - wait.begin_ns);
    assert!(took_ns >= 1_000_000_000, "{waits:?}");
    assert!(ended.out.starts_with("Unknown whether anybody waited"), "{}", ended.out);
}

#[test]
fn root_a_command_that_not_even_a_kill_ends_is_left_and_what_was_captured_is_kept() {
    let lab = Lab::new();
    let Some((device, mounted)) = made(&lab, &["mkfs.ext4", "-q", "-F"]) else { return };
    let hanging = Hanging::at(&mounted);
    let words = format!("record -d {} --duration 300ms -o run -- sh -c", device.node);
    let mut command = lab.lbolt(&words);
    command.arg("exec head -c 4096 /dev/zero >$AT/log").env("AT", &mounted.seen);
    let ended = lab.end(command);
    drop(hanging);
    if ended.err.contains("failed to load BPF") {
        return println!("skipped: {}", ended.sentence());
    }
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("was killed, and the kernel holds"), "{}", ended.err);
    assert!(lab.path("run/requests.parquet").exists());
    drop((device, mounted));
    // Its note stays, for it may have gone on.
    assert_eq!(lab.run("doctor --clean").code, 0);
    lab.assert_clean();
}

/// `keeper` holds the file's lock while its large direct writes go on; `editor`, which starts it
/// when it is ready itself, needs it.
const LOCKED: &str = r#"ln -s "$(command -v dd)" $AT/keeper
python3 -c '
import os, subprocess, sys, time
open("/proc/self/comm", "w").write("editor")
os.chdir(sys.argv[1])
file = os.open("shared", os.O_WRONLY | os.O_CREAT)
words = "./keeper if=/dev/zero of=shared bs=16M count=20 oflag=direct conv=notrunc status=none"
keeper = subprocess.Popen(words.split())
while keeper.poll() is None:
    os.pwrite(file, b"x", 400 << 20); time.sleep(0.0003)
' $AT"#;

#[test]
fn root_a_wait_for_a_lock_tells_who_holds_it() {
    let lab = Lab::new();
    let Some((device, mounted)) = made(&lab, &["mkfs.ext4", "-q", "-F"]) else { return };
    if ended_on(&lab, (&device, &mounted), "", LOCKED).is_none() {
        return;
    }
    if !std::path::Path::new("/sys/kernel/tracing/events/lock/contention_begin").exists() {
        println!("skipped: needs the tracepoint contention_begin (Linux 5.19)");
        return;
    }
    let context = Context::read(&lab.path("run")).unwrap();
    let is_it = |wait: &&Wait| wait.command == "editor" && wait.kind == WaitKind::Lock;
    let waits: Vec<&Wait> = context.waits.iter().filter(is_it).collect();
    let keeper = context.processes.iter().find(|process| process.command == "keeper").unwrap();
    let held = waits.iter().filter(|wait| wait.holder == keeper.pid).count();
    assert!(held > 0 && 10 * held >= 9 * waits.len(), "{} of {waits:?}", keeper.pid);
}

/// Reads that are not in the page cache, one after the other; and what the kernel counted of them:
/// ticks of delay for block I/O (proc_pid_stat(5), 42), ns of waiting for a CPU. The reader has a
/// priority of real time: of a fair thread that stays on its queue when it falls asleep (Linux
/// 6.12, DELAY_DEQUEUE) the kernel notes the begin of a wait for whoever runs by then, if at all.
const DELAYED: &str = r#"dd if=/dev/zero of=$AT/data bs=1M count=64 oflag=direct status=none
chrt -f -p 1 $$ || exit
python3 -c '
import mmap, os, sys
file = os.open(sys.argv[1] + "/data", os.O_RDONLY | os.O_DIRECT)
buffer = mmap.mmap(-1, 4 << 20)
took = open("took", "w")
for n in range(400):
    os.preadv(file, [buffer], n * 7 % 16 << 22)
ticks = open("/proc/self/stat").read().rsplit(")", 1)[1].split()[39]
run_delay = open("/proc/self/schedstat").read().split()[1]
print(os.getpid(), ticks, run_delay, file=took, flush=True)
os._exit(0)
' $AT"#;

#[test]
fn root_all_waits_of_a_thread_are_the_kernels_own_count_of_its_delay() {
    const SWITCH: &str = "/proc/sys/kernel/task_delayacct";
    let Ok(before) = std::fs::read_to_string(SWITCH) else {
        println!("skipped: needs {SWITCH} (Linux 5.14, CONFIG_TASK_DELAY_ACCT)");
        return;
    };
    if std::fs::write(SWITCH, "1").is_err() {
        println!("skipped: needs root, for {SWITCH}");
        return;
    }
    let lab = Lab::new();
    let at = made(&lab, &["mkfs.ext4", "-q", "-F"]);
    let ended =
        at.as_ref().and_then(|(device, mounted)| ended_on(&lab, (device, mounted), "", DELAYED));
    std::fs::write(SWITCH, before).unwrap();
    if ended.is_none() {
        return;
    }
    let took = std::fs::read_to_string(lab.path("took")).unwrap();
    let took: Vec<u64> = took.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [pid, ticks, run_delay_ns] = took[..] else { panic!("{took:?}") };
    let (delay_ns, run_delay_ns) = (1e7 * ticks as f64, run_delay_ns as f64);
    let context = Context::read(&lab.path("run")).unwrap();
    let is_it = |process: &&Process| process.pid == pid;
    let reader = context.processes.iter().find(is_it).unwrap();
    assert!(reader.waits_count >= Some(300), "{:?}", context.processes);
    let waited_ns = reader.waited_for_requests_ns.unwrap() as f64;
    // The kernel's count ends when the thread is woken, and a wait when it is back on a CPU: that
    // is told of it by an interrupt, before the delay of running begins. The count is of ticks.
    let told_ns = 20e3 * reader.waits_count.unwrap() as f64;
    let most_ns = delay_ns + run_delay_ns + told_ns;
    assert!(waited_ns >= 0.99 * delay_ns - 1e7, "{waited_ns} of {delay_ns}");
    assert!(waited_ns <= 1.01 * most_ns + 1e7, "{waited_ns} of {delay_ns} and {run_delay_ns}");
}

/// `asker` asks again and again and sleeps until `keeper` answers, who writes each time, and once
/// waits in a frozen file system; `idler` sleeps all the time until `keeper` wakes it at the end.
const ASKED: &str = r#"python3 -c '
import os, subprocess, sys, time
at = sys.argv[1]
asked, answer, job = os.pipe(), os.pipe(), os.pipe()
file = os.open(at + "/log", os.O_WRONLY | os.O_CREAT)
def start(name, does):
    pid = os.fork()
    if pid == 0:
        open("/proc/self/comm", "w").write(name)
        does()
        os._exit(0)
    return pid
def asks():
    while not os.path.exists(at + "/end"):
        os.write(asked[1], b"x"), os.read(answer[0], 1), time.sleep(0.01)
    os.write(asked[1], b"e")
def keeps():
    while os.read(asked[0], 1) != b"e":
        os.write(file, b"x"), os.write(answer[1], b"x")
    os.write(job[1], b"x")
def idles():
    time.sleep(0.01), time.sleep(0.01), os.read(job[0], 1)
pids = [start("idler", idles), start("keeper", keeps), start("asker", asks)]
time.sleep(1)
subprocess.run(["fsfreeze", "-f", at], check=True)
while open(f"/proc/{pids[1]}/stat").read().rsplit(")", 1)[1].split()[0] != "D":
    time.sleep(0.01)
time.sleep(0.5)
subprocess.run(["fsfreeze", "-u", at], check=True)
open(at + "/end", "w").close()
for pid in pids:
    os.waitpid(pid, 0)
os.fsync(file)
' $AT"#;

#[test]
fn root_who_sleeps_until_another_one_has_waited_has_waited_for_that_one() {
    let lab = Lab::new();
    let Some(_mounted) = recorded(&lab, &["mkfs.ext4", "-q", "-F"], ASKED) else { return };
    let waits = Context::read(&lab.path("run")).unwrap().waits;
    let longest = |command: &str, is_sleep: bool| {
        let of = waits.iter().filter(|wait| wait.command == command);
        let of = of.filter(|wait| (wait.kind == WaitKind::Thread) == is_sleep);
        of.max_by_key(|wait| wait.end_ns - wait.begin_ns)
    };
    let (keeper, asker) = (longest("keeper", false), longest("asker", true));
    let (Some(keeper), Some(asker)) = (keeper, asker) else { panic!("{waits:?}") };
    assert_eq!(asker.holder, keeper.pid);
    // Since both were off, until keeper was back on a CPU.
    assert!(asker.begin_ns < keeper.end_ns - 400_000_000, "{keeper:?} {asker:?}");
    assert!((keeper.end_ns - asker.end_ns).abs() < 100_000_000, "{keeper:?} {asker:?}");
    // On a busy machine it may be frozen for longer than idler slept before: that is like waiting.
    if keeper.end_ns - keeper.begin_ns < 900_000_000 {
        let idler = longest("idler", true).map_or(0, |wait| wait.end_ns - wait.begin_ns);
        assert!(idler < 100_000_000, "it slept for another reason: {waits:?}");
    }
}

/// Reads in a cgroup of its own, at once with writes in this one.
const IN_CGROUP: &str = "dd if=/dev/zero of=$AT/data bs=1M count=128 oflag=direct status=none\n\
    sh -c 'echo $$ >CGROUP/cgroup.procs; for pass in 1 2 3 4; do \
    dd if=$0/data of=/dev/null bs=64k iflag=direct status=none; done' $AT &\n\
    for pass in 1 2; do \
    dd if=/dev/zero of=$AT/more bs=1M count=128 oflag=direct status=none; done\n\
    wait";

#[test]
fn root_a_cgroups_pressure_is_the_kernels_and_one_program_in_two_of_them_is_two_roles() {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let of = |line: &str| Some(line.split_once(" cgroup2 ")?.0.split_once(' ')?.1.to_owned());
    let Some(hierarchy) = mounts.lines().find_map(of) else {
        return println!("skipped: needs cgroups of version 2");
    };
    let name = format!("lbolt-test-{}", std::process::id());
    let cgroup = std::path::Path::new(&hierarchy).join(&name);
    if std::fs::create_dir(&cgroup).is_err() || !cgroup.join("io.pressure").exists() {
        return println!("skipped: needs root, and pressure of cgroups in {hierarchy}");
    }
    let lab = Lab::new();
    let load = IN_CGROUP.replace("CGROUP", cgroup.to_str().unwrap());
    let mounted = recorded(&lab, &["mkfs.ext4", "-q", "-F"], &load);
    wait_for("the cgroup to be empty", || std::fs::remove_dir(&cgroup).ok());
    if mounted.is_none() {
        return;
    }
    let context = Context::read(&lab.path("run")).unwrap();
    let of_cgroup = context.pressure.iter().filter(|one| one.unit.ends_with(&name));
    let stalled_ns: u64 = of_cgroup.map(|one| one.io_stalled_ns).sum();
    let is_in = |process: &&Process| process.unit.as_ref().is_some_and(|of| of.ends_with(&name));
    let of_unit = || context.processes.iter().filter(is_in);
    // Those, too, that were gone before they were looked at.
    let readers = of_unit().filter(|process| process.command == "dd").count();
    assert_eq!(readers, 4, "{:?}", context.processes);
    let waited_ns: u64 = of_unit().filter_map(|process| process.waited_for_requests_ns).sum();
    // The kernel's count ends when a thread is woken, and a wait when it is back on a CPU.
    assert!(stalled_ns > 0 && stalled_ns <= waited_ns + 10_000_000, "{stalled_ns} of {waited_ns}");
    let told = lab.run("response run --by wait").out;
    assert!(told.contains(&format!("dd ({name})")), "{told}");
}

/// A `head` that hangs in a frozen file system, until this is dropped.
struct Hanging<'m> {
    head: Child,
    mounted: &'m Mounted,
}

impl<'m> Hanging<'m> {
    /// Hangs, as the kernel says.
    fn at(mounted: &'m Mounted) -> Self {
        const LINES: &str = "exec 9>$AT/log; fsfreeze -f $AT; exec head -c 4096 /dev/zero >&9";
        let mut head = Command::new("sh");
        let head = head.args(["-c", LINES]).env("AT", &mounted.seen).spawn().unwrap();
        let hanging = Self { head, mounted };
        let status = format!("/proc/{}/status", hanging.head.id());
        wait_for("head to hang", || {
            let status = std::fs::read_to_string(&status).ok()?;
            (status.contains("head") && status.contains("State:\tD")).then_some(())
        });
        hanging
    }
}

impl Drop for Hanging<'_> {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").arg("-u").arg(&self.mounted.seen).status();
        let _ = ends(&mut self.head);
    }
}

/// Who hangs is told of before it is over, though it began before lbolt did.
#[test]
fn root_who_hangs_is_told_of_while_it_hangs() {
    let lab = Lab::new();
    let Some((device, mounted)) = made(&lab, &["mkfs.ext4", "-q", "-F"]) else { return };
    let hanging = Hanging::at(&mounted);
    let top = |seconds: u64| {
        lab.run(&format!("top -d {} --batch --duration {seconds}s", device.node)).out
    };
    // A busy machine takes its time to begin.
    let words = ["head has been waiting for locks for", "threads of head wait for locks"];
    let is_told = |text: &String| words.iter().any(|words| text.contains(words));
    let words = "--keep 30s --when wait(head)>1s --duration 60s";
    let recorded = lab.run(&format!("record {words} -d {} -o run", device.node));
    if recorded.err.contains("failed to load BPF") {
        println!("skipped: {}", recorded.sentence());
        return;
    }
    let told = [4, 8, 16, 32, 64].into_iter().map(top).find(is_told);
    drop(hanging);
    assert!(told.is_some(), "{}", top(4));
    assert!(recorded.err.contains("head waited for "), "{}", recorded.err);
}

//! Notes of what a killed run left are data: whoever forges one gets no file written, no process
//! ended and no setting changed beyond what the tables allow. And what a kill of all left is said.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, Loop, QUICK, is_root, settings_turn, tool, wait_for};
use host::settings::{Setting, Snapshot};
use model::process::{Started, started};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::path::Path;

/// A setting that does no harm.
const SETTING: &str = "/proc/sys/vm/dirty_expire_centisecs";
/// The number of no process.
const NOBODY: u32 = 4_194_304;

fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim().to_owned()
}

fn note(settings: &Value) -> Value {
    json!({ "pid": NOBODY, "process_started": 1, "boot": boot(), "run": "/r", "scratch": [],
        "settings": settings })
}

fn setting(path: &str, value: &str) -> Value {
    json!([{ "path": path, "value": value }])
}

/// A note where lbolt has its own.
fn put(lab: &Lab, name: &str, note: &Value) {
    std::fs::create_dir_all(lab.notes()).unwrap();
    lab.allow_path(&lab.notes(), 0o700);
    std::fs::write(lab.notes().join(name), note.to_string()).unwrap();
}

/// The setting as it is, and another value for it.
fn other_value() -> (Setting, String) {
    let now = Setting::read(Path::new(SETTING)).unwrap();
    let other = now.value.parse::<u64>().unwrap() + 1;
    (now, other.to_string())
}

/// Settings that are put back, failed or not.
struct Before(Snapshot);

impl Drop for Before {
    fn drop(&mut self) {
        let _ = self.0.restore();
    }
}

#[test]
fn a_note_that_names_another_file_or_value_changes_nothing() {
    let lab = Lab::new();
    let precious = lab.file("precious", "mine");
    symlink(&precious, lab.path("link")).unwrap();
    let paths = |name: &str| lab.path(name).display().to_string();
    let above = format!("/proc/sys/vm/../../../{}", paths("precious"));
    let huge = "9".repeat(50_000);
    for (path, value) in [
        (paths("precious").as_str(), "gone"),
        (paths("link").as_str(), "1"),
        (above.as_str(), "1"),
        ("/etc/passwd", "root::0:0"),
        ("/proc/sys/kernel/core_pattern", "|/tmp/x"),
        ("/proc/sys/kernel/modprobe", "/tmp/x"),
        ("/proc/sys/vm/drop_caches", "3"),
        ("/sys/block/loop0/queue/../../../power/state", "mem"),
        ("/sys/block/../../proc/sys/vm/dirty_ratio", "1"),
        ("/sys/block/loop0/uevent", "remove"),
        (SETTING, "1\n2"),
        (SETTING, "-1"),
        (SETTING, ""),
        (SETTING, huge.as_str()),
        ("/sys/block/loop0/queue/scheduler", "none\nbfq"),
    ] {
        put(&lab, &format!("{NOBODY}-1-1.json"), &note(&setting(path, value)));
        for words in ["doctor --clean", "doctor"] {
            let ended = lab.run(words);
            assert_eq!(ended.code, 0, "{path}: {}", ended.err);
            let line =
                ended.out.lines().find(|line| line.contains("is not trusted: lbolt does not"));
            assert!(line.is_some_and(|line| line.len() < 500), "{path}: {}", ended.out);
        }
        assert_eq!(std::fs::read(&precious).unwrap(), b"mine", "{path}");
    }
    let measured = lab.run(&format!("throughput d --rw read {QUICK} -o run"));
    assert!(!measured.err.contains("left a setting"), "{}", measured.err);
    // The note of one process under another's name.
    put(&lab, &format!("{NOBODY}-1-1.json"), &note(&json!([])));
    std::fs::rename(lab.notes().join(format!("{NOBODY}-1-1.json")), lab.notes().join("7-1-1.json"))
        .unwrap();
    let ended = lab.run("doctor --clean");
    assert!(ended.out.contains("the name of another process's note"), "{}", ended.out);
    std::fs::remove_file(lab.notes().join("7-1-1.json")).unwrap();
    lab.assert_clean();
}

/// Adds a key as earlier versions kept notes: in the user's keyring and in the session's.
const KEY: &str = "
import ctypes, sys
libc = ctypes.CDLL(None)
name, text = sys.argv[1].encode(), sys.argv[2].encode()
libc.syscall(250, 8, -4, -2)
for ring in (-4, -3):
    key = libc.syscall(248, b'user', name, text, len(text), ring)
    libc.syscall(250, 5, key, 0x3f3f0000)
    if sys.argv[3] == 'gone':
        libc.syscall(250, 9, key, ring)
";

#[test]
fn root_a_note_in_a_keyring_is_nobody_s() {
    let key = |text: &str, end: &str| {
        tool("python3", &["-c", KEY, &format!("lbolt:{NOBODY}-1-1.json"), text, end])
    };
    if !is_root() || cfg!(not(target_arch = "x86_64")) || key("{}", "gone").is_none() {
        return println!("skipped: needs root and python3 on x86-64");
    }
    let _turn = settings_turn();
    let lab = Lab::new();
    let precious = lab.file("precious", "mine");
    let (now, other) = other_value();
    for settings in [setting(SETTING, &other), setting(&precious.display().to_string(), "gone")] {
        key(&note(&settings).to_string(), "stays").unwrap();
        let ended = lab.run("doctor --clean");
        key("{}", "gone").unwrap();
        assert!(!ended.out.contains("/r"), "{}", ended.out);
        assert_eq!(Setting::read(Path::new(SETTING)).unwrap(), now);
        assert_eq!(std::fs::read(&precious).unwrap(), b"mine");
    }
    lab.assert_clean();
}

/// Root of a container without a user namespace, in which /var/tmp is the host's: its files are
/// root's.
const CONTAINER: &str = r#"
set -e
mount -t tmpfs -o mode=1777 none /var/tmp
mount -t tmpfs -o mode=755 none /var/lib
mkdir -p -m 700 /var/tmp/lbolt/running
printf %s "$1" > /var/tmp/lbolt/running/4194304-1-1.json
shift
unset LBOLT_STATE XDG_STATE_HOME XDG_RUNTIME_DIR HOME
exec "$@"
"#;

#[test]
fn root_a_note_of_a_container_s_root_in_a_directory_of_all_changes_no_setting() {
    if !is_root() || tool("unshare", &["-m", "true"]).is_none() {
        return println!("skipped: needs root and unshare");
    }
    let _turn = settings_turn();
    let lab = Lab::new();
    let (now, other) = other_value();
    let mut command = lab.command("unshare");
    let note = note(&setting(SETTING, &other)).to_string();
    command.args(["-m", "sh", "-c", CONTAINER, "container", &note]);
    command.args([env!("CARGO_BIN_EXE_lbolt"), "doctor", "--clean"]);
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(!ended.out.contains("back to"), "{}", ended.out);
    assert_eq!(Setting::read(Path::new(SETTING)).unwrap(), now);
}

#[test]
fn a_note_ends_no_process_but_the_command_that_it_noted() {
    let lab = Lab::new();
    let mark = format!("{NOBODY}-1");
    let sleeping = |marked: &str| {
        let mut command = std::process::Command::new("sleep");
        command.arg("300").env("LBOLT_COMMAND_OF", marked).spawn().unwrap()
    };
    let mut sleep = sleeping(&mark);
    let pid = sleep.id();
    let ticks = started(pid).unwrap();
    // A number that is used again; another boot; one that was there before lbolt was.
    let others = [
        (ticks - 1, boot(), 1),
        (ticks + 1, boot(), 1),
        (ticks, "earlier".to_owned(), 1),
        (ticks, boot(), ticks + 1),
    ];
    let write = |ticks: u64, boot: &str, begun: u64| {
        let commands = json!([{ "pid": pid, "ticks": ticks }]);
        let mut note = note(&json!([]));
        (note["process_started"], note["boot"]) = (begun.into(), boot.into());
        note["commands"] = commands;
        put(&lab, &format!("{NOBODY}-{begun}-1.json"), &note);
    };
    for (ticks, boot, begun) in others {
        write(ticks, &boot, begun);
        let ended = lab.run("doctor --clean");
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert!(sleep.try_wait().unwrap().is_none(), "{ticks} {boot}: {}", ended.out);
    }
    // A process that lbolt did not start: whoever may write a note could name any.
    let mut foreign = sleeping("1-1");
    let named = json!([{ "pid": foreign.id(), "ticks": started(foreign.id()).unwrap() }]);
    let mut forged = note(&json!([]));
    forged["commands"] = named;
    put(&lab, &format!("{NOBODY}-1-1.json"), &forged);
    let may =
        format!("a killed run may have left its command running: sleep (process {})", foreign.id());
    assert!(lab.run("doctor").out.contains(&may));
    lab.run("doctor --clean")
        .assert_refused(1, &["cannot tell whether sleep", "otherwise remove "]);
    assert!(foreign.try_wait().unwrap().is_none());
    foreign.kill().unwrap();
    foreign.wait().unwrap();
    write(ticks, &boot(), 1);
    let told = lab.run("doctor");
    let running = format!("a killed run left its command running: sleep (process {pid})");
    assert!(told.out.contains(&running), "{}", told.out);
    let ended = lab.run("doctor --clean");
    assert!(ended.out.contains(&format!("ended sleep (process {pid}")), "{}", ended.out);
    assert!(!sleep.wait().unwrap().success());
    lab.assert_clean();
}

#[test]
fn root_a_command_that_outlives_lbolt_and_its_caretaker_is_told_and_ended() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    for words in [format!("record -d {} -o run", device.node), "watch history".to_owned()] {
        let mut command = lab.lbolt(&format!("{words} --"));
        command.args(["sh", "-c", "sleep 300 & echo $$ > number; echo $! > child; wait"]);
        lab.allow(".", 0o777);
        let mut running = lab.start(command);
        let numbers = running.until("the command and its note", || {
            let number = |name: &str| -> Option<u32> {
                std::fs::read_to_string(lab.path(name)).ok()?.trim().parse().ok()
            };
            let notes = std::fs::read_dir(lab.notes()).ok()?.flatten();
            let texts: Vec<String> =
                notes.filter_map(|note| std::fs::read_to_string(note.path()).ok()).collect();
            let number_of_note = format!("{{\"pid\":{},", number("number")?);
            texts.iter().any(|text| text.contains(&number_of_note)).then_some(())?;
            Some([number("number")?, number("child")?])
        });
        running.kill_with_its_caretaker();
        running.wait();
        let [command, child] = numbers;
        let told = lab.run("doctor");
        let sentence = format!("a killed run left its command running: sh (process {command})");
        assert!(told.out.contains(&sentence), "{words}: {}", told.out);
        let ended = lab.run("doctor --clean");
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert!(ended.out.contains(&format!("ended sh (process {command}")), "{}", ended.out);
        for pid in [command, child] {
            let is_over = || started(pid).is_none_or(|ticks| !Started { pid, ticks }.is_alive());
            wait_for("their end", || is_over().then_some(()));
        }
        for name in ["number", "child"] {
            std::fs::remove_file(lab.path(name)).unwrap();
        }
        let _ = std::fs::remove_dir_all(lab.path("run"));
    }
    drop(device);
    lab.assert_clean();
}

#[test]
fn root_a_device_that_stays_mounted_after_a_kill_is_told_with_what_to_do() {
    if !is_root() || tool("mkfs.ext4", &["-V"]).is_none() {
        return println!("skipped: needs root and mkfs.ext4");
    }
    let lab = Lab::new();
    // A name that a shell would take for two.
    let at = lab.directory("a t");
    let script = "trap '' TERM; mount $LBOLT_DEVICE 'a t' && echo $LBOLT_DEVICE > name && \
                  while :; do sleep 1; done";
    let mut command = lab.lbolt("device model:cheetah9lp,size=64m --prepare");
    command.args(["mkfs.ext4 -q -F $LBOLT_DEVICE 16m", "--", "sh", "-c", script]);
    let mut running = lab.start(command);
    let name = running.until("the mount", || {
        let name = std::fs::read_to_string(lab.path("name")).ok()?;
        name.ends_with('\n').then(|| name.trim().to_owned())
    });
    running.kill_with_its_caretaker();
    running.wait();
    let what = format!("{name} of a killed run is mounted at {}", at.display());
    let how = format!("run `umount '{}'`, then run `lbolt doctor --clean` again", at.display());
    let told = lab.run("doctor");
    assert!(told.out.contains(&what) && told.out.contains(&how), "{}", told.out);
    let refused = lab.run("doctor --clean");
    refused.assert_refused(1, &[&what, &how]);
    assert!(refused.out.contains("ended sh (process "), "{}", refused.out);
    tool("umount", &[at.to_str().unwrap()]).unwrap();
    wait_for("the device's end", || (lab.run("doctor --clean").code == 0).then_some(()));
    lab.assert_clean();
}

#[test]
fn root_a_device_that_was_set_up_anew_is_nobody_s_leftover() {
    let lab = Lab::new();
    let image = lab.file("image", vec![0; 1 << 20]);
    let Some(device) = Loop::over(&image) else { return };
    let name = Path::new(&device.node).file_name().unwrap().to_str().unwrap();
    let number = std::fs::read_to_string(format!("/sys/block/{name}/diskseq")).unwrap();
    let number: u64 = number.trim().parse().unwrap();
    let put_device = |sequence: u64, boot: String| {
        let of = json!({ "loops": [device.node], "sequences": [sequence], "boot": boot });
        let mut note = note(&json!([]));
        note.as_object_mut().unwrap().extend(of.as_object().unwrap().clone());
        put(&lab, &format!("{NOBODY}-1-1.json"), &note);
    };
    put_device(number, boot());
    let told = lab.run("doctor").out;
    assert!(told.contains(&format!("{} of a killed run", device.node)), "{told}");
    for (sequence, boot) in [(number - 1, boot()), (number, "another".to_owned())] {
        put_device(sequence, boot);
        let told = lab.run("doctor").out;
        assert!(!told.contains(&device.node), "{told}");
        let cleaned = lab.run("doctor --clean");
        assert_eq!(cleaned.code, 0, "{}", cleaned.err);
        let file = std::fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).unwrap();
        assert_eq!(Path::new(file.trim()), image);
    }
    drop(device);
    lab.assert_clean();
}

#[test]
fn each_part_of_a_note_is_seen_to_and_each_that_failed_is_told() {
    let lab = Lab::new();
    let scratch = |name: &str, file: &str| {
        let path = lab.directory(&format!(".lbolt-scratch-{name}"));
        std::fs::write(path.join(file), "").unwrap();
        path
    };
    let (first, gone) = (scratch("first", "precious"), scratch("gone", "file.0"));
    let other = scratch("other", "precious");
    let away = lab.path("away/.lbolt-scratch-x");
    for (started, scratch) in [(1, json!([away, first, gone])), (2, json!([other]))] {
        let mut note = note(&json!([]));
        note["scratch"] = scratch;
        note["process_started"] = json!(started);
        put(&lab, &format!("{NOBODY}-{started}-1.json"), &note);
    }
    let clean = lab.run("doctor --clean");
    clean.assert_refused(1, &[&first.display().to_string(), &other.display().to_string()]);
    assert!(clean.out.contains(&format!("removed {}", gone.display())), "{}", clean.out);
    assert!(!gone.exists() && first.exists() && other.exists());
    for path in [&first, &other] {
        std::fs::remove_file(path.join("precious")).unwrap();
    }
    let clean = lab.run("doctor --clean");
    assert_eq!(clean.code, 0);
    // Its disk may be mounted again.
    let waits = format!("{} is not there now, perhaps because", away.display());
    assert!(clean.out.contains(&waits) && !clean.out.contains("left nothing"), "{}", clean.out);
    let left: Vec<_> = std::fs::read_dir(lab.notes()).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(left, [lab.notes().join(format!("{NOBODY}-1-1.json"))]);
    std::fs::remove_file(&left[0]).unwrap();
    lab.assert_clean();
}

/// A storm that changes settings, brief and with one remedy.
const STORM: &str = "storm d --size 8m --period 200ms --rate_iops 50 --commits 10 --dirty 1m \
                     --runs 2 --remedies dirty-early";

#[test]
fn root_what_a_container_s_killed_run_left_is_told_where_the_notes_are_the_host_s() {
    if !is_root() || tool("unshare", &["-mpf", "true"]).is_none() {
        return println!("skipped: needs root and unshare");
    }
    let _turn = settings_turn();
    let (lab, other) = (Lab::new(), Lab::new());
    let before = Before(Snapshot::of(None).unwrap());
    let mut command = lab.command("unshare");
    command.args(["-mpf", "--kill-child", "--mount-proc", env!("CARGO_BIN_EXE_lbolt")]);
    command.args(STORM.split_whitespace()).args(["--periods", "50", "-o", "r"]);
    let mut running = lab.start(command);
    running.until("a change", || (!before.0.differences().is_empty()).then_some(()));
    // The end of its container, with all that is in it.
    running.signal(Signal::KILL);
    running.wait();
    let of_host = |words: &str| {
        let mut command = other.lbolt(words);
        command.env("LBOLT_STATE", lab.notes().parent().unwrap());
        other.end(command)
    };
    let told = wait_for("the container's end", || {
        let told = of_host(&format!("throughput d --rw read {QUICK} -o run"));
        std::fs::remove_dir_all(other.path("run")).unwrap();
        told.err.contains("left a setting changed: /proc/sys/vm/dirty_").then_some(told)
    });
    assert_eq!(told.code, 0);
    let refused = of_host(&format!("{STORM} --periods 1 -o r"));
    let said = format!("{}{}", refused.out, refused.err);
    assert!(said.contains("run `lbolt doctor --clean` first"), "{said}");
    let clean = of_host("doctor --clean");
    assert_eq!((clean.code, before.0.differences()), (0, vec![]), "{}", clean.err);
    lab.run("doctor --clean");
    lab.assert_clean();
    other.assert_clean();
}

#[test]
fn root_a_container_whose_notes_end_with_it_changes_no_setting() {
    if !is_root() || tool("unshare", &["-mpf", "true"]).is_none() {
        return println!("skipped: needs root and unshare");
    }
    let _turn = settings_turn();
    let lab = Lab::new();
    let before = Before(Snapshot::of(None).unwrap());
    let mount = "mount -t tmpfs none \"$LBOLT_STATE\" && exec \"$@\"";
    for namespaces in [&["-m"][..], &["-mpf", "--kill-child", "--mount-proc"]] {
        let mut command = lab.command("unshare");
        command.args(namespaces).args(["sh", "-c", mount, "sh", env!("CARGO_BIN_EXE_lbolt")]);
        command.args(STORM.split_whitespace()).args(["--periods", "1", "-o", "r"]);
        let ended = lab.end(command);
        let said = format!("{}{}", ended.out, ended.err);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            said.contains("may end with this container; mount the host's /var/lib/lbolt"),
            "{said}"
        );
        assert_eq!(before.0.differences(), vec![], "{said}");
        std::fs::remove_dir_all(lab.path("r")).unwrap();
    }
    lab.assert_clean();
}

/// To look how settings are and to note it is one step: whoever comes in between waits.
#[test]
fn root_of_storms_that_begin_at_once_one_changes_settings() {
    if !is_root() {
        return;
    }
    let _turn = settings_turn();
    let lab = Lab::new();
    let before = Before(Snapshot::of(None).unwrap());
    for _ in 0..3 {
        let storms: Vec<_> = (0..4)
            .map(|storm| {
                lab.directory(&format!("d{storm}"));
                let words = STORM.replacen("storm d", &format!("storm d{storm}"), 1);
                lab.start(lab.lbolt(&format!("{words} --periods 1 -o r{storm}")))
            })
            .collect();
        for (storm, running) in storms.into_iter().enumerate() {
            let ended = running.wait();
            assert_eq!(ended.code, 0, "{}", ended.err);
            std::fs::remove_dir_all(lab.path(&format!("r{storm}"))).unwrap();
        }
        assert_eq!(before.0.differences(), vec![]);
    }
    lab.assert_clean();
}

/// Settings as another run has them are never taken for the machine's own: who looks waits until
/// nobody else is between looking and noting.
#[test]
fn root_a_storm_looks_how_settings_are_when_nobody_else_does() {
    if !is_root() {
        return;
    }
    let _turn = settings_turn();
    let lab = Lab::new();
    let before = Before(Snapshot::of(None).unwrap());
    let (now, other) = other_value();
    std::fs::create_dir_all(lab.notes()).unwrap();
    lab.allow_path(&lab.notes(), 0o700);
    let held = std::fs::File::open(lab.notes()).unwrap();
    held.lock().unwrap();
    // As another run's remedy has it.
    Setting { value: other, ..now.clone() }.apply().unwrap();
    let mut running = lab.start(lab.lbolt(&format!("{STORM} --periods 1 -o r")));
    let files = format!("/proc/{}/fd", running.child.id());
    running.until("its wait for the lock", || {
        let files = std::fs::read_dir(&files).ok()?.flatten();
        let paths = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        // For the note of its scratch, for that of settings, and for the lock.
        (paths.filter(|path| *path == lab.notes()).count() >= 3).then_some(())
    });
    now.apply().unwrap();
    held.unlock().unwrap();
    let ended = running.wait();
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(before.0.differences(), vec![], "{}", ended.out);
    lab.assert_clean();
}

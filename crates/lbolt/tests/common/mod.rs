//! What the tests of the binary share: a laboratory in a temporary directory, in which `lbolt`
//! is run with words as they would be typed; loop devices and mounts that go with the test,
//! failed or not; and a look at what was left behind.

// Helpers of tests are tests, which clippy.toml cannot know of this file; and no test uses all.
#![allow(clippy::unwrap_used, clippy::print_stdout, dead_code)]

#[path = "../../../report/tests/common/golden.rs"]
mod golden;
mod patience;

pub(crate) use golden::golden;
use model::doubt::Code;
use model::record::{Doubt, Sample, Subject, Verdict};
pub(crate) use patience::{Over, cpu_ticks, ends, wait_for};
use patience::{PATIENCE, wait_while_it_works};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// One short pass of whatever is requested.
pub(crate) const QUICK: &str = "--size 4m --runs 1 --warmup 0 --no-ceiling";

/// Tests that change the kernel's settings, or look whether somebody did, take turns.
pub(crate) fn settings_turn() -> std::sync::MutexGuard<'static, ()> {
    static SETTINGS: std::sync::Mutex<()> = std::sync::Mutex::new(());
    SETTINGS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Whether the test may go on: it needs root.
pub(crate) fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped: needs root");
    }
    is_root
}

/// Whether the test may go on: it needs the program that makes this file system.
pub(crate) fn can_make(file_system: &str) -> bool {
    let found = host::subject::FileSystem::named(file_system).unwrap();
    if !found.is_installed() {
        println!("skipped: needs {}", found.mkfs);
    }
    found.is_installed()
}

/// Runs a tool and gives its output; none when it fails or is missing.
pub(crate) fn tool(name: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(name).args(arguments).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A directory of one test's own: the working directory of its commands, with their runs, their
/// notes and their targets in it.
pub(crate) struct Lab {
    folder: TempDir,
    path: PathBuf,
    /// Not in the laboratory: notes lie only where nobody else can write in any directory above.
    state: TempDir,
}

impl Lab {
    /// On the disk that the build is on.
    pub(crate) fn new() -> Self {
        Self::of(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    /// Where any user may write.
    pub(crate) fn for_everyone() -> Self {
        let lab = Self::of(tempfile::tempdir().unwrap());
        lab.allow(".", 0o777);
        lab
    }

    fn of(folder: TempDir) -> Self {
        let path = folder.path().canonicalize().unwrap();
        let lab = Self { folder, path, state: tempfile::tempdir().unwrap() };
        lab.state_of("own");
        lab.state_of("nobody");
        lab.allow_path(lab.state.path(), 0o755);
        lab.directory("d");
        lab
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        std::fs::create_dir_all(self.path(name)).unwrap();
        self.path(name)
    }

    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    pub(crate) fn script(&self, name: &str, text: &str) {
        self.file(name, format!("#!/bin/sh\n{text}\n"));
        self.allow(name, 0o755);
    }

    pub(crate) fn allow(&self, name: &str, mode: u32) {
        self.allow_path(&self.path(name), mode);
    }

    pub(crate) fn allow_path(&self, path: &Path, mode: u32) {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    /// A user's state directory.
    fn state_of(&self, user: &str) -> PathBuf {
        let path = self.state.path().canonicalize().unwrap().join(user);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// Where the notes of its commands lie.
    pub(crate) fn notes(&self) -> PathBuf {
        self.state_of("own").join("running")
    }

    /// Where those of nobody lie.
    pub(crate) fn notes_of_nobody(&self) -> PathBuf {
        self.state_of("nobody").join("running")
    }

    /// A program in this laboratory: its runs and notes go here too.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.path).env("LBOLT_RUNS", "runs").stdin(Stdio::null());
        command.env("LBOLT_STATE", self.state_of("own"));
        command
    }

    /// `lbolt` with words that hold no spaces.
    pub(crate) fn lbolt(&self, words: &str) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_lbolt"));
        command.args(words.split_whitespace());
        command
    }

    /// `lbolt` as a user without any privilege; none, with a sentence, where nobody can be one.
    pub(crate) fn lbolt_of_nobody(&self, words: &str) -> Option<Command> {
        if !rustix::process::geteuid().is_root() {
            return Some(self.lbolt(words));
        }
        let switch = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        if tool("setpriv", &[&switch[..], &["true"]].concat()).is_none() {
            println!("skipped: needs setpriv");
            return None;
        }
        // The build may lie where others cannot look.
        let copy = self.path("lbolt-of-nobody");
        if !copy.exists() {
            std::fs::copy(env!("CARGO_BIN_EXE_lbolt"), &copy).unwrap();
        }
        let mut command = self.command("setpriv");
        let state = self.state_of("nobody");
        std::os::unix::fs::chown(&state, Some(65534), None).unwrap();
        command.env("LBOLT_STATE", state);
        command.args(switch).arg(copy).args(words.split_whitespace());
        Some(command)
    }

    pub(crate) fn start(&self, mut command: Command) -> Running {
        let output = |end: &str| {
            let file = tempfile::Builder::new().prefix(".").suffix(end).tempfile_in(&self.path);
            let (file, path) = file.unwrap().into_parts();
            (file, path)
        };
        let ((out_file, out), (err_file, err)) = (output(".out"), output(".err"));
        let child = command.stdout(out_file).stderr(err_file).spawn().unwrap();
        Running { child, out, err }
    }

    pub(crate) fn end(&self, command: Command) -> Ended {
        self.start(command).wait()
    }

    /// Runs `lbolt` to its end.
    pub(crate) fn run(&self, words: &str) -> Ended {
        self.end(self.lbolt(words))
    }

    /// Runs `lbolt … --format json`, which must go well.
    pub(crate) fn measure(&self, words: &str) -> Report {
        let ended = self.run(&format!("{words} --format json"));
        assert_eq!(ended.code, 0, "{words}: {}", ended.err);
        ended.report()
    }

    /// The directories of the runs that were kept.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.path("runs")) else { return vec![] };
        let mut runs: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        runs.sort();
        runs
    }

    /// The samples of the only run.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        model::record::read(&runs[0].join("samples.parquet")).unwrap()
    }

    /// The samples of a run by its name here.
    pub(crate) fn samples_of(&self, run: &str) -> Vec<Sample> {
        model::run::RunDirectory::open(&self.path(run)).unwrap().0.read_samples().unwrap()
    }

    /// Scratch files, notes, loop devices and mounts of this laboratory.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let mut left = Vec::new();
        scratch_below(&self.path, &mut left);
        for notes in [self.notes(), self.notes_of_nobody()] {
            let notes = std::fs::read_dir(notes).into_iter().flatten();
            left.extend(notes.map(|note| note.unwrap().path().display().to_string()));
        }
        left.extend(self.loops().into_iter().map(|(name, _)| name));
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let folder = self.path.display().to_string();
        left.extend(mounts.lines().filter(|line| line.contains(&folder)).map(str::to_owned));
        left
    }

    /// Nothing is left; loop devices may take a moment, for the kernel closes them at leisure.
    pub(crate) fn assert_clean(&self) {
        let deadline = Instant::now() + PATIENCE;
        while !self.loops().is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(self.leftovers(), [""; 0]);
    }

    /// Loop devices over files in here, named or not, with their directories in sysfs.
    pub(crate) fn loops(&self) -> Vec<(String, PathBuf)> {
        let folder = self.path.display().to_string();
        let entries = std::fs::read_dir("/sys/block").unwrap().filter_map(Result::ok);
        let over_ours = |entry: &std::fs::DirEntry| {
            let file = std::fs::read_to_string(entry.path().join("loop/backing_file"));
            file.is_ok_and(|file| file.starts_with(&folder))
        };
        let name = |e: std::fs::DirEntry| (e.file_name().to_string_lossy().into_owned(), e.path());
        entries.filter(over_ours).map(name).collect()
    }
}

fn scratch_below(folder: &Path, left: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().filter_map(Result::ok) {
        let is_scratch = entry.file_name().to_string_lossy().starts_with(".lbolt-");
        if is_scratch {
            left.push(entry.path().display().to_string());
        } else if entry.file_type().is_ok_and(|t| t.is_dir()) {
            scratch_below(&entry.path(), left);
        }
    }
}

/// A command that runs; it is killed when this is dropped.
pub(crate) struct Running {
    pub(crate) child: Child,
    out: tempfile::TempPath,
    err: tempfile::TempPath,
}

impl Running {
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal)
            .unwrap();
    }

    /// The part that cleans up after it.
    pub(crate) fn caretaker(&self) -> rustix::process::Pid {
        let parent = self.child.id().to_string();
        wait_for("the caretaker", || {
            let found = tool("pgrep", &["-P", &parent, "-f", "caretaker-part"])?;
            rustix::process::Pid::from_raw(found.lines().next()?.parse().ok()?)
        })
    }

    /// Kills it so that nobody cleans up.
    pub(crate) fn kill_with_its_caretaker(&self) {
        rustix::process::kill_process(self.caretaker(), rustix::process::Signal::KILL).unwrap();
        self.signal(rustix::process::Signal::KILL);
    }

    /// Where what it prints is.
    pub(crate) fn out_path(&self) -> PathBuf {
        self.out.to_path_buf()
    }

    /// Where what it says on standard error is.
    pub(crate) fn err_path(&self) -> PathBuf {
        self.err.to_path_buf()
    }

    /// Waits for something that it does, as long as it runs.
    pub(crate) fn until<T>(&mut self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let (child, err) = (&mut self.child, &self.err);
        let pid = child.id();
        wait_while_it_works(
            what,
            || cpu_ticks(pid),
            || {
                // What it did before its end counts, too.
                let is_over = child.try_wait().unwrap().is_some();
                let found = look();
                if found.is_none() && is_over {
                    panic!("it ended before {what}: {}", std::fs::read_to_string(err).unwrap());
                }
                found
            },
        )
    }

    pub(crate) fn wait(mut self) -> Ended {
        let pid = self.child.id();
        let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let child = &mut self.child;
        let status = wait_while_it_works(
            &format!("the end of {:?}", words.replace('\0', " ")),
            || cpu_ticks(pid),
            || child.try_wait().unwrap(),
        );
        let text = |path: &Path| String::from_utf8(std::fs::read(path).unwrap()).unwrap();
        Ended { code: code(status), out: text(&self.out), err: text(&self.err) }
    }
}

fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| -status.signal().unwrap_or(0))
}

impl Drop for Running {
    fn drop(&mut self) {
        // Of no effect where it has ended.
        let _ = self.child.kill();
        let _ = ends(&mut self.child);
    }
}

/// What a command said, and its exit code; minus the signal that killed it.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    pub(crate) fn report(&self) -> Report {
        Report(serde_json::from_str(&self.out).unwrap())
    }

    /// The last line on standard error: lbolt's sentence of what is wrong.
    pub(crate) fn sentence(&self) -> &str {
        self.err.lines().last().unwrap_or_default()
    }

    /// Holds the end to a code and a sentence, and to there being no panic.
    pub(crate) fn assert_refused(&self, code: i32, words: &[&str]) {
        let (sentence, err) = (self.sentence(), &self.err);
        assert_eq!(self.code, code, "{err}");
        assert!(sentence.starts_with("lbolt: "), "{err}");
        for word in words {
            assert!(sentence.contains(word), "no \"{word}\" in: {err}");
        }
    }
}

impl Ended {
    /// Holds the end to a refusal by the definition of the command line, which names what would do.
    pub(crate) fn assert_refused_by_usage(&self, word: &str) {
        assert_eq!(self.code, 2, "{}", self.err);
        assert!(self.err.contains(word), "no \"{word}\" in: {}", self.err);
    }
}

/// The findings as JSON.
pub(crate) struct Report(pub(crate) Value);

/// Why a finding is doubted or missing, in words.
pub(crate) fn reason(finding: &Value) -> String {
    let doubts: Vec<Doubt> = serde_json::from_value(finding["doubts"].clone()).unwrap();
    report::doubt::sentences(&doubts)
}

/// Whether a pass was measured and nothing is to be doubted of it but what other tests do
/// meanwhile.
pub(crate) fn is_sound_by_itself(sample: &Sample) -> bool {
    let is_machine = |doubt: &Doubt| matches!(doubt.code, Code::OtherPrograms | Code::StolenTime);
    sample.verdict != Verdict::NotMeasured && sample.doubts.iter().all(is_machine)
}

/// A key of a finding's subject as text, as a table shows it; empty where it has none.
pub(crate) fn key(finding: &Value, key: &str) -> String {
    let subject = Subject::from_text(&finding["subject"].to_string()).unwrap();
    subject.get(key).unwrap_or_default()
}

impl Report {
    pub(crate) fn findings(&self) -> &[Value] {
        self.0["findings"].as_array().unwrap()
    }

    /// The finding of a program on the only system.
    pub(crate) fn finding(&self, program: &str, quantity: &str) -> Option<&Value> {
        self.findings()
            .iter()
            .find(|f| f["subject"]["program"] == program && f["quantity"] == quantity)
    }

    pub(crate) fn value(&self, program: &str, quantity: &str) -> f64 {
        let finding = self.finding(program, quantity);
        let finding = finding.unwrap_or_else(|| panic!("no {quantity} of {program}"));
        finding["value"].as_f64().unwrap_or_else(|| panic!("{finding}"))
    }

    /// The value of the first finding whose subject has these keys.
    pub(crate) fn of(&self, keys: &[(&str, &str)], quantity: &str) -> f64 {
        let is_it = |f: &&Value| {
            f["quantity"] == quantity && keys.iter().all(|(name, value)| key(f, name) == *value)
        };
        let finding = self.findings().iter().find(is_it);
        let finding = finding.unwrap_or_else(|| panic!("no {quantity} of {keys:?}"));
        finding["value"].as_f64().unwrap_or_else(|| panic!("{finding}"))
    }

    /// Every rate: its target, its program, its verdict.
    pub(crate) fn cells(&self) -> Vec<(String, String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let rates = self.findings().iter().filter(|f| f["quantity"] == "rate_bytes_per_s");
        rates
            .map(|f| {
                let subject = &f["subject"];
                (text(&subject["target"]), text(&subject["program"]), text(&f["verdict"]))
            })
            .collect()
    }
}

/// A loop device over an image of a laboratory. It is detached already, and goes when this is
/// closed, by us or by our end.
pub(crate) struct Loop {
    pub(crate) node: String,
    open: std::fs::File,
}

impl Loop {
    /// Over a fresh image of 16 MiB, every byte of it an `A`.
    pub(crate) fn new(lab: &Lab, image: &str) -> Option<Self> {
        if !is_root() {
            return None;
        }
        Self::over(&lab.file(image, vec![b'A'; 16 << 20]))
    }

    pub(crate) fn over(file: &Path) -> Option<Self> {
        let Some(node) = tool("losetup", &["--find", "--show", file.to_str().unwrap()]) else {
            println!("skipped: needs losetup and a free loop device");
            return None;
        };
        let open = std::fs::File::open(&node).unwrap();
        tool("losetup", &["--detach", &node]);
        Some(Self { node, open })
    }

    pub(crate) fn format(&self) -> bool {
        let is_made = tool("mkfs.ext4", &["-q", "-F", &self.node]).is_some();
        if !is_made {
            println!("skipped: needs mkfs.ext4");
        }
        is_made
    }

    /// A first partition. The kernel is told directly: it may read no partition table.
    pub(crate) fn partition(&self) -> Option<String> {
        let node = format!("{}p1", self.node);
        tool("addpart", &[&self.node, "1", "2048", "8192"]);
        let deadline = Instant::now() + Duration::from_secs(2);
        while !Path::new(&node).exists() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        if !Path::new(&node).exists() {
            println!("skipped: needs addpart, and a kernel that makes partition nodes");
            return None;
        }
        Some(node)
    }

    /// Whether the image is as it was made, whatever still lies in caches.
    pub(crate) fn is_untouched(&self, image: &Path) -> bool {
        self.open.sync_all().unwrap();
        tool("blockdev", &["--flushbufs", &self.node]);
        std::fs::read(image).unwrap().iter().all(|byte| *byte == b'A')
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        tool("delpart", &[&self.node, "1"]);
    }
}

/// A process in a mount namespace of its own, in which something is mounted. The mount goes with
/// the process, and the process with its standard input.
pub(crate) struct Mounted {
    process: Child,
    at: TempDir,
    /// The mounted directory, as seen from here.
    pub(crate) seen: PathBuf,
}

impl Mounted {
    pub(crate) fn device(node: &str) -> Option<Self> {
        Self::by("mount \"$@\" $AT", &[node])
    }

    pub(crate) fn tmpfs(options: &str) -> Option<Self> {
        Self::by("mount \"$@\" $AT", &["-t", "tmpfs", "-o", options, "none"])
    }

    /// Whatever a script mounts, told its arguments and an empty directory, `$AT`.
    pub(crate) fn by(script: &str, arguments: &[&str]) -> Option<Self> {
        let at = tempfile::tempdir().unwrap();
        let mut process = Command::new("unshare")
            .args(["-m", "sh", "-c", &format!("{script} && echo mounted && read end"), "sh"])
            .args(arguments)
            .env("AT", at.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut line = String::new();
        let told = process.stdout.as_mut()?;
        wait_for("the mount", || {
            let mut fds = [PollFd::new(&*told, PollFlags::IN)];
            poll(&mut fds, Some(&Timespec::default())).ok().filter(|ready| *ready > 0)
        });
        BufReader::new(told).read_line(&mut line).unwrap();
        let path = at.path().canonicalize().unwrap();
        let seen = format!("/proc/{}/root{}", process.id(), path.display()).into();
        let mounted = Self { process, at, seen };
        if line.is_empty() {
            println!("skipped: needs unshare and mount");
        }
        (!line.is_empty()).then_some(mounted)
    }
}

impl Mounted {
    /// Where the mounted directory is in its own namespace.
    pub(crate) fn at(&self) -> PathBuf {
        self.at.path().canonicalize().unwrap()
    }

    /// The file of its mount namespace.
    pub(crate) fn namespace(&self) -> PathBuf {
        format!("/proc/{}/ns/mnt", self.process.id()).into()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        if !ends(&mut self.process) {
            let _ = self.process.kill();
        }
    }
}

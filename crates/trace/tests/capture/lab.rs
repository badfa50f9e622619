//! What the tests of the capture work on: loop devices and a zram of their own, and threads that
//! read and write them past the page cache.

use model::record::{Commands, Op};
use rustix::fs::OFlags;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use trace::bpf::LoadError;
use trace::capture::{Capture, CaptureError, CaptureOptions, device_number};
use trace::event::{Event, Step};
use trace::intake::Collected;

pub(crate) const BLOCK_BYTES: usize = 4096;

/// Memory that may be read into past the page cache.
#[repr(C, align(4096))]
#[derive(Clone)]
pub(crate) struct Block(pub(crate) [u8; BLOCK_BYTES]);

/// Runs a tool and gives its output; none when it fails or is missing.
pub(crate) fn run(tool: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(tool).args(arguments).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A capture of these devices; none, with a sentence, where there is no BPF.
pub(crate) fn capture_of(devices: &[u32], ring_bytes: u32) -> Option<Capture> {
    capture_by(false, devices, ring_bytes)
}

/// The same, of requests that are told by their steps, or at once at their end.
pub(crate) fn capture_by(by_steps: bool, devices: &[u32], ring_bytes: u32) -> Option<Capture> {
    capture(CaptureOptions {
        devices: devices.to_vec(),
        file_systems: Vec::new(),
        ring_bytes,
        calls: true,
        syscalls: true,
        stacks: true,
        own_process: 0,
        by_steps,
        repeats_below: None,
        repeats_by_file: false,
    })
}

/// A capture as it is asked for.
pub(crate) fn capture(options: CaptureOptions) -> Option<Capture> {
    match Capture::load(&options) {
        Ok(capture) => Some(capture),
        // Anything else is a fault of the program.
        Err(CaptureError::Load(
            e @ (LoadError::NotPermitted | LoadError::NoTypes(_) | LoadError::NoTracepoint { .. }),
        )) => {
            println!("skipped: failed to {e}");
            None
        }
        Err(e) => panic!("failed to {e}"),
    }
}

/// A block device, opened past the page cache.
pub(crate) fn open(node: &Path, write: bool) -> File {
    let flags = OFlags::DIRECT.bits() as i32;
    OpenOptions::new().read(true).write(write).custom_flags(flags).open(node).unwrap()
}

/// Reads one block.
pub(crate) fn read_block(file: &File, number: u64) {
    let mut block = Block([0; BLOCK_BYTES]);
    file.read_exact_at(&mut block.0, number * BLOCK_BYTES as u64).unwrap();
}

pub(crate) fn write_block(file: &File, number: u64) {
    let block = Block([7; BLOCK_BYTES]);
    file.write_all_at(&block.0, number * BLOCK_BYTES as u64).unwrap();
}

pub(crate) fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !is_there() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// An image in the page cache and a loop device over it, which goes with its last user, even of a
/// test that is killed. The cache completes them in the loop's own threads, where programs always
/// run.
pub(crate) struct Loop {
    pub(crate) node: PathBuf,
    pub(crate) number: u32,
    pub(crate) image: PathBuf,
    /// Attributes and what they were: a loop device keeps them for the next user of its number.
    changed: Vec<(PathBuf, String)>,
    _open: File,
    _folder: tempfile::TempDir,
}

impl Loop {
    /// Over a fresh image of so many MiB, with its blocks allocated.
    pub(crate) fn new(mib: usize) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: needs root");
            return None;
        }
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let image = folder.path().join("image");
        std::fs::write(&image, vec![1; mib << 20]).unwrap();
        File::open(&image).unwrap().sync_all().unwrap();
        let path = image.to_str().unwrap();
        let Some(node) = run("losetup", &["--find", "--show", path]) else {
            println!("skipped: needs losetup and a free loop device");
            return None;
        };
        let open = File::open(&node).unwrap();
        run("losetup", &["--detach", &node]);
        let number = device_number(open.metadata().unwrap().rdev());
        let changed = Vec::new();
        Some(Self { node: node.into(), number, image, changed, _open: open, _folder: folder })
    }

    /// A file of the device's directory in sysfs.
    pub(crate) fn attribute(&self, name: &str) -> PathBuf {
        Path::new("/sys/block").join(self.node.file_name().unwrap()).join(name)
    }

    /// Sets an attribute, such as a scheduler, until this is dropped; whether the kernel took it.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> bool {
        let path = self.attribute(name);
        let was = std::fs::read_to_string(&path).unwrap_or_default();
        // Of a choice, the one in brackets.
        let was = was.split_once('[').map_or(&was[..], |(_, rest)| rest.split(']').next().unwrap());
        let is_taken = std::fs::write(&path, value).is_ok();
        if is_taken {
            self.changed.push((path, was.trim().to_owned()));
        }
        is_taken
    }

    pub(crate) fn text(&self) -> &str {
        self.node.to_str().unwrap()
    }

    /// Its first partition, from 1 MiB on, of 4 MiB.
    pub(crate) fn partition(&self) -> Option<PathBuf> {
        let node = PathBuf::from(format!("{}p1", self.node.display()));
        run("addpart", &[self.text(), "1", "2048", "8192"]);
        let deadline = Instant::now() + Duration::from_secs(2);
        while !node.exists() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        if !node.exists() {
            println!("skipped: needs addpart, and a kernel that makes partition nodes");
            return None;
        }
        Some(node)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        for (path, was) in self.changed.drain(..).rev() {
            let _ = std::fs::write(path, was);
        }
        run("delpart", &[self.text(), "1"]);
    }
}

/// A file of 4 MiB in an ext4 on a device. The mount is in a namespace of a shell's own, and goes
/// with it.
pub(crate) struct Mounted {
    shell: Child,
    folder: tempfile::TempDir,
}

impl Mounted {
    pub(crate) fn over(disk: &Loop) -> Option<Self> {
        const LINES: &str = "mount \"$0\" \"$1\" &&
            dd if=/dev/zero of=\"$1/file\" bs=1M count=4 conv=fsync status=none && echo there
            read -r line";
        run("mkfs.ext4", &["-q", "-F", disk.text()])?;
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut shell = Command::new("unshare");
        shell.args(["-m", "sh", "-c", LINES, disk.text()]).arg(folder.path());
        let shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut mounted = Self { shell, folder };
        let mut line = String::new();
        BufReader::new(mounted.shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (line.trim() == "there").then_some(mounted)
    }

    /// As it is seen from outside of the namespace.
    pub(crate) fn file(&self) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.shell.id()));
        let folder = self.folder.path();
        root.join(folder.strip_prefix("/").unwrap_or(folder)).join("file")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

/// A compressed disk in memory: a device without requests.
pub(crate) struct Zram {
    pub(crate) node: PathBuf,
    pub(crate) number: u32,
    id: String,
}

impl Zram {
    pub(crate) fn new() -> Option<Self> {
        let id = std::fs::read_to_string("/sys/class/zram-control/hot_add");
        let Ok(id) = id.map(|id| id.trim().to_owned()) else {
            println!("skipped: needs zram");
            return None;
        };
        let node = PathBuf::from(format!("/dev/zram{id}"));
        let mut zram = Self { node, number: 0, id };
        std::fs::write(format!("/sys/block/zram{}/disksize", zram.id), "8M").unwrap();
        wait_for("the node", || zram.node.exists());
        zram.number = device_number(std::fs::metadata(&zram.node).unwrap().rdev());
        Some(zram)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        // Whoever looked at the new device may have it open still.
        for _ in 0..100 {
            let path = "/sys/class/zram-control/hot_remove";
            if std::fs::write(path, &self.id).is_ok() || !self.node.exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The steps of one request, in their order.
#[derive(Debug, Clone)]
pub(crate) struct Life {
    pub(crate) start: Option<Event>,
    pub(crate) issue: Option<Event>,
    pub(crate) complete: Option<Event>,
}

impl Life {
    pub(crate) fn queued_ns(&self) -> Option<i64> {
        match self.start?.step {
            Step::Start { queued_ns, .. } => queued_ns,
            _ => None,
        }
    }

    /// Whether it was issued and its completion was not seen.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.issue.is_some() && self.complete.is_none()
    }

    pub(crate) fn op(&self) -> Option<Op> {
        [self.start, self.issue, self.complete].iter().flatten().next().map(|e| e.extent.op)
    }
}

/// Asserts that hardly a completion is missing, and returns those that are there. A kernel may keep
/// all programs from running at an interrupt of some process, and tells nobody of it.
pub(crate) fn completed(mut lives: Vec<Life>) -> Vec<Life> {
    let requested = lives.len();
    lives.retain(|life| !life.is_unanswered());
    let missing = requested - lives.len();
    assert!(missing * 20 <= requested, "{missing} of {requested} not completed");
    lives
}

/// Everything captured since the load, after a stop.
pub(crate) struct Captured {
    pub(crate) events: Vec<Event>,
    pub(crate) commands: Commands,
    pub(crate) records_lost: u64,
    pub(crate) queue_times_lost: u64,
    pub(crate) runs_lost: u64,
}

pub(crate) fn end(mut capture: Capture) -> Captured {
    capture.stop().unwrap();
    let mut steps = Collected::default();
    let drained = capture.drain(&mut steps).unwrap();
    assert_eq!(drained.malformed, 0);
    let all = steps.events.len() + steps.second.len() + steps.durability.len() + steps.names;
    assert_eq!(drained.events, all as u64);
    let losses = capture.losses().unwrap();
    Captured {
        events: steps.events,
        commands: steps.commands,
        records_lost: losses.records.iter().sum(),
        queue_times_lost: losses.queue_times.iter().sum(),
        runs_lost: losses.runs.values().sum(),
    }
}

impl Captured {
    /// The requests by identity: a start begins a new life, and so does an issue of a flush.
    pub(crate) fn lives(&self) -> Vec<Life> {
        let mut events = self.events.clone();
        events.sort_by_key(|event| event.time_ns);
        let mut lives: Vec<Life> = Vec::new();
        let mut open: HashMap<u64, usize> = HashMap::new();
        for event in events {
            let identity = event.identity.unwrap();
            let begins = match event.step {
                Step::Start { .. } => true,
                Step::Issue { serves, .. } => serves.is_some(),
                _ => false,
            };
            if begins || !open.contains_key(&identity) {
                open.insert(identity, lives.len());
                lives.push(Life { start: None, issue: None, complete: None });
            }
            let life = &mut lives[open[&identity]];
            match event.step {
                Step::Start { .. } => life.start = Some(event),
                Step::Issue { .. } => life.issue = Some(event),
                Step::Complete { .. } => life.complete = Some(event),
                _ => {}
            }
        }
        lives
    }
}

//! The guard on this machine's own loop devices. Each test makes what it needs
//! of an image in a temporary directory, and takes it down when it ends, failed
//! or not. Loop devices go with the last open file, and mounts with the namespace
//! of the process that made them, so that even a killed test leaves neither,
//! unless it was just making one. Needs root, and says so.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use host::device::{DeviceNumber, Tree};
use host::guard::{self, Blkid, Claim, Permit, Refusal};
use rustix::fd::{AsFd, OwnedFd};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen,
};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Runs a tool and gives its output; none when it fails or is missing.
fn run(tool: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(tool).args(arguments).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// An image and a loop device over it.
struct Loop {
    node: PathBuf,
    /// The device is detached already, and goes when this is closed, by us or by
    /// our end.
    _open: std::fs::File,
    /// Dropped after the device is detached.
    _folder: Option<tempfile::TempDir>,
}

impl Loop {
    /// Over a fresh image of 8 MiB; none, with a sentence, where that cannot be.
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: needs root");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(8 << 20).unwrap();
        let mut device = Self::over(&image)?;
        device._folder = Some(folder);
        Some(device)
    }

    fn over(file: &Path) -> Option<Self> {
        let Some(node) = run("losetup", &["--find", "--show", text(file)]) else {
            println!("skipped: needs losetup and a free loop device");
            return None;
        };
        let open = std::fs::File::open(&node).unwrap();
        run("losetup", &["--detach", &node]);
        Some(Self { node: node.into(), _open: open, _folder: None })
    }

    fn number(&self) -> DeviceNumber {
        guard::resolve(&self.node).unwrap().0
    }

    fn format(&self) -> bool {
        let made = run("mkfs.ext4", &["-q", "-F", text(&self.node)]).is_some();
        if !made {
            println!("skipped: needs mkfs.ext4");
        }
        made
    }

    /// A first partition. The kernel is told directly, as by partx: it may be
    /// built without the reading of any partition table.
    fn partition(&self) -> Option<PathBuf> {
        let node = PathBuf::from(format!("{}p1", self.node.display()));
        run("addpart", &[text(&self.node), "1", "2048", "8192"]);
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
        run("delpart", &[text(&self.node), "1"]);
    }
}

/// A process in a mount namespace of its own, in which a device is mounted. The
/// mount goes with the process, and the process with its standard input.
struct Mounted {
    process: Child,
    at: tempfile::TempDir,
}

impl Mounted {
    fn new(node: &Path) -> Option<Self> {
        let at = tempfile::tempdir().unwrap();
        let script = "mount \"$0\" \"$1\" && echo mounted && read end";
        let process = Command::new("unshare")
            .args(["-m", "sh", "-c", script, text(node), text(at.path())])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut mounted = Self { process, at };
        let mut line = String::new();
        BufReader::new(mounted.process.stdout.as_mut()?).read_line(&mut line).unwrap();
        if line.is_empty() {
            println!("skipped: needs unshare and mount");
        }
        (!line.is_empty()).then_some(mounted)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn examine(device: DeviceNumber, consent: Option<DeviceNumber>) -> Result<Permit, Refusal> {
    guard::examine(&Tree::system(), &Blkid::default(), device, consent)
}

fn consented(device: DeviceNumber) -> Result<Permit, Refusal> {
    examine(device, Some(device))
}

fn claimed(node: &Path, permit: &Permit) -> Result<Claim, Refusal> {
    guard::claim(&Tree::system(), node, permit)
}

#[test]
fn root_a_blank_loop_is_permitted_with_consent_and_opens_exclusively() {
    let Some(device) = Loop::new() else { return };
    let number = device.number();
    assert!(matches!(examine(number, None), Err(Refusal::NoConsent { .. })));
    let permit = consented(number).unwrap();
    assert_eq!((permit.device(), permit.overridden()), (number, &[][..]));
    let claim = claimed(&device.node, &permit).unwrap();
    assert!(matches!(claimed(&device.node, &permit), Err(Refusal::Busy { .. })));
    assert_eq!(rustix::io::pwrite(claim.file(), &[], 0), Ok(0));
    drop(claim);
    assert!(claimed(&device.node, &permit).is_ok());
}

#[test]
fn root_a_link_leads_to_its_device_and_another_device_does_not_open() {
    let (Some(device), Some(other)) = (Loop::new(), Loop::new()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    std::os::unix::fs::symlink(&device.node, &second).unwrap();
    std::os::unix::fs::symlink("second", &first).unwrap();
    assert_eq!(guard::resolve(&first).unwrap(), (device.number(), device.node.clone()));
    let permit = consented(device.number()).unwrap();
    assert!(claimed(&first, &permit).is_ok());
    let replaced = claimed(&other.node, &permit);
    assert!(matches!(replaced, Err(Refusal::Replaced { .. })));
    assert!(matches!(
        examine(device.number(), Some(other.number())),
        Err(Refusal::ConsentForAnother { .. })
    ));
}

#[test]
fn root_a_signature_is_refused_without_consent_and_permitted_with_it() {
    let Some(device) = Loop::new() else { return };
    if !device.format() {
        return;
    }
    let refusal = examine(device.number(), None).unwrap_err().to_string();
    assert!(refusal.contains("it contains the signature of ext4"), "{refusal}");
    let permit = consented(device.number()).unwrap();
    assert_eq!(permit.overridden().len(), 1);
}

#[test]
fn root_a_device_mounted_in_another_namespace_is_refused() {
    let Some(device) = Loop::new() else { return };
    if !device.format() {
        return;
    }
    let before = consented(device.number()).unwrap();
    let Some(mounted) = Mounted::new(&device.node) else { return };
    let refusal = consented(device.number()).unwrap_err().to_string();
    let told = format!("it is mounted at {} (seen from process ", mounted.at.path().display());
    assert!(refusal.contains(&told), "{refusal}");
    // A permit from before the mount does not help: the kernel refuses.
    let busy = claimed(&device.node, &before);
    assert!(matches!(busy, Err(Refusal::Busy { .. })));
}

#[test]
fn root_a_mounted_partition_refuses_its_disk() {
    let Some(device) = Loop::new() else { return };
    let Some(partition) = device.partition() else { return };
    let (number, whole) = (guard::resolve(&partition).unwrap().0, device.number());
    assert_eq!(Tree::system().whole_disk(number).unwrap(), whole);
    assert!(matches!(examine(whole, None), Err(Refusal::Bears { .. })));
    assert!(consented(whole).is_ok() && consented(number).is_ok());
    if run("mkfs.ext4", &["-q", "-F", text(&partition)]).is_none() {
        println!("skipped: needs mkfs.ext4");
        return;
    }
    let Some(_mounted) = Mounted::new(&partition) else { return };
    let refusal = consented(whole).unwrap_err().to_string();
    assert!(refusal.contains("its partition loop"), "{refusal}");
    assert!(matches!(consented(number), Err(Refusal::Mounted { .. })));
}

#[test]
fn root_a_mounted_disk_refuses_its_partition() {
    let Some(device) = Loop::new() else { return };
    if !device.format() {
        return;
    }
    let Some(partition) = device.partition() else { return };
    let Some(_mounted) = Mounted::new(&device.node) else { return };
    let number = guard::resolve(&partition).unwrap().0;
    let refusal = consented(number).unwrap_err().to_string();
    assert!(refusal.contains("its whole disk loop"), "{refusal}");
}

#[test]
fn root_a_loop_over_a_loop_holds_it() {
    let Some(lower) = Loop::new() else { return };
    let Some(upper) = Loop::over(&lower.node) else { return };
    let refusal = consented(lower.number()).unwrap_err().to_string();
    let name = upper.node.file_name().unwrap().to_string_lossy();
    assert!(refusal.contains(&format!("it is held by {name}")), "{refusal}");
    assert!(consented(upper.number()).is_ok());
    let tree = Tree::system();
    assert_eq!(tree.lowest(upper.number()).unwrap(), tree.lowest(lower.number()).unwrap());
}

#[test]
fn root_the_twin_of_a_mounted_loop_is_refused() {
    let Some(first) = Loop::new() else { return };
    if !first.format() {
        return;
    }
    let image = Tree::system().loop_backing_file(first.number()).unwrap().unwrap().path;
    let Some(second) = Loop::over(&image) else { return };
    assert!(consented(second.number()).is_ok());
    let Some(_mounted) = Mounted::new(&first.node) else { return };
    let refusal = consented(second.number()).unwrap_err().to_string();
    assert!(refusal.contains("over the same file, is mounted at"), "{refusal}");
}

#[test]
fn root_the_disk_of_the_root_file_system_is_refused() {
    let tree = Tree::system();
    let root = tree.facts(Path::new("/")).unwrap().file_system;
    let Ok(Some(device)) = tree.device_of_file_system(root) else {
        println!("skipped: the root file system has no block device");
        return;
    };
    let disk = tree.whole_disk(device).unwrap();
    assert!(matches!(consented(disk), Err(Refusal::Mounted { .. } | Refusal::Held { .. })));
}

/// Mounts a device in no namespace at all; it is mounted as long as this is open.
fn mount_detached(node: &Path) -> rustix::io::Result<OwnedFd> {
    let context = fsopen("ext4", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(context.as_fd(), "source", node)?;
    fsconfig_set_flag(context.as_fd(), "ro")?;
    fsconfig_create(context.as_fd())?;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
}

/// How often each of two that race must win.
const WINS: u32 = 12;

/// Takes something again and again, until both have won often enough. Whoever has it looks
/// whether the other has it too, which must never be.
fn race<T, E>(own: &Racer, other: &Racer, mut take: impl FnMut() -> Result<T, E>) {
    let deadline = Instant::now() + Duration::from_secs(120);
    let mut wins = 0;
    while !(own.is_done.load(Ordering::SeqCst) && other.is_done.load(Ordering::SeqCst)) {
        assert!(Instant::now() < deadline, "won {wins} times");
        let Ok(taken) = take() else {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        };
        own.has_it.store(true, Ordering::SeqCst);
        for _ in 0..10 {
            assert!(!other.has_it.load(Ordering::SeqCst), "claimed and mounted at once");
            std::thread::sleep(Duration::from_micros(50));
        }
        own.has_it.store(false, Ordering::SeqCst);
        drop(taken);
        wins += 1;
        own.is_done.store(wins >= WINS, Ordering::SeqCst);
        // So that the other has its chance.
        std::thread::sleep(Duration::from_millis(u64::from(wins % 8) * 5));
    }
}

#[derive(Default)]
struct Racer {
    has_it: AtomicBool,
    is_done: AtomicBool,
}

/// A permit from a quiet moment; then claims and mounts race.
fn claims_and_mounts_exclude_each_other(claimed_node: &Path, mounted_node: &Path) {
    let permit = consented(guard::resolve(claimed_node).unwrap().0).unwrap();
    let (claimer, mounter) = (Racer::default(), Racer::default());
    std::thread::scope(|scope| {
        scope.spawn(|| race(&claimer, &mounter, || claimed(claimed_node, &permit)));
        scope.spawn(|| race(&mounter, &claimer, || mount_detached(mounted_node)));
    });
}

#[test]
fn root_a_claim_and_a_mount_never_both_succeed() {
    let Some(device) = Loop::new() else { return };
    if !device.format() {
        return;
    }
    claims_and_mounts_exclude_each_other(&device.node, &device.node);
    let image = Tree::system().loop_backing_file(device.number()).unwrap().unwrap().path;
    let Some(twin) = Loop::over(&image) else { return };
    claims_and_mounts_exclude_each_other(&device.node, &twin.node);
    drop(twin);
    let Some(above) = Loop::over(&device.node) else { return };
    claims_and_mounts_exclude_each_other(&above.node, &device.node);
}

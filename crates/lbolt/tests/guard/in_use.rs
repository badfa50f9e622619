//! A table of ways in which a device can be in use. Of each: lbolt refuses with exit code 3 and
//! says why, not a byte of the image changes, and once the user is gone the device is permitted.
//! What a way sets up goes with the test, whatever happens: mounts with their namespaces, loop
//! devices with their last user.
//!
//! Non-goals: files of layered file systems (tests of `host::guard`): a loop device over one may be
//! anybody's twin, so that tests beside this one would be refused.

use crate::common::{Lab, Loop, Mounted, QUICK, is_root, tool, wait_for};
use host::device::Tree;
use host::guard::{self, Blkid, Claim, Refusal};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen,
};
use std::any::Any;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One way.
struct Way {
    name: &'static str,
    /// Tools, and file systems of the kernel, without which it is skipped.
    needs: &'static [&'static str],
    set_up: fn(&Lab) -> InUse,
    /// What the refusal says.
    words: &'static [&'static str],
}

/// A device in use.
struct InUse {
    target: String,
    image: PathBuf,
    /// What uses it; dropped in order.
    users: Vec<Box<dyn Any>>,
    /// What is there with or without them.
    ground: Vec<Box<dyn Any>>,
    /// Run first, in a mount namespace of lbolt's own.
    view: Option<String>,
}

const CLAIMED: &str = "is claimed by the kernel or by a program";
const BUILT_ON: &[&str] = &["loop", "built on it, is mounted at"];
const TWIN: &[&str] = &["loop", "over the same file, is mounted at"];

const WAYS: &[Way] = &[
    Way { name: "mounted", needs: &[], set_up: mounted, words: &["it is mounted at"] },
    Way { name: "a container's loop over its node", needs: &[], set_up: node, words: BUILT_ON },
    Way { name: "the same, node deleted", needs: &[], set_up: deleted_node, words: BUILT_ON },
    Way { name: "a container's path to the file", needs: &[], set_up: other_path, words: TWIN },
    Way { name: "by a hard link, then unlinked", needs: &[], set_up: hard_link, words: TWIN },
    Way { name: "a namespace bound to a file", needs: &[], set_up: bound, words: &["it", CLAIMED] },
    Way { name: "a namespace held open", needs: &[], set_up: by_fd, words: &["it", CLAIMED] },
    Way { name: "a mount in no namespace", needs: &[], set_up: detached, words: &["it", CLAIMED] },
    Way { name: "unmounted lazily", needs: &[], set_up: lazily, words: &["it", CLAIMED] },
    Way { name: "ext4's journal", needs: &[], set_up: journal, words: &["it", CLAIMED] },
    Way {
        name: "xfs's log",
        needs: &["mkfs.xfs", "xfs"],
        set_up: xfs_log,
        words: &["it", CLAIMED],
    },
    Way {
        name: "a member of btrfs",
        needs: &["mkfs.btrfs", "btrfs"],
        set_up: btrfs,
        words: &["it is held by the btrfs file system"],
    },
    Way { name: "swap", needs: &["mkswap"], set_up: swap, words: &["it is in use as swap"] },
    Way {
        name: "swap, node deleted",
        needs: &["mkswap"],
        set_up: swap_deleted,
        words: &["it", CLAIMED],
    },
    Way {
        name: "swap on a twin",
        needs: &["mkswap"],
        set_up: swap_twin,
        words: &["in use as swap"],
    },
    Way { name: "open exclusively", needs: &[], set_up: exclusive, words: &["it", CLAIMED] },
    Way {
        name: "open for writing",
        needs: &[],
        set_up: open_for_writing,
        words: &["it is open for writing by sh (process ", "stop that process"],
    },
    Way {
        name: "its disk, open for writing",
        needs: &["addpart"],
        set_up: disk_open_for_writing,
        words: &["its whole disk loop", "is open for writing by sh (process "],
    },
    Way {
        name: "its twin, open for writing",
        needs: &[],
        set_up: twin_open_for_writing,
        words: &["loop", "over the same file, is open for writing by sh (process "],
    },
    Way { name: "its partition", needs: &["addpart"], set_up: partition, words: &["it", CLAIMED] },
    Way {
        name: "its disk",
        needs: &["addpart"],
        set_up: disk_of_partition,
        words: &["its whole disk loop", "is mounted at"],
    },
    Way {
        name: "its twin in no namespace",
        needs: &[],
        set_up: twin,
        words: &["loop", "over the same file,", CLAIMED],
    },
    Way {
        name: "the same, seen without nodes",
        needs: &[],
        set_up: twin_without_nodes,
        words: &["loop", "over the same file,", CLAIMED],
    },
    Way {
        name: "its twin's partition",
        needs: &["addpart"],
        set_up: twin_partition,
        words: &["loop", "over the same file,", CLAIMED],
    },
    Way { name: "a loop above", needs: &[], set_up: above, words: &["it is held by loop"] },
    Way {
        name: "a loop below",
        needs: &[],
        set_up: below,
        words: &["loop", "on which it lies,", CLAIMED],
    },
    Way {
        name: "a loop over a file of its lazily unmounted file system",
        needs: &[],
        set_up: file_inside,
        words: &["it is held by loop", "over a file of its file system"],
    },
    Way {
        name: "a twin beneath its file's file system",
        needs: &[],
        set_up: nested_twin,
        words: &["over the same file as loop", "is mounted at"],
    },
];

#[test]
fn root_no_way_of_being_in_use_is_written_to() {
    if !is_root() {
        return;
    }
    for way in WAYS {
        let missing = way.needs.iter().find(|need| !is_there(need));
        if let Some(missing) = missing {
            println!("skipped: {}: needs {missing}", way.name);
            continue;
        }
        let lab = Lab::new();
        let in_use = (way.set_up)(&lab);
        refused_and_then_permitted(&lab, way, in_use);
        lab.assert_clean();
    }
}

fn refused_and_then_permitted(lab: &Lab, way: &Way, in_use: InUse) {
    let InUse { target, image, users, ground, view } = in_use;
    let words = format!("throughput {target} --destroy {target} --rw rewrite {QUICK}");
    let write = || lab.end(seen(lab, view.as_deref(), &words));
    let before = sum(&image);
    let ended = write();
    println!("{}: {}", way.name, ended.sentence());
    ended.assert_refused(3, &[&[target.as_str()], way.words].concat());
    assert_eq!((ended.out.as_str(), ended.err.lines().count()), ("", 1), "{}", ended.err);
    assert_eq!(sum(&image), before, "{}: written", way.name);
    drop(users);
    // The kernel ends namespaces and loop devices at leisure.
    if view.is_none() {
        wait_for("the device to be free", || claim(target.as_ref()).ok());
    } else {
        let ended = wait_for("the device to be free", || Some(write()).filter(|e| e.code != 3));
        assert_eq!(ended.code, 0, "{}: {}", way.name, ended.err);
        assert_ne!(sum(&image), before, "{}: not written", way.name);
    }
    drop(ground);
}

/// What lbolt does before it writes.
fn claim(node: &Path) -> Result<Claim, Refusal> {
    let (tree, number) = (Tree::system(), guard::resolve(node)?.0);
    let permit = guard::examine(&tree, &Blkid::through(node), number, Some(number))?;
    guard::claim(&tree, node, &permit)
}

/// lbolt, in a mount namespace of its own where something is to be done first.
fn seen(lab: &Lab, view: Option<&str>, words: &str) -> Command {
    let Some(view) = view else { return lab.lbolt(words) };
    let mut command = lab.command("unshare");
    command.args(["-m", "sh", "-c", &format!("{view} && exec \"$0\" \"$@\"")]);
    command.arg(env!("CARGO_BIN_EXE_lbolt")).args(words.split_whitespace());
    command
}

fn is_there(need: &str) -> bool {
    let file_systems = std::fs::read_to_string("/proc/filesystems").unwrap();
    file_systems.split_whitespace().any(|word| word == need)
        || tool("sh", &["-c", "command -v \"$0\"", need]).is_some()
}

/// Of what only lbolt could have written.
fn sum(image: &Path) -> String {
    tool("sync", &[]);
    let script = format!("tail -c +{} \"$0\" | sha256sum", SWAP_BYTES + 1);
    tool("sh", &["-c", &script, image.to_str().unwrap()]).unwrap()
}

fn blank(lab: &Lab, image: &str) -> (Loop, PathBuf) {
    (Loop::new(lab, image).unwrap(), lab.path(image))
}

/// With an ext4 that writes nothing by itself once it is mounted.
fn formatted(lab: &Lab, image: &str) -> (Loop, PathBuf) {
    let (device, image) = blank(lab, image);
    make_ext4(&device.node, &[]);
    (device, image)
}

fn make_ext4(node: &str, options: &[&str]) {
    let quiet = ["-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
    assert!(tool("mkfs.ext4", &[&quiet[..], options, &[node]].concat()).is_some(), "{node}");
}

fn sparse(lab: &Lab, image: &str, bytes: u64) -> (Loop, PathBuf) {
    let path = lab.path(image);
    std::fs::File::create(&path).unwrap().set_len(bytes).unwrap();
    (Loop::over(&path).unwrap(), path)
}

fn twin_of(image: &Path) -> Loop {
    Loop::over(image).unwrap()
}

/// A mount that is in no namespace at all.
fn mount_detached(kind: &str, node: &str) -> OwnedFd {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC).unwrap();
    fsconfig_set_string(context.as_fd(), "source", node).unwrap();
    fsconfig_set_flag(context.as_fd(), "ro").unwrap();
    fsconfig_create(context.as_fd()).unwrap();
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty()).unwrap()
}

fn in_use(device: Loop, image: PathBuf, users: Vec<Box<dyn Any>>) -> InUse {
    InUse { target: device.node.clone(), image, users, ground: vec![Box::new(device)], view: None }
}

/// A device formatted and used by what a script does in a mount namespace of its own, told the
/// node, its minor number and the image; `$AT` is a directory of its own.
fn by_script(lab: &Lab, script: &str) -> InUse {
    let (device, image) = formatted(lab, "image");
    let minor = device.node.trim_start_matches("/dev/loop").to_owned();
    let user = Mounted::by(script, &[&device.node, &minor, image.to_str().unwrap()]);
    in_use(device, image, vec![Box::new(user.unwrap())])
}

/// Read-only, as most of these: what the kernel itself writes to a mounted file system, when it
/// likes, would look as if lbolt had written.
fn mounted(lab: &Lab) -> InUse {
    by_script(lab, "mount -o ro,noload \"$1\" $AT")
}

fn node(lab: &Lab) -> InUse {
    by_script(
        lab,
        "mount -t tmpfs none $AT && mkdir $AT/m && mknod $AT/disk b 7 $2 && \
         L=$(losetup -f --show $AT/disk) && mount -o ro,noload $L $AT/m && losetup -d $L",
    )
}

fn deleted_node(lab: &Lab) -> InUse {
    by_script(
        lab,
        "mkdir $AT/m && mknod $AT/disk b 7 $2 && L=$(losetup -f --show $AT/disk) && \
         rm $AT/disk && mount -o ro,noload $L $AT/m && losetup -d $L",
    )
}

fn other_path(lab: &Lab) -> InUse {
    by_script(
        lab,
        "mount -t tmpfs none $AT && mkdir $AT/m $AT/inner && \
         mount --bind $(dirname \"$3\") $AT/inner && L=$(losetup -f --show $AT/inner/image) && \
         mount -o ro,noload $L $AT/m && losetup -d $L",
    )
}

fn hard_link(lab: &Lab) -> InUse {
    by_script(
        lab,
        "ln \"$3\" \"$3.link\" && L=$(losetup -f --show \"$3.link\") && rm \"$3.link\" && \
         mount -o ro,noload $L $AT && losetup -d $L",
    )
}

/// Some kernels refuse to bind a namespace in one that seems younger, since they number namespaces
/// by CPU: then another CPU is tried.
fn bound(lab: &Lab) -> InUse {
    by_script(
        lab,
        "touch $AT/ns && mkdir $AT/m && \
         try() { taskset -c $2 unshare --mount=$AT/ns mount \"$1\" $AT/m; } && \
         for i in $(seq 50); do for cpu in $(seq 0 $(nproc)); do \
         try \"$1\" $cpu 2>$AT/why && break 2; done; done && mountpoint -q $AT/ns",
    )
}

fn by_fd(lab: &Lab) -> InUse {
    let (device, image) = formatted(lab, "image");
    // Not at $AT: who removes a directory unmounts what is mounted there in other namespaces.
    let mounted = Mounted::by("mount -o ro,noload \"$1\" /tmp", &[&device.node]).unwrap();
    let namespace = std::fs::File::open(mounted.namespace()).unwrap();
    drop(mounted);
    in_use(device, image, vec![Box::new(namespace)])
}

fn detached(lab: &Lab) -> InUse {
    let (device, image) = formatted(lab, "image");
    let user = mount_detached("ext4", &device.node);
    in_use(device, image, vec![Box::new(user)])
}

fn lazily(lab: &Lab) -> InUse {
    by_script(lab, "mount -o ro,noload \"$1\" $AT && exec 3<$AT/lost+found && umount -l $AT")
}

fn journal(lab: &Lab) -> InUse {
    let (device, image) = blank(lab, "journal");
    let (data, _) = blank(lab, "data");
    assert!(
        tool("mke2fs", &["-q", "-F", "-b", "4096", "-O", "journal_dev", &device.node]).is_some()
    );
    make_ext4(&data.node, &["-J", &format!("device={}", device.node)]);
    let user = Mounted::device(&data.node).unwrap();
    in_use(device, image, vec![Box::new(user), Box::new(data)])
}

fn xfs_log(lab: &Lab) -> InUse {
    let (device, image) = sparse(lab, "log", 80 << 20);
    let (data, _) = sparse(lab, "data", 400 << 20);
    let log = format!("logdev={},size=64m", device.node);
    assert!(tool("mkfs.xfs", &["-q", "-f", "-K", "-l", &log, &data.node]).is_some());
    let user = Mounted::by("mount -o logdev=\"$1\" \"$2\" $AT", &[&device.node, &data.node]);
    in_use(device, image, vec![Box::new(user.unwrap()), Box::new(data)])
}

fn btrfs(lab: &Lab) -> InUse {
    let (device, image) = sparse(lab, "second", 128 << 20);
    let (first, _) = sparse(lab, "first", 128 << 20);
    assert!(tool("mkfs.btrfs", &["-q", "-f", "-K", &first.node, &device.node]).is_some());
    tool("btrfs", &["device", "scan", &first.node, &device.node]);
    let user = mount_detached("btrfs", &first.node);
    in_use(device, image, vec![Box::new(user), Box::new(first)])
}

/// A swap area; switched off when it is dropped.
/// The kernel swaps into this area as soon as memory is short, so the area is as small as mkswap
/// makes it and [`sum`] leaves it out.
const SWAP_BYTES: u64 = 40 << 10;

struct SwapOn(String);

impl SwapOn {
    fn new(format: &str, by: &str, off: &str) -> Self {
        assert!(tool("mkswap", &[format, &(SWAP_BYTES / 1024).to_string()]).is_some());
        let on = Self(off.to_owned());
        assert!(tool("swapon", &[by]).is_some());
        on
    }
}

impl Drop for SwapOn {
    fn drop(&mut self) {
        tool("swapoff", &[&self.0]);
    }
}

fn swap(lab: &Lab) -> InUse {
    let (device, image) = blank(lab, "image");
    let user = SwapOn::new(&device.node, &device.node, &device.node);
    in_use(device, image, vec![Box::new(user)])
}

fn swap_deleted(lab: &Lab) -> InUse {
    let (device, image) = blank(lab, "image");
    let (minor, node) = (device.node.trim_start_matches("/dev/loop"), lab.path("swap"));
    let node = node.to_str().unwrap();
    assert!(tool("mknod", &["-m", "600", node, "b", "7", minor]).is_some());
    let user = SwapOn::new(node, node, &device.node);
    std::fs::remove_file(node).unwrap();
    in_use(device, image, vec![Box::new(user)])
}

fn swap_twin(lab: &Lab) -> InUse {
    let (device, image) = blank(lab, "image");
    let twin = twin_of(&image);
    let user = SwapOn::new(&twin.node, &twin.node, &twin.node);
    in_use(device, image, vec![Box::new(user), Box::new(twin)])
}

fn exclusive(lab: &Lab) -> InUse {
    let (device, image) = blank(lab, "image");
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let user = rustix::fs::open(&device.node, flags, Mode::empty()).unwrap();
    in_use(device, image, vec![Box::new(user)])
}

/// A process that has the device open, as a virtual machine or nbd-server has, until this is
/// dropped.
fn writer(node: &str) -> Box<dyn Any> {
    Box::new(Mounted::by("exec 3<>\"$1\"", &[node]).unwrap())
}

fn open_for_writing(lab: &Lab) -> InUse {
    let (device, image) = blank(lab, "image");
    let user = writer(&device.node);
    in_use(device, image, vec![user])
}

fn disk_open_for_writing(lab: &Lab) -> InUse {
    let (device, image) = blank(lab, "image");
    let node = device.partition().unwrap();
    let user = writer(&device.node);
    InUse { target: node, ..in_use(device, image, vec![user]) }
}

fn twin_open_for_writing(lab: &Lab) -> InUse {
    let (device, image) = blank(lab, "image");
    let twin = twin_of(&image);
    let user = writer(&twin.node);
    in_use(device, image, vec![user, Box::new(twin)])
}

fn partition(lab: &Lab) -> InUse {
    let (device, image) = blank(lab, "image");
    let node = device.partition().unwrap();
    make_ext4(&node, &[]);
    let user = mount_detached("ext4", &node);
    in_use(device, image, vec![Box::new(user)])
}

fn disk_of_partition(lab: &Lab) -> InUse {
    let (device, image) = formatted(lab, "image");
    let node = device.partition().unwrap();
    let user = Mounted::device(&device.node).unwrap();
    InUse { target: node, ..in_use(device, image, vec![Box::new(user)]) }
}

fn twin(lab: &Lab) -> InUse {
    let (device, image) = formatted(lab, "image");
    let twin = twin_of(&image);
    let user = mount_detached("ext4", &twin.node);
    in_use(device, image, vec![Box::new(user), Box::new(twin)])
}

/// In the eyes of lbolt there is one node of the device in `/dev`, by another name, and none of
/// its twin.
fn twin_without_nodes(lab: &Lab) -> InUse {
    let twin = twin(lab);
    let minor = twin.target.trim_start_matches("/dev/loop");
    let view = format!(
        "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && mknod /dev/mine b 7 {minor}"
    );
    InUse { target: "/dev/mine".into(), view: Some(view), ..twin }
}

fn twin_partition(lab: &Lab) -> InUse {
    let (device, image) = blank(lab, "image");
    let twin = twin_of(&image);
    let node = twin.partition().unwrap();
    make_ext4(&node, &[]);
    let user = mount_detached("ext4", &node);
    in_use(device, image, vec![Box::new(user), Box::new(twin)])
}

fn above(lab: &Lab) -> InUse {
    let (device, image) = formatted(lab, "image");
    let above = twin_of(device.node.as_ref());
    let user = mount_detached("ext4", &above.node);
    in_use(device, image, vec![Box::new(user), Box::new(above)])
}

fn below(lab: &Lab) -> InUse {
    let (below, image) = formatted(lab, "image");
    let user = mount_detached("ext4", &below.node);
    let device = twin_of(below.node.as_ref());
    let target = device.node.clone();
    let ground: Vec<Box<dyn Any>> = vec![Box::new(device), Box::new(below)];
    InUse { target, image, users: vec![Box::new(user)], ground, view: None }
}

fn file_inside(lab: &Lab) -> InUse {
    by_script(
        lab,
        "mount \"$1\" $AT && truncate -s 1M $AT/img && sync && L=$(losetup -f --show $AT/img) && \
         exec 3<$L && losetup -d $L && umount -l $AT",
    )
}

fn nested_twin(lab: &Lab) -> InUse {
    let (outer, outer_image) = formatted(lab, "image");
    let ground = Mounted::by("mount \"$1\" $AT && truncate -s 5M $AT/img", &[&outer.node]).unwrap();
    let device = twin_of(&ground.seen.join("img"));
    let twin = twin_of(&outer_image);
    let user = Mounted::by("mount -o ro,noload \"$1\" $AT", &[&twin.node]).unwrap();
    let image = ground.seen.join("img");
    InUse {
        target: device.node.clone(),
        image,
        users: vec![Box::new(user), Box::new(twin)],
        ground: vec![Box::new(device), Box::new(ground), Box::new(outer)],
        view: None,
    }
}

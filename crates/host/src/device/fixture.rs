//! A machine in a temporary directory, for tests: `sys` laid out with links as
//! the kernel does it, `proc`, and paths that never existed.

use super::{DeviceNumber, FileIdentity, PathFacts, Tree};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The machine being built. The directory goes when the last tree of it does.
pub(crate) struct Fixture {
    root: tempfile::TempDir,
    /// The folder of each device, by the kernel's name, from the root.
    folders: HashMap<String, PathBuf>,
    paths: HashMap<PathBuf, PathFacts>,
    /// What loop devices tell of their files, where that is not what their paths tell.
    told: HashMap<DeviceNumber, Option<FileIdentity>>,
    looped: HashMap<DeviceNumber, PathBuf>,
    /// What is on devices, by the kernel's name; others cannot be read.
    contents: HashMap<String, Vec<u8>>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let (folders, paths) = (HashMap::new(), HashMap::new());
        let (told, looped) = (HashMap::new(), HashMap::new());
        let contents = HashMap::new();
        let fixture = Self { root, folders, paths, told, looped, contents };
        fixture.write("proc/self/mountinfo", "");
        fixture.write("proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
        fixture
    }

    pub(crate) fn disk(self, name: &str, major: u32, minor: u32) -> Self {
        let folder = PathBuf::from("sys/devices/virtual/block").join(name);
        let this = self.device(name, folder, major, minor);
        this.link(&format!("sys/block/{name}"), &this.folders[name]);
        this
    }

    pub(crate) fn partition(self, disk: &str, name: &str, major: u32, minor: u32) -> Self {
        let folder = self.folders[disk].join(name);
        self.device(name, folder, major, minor).attribute(name, "partition", "1\n")
    }

    /// A dm, md or bcache device over others.
    pub(crate) fn stacked(self, name: &str, major: u32, minor: u32, slaves: &[&str]) -> Self {
        let this = self.disk(name, major, minor);
        for slave in slaves {
            let (upper, lower) = (&this.folders[name], &this.folders[*slave]);
            this.link(&format!("{}/slaves/{slave}", upper.display()), lower);
            this.link(&format!("{}/holders/{name}", lower.display()), upper);
        }
        this
    }

    /// A loop device, which tells of its file what the path tells here, if that leads anywhere,
    /// or else of one on an ext4 on 8:1 with the device's number as its inode.
    pub(crate) fn looped(mut self, name: &str, minor: u32, file: &str) -> Self {
        self.looped.insert(DeviceNumber::new(7, minor), file.into());
        self.disk(name, 7, minor).attribute(name, "loop/backing_file", &format!("{file}\n"))
    }

    /// The loop device of that number tells this of its file: file system and inode.
    pub(crate) fn tells(mut self, minor: u32, file_system: (u32, u32), inode: u64) -> Self {
        let file_system = DeviceNumber::new(file_system.0, file_system.1);
        let told = FileIdentity { file_system, inode, block: None, is_served: false };
        self.told.insert(DeviceNumber::new(7, minor), Some(told));
        self
    }

    /// The loop device of that number is over a modelled device that lbolt serves.
    pub(crate) fn serves(mut self, minor: u32) -> Self {
        let file_system = DeviceNumber::new(0, 57);
        let told = FileIdentity { file_system, inode: 5, block: None, is_served: true };
        self.told.insert(DeviceNumber::new(7, minor), Some(told));
        self
    }

    /// The loop device of that number tells that its file is the node of a device.
    pub(crate) fn tells_node(mut self, minor: u32, major: u32, node_minor: u32) -> Self {
        let block = Some(DeviceNumber::new(major, node_minor));
        let told = FileIdentity {
            file_system: DeviceNumber::new(0, 99),
            inode: 3,
            block,
            is_served: false,
        };
        self.told.insert(DeviceNumber::new(7, minor), Some(told));
        self
    }

    /// The loop device of that number cannot be asked.
    pub(crate) fn tells_nothing(mut self, minor: u32) -> Self {
        self.told.insert(DeviceNumber::new(7, minor), None);
        self
    }

    pub(crate) fn attribute(self, name: &str, attribute: &str, text: &str) -> Self {
        let path = self.folders[name].join(attribute);
        self.write(&path, text);
        self
    }

    pub(crate) fn btrfs(self, uuid: &str, members: &[&str]) -> Self {
        for member in members {
            let link = format!("sys/fs/btrfs/{uuid}/devices/{member}");
            self.link(&link, &self.folders[*member]);
        }
        self
    }

    pub(crate) fn mount(self, major: u32, minor: u32, at: &str, kind: &str, source: &str) -> Self {
        let line = format!("1 0 {major}:{minor} / {at} rw - {kind} {source} rw\n");
        self.append("proc/self/mountinfo", &line);
        self
    }

    /// The links by which a process tells its view of the mounts.
    pub(crate) fn process(self, pid: &str, namespace: &str, root: &str) -> Self {
        let folder = self.root.path().join("proc").join(pid);
        fs::create_dir_all(folder.join("ns")).unwrap();
        symlink(namespace, folder.join("ns/mnt")).unwrap();
        symlink(root, folder.join("root")).unwrap();
        self
    }

    pub(crate) fn process_mounts(self, pid: u32, namespace: &str, root: &str, text: &str) -> Self {
        self.write(format!("proc/{pid}/mountinfo"), text);
        self.process(&pid.to_string(), namespace, root)
    }

    /// A process with a device open, by a descriptor with these flags (in octal).
    pub(crate) fn opened(
        mut self,
        pid: u32,
        command: &str,
        file: u32,
        device: &str,
        flags: &str,
    ) -> Self {
        let process = format!("proc/{pid}");
        self.write(format!("{process}/comm"), &format!("{command}\n"));
        self.write(format!("{process}/fdinfo/{file}"), &format!("pos:\t0\nflags:\t{flags}\n"));
        let node = PathBuf::from("/dev").join(device);
        let link = PathBuf::from(format!("/{process}/fd/{file}"));
        let real = self.root.path().join(link.strip_prefix("/").unwrap());
        fs::create_dir_all(real.parent().unwrap()).unwrap();
        symlink(&node, real).unwrap();
        let facts = self.paths[&node].clone();
        self.paths.insert(link, facts);
        self
    }

    pub(crate) fn child_of(self, pid: u32, parent: u32) -> Self {
        let line = format!("{pid} (a) b) S {parent} 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 4242\n");
        self.write(format!("proc/{pid}/stat"), &line);
        self
    }

    pub(crate) fn thread(self, pid: u32, thread: u32) -> Self {
        self.write(format!("proc/{pid}/task/{thread}/comm"), "a\n");
        self
    }

    /// What is on a device, from its beginning.
    pub(crate) fn contents(mut self, name: &str, bytes: Vec<u8>) -> Self {
        self.contents.insert(name.to_owned(), bytes);
        self
    }

    pub(crate) fn swap(self, path: &str, kind: &str) -> Self {
        self.append("proc/swaps", &format!("{path}\t\t{kind}\t8\t0\t-2\n"));
        self
    }

    /// A regular file, on the file system of that number.
    pub(crate) fn file(mut self, path: &str, major: u32, minor: u32, inode: u64) -> Self {
        let facts = PathFacts {
            canonical: path.into(),
            file_system: DeviceNumber::new(major, minor),
            inode,
            block: None,
        };
        self.paths.insert(path.into(), facts);
        self
    }

    /// A node or a link to one, beside the nodes that every device has.
    pub(crate) fn node(mut self, path: &str, major: u32, minor: u32) -> Self {
        let block = Some(DeviceNumber::new(major, minor));
        let file_system = DeviceNumber::new(0, 6);
        let inode = u64::from(major) << 32 | u64::from(minor);
        let facts = PathFacts { canonical: path.into(), file_system, inode, block };
        self.paths.insert(path.into(), facts);
        self
    }

    pub(crate) fn tree(self) -> Tree {
        let contents = self.numbered_contents();
        let Self { root, paths, told, looped, .. } = self;
        let identities = looped.into_iter().map(|(device, file)| {
            let told = told.get(&device).copied().unwrap_or_else(|| {
                let by_path = paths.get(&file).map(FileIdentity::from);
                let inode = u64::from(device.minor) + 1000;
                let file_system = DeviceNumber::new(8, 1);
                Some(by_path.unwrap_or(FileIdentity {
                    file_system,
                    inode,
                    block: None,
                    is_served: false,
                }))
            });
            (device, told)
        });
        let identities: HashMap<_, _> = identities.collect();
        let absent = || std::io::Error::from(std::io::ErrorKind::NotFound);
        // The closure owns the directory, so it lives as long as the tree.
        Tree::new(root.path().canonicalize().unwrap())
            .with_stat(move |path| {
                let _kept = &root;
                paths.get(path).cloned().ok_or_else(absent)
            })
            .with_loop_files(move |device| {
                identities.get(&device).copied().flatten().ok_or(rustix::io::Errno::ACCESS)
            })
            .with_contents(move |device, offset, bytes| {
                let all: &Vec<u8> = contents.get(&device).ok_or(rustix::io::Errno::ACCESS)?;
                let from = all.len().min(offset as usize);
                Ok(all[from..all.len().min(from.saturating_add(bytes))].to_vec())
            })
    }

    fn numbered_contents(&self) -> HashMap<DeviceNumber, Vec<u8>> {
        let number = |name: &String| {
            let text = fs::read_to_string(self.root.path().join(&self.folders[name]).join("dev"));
            text.unwrap().trim().parse().unwrap()
        };
        self.contents.iter().map(|(name, bytes)| (number(name), bytes.clone())).collect()
    }

    fn device(mut self, name: &str, folder: PathBuf, major: u32, minor: u32) -> Self {
        self.write(folder.join("dev"), &format!("{major}:{minor}\n"));
        self.link(&format!("sys/dev/block/{major}:{minor}"), &folder);
        self.link(&format!("sys/class/block/{name}"), &folder);
        self.folders.insert(name.to_owned(), folder);
        let node = format!("/dev/{}", name.replace('!', "/"));
        self.node(&node, major, minor)
    }

    fn write(&self, path: impl AsRef<Path>, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn append(&self, path: &str, text: &str) {
        let before = fs::read_to_string(self.root.path().join(path)).unwrap();
        self.write(path, &(before + text));
    }

    fn link(&self, link: &str, target: &Path) {
        let link = self.root.path().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(self.root.path().join(target), link).unwrap();
    }
}

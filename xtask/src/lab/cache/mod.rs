//! What the guests are booted from, in a folder of its own that later runs find again: unpacked
//! kernels, the root image, an initramfs for each kernel. Only what is missing is made.

use super::table::{Kernel, Machine};
use crate::command::{is_there, output, script, watch};
use crate::debian;
use anyhow::Context as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const KERNEL: &str = include_str!("kernel.sh");
const INITRAMFS: &str = include_str!("initramfs.sh");
/// Process 1 of a guest.
const INIT: &str = include_str!("../guest/init.sh");

/// Space in the root image, of which little is used.
const ROOT_SIZE: &str = "6G";

/// The folder.
#[derive(Debug)]
pub(super) struct Cache {
    at: PathBuf,
    is_short: bool,
}

/// What a guest is booted from.
#[derive(Debug, Clone)]
pub(super) struct Boot {
    pub(super) kernel: PathBuf,
    pub(super) initramfs: PathBuf,
    /// What is at /lib/modules.
    pub(super) modules: PathBuf,
    /// None: the initramfs is the root.
    pub(super) image: Option<PathBuf>,
}

impl Cache {
    pub(super) fn new(at: &Path, is_short: bool) -> anyhow::Result<Self> {
        std::fs::create_dir_all(at)?;
        Ok(Self { at: at.canonicalize()?, is_short })
    }

    pub(super) fn at(&self) -> &Path {
        &self.at
    }

    /// The release of a kernel; none before it is unpacked.
    pub(super) fn release(&self, kernel: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.at.join("kernels").join(kernel).join("version"));
        Some(text.ok()?.trim().to_owned())
    }

    /// What cannot be had here, in words.
    pub(super) fn missing_program(&self) -> Option<&'static str> {
        const ALL: [&str; 5] = ["qemu-system-x86_64", "busybox", "kmod", "fio", "mkfs.ext4"];
        let more = (!self.is_short).then_some("debootstrap");
        ALL.into_iter().chain(more).find(|program| !is_there(program))
    }

    /// A kernel with its initramfs.
    /// Errors: its packages cannot be had, or what is in them is not what was expected.
    pub(super) fn boot(&self, kernel: &Kernel, machine: &Machine) -> anyhow::Result<Boot> {
        let place = self.at.join("kernels").join(&kernel.name);
        if !place.join("version").exists() {
            eprintln!("lab: fetching kernel {}", kernel.name);
            self.unpack(kernel, &place)?;
        }
        let version = std::fs::read_to_string(place.join("version"))?.trim().to_owned();
        let name = if self.is_short { "short.cpio" } else { "image.cpio" };
        let initramfs = place.join(name);
        let programs: &[String] = if self.is_short { &machine.programs } else { &[] };
        let mut make = script(INITRAMFS, "initramfs.sh");
        make.args([&initramfs, &place]).arg(&version).args(programs).env("init", INIT);
        output(&mut make)?;
        let image = if self.is_short { None } else { Some(self.image(machine)?) };
        let kernel = place.join("boot").join(format!("vmlinuz-{version}"));
        Ok(Boot { kernel, initramfs, modules: place.join("lib/modules"), image })
    }

    /// Unpacks a kernel; one of another suite comes from this machine's own sources under that
    /// suite's name.
    fn unpack(&self, kernel: &Kernel, place: &Path) -> anyhow::Result<()> {
        let mut unpack = script(KERNEL, "kernel.sh");
        unpack.arg(&kernel.package).args([&self.at.join("apt"), place]);
        if let Some(suite) = &kernel.suite {
            let codename = debian::codename()?;
            let lines = debian::sources(&codename)?.into_iter().filter_map(|(address, of)| {
                // The newest suite has neither updates nor security.
                let is_there = suite != "sid" || of == codename;
                let of = of.replacen(&codename, suite, 1);
                is_there.then(|| format!("deb {address} {of} main\n"))
            });
            unpack.arg(suite).env("sources", lines.collect::<String>());
        }
        output(&mut unpack).map(drop)
    }

    /// The root image: a small Debian with the tools of storage stacks.
    fn image(&self, machine: &Machine) -> anyhow::Result<PathBuf> {
        let image = self.at.join("root.img");
        if image.exists() {
            return Ok(image);
        }
        let root = self.at.join("root");
        if !self.at.join("root.whole").exists() {
            eprintln!("lab: making a Debian root of {} packages", machine.packages.len());
            if root.exists() {
                std::fs::remove_dir_all(&root)?;
            }
            debian::make_root(&root, &machine.packages)?;
            std::fs::write(self.at.join("root.whole"), "")?;
        }
        let made = self.at.join("root.img.partial");
        watch(Command::new("truncate").args(["--size", ROOT_SIZE]).arg(&made))?;
        let mut command = Command::new("mkfs.ext4");
        output(command.args(["-q", "-F", "-d"]).arg(&root).arg(&made))?;
        std::fs::rename(&made, &image).context("the root image")?;
        Ok(image)
    }
}

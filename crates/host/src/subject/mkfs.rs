//! The file systems that can be made fresh, as a table: which program makes each, with
//! which options. All are made without discard, which would punch holes into the image
//! (1,048,584 blocks became 33,544), and without lazy initialisation, which would
//! write in the background after the mount (64 MiB).

use model::seam::SubjectError;
use model::units::show_size;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A file system that can be made fresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystem {
    /// Its name in targets.
    pub name: &'static str,
    /// The kernel's name for mounting.
    pub kernel_name: &'static str,
    /// The program that makes it.
    pub mkfs: &'static str,
    /// Debian's package of that program.
    pub package: &'static str,
    /// Options before the block size.
    arguments: &'static [&'static str],
    /// The option that takes the block size, with `{}` for it; ext4's takes a bare number.
    block: &'static [&'static str],
    /// The block size where none is requested.
    pub default_block_bytes: u64,
    /// The smallest image that its mkfs accepts.
    pub least_bytes: u64,
}

const EXT4_WHOLE: &str = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";

const EXT4: FileSystem = FileSystem {
    name: "ext4",
    kernel_name: "ext4",
    mkfs: "mkfs.ext4",
    package: "e2fsprogs",
    arguments: &["-q", "-F", "-E", EXT4_WHOLE],
    block: &["-b", "{}"],
    default_block_bytes: 4096,
    least_bytes: 16 << 20,
};

/// Every file system that can be made fresh.
pub const FILE_SYSTEMS: &[FileSystem] = &[
    EXT4,
    FileSystem {
        name: "ext4-bigalloc",
        arguments: &["-q", "-F", "-O", "bigalloc", "-C", "65536", "-E", EXT4_WHOLE],
        least_bytes: 64 << 20,
        ..EXT4
    },
    FileSystem {
        name: "xfs",
        kernel_name: "xfs",
        mkfs: "mkfs.xfs",
        package: "xfsprogs",
        arguments: &["-q", "-f", "-K"],
        block: &["-b", "size={}"],
        // xfsprogs 5.19 and later refuse less than 300 MB.
        least_bytes: 304 << 20,
        ..EXT4
    },
    FileSystem {
        name: "btrfs",
        kernel_name: "btrfs",
        mkfs: "mkfs.btrfs",
        package: "btrfs-progs",
        arguments: &["-q", "-f", "-K"],
        block: &["-s", "{}"],
        least_bytes: 128 << 20,
        ..EXT4
    },
];

/// Whether a program can be found, also where only administrators look.
pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .any(|directory| directory.join(program).is_file())
}

impl FileSystem {
    /// The table's entry of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FILE_SYSTEMS.iter().find(|fs| fs.name == name)
    }

    /// Whether the program that makes it can be found.
    pub fn is_installed(&self) -> bool {
        is_installed(self.mkfs)
    }

    /// Asks for the program that makes it.
    /// Errors: it is not installed; the sentence names the package.
    pub(crate) fn installed(&self) -> Result<(), SubjectError> {
        if self.is_installed() { Ok(()) } else { Err(self.missing()) }
    }

    fn missing(&self) -> SubjectError {
        SubjectError::Unavailable(format!(
            "{} is not installed; install the package {}",
            self.mkfs, self.package
        ))
    }

    fn command(&self, block_bytes: u64, device: &Path) -> Command {
        let mut command = Command::new(self.mkfs);
        let search = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
        command.env("PATH", search).args(self.arguments);
        command.args(self.block.iter().map(|word| word.replace("{}", &block_bytes.to_string())));
        command.arg(device).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// Makes the file system on a device.
    /// Errors: a program that is not there, or its own refusal in its own words.
    pub(crate) fn make(&self, block_bytes: u64, device: &Path) -> Result<(), SubjectError> {
        let mut command = self.command(block_bytes, device);
        // SAFETY: prctl is a plain system call, fit for the time between fork and exec.
        // It ends mkfs if this program is killed, so that the loop device can go.
        unsafe {
            crate::without_session_keys(&mut command).pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        let output = command.output().map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => self.missing(),
            _ => SubjectError::Failed(format!("failed to run {}: {e}", self.mkfs)),
        })?;
        if output.status.success() {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&output.stderr);
        let words: Vec<&str> = words
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty() && !l.starts_with("Usage"))
            .collect();
        Err(SubjectError::Unavailable(format!(
            "{} refuses block={}: {}",
            self.mkfs,
            show_size(block_bytes),
            words.first().unwrap_or(&"it does not say why")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_made_without_discard_and_without_lazy_initialisation() {
        for fs in FILE_SYSTEMS {
            let command = fs.command(8192, Path::new("/dev/x"));
            let words: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
            let text = words.join(" ");
            assert!(text.contains("-K") || text.contains("nodiscard,lazy_itable_init=0"), "{text}");
            assert!(text.contains("8192") && text.ends_with("/dev/x"), "{text}");
            assert_eq!(FileSystem::named(fs.name), Some(fs));
        }
    }
}

//! A directory that is held by its descriptor: what is written goes into this one, wherever its
//! name leads by then. Root's runs lie where others may rename them and put a link in their place.
//!
//! Files in it are named by way of /proc/self/fd, so that whatever takes a path can write there.
//! The directories are their maker's alone (0700), so that nobody else can have put a link into
//! them; one in which somebody else could is read with [`Held::read`], and removed from by its
//! descriptor.
//!
//! Non-goals: which files there are (`crate::run`, `crate::history`).

use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{Error, ErrorKind, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a process finds what it has open.
const OPEN: &str = "/proc/self/fd";

/// Whose root's files are on a server that trusts no other machine's root (NFS, `root_squash`).
const NOBODY: u32 = 65_534;

/// A directory that is held.
#[derive(Debug, Clone)]
pub struct Held {
    path: PathBuf,
    open: Arc<File>,
}

impl Held {
    /// Holds a directory that is there. Links that lead to it are followed.
    /// Errors: none there; a refusal of the file system.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        Self::with(path, OFlags::empty())
    }

    /// Holds a directory that this process has just made: one of its own, in which nothing is yet.
    /// Its mode tells nothing, for some file systems have one for all (vfat).
    /// Errors: another one in its place; a refusal of the file system.
    pub fn made(path: &Path) -> std::io::Result<Self> {
        let held = Self::with(path, OFlags::NOFOLLOW)?;
        let owner = held.open.metadata()?.uid();
        let is_own = owner == rustix::process::geteuid().as_raw() || owner == NOBODY;
        match is_own && held.names()?.is_empty() {
            true => Ok(held),
            false => Err(Error::other("somebody else put another in its place")),
        }
    }

    fn with(path: &Path, flags: OFlags) -> std::io::Result<Self> {
        let flags = flags | OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self { path: path.to_owned(), open: Arc::new(open.into()) })
    }

    /// A directory in it; no link is followed.
    /// Errors: none there; a refusal of the file system.
    pub fn within(&self, name: impl AsRef<Path>) -> std::io::Result<Self> {
        let held = Self::with(&self.at(&name), OFlags::NOFOLLOW)?;
        Ok(held.named(&self.path.join(name)))
    }

    /// The same under another name.
    #[must_use]
    pub fn named(self, path: &Path) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// What it is called.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Itself, open.
    pub fn file(&self) -> &File {
        &self.open
    }

    /// The path by which this process finds a file in it, for as long as this lives.
    pub fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        Path::new(OPEN).join(self.open.as_raw_fd().to_string()).join(name)
    }

    /// The names in it.
    /// Errors: a refusal of the file system.
    pub fn names(&self) -> std::io::Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(self.at("."))?;
        entries.map(|entry| Ok(PathBuf::from(entry?.file_name()))).collect()
    }

    /// Reads a file in it. Nothing that lies there in its stead makes this wait.
    /// Errors: none there, or no file; a refusal of the file system.
    pub fn read(&self, name: impl AsRef<Path>) -> std::io::Result<String> {
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = i32::try_from(flags.bits()).unwrap_or(0);
        let mut file =
            std::fs::OpenOptions::new().read(true).custom_flags(flags).open(self.at(name))?;
        if !file.metadata()?.is_file() {
            return Err(Error::new(ErrorKind::InvalidInput, "it is no file"));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map(|_| text)
    }

    /// Removes a file in it; one that is gone is fine.
    /// Errors: a refusal of the file system.
    pub fn remove(&self, name: impl AsRef<Path>) -> std::io::Result<()> {
        match std::fs::remove_file(self.at(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

/// A path as it is told: of a file in a held directory, where that is.
pub fn shown(path: &Path) -> PathBuf {
    let of_held = || {
        let rest = path.strip_prefix(OPEN).ok()?;
        let number = rest.components().next()?;
        let directory = std::fs::read_link(Path::new(OPEN).join(number)).ok()?;
        let within = rest.strip_prefix(number).ok()?;
        Some(if within.as_os_str().is_empty() { directory } else { directory.join(within) })
    };
    of_held().unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{DirBuilderExt as _, symlink};

    #[test]
    fn what_is_written_goes_into_the_directory_wherever_its_name_leads() {
        let root = tempfile::tempdir().unwrap();
        let (own, victim) = (root.path().join("own"), root.path().join("victim"));
        std::fs::create_dir(&victim).unwrap();
        std::fs::write(victim.join("file"), "precious").unwrap();
        std::fs::DirBuilder::new().mode(0o700).create(&own).unwrap();
        let held = Held::made(&own).unwrap();
        std::fs::rename(&own, root.path().join("away")).unwrap();
        symlink(&victim, &own).unwrap();
        std::fs::write(held.at("file"), "mine").unwrap();
        assert_eq!(std::fs::read_to_string(victim.join("file")).unwrap(), "precious");
        assert_eq!(std::fs::read_to_string(root.path().join("away/file")).unwrap(), "mine");
        assert_eq!(shown(&held.at("file")), root.path().join("away/file").canonicalize().unwrap());
        let away = root.path().join("away").canonicalize().unwrap();
        assert_eq!(shown(&held.at(".")).as_os_str(), away.as_os_str(), "no slash at its end");
        assert_eq!(shown(&victim), victim);
        held.remove("file").unwrap();
        held.remove("file").unwrap();
        assert!(victim.join("file").exists() && held.names().unwrap().is_empty());
        assert!(Held::made(&own).is_err(), "a link");
        assert!(Held::made(&victim).is_err(), "something is in it");
    }

    #[test]
    fn no_link_is_followed_within_and_nothing_makes_a_reader_wait() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("held/part")).unwrap();
        symlink(root.path(), root.path().join("held/link")).unwrap();
        let held = Held::open(&root.path().join("held")).unwrap();
        assert_eq!(held.within("part").unwrap().path(), root.path().join("held/part"));
        assert!(held.within("link").is_err());
        rustix::fs::mknodat(
            rustix::fs::CWD,
            held.at("fifo"),
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
        assert!(held.read("fifo").unwrap_err().to_string().contains("no file"));
        assert_eq!(held.read("none").unwrap_err().kind(), ErrorKind::NotFound);
    }
}

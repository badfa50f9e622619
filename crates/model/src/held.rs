//! A directory that is held by its descriptor: what is written goes into this one, wherever its
//! name leads by then. Root's runs lie where others may rename them and put a link in their place.
//!
//! Files in it are named by way of /proc/self/fd, so that whatever takes a path can write there.
//! The directories are their maker's alone (0700), so that nobody else can have put a link into
//! them; one in which somebody else could is read with [`Held::read`], and removed from by its
//! descriptor.
//!
//! Non-goals: which files there are (`crate::run`, `crate::history`).

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, fstat, fstatfs, openat, readlinkat,
    statat,
};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Where a process finds what it has open.
const OPEN: &str = "/proc/self/fd";

/// Links that lead to others at the most, as in the kernel.
const LINKS_MOST: usize = 40;

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

    /// The directory in which a file is to be written, and the file's name there, which is no link.
    /// Links are followed that are this user's own or root's: whoever has another one can lead it
    /// anywhere. Users other than root follow also what its directory's owner made. The kernel's
    /// fs.protected_symlinks asks this in sticky directories that all may write to; here it is
    /// asked in each, and root follows none of another user's.
    /// Errors: another user's link; no such directory; a refusal of the file system.
    pub fn of_output(path: &Path) -> std::io::Result<(Self, OsString)> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let begin = |path: &Path| if path.is_absolute() { "/" } else { "." };
        let open = |at: BorrowedFd<'_>, name: &OsStr| openat(at, name, flags, Mode::empty());
        let mut at = open(CWD, OsStr::new(begin(path)))?;
        let mut left = parts_of(path);
        for _ in 0..LINKS_MOST {
            let name = loop {
                let name = left.pop().ok_or(ErrorKind::IsADirectory)?;
                let found = statat(&at, &name, AtFlags::SYMLINK_NOFOLLOW);
                if found
                    .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
                {
                    break name;
                }
                if left.is_empty() && name != ".." {
                    let held = Self::with(
                        &Path::new(OPEN).join(at.as_raw_fd().to_string()),
                        OFlags::empty(),
                    )?;
                    return Ok((held.named(parent(path)), name));
                }
                at = open(at.as_fd(), &name)?;
            };
            let (link, own) = (statat(&at, &name, AtFlags::SYMLINK_NOFOLLOW)?, fstat(&at)?);
            let user = rustix::process::geteuid().as_raw();
            let is_trusted =
                [0, user].contains(&link.st_uid) || user != 0 && link.st_uid == own.st_uid;
            if !is_trusted {
                let sentence = "a link of another user leads there, who may lead it anywhere; name \
                                the file itself";
                return Err(Error::other(sentence));
            }
            // The kernel's own links may lead where their text does not, as into another root.
            let is_kernels = fstatfs(&at)?.f_type == PROC_SUPER_MAGIC;
            if is_kernels && !left.is_empty() {
                at = openat(&at, &name, flags - OFlags::NOFOLLOW, Mode::empty())?;
                continue;
            }
            let target = readlinkat(&at, &name, Vec::new())?;
            let target = Path::new(OsStr::from_bytes(target.as_bytes())).to_owned();
            if target.is_absolute() {
                at = open(CWD, OsStr::new("/"))?;
            }
            left.extend(parts_of(&target));
        }
        Err(ErrorKind::TooManyLinks.into())
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
        let file =
            std::fs::OpenOptions::new().read(true).custom_flags(flags).open(self.at(name))?;
        if !file.metadata()?.is_file() {
            return Err(Error::new(ErrorKind::InvalidInput, "it is no file"));
        }
        crate::text_file::read_most(file, crate::text_file::RUN_BYTES_MAX)
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

/// The parts of a path from the root or from here, the last one first.
fn parts_of(path: &Path) -> Vec<OsString> {
    let is_part =
        |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    let parts = path.components().filter(is_part).map(|part| part.as_os_str().to_owned());
    let mut parts: Vec<OsString> = parts.collect();
    parts.reverse();
    parts
}

/// The directory of a file, as its path names it.
fn parent(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
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
    fn an_output_s_own_links_are_followed_and_nobody_else_s() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        std::fs::create_dir(at("d")).unwrap();
        symlink("d", at("link")).unwrap();
        symlink("../d/file", at("d/file-link")).unwrap();
        symlink("round", at("round")).unwrap();
        for path in ["d/file", "link/file", "link/../link/./file-link", "d/file-link"] {
            let (held, name) = Held::of_output(&at(path)).unwrap();
            assert_eq!((shown(&held.at(&name)), held.path()), (at("d/file"), parent(&at(path))));
        }
        assert!(Held::of_output(&at("round")).is_err() && Held::of_output(&at("no/file")).is_err());
        assert!(Held::of_output(Path::new("/")).is_err());
        if !rustix::process::geteuid().is_root() {
            return;
        }
        for (link, path) in [("link", "link/file"), ("d/file-link", "d/file-link")] {
            std::os::unix::fs::lchown(at(link), Some(1234), None).unwrap();
            let error = Held::of_output(&at(path)).unwrap_err().to_string();
            assert!(error.starts_with("a link of another user leads there"), "{error}");
        }
    }

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

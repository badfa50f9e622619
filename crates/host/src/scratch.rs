//! Scratch: directories of this process's own among other people's files, and files without a name.
//!
//! A scratch directory is nobody else's (0700) and is worked in by its descriptor alone, so that
//! whoever may write around it cannot put something else in its place. Its maker holds a lock on
//! it, which the kernel takes from a process that dies: so the scratch of a killed process can be
//! told from that of one that goes on.
//!
//! Non-goals: who noted it (`lbolt`).

use crate::process::numbers;
use crate::walk::{Distrust, Trust, walk};
use model::run::SCRATCH_PREFIX;
use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A scratch directory of this process's own.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    open: Arc<OwnedFd>,
}

const DIRECTORY: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::RDONLY).union(OFlags::CLOEXEC);

impl Scratch {
    /// Makes a scratch directory.
    /// Errors: a refusal of the file system, or a directory that somebody else put there meanwhile.
    pub fn make(path: &Path) -> std::io::Result<Self> {
        std::fs::DirBuilder::new().mode(0o700).create(path)?;
        let open = rustix::fs::openat(CWD, path, DIRECTORY, Mode::empty())?;
        let stat = rustix::fs::fstat(&open)?;
        if stat.st_uid != rustix::process::geteuid().as_raw() || stat.st_mode & 0o077 != 0 {
            return Err(std::io::Error::other("another process replaced it"));
        }
        // Some file systems (NFS) lock no directories; there the note must do.
        let _ = rustix::fs::flock(&open, FlockOperation::NonBlockingLockExclusive);
        Ok(Self { path: path.to_owned(), open: Arc::new(open) })
    }

    /// The open directory.
    pub fn open(&self) -> &Arc<OwnedFd> {
        &self.open
    }

    /// Writes a new file in it, for this user alone. Its name is to begin with `file.`.
    /// Errors: a refusal of the file system; a name that is there already.
    pub fn write(&self, name: &str, bytes: &[u8]) -> std::io::Result<PathBuf> {
        write_new(&self.open, name, bytes)?;
        Ok(self.path.join(name))
    }

    /// Removes the files of ours in it, then itself.
    /// Errors: a refusal of the file system; a foreign file keeps the directory.
    pub fn remove(self) -> std::io::Result<()> {
        match empty_and_remove(CWD, self.path.as_os_str(), &self.open) {
            // Somebody else removed it.
            Err(Errno::NOENT) => Ok(()),
            done => Ok(done?),
        }
    }
}

/// Why what a killed process left was not removed. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum ScratchError {
    #[error(transparent)]
    Path(#[from] Distrust),
    #[error("remove {path}: {why}", path = path.display())]
    NotOurs { path: PathBuf, why: String },
    #[error("remove {path}: a running process uses it", path = path.display())]
    InUse { path: PathBuf },
    #[error("remove {path}: {source}", path = path.display())]
    Io { path: PathBuf, source: std::io::Error },
}

/// Whether a name is one that this or an earlier version gives to scratch.
pub fn is_scratch_name(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    // Version 0.1.0 let a library name the directory of an imported trace.
    let is_earlier =
        |rest: &str| rest.len() == 6 && rest.bytes().all(|b| b.is_ascii_alphanumeric());
    name.starts_with(SCRATCH_PREFIX) || name.strip_prefix(".lbolt-").is_some_and(is_earlier)
}

/// What lies in a directory and has a name of scratch.
/// Errors: a directory that cannot be listed. One that is not there holds none.
pub fn in_directory(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(directory) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    let names = entries.filter_map(Result::ok).filter(|entry| is_scratch_name(&entry.file_name()));
    Ok(names.map(|entry| entry.path()).collect())
}

/// The same path with its links resolved, but for the last name, so that it can be followed later
/// without any.
pub fn direct(path: &Path) -> PathBuf {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let identity = |path: &Path| path.metadata().map(|m| (m.dev(), m.ino())).ok();
    let resolved = parent.canonicalize().ok();
    // Through /proc/PID/root the text of a link is not where it leads.
    match resolved.filter(|resolved| identity(resolved) == identity(parent)) {
        Some(parent) => parent.join(name),
        None => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    }
}

/// What a killed process left: scratch by its name, of this user, that nobody uses.
#[derive(Debug)]
pub struct Left {
    path: PathBuf,
    directory: OwnedFd,
    open: OwnedFd,
    is_directory: bool,
}

impl Left {
    /// Looks at scratch; none if it is gone.
    /// Errors: what is another's or in use; the file system's refusal.
    pub fn open(path: &Path) -> Result<Option<Self>, ScratchError> {
        let not_ours = |why: String| ScratchError::NotOurs { path: path.to_owned(), why };
        let failed =
            |errno: Errno| ScratchError::Io { path: path.to_owned(), source: errno.into() };
        let name = path.file_name().filter(|name| is_scratch_name(name));
        let name = name.ok_or_else(|| not_ours("its name is not an lbolt name".into()))?;
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = walk(directory.unwrap_or(Path::new(".")), Trust::NoLinks)?;
        let stat = match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(None),
            stat => stat.map_err(failed)?,
        };
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(not_ours(format!("it belongs to user {}", stat.st_uid)));
        }
        let is_directory = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => true,
            FileType::RegularFile => false,
            _ => return Err(not_ours("it is neither a file nor a directory".into())),
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let open = rustix::fs::openat(&directory, name, flags, Mode::empty()).map_err(failed)?;
        let is_it = is_same(&rustix::fs::fstat(&open).map_err(failed)?, &stat);
        if !is_it || is_in_use(&open).map_err(failed)? {
            return Err(ScratchError::InUse { path: path.to_owned() });
        }
        Ok(Some(Self { path: path.to_owned(), directory, open, is_directory }))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it. Of a directory only what has a name of ours, so that a foreign file keeps it.
    /// Errors: the file system's refusal.
    pub fn remove(self) -> Result<(), ScratchError> {
        let name = self.path.file_name().unwrap_or_default();
        let removed = match self.is_directory {
            true => empty_and_remove(self.directory.as_fd(), name, &self.open),
            false => rustix::fs::unlinkat(&self.directory, name, AtFlags::empty()),
        };
        removed.map_err(|errno| ScratchError::Io { path: self.path, source: errno.into() })
    }
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Names in scratch that are ours: what jobs and `Scratch::write` make, and what a run begins with.
fn is_own_name(name: &[u8]) -> bool {
    const RUN: &[&[u8]] =
        &[b"run.json", b"run.json.partial", b"requests.parquet", b"requests.parquet.partial"];
    name.starts_with(b"file.") || RUN.contains(&name)
}

/// By descriptors, so that nothing else can be put in the place of what is emptied.
fn empty_and_remove(directory: impl AsFd, name: &OsStr, open: &OwnedFd) -> rustix::io::Result<()> {
    for entry in entries(open)? {
        if is_own_name(entry.as_encoded_bytes()) {
            rustix::fs::unlinkat(open, &entry, AtFlags::empty())?;
        }
    }
    let stat = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if !is_same(&stat, &rustix::fs::fstat(open)?) {
        return Err(Errno::NOENT);
    }
    rustix::fs::unlinkat(&directory, name, AtFlags::REMOVEDIR)
}

fn entries(directory: &OwnedFd) -> rustix::io::Result<Vec<OsString>> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// Whether a process holds the lock of a scratch, or has it or anything in it open: earlier
/// versions lock nothing.
fn is_in_use(scratch: &OwnedFd) -> rustix::io::Result<bool> {
    // Where locks are not to be had (NFS), what is open must tell.
    let locked = rustix::fs::flock(scratch, FlockOperation::NonBlockingLockExclusive);
    if locked == Err(Errno::WOULDBLOCK) {
        return Ok(true);
    }
    let identity = |stat: &Stat| (stat.st_dev, stat.st_ino);
    let own = rustix::fs::fstat(scratch)?;
    let mut wanted = BTreeSet::from([identity(&own)]);
    if FileType::from_raw_mode(own.st_mode) == FileType::Directory {
        for name in entries(scratch)? {
            let stat = rustix::fs::statat(scratch, &name, AtFlags::SYMLINK_NOFOLLOW);
            wanted.extend(stat.iter().map(identity));
        }
    }
    let is_wanted =
        |path: &Path| rustix::fs::stat(path).is_ok_and(|s| wanted.contains(&identity(&s)));
    let open_in = |process: u32| std::fs::read_dir(format!("/proc/{process}/fd"));
    // This process has it open to look at it.
    let processes = numbers().filter(|process| *process != std::process::id());
    let mut open = processes.flat_map(open_in).flatten().flatten();
    Ok(open.any(|file| is_wanted(&file.path())))
}

/// Writes a new file for this user alone. No link is followed and no file replaced; what cannot be
/// written as a whole goes.
pub(crate) fn write_new(directory: &OwnedFd, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(0o600))?;
    let written = std::fs::File::from(file).write_all(bytes);
    if written.is_err() {
        rustix::fs::unlinkat(directory, name, AtFlags::empty())?;
    }
    written
}

/// A file without a name in a directory, for this user alone, which ends with its last user.
/// Errors: the file system's refusal.
pub fn nameless(directory: &OwnedFd, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o600);
    match rustix::fs::openat(directory, ".", flags | OFlags::TMPFILE, mode) {
        // A file system that knows no such files: a name for a moment.
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => {
            let name = format!("{SCRATCH_PREFIX}image-{}", std::process::id());
            let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            let open = rustix::fs::openat(directory, &name, flags, mode)?;
            rustix::fs::unlinkat(directory, &name, AtFlags::empty())?;
            Ok(open)
        }
        other => other,
    }
}

/// The same, in a directory by its path, through the page cache.
/// Errors: the file system's refusal.
pub fn nameless_in(directory: &Path) -> std::io::Result<std::fs::File> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let open = rustix::fs::open(directory, flags, Mode::empty())?;
    Ok(nameless(&open, OFlags::empty())?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn scratch(root: &Path, name: &str) -> PathBuf {
        root.canonicalize().unwrap().join(format!("{SCRATCH_PREFIX}{name}"))
    }

    fn remove_left(path: &Path) -> Result<(), ScratchError> {
        Left::open(path)?.map_or(Ok(()), Left::remove)
    }

    #[test]
    fn only_scratch_of_our_own_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let foreign = root.path().join("precious");
        std::fs::create_dir(&foreign).unwrap();
        std::fs::write(foreign.join("file.0"), "mine").unwrap();
        assert!(remove_left(&foreign).is_err());
        let ours = scratch(root.path(), "x");
        std::fs::create_dir(&ours).unwrap();
        for name in ["file.0", "run.json", "notes.txt"] {
            std::fs::write(ours.join(name), "x").unwrap();
        }
        assert!(remove_left(&ours).is_err(), "a foreign file keeps the directory");
        assert_eq!(
            entries(&rustix::fs::open(&ours, DIRECTORY, Mode::empty()).unwrap()).unwrap(),
            ["notes.txt"]
        );
        std::fs::remove_file(ours.join("notes.txt")).unwrap();
        remove_left(&ours).unwrap();
        assert!(!ours.exists());
        remove_left(&ours).unwrap();
        symlink(&foreign, &ours).unwrap();
        assert!(remove_left(&ours).is_err(), "a link is not followed");
        std::fs::remove_file(&ours).unwrap();
        // Nor one above.
        let way = root.path().join("way");
        symlink(root.path(), &way).unwrap();
        std::fs::create_dir(&ours).unwrap();
        assert!(remove_left(&way.join(ours.file_name().unwrap())).is_err());
        remove_left(&direct(&way.join(ours.file_name().unwrap()))).unwrap();
        assert!(!ours.exists() && foreign.join("file.0").exists());
    }

    #[test]
    fn scratch_of_a_process_that_lives_is_not_removed() {
        let root = tempfile::tempdir().unwrap();
        let path = scratch(root.path(), "x");
        let made = Scratch::make(&path).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(&made.write("file.html", b"x").unwrap()), 0o600);
        assert!(made.write("file.html", b"y").is_err(), "nothing is written over");
        assert!(matches!(remove_left(&path), Err(ScratchError::InUse { .. })));
        made.remove().unwrap();
        assert!(!path.exists());

        // An earlier version locks nothing, but has a file open.
        let earlier = root.path().canonicalize().unwrap().join(".lbolt-a1B2c3");
        std::fs::create_dir(&earlier).unwrap();
        let file = std::fs::File::create(earlier.join("requests.parquet")).unwrap();
        let mut reader = std::process::Command::new("sleep").arg("60").stdin(file).spawn().unwrap();
        assert!(matches!(remove_left(&earlier), Err(ScratchError::InUse { .. })));
        reader.kill().unwrap();
        reader.wait().unwrap();
        remove_left(&earlier).unwrap();
        assert!(!earlier.exists());
    }

    #[test]
    fn names_of_ours_and_others() {
        for (name, is_ours) in [
            (".lbolt-scratch-x", true),
            (".lbolt-a1B2c3", true),
            (".lbolt-a1B2c", false),
            (".lbolt-a1/2c3", false),
            (".lbolt-results", false),
            ("lbolt-runs", false),
        ] {
            assert_eq!(is_scratch_name(OsStr::new(name)), is_ours, "{name}");
        }
    }

    #[test]
    fn root_what_belongs_to_another_stays() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let root = tempfile::tempdir().unwrap();
        let path = scratch(root.path(), "x");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("file.0"), "theirs").unwrap();
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
        let refused = remove_left(&path).unwrap_err().to_string();
        assert!(refused.contains("belongs to user 65534"), "{refused}");
        assert!(path.join("file.0").exists());
    }
}

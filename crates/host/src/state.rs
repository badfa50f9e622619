//! Where notes about running processes lie: a directory in which nobody but its owner can have
//! written, and files that are believed only if that is so. What a note names may be deleted, so
//! that a note of somebody else's must not be taken for one's own.
//!
//! Root's notes lie in /var/lib, whatever HOME and XDG_STATE_HOME say: sudo leaves them another
//! user's. Not in /run, which is empty after a reboot while the scratch that a note names is still
//! there. It is the second choice, where /var/lib cannot be written. A user's lie under
//! XDG_STATE_HOME or HOME, else under XDG_RUNTIME_DIR; never where all may write (/tmp, /var/tmp),
//! for there a name can be taken by whoever comes first.
//!
//! Non-goals: what a note says.

use crate::scratch::write_new;
use crate::walk::{Distrust, Trust, walk};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// No note is larger; what is, is none.
const MOST_BYTES: u64 = 64 << 10;
/// The variable that names a place by hand. It is held to the same checks.
const BY_HAND: &str = "LBOLT_STATE";

/// How long others may take to look and to note.
const LOCKED: Duration = Duration::from_secs(30);
const AGAIN: Duration = Duration::from_millis(5);
/// The namespace of processes that all others are in (include/linux/proc_ns.h,
/// `PROC_PID_INIT_INO`).
pub const FIRST_PID_NAMESPACE: u64 = 0xEFFF_FFFC;
/// overlayfs, tmpfs, ramfs (include/uapi/linux/magic.h).
const OF_CONTAINERS: [u64; 3] = [0x794c_7630, 0x0102_1994, 0x8584_58f6];

/// The namespace of a process's number; 0 where it cannot be seen.
pub fn pid_namespace(process: &str) -> u64 {
    std::fs::metadata(format!("/proc/{process}/ns/pid")).map_or(0, |metadata| metadata.ino())
}

/// A place of notes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatePath {
    /// Where it is.
    pub path: PathBuf,
    /// How many of its last names may be made.
    makes: usize,
}

/// The places of notes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatePaths {
    /// Where notes are made: the first that will do.
    pub own: Vec<StatePath>,
    /// Where earlier versions made them, which is only read: for scratch, which is all that they
    /// noted.
    pub earlier: Vec<StatePath>,
}

impl StatePaths {
    /// Those of this process.
    pub fn of_this_process() -> Self {
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
        Self::of(rustix::process::geteuid().is_root(), variable)
    }

    /// Those of a user with these variables.
    fn of(is_root: bool, variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let beneath = |base: PathBuf, rest: &str| {
            let makes = Path::new(rest).components().count();
            base.is_absolute().then(|| StatePath { path: base.join(rest), makes })
        };
        let notes = |base: PathBuf| beneath(base, "lbolt/running");
        let of = |name: &str| notes(variable(name)?);
        let of_home = || beneath(variable("HOME")?, ".local/state/lbolt/running");
        let of_all = || notes("/var/tmp".into());
        if let Some(by_hand) = variable(BY_HAND) {
            return Self {
                own: beneath(by_hand, "running").into_iter().collect(),
                earlier: vec![],
            };
        }
        let of_user = of("XDG_STATE_HOME").or_else(of_home);
        let system = ["/var/lib", "/run"].into_iter().filter_map(|base| notes(base.into()));
        match is_root {
            true => Self {
                own: system.collect(),
                earlier: of_user.into_iter().chain(of_all()).collect(),
            },
            false => Self {
                own: of_user.into_iter().chain(of("XDG_RUNTIME_DIR")).collect(),
                earlier: of_all().into_iter().collect(),
            },
        }
    }
}

/// Where `lbolt watch` keeps its history, and `lbolt history` looks for it, where nobody names
/// another directory: beside the notes. None where this user has no place.
pub fn history_directory() -> Option<PathBuf> {
    let notes = StatePaths::of_this_process().own.into_iter().next()?.path;
    Some(notes.parent()?.join("history"))
}

/// A directory that only its owner can write, and whose owner is this process's user.
#[derive(Debug)]
pub struct StateDirectory {
    open: OwnedFd,
    path: PathBuf,
}

/// What the name of a note stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// One that this user wrote.
    Own(Vec<u8>),
    /// Anything else, and why it is not believed.
    Distrusted(String),
}

impl StateDirectory {
    /// Opens a place, and makes it if it is not there.
    /// Errors: a place that somebody else could write to, or a refusal of the file system.
    pub fn make(place: &StatePath) -> Result<Self, Distrust> {
        let open = walk(&place.path, Trust::Owner { makes: place.makes })?;
        Ok(Self { open, path: place.path.clone() })
    }

    /// Opens a place; none if it is not there.
    /// Errors: as [`Self::make`].
    pub fn open(place: &StatePath) -> Result<Option<Self>, Distrust> {
        match walk(&place.path, Trust::Owner { makes: 0 }) {
            Err(e) if e.is_missing() => Ok(None),
            open => Ok(Some(Self { open: open?, path: place.path.clone() })),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open directory.
    pub fn into_open(self) -> OwnedFd {
        self.open
    }

    /// The names in it.
    /// Errors: a refusal of the file system.
    pub fn names(&self) -> std::io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.open)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Keeps others from looking and noting at the same time, until what is given back is dropped.
    /// Errors: a refusal of the file system; somebody who has it for longer than that takes.
    pub fn lock(&self) -> std::io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = rustix::fs::openat(&self.open, ".", flags, Mode::empty())?;
        let began = Instant::now();
        loop {
            match rustix::fs::flock(&open, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) if began.elapsed() < LOCKED => std::thread::sleep(AGAIN),
                Err(Errno::WOULDBLOCK) => {
                    return Err(std::io::Error::other("another lbolt has locked it"));
                }
                done => return done.map(|()| open).map_err(Into::into),
            }
        }
    }

    /// Whether notes here may end with the container that this process is in, so that nobody reads
    /// them after its end. The kernel's settings do not end with it.
    /// Errors: a refusal of the file system.
    pub fn may_end_with_its_container(&self) -> std::io::Result<bool> {
        let own = rustix::fs::fstat(&self.open)?;
        let beneath = self.path.strip_prefix("/").unwrap_or(&self.path);
        // Where process 1 is the machine's, its files are.
        let is_the_machines = pid_namespace("self") == FIRST_PID_NAMESPACE;
        match std::fs::metadata(Path::new("/proc/1/root").join(beneath)) {
            Ok(its) if is_the_machines => Ok((its.dev(), its.ino()) != (own.st_dev, own.st_ino)),
            Err(e) if is_the_machines && e.kind() == ErrorKind::NotFound => Ok(true),
            // What lies in a container's own layer, or in memory, goes with it.
            _ => {
                let system = u64::try_from(rustix::fs::fstatfs(&self.open)?.f_type);
                Ok(system.is_ok_and(|system| OF_CONTAINERS.contains(&system)))
            }
        }
    }

    /// Writes a new note. No link is followed and no file replaced.
    /// Errors: a refusal of the file system; a name that is there already.
    pub fn write(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        write_new(&self.open, name, bytes)
    }

    /// Sees to it that a note outlives a loss of power, as what it names may.
    /// Errors: a refusal of the file system.
    pub fn sync(&self, name: &str) -> std::io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.open, name, flags, Mode::empty())?;
        rustix::fs::fsync(file)?;
        Ok(rustix::fs::fsync(&self.open)?)
    }

    /// Reads a note. Nothing that lies there in its stead makes this wait.
    /// Errors: a refusal of the file system.
    pub fn read(&self, name: &str) -> std::io::Result<Found> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.open, name, flags, Mode::empty()) {
            Err(Errno::LOOP) => return Ok(Found::Distrusted("it is a symbolic link".into())),
            // A socket.
            Err(Errno::NXIO) => return Ok(Found::Distrusted("it is not a regular file".into())),
            file => file?,
        };
        let stat = rustix::fs::fstat(&file)?;
        let doubt = if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            Some("it is not a regular file".to_owned())
        } else if stat.st_uid != rustix::process::geteuid().as_raw() {
            Some(format!("it belongs to user {}", stat.st_uid))
        } else if stat.st_mode & 0o022 != 0 {
            Some("other users can write it".to_owned())
        } else if stat.st_nlink != 1 {
            Some("it has another hard link".to_owned())
        } else if u64::try_from(stat.st_size).unwrap_or(u64::MAX) > MOST_BYTES {
            Some("it is too large for a note".to_owned())
        } else {
            None
        };
        if let Some(doubt) = doubt {
            return Ok(Found::Distrusted(doubt));
        }
        let mut bytes = Vec::new();
        File::from(file).take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok(Found::Own(bytes))
    }

    /// Removes a note.
    /// Errors: a refusal of the file system. One that is gone is fine.
    pub fn remove(&self, name: &str) -> std::io::Result<()> {
        match rustix::fs::unlinkat(&self.open, name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            done => Ok(done?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn places(is_root: bool, variables: &[(&str, &str)]) -> StatePaths {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| PathBuf::from(value))
        };
        StatePaths::of(is_root, variable)
    }

    fn paths(places: &[StatePath]) -> Vec<String> {
        places.iter().map(|place| place.path.display().to_string()).collect()
    }

    #[test]
    fn root_asks_no_variable_where_its_notes_lie_and_nobody_uses_a_place_of_all() {
        let variables = [("HOME", "/users/u"), ("XDG_STATE_HOME", "/x"), ("XDG_RUNTIME_DIR", "/r")];
        let system = ["/var/lib/lbolt/running", "/run/lbolt/running"];
        assert_eq!(paths(&places(true, &[]).own), system);
        let root = places(true, &variables);
        assert_eq!(paths(&root.own), system);
        assert_eq!(paths(&root.earlier), ["/x/lbolt/running", "/var/tmp/lbolt/running"]);
        let user = places(false, &variables);
        assert_eq!(paths(&user.own), ["/x/lbolt/running", "/r/lbolt/running"]);
        assert_eq!(paths(&user.earlier), ["/var/tmp/lbolt/running"]);
        let home = places(false, &[("HOME", "/users/u")]).own;
        assert_eq!(paths(&home), ["/users/u/.local/state/lbolt/running"]);
        for none in [&[][..], &[("HOME", ""), ("XDG_STATE_HOME", "state")]] {
            assert!(places(false, none).own.is_empty(), "{none:?}");
        }
        let by_hand = places(true, &[("LBOLT_STATE", "/s"), ("HOME", "/users/u")]);
        assert_eq!((paths(&by_hand.own), by_hand.earlier), (vec!["/s/running".into()], vec![]));
    }

    #[test]
    fn only_files_of_ones_own_are_read_and_none_is_written_over() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("lbolt/running");
        let place = StatePath { path: path.clone(), makes: 2 };
        assert!(StateDirectory::open(&place).unwrap().is_none());
        let state = StateDirectory::make(&place).unwrap();
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        state.write("1-1.json", b"{}").unwrap();
        assert_eq!(path.join("1-1.json").metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(state.read("1-1.json").unwrap(), Found::Own(b"{}".to_vec()));
        assert!(state.write("1-1.json", b"other").is_err());

        let precious = root.path().join("precious");
        std::fs::write(&precious, "mine").unwrap();
        symlink(&precious, path.join("link")).unwrap();
        assert!(state.write("link", b"{}").is_err());
        std::fs::hard_link(&precious, path.join("twin")).unwrap();
        let fifo = rustix::fs::CWD;
        rustix::fs::mknodat(fifo, path.join("fifo"), FileType::Fifo, 0o600.into(), 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path.join("socket")).unwrap();
        std::fs::create_dir(path.join("directory")).unwrap();
        std::fs::write(path.join("large"), vec![b' '; 70_000]).unwrap();
        std::fs::write(path.join("open"), "{}").unwrap();
        let all = PermissionsExt::from_mode(0o666);
        std::fs::set_permissions(path.join("open"), all).unwrap();
        for name in ["link", "twin", "fifo", "socket", "directory", "large", "open"] {
            let found = state.read(name).unwrap();
            assert!(matches!(found, Found::Distrusted(_)), "{name}: {found:?}");
        }
        assert_eq!(std::fs::read(&precious).unwrap(), b"mine");
        assert_eq!(state.names().unwrap().len(), 8);
        state.remove("1-1.json").unwrap();
        state.remove("1-1.json").unwrap();
        assert!(!path.join("1-1.json").exists());
    }
}

//! Privileges apart: what captures keeps those that it needs, and what writes files, prints and
//! listens has none. Linux gives them to threads (capabilities(7)): both functions are for a
//! process that has no other thread yet, whose later threads have what it has left.
//!
//! Non-goals: other users' protection from each other (`state`, `scratch`).

use crate::keyring::leave_session_keys;
use crate::landlock::write_only_in;
use crate::seccomp;
use model::held::Held;
use rustix::io;
use rustix::process::{Gid, Resource, Rlimit, Uid, geteuid, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, set_capabilities,
    set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt, fchown, lchown};
use std::path::{Path, PathBuf};

/// What a capture needs: BPF and its events; the names of files that others have open, and those in
/// others' directories; to go before others ([`crate::scheduling::Ahead`]). The kernel's own tracer
/// follows process 1 for whom its files belong to. The administrator's right alone reads what a
/// thread sleeps in that hangs already (/proc/PID/stack), and stands for BPF and PERFMON where
/// there are none: before Linux 5.8, or in a container that was not given these.
const OF_CAPTURE: CapabilitySet = CapabilitySet::BPF
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::SYSLOG)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::SYS_ADMIN);
/// What cleaning up after a watch needs: to end a COMMAND that is another user's.
const OF_CLEANING: CapabilitySet = CapabilitySet::KILL;

/// Keeps of this process's privileges those that a capture needs; what no capture does is refused
/// to it, where the kernel has filters of system calls. Its memory may be locked without
/// a limit: before Linux 5.11 the maps of BPF count as locked, and those who have given up the
/// right to it could no longer raise the limit, which is 64 KiB by custom.
/// Errors: what the kernel refuses; nothing has changed then.
pub fn keep_what_captures() -> io::Result<()> {
    // Without the right to it the limit stays, and may suffice.
    let _ = setrlimit(Resource::Memlock, Rlimit { current: None, maximum: None });
    keep(OF_CAPTURE)?;
    // A kernel without such filters captures, too.
    let _ = seccomp::refuse(&[seccomp::TO_OTHERS]);
    Ok(())
}

/// Keeps of this process's privileges those that cleaning up after a watch needs: it ends
/// processes, runs no program, captures nothing, and writes in these directories alone (Landlock,
/// and a filter of system calls where the kernel has them).
/// Errors: what the kernel refuses, or has not; this process may have less by then.
pub fn keep_what_cleans(directories: &[OwnedFd]) -> io::Result<()> {
    keep(OF_CLEANING)?;
    let _ = seccomp::refuse(&[seccomp::TO_OTHERS, seccomp::OF_CAPTURE]);
    write_only_in(directories)
}

/// Neither this process nor what it starts gets more privileges, whatever a program's file says.
/// Errors: what the kernel refuses.
pub fn get_no_more() -> io::Result<()> {
    set_no_new_privs(true)
}

/// Gives all privileges up. The administrator becomes the owner of a directory that is another
/// user's, or lies where another user has his: what is written there is his. The directory need not
/// be there yet.
/// Errors: what the kernel refuses.
pub fn give_up(directory: &Path) -> io::Result<()> {
    if let Some((_, user)) = other_owner(directory).filter(|_| geteuid().is_root()) {
        become_user(user)?;
    }
    keep(CapabilitySet::empty())
}

/// The same, and the administrator is nobody afterwards: where all the way to the directory is his,
/// it is made, and handed over to a system user ([`SYSTEM_USERS`]) with all that is in it. It is
/// held then, for that user may not get there by its name.
/// Errors: what the kernel refuses; a directory in which something is that is not the caller's own
/// (`is_own`, of a name), for it is not to be handed over.
pub fn give_up_user(
    directory: &Path,
    is_own: impl Fn(&Path) -> bool,
) -> std::io::Result<Option<Held>> {
    let other = other_owner(directory).filter(|_| geteuid().is_root());
    if other.is_some() || !geteuid().is_root() {
        // What is another user's behind a way that is all root's was handed over before.
        let is_itself = |(at, _): &(PathBuf, _)| {
            !at.is_symlink() && directory.canonicalize().is_ok_and(|direct| direct == *at)
        };
        let held = other.filter(is_itself).map(|_| Held::open(directory));
        give_up(directory)?;
        // In a container the administrator may lack the right to what only that user may open. The
        // way there is all root's, so it leads to the same directory.
        let again = |error: std::io::Error| match error.kind() {
            ErrorKind::PermissionDenied => Held::open(directory),
            _ => Err(error),
        };
        return held.map(|held| held.or_else(again)).transpose();
    }
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let held = Held::open(directory)?;
    if let Some(foreign) = held.names()?.iter().find(|name| !is_own(name)) {
        let sentence = format!(
            "{} also contains {}, which another user would then own",
            directory.display(),
            foreign.display()
        );
        return Err(std::io::Error::new(ErrorKind::DirectoryNotEmpty, sentence));
    }
    let user = system_user(&std::fs::read_to_string("/etc/passwd").unwrap_or_default());
    hand_over(&held, user)?;
    become_user(user)?;
    keep(CapabilitySet::empty())?;
    Ok(Some(held))
}

/// Who the administrator becomes: the first that there is.
pub const SYSTEM_USERS: [&str; 2] = ["lbolt", "nobody"];
/// Whom the kernel takes for nobody (Documentation/admin-guide/sysctl/fs.rst, overflowuid).
const NOBODY: (u32, u32) = (65_534, 65_534);

/// Whether this process's user is one that other programs have, too: nobody.
pub fn is_nobody() -> bool {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let nobody = user_named("nobody", &passwd).unwrap_or(NOBODY).0;
    geteuid().as_raw() == nobody
}

/// By passwd(5): user and group.
fn system_user(passwd: &str) -> (u32, u32) {
    SYSTEM_USERS.iter().find_map(|name| user_named(name, passwd)).unwrap_or(NOBODY)
}

/// User and group of that name; the administrator is none.
fn user_named(name: &str, passwd: &str) -> Option<(u32, u32)> {
    let line = passwd.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let mut fields = line.split(':').skip(1);
    let user: u32 = fields.next()?.parse().ok()?;
    Some((user, fields.next()?.parse().ok()?)).filter(|_| user != 0)
}

/// What is in a directory of the administrator's, and the directory itself. No link is followed.
fn hand_over(held: &Held, (uid, gid): (u32, u32)) -> std::io::Result<()> {
    for name in held.names()? {
        let path = held.at(&name);
        let metadata = path.symlink_metadata()?;
        if metadata.is_dir() {
            hand_over(&held.within(&name)?, (uid, gid))?;
        } else if metadata.is_file() && metadata.uid() == 0 && metadata.nlink() == 1 {
            lchown(&path, Some(uid), Some(gid))?;
        }
    }
    fchown(held.file(), Some(uid), Some(gid))
}

fn become_user((uid, gid): (u32, u32)) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)
}

/// The first on the way to a path, and on the way to where its links lead, who is not the
/// administrator: he can put what he likes in the place of all that follows. What is his, and his
/// user and group.
fn other_owner(path: &Path) -> Option<(PathBuf, (u32, u32))> {
    let absolute = std::path::absolute(path).ok()?;
    let existing = absolute.ancestors().find_map(|above| above.canonicalize().ok());
    let way = |path: &Path| -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = path.ancestors().map(Path::to_owned).collect();
        all.reverse();
        all
    };
    let mut all = way(&absolute);
    all.extend(existing.iter().flat_map(|path| way(path)));
    let owned = all.into_iter().filter_map(|path| Some((path.symlink_metadata().ok()?, path)));
    owned.map(|(of, path)| (path, (of.uid(), of.gid()))).find(|(_, (uid, _))| *uid != 0)
}

fn keep(wanted: CapabilitySet) -> io::Result<()> {
    let CapabilitySets { permitted, .. } = capabilities(None)?;
    let kept = permitted.intersection(wanted);
    clear_ambient_capability_set()?;
    let inheritable = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable })?;
    leave_session_keys();
    // A program that it starts has no more, whatever its file's bits say.
    set_no_new_privs(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyring::add_session_key;
    use crate::scheduling::Ahead;

    /// In a thread of its own, which alone has less then.
    fn in_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    }

    #[test]
    fn what_is_given_up_is_gone_for_good() {
        let left = in_a_thread(|| {
            give_up(Path::new("/")).unwrap();
            keep(CapabilitySet::all()).unwrap();
            capabilities(None).unwrap()
        });
        assert!(left.permitted.is_empty() && left.effective.is_empty());
    }

    #[test]
    fn a_program_and_who_gives_up_rights_see_no_key_of_the_session() {
        in_a_thread(|| {
            leave_session_keys();
            if !add_session_key(c"lbolt-test-of-session") {
                return println!("skipped: the kernel keeps no keys here");
            }
            let cat = || {
                let mut command = std::process::Command::new("cat");
                command.arg("/proc/keys");
                command
            };
            let sees = |command: &mut std::process::Command| {
                let keys = command.output().unwrap().stdout;
                String::from_utf8_lossy(&keys).contains("lbolt-test-of-session")
            };
            assert!(sees(&mut cat()), "a child has it by itself");
            assert!(!sees(crate::without_session_keys(&mut cat())));
            let (told, _reader) = std::os::unix::net::UnixStream::pair().unwrap();
            assert!(!sees(crate::announced(&mut cat(), told.into())));
            give_up(Path::new("/")).unwrap();
            assert!(!sees(&mut cat()));
        });
    }

    #[test]
    fn root_a_capture_keeps_no_more_than_it_needs() {
        if !geteuid().is_root() {
            println!("skipped: needs root");
            return;
        }
        let (left, goes_ahead) = in_a_thread(|| {
            keep_what_captures().unwrap();
            (capabilities(None).unwrap().permitted, Ahead::go().is_some())
        });
        assert!(OF_CAPTURE.contains(left));
        assert!(goes_ahead);
        // A limit is its process's, and not its thread's: this thread still has the right to it,
        // where root has it at all.
        if !capabilities(None).unwrap().effective.contains(CapabilitySet::SYS_RESOURCE) {
            return println!("skipped: root has no CAP_SYS_RESOURCE here");
        }
        assert_eq!(rustix::process::getrlimit(Resource::Memlock).current, None);
    }

    #[test]
    fn root_becomes_the_first_system_user_that_there_is() {
        let nobody = "root:x:0:0:root:/root:/bin/sh\nnobody:x:99:98::/:/bin/false\n";
        assert_eq!(system_user(nobody), (99, 98));
        assert_eq!(system_user(&format!("{nobody}lbolt:x:7:8::/:\n")), (7, 8));
        assert_eq!(system_user(&format!("{nobody}lbolt:x:0:0::/:\n")), (99, 98), "root is none");
        assert_eq!([system_user(""), system_user("nobody")], [NOBODY; 2]);
    }

    #[test]
    fn root_what_root_has_is_handed_over_and_nothing_else_of_his_is_his_any_more() {
        if !geteuid().is_root() {
            println!("skipped: needs root");
            return;
        }
        let above = tempfile::tempdir().unwrap();
        let only_owner = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(above.path(), only_owner).unwrap();
        let (path, precious) = (above.path().join("history"), above.path().join("precious"));
        std::fs::create_dir_all(path.join("part")).unwrap();
        std::fs::write(&precious, "mine").unwrap();
        for name in ["day", "part/day"] {
            std::fs::write(path.join(name), "old").unwrap();
        }
        std::os::unix::fs::symlink(&precious, path.join("link")).unwrap();
        let refused = in_a_thread(|| give_up_user(&path, |name| name != "link").map(drop));
        assert!(refused.unwrap_err().to_string().contains("also contains link"));
        assert_eq!(std::fs::metadata(&path).unwrap().uid(), 0, "nothing is handed over");
        let user = in_a_thread(|| {
            let held = give_up_user(&path, |_| true).unwrap().unwrap();
            std::fs::write(held.at("new"), "new").unwrap();
            std::fs::write(held.at("part/day"), "new").unwrap();
            assert!(std::fs::write("/etc/lbolt-must-not-be", "").is_err());
            assert!(std::fs::read(&precious).is_err(), "the way there is root's");
            geteuid().as_raw()
        });
        assert_ne!(user, 0);
        for name in [".", "new", "day", "part", "part/day"] {
            assert_eq!(std::fs::metadata(path.join(name)).unwrap().uid(), user, "{name}");
        }
        assert_eq!(std::fs::metadata(&precious).unwrap().uid(), 0);
        // Again: it is that user's now.
        let again = in_a_thread(|| {
            let held = give_up_user(&path, |_| true).unwrap().unwrap();
            std::fs::write(held.at("new"), "newer").unwrap();
            geteuid().as_raw()
        });
        assert_eq!(again, user);
        // In a container root may only change users: the way must be open to that user then.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(above.path(), open).unwrap();
        let contained = in_a_thread(|| {
            keep(CapabilitySet::SETUID.union(CapabilitySet::SETGID)).unwrap();
            let held = give_up_user(&path, |_| true).unwrap().unwrap();
            std::fs::write(held.at("new"), "newest").unwrap();
            geteuid().as_raw()
        });
        assert_eq!(contained, user);
    }

    #[test]
    fn root_a_directory_of_another_user_is_written_as_that_user() {
        if !geteuid().is_root() {
            println!("skipped: needs root");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        std::os::unix::fs::chown(&path, Some(65534), Some(65534)).unwrap();
        let file = path.join("a");
        in_a_thread(|| {
            give_up(&path).unwrap();
            std::fs::write(&file, "").unwrap();
        });
        assert_eq!(std::fs::metadata(&file).unwrap().uid(), 65534);
        // So is one that is not there yet, and one behind a link of his, wherever it leads.
        let link = path.join("link");
        std::os::unix::fs::symlink("/etc", &link).unwrap();
        std::os::unix::fs::lchown(&link, Some(65534), Some(65534)).unwrap();
        for directory in [&path, &path.join("not/yet"), &link, &link.join("not-yet")] {
            let refused = in_a_thread(|| {
                give_up(directory).unwrap();
                std::fs::write("/etc/lbolt-must-not-be", "").is_err()
            });
            assert!(refused, "{}", directory.display());
        }
    }
}

//! Privileges apart: what captures keeps those that it needs, and what writes files, prints and
//! listens has none. Linux gives them to threads (capabilities(7)): both functions are for a
//! process that has no other thread yet, whose later threads have what it has left.
//!
//! Non-goals: other users' protection from each other (`state`, `scratch`).

use rustix::io;
use rustix::process::{Gid, Resource, Rlimit, Uid, geteuid, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, set_capabilities,
    set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a capture needs: BPF and its events; the names of files that others have open, and those in
/// others' directories; where the kernel is to follow process 1 by its own tracer, and for its
/// counts of what programs cost, the administrator's.
const OF_CAPTURE: CapabilitySet = CapabilitySet::BPF
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::SYSLOG)
    .union(CapabilitySet::SYS_ADMIN);

/// Keeps of this process's privileges those that a capture needs. Its memory may be locked without
/// a limit: before Linux 5.11 the maps of BPF count as locked, and those who have given up the
/// right to it could no longer raise the limit, which is 64 KiB by custom.
/// Errors: what the kernel refuses; nothing has changed then.
pub fn keep_what_captures() -> io::Result<()> {
    // Without the right to it the limit stays, and may suffice.
    let _ = setrlimit(Resource::Memlock, Rlimit { current: None, maximum: None });
    keep(OF_CAPTURE)
}

/// Gives all privileges up. The administrator becomes the owner of a directory that is another
/// user's, or lies where another user has his: what is written there is his. The directory need not
/// be there yet.
/// Errors: what the kernel refuses.
pub fn give_up(directory: &Path) -> io::Result<()> {
    if let Some((uid, gid)) = other_owner(directory).filter(|_| geteuid().is_root()) {
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        set_thread_groups(&[])?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
    }
    keep(CapabilitySet::empty())
}

/// The first on the way to a path, and on the way to where its links lead, who is not the
/// administrator: he can put what he likes in the place of all that follows. User and group.
fn other_owner(path: &Path) -> Option<(u32, u32)> {
    let absolute = std::path::absolute(path).ok()?;
    let existing = absolute.ancestors().find_map(|above| above.canonicalize().ok());
    let way = |path: &Path| -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = path.ancestors().map(Path::to_owned).collect();
        all.reverse();
        all
    };
    let mut all = way(&absolute);
    all.extend(existing.iter().flat_map(|path| way(path)));
    let owners = all.iter().filter_map(|path| path.symlink_metadata().ok());
    owners.map(|of| (of.uid(), of.gid())).find(|(uid, _)| *uid != 0)
}

fn keep(wanted: CapabilitySet) -> io::Result<()> {
    let CapabilitySets { permitted, .. } = capabilities(None)?;
    let kept = permitted.intersection(wanted);
    clear_ambient_capability_set()?;
    let inheritable = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable })?;
    // A program that it starts has no more, whatever its file's bits say.
    set_no_new_privs(true)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn root_a_capture_keeps_no_more_than_it_needs() {
        if !geteuid().is_root() {
            println!("skipped: needs root");
            return;
        }
        let left = in_a_thread(|| {
            keep_what_captures().unwrap();
            capabilities(None).unwrap().permitted
        });
        assert!(OF_CAPTURE.contains(left) && !left.contains(CapabilitySet::NET_ADMIN));
        // A limit is its process's, and not its thread's: this thread still has the right to it,
        // where root has it at all.
        if !capabilities(None).unwrap().effective.contains(CapabilitySet::SYS_RESOURCE) {
            return println!("skipped: root has no CAP_SYS_RESOURCE here");
        }
        assert_eq!(rustix::process::getrlimit(Resource::Memlock).current, None);
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

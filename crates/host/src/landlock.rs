//! What this thread, and what it starts, may still do to files: Landlock, where the kernel has it
//! (since Linux 5.13). It cannot be taken back.
//!
//! Sources: Linux Documentation/userspace-api/landlock.rst, include/uapi/linux/landlock.h.
//!
//! Non-goals: reading; the network; who may signal whom.

use rustix::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

const SYS_CREATE_RULESET: libc::c_long = 444;
const SYS_ADD_RULE: libc::c_long = 445;
const SYS_RESTRICT_SELF: libc::c_long = 446;
/// Asks for the version.
const VERSION: u32 = 1;
const PATH_BENEATH: libc::c_int = 1;

/// Access rights: to run a program, to write, to cut, to remove, and to make each kind of file.
const EXECUTE: u64 = 1;
const WRITE: u64 = 1 << 1;
const REMOVE: u64 = 1 << 4 | 1 << 5;
const MAKE_FILE: u64 = 1 << 8;
const MAKE_ANY: u64 = 0x7f << 6;
/// To move a file into another directory; since version 2.
const REFER: u64 = 1 << 13;
/// Since version 3.
const TRUNCATE: u64 = 1 << 14;
/// Since version 5.
const DEVICE_COMMANDS: u64 = 1 << 15;

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// From now on this thread runs no program, and writes, makes and removes files in these
/// directories alone. The thread must have no way to more privileges by then (`no_new_privs`).
/// Errors: a kernel without Landlock; what it refuses.
pub(crate) fn write_only_in(directories: &[OwnedFd]) -> io::Result<()> {
    // SAFETY: without attributes (a null pointer) the call only tells the version.
    let version = done(unsafe { libc::syscall(SYS_CREATE_RULESET, 0_usize, 0_usize, VERSION) })?;
    let since = |least: libc::c_long, rights: u64| if version >= least { rights } else { 0 };
    let later = since(2, REFER) | since(3, TRUNCATE) | since(5, DEVICE_COMMANDS);
    let handled = EXECUTE | WRITE | REMOVE | MAKE_ANY | later;
    let allowed = WRITE | REMOVE | MAKE_FILE | since(3, TRUNCATE);
    let size = size_of::<u64>();
    // SAFETY: the kernel reads `size` bytes of the attributes, which begin with what is handled.
    let rules = owned(unsafe { libc::syscall(SYS_CREATE_RULESET, &raw const handled, size, 0) })?;
    for directory in directories {
        let rule = PathBeneath { allowed, parent: directory.as_raw_fd() };
        // SAFETY: the kernel reads one `struct landlock_path_beneath_attr`, whose layout the rule
        // has; both descriptors are open.
        done(unsafe {
            let rules = rules.as_raw_fd();
            libc::syscall(SYS_ADD_RULE, rules, PATH_BENEATH, &raw const rule, 0)
        })?;
    }
    // SAFETY: the call takes an open descriptor and a number.
    done(unsafe { libc::syscall(SYS_RESTRICT_SELF, rules.as_raw_fd(), 0) }).map(drop)
}

fn done(returned: libc::c_long) -> io::Result<libc::c_long> {
    if returned < 0 { Err(crate::engine::last_errno()) } else { Ok(returned) }
}

fn owned(returned: libc::c_long) -> io::Result<OwnedFd> {
    let number = i32::try_from(done(returned)?).map_err(|_| io::Errno::BADF)?;
    // SAFETY: the kernel just made the descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_elsewhere_and_no_program_is_run() {
        let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(other.path().join("there"), "mine").unwrap();
        let restricted = || {
            rustix::thread::set_no_new_privs(true).unwrap();
            let directory = std::fs::File::open(own.path()).unwrap();
            match write_only_in(&[directory.into()]) {
                Err(io::Errno::NOSYS | io::Errno::OPNOTSUPP) => {
                    return println!("skipped: the kernel has no Landlock");
                }
                done => done.unwrap(),
            }
            std::fs::write(own.path().join("new"), "new").unwrap();
            std::fs::remove_file(own.path().join("new")).unwrap();
            assert!(std::fs::read(other.path().join("there")).is_ok());
            assert!(std::fs::write(other.path().join("there"), "gone").is_err());
            assert!(std::fs::write(other.path().join("new"), "").is_err());
            assert!(std::fs::remove_file(other.path().join("there")).is_err());
            assert!(std::fs::create_dir(own.path().join("directory")).is_err());
            assert!(std::process::Command::new("true").status().is_err());
        };
        std::thread::scope(|scope| scope.spawn(restricted).join().unwrap());
        assert_eq!(std::fs::read(other.path().join("there")).unwrap(), b"mine");
    }
}

//! Keys of the user's session (session-keyring(7)), which every process inherits, also one that has
//! given up its user's rights. Whoever has such a keyring reads and writes what is in it. Programs
//! that lbolt starts get an empty one.
//!
//! Non-goals: keys of lbolt's own: there are none.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// `KEYCTL_JOIN_SESSION_KEYRING`, include/uapi/linux/keyctl.h.
const JOIN_SESSION_KEYRING: libc::c_long = 1;

/// The program begins with an empty session keyring.
pub fn without_session_keys(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec only a system call is made, on numbers.
    unsafe {
        command.pre_exec(|| {
            leave_session_keys();
            Ok(())
        })
    }
}

/// This thread, and what it starts from now on, has an empty session keyring. Where the kernel has
/// no keys, or a container refuses them, there is nothing to leave.
pub(crate) fn leave_session_keys() {
    // SAFETY: without a name (a null pointer) the call makes a new keyring; it reads no memory.
    let _ = unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, 0_usize) };
}

/// For tests: a key in this thread's session keyring, which its possessors alone see. Whether the
/// kernel took it.
#[cfg(test)]
pub(crate) fn add_session_key(name: &std::ffi::CStr) -> bool {
    const OF_SESSION: libc::c_long = -3;
    const SET_PERMISSIONS: libc::c_long = 5;
    /// Whoever has it in a keyring may do all, nobody else anything.
    const FOR_POSSESSORS: libc::c_long = 0x3f00_0000;
    let (kind, value) = (c"user".as_ptr(), c"x".as_ptr());
    // SAFETY: the texts end with a zero, and the value is one byte long.
    unsafe {
        let key = libc::syscall(libc::SYS_add_key, kind, name.as_ptr(), value, 1_usize, OF_SESSION);
        key > 0 && libc::syscall(libc::SYS_keyctl, SET_PERMISSIONS, key, FOR_POSSESSORS) == 0
    }
}

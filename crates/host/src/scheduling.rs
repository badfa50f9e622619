//! The calling thread's scheduling policy (sched_setscheduler(2)), asked of the kernel itself: to
//! it process 0 is the calling thread. musl refuses the function of this name, which POSIX defines
//! for whole processes.
//!
//! Non-goals: binding to CPUs, which the C libraries agree on.

use std::io;

/// Gives this thread a policy and its priority, 0 where the policy has none.
/// Errors: no right to it.
pub(crate) fn set_policy(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    /// `struct sched_param` of the kernel; musl's own is longer.
    #[repr(C)]
    struct Parameters {
        priority: libc::c_int,
    }
    const THIS_THREAD: libc::c_long = 0;
    let policy = libc::c_long::from(policy);
    let parameters = Parameters { priority };
    // SAFETY: the call reads the one structure, which lives until it returns.
    let set = unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, THIS_THREAD, policy, &raw const parameters)
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    /// The field `policy` of proc_pid_stat(5), of this thread.
    fn policy() -> String {
        let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, after_name) = text.rsplit_once(") ").unwrap();
        after_name.split(' ').nth(41 - 3).unwrap().to_owned()
    }

    /// In a thread of its own: without the right to it there is no way back.
    #[test]
    fn a_thread_goes_behind_all_others() {
        let seen = std::thread::spawn(|| {
            let before = policy();
            super::set_policy(libc::SCHED_IDLE, 0).unwrap();
            (before, policy())
        });
        assert_eq!(seen.join().unwrap(), ("0".to_owned(), libc::SCHED_IDLE.to_string()));
    }

    #[test]
    fn what_the_kernel_refuses_is_an_error() {
        assert!(super::set_policy(libc::SCHED_IDLE, 99).is_err());
    }
}

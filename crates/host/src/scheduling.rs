//! The calling thread's scheduling policy (sched_setscheduler(2)), asked of the kernel itself: to
//! it process 0 is the calling thread. musl refuses the function of this name, which POSIX defines
//! for whole processes.
//!
//! Non-goals: binding to CPUs, which the C libraries agree on.

use rustix::process::{getpriority_process, setpriority_process};
use std::io;
use std::marker::PhantomData;

const THIS_THREAD: libc::c_long = 0;

/// With the usual priority a capture beside ten busy loops on two CPUs lost records; with this one
/// none. Less was not tried; auditd takes -4 by default.
const NICE_AHEAD: i32 = -10;

/// Gives this thread a policy and its priority, 0 where the policy has none.
/// Errors: no right to it.
pub(crate) fn set_policy(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    /// `struct sched_param` of the kernel; musl's own is longer.
    #[repr(C)]
    struct Parameters {
        priority: libc::c_int,
    }
    let policy = libc::c_long::from(policy);
    let parameters = Parameters { priority };
    // SAFETY: the call reads the one structure, which lives until it returns.
    let set = unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, THIS_THREAD, policy, &raw const parameters)
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether nobody gave this thread another priority than the usual one.
fn is_usual() -> bool {
    // SAFETY: the call takes a plain number and changes nothing.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, THIS_THREAD) };
    let reset_or_not = [libc::SCHED_OTHER, libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK];
    reset_or_not.map(libc::c_long::from).contains(&policy) && getpriority_process(None) == Ok(0)
}

/// While this is kept, the calling thread goes before most others, and what it starts does not:
/// what it has to do in time takes little of a CPU, but on a busy machine its turn may come too
/// late.
#[derive(Debug)]
pub struct Ahead {
    /// It is this thread's.
    here: PhantomData<*const ()>,
}

impl Ahead {
    /// None without the right to it (CAP_SYS_NICE, RLIMIT_NICE), and where somebody gave this
    /// process another priority than the usual one.
    pub fn go() -> Option<Self> {
        if !is_usual() {
            return None;
        }
        set_policy(libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0).ok()?;
        setpriority_process(None, NICE_AHEAD).ok()?;
        Some(Self { here: PhantomData })
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        let _ = setpriority_process(None, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Also again, and not where somebody else has said how urgent it is.
    #[test]
    fn root_a_thread_goes_ahead_for_a_time_and_what_it_starts_does_not() {
        if !rustix::process::geteuid().is_root() {
            return println!("skipped: needs root");
        }
        let nice = || getpriority_process(None).unwrap();
        let of_child = move || std::thread::spawn(nice).join().unwrap();
        let seen = std::thread::spawn(move || {
            let one = || Ahead::go().map(|ahead| (nice(), of_child(), drop(ahead), nice()));
            let twice = [one(), one()];
            setpriority_process(None, 5).unwrap();
            (twice, one())
        });
        let ahead = Some((NICE_AHEAD, 0, (), 0));
        assert_eq!(seen.join().unwrap(), ([ahead, ahead], None));
    }

    #[test]
    fn what_the_kernel_refuses_is_an_error() {
        assert!(super::set_policy(libc::SCHED_IDLE, 99).is_err());
    }
}

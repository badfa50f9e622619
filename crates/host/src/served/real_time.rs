//! What lets a process serve a device in time: its threads go before others, sleep as long as they
//! are to, stay in memory, and never wait for the device that they serve.
//!
//! Non-goals: what the machine refuses: it is later then, and that is counted.

/// First in, first out, at the lowest of its priorities.
const PRIORITY: libc::c_int = 1;
const PR_SET_IO_FLUSHER: libc::c_int = 57;

/// Memory that the kernel frees for this process is none that waits for its own device. Both are of
/// the thread that calls it, and of those that it starts.
pub(super) fn never_wait_for_own_device() {
    // SAFETY: prctl and mlockall take plain numbers, and change this process alone.
    unsafe {
        libc::prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
        libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT);
    }
}

/// This thread runs as soon as it can, and sleeps no longer than it is to.
pub(super) fn be_prompt() {
    let _ = crate::scheduling::set_policy(libc::SCHED_FIFO, PRIORITY);
    // SAFETY: prctl takes plain numbers, and changes this thread alone.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0);
    }
}

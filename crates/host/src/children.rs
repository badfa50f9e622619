//! The CPU time of the processes that this one started, as far as they have ended and were waited
//! for.

/// User and system time together of all of them and of those that they waited for, in ns. The
/// kernel scales both so that their sum is what its scheduler counted (`cputime_adjust` in
/// `kernel/sched/cputime.c`): a difference of two calls is as fine as a microsecond.
pub fn children_cpu_ns() -> u64 {
    let (user_ns, system_ns) = cpu_ns(libc::RUSAGE_CHILDREN);
    user_ns + system_ns
}

/// User and system time of the calling thread or process, or of others (getrusage(2)).
pub(crate) fn cpu_ns(who: libc::c_int) -> (u64, u64) {
    // SAFETY: getrusage fills the whole structure, which is plain data.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &mut usage);
        usage
    };
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    (ns(usage.ru_utime), ns(usage.ru_stime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_counts_when_it_was_waited_for() {
        let before = children_cpu_ns();
        let counting = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done";
        let status = std::process::Command::new("sh").args(["-c", counting]).status().unwrap();
        assert!(status.success());
        let used = children_cpu_ns() - before;
        assert!((1_000_000..60_000_000_000).contains(&used), "{used} ns");
    }
}

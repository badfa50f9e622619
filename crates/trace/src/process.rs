//! The threads of a process, and how often they ran.
//!
//! Source: proc(5), /proc/PID/task.
//!
//! Non-goals: whether it is still the same process (`model::process`).

use std::io;
use std::os::unix::fs::MetadataExt as _;

/// The threads that a process has now.
/// Errors: a process that is gone or hidden.
pub fn threads(pid: u32) -> io::Result<Vec<u32>> {
    let mut threads = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        threads.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(threads)
}

/// How many threads a process has now.
/// Errors: a process that is gone or hidden.
pub fn thread_count(pid: u32) -> io::Result<u64> {
    // The links of any directory, and one for each (fs/proc/base.c, `proc_task_getattr`).
    Ok(std::fs::metadata(format!("/proc/{pid}/task"))?.nlink().saturating_sub(2))
}

/// How often the threads of a process gave a CPU up so far.
/// Errors: a process that is gone or hidden.
pub fn switches(pid: u32) -> io::Result<u64> {
    let of = |thread: u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/status"));
        let text = text.unwrap_or_default();
        let counts = text.lines().filter_map(|line| line.split_once("ctxt_switches:"));
        counts.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum::<u64>()
    };
    Ok(threads(pid)?.into_iter().map(of).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_this_thread_and_switches() {
        let own = std::process::id();
        let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        assert!(threads(own).unwrap().contains(&thread));
        // Those of another test's thread that ends meanwhile are gone.
        let grows = |_| {
            let before = switches(own).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(2));
            switches(own).unwrap() > before
        };
        assert!((0..1000).any(grows));
    }
}

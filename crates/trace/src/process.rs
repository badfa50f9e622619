//! A process as the kernel tells it apart from others of the same number: by when it started.
//!
//! Source: proc(5), /proc/PID/stat; /proc/PID/task.

use std::io;

/// A process: its number, which is used again, and when it started, in the kernel's ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// Its number.
    pub pid: u32,
    /// When it started.
    pub ticks: u64,
}

/// This process.
/// Errors: no /proc.
pub fn own() -> io::Result<Started> {
    let pid = std::process::id();
    let ticks = started(pid).ok_or_else(|| io::Error::other("/proc does not tell of us"))?;
    Ok(Started { pid, ticks })
}

/// Whether it is still there, and has not just not been waited for.
pub fn is_alive(process: &Started) -> bool {
    let has_ended = || field(process.pid, 3).is_none_or(|state| matches!(&*state, "Z" | "X"));
    started(process.pid) == Some(process.ticks) && !has_ended()
}

/// When the process of that number started; none if there is no such process.
pub fn started(pid: u32) -> Option<u64> {
    field(pid, 22)?.parse().ok()
}

/// The parent of the process of that number; none if there is no such process.
pub fn parent(pid: u32) -> Option<u32> {
    field(pid, 4)?.parse().ok()
}

/// A field of proc_pid_stat(5), counted from 1: one of those behind the second, which is a name
/// with any character in it.
fn field(pid: u32, number: usize) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_whitespace().nth(number - 3).map(str::to_owned)
}

/// The threads that a process has now.
/// Errors: a process that is gone or hidden.
pub fn threads(pid: u32) -> io::Result<Vec<u32>> {
    let mut threads = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        threads.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(threads)
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
    fn one_that_has_ended_is_not_alive_before_it_was_waited_for() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let started = Started { pid: child.id(), ticks: started(child.id()).unwrap() };
        assert_eq!(parent(child.id()), Some(std::process::id()));
        while field(child.id(), 3).unwrap() != "Z" {
            std::thread::yield_now();
        }
        assert!(!is_alive(&started));
        child.wait().unwrap();
        assert!(!is_alive(&started) && parent(started.pid).is_none());
    }

    #[test]
    fn this_process_is_alive_has_this_thread_and_switches() {
        let own = own().unwrap();
        assert!(is_alive(&own) && !is_alive(&Started { ticks: own.ticks + 1, ..own }));
        let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        assert!(threads(own.pid).unwrap().contains(&thread));
        let before = switches(own.pid).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(switches(own.pid).unwrap() > before);
    }
}

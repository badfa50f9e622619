//! A process as the kernel tells it apart from others of the same number: by when it started.
//!
//! Source: proc_pid_stat(5).
//!
//! Non-goals: its arguments, its name, its cgroup (`host::process`).

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// PF_KTHREAD, include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// PF_EXITING, there too.
const ENDING: u64 = 0x4;
/// The kernel's ticks of a second: USER_HZ is 100 on every Linux that keeps its ABI.
const TICKS: u64 = 100;

/// What the kernel tells of a process or a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Its parent's number.
    pub parent: u32,
    /// Its process group: the number of the process that made it; 0 of a thread of the kernel and
    /// of a process that is gone but for its number.
    pub group: u32,
    /// Whether it is a thread of the kernel.
    pub is_kernel_thread: bool,
    /// CPU time of all of its threads, the ended ones too, in ticks of 10 ms.
    pub cpu_ticks: u64,
    /// When it was started, in the kernel's ticks since its own start.
    pub started: u64,
    /// Whether it has ended, and nobody has waited for it yet.
    pub has_ended: bool,
    /// Whether it is about to end, or has ended: from then on the kernel tells of it what is not
    /// true any more (the root as its cgroup, `proc_cgroup_show`).
    pub is_ending: bool,
}

impl Stat {
    /// Of that number; none if it is gone.
    pub fn of(pid: u32) -> Option<Self> {
        Self::parse(&line(Path::new("/proc"), pid)?)
    }

    /// A line. Its second field is a name, with any character in it: counting begins behind that.
    /// Of a process that was waited for while it was looked at, the kernel gives the group -1 and
    /// no time (`do_task_stat`, fs/proc/array.c).
    pub fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3);
        let count = |number: usize| field(number)?.parse::<u64>().ok();
        let (parent, group) = (field(4)?.parse::<i32>().ok()?, field(5)?.parse::<i32>().ok()?);
        let flags = count(9)?;
        let has_ended = group < 0 || matches!(*field(3)?, "Z" | "X" | "x");
        Some(Self {
            parent: u32::try_from(parent).unwrap_or(0),
            group: u32::try_from(group).unwrap_or(0),
            is_kernel_thread: flags & KERNEL_THREAD != 0,
            cpu_ticks: count(14)?.checked_add(count(15)?)?,
            started: count(22)?,
            has_ended,
            is_ending: has_ended || flags & ENDING != 0,
        })
    }
}

/// The line of a process, where `proc` is mounted; none if it is gone. A name is cut after 15
/// bytes, amid a letter, too: what is not UTF-8 is replaced.
pub fn line(proc: &Path, pid: u32) -> Option<String> {
    let bytes = std::fs::read(proc.join(pid.to_string()).join("stat")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A process: its number, which is used again, and when it started, in the kernel's ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Started {
    /// Its number.
    pub pid: u32,
    /// When it started.
    pub ticks: u64,
}

impl Started {
    /// This process.
    /// Errors: no /proc.
    pub fn own() -> io::Result<Self> {
        let pid = std::process::id();
        let ticks = started(pid).ok_or_else(|| io::Error::other("/proc does not tell of us"))?;
        Ok(Self { pid, ticks })
    }

    /// Whether it is still there, and has not just not been waited for.
    pub fn is_alive(&self) -> bool {
        Stat::of(self.pid).is_some_and(|stat| stat.started == self.ticks && !stat.has_ended)
    }
}

/// When a process or a thread was started; none if it is gone. Who has its number later was started
/// later.
pub fn started(pid: u32) -> Option<u64> {
    Stat::of(pid).map(|stat| stat.started)
}

/// Now, as [`Stat::started`] counts: what starts from now on has as much or more.
pub fn now_ticks() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let [seconds, ns] = [now.tv_sec, now.tv_nsec].map(|part| u64::try_from(part).unwrap_or(0));
    seconds * TICKS + ns / (1_000_000_000 / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whatever_the_name_holds() {
        let line = "7 (a) b ) c) S 1 7 7 0 -1 2129984 1 2 3 4 5 6 7 8 20 0 1 0 4242 99 1";
        let stat = Stat {
            parent: 1,
            group: 7,
            is_kernel_thread: true,
            cpu_ticks: 11,
            started: 4242,
            has_ended: false,
            is_ending: false,
        };
        assert_eq!(Stat::parse(line), Some(stat));
        let ended = line.replace("c) S", "c) Z").replace("2129984", "4194560");
        let of_program = Stat { is_kernel_thread: false, is_ending: true, ..stat };
        let program = Stat { has_ended: true, ..of_program };
        assert_eq!(Stat::parse(&ended), Some(program));
        // In exit, before its arguments go.
        let ending = line.replace("2129984", "4194564");
        assert_eq!(Stat::parse(&ending), Some(of_program));
        let gone = line.replace("S 1 7 7 0", "S 0 -1 -1 0");
        let gone_stat = Stat { parent: 0, group: 0, has_ended: true, is_ending: true, ..stat };
        assert_eq!(Stat::parse(&gone), Some(gone_stat));
        for bad in ["no parentheses", "7 (a", "7 (a) S 1", "1 (x) S"] {
            assert_eq!(Stat::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn one_that_has_ended_is_not_alive_before_it_was_waited_for() {
        let own = Started::own().unwrap();
        assert!(own.is_alive() && !Started { ticks: own.ticks + 1, ..own }.is_alive());
        let before_ticks = now_ticks();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let begun = Started { pid: child.id(), ticks: started(child.id()).unwrap() };
        assert!(begun.ticks >= own.ticks);
        assert!(before_ticks <= begun.ticks && begun.ticks <= now_ticks());
        assert_eq!(Stat::of(child.id()).map(|stat| stat.parent), Some(own.pid));
        while !Stat::of(child.id()).unwrap().has_ended {
            std::thread::yield_now();
        }
        assert!(!begun.is_alive());
        child.wait().unwrap();
        assert!(!begun.is_alive() && started(begun.pid).is_none());
    }
}

//! Which threads were seen, and of which processes they are, so that each is asked about once.
//!
//! Non-goals: what the machine tells of them (`host::process`).

use std::collections::HashMap;

/// Threads that are remembered by what goes on for good.
const MOST: usize = 50_000;

#[derive(Debug, Default)]
pub(super) struct Threads {
    processes: HashMap<u32, u32>,
    new: Vec<(u32, u32)>,
    /// The last one seen: they come in runs.
    last: (u32, u32),
}

impl Threads {
    #[inline]
    pub(super) fn see(&mut self, pid: u32, process: u32) {
        if self.last == (pid, process) || pid == 0 {
            return;
        }
        self.last = (pid, process);
        // A number that is used again by another process is a new thread.
        if self.processes.insert(pid, process) != Some(process) {
            self.new.push((pid, process));
        }
    }

    /// Where there are too many to note more, all are forgotten: those that go on are new again.
    pub(super) fn forget_many(&mut self) {
        if self.processes.len() >= MOST {
            *self = Self { new: std::mem::take(&mut self.new), ..Self::default() };
        }
    }

    /// Forgets threads: those that go on, or have their numbers now, are new again.
    pub(super) fn forget(&mut self, pids: &[u32]) {
        for pid in pids {
            self.processes.remove(pid);
        }
        self.last = (0, 0);
    }

    pub(super) fn take_new(&mut self) -> Vec<(u32, u32)> {
        std::mem::take(&mut self.new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_is_new_once_and_again_where_its_process_is_another() {
        let mut threads = Threads::default();
        for (pid, process) in [(7, 7), (7, 7), (8, 7), (7, 7), (0, 0)] {
            threads.see(pid, process);
        }
        assert_eq!(threads.take_new(), [(7, 7), (8, 7)]);
        threads.see(7, 5);
        assert_eq!(threads.take_new(), [(7, 5)]);
        threads.forget(&[7, 9]);
        [(8, 7), (7, 5), (7, 5)].iter().for_each(|(pid, process)| threads.see(*pid, *process));
        assert_eq!(threads.take_new(), [(7, 5)], "who has the number now is another");
    }

    #[test]
    fn too_many_are_forgotten_and_new_again() {
        let mut threads = Threads::default();
        for pid in 1..=MOST as u32 {
            threads.see(pid, pid);
            if pid < MOST as u32 {
                threads.forget_many();
            }
        }
        assert_eq!(threads.take_new().len(), MOST);
        threads.forget_many();
        threads.see(5, 5);
        assert_eq!(threads.take_new(), [(5, 5)]);
    }
}

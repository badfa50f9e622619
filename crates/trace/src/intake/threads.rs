//! Which threads were seen, and of which processes they are, so that each is asked about once for
//! each program that it runs: its name tells when that is another.
//!
//! Non-goals: what the machine tells of them (`host::process`).

use model::record::CommandId;
use std::collections::HashMap;

/// Threads that are remembered by what goes on for good.
const MOST: usize = 50_000;

/// A thread, as an event tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeenThread {
    /// Its number.
    pub pid: u32,
    /// Its process.
    pub process: u32,
    /// Its name, where that is told.
    pub name: Option<CommandId>,
    /// The cgroup (version 2) that it is in, where that is told.
    pub cgroup: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Threads {
    processes: HashMap<u32, Identity>,
    new: Vec<SeenThread>,
    /// The last one seen: they come in runs.
    last: (u32, Identity),
}

/// A thread's process, and its name where that was told.
type Identity = (u32, Option<CommandId>);

impl Threads {
    #[inline]
    pub(super) fn see(&mut self, seen: SeenThread) {
        let SeenThread { pid, process, name, .. } = seen;
        if self.last == (pid, (process, name)) || pid == 0 {
            return;
        }
        self.last = (pid, (process, name));
        let known = self.processes.entry(pid).or_insert((0, name));
        // Whose name was not told at first may have run another program then.
        let is_renamed = name.is_some() && known.1 != name;
        // A number that is used again by another process is a new thread.
        if known.0 != process || is_renamed {
            self.new.push(seen);
        }
        *known = (process, name.or(known.1));
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
        self.last = (0, (0, None));
    }

    pub(super) fn take_new(&mut self) -> Vec<SeenThread> {
        std::mem::take(&mut self.new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn see(threads: &mut Threads, pid: u32, process: u32, name: Option<CommandId>) {
        threads.see(SeenThread { pid, process, name, cgroup: None });
    }

    fn new(threads: &mut Threads) -> Vec<(u32, u32)> {
        threads.take_new().iter().map(|seen| (seen.pid, seen.process)).collect()
    }

    #[test]
    fn each_thread_is_new_once_and_again_where_its_process_is_another() {
        let mut threads = Threads::default();
        for (pid, process) in [(7, 7), (7, 7), (8, 7), (7, 7), (0, 0)] {
            see(&mut threads, pid, process, None);
        }
        assert_eq!(new(&mut threads), [(7, 7), (8, 7)]);
        see(&mut threads, 7, 5, None);
        assert_eq!(new(&mut threads), [(7, 5)]);
        threads.forget(&[7, 9]);
        let again = [(8, 7), (7, 5), (7, 5)];
        again.iter().for_each(|(pid, process)| see(&mut threads, *pid, *process, None));
        assert_eq!(new(&mut threads), [(7, 5)], "who has the number now is another");
    }

    #[test]
    fn who_runs_another_program_is_new_again() {
        let mut threads = Threads::default();
        let named = [None, Some(1), Some(1), None, Some(2), Some(2)];
        named.iter().for_each(|name| see(&mut threads, 7, 7, name.map(CommandId)));
        assert_eq!(new(&mut threads), [(7, 7); 3]);
    }

    #[test]
    fn too_many_are_forgotten_and_new_again() {
        let mut threads = Threads::default();
        for pid in 1..=MOST as u32 {
            see(&mut threads, pid, pid, None);
            if pid < MOST as u32 {
                threads.forget_many();
            }
        }
        assert_eq!(threads.take_new().len(), MOST);
        threads.forget_many();
        see(&mut threads, 5, 5, None);
        assert_eq!(new(&mut threads), [(5, 5)]);
    }
}

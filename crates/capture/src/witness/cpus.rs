//! What the witness sees of the CPUs: what all of them do and, while they are busy, who uses them.
//!
//! Non-goals: when it is read (`cpu_watch`, `cpu_use_watch`).

use super::{NewThread, Witness, asked};

impl Witness {
    /// Looks at what the CPUs do, and while all are busy at who uses them, of which it asks what
    /// that is, and at which threads wait for one.
    pub(crate) fn look_at_cpus(&mut self, now_ns: i64, is_idle: bool) {
        self.cpu_watch.look(now_ns, is_idle);
        let threads = self.processes.iter().filter_map(|(pid, of)| {
            Some((of.process.and_then(|process| u32::try_from(process).ok())?, *pid))
        });
        let ran = self.cpu_use_watch.look(now_ns, self.cpu_watch.is_busy(), threads);
        for pid in ran.into_iter().filter(|pid| *pid != 0) {
            if self.processes.contains_key(&pid) {
                continue;
            }
            let started = model::process::started(pid);
            let (process, _) = asked(pid, pid, &mut self.pods);
            let process = self.among_others(process);
            if process.process.is_none() {
                continue;
            }
            if let Some(new) = &mut self.new {
                new.push(NewThread { process: process.clone(), started });
            }
            self.know(pid, process);
        }
    }
}

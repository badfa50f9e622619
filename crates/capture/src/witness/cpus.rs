//! What the witness sees of the CPUs: what all of them do and, while they are busy, who uses them.
//!
//! Non-goals: when it is read (`cpu_watch`, `cpu_use_watch`).

use super::{NewThread, Witness, asked};
use model::record::Process;

impl Witness {
    /// Looks at what the CPUs do, and while all are busy at who uses them, of which it asks what
    /// that is, and at which threads wait for one.
    pub(crate) fn look_at_cpus(&mut self, now_ns: i64, is_idle: bool) {
        self.cpu_watch.look(now_ns, is_idle);
        let threads = self.processes.iter().filter_map(|(pid, of)| {
            Some((of.process.and_then(|process| u32::try_from(process).ok())?, *pid))
        });
        let ran = self.cpu_use_watch.look(now_ns, self.cpu_watch.is_busy(), threads);
        self.know_those_that_ran(ran);
    }

    /// Asks of processes what they are, if others had their numbers before or nobody had.
    fn know_those_that_ran(&mut self, ran: Vec<(u32, String)>) {
        for (pid, command) in ran.into_iter().filter(|(pid, _)| *pid != 0) {
            // A worker of the kernel is called by what it does just now.
            let is_it = |known: &Process| {
                known.process == Some(u64::from(pid))
                    && (known.title.is_none() || known.command == command)
            };
            if self.processes.get(&pid).is_some_and(is_it) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_the_number_of_one_that_is_gone_is_asked_what_he_is() {
        let own = std::process::id();
        let number = Some(u64::from(own));
        let gone = |title: Option<&str>| Process {
            pid: u64::from(own),
            process: number,
            command: "gone".to_owned(),
            title: title.map(str::to_owned),
            ..Process::default()
        };
        let known_after = |before: Process, command: &str| {
            let mut witness = Witness::default();
            witness.know(own, before);
            witness.know_those_that_ran(vec![(own, command.to_owned())]);
            witness.processes[&own].command.clone()
        };
        let command = host::process::seen(own).unwrap().command;
        assert_eq!(known_after(gone(Some("gone")), &command), command);
        assert_eq!(known_after(gone(Some("gone")), "gone"), "gone", "it is that one");
        assert_eq!(known_after(gone(None), &command), "gone", "a thread of the kernel");
        let nobody = Process { process: None, ..gone(None) };
        assert_eq!(known_after(nobody, &command), command);
    }
}

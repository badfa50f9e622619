//! Which program ran a short command: a script, make, xargs.
//!
//! A command is short if its process was not seen alive at an age of 2 s. Its job is the nearest
//! ancestor in its process group that was. That is known 2 s after its first request; until then,
//! and of a process that was gone before it was asked, it is what it was of others of its name and
//! cgroup. So it stays if the process lives on: a stall makes short commands long.
//!
//! Non-goals: which jobs are a role (`verdict`).

use super::{NewThread, Witness, asked};
use host::process;
use model::process::{Started, now_ticks, started};
use model::record::Process;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// So long after it was first seen a thread is asked about again.
pub(super) const YOUNG: Duration = Duration::from_secs(2);
/// As long in the kernel's ticks of 10 ms.
const YOUNG_TICKS: u64 = 200;
/// Jobs, and names of commands, that are remembered before all are forgotten.
const MOST: usize = 1000;
/// Jobs of one name that are remembered: all are looked at each time that one of it has ended.
const OF_NAME_MOST: usize = 8;

/// A thread that is to be asked about again.
#[derive(Debug)]
pub(super) struct Young {
    since: Instant,
    pid: u32,
    process: u32,
    command: String,
    started: Option<u64>,
    lineage: Lineage,
}

impl Young {
    /// Of a thread that was just asked about.
    pub(super) fn new((pid, process): (u32, u32), started: Option<u64>, asked: &Process) -> Self {
        // A kernel's thread is nobody's command.
        let lineage = if asked.title.is_some() { Lineage::of(process) } else { Lineage::default() };
        let (since, command) = (Instant::now(), asked.command.clone());
        Self { since, pid, process, command, started, lineage }
    }

    /// Whether it was asked about so long ago.
    fn is_due(&self) -> bool {
        self.since.elapsed() >= YOUNG
    }

    #[cfg(test)]
    pub(super) fn seen_before(self, ago: Duration) -> Self {
        Self { since: self.since.checked_sub(ago).unwrap(), ..self }
    }
}

/// A process and its ancestors in its process group, up to the first one that was old.
#[derive(Debug, Default)]
struct Lineage {
    all: Vec<Started>,
    ends_with_old: bool,
}

impl Lineage {
    fn of(process: u32) -> Self {
        let mut lineage = Self::default();
        for of in process::lineage(process) {
            lineage.all.push(of);
            lineage.ends_with_old = is_old(&of);
            if lineage.ends_with_old {
                break;
            }
        }
        lineage
    }

    fn ancestors(&self) -> &[Started] {
        self.all.get(1..).unwrap_or_default()
    }

    /// The job that is known at once.
    fn old_ancestor(&self) -> Option<Started> {
        self.ancestors().last().copied().filter(|_| self.ends_with_old)
    }

    /// The job of a process that is gone; none of one that is there.
    fn job(&self) -> Option<Started> {
        if self.all.first()?.is_alive() {
            return None;
        }
        let was_old = self.old_ancestor();
        let is_job = |of: &&Started| was_old == Some(**of) || is_old(of) && of.is_alive();
        self.ancestors().iter().find(is_job).copied()
    }
}

fn is_old(of: &Started) -> bool {
    of.ticks + YOUNG_TICKS <= now_ticks()
}

/// A command by its cgroup and its name.
type Name = (Option<String>, String);

fn name_of(process: &Process) -> Name {
    (process.unit.clone(), process.command.clone())
}

/// The jobs of the commands so far.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    /// Their arguments.
    titles: HashMap<Started, String>,
    /// Of which jobs those of a name were that were alive when they were asked; or of none.
    of_name: HashMap<Name, Vec<Option<Started>>>,
}

impl Jobs {
    /// The arguments of a job, which are asked for while it lives.
    fn title(&mut self, of: Started) -> Option<String> {
        if let Some(title) = self.titles.get(&of) {
            return Some(title.clone());
        }
        let title = process::seen(of.pid)?.title.filter(|_| of.is_alive())?;
        if self.titles.len() >= MOST {
            self.titles.clear();
        }
        self.titles.insert(of, title.clone());
        Some(title)
    }

    /// It is known now what job a process was of that was alive when it was asked, or that it is
    /// of none.
    fn learn(&mut self, process: &Process, job: Option<Started>) {
        if self.of_name.len() >= MOST {
            self.of_name.clear();
        }
        let known = self.of_name.entry(name_of(process)).or_default();
        known.retain(|of| of.is_none_or(|of| of.is_alive()));
        if known.contains(&job) {
            return;
        }
        // That some are of no job is remembered: else one that is left could be all of the name's.
        let oldest = known.iter().position(Option::is_some);
        if let Some(oldest) = oldest.filter(|_| known.len() >= OF_NAME_MOST) {
            known.remove(oldest);
        }
        known.push(job);
    }

    /// The job that a process is of which was just asked, as far as others of its name tell: those
    /// that one of its ancestors ran were short. One that was gone before it was asked is of the
    /// job of all of its name and cgroup that were not.
    pub(super) fn expected(&mut self, process: &Process, young: &Young) -> Option<String> {
        if let Some(job) = young.lineage.old_ancestor() {
            // Its arguments are gone with it.
            drop(self.title(job));
        }
        let known = self.of_name.get(&name_of(process))?;
        let job = match (process.main_process, known.as_slice()) {
            (Some(_), _) => {
                let mut ancestors = young.lineage.ancestors().iter();
                *ancestors.find(|of| known.contains(&Some(**of)))?
            }
            (None, [Some(job)]) if job.is_alive() => *job,
            _ => return None,
        };
        self.titles.get(&job).cloned()
    }
}

impl Witness {
    /// Asks again about those that were seen for the first time a while ago: a script by a
    /// program's name may have become that program by now, or a command may have ended.
    pub(super) fn ask_young(&mut self) {
        while let Some(young) = self.young.pop_front_if(|young| young.is_due()) {
            self.settle(&young);
        }
    }

    fn settle(&mut self, young: &Young) {
        let Young { pid, process, command, .. } = young;
        let started = started(*pid);
        let again = (started.is_some() && started == young.started)
            .then(|| asked(*pid, *process, &mut self.pods).0)
            .filter(|again| again.process.is_some());
        let known = self.processes.get(pid).filter(|known| known.command == *command).cloned();
        let settled = match (again, known) {
            (Some(again), _) => {
                let job = self.jobs.expected(&again, young);
                if job.is_none() {
                    self.jobs.learn(&again, None);
                }
                self.among_others(Process { job, ..again })
            }
            (None, Some(known)) if !young.lineage.all.is_empty() => {
                let job = young.lineage.job();
                self.jobs.learn(&known, job);
                Process { job: job.and_then(|job| self.jobs.title(job)), ..known }
            }
            _ => return,
        };
        if settled.title.is_some() && self.processes.get(pid) != Some(&settled) {
            if let Some(new) = &mut self.new {
                new.push(NewThread { process: settled.clone(), started: young.started });
            }
            self.know(*pid, settled);
        }
    }

    /// Titles change: what a process is for may stand there only after its first request. Of
    /// commands that have ended it is known what ran them.
    pub(super) fn ask_again(&mut self) {
        for young in std::mem::take(&mut self.young) {
            if young.lineage.all.first().is_some_and(|process| !process.is_alive()) {
                self.settle(&young);
            }
        }
        for (pid, process) in &mut self.processes {
            let (main_processes, job) = (process.main_processes, process.job.clone());
            let of = process.process.and_then(|of| u32::try_from(of).ok());
            let again = of.map(|of| asked(*pid, of, &mut self.pods).0);
            let is_it = |again: &Process| {
                again.command == process.command
                    && (again.title.is_some() || process.title.is_none())
            };
            if let Some(again) = again.filter(is_it) {
                *process = Process { main_processes, job, ..again };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No process has these numbers: they are beyond the most that a kernel gives (proc(5)).
    const GONE: u32 = (1 << 22) + 1;

    fn gone(pid: u32) -> Started {
        Started { pid, ticks: 1 }
    }

    fn first() -> Started {
        Started { pid: 1, ticks: started(1).unwrap() }
    }

    fn command(pid: u32) -> Process {
        let number = Some(u64::from(pid));
        Process {
            pid: u64::from(pid),
            process: number,
            main_process: number,
            command: "cp".to_owned(),
            title: Some("cp a b".to_owned()),
            unit: Some("/ci".to_owned()),
            ..Process::default()
        }
    }

    fn young(pid: u32) -> Young {
        let lineage = Lineage { all: vec![gone(pid), first()], ends_with_old: true };
        Young { lineage, ..Young::new((pid, pid), Some(1), &command(pid)) }
    }

    #[test]
    fn a_job_is_the_nearest_ancestor_that_grew_old() {
        let own = Started::own().unwrap();
        let job =
            |all: &[Started], ends_with_old| Lineage { all: all.to_vec(), ends_with_old }.job();
        let [command, shell] = [gone(GONE), gone(GONE + 1)];
        assert_eq!(job(&[command, shell, first()], false), Some(first()), "it is old now");
        assert_eq!(job(&[command, shell], true), Some(shell), "it was old");
        assert_eq!(job(&[command, shell], false), None, "as short as its command");
        assert_eq!(job(&[own, first()], true), None, "it goes on");
        assert_eq!(job(&[command], true), None, "it was old itself");
        assert_eq!(job(&[], false), None, "it was gone before it was asked");
    }

    #[test]
    fn a_job_is_known_when_its_command_has_ended_and_expected_of_the_next_ones() {
        let mut witness = Witness::default();
        let title = process::seen(1).unwrap().title;
        let expected =
            |witness: &mut Witness, of: &Process| witness.jobs.expected(of, &young(GONE));
        let unseen = Process { main_process: None, ..command(GONE + 3) };
        assert_eq!(expected(&mut witness, &command(GONE)), None);
        witness.know(GONE, command(GONE));
        witness.young.push_back(young(GONE).seen_before(YOUNG));
        witness.ask_young();
        assert_eq!(witness.processes[&GONE].job, title);
        let told = expected(&mut witness, &command(GONE));
        assert_eq!((told, expected(&mut witness, &unseen)), (title.clone(), title.clone()));
        let elsewhere = Process { unit: None, ..unseen.clone() };
        assert_eq!(expected(&mut witness, &elsewhere), None);
        // One of its name is of no job: of which one that was gone is, is not known any more.
        witness.jobs.learn(&command(GONE + 4), None);
        let told = expected(&mut witness, &command(GONE));
        assert_eq!((told, expected(&mut witness, &unseen)), (title, None));
    }

    #[test]
    fn a_command_that_a_stall_makes_long_is_of_the_job_of_those_that_were_short() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let mut witness = Witness::default();
        let asked_now = asked(pid, pid, &mut witness.pods).0;
        let mut job_now = |short: Option<Started>| {
            short.into_iter().for_each(|job| witness.jobs.learn(&asked_now, Some(job)));
            let all = vec![Started { pid, ticks: started(pid).unwrap() }, first()];
            let lineage = Lineage { all, ends_with_old: true };
            let young = Young { lineage, ..Young::new((pid, pid), started(pid), &asked_now) };
            witness.know(pid, asked_now.clone());
            witness.young.push_back(young.seen_before(YOUNG));
            witness.ask_young();
            witness.processes[&pid].job.clone()
        };
        let first_of_its_name = job_now(None);
        let as_others = job_now(Some(first()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((first_of_its_name, as_others), (None, process::seen(1).unwrap().title));
    }

    #[test]
    fn of_many_jobs_of_one_name_the_last_ones_are_remembered_and_that_some_are_of_none() {
        let sleep = |_| std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut children: Vec<_> = (0..=OF_NAME_MOST).map(sleep).collect();
        let pids = children.iter().map(|child| child.id());
        let all: Vec<_> =
            pids.map(|pid| Started { pid, ticks: started(pid).unwrap() }).map(Some).collect();
        let mut jobs = Jobs::default();
        jobs.learn(&command(GONE), None);
        all.iter().for_each(|job| jobs.learn(&command(GONE), *job));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let last = &all[all.len() - (OF_NAME_MOST - 1)..];
        assert_eq!(jobs.of_name[&name_of(&command(GONE))], [&[None][..], last].concat());
    }
}

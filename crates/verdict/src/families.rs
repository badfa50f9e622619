//! Jobs of many short commands: a script, xargs or make and what it runs are one role, as victim
//! and as cause.
//!
//! A short command counts as the program that runs it, if that has a name and runs four programs
//! or more. Of fewer each is known by its own name, and one may be the victim of another: a script
//! that starts a load beside another one is no job. Whatever make runs is of the build.
//!
//! Non-goals: which commands are short, and what runs them (`capture::witness`).

use super::instance::role_of;
use super::role::{BUILD, role, says_nothing};
use model::record::Process;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Programs that a job runs at the least.
const PROGRAMS_LEAST: usize = 4;
/// Jobs that are remembered.
const MOST: usize = 1000;
/// Programs that run what they are told to: that is not their job.
const RUNNERS: [&str; 3] = ["lbolt", "sudo", "time"];

/// Jobs, by their roles, each with the roles that its short commands would have by themselves, as
/// far as it matters how many these are.
#[derive(Debug, Clone, Default)]
pub(super) struct Families(BTreeMap<String, BTreeSet<String>>);

impl Families {
    /// One more process is known.
    pub(super) fn learn(&mut self, process: &Process) {
        let Some((job, _)) = as_job(process) else { return };
        if self.0.len() >= MOST && !self.0.contains_key(&job) {
            return;
        }
        let own = own_role(process);
        let is_other = own != job && !says_nothing(&own);
        let programs = self.0.entry(job).or_default();
        if is_other && programs.len() < PROGRAMS_LEAST {
            programs.insert(own);
        }
    }

    /// A process as what it counts as.
    pub(super) fn seen<'p>(&self, process: &'p Process) -> Cow<'p, Process> {
        match as_job(process) {
            Some((job, seen)) if self.is_one(&job) && own_role(process) != BUILD => {
                Cow::Owned(seen)
            }
            _ => Cow::Borrowed(process),
        }
    }

    /// All processes so.
    pub(super) fn all_seen<'p>(&self, processes: &'p [Process]) -> Cow<'p, [Process]> {
        if processes.iter().all(|process| process.job.is_none()) {
            return Cow::Borrowed(processes);
        }
        processes.iter().map(|process| self.seen(process).into_owned()).collect()
    }

    fn is_one(&self, job: &str) -> bool {
        job.starts_with(BUILD)
            || self.0.get(job).is_some_and(|programs| programs.len() >= PROGRAMS_LEAST)
    }
}

fn own_role(process: &Process) -> String {
    role(process.title.as_deref(), &process.command)
}

/// The role of what runs a short command, and the command as that; none where that has no name.
fn as_job(process: &Process) -> Option<(String, Process)> {
    let title = Some(process.job.clone()?);
    let (main_process, main_processes) = (None, None);
    let seen = Process { title, thread: None, main_process, main_processes, ..process.clone() };
    let job = role_of(&seen);
    (!says_nothing(&job) && !RUNNERS.contains(&job.as_str())).then_some((job, seen))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Actors;
    use crate::selection::Who;
    use model::record::Context;

    const SCRIPT: &str = "bash /ci/nightly.sh --all";

    fn processes(all: &[(&str, Option<&str>)]) -> Vec<Process> {
        let process = |(pid, (title, job)): (u64, &(&str, Option<&str>))| Process {
            pid,
            process: Some(pid),
            main_process: Some(pid),
            command: title.split(' ').next().unwrap_or_default().to_owned(),
            title: Some((*title).to_owned()),
            job: job.map(str::to_owned),
            ..Process::default()
        };
        (1..).zip(all).map(process).collect()
    }

    fn names(actors: &Actors, processes: &[Process]) -> Vec<String> {
        let name = |process: &Process| {
            let role = actors.of_known_thread(process.pid as u32);
            role.map_or_else(String::new, |role| actors.name(role).to_owned())
        };
        processes.iter().map(name).collect()
    }

    /// The roles of a trace's processes, which are a watch's, too.
    fn roles(all: &[(&str, Option<&str>)]) -> Vec<String> {
        let processes = processes(all);
        let context = Context { processes: processes.clone(), ..Context::default() };
        let of_trace = names(&Actors::new(&context, None), &processes);
        let mut watched = Actors::new(&Context::default(), None);
        watched.learn_all(processes.iter());
        assert_eq!(names(&watched, &processes), of_trace);
        of_trace
    }

    #[test]
    fn short_commands_of_four_programs_are_of_the_script_that_runs_them() {
        let of_script = Some(SCRIPT);
        let all = [
            ("cp a b", of_script),
            ("sed -i s/a/b/ b", of_script),
            ("sh -c true", of_script),
            (SCRIPT, None),
            ("git add b", of_script),
            ("mv b c", of_script),
            ("gcc a.c", of_script),
            ("postgres -D /data", None),
            ("cp big there", None),
        ];
        let script = "nightly.sh";
        let [build, other] = [BUILD, "postgres"];
        let expected = [script, script, script, script, script, script, build, other, "cp"];
        assert_eq!(roles(&all), expected, "what goes on for long is by itself");
        // Of three and a shell each is by itself.
        assert_eq!(roles(&all[..5]), ["cp", "sed", "sh", script, "git"]);
    }

    #[test]
    fn what_make_runs_is_of_the_build_and_what_a_nameless_shell_runs_of_nobody() {
        let of = |job: &'static str| {
            roles(&["cp a b", "sed x", "git add b", "mv b c"].map(|title| (title, Some(job))))
        };
        assert_eq!(of("make -j4"), [BUILD; 4]);
        assert_eq!(of("xargs -P4 sh"), ["xargs"; 4]);
        let by_themselves = ["cp", "sed", "git", "mv"];
        for nobody in ["-bash", "sh -c for", "python3 -c x", "lbolt record", "sudo sh"] {
            assert_eq!(of(nobody), by_themselves, "{nobody}");
        }
    }

    #[test]
    fn a_command_of_a_job_is_found_by_its_own_name() {
        let all = ["cp a b", "sed x", "git add b", "mv b c"].map(|title| (title, Some(SCRIPT)));
        let processes = processes(&all);
        let context = Context { processes: processes.clone(), ..Context::default() };
        let actors = Actors::new(&context, Some(Who::of("cp")));
        let expected = ["cp a b (1)", "nightly.sh", "nightly.sh", "nightly.sh"];
        assert_eq!(names(&actors, &processes), expected);
    }
}

//! Which of several instances of one program a process is of: two clusters of PostgreSQL are two
//! roles, and one may be the victim of the other.
//!
//! A container, a pod and an instance of a service (`postgresql@15-main.service`) are known by the
//! path of the cgroup, or by the pod's name in its place. Others are told apart where a role has
//! several instances in one trace: by their cgroups, else by the main process, if that has workers,
//! and if two of them were there at the same time; so many at most, for a program that is run again
//! and again (make) is one role.
//!
//! Source: systemd.unit(5), systemd.syntax(7).
//!
//! Non-goals: pods in paths (`model::pod`) and their names (`host::pod`).

use super::role::{BUILD, role, says_nothing};
use model::job_role::JobRole;
use model::pod::{self, InPod};
use model::record::Process;
use std::collections::{BTreeMap, BTreeSet};

/// Characters of an identifier that are enough to tell it from others.
const OF_POD: usize = 8;
const OF_CONTAINER: usize = 12;
/// Characters of a cgroup's name that are shown.
const NAME_CHARS: usize = 20;
/// More of a role are not told apart.
const MOST: usize = 8;

/// The role of a process, and of its threads that have a name of their own, with the instance that
/// its cgroup tells.
pub(crate) fn role_of(process: &Process) -> String {
    let unit = process.unit.as_deref().filter(|_| process.title.is_some());
    let role_of_all = role(process.title.as_deref(), &process.command);
    let service = unit.and_then(of_service).filter(|_| says_nothing(&role_of_all));
    let role_of_all = service.map_or(role_of_all, str::to_owned);
    let role_of_thread = match &process.thread {
        Some(thread) if JobRole::of_thread(thread).is_some() => return role(None, thread),
        // A driver of a compiler runs that in a thread of its name.
        Some(thread) if role_of_all == BUILD || role(None, thread) == BUILD => BUILD.to_owned(),
        Some(thread) => format!("{role_of_all}: {}", role(None, thread)),
        None => role_of_all,
    };
    match unit.and_then(of_unit) {
        Some(instance) => format!("{role_of_thread} ({instance})"),
        None => role_of_thread,
    }
}

/// The service of a cgroup's path, whose processes it names better than a program's name could.
fn of_service(path: &str) -> Option<&str> {
    let name = path.rsplit('/').find(|part| !part.is_empty())?.strip_suffix(".service")?;
    (!name.contains('@') && !name.is_empty()).then_some(name)
}

/// What a cgroup's path tells of the instance; none where it tells none.
fn of_unit(path: &str) -> Option<String> {
    if pod::is_named(path) {
        return Some(path.to_owned());
    }
    if let Some(InPod { uid, .. }) = pod::of_cgroup(path) {
        return Some(format!("pod {}", uid.get(..OF_POD)?));
    }
    if let Some(container) = pod::container(path) {
        return Some(format!("container {}", container.get(..OF_CONTAINER)?));
    }
    let last = path.rsplit('/').find(|part| !part.is_empty())?;
    let (_, instance) = last.strip_suffix(".service")?.split_once('@')?;
    (!instance.is_empty()).then(|| instance.to_owned())
}

/// Roles whose processes are of several cgroups; else of several main processes with workers.
#[derive(Debug, Clone, Default)]
pub(super) struct Instances(BTreeMap<String, Apart>);

#[derive(Debug, Clone)]
enum Apart {
    ByUnit,
    ByMainProcess(BTreeSet<u64>),
}

/// What there is of a role.
#[derive(Default)]
struct OfRole<'p> {
    units: BTreeSet<Option<&'p str>>,
    mains: BTreeSet<u64>,
    /// How many of these were there at once.
    at_once: u64,
}

impl OfRole<'_> {
    fn apart(self) -> Option<Apart> {
        let are_few = |count: usize| (2..=MOST).contains(&count);
        if are_few(self.units.len()) {
            return Some(Apart::ByUnit);
        }
        (self.at_once > 1 && are_few(self.mains.len())).then_some(Apart::ByMainProcess(self.mains))
    }
}

impl Instances {
    /// Of processes that are known.
    pub(super) fn of(processes: &[Process]) -> Self {
        let workers = processes.iter().filter(|of| of.main_process != of.process);
        let with_workers: BTreeSet<u64> = workers.filter_map(|of| of.main_process).collect();
        let mut roles: BTreeMap<String, OfRole<'_>> = BTreeMap::new();
        for process in processes.iter().filter(|process| process.title.is_some()) {
            let role = role_of(process);
            let is_build = role.starts_with(BUILD);
            let of = roles.entry(role).or_default();
            of.units.insert(process.unit.as_deref());
            // A compiler that runs itself anew is no main process: a build is told by its cgroup.
            if is_build {
                continue;
            }
            of.at_once = of.at_once.max(process.main_processes.unwrap_or(0));
            of.mains.extend(process.main_process.filter(|main| with_workers.contains(main)));
        }
        let apart = roles.into_iter().filter_map(|(role, of)| Some((role, of.apart()?)));
        Self(apart.collect())
    }

    /// What is put behind the role of a process.
    pub(super) fn of_process(&self, role: &str, process: &Process) -> Option<String> {
        match self.0.get(role)? {
            Apart::ByUnit => last_part(process.unit.as_deref()?),
            Apart::ByMainProcess(mains) => {
                let main = process.main_process.filter(|main| mains.contains(main))?;
                Some(format!("of {main}"))
            }
        }
    }
}

/// The cgroup's own name.
fn last_part(path: &str) -> Option<String> {
    let last = path.rsplit('/').find(|part| !part.is_empty())?;
    let kinds = [".service", ".scope", ".slice"];
    let name = kinds.iter().find_map(|kind| last.strip_suffix(kind)).unwrap_or(last);
    Some(match name.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroups_path_tells_pods_containers_and_instances_of_services() {
        let id = "9c1d2e3f4a5b6c7d8e9f".repeat(4);
        let id = &id[..64];
        for (path, expected) in [
            ("/system.slice/postgresql@15-main.service", Some("15-main")),
            ("/system.slice/system-postgresql.slice/postgresql@16-main.service", Some("16-main")),
            ("/system.slice/cron.service", None),
            ("/user.slice/user-0.slice/user@0.service/app.slice/x.scope", None),
            ("/user.slice/user-1000.slice/session-3.scope", None),
            (&format!("/system.slice/docker-{id}.scope"), Some("container 9c1d2e3f4a5b")),
            (&format!("/docker/{id}"), Some("container 9c1d2e3f4a5b")),
            (
                &format!(
                    "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-\
                     pod3f2a91c4_01ab.slice/cri-containerd-{id}.scope"
                ),
                Some("pod 3f2a91c4"),
            ),
            (&format!("/kubepods/besteffort/pod3f2a91c4-01ab/{id}"), Some("pod 3f2a91c4")),
            ("/kubepods.slice/kubepods-besteffort.slice", None),
            ("shop/db-0/postgres", Some("shop/db-0/postgres")),
            ("/podman", None),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(of_unit(path).as_deref(), expected, "{path}");
        }
    }

    fn process(pid: u64, main_process: u64, title: &str) -> Process {
        let title = Some(title.to_owned());
        let (process, main_process, main_processes) = (Some(pid), Some(main_process), Some(2));
        Process { pid, process, main_process, main_processes, title, ..Process::default() }
    }

    #[test]
    fn a_name_that_says_nothing_gives_way_to_the_service() {
        for (title, unit, expected) in [
            ("/proc/self/exe init", "/system.slice/shop.service", "shop"),
            ("python3 -c import os", "/system.slice/shop.service", "shop"),
            ("/usr/bin/python3 /srv/app.py", "/system.slice/shop.service", "app.py"),
            ("python3 -c import os", "/user.slice/session-3.scope", "python"),
            ("python3 -c import os", "/system.slice/shop@7.service", "python (7)"),
        ] {
            let process = Process { unit: Some(unit.to_owned()), ..process(1, 1, title) };
            assert_eq!(role_of(&process), expected, "{title} in {unit}");
        }
    }

    #[test]
    fn a_driver_that_compiles_in_a_thread_is_of_the_build() {
        let thread = Some("rustc".to_owned());
        assert_eq!(role_of(&Process { thread, ..process(2, 1, "clippy-driver") }), BUILD);
    }

    #[test]
    fn one_program_in_two_cgroups_is_two_instances() {
        let of = |unit: Option<&str>| Process {
            unit: unit.map(str::to_owned),
            ..process(1, 1, "dd if=/x")
        };
        let all = [of(Some("/a.slice/shop.service")), of(Some("/b")), of(None)];
        let told = |all: &[Process], place: usize| {
            let role = role_of(&all[place]);
            Instances::of(all).of_process(&role, &all[place])
        };
        let expected = [Some("shop".to_owned()), Some("b".to_owned()), None];
        assert_eq!([0, 1, 2].map(|place| told(&all, place)), expected);
        assert_eq!(told(&all[..1], 0), None, "all in one");
        let many: Vec<Process> =
            (0..20).map(|n| of(Some(&format!("/session-{n}.scope")))).collect();
        assert_eq!(told(&many, 0), None);
    }

    #[test]
    fn workers_of_two_main_processes_are_two_instances() {
        let backend = "postgres: app shop [local] COMMIT";
        let all = [
            process(1, 1, "postgres -D /a"),
            process(2, 1, backend),
            process(3, 1, backend),
            process(11, 11, "postgres -D /b"),
            process(12, 11, backend),
            process(20, 20, "dd if=/x"),
            process(21, 21, "dd if=/y"),
        ];
        let of = |all: &[Process], place: usize| {
            let role = role_of(&all[place]);
            Instances::of(all).of_process(&role, &all[place])
        };
        assert_eq!(of(&all, 2).as_deref(), Some("of 1"));
        assert_eq!(of(&all, 4).as_deref(), Some("of 11"));
        let one_after_the_other =
            all.clone().map(|process| Process { main_processes: Some(1), ..process });
        assert_eq!(of(&one_after_the_other, 2), None);
        assert_eq!(of(&all, 5), None, "who has no workers is run again and again");
        assert_eq!(of(&all[..4], 1), None, "one alone");
        let compilers =
            [10, 20].map(|main| [process(main, main, "clang"), process(main + 1, main, "clang")]);
        assert_eq!(of(&compilers.concat(), 0), None, "one build");
        let many: Vec<Process> = (0..20).map(|n| process(n, n / 2 * 2, "db -j")).collect();
        assert_eq!(of(&many, 1), None);
    }
}

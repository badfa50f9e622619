//! Which of several instances of one program a process is of: two clusters of PostgreSQL are two
//! roles, and one may be the victim of the other.
//!
//! A container, a pod and an instance of a service (`postgresql@15-main.service`) are known by the
//! path of the cgroup. What was started by hand is told apart by the main process, where the
//! processes of a role have several that have workers; so many at most, for a program that is run
//! again and again (make) is one role.
//!
//! Source: systemd.unit(5), systemd.syntax(7); the cgroup paths of Kubernetes' kubelet (both
//! drivers), Docker, containerd, CRI-O and Podman.
//!
//! Non-goals: names of pods and containers, which their managers alone know.

use model::record::Process;
use std::collections::{BTreeMap, BTreeSet};

/// Characters of an identifier that are enough to tell it from others.
const OF_POD: usize = 8;
const OF_CONTAINER: usize = 12;
/// A container's identifier has so many hexadecimal digits.
const DIGITS: usize = 64;
/// More of a role are not told apart.
const MOST: usize = 8;

/// What a cgroup's path tells of the instance; none where it tells none.
pub(super) fn of_unit(path: &str) -> Option<String> {
    let parts = || path.rsplit('/').filter(|part| !part.is_empty());
    if let Some(pod) = parts().find_map(pod) {
        return Some(format!("pod {pod}"));
    }
    if let Some(container) = parts().find_map(container) {
        return Some(format!("container {container}"));
    }
    let (_, instance) = parts().next()?.strip_suffix(".service")?.split_once('@')?;
    (!instance.is_empty()).then(|| instance.to_owned())
}

/// `kubepods-burstable-pod3f2a91c4_….slice`, or `pod3f2a91c4-…` below `kubepods`.
fn pod(part: &str) -> Option<&str> {
    let part = part.strip_suffix(".slice").unwrap_or(part);
    let (before, identifier) = part.rsplit_once("pod")?;
    let is_pod = before.is_empty() || before.starts_with("kubepods") && before.ends_with('-');
    let first = identifier.get(..OF_POD)?;
    (is_pod && is_hexadecimal(first)).then_some(first)
}

/// `docker-9c1d….scope`, `cri-containerd-9c1d….scope`, or the identifier alone.
fn container(part: &str) -> Option<&str> {
    let part = part.strip_suffix(".scope").unwrap_or(part);
    let identifier = part.rsplit('-').next()?;
    let is_identifier = identifier.len() == DIGITS && is_hexadecimal(identifier);
    is_identifier.then(|| identifier.get(..OF_CONTAINER)).flatten()
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Roles whose processes are of several main processes with workers.
#[derive(Debug, Clone, Default)]
pub(super) struct Trees(BTreeMap<String, BTreeSet<u64>>);

impl Trees {
    /// Of processes that are known, and how these are called without it.
    pub(super) fn of<'p>(processes: impl Iterator<Item = &'p Process> + Clone) -> Self {
        let is_worker = |process: &&Process| process.main_process != process.process;
        let workers = processes.clone().filter(is_worker);
        let with_workers: BTreeSet<u64> = workers.filter_map(|of| of.main_process).collect();
        let mut trees: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        for process in processes {
            let main = process.main_process.filter(|main| with_workers.contains(main));
            let Some(main) = main else { continue };
            trees.entry(super::actors::role_of(process)).or_default().insert(main);
        }
        trees.retain(|_, mains| (2..=MOST).contains(&mains.len()));
        Self(trees)
    }

    /// What is put behind the role of a process.
    pub(super) fn of_process(&self, role: &str, process: &Process) -> Option<String> {
        let main = process.main_process?;
        self.0.get(role)?.contains(&main).then(|| format!("of {main}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroups_path_tells_pods_containers_and_instances_of_services() {
        let id = "9c1d2e3f4a5b6c7d8e9f".repeat(4);
        let id = &id[..DIGITS];
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
            ("/podman", None),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(of_unit(path).as_deref(), expected, "{path}");
        }
    }

    fn process(pid: u64, main_process: u64, title: &str) -> Process {
        let title = Some(title.to_owned());
        let (process, main_process) = (Some(pid), Some(main_process));
        Process { pid, process, main_process, title, ..Process::default() }
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
            let role = super::super::actors::role_of(&all[place]);
            Trees::of(all.iter()).of_process(&role, &all[place])
        };
        assert_eq!(of(&all, 2).as_deref(), Some("of 1"));
        assert_eq!(of(&all, 4).as_deref(), Some("of 11"));
        assert_eq!(of(&all, 5), None, "who has no workers is run again and again");
        assert_eq!(of(&all[..4], 1), None, "one alone");
        let many: Vec<Process> = (0..20).map(|n| process(n, n / 2 * 2, "make -j")).collect();
        assert_eq!(of(&many, 1), None);
    }
}

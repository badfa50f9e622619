//! A process and all that it started, as a whole: asked to end, and ended if they do not heed that.
//!
//! Whose child a process is tells proc_pid_stat(5). Who was started by one that has ended since is
//! known only if it was seen before, so what was seen once stays known. A process is signalled by
//! its descriptor (pidfd_open(2)), which is that of no later one of the same number.
//!
//! Who else wants to know whose a process is asks a [`Family`].
//!
//! Non-goals: a process that was made a daemon before anybody looked: it is on its own.

use crate::process::numbers;
use model::process::{Stat, started};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// How often it is looked who is still there.
const LOOK: Duration = Duration::from_millis(10);

/// How long one that is killed may take to end. The kernel may hold it, and that for ever: for a
/// disk that does not answer, or on a frozen file system.
const HELD: Duration = Duration::from_secs(10);

/// Ends a process and what it started: with SIGTERM, and after `patience` with SIGKILL. Returns
/// when all have ended; the process itself may still have to be waited for by whoever started it.
/// Those are given back that the kernel holds: they end when it lets them go.
pub fn end_tree(pid: u32, patience: Duration) -> Vec<u32> {
    let Some(mut family) = Family::of(pid) else { return vec![] };
    // Who was asked to end.
    let mut asked = BTreeSet::new();
    let began = Instant::now();
    loop {
        let living = living();
        family.grow(&living);
        let is_there = |pid: &u32, started| living.get(pid).is_some_and(|s| s.started == started);
        let there = family.known.iter().filter(|(pid, started)| is_there(pid, **started));
        let there: Vec<(u32, u64)> = there.map(|(pid, started)| (*pid, *started)).collect();
        if there.is_empty() || began.elapsed() >= patience.saturating_add(HELD) {
            return there.into_iter().map(|(pid, _)| pid).collect();
        }
        let is_late = began.elapsed() >= patience;
        for (pid, started) in there {
            if asked.insert(pid) || is_late {
                send(pid, started, if is_late { Signal::KILL } else { Signal::TERM });
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// Everybody who has not ended yet.
fn living() -> BTreeMap<u32, Stat> {
    let stats = numbers().filter_map(|pid| Some((pid, Stat::of(pid)?)));
    stats.filter(|(_, stat)| !stat.has_ended).collect()
}

/// A process and all that it started, as far as anybody looked while its parents were there.
#[derive(Debug, Clone)]
pub struct Family {
    /// By number, when each was started.
    known: BTreeMap<u32, u64>,
}

impl Family {
    /// Of a process; none if it is gone.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { known: BTreeMap::from([(pid, Stat::of(pid)?.started)]) })
    }

    /// Looks who has been started since the last time.
    pub fn look(&mut self) {
        self.grow(&living());
    }

    /// Whether a thread is of one of these processes: it has their parent or their group, which all
    /// threads of a process share. A number that somebody else has by now is none of theirs.
    pub fn has(&self, thread: &Stat) -> bool {
        let is_known = |pid: u32| {
            let known = self.known.get(&pid);
            known.is_some_and(|known| started(pid).is_none_or(|now| now == *known))
        };
        is_known(thread.parent) || is_known(thread.group)
    }

    /// Adds the children of those that are known, who is in a process group of one of them, and
    /// theirs.
    fn grow(&mut self, living: &BTreeMap<u32, Stat>) {
        let known = &mut self.known;
        known.retain(|pid, started| living.get(pid).is_none_or(|now| now.started == *started));
        loop {
            let has_parent = |stat: &Stat| {
                let parent = known.get(&stat.parent).zip(living.get(&stat.parent));
                parent.is_some_and(|(started, parent)| *started == parent.started)
            };
            // The number of a group is given to nobody else while somebody is in it.
            let is_of = |stat: &Stat| has_parent(stat) || known.contains_key(&stat.group);
            let is_new = |(pid, stat): &(&u32, &Stat)| !known.contains_key(pid) && is_of(stat);
            let new: Vec<(u32, u64)> =
                living.iter().filter(is_new).map(|(pid, stat)| (*pid, stat.started)).collect();
            if new.is_empty() {
                return;
            }
            known.extend(new);
        }
    }
}

/// Signals that process, and no later one of its number.
fn send(pid: u32, started: u64, signal: Signal) {
    let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return };
    let Ok(open) = pidfd_open(number, PidfdFlags::empty()) else { return };
    if Stat::of(pid).is_some_and(|stat| stat.started == started) {
        // Gone meanwhile: then there is nobody to ask.
        let _ = pidfd_send_signal(open, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    /// A shell that starts two others and prints their numbers.
    fn family(script: &str) -> (std::process::Child, Vec<u32>) {
        let mut shell = Command::new("sh");
        let mut child = shell.args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let numbers = lines.take(2).map(|line| line.unwrap().trim().parse().unwrap()).collect();
        (child, numbers)
    }

    fn is_gone(pid: &u32) -> bool {
        Stat::of(*pid).is_none_or(|stat| stat.has_ended)
    }

    #[test]
    fn all_that_a_command_started_ends_with_it() {
        let (mut child, others) = family("sleep 60 & echo $!; (sleep 60; true) & echo $!; wait");
        end_tree(child.id(), Duration::from_secs(60));
        assert!(others.iter().all(is_gone), "{others:?}");
        assert!(!child.wait().unwrap().success());
    }

    /// As fio's workers are: children in sessions, and groups, of their own.
    #[test]
    fn who_has_a_group_of_its_own_is_of_the_family_all_the_same() {
        let script = "setsid sh -c 'echo $$; sleep 60; true' & \
                      setsid sh -c 'echo $$; sleep 60; true' & wait";
        let (mut child, others) = family(script);
        let mut of_child = Family::of(child.id()).unwrap();
        let own = Family::of(std::process::id()).unwrap();
        of_child.look();
        for other in &others {
            let stat = Stat::of(*other).unwrap();
            assert_ne!(stat.group, Stat::of(child.id()).unwrap().group);
            assert!(of_child.has(&stat), "{stat:?}");
        }
        assert!(!of_child.has(&Stat::of(1).unwrap()));
        assert!(!own.has(&Stat::of(1).unwrap()));
        end_tree(child.id(), Duration::from_secs(60));
        assert!(others.iter().all(is_gone) && !child.wait().unwrap().success());
    }

    #[test]
    fn a_number_that_another_process_has_by_now_is_of_no_family() {
        use std::os::unix::process::CommandExt as _;
        let own = std::process::id();
        let mut child = Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let of_child = Stat::of(child.id()).unwrap();
        let family = |pid, started| Family { known: BTreeMap::from([(pid, started)]) };
        let (began, child_began) = (started(own).unwrap(), of_child.started);
        for (pid, started) in [(own, began), (child.id(), child_began)] {
            assert!(family(pid, started).has(&of_child), "by its parent, or its group");
            let mut earlier = family(pid, started - 1);
            assert!(!earlier.has(&of_child));
            earlier.look();
            assert!(earlier.known.is_empty(), "{earlier:?}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn who_does_not_heed_it_is_killed() {
        let deaf = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & \
                    echo $!; while :; do sleep 1; done";
        let (mut child, others) = family(deaf);
        end_tree(child.id(), Duration::from_millis(50));
        assert!(others.iter().all(is_gone), "{others:?}");
        use std::os::unix::process::ExitStatusExt as _;
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn one_that_is_gone_is_ended() {
        end_tree(u32::MAX, Duration::from_secs(60));
    }
}

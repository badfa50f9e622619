//! Which threads live. A watch goes on for weeks, and numbers are used again: what one was says
//! nothing of the next of its number. They are told apart by when they were started, some of them
//! each second.
//!
//! Non-goals: what a thread is for (`verdict`).

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Threads that are looked at each time: a few ms.
const AT_ONCE: usize = 500;
/// What is gone is remembered for so long: its requests come later in the order of their arrival.
const REMEMBERED: Duration = Duration::from_secs(120);

/// A thread that is known.
#[derive(Debug)]
struct Life {
    /// When it was started, by the kernel's count; none where it was gone before it was asked.
    started: Option<u64>,
    /// Since when it is known to be gone.
    gone: Option<Instant>,
}

/// What has changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Numbers that others have now.
    pub(crate) others: Vec<u32>,
    /// Numbers that nobody has had for long.
    pub(crate) gone: Vec<u32>,
}

/// The threads that are known.
#[derive(Debug, Default)]
pub(crate) struct Lives {
    threads: HashMap<u32, Life>,
    /// Whose turn it is to be looked at.
    turn: VecDeque<u32>,
}

impl Lives {
    /// A thread became known, which was started then.
    pub(crate) fn know(&mut self, pid: u32, started: Option<u64>) {
        if self.threads.insert(pid, Life { started, gone: None }).is_none() {
            self.turn.push_back(pid);
        }
    }

    /// Looks at some of them.
    pub(crate) fn look(&mut self, now: Instant, started: impl Fn(u32) -> Option<u64>) -> Changes {
        let mut changes = Changes::default();
        for _ in 0..AT_ONCE.min(self.turn.len()) {
            let Some(pid) = self.turn.pop_front() else { break };
            let Some(life) = self.threads.get_mut(&pid) else { continue };
            let found = started(pid);
            if found.is_some() && found != life.started {
                changes.others.push(pid);
                *life = Life { started: found, gone: None };
            } else if found.is_none() {
                let since = *life.gone.get_or_insert(now);
                if now.duration_since(since) >= REMEMBERED {
                    self.threads.remove(&pid);
                    changes.gone.push(pid);
                    continue;
                }
            }
            self.turn.push_back(pid);
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_another_has_and_one_that_nobody_has_are_told() {
        let (mut lives, begin) = (Lives::default(), Instant::now());
        let at = |seconds| begin + Duration::from_secs(seconds);
        let known = [(7, Some(100)), (8, Some(200)), (9, None)];
        known.into_iter().for_each(|(pid, started)| lives.know(pid, started));
        let same = |pid| [(7, 100), (8, 200)].iter().find(|(of, _)| *of == pid).map(|of| of.1);
        assert_eq!(lives.look(at(0), same), Changes::default());
        let others = |pid| (pid == 7).then_some(900);
        assert_eq!(lives.look(at(1), others), Changes { others: vec![7], gone: vec![] });
        assert_eq!(lives.look(at(2), others), Changes::default(), "only once");
        // The one that was gone before it was asked goes first.
        let gone = |lives: &mut Lives, seconds| lives.look(at(seconds), others).gone;
        assert_eq!(gone(&mut lives, 119), [0; 0]);
        assert_eq!(gone(&mut lives, 120), [9]);
        assert_eq!(gone(&mut lives, 121), [8]);
        assert_eq!(lives.threads.len(), lives.turn.len());
    }

    #[test]
    fn of_many_some_are_looked_at_each_time_and_all_in_their_turn() {
        let (mut lives, now) = (Lives::default(), Instant::now());
        (1..=2 * AT_ONCE as u32 + 1).for_each(|pid| lives.know(pid, Some(1)));
        let all_others = |lives: &mut Lives| lives.look(now, |_| Some(2)).others.len();
        let looks = [(); 4].map(|()| all_others(&mut lives));
        assert_eq!(looks, [AT_ONCE, AT_ONCE, 1, 0]);
    }
}

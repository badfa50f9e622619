//! Threads that slept until another one woke them that had waited meanwhile: what of the sleep was
//! which wait of the waker. A waker that slept itself passes on what it slept for, along chains
//! (client, proxy, server): a cascade of waits as in wPerf (Zhou, Gan, Ma, Wang, OSDI 2018,
//! section 3.2).
//!
//! What the sleeper lost is what the waker lost in these waits (`super::weigh`): a server that
//! waits as long as ever delays nobody.
//!
//! Non-goals: whether the sleeper had anything to do.

use super::waits::Class;
use hashbrown::{HashMap, HashSet};
use model::record::Wait;
use std::collections::VecDeque;

/// Waits of a thread that are remembered.
const PIECES_MOST: usize = 64;
/// Chains are followed so far.
const LINKS_MOST: usize = 8;

/// A wait of a thread, or what of one another thread slept for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) begin_ns: i64,
    pub(super) end_ns: i64,
    /// When the wait itself began.
    pub(super) root_ns: i64,
    pub(super) class: Class,
}

/// Sleeps that go on, and the last waits of each thread.
#[derive(Debug, Default)]
pub(super) struct Sleeps {
    asleep: Vec<Wait>,
    /// When the first of them ends.
    next_ns: Option<i64>,
    waits: HashMap<u32, VecDeque<Piece>>,
}

impl Sleeps {
    /// A thread waits.
    pub(super) fn note(&mut self, pid: u32, (begin_ns, end_ns): (i64, i64), class: Class) {
        self.remember(pid, Piece { begin_ns, end_ns, root_ns: begin_ns, class });
    }

    fn remember(&mut self, pid: u32, piece: Piece) {
        let waits = self.waits.entry(pid).or_default();
        if waits.len() >= PIECES_MOST {
            waits.pop_front();
        }
        waits.push_back(piece);
    }

    /// A thread sleeps.
    pub(super) fn begin(&mut self, sleep: Wait) {
        self.next_ns = self.next_ns.into_iter().chain([sleep.end_ns]).min();
        self.asleep.push(sleep);
    }

    /// Those that have ended until a moment, and what of them was a wait of somebody.
    pub(super) fn end(&mut self, until_ns: i64) -> Vec<(Wait, Vec<Piece>)> {
        if self.next_ns.is_none_or(|next_ns| next_ns > until_ns) {
            return Vec::new();
        }
        let mut ended: Vec<Wait> =
            self.asleep.extract_if(.., |sleep| sleep.end_ns <= until_ns).collect();
        self.next_ns = self.asleep.iter().map(|sleep| sleep.end_ns).min();
        ended.sort_by_key(|sleep| (sleep.end_ns, sleep.begin_ns));
        let mut all = Vec::with_capacity(ended.len());
        for _ in 0..LINKS_MOST {
            // Whose waker slept himself comes after him.
            let sleepers: HashSet<u64> = ended.iter().map(|sleep| sleep.pid).collect();
            let first: Vec<Wait> =
                ended.extract_if(.., |sleep| !sleepers.contains(&sleep.holder)).collect();
            if first.is_empty() {
                break;
            }
            all.extend(first.into_iter().map(|sleep| self.pieces(sleep)));
        }
        all.extend(ended.into_iter().map(|sleep| self.pieces(sleep)));
        all
    }

    fn pieces(&mut self, sleep: Wait) -> (Wait, Vec<Piece>) {
        let of_waker = self.waits.get(&(sleep.holder as u32)).into_iter().flatten();
        let within = of_waker.map(|piece| Piece {
            begin_ns: piece.begin_ns.max(sleep.begin_ns),
            end_ns: piece.end_ns.min(sleep.end_ns),
            ..*piece
        });
        let pieces: Vec<Piece> = within.filter(|piece| piece.begin_ns < piece.end_ns).collect();
        pieces.iter().for_each(|piece| self.remember(sleep.pid as u32, *piece));
        (sleep, pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RoleId;
    use crate::waits::Kind;
    use model::record::WaitKind;

    const CLASS: Class = Class { device: 8, role: RoleId(5), kind: Kind::Read, size: 0 };

    fn sleep(pid: u64, (begin_ns, end_ns): (i64, i64), holder: u64) -> Wait {
        Wait { kind: WaitKind::Thread, pid, begin_ns, end_ns, holder, ..Wait::default() }
    }

    #[test]
    fn a_sleep_is_what_of_it_its_waker_waited_along_a_chain() {
        let mut sleeps = Sleeps::default();
        sleeps.note(3, (10, 20), CLASS);
        sleeps.note(3, (22, 30), CLASS);
        sleeps.begin(sleep(1, (12, 30), 2));
        sleeps.begin(sleep(2, (12, 30), 3));
        assert_eq!(sleeps.end(29), []);
        let ended = sleeps.end(30);
        let piece = |begin_ns, end_ns, root_ns| Piece { begin_ns, end_ns, root_ns, class: CLASS };
        let expected = vec![piece(12, 20, 10), piece(22, 30, 22)];
        let told: Vec<_> = ended.iter().map(|(sleep, pieces)| (sleep.pid, pieces)).collect();
        assert_eq!(told, [(2, &expected), (1, &expected)]);
        assert_eq!(sleeps.end(i64::MAX), []);
        // Who woke it has waited for nothing that is known: for another device, or for no storage.
        sleeps.begin(sleep(1, (40, 50), 7));
        assert_eq!(sleeps.end(50)[0].1, []);
        // Circles end.
        sleeps.begin(sleep(1, (60, 70), 2));
        sleeps.begin(sleep(2, (60, 70), 1));
        assert_eq!(sleeps.end(70).len(), 2);
    }

    #[test]
    fn a_thread_has_its_last_waits() {
        let mut sleeps = Sleeps::default();
        (0..100).for_each(|at| sleeps.note(3, (10 * at, 10 * at + 5), CLASS));
        sleeps.begin(sleep(1, (0, 1000), 3));
        assert_eq!(sleeps.end(1000)[0].1.len(), PIECES_MOST);
    }
}

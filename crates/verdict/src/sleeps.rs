//! Threads that slept until another one woke them that had waited meanwhile: what of the sleep was
//! which wait of the waker. A waker that slept itself passes on what it slept for, along chains
//! (client, proxy, server): a cascade of waits as in wPerf (Zhou, Gan, Ma, Wang, OSDI 2018,
//! section 3.2).
//!
//! A waker that slept first for another one's wait goes on with that: who slept already before the
//! waker did, slept for the same (a commit is written when the one before it has been).
//!
//! What the sleeper lost is what the waker lost in these waits (`super::weigh`): a server that
//! waits as long as ever delays nobody.
//!
//! Non-goals: whether the sleeper had anything to do.

use super::waits::Class;
use hashbrown::{HashMap, HashSet};
use model::record::Wait;
use std::collections::VecDeque;

/// Waits of a thread that are remembered: who writes in bulk waits a thousand times a second.
const PIECES_MOST: usize = 4096;
/// They are remembered nearly in their order: behind so many in a row that were over there are no
/// later ones.
const OVER_MOST: usize = 64;
/// And sums of waits, of all threads.
const MANY_MOST: usize = 1024;
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
    /// Who woke this thread, if it slept.
    pub(super) behind: Option<u32>,
}

/// Waits of threads of which no single one is known: within these times each thread has waited for
/// this part of the time.
#[derive(Debug)]
pub(super) struct ManyPieces {
    pub(super) pids: Vec<u32>,
    /// When all of them are over: those that are noted later are over later.
    pub(super) until_ns: i64,
    pub(super) runs: Vec<(i64, i64)>,
    pub(super) part: f64,
    pub(super) class: Class,
}

impl ManyPieces {
    /// What of a sleep they were, as one.
    fn within(&self, sleep: &Wait) -> Option<Piece> {
        let both = self
            .runs
            .iter()
            .map(|(from_ns, until_ns)| (sleep.begin_ns.max(*from_ns), sleep.end_ns.min(*until_ns)));
        let both = both.filter(|(from_ns, until_ns)| from_ns < until_ns);
        let begin_ns = both.clone().map(|(from_ns, _)| from_ns).next()?;
        let whole_ns: i64 = both.map(|(from_ns, until_ns)| until_ns - from_ns).sum();
        let end_ns = begin_ns + (whole_ns as f64 * self.part) as i64;
        Some(Piece { begin_ns, end_ns, root_ns: begin_ns, class: self.class, behind: None })
    }
}

/// Sleeps that go on, and the last waits of each thread.
#[derive(Debug, Default)]
pub(super) struct Sleeps {
    asleep: Vec<Wait>,
    /// When the first of them ends.
    next_ns: Option<i64>,
    waits: HashMap<u32, VecDeque<Piece>>,
    many: VecDeque<ManyPieces>,
}

impl Sleeps {
    /// A thread waits.
    pub(super) fn note(&mut self, pid: u32, (begin_ns, end_ns): (i64, i64), class: Class) {
        self.remember(pid, Piece { begin_ns, end_ns, root_ns: begin_ns, class, behind: None });
    }

    /// Threads wait again and again.
    pub(super) fn note_many(&mut self, many: ManyPieces) {
        if self.many.len() >= MANY_MOST {
            self.many.pop_front();
        }
        self.many.push_back(many);
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
        let waker = sleep.holder as u32;
        let within = self.within(waker, (sleep.begin_ns, sleep.end_ns));
        let first = within.iter().min_by_key(|piece| piece.begin_ns);
        let before = first.and_then(|first| Some((first.behind?, first.begin_ns)));
        let before = before.map(|(pid, until_ns)| self.within(pid, (sleep.begin_ns, until_ns)));
        let is_wakers = |many: &&ManyPieces| many.pids.contains(&(sleep.holder as u32));
        let last = self.many.iter().rev().take_while(|many| many.until_ns > sleep.begin_ns);
        let of_many = last.filter(is_wakers).filter_map(|many| many.within(&sleep));
        let before = before.into_iter().flatten();
        let pieces = one_after_another(before.chain(within).chain(of_many).collect());
        for piece in &pieces {
            self.remember(sleep.pid as u32, Piece { behind: Some(waker), ..*piece });
        }
        (sleep, pieces)
    }

    /// What a thread waited within a time.
    fn within(&self, pid: u32, (begin_ns, end_ns): (i64, i64)) -> Vec<Piece> {
        let mut over = 0;
        let last = self.waits.get(&pid).into_iter().flatten().rev().take_while(|piece| {
            over = if piece.end_ns <= begin_ns { over + 1 } else { 0 };
            over < OVER_MOST
        });
        let all = last.map(|piece| Piece {
            begin_ns: piece.begin_ns.max(begin_ns),
            end_ns: piece.end_ns.min(end_ns),
            ..*piece
        });
        let mut pieces: Vec<Piece> = all.filter(|piece| piece.begin_ns < piece.end_ns).collect();
        pieces.reverse();
        pieces
    }
}

/// A moment is slept through once, though its waker waited for several things then: for the one
/// that began first.
fn one_after_another(mut pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.sort_by_key(|piece| piece.begin_ns);
    let mut until_ns = i64::MIN;
    for piece in &mut pieces {
        piece.begin_ns = piece.begin_ns.max(until_ns);
        until_ns = until_ns.max(piece.end_ns);
    }
    pieces.retain(|piece| piece.begin_ns < piece.end_ns);
    pieces
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
        let piece = |begin_ns, end_ns, root_ns, behind| Piece {
            begin_ns,
            end_ns,
            root_ns,
            class: CLASS,
            behind,
        };
        let expected = |behind| vec![piece(12, 20, 10, behind), piece(22, 30, 22, behind)];
        let told: Vec<_> = ended.iter().map(|(sleep, pieces)| (sleep.pid, pieces)).collect();
        assert_eq!(told, [(2, &expected(None)), (1, &expected(Some(3)))]);
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
    fn a_moment_is_slept_through_once() {
        let mut sleeps = Sleeps::default();
        [(0, 40), (10, 30), (20, 60)].into_iter().for_each(|span| sleeps.note(3, span, CLASS));
        sleeps.begin(sleep(1, (5, 70), 3));
        let ended = sleeps.end(70);
        let pieces = ended[0].1.iter().map(|piece| (piece.begin_ns, piece.end_ns));
        assert_eq!(pieces.collect::<Vec<_>>(), [(5, 40), (40, 60)]);
    }

    /// 1 and 2 asked while 3 wrote; then 2 wrote for both.
    #[test]
    fn who_slept_before_its_waker_did_slept_for_that_ones_waker() {
        let mut sleeps = Sleeps::default();
        sleeps.note(3, (0, 40), CLASS);
        sleeps.begin(sleep(2, (30, 40), 3));
        sleeps.end(40);
        sleeps.note(2, (41, 70), CLASS);
        sleeps.begin(sleep(1, (5, 70), 2));
        let ended = sleeps.end(70);
        let pieces = ended[0].1.iter().map(|piece| (piece.begin_ns, piece.end_ns));
        assert_eq!(pieces.collect::<Vec<_>>(), [(5, 30), (30, 40), (41, 70)]);
        // Nobody wrote before 2 did.
        sleeps.note(2, (100, 120), CLASS);
        sleeps.begin(sleep(1, (90, 120), 2));
        assert_eq!(sleeps.end(120)[0].1.len(), 1);
    }

    #[test]
    fn a_sleep_is_the_part_of_it_for_which_its_waker_waited_again_and_again() {
        let mut sleeps = Sleeps::default();
        let (pids, runs) = (vec![3, 4], vec![(0, 20), (40, 90)]);
        sleeps.note_many(ManyPieces { pids, until_ns: 100, runs, part: 0.5, class: CLASS });
        sleeps.begin(sleep(1, (10, 60), 4));
        sleeps.begin(sleep(2, (20, 40), 4));
        sleeps.begin(sleep(5, (10, 60), 6));
        let pieces = sleeps.end(60).into_iter().flat_map(|(sleep, pieces)| {
            pieces.into_iter().map(move |piece| (sleep.pid, piece.begin_ns, piece.end_ns))
        });
        assert_eq!(pieces.collect::<Vec<_>>(), [(1, 10, 25)]);
    }

    #[test]
    fn a_thread_has_its_last_waits() {
        let mut sleeps = Sleeps::default();
        (0..5000).for_each(|at| sleeps.note(3, (10 * at, 10 * at + 5), CLASS));
        sleeps.begin(sleep(1, (0, 50_000), 3));
        assert_eq!(sleeps.end(50_000)[0].1.len(), PIECES_MOST);
    }
}

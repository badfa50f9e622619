//! Whose lock a thread waits for: who held it when it was found taken; and where that one waited
//! for a lock itself for most of the time, who held that, and so on. It is a cascade of waits as in
//! wPerf (Zhou, Gan, Ma, Wang, OSDI 2018, section 3.2), along locks alone: what a holder waits for
//! besides is told of by whose requests are in flight (`super::disk`).
//!
//! And whose transaction a journal waits for: it is not committed as long as a thread holds it
//! open, whatever that waits for.
//!
//! Non-goals: locks held by several, of which the kernel does not know by whom.

use model::record::{Wait, WaitKind};
use std::collections::BTreeMap;

/// A chain of locks is followed so far; further than this none was seen.
const LINKS_MOST: usize = 8;
/// Waits of all threads that are looked through for those of a holder.
const LOOKED_AT: usize = 1 << 12;

/// Who is to blame for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) pid: u32,
    /// Whether it waited meanwhile itself, for something else than a lock.
    pub(super) has_waited: bool,
}

/// The last holder in the chain that begins with a wait; none where the kernel told of none. All
/// `waits` are in the order of their begins.
pub(super) fn holder(wait: &Wait, waits: &[Wait]) -> Option<Holder> {
    let mut chain = vec![wait.pid];
    let mut pid = Some(wait.holder).filter(|pid| *pid != 0 && *pid != wait.pid)?;
    loop {
        let meanwhile = || of_thread(pid, wait, waits);
        let lock =
            meanwhile().find(|one| one.holder != 0 && together_ns(one, wait) * 2 > took(wait));
        chain.push(pid);
        match lock.map(|one| one.holder).filter(|next| !chain.contains(next)) {
            Some(next) if chain.len() <= LINKS_MOST => pid = next,
            _ => {
                let has_waited = meanwhile().any(|one| one.kind != WaitKind::Lock);
                return Some(Holder { pid: pid as u32, has_waited });
            }
        }
    }
}

/// Threads that hold a transaction open which a thread waits for, and wait meanwhile for something
/// else than the journal, for most of the time: the longest first, each with the file system of its
/// file, if that is known.
pub(super) fn holders_of_transaction(wait: &Wait, waits: &[Wait]) -> Vec<(u32, u64)> {
    let mut threads: BTreeMap<u64, (i64, u64)> = BTreeMap::new();
    let open = meanwhile(wait, waits).filter(|one| one.in_transaction != 0);
    for one in open.filter(|one| one.kind != WaitKind::Journal && one.pid != wait.pid) {
        let (sum_ns, file_system) = threads.entry(one.pid).or_default();
        *sum_ns += together_ns(one, wait);
        *file_system = one.file_system.max(*file_system);
    }
    let mut holders: Vec<_> =
        threads.into_iter().filter(|(_, (sum_ns, _))| sum_ns * 2 > took(wait)).collect();
    holders.sort_by_key(|(_, (sum_ns, _))| std::cmp::Reverse(*sum_ns));
    holders.into_iter().map(|(pid, (_, file_system))| (pid as u32, file_system)).collect()
}

/// The waits that went on within the time of one, the last first.
fn meanwhile<'w>(within: &Wait, waits: &'w [Wait]) -> impl Iterator<Item = &'w Wait> {
    let begun = waits.partition_point(|one| one.begin_ns < within.end_ns);
    let (from_ns, earlier) = (within.begin_ns, waits.get(..begun).unwrap_or_default());
    earlier.iter().rev().take(LOOKED_AT).filter(move |one| one.end_ns > from_ns)
}

/// The waits of a thread that went on within the time of one, the last first.
fn of_thread<'w>(pid: u64, within: &Wait, waits: &'w [Wait]) -> impl Iterator<Item = &'w Wait> {
    meanwhile(within, waits).filter(move |one| one.pid == pid)
}

fn took(wait: &Wait) -> i64 {
    wait.end_ns - wait.begin_ns
}

fn together_ns(one: &Wait, other: &Wait) -> i64 {
    one.end_ns.min(other.end_ns) - one.begin_ns.max(other.begin_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(pid: u64, (begin_ns, end_ns): (i64, i64), holder: u64) -> Wait {
        Wait { kind: WaitKind::Lock, pid, begin_ns, end_ns, holder, ..Wait::default() }
    }

    fn journal(pid: u64, time: (i64, i64)) -> Wait {
        Wait { kind: WaitKind::Journal, ..lock(pid, time, 0) }
    }

    #[test]
    fn a_transaction_is_held_open_by_who_waits_for_something_else_in_it() {
        let victim = journal(1, (10, 20));
        let within = |pid, kind, time| Wait { kind, in_transaction: 1, ..lock(pid, time, 0) };
        let of = |other: Wait| {
            let waits = [other, victim.clone()];
            holders_of_transaction(&victim, &waits).iter().map(|(pid, _)| *pid).collect::<Vec<_>>()
        };
        assert_eq!(of(within(2, WaitKind::Request, (0, 19))), [2]);
        assert!(of(within(2, WaitKind::Request, (0, 12))).is_empty(), "for a part of it");
        let both = [(0, 14), (14, 19)].map(|time| within(2, WaitKind::Request, time));
        let both = [&both[..], std::slice::from_ref(&victim)].concat();
        assert_eq!(holders_of_transaction(&victim, &both), [(2, 0)], "in two waits");
        assert!(of(within(2, WaitKind::Journal, (0, 19))).is_empty(), "a victim, too");
        assert!(of(lock(2, (0, 19), 0)).is_empty());
    }

    #[test]
    fn a_lock_is_its_holders_or_whose_lock_that_one_waits_for() {
        let of = |waits: &[Wait]| {
            let wait = waits.iter().find(|wait| wait.pid == 1).unwrap();
            holder(wait, waits).map(|holder| (holder.pid, holder.has_waited))
        };
        assert_eq!(of(&[lock(1, (10, 20), 0)]), None);
        assert_eq!(of(&[lock(1, (10, 20), 1)]), None, "its own");
        assert_eq!(of(&[lock(1, (10, 20), 2)]), Some((2, false)));
        assert_eq!(of(&[journal(2, (0, 10)), lock(1, (10, 20), 2)]), Some((2, false)), "before");
        assert_eq!(of(&[journal(2, (0, 12)), lock(1, (10, 20), 2)]), Some((2, true)));
        let chain = [lock(3, (4, 19), 4), lock(2, (5, 18), 3), lock(1, (10, 20), 2)];
        assert_eq!(of(&chain), Some((4, false)));
        let soon_over = [lock(2, (5, 12), 3), lock(1, (10, 20), 2)];
        assert_eq!(of(&soon_over), Some((2, false)), "it held its own for most of the time");
        let circle = [lock(2, (5, 18), 3), lock(3, (5, 18), 2), lock(1, (10, 20), 2)];
        assert_eq!(of(&circle), Some((3, false)), "whoever a circle is left at");
    }
}

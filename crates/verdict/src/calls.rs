//! What a call waits for, part by part, from its begin to its end: its own data, the journal's
//! commit until it begins, the commit with the flush before its last block, that block and the
//! flush after it, a flush of the call's own, and the rest. The parts sum to the call.
//!
//! The commit is the one of the transaction that the file's last change is in
//! ([`model::record::Call::transaction`]); with fast commits the call may have waited for less.
//!
//! Source: fs/ext4/fsync.c (ext4_sync_file), fs/jbd2/commit.c, block/blk-flush.c of Linux 6.18.
//!
//! Non-goals: the parts of calls whose file system tells no commits.

use crate::merge::merged;
use model::record::{Call, FileKind, JournalCommit, Op, Request};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The parts in their order.
pub(crate) const PARTS: [&str; 8] = [
    "call_data_ns",
    "call_commit_wait_ns",
    "call_commit_ns",
    "call_preflush_ns",
    "call_commit_block_ns",
    "call_postflush_ns",
    "call_flush_ns",
    "call_rest_ns",
];
const DATA: usize = 0;
const COMMIT_WAIT: usize = 1;
const COMMIT: usize = 2;
const PREFLUSH: usize = 3;
const BLOCK: usize = 4;
const POSTFLUSH: usize = 5;
const FLUSH: usize = 6;
const REST: usize = 7;

/// In ns.
type Parts = [i64; PARTS.len()];

/// From when to when.
type Span = (i64, i64);

/// What calls of a kind have in common.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) calls: u64,
    pub(crate) parts_ns: Parts,
    /// Calls that a commit served.
    pub(crate) by_commit: u64,
    /// Commits that served calls of this span alone, and those that others can have waited for.
    within: u64,
    across: BTreeSet<Commit>,
}

/// A commit, by its file system and transaction.
type Commit = (u64, u64);

merged!(Served { calls, parts_ns, by_commit, within, across });

impl Served {
    /// Commits that served calls.
    pub(crate) fn commits(&self) -> u64 {
        self.within + self.across.len() as u64
    }
}

/// Commits by themselves, to be found.
pub(crate) type Commits = HashMap<Commit, JournalCommit>;

/// The same by what each is called.
pub(crate) fn by_number(commits: Vec<JournalCommit>) -> Commits {
    let number = |commit: &JournalCommit| (commit.file_system, commit.transaction);
    commits.into_iter().map(|commit| (number(&commit), commit)).collect()
}

/// What the requests of a trace tell of calls.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// Of journals: steps of the sequence that ends a commit, by file system, in order.
    sequences: HashMap<u64, Vec<(Span, usize)>>,
    /// The last sequence of a file system whose block was seen.
    blocks: HashMap<u64, u64>,
    /// By call: until when its thread's own data was written, and its own flush.
    data_ns: HashMap<usize, i64>,
    flushes: HashMap<usize, Span>,
}

impl Steps {
    /// Takes a request; `call` is the one that its thread is in.
    pub(crate) fn add(&mut self, row: &Request, call: Option<usize>) {
        let (Some(begin_ns), Some(end_ns)) = (row.arrival_ns(), row.completed_ns) else { return };
        let journal = row.file.filter(|file| file.kind == FileKind::Journal);
        match (journal, row.parent_id) {
            (Some(file), Some(parent)) => {
                let file_system = u64::from(file.number.file_system);
                let step = match row.op {
                    Op::Flush if self.blocks.get(&file_system) == Some(&parent) => POSTFLUSH,
                    Op::Flush => PREFLUSH,
                    _ => {
                        self.blocks.insert(file_system, parent);
                        BLOCK
                    }
                };
                let steps = self.sequences.entry(file_system).or_default();
                steps.push(((begin_ns, end_ns), step));
            }
            (None, None) => {
                let Some(call) = call else { return };
                if row.op == Op::Flush {
                    self.flushes.insert(call, (begin_ns, end_ns));
                } else {
                    let data_ns = self.data_ns.entry(call).or_insert(end_ns);
                    *data_ns = end_ns.max(*data_ns);
                }
            }
            _ => {}
        }
    }

    /// The parts of all calls, by what `group` says of each; `is_within` of commits whether calls
    /// of other spans cannot have waited for them.
    pub(crate) fn served<K: Ord + Copy>(
        &mut self,
        calls: &[Call],
        commits: &Commits,
        is_within: &dyn Fn(&JournalCommit) -> bool,
        mut group: impl FnMut(&Call) -> Option<K>,
    ) -> BTreeMap<K, Served> {
        self.sequences.values_mut().for_each(|steps| steps.sort_unstable());
        let mut all: BTreeMap<K, Served> = BTreeMap::new();
        let mut within: BTreeSet<(K, Commit)> = BTreeSet::new();
        for (number, call) in calls.iter().enumerate() {
            let (Some(group), Some(end_ns)) = (group(call), call.end_ns) else { continue };
            let commit = call.transaction.and_then(|of| commits.get(&(call.file_system, of)));
            // One that ended before was no part of the wait.
            let commit =
                commit.filter(|commit| commit.ended_ns.is_none_or(|ns| ns > call.begin_ns));
            let commit = commit.filter(|commit| commit.started_ns < end_ns);
            let served = all.entry(group).or_default();
            served.calls += 1;
            served.by_commit += u64::from(commit.is_some());
            if let Some(commit) = commit {
                let key = (commit.file_system, commit.transaction);
                match is_within(commit) {
                    true => served.within += u64::from(within.insert((group, key))),
                    false => {
                        served.across.insert(key);
                    }
                }
            }
            let parts = self.parts(number, (call.begin_ns, end_ns), call.file_system, commit);
            served.parts_ns.iter_mut().zip(parts).for_each(|(sum, ns)| *sum += ns);
        }
        all
    }

    fn parts(
        &self,
        call: usize,
        (begin_ns, end_ns): Span,
        file_system: u64,
        commit: Option<&JournalCommit>,
    ) -> Parts {
        let mut parts = Parts::default();
        let data_ns = self.data_ns.get(&call).copied().unwrap_or(begin_ns);
        let mut now_ns = data_ns.clamp(begin_ns, end_ns);
        parts[DATA] = now_ns - begin_ns;
        if let Some(commit) = commit {
            let started_ns = commit.started_ns.clamp(now_ns, end_ns);
            parts[COMMIT_WAIT] = started_ns - now_ns;
            let ended_ns = commit.ended_ns.unwrap_or(end_ns).clamp(started_ns, end_ns);
            let within = (started_ns, ended_ns);
            let steps = self.sequences.get(&file_system).map_or(&[][..], Vec::as_slice);
            let first = steps.partition_point(|(span, _)| span.0 < commit.started_ns);
            let of_commit = steps[first..].iter().take_while(|(span, _)| span.0 < ended_ns);
            of_commit.for_each(|(span, step)| parts[*step] += overlap(*span, within));
            let known = parts[PREFLUSH] + parts[BLOCK] + parts[POSTFLUSH];
            parts[COMMIT] = ended_ns - started_ns - known;
            now_ns = ended_ns;
        }
        let flush = self.flushes.get(&call);
        parts[FLUSH] = flush.map_or(0, |span| overlap(*span, (now_ns, end_ns)));
        parts[REST] = end_ns - now_ns - parts[FLUSH];
        parts
    }
}

fn overlap(a: Span, b: Span) -> i64 {
    (a.1.min(b.1) - a.0.max(b.0)).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::Merge as _;
    use model::record::{FileKey, FileNumber};

    fn journal(op: Op, begin_ns: i64, end_ns: i64) -> Request {
        let file = FileKey {
            kind: FileKind::Journal,
            number: FileNumber { file_system: 9, ..FileNumber::default() },
        };
        Request { parent_id: Some(4), file: Some(file), ..own(op, begin_ns, end_ns) }
    }

    fn own(op: Op, begin_ns: i64, end_ns: i64) -> Request {
        let (queued_ns, completed_ns) = (Some(begin_ns), Some(end_ns));
        Request { op, queued_ns, completed_ns, ..Request::default() }
    }

    #[test]
    fn a_call_divides_from_its_data_to_its_commits_last_flush() {
        let mut steps = Steps::default();
        steps.add(&own(Op::Write, 5, 20), Some(0));
        for (op, begin_ns, end_ns) in
            [(Op::Flush, 40, 50), (Op::Write, 50, 53), (Op::Flush, 53, 80)]
        {
            steps.add(&journal(op, begin_ns, end_ns), None);
        }
        steps.add(&own(Op::Flush, 120, 150), Some(2));
        let call = |begin_ns, end_ns, transaction| Call {
            file_system: 9,
            begin_ns,
            end_ns: Some(end_ns),
            transaction: Some(transaction),
            ..Call::default()
        };
        let calls = [call(0, 90, 7), call(45, 85, 7), call(110, 155, 6)];
        let commit = JournalCommit {
            file_system: 9,
            transaction: 7,
            started_ns: 30,
            ended_ns: Some(82),
            ..JournalCommit::default()
        };
        let commits = by_number(vec![commit]);
        let served = steps.served(&calls, &commits, &|_| true, |call| Some(call.begin_ns));
        let parts: Vec<Parts> = served.values().map(|served| served.parts_ns).collect();
        assert_eq!(parts[0], [20, 10, 12, 10, 3, 27, 0, 8]);
        // Who comes while it goes on has the rest of it.
        assert_eq!(parts[1], [0, 0, 2, 5, 3, 27, 0, 3]);
        assert_eq!(parts[2], [0, 0, 0, 0, 0, 0, 30, 15]);
        for (parts, call) in parts.iter().zip(&calls) {
            assert_eq!(parts.iter().sum::<i64>(), call.end_ns.unwrap() - call.begin_ns);
        }
        let mut all = steps.served(&calls, &commits, &|_| false, |_| Some(()))[&()].clone();
        assert_eq!((all.calls, all.by_commit, all.commits()), (3, 2, 1));
        let later = steps.served(&calls[1..2], &commits, &|_| false, |_| Some(()));
        all.merge(later[&()].clone());
        assert_eq!((all.calls, all.by_commit, all.commits()), (4, 3, 1), "of both, and one");
    }
}

//! A program's bulk writes beside its commits: a database that rewrites a table, compacts, or
//! writes a checkpoint makes its own commits wait, and is not calm because others are idle.
//!
//! The rule. A program *commits* to a file if it makes it durable 20 times, and writes at most
//! 256 KiB of it for each of these calls. Another file of such a program is written *in bulk*
//! if at least 16 MiB of it were written, and for each call at least 128 KiB, and eight times
//! as much as for a commit to the file that it commits to most often. What is written of files
//! in bulk, and the calls for them, are a role of their own: `mariadbd: bulk writes`.
//!
//! Segments of one log are one file here: in a storm each has fewer and larger commits. Who
//! writes a table anew logs that, too, with the commits of others: of a program that writes in
//! bulk, so are its commits of 128 KiB and more, though it is the commits that wait for them.
//! Where these come to 16 MiB, and others are of 16 KiB at the most, it writes in bulk, even if
//! only its log tells.
//!
//! Of requests that only have sums (`record --slower-than`), those of several files are of none of
//! them: less may be known of a file than was written.
//!
//! Non-goals: which thread it is: what it writes, the kernel and other threads send on.

use super::RoleId;
use hashbrown::HashMap;
use model::record::{FileNumber, LARGE_WRITE_BYTES};

/// So much is bulk, in bytes: of a file, and for each call; and so many commits for each call.
const BULK: u64 = 16 << 20;
const BULK_OF_CALL: u64 = 128 << 10;
const BULK_OF_COMMIT: u64 = 8;
/// A large write of a log is of more than commits, where these are of so many bytes at the most.
const SMALL_COMMIT: u64 = 16 << 10;
/// So many calls are commits, and so many bytes each, at the most.
const COMMITS: u64 = 20;
const OF_COMMIT: u64 = 256 << 10;

/// What is known of a file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Written {
    /// Bytes, those of large writes, and calls for it.
    pub(crate) bytes: u64,
    pub(crate) large_bytes: u64,
    pub(crate) calls: u64,
}

impl std::ops::AddAssign for Written {
    fn add_assign(&mut self, more: Self) {
        self.bytes += more.bytes;
        self.large_bytes += more.large_bytes;
        self.calls += more.calls;
    }
}

impl Written {
    fn of_call(self) -> u64 {
        self.bytes / self.calls.max(1)
    }

    fn is_bulk_beside(self, commits: Self) -> bool {
        let least = BULK_OF_CALL.max(BULK_OF_COMMIT * commits.of_call());
        self.bytes >= BULK && self.of_call() >= least
    }

    fn are_commits(self) -> bool {
        self.calls >= COMMITS && self.of_call() <= OF_COMMIT
    }

    fn are_commits_with_bulk(self) -> bool {
        let small_bytes = self.bytes.saturating_sub(self.large_bytes);
        self.large_bytes >= BULK && small_bytes / self.calls.max(1) <= SMALL_COMMIT
    }
}

/// What a program does with a file, where it is told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// It writes the file in bulk, and commits to another one.
    Bulk,
    /// It commits to it.
    Commits,
    /// It commits to it, and writes in bulk, which is logged there, too.
    CommitsWithBulk,
}

impl Work {
    /// Whether its program writes in bulk.
    pub(crate) fn tells_bulk(self) -> bool {
        self != Self::Commits
    }
}

/// Of a file to which its owner commits: who that is, and the role that its bulk writes are, if
/// any. Of a file that is written in bulk: the owner, and that role.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Worked {
    pub(crate) owner: RoleId,
    pub(crate) bulk: Option<RoleId>,
    pub(crate) work: Work,
}

impl Worked {
    /// The role that a request of the file is of, which is the owner's.
    pub(crate) fn role(self) -> RoleId {
        match (self.work, self.bulk) {
            (Work::Bulk, Some(bulk)) => bulk,
            _ => self.owner,
        }
    }

    /// Whether commits of so many bytes are comparable with others: those wait for bulk, too.
    pub(crate) fn are_alike(self, bytes: u32) -> bool {
        self.work != Work::Bulk && (self.bulk.is_some() || bytes < LARGE_WRITE_BYTES)
    }

    /// The role whose doing a write of so many bytes is.
    pub(crate) fn doer(self, bytes: u32) -> RoleId {
        let is_large = bytes >= LARGE_WRITE_BYTES;
        self.bulk.filter(|_| self.work == Work::Bulk || is_large).unwrap_or(self.owner)
    }
}

/// What the role is called that a role's bulk writes are.
pub(crate) fn name(role: &str) -> String {
    format!("{role}: bulk writes")
}

/// The program whose bulk writes a role is, or the role itself.
pub(crate) fn program(role: &str) -> &str {
    program_if_bulk(role).unwrap_or(role)
}

/// The program whose bulk writes a role is.
pub(crate) fn program_if_bulk(role: &str) -> Option<&str> {
    role.strip_suffix(": bulk writes")
}

/// Files of one name, of one role, are judged by their sums.
pub(crate) fn unite(
    all: &mut HashMap<FileNumber, (RoleId, Written)>,
    named: &HashMap<FileNumber, (RoleId, String)>,
) {
    let mut sums: HashMap<&(RoleId, String), Written> = HashMap::new();
    for (number, (_, file)) in &*all {
        let Some(name) = named.get(number) else { continue };
        let sum = sums.entry(name).or_default();
        *sum += *file;
    }
    for (number, (_, file)) in all {
        *file = named.get(number).and_then(|name| sums.get(name)).copied().unwrap_or(*file);
    }
}

/// Leaves the files of those out who commit to none of them.
pub(crate) fn retain_candidates(all: &mut HashMap<FileNumber, (RoleId, Written)>) {
    let mut calls: HashMap<RoleId, u64> = HashMap::new();
    for (role, file) in all.values() {
        *calls.entry(*role).or_default() += file.calls;
    }
    all.retain(|_, (role, _)| calls.get(&*role).is_some_and(|calls| *calls >= COMMITS));
}

/// The files to which their owners commit, and that they write in bulk beside that.
pub(crate) fn files(
    all: &HashMap<FileNumber, (RoleId, Written)>,
) -> Vec<(FileNumber, RoleId, Work)> {
    let mut most: HashMap<RoleId, Written> = HashMap::new();
    for (role, file) in all.values().filter(|(_, file)| file.are_commits()) {
        let known = most.entry(*role).or_insert(*file);
        // Of as many, the smaller ones, in whatever order they come.
        let often = |of: &Written| (of.calls, std::cmp::Reverse(of.bytes));
        *known = std::cmp::max_by_key(*known, *file, often);
    }
    let work = |role: &RoleId, file: &Written| {
        let commits = most.get(role)?;
        let is_bulk = file.is_bulk_beside(*commits);
        match file.are_commits() {
            _ if is_bulk => Some(Work::Bulk),
            true if file.are_commits_with_bulk() => Some(Work::CommitsWithBulk),
            are_commits => are_commits.then_some(Work::Commits),
        }
    };
    let found =
        all.iter().filter_map(|(number, (role, file))| Some((*number, *role, work(role, file)?)));
    let mut found: Vec<_> = found.collect();
    // In an order that depends on nothing but the files.
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATABASE: RoleId = RoleId(1);
    const COPIER: RoleId = RoleId(2);

    fn number(inode: u64) -> FileNumber {
        FileNumber { file_system: 1, inode, generation: 0 }
    }

    /// A file of so many KiB, and calls for it.
    fn file(inode: u64, role: RoleId, kib: u64, calls: u64) -> (FileNumber, (RoleId, Written)) {
        (number(inode), (role, Written { bytes: kib << 10, large_bytes: 0, calls }))
    }

    fn in_bulk(all: &HashMap<FileNumber, (RoleId, Written)>) -> Vec<u64> {
        let bulk = files(all).into_iter().filter(|(_, _, work)| *work == Work::Bulk);
        bulk.map(|(file, ..)| file.inode).collect()
    }

    #[test]
    fn bulk_is_told_apart_where_its_program_commits_too() {
        let all = HashMap::from([
            file(1, DATABASE, 1 << 10, 500),
            file(2, DATABASE, 120 << 10, 1),
            file(3, DATABASE, 64 << 10, 600),
            file(4, DATABASE, 15 << 10, 0),
            file(5, COPIER, 900 << 10, 1),
        ]);
        assert_eq!(in_bulk(&all), [2]);
        let commits = (number(1), DATABASE, Work::Commits);
        assert_eq!(files(&all)[0], commits);
        // A log of which large pieces are made durable is no commit.
        let all = HashMap::from([file(1, COPIER, 500 << 10, 500), file(2, COPIER, 900 << 10, 1)]);
        assert_eq!(files(&all), []);
    }

    #[test]
    fn a_table_that_is_extended_by_many_calls_is_bulk_beside_smaller_commits() {
        // MariaDB 10.11, ALTER TABLE: bytes and calls of ib_logfile0 and of the new table.
        let log = file(1, DATABASE, 100_000, 5220);
        let table = file(2, DATABASE, 68_064, 188);
        assert_eq!(in_bulk(&HashMap::from([log, table])), [2]);
        // As large as its commits are, it is one of two logs.
        let log = file(1, DATABASE, 60_000, 400);
        assert_eq!(in_bulk(&HashMap::from([log, table])), [0; 0]);
    }

    #[test]
    fn a_log_with_many_large_writes_beside_small_commits_tells_of_bulk() {
        let work = |mib: u64, large_mib: u64, calls| {
            let of = Written { bytes: mib << 20, large_bytes: large_mib << 20, calls };
            files(&HashMap::from([(number(1), (DATABASE, of))]))[0].2
        };
        assert_eq!(work(60, 50, 5000), Work::CommitsWithBulk);
        assert_eq!(work(60, 15, 5000), Work::Commits, "that is little");
        assert_eq!(work(60, 50, 500), Work::Commits, "each commit is large");
    }

    #[test]
    fn segments_of_a_log_are_judged_together() {
        let mut all =
            HashMap::from([file(1, DATABASE, 16 << 10, 4000), file(2, DATABASE, 16 << 10, 8)]);
        assert_eq!(in_bulk(&all), [2], "each by itself");
        let named = [1, 2].map(|inode| (number(inode), (DATABASE, "pg_wal/*".to_owned())));
        unite(&mut all, &HashMap::from(named));
        assert_eq!(in_bulk(&all), [0; 0]);
    }
}

//! A program's bulk writes beside its commits: a database that rewrites a table, compacts, or
//! writes a checkpoint makes its own commits wait, and is not calm because others are idle.
//!
//! The rule. A file is written *in bulk* if at least 16 MiB of it were written, and at least 1 MiB
//! for each call that made it durable. A program *commits* if it calls 20 times for another file,
//! of which at most 256 KiB were written for each call. Of a program that does both, what it writes
//! of the files in bulk, and its calls for them, are a role of their own: `mariadbd: bulk writes`.
//!
//! Segments of one log are one file here: in a storm each has fewer and larger commits.
//!
//! Of requests that only have sums (`record --slower-than`), those of several files are of none of
//! them: less may be known of a file than was written.
//!
//! Non-goals: which thread it is: what it writes, the kernel and other threads send on.

use super::RoleId;
use hashbrown::HashMap;
use model::record::FileNumber;

/// So much is bulk, in bytes: of a file, and for each call.
const BULK: u64 = 16 << 20;
const BULK_OF_CALL: u64 = 1 << 20;
/// So many calls are commits, and so many bytes each, at the most.
const COMMITS: u64 = 20;
const OF_COMMIT: u64 = 256 << 10;

/// What is known of a file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Written {
    /// Bytes, and calls for it.
    pub(crate) bytes: u64,
    pub(crate) calls: u64,
}

impl Written {
    fn is_bulk(self) -> bool {
        self.bytes >= BULK && self.bytes / self.calls.max(1) >= BULK_OF_CALL
    }

    fn are_commits(self) -> bool {
        self.calls >= COMMITS && self.bytes / self.calls <= OF_COMMIT
    }
}

/// What the role is called that a role's bulk writes are.
pub(crate) fn name(role: &str) -> String {
    format!("{role}: bulk writes")
}

/// The program whose bulk writes a role is, or the role itself.
pub(crate) fn program(role: &str) -> &str {
    role.strip_suffix(": bulk writes").unwrap_or(role)
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
        (sum.bytes, sum.calls) = (sum.bytes + file.bytes, sum.calls + file.calls);
    }
    for (number, (_, file)) in all {
        *file = named.get(number).and_then(|name| sums.get(name)).copied().unwrap_or(*file);
    }
}

/// Leaves the files of those out who have too little of all of them to do both.
pub(crate) fn retain_candidates(all: &mut HashMap<FileNumber, (RoleId, Written)>) {
    let mut sums: HashMap<RoleId, Written> = HashMap::new();
    for (role, file) in all.values() {
        let sum = sums.entry(*role).or_default();
        (sum.bytes, sum.calls) = (sum.bytes + file.bytes, sum.calls + file.calls);
    }
    let has_both = |of: &Written| of.bytes >= BULK && of.calls >= COMMITS;
    all.retain(|_, (role, _)| sums.get(&*role).is_some_and(has_both));
}

/// The files that their owners write in bulk beside commits, with these.
pub(crate) fn files(
    all: &HashMap<FileNumber, (RoleId, Written)>,
) -> impl Iterator<Item = (FileNumber, RoleId)> {
    let commits = |role: RoleId| all.values().any(|(of, file)| *of == role && file.are_commits());
    let mut does: HashMap<RoleId, bool> = HashMap::new();
    let mut found: Vec<(FileNumber, RoleId)> = Vec::new();
    for (number, (role, _)) in all.iter().filter(|(_, (_, file))| file.is_bulk()) {
        if *does.entry(*role).or_insert_with(|| commits(*role)) {
            found.push((*number, *role));
        }
    }
    // In an order that depends on nothing but the files.
    found.sort_unstable();
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bulk_is_told_apart_where_its_program_commits_too() {
        let number = |inode| FileNumber { file_system: 1, inode, generation: 0 };
        let (database, copier) = (RoleId(1), RoleId(2));
        let file = |inode, role, mib: u64, calls| {
            (number(inode), (role, Written { bytes: mib << 20, calls }))
        };
        let all = HashMap::from([
            file(1, database, 1, 500),
            file(2, database, 120, 1),
            file(3, database, 64, 100),
            file(4, database, 15, 0),
            file(5, copier, 900, 1),
        ]);
        assert_eq!(files(&all).collect::<Vec<_>>(), [(number(2), database)]);
        // A log of which large pieces are made durable is no commit.
        let all = HashMap::from([file(1, copier, 500, 500), file(2, copier, 900, 1)]);
        assert_eq!(files(&all).count(), 0);
    }

    #[test]
    fn segments_of_a_log_are_judged_together() {
        let number = |inode| FileNumber { file_system: 1, inode, generation: 0 };
        let server = RoleId(1);
        let of = |calls| (server, Written { bytes: 16 << 20, calls });
        let mut all = HashMap::from([(number(1), of(400)), (number(2), of(8))]);
        assert_eq!(files(&all).collect::<Vec<_>>(), [(number(2), server)], "each by itself");
        let named = [1, 2].map(|inode| (number(inode), (server, "pg_wal/*".to_owned())));
        unite(&mut all, &HashMap::from(named));
        assert_eq!(files(&all).count(), 0);
    }
}

//! The journal of metadata: one transaction runs and takes all changes, one is being committed
//! (`fs/jbd2/commit.c`). A commit writes a few blocks, makes them durable, and then its last block.
//!
//! Non-goals: how much a transaction holds (overwritten files change their inodes alone), writing
//! the blocks to their own places later.

/// A descriptor, and blocks of inodes.
const BLOCKS_BYTES: u64 = 3 * 4096;
/// The commit record.
const RECORD_BYTES: u64 = 4096;
/// The journal.
#[derive(Debug, Clone, Default)]
pub(super) struct Journal {
    place_bytes: (u64, u64),
    next_bytes: u64,
    /// A transaction is committed after so long, whatever is requested.
    pub(super) age_most_ns: u64,
    /// The transaction that takes changes, and since when it has any, ns.
    pub(super) running: u64,
    pub(super) since_ns: Option<u64>,
    /// The last that is durable, and the last that somebody wants to be.
    pub(super) committed: u64,
    pub(super) requested: u64,
    pub(super) is_committing: bool,
}

impl Journal {
    pub(super) fn new(place_bytes: (u64, u64)) -> Self {
        Self { place_bytes, age_most_ns: u64::MAX, running: 1, ..Self::default() }
    }

    /// Something is changed; returns the transaction that it belongs to: the one numbered 0, which
    /// is durable, where there is no journal.
    pub(super) fn change(&mut self, now_ns: u64) -> u64 {
        if self.place_bytes.1 == 0 {
            return 0;
        }
        self.since_ns.get_or_insert(now_ns);
        self.running
    }

    /// When the transaction that runs is old enough.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.since_ns
            .filter(|_| !self.is_committing)
            .map(|at_ns| at_ns.saturating_add(self.age_most_ns))
    }

    /// Whether a commit is to begin.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        let is_old = self.next_ns().is_some_and(|at_ns| at_ns <= now_ns);
        let is_wanted = self.requested > self.committed || is_old;
        !self.is_committing && self.since_ns.is_some() && is_wanted
    }

    /// A commit begins: changes go to the next transaction. Returns where its blocks and its last
    /// block lie.
    pub(super) fn begin(&mut self) -> [(u64, u64); 2] {
        (self.is_committing, self.since_ns) = (true, None);
        self.running += 1;
        let (first_bytes, length_bytes) = self.place_bytes;
        if self.next_bytes + BLOCKS_BYTES + RECORD_BYTES > length_bytes {
            self.next_bytes = 0;
        }
        let blocks = (first_bytes + self.next_bytes, BLOCKS_BYTES);
        let record = (blocks.0 + BLOCKS_BYTES, RECORD_BYTES);
        self.next_bytes += BLOCKS_BYTES + RECORD_BYTES;
        [blocks, record]
    }

    /// The commit is durable.
    pub(super) fn end(&mut self) {
        self.is_committing = false;
        self.committed = self.running - 1;
    }
}

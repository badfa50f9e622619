//! For how long some thread waited for a request, as far as its waits are known: what the kernel
//! counts by itself as pressure (`some` of /proc/pressure/io), to be held against it.
//!
//! Non-goals: who waited, and for whom.

/// Waits of threads without a request, of which it is not known for which device they were: they
/// are nobody's loss, and no all-clear.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Unplaced {
    pub(super) count: u64,
    pub(super) sum_ns: i64,
}

/// The union of waits, which come in the order of their begins.
#[derive(Debug, Default)]
pub(super) struct Stalled {
    until_ns: Option<i64>,
    pub(super) sum_ns: i64,
}

impl Stalled {
    #[inline]
    pub(super) fn add(&mut self, begin_ns: i64, end_ns: i64) {
        let from_ns = self.until_ns.map_or(begin_ns, |until_ns| until_ns.max(begin_ns));
        self.sum_ns += end_ns.saturating_sub(from_ns).max(0);
        self.until_ns = self.until_ns.max(Some(end_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_at_once_counts_once() {
        let mut stalled = Stalled::default();
        let waits = [(0, 10), (5, 8), (7, 15), (20, 21), (21, 30)];
        waits.iter().for_each(|(from, to)| stalled.add(*from, *to));
        assert_eq!(stalled.sum_ns, 15 + 10);
    }
}

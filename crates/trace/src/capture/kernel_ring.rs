//! The kernel's own ring buffer, where records cannot go into rings of ours (ring.h): its lock is
//! taken for each, and it hands them over in the order in which they got their places.
//!
//! Source: Documentation/bpf/ringbuf.rst (since Linux 5.8).
//!
//! Non-goals: what a record says; being woken.

use super::ring::{CELL_BYTES, RECORD_BYTES, RING_BYTES, Record, time_ns};
use aya::maps::{Array, MapData, RingBuf};

/// Two CPUs may read their clocks in another order than they got places, and one may be held up
/// between the two.
const MARGIN_NS: u64 = 1_000_000;

/// `struct ring` in words, and the two that count losses.
type Counts = [u64; RING_BYTES / 8];
const LOST: usize = super::ring::LOST / 8;

pub(super) struct KernelRing {
    ring: RingBuf<MapData>,
    counts: Array<MapData, Counts>,
    /// Read and not handed over, in the order of time once they are sorted.
    held: Vec<Record>,
}

shows!(KernelRing);

impl KernelRing {
    /// Of a ring and the array that counts what it had no space for.
    pub(super) fn new(ring: RingBuf<MapData>, counts: Array<MapData, Counts>) -> Self {
        Self { ring, counts, held: Vec::new() }
    }

    /// Its size for so many bytes: a power of two of pages.
    pub(super) fn bytes(wanted: u32) -> u32 {
        let page = u32::try_from(rustix::param::page_size()).unwrap_or(4096);
        wanted.clamp(page, 1 << 30).next_power_of_two()
    }

    /// What each CPU could not keep: records, and times of queueing.
    pub(super) fn lost(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter().filter_map(Result::ok).map(|counts| (counts[LOST], counts[LOST + 1]))
    }

    /// Hands over what is older than the margin before `until_ns`, or all if that is none, in the
    /// order of time; how many these are.
    /// Errors: what `each` returns; what it was given counts as read.
    pub(super) fn drain<E>(
        &mut self,
        until_ns: Option<u64>,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        while let Some(cell) = self.ring.next() {
            let record = cell.get(CELL_BYTES - RECORD_BYTES..).and_then(|rest| rest.first_chunk());
            self.held.extend(record.copied());
        }
        // They are nearly in order, of which this sort makes use.
        self.held.sort_by_key(time_ns);
        let until = until_ns.map_or(u64::MAX, |ns| ns.saturating_sub(MARGIN_NS));
        let ready = self.held.partition_point(|record| time_ns(record) <= until);
        let mut handed = 0;
        let mut refused = Ok(());
        for record in &self.held[..ready] {
            refused = each(record);
            handed += 1;
            if refused.is_err() {
                break;
            }
        }
        self.held.drain(..handed);
        refused.map(|()| handed as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_power_of_two_of_pages() {
        let page = rustix::param::page_size() as u32;
        assert_eq!(KernelRing::bytes(0), page);
        assert_eq!(KernelRing::bytes(16 << 20), 16 << 20);
        assert_eq!(KernelRing::bytes((16 << 20) + 1), 32 << 20);
        assert_eq!(KernelRing::bytes(u32::MAX), 1 << 30);
    }
}

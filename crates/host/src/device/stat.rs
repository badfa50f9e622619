//! The kernel's counters of one block device: `/sys/dev/block/M:m/stat`, as
//! Documentation/block/stat.rst tells them.

/// sysfs counts in these, whatever the device's own blocks are.
pub(super) const SECTOR_BYTES: u64 = 512;

/// Counters since the device appeared. Times are in the kernel's milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockStat {
    /// Reads completed.
    pub read_requests: u64,
    /// Reads merged into a neighbour before they were issued.
    pub read_merges: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Sum of the response times of reads.
    pub read_ms: u64,
    /// Writes completed.
    pub write_requests: u64,
    /// Writes merged into a neighbour.
    pub write_merges: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Sum of the response times of writes.
    pub write_ms: u64,
    /// Requests outstanding at this moment.
    pub in_flight: u64,
    /// Time during which something was outstanding.
    pub busy_ms: u64,
    /// The same, each moment weighted by how much was outstanding (field 11).
    pub in_flight_ms: u64,
    /// Discards completed; since Linux 4.18.
    pub discard_requests: Option<u64>,
    /// Bytes discarded; since Linux 4.18.
    pub discard_bytes: Option<u64>,
    /// Sum of the response times of discards; since Linux 4.18.
    pub discard_ms: Option<u64>,
    /// Flushes completed; since Linux 5.5.
    pub flush_requests: Option<u64>,
    /// Sum of the response times of flushes; since Linux 5.5.
    pub flush_ms: Option<u64>,
}

impl BlockStat {
    /// Reads the one line of the file; none when it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let fields: Option<Vec<u64>> =
            text.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
        let fields = fields?;
        let field = |number: usize| fields.get(number - 1).copied();
        let bytes = |sectors: u64| sectors.saturating_mul(SECTOR_BYTES);
        Some(Self {
            read_requests: field(1)?,
            read_merges: field(2)?,
            read_bytes: bytes(field(3)?),
            read_ms: field(4)?,
            write_requests: field(5)?,
            write_merges: field(6)?,
            write_bytes: bytes(field(7)?),
            write_ms: field(8)?,
            in_flight: field(9)?,
            busy_ms: field(10)?,
            in_flight_ms: field(11)?,
            discard_requests: field(12),
            discard_bytes: field(14).map(bytes),
            discard_ms: field(15),
            flush_requests: field(16),
            flush_ms: field(17),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_field_lands_in_its_place() {
        let stat = BlockStat::parse(" 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n").unwrap();
        assert_eq!((stat.read_requests, stat.read_merges, stat.read_ms), (1, 2, 4));
        assert_eq!((stat.read_bytes, stat.write_bytes), (3 * 512, 7 * 512));
        assert_eq!((stat.write_requests, stat.in_flight, stat.busy_ms), (5, 9, 10));
        assert_eq!((stat.in_flight_ms, stat.discard_bytes), (11, Some(14 * 512)));
        assert_eq!(stat.discard_ms, Some(15));
        assert_eq!((stat.flush_requests, stat.flush_ms), (Some(16), Some(17)));
    }

    #[test]
    fn an_old_kernel_has_no_flushes() {
        let stat = BlockStat::parse("1 2 3 4 5 6 7 8 9 10 11").unwrap();
        assert_eq!((stat.in_flight_ms, stat.flush_requests), (11, None));
        assert_eq!(BlockStat::parse("1 2 3"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = BlockStat::parse(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn no_numbers_panic(numbers in proptest::collection::vec(any::<u64>(), 0..20)) {
            let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
            prop_assert_eq!(BlockStat::parse(&words.join(" ")).is_some(), numbers.len() >= 11);
        }
    }
}

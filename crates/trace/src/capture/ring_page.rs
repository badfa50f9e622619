//! A page of the kernel's trace buffer as `trace_pipe_raw` hands it over: a time, a length, and
//! records whose times are differences.
//!
//! Source: events/header_page and header_event; include/linux/ring_buffer.h, `enum
//! ring_buffer_type`.
//!
//! Non-goals: what a record says.

/// The page's time, u64, then how much of it is used.
const HEADER_BYTES: usize = 16;
/// What of the second word is a length; above it are flags.
const LENGTH_MASK: u64 = (1 << 27) - 1;
/// How many bits of an entry's first word are its kind; the others are the time since the last one.
const KIND_BITS: u32 = 5;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// A longer difference has this many bits in the first word, and the others in the second.
const DELTA_BITS: u32 = 27;
/// A whole time stamp lacks its highest bits.
const STAMP_BITS: u32 = 59;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) time_ns: i64,
    pub(super) bytes: &'a [u8],
}

/// All records of a page; of one that is cut short those that are whole.
pub(super) fn records(page: &[u8]) -> impl Iterator<Item = Record<'_>> {
    let word = |at: usize| page.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes);
    let used = word(8).map_or(0, |length| (length & LENGTH_MASK) as usize);
    let rest = page.get(HEADER_BYTES..).unwrap_or_default();
    let mut entries =
        Entries { rest: &rest[..used.min(rest.len())], time_ns: word(0).unwrap_or(0) };
    std::iter::from_fn(move || entries.next_record())
}

struct Entries<'a> {
    rest: &'a [u8],
    time_ns: u64,
}

impl<'a> Entries<'a> {
    fn next_record(&mut self) -> Option<Record<'a>> {
        loop {
            let head = self.u32()?;
            let (kind, delta) = (head & ((1 << KIND_BITS) - 1), u64::from(head >> KIND_BITS));
            match kind {
                PADDING if delta == 0 => return None,
                PADDING => {
                    let length = self.u32()? as usize;
                    self.bytes(length.checked_sub(4)?)?;
                }
                TIME_EXTEND => {
                    let high = u64::from(self.u32()?) << DELTA_BITS;
                    self.advance(delta + high);
                }
                TIME_STAMP => {
                    let stamp = delta + (u64::from(self.u32()?) << DELTA_BITS);
                    self.time_ns = self.time_ns >> STAMP_BITS << STAMP_BITS | stamp;
                }
                _ => {
                    self.advance(delta);
                    let length = match kind {
                        0 => (self.u32()? as usize).checked_sub(4)?,
                        words => words as usize * 4,
                    };
                    let bytes = self.bytes(length)?;
                    return Some(Record { time_ns: self.time_ns as i64, bytes });
                }
            }
        }
    }

    fn advance(&mut self, delta: u64) {
        self.time_ns = self.time_ns.wrapping_add(delta);
    }

    fn u32(&mut self) -> Option<u32> {
        self.bytes(4)?.try_into().ok().map(u32::from_ne_bytes)
    }

    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(time_ns: u64, words: &[u32]) -> Vec<u8> {
        let mut page = time_ns.to_ne_bytes().to_vec();
        page.extend(((words.len() * 4) as u64 | 1 << 31).to_ne_bytes());
        words.iter().for_each(|word| page.extend(word.to_ne_bytes()));
        page.resize(4096, 0xee);
        page
    }

    fn entry(kind: u32, delta: u32) -> u32 {
        kind | delta << KIND_BITS
    }

    fn times(page: &[u8]) -> Vec<(i64, usize)> {
        records(page).map(|record| (record.time_ns, record.bytes.len())).collect()
    }

    #[test]
    fn times_add_up_and_lengths_are_of_both_kinds() {
        let words = [entry(2, 5), 1, 2, entry(0, 7), 12, 3, 4, entry(1, 1), 9];
        assert_eq!(times(&page(1_000, &words)), [(1_005, 8), (1_012, 8), (1_013, 4)]);
    }

    #[test]
    fn long_times_stamps_and_padding_are_passed_over() {
        let far = [entry(TIME_EXTEND, 3), 2, entry(1, 4), 9];
        assert_eq!(times(&page(10, &far)), [(10 + 3 + (2 << 27) + 4, 4)]);
        let stamp = [entry(TIME_STAMP, 6), 1, entry(1, 1), 9];
        assert_eq!(times(&page(1 << 60, &stamp)), [((1 << 60) + 6 + (1 << 27) + 1, 4)]);
        let discarded = [entry(PADDING, 1), 8, 7, entry(1, 2), 9];
        assert_eq!(times(&page(10, &discarded)), [(12, 4)]);
        let end = [entry(1, 2), 9, entry(PADDING, 0), 0, entry(1, 2), 9];
        assert_eq!(times(&page(10, &end)), [(12, 4)]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for record in records(&bytes) {
                prop_assert!(record.bytes.len() <= bytes.len());
            }
        }
    }
}

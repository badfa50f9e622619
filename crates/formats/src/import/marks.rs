//! Where bytes are in a text, many of them looked at together: the ends of lines, separators of
//! fields, blanks between words. What is found costs nearly the same whatever the lengths are.

use wide::u8x16;

/// So many bytes are looked at together.
pub(super) const BLOCK: usize = u64::BITS as usize;

/// A bit for each byte of a text's first 64 that is the one looked for.
#[inline]
pub(super) fn marks(text: &[u8], byte: u8) -> u64 {
    marks_of(text, |sixteen| sixteen.simd_eq(u8x16::splat(byte)))
}

/// A bit for each byte of a text's first 64 that is a blank.
#[inline]
pub(super) fn blanks(text: &[u8]) -> u64 {
    let is = |sixteen: u8x16, byte| sixteen.simd_eq(u8x16::splat(byte));
    marks_of(text, |sixteen| is(sixteen, b' ') | is(sixteen, b'\t'))
}

#[inline(always)]
fn marks_of(text: &[u8], is_it: impl Fn(u8x16) -> u8x16) -> u64 {
    let of = |sixteen: &[u8; 16]| u64::from(is_it(u8x16::from(*sixteen)).to_bitmask());
    let all = |sixteens: &[[u8; 16]]| sixteens.iter().rev().fold(0, |all, s| all << 16 | of(s));
    if let Some(block) = text.first_chunk::<BLOCK>() {
        return all(block.as_chunks().0);
    }
    match text.last_chunk() {
        Some(last) => all(text.as_chunks().0) | of(last) << (text.len() - last.len()),
        None => {
            let mut padded = [0; 16];
            padded.iter_mut().zip(text).for_each(|(to, byte)| *to = *byte);
            of(&padded) & !(u64::MAX << text.len())
        }
    }
}

/// The high bit of each byte that is the one looked for (exactly: no carry goes from byte to byte).
#[inline]
fn places(eight: u64, byte: u8) -> u64 {
    const LOW: u64 = u64::from_ne_bytes([0x7f; 8]);
    let differing = eight ^ u64::from_ne_bytes([byte; 8]);
    !(((differing & LOW) + LOW) | differing | LOW)
}

/// Where a byte first is in a few.
#[inline]
pub(super) fn find(text: &[u8], byte: u8) -> Option<usize> {
    let (eights, rest) = text.as_chunks::<8>();
    for (number, eight) in eights.iter().enumerate() {
        let found = places(u64::from_le_bytes(*eight), byte);
        if found != 0 {
            return Some(8 * number + (found.trailing_zeros() / 8) as usize);
        }
    }
    let found = rest.iter().position(|other| *other == byte);
    found.map(|place| 8 * eights.len() + place)
}

/// All places of a byte in a text, in their order. Lines are so short that to begin a search anew
/// for each would cost as much as the search.
#[derive(Debug)]
pub(super) struct Places<'a> {
    byte: u8,
    /// What was not looked at.
    rest: &'a [u8],
    /// Where the bytes lie that were looked at last, and which of them are to come.
    begin: usize,
    marks: u64,
}

impl<'a> Places<'a> {
    #[inline]
    pub(super) fn of(text: &'a [u8], byte: u8) -> Self {
        let (block, rest) = text.split_at(text.len().min(BLOCK));
        Self { byte, rest, begin: 0, marks: marks(block, byte) }
    }
}

impl Iterator for Places<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.marks == 0 {
            if self.rest.is_empty() {
                return None;
            }
            let (block, rest) = self.rest.split_at(self.rest.len().min(BLOCK));
            (self.marks, self.rest) = (marks(block, self.byte), rest);
            self.begin += BLOCK;
        }
        let place = self.begin + self.marks.trailing_zeros() as usize;
        self.marks &= self.marks - 1;
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_found_is_all_there_is(
            text in prop::collection::vec(prop_oneof![Just(b','), Just(b' '), any::<u8>()], 0..200),
            byte: u8,
        ) {
            for byte in [byte, b',', text.last().copied().unwrap_or(0)] {
                let is_it = |other: &u8| *other == byte;
                prop_assert_eq!(find(&text, byte), text.iter().position(is_it));
                let all = text.iter().enumerate().filter(|(_, b)| is_it(b)).map(|(place, _)| place);
                let all: Vec<usize> = all.collect();
                prop_assert_eq!(Places::of(&text, byte).collect::<Vec<_>>(), all.clone());
                let first = all.iter().filter(|place| **place < BLOCK);
                let bits = first.fold(0u64, |bits, place| bits | 1 << place);
                prop_assert_eq!(marks(&text, byte), bits);
            }
            prop_assert_eq!(blanks(&text), marks(&text, b' ') | marks(&text, b'\t'));
        }
    }
}

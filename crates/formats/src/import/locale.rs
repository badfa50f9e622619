//! Numbers as people write them, which differs by country: `16,384.5`, `16.384,5`, `16 384,5`,
//! `16'384.5`.
//!
//! What the decimal mark is must be known; thousands may be set off by anything else that sets
//! thousands off, if three digits follow.

use super::parse::{append, power_of_ten};

/// What sets thousands off beside the two marks: blanks and apostrophes, as ASCII and UTF-8 have
/// them.
const BETWEEN_THOUSANDS: [&[u8]; 7] =
    [b".", b",", b" ", b"'", "\u{a0}".as_bytes(), "\u{202f}".as_bytes(), "\u{2019}".as_bytes()];

/// The decimal mark of a number that has decimals: the last mark in it.
pub(super) fn decimal_mark(number: &[u8]) -> Option<u8> {
    number.iter().copied().rfind(|byte| matches!(byte, b'.' | b','))
}

/// A number from zero as a count of units of 10^-`places`: `1.795,9` with 3 places and a comma as
/// the decimal mark is 1795900. Digits beyond are cut off.
#[inline]
pub(super) fn number(text: &[u8], places: u32, decimal: u8) -> Option<i64> {
    let mut sum: i64 = 0;
    // Digits since the last thousands' mark.
    let (mut since, mut is_grouped) = (0u32, false);
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            sum = sum.checked_mul(10)?.checked_add(i64::from(digit))?;
            since += 1;
            rest = after;
        } else if *byte == decimal {
            break;
        } else {
            if since == 0 || since > 3 || (is_grouped && since != 3) {
                return None;
            }
            rest = BETWEEN_THOUSANDS.iter().find_map(|mark| rest.strip_prefix(*mark))?;
            (since, is_grouped) = (0, true);
        }
    }
    if since == 0 || (is_grouped && since != 3) {
        return None;
    }
    let decimals = rest.get(1..).unwrap_or_default();
    let (kept, cut) = decimals.split_at(decimals.len().min(places as usize));
    if !cut.iter().all(u8::is_ascii_digit) {
        return None;
    }
    append(sum, kept)?.checked_mul(power_of_ten(places - kept.len() as u32)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_is_read_however_it_is_written() {
        for (text, decimal) in [
            ("16384.5", b'.'),
            ("16,384.5", b'.'),
            ("16.384,5", b','),
            ("16 384,500", b','),
            ("16\u{a0}384,5", b','),
            ("16\u{202f}384,5", b','),
            ("16'384.5", b'.'),
            ("16\u{2019}384.5", b'.'),
        ] {
            assert_eq!(number(text.as_bytes(), 3, decimal), Some(16_384_500), "{text}");
        }
        assert_eq!(number(b"44.167.680", 0, b','), Some(44_167_680));
        assert_eq!(number(b"1,079943800", 9, b','), Some(1_079_943_800));
    }

    #[test]
    fn a_wrong_decimal_mark_is_noticed() {
        for (text, decimal) in [
            ("1,079943800", b'.'),
            ("87,20", b'.'),
            ("1234,567", b'.'),
            ("1,23,456", b'.'),
            (",123", b'.'),
            ("1.5.0", b'.'),
            ("-1", b'.'),
            ("", b'.'),
            (".", b'.'),
            ("0x10", b'.'),
            ("99999999999", b'.'),
        ] {
            assert_eq!(number(text.as_bytes(), 9, decimal), None, "{text}");
        }
    }

    #[test]
    fn the_last_mark_is_the_decimal_one() {
        assert_eq!(decimal_mark(b"1.795,900"), Some(b','));
        assert_eq!(decimal_mark(b"1,795.900"), Some(b'.'));
        assert_eq!(decimal_mark(b"17"), None);
    }
}

//! Numbers and fields out of bytes: what formats of text share. All give none for what is not
//! exactly that.

use super::marks::{BLOCK, find, marks};
use model::record::Op;

/// Times that a guess takes for ns since 1970: from 2001 to 2065.
pub(super) const PLAUSIBLE_UNIX_NS: std::ops::Range<i64> =
    1_000_000_000_000_000_000..3_000_000_000_000_000_000;

/// As many digits cannot overflow.
const SAFE_DIGITS: usize = 18;

/// 10 to that power, if there is one.
#[inline]
pub(super) fn power_of_ten(places: u32) -> Option<i64> {
    const POWERS: [i64; SAFE_DIGITS + 1] = {
        let mut powers = [1; SAFE_DIGITS + 1];
        let mut place = 1;
        while place < powers.len() {
            powers[place] = powers[place - 1] * 10;
            place += 1;
        }
        powers
    };
    POWERS.get(places as usize).copied()
}

/// A number of digits only.
#[inline]
pub(super) fn unsigned(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    let (safe, rest) = text.split_at(text.len().min(SAFE_DIGITS));
    rest.iter().try_fold(at_most_18_digits(safe)?, |sum, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { sum.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// The number that the first so many bytes are.
#[inline]
pub(super) fn first_unsigned(text: &[u8], length: usize) -> Option<u64> {
    // Most are so short that one look at eight bytes tells, whatever is behind the number.
    match (text.first_chunk::<8>(), length) {
        (Some(eight), 1..8) => first_digits(u64::from_le_bytes(*eight), 8 * length as u32),
        _ => unsigned(text.get(..length)?),
    }
}

/// The value of so few digits that it cannot overflow; none is 0. The numbers of a column differ
/// little in length: most of them take the same path, which the processor predicts.
#[inline]
fn at_most_18_digits(text: &[u8]) -> Option<u64> {
    let Some((head, last)) = text.split_last_chunk::<8>() else {
        return if text.len() < 4 { few_digits(text) } else { eight_digits(last_of_eight(text)?) };
    };
    let head = match (head.split_last_chunk::<8>(), text.first_chunk::<8>()) {
        (Some((few, eight)), _) => few_digits(few)? * EIGHT_DIGITS + eight_of(eight)?,
        (None, first) => first_digits(u64::from_le_bytes(*first?), 8 * head.len() as u32)?,
    };
    Some(head * EIGHT_DIGITS + eight_of(last)?)
}

/// The same of fewer than four, of which each costs less by itself.
#[inline]
fn few_digits(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0, |sum, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit <= 9).then(|| sum * 10 + u64::from(digit))
    })
}

/// Four to seven bytes as the last of eight, with zeroes before them.
#[inline]
fn last_of_eight(text: &[u8]) -> Option<u64> {
    let (first, last) = (text.first_chunk::<4>()?, text.last_chunk::<4>()?);
    let bits = 8 * text.len() as u32;
    let first = u64::from(u32::from_le_bytes(*first)) << (64 - bits);
    Some(first | u64::from(u32::from_le_bytes(*last)) << 32 | ZEROES >> bits)
}

/// So many numbers have eight digits.
const EIGHT_DIGITS: u64 = 100_000_000;

/// The value of so many bits of fewer than eight digits, which become the last of eight.
#[inline]
fn first_digits(text: u64, bits: u32) -> Option<u64> {
    eight_digits(text << (63 - bits) << 1 | ZEROES >> bits)
}

#[inline]
fn eight_of(text: &[u8; 8]) -> Option<u64> {
    eight_digits(u64::from_le_bytes(*text))
}

const ZEROES: u64 = u64::from_ne_bytes([b'0'; 8]);

/// The value of eight digits, of which the first is the lowest byte: neighbours are put together to
/// pairs, fours and eights, all at once (the way of Lemire's fast_float).
#[inline]
fn eight_digits(text: u64) -> Option<u64> {
    // A byte below 0 borrows, and one above 9 carries, into its high half.
    let above = text.wrapping_add(u64::from_ne_bytes([0x46; 8]));
    let digits = text.wrapping_sub(ZEROES);
    if (above | digits) & u64::from_ne_bytes([0x80; 8]) != 0 {
        return None;
    }
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let odd = (pairs & 0xff_0000_00ff).wrapping_mul(100 + (1_000_000 << 32));
    let even = (pairs >> 16 & 0xff_0000_00ff).wrapping_mul(1 + (10_000 << 32));
    Some(odd.wrapping_add(even) >> 32)
}

/// The value of each byte as a hexadecimal digit, above 15 for one that is none.
const HEXADECIMAL: [u8; 256] = {
    let mut values = [0xff; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u8;
        values[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// A number of hexadecimal digits, with or without 0x.
#[inline]
pub(super) fn hexadecimal(text: &[u8]) -> Option<u64> {
    let text = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    if text.is_empty() || text.len() > 16 {
        return None;
    }
    let (mut sum, mut all) = (0, 0);
    for byte in text {
        let value = HEXADECIMAL[usize::from(*byte)];
        all |= value;
        sum = sum << 4 | u64::from(value & 15);
    }
    (all < 16).then_some(sum)
}

/// A decimal number as a count of units of 10^-`places`: `1.5` with 3 places is 1500. Digits beyond
/// are cut off. The decimal mark is a point, or whatever is given.
#[inline]
pub(super) fn fixed(text: &[u8], places: u32, mark: u8) -> Option<i64> {
    // Most have no mark where none is wanted, and no sign.
    if places == 0
        && let Some(whole) = append(0, text)
        && !text.is_empty()
    {
        return Some(whole);
    }
    at_mark(text, places, find(text, mark).unwrap_or(text.len()))
}

/// The same of what has a mark.
#[inline]
pub(super) fn marked(text: &[u8], places: u32, mark: u8) -> Option<i64> {
    at_mark(text, places, find(text, mark)?)
}

/// The same, the place of the mark being known.
#[inline]
fn at_mark(text: &[u8], places: u32, mark: usize) -> Option<i64> {
    let (whole, fraction) = text.split_at_checked(mark)?;
    let (is_negative, whole) = match whole.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, whole),
    };
    let fraction = fraction.get(1..).unwrap_or_default();
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (kept, cut) = fraction.split_at(fraction.len().min(places as usize));
    if !cut.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let scale = power_of_ten(places - kept.len() as u32)?;
    let sum = match (whole.len(), kept.len()) {
        // What overflows is found in one product.
        (..=SAFE_DIGITS, ..=SAFE_DIGITS) => {
            let kept = (at_most_18_digits(kept)? as i64).checked_mul(scale)?;
            let whole = at_most_18_digits(whole)? as i64;
            whole.checked_mul(power_of_ten(places)?)?.checked_add(kept)?
        }
        _ => append(append(0, whole)?, kept)?.checked_mul(scale)?,
    };
    Some(if is_negative { -sum } else { sum })
}

/// A number from zero with more digits behind it.
#[inline]
pub(super) fn append(number: i64, digits: &[u8]) -> Option<i64> {
    // What overflows is found in one product and not digit by digit.
    digits.chunks(SAFE_DIGITS).try_fold(number, |number, safe| {
        let sum = at_most_18_digits(safe)? as i64;
        number.checked_mul(power_of_ten(safe.len() as u32)?)?.checked_add(sum)
    })
}

/// Exactly `N` fields between separators.
#[inline]
pub(super) fn fields<const N: usize>(line: &[u8], separator: u8) -> Option<[&[u8]; N]> {
    let (found, is_all) = cut(line, separator)?;
    is_all.then_some(found)
}

/// The first `N` fields between separators, without blanks around them; there may be more.
#[inline]
pub(super) fn first_fields<const N: usize>(line: &[u8], separator: u8) -> Option<[&[u8]; N]> {
    let (mut found, _) = cut(line, separator)?;
    found.iter_mut().for_each(|field| *field = field.trim_ascii());
    Some(found)
}

/// The first `N` fields between separators, and whether there are no more.
#[inline]
fn cut<const N: usize>(line: &[u8], separator: u8) -> Option<([&[u8]; N], bool)> {
    let mut found: [&[u8]; N] = [&[]; N];
    if line.len() > BLOCK {
        let mut fields = line.split(|byte| *byte == separator);
        for field in &mut found {
            *field = fields.next()?;
        }
        return Some((found, fields.next().is_none()));
    }
    let mut ends = marks(line, separator);
    let mut begin = 0;
    for field in &mut found {
        let end = line.len().min(ends.trailing_zeros() as usize);
        *field = line.get(begin..end)?;
        begin = end + 1;
        ends &= ends.wrapping_sub(1);
    }
    Some((found, begin > line.len()))
}

/// Exactly `N` words between spaces or tabs, of which there may be several.
#[inline]
pub(super) fn words<const N: usize>(line: &[u8]) -> Option<[&[u8]; N]> {
    let mut found: [&[u8]; N] = [&[]; N];
    let mut rest = line.trim_ascii();
    for (position, word) in found.iter_mut().enumerate() {
        let end = rest.iter().position(u8::is_ascii_whitespace);
        match end {
            Some(end) if position + 1 < N => {
                *word = &rest[..end];
                rest = rest[end..].trim_ascii_start();
            }
            None if position + 1 == N && !rest.is_empty() => *word = rest,
            _ => return None,
        }
    }
    Some(found)
}

/// As [`fixed`] with a point, for what is not before zero: moments of clocks, and spans.
#[inline]
pub(super) fn decimal(text: &[u8], places: u32) -> Option<i64> {
    fixed(text, places, b'.').filter(|value| *value >= 0)
}

/// A moment without decimals.
#[inline]
pub(super) fn whole(text: &[u8]) -> Option<i64> {
    decimal(text, 0).filter(|_| !text.contains(&b'.'))
}

/// The bytes in a number of sectors, which have 512 each in every format that counts in them.
#[inline]
pub(super) fn sectors(text: &[u8]) -> Option<u64> {
    unsigned(text)?.checked_mul(512)
}

/// The operation that a word stands for.
#[inline]
pub(super) fn op(text: &[u8], words: &[(&[u8], Op)]) -> Option<Op> {
    words.iter().find(|(word, _)| *word == text).map(|(_, op)| *op)
}

/// A device that has a number.
#[inline]
pub(super) fn device(text: &[u8]) -> Option<u32> {
    unsigned(text).and_then(|number| u32::try_from(number).ok())
}

/// A length that a request can have.
#[inline]
pub(super) fn length(bytes: u64) -> Option<u32> {
    u32::try_from(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_numbers_are_numbers() {
        assert_eq!(unsigned(b"18446744073709551615"), Some(u64::MAX));
        for bad in
            [&b""[..], b"-1", b"1 ", b"18446744073709551616", b"1.0", b"000000000000000000001"]
        {
            assert_eq!(unsigned(bad), None);
        }
        assert_eq!(hexadecimal(b"0x1fF"), Some(511));
        assert_eq!(hexadecimal(b"0XFFFFFFFFFFFFFFFF"), Some(u64::MAX));
        for bad in [&b""[..], b"0x", b"0xg", b"-1", b"10000000000000000"] {
            assert_eq!(hexadecimal(bad), None);
        }
    }

    proptest! {
        #[test]
        fn what_is_behind_a_number_is_no_part_of_it(text in "[0-9/]{0,12}[ \ta0-9]{0,9}") {
            for length in 0..=text.len() {
                let number = first_unsigned(text.as_bytes(), length);
                prop_assert_eq!(number, unsigned(&text.as_bytes()[..length]));
            }
        }

        #[test]
        fn digits_are_what_the_library_reads(text in "[0-9/:;+ -]{0,4}[0-9]{0,21}[0-9a/:]{0,2}") {
            let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            let wanted = text.parse().ok().filter(|_| is_number && text.len() <= 20);
            prop_assert_eq!(unsigned(text.as_bytes()), wanted);
        }

        #[test]
        fn eight_bytes_are_digits_or_none(bytes in prop::array::uniform8(0x28u8..0x42)) {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            let wanted = text.parse().ok().filter(|_| bytes.iter().all(u8::is_ascii_digit));
            prop_assert_eq!(eight_digits(u64::from_le_bytes(bytes)), wanted);
        }

        #[test]
        fn fields_are_those_of_a_split(line in "[a,\u{ac}]{0,6}[a\u{ac}]{0,40}[a,]{0,4}") {
            let wanted: Vec<&[u8]> = line.as_bytes().split(|b| *b == b',').collect();
            let found = first_fields::<4>(line.as_bytes(), b',');
            prop_assert_eq!(found.map(|f| f.to_vec()), wanted.get(..4).map(<[_]>::to_vec));
            let found = fields::<4>(line.as_bytes(), b',');
            prop_assert_eq!(found.map(|f| f.to_vec()), (wanted.len() == 4).then_some(wanted));
        }
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(fixed(b"1455591804.310701000", 9, b'.'), Some(1_455_591_804_310_701_000));
        assert_eq!(fixed(b"1,0799438", 9, b','), Some(1_079_943_800));
        assert_eq!(fixed(b"-0.5", 3, b'.'), Some(-500));
        assert_eq!(fixed(b"7", 3, b'.'), Some(7000));
        assert_eq!(fixed(b".25", 1, b'.'), Some(2));
        assert_eq!(fixed(b"9223372036854775.807", 3, b'.'), Some(i64::MAX));
        assert_eq!(fixed(b"00000000000000000000000000000000000000017", 0, b'.'), Some(17));
        for bad in [&b""[..], b".", b"-", b"1.2.3", b"1e3", b"1.2345x", b"9223372036854775.808"] {
            assert_eq!(fixed(bad, 3, b'.'), None, "{:?}", bad);
        }
    }

    #[test]
    fn there_are_as_many_fields_as_asked_for_or_none() {
        assert_eq!(fields::<3>(b"a,,c", b','), Some([&b"a"[..], b"", b"c"]));
        assert_eq!(fields::<2>(b"a,b,c", b','), None);
        assert_eq!(fields::<4>(b"a,b,c", b','), None);
        assert_eq!(words::<3>(b"  a\tb   c "), Some([&b"a"[..], b"b", b"c"]));
        for bad in [&b""[..], b" ", b"a b", b"a b c d"] {
            assert_eq!(words::<3>(bad), None);
        }
    }

    #[test]
    fn what_is_before_zero_or_beyond_all_bytes_is_none() {
        assert_eq!(decimal(b"0.000170000", 9), Some(170_000));
        assert_eq!(decimal(b"-0.1", 9), None);
        assert_eq!(sectors(b"36028797018963967"), Some(u64::MAX - 511));
        assert_eq!(sectors(b"36028797018963968"), None);
        assert_eq!(device(b"4294967296"), None);
    }
}

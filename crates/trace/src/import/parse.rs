//! Numbers and fields out of bytes: what formats of text share. All answer none to what is not exactly that.

use model::record::Op;

/// A number of digits only.
#[inline]
pub(super) fn unsigned(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    text.iter().try_fold(0u64, |sum, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { sum.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// A number of hexadecimal digits, with or without 0x.
pub(super) fn hexadecimal(text: &[u8]) -> Option<u64> {
    let text = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    if text.is_empty() || text.len() > 16 {
        return None;
    }
    text.iter()
        .try_fold(0u64, |sum, byte| Some(sum << 4 | u64::from((*byte as char).to_digit(16)?)))
}

/// A decimal number as a count of units of 10^-`places`: `1.5` with 3 places is 1500. Digits beyond are cut off.
/// The decimal mark is a point, or whatever is given.
#[inline]
pub(super) fn fixed(text: &[u8], places: u32, mark: u8) -> Option<i64> {
    let (is_negative, digits) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut whole: i64 = 0;
    let mut left = None;
    let mut any = false;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        match left {
            None if *byte == mark => left = Some(places),
            _ if digit > 9 => return None,
            Some(0) => any = true,
            _ => {
                whole = whole.checked_mul(10)?.checked_add(i64::from(digit))?;
                left = left.map(|l| l - 1);
                any = true;
            }
        }
    }
    if !any {
        return None;
    }
    let whole = whole.checked_mul(10i64.checked_pow(left.unwrap_or(places))?)?;
    Some(if is_negative { -whole } else { whole })
}

/// Exactly `N` fields between separators.
#[inline]
pub(super) fn fields<const N: usize>(line: &[u8], separator: u8) -> Option<[&[u8]; N]> {
    let mut found: [&[u8]; N] = [&[]; N];
    let mut rest = line;
    for (position, field) in found.iter_mut().enumerate() {
        match memchr::memchr(separator, rest) {
            Some(end) if position + 1 < N => {
                *field = &rest[..end];
                rest = &rest[end + 1..];
            }
            None if position + 1 == N => *field = rest,
            _ => return None,
        }
    }
    Some(found)
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

    #[test]
    fn only_numbers_are_numbers() {
        assert_eq!(unsigned(b"18446744073709551615"), Some(u64::MAX));
        for bad in
            [&b""[..], b"-1", b"1 ", b"18446744073709551616", b"1.0", b"000000000000000000001"]
        {
            assert_eq!(unsigned(bad), None);
        }
        assert_eq!(hexadecimal(b"0x1fF"), Some(511));
        assert_eq!(hexadecimal(b"0x"), None);
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(fixed(b"1455591804.310701000", 9, b'.'), Some(1_455_591_804_310_701_000));
        assert_eq!(fixed(b"1,0799438", 9, b','), Some(1_079_943_800));
        assert_eq!(fixed(b"-0.5", 3, b'.'), Some(-500));
        assert_eq!(fixed(b"7", 3, b'.'), Some(7000));
        assert_eq!(fixed(b".25", 1, b'.'), Some(2));
        for bad in [&b""[..], b".", b"-", b"1.2.3", b"1e3", b"99999999999999999999"] {
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

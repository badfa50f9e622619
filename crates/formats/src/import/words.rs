//! A line of a block tracer's listing, taken apart from its left: words between spaces, and what
//! all listings print behind the letters of a request: `[bytes] [(command)] sector + sectors … [who
//! or error]`.
//!
//! Everything is done on bytes and nothing is copied.

use super::marks::{BLOCK, blanks, find};
use super::parse::{first_unsigned, unsigned};
use super::steps::Kind;
use model::record::{Op, device_number};
use trace::event::Extent;
use trace::rwbs::{letters, offset};

/// What is left of a line. Where its blanks are is found for many bytes at once: a search that
/// begins anew for each word cannot begin before the last one has ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words<'a> {
    line: &'a [u8],
    /// How much of it was taken.
    taken: usize,
    /// A bit for each of the line's first bytes that is a blank; its end is one.
    blanks: u64,
}

impl<'a> Words<'a> {
    #[inline]
    pub(super) fn of(line: &'a [u8]) -> Self {
        let end = 1_u64.checked_shl(line.len() as u32).unwrap_or(0);
        Self { line, taken: 0, blanks: blanks(line) | end }
    }

    /// What was not taken.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.line.get(self.taken..).unwrap_or_default()
    }

    /// The next word; empty at the end.
    #[inline]
    pub(super) fn next(&mut self) -> &'a [u8] {
        let length = self.find();
        let word = self.rest().get(..length).unwrap_or_default();
        self.taken += length;
        word
    }

    /// A number, if that is next; else nothing but spaces is taken.
    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        let length = self.find();
        let number = first_unsigned(self.rest(), length)?;
        self.taken += length;
        Some(number)
    }

    /// A device, which is taken in any case.
    #[inline]
    pub(super) fn device(&mut self) -> Option<u32> {
        let length = self.find();
        let device = first_device(self.rest(), length);
        self.taken += length;
        device
    }

    /// Whether that is next; it is taken then.
    #[inline]
    fn is_next(&mut self, letter: u8) -> bool {
        self.find();
        let is_it = self.rest().first() == Some(&letter);
        self.taken += usize::from(is_it);
        is_it
    }

    /// Takes the spaces before the next word, and tells how long it is.
    #[inline]
    fn find(&mut self) -> usize {
        let (begin, end) = self.place();
        if self.taken < BLOCK && begin < end && end < BLOCK {
            self.taken = begin;
            end - begin
        } else {
            self.find_on()
        }
    }

    /// Where the next word begins and ends, if that is known.
    #[inline]
    fn place(&self) -> (usize, usize) {
        let from = |place: usize| u64::MAX.wrapping_shl(place as u32);
        let begin = (!self.blanks & from(self.taken)).trailing_zeros() as usize;
        (begin, (self.blanks & from(begin)).trailing_zeros() as usize)
    }

    /// The same where it goes beyond what is known.
    #[inline(never)]
    fn find_on(&mut self) -> usize {
        *self = Self::of(self.rest());
        let (begin, end) = self.place();
        if begin < end && end < BLOCK {
            self.taken = begin;
            return end - begin;
        }
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let begin = self.line.iter().position(|byte| !is_blank(byte));
        *self = Self::of(self.line.get(begin.unwrap_or(self.line.len())..).unwrap_or_default());
        self.line.iter().position(is_blank).unwrap_or(self.line.len())
    }
}

/// `maj,min` as the kernel's dev_t.
#[inline]
pub(super) fn device(text: &[u8]) -> Option<u32> {
    first_device(text, text.len())
}

/// The same that the first so many bytes are.
#[inline]
fn first_device(text: &[u8], length: usize) -> Option<u32> {
    let comma = find(text, b',').filter(|comma| *comma < length)?;
    let major = u32::try_from(first_unsigned(text, comma)?).ok()?;
    let minor = first_unsigned(text.get(comma + 1..)?, length - comma - 1)?;
    device_number(major, u32::try_from(minor).ok()?)
}

/// A request, and what is in the brackets at the line's end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    pub(super) extent: Extent,
    bracket: &'a [u8],
}

impl<'a> Said<'a> {
    /// What is said from the letters of a request on; or why that is not understood.
    #[inline]
    pub(super) fn read(words: &mut Words<'a>, kind: Kind) -> Result<Self, &'static str> {
        let (mut op, flags) = letters(words.next()).ok_or("letters that are no operation's")?;
        let mut sector = words.number();
        let mut bytes = None;
        if words.is_next(b'(') {
            // What came before was bytes, and this is a command of the driver's own, if there is
            // any.
            let end =
                words.rest().iter().position(|b| *b == b')').ok_or("a command without end")?;
            if end > 0 {
                op = Op::Other;
            }
            words.taken += end + 1;
            bytes = sector.take();
            sector = words.number();
        }
        let mut sectors = 0;
        if sector.is_some() && words.is_next(b'+') {
            sectors = words.number().ok_or("no number of sectors")?;
        }
        // It is a few bytes away: nothing is faster than to look.
        let rest = words.rest();
        let open = rest.iter().position(|b| *b == b'[').ok_or("nothing in brackets")?;
        let close = rest
            .iter()
            .rposition(|b| *b == b']')
            .filter(|c| *c > open)
            .ok_or("nothing in brackets")?;
        let bracket = &rest[open + 1..close];
        if sector.is_none() && kind == Kind::Complete && op != Op::Flush {
            // blkparse names a sector in every other completion.
            op = Op::Other;
        }
        let length = if sectors > 0 { sectors.checked_mul(512) } else { Some(bytes.unwrap_or(0)) };
        let length_bytes = length.and_then(|l| u32::try_from(l).ok()).ok_or("too many bytes")?;
        let offset_bytes = offset(op, sector, length_bytes, kind == Kind::Complete)?;
        Ok(Self { extent: Extent { op, flags, offset_bytes, length_bytes }, bracket })
    }

    /// The command's name, if it is known.
    #[inline]
    pub(super) fn command(&self) -> Option<&'a [u8]> {
        Some(self.bracket).filter(|name| !matches!(*name, b"" | b"(null)" | b"<...>"))
    }

    #[inline]
    pub(super) fn error(&self) -> Option<i32> {
        errno(self.bracket)
    }
}

/// An error as errno: negative in tracepoints, and in 16 bits in blktrace.
#[inline]
pub(super) fn errno(text: &[u8]) -> Option<i32> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let number = unsigned(digits)?;
    match u16::try_from(number) {
        Ok(number) => Some(i32::from(number as i16).abs()),
        Err(_) => i32::try_from(number).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::Flags;
    use proptest::prelude::*;

    /// What is said: of what, by which command, with which error.
    type Parts<'a> = (Extent, Option<&'a [u8]>, Option<i32>);

    fn said(text: &str, kind: Kind) -> Result<Parts<'_>, &'static str> {
        let said = Said::read(&mut Words::of(text.as_bytes()), kind)?;
        Ok((said.extent, said.command(), said.error()))
    }

    fn extent(op: Op, flags: Flags, offset_bytes: Option<u64>, length_bytes: u32) -> Extent {
        Extent { op, flags, offset_bytes, length_bytes }
    }

    #[test]
    fn every_way_of_saying_it_is_understood() {
        let none = Flags::default();
        let write = extent(Op::Write, Flags::SYNC, Some(8192), 4096);
        for (text, wanted) in [
            // blkparse; and with its times.
            (" WS 16 + 8 [a b]", (write, Some(&b"a b"[..]), None)),
            ("WS 16 + 8 (   12345) [0]", (write, Some(b"0"), Some(0))),
            // Tracepoints, before and from Linux 6.10 on.
            ("WS 4096 () 16 + 8 [[x]]", (write, Some(b"[x]"), None)),
            ("WS 4096 () 16 + 8 be,0,4 [x]", (write, Some(b"x"), None)),
            ("WS () 16 + 8 0x2,0,4 [-5]", (write, Some(b"-5"), Some(5))),
            // A driver's command.
            ("R 36 (12 00 00) [x]", (extent(Op::Other, none, None, 36), Some(b"x"), None)),
            ("N 36 (12 00) 0 + 0 [x]", (extent(Op::Other, none, Some(0), 36), Some(b"x"), None)),
            // Flushes and empty writes.
            (
                "FF 0 () 18446744073709551615 + 0 0x0,0,0 [kworker/0:1H]",
                (extent(Op::Flush, Flags::PREFLUSH, None, 0), Some(b"kworker/0:1H"), None),
            ),
            ("FN [(null)]", (extent(Op::Flush, Flags::PREFLUSH, None, 0), None, None)),
        ] {
            assert_eq!(said(text, Kind::Issue), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn an_empty_write_is_nowhere_but_its_completion_is_where_its_data_was() {
        let flags = Flags::SYNC | Flags::PREFLUSH;
        let requested = said("FWS 0 + 0 [x]", Kind::Queue).unwrap();
        assert_eq!(requested.0, extent(Op::Write, flags, None, 0));
        let completed = said("WS 4000 [0]", Kind::Complete).unwrap();
        assert_eq!(completed.0, extent(Op::Write, Flags::SYNC, Some(4000 * 512), 0));
    }

    #[test]
    fn what_is_not_understood_says_why() {
        for (text, why) in [
            ("", "letters that are no operation's"),
            ("Q 16 + 8 [x]", "letters that are no operation's"),
            ("R 36 (12 00", "a command without end"),
            ("R 16 + x [x]", "no number of sectors"),
            ("R 16 + 8", "nothing in brackets"),
            ("R 16 + 8 ]x[", "nothing in brackets"),
            ("R 16 + 8388608 [x]", "too many bytes"),
            ("R 18446744073709551614 + 8 [x]", "a sector beyond all devices"),
        ] {
            assert_eq!(said(text, Kind::Issue).unwrap_err(), why, "{text}");
        }
    }

    proptest! {
        #[test]
        fn words_are_those_of_a_split(
            line in "[ \t]{0,70}[a-z0-9]{0,80}([ \t]{1,3}[a-z0-9]{1,20}){0,12}[ \t]{0,2}",
        ) {
            let mut words = Words::of(line.as_bytes());
            for word in line.split([' ', '\t']).filter(|word| !word.is_empty()) {
                let number = words.number();
                prop_assert_eq!(number, unsigned(word.as_bytes()));
                if number.is_none() {
                    prop_assert_eq!(words.next(), word.as_bytes());
                }
            }
            prop_assert_eq!(words.next(), b"");
            prop_assert_eq!(words.rest(), b"");
        }
    }

    #[test]
    fn errors_and_devices() {
        assert_eq!((errno(b"65531"), errno(b"-5"), errno(b"0")), (Some(5), Some(5), Some(0)));
        assert_eq!(errno(b"fio"), None);
        assert_eq!(device(b"259,3"), Some(259 << 20 | 3));
        assert_eq!((device(b"259"), device(b"4096,0"), device(b"8,1048576")), (None, None, None));
    }
}

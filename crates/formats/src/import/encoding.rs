//! Text as UTF-8 without a mark of its order: Windows' programs begin text with a byte order mark,
//! and some write UTF-16, of either order, with a mark or without one. What is no such text is
//! passed on as it is.

use std::io::Read;

/// So much of a beginning decides. Every format of ours has more than one line of as many letters.
const LOOKED_AT: usize = 128;
/// Bytes that are converted at once.
const CONVERTED: usize = 64 * 1024;

pub(super) const UTF_8_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    /// UTF-8 or whatever else: bytes as they are.
    Bytes,
    /// UTF-16, in this order.
    Units { is_big_endian: bool },
}

impl Encoding {
    /// The encoding of what begins so, and the length of its mark.
    fn of(head: &[u8]) -> (Self, usize) {
        if head.starts_with(UTF_8_MARK) {
            return (Self::Bytes, UTF_8_MARK.len());
        }
        let marks: [(&[u8], bool); 4] =
            [(b"\xff\xfe", false), (b"\xfe\xff", true), (b"", false), (b"", true)];
        for (mark, is_big_endian) in marks {
            let Some(text) = head.strip_prefix(mark) else { continue };
            if text.is_empty() && !mark.is_empty() || is_text(text, is_big_endian) {
                return (Self::Units { is_big_endian }, mark.len());
            }
        }
        (Self::Bytes, 0)
    }
}

/// Whether bytes are text of units of 16 bits: a binary file may begin with a mark by chance, but
/// not with letters in every other byte and zeroes between them.
fn is_text(bytes: &[u8], is_big_endian: bool) -> bool {
    let (units, _) = bytes.as_chunks::<2>();
    let is_letter = |unit: &[u8; 2]| {
        let [high, low] = if is_big_endian { *unit } else { [unit[1], unit[0]] };
        high == 0 && matches!(low, b'\t' | b'\r' | b'\n' | b' '..=b'~')
    };
    // Names may have letters of any language.
    let letters = units.iter().filter(|unit| is_letter(unit)).count();
    letters >= 4 && 4 * letters >= 3 * units.len()
}

/// What is read of a file, as UTF-8 if it is text.
pub(super) struct Utf8<R> {
    inner: R,
    /// None before the first bytes were read.
    encoding: Option<Encoding>,
    /// What is to be handed over next, and how much of it was.
    ready: Vec<u8>,
    taken: usize,
    /// What was read of UTF-16 and is not converted yet: less than a whole character.
    begun: Vec<u8>,
}

impl<R: Read> Utf8<R> {
    pub(super) fn of(inner: R) -> Self {
        Self { inner, encoding: None, ready: Vec::new(), taken: 0, begun: Vec::new() }
    }

    fn begin(&mut self) -> std::io::Result<Encoding> {
        let mut head = Vec::with_capacity(LOOKED_AT);
        (&mut self.inner).take(LOOKED_AT as u64).read_to_end(&mut head)?;
        let (encoding, mark) = Encoding::of(&head);
        head.drain(..mark);
        match encoding {
            Encoding::Bytes => self.ready = head,
            Encoding::Units { is_big_endian } => {
                self.begun = head;
                self.convert(is_big_endian, false);
            }
        }
        self.encoding = Some(encoding);
        Ok(encoding)
    }

    /// Makes UTF-8 of what was read, up to the last whole character, or of all at the end.
    fn convert(&mut self, is_big_endian: bool, is_all: bool) {
        let (units, rest) = self.begun.as_chunks::<2>();
        let of = if is_big_endian { u16::from_be_bytes } else { u16::from_le_bytes };
        let is_first_half = |unit: &[u8; 2]| (0xd800..0xdc00).contains(&of(*unit));
        let is_cut = !is_all && units.last().is_some_and(is_first_half);
        let count = units.len() - usize::from(is_cut);
        let whole = units.iter().take(count).map(|unit| of(*unit));
        let mut text: String = char::decode_utf16(whole)
            .map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        if is_all && !rest.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        (self.ready, self.taken) = (text.into_bytes(), 0);
        self.begun.drain(..if is_all { self.begun.len() } else { 2 * count });
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let encoding = match self.encoding {
            Some(encoding) => encoding,
            None => self.begin()?,
        };
        loop {
            let left = self.ready.get(self.taken..).unwrap_or_default();
            if !left.is_empty() || buffer.is_empty() {
                let count = left.len().min(buffer.len());
                buffer[..count].copy_from_slice(&left[..count]);
                self.taken += count;
                return Ok(count);
            }
            let Encoding::Units { is_big_endian } = encoding else {
                return self.inner.read(buffer);
            };
            let read = (&mut self.inner).take(CONVERTED as u64).read_to_end(&mut self.begun)?;
            if read == 0 && self.begun.is_empty() {
                return Ok(0);
            }
            self.convert(is_big_endian, read == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn read(bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        Utf8::of(Cursor::new(bytes)).read_to_end(&mut text).unwrap();
        text
    }

    fn utf16(text: &str, is_big_endian: bool) -> Vec<u8> {
        let of = |unit: u16| if is_big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() };
        text.encode_utf16().flat_map(of).collect()
    }

    #[test]
    fn marks_go_and_text_of_either_order_is_utf_8() {
        assert_eq!(read(b"\xef\xbb\xbfa,b\r\n"), b"a,b\r\n");
        assert_eq!(read(b""), b"");
        // Halves of a character lie at each border of what is converted at once.
        let text = format!("a,b,12\r\n{}", "x\u{1f600}\u{e4}".repeat(3).repeat(40_000));
        for is_big_endian in [false, true] {
            for mark in ["\u{feff}", ""] {
                let text = format!("{}{text}", "0".repeat(128));
                let bytes = utf16(&format!("{mark}{text}"), is_big_endian);
                assert!(read(&bytes) == text.as_bytes(), "{is_big_endian} {mark:?}");
                assert!(read(&bytes[..bytes.len() - 1]).ends_with("\u{fffd}".as_bytes()));
            }
        }
    }

    #[test]
    fn what_is_no_text_stays_as_it_is() {
        for bytes in [
            &b"\x07tae\0\0\0\0\x01\0\0\0"[..],
            &b"\xff\xfe\x10\x20\x30\x40\x50\x60\x70\x80"[..],
            &b"\xff"[..],
            &b"\x01\0\x02\0\x03\0\x04\0\x05\0\x06\0\x07\0\x08\0"[..],
            &b"a\0b\0"[..],
            &b"plain text, and a line\n"[..],
        ] {
            assert_eq!(read(bytes), bytes, "{bytes:?}");
        }
        // A mark alone is an empty text.
        assert_eq!(read(b"\xfe\xff"), b"");
    }
}

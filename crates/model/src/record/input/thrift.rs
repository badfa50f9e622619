//! As much of Thrift's compact protocol as tells what a footer's schema and a page's header say of sizes, before the
//! library believes it. What is not asked for is skipped; what is no Thrift is none.
//!
//! Non-goals: the rest of a footer, which the library holds against its length by itself.

/// A field of 32 bits.
pub(super) const I32: u8 = 5;
/// A list.
pub(super) const LIST: u8 = 9;
/// A struct.
pub(super) const STRUCT: u8 = 12;
/// Structs within structs that are skipped.
const DEPTH: u32 = 16;

/// Bytes that are read from the front.
pub(super) struct Thrift<'a>(pub(super) &'a [u8]);

impl Thrift<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn pass(&mut self, bytes: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(bytes).ok()?..)?;
        Some(())
    }

    /// A number: seven bits a byte, the lowest first.
    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A size: a signed number, whose lowest bit is its sign, that is not negative.
    pub(super) fn size(&mut self) -> Option<u64> {
        let number = self.varint()?;
        (number & 1 == 0).then_some(number >> 1)
    }

    /// The next field's type and number after the field `last`; a type of 0 at the end of a struct.
    pub(super) fn field(&mut self, last: u64) -> Option<(u8, u64)> {
        let head = self.byte()?;
        let number = match head >> 4 {
            _ if head == 0 => 0,
            0 => self.size()?,
            step => last.checked_add(u64::from(step))?,
        };
        Some((head & 0xf, number))
    }

    /// The type and number of a list's elements.
    pub(super) fn list(&mut self) -> Option<(u8, u64)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            0xf => self.varint()?,
            short => u64::from(short),
        };
        Some((head & 0xf, count))
    }

    /// Skips a field's value.
    pub(super) fn skip(&mut self, kind: u8) -> Option<()> {
        self.skip_within(kind, DEPTH)
    }

    fn skip_within(&mut self, kind: u8, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            // The truth of a field stands in its type.
            1 | 2 => Some(()),
            3 => self.pass(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.pass(8),
            8 => {
                let length = self.varint()?;
                self.pass(length)
            }
            LIST | 10 => {
                let (kind, count) = self.list()?;
                // In a list it is a byte.
                let kind = if kind <= 2 { 3 } else { kind };
                (0..count).try_for_each(|_| self.skip_within(kind, depth))
            }
            STRUCT => loop {
                match self.field(0)? {
                    (0, _) => return Some(()),
                    (kind, _) => self.skip_within(kind, depth)?,
                }
            },
            // Maps, which Parquet has none of.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_of_seven_bits_a_byte_and_sizes_not_negative() {
        assert_eq!(Thrift(&[0xff, 0x01]).varint(), Some(255));
        assert_eq!(Thrift(&[0x80; 20]).varint(), None);
        assert_eq!(Thrift(&[0x80]).varint(), None);
        assert_eq!((Thrift(&[4]).size(), Thrift(&[5]).size()), (Some(2), None));
    }

    #[test]
    fn what_is_skipped_ends_where_the_next_begins() {
        // A struct of a true, a byte, an i32, a double, a text, a list of two trues and an empty struct.
        let value = [
            0x11, 0x13, 9, 0x15, 0x80, 1, 0x17, 1, 2, 3, 4, 5, 6, 7, 8, 0x18, 2, b'a', b'b', 0x19,
            0x21, 1, 1, 0x1c, 0, 0, 77,
        ];
        let mut thrift = Thrift(&value);
        assert_eq!(thrift.skip(STRUCT), Some(()));
        assert_eq!(thrift.0, [77]);
        for length in 0..value.len() - 1 {
            assert_eq!(Thrift(&value[..length]).skip(STRUCT), None, "{length}");
        }
        // A step of 0 stands before the field's whole number.
        assert_eq!(Thrift(&[0x05, 0x40]).field(3), Some((I32, 32)));
        assert_eq!(Thrift(&[0x25]).field(3), Some((I32, 5)));
        assert_eq!(Thrift(&[0x1c; 100]).skip(STRUCT), None);
        assert_eq!(Thrift(&[0xf8, 0xff, 0xff, 0xff, 0x0f, 0]).skip(LIST), None);
    }
}

//! Footers and pages' headers are Thrift's compact protocol. The library believes what they say: it
//! takes memory for as many children as an element of the schema tells of, counts through lists of
//! things that have no bytes, and reads a known field as what it is to be, whatever type stands
//! there. So they are walked here before, by the shapes of parquet.thrift: a field of another type
//! than its own is damage, and a list is no longer than what is left.
//!
//! Non-goals: the values, but for those that are requested.

#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// True or false, which stands in the field's type.
    Bool,
    Byte,
    I16,
    I32,
    /// The same, which is told to whoever walks.
    Told,
    I64,
    Bytes,
    List(&'static Shape),
    /// Fields in the order of their numbers, from 1 on. What is not among them is skipped.
    Struct(&'static [Shape]),
    /// The same, and its beginning is told as a 0 that a [`Shape::Told`] of it replaces.
    Element(&'static [Shape]),
    /// A number that no field has.
    Skipped,
}

use Shape::{Bool, Byte, Bytes, Element, I16, I32, I64, List, Skipped, Struct, Told};

const EMPTY: Shape = Struct(&[]);
const KEY_VALUES: Shape = List(&Struct(&[Bytes, Bytes]));
const TIME_UNIT: Shape = Struct(&[EMPTY, EMPTY, EMPTY]);
const TIME: Shape = Struct(&[Bool, TIME_UNIT]);
const LOGICAL_TYPE: Shape = Struct(&[
    EMPTY,
    EMPTY,
    EMPTY,
    EMPTY,
    Struct(&[I32, I32]),
    EMPTY,
    TIME,
    TIME,
    Skipped,
    Struct(&[Byte, Bool]),
    EMPTY,
    EMPTY,
    EMPTY,
    EMPTY,
    EMPTY,
    Struct(&[Byte]),
    Struct(&[Bytes]),
    Struct(&[Bytes, I32]),
]);
const SCHEMA_ELEMENT: Shape =
    Element(&[I32, I32, I32, Bytes, Told, I32, I32, I32, I32, LOGICAL_TYPE]);
const STATISTICS: Shape = Struct(&[Bytes, Bytes, I64, I64, Bytes, Bytes, Bool, Bool, I64]);
const COLUMN_METADATA: Shape = Struct(&[
    I32,
    List(&I32),
    List(&Bytes),
    I32,
    I64,
    I64,
    I64,
    KEY_VALUES,
    I64,
    I64,
    I64,
    STATISTICS,
    List(&Struct(&[I32, I32, I32])),
    I64,
    I32,
    Struct(&[I64, List(&I64), List(&I64)]),
    Struct(&[]),
]);
const COLUMN_CHUNK: Shape =
    Struct(&[Bytes, I64, COLUMN_METADATA, I64, I32, I64, I32, Struct(&[]), Bytes]);
const ROW_GROUP: Shape =
    Struct(&[List(&COLUMN_CHUNK), I64, I64, List(&Struct(&[I32, Bool, Bool])), I64, I64, I16]);

/// A footer; it tells how many children each element of its schema has.
pub(super) const FOOTER: Shape = Struct(&[
    I32,
    List(&SCHEMA_ELEMENT),
    I64,
    List(&ROW_GROUP),
    KEY_VALUES,
    Bytes,
    List(&Struct(&[EMPTY, EMPTY])),
    Struct(&[]),
    Bytes,
]);

/// A page's header; it tells the page's size, decompressed.
pub(super) const PAGE_HEADER: Shape = Element(&[
    I32,
    Told,
    I32,
    I32,
    Struct(&[I32, I32, I32, I32, STATISTICS]),
    Struct(&[]),
    Struct(&[I32, I32, Bool]),
    Struct(&[I32, I32, I32, I32, I32, I32, Bool, STATISTICS]),
]);

/// Types as they stand before fields and in lists.
mod kind {
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BYTES: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const STRUCT: u8 = 12;
}

/// Structs within structs of which no shape is known.
const DEPTH: u32 = 16;

impl Shape {
    fn is_of(self, kind: u8) -> bool {
        match self {
            Bool => kind == kind::TRUE || kind == kind::FALSE,
            Byte => kind == kind::BYTE,
            I16 => kind == kind::I16,
            I32 | Told => kind == kind::I32,
            I64 => kind == kind::I64,
            Bytes => kind == kind::BYTES,
            List(_) => kind == kind::LIST,
            Struct(_) | Element(_) => kind == kind::STRUCT,
            Skipped => false,
        }
    }
}

/// Bytes that are read from the front.
pub(super) struct Thrift<'a> {
    pub(super) rest: &'a [u8],
    /// What was told so far.
    pub(super) told: Vec<u64>,
}

impl<'a> Thrift<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Self {
        Self { rest, told: Vec::new() }
    }

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    fn pass(&mut self, bytes: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(bytes).ok()?..)?;
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

    /// A number that is not negative: the lowest bit is its sign.
    fn size(&mut self) -> Option<u64> {
        let number = self.varint()?;
        (number & 1 == 0).then_some(number >> 1)
    }

    /// The next field's type and number after the field `last`; none at the end of a struct.
    fn field(&mut self, last: u64) -> Option<Option<(u8, u64)>> {
        let head = self.byte()?;
        let number = match (head & 0xf, head >> 4) {
            (0, _) => return Some(None),
            (_, 0) => self.size()?,
            (_, step) => last.checked_add(u64::from(step))?,
        };
        Some(Some((head & 0xf, number)))
    }

    /// The type and number of a list's elements, none of which is shorter than a byte.
    fn list(&mut self) -> Option<(u8, u64)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            0xf => self.varint()?,
            short => u64::from(short),
        };
        (count <= self.rest.len() as u64).then_some((head & 0xf, count))
    }

    /// Passes over a value of this shape; none where it is of another.
    pub(super) fn walk(&mut self, shape: Shape) -> Option<()> {
        match shape {
            Bool => Some(()),
            Byte => self.pass(1),
            I16 | I32 | I64 => self.varint().map(|_| ()),
            Told => {
                let size = self.size()?;
                self.told.last_mut().map(|told| *told = size)
            }
            Bytes => {
                let length = self.varint()?;
                self.pass(length)
            }
            List(of) => {
                let (kind, count) = self.list()?;
                // Some writers give an empty list no type.
                (of.is_of(kind) || count == 0).then_some(())?;
                (0..count).try_for_each(|_| self.walk(*of))
            }
            Struct(fields) => self.walk_fields(fields),
            Element(fields) => {
                self.told.push(0);
                self.walk_fields(fields)
            }
            Skipped => None,
        }
    }

    fn walk_fields(&mut self, fields: &[Shape]) -> Option<()> {
        let mut last = 0;
        while let Some((kind, number)) = self.field(last)? {
            last = number;
            let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
            match place.and_then(|place| fields.get(place)) {
                Some(Skipped) | None => self.skip(kind, DEPTH)?,
                Some(shape) => shape.is_of(kind).then(|| self.walk(*shape))??,
            }
        }
        Some(())
    }

    /// Passes over a value of which only the type is known.
    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            kind::TRUE | kind::FALSE => Some(()),
            kind::BYTE => self.pass(1),
            kind::I16 | kind::I32 | kind::I64 => self.varint().map(|_| ()),
            kind::DOUBLE => self.pass(8),
            kind::BYTES => self.walk(Bytes),
            kind::LIST | kind::SET => {
                let (kind, count) = self.list()?;
                // Of these the library takes none to have a byte.
                let is_bool = kind == kind::TRUE || kind == kind::FALSE;
                (!is_bool || count == 0).then_some(())?;
                (0..count).try_for_each(|_| self.skip(kind, depth))
            }
            kind::STRUCT => {
                let mut last = 0;
                while let Some((kind, number)) = self.field(last)? {
                    last = number;
                    self.skip(kind, depth)?;
                }
                Some(())
            }
            // Maps, of which Parquet has none.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(shape: Shape, bytes: &[u8]) -> Option<Vec<u64>> {
        let mut thrift = Thrift::new(bytes);
        thrift.walk(shape).map(|()| thrift.told)
    }

    #[test]
    fn numbers_are_of_seven_bits_a_byte_and_sizes_not_negative() {
        let thrift = Thrift::new;
        assert_eq!(thrift(&[0xff, 0x01]).varint(), Some(255));
        assert_eq!(thrift(&[0x80; 20]).varint(), None);
        assert_eq!(thrift(&[0x80]).varint(), None);
        assert_eq!((thrift(&[4]).size(), thrift(&[5]).size()), (Some(2), None));
    }

    #[test]
    fn what_no_shape_is_known_of_is_passed_over_by_its_type() {
        // A true, a byte, an i32, a double, a text, a list of two bytes and an empty struct.
        let value = [
            0x11, 0x13, 9, 0x15, 0x80, 1, 0x17, 1, 2, 3, 4, 5, 6, 7, 8, 0x18, 2, b'a', b'b', 0x19,
            0x23, 1, 1, 0x1c, 0, 0, 77,
        ];
        let mut thrift = Thrift::new(&value);
        assert_eq!(thrift.walk(EMPTY), Some(()));
        assert_eq!(thrift.rest, [77]);
        for length in 0..value.len() - 1 {
            assert_eq!(walked(EMPTY, &value[..length]), None, "{length}");
        }
        assert_eq!(walked(EMPTY, &[0x1c; 100]), None);
    }

    #[test]
    fn a_known_field_is_of_its_own_type_and_is_told() {
        // A step of 0 stands before the field's whole number.
        assert_eq!(walked(PAGE_HEADER, &[0x05, 0x04, 0x20, 0]), Some(vec![16]));
        assert_eq!(walked(PAGE_HEADER, &[0x15, 0x04, 0x15, 0x20, 0]), Some(vec![16]));
        assert_eq!(walked(PAGE_HEADER, &[0x15, 0x04, 0x16, 0x20, 0]), None);
        assert_eq!(walked(PAGE_HEADER, &[0x15, 0x04, 0]), Some(vec![0]));
        // A schema of three elements.
        let schema = [0x19, 0x3c, 0x55, 0x04, 0, 0, 0x18, 1, b'a', 0x15, 0x06, 0, 0];
        let mut footer = vec![0x15, 0x02];
        footer.extend(schema);
        assert_eq!(walked(FOOTER, &footer), None, "a name stands in field 4");
    }

    /// Found by the fuzzer: the library counts through 2^31 elements that have no bytes.
    #[test]
    fn lists_are_no_longer_than_what_is_left_and_never_of_what_has_no_bytes() {
        let long = [0xff, 0xff, 0xff, 0xff, 0x07];
        let list = |kind: u8| [&[0x09, 0x40, 0xf0 | kind][..], &long, &[0; 9]].concat();
        for kind in [kind::TRUE, kind::FALSE, kind::BYTE, kind::STRUCT] {
            assert_eq!(walked(EMPTY, &list(kind)), None, "{kind}");
        }
        assert_eq!(walked(EMPTY, &[0x19, 0x21, 1, 1, 0]), None);
        assert_eq!(walked(EMPTY, &[0x19, 0x00, 0]), Some(vec![]));
    }
}

//! The types that a kernel, or one of its modules, tells of itself (BTF), by name: values of
//! enumerators, places of fields, arguments of tracepoints.
//!
//! The loader (aya) moves fields of the kernel's own types itself. It knows neither enumerators of
//! enums without a name nor the types of modules, which continue the kernel's numbers and strings.
//! The libraries that do are under licences that a program of MIT OR Apache-2.0 cannot include.
//!
//! Source: Documentation/bpf/btf.rst and include/uapi/linux/btf.h of Linux 6.18.
//!
//! Non-goals: bit fields; fields of types that have no name, but those that are in line.

use std::sync::Arc;

/// What a file begins with.
const MAGIC: u16 = 0xeb9f;
/// Bytes of a type before what its kind adds.
const TYPE_BYTES: usize = 12;

/// Kinds of types that are looked for; of others, only their size counts.
mod kind {
    pub(super) const INT: u32 = 1;
    pub(super) const POINTER: u32 = 2;
    pub(super) const ARRAY: u32 = 3;
    pub(super) const STRUCT: u32 = 4;
    pub(super) const UNION: u32 = 5;
    pub(super) const ENUM: u32 = 6;
    pub(super) const TYPEDEF: u32 = 8;
    pub(super) const FUNCTION_TYPE: u32 = 13;
    pub(super) const VARIABLE: u32 = 14;
    pub(super) const SECTION: u32 = 15;
    pub(super) const DECLARATION_TAG: u32 = 17;
    pub(super) const ENUM64: u32 = 19;
    /// The last one that is known.
    pub(super) const LAST: u32 = 19;
}

/// Why there are no types. A clause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("understand the kernel's types: {0}")]
pub(crate) struct BtfError(&'static str);

/// The types of a kernel, or those that a module adds to them.
pub(crate) struct Types {
    base: Option<Arc<Types>>,
    bytes: Vec<u8>,
    /// Where each type begins in `bytes`.
    places: Vec<usize>,
    /// Where the strings lie in `bytes`.
    strings: std::ops::Range<usize>,
}

shows!(Types);

/// A type as it stands in the file.
#[derive(Debug, Clone, Copy)]
struct Type<'a> {
    name: u32,
    kind: u32,
    count: usize,
    /// Its size, or the number of the type that it is made of.
    word: u32,
    /// What its kind adds.
    rest: &'a [u8],
}

impl Types {
    /// Reads a file; `base` are the kernel's types if it is a module's.
    /// Errors: bytes that are no types.
    pub(crate) fn new(bytes: Vec<u8>, base: Option<Arc<Types>>) -> Result<Self, BtfError> {
        let short = BtfError("the file is too short");
        let magic = bytes.first_chunk().map(|first| u16::from_ne_bytes(*first));
        if magic != Some(MAGIC) {
            return Err(BtfError("the file does not begin with BTF's magic number"));
        }
        let at = |place| word(&bytes, place).map(|word| word as usize).ok_or(short.clone());
        let (header, types, types_bytes) = (at(4)?, at(8)?, at(12)?);
        let (strings, strings_bytes) = (at(16)?, at(20)?);
        let range = |begin: usize, length: usize| {
            let begin = header.checked_add(begin)?;
            let end = begin.checked_add(length)?;
            (end <= bytes.len()).then_some(begin..end)
        };
        let types = range(types, types_bytes).ok_or(short.clone())?;
        let strings = range(strings, strings_bytes).ok_or(short.clone())?;
        let mut places = Vec::new();
        let mut place = types.start;
        while place < types.end {
            let found = type_at(&bytes, place).ok_or(short.clone())?;
            places.push(place);
            place = rest_bytes(found.kind, found.count)
                .and_then(|rest| place.checked_add(TYPE_BYTES)?.checked_add(rest))
                .ok_or(BtfError("a type is of a kind that is not known"))?;
        }
        Ok(Self { base, bytes, places, strings })
    }

    /// The file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether anything has this name: a type, a function, a field.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.string(name).is_some()
    }

    /// The value of the enumerator of that name, in whichever enum.
    pub(crate) fn enumerator(&self, name: &str) -> Option<u64> {
        let name = self.string(name)?;
        self.types().find_map(|found| {
            let value = |words: &[u32]| match found.kind {
                kind::ENUM => u64::from(words[1]),
                _ => u64::from(words[2]) << 32 | u64::from(words[1]),
            };
            let length = match found.kind {
                kind::ENUM => 2,
                kind::ENUM64 => 3,
                _ => return None,
            };
            let words = words(found.rest);
            words.chunks_exact(length).find(|member| member[0] == name).map(value)
        })
    }

    /// Where a struct has a field, in bytes from its beginning.
    pub(crate) fn offset(&self, of: &str, field: &str) -> Option<u64> {
        let (of, field) = (self.string(of)?, self.string(field)?);
        let is_it = |found: &Type<'_>| found.kind == kind::STRUCT && found.name == of;
        self.types().filter(is_it).find_map(|found| self.offset_within(found, field, 0))
    }

    /// The same in a type that may have others in line; `depth` of them are around it.
    fn offset_within(&self, of: Type<'_>, field: u32, depth: u32) -> Option<u64> {
        // The kernel's own compiler allows of no more (btf_struct_walk).
        if !matches!(of.kind, kind::STRUCT | kind::UNION) || depth > 16 {
            return None;
        }
        words(of.rest).chunks_exact(3).find_map(|member| {
            // With bit fields the upper byte is the width.
            let bytes = u64::from(member[2] & 0x00ff_ffff) / 8;
            match member[0] {
                name if name == field => Some(bytes),
                0 => {
                    let within = self.offset_within(self.number(member[1])?, field, depth + 1)?;
                    Some(bytes + within)
                }
                _ => None,
            }
        })
    }

    /// Which argument of a tracepoint is a pointer to such a struct, from 0 on.
    pub(crate) fn argument(&self, tracepoint: &str, of: &str) -> Option<u64> {
        let of = self.string(of)?;
        let is_it = |argument: &[u32]| {
            let to = self.number(argument[1]).filter(|found| found.kind == kind::POINTER)?;
            let to = self.number(to.word)?;
            (to.kind == kind::STRUCT && to.name == of).then_some(())
        };
        let arguments = words(self.tracepoint(tracepoint)?.rest);
        // The first one is the tracer's own.
        let mut arguments = arguments.chunks_exact(2).skip(1);
        arguments.position(|argument| is_it(argument).is_some()).map(|place| place as u64)
    }

    /// Whether there is such a tracepoint.
    pub(crate) fn has_tracepoint(&self, name: &str) -> bool {
        self.tracepoint(name).is_some()
    }

    /// The type of what a tracepoint calls.
    fn tracepoint(&self, name: &str) -> Option<Type<'_>> {
        let name = self.string(&format!("btf_trace_{name}"))?;
        let is_it = |found: &Type<'_>| found.kind == kind::TYPEDEF && found.name == name;
        let pointer = self.number(self.types().find(is_it)?.word)?;
        let called = self.number(pointer.word)?;
        (called.kind == kind::FUNCTION_TYPE).then_some(called)
    }

    /// The types of this file alone.
    fn types(&self) -> impl Iterator<Item = Type<'_>> {
        self.places.iter().filter_map(|place| type_at(&self.bytes, *place))
    }

    /// A type by its number, which counts from 1 on and first through the kernel's.
    fn number(&self, number: u32) -> Option<Type<'_>> {
        let number = number as usize;
        let before = self.base.as_ref().map_or(0, |base| base.places.len());
        match number.checked_sub(before + 1) {
            Some(own) => type_at(&self.bytes, *self.places.get(own)?),
            None => {
                let types = self.base.as_deref().unwrap_or(self);
                type_at(&types.bytes, *types.places.get(number.checked_sub(1)?)?)
            }
        }
    }

    /// Where a string is: first in the kernel's strings, then in the module's own behind them.
    fn string(&self, text: &str) -> Option<u32> {
        if let Some(found) = self.base.as_ref().and_then(|base| base.string(text)) {
            return Some(found);
        }
        let wanted = [&[0], text.as_bytes(), &[0]].concat();
        let strings = self.bytes.get(self.strings.clone())?;
        let found = memchr::memmem::find(strings, &wanted)? + 1;
        let before = self.base.as_ref().map_or(0, |base| base.strings.len());
        u32::try_from(before + found).ok()
    }
}

fn word(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(place..)?.first_chunk()?))
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).filter_map(|chunk| word(chunk, 0)).collect()
}

fn type_at(bytes: &[u8], place: usize) -> Option<Type<'_>> {
    let info = word(bytes, place + 4)?;
    let (kind, count) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
    let begin = place + TYPE_BYTES;
    let rest = bytes.get(begin..begin + rest_bytes(kind, count)?)?;
    Some(Type { name: word(bytes, place)?, kind, count, word: word(bytes, place + 8)?, rest })
}

/// Bytes that a kind adds; none of a kind that is not known.
fn rest_bytes(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        kind::INT | kind::VARIABLE | kind::DECLARATION_TAG => 4,
        kind::ARRAY => 12,
        kind::STRUCT | kind::UNION | kind::SECTION | kind::ENUM64 => 12 * count,
        kind::ENUM | kind::FUNCTION_TYPE => 8 * count,
        1..=kind::LAST => 0,
        _ => return None,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Types that are made for a test.
    #[derive(Debug, Default)]
    pub(crate) struct Made {
        types: Vec<u8>,
        strings: Vec<u8>,
        /// Strings and types of what these add to.
        strings_before: usize,
        count: u32,
    }

    impl Made {
        pub(crate) fn new() -> Self {
            Self { strings: vec![0], ..Self::default() }
        }

        /// Such as a module has.
        pub(crate) fn behind(base: &Self) -> Self {
            let strings_before = base.strings.len();
            Self { strings: vec![0], strings_before, count: base.count, ..Self::default() }
        }

        fn string(&mut self, text: &str) -> u32 {
            if text.is_empty() {
                return 0;
            }
            self.strings.extend(text.as_bytes());
            self.strings.push(0);
            (self.strings_before + self.strings.len() - text.len() - 1) as u32
        }

        /// A type with the words that its kind adds; its number.
        fn add(&mut self, name: &str, kind: u32, count: usize, word: u32, rest: &[u32]) -> u32 {
            let name = self.string(name);
            for word in [name, kind << 24 | count as u32, word].iter().chain(rest) {
                self.types.extend(word.to_ne_bytes());
            }
            self.count += 1;
            self.count
        }

        pub(crate) fn an_enum(&mut self, name: &str, members: &[(&str, u32)]) -> u32 {
            let of = |made: &mut Self, (name, value): (&str, u32)| [made.string(name), value];
            let words: Vec<u32> = members.iter().flat_map(|member| of(self, *member)).collect();
            self.add(name, kind::ENUM, members.len(), 4, &words)
        }

        /// Fields: name, type, place in bytes.
        pub(crate) fn a_struct(&mut self, name: &str, fields: &[(&str, u32, u32)]) -> u32 {
            let of = |made: &mut Self, (name, number, bytes): (&str, u32, u32)| {
                [made.string(name), number, bytes * 8]
            };
            let words: Vec<u32> = fields.iter().flat_map(|field| of(self, *field)).collect();
            self.add(name, kind::STRUCT, fields.len(), 64, &words)
        }

        pub(crate) fn pointer(&mut self, to: u32) -> u32 {
            self.add("", kind::POINTER, 0, to, &[])
        }

        pub(crate) fn tracepoint(&mut self, name: &str, arguments: &[u32]) {
            let words: Vec<u32> = arguments.iter().flat_map(|number| [0, *number]).collect();
            let called = self.add("", kind::FUNCTION_TYPE, arguments.len(), 0, &words);
            let pointer = self.pointer(called);
            self.add(&format!("btf_trace_{name}"), kind::TYPEDEF, 0, pointer, &[]);
        }

        pub(crate) fn bytes(&self) -> Vec<u8> {
            let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
            let header = [0x0001_eb9f, 24, 0, types, types, strings].map(u32::to_ne_bytes).concat();
            [header, self.types.clone(), self.strings.clone()].concat()
        }
    }

    fn a_kernel() -> Made {
        let mut made = Made::new();
        made.an_enum("", &[("BIO_CHAIN", 3), ("BIO_THROTTLED", 7)]);
        let bio = made.a_struct("bio", &[("bi_opf", 0, 16)]);
        let within = made.a_struct("", &[("tid", 0, 4)]);
        made.a_struct("holder", &[("first", bio, 0), ("", within, 8)]);
        let queue = made.a_struct("request_queue", &[]);
        let (bio, queue) = (made.pointer(bio), made.pointer(queue));
        made.tracepoint("old", &[0, queue, bio]);
        made.tracepoint("new", &[0, bio]);
        made
    }

    #[test]
    fn enumerators_fields_and_arguments_are_found_by_their_names() {
        let types = Types::new(a_kernel().bytes(), None).unwrap();
        assert_eq!(types.enumerator("BIO_THROTTLED"), Some(7));
        assert_eq!(types.enumerator("BIO_BPS_THROTTLED"), None);
        assert_eq!(types.offset("bio", "bi_opf"), Some(16));
        assert_eq!(types.offset("holder", "tid"), Some(12), "in line");
        assert_eq!(types.offset("holder", "bi_opf"), None);
        assert_eq!(
            (types.argument("old", "bio"), types.argument("new", "bio")),
            (Some(1), Some(0))
        );
        assert_eq!(types.argument("new", "request_queue"), None);
        assert!(types.has_tracepoint("old") && !types.has_tracepoint("bio"));
    }

    #[test]
    fn a_modules_types_continue_the_kernels() {
        let kernel = a_kernel();
        let mut module = Made::behind(&kernel);
        // The pointer to a bio is the kernel's sixth type.
        module.tracepoint("of_module", &[0, 6]);
        module.a_struct("ext4_inode_info", &[("i_sync_tid", 0, 40)]);
        let base = Arc::new(Types::new(kernel.bytes(), None).unwrap());
        let types = Types::new(module.bytes(), Some(base.clone())).unwrap();
        assert_eq!(types.offset("ext4_inode_info", "i_sync_tid"), Some(40));
        assert_eq!(types.argument("of_module", "bio"), Some(0));
        assert_eq!(base.argument("of_module", "bio"), None);
    }

    #[test]
    fn bytes_that_are_no_types_are_refused() {
        let whole = a_kernel().bytes();
        for length in 0..whole.len() {
            assert!(Types::new(whole[..length].to_vec(), None).is_err(), "{length}");
        }
        let mut unknown = whole.clone();
        unknown[24 + 7] = 31;
        assert!(Types::new(unknown, None).is_err());
        // Numbers that lead nowhere, or in a circle.
        for place in (24..whole.len() - 3).step_by(4) {
            let mut changed = whole.clone();
            changed[place..place + 4].copy_from_slice(&4u32.to_ne_bytes());
            if let Ok(types) = Types::new(changed, None) {
                let _ = (types.offset("holder", "none"), types.argument("old", "bio"));
            }
        }
    }
}

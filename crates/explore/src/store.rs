//! An index as bytes: a head in JSON, then each column as it lies in memory, little-endian, then a
//! checksum of all of it.
//!
//! Non-goals: where it is kept, and whether it is still that of its trace (the key tells).

use super::Index;
use super::classes::Classes;
use super::groups::{Cell, Group, Groups};
use super::rows::{Block, Rows};
use crc32fast::Hasher;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};

/// What a file of it begins with; the number is the version of what follows.
const MAGIC: [u8; 16] = *b"lbolt-explore/3\n";
/// No head is longer.
const HEAD_BYTES: u64 = 256 << 20;
/// Numbers that are turned into bytes at once.
const AT_ONCE: usize = 1 << 16;

/// Why an index could not be read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A refusal of the file system.
    #[error("read or write the index: {0}")]
    Io(#[from] std::io::Error),
    /// It is no index, of another version or trace, or damaged.
    #[error("use the index: {0}")]
    Other(&'static str),
}

/// What is not a column.
#[derive(Serialize, Deserialize)]
struct Head {
    /// What tells whether it is still that of its trace.
    key: String,
    rows: u64,
    groups: u64,
    has_numbers: bool,
    has_groups: bool,
    place_shift: u8,
    left_out: u64,
    from_issue: u64,
    ends: Vec<(u32, u32)>,
    classes: Classes,
    blocks: Vec<Block>,
    cells: Vec<Cell>,
    places: Vec<Vec<u32>>,
}

/// A number of a column.
trait Number: Copy {
    const BYTES: usize;
    fn put(self, to: &mut Vec<u8>);
    fn take(from: &[u8]) -> Self;
}

macro_rules! number {
    ($($kind:ty),*) => {$(
        impl Number for $kind {
            const BYTES: usize = size_of::<$kind>();
            fn put(self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
            fn take(from: &[u8]) -> Self {
                from.try_into().map_or(0, <$kind>::from_le_bytes)
            }
        }
    )*};
}
number!(u16, u32, u64);

impl Number for Group {
    const BYTES: usize = 18;
    fn put(self, to: &mut Vec<u8>) {
        self.class.put(to);
        to.extend_from_slice(&[self.place, self.response]);
        self.requests.put(to);
        self.sectors.put(to);
        self.longest.put(to);
    }
    fn take(from: &[u8]) -> Self {
        let part = |range: std::ops::Range<usize>| from.get(range).unwrap_or_default();
        Self {
            class: u16::take(part(0..2)),
            place: from.get(2).copied().unwrap_or(0),
            response: from.get(3).copied().unwrap_or(0),
            requests: u32::take(part(4..8)),
            sectors: u64::take(part(8..16)),
            longest: u16::take(part(16..18)),
        }
    }
}

fn put<N: Number>(column: &[N], to: &mut impl Write) -> std::io::Result<()> {
    let mut bytes = Vec::with_capacity(AT_ONCE * N::BYTES);
    for part in column.chunks(AT_ONCE) {
        bytes.clear();
        part.iter().for_each(|number| number.put(&mut bytes));
        to.write_all(&bytes)?;
    }
    Ok(())
}

/// No memory is taken before its bytes are there.
fn take<N: Number>(count: u64, from: &mut impl Read) -> Result<Vec<N>, StoreError> {
    let mut column = Vec::new();
    let mut bytes = vec![0; AT_ONCE * N::BYTES];
    let mut left = count;
    while left > 0 {
        let now = left.min(AT_ONCE as u64) as usize;
        let part = bytes.get_mut(..now * N::BYTES).unwrap_or_default();
        from.read_exact(part)?;
        column.extend(part.chunks_exact(N::BYTES).map(N::take));
        left -= now as u64;
    }
    Ok(column)
}

/// What is read or written, with its checksum so far (CRC-32).
struct Summed<T> {
    inner: T,
    sum: Hasher,
}

impl<T> Summed<T> {
    fn new(inner: T) -> Self {
        Self { inner, sum: Hasher::new() }
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.sum.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.sum.update(bytes.get(..read).unwrap_or_default());
        Ok(read)
    }
}

impl Index {
    /// Writes it; the key is what [`Index::read`] must be given.
    /// Errors: a refusal of the output.
    pub fn write(&self, key: &str, to: &mut impl Write) -> Result<(), StoreError> {
        let mut to = Summed::new(to);
        self.write_all(key, &mut to)?;
        let sum = to.sum.finalize();
        Ok(to.inner.write_all(&sum.to_le_bytes())?)
    }

    fn write_all(&self, key: &str, to: &mut impl Write) -> Result<(), StoreError> {
        let (rows, groups) = (&self.rows, self.groups.as_ref());
        let head = Head {
            key: key.to_owned(),
            rows: rows.len() as u64,
            groups: groups.map_or(0, |groups| groups.all.len() as u64),
            has_numbers: rows.numbers.is_some(),
            has_groups: groups.is_some(),
            place_shift: self.place_shift,
            left_out: self.left_out,
            from_issue: self.from_issue,
            ends: self.ends.clone(),
            classes: self.classes.clone(),
            blocks: rows.blocks.clone(),
            cells: groups.map_or_else(Vec::new, |groups| groups.cells.clone()),
            places: groups.map_or_else(Vec::new, |groups| groups.places.clone()),
        };
        let head = serde_json::to_vec(&head).map_err(std::io::Error::other)?;
        to.write_all(&MAGIC)?;
        to.write_all(&(head.len() as u64).to_le_bytes())?;
        to.write_all(&head)?;
        put(&rows.times, to)?;
        put(&rows.places, to)?;
        put(&rows.responses, to)?;
        put(&rows.lengths, to)?;
        put(&rows.classes, to)?;
        put(rows.numbers.as_deref().unwrap_or_default(), to)?;
        put(groups.map_or(&[][..], |groups| &groups.all), to)?;
        Ok(())
    }

    /// Reads what [`Index::write`] wrote with the same key.
    /// Errors: what is no index, of another version or trace, or damaged.
    pub fn read(key: &str, from: &mut impl Read) -> Result<Self, StoreError> {
        let mut from = Summed::new(from);
        let index = Self::read_all(key, &mut from)?;
        let sum = from.sum.finalize();
        let mut told = [0; 4];
        from.inner.read_exact(&mut told)?;
        // What is in it is used without a look at each number.
        match u32::from_le_bytes(told) == sum {
            true => Ok(index),
            false => Err(StoreError::Other("it is damaged")),
        }
    }

    fn read_all(key: &str, from: &mut impl Read) -> Result<Self, StoreError> {
        let mut magic = [0; MAGIC.len()];
        let mut length = [0; 8];
        from.read_exact(&mut magic)?;
        from.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if magic != MAGIC || length > HEAD_BYTES {
            return Err(StoreError::Other("it is none, or of another version"));
        }
        let mut head = Vec::new();
        from.by_ref().take(length).read_to_end(&mut head)?;
        let head: Head =
            serde_json::from_slice(&head).map_err(|_| StoreError::Other("it is damaged"))?;
        if head.key != key {
            return Err(StoreError::Other("it is of another trace"));
        }
        Self::of_head(head, from)
    }

    fn of_head(head: Head, from: &mut impl Read) -> Result<Self, StoreError> {
        let count = head.rows;
        let rows = Rows {
            blocks: head.blocks,
            times: take(count, from)?,
            places: take(count, from)?,
            responses: take(count, from)?,
            lengths: take(count, from)?,
            classes: take(count, from)?,
            numbers: match head.has_numbers {
                true => Some(take(count, from)?),
                false => None,
            },
        };
        let all = take(head.groups, from)?;
        let groups =
            head.has_groups.then_some(Groups { cells: head.cells, all, places: head.places });
        Ok(Self {
            rows,
            classes: head.classes,
            ends: head.ends,
            groups,
            place_shift: head.place_shift,
            left_out: head.left_out,
            from_issue: head.from_issue,
        })
    }
}

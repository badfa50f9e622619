//! The records of one file, one ahead of what is taken, so that several files can be merged by
//! time.
//!
//! Records are read where they lie in the buffer. What is no record is passed over up to the next
//! magic number; ftrace puts such text in where its buffer overran: `CPU:1 [LOST 6384 EVENTS]`.

use super::record::{HEADER_BYTES_MAX, Layout, RECORD_BYTES_MAX, Record};
use crate::import::steps::{Kind, ftrace_lost, numbered};
use crate::import::{Input, InputError};
use memchr::memmem;
use std::io::Read;

/// Bytes that are read at once: so many that no buffer beneath copies them.
const BUFFER_BYTES: usize = 512 * 1024;
/// So much of the name of a process is kept (the kernel's `TASK_COMM_LEN`).
const NOTE_BYTES: usize = 16;

/// So much is passed over before the first record.
const PASSED_BYTES_MAX: u64 = 64 << 20;

/// What a record tells.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tale {
    Happened(Kind),
    /// [`Stream::name`].
    Name,
    /// The wall clock at the record's time.
    WallClock {
        /// Since 1970.
        seconds: u32,
        /// And these.
        nanoseconds: u32,
    },
}

/// A record that is next to be taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) record: Record,
    pub(super) cgroup: Option<u64>,
    pub(super) tale: Tale,
    /// Which one of its file, counted from 1.
    pub(super) number: u64,
}

impl Head {
    /// What heads of several files are merged by; as [`trace::intake::Intake::listed`] sorts.
    #[inline]
    pub(super) fn key(&self) -> (u64, u8, u32) {
        let rank = match self.tale {
            Tale::Happened(kind) => kind.rank(),
            // A name is known before it is used.
            Tale::Name | Tale::WallClock { .. } => 0,
        };
        (self.record.time_ns, rank, self.record.cpu)
    }
}

/// What was found between the records.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Events that the tracer says it lost.
    pub(super) lost: u64,
    /// What was not understood: before which record, counted from 1, and what it was.
    pub(super) rejected: Vec<(u64, &'static str)>,
}

impl Found {
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        self.lost > 0 || !self.rejected.is_empty()
    }
}

pub(super) struct Stream<'a> {
    input: &'a mut Input,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    is_at_end: bool,
    number: u64,
    /// How much was passed over.
    passed_bytes: u64,
    /// The next record that tells something; none at the end, and before the first.
    pub(super) head: Option<Head>,
    /// The last name of a process, with zeroes behind it.
    pub(super) name: [u8; NOTE_BYTES],
}

impl<'a> Stream<'a> {
    pub(super) fn new(input: &'a mut Input) -> Self {
        let buffer = vec![0; BUFFER_BYTES];
        Self {
            input,
            buffer,
            start: 0,
            end: 0,
            is_at_end: false,
            number: 0,
            passed_bytes: 0,
            head: None,
            name: [0; NOTE_BYTES],
        }
    }

    /// So much of the file at the least, from here on, unless it ends before.
    #[inline]
    fn fill(&mut self, length: usize) -> Result<(), InputError> {
        let is_there = self.end - self.start >= length || self.is_at_end;
        if is_there { Ok(()) } else { self.read() }
    }

    /// Fills the buffer.
    #[cold]
    fn read(&mut self) -> Result<(), InputError> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while self.end < self.buffer.len() {
            match self.input.reader().read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.is_at_end = true;
                    break;
                }
                Ok(count) => self.end += count,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(source) => return Err(self.input.refused(source)),
            }
        }
        Ok(())
    }

    /// Goes on to the next record that tells something.
    #[inline]
    pub(super) fn advance(&mut self, found: &mut Found) -> Result<(), InputError> {
        loop {
            self.fill(HEADER_BYTES_MAX)?;
            let rest = &self.buffer[self.start..self.end];
            let Some(layout) = rest.first_chunk().and_then(|first| Layout::of(*first)) else {
                if rest.is_empty() {
                    self.head = None;
                    return Ok(());
                }
                if !self.pass_over(found)? {
                    found.rejected.push((self.number + 1, "bytes that are no record"));
                }
                continue;
            };
            self.number += 1;
            let record = Record::read(layout, rest);
            let header_bytes = layout.header_bytes();
            let bytes = header_bytes + record.as_ref().map_or(0, |r| usize::from(r.pdu_length));
            self.fill(bytes)?;
            let pdu = self.buffer[self.start..self.end].get(header_bytes..bytes);
            let (Some(record), Some(pdu)) = (record, pdu) else {
                // The file ends here, or what looked like a record was none.
                found.rejected.push((self.number, "a record that is cut off"));
                self.start += 4;
                self.pass_over(found)?;
                continue;
            };
            self.start += bytes;
            self.head = head(layout, record, pdu, self.number, &mut self.name);
            if self.head.is_some() {
                return Ok(());
            }
            if !is_known(&record) {
                found.rejected.push((self.number, "an action that is not known"));
            }
        }
    }

    /// Passes over what is no record up to what may be one; returns whether it told of lost events
    /// and nothing else.
    #[cold]
    fn pass_over(&mut self, found: &mut Found) -> Result<bool, InputError> {
        let mut is_only_lost = true;
        loop {
            self.fill(RECORD_BYTES_MAX)?;
            let rest = &self.buffer[self.start..self.end];
            // A magic number that has only begun at the end of the buffer may be one.
            let begun = if self.is_at_end { 0 } else { 3 };
            let end = place_of_magic(rest).unwrap_or(rest.len().saturating_sub(begun));
            let (lost, is_only) = lost_in(&rest[..end]);
            found.lost += lost;
            is_only_lost &= is_only;
            self.start += end;
            self.passed_bytes += end as u64;
            if self.number == 0 && self.passed_bytes > PASSED_BYTES_MAX {
                // No trace begins so; and what decompresses without end has no end to be looked
                // for.
                (self.start, self.is_at_end) = (self.end, true);
                return Ok(false);
            }
            if end < rest.len().saturating_sub(begun) || self.is_at_end {
                return Ok(is_only_lost);
            }
        }
    }
}

/// What a record tells; none if that is nothing to us.
#[inline]
fn head(
    layout: Layout,
    record: Record,
    pdu: &[u8],
    number: u64,
    name: &mut [u8; NOTE_BYTES],
) -> Option<Head> {
    let (cgroup, pdu) = record.cgroup(layout, pdu);
    let tale = match (record.is_note(), record.number()) {
        (false, action) => match numbered(action)? {
            Kind::Nothing => return None,
            kind => Tale::Happened(kind),
        },
        (true, 0) => {
            let length = pdu.len().min(NOTE_BYTES);
            *name = [0; NOTE_BYTES];
            name[..length].copy_from_slice(&pdu[..length]);
            Tale::Name
        }
        (true, 1) => {
            let (seconds, rest) = pdu.split_first_chunk()?;
            let nanoseconds = layout.u32(*rest.first_chunk()?);
            Tale::WallClock { seconds: layout.u32(*seconds), nanoseconds }
        }
        (true, _) => return None,
    };
    Some(Head { record, cgroup, tale, number })
}

/// Whether a record that tells us nothing is known to.
fn is_known(record: &Record) -> bool {
    let number = record.number();
    // 2 is a message.
    if record.is_note() { number == 2 } else { numbered(number).is_some() }
}

/// Where the next record begins, as far as its magic number tells.
fn place_of_magic(bytes: &[u8]) -> Option<usize> {
    let is_one = |place: &usize| {
        bytes[*place..].first_chunk().is_some_and(|first| Layout::of(*first).is_some())
    };
    // Three letters are the same in every version: "tae" behind the version, "eat" before it.
    let little = memmem::find_iter(bytes, b"tae").filter_map(|p| p.checked_sub(1)).find(is_one);
    let big = memmem::find_iter(bytes, b"eat").find(is_one);
    little.into_iter().chain(big).min()
}

/// Events that ftrace says were lost, and whether a text says nothing else.
fn lost_in(text: &[u8]) -> (u64, bool) {
    let (mut lost, mut is_only_that) = (0, true);
    for line in text.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        match ftrace_lost(line) {
            Some(count) => lost += count,
            None => is_only_that = false,
        }
    }
    (lost, is_only_that)
}

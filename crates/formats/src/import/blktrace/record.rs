//! One record of blktrace: `struct blk_io_trace` (version 7, 48 bytes) or `struct blk_io_trace2`
//! (version 8, 64 bytes; Linux 6.19), in the byte order of the machine that was traced, and
//! `pdu_length` bytes behind it.

/// What every record begins with, but for its version.
const MAGIC: u32 = 0x6561_7400;

/// The longest that a record can be without what follows it, and with that.
pub(super) const HEADER_BYTES_MAX: usize = 64;
pub(super) const RECORD_BYTES_MAX: usize = HEADER_BYTES_MAX + u16::MAX as usize;

/// That the cgroup's id stands before everything else behind the record.
const CGROUP: u64 = 1 << 8;
const NOTIFY: u64 = 1 << 10;

/// In which way a record is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    is_big_endian: bool,
    is_version_8: bool,
}

impl Layout {
    /// The layout of a record that begins with these bytes; none if they are no record's.
    #[inline]
    pub(super) fn of(first: [u8; 4]) -> Option<Self> {
        let is_big_endian = u32::from_be_bytes(first) & !0xff == MAGIC;
        let word =
            if is_big_endian { u32::from_be_bytes(first) } else { u32::from_le_bytes(first) };
        let is_version_8 = match word ^ MAGIC {
            7 => false,
            8 => true,
            _ => return None,
        };
        Some(Self { is_big_endian, is_version_8 })
    }

    /// The length of a record without what follows it.
    #[inline]
    pub(super) fn header_bytes(self) -> usize {
        if self.is_version_8 { 64 } else { 48 }
    }

    #[inline]
    fn u16(self, bytes: [u8; 2]) -> u16 {
        if self.is_big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    #[inline]
    pub(super) fn u32(self, bytes: [u8; 4]) -> u32 {
        if self.is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    #[inline]
    fn u64(self, bytes: [u8; 8]) -> u64 {
        if self.is_big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) time_ns: u64,
    pub(super) sector: u64,
    pub(super) length_bytes: u32,
    action: u64,
    pub(super) pid: u32,
    pub(super) device: u32,
    pub(super) cpu: u32,
    /// 0 or errno, negative, in 16 bits.
    pub(super) error: u16,
    pub(super) pdu_length: u16,
}

impl Record {
    /// The fields of a record; none if there are too few bytes.
    #[inline]
    pub(super) fn read(layout: Layout, bytes: &[u8]) -> Option<Self> {
        // A layout that is a constant costs nothing for each field.
        let of = |is_big_endian, is_version_8| Layout { is_big_endian, is_version_8 };
        Some(match (layout.is_big_endian, layout.is_version_8) {
            (false, false) => Self::read_7(of(false, false), bytes.first_chunk()?),
            (false, true) => Self::read_8(of(false, true), bytes.first_chunk()?),
            (true, false) => Self::read_7(of(true, false), bytes.first_chunk()?),
            (true, true) => Self::read_8(of(true, true), bytes.first_chunk()?),
        })
    }

    #[inline(always)]
    fn read_7(layout: Layout, bytes: &[u8; 48]) -> Self {
        Self {
            time_ns: layout.u64(at(bytes, 8)),
            sector: layout.u64(at(bytes, 16)),
            length_bytes: layout.u32(at(bytes, 24)),
            action: u64::from(layout.u32(at(bytes, 28))),
            pid: layout.u32(at(bytes, 32)),
            device: layout.u32(at(bytes, 36)),
            cpu: layout.u32(at(bytes, 40)),
            error: layout.u16(at(bytes, 44)),
            pdu_length: layout.u16(at(bytes, 46)),
        }
    }

    #[inline(always)]
    fn read_8(layout: Layout, bytes: &[u8; 64]) -> Self {
        Self {
            time_ns: layout.u64(at(bytes, 8)),
            sector: layout.u64(at(bytes, 16)),
            length_bytes: layout.u32(at(bytes, 24)),
            pid: layout.u32(at(bytes, 28)),
            action: layout.u64(at(bytes, 32)),
            device: layout.u32(at(bytes, 40)),
            cpu: layout.u32(at(bytes, 44)),
            error: layout.u16(at(bytes, 48)),
            pdu_length: layout.u16(at(bytes, 50)),
        }
    }

    /// What happened, by number.
    #[inline]
    pub(super) fn number(&self) -> u64 {
        self.action & 0xffff & !CGROUP
    }

    /// What kind of request it happened to.
    #[inline]
    pub(super) fn categories(&self) -> u64 {
        self.action >> 16
    }

    /// Whether it tells of something else than a request.
    #[inline]
    pub(super) fn is_note(&self) -> bool {
        self.categories() & NOTIFY != 0
    }

    /// The cgroup, out of what follows the record, and the rest of that.
    #[inline]
    pub(super) fn cgroup<'a>(&self, layout: Layout, pdu: &'a [u8]) -> (Option<u64>, &'a [u8]) {
        match pdu.split_first_chunk() {
            Some((id, rest)) if self.action & CGROUP != 0 => (Some(layout.u64(*id)), rest),
            _ => (None, pdu),
        }
    }
}

/// `N` bytes from there on. The places are constants, so that nothing is left of the checks, and no
/// call to copy.
#[inline(always)]
fn at<const N: usize>(bytes: &[u8], place: usize) -> [u8; N] {
    bytes.get(place..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_told_by_the_first_bytes() {
        let layout = |is_big_endian, is_version_8| Some(Layout { is_big_endian, is_version_8 });
        assert_eq!(Layout::of(*b"\x07tae"), layout(false, false));
        assert_eq!(Layout::of(*b"eat\x07"), layout(true, false));
        assert_eq!(Layout::of(*b"\x08tae"), layout(false, true));
        assert_eq!(Layout::of(*b"eat\x08"), layout(true, true));
        for bad in [*b"\x06tae", *b"eat\x09", *b"CPU:", [0; 4]] {
            assert_eq!(Layout::of(bad), None);
        }
    }
}

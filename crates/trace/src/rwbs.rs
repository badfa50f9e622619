//! What a request does and where, as block tracers say it: by letters (`FWFSM`, the kernel's
//! `blk_fill_rwbs` and blkparse's `fill_rwbs`) or by blktrace's category bits
//! (`include/uapi/linux/blktrace_api.h`).
//!
//! Letters in order: F if a flush goes before; what it does (R, W, D, N for nothing that has a
//! letter, F for a flush, and from Linux 6.19 on Z and more for zones); F to be on the medium
//! first, A read ahead, S sync, M metadata, U untorn (atomic).
//!
//! A flush is `FF` in tracepoints and `FN` in blktrace. An empty write with a flush before it
//! (`FWS`, of fsync) is paired as a write, since its completion has lost the F; its row is a flush.

use model::record::{Flags, Op};

/// What letters before flags mean; the longer ones first. With a flush before it nothing (`FN`) is
/// a flush.
const OPS: [(&[u8], Op); 13] = [
    (b"ZRA", Op::Other),
    (b"ZA", Op::Write),
    (b"ZR", Op::Other),
    (b"ZF", Op::Other),
    (b"ZO", Op::Other),
    (b"ZC", Op::Other),
    (b"WZ", Op::Discard),
    (b"DE", Op::Discard),
    (b"R", Op::Read),
    (b"W", Op::Write),
    (b"D", Op::Discard),
    (b"F", Op::Flush),
    (b"N", Op::Other),
];

/// Operation and flags of letters; none if they are not exactly that.
#[inline]
pub fn letters(text: &[u8]) -> Option<(Op, Flags)> {
    // Most by far.
    match text {
        b"R" => return Some((Op::Read, Flags::default())),
        b"RS" => return Some((Op::Read, Flags::SYNC)),
        b"W" => return Some((Op::Write, Flags::default())),
        b"WS" => return Some((Op::Write, Flags::SYNC)),
        _ => {}
    }
    let (flushes, rest) = match text {
        // A flush alone, as some listings shorten it.
        b"F" => (false, text),
        _ => text.strip_prefix(b"F").map_or((false, text), |rest| (true, rest)),
    };
    let (name, op) = OPS.iter().find(|(name, _)| rest.starts_with(name))?;
    let mut flags = Flags::default();
    for letter in &rest[name.len()..] {
        flags |= match letter {
            b'F' => Flags::FUA,
            b'A' => Flags::READAHEAD,
            b'S' => Flags::SYNC,
            b'M' => Flags::META,
            b'U' => Flags::default(),
            _ => return None,
        };
    }
    Some(flushing(*op, flags, flushes))
}

/// Where it is, as far as it is anywhere: flushes, commands and empty requests are not, but the end
/// of a flush sequence is given by an empty completion where its data was.
/// Errors: why it cannot be there.
#[inline]
pub fn offset(
    op: Op,
    sector: Option<u64>,
    length_bytes: u32,
    is_completion: bool,
) -> Result<Option<u64>, &'static str> {
    let Some(sector) = sector else { return Ok(None) };
    let is_somewhere = match op {
        Op::Flush => false,
        Op::Read | Op::Write | Op::Discard => length_bytes > 0 || is_completion,
        Op::Other => length_bytes > 0,
    };
    // No sector is known as -1.
    if !is_somewhere || sector == u64::MAX {
        return Ok(None);
    }
    sector.checked_mul(512).map(Some).ok_or("a sector beyond all devices")
}

/// With a flush before it.
#[inline]
fn flushing(op: Op, flags: Flags, flushes: bool) -> (Op, Flags) {
    let op = if op == Op::Other && flushes { Op::Flush } else { op };
    (op, flags.with(Flags::PREFLUSH, flushes))
}

const WRITE: u64 = 1 << 1;
const FLUSH: u64 = 1 << 2;
/// Commands of the driver's own, whose sector says nothing.
pub const COMMAND: u64 = 1 << 9;
const DISCARD: u64 = 1 << 13;
/// From here on in version 8 only.
const ZONE_APPEND: u64 = 1 << 16;
const ZONE_OTHER: u64 = 0b1_1111 << 17;
const WRITE_ZEROES: u64 = 1 << 22;

const FLAGS: [(u64, Flags); 4] = [
    (1 << 3, Flags::SYNC),
    (1 << 11, Flags::READAHEAD),
    (1 << 12, Flags::META),
    (1 << 15, Flags::FUA),
];

/// Operation and flags of blktrace's categories.
#[inline]
pub fn categories(bits: u64, length_bytes: u32) -> (Op, Flags) {
    let is = |category| bits & category != 0;
    let op = if is(COMMAND | ZONE_OTHER) {
        Op::Other
    } else if is(DISCARD | WRITE_ZEROES) {
        Op::Discard
    } else if is(WRITE | ZONE_APPEND) {
        Op::Write
    } else if length_bytes > 0 {
        Op::Read
    } else {
        Op::Other
    };
    let mut flags = Flags::default();
    for (category, flag) in FLAGS {
        flags = flags.with(flag, is(category));
    }
    flushing(op, flags, is(FLUSH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_operations_and_flags() {
        for (text, op, flags) in [
            ("R", Op::Read, Flags::default()),
            ("RA", Op::Read, Flags::READAHEAD),
            ("RSM", Op::Read, Flags::SYNC | Flags::META),
            ("FWFSM", Op::Write, Flags::PREFLUSH | Flags::FUA | Flags::SYNC | Flags::META),
            ("WFS", Op::Write, Flags::FUA | Flags::SYNC),
            ("FWS", Op::Write, Flags::PREFLUSH | Flags::SYNC),
            ("FF", Op::Flush, Flags::PREFLUSH),
            ("FN", Op::Flush, Flags::PREFLUSH),
            ("FNS", Op::Flush, Flags::PREFLUSH | Flags::SYNC),
            ("F", Op::Flush, Flags::default()),
            ("N", Op::Other, Flags::default()),
            ("D", Op::Discard, Flags::default()),
            ("DS", Op::Discard, Flags::SYNC),
            ("DE", Op::Discard, Flags::default()),
            ("WZS", Op::Discard, Flags::SYNC),
            ("ZAS", Op::Write, Flags::SYNC),
            ("ZRA", Op::Other, Flags::default()),
            ("WSU", Op::Write, Flags::SYNC),
        ] {
            assert_eq!(letters(text.as_bytes()), Some((op, flags)), "{text}");
        }
        for bad in ["", "S", "X", "RQ", "rs", "794864", "[fio]"] {
            assert_eq!(letters(bad.as_bytes()), None, "{bad}");
        }
    }

    /// What blkparse prints for category bits, read back, is what the bits mean.
    #[test]
    fn bits_and_their_letters_agree() {
        for bits in 0..1u64 << 16 {
            for length_bytes in [0, 4096] {
                if bits & COMMAND != 0 {
                    assert_eq!(categories(bits, length_bytes).0 == Op::Other, bits & FLUSH == 0);
                    continue;
                }
                let letter = |bit: u64, letter| if bits & bit != 0 { letter } else { "" };
                let op = match () {
                    () if bits & DISCARD != 0 => "D",
                    () if bits & WRITE != 0 => "W",
                    () if length_bytes > 0 => "R",
                    () => "N",
                };
                let text = [
                    letter(FLUSH, "F"),
                    op,
                    letter(1 << 15, "F"),
                    letter(1 << 11, "A"),
                    letter(1 << 3, "S"),
                    letter(1 << 12, "M"),
                ]
                .concat();
                assert_eq!(Some(categories(bits, length_bytes)), letters(text.as_bytes()));
            }
        }
    }
}

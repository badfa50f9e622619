//! What a request does, by the letters of the kernel's `blk_fill_rwbs` (`FWFSM`).
//!
//! Letters in order: F if a flush goes before; what it does (R, W, D, N for nothing that has a letter, F for a flush,
//! and from Linux 6.19 on Z and more for zones); F to be on the medium first, A read ahead, S sync, M metadata,
//! U untorn (atomic).
//!
//! A flush is `FF` in tracepoints and `FN` in blktrace. An empty write with a flush before it (`FWS`, of fsync)
//! stays a write: what the device is given for it are flushes.
//!
//! Non-goals: what the letters do not tell, above all whether a request went past the page cache.

use model::record::{Flags, Op};

/// What letters before flags mean; the longer ones first. With a flush before it nothing (`FN`) is a flush.
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
pub(crate) fn letters(text: &[u8]) -> Option<(Op, Flags)> {
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

/// With a flush before it.
fn flushing(op: Op, flags: Flags, flushes: bool) -> (Op, Flags) {
    match op {
        Op::Other if flushes => (Op::Flush, flags),
        Op::Flush => (Op::Flush, flags),
        _ => (op, flags.with(Flags::PREFLUSH, flushes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn letters_are_operations_and_flags() {
        for (text, op, flags) in [
            ("R", Op::Read, Flags::default()),
            ("RA", Op::Read, Flags::READAHEAD),
            ("RSM", Op::Read, Flags::SYNC | Flags::META),
            ("FWFSM", Op::Write, Flags::PREFLUSH | Flags::FUA | Flags::SYNC | Flags::META),
            ("WFS", Op::Write, Flags::FUA | Flags::SYNC),
            ("FWS", Op::Write, Flags::PREFLUSH | Flags::SYNC),
            ("FF", Op::Flush, Flags::default()),
            ("FN", Op::Flush, Flags::default()),
            ("FNS", Op::Flush, Flags::SYNC),
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

    proptest! {
        #[test]
        fn any_bytes_are_letters_or_not(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            if letters(&bytes).is_some() {
                prop_assert!(bytes.iter().all(u8::is_ascii_uppercase));
            }
        }
    }
}

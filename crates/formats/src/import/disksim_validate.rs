//! DiskSim's traces of real drives (its validation suite): `R|W Hit|Miss|Doub|Trip block size
//! access think`.
//!
//! Address and size in blocks of 512 bytes; how long the drive took, and how long the host thought
//! before it asked again, both in us. The traces are *closed*: a request arrives when the host has
//! thought after the completion of the one before. The first one arrives at zero. As one is
//! outstanding at the most, it is issued as it arrives. What the drive's cache is said to have done
//! is not kept: it is the same throughout most of the files.

use super::lines::{each_row, guess_by_lines};
use super::parse::{decimal, length, op, sectors, words};
use super::{Format, Guess, ImportError, Input, Reading};
use model::record::{Op, Request};
use trace::intake::{Epoch, Intake};

/// What the second word can be.
const OUTCOMES: [&[u8]; 4] = [b"Hit", b"Miss", b"Doub", b"Trip"];
/// Times are added up in ps, which the files write, so that the sum is not off by what is cut off
/// of each.
const PS_PER_NS: i128 = 1000;

pub(super) const FORMAT: Format = Format {
    name: "disksim-validate",
    meaning: "DiskSim's validation traces: access and think times, each request after the last",
    guess,
    import: Reading::Code(import),
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    guess_by_lines(head, is_whole, |line| row(line, 0).is_ok())
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("the sum of access and think times", Epoch::Unknown);
    let closed = "a request arrives its think time after the completion of the one before";
    intake.note("closed", closed.to_owned());
    let mut now_ps = 0;
    each_row(inputs, intake, |line, _| {
        let (row, next_ps) = row(line, now_ps)?;
        now_ps = next_ps;
        Ok(Some(row))
    })
}

/// The row of a line of which the request arrives now, and when the next one does; or why there is
/// none.
#[inline]
fn row(line: &[u8], now_ps: i128) -> Result<(Request, i128), &'static str> {
    let [kind, outcome, block, size, access, think] = words::<6>(line).ok_or("not six words")?;
    if !OUTCOMES.contains(&outcome) {
        return Err("none of Hit, Miss, Doub and Trip");
    }
    let completed_ps = now_ps + i128::from(decimal(access, 6).ok_or("no access time")?);
    let next_ps = completed_ps + i128::from(decimal(think, 6).ok_or("no think time")?);
    let in_ns = |ps: i128| i64::try_from(ps / PS_PER_NS).map_err(|_| "a time beyond all years");
    let queued_ns = Some(in_ns(now_ps)?);
    let row = Request {
        op: op(kind, &[(b"R", Op::Read), (b"W", Op::Write)]).ok_or("neither R nor W")?,
        offset_bytes: Some(sectors(block).ok_or("no block")?),
        length_bytes: sectors(size).and_then(length).ok_or("no size")?,
        queued_ns,
        issued_ns: queued_ns,
        completed_ns: Some(in_ns(completed_ps)?),
        ..Request::default()
    };
    Ok((row, next_ps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_arrives_when_the_host_has_thought() {
        let (first, next_ps) = row(b"R Hit 547163 12 18228.000000 20935.440364", 0).unwrap();
        assert_eq!((first.op, first.length_bytes, first.device), (Op::Read, 6144, 0));
        assert_eq!(first.offset_bytes, Some(280_147_456));
        assert_eq!((first.queued_ns, first.completed_ns), (Some(0), Some(18_228_000)));
        let (second, _) = row(b"W  Doub 25805 43 1.5 0", next_ps).unwrap();
        assert_eq!((second.queued_ns, second.completed_ns), (Some(39_163_440), Some(39_164_940)));
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        for (line, why) in [
            ("", "not six words"),
            ("R Hit 1 8 5.0", "not six words"),
            ("R Hot 1 8 5.0 5.0", "none of Hit, Miss, Doub and Trip"),
            ("X Hit 1 8 5.0 5.0", "neither R nor W"),
            ("R Hit -1 8 5.0 5.0", "no block"),
            ("R Hit 1 8388608 5.0 5.0", "no size"),
            ("R Hit 1 8 -5.0 5.0", "no access time"),
            ("R Hit 1 8 5.0 99999999999999", "no think time"),
        ] {
            assert_eq!(row(line.as_bytes(), 0).map(|_| ()), Err(why), "{line}");
        }
        let late = row(b"R Hit 1 8 5.0 5.0", i128::from(i64::MAX) * PS_PER_NS);
        assert_eq!(late.map(|_| ()), Err("a time beyond all years"));
    }
}

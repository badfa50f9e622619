//! The Storage Performance Council's trace format, as UMass has its traces in it (SPC, "Trace file
//! format specification", 1.0.1): `ASU,LBA,Size,Opcode,Timestamp`, and maybe more fields.
//!
//! The application storage unit is the device; the address is in blocks of 512 bytes, the size in
//! bytes, the opcode R or W in either case, the time in s from the start of the trace; no
//! completions.

use super::lines::{each_row, guess_by_lines};
use super::parse::{decimal, device, length, op, sectors, unsigned};
use super::{Format, Guess, ImportError, Input};
use crate::intake::{Epoch, Intake};
use model::record::{Op, Request};

/// Times that a guess takes for s from the start of a trace: less than three years, so that the s
/// and us since 1970 of other formats are not.
const PLAUSIBLE_NS: std::ops::Range<i64> = 0..100_000_000_000_000_000;

pub(super) const FORMAT: Format = Format {
    name: "spc",
    meaning: "SPC, as UMass has it: ASU, block, bytes, R or W, seconds; no completions",
    guess,
    import,
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    let is_plausible = |row: Request| row.queued_ns.is_some_and(|t| PLAUSIBLE_NS.contains(&t));
    guess_by_lines(head, is_whole, |line| row(line).is_ok_and(is_plausible))
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("from the trace's start", Epoch::Unknown);
    intake.set_one_sided();
    each_row(inputs, intake, |line, _| row(line).map(Some))
}

#[inline]
fn row(line: &[u8]) -> Result<Request, &'static str> {
    let mut fields = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let mut next = || fields.next().ok_or("not five fields");
    let [unit, block, size, kind, time] = [next()?, next()?, next()?, next()?, next()?];
    let ops: &[(&[u8], Op)] =
        &[(b"R", Op::Read), (b"W", Op::Write), (b"r", Op::Read), (b"w", Op::Write)];
    Ok(Request {
        device: device(unit).ok_or("no ASU")?,
        op: op(kind, ops).ok_or("neither R nor W")?,
        offset_bytes: Some(sectors(block).ok_or("no LBA")?),
        length_bytes: unsigned(size).and_then(length).ok_or("no size")?,
        queued_ns: Some(decimal(time, 9).ok_or("no time")?),
        ..Request::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_request_in_units_of_ours() {
        for line in [&b"1,20941264,8192,W,0.551706"[..], b"1, 20941264, 8192, w, 0.551706,x,,y"] {
            let row = row(line).unwrap();
            assert_eq!((row.device, row.op, row.length_bytes), (1, Op::Write, 8192));
            assert_eq!(row.offset_bytes, Some(10_721_927_168));
            assert_eq!((row.queued_ns, row.completed_ns), (Some(551_706_000), None));
        }
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        for (line, why) in [
            ("", "not five fields"),
            ("0,1,512,R", "not five fields"),
            ("ASU,LBA,Size,Opcode,Timestamp", "no ASU"),
            ("0,1,512,X,0.5", "neither R nor W"),
            ("0,36028797018963968,512,R,0.5", "no LBA"),
            ("0,-1,512,R,0.5", "no LBA"),
            ("0,1,-512,R,0.5", "no size"),
            ("0,1,512,R,-0.5", "no time"),
            ("0,1,512,R,1e3", "no time"),
            ("0,1,512,R,9999999999", "no time"),
        ] {
            let found = row(line.as_bytes()).map_err(|why| why.to_owned());
            assert_eq!(found, Err(why.to_owned()), "{line}");
        }
    }

    #[test]
    fn times_since_1970_are_another_formats() {
        assert_eq!(guess(b"0,R,20941264,8192,1577808000000046\n", true), Guess::No);
        assert_eq!(guess(b"0,20941264,8192,R,0.5\n", true), Guess::Yes);
    }
}

//! Tencent's cloud block storage (Zhang et al., 2018): `Timestamp,Offset,Size,IOType,VolumeID`.
//!
//! The time is in whole s since 1970, offset and size in sectors of 512 bytes, the type 0 for a
//! read and 1 for a write; no completions. Many requests have the same time: they stay in the order
//! of the file.

use super::lines::{each_row, guess_by_lines};
use super::parse::{PLAUSIBLE_UNIX_NS, decimal, device, fields, length, op, sectors};
use super::{Format, Guess, ImportError, Input};
use crate::intake::{Epoch, Intake};
use model::record::{Op, Request};

pub(super) const FORMAT: Format = Format {
    name: "tencent",
    meaning: "Tencent CBS: CSV with whole Unix seconds and sectors, no completions",
    guess,
    import,
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    let is_plausible = |row: Request| row.queued_ns.is_some_and(|t| PLAUSIBLE_UNIX_NS.contains(&t));
    guess_by_lines(head, is_whole, |line| row(line).is_ok_and(is_plausible))
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("wall clock (1 s)", Epoch::Unix);
    intake.set_one_sided();
    each_row(inputs, intake, |line, _| row(line).map(Some))
}

#[inline]
fn row(line: &[u8]) -> Result<Request, &'static str> {
    let [time, offset, size, kind, volume] = fields::<5>(line, b',').ok_or("not five fields")?;
    Ok(Request {
        device: device(volume).ok_or("no volume")?,
        op: op(kind, &[(b"0", Op::Read), (b"1", Op::Write)]).ok_or("neither 0 nor 1 as type")?,
        offset_bytes: Some(sectors(offset).ok_or("no offset")?),
        length_bytes: sectors(size).and_then(length).ok_or("no size")?,
        queued_ns: Some(decimal(time, 9).ok_or("no time")?),
        ..Request::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_request_in_units_of_ours() {
        let row = row(b"1538323200,4247200,128,1,1058").unwrap();
        assert_eq!((row.device, row.op, row.length_bytes), (1058, Op::Write, 65536));
        assert_eq!(row.offset_bytes, Some(2_174_566_400));
        assert_eq!((row.queued_ns, row.completed_ns), (Some(1_538_323_200_000_000_000), None));
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        for (line, why) in [
            ("", "not five fields"),
            ("1538323200,0,8,1", "not five fields"),
            ("Timestamp,Offset,Size,IOType,VolumeID", "no volume"),
            ("1538323200,0,8,2,1", "neither 0 nor 1 as type"),
            ("1538323200,0,8,R,1", "neither 0 nor 1 as type"),
            ("1538323200,36028797018963968,8,1,1", "no offset"),
            ("1538323200,0,8388608,1,1", "no size"),
            ("99999999999,0,8,1,1", "no time"),
            ("-5,0,8,1,1", "no time"),
            ("1538323200,0,8,1,-1", "no volume"),
        ] {
            assert_eq!(row(line.as_bytes()), Err(why), "{line}");
        }
    }

    #[test]
    fn five_numbers_of_another_kind_are_not_taken_for_it() {
        assert_eq!(guess(b"12,4247200,128,1,1058\n", true), Guess::No);
        assert_eq!(guess(b"1538323200,4247200,128,1,1058\n", true), Guess::Yes);
    }
}

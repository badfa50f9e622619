//! Alibaba's block traces of 2020: `device_id,opcode,offset,length,timestamp`.
//!
//! Offset and length in bytes, the time in us since 1970; no completions. The sizes of the devices
//! are in a file of their own, which is not read.

use super::lines::{each_row, guess_by_lines};
use super::parse::{PLAUSIBLE_UNIX_NS, decimal, device, fields, length, op, unsigned};
use super::{Format, Guess, ImportError, Input};
use crate::intake::{Epoch, Intake};
use model::record::{Op, Request};

pub(super) const FORMAT: Format = Format {
    name: "alibaba",
    meaning: "Alibaba 2020: CSV with the device first and Unix microseconds last, no completions",
    guess,
    import,
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    let is_plausible = |row: Request| row.queued_ns.is_some_and(|t| PLAUSIBLE_UNIX_NS.contains(&t));
    guess_by_lines(head, is_whole, |line| row(line).is_ok_and(is_plausible))
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("wall clock (1 us)", Epoch::Unix);
    intake.set_one_sided();
    each_row(inputs, intake, |line, _| row(line).map(Some))
}

#[inline]
fn row(line: &[u8]) -> Result<Request, &'static str> {
    let [unit, kind, offset, size, time] = fields::<5>(line, b',').ok_or("not five fields")?;
    Ok(Request {
        device: device(unit).ok_or("no device")?,
        op: op(kind, &[(b"R", Op::Read), (b"W", Op::Write)]).ok_or("neither R nor W")?,
        offset_bytes: Some(unsigned(offset).ok_or("no offset")?),
        length_bytes: unsigned(size).and_then(length).ok_or("no length")?,
        queued_ns: Some(decimal(time, 3).ok_or("no time")?),
        ..Request::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_request_in_units_of_ours() {
        let row = row(b"64,R,1005056000,4096,1577808000000046").unwrap();
        assert_eq!((row.device, row.op, row.length_bytes), (64, Op::Read, 4096));
        assert_eq!(row.offset_bytes, Some(1_005_056_000));
        assert_eq!((row.queued_ns, row.completed_ns), (Some(1_577_808_000_000_046_000), None));
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        for (line, why) in [
            ("", "not five fields"),
            ("1,R,0,1", "not five fields"),
            ("device_id,opcode,offset,length,timestamp", "no device"),
            ("-1,R,0,1,1", "no device"),
            ("1,read,0,1,1", "neither R nor W"),
            ("1,R,-1,1,1", "no offset"),
            ("1,R,0,4294967296,1", "no length"),
            ("1,R,0,1,9999999999999999999", "no time"),
            ("1,R,0,1,-1", "no time"),
            ("1,R,0,1,", "no time"),
        ] {
            assert_eq!(row(line.as_bytes()), Err(why), "{line}");
        }
    }

    #[test]
    fn times_that_are_not_of_these_years_are_another_formats() {
        assert_eq!(guess(b"0,R,20941264,8192,55170\n", true), Guess::No);
        assert_eq!(guess(b"0,R,20941264,8192,1577808000000046\n", true), Guess::Yes);
    }
}

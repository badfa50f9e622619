//! Systor '17 (Lee et al., "Understanding storage traffic characteristics on enterprise virtual
//! desktop infrastructure"): `Timestamp,Response,IOType,LUN,Offset,Size`, with a line of these
//! names at the top.
//!
//! The time is that of issue, in s since 1970 with nine digits, of which those below the
//! microsecond mean nothing; the response time is in s, offset and size in bytes. Rows are in the
//! order of completion. A request without a completion has neither response nor type: what it was
//! is not known.

use super::lines::{each_row, guess_by_lines};
use super::parse::{decimal, device, fields, length, op, unsigned};
use super::{Format, Guess, ImportError, Input};
use crate::intake::{Epoch, Intake};
use model::record::{Op, Request};

/// The names at the top.
const HEADER: &[u8] = b"Timestamp,Response,IOType,LUN,Offset,Size";

pub(super) const FORMAT: Format = Format {
    name: "systor17",
    meaning: "Systor '17: CSV with Unix seconds and response times, in order of completion",
    guess,
    import,
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    guess_by_lines(head, is_whole, |line| row(line).is_ok())
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("wall clock (1 us)", Epoch::Unix);
    each_row(inputs, intake, |line, _| row(line))
}

/// The row of a line, or why there is none; none of a header's, which recurs where files were put
/// together.
#[inline]
fn row(line: &[u8]) -> Result<Option<Request>, &'static str> {
    if line == HEADER {
        return Ok(None);
    }
    let [time, response, kind, unit, offset, size] =
        fields::<6>(line, b',').ok_or("not six fields")?;
    let is_completed = !response.is_empty();
    let op = match kind {
        b"" if !is_completed => Op::Other,
        _ => op(kind, &[(b"R", Op::Read), (b"W", Op::Write)]).ok_or("neither R nor W")?,
    };
    let queued_ns = decimal(time, 9).ok_or("no time")?;
    let completed_ns = if is_completed {
        let completed = decimal(response, 9).and_then(|r| queued_ns.checked_add(r));
        Some(completed.ok_or("no response time")?)
    } else {
        None
    };
    Ok(Some(Request {
        device: device(unit).ok_or("no LUN")?,
        op,
        offset_bytes: Some(unsigned(offset).ok_or("no offset")?),
        length_bytes: unsigned(size).and_then(length).ok_or("no size")?,
        queued_ns: Some(queued_ns),
        completed_ns,
        ..Request::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_request_in_units_of_ours() {
        let line = b"1455591804.310701000,0.006475000,R,3,203468398592,32768";
        let row = row(line).unwrap().unwrap();
        assert_eq!((row.op, row.device, row.length_bytes), (Op::Read, 3, 32768));
        assert_eq!(row.offset_bytes, Some(203_468_398_592));
        assert_eq!(row.queued_ns, Some(1_455_591_804_310_701_000));
        assert_eq!(row.completed_ns, Some(1_455_591_804_317_176_000));
    }

    #[test]
    fn a_request_without_a_completion_is_of_no_known_kind() {
        let row = row(b"1455591804.310701000,,,3,512,4096").unwrap().unwrap();
        assert_eq!((row.op, row.completed_ns), (Op::Other, None));
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        assert_eq!(row(HEADER), Ok(None));
        for (line, why) in [
            ("", "not six fields"),
            ("1.0,0.1,R,0,0", "not six fields"),
            ("1.0,0.1,r,0,0,1", "neither R nor W"),
            ("1.0,0.1,,0,0,1", "neither R nor W"),
            ("-1.0,0.1,R,0,0,1", "no time"),
            ("9999999999.0,0.1,R,0,0,1", "no time"),
            ("1.0,-0.1,R,0,0,1", "no response time"),
            ("9223372036.0,9.1,R,0,0,1", "no response time"),
            ("1.0,0.1,R,x,0,1", "no LUN"),
            ("1.0,0.1,R,0,-1,1", "no offset"),
            ("1.0,0.1,R,0,0,4294967296", "no size"),
        ] {
            assert_eq!(row(line.as_bytes()), Err(why), "{line}");
        }
    }
}

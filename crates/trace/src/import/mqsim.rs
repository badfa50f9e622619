//! MQSim (Tavakkol et al., FAST 2018), text: `time device lba sectors type`, words between spaces.
//!
//! The time is in ns from the start, the address in sectors of 512 bytes, the type 1 for a read and
//! 0 for a write; no completions. DiskSim's text has the same five words, with the time in ms: see
//! [`is_in_ns`].

use super::lines::{each_row, first_lines, guess_by_lines};
use super::parse::{decimal, device, length, op, sectors, words};
use super::{Format, Guess, ImportError, Input};
use crate::intake::{Epoch, Intake};
use model::record::{Op, Request};

/// A time that is not in ms at the beginning of a file: eleven days.
const TOO_LATE_IN_MS: i64 = 1_000_000_000;

pub(super) const FORMAT: Format = Format {
    name: "mqsim",
    meaning: "MQSim: five words a line, the first in ns and the last 1 for a read; no completions",
    guess,
    import,
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    match guess_by_lines(head, is_whole, |line| row(line).is_ok()) {
        Guess::Yes if is_in_ns(head, is_whole) => Guess::Yes,
        Guess::Yes => Guess::NeedMore,
        other => other,
    }
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("from the trace's start (1 ns)", Epoch::Unknown);
    intake.set_one_sided();
    each_row(inputs, intake, |line, _| row(line).map(Some))
}

/// Whether the times of whole numbers at the beginning of a file get so late that they cannot be in
/// ms.
pub(super) fn is_in_ns(head: &[u8], is_whole: bool) -> bool {
    let lines = first_lines(head, is_whole, usize::MAX);
    let mut times = lines.iter().filter_map(|line| row(line).ok()?.queued_ns);
    times.any(|time| time >= TOO_LATE_IN_MS)
}

#[inline]
fn row(line: &[u8]) -> Result<Request, &'static str> {
    let [time, unit, block, size, kind] = words::<5>(line).ok_or("not five words")?;
    Ok(Request {
        device: device(unit).ok_or("no device")?,
        op: op(kind, &[(b"1", Op::Read), (b"0", Op::Write)]).ok_or("neither 0 nor 1 as type")?,
        offset_bytes: Some(sectors(block).ok_or("no LBA")?),
        length_bytes: sectors(size).and_then(length).ok_or("no sectors")?,
        queued_ns: Some(decimal(time, 0).filter(|_| !time.contains(&b'.')).ok_or("no time")?),
        ..Request::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_request_in_units_of_ours() {
        let row = row(b"938513000 4 264719034 16 0").unwrap();
        assert_eq!((row.device, row.op, row.length_bytes), (4, Op::Write, 8192));
        assert_eq!(row.offset_bytes, Some(135_536_145_408));
        assert_eq!((row.queued_ns, row.completed_ns), (Some(938_513_000), None));
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        for (line, why) in [
            ("", "not five words"),
            ("1 0 8 8", "not five words"),
            ("1 0 8 8 1 1", "not five words"),
            ("1 0 8 8 2", "neither 0 nor 1 as type"),
            ("1 -1 8 8 1", "no device"),
            ("1 0 36028797018963968 8 1", "no LBA"),
            ("1 0 8 8388608 1", "no sectors"),
            ("-1 0 8 8 1", "no time"),
            ("1.5 0 8 8 1", "no time"),
            ("9223372036854775808 0 8 8 1", "no time"),
        ] {
            assert_eq!(row(line.as_bytes()), Err(why), "{line}");
        }
    }
}

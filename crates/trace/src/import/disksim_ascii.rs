//! DiskSim's text (Bucy et al., "The DiskSim simulation environment", 4.0, section on input): `time
//! device block size flags`, words between spaces.
//!
//! The time is in ms from the start, address and size in blocks of 512 bytes, the flags in
//! hexadecimal digits with bit 0 set for a read; no completions. MQSim's text has the same five
//! words, with the time in ns. What tells them apart is a point in the time, a flag beside bit 0,
//! or times too late for ms; without any of these it may be either.

use super::lines::{each_row, first_lines, guess_by_lines};
use super::mqsim::is_in_ns;
use super::parse::{decimal, device, hexadecimal, length, sectors, words};
use super::{Format, Guess, ImportError, Input};
use crate::intake::{Epoch, Intake};
use model::record::{Op, Request};

pub(super) const FORMAT: Format = Format {
    name: "disksim-ascii",
    meaning: "DiskSim: five words a line, the first in ms and the last flags; no completions",
    guess,
    import,
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    match guess_by_lines(head, is_whole, |line| row(line).is_ok()) {
        Guess::Yes if is_certain(head, is_whole) => Guess::Yes,
        Guess::Yes if is_in_ns(head, is_whole) => Guess::No,
        Guess::Yes => Guess::NeedMore,
        other => other,
    }
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("from the trace's start", Epoch::Unknown);
    intake.set_one_sided();
    each_row(inputs, intake, |line, _| row(line).map(Some))
}

/// Whether most lines at the beginning have a point in the time, or a flag beside bit 0 anywhere.
fn is_certain(head: &[u8], is_whole: bool) -> bool {
    let lines = first_lines(head, is_whole, 20);
    let rows = || lines.iter().filter(|line| row(line).is_ok()).filter_map(|line| words::<5>(line));
    let fractions = rows().filter(|[time, ..]| time.contains(&b'.')).count();
    let flagged = rows().filter(|[_, _, _, _, flags]| !matches!(*flags, b"0" | b"1")).count();
    // One alone may be a damaged line.
    2 * fractions > lines.len() || 2 * flagged > lines.len()
}

#[inline]
fn row(line: &[u8]) -> Result<Request, &'static str> {
    let [time, unit, block, size, flags] = words::<5>(line).ok_or("not five words")?;
    let flags = hexadecimal(flags).filter(|flags| *flags <= u64::from(u32::MAX));
    let is_read = flags.ok_or("no flags")? & 1 == 1;
    Ok(Request {
        device: device(unit).ok_or("no device")?,
        op: if is_read { Op::Read } else { Op::Write },
        offset_bytes: Some(sectors(block).ok_or("no block")?),
        length_bytes: sectors(size).and_then(length).ok_or("no size")?,
        queued_ns: Some(decimal(time, 6).ok_or("no time")?),
        ..Request::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_request_in_units_of_ours() {
        let row = row(b"6.145000 3  1024 16 b").unwrap();
        assert_eq!((row.device, row.op, row.length_bytes), (3, Op::Read, 8192));
        assert_eq!(row.offset_bytes, Some(524_288));
        assert_eq!((row.queued_ns, row.completed_ns), (Some(6_145_000), None));
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        for (line, why) in [
            ("", "not five words"),
            ("1.5 0 8 8", "not five words"),
            ("1.5 0 8 8 1 1", "not five words"),
            ("1.5 0 8 8 g", "no flags"),
            ("1.5 0 8 8 -1", "no flags"),
            ("1.5 0 8 8 100000000", "no flags"),
            ("1.5 -1 8 8 1", "no device"),
            ("1.5 0 36028797018963968 8 1", "no block"),
            ("1.5 0 8 8388608 1", "no size"),
            ("-1.5 0 8 8 1", "no time"),
            ("9223372036855 0 8 8 1", "no time"),
        ] {
            assert_eq!(row(line.as_bytes()), Err(why), "{line}");
        }
    }

    #[test]
    fn ms_and_ns_are_told_apart_or_left_open() {
        use super::super::mqsim;
        for (text, ms, ns) in [
            ("1.5 0 8 8 1\n2.5 0 8 8 0\n", Guess::Yes, Guess::No),
            ("1 0 8 8 3\n2 0 8 8 2\n", Guess::Yes, Guess::No),
            ("1 0 8 8 1\n1000000000 0 8 8 0\n", Guess::No, Guess::Yes),
            ("1 0 8 8 1\n2 0 8 8 0\n", Guess::NeedMore, Guess::NeedMore),
            ("1 0 8 8 x\n2 0 8 8 y\n", Guess::No, Guess::No),
        ] {
            let found =
                (guess(text.as_bytes(), true), (mqsim::FORMAT.guess)(text.as_bytes(), true));
            assert_eq!(found, (ms, ns), "{text}");
        }
    }
}

//! MSR Cambridge (2008): `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Times are Windows' (100 ns since 1601), offset and size in bytes, the response time in 100 ns.
//! Rows are in the order of issue, so that completions go backwards now and then. Hosts and disks
//! become devices in the order in which they are met; their names are noted.

use super::devices::Devices;
use super::lines::{each_line, guess_by_lines};
use super::parse::{fields, fixed, length, unsigned};
use super::{Format, Guess, ImportError, Input};
use crate::intake::{Epoch, Intake};
use model::record::{Op, Request};

/// From 1601 to 1970, in 100 ns.
pub(crate) const FILETIME_OF_1970: i64 = 116_444_736_000_000_000;

pub(super) const FORMAT: Format = Format {
    name: "msr",
    meaning: "MSR Cambridge: CSV with Windows times, in order of issue",
    guess,
    import,
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    let mut devices = Devices::default();
    guess_by_lines(head, is_whole, |line| row(line, &mut devices).is_ok())
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("wall clock (100 ns)", Epoch::Unix);
    let mut devices = Devices::default();
    for input in inputs {
        each_line(input, intake, |number, line, intake| {
            match row(line, &mut devices) {
                Ok(row) => intake.request(row)?,
                Err(why) => intake.reject(number, why),
            }
            Ok(())
        })?;
    }
    devices.note(intake);
    Ok(())
}

/// The row of a line, or why there is none. Times are from 1970.
#[inline]
fn row(line: &[u8], devices: &mut Devices) -> Result<Request, &'static str> {
    let [time, host, disk, op, offset, size, response] =
        fields::<7>(line, b',').ok_or("not seven fields")?;
    let op = match op {
        b"Read" => Op::Read,
        b"Write" => Op::Write,
        _ => return Err("neither Read nor Write"),
    };
    let ticks = fixed(time, 0, b'.').ok_or("no time")?;
    let since_1970 = ticks.checked_sub(FILETIME_OF_1970).and_then(|t| t.checked_mul(100));
    let queued_ns = since_1970.ok_or("a time beyond all years")?;
    let response = fixed(response, 0, b'.').and_then(|t| t.checked_mul(100));
    let completed_ns = response.and_then(|r| queued_ns.checked_add(r)).ok_or("no response time")?;
    Ok(Request {
        device: devices.number(&[host, disk]),
        op,
        offset_bytes: Some(unsigned(offset).ok_or("no offset")?),
        length_bytes: unsigned(size).and_then(length).ok_or("no size")?,
        queued_ns: Some(queued_ns),
        completed_ns: Some(completed_ns),
        ..Request::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_request_in_units_of_ours() {
        let line = b"128166385295514663,hm,0,Write,9056014336,2048,2833";
        let row = row(line, &mut Devices::default()).unwrap();
        assert_eq!(
            (row.op, row.offset_bytes, row.length_bytes),
            (Op::Write, Some(9_056_014_336), 2048)
        );
        // 22 February 2007, 17:08:49.55 UTC, as date(1) has it.
        assert_eq!(row.queued_ns, Some(1_172_164_929_551_466_300));
        assert_eq!(row.completed_ns.unwrap() - row.queued_ns.unwrap(), 283_300);
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        for (line, why) in [
            ("", "not seven fields"),
            ("128166385295514663,hm,0,Scan,0,1,1", "neither Read nor Write"),
            ("99999999999999999999,hm,0,Read,0,1,1", "no time"),
            ("9223372036854775807,hm,0,Read,0,1,1", "a time beyond all years"),
            ("128166385295514663,hm,0,Read,x,1,1", "no offset"),
            ("128166385295514663,hm,0,Read,0,4294967296,1", "no size"),
            ("128166385295514663,hm,0,Read,0,1,", "no response time"),
        ] {
            assert_eq!(row(line.as_bytes(), &mut Devices::default()), Err(why), "{line}");
        }
    }
}

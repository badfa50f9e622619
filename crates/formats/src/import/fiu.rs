//! FIU SyLab (Koller and Rangaswami, "I/O deduplication", FAST 2010): `ts pid process lba size op
//! major minor md5`.
//!
//! The time is in ns from a moment that is not known, address and size in sectors of 512 bytes, the
//! operation R or W; no completions. The sum of the content is not kept. A device's number is made
//! of its two as Linux makes it.

use super::lines::{each_line_under, guess_by_lines};
use super::parse::{device, length, op, sectors, whole};
use super::{Format, Guess, ImportError, Input, Reading};
use model::record::{Op, Request, device_number};
use trace::intake::{Epoch, Intake};

pub(super) const FORMAT: Format = Format {
    name: "fiu",
    meaning: "FIU SyLab: nine words with process, device and MD5, in ns; no completions",
    guess,
    import: Reading::Code(import),
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    guess_by_lines(head, is_whole, |line| row(line).is_ok())
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("unknown (1 ns)", Epoch::Unknown);
    intake.set_one_sided();
    each_line_under(inputs, intake, |line, intake| {
        let (mut row, process) = row(line)?;
        row.command = Some(intake.command(process));
        Ok(row)
    })
}

/// The row of a line and the name of its process, or why there is none.
#[inline]
fn row(line: &[u8]) -> Result<(Request, &[u8]), &'static str> {
    // A process's name can have spaces in it: what follows it is counted from the end.
    let mut before = Words(line.trim_ascii());
    let mut after = || before.last().ok_or("not nine words");
    let [sum, minor, major, kind, size, block] =
        [after()?, after()?, after()?, after()?, after()?, after()?];
    let mut first = || before.first().ok_or("not nine words");
    let [time, pid] = [first()?, first()?];
    let process = before.0;
    if process.is_empty() {
        return Err("not nine words");
    }
    if sum.len() != 32 || !sum.iter().all(u8::is_ascii_hexdigit) {
        return Err("no MD5");
    }
    let numbers = device(major).zip(device(minor));
    let number = numbers.and_then(|(major, minor)| device_number(major, minor));
    let row = Request {
        device: number.ok_or("no device")?,
        op: op(kind, &[(b"R", Op::Read), (b"W", Op::Write)]).ok_or("neither R nor W")?,
        offset_bytes: Some(sectors(block).ok_or("no LBA")?),
        length_bytes: sectors(size).and_then(length).ok_or("no size")?,
        queued_ns: Some(whole(time).ok_or("no time")?),
        pid: Some(device(pid).ok_or("no pid")?),
        ..Request::default()
    };
    Ok((row, process))
}

/// What is left of a line, of which words are taken at either end.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn first(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr2(b' ', b'\t', self.0)?;
        let (word, rest) = self.0.split_at(end);
        self.0 = rest.trim_ascii_start();
        Some(word)
    }

    fn last(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memrchr2(b' ', b'\t', self.0)?;
        let (rest, word) = self.0.split_at(end + 1);
        self.0 = rest.trim_ascii_end();
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUM: &str = "531e779a5c4d1b2f00112233445566ff";

    #[test]
    fn a_line_is_a_request_in_units_of_ours() {
        let line = format!("89966000193 4892 syslogd 904265560 8 W 6 1 {SUM}");
        let (row, process) = row(line.as_bytes()).unwrap();
        assert_eq!((process, row.pid, row.op), (&b"syslogd"[..], Some(4892), Op::Write));
        assert_eq!((row.offset_bytes, row.length_bytes), (Some(462_983_966_720), 4096));
        assert_eq!((row.queued_ns, row.completed_ns), (Some(89_966_000_193), None));
        assert_eq!(row.device, 6 << 20 | 1);
    }

    #[test]
    fn a_process_can_have_spaces_in_its_name() {
        let line = format!("0 1 Web Content 8 8 R 6 0 {SUM}");
        assert_eq!(row(line.as_bytes()).unwrap().1, b"Web Content");
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        for (line, why) in [
            ("", "not nine words"),
            ("0 1 8 8 R 6 0 SUM", "not nine words"),
            ("0 1 a 8 8 R 6 0 531e", "no MD5"),
            ("0 1 a 8 8 R 4096 0 SUM", "no device"),
            ("0 1 a 8 8 R 6 1048576 SUM", "no device"),
            ("0 1 a 8 8 X 6 0 SUM", "neither R nor W"),
            ("0 1 a 36028797018963968 8 R 6 0 SUM", "no LBA"),
            ("0 1 a 8 8388608 R 6 0 SUM", "no size"),
            ("-7 1 a 8 8 R 6 0 SUM", "no time"),
            ("0.5 1 a 8 8 R 6 0 SUM", "no time"),
            ("0 -1 a 8 8 R 6 0 SUM", "no pid"),
        ] {
            let line = line.replace("SUM", SUM);
            assert_eq!(row(line.as_bytes()).map(|_| ()), Err(why), "{line}");
        }
    }
}

//! fio's I/O logs (`write_iolog`, `read_iolog`), versions 2 and 3; the first line says which.
//!
//! - Version 3: `TIME FILE ACTION [OFFSET LENGTH]`. The manual gives no unit of the time; it is µs
//!   from the run's start: fio 3.33 with `thinktime=100000` (µs) logs writes that lie 100,058
//!   apart.
//! - Version 2: `FILE ACTION [OFFSET LENGTH]`, with times only in `FILE wait TIME 0`. The manual
//!   has them as µs from the wait before; fio replays them as ms from the start (read_iolog_get in
//!   its `iolog.c`), and so they are read. A time that has passed is no wait.
//!
//! Actions on files (add, open, close) are no requests. `sync` and `datasync` are flushes, whatever
//! place stands beside them. `trim` discards. Files are devices, and offsets count from their
//! beginnings. There are no completions.

use super::devices::Devices;
use super::lines::{each_timed, first_lines};
use super::parse::length;
use super::words::Words;
use super::{Format, Guess, ImportError, Input, Reading};
use model::record::{Op, Request};
use trace::intake::{Epoch, Intake};

/// The first line of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Second,
    Third,
}

const VERSIONS: [(&[u8], Version); 2] =
    [(b"fio version 2 iolog", Version::Second), (b"fio version 3 iolog", Version::Third)];

/// What an action is as a request.
#[inline]
fn op(action: &[u8]) -> Option<Op> {
    Some(match action {
        b"read" => Op::Read,
        b"write" => Op::Write,
        b"trim" => Op::Discard,
        b"sync" | b"datasync" | b"syncfs" => Op::Flush,
        // It starts writing back, and makes nothing durable.
        b"sync_file_range" => Op::Other,
        _ => return None,
    })
}

pub(super) const FORMAT: Format = Format {
    name: "fio-iolog",
    meaning: "fio's I/O logs, versions 2 and 3",
    guess,
    import: Reading::Code(import),
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    let first = first_lines(head, is_whole, 1);
    Guess::of(first.first().is_some_and(|line| version(line).is_some()))
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("from the start of fio's run", Epoch::Unknown);
    intake.set_one_sided();
    let mut devices = Devices::default();
    let begin = Log { version: None, now_us: 0 };
    let mut logs: Vec<Log> = vec![begin; inputs.len()];
    each_timed(inputs, intake, |(file, number), line, intake| {
        logs[file].line(line, &mut devices).unwrap_or_else(|why| {
            intake.reject(number, why);
            None
        })
    })?;
    devices.note(intake);
    Ok(())
}

fn version(line: &[u8]) -> Option<Version> {
    let found = VERSIONS.iter().find(|(text, _)| line.trim_ascii_end() == *text);
    found.map(|(_, version)| *version)
}

/// A log as far as it was read.
#[derive(Debug, Clone, Copy)]
struct Log {
    version: Option<Version>,
    /// Until when the last wait of version 2 lasted.
    now_us: u64,
}

impl Log {
    /// The request of a line, none if it is something else, or why it is neither.
    fn line(
        &mut self,
        line: &[u8],
        devices: &mut Devices,
    ) -> Result<Option<Request>, &'static str> {
        let Some(version) = self.version else {
            self.version = Some(version(line).ok_or("not the first line of version 2 or 3")?);
            return Ok(None);
        };
        let mut words = Words::of(line);
        let time_us = match version {
            Version::Third => words.number().ok_or("no time")?,
            Version::Second => self.now_us,
        };
        let (file, action) = (words.next(), words.next());
        if action.is_empty() {
            return Err("no action");
        }
        // Actions on files.
        if let b"add" | b"open" | b"close" | b"unlink" = action {
            return Ok(None);
        }
        let offset = words.number().ok_or("no offset")?;
        if action == b"wait" && version == Version::Second {
            let until_us = offset.checked_mul(1000).ok_or("a time beyond all years")?;
            self.now_us = self.now_us.max(until_us);
            return Ok(None);
        }
        let length_bytes = words.number().and_then(length).ok_or("no length")?;
        let op = op(action).ok_or("an action that is not known")?;
        let ns = time_us.checked_mul(1000).and_then(|ns| i64::try_from(ns).ok());
        let is_flush = op == Op::Flush;
        Ok(Some(Request {
            device: devices.number(&[file]),
            op,
            offset_bytes: (!is_flush).then_some(offset),
            length_bytes: if is_flush { 0 } else { length_bytes },
            queued_ns: Some(ns.ok_or("a time beyond all years")?),
            ..Request::default()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Result<Option<Request>, &'static str>> {
        let mut log = Log { version: None, now_us: 0 };
        let mut devices = Devices::default();
        text.lines().map(|line| log.line(line.as_bytes(), &mut devices)).collect()
    }

    fn times_us(text: &str) -> Vec<i64> {
        let found = rows(text).into_iter().filter_map(Result::unwrap);
        found.map(|row| row.queued_ns.unwrap() / 1000).collect()
    }

    #[test]
    fn times_stand_in_each_line_or_in_waits() {
        let third = "fio version 3 iolog\n5 f add\n9 f read 0 512\n12 f write 0 512";
        assert_eq!(times_us(third), [9, 12]);
        let second = "fio version 2 iolog\nf add\nf read 0 512\nf wait 100 0\nf wait 7 0\n\
            f read 0 512\nf wait 250 0\nf sync 0 0";
        assert_eq!(times_us(second), [0, 100_000, 250_000]);
    }

    #[test]
    fn actions_are_ops_and_a_flush_has_no_place() {
        let found = rows("fio version 3 iolog\n1 f sync 4096 512\n1 g trim 4096 512");
        let [_, Ok(Some(sync)), Ok(Some(trim))] = &found[..] else { panic!("{found:?}") };
        assert_eq!((sync.op, sync.offset_bytes, sync.length_bytes), (Op::Flush, None, 0));
        assert_eq!((trim.op, trim.device, trim.offset_bytes), (Op::Discard, 1, Some(4096)));
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        assert_eq!(rows("fio version 1 iolog"), [Err("not the first line of version 2 or 3")]);
        for (line, why) in [
            ("", "no time"),
            ("f read 0 512", "no time"),
            ("1 f", "no action"),
            ("1 f read", "no offset"),
            ("1 f read 0", "no length"),
            ("1 f read 0 4294967296", "no length"),
            ("1 f wait 5 0", "an action that is not known"),
            ("18446744073709551615 f read 0 0", "a time beyond all years"),
        ] {
            assert_eq!(rows(&format!("fio version 3 iolog\n{line}\n"))[1], Err(why), "{line}");
        }
    }
}

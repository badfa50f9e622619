//! HP's SRT 1.3: the traces of Ruemmler & Wilkes, "UNIX disk access patterns" (1993).
//!
//! A header of text ends with a form feed; then records of big-endian u32: size, id (version << 16
//! | type), seconds and µs of the enqueueing since `tracedate`, µs from there to the start and to
//! the stop, bytes, sector, device (bits 8 to 15 are the disk), driver type, cylinder, flags, info,
//! queue length. Only type 1 (a short I/O) is known; sectors are of 256 bytes, counted from the
//! beginning of the disk.
//!
//! Queueing and service are both known: a request is queued when it was enqueued, issued at its
//! start, completed at its stop. An asynchronous write is taken for one in the background, an
//! asynchronous read for reading ahead: in the UNIX of then they were nothing else.
//!
//! The `tracedate` is a local time of a zone that the header does not tell: times count from it, it
//! is noted as it stands, and the moment in UTC stays unknown.

use super::binary::{field, fill};
use super::{Format, Guess, ImportError, Input, Reading};
use model::record::{Flags, Op, Request};
use std::io::BufRead;
use std::path::PathBuf;
use trace::intake::{Epoch, Intake};

const MAGIC: &[u8] = b"$$TR_IOREC-1.";
const FORM_FEED: u8 = 0x0c;
/// No header is longer.
const HEADER_BYTES: usize = 1 << 20;
/// A short I/O's size.
const RECORD_BYTES: usize = 56;
/// No record of any type is longer: what says so is damaged.
const LONGEST_BYTES: usize = 64 * 1024;
const SECTOR_BYTES: u64 = 256;

const READ: u32 = 1;
const ASYNCHRONOUS: u32 = 0x100;
const SYNCHRONOUS: u32 = 0x0100_0000;

/// The line of the header since when times count.
const DATE: &str = "tracedate";
/// Lines of the header that are noted.
const NOTED: [&str; 3] = [DATE, "system", "osversion"];

pub(super) const FORMAT: Format = Format {
    name: "srt",
    meaning: "HP SRT 1.3: UNIX disks of 1992, with queueing and service times",
    guess,
    import: Reading::Code(import),
};

fn guess(head: &[u8], _: bool) -> Guess {
    Guess::of(head.starts_with(MAGIC))
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("wall clock (µs, of an unknown zone)", Epoch::Unknown);
    intake.set_zero(0);
    let waits = "flags tell which requests nobody waited for";
    intake.note("waits", waits.to_owned());
    let mut date: Option<(PathBuf, String)> = None;
    for input in inputs {
        let header = header(input)?;
        // Times of different dates would lie over each other.
        let own = value(&header, DATE);
        if let Some(((first, first_date), second_date)) = date.clone().zip(own.clone())
            && first_date != second_date
        {
            let second = input.path().to_owned();
            return Err(ImportError::Dates { first, first_date, second, second_date });
        }
        date = date.or(own.map(|own| (input.path().to_owned(), own)));
        for name in NOTED {
            if let Some(value) = value(&header, name) {
                intake.note(name, value);
            }
        }
        records(input, intake)?;
    }
    Ok(())
}

/// The header's text; the form feed is taken too. A file without one has no records.
fn header(input: &mut Input) -> Result<String, ImportError> {
    let mut text = Vec::new();
    let mut limited = std::io::Read::take(input.reader(), HEADER_BYTES as u64);
    let read = limited.read_until(FORM_FEED, &mut text);
    read.map_err(|source| input.refused(source))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The value of a line `name = "value";`, without its quotes.
fn value(header: &str, name: &str) -> Option<String> {
    header.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        let value = value.trim().trim_end_matches(';').trim_matches('"');
        (key.trim() == name).then(|| value.to_owned())
    })
}

fn records(input: &mut Input, intake: &mut Intake) -> Result<(), ImportError> {
    let mut record = vec![0; RECORD_BYTES];
    for number in 1.. {
        record.resize(4, 0);
        let filled = fill(input, &mut record)?;
        if filled == 0 {
            break;
        }
        let ends_within = "the file ends within it";
        if filled < 4 {
            intake.reject(number, ends_within);
            break;
        }
        let size = u32::from_be_bytes(field(&record, 0)) as usize;
        if !(8..=LONGEST_BYTES).contains(&size) {
            intake.reject(number, "no size of a record; what comes after it is not read");
            break;
        }
        record.resize(size, 0);
        if fill(input, &mut record[4..])? < size - 4 {
            intake.reject(number, ends_within);
            break;
        }
        match row(&record) {
            Ok(ref mut row) => intake.request(row)?,
            Err(why) => intake.reject(number, why),
        }
    }
    Ok(())
}

/// The request of a record, or why there is none. Times are from the `tracedate`.
fn row(record: &[u8]) -> Result<Request, &'static str> {
    if record.len() != RECORD_BYTES {
        return Err("not the size of a short I/O");
    }
    let word = |position: usize| u32::from_be_bytes(field(record, 4 * position));
    let [id, seconds, micros, start, stop] = [1, 2, 3, 4, 5].map(word);
    let [bytes, sector, device, flags] = [6, 7, 8, 11].map(word);
    if id & 0xffff != 1 {
        return Err("not of the type of a short I/O");
    }
    if micros >= 1_000_000 || start > stop {
        return Err("no times of a request");
    }
    let queued_ns = i64::from(seconds) * 1_000_000_000 + i64::from(micros) * 1000;
    let op = if flags & READ != 0 { Op::Read } else { Op::Write };
    let is_async = flags & ASYNCHRONOUS != 0;
    let known = Flags::default()
        .with(Flags::SYNC, flags & SYNCHRONOUS != 0)
        .with(Flags::BACKGROUND, is_async && op == Op::Write)
        .with(Flags::READAHEAD, is_async && op == Op::Read);
    Ok(Request {
        device: device >> 8 & 0xff,
        op,
        flags: known,
        offset_bytes: Some(u64::from(sector) * SECTOR_BYTES),
        length_bytes: bytes,
        queued_ns: Some(queued_ns),
        issued_ns: Some(queued_ns + i64::from(start) * 1000),
        completed_ns: Some(queued_ns + i64::from(stop) * 1000),
        ..Request::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(words: [u32; 14]) -> Vec<u8> {
        words.map(u32::to_be_bytes).concat()
    }

    const GOOD: [u32; 14] =
        [56, 4 << 16 | 1, 2, 500_000, 174, 19_687, 4096, 1056, 0x0800_0107, 4, 1, 0x10a, 7, 1];

    #[test]
    fn a_record_is_a_request_in_units_of_ours() {
        let row = row(&record(GOOD)).unwrap();
        assert_eq!((row.device, row.op, row.flags), (1, Op::Write, Flags::BACKGROUND));
        assert_eq!((row.offset_bytes, row.length_bytes), (Some(1056 * 256), 4096));
        assert_eq!(row.queued_ns, Some(2_500_000_000));
        assert_eq!(row.issued_ns, Some(2_500_174_000));
        assert_eq!(row.completed_ns, Some(2_519_687_000));
    }

    #[test]
    fn flags_say_which_op_and_who_waits() {
        let of = |flags| {
            let mut words = GOOD;
            words[11] = flags;
            row(&record(words)).map(|r| (r.op, r.flags)).unwrap()
        };
        assert_eq!(of(1), (Op::Read, Flags::default()));
        assert_eq!(of(0x101), (Op::Read, Flags::READAHEAD));
        assert_eq!(of(0x0100_0000), (Op::Write, Flags::SYNC));
    }

    #[test]
    fn bad_records_say_what_is_wrong_with_them() {
        for (position, word, why) in [
            (1, 4 << 16 | 2, "not of the type of a short I/O"),
            (3, 1_000_000, "no times of a request"),
            (4, 19_688, "no times of a request"),
        ] {
            let mut words = GOOD;
            words[position] = word;
            assert_eq!(row(&record(words)), Err(why));
        }
        assert_eq!(row(&record(GOOD)[..52]), Err("not the size of a short I/O"));
    }

    /// Two bytes of a size are no size: read as one, they requested 1.7 GB.
    #[test]
    fn a_record_that_ends_within_its_size_is_rejected_at_once() {
        for rest in [1, 2, 3] {
            let bytes = [b"$$TR\n\x0c".to_vec(), record(GOOD), vec![0x68; rest]].concat();
            let mut rows: Vec<Request> = Vec::new();
            let mut intake = Intake::new(&mut rows, "test");
            let mut inputs = [Input::from_bytes("x", bytes).unwrap()];
            import(&mut inputs, &mut intake).unwrap();
            assert_eq!(intake.counts().rejected, 1);
            assert_eq!(intake.complaints(), ["2: the file ends within it"]);
            intake.finish().unwrap();
            assert_eq!(rows.len(), 1);
        }
    }

    #[test]
    fn files_whose_times_count_from_other_dates_are_not_put_together() {
        let file = |name, date: &str| {
            let head = format!("$$TR\ntracedate = \"{date}\";\n\x0c");
            Input::from_bytes(name, [head.into_bytes(), record(GOOD)].concat()).unwrap()
        };
        let read = |dates: [&str; 2]| {
            let mut rows: Vec<Request> = Vec::new();
            let mut intake = Intake::new(&mut rows, "test");
            import(&mut [file("a", dates[0]), file("b", dates[1])], &mut intake)?;
            intake.finish().unwrap();
            Ok::<_, ImportError>(rows.len())
        };
        assert_eq!(read(["Sat May 30", "Sat May 30"]).unwrap(), 2);
        let refused = read(["Sat May 30", "Sun May 31"]).unwrap_err().to_string();
        assert!(
            refused.contains("a and b together") && refused.contains("Sun May 31"),
            "{refused}"
        );
    }

    #[test]
    fn values_stand_in_lines_of_the_header() {
        let header = "$$TR\ntracedate = \"Sat May 30\";\nphysmem\t= 5;\n";
        assert_eq!(value(header, "tracedate").as_deref(), Some("Sat May 30"));
        assert_eq!(value(header, "physmem").as_deref(), Some("5"));
        assert_eq!(value(header, "system"), None);
    }
}

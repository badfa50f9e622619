//! Disk usage as Windows Performance Analyzer (and wpaexporter) writes it: a table whose first line
//! names the columns, with numbers as the country of whoever exported it writes them.
//!
//! Times are from the start of the trace, each column's unit stands in its name; offsets are
//! hexadecimal, and all ones where there is none. `IO Time` is the whole response, `Disk Service
//! Time` the drive's part at its end: a request was issued that long before it was completed.
//!
//! Non-goals: tables grouped by anything, of which a row is several requests.

use super::columns::{Columns, Fields};
use super::lines::{each_row, first_lines};
use super::locale::{decimal_mark, number};
use super::parse::{device, hexadecimal, length, op};
use super::windows::process;
use super::{Format, Guess, ImportError, Input, Reading};
use model::record::{Op, Request};
use trace::intake::{Epoch, Intake};

const KIND: usize = 0;
const PROCESS: usize = 1;
const INIT: usize = 2;
const COMPLETE: usize = 3;
const TOTAL: usize = 4;
const SERVICE: usize = 5;
const SIZE: usize = 6;
const OFFSET: usize = 7;
const DISK: usize = 8;
const COUNT: usize = 9;
const WANTED: usize = 10;

/// The columns by their names without units, and the decimal places from their unit to ns where
/// none is said.
const NAMES: [(&[u8], usize, u32); 11] = [
    (b"IO Type", KIND, 0),
    (b"Process", PROCESS, 0),
    (b"Process Name", PROCESS, 0),
    (b"Init Time", INIT, 9),
    (b"Complete Time", COMPLETE, 9),
    (b"IO Time", TOTAL, 3),
    (b"Disk Service Time", SERVICE, 3),
    (b"Size", SIZE, 0),
    (b"Min Offset", OFFSET, 0),
    (b"Disk", DISK, 0),
    (b"Count", COUNT, 0),
];

/// Units and the decimal places from them to ns, or to bytes. There are two letters that look like
/// a mu, and one of them also as Latin-1 has it.
const UNITS: [(&[u8], u32); 8] = [
    (b"s", 9),
    (b"ms", 6),
    (b"us", 3),
    ("\u{b5}s".as_bytes(), 3),
    ("\u{3bc}s".as_bytes(), 3),
    (b"\xb5s", 3),
    (b"ns", 0),
    (b"B", 0),
];

/// What an offset is that there is not.
const NOWHERE: u64 = u64::MAX;

pub(super) const FORMAT: Format = Format {
    name: "wpa",
    meaning: "Windows Performance Analyzer: disk usage as CSV, columns by name",
    guess,
    import: Reading::Code(import),
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    let lines = first_lines(head, is_whole, 1);
    Guess::of(lines.first().is_some_and(|line| Header::of(line).is_some()))
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("from the trace's start", Epoch::Unknown);
    intake.set_zero(0);
    let mut header: Option<Header> = None;
    each_row(inputs, intake, |line, intake| {
        let found = match &mut header {
            Some(header) => row(line, header),
            None => Err("no names of the columns to go by"),
        };
        // The names recur where tables were put together; no row has them.
        let (mut row, process) = match found {
            Ok(found) => found,
            Err(why) => {
                header = Some(Header::of(line).ok_or(why)?);
                return Ok(None);
            }
        };
        row.command = (!process.is_empty()).then(|| intake.command(process));
        Ok(Some(row))
    })
}

/// What the first line says.
#[derive(Debug)]
struct Header {
    separator: u8,
    columns: Columns<WANTED>,
    places: [u32; WANTED],
    decimal: Option<u8>,
}

impl Header {
    /// The one that a line is, if it has the columns without which there are no requests.
    fn of(line: &[u8]) -> Option<Self> {
        b";\t,".iter().find_map(|separator| {
            let mut places = [0; WANTED];
            let columns = Columns::by_names(Fields::of(line, *separator), |name| {
                let (place, unit_places) = column(name)?;
                places[place] = unit_places;
                Some(place)
            });
            let found = Self { separator: *separator, columns, places, decimal: None };
            let has = |place| found.columns.has(place);
            let is_enough = [KIND, INIT, SIZE, DISK].into_iter().all(has);
            (is_enough && (has(COMPLETE) || has(TOTAL))).then_some(found)
        })
    }

    /// A number of one column.
    #[inline]
    fn number(&self, fields: &[&[u8]; WANTED], place: usize) -> Option<i64> {
        // Until a time with decimals was met: those who write a comma within numbers put none
        // between them.
        let by_separator = if self.separator == b';' { b',' } else { b'.' };
        number(fields[place], self.places[place], self.decimal.unwrap_or(by_separator))
    }
}

/// The place of a column, and the decimal places of its unit.
fn column(name: &[u8]) -> Option<(usize, u32)> {
    let (base, in_brackets) = match memchr::memrchr(b'(', name) {
        Some(start) => (name[..start].trim_ascii(), name[start + 1..].strip_suffix(b")")),
        None => (name, None),
    };
    let (_, place, places) = NAMES.iter().find(|(known, _, _)| *known == base)?;
    match in_brackets {
        // "Process (Name)" has no unit.
        None => Some((*place, *places)),
        Some(_) if *place == PROCESS => Some((*place, *places)),
        Some(unit) => {
            let (_, places) = UNITS.iter().find(|(known, _)| *known == unit)?;
            Some((*place, *places))
        }
    }
}

/// The row of a line and the name of its process, or why there is none.
#[inline]
fn row<'a>(line: &'a [u8], header: &mut Header) -> Result<(Request, &'a [u8]), &'static str> {
    let fields = Fields::of(line, header.separator);
    let fields = header.columns.pick(fields).ok_or("fewer fields than columns")?;
    if header.decimal.is_none() {
        header.decimal = decimal_mark(fields[INIT]);
    }
    let ops: &[(&[u8], Op)] = &[(b"Read", Op::Read), (b"Write", Op::Write), (b"Flush", Op::Flush)];
    let op = op(fields[KIND], ops).ok_or("none of Read, Write and Flush")?;
    if header.columns.has(COUNT) && fields[COUNT] != b"1" {
        return Err("several requests in one row: export the table without groups");
    }
    let queued = header.number(&fields, INIT).ok_or("no init time")?;
    let completed = if header.columns.has(COMPLETE) {
        header.number(&fields, COMPLETE)
    } else {
        header.number(&fields, TOTAL).and_then(|total| queued.checked_add(total))
    };
    let completed = completed.ok_or("no complete time")?;
    if completed < queued {
        return Err("completed before it began");
    }
    let issued = if header.columns.has(SERVICE) {
        let service = header.number(&fields, SERVICE).ok_or("no service time")?;
        // Both are rounded: it may seem to be issued just before it was queued.
        Some((completed - service).max(queued))
    } else {
        None
    };
    let size = header.number(&fields, SIZE).and_then(|size| u64::try_from(size).ok());
    let (process, pid) = process(fields[PROCESS]);
    let row = Request {
        device: device(fields[DISK]).ok_or("no disk")?,
        op,
        offset_bytes: if op == Op::Flush { None } else { offset(fields[OFFSET], header)? },
        length_bytes: size.and_then(length).ok_or("no size")?,
        queued_ns: Some(queued),
        issued_ns: issued,
        completed_ns: Some(completed),
        pid,
        ..Request::default()
    };
    Ok((row, process))
}

/// An offset, or that there is none.
#[inline]
fn offset(field: &[u8], header: &Header) -> Result<Option<u64>, &'static str> {
    if !header.columns.has(OFFSET) {
        return Ok(None);
    }
    let offset = field.strip_prefix(b"0x").and_then(hexadecimal).ok_or("no offset")?;
    Ok(Some(offset).filter(|offset| *offset != NOWHERE))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMED: &str = "IO Type;Priority;Process (Name);Init Time (s);Complete Time (s);IO Time \
        (µs);\
        Disk Service Time (µs);Size (B);Min Offset;Max Offset;QD/I;QD/C;Disk;Count";

    fn one(header: &str, line: &str) -> Result<(Request, Vec<u8>), &'static str> {
        let mut header = Header::of(header.as_bytes()).unwrap();
        row(line.as_bytes(), &mut header).map(|(row, process)| (row, process.to_vec()))
    }

    #[test]
    fn a_german_line_is_a_request_in_units_of_ours() {
        let line = "Read;Normal;System;1,080116400;1,082116400;2.000,000;1.205,600;16.384;\
            0x0000000000000400;0x00000000000043FF;0;0;1;1";
        let (row, process) = one(NAMED, line).unwrap();
        assert_eq!((process.as_slice(), row.device, row.op), (&b"System"[..], 1, Op::Read));
        assert_eq!((row.offset_bytes, row.length_bytes), (Some(1024), 16384));
        assert_eq!((row.queued_ns, row.completed_ns), (Some(1_080_116_400), Some(1_082_116_400)));
        assert_eq!(row.issued_ns, Some(1_080_910_800));
    }

    #[test]
    fn an_english_one_quotes_its_thousands() {
        let header = "Disk,IO Type,Process,Init Time (ms),IO Time (ns),Size (B),Min Offset";
        let line = r#"0,Write,a.exe (12),"1,080.116400","2,000","16,384",0x400"#;
        let (row, process) = one(header, line).unwrap();
        assert_eq!((process.as_slice(), row.pid, row.op), (&b"a.exe"[..], Some(12), Op::Write));
        assert_eq!((row.offset_bytes, row.length_bytes), (Some(1024), 16384));
        assert_eq!((row.queued_ns, row.completed_ns), (Some(1_080_116_400), Some(1_080_118_400)));
        assert_eq!(row.issued_ns, None);
    }

    #[test]
    fn a_flush_has_no_place() {
        let line = "Flush;Normal;System;1,7;1,8;100.000,0;100.000,1;0;0xFFFFFFFFFFFFFFFF;\
            0xFFFFFFFFFFFFFFFF;0;1;1;1";
        let (row, _) = one(NAMED, line).unwrap();
        assert_eq!((row.op, row.offset_bytes, row.length_bytes), (Op::Flush, None, 0));
        // The service time is longer by rounding.
        assert_eq!(row.issued_ns, row.queued_ns);
    }

    #[test]
    fn a_header_without_what_makes_a_request_is_none() {
        for header in [
            "",
            "IO Type;Init Time (s);Size (B);Disk",
            "IO Type;Init Time (s);IO Time (µs);Size (KB);Disk",
            "IO Type;Init Time (fortnights);IO Time (µs);Size (B);Disk",
            "Timestamp,Response,IOType,LUN,Offset,Size",
        ] {
            assert!(Header::of(header.as_bytes()).is_none(), "{header}");
        }
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        let good = "Read;Normal;System;1,5;1,6;100.000,0;87,2;512;0x0;0x1FF;0;0;1;1";
        assert!(one(NAMED, good).is_ok());
        for (from, to, why) in [
            (";1;1", "", "fewer fields than columns"),
            ("Read", "Reed", "none of Read, Write and Flush"),
            (";1;1", ";1;2", "several requests in one row: export the table without groups"),
            ("1,5", "-1,5", "no init time"),
            ("1,5", "99.999.999.999,5", "no init time"),
            ("1,6", "", "no complete time"),
            ("1,6", "1,4", "completed before it began"),
            ("87,2", "8 7,2", "no service time"),
            ("0x0;", "512;", "no offset"),
            ("0x0;", "0x10000000000000000;", "no offset"),
            (";512;", ";4.294.967.296;", "no size"),
            (";1;1", ";C:;1", "no disk"),
        ] {
            let line = good.replacen(from, to, 1);
            assert_eq!(one(NAMED, &line).map(|_| ()), Err(why), "{line}");
        }
    }
}

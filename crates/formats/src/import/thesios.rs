//! Thesios (Phothilimthana et al., ASPLOS 2024): Google's synthesized traces of requests to storage
//! servers, CSV whose columns are named by the first line; it recurs where shards were put
//! together.
//!
//! Times are in s since 1970 and spans in s, both with decimals. The response is
//! `simulated_latency`; a read that missed the server's cache began at the disk at
//! `simulated_disk_start_time`. Offsets are within files: where that is on a disk is not known, so
//! that there is no offset, and all requests are of one device.

use super::columns::{Columns, Fields};
use super::lines::{each_row, first_lines};
use super::parse::{decimal, length, op, unsigned};
use super::{Format, Guess, ImportError, Input, Reading};
use model::record::{Op, Request};
use trace::intake::{Epoch, Intake};

const KIND: usize = 0;
const APPLICATION: usize = 1;
const SIZE: usize = 2;
const START: usize = 3;
const DISK_START: usize = 4;
const LATENCY: usize = 5;
const WANTED: usize = 6;

/// The columns' names, in the order of their places.
const NAMES: [&[u8]; WANTED] = [
    b"op_type",
    b"application",
    b"request_io_size_bytes",
    b"start_time",
    b"simulated_disk_start_time",
    b"simulated_latency",
];

pub(super) const FORMAT: Format = Format {
    name: "thesios",
    meaning: "Google's Thesios: CSV with named columns, Unix seconds, no places",
    guess,
    import: Reading::Code(import),
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    let lines = first_lines(head, is_whole, 1);
    Guess::of(lines.first().is_some_and(|line| header(line).is_some()))
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("wall clock", Epoch::Unix);
    let mut columns: Option<Columns<WANTED>> = None;
    each_row(inputs, intake, |line, intake| {
        let found = match &columns {
            Some(columns) => row(line, columns),
            None => Err("no names of the columns to go by"),
        };
        // The names recur where shards were put together; no row has them.
        let (mut row, application) = match found {
            Ok(found) => found,
            Err(why) => {
                columns = Some(header(line).ok_or(why)?);
                return Ok(None);
            }
        };
        row.command = (!application.is_empty()).then(|| intake.command(application));
        Ok(Some(row))
    })
}

/// The columns, if a line names all of them.
fn header(line: &[u8]) -> Option<Columns<WANTED>> {
    let place = |name: &[u8]| NAMES.iter().position(|n| *n == name);
    let columns = Columns::by_names(Fields::of(line, b','), place);
    (0..WANTED).all(|place| columns.has(place)).then_some(columns)
}

/// The row of a line and its application, or why there is none.
#[inline]
fn row<'a>(line: &'a [u8], columns: &Columns<WANTED>) -> Result<(Request, &'a [u8]), &'static str> {
    let fields = columns.pick(Fields::of(line, b',')).ok_or("fewer fields than columns")?;
    let queued_ns = decimal(fields[START], 9).ok_or("no start time")?;
    let latency = decimal(fields[LATENCY], 9).and_then(|latency| queued_ns.checked_add(latency));
    // Zero stands for a request that did not go to the disk.
    let disk_start = decimal(fields[DISK_START], 9).ok_or("no disk start time")?;
    let row = Request {
        op: op(fields[KIND], &[(b"READ", Op::Read), (b"WRITE", Op::Write)])
            .ok_or("neither READ nor WRITE")?,
        length_bytes: unsigned(fields[SIZE]).and_then(length).ok_or("no size")?,
        queued_ns: Some(queued_ns),
        issued_ns: Some(disk_start).filter(|start| *start >= queued_ns),
        completed_ns: Some(latency.ok_or("no latency")?),
        ..Request::default()
    };
    Ok((row, fields[APPLICATION]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMED: &[u8] =
        b"filename,file_offset,application,c_time,io_zone,redundancy_type,op_type,\
        service_class,from_flash_cache,cache_hit,request_io_size_bytes,disk_io_size_bytes,\
        response_io_size_bytes,start_time,disk_time,simulated_disk_start_time,simulated_latency";
    const MISS: &str = "ab,4096,app,100,WARM,REPLICATED,READ,OTHER,0,0,1050624,1052672,1050624,\
        1700000000.25,0.03,1700000000.26,0.04";

    fn one(line: &str) -> Result<Request, &'static str> {
        row(line.as_bytes(), &header(NAMED).unwrap()).map(|(row, _)| row)
    }

    #[test]
    fn a_line_is_a_request_in_units_of_ours() {
        let found = one(MISS).unwrap();
        assert_eq!((found.op, found.offset_bytes, found.length_bytes), (Op::Read, None, 1_050_624));
        assert_eq!(found.queued_ns, Some(1_700_000_000_250_000_000));
        assert_eq!(found.issued_ns, Some(1_700_000_000_260_000_000));
        assert_eq!(found.completed_ns, Some(1_700_000_000_290_000_000));
        let hit = one(&MISS.replace("1700000000.26", "0.0")).unwrap();
        assert_eq!(hit.issued_ns, None);
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        for (from, to, why) in [
            (",0.04", "", "fewer fields than columns"),
            ("READ", "read", "neither READ nor WRITE"),
            ("1050624", "-1", "no size"),
            ("1050624", "4294967296", "no size"),
            ("1700000000.25", "1.7e9", "no start time"),
            ("1700000000.26", "", "no disk start time"),
            ("0.04", "-0.04", "no latency"),
        ] {
            let line = MISS.replacen(from, to, 1);
            assert_eq!(one(&line), Err(why), "{line}");
        }
        assert_eq!(header(b"filename,file_offset,application"), None);
    }
}

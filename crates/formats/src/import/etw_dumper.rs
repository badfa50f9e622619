//! Disk events as xperf's dumper writes them (`xperf -i … -a dumper`), of which the Microsoft
//! Production Server traces (2007-2008) are: `DiskRead`, `DiskWrite` and `DiskFlush` when they are
//! completed, and `…Init` when they began, with blanks around everything.
//!
//! Lines at the top name the fields of each kind of event, which differ by version. Times are in us
//! from the start of the trace, that of an event being its completion; `ElapsedTime` is the whole
//! response, `DiskSvcTime` the drive's part at its end. Offset and size are hexadecimal, in bytes.
//! `IrpPtr` is the request's identity, by which the process is taken from where it began if the
//! completion does not know it.
//!
//! Non-goals: all other events, which are passed over; requests of which only the beginning was
//! recorded, as that tells neither device nor place (they are counted in a note).

use super::columns::{Columns, Fields};
use super::lines::{each_row, first_lines};
use super::parse::{decimal, device, hexadecimal, length, unsigned};
use super::windows::process;
use super::{Format, Guess, ImportError, Input, Reading};
use hashbrown::HashMap;
use model::record::{CommandId, Op, Request};
use trace::intake::{Epoch, Intake};

const TIME: usize = 0;
const PROCESS: usize = 1;
const IDENTITY: usize = 2;
const OFFSET: usize = 3;
const SIZE: usize = 4;
const ELAPSED: usize = 5;
const DISK: usize = 6;
const SERVICE: usize = 7;
const WANTED: usize = 8;

/// The fields' names, in the order of their places.
const NAMES: [&[u8]; WANTED] = [
    b"TimeStamp",
    b"Process Name ( PID)",
    b"IrpPtr",
    b"ByteOffset",
    b"IOSize",
    b"ElapsedTime",
    b"DiskNum",
    b"DiskSvcTime",
];

/// Beginnings that are kept until the request is completed. Of a request that is never completed
/// nothing tells that, so at so many all are forgotten.
const BEGUN_MOST: usize = 1 << 16;

/// What happened to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Began,
    Completed(Op),
}

/// The kinds of event that are read, with their fields where no line at the top names them.
const KINDS: [(&[u8], Kind, &[u8]); 6] = [
    (b"DiskRead", Kind::Completed(Op::Read), TRANSFER),
    (b"DiskWrite", Kind::Completed(Op::Write), TRANSFER),
    (b"DiskFlush", Kind::Completed(Op::Flush), FLUSH),
    (b"DiskReadInit", Kind::Began, INIT),
    (b"DiskWriteInit", Kind::Began, INIT),
    (b"DiskFlushInit", Kind::Began, INIT),
];
const TRANSFER: &[u8] =
    b"DiskRead,TimeStamp,Process Name ( PID),ThreadID,IrpPtr,ByteOffset,IOSize,\
    ElapsedTime,DiskNum,IrpFlags,DiskSvcTime";
const FLUSH: &[u8] =
    b"DiskFlush,TimeStamp,Process Name ( PID),ThreadID,IrpPtr,ElapsedTime,DiskNum,\
    IrpFlags,DiskSvcTime";
const INIT: &[u8] = b"DiskReadInit,TimeStamp,Process Name ( PID),ThreadID,IrpPtr";

pub(super) const FORMAT: Format = Format {
    name: "etw-dumper",
    meaning: "xperf's dumper (Microsoft Production Server): DiskRead, DiskWrite, DiskFlush",
    guess,
    import: Reading::Code(import),
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    let lines = first_lines(head, is_whole, usize::MAX);
    let beginning = &lines[..lines.len().min(20)];
    let understood = beginning.iter().filter(|line| event_name(line).is_some()).count();
    if 2 * understood <= beginning.len() {
        return Guess::No;
    }
    // Of all events that a trace can have, those of disks may come late, or not at all.
    let is_of_disks = |line: &&[u8]| event_name(line).is_some_and(|name| kind(name).is_some());
    let begins = lines.first().is_some_and(|line| line.trim_ascii() == b"BeginHeader");
    match (lines.iter().any(is_of_disks), begins && !is_whole) {
        (true, _) => Guess::Yes,
        (false, true) => Guess::NeedMore,
        (false, false) => Guess::No,
    }
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("from the trace's start (1 us)", Epoch::Unknown);
    intake.set_zero(0);
    let mut reader = Reader::new();
    each_row(inputs, intake, |line, intake| reader.line(line, intake))?;
    let begun_only = reader.forgotten + reader.begun.len() as u64;
    if begun_only > 0 {
        let what = "requests of which only the beginning was recorded, which are no rows";
        intake.note("begun_only", format!("{what}: {begun_only}"));
    }
    Ok(())
}

/// The number of a kind of event that is read.
#[inline]
fn kind(name: &[u8]) -> Option<usize> {
    if !name.starts_with(b"Disk") {
        return None;
    }
    KINDS.iter().position(|(known, _, _)| *known == name)
}

/// The first field of a line, if the line is one that the dumper writes.
#[inline]
fn event_name(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    if matches!(line, b"BeginHeader" | b"EndHeader") || line.starts_with(b"OS Version") {
        return Some(line);
    }
    let end = memchr::memchr(b',', line)?;
    let (name, rest) = (line[..end].trim_ascii_end(), line[end + 1..].trim_ascii_start());
    let is_time_next = rest.first().is_some_and(u8::is_ascii_digit) || is_definition(line);
    (name.first().is_some_and(u8::is_ascii_alphabetic) && is_time_next).then_some(name)
}

/// Whether a line names the fields of a kind of event.
#[inline]
fn is_definition(line: &[u8]) -> bool {
    let second = memchr::memchr(b',', line).map(|end| line[end + 1..].trim_ascii_start());
    second.is_some_and(|rest| rest.starts_with(NAMES[TIME]))
}

/// Where the wanted fields of a kind of event stand, by a line that names them.
fn columns(definition: &[u8]) -> Columns<WANTED> {
    Columns::by_names(Fields::of(definition, b','), |name| NAMES.iter().position(|n| *n == name))
}

/// A request that began.
#[derive(Debug, Clone, Copy)]
struct Begun {
    pid: Option<u32>,
    command: Option<CommandId>,
}

/// What is known from the lines before.
#[derive(Debug)]
struct Reader {
    /// By the number of their kind.
    columns: [Columns<WANTED>; KINDS.len()],
    begun: HashMap<u64, Begun>,
    /// Begun again with the same identity before they were seen to be completed, or too many.
    forgotten: u64,
}

impl Reader {
    fn new() -> Self {
        let columns = KINDS.map(|(_, _, definition)| columns(definition));
        Self { columns, begun: HashMap::new(), forgotten: 0 }
    }

    /// The row of a line; none of one that is of no completed request.
    #[inline]
    fn line(&mut self, line: &[u8], intake: &mut Intake) -> Result<Option<Request>, &'static str> {
        let name = event_name(line).ok_or("no event")?;
        let Some(number) = kind(name) else {
            intake.counts_mut().lost += lost(name);
            return Ok(None);
        };
        match self.event(number, line, intake) {
            Err(_) if is_definition(line) => {
                self.columns[number] = columns(line);
                Ok(None)
            }
            found => found,
        }
    }

    /// The row of an event of a kind that is read.
    #[inline]
    fn event(
        &mut self,
        number: usize,
        line: &[u8],
        intake: &mut Intake,
    ) -> Result<Option<Request>, &'static str> {
        let fields = self.columns[number].pick(Fields::of(line, b','));
        let fields = fields.ok_or("fewer fields than their names")?;
        let identity = hexadecimal(fields[IDENTITY]).ok_or("no IrpPtr")?;
        let begun = origin(fields[PROCESS], intake);
        match KINDS[number].1 {
            Kind::Began => {
                if self.begun.len() >= BEGUN_MOST {
                    self.forgotten += self.begun.len() as u64;
                    self.begun.clear();
                }
                self.forgotten += u64::from(self.begun.insert(identity, begun).is_some());
                Ok(None)
            }
            Kind::Completed(op) => {
                let mut row = completed(op, &fields)?;
                let earlier = self.begun.remove(&identity);
                let known = if begun.pid.is_some() { begun } else { earlier.unwrap_or(begun) };
                (row.pid, row.command) = (known.pid, known.command);
                Ok(Some(row))
            }
        }
    }
}

/// Who requested it; nobody where the process is not known.
#[inline]
fn origin(field: &[u8], intake: &mut Intake) -> Begun {
    let (name, pid) = process(field);
    Begun { pid, command: pid.map(|_| intake.command(name)) }
}

/// How many events the dumper says were lost: `OS Version: …, Events Lost: 3, …`.
fn lost(line: &[u8]) -> u64 {
    let said = b"Events Lost:";
    let start = memchr::memmem::find(line, said).map(|start| start + said.len());
    let text = start.map_or(&[][..], |start| line[start..].trim_ascii_start());
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    unsigned(&text[..digits]).unwrap_or(0)
}

/// The row of a request that was completed, as far as the fields say it.
#[inline]
fn completed(op: Op, fields: &[&[u8]; WANTED]) -> Result<Request, &'static str> {
    let completed_ns = decimal(fields[TIME], 3).ok_or("no time")?;
    let before = |field| decimal(field, 3).map(|span| completed_ns - span);
    let queued_ns = before(fields[ELAPSED]).ok_or("no elapsed time")?;
    // Both are rounded: it may seem to be issued just before it was queued.
    let issued_ns = before(fields[SERVICE]).ok_or("no service time")?.max(queued_ns);
    let (offset_bytes, length_bytes) = if op == Op::Flush {
        (None, 0)
    } else {
        let size = hexadecimal(fields[SIZE]).and_then(length).ok_or("no size")?;
        (Some(hexadecimal(fields[OFFSET]).ok_or("no offset")?), size)
    };
    Ok(Request {
        device: device(fields[DISK]).ok_or("no disk")?,
        op,
        offset_bytes,
        length_bytes,
        queued_ns: Some(queued_ns),
        issued_ns: Some(issued_ns),
        completed_ns: Some(completed_ns),
        ..Request::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What lines give, one after the other.
    fn read(lines: &[&str]) -> Vec<Result<Option<Request>, &'static str>> {
        let mut rows = Vec::new();
        let mut intake = Intake::new(&mut rows, "test");
        let mut reader = Reader::new();
        lines.iter().map(|line| reader.line(line.as_bytes(), &mut intake)).collect()
    }

    const READ: &str = "   DiskRead,  2664955,  a.exe ( 980), 6852, 0xfffffade6b0a2010, \
        0x6c80556e00, \
        0x00010000,  183, 3, 0x000043,  100, 0, Unknown, 0xfffffade72165e40, \"Disk5:\\a,b\"";

    #[test]
    fn a_line_is_a_request_in_units_of_ours() {
        let row = read(&[READ])[0].unwrap().unwrap();
        assert_eq!((row.device, row.op, row.pid), (3, Op::Read, Some(980)));
        assert_eq!((row.offset_bytes, row.length_bytes), (Some(0x006c_8055_6e00), 65536));
        assert_eq!(row.queued_ns, Some(2_664_772_000));
        assert_eq!(row.issued_ns, Some(2_664_855_000));
        assert_eq!(row.completed_ns, Some(2_664_955_000));
    }

    #[test]
    fn who_asked_is_taken_from_the_beginning_where_the_end_does_not_know() {
        let rows = read(&[
            "DiskFlushInit, 10, b.exe ( 7), 1, 0xa",
            "DiskFlush, 30, Unknown ( -1), 4294967295, 0xa, 15, 1, 0x0, 12, 3",
            "DiskFlush, 40, Unknown ( -1), 4294967295, 0xa, 15, 1, 0x0, 12, 3",
        ]);
        let flush = rows[1].unwrap().unwrap();
        assert_eq!((flush.op, flush.offset_bytes, flush.length_bytes), (Op::Flush, None, 0));
        assert_eq!((flush.pid, flush.queued_ns), (Some(7), Some(15_000)));
        assert_eq!(rows[2].unwrap().unwrap().pid, None);
    }

    #[test]
    fn beginnings_without_an_end_take_no_more_memory_and_are_counted() {
        let mut rows = Vec::new();
        let mut intake = Intake::new(&mut rows, "test");
        let mut reader = Reader::new();
        for identity in 0..3 * BEGUN_MOST + 2 {
            let line = format!("DiskReadInit, {identity}, b.exe ( 7), 1, 0x{identity:x}");
            assert_eq!(reader.line(line.as_bytes(), &mut intake), Ok(None));
            assert!(reader.begun.len() <= BEGUN_MOST);
        }
        assert_eq!((reader.forgotten, reader.begun.len()), (3 * BEGUN_MOST as u64, 2));
    }

    #[test]
    fn fields_stand_where_the_lines_at_the_top_say() {
        let rows = read(&[
            "DiskWrite, TimeStamp, Process Name ( PID), ThreadID, CPU, IrpPtr, ByteOffset, IOSize, \
                ElapsedTime, DiskNum, IrpFlags, DiskSvcTime, I/O Pri, FileObject, FileName",
            "DiskWrite, 9, a ( 1), 2, 3, 0x4, 0x200, 0x1000, 5, 6, 0x0, 4, Normal, 0x0, x",
        ]);
        let row = rows[1].unwrap().unwrap();
        assert_eq!((row.device, row.offset_bytes, row.length_bytes), (6, Some(512), 4096));
    }

    #[test]
    fn other_lines_of_the_dumper_are_passed_over_and_losses_counted() {
        let mut rows = Vec::new();
        let mut intake = Intake::new(&mut rows, "test");
        for line in [
            "BeginHeader",
            "  FileIoRead, TimeStamp, Process Name ( PID), ThreadID",
            "EndHeader",
            "OS Version: 6.1, Trace Size: 1KB, Events Lost: 12, Buffers lost: 0",
            "  FileIoRead, 12, a ( 1), 2",
        ] {
            assert_eq!(Reader::new().line(line.as_bytes(), &mut intake), Ok(None), "{line}");
        }
        assert_eq!(intake.counts().lost, 12);
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        for (from, to, why) in [
            ("DiskRead,", "", "no event"),
            ("2664955", "-1", "no event"),
            ("2664955", "99999999999999999", "no time"),
            ("0xfffffade6b0a2010", "?", "no IrpPtr"),
            ("0x6c80556e00", "0x10000000000000000", "no offset"),
            ("0x00010000", "0x100000000", "no size"),
            (" 183,", " -183,", "no elapsed time"),
            (" 3,", " C,", "no disk"),
            (" 100,", " ,", "no service time"),
        ] {
            let line = READ.replacen(from, to, 1);
            assert_eq!(read(&[&line]), [Err(why)], "{line}");
        }
        assert_eq!(read(&["DiskRead, 12, a ( 1), 2, 0x3"]), [Err("fewer fields than their names")]);
    }

    #[test]
    fn a_trace_of_other_events_is_not_one_or_not_yet() {
        let head = b"BeginHeader\n FileIoRead, TimeStamp, x\nEndHeader\n FileIoRead, 12, a\n";
        assert_eq!(guess(head, true), Guess::No);
        assert_eq!(guess(head, false), Guess::NeedMore);
        assert_eq!(guess(READ.as_bytes(), true), Guess::Yes);
        assert_eq!(guess(b"a,1,2\nb,2,3\n", false), Guess::No);
    }
}

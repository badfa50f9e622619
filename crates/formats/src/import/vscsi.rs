//! vscsi: what VMware's vscsiStats traces (CloudPhysics), as libCacheSim keeps it. Records, little
//! endian:
//!
//! - version 1, 32 bytes: u32 serial number, u32 length, u32 segments, u16 SCSI command, u16
//!   version, u64 block, u64 time. No completions.
//! - version 2, 40 bytes: u16 SCSI command, u16 version, u32 serial number, u32 length, u32
//!   segments, u64 block, u64 time, u64 response time.
//!
//! The version is in the high byte of its field. Times are in µs of the host (they count from no
//! moment that the file tells), lengths in bytes, blocks of 512 bytes. That the response time is in
//! µs too is taken for granted and nowhere written. Each file is a device: its name is noted.

use super::binary::{field, fill};
use super::devices::Devices;
use super::lines::{REJECTED_MAX, merge, refuse_nothing};
use super::{Format, Guess, ImportError, Input, Reading};
use model::record::{Op, Request};
use trace::intake::{Epoch, Intake};

/// What SCSI commands do, by their operation codes (SBC-4, SPC-4); any other is [`Op::Other`].
const COMMANDS: [(u8, Op); 18] = [
    (0x08, Op::Read),    // READ (6)
    (0x28, Op::Read),    // READ (10)
    (0xa8, Op::Read),    // READ (12)
    (0x88, Op::Read),    // READ (16)
    (0x0a, Op::Write),   // WRITE (6)
    (0x2a, Op::Write),   // WRITE (10)
    (0xaa, Op::Write),   // WRITE (12)
    (0x8a, Op::Write),   // WRITE (16)
    (0x2e, Op::Write),   // WRITE AND VERIFY (10)
    (0xae, Op::Write),   // WRITE AND VERIFY (12)
    (0x8e, Op::Write),   // WRITE AND VERIFY (16)
    (0x35, Op::Flush),   // SYNCHRONIZE CACHE (10)
    (0x91, Op::Flush),   // SYNCHRONIZE CACHE (16)
    (0x42, Op::Discard), // UNMAP
    (0x41, Op::Discard), // WRITE SAME (10)
    (0x93, Op::Discard), // WRITE SAME (16)
    (0x2f, Op::Other),   // VERIFY (10)
    (0x89, Op::Other),   // COMPARE AND WRITE
];

/// Records that a guess looks at.
const GUESSED: usize = 64;
/// No virtual disk is requested more at once.
const LENGTH_BYTES: u32 = 64 << 20;
/// A guess takes a pause of a day for no trace.
const PAUSE_US: u64 = 86_400_000_000;

pub(super) const FORMAT: Format = Format {
    name: "vscsi",
    meaning: "vscsiStats (CloudPhysics), binary versions 1 and 2",
    guess,
    import: Reading::Code(import),
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    let one = looks_like(head, is_whole, &version_1);
    Guess::of(one || looks_like(head, is_whole, &version_2))
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("µs of the host", Epoch::Unknown);
    let mut devices = Devices::default();
    let mut files = Vec::new();
    for input in inputs {
        let name = input.path().file_name().unwrap_or_default().as_encoded_bytes().to_vec();
        let device = devices.number(&[&name]);
        let (head, _) = input.head()?;
        // Of a file that is of neither version, every record is refused.
        let is_second = understood(head, 40, &version_2) > understood(head, 32, &version_1);
        match is_second {
            true => intake.note("response_time", "taken to be in µs".to_owned()),
            false => intake.set_one_sided(),
        }
        files.push(Disk { input, device, is_second, number: 0 });
    }
    // The disks of a host have a file each, of one time.
    merge(files.len(), intake, |file, intake| files[file].next(intake))?;
    devices.note(intake);
    Ok(())
}

/// A file, which is a disk's.
struct Disk<'a> {
    input: &'a mut Input,
    device: u32,
    is_second: bool,
    /// Which record was read last, counted from 1.
    number: u64,
}

impl Disk<'_> {
    /// The next request.
    fn next(&mut self, intake: &mut Intake) -> Result<Option<Request>, ImportError> {
        let size = if self.is_second { 40 } else { 32 };
        loop {
            let mut bytes = [0; 40];
            self.number += 1;
            let bytes = &mut bytes[..size];
            match fill(self.input, bytes)? {
                0 => return Ok(None),
                filled if filled < size => {
                    intake.reject(self.number, "the file ends within it");
                    return Ok(None);
                }
                _ if self.number > REJECTED_MAX => refuse_nothing(self.input, intake, 0)?,
                _ => {}
            }
            let record = if self.is_second { version_2(bytes) } else { version_1(bytes) };
            match record.and_then(|record| row(&record, self.device)) {
                Ok(row) => return Ok(Some(row)),
                Err(why) => intake.reject(self.number, why),
            }
        }
    }
}

/// A record as it is written.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    command: u8,
    length_bytes: u32,
    block: u64,
    time_us: u64,
    response_us: Option<u64>,
}

type Reader = dyn Fn(&[u8]) -> Result<Record, &'static str>;

fn version_1(bytes: &[u8]) -> Result<Record, &'static str> {
    let version = u16::from_le_bytes(field(bytes, 14));
    if bytes.len() < 32 || version >> 8 != 1 {
        return Err("not of version 1");
    }
    Ok(Record {
        command: command(u16::from_le_bytes(field(bytes, 12)))?,
        length_bytes: u32::from_le_bytes(field(bytes, 4)),
        block: u64::from_le_bytes(field(bytes, 16)),
        time_us: u64::from_le_bytes(field(bytes, 24)),
        response_us: None,
    })
}

fn version_2(bytes: &[u8]) -> Result<Record, &'static str> {
    let version = u16::from_le_bytes(field(bytes, 2));
    if bytes.len() < 40 || version >> 8 != 2 {
        return Err("not of version 2");
    }
    Ok(Record {
        command: command(u16::from_le_bytes(field(bytes, 0)))?,
        length_bytes: u32::from_le_bytes(field(bytes, 8)),
        block: u64::from_le_bytes(field(bytes, 16)),
        time_us: u64::from_le_bytes(field(bytes, 24)),
        response_us: Some(u64::from_le_bytes(field(bytes, 32))),
    })
}

fn command(word: u16) -> Result<u8, &'static str> {
    u8::try_from(word).map_err(|_| "no SCSI command")
}

fn row(record: &Record, device: u32) -> Result<Request, &'static str> {
    let found = COMMANDS.iter().find(|(code, _)| *code == record.command);
    let op = found.map_or(Op::Other, |(_, op)| *op);
    let ns = |us: u64| us.checked_mul(1000).and_then(|ns| i64::try_from(ns).ok());
    let queued_ns = ns(record.time_us).ok_or("a time beyond all years")?;
    let completed_ns = match record.response_us {
        Some(us) => {
            let sum = ns(us).and_then(|ns| queued_ns.checked_add(ns));
            Some(sum.ok_or("a response time beyond all years")?)
        }
        None => None,
    };
    let offset_bytes = record.block.checked_mul(512).ok_or("a block beyond all disks")?;
    Ok(Request {
        device,
        op,
        offset_bytes: (op != Op::Flush).then_some(offset_bytes),
        length_bytes: record.length_bytes,
        queued_ns: Some(queued_ns),
        completed_ns,
        ..Request::default()
    })
}

/// How many of the first records are of a version.
fn understood(head: &[u8], size: usize, read: &Reader) -> usize {
    head.chunks_exact(size).take(GUESSED).filter(|bytes| read(bytes).is_ok()).count()
}

/// Whether the first records are ones of a disk: known commands, lengths of whole sectors, times
/// that do not leap. One record could be chance; two are not.
fn looks_like(head: &[u8], is_whole: bool, read: &Reader) -> bool {
    let size = if read(head).is_ok_and(|r| r.response_us.is_some()) { 40 } else { 32 };
    let mut last_us: Option<u64> = None;
    let mut seen = 0;
    for bytes in head.chunks_exact(size).take(GUESSED) {
        let Ok(record) = read(bytes) else { return false };
        let is_known = COMMANDS.iter().any(|(code, _)| *code == record.command);
        let is_plausible = record.length_bytes % 512 == 0 && record.length_bytes <= LENGTH_BYTES;
        let is_near = last_us.is_none_or(|last| record.time_us.abs_diff(last) < PAUSE_US);
        if !(is_known && is_plausible && is_near) {
            return false;
        }
        last_us = Some(record.time_us);
        seen += 1;
    }
    seen >= 2 || (is_whole && seen == 1 && head.len() == size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(command: u16, version: u16, length: u32, block: u64, us: u64) -> Vec<u8> {
        let words = [7u32, length, 1].map(u32::to_le_bytes).concat();
        let halves = [command, version].map(u16::to_le_bytes).concat();
        [words, halves, [block, us].map(u64::to_le_bytes).concat()].concat()
    }

    fn second(command: u16, length: u32, block: u64, us: u64, response: u64) -> Vec<u8> {
        let halves = [command, 0x0200].map(u16::to_le_bytes).concat();
        let words = [7u32, length, 1].map(u32::to_le_bytes).concat();
        [halves, words, [block, us, response].map(u64::to_le_bytes).concat()].concat()
    }

    #[test]
    fn both_versions_are_read_field_by_field() {
        let one = row(&version_1(&first(0x2a, 0x0100, 4096, 8, 5)).unwrap(), 3).unwrap();
        assert_eq!((one.device, one.op, one.offset_bytes), (3, Op::Write, Some(4096)));
        assert_eq!((one.length_bytes, one.queued_ns, one.completed_ns), (4096, Some(5000), None));
        let two = row(&version_2(&second(0x88, 512, 1 << 40, 5, 250)).unwrap(), 0).unwrap();
        assert_eq!((two.op, two.offset_bytes), (Op::Read, Some(1 << 49)));
        assert_eq!((two.queued_ns, two.completed_ns), (Some(5000), Some(255_000)));
        let flush = row(&version_2(&second(0x35, 0, 9, 5, 250)).unwrap(), 0).unwrap();
        assert_eq!((flush.op, flush.offset_bytes), (Op::Flush, None));
    }

    #[test]
    fn bad_records_say_what_is_wrong_with_them() {
        assert_eq!(version_1(&first(0x28, 0x0200, 512, 0, 0)), Err("not of version 1"));
        assert_eq!(version_1(&first(0x128, 0x0100, 512, 0, 0)), Err("no SCSI command"));
        let far = |block, us| row(&version_1(&first(0x28, 0x0100, 512, block, us)).unwrap(), 0);
        assert_eq!(far(0, u64::MAX), Err("a time beyond all years"));
        assert_eq!(far(u64::MAX, 0), Err("a block beyond all disks"));
    }

    #[test]
    fn a_guess_wants_several_records_of_a_disk() {
        let yes = |bytes: &[u8]| guess(bytes, true);
        let good = [first(0x28, 0x0100, 512, 0, 10), first(0x2a, 0x0100, 512, 0, 11)].concat();
        assert_eq!(yes(&good), Guess::Yes);
        let good = [second(0x28, 512, 0, 10, 1), second(0x2a, 512, 0, 11, 1)].concat();
        assert_eq!(yes(&good), Guess::Yes);
        for bad in [
            vec![],
            vec![0; 4096],
            vec![0xff; 4096],
            [first(0x28, 0x0100, 512, 0, 10), first(0x12, 0x0100, 512, 0, 11)].concat(),
            [first(0x28, 0x0100, 512, 0, 10), first(0x28, 0x0100, 511, 0, 11)].concat(),
            [first(0x28, 0x0100, 512, 0, 10), first(0x28, 0x0100, 512, 0, 1 << 50)].concat(),
        ] {
            assert_eq!(yes(&bad), Guess::No, "{bad:?}");
        }
    }
}

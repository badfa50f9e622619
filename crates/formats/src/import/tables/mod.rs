//! Formats of text whose line is a request: each is a row of a table, which says how a line is cut
//! into columns, and which request these are.
//!
//! A row is code when it is compiled, so that its reader costs no more than one of its own would.
//!
//! Non-goals: lines of which one depends on those before it; columns that a first line names, or
//! that are data (`super::table`).

use super::devices::Devices;
use super::lines::{each_line_under, guess_by_lines};
use super::parse::{
    PLAUSIBLE_UNIX_NS, decimal, device, fields, first_fields, fixed, length, op, sectors, unsigned,
};
use super::{Format, Guess, ImportError, Input, Reading};
use model::record::{Op, Request};
use trace::intake::{Epoch, Intake};

/// Makes a module of each format: `NAME(line, devices) "name", "meaning"`; the clock; what else is
/// to be said; the columns; and the members of the request, each with what is wrong where it has no
/// value. They are looked at in this order.
macro_rules! tables {
    ($($(#[$about:meta])* $format:ident($line:ident, $devices:pat) $name:literal, $meaning:literal {
        clock $clock:literal $epoch:ident;
        $(head $head:literal;)?
        $(one_sided $one_sided:literal;)?
        $(times $times:expr;)?
        [$($column:ident),*] = $cut:expr, $uncut:literal;
        $({ $($known:tt)* })?
        $($member:ident = $value:expr $(, $why:literal)?;)*
    })*) => {$(
        $(#[$about])*
        pub(super) mod $format {
            use super::*;

            pub(in super::super) const FORMAT: Format =
                Format { name: $name, meaning: $meaning, guess, import: Reading::Code(import) };

            /// What may stand at the top, and again where files were put together.
            const HEAD: &[u8] = tables!(@first $($head,)? b"");

            fn guess(head: &[u8], is_whole: bool) -> Guess {
                let times: std::ops::Range<i64> = tables!(@first $($times,)? i64::MIN..i64::MAX);
                let devices = &mut Devices::default();
                let is_plausible =
                    |row: Request| row.queued_ns.is_some_and(|at_ns| times.contains(&at_ns));
                guess_by_lines(head, is_whole, |line| {
                    let mut is_row = |line: &[u8]| row(line, devices).is_ok_and(is_plausible);
                    unquoted(line, |line| line == HEAD || is_row(line))
                })
            }

            fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
                intake.set_clock($clock, Epoch::$epoch);
                if tables!(@first $($one_sided,)? true) {
                    intake.set_one_sided();
                }
                let mut devices = Devices::default();
                each_line_under(inputs, intake, |line, _| {
                    unquoted(line, |line| row(line, &mut devices))
                })?;
                devices.note(intake);
                Ok(())
            }

            #[inline]
            pub(super) fn row(
                $line: &[u8],
                $devices: &mut Devices,
            ) -> Result<Request, &'static str> {
                let [$($column),*] = $cut.ok_or($uncut)?;
                $($($known)*)?
                Ok(Request {
                    $($member: tables!(@value $value $(, $why)?).into(),)*
                    ..Request::default()
                })
            }
        }
    )*};
    (@first $first:expr $(, $other:expr)*) => { $first };
    (@value $value:expr, $why:literal) => { $value.ok_or($why)? };
    (@value $value:expr) => { $value };
}

/// From 1601 to 1970, in 100 ns.
pub(crate) const FILETIME_OF_1970: i64 = 116_444_736_000_000_000;

/// Times that a guess takes for s from the start of a trace: less than three years, so that the s
/// and us since 1970 of other formats are not.
const PLAUSIBLE_START_NS: std::ops::Range<i64> = 0..100_000_000_000_000_000;

tables! {
    /// The Storage Performance Council's trace format, as UMass has its traces in it (SPC, "Trace
    /// file format specification", 1.0.1): `ASU,LBA,Size,Opcode,Timestamp`, and maybe more fields.
    ///
    /// The application storage unit is the device; the address is in blocks of 512 bytes, the size
    /// in bytes, the opcode R or W in either case, the time in s from the start of the trace; no
    /// completions.
    spc(line, _) "spc", "SPC, as UMass has it: ASU, block, bytes, R or W, seconds; no completions" {
        clock "from the trace's start" Unknown;
        times PLAUSIBLE_START_NS;
        [unit, block, size, kind, time] = first_fields(line, b','), "not five fields";
        device = device(unit), "no ASU";
        op = op(kind, &[(b"R", Op::Read), (b"W", Op::Write), (b"r", Op::Read), (b"w", Op::Write)]),
            "neither R nor W";
        offset_bytes = sectors(block), "no LBA";
        length_bytes = unsigned(size).and_then(length), "no size";
        queued_ns = decimal(time, 9), "no time";
    }

    /// Tencent's cloud block storage (Zhang et al., 2018): `Timestamp,Offset,Size,IOType,VolumeID`.
    ///
    /// The time is in whole s since 1970, offset and size in sectors of 512 bytes, the type 0 for a
    /// read and 1 for a write; no completions. Many requests have the same time: they stay in the
    /// order of the file.
    tencent(line, _) "tencent",
        "Tencent CBS: CSV with whole Unix seconds and sectors, no completions" {
        clock "wall clock (1 s)" Unix;
        times PLAUSIBLE_UNIX_NS;
        [time, offset, size, kind, volume] = fields(line, b','), "not five fields";
        device = device(volume), "no volume";
        op = op(kind, &[(b"0", Op::Read), (b"1", Op::Write)]), "neither 0 nor 1 as type";
        offset_bytes = sectors(offset), "no offset";
        length_bytes = sectors(size).and_then(length), "no size";
        queued_ns = decimal(time, 9), "no time";
    }

    /// Alibaba's block traces of 2020: `device_id,opcode,offset,length,timestamp`.
    ///
    /// Offset and length in bytes, the time in us since 1970; no completions. The sizes of the
    /// devices are in a file of their own, which is not read.
    alibaba(line, _) "alibaba",
        "Alibaba 2020: CSV with the device first and Unix µs last, no completions" {
        clock "wall clock (1 us)" Unix;
        times PLAUSIBLE_UNIX_NS;
        [unit, kind, offset, size, time] = fields(line, b','), "not five fields";
        device = device(unit), "no device";
        op = op(kind, &[(b"R", Op::Read), (b"W", Op::Write)]), "neither R nor W";
        offset_bytes = unsigned(offset), "no offset";
        length_bytes = unsigned(size).and_then(length), "no length";
        queued_ns = decimal(time, 3), "no time";
    }

    /// MSR Cambridge (2008): `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
    ///
    /// Times are Windows' (100 ns since 1601), offset and size in bytes, the response time in
    /// 100 ns. Rows are in the order of issue, so that completions go backwards now and then. Hosts
    /// and disks become devices in the order in which they are met; their names are noted.
    msr(line, devices) "msr", "MSR Cambridge: CSV with Windows times, in order of issue" {
        clock "wall clock (100 ns)" Unix;
        one_sided false;
        [time, host, disk, kind, offset, size, response] = fields(line, b','), "not seven fields";
        {
            let queued = since_1970_ns(fixed(time, 0, b'.'));
            let response = fixed(response, 0, b'.').and_then(|ticks| ticks.checked_mul(100));
        }
        op = op(kind, &[(b"Read", Op::Read), (b"Write", Op::Write)]), "neither Read nor Write";
        queued_ns = queued?;
        completed_ns = response.and_then(|r| queued.ok()?.checked_add(r)), "no response time";
        device = devices.number(&[host, disk]);
        offset_bytes = unsigned(offset), "no offset";
        length_bytes = unsigned(size).and_then(length), "no size";
    }

    /// Systor '17 (Lee et al., "Understanding storage traffic characteristics on enterprise virtual
    /// desktop infrastructure"): `Timestamp,Response,IOType,LUN,Offset,Size`, with a line of these
    /// names at the top.
    ///
    /// The time is that of issue, in s since 1970 with nine digits, of which those below the
    /// microsecond mean nothing; the response time is in s, offset and size in bytes. Rows are in
    /// the order of completion. A request without a completion has neither response nor type: what
    /// it was is not known.
    systor17(line, _) "systor17",
        "Systor '17: CSV with Unix seconds and response times, in order of completion" {
        clock "wall clock (1 us)" Unix;
        head b"Timestamp,Response,IOType,LUN,Offset,Size";
        one_sided false;
        [time, response, kind, unit, offset, size] = fields(line, b','), "not six fields";
        { let queued = decimal(time, 9); }
        op = match kind {
            b"" if response.is_empty() => Some(Op::Other),
            _ => op(kind, &[(b"R", Op::Read), (b"W", Op::Write)]),
        }, "neither R nor W";
        queued_ns = queued, "no time";
        completed_ns = match response {
            b"" => Some(None),
            _ => queued.zip(decimal(response, 9)).map(|(at, span)| at.checked_add(span)),
        }.filter(|at| at.is_some() || response.is_empty()), "no response time";
        device = device(unit), "no LUN";
        offset_bytes = unsigned(offset), "no offset";
        length_bytes = unsigned(size).and_then(length), "no size";
    }
}

/// A line without quotes: some programs write each field of a table, or each text, in quotes, and
/// no field of a table here holds a separator.
#[inline]
fn unquoted<T>(line: &[u8], take: impl FnOnce(&[u8]) -> T) -> T {
    match memchr::memchr(b'"', line) {
        None => take(line),
        Some(_) => take(&line.iter().copied().filter(|byte| *byte != b'"').collect::<Vec<u8>>()),
    }
}

/// The time of Windows' ticks, in ns since 1970.
#[inline]
fn since_1970_ns(ticks: Option<i64>) -> Result<i64, &'static str> {
    let since_1970 = ticks.ok_or("no time")?.checked_sub(FILETIME_OF_1970);
    since_1970.and_then(|ticks| ticks.checked_mul(100)).ok_or("a time beyond all years")
}

#[cfg(test)]
mod tests;

//! What the trace counts, against the kernel's counts and fio's.
//!
//! The kernel counts (block/blk-mq.c, `blk_account_io_done`; block/blk-flush.c, `flush_end_io`)
//! what was requested, a flush sequence once and an empty flush as a write of no sectors, failed
//! requests too; flushes are those that the disk was given. A device that is made of bios counts no
//! flush; whether an empty one is a write of it depends on its driver (dm counts it, md does not).
//! bcache counts writes that go past its cache without their bytes (drivers/md/bcache/request.c,
//! `bch_data_invalidate`, moves the bio itself on), as many as the cache is late; fio's report is
//! what holds these bytes. Commands that are passed through are reads of their whole sectors up to
//! Linux 5.15, and nothing since.
//!
//! The counts are read before and after the whole command, and again right around the load. What is
//! in the trace lies between: at least the inner difference, at most the outer one. They are equal
//! where nobody else used the device.

use super::{Fault, LOAD};
use crate::lab::evidence::{Counters, FioReport, Run};
use model::record::{CallKind, Op, Request, Rollup};

/// Requests and bytes of an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    requests: u64,
    bytes: u64,
}

fn sum<'a>(rows: impl Iterator<Item = &'a Request>) -> Sum {
    rows.fold(Sum::default(), |sum, row| Sum {
        requests: sum.requests + 1,
        bytes: sum.bytes + counted_bytes(row),
    })
}

/// Of a command the kernel counts whole sectors, of each its own (`blk_account_io_completion`).
fn counted_bytes(row: &Request) -> u64 {
    let bytes = u64::from(row.length_bytes);
    if row.op == Op::Other { bytes & !511 } else { bytes }
}

/// What was requested of a device and completed, in rows and in sums.
fn requested(run: &Run, device: u32, op: Op) -> Sum {
    let is_of = |row: &&Request| {
        row.device == device
            && row.op == op
            && row.parent_id.is_none()
            && row.completed_ns.is_some()
    };
    let quick = run.context.summed.iter();
    let quick = quick.filter(|of| of.device == u64::from(device) && of.op == op);
    quick.fold(sum(run.requests.iter().map(|(row, _)| row).filter(is_of)), |sum, of| Sum {
        requests: sum.requests + of.count,
        bytes: sum.bytes + of.bytes,
    })
}

/// Flushes that the device was given.
fn flushed(run: &Run, device: u32) -> u64 {
    let is_of =
        |row: &&Request| row.device == device && row.op == Op::Flush && row.issued_ns.is_some();
    sum(run.requests.iter().map(|(row, _)| row).filter(is_of)).requests
}

/// What is held against a device's own counts.
struct Told {
    read: Sum,
    write: Sum,
    discard: Sum,
    passed: Sum,
    /// Flushes that were requested.
    empty: u64,
    /// Flushes that the device was given, where that is told.
    flushed: Option<u64>,
}

impl Told {
    fn new(of: impl Fn(Op) -> Sum, flushed: Option<u64>) -> Self {
        let [read, write, discard, passed] = [Op::Read, Op::Write, Op::Discard, Op::Other].map(&of);
        Self { read, write, discard, passed, empty: of(Op::Flush).requests, flushed }
    }

    /// By a trace.
    fn by_trace(run: &Run, device: &Counters) -> Self {
        let of = |op| requested(run, device.number, op);
        Self::new(of, Some(flushed(run, device.number)))
    }

    /// By a watch's history, in which devices have names.
    fn by_watch(rows: &[Rollup], device: &Counters) -> Self {
        let is_of = |row: &&Rollup| row.device.as_ref() == Some(&device.name);
        let of = |op: Op| {
            let rows = rows.iter().filter(is_of).filter(|row| row.operation == op.name());
            rows.fold(Sum::default(), |sum, row| Sum {
                requests: sum.requests + row.count,
                bytes: sum.bytes + row.bytes,
            })
        };
        Self::new(of, None)
    }
}

/// The trace against the kernel's counts, device by device: of bytes, or of requests.
pub(super) fn counts(run: &Run, counters: &[Vec<Counters>; 4], is_of_bytes: bool) -> Vec<Fault> {
    let told = |device: &Counters| Told::by_trace(run, device);
    each_device(counters, |of| of_device(&told(of[0]), of, is_of_bytes))
}

/// The history of a watch against the kernel's counts, of requests and of bytes.
pub(super) fn watched(rows: &[Rollup], counters: &[Vec<Counters>; 4]) -> Vec<Fault> {
    each_device(counters, |of| {
        let told = Told::by_watch(rows, of[0]);
        [false, true]
            .into_iter()
            .flat_map(|is_of_bytes| of_device(&told, of, is_of_bytes))
            .collect()
    })
}

/// Of the requests of an incident so many, at the least, were summed up in the kernel.
const SUMMED_SHARE: f64 = 0.1;

/// Many requests were summed up in the kernel, in an incident of their time.
pub(super) fn summed(run: &Run) -> Vec<Fault> {
    let summed: u64 = run.context.summed.iter().map(|sum| sum.count).sum();
    let told = run.requests.len() as u64;
    let is_held = summed as f64 >= SUMMED_SHARE * (summed + told) as f64 && summed > 0;
    let fault = || Fault::new("many requests in sums", format!("{summed}, and {told} told"));
    (!is_held).then(fault).into_iter().collect()
}

fn each_device(
    [before, within_before, within_after, after]: &[Vec<Counters>; 4],
    faults: impl Fn([&Counters; 4]) -> Vec<Fault>,
) -> Vec<Fault> {
    let all = before.iter().zip(within_before).zip(within_after.iter().zip(after));
    all.flat_map(|((a, b), (c, d))| faults([a, b, c, d])).collect()
}

fn of_device(
    told: &Told,
    [before, begin, end, after]: [&Counters; 4],
    is_of_bytes: bool,
) -> Vec<Fault> {
    let Told { read, write, discard, passed, empty, flushed } = *told;
    let of_bytes = Held::new("bytes read", |c| c.read_sectors * 512, read.bytes);
    let mut held = vec![
        Held::new("reads", |c| c.reads, read.requests).or(passed.requests),
        Held { is_part: flushed.is_none(), ..of_bytes }.or(passed.bytes),
        Held::new("bytes written", |c| c.write_sectors * 512, write.bytes),
        Held::new("discards", |c| c.discards, discard.requests),
        Held::new("bytes discarded", |c| c.discard_sectors * 512, discard.bytes),
    ];
    let writes = "writes, empty flushes among them";
    let writes = Held::new(writes, |c| c.writes, write.requests + empty);
    if after.name.starts_with("bcache") {
        held.iter_mut().filter(|held| held.name == "bytes written").for_each(|h| h.is_most = true);
    }
    if before.is_of_requests {
        held.extend(flushed.map(|flushed| Held::new("flushes", |c| c.flushes, flushed)));
        held.push(writes);
    } else {
        held.push(Held { traced: write.requests, ..writes }.or(empty));
    }
    held.retain(|held| held.name.starts_with("bytes") == is_of_bytes);
    held.iter().filter_map(|held| held.fault([before, begin, end, after])).collect()
}

/// A count of the kernel's, and what the trace has of it.
#[derive(Clone, Copy)]
struct Held {
    name: &'static str,
    counted: fn(&Counters) -> u64,
    traced: u64,
    /// What the kernel counts too, or does not.
    more: u64,
    /// It may count a part of that.
    is_part: bool,
    /// The kernel counts no more than that.
    is_most: bool,
}

impl Held {
    fn new(name: &'static str, counted: fn(&Counters) -> u64, traced: u64) -> Self {
        Self { name, counted, traced, more: 0, is_part: false, is_most: false }
    }

    fn or(self, more: u64) -> Self {
        Self { more, ..self }
    }

    /// Unless it lies between the inner and the outer difference.
    fn fault(&self, [before, begin, end, after]: [&Counters; 4]) -> Option<Fault> {
        let [least, most] = [(begin, end), (before, after)]
            .map(|(from, to)| (self.counted)(to).wrapping_sub((self.counted)(from)));
        let is_held = |traced: u64| (least..=most).contains(&traced);
        let most_traced = self.traced + self.more;
        if self.is_most && least <= self.traced
            || self.is_part && least <= most_traced && self.traced <= most
            || is_held(self.traced)
            || is_held(most_traced)
        {
            return None;
        }
        let counted = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let wanted = format!("{}: {}: {counted}, by the kernel", before.mapped, self.name);
        Some(Fault::new(wanted, format!("{}, by lbolt", self.traced)))
    }
}

/// The requests of fio's own threads against its report. What was merged is one request, so their
/// number is held only where nothing was.
pub(super) fn fio(run: &Run, report: &FioReport) -> Vec<Fault> {
    let mut faults = vec![];
    let kinds = [(Op::Read, "read"), (Op::Write, "write"), (Op::Discard, "trim")];
    for (op, kind) in kinds {
        let [bytes, ios] =
            ["io_bytes", "total_ios"].map(|what| report.sum(&format!("/{kind}/{what}")));
        let own = run
            .requests
            .iter()
            .filter(|(row, command)| command == LOAD && row.op == op && row.parent_id.is_none());
        let own = sum(own.map(|(row, _)| row));
        let name = op.name();
        if own.bytes != bytes {
            let wanted = format!("bytes of fio's {name}s: {bytes}, by fio");
            faults.push(Fault::new(wanted, own.bytes.to_string()));
        }
        if run.provenance.counts.merged == 0 && own.requests != ios {
            let wanted = format!("fio's {name}s: {ios}, by fio");
            faults.push(Fault::new(wanted, own.requests.to_string()));
        }
    }
    faults
}

/// What was written through the page cache, by whomever, against fio's report.
pub(super) fn fio_bytes(run: &Run, report: &FioReport) -> Vec<Fault> {
    let is_data = |row: &&Request| row.op == Op::Write && row.parent_id.is_none();
    let written = sum(run.requests.iter().map(|(row, _)| row).filter(is_data)).bytes;
    let reported = report.sum("/write/io_bytes");
    let fault = || Fault::new(format!("bytes written: {reported}, by fio"), written.to_string());
    (written != reported).then(fault).into_iter().collect()
}

/// fio's calls of fsync against its report.
pub(super) fn fsyncs(run: &Run, report: &FioReport) -> Vec<Fault> {
    let is_one = |kind| matches!(kind, CallKind::Fsync | CallKind::Fdatasync | CallKind::Untold);
    let calls = run.context.calls.iter().filter(|call| call.command == LOAD && is_one(call.kind));
    let (calls, reported) = (calls.count() as u64, report.sum("/sync/total_ios"));
    let fault = || Fault::new(format!("fsync calls: {reported}, by fio"), calls.to_string());
    (calls != reported || calls == 0).then(fault).into_iter().collect()
}

//! From a trace's rows to the requests of a replay: which of them, where, and when.

use crate::resolve::holes::Holes;
use crate::resolve::replay::ReplayTarget;
use analysis::trace::TraceFile;
use cli::Arrivals;
use experiment::replay::{Due, Followed, Planned, closed, dependent, open};
use formats::export::Source as _;
use host::drive::Control;
use messages::fault::{Fault, failure, not_there, of_records};
use model::record::{Flags, Op, Request};
use model::seam::Operation;
use model::units::show_size;
use std::collections::BTreeMap;
use std::ops::Range;

/// Requests that are kept in memory, with all that is noted of each: 3 GiB.
const REQUESTS_MAX: usize = 1 << 25;
/// All buffers together.
const BUFFERS_BYTES: u64 = 256 << 20;
/// What is kept of a request's flags, who waits for it: the others tell how it came to the device
/// of the trace.
const FLAGS: Flags =
    Flags(Flags::SYNC.0 | Flags::META.0 | Flags::READAHEAD.0 | Flags::BACKGROUND.0);

/// What the trace tells of a request besides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    pub(super) op: Op,
    pub(super) flags: Flags,
    pub(super) recorded_ns: Option<u64>,
    /// It reads what was never written.
    pub(super) is_hole: bool,
}

impl Origin {
    pub(super) fn has_place(&self) -> bool {
        self.op != Op::Flush
    }
}

/// What is to be planned.
pub(crate) struct PlanRequest<'a> {
    pub(crate) trace: &'a TraceFile,
    pub(crate) target: &'a ReplayTarget,
    pub(crate) device: Option<&'a str>,
    pub(crate) arrivals: Arrivals,
    pub(crate) scale: f64,
    pub(crate) runtime_ns: Option<u64>,
    pub(crate) depth: u32,
    pub(crate) wraps: bool,
    pub(crate) control: &'a Control,
}

/// The requests of a replay.
pub(crate) struct Plan {
    pub(crate) requests: Vec<Planned>,
    pub(super) origins: Vec<Origin>,
    pub(crate) depth: u32,
    pub(crate) largest_bytes: u32,
    /// The trace's device, and of how many it is one.
    pub(crate) device: String,
    pub(crate) devices: usize,
    pub(crate) rounded: u64,
    pub(crate) wrapped: u64,
    /// Writes that asked to be durable by themselves, and are made as others.
    pub(crate) fua: u64,
    /// Reads of what was never written.
    pub(crate) hole_reads: u64,
    pub(crate) left_out: BTreeMap<&'static str, u64>,
}

/// Reads the trace and plans its requests.
/// Errors: a trace that cannot be read or holds nothing to replay; requests that do not fit the
/// target; interruption.
pub(crate) fn plan(requested: &PlanRequest<'_>) -> anyhow::Result<Plan> {
    let (device, devices) = device(requested)?;
    let holes = requested.target.holes.clone();
    let mut taken = Taken { device, holes, ..Taken::default() };
    each_row(requested, |row| taken.take(requested, row))?;
    let Taken { mut requests, origins, followed, rounded, wrapped, fua, left_out, .. } = taken;
    let usage = |e: &dyn std::fmt::Display| failure(Fault::Usage, format!("failed to {e}"));
    if requests.is_empty() {
        let reasons: Vec<String> =
            left_out.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        return Err(usage(&format!(
            "replay: no request of the trace can be replayed on this target; left out: {}",
            if reasons.is_empty() {
                "nothing, the trace is empty".into()
            } else {
                reasons.join(", ")
            }
        )));
    }
    let dues = match requested.arrivals {
        Arrivals::Open => open(&followed, requested.scale),
        Arrivals::Closed => closed(&followed, requested.scale).map_err(|e| usage(&e))?,
        Arrivals::Dependent => dependent(&followed, requested.scale),
    };
    requests.iter_mut().zip(dues).for_each(|(planned, due)| planned.due = due);
    let largest_bytes = requests.iter().map(|planned| planned.length_bytes).max().unwrap_or(0);
    let of_buffers = BUFFERS_BYTES / u64::from(largest_bytes.max(4096));
    Ok(Plan {
        hole_reads: origins.iter().filter(|origin| origin.is_hole).count() as u64,
        requests,
        origins,
        depth: requested.depth.min(u32::try_from(of_buffers).unwrap_or(u32::MAX)).max(1),
        largest_bytes: largest_bytes.max(4096),
        device: requested.trace.device_name(device),
        devices,
        rounded,
        wrapped,
        fua,
        left_out,
    })
}

/// Shows each row to a function.
fn each_row(
    requested: &PlanRequest<'_>,
    mut show: impl FnMut(&Request) -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let mut rows = requested.trace.rows()?;
    while let Some(row) = rows.next_row().map_err(of_records)? {
        if requested.control.is_stopped() {
            return Err(failure(Fault::Interrupted, "interrupted; nothing was replayed"));
        }
        if !show(&row)? {
            break;
        }
    }
    Ok(())
}

/// Whether a row is a request of its own that somebody made.
fn is_request(row: &Request) -> bool {
    row.parent_id.is_none() && !row.flags.contains(Flags::OWN)
}

/// The device that was requested, or the one with the most requests; and how many there are.
fn device(requested: &PlanRequest<'_>) -> anyhow::Result<(u32, usize)> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    each_row(requested, |row| {
        if is_request(row) {
            *counts.entry(row.device).or_default() += 1;
        }
        Ok(true)
    })?;
    let all = counts.len();
    let name = |device: u32| requested.trace.device_name(device);
    let chosen = match requested.device {
        None => counts.iter().max_by_key(|(_, count)| **count).map(|(device, _)| *device),
        Some(wanted) => {
            let found = counts.keys().copied().find(|device| name(*device) == wanted);
            let known = || counts.keys().map(|device| name(*device));
            Some(found.ok_or_else(|| not_there("device", wanted, "the trace", known()))?)
        }
    };
    Ok((chosen.unwrap_or(0), all))
}

/// Rows so far.
#[derive(Default)]
struct Taken {
    device: u32,
    requests: Vec<Planned>,
    origins: Vec<Origin>,
    followed: Vec<Followed>,
    began_ns: Option<i64>,
    rounded: u64,
    wrapped: u64,
    fua: u64,
    holes: Holes,
    left_out: BTreeMap<&'static str, u64>,
}

impl Taken {
    /// Takes a row; whether another one is wanted.
    fn take(&mut self, requested: &PlanRequest<'_>, row: &Request) -> anyhow::Result<bool> {
        if row.parent_id.is_some() {
            return Ok(true);
        }
        let arrived = row.arrival_ns().filter(|_| !row.is_orphan());
        let operation = match self.operation(requested.target, row) {
            Ok(operation) if arrived.is_some() => operation,
            Ok(_) => return Ok(self.leave_out("without a beginning")),
            Err(reason) => return Ok(self.leave_out(reason)),
        };
        let arrived_ns = arrived.unwrap_or(0);
        let began_ns = *self.began_ns.get_or_insert(arrived_ns);
        let since = |ns: i64| u64::try_from(ns.saturating_sub(began_ns)).unwrap_or(0);
        if requested.runtime_ns.is_some_and(|runtime_ns| since(arrived_ns) >= runtime_ns) {
            return Ok(false);
        }
        if self.requests.len() == REQUESTS_MAX {
            return Err(failure(
                Fault::Usage,
                format!(
                    "the trace has more than {REQUESTS_MAX} requests to replay; select a part of \
                     it with --runtime"
                ),
            ));
        }
        let (offset_bytes, length_bytes) = self.place(requested, row)?;
        let completed_ns = row.completed_ns.filter(|ns| *ns >= arrived_ns);
        self.fua += u64::from(row.op == Op::Write && row.flags.contains(Flags::FUA));
        let end_bytes = offset_bytes + u64::from(length_bytes);
        let is_hole = self.is_hole(row.op, &(offset_bytes..end_bytes));
        self.requests.push(Planned {
            request_id: row.request_id,
            operation,
            offset_bytes,
            length_bytes,
            due: Due::At(0),
        });
        self.origins.push(Origin {
            op: row.op,
            flags: Flags(row.flags.0 & FLAGS.0),
            recorded_ns: completed_ns.map(|ns| (ns - arrived_ns).unsigned_abs()),
            is_hole,
        });
        self.followed.push(Followed {
            came_ns: since(arrived_ns),
            completed_ns: completed_ns.map(since),
            pid: row.pid,
            is_background: row.op == Op::Write && row.flags.contains(Flags::BACKGROUND),
        });
        Ok(true)
    }

    /// Whether a request reads what nothing was written to until then.
    fn is_hole(&mut self, op: Op, place: &Range<u64>) -> bool {
        if op == Op::Write {
            self.holes.fill(place);
        }
        op == Op::Read && self.holes.hold(place)
    }

    fn leave_out(&mut self, reason: &'static str) -> bool {
        *self.left_out.entry(reason).or_default() += 1;
        true
    }

    /// What a row asks for, or why it is left out.
    fn operation(&self, target: &ReplayTarget, row: &Request) -> Result<Operation, &'static str> {
        match row.op {
            _ if row.device != self.device => Err("of other devices"),
            _ if row.flags.contains(Flags::OWN) => Err("made by lbolt as it recorded"),
            Op::Discard => Err("discards"),
            Op::Other => Err("that neither read nor write"),
            Op::Write | Op::Flush if !target.may_write() => {
                Err("writes and flushes (--destroy TARGET allows them)")
            }
            Op::Flush => Ok(Operation::Fdatasync),
            _ if row.offset_bytes.is_none() || row.length_bytes == 0 => {
                Err("without a place or a length")
            }
            Op::Read => Ok(Operation::Read),
            Op::Write => Ok(Operation::Write),
        }
    }

    /// A row's place and length on the target.
    fn place(&mut self, requested: &PlanRequest<'_>, row: &Request) -> anyhow::Result<(u64, u32)> {
        if row.op == Op::Flush {
            return Ok((0, 0));
        }
        let block = requested.target.block_bytes;
        let size = requested.target.size_bytes / block * block;
        let from = row.offset_bytes.unwrap_or(0);
        let end = from.saturating_add(u64::from(row.length_bytes));
        let (begin, end) =
            (from / block * block, end.checked_next_multiple_of(block).unwrap_or(u64::MAX));
        let length = end - begin;
        if length != u64::from(row.length_bytes) {
            self.rounded += 1;
        }
        let is_wide = length > size || length > BUFFERS_BYTES;
        if is_wide || (end > size && !requested.wraps) {
            return Err(beyond(requested, row, end, is_wide));
        }
        let at = match end > size {
            true => {
                self.wrapped += 1;
                (begin % size).min(size - length)
            }
            false => begin,
        };
        Ok((at, u32::try_from(length).unwrap_or(u32::MAX)))
    }
}

/// A request that does not fit the target.
fn beyond(requested: &PlanRequest<'_>, row: &Request, end: u64, is_wide: bool) -> anyhow::Error {
    let target = requested.target.path.display();
    let (number, has) = (row.request_id, requested.target.size_bytes);
    failure(
        Fault::Usage,
        match is_wide {
            true => format!(
                "request {number} of the trace has {} bytes, more than {target} ({}) or a buffer \
                 (256m) can hold; choose a larger target or another trace",
                row.length_bytes,
                show_size(has)
            ),
            false => format!(
                "request {number} of the trace ends at byte {end}, but {target} has {has}; use a \
                 larger target or --wrap"
            ),
        },
    )
}

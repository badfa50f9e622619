//! What a trace holds of one disk's requests of one kind, as far as the kernel's count of them is
//! concerned, and whether the two agree.
//!
//! The kernel counts requests and sectors of reads, writes and discards, and flush commands
//! (`op_stat_group`, include/linux/blk_types.h). What it counts otherwise than a trace does is
//! known, and is named rather than doubted:
//!
//! - A driver that takes requests (blk-mq) counts each once, a flush sequence as a write, and the
//!   flush commands of its own apart (block/blk-flush.c, `blk_account_io_flush`). Whether commands
//!   that are passed through count as reads and writes depends on the kernel (block/blk.h,
//!   `blk_do_io_stat`: 5.10 lets them, 6.1 and 6.12 do not; since 6.13 NVMe's do where
//!   `queue/iostats_passthrough` is 1), so either is right. Write zeroes and secure erases count as
//!   writes. A request that fails may move fewer bytes.
//! - A driver that takes bios (dm, md, zram, bcache) counts by itself (block/blk-core.c,
//!   `bdev_start_io_acct`), on older kernels as they come (5.10) and on newer ones as they go
//!   (6.12). dm counts each part into which a target makes it split a bio, a write with a preflush
//!   twice (drivers/md/dm.c, `dm_io_acct`; before "payload will be accounted after this flush" of
//!   5.18 its bytes, too), and none that a target refuses (6.12). md counts an empty flush on 5.10
//!   (drivers/md/md.c, `md_submit_bio`) and none on 6.12 (`md_account_bio`, `md_flush_request`).
//!
//! No version of the kernel is asked for: each of these is an allowance of so many requests and so
//! many bytes as the trace itself holds of them. Held against guests of 5.10 and 6.12.
//!
//! Non-goals: when the counters are read (`super`); sentences (`report::doubt`).

use model::record::{Flags, Op, Request};
use std::ops::{Add, AddAssign};

/// The kernel counts bytes in these.
const SECTOR_BYTES: u64 = 512;

/// Requests and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
}

impl Amount {
    fn of(row: &Request) -> Self {
        Self { requests: 1, bytes: u64::from(row.length_bytes) }
    }
}

impl Add for Amount {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { requests: self.requests + other.requests, bytes: self.bytes + other.bytes }
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Where a request lies among the readings of the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    Between,
    /// The kernel may have counted it between the readings or not.
    During,
    Outside,
    /// Its completion was lost.
    Lost,
}

/// By what the driver is given: requests (blk-mq) or bios.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Driver {
    #[default]
    Requests,
    Bios,
    /// Of bios, too. Of writes that go past the cache the kernel counts no bytes
    /// (drivers/md/bcache/request.c, `bch_data_invalidate` uses the bio's own size up).
    Bcache,
}

/// What the trace holds of one kind of request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    between: Amount,
    during: Amount,
    outside: u64,
    lost: Amount,
    /// Of those between and during: flushes without data.
    empty_flushes: u64,
    /// Writes with data that are to be preceded by a flush.
    preflushes: Amount,
    failed: Amount,
    /// Parts beyond the first into which they could be split.
    parts: u64,
}

impl Tally {
    fn take(&mut self, row: &Request, time: Time) {
        let amount = Amount::of(row);
        match time {
            Time::Between => self.between += amount,
            Time::During => self.during += amount,
            Time::Outside => self.outside += 1,
            Time::Lost => self.lost += amount,
        }
        if matches!(time, Time::Outside | Time::Lost) {
            return;
        }
        self.empty_flushes += u64::from(row.op == Op::Flush);
        self.parts += (amount.bytes / SECTOR_BYTES).saturating_sub(1);
        if row.error != 0 {
            self.failed += amount;
        }
        if row.flags.contains(Flags::PREFLUSH) && row.op != Op::Flush {
            self.preflushes += amount;
        }
    }
}

impl Add for Tally {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            between: self.between + other.between,
            during: self.during + other.during,
            outside: self.outside + other.outside,
            lost: self.lost + other.lost,
            empty_flushes: self.empty_flushes + other.empty_flushes,
            preflushes: self.preflushes + other.preflushes,
            failed: self.failed + other.failed,
            parts: self.parts + other.parts,
        }
    }
}

/// What the trace holds of one disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Held {
    reads: Tally,
    writes: Tally,
    discards: Tally,
    /// Flush commands that the driver of a disk was given.
    flushes: Tally,
    /// Commands that are none of these.
    commands: Tally,
}

impl Held {
    pub(super) fn is_any(&self) -> bool {
        *self != Self::default()
    }

    /// Whether anything that moves data was completed between the readings.
    pub(super) fn has_data(&self) -> bool {
        let kinds = [self.reads, self.writes, self.discards];
        kinds.iter().any(|tally| tally.between.bytes > 0)
    }

    /// Adds requests of which no row is known. None has failed, and none is of a flush sequence.
    pub(super) fn take_summed(&mut self, op: Op, amount: Amount, time: Time) {
        let tally = match op {
            Op::Read => &mut self.reads,
            Op::Write | Op::Flush => &mut self.writes,
            Op::Discard => &mut self.discards,
            Op::Other => &mut self.commands,
        };
        match time {
            Time::Between => tally.between += amount,
            Time::During => tally.during += amount,
            Time::Outside => tally.outside += amount.requests,
            Time::Lost => tally.lost += amount,
        }
        if matches!(time, Time::Between | Time::During) {
            tally.parts += (amount.bytes / SECTOR_BYTES).saturating_sub(amount.requests);
        }
    }

    /// Adds a row. The parts of a flush sequence are counted with it, but for its commands.
    pub(super) fn take(&mut self, row: &Request, driver: Driver, time: Time) {
        let is_command = row.op == Op::Flush && row.issued_ns.is_some();
        match row.op {
            Op::Flush if is_command && driver == Driver::Requests => self.flushes.take(row, time),
            _ if row.parent_id.is_some() => {}
            Op::Read => self.reads.take(row, time),
            Op::Write | Op::Flush => self.writes.take(row, time),
            Op::Discard => self.discards.take(row, time),
            Op::Other => self.commands.take(row, time),
        }
    }
}

/// What the kernel counted meanwhile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) reads: Amount,
    pub(super) writes: Amount,
    pub(super) discards: Amount,
    /// None before Linux 5.5.
    pub(super) flushes: Option<u64>,
}

impl Counted {
    /// What was added since.
    pub(super) fn since(self, before: Self) -> Self {
        let less = |now: Amount, before: Amount| Amount {
            requests: now.requests.saturating_sub(before.requests),
            bytes: now.bytes.saturating_sub(before.bytes),
        };
        Self {
            reads: less(self.reads, before.reads),
            writes: less(self.writes, before.writes),
            discards: less(self.discards, before.discards),
            flushes: self.flushes.zip(before.flushes).map(|(now, was)| now.saturating_sub(was)),
        }
    }

    /// Whether a counter is lower than it was: it is another disk's.
    pub(super) fn is_behind(&self, before: &Self) -> bool {
        let kinds = |counted: &Self| [counted.reads, counted.writes, counted.discards];
        let mut pairs = kinds(self).into_iter().zip(kinds(before));
        pairs.any(|(now, was)| now.requests < was.requests || now.bytes < was.bytes)
    }

    pub(super) fn is_any(self) -> bool {
        self.all() != Amount::default() || self.flushes.is_some_and(|flushes| flushes > 0)
    }

    pub(super) fn all(self) -> Amount {
        self.reads + self.writes + self.discards
    }
}

impl AddAssign for Counted {
    fn add_assign(&mut self, other: Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.discards += other.discards;
        self.flushes = match (self.flushes, other.flushes) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
    }
}

/// What a trace and the kernel count otherwise, requests of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Explained {
    /// Parts of bios that the driver split.
    pub(super) parts: u64,
    /// Writes that the driver counts a second time, for their preflush.
    pub(super) preflushes: u64,
    /// Empty flushes that the driver does not count.
    pub(super) empty_flushes: u64,
    /// Bytes of writes of which bcache counts none.
    pub(super) bypassed_bytes: u64,
    /// Requests that failed before the driver counted them.
    pub(super) failed: u64,
    /// Commands that were passed through, and the kernel does not count.
    pub(super) commands: u64,
    /// Completions that are known to be lost.
    pub(super) lost: u64,
}

/// A difference that nothing explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unexplained {
    /// What was counted.
    pub(super) what: &'static str,
    pub(super) counted: u64,
    pub(super) between: u64,
    pub(super) during: u64,
    pub(super) outside: u64,
    pub(super) lost: u64,
    /// How many more, and whether they are in the trace.
    pub(super) more: u64,
    pub(super) is_in_trace: bool,
}

/// How the trace and the kernel compare.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    /// What the trace holds, as near to the kernel's count as what was completed while the
    /// counters were read allows.
    pub(super) held: Amount,
    pub(super) explained: Explained,
    pub(super) unexplained: Vec<Unexplained>,
}

const WRITTEN: &str = "bytes written or discarded";

/// Compares what the trace holds of a disk with what the kernel counted; so many events of the
/// capture are known to be lost.
pub(super) fn compare(
    held: &Held,
    counted: &Counted,
    driver: Driver,
    events_lost: u64,
) -> Comparison {
    let commands = held.commands.between + held.commands.during;
    let mut ledger =
        Ledger { driver, events_lost, commands, is_lossy: false, found: Comparison::default() };
    ledger.compare(["reads", "bytes read"], held.reads, counted.reads);
    // Write zeroes and secure erases are discards in the trace and writes to the kernel.
    let (both, written) = (held.writes + held.discards, counted.writes + counted.discards);
    ledger.compare(["writes and discards", WRITTEN], both, written);
    ledger.compare_discards(held.discards, counted.discards.requests);
    if let (Driver::Requests, Some(flushes)) = (driver, counted.flushes) {
        ledger.compare_flushes(held.flushes, flushes);
    }
    ledger.found.explained.commands = ledger.commands.requests;
    ledger.found
}

/// What is still to be explained is paid from what is known of the requests.
struct Ledger {
    driver: Driver,
    events_lost: u64,
    /// Commands that the kernel is not known to have counted.
    commands: Amount,
    /// Whether completions of the present kind of request may be lost.
    is_lossy: bool,
    found: Comparison,
}

/// Takes as much of a debt as there is.
fn pay(debt: &mut u64, purse: u64) -> u64 {
    let paid = purse.min(*debt);
    *debt -= paid;
    paid
}

impl Ledger {
    fn compare(&mut self, [requests, bytes]: [&'static str; 2], tally: Tally, counted: Amount) {
        let most = tally.between + tally.during;
        self.found.held += Amount {
            requests: counted.requests.clamp(tally.between.requests, most.requests),
            bytes: counted.bytes.clamp(tally.between.bytes, most.bytes),
        };
        let of_requests = |amount: Amount| amount.requests;
        let of_bytes = |amount: Amount| amount.bytes;
        let left = self.explain_requests(&tally, counted.requests);
        self.judge(requests, &tally, counted.requests, left, of_requests);
        let left = self.explain_bytes(bytes, &tally, counted.bytes);
        self.judge(bytes, &tally, counted.bytes, left, of_bytes);
    }

    /// What nothing explains: more by the kernel, more in the trace.
    fn explain_requests(&mut self, tally: &Tally, counted: u64) -> (u64, u64) {
        let (least, most) = (tally.between.requests, (tally.between + tally.during).requests);
        let (mut by_kernel, mut in_trace) =
            (counted.saturating_sub(most), least.saturating_sub(counted));
        let explained = &mut self.found.explained;
        if self.driver != Driver::Requests {
            explained.preflushes += pay(&mut by_kernel, tally.preflushes.requests);
            explained.parts += pay(&mut by_kernel, tally.parts);
            explained.empty_flushes += pay(&mut in_trace, tally.empty_flushes);
            explained.failed += pay(&mut in_trace, tally.failed.requests);
        }
        self.commands.requests -= pay(&mut by_kernel, self.commands.requests);
        let lost = pay(&mut by_kernel, tally.lost.requests + self.events_lost);
        explained.lost += lost;
        // A lost completion may hide among the parts.
        self.is_lossy = lost > 0 || self.driver != Driver::Requests;
        (by_kernel, in_trace)
    }

    fn explain_bytes(&mut self, what: &str, tally: &Tally, counted: u64) -> (u64, u64) {
        let (least, most) = (tally.between.bytes, (tally.between + tally.during).bytes);
        let (mut by_kernel, mut in_trace) =
            (counted.saturating_sub(most), least.saturating_sub(counted));
        pay(&mut in_trace, tally.failed.bytes);
        if self.driver == Driver::Bcache && what == WRITTEN {
            self.found.explained.bypassed_bytes += pay(&mut in_trace, least);
        }
        if self.driver != Driver::Requests {
            pay(&mut by_kernel, tally.preflushes.bytes);
        }
        self.commands.bytes -= pay(&mut by_kernel, self.commands.bytes);
        // Nobody knows how large a request was whose event was lost.
        let lost = match (self.is_lossy, self.events_lost) {
            (false, _) => 0,
            (true, 0) => tally.lost.bytes,
            (true, _) => u64::MAX,
        };
        if pay(&mut by_kernel, lost) > 0 {
            self.found.explained.lost = self.found.explained.lost.max(1);
        }
        (by_kernel, in_trace)
    }

    /// The kernel counts no more discards than there are in the trace, whatever it counts as
    /// writes.
    fn compare_discards(&mut self, tally: Tally, counted: u64) {
        let parts = if self.driver != Driver::Requests { tally.parts } else { 0 };
        let known = (tally.between + tally.during + tally.lost).requests + parts + self.events_lost;
        let left = (counted.saturating_sub(known), 0);
        self.judge("discards", &tally, counted, left, |amount| amount.requests);
    }

    fn compare_flushes(&mut self, tally: Tally, counted: u64) {
        let (least, most) = (tally.between.requests, (tally.between + tally.during).requests);
        let mut by_kernel = counted.saturating_sub(most);
        let lost = pay(&mut by_kernel, tally.lost.requests + self.events_lost);
        self.found.explained.lost += lost;
        let left = (by_kernel, least.saturating_sub(counted));
        self.judge("flush commands", &tally, counted, left, |amount| amount.requests);
    }

    fn judge(
        &mut self,
        what: &'static str,
        tally: &Tally,
        counted: u64,
        (by_kernel, in_trace): (u64, u64),
        of: fn(Amount) -> u64,
    ) {
        if by_kernel + in_trace > 0 {
            self.found.unexplained.push(Unexplained {
                what,
                counted,
                between: of(tally.between),
                during: of(tally.during),
                outside: tally.outside,
                lost: of(tally.lost),
                more: by_kernel + in_trace,
                is_in_trace: in_trace > 0,
            });
        }
    }
}

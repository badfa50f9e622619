//! Requests that are quicker than a threshold, as sums in place of rows, by role, class, file
//! system and time: what repeats the kernel itself has summed up (`repeats`); all else that it
//! tells is added here.
//!
//! What failed, what lbolt itself requested, and what nobody saw begin or end stays a row. So do
//! the parts of flush sequences but for the quick ones, which nobody waits for by themselves: they
//! are in no sum either, as in a rollup.
//!
//! Times are told to the verdict's slices, and where a capture goes on for long to 0.2, 0.4, 0.8 …
//! seconds: memory is bounded.
//!
//! Non-goals: what the sums mean (`verdict::requests`, `verdict::watched`).

use super::diskstats::Amount;
use super::repeats::{Repeats, TakesSums};
use super::sums::{PART_NS, Sums};
use super::witness::Requested;
use super::{NewThread, Session};
use ::verdict::watched::{InCommon, Many, Tally};
use model::busy::Busy;
use model::heaviest::Heaviest;
use model::record::requests::Provenance;
use model::record::{Commands, FileKind, FileNumber, Flags, Op, Request, Summed};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use trace::intake::{Refused, Rows, RowsError, one_by_one};

/// Sums that are kept; with more, neighbours in time are put together. Each is a row of the trace.
const SUMS_MOST: usize = 50_000;
/// Names of what repeats are found anew after so long: none outlives its thread for longer.
const NAMES_NS: i64 = 60_000_000_000;

/// Files of what the kernel sums up that are remembered: those with most bytes.
const FILES_MOST: usize = 10_000;

/// What the kernel has summed up, by device and operation.
pub(super) type OfKernel = BTreeMap<(u32, Op), Amount>;

/// What a session does to sum up quick requests.
#[derive(Debug)]
pub(super) struct Quickly {
    repeats: Repeats,
    sums: Rc<RefCell<QuickSums>>,
}

impl Quickly {
    pub(super) fn new(sums: Rc<RefCell<QuickSums>>) -> Self {
        Self { repeats: Repeats::default(), sums }
    }

    /// Names what comes often, and takes what was summed up.
    pub(super) fn look(&mut self, session: &mut Session<'_>) {
        self.learn(session);
        self.repeats.look(session, &mut *self.sums.borrow_mut());
    }

    /// Takes what was summed up until now. What the kernel has summed up since it captures.
    pub(super) fn read(&mut self, session: &mut Session<'_>) -> OfKernel {
        self.learn(session);
        self.repeats.read(session, &mut *self.sums.borrow_mut());
        self.sums.borrow().of_kernel.clone()
    }

    fn learn(&mut self, session: &mut Session<'_>) {
        let new = session.new_threads();
        let pids: Vec<u32> = new.iter().map(|new| new.process.pid as u32).collect();
        let sums = &mut *self.sums.borrow_mut();
        self.repeats.forget(&pids, session, sums);
        new.iter().for_each(|NewThread { process, .. }| sums.roles.learn(process));
    }

    /// The kernel sums up anew from now on.
    pub(super) fn begin(&mut self, zero_ns: i64) {
        self.repeats = Repeats::default();
        let sums = &mut *self.sums.borrow_mut();
        sums.zero_ns = zero_ns;
        sums.of_kernel.clear();
    }

    pub(super) fn sums(&self) -> std::cell::RefMut<'_, QuickSums> {
        self.sums.borrow_mut()
    }
}

/// The sums of a capture.
#[derive(Debug)]
pub(super) struct QuickSums {
    slower_than_ns: i64,
    /// The trace's time zero.
    zero_ns: i64,
    roles: Tally,
    sums: Sums,
    of_kernel: OfKernel,
    /// What of that is of one file.
    by_file: Heaviest<FileNumber, Requested>,
    /// Requests in the sums; those that came as rows and are none.
    count: u64,
    told_count: u64,
}

impl QuickSums {
    /// Of requests that take less than this.
    pub(super) fn new(slower_than: Duration) -> Self {
        let mut roles = Tally::new(false);
        roles.leave_out(&[std::process::id()]);
        Self {
            slower_than_ns: i64::try_from(slower_than.as_nanos()).unwrap_or(i64::MAX),
            zero_ns: 0,
            roles,
            sums: Sums::new(SUMS_MOST),
            of_kernel: OfKernel::new(),
            by_file: Heaviest::new(FILES_MOST),
            count: 0,
            told_count: 0,
        }
    }

    /// Requests in the sums so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Requests that came as rows and are none.
    pub(super) fn told_count(&self) -> u64 {
        self.told_count
    }

    /// What the kernel has summed up of files, as far as it is known of which.
    pub(super) fn by_file(&self) -> impl Iterator<Item = (&FileNumber, &Requested)> {
        self.by_file.iter()
    }

    /// From when to when a row's request was, if the row is none: it is in the sums, or a quick
    /// part.
    fn quick(&self, row: &Request) -> Option<(i64, i64)> {
        let begun_ns = row.queued_ns.or(row.started_ns);
        // What is a part begins where the driver got it.
        let begun_ns = begun_ns.or(row.issued_ns.filter(|_| row.parent_id.is_some()));
        let (begun_ns, end_ns) = begun_ns.zip(row.completed_ns)?;
        let took_ns = end_ns.saturating_sub(begun_ns);
        let is_quick = (0..self.slower_than_ns).contains(&took_ns);
        let is_none = is_quick && row.error == 0 && !row.flags.contains(Flags::OWN);
        is_none.then_some((begun_ns, end_ns))
    }

    /// Whether a row is none.
    fn takes(&mut self, row: &Request, commands: &Commands) -> bool {
        let Some((begun_ns, end_ns)) = self.quick(row) else { return false };
        self.told_count += 1;
        if row.parent_id.is_none() {
            self.count += 1;
            let what = self.roles.in_common(row, commands);
            self.sums.add(what, &self.one(row, (begun_ns, end_ns)), commands);
        }
        true
    }

    /// The sum of one, by CLOCK_MONOTONIC.
    fn one(&self, row: &Request, (begun_ns, end_ns): (i64, i64)) -> Many {
        let until = |step_ns: Option<i64>| {
            step_ns.map_or(0, |ns| ns.saturating_sub(begun_ns).max(0).unsigned_abs())
        };
        let completed_ns = end_ns.saturating_add(self.zero_ns);
        let from_ns = completed_ns.div_euclid(PART_NS).saturating_mul(PART_NS);
        let mut many = Many {
            like: *row,
            from_ns,
            until_ns: from_ns.saturating_add(PART_NS),
            bytes: row.length_bytes.into(),
            admission_ns: until(row.started_ns),
            queue_ns: until(row.issued_ns),
            busy: Busy::of(begun_ns.saturating_add(self.zero_ns), completed_ns),
            ..Many::default()
        };
        many.responses.record(end_ns.saturating_sub(begun_ns).unsigned_abs());
        many
    }

    /// The sums so far, in the order of time, by the trace's clock.
    pub(super) fn so_far(&self) -> Vec<Summed> {
        let zero_ns = self.zero_ns;
        let on_clock = |sum: Summed| Summed {
            from_ns: (sum.from_ns - zero_ns).max(0),
            until_ns: sum.until_ns - zero_ns,
            busy_from_ns: sum.busy_from_ns - zero_ns,
            ..sum
        };
        self.sums.so_far().into_iter().map(on_clock).collect()
    }
}

impl TakesSums for QuickSums {
    fn in_common(&mut self, like: &Request, commands: &Commands) -> Option<InCommon> {
        Some(self.roles.in_common(like, commands)).filter(InCommon::are_of_a_role)
    }

    fn span_end_ns(&mut self, now_ns: i64) -> Option<i64> {
        Some(now_ns.saturating_add(NAMES_NS))
    }

    fn take(&mut self, what: InCommon, many: &Many, _until_ns: i64, commands: &Commands) {
        let (requests, bytes) = (many.responses.count(), many.bytes);
        self.count += requests;
        *self.of_kernel.entry((many.like.device, many.like.op)).or_default() +=
            Amount { requests, bytes };
        let is_one = |kind, inode| kind == FileKind::Regular && inode != 0;
        let file = many.like.file.filter(|file| is_one(file.kind, file.number.inode));
        if let Some(file) = file {
            let requested = Requested::like(&many.like, bytes);
            self.by_file.add(file.number, bytes).add(requested);
        }
        self.sums.add(what, many, commands);
    }
}

/// Gives on what is no quick request.
pub(super) struct Slow<R> {
    pub(super) rows: R,
    pub(super) sums: Option<Rc<RefCell<QuickSums>>>,
}

impl<R: Rows> Rows for Slow<R> {
    fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), RowsError> {
        match &self.sums {
            Some(sums) if sums.borrow_mut().takes(row, commands) => Ok(()),
            _ => self.rows.push(row, commands),
        }
    }

    fn push_all(&mut self, rows: &[Request], commands: &Commands) -> Result<(), Refused> {
        match self.sums {
            Some(_) => one_by_one(self, rows, commands),
            None => self.rows.push_all(rows, commands),
        }
    }

    /// Quick rows are kept as sums, as soon as they are put in order.
    fn keep(
        &mut self,
        done: &[Request],
        commands: &Commands,
        provenance: &Provenance,
    ) -> Result<(), RowsError> {
        let Some(sums) = &self.sums else { return self.rows.keep(done, commands, provenance) };
        let sums = sums.borrow();
        let slow = done.iter().filter(|row| sums.quick(row).is_none()).copied();
        self.rows.keep(&slow.collect::<Vec<_>>(), commands, provenance)
    }

    fn keeps_all(&self) -> bool {
        self.rows.keeps_all()
    }

    fn settle(&mut self) -> Result<(), RowsError> {
        self.rows.settle()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::busy::BIT_NS;
    use model::record::FileKey;

    const S: i64 = 1_000_000_000;

    fn row(op: Op, queued_ns: i64, took_ns: i64) -> Request {
        Request {
            device: 7,
            op,
            length_bytes: 4096,
            queued_ns: Some(queued_ns),
            started_ns: Some(queued_ns + took_ns / 8),
            issued_ns: Some(queued_ns + took_ns / 4),
            completed_ns: Some(queued_ns + took_ns),
            pid: Some(3),
            ..Request::default()
        }
    }

    fn told(rows: &[Request]) -> (Vec<Request>, QuickSums) {
        let sums = Rc::new(RefCell::new(QuickSums::new(Duration::from_micros(100))));
        let mut slow = Slow { rows: Vec::new(), sums: Some(sums.clone()) };
        rows.iter().for_each(|row| slow.push(row, &Commands::default()).unwrap());
        let Slow { rows, sums: shared } = slow;
        drop(shared);
        (rows, Rc::into_inner(sums).unwrap().into_inner())
    }

    #[test]
    fn a_quick_request_is_in_a_sum_or_a_row_and_never_in_both() {
        let quick = row(Op::Read, S, 99_999);
        let slow = row(Op::Read, S, 100_000);
        let failed = Request { error: 5, ..quick };
        let own = Request { flags: Flags::OWN, ..quick };
        let orphan = Request { queued_ns: None, started_ns: None, issued_ns: None, ..quick };
        let lost = Request { completed_ns: None, ..quick };
        let part = Request {
            parent_id: Some(3),
            queued_ns: None,
            started_ns: None,
            ..row(Op::Write, S, 10)
        };
        let (rows, sums) = told(&[quick, slow, failed, own, orphan, lost, part, quick]);
        assert_eq!(rows, [slow, failed, own, orphan, lost]);
        assert_eq!((sums.count(), sums.told_count()), (2, 3));
        let [summed] = &sums.so_far()[..] else { panic!() };
        assert_eq!((summed.from_ns, summed.until_ns), (S, S + PART_NS));
        assert_eq!(summed.admission_ns, 2 * 12_499);
        assert_eq!((summed.device, summed.op, summed.count, summed.bytes), (7, Op::Read, 2, 8192));
        assert_eq!((summed.queue_ns, summed.sum_ns), (2 * 24_999, 2 * 99_999));
        assert_eq!((summed.min_ns, summed.max_ns), (99_999, 99_999));
        assert_eq!((summed.pid, summed.flags, summed.length_bytes), (Some(3), Some(0), Some(4096)));
        assert_eq!(summed.busy().map(|busy| busy.ns()), Some(BIT_NS as u64));
        assert_eq!(summed.counts, [2]);
    }

    /// What a kill leaves.
    #[derive(Default)]
    struct Left(Vec<Request>);

    impl Rows for Left {
        fn push(&mut self, _: &Request, _: &Commands) -> Result<(), RowsError> {
            Ok(())
        }

        fn keep(
            &mut self,
            done: &[Request],
            _: &Commands,
            _: &Provenance,
        ) -> Result<(), RowsError> {
            self.0.extend_from_slice(done);
            Ok(())
        }
    }

    #[test]
    fn a_kill_leaves_no_row_of_a_request_that_is_in_a_sum() {
        let sums = Rc::new(RefCell::new(QuickSums::new(Duration::from_micros(100))));
        let mut slow = Slow { rows: Left::default(), sums: Some(sums.clone()) };
        let done = [row(Op::Read, S, 99_999), row(Op::Read, S, 100_000)];
        let (commands, known) = (Commands::default(), Provenance::default());
        slow.keep(&done, &commands, &known).unwrap();
        done.iter().for_each(|row| slow.push(row, &commands).unwrap());
        slow.keep(&[], &commands, &known).unwrap();
        assert_eq!(slow.rows.0, [done[1]]);
        // As they are from time to time, and at the end.
        for _ in 0..2 {
            assert_eq!(sums.borrow().so_far().iter().map(|sum| sum.count).sum::<u64>(), 1);
        }
    }

    /// Both are of one part of the time; the trace's clock begins later than the kernel's.
    #[test]
    fn what_the_kernel_summed_up_and_what_it_told_are_in_the_same_sums() {
        let mut sums = QuickSums::new(Duration::from_millis(1));
        sums.zero_ns = 5 * S;
        let commands = Commands::default();
        let like = row(Op::Write, S, 700);
        assert!(sums.takes(&like, &commands));
        let what = TakesSums::in_common(&mut sums, &like, &commands).unwrap();
        let mut many = Many {
            like: Request { pid: Some(4), ..like },
            from_ns: 6 * S,
            until_ns: 6 * S + PART_NS,
            bytes: 30,
            busy: Busy::of(6 * S + 3 * BIT_NS, 6 * S + 4 * BIT_NS),
            ..Many::default()
        };
        [50, 900].iter().for_each(|ns| many.responses.record(*ns));
        TakesSums::take(&mut sums, what, &many, i64::MAX, &commands);
        let requests = Amount { requests: 2, bytes: 30 };
        assert_eq!(sums.of_kernel, OfKernel::from([((7, Op::Write), requests)]));
        assert_eq!((sums.count(), sums.told_count()), (3, 1));
        let [summed] = &sums.so_far()[..] else { panic!() };
        assert_eq!((summed.from_ns, summed.until_ns), (S, S + PART_NS));
        assert_eq!((summed.count, summed.sum_ns, summed.bytes), (3, 1650, 4126));
        assert_eq!((summed.pid, summed.other_pids.as_slice()), (Some(3), &[4][..]));
        assert_eq!(summed.busy().map(|busy| busy.ns()), Some(3 * BIT_NS as u64));
    }

    /// A direct write of a table, quick but many.
    #[test]
    fn bytes_that_the_kernel_summed_up_are_of_their_file_if_it_is_one() {
        let mut sums = QuickSums::new(Duration::from_millis(1));
        let commands = Commands::default();
        let mut take = |op, inode, bytes| {
            let number = FileNumber { file_system: 8, inode, generation: 0 };
            let file = Some(FileKey { kind: FileKind::Regular, number });
            let like = Request { file, ..row(op, S, 700) };
            let what = TakesSums::in_common(&mut sums, &like, &commands).unwrap();
            let many = Many { like, bytes, ..Many::default() };
            TakesSums::take(&mut sums, what, &many, i64::MAX, &commands);
        };
        take(Op::Write, 5, 16 << 20);
        take(Op::Read, 5, 4096);
        take(Op::Write, 5, 1 << 20);
        take(Op::Write, 0, 7 << 20);
        let of: Vec<_> = sums.by_file().map(|(file, of)| (file.inode, *of)).collect();
        let mut expected = Requested::like(&row(Op::Write, S, 700), 17 << 20);
        expected.add(Requested::like(&row(Op::Read, S, 700), 4096));
        assert_eq!(of, [(5, expected)]);
    }

    #[test]
    fn what_nobody_asks_for_by_itself_is_summed_up_without_a_thread() {
        let mut commands = Commands::default();
        let command = Some(commands.number(b"kworker/u8:1-flush-7:0"));
        let mut sums = QuickSums::new(Duration::from_millis(1));
        assert!(sums.takes(&Request { command, ..row(Op::Write, S, 700) }, &commands));
        let [summed] = &sums.so_far()[..] else { panic!() };
        assert_eq!((summed.count, summed.pid, &summed.command), (1, None, &None));
    }
}

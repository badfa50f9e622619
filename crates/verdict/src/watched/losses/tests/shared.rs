//! Several roles at one device, in virtual time: whether sums divide their waits as rows do.

use super::*;
use crate::tests::deep;
use model::busy::{BIT_NS, Busy};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter;
use std::ops::Range;

/// The kernel sums up what is quicker.
const QUICK_NS: i64 = 1 << 22;
/// And is read so often.
const PART_NS: i64 = 100 * MS;

/// Who keeps so many requests in flight, at times.
struct Job {
    op: Op,
    length_bytes: u32,
    depth: usize,
    /// From a request's end to the next one, in ns.
    think_ns: i64,
    /// Of each so long a time it requests at this part's begin and for so long.
    period_ns: i64,
    from_ns: i64,
    for_ns: i64,
}

impl Job {
    fn steady(op: Op, length_bytes: u32, depth: usize, think_ns: i64) -> Self {
        Self { op, length_bytes, depth, think_ns, period_ns: S, from_ns: 0, for_ns: S }
    }

    /// When it requests next, from a moment on.
    fn next_ns(&self, ns: i64) -> i64 {
        let since = ns.rem_euclid(self.period_ns);
        match since {
            since if since < self.from_ns => ns + self.from_ns - since,
            since if since < self.from_ns + self.for_ns => ns,
            since => ns + self.period_ns - since + self.from_ns,
        }
    }
}

/// What they request of a device that serves so many at once, first come, first served, and stands
/// still for a while; times vary.
fn served(jobs: &[Job], servers: usize, until_ns: i64, still: Range<i64>) -> Vec<Request> {
    let mut free: BinaryHeap<Reverse<i64>> = (0..servers).map(|_| Reverse(0)).collect();
    let mut due: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
    for (number, job) in jobs.iter().enumerate() {
        let begins = (0..job.depth).map(|slot| job.next_ns(slot as i64 * 1000));
        due.extend(begins.map(|begin_ns| Reverse((begin_ns, number))));
    }
    let mut rows = Vec::new();
    let mut random = 1u64;
    while let Some(Reverse((at_ns, number))) = due.pop().filter(|Reverse((at, _))| *at < until_ns) {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let varied = 0.5 + (random >> 40) as f64 / (1u64 << 24) as f64;
        let job = &jobs[number];
        let serve_ns = (200_000.0 + f64::from(job.length_bytes) * 5.0) * varied;
        let Some(Reverse(free_ns)) = free.pop() else { break };
        let end_ns = at_ns.max(free_ns) + serve_ns as i64;
        let end_ns = if still.contains(&end_ns) { still.end + serve_ns as i64 } else { end_ns };
        free.push(Reverse(end_ns));
        rows.push(row(number as u32 + 1, job.op, at_ns, end_ns - at_ns, job.length_bytes));
        let think_ns = (job.think_ns as f64 * varied) as i64;
        due.push(Reverse((job.next_ns(end_ns + think_ns), number)));
    }
    rows.sort_by_key(|row| row.queued_ns);
    by_threads(&mut rows, true);
    rows
}

/// The quick ones of each part of the time, by job, as the capture sums them up; and the other
/// rows.
fn as_sums(rows: &[Request], jobs: &[Job]) -> (Vec<Request>, Vec<Many>) {
    let mut sums: BTreeMap<(i64, Option<u32>), Many> = BTreeMap::new();
    let of_job = |row: &Request| row.pid.map(|pid| pid % NEXT_THREAD);
    let (quick, slow): (Vec<Request>, Vec<Request>) =
        rows.iter().partition(|row| row.completed_ns.unwrap() - row.queued_ns.unwrap() < QUICK_NS);
    for row in quick {
        let (begin_ns, end_ns) = (row.queued_ns.unwrap(), row.completed_ns.unwrap());
        let part = end_ns.div_euclid(PART_NS);
        let (from_ns, until_ns) = (part * PART_NS, (part + 1) * PART_NS);
        let busy = Some(Busy::since(from_ns));
        let first = of_job(&row).unwrap_or(0);
        let job = jobs.get(first as usize - 1).filter(|job| job.op == Op::Read);
        let threads = first..first + job.map_or(1, |job| job.depth as u32 * NEXT_THREAD);
        let other_pids = threads.step_by(NEXT_THREAD as usize).skip(1).collect();
        let like = Request { pid: Some(first), ..row };
        let new = || Many { like, other_pids, from_ns, until_ns, busy, ..Many::default() };
        let sum = sums.entry((part, of_job(&row))).or_insert_with(new);
        sum.responses.record((end_ns - begin_ns) as u64);
        sum.bytes += u64::from(row.length_bytes);
        for bit in begin_ns / BIT_NS..=end_ns / BIT_NS {
            let one = Busy { from_ns: bit * BIT_NS, bits: 1 };
            sum.busy.iter_mut().for_each(|busy| busy.add(&one));
        }
    }
    (slow, sums.into_values().collect())
}

const STANDS_STILL: &str = "a storm, and a device that stands still";

/// Reads of 4 KiB, and what comes beside them.
fn cases() -> [(&'static str, Job, Vec<Job>); 9] {
    let reader = |depth, think_ns| Job::steady(Op::Read, 4096, depth, think_ns);
    let writer = || Job::steady(Op::Write, 65536, 16, 0);
    let at_times = |job: Job, period_ns, from_ns, for_ns| Job { period_ns, from_ns, for_ns, ..job };
    let storm = || at_times(writer(), 5 * S, 2 * S, S);
    let large = || at_times(Job::steady(Op::Write, 1 << 20, 6, 0), 5 * S, 2 * S, S / 2);
    let other = || Job::steady(Op::Read, 65536, 8, 0);
    [
        ("always", reader(8, 0), vec![Job::steady(Op::Write, 16384, 4, 0)]),
        ("a storm, one read after the other", reader(1, MS / 5), vec![storm()]),
        ("a storm", reader(8, MS / 10), vec![storm()]),
        (STANDS_STILL, reader(8, MS / 10), vec![storm()]),
        ("a storm of large ones, most of which are slow", reader(1, MS / 5), vec![large()]),
        ("a storm beside eight", reader(8, 2 * MS), vec![at_times(other(), 5 * S, 2 * S, S)]),
        ("30 of 300 ms", reader(1, MS / 5), vec![at_times(writer(), 300 * MS, 10 * MS, 30 * MS)]),
        ("5 of 20 ms", reader(4, MS / 10), vec![at_times(writer(), 20 * MS, 0, 5 * MS)]),
        (
            "two, one of which has 10 of 20 ms",
            reader(4, MS / 10),
            vec![storm(), at_times(other(), 20 * MS, 10 * MS, 10 * MS)],
        ),
    ]
}

/// Of a reader's and all others' waits: how many and how long, and what they lost to whom, in ns.
type Found = BTreeMap<(Option<String>, Option<String>), (u64, u64, i64)>;

fn found(kept: &[Rollup]) -> Found {
    let of = kept.iter().filter(|row| [Counted::Waits, Counted::Lost].contains(&row.counted));
    let cause = |row: &Rollup| row.cause.as_ref().map(|cause| format!("{cause:?}"));
    let count = |row: &Rollup| if row.counted == Counted::Waits { row.count } else { 0 };
    of.map(|row| ((row.role.clone(), cause(row)), (count(row), row.sum_ns, row.lost_ns))).collect()
}

/// What is waited is the same, and what is lost to each within a fifth and 1 % of what was waited:
/// where others come and go within a part of the time, it is not known what of a wait was theirs.
#[test]
fn sums_of_several_roles_are_divided_as_their_rows_are() {
    for (name, reader, others) in cases() {
        let jobs: Vec<Job> = iter::once(reader).chain(others).collect();
        let is_still = name == STANDS_STILL;
        let still = if is_still { 3 * S + 30 * MS..3 * S + 260 * MS } else { 0..0 };
        let rows = served(&jobs, 4, 10 * S, still);
        let (slow, sums) = as_sums(&rows, &jobs);
        assert!(slow.len() * 20 < rows.len() && sums.len() * 20 < rows.len(), "{name}");
        let expected = found(&kept_of(&rows, &[]));
        let causes = if is_still { 3 } else { 2 };
        assert!(expected.len() >= causes, "{name}: {expected:?}");
        for made in [kept_of(&slow, &sums), rolled_of(&slow, &sums)] {
            let made = found(&made);
            assert!(expected.keys().eq(made.keys()), "{name}: {made:?}");
            for ((role, cause), (count, sum_ns, lost_ns)) in &expected {
                let of = made[&(role.clone(), cause.clone())];
                assert_eq!((of.0, of.1), (*count, *sum_ns), "{name}: {role:?}");
                let waited_ns = expected[&(role.clone(), None)].1 as i64;
                let off_ns = (of.2 - lost_ns).abs();
                let bound_ns = lost_ns.abs() / 5 + waited_ns / 100;
                assert!(off_ns <= bound_ns, "{name}: {role:?} {cause:?}: {of:?} {lost_ns}");
            }
        }
    }
}

/// A thread that keeps 16 reads in flight, all of which are quick, and who reads for a while beside
/// it: it loses what its rate does, told by rows or by sums.
#[test]
fn a_thread_with_many_in_flight_loses_the_time_that_its_rate_does() {
    let is_beside = |ns: i64| (2 * S..4 * S).contains(&ns);
    let of = |is_alone: bool| {
        let gap_ns = |ns: i64| if is_beside(ns) && !is_alone { MS / 5 } else { MS / 12 };
        let reads = deep::reads(16, 6 * S, gap_ns).into_iter();
        let mut rows: Vec<Request> = reads
            .map(|(begin_ns, took_ns)| row(1, Op::Read, begin_ns, took_ns, 16 << 10))
            .collect();
        let other = (250..500).map(|number| row(2, Op::Read, number * 8 * MS, 8 * MS, 1 << 20));
        rows.extend(other.filter(|_| !is_alone));
        rows.sort_by_key(|row| row.queued_ns);
        let (slow, sums) = as_sums(&rows, &[]);
        assert!(slow.len() <= 250, "all of the reader's are quick");
        [kept_of(&rows, &[]), kept_of(&slow, &sums), rolled_of(&slow, &sums)]
    };
    let of_reader = |kept: &[Rollup], counted: Counted| -> Vec<Rollup> {
        let is_it = |row: &&Rollup| row.counted == counted && row.role.as_deref() == Some("reader");
        kept.iter().filter(is_it).cloned().collect()
    };
    let expected_ns = 2.0 * S as f64 * (1.0 - 5.0 / 12.0);
    for kept in of(false) {
        let waited_ns: u64 = of_reader(&kept, Counted::Waits).iter().map(|row| row.sum_ns).sum();
        assert!((5.8..6.1).contains(&(waited_ns as f64 / S as f64)), "of 6 s: {waited_ns}");
        let lost = of_reader(&kept, Counted::Lost);
        let of_other = lost.iter().filter(|row| row.cause.as_deref() == Some("dd"));
        let lost_ns = of_other.map(|row| row.lost_ns).sum::<i64>() as f64;
        assert!((lost_ns / expected_ns - 1.0).abs() < 0.1, "{lost_ns} of {expected_ns}");
    }
    for kept in of(true) {
        let lost: i64 = of_reader(&kept, Counted::Lost).iter().map(|row| row.lost_ns).sum();
        assert!(lost.abs() < S / 50, "alone: {lost}");
    }
}

/// Its reads take 16 times as long as it waits for each.
#[test]
fn of_sums_of_many_in_flight_it_is_not_known_how_long_each_wait_took() {
    let p99_ns = |rows: &[Request], sums: &[Many]| {
        let mut minutes = Minutes::all(Known::new(context_of(sums), Selection::default()));
        rows.iter().for_each(|row| minutes.add(row, &Commands::default()));
        let findings = minutes.verdict().findings(&|_| String::new());
        findings.iter().find(|of| of.quantity == "waited_p99_ns").unwrap().value
    };
    let of = |reads: Vec<(i64, i64)>| {
        let row = |(begin_ns, took_ns)| row(1, Op::Read, begin_ns, took_ns, 16 << 10);
        let mut rows: Vec<Request> = reads.into_iter().map(row).collect();
        rows.sort_by_key(|row| row.queued_ns);
        let (slow, sums) = as_sums(&rows, &[]);
        assert!(slow.is_empty());
        [p99_ns(&rows, &[]), p99_ns(&[], &sums)]
    };
    let [of_rows, of_sums] = of(deep::reads(16, 6 * S, |_| MS / 12));
    assert!(of_rows.is_some_and(|ns| ns < MS as f64 / 4.0) && of_sums.is_none(), "{of_rows:?}");
    let [of_rows, of_sums] = of((0..6000).map(|ms| (ms * MS, MS / 2)).collect());
    assert!(of_rows.is_some() && of_rows == of_sums, "{of_rows:?} {of_sums:?}");
}

/// A database of one thread, which is in a call at the begin of each part of the time.
#[test]
fn who_is_in_a_call_when_a_sum_begins_waits_for_what_it_reads_behind_the_call() {
    let is_in_call = |ms: i64| [0, 1, 99].contains(&(ms % 100));
    let reads = (0..5000).filter(|ms| !is_in_call(*ms));
    let rows: Vec<Request> = reads.map(|ms| row(1, Op::Read, ms * MS, MS / 2, 4096)).collect();
    let call = |number: i64| Call {
        kind: model::record::CallKind::Fsync,
        pid: 1,
        begin_ns: BEGUN + number * 100 * MS - MS,
        end_ns: Some(BEGUN + number * 100 * MS + 2 * MS),
        ..Call::default()
    };
    let calls: Vec<Call> = (1..50).map(call).collect();
    let (slow, sums) = as_sums(&rows, &[]);
    assert!(slow.is_empty() && sums.len() == 50);
    let waits = |kept: &[Rollup]| found(kept).into_values().next();
    let of_rows = waits(&kept_beside(&calls, &rows, &[]));
    assert_eq!(of_rows, Some((rows.len() as u64, rows.len() as u64 * MS as u64 / 2, 0)));
    assert_eq!(waits(&kept_beside(&calls, &[], &sums)), of_rows);
    // A call that goes on for longer tells of what is read in it.
    let long = Call { end_ns: Some(BEGUN + 3 * S), ..call(20) };
    let waits = waits(&kept_beside(&[long], &[], &sums)).unwrap();
    assert_eq!(waits.0, rows.len() as u64 - 10 * 97);
}

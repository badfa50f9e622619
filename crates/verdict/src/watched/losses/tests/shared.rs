//! Several roles at one device, in virtual time: whether sums divide their waits as rows do.

use super::*;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::iter;

/// The kernel sums up what is quicker.
const QUICK_NS: i64 = 1 << 22;
/// And is read so often; and tells in which of these times some were in flight.
const PART_NS: i64 = 100 * MS;
const BUSY_NS: i64 = 1 << 21;

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

/// What they request of a device that serves so many at once, first come, first served; times vary.
fn served(jobs: &[Job], servers: usize, until_ns: i64) -> Vec<Request> {
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
        free.push(Reverse(end_ns));
        rows.push(row(number as u32 + 1, job.op, at_ns, end_ns - at_ns, job.length_bytes));
        let think_ns = (job.think_ns as f64 * varied) as i64;
        due.push(Reverse((job.next_ns(end_ns + think_ns), number)));
    }
    rows.sort_by_key(|row| row.queued_ns);
    rows
}

/// The quick ones of each part of the time, by job, as the capture sums them up; and the other
/// rows.
fn as_sums(rows: &[Request]) -> (Vec<Request>, Vec<Many>) {
    let mut sums: BTreeMap<(i64, Option<u32>), (Many, BTreeSet<i64>)> = BTreeMap::new();
    let (quick, slow): (Vec<Request>, Vec<Request>) =
        rows.iter().partition(|row| row.completed_ns.unwrap() - row.queued_ns.unwrap() < QUICK_NS);
    for row in quick {
        let (begin_ns, end_ns) = (row.queued_ns.unwrap(), row.completed_ns.unwrap());
        let part = end_ns.div_euclid(PART_NS);
        let (from_ns, until_ns) = (part * PART_NS, (part + 1) * PART_NS);
        let new = || (Many { like: row, from_ns, until_ns, ..Many::default() }, BTreeSet::new());
        let (sum, busy) = sums.entry((part, row.pid)).or_insert_with(new);
        sum.responses.record((end_ns - begin_ns) as u64);
        sum.bytes += u64::from(row.length_bytes);
        busy.extend(begin_ns.max(from_ns) / BUSY_NS..=end_ns / BUSY_NS);
    }
    let busy_ns = |busy: BTreeSet<i64>| Some(busy.len() as u64 * BUSY_NS as u64);
    let sums = sums.into_values().map(|(sum, busy)| Many { busy_ns: busy_ns(busy), ..sum });
    (slow, sums.collect())
}

/// Reads of 4 KiB, and what comes beside them.
fn cases() -> [(&'static str, Job, Vec<Job>); 6] {
    let reader = |depth, think_ns| Job::steady(Op::Read, 4096, depth, think_ns);
    let writer = || Job::steady(Op::Write, 65536, 16, 0);
    let at_times = |job: Job, period_ns, from_ns, for_ns| Job { period_ns, from_ns, for_ns, ..job };
    let storm = || at_times(writer(), 5 * S, 2 * S, S);
    let other = || Job::steady(Op::Read, 65536, 8, 0);
    [
        ("always", reader(8, 0), vec![Job::steady(Op::Write, 16384, 4, 0)]),
        ("a storm, one read after the other", reader(1, MS / 5), vec![storm()]),
        ("a storm", reader(8, MS / 10), vec![storm()]),
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
        let rows = served(&jobs, 4, 10 * S);
        let (slow, sums) = as_sums(&rows);
        assert!(slow.len() * 20 < rows.len() && sums.len() * 20 < rows.len(), "{name}");
        let expected = found(&kept_of(&rows, &[]));
        assert!(expected.len() >= 2, "{name}: {expected:?}");
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

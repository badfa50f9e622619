//! The job in virtual time: a target that takes so long for each request, and a clock that a sleep
//! overshoots.

use super::*;
use model::seam::{Clock, Job, Request, TimedCompletion, Turn};
use proptest::prelude::*;
use std::cell::Cell;

struct Virtual(Cell<u64>);

impl Clock for Virtual {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }

    fn precision_ns(&self) -> f64 {
        1.0
    }
}

/// A target in virtual time.
struct Target {
    /// Of each request.
    service_ns: u64,
    /// Handing a request over.
    submit_ns: u64,
    /// Every sleep ends so much later.
    overslept_ns: u64,
}

const IDEAL: Target = Target { service_ns: 100_000, submit_ns: 0, overslept_ns: 0 };
/// A look at the ring.
const LOOK_NS: u64 = 20;

impl Target {
    fn run(&self, mut job: Replay) -> Vec<Times> {
        let clock = Virtual(Cell::new(1_000_000));
        let mut pending: Vec<(u64, Request)> = vec![];
        let mut found: Vec<TimedCompletion> = vec![];
        loop {
            let completion = (!found.is_empty()).then(|| found.remove(0));
            match job.turn(&clock, completion) {
                Turn::Submit(request) if request.length_bytes == 0 => {
                    let token = u64::from(request.token);
                    found.push(TimedCompletion { token, result: 0, found_ns: clock.now_ns() });
                }
                Turn::Submit(request) => {
                    clock.0.set(clock.now_ns() + self.submit_ns);
                    pending.push((clock.now_ns() + self.service_ns, request));
                }
                Turn::Wait { min, until_ns } if found.is_empty() => {
                    let first = pending.iter().map(|(at_ns, _)| *at_ns).min();
                    let now_ns = clock.now_ns();
                    let woken_ns = match first {
                        _ if min == 0 => now_ns + LOOK_NS,
                        Some(at_ns) if at_ns <= until_ns => at_ns.max(now_ns),
                        _ => until_ns + self.overslept_ns,
                    };
                    clock.0.set(woken_ns);
                    let is_done = |pair: &(u64, Request)| pair.0 <= woken_ns;
                    let done: Vec<_> = pending.iter().copied().filter(is_done).collect();
                    pending.retain(|pair| !is_done(pair));
                    found.extend(done.into_iter().map(|(_, request)| TimedCompletion {
                        token: u64::from(request.token),
                        result: i64::from(request.length_bytes),
                        found_ns: woken_ns,
                    }));
                }
                Turn::Wait { .. } | Turn::Mark => {}
                Turn::Compute { .. } => panic!("a replay computes nothing"),
                Turn::Done => return job.into_times().unwrap().1,
            }
        }
    }
}

fn reads(dues: Vec<Due>) -> Vec<Planned> {
    let read = |(place, due): (usize, Due)| Planned {
        request_id: place as u64,
        operation: Operation::Read,
        offset_bytes: 0,
        length_bytes: 512,
        due,
    };
    dues.into_iter().enumerate().map(read).collect()
}

fn row(came_ns: u64, completed_ns: u64) -> Followed {
    let completed_ns = Some(completed_ns);
    Followed { came_ns, completed_ns, pid: Some(1), is_background: false }
}

fn late(times: &Times) -> u64 {
    times.submitted_ns - times.due_ns.unwrap()
}

/// When each was due, from the first one on.
fn dues(times: &[Times]) -> Vec<u64> {
    let first_ns = times[0].due_ns.unwrap();
    times.iter().map(|times| times.due_ns.unwrap() - first_ns).collect()
}

const MS: u64 = 1_000_000;

#[test]
fn open_requests_come_at_their_own_moments_and_no_delay_adds_up() {
    let trace: Vec<Followed> = (0..1000).map(|n| row(n * MS, 0)).collect();
    let slow = Target { service_ns: 7 * MS, overslept_ns: 60_000, ..IDEAL };
    let times = slow.run(Replay::new(reads(open(&trace, 1.0)), 64));
    assert_eq!(dues(&times), trace.iter().map(|row| row.came_ns).collect::<Vec<_>>());
    // The first sleeps teach how long before its end to wake.
    assert!(times.iter().skip(10).all(|times| late(times) <= 2 * LOOK_NS), "{:?}", &times[..20]);
    assert!(times.iter().all(|times| times.completed_ns - times.submitted_ns >= 7 * MS));
}

#[test]
fn a_scale_of_two_is_twice_the_rate() {
    let trace: Vec<Followed> = (0..10).map(|n| row(n * MS, n * MS + 1)).collect();
    let times = IDEAL.run(Replay::new(reads(open(&trace, 2.0)), 4));
    assert_eq!(dues(&times)[9], 9 * MS / 2);
    let times = IDEAL.run(Replay::new(reads(closed(&trace, 0.5).unwrap()), 4));
    let think_ns = times[1].due_ns.unwrap() - times[0].completed_ns;
    assert_eq!(think_ns, 2 * (MS - 1));
}

#[test]
fn closed_requests_come_their_think_time_after_the_completion() {
    let trace = [row(0, 5 * MS), row(12 * MS, 20 * MS), row(18 * MS, 21 * MS)];
    let times = IDEAL.run(Replay::new(reads(closed(&trace, 1.0).unwrap()), 1));
    assert_eq!(times[1].due_ns.unwrap() - times[0].completed_ns, 7 * MS);
    // It came before the one before it was completed: no time to think.
    assert_eq!(times[2].due_ns.unwrap(), times[1].completed_ns);
    let unknown = [row(0, 1), Followed { completed_ns: None, ..row(3, 0) }];
    assert_eq!(closed(&unknown, 1.0), Err(FollowError::NoCompletion { place: 1 }));
}

#[test]
fn dependent_requests_follow_what_their_process_saw() {
    let other = |row: Followed| Followed { pid: Some(2), ..row };
    let trace = [
        row(0, 5 * MS),
        other(row(MS, 4 * MS)),
        row(2 * MS, 9 * MS),
        row(6 * MS, 8 * MS),
        other(row(3_000 * MS, 3_001 * MS)),
    ];
    let dues = dependent(&trace, 1.0);
    assert_eq!((dues[0], dues[1]), (Due::At(0), Due::At(MS)));
    let after =
        |request, of, think_ns, not_before_ns| Due::After { request, of, think_ns, not_before_ns };
    // Nothing was completed yet: after the coming of the one before. Then after a completion.
    assert_eq!(dues[2], after(0, Happened::Came, 2 * MS, 0));
    assert_eq!(dues[3], after(0, Happened::Completed, MS, 0));
    // Nobody thinks for three seconds.
    assert_eq!(dues[4], after(1, Happened::Completed, THINK_MAX_NS, 3_000 * MS));
    let times = IDEAL.run(Replay::new(reads(dues), 8));
    assert_eq!(times[3].due_ns.unwrap() - times[0].completed_ns, MS);
    assert_eq!(times[4].due_ns.unwrap() - times[0].due_ns.unwrap(), 3_000 * MS);
}

#[test]
fn lateness_is_the_targets_where_it_took_none_meanwhile() {
    // A queue of one place, and requests twice as fast as they can be served.
    let trace: Vec<Followed> = (0..50).map(|n| row(n * MS / 2, 0)).collect();
    let slow = Target { service_ns: MS, ..IDEAL };
    let times = slow.run(Replay::new(reads(open(&trace, 1.0)), 1));
    let last = times.last().unwrap();
    assert!(late(last) >= 24 * MS);
    assert!(last.target_ns * 100 >= late(last) * 99, "{last:?}");
    // Handing over takes longer than the time between two.
    let trace: Vec<Followed> = (0..50).map(|n| row(n * 1_000, 0)).collect();
    let busy = Target { submit_ns: 10_000, ..IDEAL };
    let times = busy.run(Replay::new(reads(open(&trace, 1.0)), 64));
    let last = times.last().unwrap();
    assert!(late(last) > 400_000 && last.target_ns * 100 >= late(last) * 95, "{last:?}");
}

proptest! {
    #[test]
    fn every_request_is_made_once_and_never_early(
        gaps in prop::collection::vec((0u64..3 * MS, 0u64..4 * MS, 0u32..3), 1..60),
        depth in 1u32..8,
    ) {
        let mut came_ns = 0;
        let trace: Vec<Followed> = gaps.iter().map(|(gap_ns, took_ns, pid)| {
            came_ns += gap_ns;
            Followed { pid: Some(*pid), ..row(came_ns, came_ns + took_ns) }
        }).collect();
        for dues in [open(&trace, 1.0), closed(&trace, 3.0).unwrap(), dependent(&trace, 0.5)] {
            let target = Target { overslept_ns: 30_000, submit_ns: 500, ..IDEAL };
            let times = target.run(Replay::new(reads(dues), depth));
            for times in &times {
                prop_assert!(times.due_ns.is_some_and(|due_ns| due_ns <= times.submitted_ns));
                prop_assert!(times.completed_ns >= times.submitted_ns + IDEAL.service_ns);
                prop_assert!(times.target_ns <= late(times) && times.error == 0);
            }
        }
    }
}

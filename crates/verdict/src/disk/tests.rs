//! Waits at a device, in virtual time.

use super::*;
use proptest::prelude::*;

#[derive(Default)]
struct Seen {
    waits: Vec<Waited<u32>>,
    busy_ns: i64,
}

impl Watch<u32> for Seen {
    fn busy(&mut self, from_ns: i64, until_ns: i64, _: RoleId) {
        assert!(from_ns <= until_ns);
        self.busy_ns += until_ns - from_ns;
    }
    fn waited(&mut self, wait: &mut Waited<u32>) {
        wait.parts.sort_unstable_by_key(|(number, _)| *number);
        self.waits.push(wait.clone());
    }
}

const OWN: Act = Act { role: RoleId(1), op: Op::Read };
const OTHER: Act = Act { role: RoleId(2), op: Op::Write };

/// The parts of a wait in whole ns.
fn parts(disk: &Disk<u32>, wait: &Waited<u32>) -> Vec<(Part, i64)> {
    let part = |(number, ns): &(PartNumber, f64)| (disk.part(*number), ns.round() as i64);
    wait.parts.iter().map(part).collect()
}

#[test]
fn a_wait_divides_into_its_own_the_others_and_nobodys_time() {
    let (mut disk, mut seen) = (Disk::new(), Seen::default());
    disk.wait((0, 100), 7, None, &mut seen);
    disk.request((10, 30), OWN, 4096, None, &mut seen);
    disk.request((20, 60), OTHER, 4096, None, &mut seen);
    disk.finish(&mut seen);
    let [wait] = seen.waits.as_slice() else { panic!() };
    assert_eq!((wait.class, wait.begin_ns, wait.times), (7, 0, (1, 100)));
    // From 20 to 30 both ask for the same.
    let expected = [(Part::Held, 50), (Part::Act(OWN), 15), (Part::Act(OTHER), 35)];
    assert_eq!(parts(&disk, wait), expected);
    assert_eq!(seen.busy_ns, 20 + 40, "each role by itself");
}

#[test]
fn a_wait_that_begins_later_has_the_parts_of_its_own_time() {
    let (mut disk, mut seen) = (Disk::new(), Seen::default());
    disk.request((0, 40), OTHER, 4096, None, &mut seen);
    disk.request((10, 100), OWN, 4096, None, &mut seen);
    disk.wait_later((40, 100), 7);
    disk.wait_later((100, 100), 8);
    disk.finish(&mut seen);
    let told = |class: u32| {
        let wait = seen.waits.iter().find(|wait| wait.class == class).unwrap();
        (wait.begin_ns, wait.times, parts(&disk, wait))
    };
    assert_eq!(told(7), (40, (1, 60), vec![(Part::Act(OWN), 60)]));
    assert_eq!(told(8), (100, (1, 0), vec![]));
}

/// Two writes that a limit has held back come one after the other for a call, and for another one
/// that begins in between.
#[test]
fn what_a_limit_held_back_is_the_limits_for_those_who_wait_for_it() {
    let (mut disk, mut seen) = (Disk::new(), Seen::default());
    disk.wait((0, 100), 7, None, &mut seen);
    disk.wait((0, 100), 9, None, &mut seen);
    disk.comes_late(30, |class| *class < 9, &mut seen);
    disk.request((30, 40), OTHER, 4096, None, &mut seen);
    disk.wait((50, 90), 8, None, &mut seen);
    for _ in 0..2 {
        disk.comes_late(70, |class| *class < 9, &mut seen);
    }
    disk.request((70, 80), OTHER, 4096, None, &mut seen);
    disk.comes_late(75, |_| panic!("the device is busy"), &mut seen);
    disk.finish(&mut seen);
    let told = |class: u32| {
        let wait = seen.waits.iter().find(|wait| wait.class == class).unwrap();
        parts(&disk, wait)
    };
    let of_device = |ns| (Part::Act(OTHER), ns);
    assert_eq!(told(7), [(Part::Held, 20), (Part::Throttled, 60), of_device(20)]);
    assert_eq!(told(8), [(Part::Held, 10), (Part::Throttled, 20), of_device(10)]);
    assert_eq!(told(9), [(Part::Held, 80), of_device(20)]);
}

/// Quick reads, of which one is in flight for a quarter of the time from 20 to 80 ms.
#[test]
fn where_many_requests_leave_a_device_idle_nobodys_are_in_flight() {
    const MS: i64 = 1_000_000;
    let mean = Mean { act: OWN, in_flight: 0.25, busy: 0.25, length_bytes: 4096 };
    let (mut disk, mut seen) = (Disk::new(), Seen::default());
    disk.many(&[(20 * MS, 80 * MS)], mean);
    disk.wait((0, 100 * MS), 7, None, &mut seen);
    disk.wait((50 * MS, 60 * MS), 8, None, &mut seen);
    disk.finish(&mut seen);
    let [short, long] = seen.waits.as_slice() else { panic!() };
    let in_ms = |wait| -> Vec<(Part, f64)> {
        parts(&disk, wait).into_iter().map(|(part, ns)| (part, ns as f64 / MS as f64)).collect()
    };
    assert_eq!(in_ms(short), [(Part::Held, 7.5), (Part::Act(OWN), 2.5)]);
    assert_eq!(in_ms(long), [(Part::Held, 85.0), (Part::Act(OWN), 15.0)]);
    assert_eq!(seen.busy_ns, 15 * MS);
}

/// Eight of 32 are completed every 200 ms, each after 800 ms; then none for two seconds.
#[test]
fn a_device_that_completes_many_at_once_does_not_stand_still_in_between() {
    const MS: i64 = 1_000_000;
    let (mut disk, mut seen) = (Disk::new(), Seen::default());
    let mut rows = Vec::new();
    for wave in 0..40 {
        for number in 0..8 {
            let begin_ns = wave * 200 * MS + number * MS;
            let late_ns = if wave >= 36 { 2000 * MS } else { 0 };
            rows.push((begin_ns, begin_ns + 800 * MS + late_ns));
        }
    }
    for (begin_ns, end_ns) in rows {
        disk.request((begin_ns, end_ns), OTHER, 1 << 16, Some(3), &mut seen);
    }
    disk.finish(&mut seen);
    // Of the first ones it is not known yet what is usual.
    let waits = seen.waits.iter().filter(|wait| wait.begin_ns >= 1000 * MS);
    let stalled = waits.flat_map(|wait| parts(&disk, wait)).filter(|of| of.0 == Part::Stalled);
    let stalled: Vec<(Part, i64)> = stalled.collect();
    assert_eq!(stalled, vec![(Part::Stalled, 2193 * MS); 4 * 8], "those in flight then");
}

/// Whoever reads on comes to a device that has stood still just before it goes on.
#[test]
fn what_came_as_a_sum_when_a_device_went_on_does_not_hide_that_it_stood_still() {
    let told = |before_ns: i64| {
        let (mut disk, mut seen) = (Disk::new(), Seen::default());
        let again_ns = 60 * BIT_NS;
        disk.completed_within(&[(0, BIT_NS), (again_ns - before_ns, 70 * BIT_NS)]);
        disk.request((BIT_NS / 2, again_ns), OTHER, 4096, Some(3), &mut seen);
        disk.finish(&mut seen);
        parts(&disk, &seen.waits[0]).into_iter().find(|(part, _)| *part == Part::Stalled)
    };
    let stood_still = Some((Part::Stalled, 59 * BIT_NS));
    assert_eq!([told(BIT_NS), told(QUICK_NS)], [stood_still; 2]);
    assert_eq!(told(QUICK_NS + 1), None);
}

#[test]
fn what_no_request_explains_of_a_lock_is_its_holders() {
    const HOLDER: Act = Act { role: RoleId(3), op: Op::Write };
    let holding = |have_waited| Holding { roles: vec![(HOLDER.role, 3.0)], have_waited };
    let lock = |has_waited, act: Act| {
        let (mut disk, mut seen) = (Disk::new(), Seen::default());
        disk.wait((0, 100), 7, Some(holding(has_waited)), &mut seen);
        disk.request((20, 60), act, 4096, None, &mut seen);
        disk.finish(&mut seen);
        parts(&disk, &seen.waits[0])
    };
    let both = [(Part::Act(OTHER), 40), (Part::Act(HOLDER), 60)];
    assert_eq!(lock(true, OTHER), both, "it waited behind the other");
    let alone = [(Part::Act(HOLDER), 100)];
    assert_eq!(lock(false, OTHER), alone, "it did not wait for storage");
    assert_eq!(lock(false, HOLDER), alone);
    assert_eq!(lock(true, Act { role: JOURNAL, op: Op::Write }), alone);
}

#[test]
fn who_is_busy_is_told_of_once_whenever_it_is_asked() {
    let (mut disk, mut seen) = (Disk::new(), Seen::default());
    disk.request((10, 30), OWN, 4096, None, &mut seen);
    disk.request((15, 50), OWN, 4096, None, &mut seen);
    disk.advance(25, &mut seen);
    assert_eq!(seen.busy_ns, 0);
    disk.tell_busy(&mut seen);
    assert_eq!(seen.busy_ns, 15);
    disk.finish(&mut seen);
    assert_eq!(seen.busy_ns, 40);
}

#[test]
fn a_device_that_completes_nothing_for_long_stands_still_unless_it_flushes() {
    let told = |op| {
        let (mut disk, mut seen) = (Disk::new(), Seen::default());
        let other = Act { op, ..OTHER };
        disk.request((0, STALL_NS + 100), other, 4096, None, &mut seen);
        disk.request((40, STALL_NS + 100), OWN, 4096, Some(3), &mut seen);
        disk.finish(&mut seen);
        let wait = seen.waits.remove(0);
        parts(&disk, &wait)
    };
    assert_eq!(told(Op::Write), [(Part::Stalled, STALL_NS + 60)]);
    let flushed = told(Op::Flush);
    assert!(flushed.iter().all(|(part, _)| *part != Part::Stalled), "{flushed:?}");
}

/// A memory card.
#[test]
fn a_device_that_takes_long_as_a_rule_does_not_stand_still() {
    let (mut disk, mut seen) = (Disk::new(), Seen::default());
    for number in 0..20 {
        let begin_ns = number * 2 * STALL_NS;
        disk.request((begin_ns, begin_ns + 2 * STALL_NS), OTHER, 512 << 10, Some(3), &mut seen);
    }
    disk.finish(&mut seen);
    let still = seen.waits.iter().flat_map(|wait| parts(&disk, wait));
    let still = still.filter(|(part, _)| *part == Part::Stalled);
    let still_ns: i64 = still.map(|(_, ns)| ns).sum();
    assert_eq!(still_ns, 2 * STALL_NS, "the first, before it is known how long they take");
}

#[test]
fn only_what_came_since_the_last_completion_is_the_devices() {
    let (mut disk, mut seen) = (Disk::new(), Seen::default());
    disk.request((0, 1000), OTHER, 4096, None, &mut seen);
    disk.request((0, 2000 + STALL_NS), OWN, 4096, Some(3), &mut seen);
    disk.request((1500, 2000 + STALL_NS), OTHER, 4096, Some(4), &mut seen);
    disk.finish(&mut seen);
    let told: Vec<_> = seen.waits.iter().map(|wait| parts(&disk, wait)).collect();
    let own = [(Part::Stalled, STALL_NS + 1000), (Part::Act(OWN), 500), (Part::Act(OTHER), 500)];
    let later = [(Part::Stalled, STALL_NS + 500)];
    let sorted = |mut parts: Vec<(Part, i64)>| {
        parts.sort_unstable();
        parts
    };
    let mut expected = vec![sorted(own.to_vec()), sorted(later.to_vec())];
    let mut told: Vec<_> = told.into_iter().map(sorted).collect();
    told.sort();
    expected.sort();
    assert_eq!(told, expected);
}

proptest! {
    #[test]
    fn parts_sum_to_the_wait(
        requests in prop::collection::vec(
            (0i64..1000, 0i64..300, 0u16..4, 0u32..1 << 20, any::<bool>()),
            0..60,
        ),
        scale in prop::sample::select(vec![1i64, 1_000_000]),
    ) {
        let mut requests = requests;
        requests.sort_unstable();
        let (mut disk, mut seen) = (Disk::new(), Seen::default());
        for (begin, length, role, bytes, waits) in &requests {
            let act = Act { role: RoleId(*role), op: Op::Write };
            let waiter = waits.then_some(1);
            let (begin, length) = (begin * scale, length * scale);
            disk.request((begin, begin + length), act, *bytes, waiter, &mut seen);
        }
        disk.finish(&mut seen);
        prop_assert_eq!(seen.waits.len(), requests.iter().filter(|request| request.4).count());
        for wait in seen.waits {
            let sum: f64 = wait.parts.iter().map(|(_, ns)| ns).sum();
            prop_assert!((sum - wait.times.1 as f64).abs() < 1e-2);
        }
    }
}

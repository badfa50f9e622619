//! What holds for every policy, and the order of each.

use super::*;
use proptest::prelude::*;

fn waiting(number: u64, cylinder: u32, is_write: bool) -> Waiting {
    Waiting { number, block: u64::from(cylinder) * 100, cylinder, is_write, arrived_ns: number }
}

/// The order in which a policy serves requests that are all there, from cylinder 50.
fn order(name: &str, requests: &[(u32, char)]) -> String {
    let mut queue = Policy::named(name).unwrap().queue();
    for (number, (cylinder, letter)) in requests.iter().enumerate() {
        queue.push(waiting(number as u64, *cylinder, letter.is_uppercase()));
    }
    let mut head = Position { cylinder: 50, now_ns: 100 };
    let next = || {
        let next = queue.pop(head)?;
        head.cylinder = next.cylinder;
        Some(requests[next.number as usize].1)
    };
    std::iter::from_fn(next).collect()
}

#[test]
fn each_policy_has_its_order() {
    // Capital letters are writes.
    let requests = [(60, 'A'), (40, 'b'), (90, 'c'), (51, 'D'), (60, 'e'), (10, 'F')];
    for (name, expected) in [
        ("fifo", "AbcDeF"),
        ("disksort", "DAecFb"),
        ("c-scan", "DAecFb"),
        ("reads-first", "ecbDAF"),
        ("sstf", "DAebFc"),
        ("deadline", "DAecFb"),
        ("mq-deadline", "becFDA"),
    ] {
        assert_eq!(order(name, &requests), expected, "{name}");
    }
    assert!(Policy::named("elevator").is_none());
}

#[test]
fn of_one_cylinder_disksort_goes_by_arrival_and_c_scan_by_block() {
    for (name, expected) in [("disksort", [7, 3]), ("c-scan", [3, 7])] {
        let mut queue = Policy::named(name).unwrap().queue();
        for (number, block) in [(0, 7), (1, 3)] {
            queue.push(Waiting { number, block, ..waiting(0, 5, false) });
        }
        let blocks = [0, 1].map(|_| queue.pop(Position::default()).unwrap().block);
        assert_eq!(blocks, expected, "{name}");
    }
}

#[test]
fn what_waited_longer_than_its_limit_goes_before_the_sweep() {
    let mut queue = Deadline::new(Limits { read_ns: 10, write_ns: 100 });
    queue.push(waiting(0, 5, true));
    queue.push(waiting(1, 40, false));
    queue.push(waiting(2, 60, false));
    let mut pop = |now_ns| queue.pop(Position { cylinder: 50, now_ns }).unwrap().number;
    assert_eq!([pop(12), pop(13), pop(13)], [1, 2, 0]);
}

/// Pushes and pops in any mixture; the pops are `None`.
fn steps() -> impl Strategy<Value = Vec<Option<(u32, bool)>>> {
    proptest::collection::vec(proptest::option::weighted(0.6, (0u32..50, any::<bool>())), 0..200)
}

/// Runs the steps, then empties the queue; each request taken with what was waiting then and where
/// the arm was.
fn run(
    name: &str,
    steps: &[Option<(u32, bool)>],
    mut look: impl FnMut(&Waiting, &[Waiting], Position),
) -> usize {
    let mut queue = Policy::named(name).unwrap().queue();
    let (mut there, mut head) = (Vec::new(), Position::default());
    let mut taken = 0;
    let empties = std::iter::repeat_n(&None, steps.len());
    for (number, step) in steps.iter().chain(empties).enumerate() {
        head.now_ns = number as u64;
        match step {
            Some((cylinder, is_write)) => {
                let new = waiting(number as u64, *cylinder, *is_write);
                queue.push(new);
                there.push(new);
            }
            None => {
                let Some(next) = queue.pop(head) else {
                    assert!(there.is_empty(), "{name} holds back");
                    continue;
                };
                look(&next, &there, head);
                there.retain(|waiting| waiting.number != next.number);
                head.cylinder = next.cylinder;
                taken += 1;
            }
        }
        assert_eq!(queue.len(), there.len(), "{name}");
    }
    assert!(queue.is_empty());
    taken
}

proptest! {
    #[test]
    fn nothing_is_lost_or_made_up(steps in steps()) {
        let pushed = steps.iter().flatten().count();
        for (name, _) in POLICIES {
            let taken = run(name, &steps, |next, there, _| assert!(there.contains(next), "{name}"));
            prop_assert_eq!(taken, pushed, "{}", name);
        }
    }

    #[test]
    fn sweeps_go_up_while_anything_is_above(steps in steps()) {
        for name in ["disksort", "c-scan"] {
            run(name, &steps, |next, there, head| {
                let above = there.iter().filter(|w| w.cylinder >= head.cylinder);
                let lowest = there.iter().map(|w| w.cylinder).min();
                let expected = above.map(|w| w.cylinder).min().or(lowest);
                assert_eq!(Some(next.cylinder), expected, "{name}");
            });
        }
    }

    #[test]
    fn no_write_goes_before_a_read(steps in steps()) {
        run("reads-first", &steps, |next, there, _| {
            assert!(!next.is_write || there.iter().all(|w| w.is_write));
        });
    }

    #[test]
    fn no_shorter_seek_is_left(steps in steps()) {
        run("sstf", &steps, |next, there, head| {
            let nearest = there.iter().map(|w| w.cylinder.abs_diff(head.cylinder)).min();
            assert_eq!(Some(next.cylinder.abs_diff(head.cylinder)), nearest);
        });
    }

    #[test]
    fn the_first_that_came_goes_first(steps in steps()) {
        run("fifo", &steps, |next, there, _| assert_eq!(Some(next), there.first()));
    }
}

//! Rows whose figures are known.

use super::compare::{Side, series};
use super::*;
use analyze::compare::{Question, Unit, compare};
use model::comparison::Outcome;
use model::histogram::SparseHistogram;
use model::history::{HOUR_NS, MINUTE_NS};
use model::record::{Rollup, RollupKey};

fn row(counted: Counted, operation: &str, minute: i64) -> Rollup {
    let key = RollupKey { counted, operation: operation.into(), ..RollupKey::default() };
    Rollup::of(key, minute * MINUTE_NS, (minute + 1) * MINUTE_NS)
}

fn watched(minute: i64, s: u64) -> Rollup {
    Rollup { sum_ns: s * 1_000_000_000, ..row(Counted::Watch, operations::WATCHED, minute) }
}

fn disk(operation: &str, minute: i64, (count, bytes, sum_ns): (u64, u64, u64)) -> Rollup {
    let row = row(Counted::Disk, operation, minute);
    Rollup { device: Some("sda".into()), count, bytes, sum_ns, ..row }
}

fn requests(role: &str, minute: i64, times: impl Iterator<Item = u64>) -> Rollup {
    let mut responses = SparseHistogram::default();
    times.for_each(|time| responses.record(time));
    let mut row = row(Counted::Requests, "read", minute);
    row.set_responses(&responses);
    let (device, role) = (Some("sda".into()), Some(role.into()));
    Rollup { device, role, count: responses.count(), bytes: 4096 * responses.count(), ..row }
}

fn lost((victim, cause): (&str, &str), minute: i64, lost_ns: f64) -> Rollup {
    let row = row(Counted::Lost, "fsync", minute);
    let (role, cause) = (Some(victim.into()), Some(cause.into()));
    Rollup { role, cause, device: Some("sda".into()), lost_ns: lost_ns as i64, ..row }
}

fn asked(by: By, step_ns: Option<i64>) -> Asked {
    let until_unix_ns = 2 * HOUR_NS;
    Asked { from_unix_ns: 0, until_unix_ns, step_ns, by, device: None, role: None, hosts: vec![] }
}

fn overview(asked: &Asked, rows: &[Rollup]) -> Overview {
    let mut ledger = Ledger::new(asked);
    rows.iter().for_each(|row| ledger.take(&row.lent()));
    // In any parts it is the same.
    let (mut first, mut second) = (Ledger::new(asked), Ledger::new(asked));
    rows.iter().step_by(2).for_each(|row| first.take(&row.lent()));
    rows.iter().skip(1).step_by(2).for_each(|row| second.take(&row.lent()));
    first.merge(second);
    let whole = ledger.finish();
    assert_eq!(first.finish(), whole);
    whole
}

#[test]
fn the_columns_are_sars_over_the_time_that_was_watched() {
    // A minute of which half was watched.
    let rows = [
        watched(0, 30),
        disk("read", 0, (300, 300 * 8192, 600_000_000)),
        disk("write", 0, (60, 60 * 4096, 300_000_000)),
        disk("discard", 0, (0, 0, 0)),
        disk("flush", 0, (9, 0, 90_000_000)),
        disk(operations::BUSY, 0, (0, 0, 15_000_000_000)),
        disk(operations::QUEUED, 0, (0, 0, 60_000_000_000)),
    ];
    let found = overview(&asked(By::Time, Some(10 * MINUTE_NS)), &rows);
    let [line] = found.lines.as_slice() else { panic!("{:?}", found.lines) };
    assert_eq!(line.tps, Some(12.0));
    assert_eq!(line.read_bytes_per_s, Some(10.0 * 8192.0));
    assert_eq!(line.written_bytes_per_s, Some(2.0 * 4096.0));
    assert_eq!(line.discarded_bytes_per_s, Some(0.0));
    assert_eq!(line.request_bytes, Some((300.0 * 8192.0 + 60.0 * 4096.0) / 360.0));
    assert_eq!(line.await_ns, Some(2_500_000.0));
    assert_eq!(line.queued, Some(2.0));
    assert_eq!(line.util_percent, Some(50.0));
    assert_eq!((line.p50_ns, line.until_unix_ns), (None, 10 * MINUTE_NS));
    let by = overview(&asked(By::Operation, None), &rows);
    let flush = by.lines.iter().find(|line| line.group == "flush").unwrap();
    assert_eq!((flush.tps, flush.await_ns), (Some(0.3), Some(10_000_000.0)));
}

#[test]
fn the_busiest_device_is_the_lines_util_and_the_rest_are_sums() {
    let other = |row: Rollup| Rollup { device: Some("sdb".into()), ..row };
    let rows = [
        watched(0, 60),
        disk("read", 0, (60, 0, 0)),
        disk(operations::BUSY, 0, (0, 0, 6_000_000_000)),
        other(disk("read", 0, (120, 0, 0))),
        other(disk(operations::BUSY, 0, (0, 0, 54_000_000_000))),
    ];
    let found = overview(&asked(By::Time, Some(HOUR_NS)), &rows);
    assert_eq!((found.lines[0].tps, found.lines[0].util_percent), (Some(3.0), Some(90.0)));
    let by = overview(&asked(By::Device, None), &rows);
    let util: Vec<_> =
        by.lines.iter().map(|line| (line.group.as_str(), line.util_percent)).collect();
    assert_eq!(util, [("sda", Some(10.0)), ("sdb", Some(90.0))]);
    let one = Asked { device: Some("sda".into()), ..asked(By::Time, None) };
    assert_eq!(overview(&one, &rows).lines[0].tps, Some(1.0));
}

#[test]
fn roles_have_what_was_traced_of_them() {
    let rows = [
        watched(0, 60),
        requests("a", 0, (1..=100).map(|ms| ms * 1_000_000)),
        requests("b", 0, std::iter::repeat_n(5_000_000, 300)),
        disk("read", 0, (400, 0, 0)),
    ];
    let found = overview(&asked(By::Role, None), &rows);
    let line = |role: &str| found.lines.iter().find(|line| line.group == role).unwrap();
    assert_eq!((line("b").requests, line("b").tps), (300, Some(5.0)));
    let p99 = line("a").p99_ns.unwrap() as f64;
    assert!((p99 / 99e6 - 1.0).abs() < 0.01, "{p99}");
    assert_eq!(line("a").max_ns, Some(100_000_000));
    assert!((line("b").queued.unwrap() - 0.025).abs() < 1e-9);
    let (slowest, middle) = found.slowest.as_ref().unwrap();
    assert_eq!((slowest.group.as_str(), *middle > 90_000_000), ("a", true));
    let one = Asked { role: Some("b".into()), ..asked(By::Time, None) };
    assert_eq!(overview(&one, &rows).lines[0].requests, 300);
}

/// Of a trace that tells when requests arrived alone: no time, and no all-clear.
#[test]
fn requests_without_times_have_no_await_and_are_told() {
    let untimed = Rollup { count: 4, ..requests("a", 0, std::iter::empty()) };
    let found = overview(&asked(By::Time, None), &[watched(0, 60), untimed.clone()]);
    let line = &found.lines[0];
    assert_eq!((line.requests, line.await_ns, line.queued), (4, None, None));
    assert!(found.tells_no_time);
    let timed = requests("b", 0, [5_000_000].into_iter());
    let found = overview(&asked(By::Time, None), &[watched(0, 60), untimed, timed]);
    let line = &found.lines[0];
    assert_eq!((line.requests, line.await_ns), (5, Some(5e6)), "the mean of the known time");
    assert!(!found.tells_no_time);
}

#[test]
fn cgroups_have_what_their_roles_requested_and_lost() {
    let of = |cgroup: &str, row: Rollup| Rollup { cgroup: Some(cgroup.into()), ..row };
    let times = |count| std::iter::repeat_n(5_000_000, count);
    let rows = [
        watched(0, 60),
        of("/a", requests("sh", 0, times(300))),
        of("/b", requests("sh", 0, times(60))),
        of("/b", requests("db", 0, times(60))),
        requests("cron", 0, times(6)),
        of("/b", lost(("sh", "cron"), 0, 2e9)),
        of("/a", lost(("sh", "cron"), 0, 3e9)),
        of("/b", lost(("db", "cron"), 0, 4e9)),
    ];
    let found = overview(&asked(By::Cgroup, None), &rows);
    let lines = found.lines.iter().map(|line| (line.group.as_str(), line.requests, line.lost_ns));
    assert_eq!(lines.collect::<Vec<_>>(), [("/b", 120, 6e9), ("/a", 300, 3e9), ("", 6, 0.0)]);
    let whole = overview(&asked(By::Role, None), &rows);
    assert_eq!(whole.losses.len(), 2, "of all cgroups together");
}

#[test]
fn pods_and_namespaces_have_what_their_containers_requested() {
    let of = |cgroup: &str, row: Rollup| Rollup { cgroup: Some(cgroup.into()), ..row };
    let times = |count| std::iter::repeat_n(5_000_000, count);
    let rows = [
        watched(0, 60),
        of("shop/db-0/postgres", requests("postgres", 0, times(300))),
        of("shop/db-0/exporter", requests("exporter", 0, times(20))),
        of("shop/web-0/nginx", requests("nginx", 0, times(7))),
        of("/kubepods/pod0f5e9bcf-4a5b/x", requests("sh", 0, times(5))),
        of("/system.slice/cron.service", requests("cron", 0, times(3))),
        of("shop/db-0/exporter", lost(("exporter", "postgres"), 0, 3e9)),
        of("shop/web-0/nginx", lost(("nginx", "postgres"), 0, 2e9)),
    ];
    let lines = |by| {
        let lines = overview(&asked(by, None), &rows).lines.into_iter();
        lines.map(|line| (line.group, line.requests, line.lost_ns)).collect::<Vec<_>>()
    };
    let path = || "/kubepods/pod0f5e9bcf-4a5b/x".to_owned();
    let expected = [
        ("shop/db-0".to_owned(), 320, 3e9),
        ("shop/web-0".to_owned(), 7, 2e9),
        (path(), 5, 0.0),
        (String::new(), 3, 0.0),
    ];
    assert_eq!(lines(By::Pod), expected);
    let expected = [("shop".to_owned(), 327, 5e9), (path(), 5, 0.0), (String::new(), 3, 0.0)];
    assert_eq!(lines(By::Namespace), expected);
}

#[test]
fn a_loss_is_told_with_the_time_in_which_most_of_it_was() {
    let mut rows = vec![];
    for minute in 0..120 {
        rows.push(watched(minute, 60));
        let waits = row(Counted::Waits, "fsync", minute);
        let (role, device) = (Some("db".into()), Some("sda".into()));
        rows.push(Rollup { role, device, sum_ns: 10_000_000_000, ..waits });
        let of_minute = if (70..75).contains(&minute) { 2e9 } else { 1e6 };
        rows.push(lost(("db", "backup"), minute, of_minute));
        rows.push(lost(("db", "chance"), minute, if minute % 2 == 0 { 5e7 } else { -5e7 }));
    }
    let found = overview(&asked(By::Time, Some(HOUR_NS)), &rows);
    let (first, second) = (&found.losses[0], &found.losses[1]);
    assert_eq!((first.pair.cause.as_str(), first.matters, second.matters), ("backup", true, false));
    assert_eq!(first.worst_unix_ns, (70 * MINUTE_NS, 75 * MINUTE_NS));
    assert!((first.lost_ns - 10.115e9).abs() < 1e6 && first.worst_lost_ns == 10e9);
    let who: Vec<_> = found.lines.iter().map(|line| line.who.clone().unwrap().0.cause).collect();
    assert_eq!(who, ["backup", "backup"]);
    assert!((found.lines[1].lost_ns - 10.055e9).abs() < 1e6);
    let by = overview(&asked(By::Cause, None), &rows);
    let groups: Vec<_> = by.lines.iter().map(|line| line.group.as_str()).collect();
    assert_eq!(groups, ["backup", "chance"]);
}

#[test]
fn gaps_and_jumps_are_told_and_a_time_that_was_watched_twice_is_none() {
    let minutes = [0, 1, 2, 10, 11, 5, 6, 30];
    let mut rows: Vec<Rollup> = minutes.iter().map(|minute| watched(*minute, 60)).collect();
    rows.push(watched(11, 60));
    let back = row(Counted::Watch, operations::CLOCK_BACK, 5);
    rows.push(Rollup { count: 1, sum_ns: 420, ..back });
    rows.push(Rollup { count: 7, ..row(Counted::Watch, operations::EVENTS_LOST, 5) });
    let found = overview(&asked(By::Time, Some(10 * MINUTE_NS)), &rows);
    let gaps = [(3, 5), (7, 10), (12, 30)].map(|(a, b)| (a * MINUTE_NS, b * MINUTE_NS));
    assert_eq!(found.gaps.iter().map(|gap| gap.span_unix_ns).collect::<Vec<_>>(), gaps);
    assert_eq!((found.back, found.forward, found.events_lost), ((1, 420), (0, 0), 7));
    assert_eq!(found.watched_unix_ns, Some((0, 31 * MINUTE_NS)));
    // Lines of times that were watched, without a request.
    let begins: Vec<_> = found.lines.iter().map(|l| l.from_unix_ns / MINUTE_NS).collect();
    assert_eq!(begins, [0, 10, 30]);
    assert_eq!(found.lines[1].watched_ns, 180_000_000_000);
}

/// A day by its hours, twice as busy and slow at noon, with so much more on top.
fn day(first_minute: i64, factor: f64) -> Side {
    let mut side = Side::new(first_minute * MINUTE_NS, HOUR_NS);
    for hour in 0..24 {
        let minute = first_minute + hour * 60;
        side.take(&watched(minute, 3_600).lent());
        let wave = 1.0 + ((hour - 12).abs() as f64 / 12.0);
        let times = (0..200).map(|place| ((1e6 + 1e4 * f64::from(place)) * wave * factor) as u64);
        side.take(&requests("a", minute, times).lent());
    }
    side
}

#[test]
fn like_hours_are_compared_and_the_rhythm_of_a_day_is_no_difference() {
    let outcome = |factor: f64, quantity: &str| {
        let (a, b, slots) = series(&day(0, 1.0), &day(1_440, factor));
        assert_eq!(slots, 24);
        let question = Question {
            unit: Unit::Hour,
            effect_percent: 10.0,
            machine_percent: 0.0,
            across: vec![],
            refusal: None,
        };
        let rows = compare(&[a], &[b], &question).rows;
        rows.into_iter().find(|row| row.quantity == quantity).unwrap().outcome
    };
    assert_eq!(outcome(1.0, "response_p99_ns"), Outcome::NoDifference);
    assert_eq!(outcome(1.3, "response_p99_ns"), Outcome::Worse);
    assert_eq!(outcome(0.7, "response_p50_ns"), Outcome::Better);
    assert_eq!(outcome(1.3, "requested_per_s"), Outcome::NoDifference);
}

/// As `history` has it, and no more: a minute of which 45 s were watched lost what was seen.
#[test]
fn what_was_lost_is_compared_as_it_was_watched_and_first() {
    let side = |watched_s: u64, lost_ns: f64| {
        let mut side = Side::new(0, MINUTE_NS);
        side.take(&watched(0, watched_s).lent());
        side.take(&lost(("db", "backup"), 0, lost_ns).lent());
        side
    };
    let of = |a: Side, b: Side| {
        let (of_a, of_b, _) = series(&a, &b);
        assert_eq!(of_a[0].quantity, "lost_ns");
        (of_a[0].values[0], of_b[0].values[0])
    };
    assert_eq!(of(side(45, 9e9), side(45, 6e9)), (9e9, 6e9));
    assert_eq!(of(side(30, 9e9), side(60, 6e9)), (9e9, 3e9));
}

#[test]
fn times_in_which_much_was_lost_at_once_are_counted_and_so_is_how_sure_a_loss_is() {
    const S: i64 = 1_000_000_000;
    let storm = |from_s: i64, until_s: i64, lost_ns| Rollup {
        counted: Counted::Storm,
        count: 1,
        sum_ns: ((until_s - from_s) * S) as u64,
        from_unix_ns: from_s * S,
        until_unix_ns: until_s * S,
        ..lost(("db", "backup"), 0, lost_ns)
    };
    let sure = |minute| Rollup { lost_us2: 1_000_000, ..lost(("db", "backup"), minute, 9e9) };
    let mut rows = vec![watched(0, 3600), sure(0), sure(1), sure(2), sure(3)];
    // Every half minute; one is in two rows, one turned out to be chance.
    rows.extend((0..40).map(|n| storm(n * 30 + 2, n * 30 + 4, 1e9)));
    rows.extend([storm(48, 50, 1e9), storm(50, 51, 1e9), storm(75, 80, -5.0)]);
    let found = overview(&asked(By::Time, None), &rows);
    let [loss] = found.losses.as_slice() else { panic!("{:?}", found.losses) };
    assert_eq!((loss.lost_ns, loss.storms.0), (36e9, 41));
    // Four minutes of 1 ms each: twice as much together.
    assert_eq!(loss.half_ns, Some(1.96 * 2e6));
    assert!(loss.matters);
    // 2.2 s each, together 4.3 s: no more than what was lost at most.
    let unsure = |minute| Rollup { lost_us2: 4_840_000_000_000, ..lost(("db", "dd"), minute, 1e9) };
    let unsure = overview(&asked(By::Time, None), &[watched(0, 3600), unsure(0), unsure(1)]);
    assert!(!unsure.losses[0].matters, "{:?}", unsure.losses[0]);
    let hour = Rollup { until_unix_ns: 10_800 * S, count: 7, ..storm(7200, 7214, 1e9) };
    let rest =
        [watched(0, 3600), sure(0), hour, Rollup { estimated_ns: 20_000_000_000, ..sure(1) }];
    let coarse = overview(&asked(By::Time, None), &rest);
    assert_eq!((coarse.losses[0].storms, coarse.losses[0].half_ns), ((7, 14_000_000_000), None));
    let regular: Vec<Rollup> =
        rows.iter().filter(|row| row.from_unix_ns % (30 * S) == 2 * S).cloned().collect();
    let regular = overview(&asked(By::Time, None), &regular);
    assert_eq!(
        (regular.losses[0].storms, regular.losses[0].period_ns),
        ((40, 80_000_000_000), Some(30e9))
    );
}

#[test]
fn lines_of_sizes_and_origins_are_of_the_rows_of_classes_alone() {
    let of = |class: &str, count| {
        let times = std::iter::repeat_n(5_000_000, count);
        Rollup {
            counted: Counted::Class,
            class: Some(class.into()),
            role: None,
            ..requests("", 0, times)
        }
    };
    let rows = [
        watched(0, 60),
        of("size to 4k", 60),
        of("size to 8k", 120),
        of("origin direct", 180),
        requests("a", 0, std::iter::repeat_n(5_000_000, 180)),
    ];
    let lines = |by| {
        let found = overview(&asked(by, None), &rows);
        found.lines.iter().map(|line| (line.group.clone(), line.tps.unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(lines(By::Size), [("to 8k".to_owned(), 2.0), ("to 4k".to_owned(), 1.0)]);
    assert_eq!(lines(By::Origin), [("direct".to_owned(), 3.0)]);
    assert_eq!(lines(By::Operation), [("read".to_owned(), 3.0)]);
}

#[test]
fn lines_of_models_have_what_was_lost_on_their_devices_and_the_busiest_ones_util() {
    let on = |device: &str, model: &str, row: Rollup| Rollup {
        device: Some(device.into()),
        model: Some(model.into()),
        ..row
    };
    let rows = [
        watched(0, 60),
        on("sda", "A1", disk("read", 0, (60, 0, 0))),
        on("sda", "A1", disk(operations::BUSY, 0, (0, 0, 6_000_000_000))),
        on("sdb", "A1", disk(operations::BUSY, 0, (0, 0, 9_000_000_000))),
        on("sdc", "B2", disk("read", 0, (120, 0, 0))),
        on("sda", "A1", lost(("db", "backup"), 0, 3e9)),
        on("sdb", "A1", lost(("db", "backup"), 0, 4e9)),
        // Of an earlier version, or of a device that names none.
        disk("read", 0, (30, 0, 0)),
    ];
    let found = overview(&asked(By::Model, None), &rows);
    let lines =
        found.lines.iter().map(|of| (of.group.as_str(), of.tps, of.util_percent, of.lost_ns));
    let expected = [
        ("A1", Some(1.0), Some(15.0), 7e9),
        ("B2", Some(2.0), None, 0.0),
        ("sda", Some(0.5), None, 0.0),
    ];
    assert_eq!(lines.collect::<Vec<_>>(), expected);
    assert_eq!((found.losses[0].pair.device.as_str(), found.losses[0].lost_ns), ("A1", 7e9));
}

#[test]
fn a_refusal_tells_which_bound_it_was() {
    let refused = |asked: &Asked, rows: &mut dyn Iterator<Item = Rollup>| {
        let mut ledger = Ledger::new(asked);
        rows.for_each(|row| ledger.take(&row.lent()));
        ledger.full().map(|bound| format!("{} {}", bound.most, bound.of))
    };
    let of_time = asked(By::Time, None);
    let roles = |count: usize| (0..count).map(|n| lost((&format!("role{n}"), "backup"), 0, 1e9));
    let most = 2 * NAMES_MOST;
    assert_eq!(refused(&of_time, &mut roles(most)), None);
    // The same ones again are no more.
    assert_eq!(refused(&of_time, &mut roles(most).chain(roles(2))), None);
    let pairs = "131072 pairs of a role and a cause on a device";
    assert_eq!(refused(&of_time, &mut roles(most + 2)).unwrap(), pairs);
    let hosts = Asked { hosts: vec!["a".into(), "b".into()], ..asked(By::Host, None) };
    let mut watched = (0..NAMES_MOST + 2).map(|n| {
        let host = Some(format!("host{n}"));
        Rollup { host, ..watched(0, 60) }
    });
    assert_eq!(refused(&hosts, &mut watched).unwrap(), "65536 hosts");
    let mut side = Side::new(0, HOUR_NS);
    for n in 0..NAMES_MOST + 2 {
        let device = Some(format!("sd{n}"));
        side.take(&Rollup { device, ..row(Counted::Requests, "read", 0) }.lent());
    }
    let bound = side.full().unwrap();
    assert_eq!((bound.most, bound.of), (NAMES_MOST, "operations of devices"));
}

#[test]
fn a_name_behind_those_that_are_kept_is_there_all_the_same() {
    let wanted = "zoo".to_owned();
    let of = |names: &mut dyn Iterator<Item = String>| {
        let mut of = Names::new(Some(&wanted));
        names.for_each(|name| of.take(Some(&name)));
        of
    };
    let many = || (0..4 * NAMES_COUNTED).map(|n| format!("role{n:05}"));
    let mut without = of(&mut many());
    let (name, known) = without.absent().unwrap();
    assert_eq!((name, known.len()), ("zoo", NAMES_COUNTED));
    assert!(known.iter().eq(many().take(NAMES_COUNTED).collect::<Vec<_>>().iter()));
    // In whichever order they come.
    assert_eq!(of(&mut many().rev()).absent(), without.absent());
    let with = of(&mut many().chain(["the zoo".to_owned()]));
    assert_eq!(with.absent(), None);
    without.merge(with);
    assert_eq!(without.absent(), None);
}

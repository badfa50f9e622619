//! Planted truth: requests of a device whose times are known.

use super::*;

/// Each takes as many times `fixed_ns` and its bytes, ns, as are outstanding when it comes.
fn rows(count: u64, fixed_ns: i64, sizes: &[u32]) -> Vec<Request> {
    let mut follower = Follower::default();
    let mut came_ns = 0;
    let rows = (0..count).map(|number| {
        // Bursts of three, now and then.
        came_ns += if number % 3 == 0 { 100_000_000 } else { 1000 };
        let length_bytes = sizes[(number / 3) as usize % sizes.len()];
        let offset_bytes = Some((number * 7919 % 5003) << 20);
        let queued_ns = Some(came_ns);
        let op = if number / 6 % 2 == 0 { Op::Read } else { Op::Write };
        let row = Request { op, offset_bytes, length_bytes, queued_ns, ..Request::default() };
        let outstanding = follower.clone().see(&row).unwrap().outstanding;
        let took_ns = (fixed_ns + i64::from(length_bytes)) * i64::from(outstanding);
        let row = Request { completed_ns: Some(came_ns + took_ns), ..row };
        follower.see(&row);
        row
    });
    rows.collect()
}

fn fitted(rows: &[Request]) -> Option<TraceFit> {
    let mut means = Means::new(Stretches { requests: rows.len() as u64 });
    let mut follower = Follower::default();
    rows.iter().for_each(|row| means.add(row, follower.see(row).as_ref()));
    let (mut lines, mut follower) = (means.lines(), Follower::default());
    rows.iter().for_each(|row| lines.add(follower.see(row).as_ref()));
    lines.fit()
}

#[test]
fn what_was_planted_is_found() {
    let found = fitted(&rows(6000, 100_000, &[4096, 65_536])).unwrap();
    assert!(found.taken.iter().all(|taken| taken.contains("sequential")), "{:?}", found.taken);
    for direction in [&found.fit.read, found.fit.write.as_ref().unwrap()] {
        let path = &direction.random;
        assert!((path.fixed_ns.value / 1e5 - 1.0).abs() < 0.01, "{path:?}");
        assert!((path.bytes_per_s.value / 1e9 - 1.0).abs() < 0.01, "{path:?}");
        let loads: Vec<(u32, f64)> =
            path.loads.iter().map(|load| (load.outstanding, load.fixed_factor)).collect();
        assert_eq!(loads.iter().map(|load| load.0).collect::<Vec<_>>(), [1, 2, 3]);
        for (outstanding, factor) in loads {
            assert!((factor / f64::from(outstanding) - 1.0).abs() < 0.01, "{path:?}");
        }
        let mut spreads = path.loads.iter().flat_map(|load| &load.spread);
        assert!(spreads.all(|times| (times - 1.0).abs() < 0.02), "{path:?}");
    }
}

#[test]
fn one_size_makes_no_line_and_says_so() {
    let found = fitted(&rows(6000, 100_000, &[4096])).unwrap();
    let time_ns = found.fit.read.random.fixed_ns.value;
    assert!((time_ns / 104_096.0 - 1.0).abs() < 0.01, "{time_ns}");
    assert!(found.taken.iter().any(|taken| taken.contains("all sizes")), "{:?}", found.taken);
}

#[test]
fn nothing_is_made_of_too_few_or_of_no_times() {
    assert_eq!(fitted(&rows(20, 1000, &[4096])), None);
    let without: Vec<Request> = rows(6000, 1000, &[4096])
        .into_iter()
        .map(|row| Request { completed_ns: None, ..row })
        .collect();
    assert_eq!(fitted(&without), None);
    let reads: Vec<Request> =
        rows(6000, 1000, &[4096]).into_iter().filter(|row| row.op == Op::Read).collect();
    let found = fitted(&reads).unwrap();
    assert_eq!(found.fit.write, None);
    assert!(found.taken.iter().any(|taken| taken.starts_with("writes are taken")));
}

#[test]
fn a_tenth_is_held_out_in_stretches() {
    let stretches = Stretches { requests: 12_345 };
    let of = |number| Stretches::is_held_out(stretches.of(number));
    let held = (0..12_345).filter(|number| of(*number)).count();
    assert!((1230..1240).contains(&held), "{held}");
    let begins = (1..12_345).filter(|number| of(*number) && !of(number - 1)).count();
    assert_eq!(begins, 10);
}

/// The fit is the same whatever the held-out requests took.
#[test]
fn no_fit_sees_what_is_held_out() {
    let rows = rows(6000, 100_000, &[4096, 65_536]);
    let stretches = Stretches { requests: 6000 };
    let changed: Vec<Request> = (0..)
        .zip(&rows)
        .map(|(number, row)| {
            let longer_ns = if Stretches::is_held_out(stretches.of(number)) { 1000 } else { 0 };
            Request { completed_ns: row.completed_ns.map(|ns| ns + longer_ns), ..*row }
        })
        .collect();
    assert_ne!(rows, changed);
    assert_eq!(fitted(&rows), fitted(&changed));
}

#[test]
fn classes_are_judged_where_there_are_enough() {
    let mut follower = Follower::default();
    let rows = rows(3000, 100_000, &[4096]);
    let mut judge = Judge::default();
    for row in &rows {
        let class = TraceClass::of(&follower.see(row).unwrap()).unwrap();
        let (came_ns, completed_ns) = (row.queued_ns.unwrap(), row.completed_ns.unwrap());
        let later_ns = completed_ns + (completed_ns - came_ns) / 5;
        judge.add(&[(class, [(came_ns, completed_ns), (came_ns, later_ns)])]);
    }
    let few = TraceClass { way: (true, Pattern::Sequential), size: 16, level: 4 };
    judge.add(&[(few, [(0, 5), (0, 5)])]);
    let (judged, unknown) = judge.judged();
    assert_eq!(unknown, ["sequential writes up to 64k, 65 or more outstanding"]);
    assert!(judged.iter().any(|of| of.name == "random reads up to 4k, 2 to 4 outstanding"));
    for of in judged {
        assert!((of.off_percent()[0].unwrap() - 20.0).abs() < 1.0 && !of.holds(), "{of:?}");
    }
}

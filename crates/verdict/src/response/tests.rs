//! The analysis of rows made by hand, and of the paper's conclusion in small.

use super::*;
use model::record::{CommandId, Commands, Finding, Subject, quantity};
use proptest::prelude::*;
use std::collections::HashMap;

const MS: i64 = 1_000_000;

fn row(op: Op, arrival_ms: i64, response_ms: i64) -> Request {
    Request {
        op,
        offset_bytes: Some(0),
        length_bytes: 4096,
        queued_ns: Some(arrival_ms * MS),
        issued_ns: Some(arrival_ms * MS + MS / 2),
        completed_ns: Some((arrival_ms + response_ms) * MS),
        ..Request::default()
    }
}

fn analysed(rows: &[Request]) -> Vec<Finding> {
    let mut response = Response::default();
    rows.iter().for_each(|row| response.add(row));
    told(&mut response)
}

fn told(response: &mut Response) -> Vec<Finding> {
    let mut commands = Commands::default();
    for name in ["dd", "sync", "postgres"] {
        commands.number(name.as_bytes());
    }
    response.findings(&Names {
        device: &|device| format!("disk{device}"),
        cgroup: &|cgroup| format!("cgroup {cgroup}"),
        commands: &commands,
    })
}

fn value(findings: &[Finding], by: &str, class: &str, quantity: &str) -> Option<f64> {
    let is_it = |f: &&Finding| {
        f.quantity == quantity
            && f.subject.get("by").as_deref() == Some(by)
            && f.subject.get("class").as_deref() == Some(class)
    };
    findings.iter().find(is_it).and_then(|f| f.value)
}

fn of_run(findings: &[Finding], quantity: &str) -> Option<f64> {
    let is_it = |f: &&Finding| f.quantity == quantity && f.subject.get("run").is_some();
    findings.iter().find(is_it).and_then(|f| f.value)
}

/// Six writes at once, then reads of which each finds one less.
#[test]
fn reads_are_classed_by_the_writes_that_they_find() {
    let mut rows: Vec<Request> = (1..=6).map(|n| row(Op::Write, 0, 10 * n)).collect();
    rows[5].flags = Flags::BACKGROUND;
    rows.extend((0..7).map(|n| row(Op::Read, 5 + 10 * n, 1 + n)));
    let found = analysed(&rows);
    let reads = |by: &str, class| value(&found, by, class, "requested_count");
    // The first two find six and five, the next four so many less, the last none.
    assert_eq!(reads("writes outstanding", "20 and more"), Some(0.0));
    assert_eq!(reads("writes outstanding", "5 to 19"), Some(2.0));
    assert_eq!(reads("writes outstanding", "1 to 4"), Some(4.0));
    assert_eq!(reads("writes outstanding", "0"), Some(1.0));
    assert_eq!(reads("background writes outstanding", "1 to 4"), Some(6.0));
    assert_eq!(value(&found, "writes outstanding", "0", "response_mean_ns"), Some(7.0 * MS as f64));
    assert_eq!(value(&found, "writes outstanding", "0", "wait_mean_ns"), Some(0.5 * MS as f64));
    assert_eq!(of_run(&found, "depth_max"), Some(7.0));
}

#[test]
fn who_asks_and_is_not_answered_is_told_with_since_when() {
    let open = |op, arrival_ms| Request { completed_ns: None, ..row(op, arrival_ms, 0) };
    let beneath = Request { above_id: Some(1), ..open(Op::Read, 10) };
    let hang = [open(Op::Other, 5), beneath, open(Op::Read, 20), open(Op::Write, 40)];
    let found = analysed(&[vec![row(Op::Read, 0, 1)], hang.to_vec()].concat());
    let longest = |found: &[Finding]| of_run(found, "unanswered_longest_ns");
    assert_eq!(longest(&found), Some(20.0 * MS as f64));
    let counted = found.iter().find(|f| f.quantity == "unanswered_longest_ns");
    assert_eq!(counted.map(|f| f.count), Some(2));
    // Where none is answered, the trace does not tell answers.
    assert_eq!(longest(&analysed(&hang)), None);
    // Of two traces, each of which has an end of its own.
    let of = |rows: &[Request]| {
        let mut response = Response::default();
        rows.iter().for_each(|row| response.add(row));
        response
    };
    let mut both = Response::default();
    both.beside(of(&hang), &|command| command, &|device| device);
    both.beside(of(&[row(Op::Read, 0, 500)]), &|command| command, &|_| 1);
    assert_eq!(longest(&told(&mut both)), Some(20.0 * MS as f64));
}

#[test]
fn the_depth_is_that_of_a_clock_that_looks_every_millisecond() {
    let rows: Vec<Request> = (0..50).map(|n| row(Op::Read, 3 * n, 1 + n * 7 % 11)).collect();
    let found = analysed(&rows);
    let end = rows.iter().filter_map(|r| r.completed_ns).max().unwrap() / MS;
    let outstanding = |ms: i64| {
        let at =
            |r: &&Request| (r.queued_ns.unwrap()..r.completed_ns.unwrap()).contains(&(ms * MS));
        rows.iter().filter(at).count()
    };
    let looked: Vec<usize> = (0..end).map(outstanding).collect();
    let depth = looked.iter().sum::<usize>() as f64 / end as f64;
    assert!((of_run(&found, "depth_mean").unwrap() - depth).abs() < 1e-9);
    let busy = looked.iter().filter(|depth| **depth > 0).count() as f64 / end as f64 * 100.0;
    assert!((value(&found, "device", "disk0", "busy_percent").unwrap() - busy).abs() < 1e-9);
    assert!((50.0..99.5).contains(&busy), "{busy}");
    // The clock's depth is what the response times sum up to: Little's law of the two.
    let ratio = of_run(&found, "little_ratio").unwrap();
    assert!((ratio - 1.0).abs() < 1e-12, "{ratio}");
}

#[test]
fn slices_widen_until_all_fits_and_lose_nothing() {
    let rows: Vec<Request> = (0..1000u64)
        .map(|n| Request { offset_bytes: Some((n * n) << 16), ..row(Op::Read, n as i64, 1) })
        .collect();
    let found = analysed(&rows);
    for by in ["region", "start"] {
        let of = |f: &&Finding| f.subject.get("by").as_deref() == Some(by);
        let counts: Vec<f64> = found
            .iter()
            .filter(of)
            .filter(|f| f.quantity == "requested_count")
            .filter_map(|f| f.value)
            .collect();
        assert!((16..=32).contains(&counts.len()), "{by}: {counts:?}");
        assert_eq!(counts.iter().sum::<f64>(), 1000.0, "{by}");
    }
    // 1000 rows, one a millisecond: slices of 31.25 ms.
    let first = classes::time_label(&(0..31_250_000));
    assert_eq!(value(&found, "start", &first, "requested_count"), Some(32.0));
}

#[test]
fn what_is_lbolts_own_or_never_completed_changes_no_times() {
    let own = Request { flags: Flags::OWN, ..row(Op::Write, 0, 900) };
    let lost = Request { completed_ns: None, ..row(Op::Write, 1, 0) };
    let found = analysed(&[own, lost, row(Op::Read, 5, 3)]);
    assert_eq!(value(&found, "whole", "all", "requested_count"), Some(2.0));
    assert_eq!(value(&found, "whole", "all", "completed_count"), Some(1.0));
    assert_eq!(value(&found, "whole", "all", "response_max_ns"), Some(3.0 * MS as f64));
    assert_eq!(of_run(&found, "depth_max"), Some(1.0));
}

#[test]
fn without_rows_or_completions_nothing_is_measured() {
    for rows in [vec![], vec![Request { completed_ns: None, ..row(Op::Read, 0, 0) }]] {
        let found = analysed(&rows);
        for quantity in ["response_p50_ns", "response_whisker_high_ns", "wait_mean_ns"] {
            assert_eq!(value(&found, "whole", "all", quantity), None, "{quantity}");
        }
    }
}

#[test]
fn every_finding_is_in_the_models_table() {
    for finding in analysed(&[row(Op::Write, 0, 10), row(Op::Read, 1, 1)]) {
        let known = quantity(&finding.quantity).unwrap_or_else(|| panic!("{}", finding.quantity));
        assert_eq!(known.unit, finding.unit, "{}", finding.quantity);
        let has = |keys: &&&[&str]| keys.iter().all(|key| finding.subject.get(key).is_some());
        assert!(known.subjects.iter().any(|keys| has(&keys)), "{finding:?}");
    }
}

/// Rows of everything that the analysis tells apart, in order of arrival: some are flush sequences,
/// whose parts follow.
fn rows() -> impl Strategy<Value = Vec<Request>> {
    let row = (0i64..40, 0usize..4, 0u32..3, 0u64..5000, 0i64..400, any::<(bool, bool, u8)>());
    prop::collection::vec(row, 0..120).prop_map(|rows| {
        let mut arrival_ns = 0;
        let mut made = Vec::new();
        for (number, (gap, op, device, place, long, (known, completed, who))) in (0..).zip(rows) {
            arrival_ns += gap * MS / 4;
            let flags = if known { Flags::BACKGROUND } else { Flags::DIRECT };
            let row = Request {
                request_id: number * 4,
                device,
                op: Op::ALL[op],
                flags: flags.with(Flags::FUA, place % 5 == 0),
                offset_bytes: (op < 2).then_some(place << 12),
                length_bytes: 512 << (place % 7),
                // Here and there a step is not known, or told to be before the one that it follows.
                queued_ns: (place % 11 > 0).then_some(arrival_ns),
                started_ns: (who % 8 > 0).then_some(arrival_ns + i64::from(who % 7) * MS / 8 - 1),
                issued_ns: known.then_some(arrival_ns + MS / 3 * i64::from(who % 5)),
                completed_ns: (completed || place % 3 > 0).then_some(arrival_ns + long * MS / 9),
                pid: Some(u32::from(who % 3)),
                command: Some(CommandId(u32::from(who % 3))),
                parent_id: (place % 17 == 0).then_some(1),
                ..Request::default()
            };
            made.push(row);
            made.extend((1..=u64::from(who % 4)).map(|part| part_of(&row, part, place)));
        }
        made.retain(|row: &Request| row.arrival_ns().is_some());
        made.sort_by_key(|row| row.arrival_ns());
        made
    })
}

/// A part of a request: after the one before it mostly, sometimes beside it, or beyond the
/// request's end.
fn part_of(row: &Request, part: u64, place: u64) -> Request {
    let from_ns = row.arrival_ns().unwrap_or(0) + (part * (place % 97)) as i64 * MS / 31;
    Request {
        request_id: row.request_id + part,
        parent_id: Some(row.request_id),
        op: if part == 2 { row.op } else { Op::Flush },
        flags: Flags::default(),
        offset_bytes: None,
        queued_ns: None,
        started_ns: None,
        issued_ns: Some(from_ns),
        completed_ns: (!place.is_multiple_of(19))
            .then_some(from_ns + (place % 101) as i64 * MS / 37),
        ..*row
    }
}

/// Of every class whose responses are all known: the mean response is the sum of the means of its
/// parts and of the rest, none of which is below 0. How many classes told it, and how many of these
/// a rest.
fn assert_means_add_up(findings: &[Finding]) -> Result<(usize, usize), TestCaseError> {
    let mut classes: HashMap<&Subject, HashMap<&str, f64>> = HashMap::new();
    for finding in findings {
        let class = classes.entry(&finding.subject).or_default();
        class.extend(finding.value.map(|value| (finding.quantity.as_str(), value)));
    }
    let (mut told, mut with_rest) = (0, 0);
    for (class, values) in &classes {
        let of = |quantity: &str| values.get(quantity).copied();
        let Some((response, rest)) = of("response_mean_ns").zip(of("rest_mean_ns")) else {
            continue;
        };
        if of("completed_count") > of("response_known_count") {
            continue;
        }
        let (admission, scheduler) = (of("admission_mean_ns"), of("scheduler_mean_ns"));
        let queue = match admission.is_some() || scheduler.is_some() {
            true => admission.unwrap_or(0.0) + scheduler.unwrap_or(0.0),
            false => of("wait_mean_ns").unwrap_or(0.0),
        };
        let device = of("device_mean_ns").unwrap_or(0.0);
        let sum = queue + device + rest;
        prop_assert!((sum - response).abs() <= 1e-9 * response, "{class:?}: {sum} of {response}");
        let least = [queue, device, rest].into_iter().fold(0.0, f64::min);
        prop_assert!(least >= -1e-9 * response, "{class:?}: {values:?}");
        told += 1;
        with_rest += usize::from(rest > 1e-9 * response);
    }
    Ok((told, with_rest))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn of_every_class_the_means_add_up(rows in rows()) {
        assert_means_add_up(&analysed(&rows))?;
        let mut summary = crate::requests::TraceSummary::default();
        rows.iter().for_each(|row| summary.add(row));
        let provenance = model::record::requests::Provenance::default();
        assert_means_add_up(&summary.findings(&provenance, |device| device.to_string()))?;
    }

    /// However a trace is cut, and whether or not what is outstanding lasts over several parts.
    #[test]
    fn parts_that_follow_each_other_are_the_whole(
        rows in rows(),
        cuts in prop::collection::vec(0usize..120, 0..4),
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(rows.len())).collect();
        cuts.extend([0, rows.len()]);
        cuts.sort_unstable();
        let mut whole = Response::default();
        rows.iter().for_each(|row| whole.add(row));
        let mut joined = Response::default();
        for cut in cuts.windows(2).filter(|cut| cut[0] < cut[1]) {
            let mut in_flight = InFlight::new(rows[cut[0]].arrival_ns().unwrap());
            rows[..cut[0]].iter().for_each(|row| in_flight.add(row));
            let mut part = Response::default().after(&in_flight);
            rows[cut[0]..cut[1]].iter().for_each(|row| part.add(row));
            joined.follow(part, &|command| command);
        }
        prop_assert_eq!(told(&mut joined), told(&mut whole));
        prop_assert_eq!(joined.ticks(), whole.ticks());
        let grids = |response: &Response| {
            response.devices.sorted().iter().map(|d| format!("{:?}", d.grids)).collect::<Vec<_>>()
        };
        prop_assert_eq!(grids(&joined), grids(&whole));
    }
}

/// jbd2's commit block: 2.13 ms, of which the device has 990 µs in each of its two flushes.
#[test]
fn a_flush_sequence_is_the_sum_of_its_parts_in_every_table() {
    let us = |ns: i64| Some(ns * 1000);
    let commit = Request {
        request_id: 1,
        flags: Flags::META | Flags::PREFLUSH | Flags::FUA,
        queued_ns: us(0),
        started_ns: us(5),
        issued_ns: None,
        completed_ns: us(2130),
        pid: Some(9),
        ..row(Op::Write, 0, 0)
    };
    let part = |n: u64, op, from, to| Request {
        request_id: 1 + n,
        op,
        parent_id: Some(1),
        queued_ns: None,
        started_ns: None,
        issued_ns: us(from),
        completed_ns: us(to),
        offset_bytes: commit.offset_bytes.filter(|_| op == Op::Write),
        ..commit
    };
    let parts = [
        part(1, Op::Flush, 30, 1020),
        part(2, Op::Write, 1040, 1100),
        part(3, Op::Flush, 1125, 2115),
    ];
    let mut rows = vec![commit];
    rows.extend(parts);
    let found = analysed(&rows);
    for (by, class) in [
        ("whole", "all"),
        ("direction", "write"),
        ("device", "disk0"),
        ("origin", "metadata"),
        ("size", "to 4k"),
        ("process", "pid 9"),
        ("region", "disk0 0 to 1m"),
        ("start", "0 ns to 1.95 ms"),
    ] {
        let of = |quantity| value(&found, by, class, quantity).map(|ns| ns / 1000.0);
        assert_eq!(of("response_mean_ns"), Some(2130.0), "{by}");
        assert_eq!(of("admission_mean_ns"), Some(5.0), "{by}");
        assert_eq!(of("device_mean_ns"), Some(990.0 + 60.0 + 990.0), "{by}");
        assert_eq!(of("scheduler_mean_ns"), Some(2130.0 - 5.0 - 2040.0), "{by}");
        assert_eq!(of("wait_mean_ns"), Some(2130.0 - 2040.0), "{by}");
        assert_eq!(of("rest_mean_ns"), Some(0.0), "{by}");
    }
    // What the device did is known separately, each part by itself.
    assert_eq!(value(&found, "direction", "flush", "done_count"), Some(2.0));
    assert_eq!(value(&found, "direction", "flush", "done_mean_ns"), Some(990_000.0));
    assert_eq!(value(&found, "direction", "flush", "device_mean_ns"), None);
}

/// A step that the trace does not tell is in no part, and the rest is as long.
#[test]
fn what_is_not_told_is_the_rest() {
    let told = Request { started_ns: Some(MS / 4), ..row(Op::Read, 0, 2) };
    let unknown = Request { started_ns: None, issued_ns: None, ..row(Op::Read, 0, 4) };
    let found = analysed(&[told, unknown]);
    let of = |quantity| value(&found, "whole", "all", quantity).map(|ns| ns / MS as f64);
    assert_eq!((of("response_mean_ns"), of("rest_mean_ns")), (Some(3.0), Some(2.0)));
    assert_eq!((of("admission_mean_ns"), of("device_mean_ns")), (Some(0.125), Some(0.75)));
    let found = analysed(&[unknown]);
    assert_eq!(value(&found, "whole", "all", "rest_mean_ns"), None);
}

/// A kernel's thread writes for all cgroups: each is known with the one that it wrote for, if there
/// are several.
#[test]
fn a_process_is_told_with_its_cgroup_where_there_are_several() {
    let of = |n: i64, cgroup: u64| Request {
        pid: Some(7),
        command: Some(CommandId(0)),
        cgroup: Some(cgroup),
        ..row(Op::Write, n, 1)
    };
    // A steady load, and one that comes at once every ten seconds.
    let steady = (0..4_000).map(|n| of(20 * n, 1));
    let bursts = (1..8).flat_map(|turn| (0..300).map(move |_| of(turn * 10_000, 2)));
    let mut rows: Vec<Request> = steady.chain(bursts).collect();
    rows.sort_by_key(|row| row.queued_ns);
    let found = analysed(&rows);
    assert_eq!(value(&found, "process", "dd (7) in cgroup 1", "requested_count"), Some(4_000.0));
    assert_eq!(value(&found, "process", "dd (7) in cgroup 2", "requested_count"), Some(2_100.0));
    assert_eq!(value(&found, "cgroup", "cgroup 2", "requested_count"), Some(2_100.0));
    let storm = "writes and flushes to disk0: dd (7) in cgroup 2";
    assert!(value(&found, "storms by process", storm, "blame_percent").unwrap() > 90.0);
    let one: Vec<Request> = (0..40).map(|n| of(n, 1)).collect();
    assert_eq!(value(&analysed(&one), "process", "dd (7)", "requested_count"), Some(40.0));
}

/// Analyses rows by parts, of which each begins with bins as wide as the one before needed them.
fn by_parts(rows: &[Request], each: usize) -> Response {
    let mut joined = Response::default();
    for (number, part) in rows.chunks(each).enumerate() {
        let mut in_flight = InFlight::new(part[0].arrival_ns().unwrap());
        rows[..number * each].iter().for_each(|row| in_flight.add(row));
        let mut response = Response::default().with_width_ns(joined.width_ns()).after(&in_flight);
        response.add_all(part);
        joined.follow(response, &|command| command);
    }
    joined
}

#[test]
fn parts_whose_grids_begin_wide_are_the_whole() {
    // More bins of a millisecond than are kept.
    let rows: Vec<Request> = (0..70_000).map(|n| row(Op::Write, n, 3)).collect();
    let mut whole = Response::default();
    whole.add_all(&rows);
    let mut joined = by_parts(&rows, 68_000);
    assert_eq!(whole.width_ns(), 2 * MS);
    assert_eq!(joined.width_ns(), whole.width_ns());
    assert_eq!(told(&mut joined), told(&mut whole));
    let grids = |response: &Response| format!("{:?}", response.devices.sorted()[0].grids);
    assert_eq!(grids(&joined), grids(&whole));
}

/// More processes, sizes and times than there are groups at once.
#[test]
fn groups_that_are_settled_early_lose_nothing() {
    let made = |n: i64| Request {
        pid: Some((n * 7 % 2_500) as u32),
        length_bytes: 512 << (n % 9),
        ..row(if n % 3 == 0 { Op::Write } else { Op::Read }, n, 1 + n % 5)
    };
    let rows: Vec<Request> = (0..30_000).map(made).collect();
    let found = analysed(&rows);
    let whole = |quantity| value(&found, "whole", "all", quantity);
    assert_eq!(whole("requested_count"), Some(30_000.0));
    assert_eq!(whole("response_mean_ns"), Some(3.0 * MS as f64));
    assert_eq!(value(&found, "direction", "write", "completed_count"), Some(10_000.0));
    assert_eq!(value(&found, "size", "to 4k", "completed_count"), Some(3_333.0));
    for by in ["start", "writes outstanding"] {
        let is_it = |f: &&Finding| {
            f.quantity == "requested_count" && f.subject.get("by").as_deref() == Some(by)
        };
        let sum: f64 = found.iter().filter(is_it).filter_map(|f| f.value).sum();
        assert_eq!(sum, if by == "start" { 30_000.0 } else { 20_000.0 }, "{by}");
    }
    let told = |f: &&Finding| {
        f.quantity == "requested_count" && f.subject.get("by").as_deref() == Some("process")
    };
    // Each made twelve requests; those that are listed are listed whole.
    let processes: Vec<_> = found.iter().filter(told).filter_map(|f| f.value).collect();
    assert!(
        processes.len() > 30 && processes.iter().all(|requested| *requested == 12.0),
        "{processes:?}"
    );
}

#[test]
fn rows_out_of_order_are_counted() {
    let found = analysed(&[row(Op::Read, 5, 1), row(Op::Read, 1, 1), row(Op::Read, 9, 1)]);
    assert_eq!(of_run(&found, "late_count"), Some(1.0));
}

/// A mirror of two disks: what is asked of it counts once of all devices together, and of each
/// device all that it did.
#[test]
fn of_all_devices_together_a_request_counts_once_at_the_top() {
    let mut rows = Vec::new();
    for number in 0..10u64 {
        let top =
            Request { request_id: number * 4, device: 9, ..row(Op::Write, number as i64, 10) };
        let leg = |leg: u64| Request {
            request_id: number * 4 + leg,
            device: leg as u32,
            above_id: Some(top.request_id),
            ..row(Op::Write, number as i64, 8)
        };
        // The second leg's is a flush sequence, whose part serves whom the sequence does.
        let whole = Request { flags: Flags::FUA, issued_ns: None, ..leg(2) };
        let part = Request { parent_id: Some(whole.request_id), queued_ns: None, ..leg(3) };
        rows.extend([top, leg(1), whole, Request { device: 2, ..part }]);
    }
    rows.sort_by_key(|row| (row.arrival_ns(), row.request_id));
    let found = analysed(&rows);
    let of = |by: &str, class: &str, quantity: &str| value(&found, by, class, quantity);
    assert_eq!(of("whole", "all", "requested_count"), Some(10.0));
    assert_eq!(of("whole", "all", "response_mean_ns"), Some(10e6));
    assert_eq!(of("direction", "write", "requested_count"), Some(10.0));
    assert_eq!(of("size", "to 4k", "requested_count"), Some(10.0));
    for device in ["disk9", "disk1", "disk2"] {
        assert_eq!(of("device", device, "requested_count"), Some(10.0), "{device}");
    }
    assert_eq!(of("device", "disk2", "response_mean_ns"), Some(8e6));
    let beneath = ["disk9", "disk1", "disk2"].map(|d| of("device", d, "beneath_count"));
    assert_eq!(beneath, [None, Some(10.0), Some(10.0)]);
}

//! Traffic of requests whose every step is known, and of those that lack some.

use super::tally::TALLIED;
use super::*;
use model::record::Op;

/// Queued at 100, started at 130, issued at 170 and completed at 300.
fn row() -> Request {
    Request {
        length_bytes: 4096,
        queued_ns: Some(100),
        started_ns: Some(130),
        issued_ns: Some(170),
        completed_ns: Some(300),
        ..Request::default()
    }
}

fn traffic(rows: &[Request]) -> Traffic {
    let mut traffic = Traffic::default();
    rows.iter().for_each(|row| traffic.add(&Share::of(row)));
    traffic
}

/// The sums of waiting, admission, scheduler, device and done.
fn parts(rows: &[Request]) -> [Option<f64>; 5] {
    let traffic = traffic(rows);
    [WAIT, ADMISSION, SCHEDULER, DEVICE, DONE].map(|part| traffic.sums.known_ns(part))
}

fn value(traffic: &Traffic, quantity: &str) -> Option<f64> {
    let findings = traffic.findings(&Subject::this_run(), Some(2e9));
    findings
        .into_iter()
        .find(|finding| finding.quantity == quantity)
        .unwrap_or_else(|| panic!("no {quantity}"))
        .value
}

#[test]
fn a_response_has_its_parts_as_far_as_its_steps_are_told() {
    let cases = [
        (row(), [Some(70.0), Some(30.0), Some(40.0), Some(130.0), Some(130.0)]),
        (Request { started_ns: None, ..row() }, [Some(70.0), None, None, Some(130.0), Some(130.0)]),
        (
            Request { queued_ns: None, ..row() },
            [Some(40.0), None, Some(40.0), Some(130.0), Some(130.0)],
        ),
        (Request { issued_ns: None, ..row() }, [None, Some(30.0), None, None, None]),
        (Request { completed_ns: None, ..row() }, [None; 5]),
        // A part of a sequence is done, and was not requested.
        (Request { parent_id: Some(1), ..row() }, [None, None, None, None, Some(130.0)]),
        // Issued before it was queued: the device's time is longer than the response.
        (
            Request { started_ns: None, issued_ns: Some(90), ..row() },
            [None, None, None, None, Some(210.0)],
        ),
    ];
    for (row, expected) in cases {
        assert_eq!(parts(&[row]), expected, "{row:?}");
    }
    assert_eq!(parts(&[row(), row()]).map(Option::unwrap), [140.0, 60.0, 80.0, 260.0, 260.0]);
}

#[test]
fn steps_in_the_wrong_order_are_known_as_such() {
    let is_reversed = |row: Request| Share::of(&row).is_reversed;
    assert!(!is_reversed(row()));
    assert!(!is_reversed(Request { completed_ns: None, ..row() }));
    assert!(!is_reversed(Request { issued_ns: Some(130), ..row() }));
    for row in [
        Request { completed_ns: Some(99), ..row() },
        Request { started_ns: Some(99), ..row() },
        Request { started_ns: Some(171), ..row() },
        Request { issued_ns: Some(301), ..row() },
    ] {
        assert!(is_reversed(row), "{row:?}");
    }
    let reversed = Share::of(&Request { completed_ns: Some(99), ..row() });
    assert!(reversed.response.is_none() && reversed.wait_ns.is_none());
}

#[test]
fn means_are_over_the_responses_and_rates_over_the_span() {
    let late = Request { completed_ns: Some(700), error: 5, length_bytes: 1024, ..row() };
    let lost = Request { completed_ns: None, length_bytes: 0, ..row() };
    let three = traffic(&[row(), late, lost]);
    for (quantity, expected) in [
        ("requested_count", 3.0),
        ("requested_bytes", 5120.0),
        ("failed_count", 1.0),
        ("requested_per_s", 1.5),
        ("response_mean_ns", 400.0),
        ("response_max_ns", 600.0),
        ("admission_mean_ns", 30.0),
        ("scheduler_mean_ns", 40.0),
        ("wait_mean_ns", 70.0),
        ("device_mean_ns", 330.0),
        ("rest_mean_ns", 0.0),
        ("done_count", 2.0),
        ("done_mean_ns", 330.0),
        ("completed_count", 2.0),
    ] {
        assert_eq!(value(&three, quantity), Some(expected), "{quantity}");
    }
    assert_eq!((three.requested(), three.completed(), three.responses()), (3, 2, 2));
    assert_eq!(three.length_mean(), Some(5120.0 / 3.0));
    assert_eq!(three.response_sum_ns(), 800.0);
    assert_eq!((three.wait_mean_ns(), three.device_mean_ns()), (Some(70.0), (Some(330.0), 2)));
    // Where nothing tells admission from scheduler, the rest is less both of them as one.
    let unsplit = traffic(&[Request { started_ns: None, ..row() }]);
    assert_eq!(value(&unsplit, "rest_mean_ns"), Some(0.0));
    let bare = Request { started_ns: None, issued_ns: None, ..row() };
    assert_eq!(value(&traffic(&[bare]), "rest_mean_ns"), None);
}

/// As in iostat, whose rkB/s and wkB/s are without discards.
#[test]
fn what_is_discarded_is_neither_read_nor_written() {
    let bytes = |traffic: &Traffic| {
        let findings = traffic.findings(&Subject::this_run(), None);
        let of = |name: &str| findings.iter().find(|f| f.quantity == name).and_then(|f| f.value);
        (of("requested_bytes"), of("discarded_bytes"))
    };
    let discard = Request { op: Op::Discard, length_bytes: 1 << 20, ..row() };
    let mut both = traffic(&[row(), discard]);
    assert_eq!(bytes(&both), (Some(4096.0), Some(1048576.0)));
    assert_eq!(both.length_mean(), Some((4096.0 + 1048576.0) / 2.0));
    assert_eq!(Share::of(&discard).bytes(), 1 << 20, "a row of its own has all");
    let mut responses = model::histogram::SparseHistogram::default();
    responses.record(7);
    let quick = Summed { op: Op::Discard, bytes: 512, ..Summed::default() };
    both.add_summed(&quick.with_responses(&responses)).unwrap();
    assert_eq!(bytes(&both), (Some(4096.0), Some(1048576.0 + 512.0)));
    assert_eq!(bytes(&traffic(&[row()])), (Some(4096.0), None), "where there is none");
}

#[test]
fn nothing_has_no_means_and_a_doubt_in_their_place() {
    let none = Traffic::<ByOctave<128>>::default();
    assert!(none.is_empty());
    assert_eq!((none.length_mean(), none.done_mean_ns(), none.responses()), (None, None, 0));
    assert_eq!((none.wait_mean_ns(), none.device_mean_ns()), (None, (None, 0)));
    assert_eq!((none.response_sum_ns(), none.took_sum_ns()), (0.0, 0.0));
    for finding in none.findings(&Subject::this_run(), Some(0.0)) {
        let is_count = ["_count", "_bytes"].iter().any(|end| finding.quantity.ends_with(end));
        assert_eq!(finding.value, is_count.then_some(0.0), "{}", finding.quantity);
        assert_eq!(finding.doubts.is_empty(), is_count);
    }
    // Requests that were only requested, or only done.
    assert!(!traffic(&[Request { completed_ns: None, ..row() }]).is_empty());
    assert!(!traffic(&[Request { parent_id: Some(1), ..row() }]).is_empty());
}

#[test]
fn a_tally_is_full_in_time_and_settles_to_the_same_traffic() {
    let rows: Vec<Request> = (0..TALLIED as i64 - 1)
        .map(|n| Request { completed_ns: Some(300 + 1000 * n), ..row() })
        .collect();
    let (last, unanswered) = (row(), Request { completed_ns: None, ..row() });
    let mut tally = Tally::default();
    assert!(rows.iter().all(|row| !tally.add(&Share::of(row))));
    assert!(!tally.add(&Share::of(&unanswered)));
    assert!(tally.add(&Share::of(&last)));
    let all = traffic(&[rows.clone(), vec![unanswered, last]].concat());
    let mut settled = traffic(&[]);
    settled.settle(&tally);
    let of = |traffic: &Traffic| traffic.findings(&Subject::this_run(), None);
    assert_eq!(of(&settled), of(&all));
    tally.clear();
    tally.add(&Share::of(&last));
    let mut again = traffic(&[]);
    again.settle(&tally);
    assert_eq!(of(&again), of(&traffic(&[last])));
    // Of a tally without responses no histogram is made.
    let mut none = traffic(&[]);
    none.settle(&Tally::default());
    assert!(none.response.is_none());
    let (mut merged, halves) = (traffic(&rows), traffic(&[unanswered, last]));
    merged.merge(&halves);
    assert_eq!(of(&merged), of(&all));
}

#[test]
fn a_sequence_takes_its_device_time_from_its_parts() {
    let sequence = Request { issued_ns: None, ..row() };
    let mut whole = traffic(&[sequence]);
    whole.add(&Share::of_sequence(&sequence, 50, true));
    whole.add(&Share::of_sequence(&sequence, 25, false));
    let means = [WAIT, ADMISSION, SCHEDULER, DEVICE].map(|part| whole.sums.known_ns(part));
    assert_eq!(means, [125.0, 30.0, 95.0, 75.0].map(Some));
    assert_eq!(value(&whole, "rest_mean_ns"), Some(0.0));
    let bare = Request { started_ns: None, ..sequence };
    let mut whole = traffic(&[bare]);
    whole.add(&Share::of_sequence(&bare, 50, true));
    assert_eq!(whole.sums.known_ns(SCHEDULER), None);
    assert_eq!((whole.wait_mean_ns(), whole.device_mean_ns()), (Some(150.0), (Some(50.0), 1)));
}

/// Of a request that does not tell when it was queued the device time is known, and stands beside
/// the responses of others: no figure is of a part of them without saying so.
#[test]
fn requests_without_their_queueing_are_in_every_figure_of_the_device() {
    let alone = |took_ns: i64| Request {
        queued_ns: None,
        started_ns: None,
        completed_ns: Some(170 + took_ns),
        ..row()
    };
    let orphan = Request { issued_ns: None, ..alone(5) };
    let unsettled = traffic(&[alone(4000), row(), alone(9000), orphan]);
    let (mut tally, mut settled) = (Tally::default(), traffic(&[orphan]));
    let rest = [alone(9000), row(), alone(4000)];
    assert!(rest.iter().all(|row| !tally.add(&Share::of(row))));
    settled.settle(&tally);
    let mut merged = traffic(&[alone(9000), orphan]);
    merged.merge(&traffic(&[row(), alone(4000)]));
    for four in [unsettled, settled, merged] {
        for (quantity, expected) in [
            ("completed_count", 4.0),
            ("response_known_count", 1.0),
            ("response_max_ns", 200.0),
            ("wait_mean_ns", 70.0),
            ("rest_mean_ns", 0.0),
            ("device_known_count", 3.0),
            ("device_mean_ns", 13_130.0 / 3.0),
            ("done_count", 3.0),
            ("done_mean_ns", 13_130.0 / 3.0),
            ("done_max_ns", 9000.0),
        ] {
            assert_eq!(value(&four, quantity), Some(expected), "{quantity}");
        }
        assert!((value(&four, "done_p50_ns").unwrap() / 4000.0 - 1.0).abs() < 0.004);
        assert_eq!(four.took_sum_ns(), 13_200.0);
        assert_eq!(four.took().unwrap().count(), 3);
        let findings = four.findings(&Subject::this_run(), None);
        for finding in findings.iter().filter(|f| f.value.is_some() && is_response(&f.quantity)) {
            let codes: Vec<Code> = finding.doubts.iter().map(|doubt| doubt.code).collect();
            assert_eq!(codes, [Code::ResponsesUntold], "{}", finding.quantity);
        }
    }
}

#[test]
fn a_percentile_has_its_interval_by_ranks() {
    let mut response = Buckets::<ByOctave<128>>::default();
    (1..=100).for_each(|ns| response.record(ns));
    let of = |quantile| {
        let name = "response_p50_ns";
        let found = at_quantile(&Subject::this_run(), name, Some(&response), quantile);
        (found.value, found.low, found.high, found.interval)
    };
    assert_eq!(of(0.5), (Some(50.0), Some(41.0), Some(60.0), Some(Interval::Ranks)));
    // The greatest rank of the interval is beyond the last value.
    let (value, low, high, _) = of(0.99);
    assert_eq!((value, low, high), (Some(99.0), Some(98.0), None));
}

//! What a trace would not show is no all-clear.

use super::*;

/// A trace that would not show a wait says nothing of waits.
#[test]
fn what_a_trace_does_not_tell_is_no_all_clear() {
    let of = |told: f64, requests: f64, more: &[Finding]| {
        let known = [("calls_told", told), ("requests_count", requests)];
        let findings = [of_run(), self::of(&Subject::this_run(), &known), more.to_vec()].concat();
        sentences(&findings).remove(0)
    };
    let unknown = "Unknown whether anybody waited long for others: ";
    for (requests, why) in
        [(0.0, "the trace has no requests"), (7.0, "to have waited for one of 7 requests")]
    {
        let said = of(0.0, requests, &[]);
        assert!(said.starts_with(unknown) && said.contains(why), "{said}");
        assert!(said.contains("does not tell calls such as fsync"), "{said}");
        let said = of(1.0, requests, &[]);
        assert!(said.starts_with("Nobody waited: no thread waited for a read"), "{said}");
        assert!(said.contains(&format!("({requests} requests, calls and waits")), "{said}");
    }
    // Nothing was seen, and much was not.
    let lost = self::of(&Subject::this_run(), &[("lost_count", 100.0), ("events_count", 900.0)]);
    assert!(of(1.0, 7.0, &lost).starts_with(unknown));
    let pressure = [("io_pressure_percent", 90.0), ("io_pressure_seen_percent", 0.0)];
    assert!(of(1.0, 7.0, &self::of(&Subject::this_run(), &pressure)).starts_with(unknown));
    let waits = wait("redis", "read", &[("waits_count", 500.0), ("waited_ns", 1e9)]);
    let said = of(0.0, 500.0, &waits);
    assert!(said.starts_with("Nobody waited long for others: none of 500 waits in 90.0 s"));
    assert!(said.contains("flushes; the trace does not tell fsync)"), "{said}");
}

/// Requests that hang are in no wait: all is not clear, and beside losses they are told of.
#[test]
fn requests_without_a_completion_are_no_all_clear() {
    let run = Subject::this_run();
    let open = |longest_ns: f64, count: u64, lost: f64| {
        let longest = Finding::new(&run, "unanswered_longest_ns", Some(longest_ns), count, "");
        let events = [("lost_count", lost), ("events_count", 9e6)];
        [vec![longest], self::of(&run, &events)].concat()
    };
    let waits = wait("redis", "read", &[("waits_count", 500.0), ("waited_ns", 1e9)]);
    let said = |open: Vec<Finding>| sentences(&[of_run(), waits.clone(), open].concat()).remove(0);
    assert_eq!(
        said(open(60e9, 30, 29.0)),
        "Unknown whether anybody waited long for others: 30 requests have no completion in the \
         trace, the first of them made 60.0 s before its end: they hang, or their completions are \
         missing."
    );
    // In flight as the trace ended, or no more than what was lost.
    for open in [open(1e6, 30, 0.0), open(60e9, 30, 30.0)] {
        assert!(said(open).starts_with("Nobody waited long for others"));
    }
    let beside = sentences(&[checkpoint(), open(60e9, 1, 0.0)].concat());
    assert!(beside[0].starts_with("postgres: backend lost"), "{beside:?}");
    let one = "1 request has no completion in the trace, made 60.0 s before its end: it hangs, or \
               its completion is missing.";
    assert!(beside.iter().any(|line| line == one), "{beside:?}");
}

#[test]
fn devices_that_are_taken_for_one_are_told() {
    let name = model::record::requests::other_devices();
    let one = self::of(&Subject::class("device", &name), &[("requested_count", 12.0)]);
    let said = sentences(&[checkpoint(), one].concat());
    let told = "The trace names more than 6143 devices: 12 requests of the others count as those \
                of one.";
    assert!(said.iter().any(|line| line == told), "{said:?}");
    assert!(!sentences(&checkpoint()).iter().any(|line| line.contains("devices")));
}

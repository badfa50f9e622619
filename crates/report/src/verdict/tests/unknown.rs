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

//! Limits in closed form.

use super::*;
use crate::profile::CATALOG;

const S: f64 = 1e9;

fn read(size: &str, limit: &str) -> Result<Limits, String> {
    let head = format!("kind = 'drive'\n[capacity]\nassumed = 'x'\nsize = '{size}'\n");
    let text = format!("{head}[limit]\nassumed = 'x'\n{limit}");
    let profile = CATALOG.load_text("v", "v.toml", &text).map_err(|error| error.to_string())?;
    let drive = profile.reader().below("drive");
    let bytes = drive.below("capacity").size_bytes("size").unwrap();
    Limits::read(&drive, bytes).map_err(|error| error.to_string())
}

fn limits(size: &str, limit: &str) -> Limits {
    read(size, limit).unwrap()
}

/// When each of so many requests begins that come at that rate, ns.
fn begins(limits: &mut Limits, demand: f64, count: usize, bytes: f64) -> Vec<f64> {
    let at = |index: usize| index as f64 * S / demand;
    (0..count).map(|index| limits.take(at(index), (0, false), bytes)).collect()
}

/// Requests a second that begin between two moments.
fn rate(begins: &[f64], from_s: f64, to_s: f64) -> f64 {
    let within = begins.iter().filter(|ns| (from_s * S..to_s * S).contains(*ns));
    within.count() as f64 / (to_s - from_s)
}

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
}

const GP2: &str = "window = '100 ms'\ncounted_size = '256 KiB'
    [limit.iops]\nassumed = 'x'\nper_gib = 3\nleast = 100\nmost = 16000\npeak = 3000
    credits = 5400000
    [limit.throughput]\nassumed = 'x'\nrate = '250 MiB/s'\nsmall_size = '170 GiB'
    small_rate = '128 MiB/s'\n";

#[test]
fn the_steady_rate_is_the_limit() {
    let mut limits = limits("1 GiB", "[limit.iops]\nassumed = 'x'\nrate = 3000\n");
    near(rate(&begins(&mut limits, 9000.0, 90_000, 4096.0), 1.0, 20.0), 3000.0);
    // Less than the limit waits for nothing.
    let mut limits = limits.fresh();
    let begins = begins(&mut limits, 1000.0, 1000, 4096.0);
    assert!(begins.iter().enumerate().all(|(index, ns)| (ns - index as f64 * 1e6).abs() < 1.0));
}

/// AWS prints the same times: 1,862 s for 33 GiB and 2,000 s for 100 GiB.
#[test]
fn a_burst_lasts_as_long_as_its_credits() {
    for (size, baseline, burst_s) in [("33 GiB", 100.0, 1862.0), ("100 GiB", 300.0, 2000.0)] {
        let mut limits = limits(size, GP2);
        near(5_400_000.0 / (3000.0 - baseline), burst_s);
        let begins = begins(&mut limits, 4000.0, 8_000_000, 4096.0);
        near(rate(&begins, 1.0, burst_s - 10.0), 3000.0);
        near(rate(&begins, burst_s + 10.0, burst_s + 2000.0), baseline);
    }
}

#[test]
fn credits_that_are_spent_come_back_at_the_baseline() {
    let text = GP2.replace("window", "filled = '0 %'\nwindow");
    let mut limits = limits("100 GiB", &text);
    near(rate(&begins(&mut limits, 3000.0, 90_000, 4096.0), 1.0, 30.0), 300.0);
    // Ten minutes without a request give 180,000 credits.
    let mut limits = limits.fresh();
    limits.take(0.0, (0, false), 4096.0);
    let at_ns = 600.0 * S;
    let begins: Vec<f64> =
        (0..300_000).map(|_| limits.take(at_ns, (0, false), 4096.0) - at_ns).collect();
    let burst_s = 180_000.0 / 2700.0;
    near(rate(&begins, 1.0, burst_s - 1.0), 3000.0);
    near(rate(&begins, burst_s + 1.0, burst_s + 100.0), 300.0);
}

/// 3,000 IOPS and 125 MiB/s meet at 42.7 KiB.
#[test]
fn the_slower_of_two_limits_holds_by_the_size_of_requests() {
    let iops = "[limit.iops]\nassumed = 'x'\nrate = 3000\n";
    let text = &format!("{iops}[limit.throughput]\nassumed = 'x'\nrate = '125 MiB/s'\n");
    for (kib, expected) in [(4.0, 3000.0), (42.0, 3000.0), (64.0, 2000.0), (256.0, 500.0)] {
        let mut limits = limits("1 GiB", text);
        let begins = begins(&mut limits, 9000.0, 90_000, kib * 1024.0);
        near(rate(&begins, 1.0, 10.0), expected);
    }
}

#[test]
fn large_requests_count_several_times_and_merged_ones_once() {
    let count = |merged: &str, sequential: bool, kib: f64| {
        let more = format!("counted_size = '256 KiB'\nmerged = '{merged}'\n");
        let mut counting = limits("1 GiB", &more).counting;
        let all = (0..64).map(|_| counting.count((0, sequential), kib * 1024.0).0);
        all.sum::<f64>() / 64.0
    };
    assert_eq!([4.0, 256.0, 257.0, 1024.0].map(|k| count("0 %", false, k)), [1.0, 1.0, 2.0, 4.0]);
    assert_eq!(count("100 %", true, 64.0), 0.25);
    assert_eq!(count("50 %", true, 64.0), 0.625);
    assert_eq!([count("100 %", false, 64.0), count("0 %", true, 64.0)], [1.0, 1.0]);
    assert_eq!(count("100 %", true, 1024.0), 4.0);
}

/// Of a hard disk's volume: a small random request costs 1 MiB of credits.
#[test]
fn whole_counted_requests_cost_their_size() {
    let counting = "counted_size = '1 MiB'\nmerged = '100 %'\nwhole = true\n";
    let throughput = "[limit.throughput]\nassumed = 'x'\nper_gib = '0.0390625 MiB/s'\n";
    let text = &format!("{counting}{throughput}");
    let mut random = limits("1024 GiB", text);
    assert_eq!(random.throughput.rate, 40.0 * MIB);
    near(rate(&begins(&mut random, 1000.0, 40_000, 4096.0), 1.0, 40.0), 40.0);
    let mut sequential = random.fresh();
    let begins: Vec<f64> = (0..20_000).map(|_| sequential.take(0.0, (0, true), 65_536.0)).collect();
    near(rate(&begins, 1.0, 20.0), 640.0);
}

#[test]
fn limits_follow_the_size() {
    let of = |size: &str| {
        let limits = limits(size, GP2);
        (limits.iops.rate, limits.iops.peak, limits.throughput.rate / MIB)
    };
    assert_eq!(of("20 GiB"), (100.0, Some(3000.0), 128.0));
    assert_eq!(of("334 GiB"), (1002.0, Some(3000.0), 250.0));
    assert_eq!(of("2000 GiB"), (6000.0, None, 250.0));
    assert_eq!(of("9000 GiB"), (16000.0, None, 250.0));
    let shown = limits("20 GiB", GP2).shown();
    assert_eq!(shown.as_deref(), Some("100 IOPS (peak 3000 IOPS), 128 MiB/s"));
    assert_eq!(limits("1 GiB", "").shown(), None);
}

#[test]
fn what_cannot_be_provisioned_is_refused_in_one_sentence() {
    let with = |iops: u32, mib: u32| {
        format!(
            "[limit.iops]\nassumed = 'x'\nrate = {iops}\nrate_min = 3000\nrate_max = 80000\n\
             rate_max_per_gib = 500\n[limit.throughput]\nassumed = 'x'\nrate = '{mib} MiB/s'\n\
             rate_min = '125 MiB/s'\nrate_max = '2000 MiB/s'\nrate_max_per_iops = '0.25 MiB/s'\n"
        )
    };
    for (size, iops, mib) in
        [("1 GiB", 3000, 125), ("10 GiB", 5000, 1250), ("160 GiB", 80_000, 2000)]
    {
        let read = limits(size, &with(iops, mib));
        assert_eq!((read.iops.rate, read.throughput.rate / MIB), (iops.into(), mib.into()));
    }
    for (size, iops, mib, sentence) in [
        ("10 GiB", 16_000, 125, "16000 IOPS is out of range: a volume of 10 GiB has 3000"),
        ("1000 GiB", 90_000, 125, "has 3000 IOPS to 80000 IOPS"),
        ("10 GiB", 3000, 800, "a volume with 3000 IOPS has 125 MiB/s to 750 MiB/s"),
    ] {
        let error = read(size, &with(iops, mib)).unwrap_err();
        assert!(error.contains(sentence) && error.lines().count() == 1, "{error}");
    }
    for (limit, sentence) in [
        ("requests_per_s = 5\n[limit.iops]\nassumed='x'\nrate = 5\n", "give only one"),
        ("[limit.iops]\nassumed='x'\npeak = 5\n", "rate: is missing"),
        ("[limit.iops]\nassumed='x'\nrate = 5\npeak = 9\n", "given together"),
        ("merged = '5 %'\n", "counted_size: is missing"),
    ] {
        let error = read("1 GiB", limit).unwrap_err();
        assert!(error.contains(sentence), "{error}");
    }
}

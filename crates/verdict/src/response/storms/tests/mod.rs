//! Storms of series made by hand, and the parts of the method against their textbooks.

mod evaluation;
mod synthetic;

use super::calm::Calm;
use super::deeper::deeper;
use super::detect::{Calmness, Series, detect};
use super::period::{Period, period};
use statrs::distribution::{DiscreteCDF, NegativeBinomial, Poisson};
use std::time::{Duration, Instant};
use synthetic::Random;

const MS: u64 = 1_000_000;

/// A series of bins of a millisecond.
fn series(bins: &[(u64, u64)], last: u64) -> Series<'_> {
    Series { bins, first: 0, last, bin_ns: MS }
}

fn calmness(bins: &[(u64, u64)], last: u64) -> Option<Calmness> {
    let detection = detect(&series(bins, last));
    assert!(detection.storms.is_empty());
    detection.calmness
}

#[test]
fn what_is_too_little_has_no_storms() {
    assert_eq!(calmness(&[], 0), Some(Calmness::Few));
    assert_eq!(calmness(&[(7, 1)], 1 << 40), Some(Calmness::Few));
    assert_eq!(calmness(&[(7, 20)], 100_000), Some(Calmness::Few));
    assert_eq!(calmness(&[(7, 5_000)], 7), Some(Calmness::Short));
    assert_eq!(calmness(&[(7, 5_000)], 2_000), Some(Calmness::Short));
    // The span is nonsense; the series is not.
    assert_eq!(calmness(&[(7, 5_000)], 3), Some(Calmness::Short));
}

#[test]
fn a_load_is_no_storm() {
    let each_10_ms: Vec<_> = (0..1_000).map(|n| (10 * n, 32)).collect();
    assert_eq!(calmness(&each_10_ms, 10_000), Some(Calmness::Steady));
    // At a tenth of a second these are bursts between silences, at half a second a load.
    let each_300_ms: Vec<_> = (0..200).map(|n| (300 * n, 32)).collect();
    assert_eq!(calmness(&each_300_ms, 60_000), Some(Calmness::Batches));
}

#[test]
fn storms_begin_and_end_where_they_do() {
    // A sync of 100 writes in 50 ms each 5 s, and a write by somebody else now and then.
    let mut bins: Vec<_> =
        (0..12).flat_map(|n| (0..50).map(move |m| (2_000 + 5_000 * n + m, 2))).collect();
    bins.extend((0..20).map(|n| (3_000 * n + 500, 1)));
    bins.sort_unstable();
    let detection = detect(&series(&bins, 60_000));
    let planted: Vec<_> = (0..12).map(|n| 2_000 + 5_000 * n..2_050 + 5_000 * n).collect();
    assert_eq!(detection.storms, planted, "{detection:?}");
    assert_eq!(detection.calmness, None);
    assert_eq!(detection.storm_per_bin, 2.0);
    assert_eq!(detection.calm_per_bin, 20.0 / (60_001.0 - 600.0));
}

#[test]
fn storms_are_a_second_apart() {
    let two = |apart: u64| {
        let bins = [(10_000, 50), (10_001, 50), (10_002 + apart, 50), (10_003 + apart, 50)];
        detect(&series(&bins, 60_000)).storms.len()
    };
    assert_eq!((two(500), two(2_000)), (1, 2));
}

#[test]
fn seven_requests_are_a_storm() {
    let storms = |requests: u64| {
        let bins: Vec<_> = (0..40).map(|n| (5_000 * n, requests)).collect();
        detect(&series(&bins, 200_000)).storms.len()
    };
    assert_eq!((storms(6), storms(8)), (0, 40));
}

#[test]
fn bins_may_be_wider_than_storms() {
    // A week in bins of 8 s, 20 requests each, and each hour 500 more.
    let mut random = Random(7);
    let load = |random: &mut Random| (0..20).filter(|_| random.unit() < 0.5).count() as u64 + 10;
    let bins: Vec<_> = (0..75_600u64)
        .map(|bin| (bin, load(&mut random) + if bin % 450 == 9 { 500 } else { 0 }))
        .collect();
    let detection = detect(&Series { bins: &bins, first: 0, last: 75_599, bin_ns: 8_000 * MS });
    let planted: Vec<_> = (0..168).map(|hour| 450 * hour + 9..450 * hour + 10).collect();
    assert_eq!(detection.storms, planted);
}

#[test]
fn the_origin_of_time_does_not_matter() {
    let bins: Vec<_> = (0..100).flat_map(|n| (0..9).map(move |m| (5_000 * n + m * m, 3))).collect();
    let moved: Vec<_> = bins.iter().map(|(bin, requests)| (bin + 123_456_789, *requests)).collect();
    let there = Series { bins: &moved, first: 123_456_789, last: 123_956_789, bin_ns: MS };
    let (here, there) = (detect(&series(&bins, 500_000)), detect(&there));
    assert_eq!(here.storms.len(), 100);
    let back = there.storms.iter().map(|s| s.start - 123_456_789..s.end - 123_456_789);
    assert_eq!(here.storms, back.collect::<Vec<_>>());
}

/// A closed loop of one request at a time, each of which takes so long at that moment, and what
/// else comes.
fn closed_loop(service_ns: impl Fn(u64) -> u64, storm: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut now_ns = 0;
    let mut requests = storm.to_vec();
    while now_ns < 60_000 * MS {
        requests.push((now_ns, service_ns(now_ns)));
        now_ns += service_ns(now_ns);
    }
    requests.sort_unstable();
    requests
}

fn storms_of(requests: &[(u64, u64)]) -> [usize; 2] {
    let mut bins: Vec<(u64, u64)> = Vec::new();
    let mut held_ns: Vec<(u64, u64)> = Vec::new();
    for (arrival, response) in requests {
        match (bins.last_mut(), held_ns.last_mut()) {
            (Some(bin), Some(held)) if bin.0 == arrival / MS => {
                bin.1 += 1;
                held.1 += response;
            }
            _ => {
                bins.push((arrival / MS, 1));
                held_ns.push((arrival / MS, *response));
            }
        }
    }
    let series = series(&bins, 60_000);
    let detection = detect(&series);
    [detection.storms.len(), deeper(detection, &series, &held_ns).storms.len()]
}

#[test]
fn a_loop_that_goes_faster_is_no_storm() {
    let steady = |_| 2 * MS;
    let faster = |now: u64| if (30_000..30_500).contains(&(now / MS)) { MS / 2 } else { 2 * MS };
    assert_eq!(storms_of(&closed_loop(steady, &[])), [0, 0]);
    assert_eq!(storms_of(&closed_loop(faster, &[])), [1, 0]);
    // 500 writes in 10 ms wait for each other; on the loop, and on an idle device.
    let sync: Vec<_> = (0..500).map(|n| (20_000 * MS + n * MS / 50, (n + 1) * MS / 10)).collect();
    assert_eq!(storms_of(&closed_loop(steady, &sync)), [1, 1]);
    assert_eq!(storms_of(&closed_loop(faster, &sync)), [2, 1]);
    assert_eq!(storms_of(&sync), [1, 1]);
    // Nothing is known of responses.
    let unknown: Vec<_> = sync.iter().map(|(arrival, _)| (*arrival, 0)).collect();
    assert_eq!(storms_of(&unknown), [1, 1]);
}

#[test]
fn a_full_grid_is_quick() {
    // 65,536 bins in a span of 10^9: in storms of 64 bins, and evenly.
    let stormy: Vec<_> = (0..65_536u64).map(|n| (n / 64 * 976_562 + n % 64, 1 + n % 5)).collect();
    let even: Vec<_> = (0..65_536u64).map(|n| (n * 15_258 + n * n % 1_000, 1 + n % 5)).collect();
    for (bins, storms) in [(stormy, 1_024), (even, 0)] {
        let start = Instant::now();
        assert_eq!(detect(&series(&bins, 1_000_000_000)).storms.len(), storms);
        let took = start.elapsed();
        println!("{took:?}");
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}

#[test]
fn chernoffs_bound_holds_and_is_close() {
    for (mean, shape) in [(0.01, f64::INFINITY), (3.0, f64::INFINITY), (3.0, 1.0), (200.0, 20.0)] {
        let calm = Calm { mean, shape, least: None };
        for times in [2.0, 3.0, 6.0] {
            let requests = (mean * times).ceil() as u64;
            // That many or more.
            let exact = if shape.is_finite() {
                NegativeBinomial::new(shape, shape / (shape + mean)).unwrap().sf(requests - 1)
            } else {
                Poisson::new(mean).unwrap().sf(requests - 1)
            };
            let odds = calm.odds(requests as f64);
            let more = -exact.ln() - odds;
            assert!((0.0..5.0).contains(&more), "{mean} {shape} {requests}: {exact} {odds}");
        }
    }
}

#[test]
fn the_calm_load_is_found_below_its_storms() {
    // 900 windows of 8 to 12 requests, and 100 of 100.
    let counts: Vec<u64> = (0..1_000).map(|n| if n % 10 == 0 { 100 } else { 8 + n % 5 }).collect();
    let calm = Calm::fit(counts, 1_000, (1_000.0f64 / 0.01).ln());
    assert!((calm.mean - 10.2).abs() < 0.1 && calm.shape.is_infinite(), "{calm:?}");
    assert_eq!(calm.least, Some(100));
    // Geometric counts are the most uneven load that there is, and nothing of it stands out.
    let mut random = Random(11);
    let counts: Vec<u64> = (0..10_000).map(|_| random.exponential(5.0) as u64).collect();
    let busy: Vec<u64> = counts.iter().copied().filter(|count| *count > 0).collect();
    let calm = Calm::fit(busy, 10_000, (10_000.0f64 / 0.01).ln());
    assert_eq!(calm.least, None, "{calm:?}");
    assert!((calm.shape - 1.0).abs() < 0.3, "{calm:?}");
}

fn starts(gaps: impl IntoIterator<Item = f64>) -> Vec<i64> {
    let mut time = 0.0;
    let gap = |gap| {
        time += gap;
        (time * 1e9) as i64
    };
    std::iter::once(0).chain(gaps.into_iter().map(gap)).collect()
}

fn near(found: Option<Period>, seconds: f64) -> bool {
    found.is_some_and(|found| (found.period_ns / (seconds * 1e9) - 1.0).abs() < 0.01)
}

#[test]
fn the_period_is_found_with_storms_missing() {
    assert!(near(period(&starts([5.0; 4])), 5.0));
    // The gaps of a week of HP-UX's update daemon, on a workstation that was seldom used.
    let gaps = [(30.0, 315), (60.0, 119), (90.0, 56), (120.0, 23), (1800.0, 193), (7.0, 17)];
    let gaps = gaps.iter().flat_map(|(gap, count)| std::iter::repeat_n(*gap, *count));
    let found = period(&starts(gaps));
    assert!(near(found, 30.0), "{found:?}");
    assert_eq!(found.map(|found| found.gaps), Some(315 + 119 + 56 + 23 + 193));
    // Neither half nor twice of it.
    let mut random = Random(5);
    let gaps: Vec<_> = (0..60).map(|_| if random.unit() < 0.5 { 10.0 } else { 5.0 }).collect();
    assert!(near(period(&starts(gaps)), 5.0));
}

#[test]
fn storms_at_random_have_no_period() {
    assert_eq!(period(&[]), None);
    assert_eq!(period(&[3]), None);
    assert_eq!(period(&[3; 100]), None);
    assert_eq!(period(&starts([5.0; 3])), None, "too few");
    let mut random = Random(13);
    let mut claimed = [0, 0];
    for case in 0..200 {
        let poisson: Vec<_> = (0..5 + case).map(|_| random.exponential(20.0)).collect();
        let uneven: Vec<_> = (0..5 + case).map(|_| random.between(5.0, 15.0)).collect();
        claimed[0] += usize::from(period(&starts(poisson)).is_some());
        claimed[1] += usize::from(period(&starts(uneven)).is_some());
    }
    println!("{claimed:?} of 200");
    assert!(claimed[0] <= 4 && claimed[1] <= 4, "{claimed:?}");
}

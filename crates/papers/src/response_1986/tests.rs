//! The scenario as it is fitted, its laws, and what is refused.

use super::*;

fn scenario() -> Scenario {
    Scenario::read(TEXT).unwrap()
}

/// Not all of the three hours.
fn shorter(minutes: f64) -> Scenario {
    let mut scenario = scenario();
    scenario.load.duration_ns = minutes * 6e10;
    scenario
}

fn evaluated(scenario: &Scenario) -> Evaluation {
    let theirs = published(TABLE).unwrap();
    evaluate(scenario, &scenario.inputs, &theirs, &REMEDIES[0], 1).unwrap()
}

#[test]
fn the_fitted_inputs_give_the_ten_counts_and_the_terrible_responses() {
    let found = evaluated(&scenario());
    assert!(found.distance <= 0.05, "{found:?}");
    assert!(found.above_300_ticks > 0, "{found:?}");
    assert!(found.writes.mean_ms > 3.0 * found.reads.mean_ms, "{found:?}");
    let [first, .., last] = found.reads_after_sync_ms;
    assert!(first > 2.0 * last, "a spike at the sync: {found:?}");
}

#[test]
fn the_fit_holds_for_other_seeds() {
    let (scenario, theirs) = (scenario(), published(TABLE).unwrap());
    for seed in 2..5 {
        let found = evaluate(&scenario, &scenario.inputs, &theirs, &REMEDIES[0], seed).unwrap();
        assert!(found.distance <= 0.05, "{seed}: {}", found.distance);
    }
}

#[test]
fn what_the_authors_suggest_helps_the_reads() {
    let scenario = shorter(60.0);
    let found = remedies(&scenario, &scenario.inputs, &published(TABLE).unwrap(), 1).unwrap();
    let [(_, as_it_was), (_, dribbled), (_, reads_first), (_, fifo)] = &found[..] else { panic!() };
    for remedy in [dribbled, reads_first] {
        assert!(remedy.reads.mean_ms < as_it_was.reads.mean_ms, "{remedy:?}");
        assert!(remedy.reads.p99_ms < 0.5 * as_it_was.reads.p99_ms, "{remedy:?}");
    }
    assert!(fifo.reads.mean_ms > as_it_was.reads.mean_ms, "{fifo:?}");
}

#[test]
fn the_same_seed_gives_the_same_counts() {
    assert_eq!(evaluated(&shorter(5.0)), evaluated(&shorter(5.0)));
}

#[test]
fn the_fit_comes_nearer_and_its_ranges_hold_what_it_found() {
    let theirs = published(TABLE).unwrap();
    let mut scenario = shorter(6.0);
    (scenario.inputs.local, scenario.inputs.writes_per_sync) = (0.65, 300.0);
    let before = evaluated(&scenario).distance;
    let fitted = fit(&scenario, &theirs, 1).unwrap();
    assert!(fitted.distance < 0.7 * before && fitted.simulations > 20, "{before}: {fitted:?}");
    scenario.inputs = fitted.inputs;
    let bound = fitted.distance + 0.01;
    for (range, value) in
        ranges(&scenario, &theirs, bound, 1).unwrap().into_iter().zip(fitted.inputs.values())
    {
        assert!(range.low <= value && value <= range.high, "{range:?} {value}");
    }
}

#[test]
fn a_distance_is_half_of_what_differs() {
    let mut ours = [0; COUNTS];
    let mut theirs = [0; COUNTS];
    (ours[0], theirs[9]) = (5, 7);
    assert!((distance(&ours, &theirs) - 1.0).abs() < 1e-12);
    assert!((distance(&ours, &ours.map(|count| 3 * count))).abs() < 1e-12);
    (theirs[0], theirs[9]) = (7, 7);
    assert!((distance(&ours, &theirs) - 0.5).abs() < 1e-12);
}

#[test]
fn bad_files_are_refused() {
    assert_eq!(published(TABLE).unwrap().iter().sum::<u64>(), 127_338);
    assert!(published("ticks,responses\n0,1\n").unwrap_err().to_string().contains("ten rows"));
    for (from, to, sentence) in [
        ("requests_per_s = { value = 2", "requests_per_s = { value = -2", "is below 0"),
        ("local = ", "locl = ", "load.local: is missing"),
        (
            "\n[load]",
            "\n[load]\ntides = { value = 2, assumed = 'x' }",
            "load.tides: is an unknown key",
        ),
    ] {
        let error = Scenario::read(&TEXT.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(sentence), "{error}");
    }
}

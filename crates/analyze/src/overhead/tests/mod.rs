//! The verdicts of a fit, each provoked; below, the paper's results and the recovery of a
//! known truth.

mod paper;
mod recovery;

use super::*;
use crate::random::Random;

/// Passes from 512 bytes on in powers of two, of what a function says, with noise.
fn passes(sizes: u32, count: u32, noise: f64, value_ns: fn(f64) -> f64) -> Vec<Observation> {
    let mut random = Random::new(3);
    let one = |pass: u32| {
        let block_bytes = 512 << (pass % sizes);
        let value_ns = value_ns(block_bytes as f64) * (1.0 + noise * random.normal());
        Observation { block_bytes, value_ns }
    };
    (0..sizes * count).map(one).collect()
}

fn reason(fit: Fit) -> Doubt {
    match fit.shape {
        Shape::DoesNotApply(doubt) => doubt,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_curve_is_refused_with_its_numbers() {
    let curve = fit(&passes(12, 5, 0.001, |bytes| 0.01 * bytes.powf(1.5))).unwrap();
    assert!(curve.misfit_percent > MISFIT_BOUND_PERCENT);
    assert!(curve.small_blocks().is_none() && curve.large_blocks().is_none());
    let reason = reason(curve);
    println!("{reason:?}");
    assert_eq!(reason.code, Code::TwoLinesMiss);
    assert!(reason.values.contains_key("f_ratio") && reason.values.contains_key("percent"));
}

#[test]
fn a_curve_of_few_sizes_is_refused() {
    let reason = reason(fit(&passes(5, 3, 0.001, |bytes| 0.01 * bytes.powf(1.5))).unwrap());
    println!("{reason:?}");
    assert_eq!(reason.code, Code::OneLineMissesFewSizes);
    assert_eq!(reason.values["sizes"], 5.0.into());
}

#[test]
fn a_small_misfit_beyond_the_noise_is_accepted_and_widens_the_intervals() {
    // A ripple of 1 % over passes that agree within 0.01 %.
    let ripple = |bytes: f64| (900.0 + 0.17 * bytes) * (1.0 + 0.01 * (2.5 * bytes.log2()).sin());
    let found = fit(&passes(12, 5, 1e-4, ripple)).unwrap();
    let test = found.lack_of_fit.unwrap();
    assert!(test.is_significant() && test.ratio > 1000.0, "{found:?}");
    let Shape::OneLine(line) = found.shape else { panic!("{found:?}") };
    let call = line.intercept_ns();
    assert_eq!(call.degrees, 10.0);
    assert!(call.interval.0 < 900.0 && 900.0 < call.interval.1, "{call:?}");
    // From the noise alone the error would be 0.03 ns.
    assert!(call.standard_error > 2.0, "{call:?}");
}

#[test]
fn a_negative_call_or_byte_is_refused_and_a_doubtful_one_is_not() {
    let call = reason(fit(&passes(6, 5, 0.01, |bytes| 0.2 * bytes - 50.0)).unwrap());
    assert!(call.code == Code::CallCostsNegative && call.values["cost_ns"] < 0.0.into());
    let byte = reason(fit(&passes(6, 5, 0.01, |bytes| 9000.0 - 0.2 * bytes)).unwrap());
    assert!(byte.code == Code::ByteCostsNegative && byte.values["cost_ns"] < 0.0.into());
    let free = fit(&passes(6, 5, 0.01, |bytes| 0.2 * bytes)).unwrap();
    let line = free.small_blocks().unwrap();
    assert!(!line.intercept_ns().is_distinguishable_from_zero(), "{line:?}");
}

#[test]
fn the_large_lines_intercept_may_be_negative() {
    // Beyond the cache each byte costs more, and the lines meet at 64 KiB.
    let bent = |bytes: f64| 900.0 + 0.1 * bytes + 0.3 * (bytes - 65_536.0).max(0.0);
    let found = fit(&passes(12, 5, 0.01, bent)).unwrap();
    let (small, large) = (found.small_blocks().unwrap(), found.large_blocks().unwrap());
    assert!(large.intercept_ns().interval.1 < 0.0 && small.from_bytes == 512, "{found:?}");
    assert!((small.to_bytes, large.from_bytes) == (65_536, 131_072), "{found:?}");
    let (low, high) = CallCost::from(small).call_ns.interval;
    assert!(low < 900.0 && 900.0 < high, "{found:?}");
}

#[test]
fn a_harness_dearer_than_the_routine_is_refused() {
    let found = fit(&passes(6, 5, 0.01, |bytes| 900.0 + 0.2 * bytes)).unwrap();
    let reason = reason(found.less(&Quantity::new(1200.0, 5.0, 9.0)));
    assert_eq!(reason.code, Code::CallCostsNegative);
    let less = found.less(&Quantity::new(200.0, 5.0, 9.0));
    let (before, after) = (found.small_blocks().unwrap(), less.small_blocks().unwrap());
    assert!((before.intercept_ns().value - after.intercept_ns().value - 200.0).abs() < 1e-9);
}

#[test]
fn single_passes_are_fitted_by_their_misfit() {
    let found = fit(&passes(8, 1, 0.01, |bytes| 900.0 + 0.2 * bytes)).unwrap();
    assert_eq!((found.noise_percent, found.lack_of_fit), (None, None));
    let call = found.small_blocks().unwrap().intercept_ns();
    assert!(call.degrees == 6.0 && call.standard_error > 1.0, "{call:?}");
}

//! Verdicts, each provoked; the rate of false differences; and the power at the number that is
//! recommended.

use super::*;
use crate::random::Random;
use model::comparison::{Comparison, Outcome, Remark};
use model::record::Subject;
use setting::Aspect;

fn question(unit: Unit) -> Question {
    Question { unit, effect_percent: 5.0, machine_percent: 0.0, across: vec![], refusal: None }
}

fn series(program: &str, values: Vec<f64>) -> Series {
    Series {
        subject: Subject::cell("t", program, 1),
        quantity: "latency_mean_ns".into(),
        values,
        ..Series::default()
    }
}

/// One cell on each side.
fn one(a: &[f64], b: &[f64], question: &Question) -> Comparison {
    one_with(&mut Powers::default(), a, b, question)
}

fn one_with(powers: &mut Powers, a: &[f64], b: &[f64], question: &Question) -> Comparison {
    let side = |values: &[f64]| vec![vec![series("cell", values.to_vec())]];
    compare_with(powers, &side(a), &side(b), question).rows.remove(0)
}

const A: [f64; 8] = [100.0, 101.0, 99.5, 100.5, 98.9, 100.2, 101.1, 99.3];

fn times(factor: f64) -> Vec<f64> {
    A.iter().map(|value| value * factor).collect()
}

#[test]
fn a_clear_difference_has_its_direction_and_its_size() {
    let pass = question(Unit::Pass);
    let row = one(&A, &times(1.1), &pass);
    assert_eq!(row.outcome, Outcome::Worse, "{row:?}");
    assert!((row.difference_percent.unwrap() - 10.0).abs() < 1.0, "{row:?}");
    assert!(row.low_percent.unwrap() > 8.0 && row.high_percent.unwrap() < 12.0, "{row:?}");
    assert_eq!(one(&A, &times(0.9), &pass).outcome, Outcome::Better);
    let neutral = |values: Vec<f64>| {
        vec![vec![Series { quantity: "depth_achieved".into(), ..series("c", values) }]]
    };
    let rows = compare(&neutral(A.to_vec()), &neutral(times(1.1)), &pass).rows;
    assert_eq!(rows[0].outcome, Outcome::Differs);
}

#[test]
fn what_is_the_same_is_no_difference() {
    let row = one(&A, &times(1.001), &question(Unit::Pass));
    assert_eq!((row.outcome, row.needed), (Outcome::NoDifference, None), "{row:?}");
}

#[test]
fn noise_that_hides_what_matters_asks_for_more() {
    let noisy = [100.0, 110.0, 90.0, 95.0, 104.0];
    let other = [110.0, 95.0, 100.0, 104.0, 90.0];
    let row = one(&noisy, &other, &question(Unit::Round));
    assert_eq!(row.outcome, Outcome::CannotTell);
    assert!(row.needed.unwrap() > 30, "{row:?}");
    // Two runs have another moment each; both in turn have not.
    let row = one(&noisy, &other, &question(Unit::Pass));
    assert_eq!((row.outcome, row.needed), (Outcome::CannotTell, None), "{row:?}");
    let reason = row.reason.unwrap();
    let rounds = reason.split_once("; about ").and_then(|(_, rest)| rest.split_once(' '));
    let (rounds, rest) = rounds.unwrap_or_else(|| panic!("{reason}"));
    assert!((30..1000).contains(&rounds.parse::<usize>().unwrap()), "{reason}");
    assert_eq!(rest, "rounds of --abab, or at least 4 runs per side may tell");
    let wild = |values: [f64; 5]| values.map(|value| value * value * value);
    let row = one(&wild(noisy), &wild(other), &question(Unit::Pass));
    assert_eq!((row.outcome, row.needed), (Outcome::CannotTell, None));
    assert!(row.reason.is_some());
}

#[test]
fn one_pass_only_has_a_difference_and_no_verdict() {
    let row = one(&[100.0], &[150.0], &question(Unit::Pass));
    assert_eq!((row.outcome, row.low_percent), (Outcome::CannotTell, None));
    assert!((row.difference_percent.unwrap() - 50.0).abs() < 1e-9);
    assert_eq!(row.needed, Some(4));
}

#[test]
fn a_side_that_wanders_by_itself_is_its_own_noise_floor() {
    // B is 6 % slower, as A was in its second half.
    let a = [100.0, 100.1, 99.9, 100.2, 106.0, 106.1, 105.9, 106.3];
    let b = [106.1, 106.4, 106.2, 106.3, 106.5, 106.6, 106.2, 106.4];
    let row = one(&a, &b, &question(Unit::Pass));
    assert_ne!(row.outcome, Outcome::Worse, "{row:?}");
    assert!(row.noise_floor_percent.unwrap() > 5.0, "{row:?}");
}

#[test]
fn what_the_machine_changed_by_itself_is_no_difference() {
    let slower = Question { machine_percent: 40.0, ..question(Unit::Pass) };
    assert_eq!(one(&A, &times(1.2), &slower).outcome, Outcome::CannotTell);
    assert_eq!(one(&A, &times(2.0), &slower).outcome, Outcome::Worse);
}

#[test]
fn pairs_forgive_what_both_sides_share() {
    // The machine slows by half in mid-run, for both.
    let a: Vec<f64> =
        (0..12).map(|i| if i < 6 { 100.0 } else { 150.0 } + f64::from(i % 3)).collect();
    let b: Vec<f64> =
        a.iter().enumerate().map(|(i, v)| v * (1.08 + 0.002 * (i % 2) as f64)).collect();
    assert_eq!(one(&a, &b, &question(Unit::Round)).outcome, Outcome::Worse);
    assert_ne!(one(&a, &b, &question(Unit::Pass)).outcome, Outcome::Worse);
}

/// Values in two groups, as cache hits and misses are: both sides have half of each, and one value
/// decides in which group a median lies. What is printed of A, of B and of the change agrees.
#[test]
fn the_change_is_that_of_the_two_numbers_beside_it() {
    let groups = |slow: usize, count: usize| -> Vec<f64> {
        (0..count).map(|i| if i < slow { 1160.0 } else { 206.0 } + i as f64).collect()
    };
    let (mut random, mut powers) = (Random::new(1963), Powers::default());
    for count in [2, 5, 6, 11, 40] {
        for unit in [Unit::Round, Unit::Pass] {
            for _ in 0..10 {
                let mut side = || groups((random.normal().abs() * 3.0) as usize, count);
                let row = one_with(&mut powers, &side(), &side(), &question(unit));
                let (a, b, change) = (row.a.unwrap(), row.b.unwrap(), row.difference_percent);
                assert!((100.0 * (b / a - 1.0) - change.unwrap()).abs() < 1e-9, "{row:?}");
                let within =
                    |(low, high): (f64, f64)| (low - 1e-9..=high + 1e-9).contains(&change.unwrap());
                assert!(row.low_percent.zip(row.high_percent).is_none_or(within), "{row:?}");
            }
        }
    }
    let row = one(&groups(6, 11), &groups(5, 11), &question(Unit::Round));
    assert!(row.difference_percent.unwrap().abs() < 5.0, "{row:?}");
}

/// A verdict, its interval and its noise floor say the same, for few units and many rows too.
#[test]
fn an_interval_that_leaves_zero_out_is_a_difference() {
    let (mut random, mut powers) = (Random::new(193), Powers::default());
    let mut told = 0;
    for units in [4, 5, 6, 9, 30] {
        for unit in [Unit::Pass, Unit::Round, Unit::Run, Unit::Stretch] {
            let cell = |n: usize, factor: f64, random: &mut Random| {
                let values = passes(random, units, 0.05, 0.0);
                series(&format!("{n}"), values.iter().map(|v| v * factor).collect())
            };
            let runs = |factor: f64, random: &mut Random| -> Vec<Vec<Series>> {
                let mut side: Vec<Series> = (0..40).map(|n| cell(n, 1.0, random)).collect();
                side.push(cell(40, factor, random));
                let of = |i: usize| {
                    let one = |s: &Series| Series { values: vec![s.values[i]], ..s.clone() };
                    side.iter().map(one).collect()
                };
                if unit == Unit::Run { (0..units).map(of).collect() } else { vec![side] }
            };
            let (a, b) = (runs(1.0, &mut random), runs(4.12, &mut random));
            for row in compare_with(&mut powers, &a, &b, &question(unit)).rows {
                let Some((low, high)) = row.low_percent.zip(row.high_percent) else { continue };
                let is_clear = low > 0.0 || high < 0.0;
                let floor = row.noise_floor_percent.unwrap_or(0.0);
                let is_above = row.difference_percent.is_some_and(|d| d.abs() > 1.1 * floor);
                let differs = matches!(row.outcome, Outcome::Better | Outcome::Worse);
                assert!(!differs || is_clear, "{unit:?} {units} {row:?}");
                assert!(row.outcome != Outcome::CannotTell || !(is_clear && is_above), "{row:?}");
                let asks = row.needed.is_some() || row.reason.is_some();
                assert!(row.outcome != Outcome::CannotTell || asks, "{row:?}");
                told += usize::from(differs && row.difference_percent > Some(250.0));
            }
        }
    }
    // Pairs need six.
    assert_eq!(told, 18);
}

#[test]
fn rounds_that_cannot_tell_say_how_many_would() {
    let (mut random, mut powers) = (Random::new(77), Powers::default());
    let mut asked = 0;
    for noise in [0.01, 0.03, 0.08] {
        for shift in [1.0, 1.02, 1.05, 1.2] {
            let a = passes(&mut random, 9, noise, 0.0);
            let b: Vec<f64> =
                passes(&mut random, 9, noise, 0.0).iter().map(|v| v * shift).collect();
            let row = one_with(&mut powers, &a, &b, &question(Unit::Round));
            if row.outcome == Outcome::CannotTell {
                assert!(row.needed.is_some_and(|needed| needed > 9), "{row:?}");
                asked += 1;
            }
        }
    }
    assert!(asked > 3, "{asked}");
}

#[test]
fn what_went_opposite_ways_names_the_other() {
    let of = |quantity: &str, factor: f64| Series {
        quantity: quantity.into(),
        ..series("cell", times(factor))
    };
    let side = |rate, tail, mean| {
        let elsewhere = series("other", times(tail));
        let own = [("rate_bytes_per_s", rate), ("latency_p99_ns", tail), ("latency_mean_ns", mean)];
        let own = own.map(|(quantity, factor)| of(quantity, factor));
        vec![own.into_iter().chain([elsewhere]).collect::<Vec<_>>()]
    };
    let rows = compare(&side(1.0, 1.0, 1.0), &side(1.3, 1.4, 0.7), &question(Unit::Pass)).rows;
    let remarks = |row: &Comparison| row.remarks.clone();
    let opposed = |names: &[&str]| {
        vec![Remark::Opposed(names.iter().map(|name| (*name).to_owned()).collect())]
    };
    assert_eq!(remarks(&rows[0]), opposed(&["latency_p99_ns"]));
    assert_eq!(remarks(&rows[1]), opposed(&["rate_bytes_per_s", "latency_mean_ns"]));
    assert_eq!(remarks(&rows[2]), opposed(&["latency_p99_ns"]));
    assert_eq!((rows[3].outcome, remarks(&rows[3])), (Outcome::Worse, vec![]));
}

#[test]
fn runs_are_the_units_where_there_are_several() {
    let runs = |factors: &[f64]| -> Vec<Vec<Series>> {
        factors.iter().map(|factor| vec![series("cell", times(*factor))]).collect()
    };
    let run = question(Unit::Run);
    // Each run differs from the next by more than its passes from each other.
    let same = compare(&runs(&[1.0, 1.2, 0.9, 1.1]), &runs(&[1.15, 0.95, 1.05, 1.0]), &run);
    assert_eq!((same.rows[0].outcome, same.rows[0].counts), (Outcome::CannotTell, (4, 4)));
    let worse = compare(&runs(&[1.0, 1.02, 0.99, 1.01]), &runs(&[1.31, 1.3, 1.33, 1.29]), &run);
    assert_eq!(worse.rows[0].outcome, Outcome::Worse);
}

#[test]
fn what_is_not_of_the_same_thing_is_not_comparable() {
    let shaped = |bytes: &str| {
        let shape = BTreeMap::from([("block_bytes", bytes.to_owned())]);
        vec![vec![Series { shape, ..series("cell", A.to_vec()) }]]
    };
    let pass = question(Unit::Pass);
    let row = compare(&shaped("4096"), &shaped("8192"), &pass).rows.remove(0);
    assert_eq!(row.outcome, Outcome::NotComparable);
    assert_eq!(row.reason.as_deref(), Some("block_bytes 4096 and 8192"));
    let across = Question { across: vec![Aspect::Size], ..pass.clone() };
    let row = compare(&shaped("4096"), &shaped("8192"), &across).rows.remove(0);
    assert_eq!(row.outcome, Outcome::NoDifference);
    let refused = Question { refusal: Some("another kernel".into()), ..pass.clone() };
    let compared = compare(&shaped("1"), &shaped("1"), &refused);
    assert_eq!((compared.rows[0].outcome, compared.tested), (Outcome::NotComparable, 0));
    // Still shown, without a verdict.
    assert!(compared.rows[0].difference_percent.is_some());
    assert_eq!(one(&A, &[], &pass).reason.as_deref(), Some("not measured in B"));
}

#[test]
fn nothing_is_divided_by_zero() {
    let pass = question(Unit::Pass);
    assert_eq!(one(&[0.0; 5], &[0.0; 5], &pass).outcome, Outcome::NoDifference);
    let row = one(&[0.0; 5], &[1.0; 5], &pass);
    assert_eq!((row.outcome, row.difference_percent), (Outcome::NotComparable, None));
    assert!(row.reason.unwrap().starts_with("A is not above 0"));
    assert!(one(&[1.0; 5], &[0.0; 5], &pass).difference_percent.unwrap() < -99.0);
    let compared = compare(&[], &[], &pass);
    assert_eq!(compared, Compared::default());
}

#[test]
fn holm_multiplies_by_what_is_left() {
    // Holm (1979), as in the textbooks: .01, .02, .03, .04 become .04, .06, .06, .06.
    let mut rows: Vec<(Comparison, Measured)> = [0.03, 0.01, 0.04, 0.02]
        .map(|p| {
            (
                Comparison { probability: Some(p), ..one(&A, &A, &question(Unit::Pass)) },
                Measured::default(),
            )
        })
        .into();
    holm(&mut rows);
    let corrected: Vec<f64> =
        rows.iter().filter_map(|(row, _)| row.corrected_probability).collect();
    for (found, expected) in corrected.iter().zip([0.06, 0.04, 0.06, 0.06]) {
        assert!((found - expected).abs() < 1e-12, "{corrected:?}");
    }
}

/// Passes about 100, each like its predecessor by this share.
fn passes(random: &mut Random, count: usize, noise: f64, memory: f64) -> Vec<f64> {
    let mut state = random.normal();
    (0..count)
        .map(|_| {
            let value = 100.0 * (noise * state).exp();
            state = memory * state + (1.0 - memory * memory).sqrt() * random.normal();
            value
        })
        .collect()
}

/// False differences of 200 comparisons, each by itself.
fn false_differences(unit: Unit, count: usize, memory: f64) -> usize {
    let mut random = Random::new(1947);
    let mut powers = Powers::default();
    let mut is_false = |random: &mut Random| {
        let a = passes(random, count, 0.03, memory);
        let b = passes(random, count, 0.03, memory);
        let row = one_with(&mut powers, &a, &b, &question(unit));
        matches!(row.outcome, Outcome::Better | Outcome::Worse)
    };
    (0..200).filter(|_| is_false(&mut random)).count()
}

#[test]
fn differences_in_nothing_are_rare() {
    for unit in [Unit::Pass, Unit::Round] {
        for (count, memory) in [(5, 0.0), (12, 0.0), (48, 0.2), (120, 0.6)] {
            let found = false_differences(unit, count, memory);
            println!("{unit:?}, {count} passes, autocorrelation {memory}: {found} of 200 false");
            assert!(found <= 16, "{unit:?} {count} {memory}: {found}");
        }
    }
}

#[test]
fn among_many_cells_hardly_ever_one_is_false() {
    let mut random = Random::new(1979);
    let (mut families, mut powers) = (0, Powers::default());
    for _ in 0..60 {
        let mut side = || {
            let cell = |n: usize| series(&format!("{n}"), passes(&mut random, 10, 0.02, 0.0));
            vec![(0..10).map(cell).collect::<Vec<_>>()]
        };
        let compared = compare_with(&mut powers, &side(), &side(), &question(Unit::Pass));
        assert_eq!(compared.tested, 10);
        let is_false = |row: &Comparison| matches!(row.outcome, Outcome::Better | Outcome::Worse);
        families += usize::from(compared.rows.iter().any(is_false));
    }
    println!("{families} of 60 families of 10 comparisons have a false difference");
    assert!(families <= 6, "{families}");
}

/// A row as one of so many comparisons, of which it is the hardest to be sure of.
fn among(
    powers: &mut Powers,
    (a, b): (Vec<f64>, Vec<f64>),
    unit: Unit,
    cells: usize,
) -> Comparison {
    let question = question(unit);
    let (a, b) = (series("cell", a), series("cell", b));
    let key = (a.subject.clone(), a.quantity.clone());
    let mut rows = [row(&key, &vec![&a], &vec![&b], &question)];
    find_floors(&mut rows, &question);
    let level = LEVEL / cells as f64;
    find_probabilities(&mut rows, unit.design());
    let [(mut row, mut measured)] = rows;
    let [a, b] = &measured.units;
    let test = Test::of(unit.design(), (a.len(), b.len()), level);
    row.probability = Some(test.probability(a, b));
    (measured.test, measured.level) = (Some(test), level);
    row.corrected_probability = row.probability.map(|p| (p * cells as f64).min(1.0));
    judge(row, &measured, &question, powers, cells)
}

/// Of 250 pilots: how often a delay of 5 % is found in new runs of the number that the pilot
/// recommended, and the middle of these numbers.
fn power(unit: Unit, pilot: usize, noise: f64, cells: usize) -> (f64, usize) {
    let mut random = Random::new(1995);
    let mut powers = Powers::default();
    let (mut found, mut numbers) = (0, Vec::new());
    let mut planted = |count: usize| {
        let a = passes(&mut random, count, noise, 0.0);
        let b = passes(&mut random, count, noise, 0.0).iter().map(|v| v * 1.05).collect();
        among(&mut powers, (a, b), unit, cells)
    };
    for _ in 0..250 {
        // What the pilot has told already needs no more, and what cannot be known has no number.
        let Some(needed) = planted(pilot).needed else { continue };
        numbers.push(needed);
        found += usize::from(planted(needed).outcome == Outcome::Worse);
    }
    numbers.sort_unstable();
    let middle = numbers.get(numbers.len() / 2).copied().unwrap_or(0);
    (found as f64 / numbers.len().max(1) as f64, middle)
}

#[test]
fn a_planted_delay_is_found_at_the_number_that_is_recommended() {
    for unit in [Unit::Pass, Unit::Round] {
        for (pilot, noise, cells) in [(3, 0.02, 1), (5, 0.03, 20), (8, 0.04, 20)] {
            let (power, number) = power(unit, pilot, noise, cells);
            println!(
                "{unit:?}, pilot of {pilot}, noise {noise}, {cells} cells: {number} passes, power \
                 {power:.3}"
            );
            assert!(power >= 0.9, "{unit:?} {pilot} {noise} {cells}: {power}");
        }
    }
}

/// Whole traces have a value and its interval: apart they differ, else nobody can tell.
#[test]
fn values_of_whole_traces_differ_where_their_intervals_are_apart() {
    let side = |value: f64, half: f64| {
        vec![vec![Series {
            quantity: "lost_percent".into(),
            values: vec![value],
            interval: Some((value - half, value + half)),
            ..Series::default()
        }]]
    };
    let question = question(Unit::Stretch);
    for (a, b, outcome) in [
        ((4.0, 1.0), (10.0, 2.0), Outcome::Worse),
        ((10.0, 2.0), (4.0, 1.0), Outcome::Better),
        ((4.0, 3.0), (8.0, 3.0), Outcome::CannotTell),
        ((10.0, 0.1), (10.1, 0.1), Outcome::NoDifference),
        ((0.0, 0.0), (0.0, 0.0), Outcome::NoDifference),
        ((0.0, 0.0), (5.0, 1.0), Outcome::Worse),
    ] {
        let compared = compare(&side(a.0, a.1), &side(b.0, b.1), &question);
        let row = &compared.rows[0];
        assert_eq!(row.outcome, outcome, "{a:?} {b:?} {row:?}");
        assert!(row.needed.is_none() && compared.tested == 0, "{row:?}");
    }
    // 4 apart, and 6 is the sum of half of both intervals.
    let row = compare(&side(4.0, 3.0), &side(8.0, 3.0), &question).rows.remove(0);
    let longer = "the 95 % intervals of A and B overlap; traces about 3 times as long may tell";
    assert_eq!(row.reason.as_deref(), Some(longer));
    // Without an interval no longer trace would help.
    let lone = |value| {
        let mut side = side(value, 0.0);
        side[0][0].interval = None;
        side
    };
    let row = compare(&lone(4.0), &lone(9.0), &question).rows.remove(0);
    assert_eq!((row.outcome, row.needed), (Outcome::CannotTell, None));
    assert_eq!(row.difference_percent, Some(125.0));
    let told = "has one value, without an interval; 4 traces per side may tell";
    assert_eq!(row.reason, Some(format!("each trace {told}")));
    let row = compare(&side(4.0, 1.0), &lone(9.0), &question).rows.remove(0);
    assert_eq!((row.outcome, row.reason), (Outcome::CannotTell, Some(format!("B {told}"))));
}

/// Where some values are 0, the change and its interval are still shares of one number.
#[test]
fn a_change_lies_in_its_interval_where_values_are_0() {
    let (a, b) = ([0.0, 0.0, 0.0, 1.0, 5.0, 9.0, 40.0], [3.0; 7]);
    let row = one(&a, &b, &question(Unit::Pass));
    let (low, high) = row.low_percent.zip(row.high_percent).unwrap();
    assert!((low..=high).contains(&row.difference_percent.unwrap()), "{row:?}");
}

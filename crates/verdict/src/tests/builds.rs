//! Many short processes of a build are one victim and one cause; who else is about is neither.

use super::*;
use crate::role::BUILD;

/// Of a build, by title; some were gone before they were asked, and have their name alone.
const STEPS: [&str; 5] = ["make -j4", "/usr/lib/gcc/12/cc1 a.c", "as -o a.o", "gcc-12 b.c", "ld"];

/// Reads by some in turn, beside others' writes, for which they take longer but in calm.
fn beside(readers: &[&str], writers: &[&str], calm: bool) -> Vec<(String, String, f64)> {
    let mut load = Load::with(&[readers, writers].concat());
    load.reads(1, 30, |ns| if is_in_burst(ns) && !calm { 9 * MS } else { MS });
    for (row, number) in load.rows.iter_mut().zip(0..) {
        row.pid = Some(1 + number % readers.len() as u32);
    }
    for number in (0..3000).filter(|number| is_in_burst(number * 10 * MS)) {
        let writer = readers.len() + number as usize % writers.len();
        load.request(writer as u32 + 1, Op::Write, number * 10 * MS, 10 * MS, 1 << 20);
    }
    named(&load.findings())
}

fn assert_one(found: &[(String, String, f64)], victim: &str, cause: &str) {
    let [(of, behind, lost_s)] = found else { panic!("{found:?}") };
    assert_eq!((of.as_str(), behind.as_str()), (victim, cause));
    assert!((10.5..12.1).contains(lost_s), "{lost_s}");
}

#[test]
fn a_build_is_one_cause_and_another_ones_load_is_not_its() {
    assert_one(&beside(&["reader"], &STEPS, false), "reader", BUILD);
    assert_one(&beside(&["reader"], &["dd of=x"], false), "reader", "dd");
}

#[test]
fn a_build_is_one_victim() {
    assert_one(&beside(&STEPS, &["dd of=x"], false), BUILD, "dd");
}

/// As a script of a test or a build may start them.
#[test]
fn victim_and_cause_that_one_script_starts_stay_two_roles() {
    assert_one(&beside(&["fio --name=a"], &["dd of=x"], false), "fio", "dd");
}

#[test]
fn a_build_of_which_nobody_suffers_is_not_blamed() {
    assert_eq!(beside(&STEPS, &["dd of=x"], true), []);
    assert_eq!(beside(&["reader"], &STEPS, true), []);
}

//! Many short processes of a build or a script are one victim and one cause; who else is about is
//! neither.

use super::*;
use crate::role::BUILD;

/// Of a build, by title; some were gone before they were asked, and have their name alone.
const STEPS: [&str; 5] = ["make -j4", "/usr/lib/gcc/12/cc1 a.c", "as -o a.o", "gcc-12 b.c", "ld"];

/// A script, and short commands that it runs.
const COMMANDS: [&str; 5] = ["bash /ci/nightly.sh", "cp a b", "sed -i x", "mv b c", "git add b"];

/// Reads by some in turn, beside others' writes, for which they take longer but in calm.
fn beside(readers: &[&str], writers: &[&str], calm: bool) -> Vec<(String, String, f64)> {
    let mut load = Load::with(&[readers, writers].concat());
    let [script, of_script @ ..] = COMMANDS;
    for process in &mut load.context.processes {
        let is_run = of_script.contains(&process.command.as_str());
        process.job = is_run.then(|| script.to_owned());
    }
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

#[test]
fn the_short_commands_of_a_script_are_one_cause_and_another_ones_load_is_not_its() {
    assert_one(&beside(&["reader"], &COMMANDS, false), "reader", "nightly.sh");
    assert_one(&beside(&COMMANDS, &["dd of=x"], false), "nightly.sh", "dd");
    assert_one(&beside(&COMMANDS, &STEPS, false), "nightly.sh", BUILD);
}

/// As a script of a test or a build may start them: what goes on for long, and short ones of two
/// programs.
#[test]
fn victim_and_cause_that_one_script_starts_stay_two_roles() {
    assert_one(&beside(&["fio --name=a"], &["dd of=x"], false), "fio", "dd");
    assert_one(&beside(&["cp a b"], &["mv b c"], false), "cp", "mv");
}

#[test]
fn a_build_or_a_script_of_which_nobody_suffers_is_not_blamed() {
    assert_eq!(beside(&STEPS, &["dd of=x"], true), []);
    assert_eq!(beside(&COMMANDS, &["dd of=x"], true), []);
    assert_eq!(beside(&["reader"], &COMMANDS, true), []);
    assert_eq!(beside(&["reader"], &STEPS, true), []);
}

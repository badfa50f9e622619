//! The one table that is printed, and its sum.

use super::run::Outcome;
use std::fmt::Write as _;

/// The table: a row a target, then the total.
pub(super) fn render(outcomes: &[Outcome]) -> String {
    let mut text = line(["target", "executions", "seconds", "peak MiB", "result"]);
    for outcome in outcomes {
        let [executions, seconds, peak] =
            [outcome.executions, outcome.seconds, outcome.peak_mib].map(|n| n.to_string());
        let result = outcome.finding.as_deref().unwrap_or("ok");
        text += &line([&outcome.name, &executions, &seconds, &peak, result]);
    }
    let sum = |each: fn(&Outcome) -> u64| outcomes.iter().map(each).sum::<u64>();
    let found = outcomes.iter().filter(|outcome| outcome.finding.is_some()).count();
    // A string takes any text.
    let _ = writeln!(
        text,
        "total: {} targets, {} executions in {} s of fuzzing, {found} findings",
        outcomes.len(),
        sum(|outcome| outcome.executions),
        sum(|outcome| outcome.seconds),
    );
    text
}

fn line([target, executions, seconds, peak, result]: [&str; 5]) -> String {
    format!("{target:18} {executions:>12} {seconds:>8} {peak:>9}  {result}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_ends_with_its_sum() {
        let outcome = |name: &str, finding: Option<&str>| Outcome {
            name: name.to_owned(),
            executions: 1000,
            seconds: 20,
            peak_mib: 71,
            finding: finding.map(str::to_owned),
        };
        let wanted = "\
target               executions  seconds  peak MiB  result
blktrace                   1000       20        71  ok
disksim-validate           1000       20        71  it panicked
total: 2 targets, 2000 executions in 40 s of fuzzing, 1 findings
";
        let found = [outcome("blktrace", None), outcome("disksim-validate", Some("it panicked"))];
        assert_eq!(render(&found), wanted);
    }
}

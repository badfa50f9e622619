//! What the victim itself measured: whether the planted cause had an effect at all. Independent of
//! lbolt: the programs' own logs of latencies, and when the disturbance ran.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

/// The victims' logs, a line a wait: `MS, NS, …`, when it ended (since 1970) and how long it took.
/// That is fio's format, too.
const WAITS: &str = "waits";
/// A line a disturbance: when it began and ended.
const PHASES: &str = "phases";

/// Waits while it was disturbed, against the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Effect {
    /// p99 over that in calm.
    pub(super) p99: f64,
    /// Of all time waited, what lies beyond the mean in calm.
    pub(super) lost: f64,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p99 × {:.1}, {:.0} % of the waits lost", self.p99, self.lost * 100.0)
    }
}

#[derive(Debug, Clone, Copy)]
struct Wait {
    end_ms: f64,
    ns: f64,
}

impl Wait {
    fn is_in(&self, phase: &RangeInclusive<f64>) -> bool {
        let begin = self.end_ms - self.ns / 1e6;
        begin <= *phase.end() && *phase.start() <= self.end_ms
    }
}

/// The effect by the logs in the case's directory; nothing where they do not tell.
pub(super) fn read(work: &Path) -> Option<Effect> {
    let phases = std::fs::read_to_string(work.join(PHASES)).ok()?;
    let phases: Vec<_> = numbers(&phases, ' ').map(|[from, to]| from..=to).collect();
    let files = std::fs::read_dir(work).ok()?.filter_map(Result::ok);
    let files = files.filter(|file| file.file_name().to_string_lossy().starts_with(WAITS));
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    let texts = texts.collect::<String>();
    let waits = numbers(&texts, ',').map(|[end_ms, ns]| Wait { end_ms, ns });
    effect(waits.collect(), &phases)
}

fn numbers(text: &str, separator: char) -> impl Iterator<Item = [f64; 2]> {
    text.lines().filter_map(move |line| {
        let mut parts = line.split(separator).map(|part| part.trim().parse::<f64>());
        Some([parts.next()?.ok()?, parts.next()?.ok()?])
    })
}

fn effect(waits: Vec<Wait>, phases: &[RangeInclusive<f64>]) -> Option<Effect> {
    let is_disturbed = |wait: &Wait| phases.iter().any(|phase| wait.is_in(phase));
    let (disturbed, calm): (Vec<_>, Vec<_>) = waits.into_iter().partition(is_disturbed);
    let usual = sum(&calm) / calm.len() as f64;
    let lost = sum(&disturbed) - usual * disturbed.len() as f64;
    let p99 = p99(&disturbed)? / p99(&calm)?;
    Some(Effect { p99, lost: lost / (sum(&calm) + sum(&disturbed)) })
}

fn sum(waits: &[Wait]) -> f64 {
    waits.iter().map(|wait| wait.ns).sum()
}

fn p99(waits: &[Wait]) -> Option<f64> {
    let mut sorted: Vec<f64> = waits.iter().map(|wait| wait.ns).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() * 99 / 100).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_in_a_disturbance_are_held_against_the_others() {
        let waits = numbers("10, 1000000, 0, 4096\n20, 1000000\nx\n40, 18000000\n", ',');
        let waits: Vec<_> = waits.map(|[end_ms, ns]| Wait { end_ms, ns }).collect();
        let found = effect(waits.clone(), &[30.0..=35.0]).unwrap();
        assert_eq!(found, Effect { p99: 18.0, lost: 17.0 / 20.0 });
        assert_eq!(found.to_string(), "p99 × 18.0, 85 % of the waits lost");
        assert_eq!(effect(waits, &[]), None);
    }
}

//! What the victim itself measured: whether the planted cause had an effect at all, and whether the
//! machine's own disk stood still in a calm load. Independent of lbolt: the programs' own logs of
//! latencies, and when the disturbance ran.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

/// The victims' logs, a line a wait: `MS, NS, …`, when it ended (since 1970) and how long it took.
/// That is fio's format, too.
const WAITS: &str = "waits";
/// What the programs themselves log has such a name, of which [`WAITS`] are made.
const LOGS: &str = ".log";
/// A disk stood still where a wait took so much longer than the usual one, and so long.
const STALL_TIMES: f64 = 20.0;
const STALL_NS: f64 = 20e6;
/// A line a disturbance: when it began and ended.
const PHASES: &str = "phases";

/// Waits while it was disturbed, against the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Effect {
    /// p99 over that in calm.
    pub(super) p99: f64,
    /// Of all time waited, what lies beyond the mean in calm.
    pub(super) lost: f64,
    /// The same in ns.
    pub(super) lost_ns: f64,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { p99, lost, lost_ns } = self;
        let (percent, lost_s) = (lost * 100.0, lost_ns / 1e9);
        write!(f, "p99 × {p99:.1}, {percent:.0} % of the waits ({lost_s:.2} s) lost")
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
    effect(waits(work, |name| name.starts_with(WAITS)), &phases)
}

/// The longest wait in ns where it tells, by the programs' own logs, that the disk stood still.
/// With nothing else on the machine a virtual one did so for 60 to 390 ms three times in two
/// minutes.
pub(super) fn stall_ns(work: &Path) -> Option<f64> {
    longest(&waits(work, |name| name.ends_with(LOGS)))
}

fn longest(waits: &[Wait]) -> Option<f64> {
    let sorted = sorted(waits);
    let (usual, longest) = (sorted.get(sorted.len() / 2)?, *sorted.last()?);
    (longest >= STALL_NS && longest >= STALL_TIMES * usual).then_some(longest)
}

fn waits(work: &Path, is_log: impl Fn(&str) -> bool) -> Vec<Wait> {
    let files = std::fs::read_dir(work).into_iter().flatten().filter_map(Result::ok);
    let files = files.filter(|file| is_log(&file.file_name().to_string_lossy()));
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    let texts = texts.collect::<String>();
    numbers(&texts, ',').map(|[end_ms, ns]| Wait { end_ms, ns }).collect()
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
    let lost_ns = sum(&disturbed) - usual * disturbed.len() as f64;
    let p99 = p99(&disturbed)? / p99(&calm)?;
    Some(Effect { p99, lost: lost_ns / (sum(&calm) + sum(&disturbed)), lost_ns })
}

fn sum(waits: &[Wait]) -> f64 {
    waits.iter().map(|wait| wait.ns).sum()
}

fn p99(waits: &[Wait]) -> Option<f64> {
    let sorted = sorted(waits);
    sorted.get(sorted.len() * 99 / 100).copied()
}

fn sorted(waits: &[Wait]) -> Vec<f64> {
    let mut sorted: Vec<f64> = waits.iter().map(|wait| wait.ns).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_in_a_disturbance_are_held_against_the_others() {
        let waits = numbers("10, 1000000, 0, 4096\n20, 1000000\nx\n40, 18000000\n", ',');
        let waits: Vec<_> = waits.map(|[end_ms, ns]| Wait { end_ms, ns }).collect();
        let found = effect(waits.clone(), &[30.0..=35.0]).unwrap();
        assert_eq!(found, Effect { p99: 18.0, lost: 17.0 / 20.0, lost_ns: 17e6 });
        assert_eq!(found.to_string(), "p99 × 18.0, 85 % of the waits (0.02 s) lost");
        assert_eq!(effect(waits, &[]), None);
    }

    #[test]
    fn a_disk_stood_still_where_one_wait_was_much_longer_than_the_usual_one() {
        let work = tempfile::tempdir().unwrap();
        let stall = |text: &str| {
            std::fs::write(work.path().join("orders.7.log"), text).unwrap();
            stall_ns(work.path())
        };
        assert_eq!(stall(""), None);
        assert_eq!(stall("10, 900000\n20, 900000\n30, 92807079\n"), Some(92_807_079.0));
        assert_eq!(stall("10, 900000\n20, 900000\n30, 19000000\n"), None, "short");
        assert_eq!(stall("10, 9000000\n20, 9000000\n30, 92807079\n"), None, "not unusual");
    }
}

//! Response times of a class of requests, and the numbers of them that are compared.

use super::super::turn::Turn;
use super::rows;
use anyhow::bail;
use model::record::{Flags, Op, Request};
use std::collections::BTreeMap;
use std::path::Path;

/// Fewer requests have no 99th percentile that is worth a comparison: ten of them are beyond it.
pub(super) const P99_COUNT_MIN: usize = 1000;

/// What a request is called in the findings of `whatif`.
pub(super) fn class(row: &Request) -> &'static str {
    match row.op {
        Op::Write if row.flags.contains(Flags::BACKGROUND) => "async write",
        Op::Write => "sync write",
        other => other.name(),
    }
}

/// NAME RUN FACTOR MIB: of the program's reads and writes in the first MiB of a device,
/// `NAME_read_mean` and so on; times are multiplied by a factor.
pub(in super::super) fn times(words: &[&str], turn: &mut Turn) -> anyhow::Result<()> {
    let [name, run, factor, mib] = words else { bail!("times NAME RUN FACTOR MIB") };
    let (factor, mib): (f64, u64) = (factor.parse()?, mib.parse()?);
    let mut times = Times::default();
    for row in rows::read(Path::new(run))?.iter().filter(|row| rows::is_programs(row, mib)) {
        rows::response_ns(row).into_iter().for_each(|ns| times.add(row.op.name(), ns * factor));
    }
    for class in ["read", "write"] {
        for number in ["p50", "mean", "p99"] {
            let ns = times.number(class, number);
            ns.into_iter().for_each(|ns| turn.add(&format!("{name}_{class}_{number}"), ns));
        }
    }
    Ok(())
}

/// Response times by class, ns.
#[derive(Debug, Default)]
pub(super) struct Times(BTreeMap<&'static str, Vec<f64>>);

impl Times {
    pub(super) fn add(&mut self, class: &'static str, response_ns: f64) {
        self.0.entry(class).or_default().push(response_ns);
    }

    pub(super) fn classes(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    pub(super) fn count(&self, class: &str) -> usize {
        self.0.get(class).map_or(0, Vec::len)
    }

    /// The mean, or the time that a share of them does not exceed (`p50`, `p99`).
    pub(super) fn number(&self, class: &str, number: &str) -> Option<f64> {
        let times = self.0.get(class).filter(|times| !times.is_empty())?;
        let share = match number {
            "p50" => 0.5,
            "p99" => 0.99,
            _ => return Some(times.iter().sum::<f64>() / times.len() as f64),
        };
        let mut sorted = times.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_of_a_class() {
        let mut times = Times::default();
        (1..=200).for_each(|n| times.add("read", f64::from(n)));
        times.add("flush", 7.0);
        assert_eq!(times.number("read", "mean"), Some(100.5));
        assert_eq!(times.number("read", "p50"), Some(100.0));
        assert_eq!(times.number("read", "p99"), Some(198.0));
        assert_eq!(times.number("flush", "p99"), Some(7.0));
        assert_eq!((times.number("async write", "mean"), times.count("read")), (None, 200));
        assert_eq!(times.classes().collect::<Vec<_>>(), ["flush", "read"]);
    }
}

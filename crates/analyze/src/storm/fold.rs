//! Responses against when they began within the writer's period, all periods laid one over the
//! other: what the 1986 paper shows in figure 7.
//!
//! Only requests of our own jobs count, of the passes without a remedy.

use model::record::subject::{NO_REMEDY, StormStream, Subject};
use model::record::{Flags, Op, Request, Sample};
use std::collections::BTreeMap;

/// The period is cut into so many parts.
pub const PARTS: u64 = 60;
/// A level is a quarter of a decade.
const LEVELS_A_DECADE: f64 = 4.0;

/// How many reads began in a part of the period and took so long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fold {
    /// From one sync to the next, ns; they are due in its middle.
    pub period_ns: u64,
    /// By the level of the response and the part of the period.
    pub counts: BTreeMap<(i32, u64), u64>,
    /// From when to when passes without a remedy ran, ns.
    passes: Vec<(i64, i64)>,
}

impl Fold {
    /// Of a run's passes; requests are yet to come.
    pub fn new(samples: &[Sample], period_ns: u64) -> Self {
        let span = |sample: &Sample| match &sample.subject {
            Subject::Storm(of) if of.remedy == NO_REMEDY && of.stream == StormStream::Write => {
                let wall_ns = i64::try_from(sample.wall_ns).ok()?;
                Some((sample.started_ns, sample.started_ns + wall_ns))
            }
            _ => None,
        };
        let mut passes: Vec<(i64, i64)> = samples.iter().filter_map(span).collect();
        passes.sort_unstable();
        Self { period_ns, counts: BTreeMap::new(), passes }
    }

    /// Takes a request.
    pub fn add(&mut self, row: &Request) {
        let is_read = row.op == Op::Read && row.is_asked();
        let (Some(begin_ns), Some(end_ns)) = (row.arrival_ns(), row.completed_ns) else { return };
        if !is_read || !row.flags.contains(Flags::JOB) {
            return;
        }
        let after = self.passes.partition_point(|pass| pass.0 <= begin_ns);
        let Some(pass) = after.checked_sub(1).and_then(|place| self.passes.get(place)) else {
            return;
        };
        let (Ok(since_ns), true) = (u64::try_from(begin_ns - pass.0), begin_ns < pass.1) else {
            return;
        };
        let part = since_ns % self.period_ns.max(1) * PARTS / self.period_ns.max(1);
        let took_ns = (end_ns - begin_ns).max(1) as f64;
        let level = (took_ns.log10() * LEVELS_A_DECADE).floor() as i32;
        *self.counts.entry((level, part)).or_default() += 1;
    }

    /// The least response of a level, ns.
    pub fn level_ns(level: i32) -> f64 {
        10f64.powf(f64::from(level) / LEVELS_A_DECADE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::subject::Storm;

    #[test]
    fn periods_lie_one_over_the_other_and_only_our_reads_without_a_remedy_count() {
        let pass = |remedy: &str, stream, started_ns| {
            let subject = Subject::Storm(Storm { remedy: remedy.into(), stream, target: None });
            Sample { subject, started_ns, wall_ns: 1200, ..Sample::default() }
        };
        let samples = [
            pass("none", StormStream::Write, 1000),
            pass("bfq", StormStream::Write, 3000),
            pass("none", StormStream::Read, 5000),
        ];
        let mut fold = Fold::new(&samples, 600);
        let read = |begin_ns: i64, took_ns: i64| Request {
            flags: Flags::JOB,
            queued_ns: Some(begin_ns),
            completed_ns: Some(begin_ns + took_ns),
            ..Request::default()
        };
        // At the same place of two periods; before, after and under a remedy.
        for begin_ns in [1010, 1610, 900, 2200, 3010, 5010] {
            fold.add(&read(begin_ns, 1000));
        }
        fold.add(&Request { flags: Flags::OWN, ..read(1010, 1000) });
        fold.add(&Request { op: Op::Write, ..read(1010, 1000) });
        fold.add(&read(1599, 10));
        assert_eq!(fold.counts, BTreeMap::from([((12, 1), 2), ((4, 59), 1)]));
        assert_eq!(Fold::level_ns(12), 1000.0);
    }
}

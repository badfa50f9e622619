//! Which remedies go on: after every few rounds the better half of them, so that time is spent on
//! what may win (successive halving: Karnin, Koren & Somekh 2013).

use super::{NONE, TAIL_SHARE};
use model::record::Sample;
use model::record::subject::{StormStream, Subject};
use std::collections::{BTreeMap, BTreeSet};

/// So many are never fewer.
pub(super) const FEWEST: usize = 3;

/// What is known of the remedies so far: the logarithm of the victims' tails, by round.
#[derive(Debug, Default)]
pub(super) struct Standing {
    tails: BTreeMap<(String, u64), Vec<f64>>,
}

impl Standing {
    /// Takes a pass's samples.
    pub(super) fn see(&mut self, sample: &Sample) {
        let Subject::Storm(storm) = &sample.subject else { return };
        let is_victim = matches!(storm.stream, StormStream::Read | StormStream::Commit);
        let tail_ns = sample.latency().and_then(|latency| latency.tail_mean_ns(TAIL_SHARE));
        if let (true, Some(tail_ns)) = (is_victim, tail_ns) {
            let tails = self.tails.entry((storm.remedy.clone(), sample.pass)).or_default();
            tails.push(tail_ns.max(1.0).ln());
        }
    }

    /// The mean of [`Self::ratios`].
    pub(super) fn score(&self, remedy: &str) -> f64 {
        let ratios = self.ratios(remedy);
        match ratios.len() {
            0 => f64::INFINITY,
            count => ratios.iter().sum::<f64>() / count as f64,
        }
    }

    /// Remedies that are known.
    pub(super) fn tried(&self) -> usize {
        let names: BTreeSet<&String> = self.tails.keys().map(|(name, _)| name).collect();
        names.iter().filter(|name| **name != NONE).count()
    }

    /// The logarithms of what a remedy leaves of the tails without any, round by round.
    pub(super) fn ratios(&self, remedy: &str) -> Vec<f64> {
        let of = |remedy: &str, round: u64| {
            let tails = self.tails.get(&(remedy.to_owned(), round))?;
            Some(tails.iter().sum::<f64>() / tails.len() as f64)
        };
        let rounds =
            self.tails.keys().filter(|(known, _)| known == remedy).map(|(_, round)| *round);
        rounds.filter_map(|round| Some(of(remedy, round)? - of(NONE, round)?)).collect()
    }

    /// The names that go on: none, and the better half of the others.
    pub(super) fn better_half(&self, names: &[String]) -> Vec<String> {
        let mut others: Vec<&String> = names.iter().filter(|name| *name != NONE).collect();
        others.sort_by(|a, b| self.score(a).total_cmp(&self.score(b)));
        let count = others.len().div_ceil(2).max(FEWEST);
        let stays = |name: &&String| *name == NONE || others.iter().take(count).any(|o| o == name);
        names.iter().filter(stays).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::histogram::Histogram;
    use model::record::subject::Storm;

    fn sample(remedy: &str, stream: StormStream, pass: u64, tail_ns: u64) -> Sample {
        let storm = Storm { remedy: remedy.into(), stream, target: None };
        let mut sample = Sample { subject: Subject::Storm(storm), pass, ..Sample::default() };
        let mut latency = Histogram::default();
        (0..99).for_each(|_| latency.record(1000));
        (0..5).for_each(|_| latency.record(tail_ns));
        sample.set_latency(&latency);
        sample
    }

    #[test]
    fn the_better_half_goes_on_and_none_always() {
        let mut standing = Standing::default();
        let names: Vec<String> =
            ["none", "a", "b", "c", "d", "e", "f", "g", "h"].map(str::to_owned).to_vec();
        for round in 0..2 {
            for (number, name) in names.iter().enumerate() {
                let tail_ns = 1_000_000 / (number as u64 + 1) * (round + 1);
                standing.see(&sample(name, StormStream::Read, round, tail_ns));
                standing.see(&sample(name, StormStream::Write, round, 1 << 40));
            }
        }
        let half = standing.better_half(&names);
        assert_eq!(half, ["none", "e", "f", "g", "h"]);
        assert_eq!(standing.better_half(&half), ["none", "f", "g", "h"]);
        assert_eq!(standing.better_half(&half[..2]), half[..2]);
        let ratio = standing.score("d").exp();
        assert!((ratio - 0.2).abs() < 0.02, "{ratio}");
    }
}

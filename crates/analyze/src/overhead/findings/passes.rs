//! The values of a cell's passes: which count, and what they come to.

use crate::overhead::{Observation, Quantity, set_aside_disturbed};
use crate::statistics::estimate;
use model::doubt::{Doubt, Judgement, Verdict};
use model::record::Sample;

/// A cell's values by one account, and what was set aside.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Passes {
    pub(super) kept: Vec<f64>,
    doubts: Vec<Doubt>,
    is_suspect: bool,
}

impl Passes {
    /// What the values are worth.
    pub(super) fn judged(&self) -> Judgement {
        let verdict = if self.is_suspect { Verdict::Suspect } else { Verdict::Ok };
        Judgement { verdict, doubts: self.doubts.clone() }
    }
}

/// So many sound passes are enough, however many others there are.
const SOUND_PASSES: usize = 3;

/// Of passes whose times grow as the core slows, this share counts, and so many at the least: those
/// beside which the core was quickest, by copies that know nothing of the times.
const QUICKEST_SHARE: f64 = 1.0 / 3.0;

/// As [`of`], of the passes beside which the core was quickest.
pub(super) fn of_quickest<'a>(
    samples: impl Iterator<Item = &'a Sample>,
    value: impl Fn(&'a Sample) -> Option<f64>,
) -> Passes {
    let is_sound = |sample: &&Sample| sample.verdict == Verdict::Ok;
    let all: Vec<&Sample> = samples.collect();
    let sound = all.iter().copied().filter(is_sound).count();
    // Among the sound ones where they are enough, as `of` counts them.
    let counts = |sample: &&Sample| sound < SOUND_PASSES || is_sound(sample);
    let mut probed: Vec<f64> =
        all.iter().copied().filter(counts).filter_map(|s| s.overhead().probe_ns).collect();
    probed.sort_by(f64::total_cmp);
    let quickest = (probed.len() as f64 * QUICKEST_SHARE).ceil() as usize;
    let bound = probed.get(quickest.max(SOUND_PASSES).saturating_sub(1)).copied();
    let is_quick =
        |s: &&Sample| s.overhead().probe_ns.zip(bound).is_none_or(|(ns, bound)| ns <= bound);
    of(all.into_iter().filter(is_quick), value)
}

/// The values of the passes that count: those that failed no check, where they are enough or at
/// least half of all; otherwise all of them, and the doubts. Then those that the machine disturbed
/// go too.
pub(super) fn of<'a>(
    samples: impl Iterator<Item = &'a Sample>,
    value: impl Fn(&'a Sample) -> Option<f64>,
) -> Passes {
    let valued = samples.filter_map(|sample| Some((sample, value(sample)?)));
    let all: Vec<(&Sample, f64)> = valued.collect();
    let is_sound = |(sample, _): &&(&Sample, f64)| sample.verdict == Verdict::Ok;
    let sound: Vec<_> = all.iter().filter(is_sound).copied().collect();
    let is_suspect = sound.len() < SOUND_PASSES && 2 * sound.len() < all.len();
    let counted = if is_suspect { &all } else { &sound };
    let observation =
        |(_, value): &(&Sample, f64)| Observation { block_bytes: 0, value_ns: *value };
    let observations: Vec<Observation> = counted.iter().map(observation).collect();
    let kept = set_aside_disturbed(&observations).kept.iter().map(|o| o.value_ns).collect();
    let mut doubts: Vec<Doubt> = Vec::new();
    for doubt in all.iter().filter(|_| is_suspect).flat_map(|(sample, _)| &sample.doubts) {
        // Figures differ from pass to pass: the first of each kind stands for all.
        if !doubts.iter().any(|known| known.is_like(doubt)) {
            doubts.push(doubt.clone());
        }
    }
    Passes { kept, doubts, is_suspect }
}

/// The mean with its error; none without values.
pub(super) fn mean(values: &[f64]) -> Option<Quantity> {
    let found = estimate(values)?;
    let n = values.len() as f64;
    Some(match found.deviation {
        Some(deviation) => Quantity::new(found.mean, deviation / n.sqrt(), n - 1.0),
        None => Quantity::new(found.mean, 0.0, f64::INFINITY),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::Overhead;

    #[test]
    fn the_passes_beside_which_the_core_was_quickest_count() {
        let pass = |n: u32| Sample {
            operations: u64::from(n),
            verdict: if n == 9 { Verdict::Suspect } else { Verdict::Ok },
            overhead: Some(Box::new(Overhead {
                probe_ns: Some(f64::from(100 + n % 9)),
                ..Overhead::default()
            })),
            ..Sample::default()
        };
        let samples: Vec<Sample> = (1..=18).map(pass).collect();
        let number = |sample: &Sample| Some(sample.operations as f64);
        // Pass 9 was quickest too, but failed a check.
        let found = of_quickest(samples.iter(), number);
        // A third of seventeen is six; the last of them has an equal.
        assert_eq!(found.kept, [1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 18.0]);
        assert_eq!(found.judged(), Judgement::default());
        // Few passes: three at the least, and all where nobody looked at the core.
        assert_eq!(of_quickest(samples[..4].iter(), number).kept, [1.0, 2.0, 3.0]);
        let unseen: Vec<Sample> =
            samples.iter().map(|s| Sample { overhead: None, ..s.clone() }).collect();
        assert_eq!(of_quickest(unseen.iter(), number).kept.len(), 17);
    }
}

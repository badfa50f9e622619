//! The values of a cell's passes: which count, and what they come to.

use crate::overhead::{Observation, Quantity, set_aside_disturbed};
use crate::statistics::estimate;
use model::record::{Sample, Verdict};

/// A cell's values by one account, and what was set aside.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Passes {
    pub(super) kept: Vec<f64>,
    verdict: Option<Verdict>,
    reasons: Vec<String>,
}

impl Passes {
    /// What the values are worth.
    pub(super) fn judged(&self) -> (Verdict, Option<String>) {
        let text = self.reasons.join("\n");
        (self.verdict.unwrap_or(Verdict::Ok), (!text.is_empty()).then_some(text))
    }
}

/// So many sound passes are enough, however many others there are.
const SOUND_PASSES: usize = 3;

/// The values of the passes that count: those that failed no check, where they are enough or at
/// least half of all; otherwise all of them, and the reasons. Then those that the machine disturbed go
/// too.
pub(super) fn of<'a>(
    samples: impl Iterator<Item = &'a Sample>,
    value: impl Fn(&&'a Sample) -> Option<f64>,
) -> Passes {
    let valued = samples.filter_map(|sample| Some((sample, value(&sample)?)));
    let all: Vec<(&Sample, f64)> = valued.collect();
    let is_sound = |(sample, _): &&(&Sample, f64)| sample.verdict == Verdict::Ok.name();
    let sound: Vec<_> = all.iter().filter(is_sound).copied().collect();
    let is_suspect = sound.len() < SOUND_PASSES && 2 * sound.len() < all.len();
    let counted = if is_suspect { &all } else { &sound };
    let observation =
        |(_, value): &(&Sample, f64)| Observation { block_bytes: 0, value_ns: *value };
    let observations: Vec<Observation> = counted.iter().map(observation).collect();
    let kept = set_aside_disturbed(&observations).kept.iter().map(|o| o.value_ns).collect();
    let mut reasons: Vec<String> = Vec::new();
    if is_suspect {
        for sentence in all.iter().filter_map(|(s, _)| s.reason.as_deref()).flat_map(str::lines) {
            // Numbers differ from pass to pass: the first of each kind stands for all.
            let kind = |text: &str| text.chars().filter(|c| c.is_alphabetic()).collect::<String>();
            if !reasons.iter().any(|known| kind(known) == kind(sentence)) {
                reasons.push(sentence.to_owned());
            }
        }
    }
    Passes { kept, verdict: is_suspect.then_some(Verdict::Suspect), reasons }
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

/// The middle value; none without values.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.len(), values.len().is_multiple_of(2)) {
        (0, _) => None,
        (_, true) => Some((values[middle - 1] + values[middle]) / 2.0),
        (_, false) => Some(values[middle]),
    }
}

//! What a device's response times did over time, beside those of others of its model.
//!
//! Values are logarithms of a bin's geometric mean. What all devices of the model have in common, a
//! rhythm of the day, is taken off; what is left of two times is compared by hours of the day, and
//! its chance is told by blocks of hours, since neighbouring hours are alike.
//!
//! Non-goals: the slowest requests.

use crate::fleet::pace::Pace;
use crate::fleet::series::quantile;
use std::collections::BTreeMap;

/// Requests of a bin, at the least: of fewer it says nothing.
const COUNT_LEAST: u64 = 20;
/// Devices that tell what they have in common, at the least.
const OTHERS_LEAST: usize = 4;
/// Bins of a block, and blocks that tell what is chance.
const BLOCK: usize = 4;
const BLOCKS_LEAST: usize = 3;

/// Values of a device by the numbers of bins, in ascending order.
pub(super) type Track = Vec<(i64, f64)>;

/// A difference of two times, and its deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    pub(super) by: f64,
    pub(super) chance: f64,
}

/// The values of a device.
pub(super) fn track(pace: &Pace) -> Track {
    let known = pace.bins().filter(|(_, bin)| bin.count() >= COUNT_LEAST);
    known.map(|(number, bin)| (number, bin.logarithm())).collect()
}

/// Takes off what tracks have in common: of each bin the middle of how far they are from their own
/// means.
pub(super) fn without_rhythm(tracks: &mut [Track]) {
    let means: Vec<f64> = tracks.iter().map(|track| middle(track.iter().map(|of| of.1))).collect();
    let mut bins: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (track, mean) in tracks.iter().zip(&means) {
        track.iter().for_each(|(number, of)| bins.entry(*number).or_default().push(of - mean));
    }
    let common: BTreeMap<i64, f64> = bins
        .into_iter()
        .filter(|(_, of)| of.len() >= OTHERS_LEAST)
        .map(|(number, of)| (number, middle(of.into_iter())))
        .collect();
    for track in tracks.iter_mut() {
        track.iter_mut().for_each(|(number, of)| *of -= common.get(number).unwrap_or(&0.0));
    }
}

fn middle(of: impl Iterator<Item = f64>) -> f64 {
    quantile(of.collect(), 0.5)
}

/// How much higher a track is from a bin on than before it; none where too little is known.
pub(super) fn step(track: &Track, at: i64, a_day: i64) -> Option<Step> {
    let [before, after] = [false, true].map(|is_after| {
        let mut slots: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for (number, of) in track.iter().filter(|(number, _)| (*number >= at) == is_after) {
            slots.entry(number.rem_euclid(a_day)).or_default().push(*of);
        }
        slots.into_iter().map(|(slot, of)| (slot, mean(&of))).collect::<BTreeMap<i64, f64>>()
    });
    let both: Vec<f64> =
        after.iter().filter_map(|(slot, of)| Some(of - before.get(slot)?)).collect();
    if both.len() >= BLOCK * BLOCKS_LEAST {
        return Some(Step { by: mean(&both), chance: chance(&both)? });
    }
    // Of less than a day on either side, hours are not compared with the same ones.
    let [before, after] = [before, after].map(|of| of.into_values().collect::<Vec<f64>>());
    let chance = chance(&before)?.hypot(chance(&after)?);
    Some(Step { by: mean(&after) - mean(&before), chance })
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len().max(1) as f64
}

/// The deviation of a mean of values of which neighbours are alike.
fn chance(of: &[f64]) -> Option<f64> {
    let blocks: Vec<f64> = of.chunks(BLOCK).map(mean).collect();
    let n = blocks.len() as f64;
    let all = mean(&blocks);
    let square = blocks.iter().map(|of| (of - all).powi(2)).sum::<f64>() / (n - 1.0);
    (blocks.len() >= BLOCKS_LEAST).then(|| (square / n).sqrt())
}

/// What of a track's variance about its mean a line leaves, and what the best single step leaves;
/// none of fewer than four values.
pub(super) fn line_and_step(track: &Track) -> Option<(f64, f64)> {
    let n = track.len() as f64;
    if track.len() < 4 {
        return None;
    }
    let x = mean(&track.iter().map(|of| of.0 as f64).collect::<Vec<_>>());
    let y = mean(&track.iter().map(|of| of.1).collect::<Vec<_>>());
    let sum = |of: &dyn Fn(f64, f64) -> f64| {
        track.iter().map(|(at, value)| of(*at as f64 - x, value - y)).sum::<f64>()
    };
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    if yy <= 0.0 {
        return None;
    }
    let mut sum_before = 0.0;
    let mut best: f64 = 0.0;
    for (place, (_, value)) in track.iter().enumerate().take(track.len() - 1) {
        sum_before += value - y;
        let before = (place + 1) as f64;
        best = best.max(sum_before.powi(2) * n / (before * (n - before)));
    }
    Some((1.0 - xy * xy / xx / yy, 1.0 - best / yy))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rhythm of the day, and what somebody adds to it.
    fn track_of(hours: i64, of: impl Fn(i64) -> f64) -> Track {
        let rhythm = |hour: i64| (hour as f64 * std::f64::consts::TAU / 24.0).sin();
        let noise = |hour: i64| ((hour * 7919) % 13) as f64 / 100.0;
        (0..hours).map(|hour| (hour, rhythm(hour) + noise(hour) + of(hour))).collect()
    }

    #[test]
    fn what_all_have_in_common_is_no_step() {
        let mut tracks: Vec<Track> = (0..6).map(|_| track_of(48, |_| 0.0)).collect();
        tracks.push(track_of(48, |hour| if hour < 24 { 0.0 } else { 0.3 }));
        without_rhythm(&mut tracks);
        let step_of = |place: usize| step(&tracks[place], 24, 24).unwrap();
        assert!(step_of(0).by.abs() < 0.01, "{:?}", step_of(0));
        assert!((step_of(6).by - 0.3).abs() < 0.02, "{:?}", step_of(6));
        assert_eq!(step(&Track::new(), 24, 24), None);
    }

    #[test]
    fn a_line_is_no_step_and_a_step_no_line() {
        let (line, one) = line_and_step(&(0..48).map(|h| (h, h as f64)).collect()).unwrap();
        assert!(line < 1e-9 && one > 0.2, "{line} {one}");
        let half = (0..48).map(|h| (h, if h < 24 { 0.0 } else { 1.0 })).collect();
        let (line, one) = line_and_step(&half).unwrap();
        assert!(one < 1e-9 && line > 0.2, "{line} {one}");
        assert_eq!(line_and_step(&vec![(0, 1.0); 3]), None);
    }
}

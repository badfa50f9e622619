//! A host whose requests take longer and longer, beside others of its model.
//!
//! What it took in the second half of the time is held against the first half, by hours of the day;
//! it is a drift where a line tells it as well as any single step does.
//!
//! Non-goals: a step (`super::change`).

use super::track::{Step, Track, line_and_step, step, track, without_rhythm};
use super::{Kin, LEAST, MIDDLE_DISTANCE};
use crate::fleet::series::middle;
use analyze::statistics::student_of;
use model::fleet::{Common, FleetSlower, Slowness};

/// How much of what it differs by a line leaves, at the most.
const LEFT_MOST: f64 = 0.5;
/// Bins that are one where it is asked whether they lie on a line.
const AS_ONE: usize = 4;
/// Of its own chance, which few blocks tell, and the middle of all, which is of other hosts.
const OTHERS: f64 = 3.0;
/// Degrees of freedom of both.
const DEGREES: f64 = 20.0;

pub(super) fn drifts(kin: &Kin<'_>) -> Vec<FleetSlower> {
    let models = kin.by_model();
    let tests: usize = models.iter().map(|(.., members)| members.len()).sum();
    let wide = student_of(tests, DEGREES).unwrap_or(f64::INFINITY);
    let mut found = Vec::new();
    for (operation, model, members) in &models {
        let mut tracks: Vec<Track> = members.iter().map(|member| track(member.pace)).collect();
        without_rhythm(&mut tracks);
        let halves: Vec<Option<Half>> = tracks.iter().map(|of| half(of, kin.a_day)).collect();
        let known = || halves.iter().flatten();
        let usual = middle(known().map(|of| of.step.chance).collect());
        let common = middle(known().map(|of| of.step.by).collect());
        let spread = middle(known().map(|of| (of.step.by - common).abs()).collect());
        for ((member, track), half) in members.iter().zip(&tracks).zip(&halves) {
            let Some(half) = half else { continue };
            let own = half.step.chance.powi(2) + OTHERS * usual.powi(2);
            let chance = (own / (1.0 + OTHERS)).sqrt().max(spread / MIDDLE_DISTANCE);
            let by = half.step.by;
            let (first, last) =
                (track.first().map_or(0, |of| of.0), track.last().map_or(0, |of| of.0));
            let times = (last - first) as f64 / half.bins as f64;
            if by <= wide * chance || by * times < LEAST || !is_line(track) {
                continue;
            }
            let ends = [by, by - wide * chance, by + wide * chance].map(|of| (times * of).exp());
            found.push(FleetSlower {
                slowness: Slowness::Drift,
                common: Common::Host,
                key: member.host().to_owned(),
                model: (*model).to_owned(),
                device: member.key[1].clone(),
                operation: (*operation).to_owned(),
                share: 1.0,
                ratio: ends[0],
                low: ends[1],
                high: ends[2],
                span_unix_ns: (first * kin.bin_ns, (last + 1) * kin.bin_ns),
                hosts: kin.found([member.host()]),
                of_hosts: members.len(),
                ..FleetSlower::default()
            });
        }
    }
    found
}

/// The second half of a time against the first, of which each has so many bins.
struct Half {
    step: Step,
    bins: i64,
}

/// Of whole days, if there are two.
fn half(track: &Track, a_day: i64) -> Option<Half> {
    let (first, last) = (track.first()?.0, track.last()?.0);
    let bins = (last + 1 - first) / 2;
    let bins = if bins >= a_day { bins / a_day * a_day } else { bins };
    let at = last + 1 - bins;
    let both = track.iter().filter(|(number, _)| *number >= at - bins).copied().collect();
    Some(Half { step: step(&both, at, a_day)?, bins })
}

fn is_line(track: &Track) -> bool {
    let means = track.chunks(AS_ONE).map(|of| {
        let n = of.len() as f64;
        (of[0].0, of.iter().map(|(_, value)| value).sum::<f64>() / n)
    });
    line_and_step(&means.collect()).is_some_and(|(line, step)| line <= LEFT_MOST && line <= step)
}

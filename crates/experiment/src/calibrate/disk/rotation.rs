//! How long a revolution takes: two readings of a sector from the platter are completed whole
//! revolutions apart, however many. And what of a cache stands before: a sector that is read again
//! soon comes from there.

use super::series::{Ask, Reader, Seen};
use model::seam::{Subject, SubjectError};

/// Revolutions that disks make a second: from 2,400 to 20,000 rpm.
const HERTZ: [f64; 2] = [40.0, 334.0];
/// So many sectors are read in turn at first, and at the most, until none comes from a cache.
const APART: [u64; 2] = [8, 1024];
/// Rounds over them.
const ROUNDS: usize = 6;
/// The longest pause between them.
const PAUSE_NS: u64 = 20_000_000;
/// The least pause before a sector is read again.
const HIT_PAUSE_NS: u64 = 60_000_000;
/// A revolution takes longer, and a read from a cache does not.
const HIT_MOST_NS: f64 = 2_500_000.0;
/// So many reads tell a cache, each so many sectors behind the one before where it reads ahead.
const HIT_READS: u64 = 10;
const HIT_STEP: u64 = 3;
/// Times from a cache are as near to each other.
const HIT_SPREAD_NS: f64 = 300_000.0;
/// A time from a cache is at the most so many times the least of them, and so much more.
const HIT: (f64, f64) = (1.3, 50_000.0);
/// Below this share the differences have no period.
const PERIODIC: f64 = 0.8;
/// Periods whose scores are as near as this are multiples of one.
const ALIKE: f64 = 0.95;

/// What is known of the platter and of what stands before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rotation {
    pub(super) turn_ns: f64,
    /// Half of its interval's width.
    pub(super) within_ns: f64,
    /// Times of a sector from the cache, ns; none where there is no cache.
    pub(super) hit_ns: Option<f64>,
    /// What was read stays in the cache, whatever is read ahead behind it.
    pub(super) keeps: bool,
    /// Another so many reads, and a sector is no longer in the cache.
    pub(super) apart: u64,
    /// As many sectors stay in it.
    pub(super) segments: u64,
}

impl Rotation {
    /// Where the platter stands when a read was completed, as a share of a revolution.
    pub(super) fn phase(&self, seen: &Seen) -> f64 {
        (seen.found_ns as f64 / self.turn_ns).fract()
    }

    pub(super) fn is_hit(&self, seen: &Seen) -> bool {
        self.hit_ns.is_some_and(|hit_ns| seen.time_ns() <= hit_ns * HIT.0 + HIT.1)
    }
}

/// Finds the revolution; none where nothing turns.
pub(super) fn rotation<S: Subject>(
    reader: &mut Reader<'_, S>,
) -> Result<Option<Rotation>, SubjectError> {
    let hit = hit(reader)?;
    let mut of = Rotation {
        turn_ns: 1.0,
        within_ns: 0.0,
        hit_ns: hit.map(|hit| hit.0),
        keeps: hit.is_some_and(|hit| hit.1),
        apart: APART[0],
        segments: 1,
    };
    loop {
        let places: Vec<u64> = places(reader, of.apart);
        let mut asked = vec![];
        for _ in 0..ROUNDS {
            // Rounds of about one length would fit to many periods: a pause makes them unlike.
            let long_ns = reader.below(PAUSE_NS * of.apart * 2);
            let pause_ns = |at: usize, own: u64| if at == 0 { long_ns } else { own };
            for (at, &block) in places.iter().enumerate() {
                let pause_ns = pause_ns(at, reader.below(PAUSE_NS));
                asked.push(Ask { block, blocks: 1, pause_ns });
            }
        }
        let seen = reader.read(asked)?;
        let (_, again) = seen.split_at(places.len());
        if again.iter().any(|seen| of.is_hit(seen)) {
            of.apart *= 2;
            if of.apart > APART[1] {
                return Ok(None);
            }
            continue;
        }
        let Some((turn_ns, within_ns)) = period(&seen, places.len()) else { return Ok(None) };
        (of.turn_ns, of.within_ns) = (turn_ns, within_ns);
        of.segments = segments(reader, &of)?;
        return Ok(Some(of));
    }
}

/// Places that are far from each other, in no order.
fn places<S: Subject>(reader: &mut Reader<'_, S>, count: u64) -> Vec<u64> {
    let part = reader.blocks / count;
    let stride = (count / 2 - 1) | 1;
    let mut place = |at: u64| (at * stride % count) * part + reader.below(part * 3 / 4);
    (0..count).map(&mut place).collect()
}

/// What a sector from the cache takes, and whether that is one that was read before or one that was
/// read ahead; none where it takes any time. Pauses let what is read ahead come to its end.
fn hit<S: Subject>(reader: &mut Reader<'_, S>) -> Result<Option<(f64, bool)>, SubjectError> {
    for keeps in [true, false] {
        let block = reader.below(reader.blocks - HIT_READS * HIT_STEP);
        let ask = |at: u64| Ask {
            block: if keeps { block } else { block + at * HIT_STEP },
            blocks: 1,
            pause_ns: HIT_PAUSE_NS + at * at * 170_000,
        };
        let seen = reader.read((0..HIT_READS).map(ask).collect())?;
        let times = seen.iter().skip(1).map(Seen::time_ns);
        let (low, high) =
            times.fold((f64::MAX, 0.0f64), |(low, high), time| (low.min(time), high.max(time)));
        if high - low < HIT_SPREAD_NS {
            return Ok(Some((low, keeps)));
        }
    }
    // What is read ahead may take the place of both: then at once.
    let places: Vec<u64> = (0..HIT_READS).map(|_| reader.below(reader.blocks)).collect();
    let seen = reader.sectors(places.into_iter().flat_map(|place| [place, place]))?;
    let times: Vec<f64> = seen.iter().skip(1).step_by(2).map(Seen::time_ns).collect();
    let low = times.iter().copied().fold(f64::MAX, f64::min);
    let high = times.iter().copied().fold(0.0, f64::max);
    // Without a cache all take a revolution.
    let is_hit = high - low < HIT_SPREAD_NS && low < HIT_MOST_NS;
    Ok(is_hit.then_some((low, false)))
}

/// How many sectors stay in the cache.
fn segments<S: Subject>(reader: &mut Reader<'_, S>, of: &Rotation) -> Result<u64, SubjectError> {
    if !of.keeps {
        return Ok(1);
    }
    let (mut held, mut gone) = (1, of.apart + 1);
    while gone - held > 1 {
        let count = held.midpoint(gone);
        let mut places = places(reader, count.max(2));
        places.truncate(count as usize);
        places.push(places[0]);
        let seen = reader.sectors(places)?;
        match seen.last().is_some_and(|seen| of.is_hit(seen)) {
            true => held = count,
            false => gone = count,
        }
    }
    Ok(held)
}

/// The longest period of the times between readings of the same sector, and how sure it is.
fn period(seen: &[Seen], places: usize) -> Option<(f64, f64)> {
    let at = |index: usize| seen[index].found_ns as f64;
    let apart = |rounds: usize| {
        (places * rounds..seen.len()).map(move |index| at(index) - at(index - places * rounds))
    };
    let near: Vec<f64> = apart(1).collect();
    let longest_s = near.iter().fold(0.0f64, |a, b| a.max(*b)) / 1e9;
    let step = 0.05 / longest_s;
    let count = ((HERTZ[1] - HERTZ[0]) / step) as usize;
    let scores: Vec<f64> = (0..count).map(|at| score(&near, HERTZ[0] + at as f64 * step)).collect();
    let best = scores.iter().copied().fold(0.0, f64::max);
    if best < PERIODIC {
        return None;
    }
    // Half a period fits as well: the longest is meant.
    let first = scores.iter().position(|score| *score > best * ALIKE)?;
    let mut hertz = refine(&near, HERTZ[0] + first as f64 * step, step * 4.0);
    let mut turn_ns = 1e9 / hertz;
    let mut within_ns = 0.0;
    for rounds in 1..ROUNDS {
        let all: Vec<f64> = apart(rounds).collect();
        let per_turn: Vec<f64> =
            all.iter().map(|apart| apart / (apart / turn_ns).round()).collect();
        turn_ns = per_turn.iter().sum::<f64>() / per_turn.len() as f64;
        let off = per_turn.iter().map(|of| (of - turn_ns).powi(2)).sum::<f64>();
        within_ns = 2.0 * off.sqrt() / per_turn.len() as f64 + 1.0;
        hertz = 1e9 / turn_ns;
    }
    (hertz > HERTZ[0]).then_some((turn_ns, within_ns))
}

fn score(apart: &[f64], hertz: f64) -> f64 {
    let cosine = |ns: &f64| (std::f64::consts::TAU * (ns * hertz / 1e9).fract()).cos();
    apart.iter().map(cosine).sum::<f64>() / apart.len() as f64
}

/// The best near a frequency.
fn refine(apart: &[f64], hertz: f64, within: f64) -> f64 {
    let (mut best, mut within) = (hertz, within);
    for _ in 0..6 {
        let near = (-20..=20).map(|at| best + within * f64::from(at) / 20.0);
        best = near.max_by(|a, b| score(apart, *a).total_cmp(&score(apart, *b))).unwrap_or(best);
        within /= 8.0;
    }
    best
}

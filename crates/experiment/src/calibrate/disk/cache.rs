//! How far a disk reads ahead, and what a sector takes from its cache.

use super::layout::{Tracks, Turning};
use super::series::{Ask, Seen};
use model::calibration::ReadAhead;
use model::seam::{Subject, SubjectError};

/// Where on a track the reads are, after which it is looked how far it read on.
const ALONG: [f64; 3] = [0.1, 0.45, 0.8];
/// Revolutions that it has for it.
const TURNS: f64 = 12.0;
/// The farthest that is looked.
const FARTHEST: u64 = 1 << 15;
/// Sectors of a larger read from the cache.
const MANY: u64 = 16;
/// Two ends are the same within so many sectors.
const SAME: f64 = 3.0;

impl<S: Subject> Turning<'_, '_, S> {
    /// What a sector's way from the cache takes, beside the command's, ns.
    pub(super) fn sector_from_cache_ns(&mut self) -> Result<f64, SubjectError> {
        let Some(hit_ns) = self.rotation.hit_ns else { return Ok(0.0) };
        if !self.rotation.keeps {
            return self.sector_read_ahead_ns(hit_ns);
        }
        let block = self.reader.below(self.reader.blocks - MANY);
        let pause_ns = (self.rotation.turn_ns * TURNS) as u64;
        let ask = |_| Ask { block, blocks: MANY, pause_ns };
        let seen = self.reader.read((0..4).map(ask).collect())?;
        let least = seen[1..].iter().map(Seen::time_ns).fold(f64::MAX, f64::min);
        Ok(((least - hit_ns) / (MANY - 1) as f64).clamp(0.0, hit_ns))
    }

    /// The same by sectors that were read ahead.
    fn sector_read_ahead_ns(&mut self, hit_ns: f64) -> Result<f64, SubjectError> {
        let block = self.reader.below(self.reader.blocks - 4 * MANY);
        let pause_ns = (self.rotation.turn_ns * TURNS) as u64;
        let own = [(block, 1), (block + 2, MANY)];
        let ask = |(block, blocks)| Ask { block, blocks, pause_ns };
        let seen = self.reader.read(own.map(ask).to_vec())?;
        let time_ns = seen.last().map_or(hit_ns, Seen::time_ns);
        Ok(((time_ns - hit_ns) / (MANY - 1) as f64).clamp(0.0, hit_ns))
    }

    /// How far it reads on.
    pub(super) fn read_ahead(&mut self, tracks: &Tracks) -> Result<ReadAhead, SubjectError> {
        if self.rotation.hit_ns.is_none() {
            return Ok(ReadAhead::None);
        }
        let (first, of_track) = tracks.first;
        let mut ends = vec![];
        for (place, along) in ALONG.into_iter().enumerate() {
            let off = (along * of_track) as u64;
            let heads = tracks.heads().unwrap_or(1);
            let end = self.end(first + off, of_track, (place as u64, heads))?;
            ends.push((off as f64, end as f64));
        }
        Ok(kind(&ends, of_track))
    }

    /// How many sectors behind a read are in the cache a while later.
    fn end(
        &mut self,
        block: u64,
        of_track: f64,
        (place, heads): (u64, u64),
    ) -> Result<u64, SubjectError> {
        let (mut held, mut gone) = (0, FARTHEST);
        let mut ahead = 1;
        // Each try is about other tracks, which nothing read before.
        for attempt in 0..32 {
            let tracks = (attempt * ALONG.len() as u64 + place) * heads;
            let from = block + (tracks as f64 * of_track) as u64;
            let pause_ns = (self.rotation.turn_ns * TURNS) as u64;
            let far = self.reader.below(self.reader.blocks);
            let ask = |block: u64, pause_ns| Ask { block, blocks: 1, pause_ns };
            if from + ahead >= self.reader.blocks {
                break;
            }
            let others: Vec<u64> =
                (0..self.rotation.apart).map(|_| self.reader.below(self.reader.blocks)).collect();
            let others = others.into_iter().map(|block| ask(block, 0));
            let own = [ask(far, 0), ask(from, 0), ask(from + ahead, pause_ns)];
            let seen = self.reader.read(others.chain(own).collect())?;
            match seen.last().is_some_and(|seen| self.rotation.is_hit(seen)) {
                true => held = ahead,
                false => gone = ahead,
            }
            if gone - held <= 1 {
                break;
            }
            ahead = if gone == FARTHEST { ahead * 2 } else { held.midpoint(gone) };
            if ahead >= FARTHEST {
                break;
            }
        }
        Ok(held)
    }
}

/// What ends at the same place, or after as many sectors.
fn kind(ends: &[(f64, f64)], of_track: f64) -> ReadAhead {
    let all = |of: &dyn Fn(&(f64, f64)) -> f64| {
        let first = ends.first().map_or(0.0, of);
        ends.iter().all(|end| (of(end) - first).abs() <= SAME).then_some(first)
    };
    let longest = ends.iter().map(|end| end.1).fold(0.0, f64::max);
    let behind = |end: &(f64, f64)| end.0 + end.1 + 1.0;
    match (longest < 1.0, all(&|end| end.1), all(&behind)) {
        (true, ..) => ReadAhead::None,
        (_, Some(blocks), _) => ReadAhead::Blocks(blocks as u64),
        (_, _, Some(end)) if (end - of_track).abs() <= SAME => ReadAhead::Track,
        (_, _, Some(end)) if (end - 2.0 * of_track).abs() <= 2.0 * SAME => ReadAhead::NextTrack,
        (_, _, Some(_)) => ReadAhead::Cylinder,
        _ => {
            let mut sorted: Vec<f64> = ends.iter().map(|end| end.1).collect();
            sorted.sort_by(f64::total_cmp);
            ReadAhead::Blocks(sorted[sorted.len() / 2] as u64)
        }
    }
}

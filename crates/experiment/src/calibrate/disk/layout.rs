//! Where sectors lie: how many a track holds, by place (zones), how far the next track's first
//! sector is turned against it (skews), and how many tracks a cylinder has.
//!
//! A sector that is read from the platter is completed when it has passed under the head, so the
//! moment says at which angle it lies (DIXtrac's way to the layout, without the drive's own words).
//! Reads go backwards, because disks read ahead.
//!
//! Non-goals: single defects; which heads a cylinder begins with.

use super::rotation::Rotation;
use super::series::{Reader, Seen};
use model::calibration::DiskZone;
use model::seam::{Subject, SubjectError};

/// Places at which tracks are counted, and how near a zone's bound is found, as a share.
const SAMPLES: u64 = 48;
const NEAR: u64 = 4000;
/// Tries of a place, before it is given up.
const TRIES: u64 = 8;
/// Tracks that skews are taken from.
const TRACKS: u64 = 50;
/// Skews are alike within so many sectors.
const SKEW_SECTORS: f64 = 1.5;

/// A disk whose rotation is known.
pub(super) struct Turning<'r, 'a, S> {
    pub(super) reader: &'r mut Reader<'a, S>,
    pub(super) rotation: Rotation,
}

/// A whole turn is none.
fn turn(share: f64) -> f64 {
    share.rem_euclid(1.0)
}

/// The same about zero.
fn about_zero(share: f64) -> f64 {
    let share = turn(share);
    if share > 0.5 { share - 1.0 } else { share }
}

impl<S: Subject> Turning<'_, '_, S> {
    /// The angle of sectors, read in turn; one that comes from the cache is read again later.
    pub(super) fn phases(&mut self, blocks: &[u64]) -> Result<Vec<f64>, SubjectError> {
        let far = self.reader.below(self.reader.blocks);
        let seen = self.reader.sectors(std::iter::once(far).chain(blocks.iter().copied()))?;
        let mut phases = Vec::with_capacity(blocks.len());
        for (block, seen) in blocks.iter().zip(&seen[1..]) {
            let from = match self.rotation.is_hit(seen) {
                true => self.again(*block)?,
                false => *seen,
            };
            phases.push(self.rotation.phase(&from));
        }
        Ok(phases)
    }

    /// Reads a sector when it is in no cache.
    fn again(&mut self, block: u64) -> Result<Seen, SubjectError> {
        let part = self.reader.blocks / self.rotation.apart;
        let others: Vec<u64> =
            (0..self.rotation.apart).map(|at| at * part + self.reader.below(part)).collect();
        let seen = self.reader.sectors(others.into_iter().chain([block]))?;
        seen.last().copied().ok_or_else(|| SubjectError::Failed("no read completed".into()))
    }

    /// Sectors of a revolution about a block; none where nothing fits.
    pub(super) fn sectors_at(&mut self, block: u64) -> Result<Option<f64>, SubjectError> {
        for attempt in 0..TRIES {
            let first = (block + attempt * 97).min(self.reader.blocks - 2);
            if let Some(sectors) = self.sectors_from(first)? {
                return Ok(Some(sectors));
            }
        }
        Ok(None)
    }

    fn sectors_from(&mut self, first: u64) -> Result<Option<f64>, SubjectError> {
        let mut sectors: Option<f64> = None;
        let mut ahead = 4;
        while first + ahead < self.reader.blocks {
            let found = self.phases(&[first + ahead, first])?;
            let apart = turn(found[0] - found[1]);
            match sectors {
                None if !(0.001..0.2).contains(&apart) => return Ok(None),
                None => sectors = Some(ahead as f64 / apart),
                Some(before) => {
                    let off = about_zero(apart - ahead as f64 / before);
                    if off.abs() * before > 0.4 {
                        return Ok(None);
                    }
                    sectors = Some(ahead as f64 / turn(ahead as f64 / before + off));
                }
            }
            ahead *= 2;
            if sectors.is_some_and(|sectors| ahead as f64 > sectors / 4.0) {
                break;
            }
        }
        Ok(sectors.map(f64::round))
    }

    /// The first sector behind `first` that is not on its track, which holds `sectors`.
    fn boundary(&mut self, first: u64, sectors: f64) -> Result<Option<u64>, SubjectError> {
        let part = ((sectors / 8.0) as u64).max(1);
        let steps: Vec<u64> = (0..=9).rev().map(|at| first + at * part).collect();
        let phases = self.phases(&steps)?;
        let origin = phases[9];
        let is_on = |block: u64, phase: f64| {
            let off = about_zero(phase - origin - (block - first) as f64 / sectors);
            off.abs() * sectors < 0.6
        };
        let on = steps.iter().zip(&phases).rev().take_while(|(block, p)| is_on(**block, **p));
        let Some((mut low, _)) = on.last().map(|(block, phase)| (*block, *phase)) else {
            return Ok(None);
        };
        let mut high = low + part;
        while high - low > 1 {
            let middle = low.midpoint(high);
            let phase = self.phases(&[middle])?[0];
            if is_on(middle, phase) { low = middle } else { high = middle }
        }
        Ok((high < first + 9 * part).then_some(high))
    }

    /// The skews about a block, and how far two tracks' first sectors are apart in numbers.
    fn tracks(&mut self, block: u64, sectors: f64) -> Result<Option<Tracks>, SubjectError> {
        let mut first = None;
        let mut of_track = sectors;
        for attempt in 0..TRIES {
            let block = block + attempt * 131;
            let Some(one) = self.boundary(block, sectors)? else {
                // Nothing is turned against anything: a track is what a revolution holds.
                let first = (block, sectors);
                return Ok(Some(Tracks { first, skews: [0.0; 2], heads: None }));
            };
            let Some(two) = self.boundary(one, sectors)? else { continue };
            let apart = (two - one) as f64;
            // Defects make a track shorter by one or two.
            if apart <= sectors && apart > 0.9 * sectors {
                (first, of_track) = (Some(one), apart);
                break;
            }
        }
        let Some(first) = first else { return Ok(None) };
        let middle = |track: u64| first + (of_track * (track as f64 + 0.5)) as u64;
        let places: Vec<u64> =
            (0..TRACKS).rev().map(middle).filter(|place| *place < self.reader.blocks).collect();
        let mut phases = self.phases(&places)?;
        phases.reverse();
        let share = of_track / sectors;
        let skews: Vec<f64> =
            phases.windows(2).map(|pair| turn(pair[1] - pair[0] - share) * sectors).collect();
        Ok(Some(Tracks::of(skews, (first, of_track), sectors)))
    }

    /// All zones, from the outside, and what is known of the tracks at the first's middle.
    pub(super) fn zones(&mut self) -> Result<Option<(Vec<DiskZone>, Tracks)>, SubjectError> {
        let end = self.reader.blocks;
        let mut known = Vec::new();
        for at in 0..SAMPLES {
            let block = (end * at / SAMPLES + self.reader.below(97)).min(end * 99 / 100);
            if let Some(sectors) = self.sectors_at(block)? {
                known.push((block, sectors));
            }
        }
        let mut bounds = vec![];
        for pair in known.clone().windows(2) {
            self.split(pair[0], pair[1], &mut bounds)?;
        }
        let Some((_, sectors)) = known.first().copied() else { return Ok(None) };
        let starts = std::iter::once((0, sectors)).chain(bounds).collect::<Vec<_>>();
        let ends = starts.iter().skip(1).map(|start| start.0).chain([end]);
        let mut found: Vec<(u64, Tracks, f64)> = vec![];
        for (&(start, sectors), end) in starts.iter().zip(ends) {
            let middle = start + (end - start) / 3 + self.reader.below((end - start) / 8);
            let before = found.last().map(|of| of.1.clone());
            if let Some(tracks) = self.tracks(middle, sectors)?.or(before) {
                found.push((end - start, tracks, sectors));
            }
        }
        Ok(settled(found))
    }

    /// Finds where the sectors of a track change between two places.
    fn split(
        &mut self,
        low: (u64, f64),
        high: (u64, f64),
        bounds: &mut Vec<(u64, f64)>,
    ) -> Result<(), SubjectError> {
        if (low.1 - high.1).abs() < 1.0 {
            return Ok(());
        }
        if high.0 - low.0 < (self.reader.blocks / NEAR).max(4 * high.1 as u64) {
            bounds.push((low.0.midpoint(high.0), high.1));
            return Ok(());
        }
        let middle = low.0.midpoint(high.0);
        let Some(sectors) = self.sectors_at(middle)? else {
            bounds.push((middle, high.1));
            return Ok(());
        };
        self.split(low, (middle, sectors), bounds)?;
        self.split((middle, sectors), high, bounds)
    }
}

/// Tracks one behind the other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tracks {
    /// The first sector of one, and how many numbers the next one's is behind.
    pub(super) first: (u64, f64),
    /// Between tracks of a cylinder, and to the next one, sectors.
    skews: [f64; 2],
    /// Tracks of a cylinder; none where skews do not tell.
    heads: Option<u64>,
}

impl Tracks {
    fn of(skews: Vec<f64>, first: (u64, f64), sectors: f64) -> Self {
        let mut sorted = skews.clone();
        sorted.sort_by(f64::total_cmp);
        let usual = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
        let is_other =
            |skew: f64| about_zero((skew - usual) / sectors).abs() * sectors > SKEW_SECTORS;
        let others: Vec<usize> = (0..skews.len()).filter(|at| is_other(skews[*at])).collect();
        let mut gaps: Vec<usize> = others.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable();
        let heads = gaps.get(gaps.len() / 2).map(|gap| *gap as u64).filter(|gap| *gap > 1);
        let mut beyond: Vec<f64> = others.iter().map(|at| skews[*at]).collect();
        beyond.sort_by(f64::total_cmp);
        let cylinder = beyond.get(beyond.len() / 2).copied().unwrap_or(usual);
        Self { first, skews: [usual, cylinder], heads }
    }
}

/// Zones with cylinders: as many heads as most zones say.
fn settled(found: Vec<(u64, Tracks, f64)>) -> Option<(Vec<DiskZone>, Tracks)> {
    let mut votes: Vec<u64> = found.iter().filter_map(|of| of.1.heads).collect();
    votes.sort_unstable();
    let heads = votes.get(votes.len() / 2).copied();
    let mut first_cylinder = 0;
    let zones = found.iter().map(|(blocks, tracks, sectors)| {
        let of_track = tracks.first.1;
        let of_cylinder = of_track * heads.unwrap_or(1) as f64;
        let cylinders = (*blocks as f64 / of_cylinder).ceil().max(1.0) as u64;
        let zone = DiskZone {
            first_cylinder,
            cylinders,
            sectors: *sectors as u64,
            spares: (sectors - of_track).max(0.0) as u64,
            skews: tracks.skews,
        };
        first_cylinder += cylinders;
        zone
    });
    let zones: Vec<DiskZone> = zones.collect();
    let mut tracks = found.first()?.1.clone();
    tracks.heads = heads;
    Some((zones, tracks))
}

/// The same zones with cylinders of so many tracks, each of which was a cylinder.
pub(super) fn with_heads(zones: &mut [DiskZone], heads: u64) {
    let mut first_cylinder = 0;
    for zone in zones {
        zone.first_cylinder = first_cylinder;
        zone.cylinders = zone.cylinders.div_ceil(heads);
        first_cylinder += zone.cylinders;
    }
}

impl Tracks {
    pub(super) fn heads(&self) -> Option<u64> {
        self.heads
    }
}

//! How long the arm takes, by distance. From one read to the next over the same distance, with
//! sectors at any angle, a read takes between a time M and M and a revolution. So M, which is the
//! command, the arm and the sector, lies between the longest less a revolution and the shortest: an
//! interval that is certain, and narrow with many reads.

use super::layout::Turning;
use super::series::Seen;
use model::calibration::{DiskZone, Seek};
use model::seam::{Subject, SubjectError};

/// Reads over a distance, and how many of them follow each other.
const READS: u64 = 96;
const STEPS: u64 = 4;
/// A track of fewer sectors is none.
const TRACK_LEAST: u64 = 8;
/// Reads without the arm, before the halving.
const STILL_READS: u64 = 24;
const HALVINGS: u32 = 12;
/// Tracks over which changes of the cylinder are looked for.
const CHANGES: u64 = 64;
/// Tracks behind a known one that are numbered as it is.
const NEAR_TRACKS: u64 = 30;
/// The part of all cylinders that surely is there.
const WITHIN: (u64, u64) = (97, 100);
/// Distances grow by so much.
const GROWTH: f64 = 1.3;
/// A window of a revolution is so much wider: what is rounded.
const SLACK: f64 = 1.002;

/// A time between two others, ns.
pub(super) type Between = (f64, f64);

/// The least time of reads whose angles are even: the window of a revolution that holds most.
pub(super) fn least(times: &[f64], turn_ns: f64) -> Option<Between> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let within = |first: f64| {
        sorted.iter().filter(|time| (first..=first + turn_ns * SLACK).contains(*time)).count()
    };
    let first = sorted.iter().copied().rev().max_by_key(|first| within(*first))?;
    let last = sorted.iter().rfind(|time| **time <= first + turn_ns * SLACK)?;
    let low = last - turn_ns;
    Some((low.min(first), low.max(first)))
}

/// Cylinders as places.
pub(super) struct Places<'z> {
    pub(super) zones: &'z [DiskZone],
    pub(super) heads: u64,
    pub(super) blocks: u64,
}

impl Places<'_> {
    pub(super) fn cylinders(&self) -> u64 {
        self.zones.last().map_or(1, |zone| zone.first_cylinder + zone.cylinders)
    }

    /// The first block of a cylinder, and how many it has.
    fn of(&self, cylinder: u64) -> (u64, u64) {
        let mut first = 0;
        for zone in self.zones {
            let own = (zone.sectors - zone.spares) * self.heads;
            if cylinder < zone.first_cylinder + zone.cylinders {
                return (first + (cylinder - zone.first_cylinder) * own, own);
            }
            first += zone.cylinders * own;
        }
        (0, 1)
    }
}

impl<S: Subject> Turning<'_, '_, S> {
    /// The command and a sector of the same track, without the arm: first as any time over a
    /// distance, and then by halving, for the angle between two sectors of a track is known.
    pub(super) fn still(
        &mut self,
        (first, of_track): (u64, f64),
        sectors: f64,
    ) -> Result<Option<Between>, SubjectError> {
        let of_track = of_track as u64;
        if of_track < TRACK_LEAST {
            return Ok(None);
        }
        let turn_ns = self.rotation.turn_ns;
        let mut times = vec![];
        for _ in 0..STILL_READS {
            let back = 1 + self.reader.below(of_track - 2);
            times.extend(self.back((first, of_track), back)?);
        }
        let Some((mut low, mut high)) = least(&times, turn_ns) else { return Ok(None) };
        for _ in 0..HALVINGS {
            let wanted_ns = low.midpoint(high);
            // A sector so far back comes again after the rest of the revolution.
            let back = sectors - (wanted_ns / turn_ns * sectors).round();
            let back = (back.max(1.0) as u64).min(of_track - 2);
            let Some(time) = self.back((first, of_track), back)? else { continue };
            match time > turn_ns {
                true => low = low.max((time - turn_ns).min(high)),
                false => high = high.min(time.max(low)),
            }
        }
        // Angles are known to a sector.
        let sector_ns = turn_ns / sectors;
        Ok(Some((low - sector_ns, high + sector_ns)))
    }

    /// What a sector takes that lies so far before the one that was read, on the same track.
    fn back(
        &mut self,
        (first, of_track): (u64, u64),
        back: u64,
    ) -> Result<Option<f64>, SubjectError> {
        let track = first + self.reader.below(NEAR_TRACKS) * of_track;
        let before = track + self.reader.below(of_track - 1 - back);
        let others: Vec<u64> =
            (0..self.rotation.apart).map(|_| self.reader.below(self.reader.blocks)).collect();
        let seen = self.reader.sectors(others.into_iter().chain([before + back, before]))?;
        Ok(seen.last().filter(|seen| !self.rotation.is_hit(seen)).map(Seen::time_ns))
    }

    /// Tracks of a cylinder where none is turned against another: to the next track a read that is
    /// just late enough for a command is in time, but for the arm's way to the next cylinder.
    pub(super) fn heads(
        &mut self,
        (first, of_track): (u64, f64),
        command_ns: f64,
    ) -> Result<Option<u64>, SubjectError> {
        let of_track = of_track as u64;
        let turn_ns = self.rotation.turn_ns;
        let late = (command_ns / turn_ns * of_track as f64).ceil() as u64 + 2;
        let mut changes = vec![];
        for track in 0..CHANGES {
            let from = first + track * of_track;
            let far = self.reader.below(self.reader.blocks);
            let seen = self.reader.sectors([far, from, from + of_track + late])?;
            if seen.last().is_some_and(|seen| seen.time_ns() > turn_ns) {
                changes.push(track);
            }
        }
        let mut gaps: Vec<u64> = changes.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable();
        Ok(gaps.get(gaps.len() / 2).copied().filter(|gap| *gap > 1))
    }

    /// The least time of a read on the next track; most are of the same cylinder.
    pub(super) fn next_track(
        &mut self,
        (first, of_track): (u64, f64),
    ) -> Result<Option<Between>, SubjectError> {
        let mut times = vec![];
        let of_track = of_track as u64;
        for _ in 0..READS {
            let track = first + self.reader.below(NEAR_TRACKS) * of_track;
            let from = track + self.reader.below(of_track);
            let to = track + of_track + self.reader.below(of_track);
            let far = self.reader.below(self.reader.blocks);
            let seen = self.reader.sectors([far, from, to])?;
            // From the cache the arm did not move.
            let moved = seen[1..].iter().all(|seen| !self.rotation.is_hit(seen));
            times.extend(seen.last().filter(|_| moved).map(Seen::time_ns));
        }
        Ok(least(&times, self.rotation.turn_ns))
    }

    /// The least time of a read so many cylinders away.
    fn over(
        &mut self,
        places: &Places<'_>,
        distance: u64,
    ) -> Result<Option<Between>, SubjectError> {
        let mut times = vec![];
        let cylinders = places.cylinders() * WITHIN.0 / WITHIN.1;
        for _ in 0..READS / STEPS {
            // At one place of all cylinders, give or take half a track: where they begin is known
            // to a few sectors, and so both are as far apart as is meant.
            let (of, along) = (self.reader.below(cylinders - distance), self.reader.below(1 << 20));
            let mut at = of;
            let mut blocks = vec![];
            for _ in 0..=STEPS {
                let (first, own) = places.of(at);
                let track = own / places.heads;
                let place = own * along / (1 << 20) + self.reader.below(track);
                blocks.push((first + place).min(places.blocks - 1));
                at = if at + distance < cylinders { at + distance } else { at - distance };
            }
            let seen = self.reader.sectors(blocks)?;
            let from_platter = seen[1..].iter().filter(|seen| !self.rotation.is_hit(seen));
            times.extend(from_platter.map(Seen::time_ns));
        }
        Ok(least(&times, self.rotation.turn_ns))
    }

    /// The curve, over `still`.
    pub(super) fn seeks(
        &mut self,
        places: &Places<'_>,
        still: Between,
        sector_ns: f64,
    ) -> Result<Vec<Seek>, SubjectError> {
        let longest = (places.cylinders() * WITHIN.0 / WITHIN.1).saturating_sub(1);
        let mut seeks = vec![];
        let mut distance = 1;
        while distance <= longest {
            if let Some((low, high)) = self.over(places, distance)? {
                // Sectors are longer inside, and an end may be off by one.
                let low_ns = (low - still.1 - sector_ns).max(1.0);
                let high_ns = (high - still.0 + sector_ns).max(1.0);
                seeks.push(Seek { distance, low_ns, high_ns });
            }
            let next = ((distance as f64 * GROWTH) as u64).max(distance + 1);
            distance = if distance < longest { next.min(longest) } else { longest + 1 };
        }
        Ok(seeks)
    }
}

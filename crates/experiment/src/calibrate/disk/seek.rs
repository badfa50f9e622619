//! How long the arm takes, by distance. From one read to the next over the same distance, with
//! sectors at any angle, a read takes between a time M and M and a revolution. So M, which is the
//! command, the arm and the sector, lies between the longest less a revolution and the shortest: an
//! interval that is certain, and narrow with many reads.

use super::layout::Turning;
use super::series::Seen;
use model::calibration::{DiskZone, Seek};
use model::seam::{Subject, SubjectError};

/// Reads over a distance.
const READS: u64 = 48;
/// Reads without the arm.
const STILL_READS: u64 = 120;
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
    Some(((last - turn_ns).min(first), first))
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
    fn block_in(&mut self, places: &Places<'_>, cylinder: u64) -> u64 {
        let (first, blocks) = places.of(cylinder);
        // Cylinders are known to a few sectors: the middle of one is its own.
        (first + blocks / 8 + self.reader.below(blocks * 3 / 4)).min(places.blocks - 1)
    }

    /// The command and a sector of the same track, without the arm.
    pub(super) fn still(
        &mut self,
        (first, of_track): (u64, f64),
    ) -> Result<Option<Between>, SubjectError> {
        let mut times = vec![];
        let tracks = (self.reader.blocks - first) / of_track as u64;
        for _ in 0..STILL_READS {
            // Two of a track that nothing read before: the second lies before the first.
            let track = self.reader.below(tracks.min(40));
            let of = first + (track as f64 * of_track) as u64;
            let ahead = 1 + of_track as u64 / 4 + self.reader.below(of_track as u64 * 5 / 8);
            let before = self.reader.below(ahead.min(of_track as u64 - 2)) + 1;
            let others: Vec<u64> = (0..self.rotation.apart.min(READS))
                .map(|_| self.reader.below(self.reader.blocks))
                .collect();
            let seen = self.reader.sectors(others.into_iter().chain([of + ahead, of + before]))?;
            times.extend(seen.last().filter(|seen| !self.rotation.is_hit(seen)).map(Seen::time_ns));
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
        let cylinders = places.cylinders();
        for _ in 0..READS / 4 {
            let from = self.reader.below(cylinders - distance);
            let mut blocks = vec![self.block_in(places, from)];
            let mut at = from;
            for _ in 0..4 {
                at = if at + distance < cylinders { at + distance } else { at - distance };
                blocks.push(self.block_in(places, at));
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
        still_ns: f64,
    ) -> Result<Vec<Seek>, SubjectError> {
        let longest = places.cylinders() - 1;
        let mut seeks = vec![];
        let mut distance = 1;
        while distance <= longest {
            if let Some((low, high)) = self.over(places, distance)? {
                let [low_ns, high_ns] = [low, high].map(|time| (time - still_ns).max(1.0));
                seeks.push(Seek { distance, low_ns, high_ns });
            }
            let next = ((distance as f64 * GROWTH) as u64).max(distance + 1);
            distance = if distance < longest { next.min(longest) } else { longest + 1 };
        }
        Ok(seeks)
    }
}

//! What is inside a rotating disk, by reads alone: revolution, zones, skews, heads, seek curve,
//! cache. After DIXtrac (CMU-CS-99-176) and Worthington, Ganger, Patt & Wilkes (SIGMETRICS 1995),
//! but for what those ask the drive itself: an interface without such words is enough.
//!
//! Non-goals: writes, defects, a queue in the drive, profiles.

mod cache;
mod layout;
mod rotation;
mod seek;
mod series;

use layout::Turning;
use model::calibration::{Disk, Seek};
use model::seam::{Subject, SubjectError};
use seek::Places;
use series::{Ask, Reader, Seen};

/// What is inside, or what of it could not be found.
pub type Inside = Result<Disk, &'static str>;

/// Reads at random places that are looked at first, and the median time below which nothing turns:
/// at 15,000 revolutions a minute half of one takes 2 ms. A virtual disk that says that it turns
/// would be searched for many minutes.
const LOOKED_AT: usize = 33;
const QUICK_NS: f64 = 1e6;

fn median_ns<S: Subject>(reader: &mut Reader<'_, S>) -> Result<f64, SubjectError> {
    let blocks = reader.blocks;
    let asks = (0..LOOKED_AT).map(|_| Ask { block: reader.below(blocks), blocks: 1, pause_ns: 0 });
    let asks = asks.collect();
    let mut times: Vec<f64> = reader.read(asks)?.iter().map(Seen::time_ns).collect();
    times.sort_by(f64::total_cmp);
    Ok(times.get(LOOKED_AT / 2).copied().unwrap_or(0.0))
}

/// Finds what is inside. `begins` is called before each step.
/// Errors: whatever of the subject's was refused or failed, or an interruption.
pub fn inside<S: Subject>(
    subject: &mut S,
    (sector_bytes, size_bytes): (u64, u64),
    seed: u64,
    begins: &mut dyn FnMut(&str),
) -> Result<Inside, SubjectError> {
    let mut reader = Reader::new(subject, (sector_bytes, size_bytes), seed);
    begins("the revolution");
    if median_ns(&mut reader)? < QUICK_NS {
        return Ok(Err("a revolution"));
    }
    let Some(rotation) = rotation::rotation(&mut reader)? else { return Ok(Err("a revolution")) };
    let mut turning = Turning { reader: &mut reader, rotation };
    begins("zones and tracks");
    let Some((mut zones, tracks)) = turning.zones()? else { return Ok(Err("tracks")) };
    let outer = zones.first().map_or(1.0, |zone| zone.sectors as f64);
    let sector_ns = rotation.turn_ns / outer;
    begins("commands");
    let Some(still) = turning.still(tracks.first, outer)? else {
        return Ok(Err("a command's time"));
    };
    let still_ns = still.0.midpoint(still.1);
    let mut heads = tracks.heads();
    if heads.is_none() {
        heads = turning.heads(tracks.first, still.1)?;
        layout::with_heads(&mut zones, heads.unwrap_or(1));
    }
    let switch = match heads {
        Some(_) => turning.next_track(tracks.first)?,
        None => None,
    };
    begins("seeks");
    let blocks = size_bytes / sector_bytes;
    let places = Places { zones: &zones, heads: heads.unwrap_or(1), blocks };
    let seeks: Vec<Seek> = turning.seeks(&places, still, sector_ns)?;
    begins("the cache");
    let sector_from_cache_ns = turning.sector_from_cache_ns()?;
    let read_ahead = turning.read_ahead(&tracks)?;
    let turn_ns = rotation.turn_ns;
    Ok(Ok(Disk {
        sector_bytes,
        blocks,
        turn_ns: [turn_ns - rotation.within_ns, turn_ns, turn_ns + rotation.within_ns],
        heads,
        zones,
        command_ns: [still.0, still_ns, still.1]
            .map(|time| (time - sector_ns - sector_from_cache_ns).max(0.0)),
        switch_ns: switch.map(|(low, high)| {
            [low - still.1, low.midpoint(high) - still_ns, high - still.0].map(|ns| ns.max(0.0))
        }),
        seeks,
        hit_ns: rotation.hit_ns.map(|hit_ns| hit_ns - sector_from_cache_ns),
        sector_from_cache_ns,
        segments: rotation.segments,
        keeps: rotation.keeps,
        read_ahead,
    }))
}

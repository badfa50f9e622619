//! A layout from its profile.
//!
//! `heads`, `sector_size`, and one of
//! - `cylinders`, `sectors_per_track`, `track_skew` and `cylinder_skew`, for one zone;
//! - `zones` as tables with `first_cylinder`, `last_cylinder` and the above;
//! - `zones` as rows: `[first cylinder, last cylinder, sectors of a track, angle of the first
//!   sector (in sectors), empty sectors at the front, track skew, cylinder skew (in sectors),
//!   spares of a unit]`.
//!
//! Then, where they occur: `sparing` (the unit that has spares: `tracks`, `track`, `cylinder`,
//! `range`, `zone`), `range_cylinders`, `slips` as rows `[zone, position, …]`, `remapped` as rows
//! `[zone, position, position it went to]`, `serpentine` (every second cylinder of a zone uses its
//! heads backwards).

use super::{Latest, Layout, Remapped, Sparing, Zone};
use crate::profile::{ProfileError, Reader};

const COLUMNS: usize = 8;
const SECTOR_BYTES_MAX: u64 = 1 << 20;
/// Sectors of a track, at the most.
const SECTORS_MAX: u64 = 100_000;
/// Whole numbers in a list of numbers stay below this, so that sectors can be counted with them.
const WHOLE_MAX: f64 = 1e12;

impl Layout {
    /// Reads the layout of a drive's profile.
    /// Errors: numbers that cannot be, zones that overlap, more slips than spares.
    pub fn read(reader: &Reader) -> Result<Self, ProfileError> {
        let heads = reader.count_in("heads", 1..=1024)? as u32;
        let sector_bytes = reader.size_bytes_in("sector_size", 1..=SECTOR_BYTES_MAX)? as u32;
        let listed = reader.list("zones");
        let mut zones = Vec::new();
        if !listed.is_empty() {
            for reader in &listed {
                let bounds = [reader.count("first_cylinder")?, reader.count("last_cylinder")?];
                let reason = check_bounds(&zones, bounds);
                reason.map_err(|reason| reader.error("first_cylinder", reason))?;
                zones.push(plain(reader, bounds, heads)?);
            }
        } else if reader.has("zones") {
            read_rows(reader, heads, &mut zones)?;
        } else {
            let cylinders = reader.count_in("cylinders", 1..=10_000_000)?;
            zones.push(plain(reader, [0, cylinders - 1], heads)?);
        }
        let mut blocks = 0;
        for zone in &mut zones {
            zone.first_block = blocks;
            blocks += zone.blocks;
        }
        let is_serpentine = reader.is_or("serpentine", false)?;
        let cylinders = zones.last().map_or(0, |zone| zone.first_cylinder + zone.cylinders);
        let remapped = vec![];
        let mut layout = Self {
            zones,
            remapped,
            heads,
            is_serpentine,
            latest: Latest::default(),
            sector_bytes,
            blocks,
            cylinders,
        };
        layout.remapped = layout.read_remapped(reader)?;
        Ok(layout)
    }

    fn read_remapped(&self, reader: &Reader) -> Result<Vec<Remapped>, ProfileError> {
        const KEY: &str = "remapped";
        let mut all = Vec::new();
        for row in reader.or(KEY, vec![], Reader::rows)? {
            let found = match *row.as_slice() {
                [zone, from, to] => self.remap([zone, from, to]),
                _ => None,
            };
            let reason = "has rows of a zone, a block's position and where it went";
            all.push(found.ok_or_else(|| reader.error(KEY, reason))?);
        }
        all.sort_by_key(|remapped| remapped.block);
        Ok(all)
    }

    fn remap(&self, [zone, from, position]: [f64; 3]) -> Option<Remapped> {
        let (index, from, position) = (whole(zone)? as usize, whole(from)?, whole(position)?);
        let zone = self.zones.get(index)?;
        let block = zone.blocks_before(from);
        let is_there = block < zone.blocks && zone.place(block).position == from;
        let sectors = u64::from(zone.sectors) * u64::from(zone.cylinders) * u64::from(self.heads);
        let block = zone.first_block + block;
        (is_there && position < sectors).then_some(Remapped { block, zone: index, position })
    }
}

/// A number that counts something.
fn whole(number: f64) -> Option<u64> {
    let is_whole = (0.0..WHOLE_MAX).contains(&number) && number.fract() == 0.0;
    is_whole.then_some(number as u64)
}

/// Refuses a skew or an angle that is not within a track, in sectors.
fn within_track(sectors: u64, angle: f64) -> Result<f64, String> {
    let is_within = (0.0..=sectors as f64).contains(&angle);
    let reason = || format!("{angle} sectors are not within a track of {sectors}");
    is_within.then_some(angle).ok_or_else(reason)
}

fn check_bounds(zones: &[Zone], [first, last]: [u64; 2]) -> Result<(), String> {
    let next = zones.last().map_or(0, |zone| u64::from(zone.first_cylinder + zone.cylinders));
    if first < next {
        return Err(format!("zones overlap: cylinder {next} comes next, and {first} is behind it"));
    }
    if last < first || last > 10_000_000 {
        return Err(format!("a zone from cylinder {first} to {last} cannot be"));
    }
    Ok(())
}

/// A zone without spares or defects.
fn plain(reader: &Reader, [first, last]: [u64; 2], heads: u32) -> Result<Zone, ProfileError> {
    let (cylinders, sectors) =
        ((last - first + 1) as u32, reader.count_in("sectors_per_track", 1..=SECTORS_MAX)? as u32);
    let skew = |key: &str| {
        let sectors = u64::from(sectors);
        within_track(sectors, reader.or(key, 0.0, Reader::number)?)
            .map_err(|reason| reader.error(key, reason))
    };
    let blocks = u64::from(cylinders) * u64::from(heads) * u64::from(sectors);
    Ok(Zone {
        first_cylinder: first as u32,
        cylinders,
        sectors,
        track_skew: skew("track_skew")?,
        cylinder_skew: skew("cylinder_skew")?,
        blocks,
        first_block: 0,
        first_angle_sectors: 0.0,
        empty_front: 0,
        unit_sectors: blocks,
        unit_blocks: blocks,
        slips: vec![],
        slip_sectors: 1,
        sparing: Sparing::Zone,
    })
}

fn read_rows(reader: &Reader, heads: u32, zones: &mut Vec<Zone>) -> Result<(), ProfileError> {
    let sparing =
        reader.or("sparing", Sparing::Zone, |reader, key| reader.one_of(key, &SPARING))?;
    let sparing = match sparing {
        Sparing::Range(_) => {
            Sparing::Range(reader.count_in("range_cylinders", 1..=100_000)? as u32)
        }
        other => other,
    };
    let all_slips = read_slips(reader)?;
    for (index, row) in reader.rows("zones")?.iter().enumerate() {
        let of_zone = all_slips.iter().filter(|slips| slips.first() == Some(&(index as u64)));
        let slips: Vec<u64> = of_zone.flat_map(|row| &row[1..]).copied().collect();
        if let Some(pair) = slips.windows(2).find(|pair| pair[1] <= pair[0]) {
            let reason = format!("{} does not come after {} in zone {index}", pair[1], pair[0]);
            return Err(reader.error("slips", reason));
        }
        let zone = zone_of_row(zones, row, sparing, heads, slips);
        zones.push(zone.map_err(|reason| reader.error("zones", reason))?);
    }
    let unknown =
        all_slips.iter().find(|row| row.first().is_none_or(|at| *at >= zones.len() as u64));
    if unknown.is_some() {
        return Err(reader.error("slips", "is of a zone that is not there"));
    }
    if zones.is_empty() {
        return Err(reader.error("zones", "needs one zone at least"));
    }
    Ok(())
}

/// Rows of a zone and the positions of its slips.
fn read_slips(reader: &Reader) -> Result<Vec<Vec<u64>>, ProfileError> {
    const KEY: &str = "slips";
    let wholes = |row: &Vec<f64>| row.iter().map(|number| whole(*number)).collect();
    let slips: Option<Vec<Vec<u64>>> =
        reader.or(KEY, vec![], Reader::rows)?.iter().map(wholes).collect();
    slips.ok_or_else(|| reader.error(KEY, "has negative, broken or too large numbers"))
}

const SPARING: [(&str, Sparing); 5] = [
    ("tracks", Sparing::Tracks),
    ("track", Sparing::Track),
    ("cylinder", Sparing::Cylinder),
    ("range", Sparing::Range(1)),
    ("zone", Sparing::Zone),
];

fn zone_of_row(
    before: &[Zone],
    row: &[f64],
    sparing: Sparing,
    heads: u32,
    slips: Vec<u64>,
) -> Result<Zone, String> {
    let row: &[f64; COLUMNS] = row.try_into().map_err(|_| {
        "has rows of 8 numbers: first and last cylinder, sectors of a track, angle of the first \
         sector, empty \
         sectors at the front, track skew, cylinder skew, spares"
            .to_owned()
    })?;
    let wholes = [row[0], row[1], row[2], row[4], row[7]].map(whole);
    let [Some(first), Some(last), Some(sectors), Some(empty_front), Some(spares)] = wholes else {
        let reason = "has negative, broken or too large cylinders, sectors or spares";
        return Err(format!("{row:?} {reason}"));
    };
    if !(1..=SECTORS_MAX).contains(&sectors) {
        return Err(format!("{sectors} sectors of a track are not from 1 to {SECTORS_MAX}"));
    }
    check_bounds(before, [first, last])?;
    for angle in [row[3], row[5], row[6]] {
        within_track(sectors, angle)?;
    }
    let cylinders = last - first + 1;
    let of_cylinder = sectors * u64::from(heads);
    let all = cylinders * of_cylinder;
    let (unit_sectors, spare_sectors) = match sparing {
        Sparing::Tracks => (all, spares * sectors),
        Sparing::Track => (sectors, spares),
        Sparing::Cylinder => (of_cylinder, spares),
        Sparing::Range(range) => (of_cylinder * u64::from(range), spares),
        Sparing::Zone => (all, spares),
    };
    let units = all / unit_sectors;
    if spare_sectors >= unit_sectors || empty_front + units * spare_sectors >= all {
        return Err(format!(
            "{spares} spares and {empty_front} empty sectors leave no room in {row:?}"
        ));
    }
    let slip_sectors = if sparing == Sparing::Tracks { sectors } else { 1 };
    let zone = Zone {
        first_cylinder: first as u32,
        cylinders: cylinders as u32,
        sectors: sectors as u32,
        track_skew: row[5],
        cylinder_skew: row[6],
        blocks: all - empty_front - units * spare_sectors,
        first_block: 0,
        first_angle_sectors: row[3],
        empty_front,
        unit_sectors,
        unit_blocks: unit_sectors - spare_sectors,
        slips,
        slip_sectors,
        sparing,
    };
    let unit_of = |slip: &u64| slip * slip_sectors / unit_sectors;
    let crowded = zone.slips.iter().map(unit_of).find(|unit| {
        let slips = zone.slips.iter().filter(|slip| unit_of(slip) == *unit).count() as u64;
        slips * slip_sectors > if *unit < units { spare_sectors } else { 0 }
    });
    match crowded {
        None => Ok(zone),
        Some(unit) => Err(format!("unit {unit} has more slips than the spares of {row:?}")),
    }
}

//! How a drive's electronics behave: its cache, the times that its commands take besides the
//! mechanics, its bus.
//!
//! Source: the parameters of DiskSim 4.0's disk module (Bucy, Schindler, Schlosser & Ganger 2008,
//! CMU-PDL-08-101, section on disks), under names of this crate's own. Left out, since no drive of
//! the validation suite has them on, or since they make no difference to one request at a time:
//! sneaky read hits, preseeking, write prebuffering, releasing the bus amid a transfer.
//!
//! `reads_any_order`, `writes_any_order` and `reads_free_blocks` are in no profile of that suite,
//! although its parameters say so of three drives: DiskSim 4.0, against which they were validated,
//! never begins amid a track (`g1_access_block` takes `DM_OK` for a failure), so that nobody knows
//! whether the parameters are right.

use crate::profile::{ProfileError, Reader};

/// How far a drive reads on behind what was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadAhead {
    /// Not at all.
    None,
    /// To the end of the track.
    Track,
    /// To the end of the cylinder.
    Cylinder,
    /// So many blocks, over whatever tracks.
    Blocks,
    /// To the end of the track of the next block, and one track more where the track before is in
    /// the segment.
    NextTrack,
}

/// A drive's cache.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheRules {
    /// Read hits are possible.
    pub is_caching: bool,
    /// Segments.
    pub segments: usize,
    /// Blocks that a segment holds.
    pub segment_blocks: u64,
    /// Segments that may hold what is not yet written.
    pub write_segments: usize,
    /// Writes have one segment of their own.
    pub has_write_segment: bool,
    /// How far it reads on.
    pub read_ahead: ReadAhead,
    /// How many blocks it reads on at the most, where blocks count.
    pub read_ahead_blocks: u64,
    /// How many blocks it reads on before anything else may have the arm.
    pub read_ahead_minimum_blocks: u64,
    /// Reads on after a request that was in the cache as a whole.
    pub reads_ahead_on_hit: bool,
    /// Forgets what was requested when it is sent.
    pub forgets_read_data: bool,
    /// Keeps the blocks of the track that pass before those requested.
    pub reads_free_blocks: bool,
    /// Begins to read anywhere on the track.
    pub reads_any_order: bool,
    /// Begins to write anywhere on the track.
    pub writes_any_order: bool,
    /// Completes a write when its data are in the cache.
    pub writes_behind: bool,
    /// A write that continues what is being written joins it.
    pub combines_writes: bool,
    /// What was written can be read from the cache.
    pub hits_on_written: bool,
    /// A read whose first block is just being read on counts as a hit.
    pub hits_on_next: bool,
    /// Reading on can be stopped within a sector.
    pub stops_in_sector: bool,
    /// Share of a read that is there before the bus is requested.
    pub read_water: f64,
    /// Requests up to so many blocks wait with writing until so many are there.
    pub write_waits_for: Vec<(u64, u64)>,
}

const READ_AHEAD: [(&str, ReadAhead); 5] = [
    ("none", ReadAhead::None),
    ("track", ReadAhead::Track),
    ("cylinder", ReadAhead::Cylinder),
    ("blocks", ReadAhead::Blocks),
    ("next-track", ReadAhead::NextTrack),
];

impl CacheRules {
    /// Reads `cache`, where there is one.
    pub(super) fn read(reader: &Reader, blocks: u64) -> Result<Self, ProfileError> {
        let is_caching = reader.has_any();
        let is = |key: &str| reader.or(key, false, Reader::is);
        let count_or = |key: &str, bounds: std::ops::RangeInclusive<u64>, otherwise: u64| {
            reader.or(key, otherwise, |reader, key| reader.count_in(key, bounds))
        };
        let segments = count_or("segments", 1..=4096, 1)?;
        let segment_blocks = count_or("segment_blocks", 1..=blocks, blocks)?;
        let one_of = |reader: &Reader, key: &str| reader.one_of(key, &READ_AHEAD);
        let read_ahead = reader.or("read_ahead", ReadAhead::None, one_of)?;
        let is_counted =
            matches!(read_ahead, ReadAhead::Blocks | ReadAhead::Track | ReadAhead::Cylinder);
        let read_ahead_blocks =
            if is_counted { reader.count_in("read_ahead_blocks", 0..=segment_blocks)? } else { 0 };
        let has_write_segment = is("write_segment")?;
        if has_write_segment && segments < 2 {
            let reason = "needs a second segment, for reads";
            return Err(reader.error("write_segment", reason));
        }
        let waits = reader.or("write_waits_for", vec![], Reader::pairs)?;
        if waits.iter().any(|(up_to, needs)| *up_to < 1.0 || *needs < 0.0) {
            let reason = "has rows of a request's blocks, from 1, and how many it waits for";
            return Err(reader.error("write_waits_for", reason));
        }
        Ok(Self {
            is_caching,
            segments: segments as usize,
            segment_blocks,
            write_segments: count_or("write_segments", 1..=segments, 1)? as usize,
            has_write_segment,
            read_ahead,
            read_ahead_blocks,
            read_ahead_minimum_blocks: count_or(
                "read_ahead_minimum_blocks",
                0..=segment_blocks,
                0,
            )?,
            reads_ahead_on_hit: is("reads_ahead_on_hit")?,
            forgets_read_data: is("forgets_read_data")?,
            reads_free_blocks: is("reads_free_blocks")?,
            reads_any_order: is("reads_any_order")?,
            writes_any_order: is("writes_any_order")?,
            writes_behind: is("writes_behind")?,
            combines_writes: is("combines_writes")?,
            hits_on_written: is("hits_on_written")?,
            hits_on_next: is("hits_on_next")?,
            stops_in_sector: is("stops_in_sector")?,
            read_water: reader.or("read_water", 0.0, Reader::fraction)?,
            write_waits_for: waits
                .into_iter()
                .map(|(up_to, needs)| (up_to as u64, needs as u64))
                .collect(),
        })
    }

    /// Blocks of a write that must be there before the first is written.
    pub(super) fn write_needs(&self, blocks: u64) -> u64 {
        let row = self.write_waits_for.iter().find(|(up_to, _)| blocks <= *up_to);
        row.map_or(1, |(_, needs)| (*needs).min(blocks).max(1))
    }
}

/// A time by what the last request was, ns.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct After {
    /// After a read.
    pub read_ns: f64,
    /// After a write.
    pub write_ns: f64,
}

impl After {
    fn read(reader: &Reader, key: &str) -> Result<Self, ProfileError> {
        let read = |what| reader.time_ns_or(&format!("{key}_after_{what}"), 0.0);
        Ok(Self { read_ns: read("read")?, write_ns: read("write")? })
    }

    /// The one that counts.
    #[inline]
    pub fn ns(&self, was_write: bool) -> f64 {
        if was_write { self.write_ns } else { self.read_ns }
    }
}

/// A write that follows another, elsewhere, gives the bus back once more before its data: the times
/// of that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExtraDisconnect {
    /// The command, ns.
    pub command_ns: f64,
    /// Giving the bus back, ns.
    pub disconnect_ns: f64,
    /// Until it asks for the bus again, ns.
    pub pause_ns: f64,
    /// Giving the bus back after the data, ns.
    pub last_disconnect_ns: f64,
    /// From the command to the arm's start, ns.
    pub seek_delta_ns: f64,
}

/// What commands take besides the mechanics, ns.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Overheads {
    /// A read that is in the cache.
    pub read_hit: After,
    /// A read that is not.
    pub read_miss: After,
    /// A write.
    pub write: After,
    /// Giving the bus back until a read's data are there.
    pub read_disconnect: After,
    /// Giving the bus back until a write's data are written.
    pub write_disconnect_ns: f64,
    /// The completion of a read.
    pub read_complete_ns: f64,
    /// The completion of a write.
    pub write_complete_ns: f64,
    /// Before data are sent.
    pub data_preparation_ns: f64,
    /// Asking for the bus again.
    pub reselect_ns: f64,
    /// The same, once more.
    pub other_reselect_ns: f64,
    /// The least time from a write's command to its rotation.
    pub minimum_write_seek_ns: f64,
    /// Where a write gives the bus back once more.
    pub extra_disconnect: Option<ExtraDisconnect>,
}

impl Overheads {
    /// Reads `overhead`; what is missing is no time.
    pub(super) fn read(reader: &Reader) -> Result<Self, ProfileError> {
        let time = |key: &str| reader.time_ns_or(key, 0.0);
        let extra = reader.below("extra_disconnect");
        let extra_disconnect = match extra.has_any() {
            false => None,
            true => Some(ExtraDisconnect {
                command_ns: extra.time_ns("command")?,
                disconnect_ns: extra.time_ns("disconnect")?,
                pause_ns: extra.time_ns("pause")?,
                last_disconnect_ns: extra.time_ns("last_disconnect")?,
                seek_delta_ns: extra.time_ns("seek_delta")?,
            }),
        };
        Ok(Self {
            read_hit: After::read(reader, "read_hit")?,
            read_miss: After::read(reader, "read_miss")?,
            write: After::read(reader, "write")?,
            read_disconnect: After::read(reader, "read_disconnect")?,
            write_disconnect_ns: time("write_disconnect")?,
            read_complete_ns: time("read_complete")?,
            write_complete_ns: time("write_complete")?,
            data_preparation_ns: time("data_preparation")?,
            reselect_ns: time("reselect")?,
            other_reselect_ns: time("other_reselect")?,
            minimum_write_seek_ns: time("minimum_write_seek")?,
            extra_disconnect,
        })
    }
}

/// What a block takes on the bus, ns; none where it is within the overheads.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BusTimes {
    /// A block that is read.
    pub read_block_ns: f64,
    /// A block that is written.
    pub write_block_ns: f64,
}

impl BusTimes {
    /// Reads `bus`, where there is one. A drive cannot wait for longer than a revolution until a
    /// block has passed.
    pub(super) fn read(reader: &Reader, revolution_ns: f64) -> Result<Self, ProfileError> {
        let block_ns = |key: &str| {
            let block_ns = reader.time_ns_or(key, 0.0)?;
            if block_ns <= revolution_ns {
                return Ok(block_ns);
            }
            let reason = format!(
                "is slower than the drive can wait: {:.1} ms a block, and a revolution takes {:.1} \
                 ms",
                block_ns / 1e6,
                revolution_ns / 1e6
            );
            Err(reader.error(key, reason))
        };
        Ok(Self {
            read_block_ns: block_ns("read_block")?,
            write_block_ns: block_ns("write_block")?,
        })
    }
}

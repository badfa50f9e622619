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

const READ_AHEAD: [(&str, ReadAhead); 5] = [
    ("none", ReadAhead::None),
    ("track", ReadAhead::Track),
    ("cylinder", ReadAhead::Cylinder),
    ("blocks", ReadAhead::Blocks),
    ("next-track", ReadAhead::NextTrack),
];

crate::parameters! {
    /// A drive's cache, where there is one.
    #[derive(Debug, Clone, PartialEq)]
    pub struct CacheRules(reader, blocks: u64) {
        /// Read hits are possible.
        pub is_caching: bool = Ok(reader.has_any());
        /// Segments.
        pub segments: usize = reader.count_or("segments", 1..=4096, 1).map(|n| n as usize);
        /// Blocks that a segment holds.
        pub segment_blocks: u64 = reader.count_or("segment_blocks", 1..=blocks, blocks);
        /// Segments that may hold what is not yet written.
        pub write_segments: usize =
            reader.count_or("write_segments", 1..=segments as u64, 1).map(|n| n as usize);
        /// Writes have one segment of their own.
        pub has_write_segment: bool = write_segment(reader, segments);
        /// How far it reads on.
        pub read_ahead: ReadAhead = reader.or("read_ahead", ReadAhead::None, |reader, key| {
            reader.one_of(key, &READ_AHEAD)
        });
        /// How many blocks it reads on at the most, where blocks count.
        pub read_ahead_blocks: u64 = match read_ahead {
            ReadAhead::None | ReadAhead::NextTrack => Ok(0),
            _ => reader.count_in("read_ahead_blocks", 0..=segment_blocks),
        };
        /// How many blocks it reads on before anything else may have the arm.
        pub read_ahead_minimum_blocks: u64 =
            reader.count_or("read_ahead_minimum_blocks", 0..=segment_blocks, 0);
        /// Reads on after a request that was in the cache as a whole.
        pub reads_ahead_on_hit: bool = reader.is_or("reads_ahead_on_hit", false);
        /// Forgets what was requested when it is sent.
        pub forgets_read_data: bool = reader.is_or("forgets_read_data", false);
        /// Keeps the blocks of the track that pass before those requested.
        pub reads_free_blocks: bool = reader.is_or("reads_free_blocks", false);
        /// Begins to read anywhere on the track.
        pub reads_any_order: bool = reader.is_or("reads_any_order", false);
        /// Begins to write anywhere on the track.
        pub writes_any_order: bool = reader.is_or("writes_any_order", false);
        /// Completes a write when its data are in the cache.
        pub writes_behind: bool = reader.is_or("writes_behind", false);
        /// A write that continues what is being written joins it.
        pub combines_writes: bool = reader.is_or("combines_writes", false);
        /// What was written can be read from the cache.
        pub hits_on_written: bool = reader.is_or("hits_on_written", false);
        /// A read whose first block is just being read on counts as a hit.
        pub hits_on_next: bool = reader.is_or("hits_on_next", false);
        /// Reading on can be stopped within a sector.
        pub stops_in_sector: bool = reader.is_or("stops_in_sector", false);
        /// Share of a read that is there before the bus is requested.
        pub read_water: f64 = reader.or("read_water", 0.0, Reader::fraction);
        /// Requests up to so many blocks wait with writing until so many are there.
        pub write_waits_for: Vec<(u64, u64)> = reader.or("write_waits_for", vec![], waits);
    }
}

fn write_segment(reader: &Reader, segments: usize) -> Result<bool, ProfileError> {
    let has_one = reader.is_or("write_segment", false)?;
    let is_fine = |has_one: &bool| !has_one || segments > 1;
    reader.if_fine("write_segment", has_one, is_fine, "needs a second segment, for reads")
}

fn waits(reader: &Reader, key: &str) -> Result<Vec<(u64, u64)>, ProfileError> {
    let waits = reader.pairs(key)?;
    if waits.iter().any(|(up_to, needs)| *up_to < 1.0 || *needs < 0.0) {
        let reason = "has rows of a request's blocks, from 1, and how many it waits for";
        return Err(reader.error(key, reason));
    }
    Ok(waits.into_iter().map(|(up_to, needs)| (up_to as u64, needs as u64)).collect())
}

impl CacheRules {
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

crate::parameters! {
    /// A write that follows another, elsewhere, gives the bus back once more before its data: the
    /// times of that.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct ExtraDisconnect(reader) {
        /// The command, ns.
        pub command_ns: f64 = reader.time_ns("command");
        /// Giving the bus back, ns.
        pub disconnect_ns: f64 = reader.time_ns("disconnect");
        /// Until it asks for the bus again, ns.
        pub pause_ns: f64 = reader.time_ns("pause");
        /// Giving the bus back after the data, ns.
        pub last_disconnect_ns: f64 = reader.time_ns("last_disconnect");
        /// From the command to the arm's start, ns.
        pub seek_delta_ns: f64 = reader.time_ns("seek_delta");
    }
}

crate::parameters! {
    /// What commands take besides the mechanics, ns; what is missing is no time.
    #[derive(Debug, Clone, Copy, PartialEq, Default)]
    pub struct Overheads(reader) {
        /// A read that is in the cache.
        pub read_hit: After = After::read(reader, "read_hit");
        /// A read that is not.
        pub read_miss: After = After::read(reader, "read_miss");
        /// A write.
        pub write: After = After::read(reader, "write");
        /// Giving the bus back until a read's data are there.
        pub read_disconnect: After = After::read(reader, "read_disconnect");
        /// Giving the bus back until a write's data are written.
        pub write_disconnect_ns: f64 = reader.time_ns_or("write_disconnect", 0.0);
        /// The completion of a read.
        pub read_complete_ns: f64 = reader.time_ns_or("read_complete", 0.0);
        /// The completion of a write.
        pub write_complete_ns: f64 = reader.time_ns_or("write_complete", 0.0);
        /// Before data are sent.
        pub data_preparation_ns: f64 = reader.time_ns_or("data_preparation", 0.0);
        /// Asking for the bus again.
        pub reselect_ns: f64 = reader.time_ns_or("reselect", 0.0);
        /// The same, once more.
        pub other_reselect_ns: f64 = reader.time_ns_or("other_reselect", 0.0);
        /// The least time from a write's command to its rotation.
        pub minimum_write_seek_ns: f64 = reader.time_ns_or("minimum_write_seek", 0.0);
        /// Where a write gives the bus back once more.
        pub extra_disconnect: Option<ExtraDisconnect> =
            Some(reader.below("extra_disconnect")).filter(Reader::has_any)
                .map(|extra| ExtraDisconnect::read(&extra)).transpose();
    }
}

crate::parameters! {
    /// What a block takes on the bus, ns; none where it is within the overheads.
    #[derive(Debug, Clone, Copy, PartialEq, Default)]
    pub struct BusTimes(reader, revolution_ns: f64) {
        /// A block that is read.
        pub read_block_ns: f64 = block_ns(reader, "read_block", revolution_ns);
        /// A block that is written.
        pub write_block_ns: f64 = block_ns(reader, "write_block", revolution_ns);
    }
}

/// A drive cannot wait for longer than a revolution until a block has passed.
fn block_ns(reader: &Reader, key: &str, revolution_ns: f64) -> Result<f64, ProfileError> {
    let block_ns = reader.time_ns_or(key, 0.0)?;
    let reason = format!(
        "is slower than the drive can wait: {:.1} ms a block, and a revolution takes {:.1} ms",
        block_ns / 1e6,
        revolution_ns / 1e6
    );
    reader.if_fine(key, block_ns, |block_ns| *block_ns <= revolution_ns, reason)
}

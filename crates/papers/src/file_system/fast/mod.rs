//! The fast file system of 4.2BSD (McKusick, Joy, Leffler & Fabry 1984; `ufs_alloc.c`,
//! `ufs_bmap.c`, `mkfs.c` of 1983): where it puts the blocks of a file, and which other blocks that
//! touches.
//!
//! Blocks are numbered from the beginning of the partition, which is the whole drive. A cylinder
//! group begins with its administration (superblock, map, inodes) and goes on with data.
//!
//! Non-goals: fragments (a file's last block and the growth of its first twelve: less than 1 % of
//! the paper's 8 MB), quotas, directories beyond the inode's group, groups whose administration is
//! staggered.

mod file;
mod group;
#[cfg(test)]
mod tests;

pub(crate) use file::{DIRECT_BLOCKS, File};
pub(crate) use group::Group;

use sim::drive::Layout;
use sim::profile::{ProfileError, Reader};

sim::parameters! {
    /// What `newfs` is told and finds.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub(crate) struct Settings(reader) {
        pub(crate) block_bytes: u64 = reader.size_bytes("block_size");
        pub(crate) fragment_bytes: u64 = fragment_bytes(reader, block_bytes);
        /// The time between two blocks of a file that is left for the processor, in whole ms.
        pub(crate) rotational_delay_ms: u64 =
            reader.time_ns("rotational_delay").map(|ns| (ns / 1e6).round() as u64);
        /// Blocks that a file has in one cylinder group before it goes on to the next.
        pub(crate) blocks_per_group: u64 = reader.count_in("blocks_per_group", 1..=1 << 20);
        pub(crate) cylinders_per_group: u64 = reader.count_in("cylinders_per_group", 1..=32);
        pub(crate) bytes_per_inode: u64 = reader.size_bytes("bytes_per_inode");
    }
}

fn fragment_bytes(reader: &Reader, block_bytes: u64) -> Result<u64, ProfileError> {
    let is_part = |bytes: &u64| {
        block_bytes.is_multiple_of(*bytes) && matches!(block_bytes / bytes, 1 | 2 | 4 | 8)
    };
    let fragment_bytes = reader.size_bytes("fragment_size")?;
    reader.if_fine("fragment_size", fragment_bytes, is_part, "a block is 1, 2, 4 or 8 fragments")
}

impl Settings {
    /// Refuses what no file system on such a drive can have: fragments of less than a sector or of
    /// broken ones, groups without room for their own administration.
    pub(crate) fn check(&self, reader: &Reader, shape: &Shape) -> Result<(), ProfileError> {
        if !self.fragment_bytes.is_multiple_of(shape.sector_bytes) {
            let reason = format!("is no multiple of a sector's {} bytes", shape.sector_bytes);
            return Err(reader.error("fragment_size", reason));
        }
        if self.group_blocks(shape) <= self.administration_blocks(shape) {
            let reason = "makes groups that have no room for data";
            return Err(reader.error("cylinders_per_group", reason));
        }
        Ok(())
    }

    fn group_blocks(&self, shape: &Shape) -> u64 {
        self.cylinders_per_group * shape.cylinder_sectors * shape.sector_bytes / self.block_bytes
    }

    /// Blocks at a group's beginning that are not for data.
    fn administration_blocks(&self, shape: &Shape) -> u64 {
        let group_bytes = self.group_blocks(shape) * self.block_bytes;
        let inodes = (group_bytes / self.bytes_per_inode).min(GROUP_INODES_MAX);
        HEADER_BLOCKS + (inodes * INODE_BYTES).div_ceil(self.block_bytes)
    }
}

/// What a drive looks like to `newfs`: `/etc/disktab`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) sectors: u64,
    pub(crate) cylinder_sectors: u64,
    pub(crate) cylinders: u64,
    /// Whole revolutions in a second.
    pub(crate) revolutions_per_s: u64,
    pub(crate) sector_bytes: u64,
}

impl Shape {
    /// The shape of a drive; `rpm` is the speed that disktab gives, since it is not always the true
    /// one. All cylinders are like the first: of a drive with zones it has so many as there are
    /// sectors for.
    pub(crate) fn of(layout: &Layout, rpm: u64) -> Self {
        let spot = layout.spot(0);
        let sectors = u64::from(spot.left_on_track);
        let cylinder_sectors = sectors * u64::from(layout.heads());
        Self {
            sectors,
            cylinder_sectors,
            cylinders: layout.blocks / cylinder_sectors.max(1),
            revolutions_per_s: rpm / 60,
            sector_bytes: u64::from(layout.sector_bytes),
        }
    }
}

const INODE_BYTES: u64 = 128;
const GROUP_INODES_MAX: u64 = 2048;
/// Boot block and superblock before the groups, and each group's own copy and map, in blocks.
const HEADER_BLOCKS: u64 = 3;

#[derive(Debug, Clone)]
pub(crate) struct FastFileSystem {
    settings: Settings,
    shape: Shape,
    groups: Vec<Group>,
    /// From the beginning of one block to the beginning of the next, in blocks.
    stride_blocks: u64,
}

impl FastFileSystem {
    /// `newfs`.
    pub(crate) fn new(settings: Settings, shape: Shape) -> Self {
        let group_blocks = settings.group_blocks(&shape);
        let administration = settings.administration_blocks(&shape);
        let count = shape.cylinders / settings.cylinders_per_group;
        let group = |index| Group::new(index * group_blocks, group_blocks, administration);
        Self {
            groups: (0..count).map(group).collect(),
            stride_blocks: stride_blocks(&settings, &shape),
            settings,
            shape,
        }
    }

    pub(crate) fn block_sectors(&self) -> u64 {
        self.settings.block_bytes / self.shape.sector_bytes
    }

    pub(crate) fn block_bytes(&self) -> u64 {
        self.settings.block_bytes
    }

    /// Block numbers in an indirect block.
    pub(crate) fn addresses_per_block(&self) -> u64 {
        self.settings.block_bytes / 4
    }

    pub(crate) fn data_blocks(&self) -> u64 {
        self.groups.iter().map(Group::data_blocks).sum()
    }

    pub(crate) fn map_block(&self, group: usize) -> u64 {
        self.groups.get(group).map_or(0, Group::map_block)
    }

    pub(crate) fn inode_block(&self, file: &File) -> u64 {
        self.groups.get(file.group).map_or(0, Group::inode_block)
    }

    pub(crate) fn group_of(&self, block: u64) -> usize {
        let group_blocks = self.groups.first().map_or(1, Group::blocks);
        (block / group_blocks) as usize
    }

    /// Where a file's next block is wanted (`blkpref`): which group, and which block of it if it
    /// matters.
    pub(crate) fn preference(
        &self,
        file: &File,
        logical: u64,
        previous: Option<u64>,
        index: u64,
    ) -> u64 {
        match previous {
            Some(previous) if !index.is_multiple_of(self.settings.blocks_per_group) => {
                previous + self.stride_blocks
            }
            _ if logical < DIRECT_BLOCKS => self.first_of(file.group),
            Some(previous) => self.first_of(self.roomy_group(self.group_of(previous) + 1)),
            None => {
                let after = logical / self.settings.blocks_per_group;
                self.first_of(self.roomy_group(file.group + after as usize))
            }
        }
    }

    /// Allocates a block at a preference, or the next best; none where the drive is full.
    pub(crate) fn allocate(&mut self, preference: u64) -> Option<u64> {
        let (first, count) = (self.group_of(preference), self.groups.len());
        let cylinder_blocks = self.shape.cylinder_sectors / self.block_sectors();
        (0..count).find_map(|after| {
            let group = self.groups.get_mut((first + after) % count)?;
            group.allocate(if after == 0 { preference } else { 0 }, cylinder_blocks)
        })
    }

    /// Gives a block back.
    pub(crate) fn free(&mut self, block: u64) {
        let group = self.group_of(block);
        if let Some(group) = self.groups.get_mut(group) {
            group.free(block);
        }
    }

    /// The group for a new file's inode: that of its directory, which is not the root's.
    pub(crate) fn group_for_file(&self) -> usize {
        1 % self.groups.len().max(1)
    }

    fn first_of(&self, group: usize) -> u64 {
        self.groups.get(group).map_or(0, Group::first_data)
    }

    /// From a group on, the first that has at least as much room as the groups have on average.
    fn roomy_group(&self, from: usize) -> usize {
        let count = self.groups.len().max(1);
        let average = self.groups.iter().map(Group::free_blocks).sum::<u64>() / count as u64;
        let after = (0..count).find(|after| {
            self.groups.get((from + after) % count).is_some_and(|g| g.free_blocks() >= average)
        });
        (from + after.unwrap_or(0)) % count
    }
}

/// The blocks from one block of a file to the next: the rotational delay in fragments, rounded up
/// to blocks, behind the block itself, with the whole-number arithmetic of the kernel.
fn stride_blocks(settings: &Settings, shape: &Shape) -> u64 {
    let fragment_sectors = (settings.fragment_bytes / shape.sector_bytes).max(1);
    let delay_fragments = settings.rotational_delay_ms * shape.revolutions_per_s * shape.sectors
        / (fragment_sectors * 1000);
    let block_fragments = settings.block_bytes / settings.fragment_bytes;
    1 + delay_fragments.div_ceil(block_fragments)
}

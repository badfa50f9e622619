//! A file: where its blocks lie, direct ones and those behind indirect blocks.

use super::FastFileSystem;

/// Blocks whose addresses stand in the inode itself.
pub(crate) const DIRECT_BLOCKS: u64 = 12;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct File {
    /// The cylinder group of its inode.
    pub(crate) group: usize,
    pub(crate) size_bytes: u64,
    pub(crate) blocks: Vec<u64>,
    /// Where its indirect blocks lie, by their number: that of the single indirection first, then
    /// that of the double one, then those below it.
    pub(crate) indirect: Vec<u64>,
}

/// What stands between an inode and a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Path {
    /// The indirect blocks on the way, by their number in the file.
    pub(crate) indirect: [Option<usize>; 2],
    /// The place of the block's address in the table that it stands in.
    pub(crate) index: u64,
}

impl File {
    /// The way to a block.
    pub(crate) fn path(logical: u64, addresses: u64) -> Path {
        if logical < DIRECT_BLOCKS {
            return Path { indirect: [None, None], index: logical };
        }
        let behind = logical - DIRECT_BLOCKS;
        if behind < addresses {
            return Path { indirect: [Some(0), None], index: behind };
        }
        let behind = behind - addresses;
        let below = 2 + (behind / addresses) as usize;
        Path { indirect: [Some(1), Some(below)], index: behind % addresses }
    }

    /// Whether the next block's address stands in the same table, so that it can be read ahead.
    pub(crate) fn is_next_at_hand(logical: u64, addresses: u64) -> bool {
        Self::path(logical, addresses).indirect == Self::path(logical + 1, addresses).indirect
    }

    /// How many indirect blocks a block needs that the file does not have yet.
    pub(crate) fn missing_indirect(&self, logical: u64, addresses: u64) -> usize {
        let last = Self::path(logical, addresses).indirect.into_iter().flatten().max();
        last.map_or(0, |last| (last + 1).saturating_sub(self.indirect.len()))
    }

    /// Allocates the file's next indirect block.
    pub(crate) fn add_indirect(&mut self, system: &mut FastFileSystem) -> Option<u64> {
        let preference = system.preference(self, self.blocks.len() as u64, None, 0);
        let block = system.allocate(preference)?;
        self.indirect.push(block);
        Some(block)
    }

    /// Where the file's next block is wanted.
    pub(crate) fn next_preference(&self, system: &FastFileSystem) -> u64 {
        let logical = self.blocks.len() as u64;
        let index = Self::path(logical, system.addresses_per_block()).index;
        let previous = if index == 0 { None } else { self.blocks.last().copied() };
        system.preference(self, logical, previous, index)
    }

    /// Allocates the file's next block.
    pub(crate) fn add_block(&mut self, system: &mut FastFileSystem) -> Option<u64> {
        let block = system.allocate(self.next_preference(system))?;
        self.blocks.push(block);
        Some(block)
    }
}

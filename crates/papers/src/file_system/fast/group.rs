//! A cylinder group: its administration, and the map of its free blocks.

#[derive(Debug, Clone)]
pub(crate) struct Group {
    first: u64,
    header: u64,
    is_free: Vec<bool>,
    free: u64,
}

impl Group {
    /// A group from a block on, of that many blocks, the first of which are its administration.
    pub(crate) fn new(first: u64, blocks: u64, header: u64) -> Self {
        let is_free: Vec<bool> = (0..blocks).map(|block| block >= header).collect();
        Self { first, header, free: blocks.saturating_sub(header), is_free }
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.is_free.len() as u64
    }

    pub(crate) fn data_blocks(&self) -> u64 {
        self.blocks().saturating_sub(self.header)
    }

    pub(crate) fn free_blocks(&self) -> u64 {
        self.free
    }

    pub(crate) fn map_block(&self) -> u64 {
        self.first + 2
    }

    pub(crate) fn inode_block(&self) -> u64 {
        self.first + 3
    }

    pub(crate) fn first_data(&self) -> u64 {
        self.first + self.header
    }

    /// Takes the wanted block, or the next free one of its cylinder, or else the next of the group.
    pub(crate) fn allocate(&mut self, wanted: u64, cylinder_blocks: u64) -> Option<u64> {
        let count = self.blocks();
        let wanted = wanted.checked_sub(self.first).filter(|at| *at < count).unwrap_or(self.header);
        let cylinder = wanted / cylinder_blocks.max(1) * cylinder_blocks;
        let is_free = |at: &u64| self.is_free.get(*at as usize).copied().unwrap_or(false);
        let in_cylinder = wanted..(cylinder + cylinder_blocks).min(count);
        let elsewhere = (wanted..count).chain(0..wanted);
        let at = in_cylinder.chain(cylinder..wanted).find(is_free);
        let at = at.or_else(|| elsewhere.into_iter().find(is_free))?;
        if let Some(flag) = self.is_free.get_mut(at as usize) {
            *flag = false;
        }
        self.free -= 1;
        Some(self.first + at)
    }

    /// Gives a block back.
    pub(crate) fn free(&mut self, block: u64) {
        let at = block.saturating_sub(self.first) as usize;
        if let Some(flag) = self.is_free.get_mut(at).filter(|flag| !**flag) {
            *flag = true;
            self.free += 1;
        }
    }
}

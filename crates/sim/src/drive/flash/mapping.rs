//! Which unit lies where, and what has to be copied to make room: page mapping with greedy
//! collection. It knows no time.
//!
//! A unit's place is computed ([`Start`]) until the replay moves it; from then on it stands in a
//! table. A block that was erased has a list of its units. Memory is some 20 bytes for each unit
//! that was moved.
//!
//! Non-goals: wear levelling, bad blocks, a mapping that is itself in flash, trimming.

use super::parameters::{Parameters, Shape};
use super::start::Start;
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::sync::Arc;

/// Where a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// It was never written.
    Nowhere,
    /// In the write buffer, and not being programmed.
    Buffer,
    /// In that slot of the flash.
    Slot(u32),
}

/// What collection did, for its time to be counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Collected {
    /// Pages that were read: the number of each in its block, and how many units of it.
    pub(super) pages: Vec<(u32, u32)>,
    pub(super) programs: u32,
    pub(super) erases: u32,
}

impl Collected {
    fn clear(&mut self) {
        self.pages.clear();
        (self.programs, self.erases) = (0, 0);
    }
}

#[derive(Debug, Clone, Default)]
struct Block {
    valid: u32,
    /// Nothing more is written to it before it is erased.
    is_closed: bool,
    /// Its units by their slots, once it was erased.
    units: Option<Vec<u32>>,
}

/// A block that is being written.
#[derive(Debug, Clone, Copy)]
struct Frontier {
    block: u32,
    next: u32,
}

#[derive(Debug, Clone, Default)]
struct DieBlocks {
    free: Vec<u32>,
    valid: u32,
    /// For the host's data, and for what was collected.
    host: Option<Frontier>,
    copies: Option<Frontier>,
}

/// In the table: in the buffer.
const IN_BUFFER: u32 = u32::MAX;
/// In a block's list: nothing.
const PADDING: u32 = u32::MAX;

/// Units are numbers that no attacker chooses, and nothing depends on their order here.
type Moved = HashMap<u32, u32, FixedState>;

#[derive(Debug, Clone)]
pub(super) struct Mapping {
    shape: Shape,
    start: Arc<Start>,
    moved: Moved,
    blocks: Vec<Block>,
    dies: Vec<DieBlocks>,
    scratch: Vec<(u32, u32)>,
    /// What the last program made necessary.
    pub(super) collected: Collected,
    /// Units that the host wrote, and units that were copied.
    pub(super) programmed: [u64; 2],
}

impl Mapping {
    pub(super) fn new(parameters: &Parameters, start: Arc<Start>) -> Self {
        let shape = parameters.shape;
        let mut blocks = vec![Block::default(); (shape.dies * shape.die_blocks) as usize];
        let mut dies = vec![DieBlocks::default(); shape.dies as usize];
        for (number, block) in blocks.iter_mut().enumerate().rev() {
            let die = &mut dies[number / shape.die_blocks as usize];
            block.valid = start.valid(number as u32);
            block.is_closed = block.valid > 0;
            die.valid += block.valid;
            if !block.is_closed {
                die.free.push(number as u32);
            }
        }
        Self {
            shape,
            start,
            moved: Moved::default(),
            blocks,
            dies,
            scratch: vec![],
            collected: Collected::default(),
            programmed: [0; 2],
        }
    }

    /// Where a unit is.
    pub(super) fn place(&self, unit: u32) -> Place {
        match self.moved.get(&unit) {
            Some(&IN_BUFFER) => Place::Buffer,
            Some(slot) => Place::Slot(*slot),
            None => self.start.slot(unit).map_or(Place::Nowhere, Place::Slot),
        }
    }

    /// A unit's new data are in the buffer: what lay in the flash is no longer valid. Returns where
    /// it was.
    pub(super) fn buffer(&mut self, unit: u32) -> Place {
        let place = match self.moved.insert(unit, IN_BUFFER) {
            Some(IN_BUFFER) => return Place::Buffer,
            Some(slot) => Place::Slot(slot),
            None => self.start.slot(unit).map_or(Place::Nowhere, Place::Slot),
        };
        if let Place::Slot(slot) = place {
            let block = slot / self.shape.block_units;
            self.blocks[block as usize].valid -= 1;
            self.dies[(block / self.shape.die_blocks) as usize].valid -= 1;
        }
        place
    }

    /// Whether a die may be given a program of the host's data.
    pub(super) fn has_room(&self, die: u32) -> bool {
        self.dies[die as usize].valid + self.shape.program_units <= self.shape.most_valid()
    }

    /// Programs units of the buffer on a die, after what collection that takes (see
    /// [`Self::collected`]); returns the first one's slot.
    pub(super) fn program(&mut self, die: u32, units: &[u32]) -> u32 {
        self.collected.clear();
        self.programmed[0] += units.len() as u64;
        let frontier = match self.dies[die as usize].host {
            Some(frontier) => frontier,
            None => {
                self.make_room(die);
                self.open(die)
            }
        };
        let slot = frontier.block * self.shape.block_units + frontier.next;
        for (within, unit) in units.iter().enumerate() {
            self.moved.insert(*unit, slot + within as u32);
        }
        let block = &mut self.blocks[frontier.block as usize];
        block.valid += units.len() as u32;
        let list = block.units.get_or_insert_default();
        list.extend_from_slice(units);
        list.resize((frontier.next + self.shape.program_units) as usize, PADDING);
        self.dies[die as usize].valid += units.len() as u32;
        self.dies[die as usize].host = self.behind(frontier, self.shape.program_units);
        slot
    }

    /// Programs of the host's data until a die opens its next block.
    pub(super) fn programs_left(&self, die: u32) -> u32 {
        let left = |frontier: Frontier| self.shape.block_units - frontier.next;
        self.dies[die as usize].host.map_or(0, left) / self.shape.program_units
    }

    /// The frontier after so many slots; none where its block is full, and closed.
    fn behind(&mut self, frontier: Frontier, slots: u32) -> Option<Frontier> {
        let next = frontier.next + slots;
        let is_full = next >= self.shape.block_units;
        self.blocks[frontier.block as usize].is_closed = is_full;
        (!is_full).then_some(Frontier { next, ..frontier })
    }

    /// Opens a free block. That there is one, the shape and [`Self::has_room`] see to.
    fn open(&mut self, die: u32) -> Frontier {
        let block = self.dies[die as usize].free.pop().unwrap_or(die * self.shape.die_blocks);
        let list = self.blocks[block as usize].units.get_or_insert_default();
        list.clear();
        list.reserve_exact(self.shape.block_units as usize);
        Frontier { block, next: 0 }
    }

    /// Collects until more blocks are free than are to be.
    fn make_room(&mut self, die: u32) {
        while self.dies[die as usize].free.len() <= self.shape.free_blocks as usize {
            let Some(victim) = self.victim(die) else { return };
            self.collect(die, victim);
        }
    }

    /// The closed block of a die with the fewest valid units; none where all are full.
    fn victim(&self, die: u32) -> Option<u32> {
        let first = die * self.shape.die_blocks;
        let of_die = &self.blocks[first as usize..(first + self.shape.die_blocks) as usize];
        let closed = of_die.iter().enumerate().filter(|(_, block)| block.is_closed);
        let (number, block) = closed.min_by_key(|(_, block)| block.valid)?;
        (block.valid < self.shape.block_units).then_some(first + number as u32)
    }

    /// Copies what is valid of a block, and erases it.
    fn collect(&mut self, die: u32, victim: u32) {
        let mut valid = std::mem::take(&mut self.scratch);
        self.valid_of(victim, &mut valid);
        let first = victim * self.shape.block_units;
        let mut last = u32::MAX;
        for &(unit, slot) in &valid {
            let page = (slot - first) / self.shape.page_units;
            if page != last {
                self.collected.pages.push((page, 0));
                last = page;
            }
            self.collected.pages.last_mut().into_iter().for_each(|page| page.1 += 1);
            self.copy(die, unit);
        }
        self.programmed[1] += valid.len() as u64;
        valid.clear();
        self.scratch = valid;
        let block = &mut self.blocks[victim as usize];
        (block.valid, block.is_closed) = (0, false);
        // The next list is this one.
        block.units.get_or_insert_default().clear();
        self.dies[die as usize].free.insert(0, victim);
        self.collected.erases += 1;
    }

    /// The valid units of a block, with their slots.
    fn valid_of(&self, block: u32, valid: &mut Vec<(u32, u32)>) {
        let slot = block * self.shape.block_units;
        match &self.blocks[block as usize].units {
            Some(units) => {
                let placed = (slot..).zip(units).filter(|(_, unit)| **unit != PADDING);
                let is_there = |slot: u32, unit: u32| self.moved.get(&unit) == Some(&slot);
                let placed = placed.filter(|(slot, unit)| is_there(*slot, **unit));
                valid.extend(placed.map(|(slot, unit)| (*unit, slot)));
            }
            None => self.start.each_of(block, |unit, slot| {
                if !self.moved.contains_key(&unit) {
                    valid.push((unit, slot));
                }
            }),
        }
    }

    /// Copies a unit to the die's block of copies.
    fn copy(&mut self, die: u32, unit: u32) {
        let frontier = match self.dies[die as usize].copies {
            Some(frontier) => frontier,
            None => self.open(die),
        };
        self.moved.insert(unit, frontier.block * self.shape.block_units + frontier.next);
        let block = &mut self.blocks[frontier.block as usize];
        block.valid += 1;
        block.units.get_or_insert_default().push(unit);
        let copies = self.behind(frontier, 1);
        self.dies[die as usize].copies = copies;
        let next = copies.map_or(0, |frontier| frontier.next);
        self.collected.programs += u32::from(next.is_multiple_of(self.shape.program_units));
    }

    /// Units programmed over units that the host wrote.
    pub(super) fn write_amplification(&self) -> f64 {
        let [host, copied] = self.programmed;
        (host + copied) as f64 / host.max(1) as f64
    }

    /// What must always hold: no two units in one slot, each in a block that knows it, the counts
    /// what they count.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let mut valid = vec![0; self.blocks.len()];
        let mut taken = std::collections::HashSet::new();
        for unit in 0..self.shape.units {
            let Place::Slot(slot) = self.place(unit) else { continue };
            assert!(taken.insert(slot), "{unit} is not alone in {slot}");
            valid[(slot / self.shape.block_units) as usize] += 1;
            let mut of_block = vec![];
            if slot % 97 == 0 {
                self.valid_of(slot / self.shape.block_units, &mut of_block);
                assert!(of_block.contains(&(unit, slot)), "{unit} in {slot}");
            }
        }
        let counted: Vec<u32> = self.blocks.iter().map(|block| block.valid).collect();
        assert_eq!(counted, valid);
        for (number, die) in self.dies.iter().enumerate() {
            let first = number * self.shape.die_blocks as usize;
            let of_die = &valid[first..first + self.shape.die_blocks as usize];
            assert_eq!(die.valid, of_die.iter().sum::<u32>());
            assert!(die.free.iter().all(|block| valid[*block as usize] == 0));
        }
    }
}

//! System calls as state machines: each step is some work of the processor, a wait, or the end of
//! the call.
//!
//! After `ufs_inode`'s `rwip`, `bmap`, `breada` and `bawrite` of 4.2BSD: one block is read ahead
//! when a block is requested after the one before it, a whole block written goes to the drive at
//! once, part of one stays. The block that is requested is put on the drive's queue before the one
//! that is read ahead.

use super::BsdMachine;
use super::process::{Call, Sleep, Stage};
use crate::buffer_cache::{Free, Key, State, key};
use crate::file_system::fast::File;
use crate::processor::Account;
use model::seam::Operation;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Step {
    Work(f64, Account),
    Sleep(Sleep),
    On,
    /// An end: bytes, or a negative errno.
    Finished(i64),
}

const ENOENT: i64 = -2;
const ENOSPC: i64 = -28;

/// A step, or what its process sleeps on until it is tried again.
type Stepped = Result<Step, Sleep>;

impl BsdMachine {
    /// The next step of a process's call.
    pub(super) fn step(&mut self, process: usize, call: &mut Call) -> Step {
        self.stepped(process, call).unwrap_or_else(Step::Sleep)
    }

    fn stepped(&mut self, process: usize, call: &mut Call) -> Stepped {
        match call.stage {
            Stage::Enter => {
                call.stage = Stage::Begin;
                Ok(Step::Work(self.settings.costs.user_call_ns, Account::User))
            }
            Stage::Begin => self.begin(process, call),
            Stage::Next => self.next_block(process, call),
            Stage::Map => self.map(process, call),
            Stage::Fetch => self.fetch(process, call),
            Stage::Ahead => self.ahead(process, call),
            Stage::Await => self.await_block(process, call),
            Stage::Copied => self.copied(process, call),
            Stage::Allocate => self.allocate(process, call),
            Stage::Allocated => self.allocated(process, call),
            Stage::Indirect => self.indirect(process, call),
            Stage::AwaitIndirect => self.await_write(call, Stage::Map),
            Stage::Take => self.take(process, call),
            Stage::Fill => {
                call.stage = Stage::Filled;
                let bytes = self.part(call).1;
                self.work(bytes as f64 * self.settings.costs.copy_ns_per_byte)
            }
            Stage::Filled => self.filled(process, call),
            Stage::Free => self.free_blocks(process, call),
            Stage::Inode(number) => self.write_inode(process, call, number),
            Stage::AwaitInode(number) => {
                let next = if number == 0 { Stage::Inode(1) } else { Stage::Finish };
                self.await_write(call, next)
            }
            Stage::Flush => self.flush(process, call),
            Stage::Finish => Ok(Step::Finished(0)),
        }
    }

    fn work(&self, ns: f64) -> Stepped {
        Ok(Step::Work(ns, Account::System))
    }

    /// The key of a block of a process's file.
    fn key_of(&self, process: usize, block: impl FnOnce(&File) -> Option<&u64>) -> Key {
        let file = &self.files[self.processes[process].file.unwrap_or(0)];
        let block = block(file).copied().unwrap_or(0);
        key(self.processes[process].drive, self.sector(block))
    }

    fn begin(&mut self, process: usize, call: &mut Call) -> Stepped {
        let costs = self.settings.costs;
        let file = self.processes[process].file;
        let blocks = file.map_or(0, |file| self.files[file].blocks.len());
        let operation = call.request.operation;
        if file.is_none()
            && !matches!(operation, Operation::Create | Operation::Unlink | Operation::Close)
        {
            return Ok(Step::Finished(ENOENT));
        }
        call.stage = match operation {
            Operation::Read | Operation::Write => Stage::Next,
            Operation::Create | Operation::Unlink => Stage::Free,
            Operation::OpenRead | Operation::OpenReadWrite => {
                self.processes[process].last_read = 0;
                Stage::Finish
            }
            Operation::Fdatasync | Operation::Fsync => Stage::Flush,
            Operation::Close
            | Operation::Copy
            | Operation::SyncFileRange
            | Operation::StartWriteback => Stage::Finish,
        };
        let freed = if call.stage == Stage::Free { blocks as f64 * costs.free_ns } else { 0.0 };
        self.work(costs.call_ns + freed)
    }

    /// The block at hand, and how many bytes of it.
    fn part(&self, call: &Call) -> (u64, u64) {
        let block_bytes = self.block_bytes;
        let logical = call.offset_bytes / block_bytes;
        (logical, call.end_bytes.min((logical + 1) * block_bytes) - call.offset_bytes)
    }

    fn next_block(&mut self, process: usize, call: &mut Call) -> Stepped {
        if call.request.operation == Operation::Read {
            let file = self.processes[process].file;
            let size = file.map_or(0, |file| self.files[file].size_bytes);
            call.end_bytes = call.end_bytes.min(size).max(call.offset_bytes);
        }
        if call.offset_bytes >= call.end_bytes {
            return Ok(Step::Finished((call.end_bytes - call.request.offset_bytes) as i64));
        }
        call.stage = Stage::Map;
        self.work(self.settings.costs.block_ns)
    }

    fn map(&mut self, process: usize, call: &mut Call) -> Stepped {
        let (logical, _) = self.part(call);
        let Some(file) = self.processes[process].file else { return Ok(Step::Finished(ENOENT)) };
        let drive = self.processes[process].drive;
        let path = File::path(logical, self.addresses);
        for number in path.indirect.into_iter().flatten() {
            let Some(block) = self.files[file].indirect.get(number).copied() else { continue };
            self.ensure(process, key(drive, self.sector(block)))?;
        }
        let is_there = logical < self.files[file].blocks.len() as u64;
        call.stage = match call.request.operation {
            Operation::Read => Stage::Fetch,
            _ if is_there => Stage::Take,
            _ => Stage::Allocate,
        };
        Ok(Step::On)
    }

    fn fetch(&mut self, process: usize, call: &mut Call) -> Stepped {
        let (logical, _) = self.part(call);
        call.slot = self.ask_for(process, logical)?;
        let last = self.processes[process].last_read;
        let is_next = logical == last + 1 && File::is_next_at_hand(logical, self.addresses);
        call.stage = if is_next { Stage::Ahead } else { Stage::Await };
        Ok(Step::On)
    }

    fn ahead(&mut self, process: usize, call: &mut Call) -> Stepped {
        let (logical, _) = self.part(call);
        let file = self.processes[process].file;
        let blocks = file.map_or(0, |file| self.files[file].blocks.len() as u64);
        if logical + 1 < blocks {
            self.ask_for(process, logical + 1)?;
        }
        call.stage = Stage::Await;
        Ok(Step::On)
    }

    /// The buffer of a file's block, on whose reading it has been begun at least.
    fn ask_for(&mut self, process: usize, logical: u64) -> Result<usize, Sleep> {
        let key = self.key_of(process, |file| file.blocks.get(logical as usize));
        if let Some(slot) = self.cache.find(key) {
            return Ok(slot);
        }
        let slot = self.obtain(process, key)?;
        self.start(process, slot, false);
        Ok(slot)
    }

    fn await_block(&mut self, process: usize, call: &mut Call) -> Stepped {
        let (logical, bytes) = self.part(call);
        let key = self.key_of(process, |file| file.blocks.get(logical as usize));
        if self.cache.key_of(call.slot) != key {
            call.stage = Stage::Fetch;
            return Ok(Step::On);
        }
        if self.cache.state(call.slot) == State::Reading {
            return Err(Sleep::Slot(call.slot));
        }
        self.cache.touch(call.slot);
        call.stage = Stage::Copied;
        self.work(bytes as f64 * self.settings.costs.copy_ns_per_byte)
    }

    fn copied(&mut self, process: usize, call: &mut Call) -> Stepped {
        let (logical, bytes) = self.part(call);
        call.offset_bytes += bytes;
        if call.offset_bytes.is_multiple_of(self.block_bytes) {
            self.cache.age(call.slot);
        }
        self.processes[process].last_read = logical;
        call.stage = Stage::Next;
        Ok(Step::On)
    }

    fn allocate(&mut self, process: usize, call: &mut Call) -> Stepped {
        let (logical, _) = self.part(call);
        let Some(file) = self.processes[process].file else { return Ok(Step::Finished(ENOENT)) };
        let drive = self.processes[process].drive;
        let system = &self.systems[drive];
        let needs_indirect = self.files[file].missing_indirect(logical, self.addresses) > 0;
        let preference = match needs_indirect {
            true => system.preference(&self.files[file], logical, None, 0),
            false => self.files[file].next_preference(system),
        };
        let map = system.map_block(system.group_of(preference));
        let slot = self.ensure(process, key(drive, self.sector(map)))?;
        self.cache.set_state(slot, State::Dirty);
        let system = &mut self.systems[drive];
        let (block, next) = match needs_indirect {
            true => (self.files[file].add_indirect(system), Stage::Indirect),
            false => (self.files[file].add_block(system), Stage::Allocated),
        };
        if block.is_none() {
            return Ok(Step::Finished(ENOSPC));
        }
        call.stage = next;
        let cleared_bytes = if needs_indirect { self.block_bytes } else { 0 };
        let costs = self.settings.costs;
        self.work(costs.allocate_ns + cleared_bytes as f64 * costs.clear_ns_per_byte)
    }

    /// A block of the file has its place: it is cleared in a buffer.
    fn allocated(&mut self, process: usize, call: &mut Call) -> Stepped {
        let key = self.key_of(process, |file| file.blocks.last());
        call.slot = self.obtain(process, key)?;
        self.dirty_address_of_last(process);
        call.stage = Stage::Fill;
        self.work(self.block_bytes as f64 * self.settings.costs.clear_ns_per_byte)
    }

    /// What holds the address of the file's last block is to be written some day.
    fn dirty_address_of_last(&mut self, process: usize) {
        let Some(file) = self.processes[process].file else { return };
        let drive = self.processes[process].drive;
        let last = (self.files[file].blocks.len() as u64).saturating_sub(1);
        let table = File::path(last, self.addresses).indirect.into_iter().flatten().last();
        let block = match table.and_then(|number| self.files[file].indirect.get(number)) {
            Some(block) => *block,
            None => self.systems[drive].inode_block(&self.files[file]),
        };
        if let Some(slot) = self.cache.find(key(drive, self.sector(block)))
            && self.cache.state(slot) == State::Clean
        {
            self.cache.set_state(slot, State::Dirty);
        }
    }

    fn indirect(&mut self, process: usize, call: &mut Call) -> Stepped {
        let key = self.key_of(process, |file| file.indirect.last());
        call.slot = self.obtain(process, key)?;
        self.start(process, call.slot, true);
        call.stage = Stage::AwaitIndirect;
        Ok(Step::On)
    }

    fn await_write(&mut self, call: &mut Call, next: Stage) -> Stepped {
        if self.cache.state(call.slot) == State::Writing {
            return Err(Sleep::Slot(call.slot));
        }
        call.stage = next;
        Ok(Step::On)
    }

    fn take(&mut self, process: usize, call: &mut Call) -> Stepped {
        let (logical, bytes) = self.part(call);
        let key = self.key_of(process, |file| file.blocks.get(logical as usize));
        let slot = match self.cache.find(key) {
            Some(slot) => match self.cache.state(slot) {
                State::Reading | State::Writing => return Err(Sleep::Slot(slot)),
                _ => slot,
            },
            None => match self.obtain(process, key)? {
                slot if bytes == self.block_bytes => slot,
                // Part of a block: the rest of it must be there.
                slot => {
                    self.start(process, slot, false);
                    return Err(Sleep::Slot(slot));
                }
            },
        };
        self.cache.set_state(slot, State::Held);
        self.cache.touch(slot);
        call.slot = slot;
        call.stage = Stage::Fill;
        Ok(Step::On)
    }

    fn filled(&mut self, process: usize, call: &mut Call) -> Stepped {
        let (_, bytes) = self.part(call);
        call.offset_bytes += bytes;
        if let Some(file) = self.processes[process].file {
            let file = &mut self.files[file];
            file.size_bytes = file.size_bytes.max(call.offset_bytes);
        }
        if call.offset_bytes.is_multiple_of(self.block_bytes) {
            self.start(process, call.slot, true);
            self.cache.age(call.slot);
        } else {
            self.cache.set_state(call.slot, State::Dirty);
        }
        call.stage = Stage::Next;
        Ok(Step::On)
    }

    /// Gives a file's blocks back: each group's map is read and changed.
    fn free_blocks(&mut self, process: usize, call: &mut Call) -> Stepped {
        let is_create = call.request.operation == Operation::Create;
        let drive = self.processes[process].drive;
        if let Some(file) = self.processes[process].file {
            let system = &self.systems[drive];
            let blocks = || self.files[file].blocks.iter().chain(&self.files[file].indirect);
            let mut groups: Vec<usize> = blocks().map(|block| system.group_of(*block)).collect();
            groups.sort_unstable();
            groups.dedup();
            if let Some(group) = groups.get(call.groups) {
                let map = system.map_block(*group);
                let slot = self.ensure(process, key(drive, self.sector(map)))?;
                self.cache.set_state(slot, State::Dirty);
                call.groups += 1;
                return Ok(Step::On);
            }
            self.give_back(drive, file);
        }
        call.stage = Stage::Finish;
        if is_create {
            self.create(process);
            call.stage = Stage::Inode(0);
        } else if self.processes[process].file.take().is_some() {
            let name = self.processes[process].name.clone();
            self.names.remove(&(drive, name));
        }
        Ok(Step::On)
    }

    /// The new inode and its directory's entry are written one after the other, each waited for.
    fn write_inode(&mut self, process: usize, call: &mut Call, number: u8) -> Stepped {
        let drive = self.processes[process].drive;
        let file = self.processes[process].file.unwrap_or(0);
        let block = self.systems[drive].inode_block(&self.files[file]) + u64::from(number);
        let slot = self.ensure(process, key(drive, self.sector(block)))?;
        call.slot = slot;
        self.start(process, slot, true);
        call.stage = Stage::AwaitInode(number);
        Ok(Step::On)
    }

    fn flush(&mut self, process: usize, call: &mut Call) -> Stepped {
        let drive = self.processes[process].drive;
        let on_drive =
            |slot: &usize| crate::buffer_cache::place(self.cache.key_of(*slot)).0 == drive;
        let dirty: Vec<usize> = self.cache.in_state(State::Dirty).filter(on_drive).collect();
        let is_writing = self.cache.in_state(State::Writing).any(|slot| on_drive(&slot));
        for slot in &dirty {
            self.start(process, *slot, true);
        }
        if is_writing || !dirty.is_empty() {
            return Err(Sleep::Drive(drive));
        }
        call.stage = Stage::Finish;
        Ok(Step::On)
    }

    /// A block in a buffer, read if need be.
    fn ensure(&mut self, process: usize, key: u64) -> Result<usize, Sleep> {
        if let Some(slot) = self.cache.find(key) {
            if matches!(self.cache.state(slot), State::Reading | State::Writing) {
                return Err(Sleep::Slot(slot));
            }
            self.cache.touch(slot);
            return Ok(slot);
        }
        let slot = self.obtain(process, key)?;
        self.start(process, slot, false);
        Err(Sleep::Slot(slot))
    }

    /// A buffer for a block. What is dirty is written to make room.
    fn obtain(&mut self, process: usize, key: u64) -> Result<usize, Sleep> {
        loop {
            match self.cache.take(key) {
                Free::Slot(slot) => return Ok(slot),
                Free::Dirty(slot) => self.start(process, slot, true),
                Free::None => return Err(Sleep::AnyBuffer),
            }
        }
    }
}

//! What the programs know of threads (`struct waiting` of wait.h): waits that go on, and how long
//! each thread waited in all. Who still waits comes back to no CPU, so that its stack is that of
//! /proc.
//!
//! Non-goals: waits that go on and are shorter than those that are told anyway; threads of another
//! PID namespace than the first.

use super::mapping::Mapping;
use super::programs::STORES_IN_ORDER;
use super::ring;
use super::wait::{LEAST_NS, Waits};
use crate::bpf::Loaded;
use crate::event::{GoingOn, WaitEvent, WaitTotals};
use crate::intake::{SeenThread, Steps};
use crate::process;
use aya::maps::{Array, Map, MapData};
use model::record::FileNumber;
use rustix::mm::ProtFlags;
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// `struct waiting`, and how many there are.
const SLOT_BYTES: usize = 192;
const SLOTS: usize = 1 << 15;
/// How many are looked at together. They begin a page, however large pages are.
const BLOCK_SLOTS: usize = 1 << 10;
const _: () = assert!((BLOCK_SLOTS * SLOT_BYTES).is_multiple_of(64 << 10));
const BLOCKS: usize = SLOTS / BLOCK_SLOTS;

/// The table as the programs write it; none where they tell of no waits.
#[derive(Debug)]
pub(super) struct Threads(Option<Table>);

/// It is mapped in parts and while these are looked at: all that is mapped counts as our memory.
#[derive(Debug)]
struct Table {
    waiting: MapData,
    /// A byte for each block, in which somebody began to wait (`waited_in`).
    blocks: Mapping,
}

/// One of its rows.
struct Slot {
    since_ns: u64,
    /// Who waits; 0: nobody.
    pid: u32,
    /// Whose the totals are.
    owner: u32,
    totals: WaitTotals,
}

impl Threads {
    /// Of programs that are attached, if they tell of waits. Who waits already, for them waits
    /// since now.
    pub(super) fn of(loaded: &mut Loaded, are_told: bool) -> Self {
        if are_told {
            begin_those_that_wait(loaded);
        }
        Self(Table::of(loaded))
    }

    /// Waits that have gone on for so long, or as long as any that are told.
    pub(super) fn going_on(&self, waits: &Waits, least_ns: u64) -> Vec<GoingOn> {
        let now_ns = ring::now_ns();
        let least_ns = least_ns.max(LEAST_NS);
        let begun = self.0.iter().flat_map(Table::waiting);
        let begun = begun.filter(|slot| slot.since_ns.saturating_add(least_ns) <= now_ns);
        begun.filter_map(|slot| going_on(waits, &slot, now_ns)).collect()
    }

    /// All that is left to tell of programs that are not attached any more.
    pub(super) fn left(&self, waits: &Waits) -> Left {
        let all = self.0.iter().filter_map(|table| table.slots(0..SLOTS)).flatten();
        let waited = all.filter(|slot| slot.totals.count > 0);
        let totals = waited.map(|slot| (slot.owner, slot.totals)).collect();
        Left { going_on: self.going_on(waits, LEAST_NS), totals }
    }
}

impl Table {
    fn of(loaded: &mut Loaded) -> Option<Self> {
        let mut array = |name| match loaded.ebpf.take_map(name) {
            Some(Map::Array(map)) => Some(map),
            _ => None,
        };
        let (waiting, blocks) = (array("waiting")?, array("waited_in")?);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let blocks = Mapping::new(blocks.fd().as_fd(), BLOCKS, access).ok()?;
        let table = Self { waiting, blocks };
        // Those that waited already are in any block.
        (0..BLOCKS).for_each(|block| table.note(block));
        Some(table)
    }

    /// Who waits.
    fn waiting(&self) -> Vec<Slot> {
        let blocks = (0..BLOCKS).filter(|block| self.take_note(*block));
        let of_block = |block| {
            let first = block * BLOCK_SLOTS;
            let slots = self.slots(first..first + BLOCK_SLOTS);
            let is_looked_at = slots.is_some() && STORES_IN_ORDER != 0;
            let mut waiting = slots.unwrap_or_default();
            waiting.retain(|slot| slot.pid != 0);
            if !waiting.is_empty() || !is_looked_at {
                self.note(block);
            }
            waiting
        };
        blocks.flat_map(of_block).collect()
    }

    /// Somebody waits in a block.
    fn note(&self, block: usize) {
        let (word, bits) = self.of_block(block);
        word.fetch_or(bits, Ordering::Relaxed);
    }

    /// Whether somebody began to wait in a block; from now on nobody has.
    fn take_note(&self, block: usize) -> bool {
        let (word, bits) = self.of_block(block);
        word.load(Ordering::Relaxed) & bits != 0
            && word.fetch_and(!bits, Ordering::SeqCst) & bits != 0
    }

    /// A block's byte, in its word.
    fn of_block(&self, block: usize) -> (&AtomicU64, u64) {
        let mut bytes = [0; 8];
        bytes[block % 8] = u8::MAX;
        (self.blocks.word(block / 8 * 8), u64::from_ne_bytes(bytes))
    }

    /// Rows of which something is known; none where they cannot be mapped.
    fn slots(&self, of: Range<usize>) -> Option<Vec<Slot>> {
        let bytes = of.start * SLOT_BYTES..of.end * SLOT_BYTES;
        let part = Mapping::of(self.waiting.fd().as_fd(), bytes, ProtFlags::READ).ok()?;
        let word = |slot: usize, place: usize| {
            part.word(slot * SLOT_BYTES + 8 * place).load(Ordering::Relaxed)
        };
        let known = (0..of.len()).filter(|slot| word(*slot, THREADS) != 0);
        Some(known.map(|slot| Slot::of(std::array::from_fn(|place| word(slot, place)))).collect())
    }
}

/// The same in words; and where in them is who waits and whose it is, since when, and both sums.
type Words = [u64; SLOT_BYTES / 8];
const THREADS: usize = 0;
const SINCE: usize = 8;
const TOTALS: usize = 16;

impl Slot {
    fn of(words: Words) -> Self {
        let [others, others_ns, requests, requests_ns] =
            std::array::from_fn(|place| words[TOTALS + place]);
        let [a, b, c, d, e, f, g, h] = words[THREADS].to_ne_bytes();
        Self {
            since_ns: words[SINCE],
            pid: u32::from_ne_bytes([a, b, c, d]),
            owner: u32::from_ne_bytes([e, f, g, h]),
            totals: WaitTotals {
                count: others.saturating_add(requests),
                sum_ns: others_ns.saturating_add(requests_ns),
                for_requests_ns: requests_ns,
            },
        }
    }
}

/// Enters threads that wait already: no program saw them leave their CPUs.
fn begin_those_that_wait(loaded: &mut Loaded) {
    let Some(map @ Map::Array(_)) = loaded.ebpf.map_mut("waiting") else { return };
    let Ok(mut map) = Array::<_, Words>::try_from(map) else { return };
    for thread in all_threads() {
        let Some(switches) = waiting_since_switch(thread) else { continue };
        let place = thread % SLOTS as u32;
        let is_free = |words: Words| Slot::of(words).pid == 0;
        if !map.get(&place, 0).is_ok_and(is_free) {
            continue;
        }
        let threads = u64::from(thread) << 32 | u64::from(thread);
        let mut words = Words::default();
        (words[SINCE], words[THREADS]) = (ring::now_ns(), threads);
        let _ = map.set(place, words, 0);
        // It may have come back meanwhile, unseen.
        if waiting_since_switch(thread) != Some(switches) {
            let _ = map.set(place, Words::default(), 0);
        }
    }
}

fn all_threads() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.flat_map(|process| process::threads(process).unwrap_or_default())
}

/// How often a thread that waits without being able to be interrupted had left its CPU when it
/// left it last; none of another.
fn waiting_since_switch(thread: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let value = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let waits = value("State:")?.trim().starts_with("D");
    let is_kernels = value("VmSize:").is_none();
    let switches = value("voluntary_ctxt_switches:")?.trim().parse().ok();
    switches.filter(|_| waits && !is_kernels)
}

/// What is told at the end.
#[derive(Debug, Default)]
pub(super) struct Left {
    going_on: Vec<GoingOn>,
    totals: Vec<(u32, WaitTotals)>,
}

impl Left {
    pub(super) fn tell(&self, steps: &mut impl Steps) {
        self.going_on.iter().for_each(|wait| tell(wait, steps));
        self.totals.iter().for_each(|(pid, totals)| steps.waited(*pid, *totals));
    }
}

fn tell(wait: &GoingOn, steps: &mut impl Steps) {
    let name = Some(steps.command(wait.command.as_bytes()));
    steps.thread(SeenThread { pid: wait.pid, process: wait.process, name, cgroup: None });
    let event = WaitEvent {
        begin_ns: wait.begin_ns,
        end_ns: wait.now_ns,
        kind: wait.kind,
        file: FileNumber::default(),
        pid: wait.pid,
        command: name,
        is_for_request: false,
        holder: 0,
        is_in_transaction: false,
        stack: 0,
    };
    steps.wait(&event);
}

fn going_on(waits: &Waits, slot: &Slot, now_ns: u64) -> Option<GoingOn> {
    let pid = slot.pid;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().to_owned())
    };
    if !value("State:")?.starts_with('D') {
        return None;
    }
    let process = value("Tgid:")?.parse().ok().filter(|process| !waits.is_own(*process))?;
    let stack = std::fs::read_to_string(format!("/proc/{pid}/stack")).ok()?;
    Some(GoingOn {
        begin_ns: slot.since_ns as i64,
        now_ns: now_ns as i64,
        kind: waits.kind_of(stack.lines().filter_map(function))?,
        pid,
        process,
        command: value("Name:")?,
    })
}

/// `[<0>] balance_dirty_pages+0x2a5/0x7d0`, of a module with ` [ext4]` behind it.
fn function(line: &str) -> Option<&str> {
    line.split_once("] ")?.1.split('+').next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aya_obj::Object;

    #[test]
    fn a_line_of_a_stack_names_its_function() {
        let named = "[<0>] ext4_file_write_iter+0x51/0x60 [ext4]";
        assert_eq!(function(named), Some("ext4_file_write_iter"));
        assert_eq!(function(""), None);
    }

    #[test]
    fn a_row_has_who_waits_whose_it_is_and_both_sums() {
        let mut threads = 7_u32.to_ne_bytes().to_vec();
        threads.extend(8_u32.to_ne_bytes());
        let threads = u64::from_ne_bytes(threads.try_into().unwrap());
        let mut words = Words::default();
        (words[THREADS], words[SINCE]) = (threads, 5);
        words[TOTALS..TOTALS + 4].copy_from_slice(&[1, 10, 2, 30]);
        let slot = Slot::of(words);
        assert_eq!((slot.since_ns, slot.pid, slot.owner), (5, 7, 8));
        let totals = slot.totals;
        assert_eq!((totals.count, totals.sum_ns, totals.for_requests_ns), (3, 40, 30));
    }

    /// Rows of another size would be read from wrong places, and without an error.
    #[test]
    fn a_row_is_as_large_as_the_programs_have_it() {
        let objects = [
            aya::include_bytes_aligned!("block.bpf.o"),
            aya::include_bytes_aligned!("block_plain.bpf.o"),
        ];
        for object in objects {
            let object = Object::parse(object).unwrap();
            assert_eq!(object.maps["waiting"].value_size() as usize, SLOT_BYTES);
            assert_eq!(object.maps["waiting"].max_entries() as usize, SLOTS);
            assert_eq!(object.maps["waited_in"].value_size() as usize, BLOCKS);
        }
    }
}

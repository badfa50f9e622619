//! What the programs know of threads (`struct waiting` of wait.h): waits that go on, and how long
//! each thread waited in all. Who still waits comes back to no CPU, so that its stack is that of
//! /proc.
//!
//! Non-goals: waits that go on and are shorter than those that are told anyway; threads of another
//! PID namespace than the first.

use super::mapping::Mapping;
use super::ring;
use super::wait::{LEAST_NS, Waits};
use crate::bpf::Loaded;
use crate::event::{GoingOn, WaitEvent, WaitTotals};
use crate::intake::Steps;
use crate::process;
use aya::maps::{Array, Map};
use model::record::FileNumber;
use rustix::mm::ProtFlags;
use std::os::fd::AsFd as _;
use std::sync::atomic::Ordering;

/// `struct waiting`, and how many there are.
const SLOT_BYTES: usize = 128;
const SLOTS: usize = 1 << 15;

/// The table as the programs write it; none where they tell of no waits.
#[derive(Debug)]
pub(super) struct Threads(Option<Mapping>);

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
        let Some(Map::Array(map)) = loaded.ebpf.map("waiting") else { return Self(None) };
        Self(Mapping::new(map.fd().as_fd(), SLOTS * SLOT_BYTES, ProtFlags::READ).ok())
    }

    /// Waits that have gone on for so long, or as long as any that are told.
    pub(super) fn going_on(&self, waits: &Waits, least_ns: u64) -> Vec<GoingOn> {
        let now_ns = ring::now_ns();
        let least_ns = least_ns.max(LEAST_NS);
        let begun = self.slots().filter(|slot| slot.pid != 0);
        let begun = begun.filter(|slot| slot.since_ns.saturating_add(least_ns) <= now_ns);
        begun.filter_map(|slot| going_on(waits, &slot, now_ns)).collect()
    }

    /// All that is left to tell of programs that are not attached any more.
    pub(super) fn left(&self, waits: &Waits) -> Left {
        let waited = self.slots().filter(|slot| slot.totals.count > 0);
        let totals = waited.map(|slot| (slot.owner, slot.totals)).collect();
        Left { going_on: self.going_on(waits, LEAST_NS), totals }
    }

    /// Rows of which something is known.
    fn slots(&self) -> impl Iterator<Item = Slot> {
        let words = self.0.iter().flat_map(|table| {
            let word = |slot: usize, place: usize| {
                table.word(slot * SLOT_BYTES + 8 * place).load(Ordering::Relaxed)
            };
            (0..SLOTS)
                .filter(move |slot| word(*slot, 1) != 0)
                .map(move |slot| std::array::from_fn(|place| word(slot, place)))
        });
        words.map(Slot::of)
    }
}

/// The same in words.
type Words = [u64; SLOT_BYTES / 8];

impl Slot {
    fn of(words: Words) -> Self {
        let [since_ns, threads, _, _, others, others_ns, requests, requests_ns, ..] = words;
        let [a, b, c, d, e, f, g, h] = threads.to_ne_bytes();
        Self {
            since_ns,
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
        (words[0], words[1]) = (ring::now_ns(), threads);
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
    steps.thread(wait.pid, wait.process, name);
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
    use super::{Slot, function};

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
        let slot = Slot::of([5, threads, 0, 0, 1, 10, 2, 30, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!((slot.since_ns, slot.pid, slot.owner), (5, 7, 8));
        let totals = slot.totals;
        assert_eq!((totals.count, totals.sum_ns, totals.for_requests_ns), (3, 40, 30));
    }
}

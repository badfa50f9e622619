//! What the programs know of threads when a capture stops: waits that still go on, which are
//! counted until then, and how long each thread waited in all. Who still waits comes back to no
//! CPU, so that its stack is that of /proc.
//!
//! Non-goals: waits that still go on and are shorter than those that are told anyway; threads of
//! another PID namespace than the first.

use super::ring;
use super::wait::{LEAST_NS, Waits};
use crate::bpf::Loaded;
use crate::event::{WaitEvent, WaitTotals};
use crate::intake::Steps;
use aya::maps::{Array, Map};
use model::record::{FileNumber, WaitKind};

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Left {
    still: Vec<Still>,
    totals: Vec<(u32, WaitTotals)>,
}

impl Left {
    /// Of programs that are not attached any more.
    pub(super) fn read(loaded: &Loaded, waits: &Waits) -> Self {
        let Some(map @ Map::Array(_)) = loaded.ebpf.map("waiting") else { return Self::default() };
        let Ok(map) = Array::<_, Words>::try_from(map) else { return Self::default() };
        let slots: Vec<Slot> = map.iter().filter_map(Result::ok).map(Slot::of).collect();
        let now_ns = ring::now_ns();
        let begun = slots.iter().filter(|slot| slot.pid != 0 && slot.since_ns + LEAST_NS <= now_ns);
        let waited = slots.iter().filter(|slot| slot.totals.count > 0);
        Self {
            still: begun.filter_map(|slot| still(waits, slot.since_ns, now_ns, slot.pid)).collect(),
            totals: waited.map(|slot| (slot.owner, slot.totals)).collect(),
        }
    }

    pub(super) fn tell(&self, steps: &mut impl Steps) {
        self.still.iter().for_each(|still| still.tell(steps));
        self.totals.iter().for_each(|(pid, totals)| steps.waited(*pid, *totals));
    }
}

/// `struct waiting` of wait.h.
type Words = [u64; 8];

/// The same.
struct Slot {
    since_ns: u64,
    pid: u32,
    owner: u32,
    totals: WaitTotals,
}

impl Slot {
    fn of([since_ns, threads, _, _, others, others_ns, requests, requests_ns]: Words) -> Self {
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

/// A wait that goes on.
#[derive(Debug)]
pub(super) struct Still {
    since_ns: u64,
    now_ns: u64,
    pid: u32,
    process: u32,
    command: String,
    kind: WaitKind,
}

impl Still {
    fn tell(&self, steps: &mut impl Steps) {
        steps.thread(self.pid, self.process);
        let event = WaitEvent {
            begin_ns: self.since_ns as i64,
            end_ns: self.now_ns as i64,
            kind: self.kind,
            file: FileNumber::default(),
            pid: self.pid,
            command: Some(steps.command(self.command.as_bytes())),
            is_for_request: false,
            holder: 0,
            stack: 0,
        };
        steps.wait(&event);
    }
}

fn still(waits: &Waits, since_ns: u64, now_ns: u64, pid: u32) -> Option<Still> {
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
    let kind = waits.kind_of(stack.lines().filter_map(function))?;
    Some(Still { since_ns, now_ns, pid, process, command: value("Name:")?, kind })
}

/// `[<0>] balance_dirty_pages+0x2a5/0x7d0`, of a module with ` [ext4]` behind it.
fn function(line: &str) -> Option<&str> {
    line.split_once("] ")?.1.split('+').next()
}

#[cfg(test)]
mod tests {
    use super::function;

    #[test]
    fn a_line_of_a_stack_names_its_function() {
        let named = "[<0>] ext4_file_write_iter+0x51/0x60 [ext4]";
        assert_eq!(function(named), Some("ext4_file_write_iter"));
        assert_eq!(function(""), None);
    }
}

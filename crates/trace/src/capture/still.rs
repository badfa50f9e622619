//! Waits that still go on when a capture stops: they are counted until then. Nobody comes back to a
//! CPU, so that their stacks are those of /proc.
//!
//! Non-goals: waits that are shorter than those that are told anyway; threads of another PID
//! namespace than the first.

use super::ring;
use super::wait::{LEAST_NS, Waits};
use crate::bpf::Loaded;
use crate::event::WaitEvent;
use crate::intake::Steps;
use aya::maps::{Array, Map};
use model::record::{FileNumber, WaitKind};

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
    pub(super) fn tell(&self, steps: &mut impl Steps) {
        steps.thread(self.pid, self.process);
        let event = WaitEvent {
            begin_ns: self.since_ns as i64,
            end_ns: self.now_ns as i64,
            kind: self.kind,
            file: FileNumber::default(),
            pid: self.pid,
            command: Some(steps.command(self.command.as_bytes())),
            is_for_request: false,
            stack: 0,
        };
        steps.wait(&event);
    }
}

/// All of them.
pub(super) fn waiting(loaded: &Loaded, waits: &Waits) -> Vec<Still> {
    let Some(map @ Map::Array(_)) = loaded.ebpf.map("waiting") else { return Vec::new() };
    let Ok(map) = Array::<_, [u64; 2]>::try_from(map) else { return Vec::new() };
    let now_ns = ring::now_ns();
    let begun = map.iter().filter_map(Result::ok);
    let begun = begun.filter(|[since_ns, pid]| *pid != 0 && since_ns + LEAST_NS <= now_ns);
    begun.filter_map(|[since_ns, pid]| still(waits, since_ns, now_ns, pid as u32)).collect()
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

//! Whether something turns in a disk. The kernel's `queue/rotational` says so of every disk that
//! has not said that it does not, and that is most virtual ones; so it is believed only if random
//! reads take as long as an arm and a turn do.
//!
//! Non-goals: how fast it turns (`experiment::calibrate`).

use crate::device::{DeviceNumber, Tree};
use crate::engine::Buffers;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::pread;
use std::path::Path;
use std::time::{Duration, Instant};

/// A disk of 15,000 turns a minute takes 2 ms for half a turn, and what is in its cache less.
const READ_LEAST: Duration = Duration::from_millis(1);
/// So many reads tell, and are made for no longer than this.
const READS: u64 = 32;
const TIME_MOST: Duration = Duration::from_millis(500);
const BLOCK_BYTES: u32 = 4096;
/// A multiplier that spreads places over a disk (Knuth, section 6.4).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// Drivers of devices that are no hardware: what they say is the default.
const VIRTUAL: [&str; 3] = ["virtio_blk", "vbd", "loop"];

/// Whether the device turns, as far as can be told: by reads where it may be read, else by what the
/// kernel says of hardware.
pub fn turns(tree: &Tree, device: DeviceNumber) -> bool {
    let says_so = tree.rotational(device).ok().flatten() == Some(true);
    says_so && judged(read_p50(tree, device), || is_virtual(tree, device))
}

fn judged(read_p50: Option<Duration>, is_virtual: impl FnOnce() -> bool) -> bool {
    read_p50.map_or_else(|| !is_virtual(), |p50| p50 >= READ_LEAST)
}

fn is_virtual(tree: &Tree, device: DeviceNumber) -> bool {
    tree.driver(device).is_ok_and(|driver| VIRTUAL.contains(&driver.as_str()))
}

/// What half of some random reads take at the most; none where the device cannot be read.
fn read_p50(tree: &Tree, device: DeviceNumber) -> Option<Duration> {
    let path = Path::new("/dev").join(tree.name(device).ok()?);
    let blocks = (tree.size_bytes(device).ok()? / u64::from(BLOCK_BYTES)).max(1);
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::empty()).ok()?;
    let mut buffers = Buffers::new(1, BLOCK_BYTES).ok()?;
    let began = Instant::now();
    let mut times = Vec::new();
    for number in 1..=READS {
        let at = number.wrapping_mul(SPREAD) % blocks * u64::from(BLOCK_BYTES);
        let begun = Instant::now();
        pread(&file, buffers.get(0, BLOCK_BYTES), at).ok()?;
        times.push(begun.elapsed());
        if began.elapsed() > TIME_MOST {
            break;
        }
    }
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_decide_and_where_there_are_none_hardware_is_believed() {
        let after = |us| Some(Duration::from_micros(us));
        let never = || unreachable!("the reads tell");
        assert!(judged(after(4000), never) && !judged(after(55), never));
        assert!(judged(None, || false) && !judged(None, || true));
    }
}

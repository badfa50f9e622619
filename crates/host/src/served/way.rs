//! The way to a served device and back, for each kind of request: what the kernel's layers and the
//! server's waking take before the modelled device gets a request, and after it has completed it.
//!
//! Non-goals: measuring it (`super::measured`).

use super::Wanted;
use serde::{Deserialize, Serialize};

/// A small and a large request, bytes.
pub(super) const LENGTHS: [u32; 2] = [4096, 128 << 10];
/// The two parts of the way for one kind of request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct WayPart {
    /// To the device and back, for a request without data, ns.
    pub fixed_ns: [f64; 2],
    /// And for each byte, ns.
    pub byte_ns: [f64; 2],
}

impl WayPart {
    /// What a request of this length takes to come, ns.
    pub fn in_ns(&self, length_bytes: u32) -> u64 {
        self.one_ns(0, length_bytes)
    }

    /// What it takes to come back, ns.
    pub fn out_ns(&self, length_bytes: u32) -> u64 {
        self.one_ns(1, length_bytes)
    }

    fn one_ns(&self, direction: usize, length_bytes: u32) -> u64 {
        let ns = self.fixed_ns[direction] + self.byte_ns[direction] * f64::from(length_bytes);
        ns.max(0.0) as u64
    }

    /// The line through what the small and the large requests took, ns.
    pub(super) fn through(small: [f64; 2], large: [f64; 2]) -> Self {
        let [short, long] = LENGTHS.map(f64::from);
        let slope =
            |direction: usize| ((large[direction] - small[direction]) / (long - short)).max(0.0);
        let byte_ns = [slope(0), slope(1)];
        let fixed = |direction: usize| small[direction] - byte_ns[direction] * short;
        Self { fixed_ns: [fixed(0), fixed(1)], byte_ns }
    }
}

/// The way of each kind of request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct WayParts {
    /// Of a read.
    pub read: WayPart,
    /// Of a write.
    pub write: WayPart,
    /// Of a flush.
    pub flush: WayPart,
}

/// The way among other requests, and of one that is alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Way {
    /// Where the CPUs are awake.
    pub busy: WayParts,
    /// Where nothing else is at the device.
    pub alone: WayParts,
}

impl Way {
    /// The way of what is wanted.
    pub fn of(&self, wanted: Wanted, is_alone: bool) -> &WayPart {
        let parts = if is_alone { &self.alone } else { &self.busy };
        match wanted {
            Wanted::Read => &parts.read,
            Wanted::Write => &parts.write,
            Wanted::Flush => &parts.flush,
        }
    }

    /// What a read of 4 KiB takes there and back, ns.
    pub fn read_4k_ns(&self) -> u64 {
        self.alone.read.in_ns(4096) + self.alone.read.out_ns(4096)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_a_line_through_both_lengths() {
        let part = WayPart::through([30_000.0, 40_000.0], [60_000.0, 30_000.0]);
        assert_eq!((part.in_ns(4096), part.in_ns(128 << 10)), (30_000, 60_000));
        // A longer one does not come back sooner.
        assert_eq!((part.out_ns(4096), part.out_ns(128 << 10)), (40_000, 40_000));
    }
}

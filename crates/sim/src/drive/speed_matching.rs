//! A drive with a speed-matching buffer and no cache, on a bus that is slower than its platter:
//! CS/80 drives on HP-IB, as the HP C2200A (Ruemmler & Wilkes 1994 model the same drive).
//!
//! A write's data come over the bus into the buffer while the arm moves; all of them are there
//! before the platter is written, since the bus could not keep up with it. A read's data go out of
//! the buffer when the platter has given them: on the crossing to another track what that track
//! gave, and the rest at the end (`readchar = oncrossing`).
//!
//! Non-goals: reading ahead, completing writes before they are on the platter.

use super::{Access, Arm, Capacity, Drive, Mechanics, Operation, Spot};
use crate::bus::Bus;
use crate::profile::{ProfileError, Reader};

/// A drive with a buffer for what is on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct SpeedMatching {
    mechanics: Mechanics,
    command_ns: f64,
    /// What a read waits for the arm to settle, ns.
    read_settle_ns: f64,
    /// Messages on the bus before a request's data, and after.
    messages: [u64; 2],
    arm: Arm,
}

impl SpeedMatching {
    /// Reads a drive's profile: its mechanics and `command.overhead`.
    pub fn read(reader: &Reader) -> Result<Self, ProfileError> {
        let command = reader.below("command");
        let messages = |key| command.count_or(key, 0..=16, 0);
        Ok(Self {
            mechanics: Mechanics::read(reader)?,
            command_ns: command.time_ns("overhead")?,
            read_settle_ns: reader.below("seek").time_ns_or("read_settle", 0.0)?,
            messages: [messages("messages_before")?, messages("messages_after")?],
            arm: Arm::default(),
        })
    }

    /// Passes over the blocks of a request, the first of which is at that spot, from when the arm
    /// is there; tells of the end of each track's part, with its bytes.
    fn pass(
        &mut self,
        from_ns: f64,
        access: Access,
        mut spot: Spot,
        mut part: impl FnMut(f64, u64),
    ) -> f64 {
        let mechanics = &self.mechanics;
        let (mut now_ns, mut block, mut left) = (from_ns, access.block, access.blocks);
        loop {
            let to = Arm { cylinder: spot.cylinder, head: spot.head };
            if to.cylinder != self.arm.cylinder {
                now_ns += mechanics.seek.time_ns(1);
            } else if to.head != self.arm.head {
                now_ns += mechanics.head_switch_ns;
            }
            self.arm = to;
            let blocks = left.min(u64::from(spot.left_on_track)).max(1);
            now_ns += mechanics.rotate_ns(now_ns, spot.angle);
            now_ns += blocks as f64 * mechanics.sector_ns(&spot);
            part(now_ns, blocks * u64::from(mechanics.layout.sector_bytes));
            left = left.saturating_sub(blocks);
            if left == 0 {
                return now_ns;
            }
            block += blocks;
            spot = mechanics.layout.spot(block);
        }
    }
}

impl Drive for SpeedMatching {
    fn capacity(&self) -> Capacity {
        self.mechanics.layout.capacity()
    }

    fn cylinder(&self, block: u64) -> u32 {
        self.mechanics.layout.cylinder(block)
    }

    fn serve(&mut self, given_ns: f64, access: Access, bus: &mut Bus) -> f64 {
        let told_ns = message(bus, self.messages[0], given_ns);
        let begun_ns = told_ns + self.command_ns;
        if access.operation == Operation::Flush {
            // Whatever was completed is on the platter.
            return message(bus, self.messages[1], begun_ns);
        }
        let spot = self.mechanics.layout.spot(access.block);
        let to = Arm { cylinder: spot.cylinder, head: spot.head };
        let mut there_ns = begun_ns + self.mechanics.position_ns(self.arm, to, access.is_write());
        if !access.is_write() && to != self.arm {
            there_ns += self.read_settle_ns;
        }
        self.arm = to;
        let bytes = access.blocks * u64::from(self.mechanics.layout.sector_bytes);
        let transfer_ns = bus.overhead_ns + bus.move_ns(bytes);
        if access.is_write() {
            let received_ns = bus.reserve(begun_ns, transfer_ns, bytes) + transfer_ns;
            let over_ns = self.pass(there_ns.max(received_ns), access, spot, |_, _| ());
            return message(bus, self.messages[1], over_ns);
        }
        // As though the bus were free: when the first part is ready, and when the last one is over.
        let (mut asked_ns, mut over_ns) = (f64::INFINITY, 0.0f64);
        self.pass(there_ns, access, spot, |ready_ns, bytes| {
            if asked_ns.is_infinite() {
                (asked_ns, over_ns) = (ready_ns, ready_ns + bus.overhead_ns);
            }
            over_ns = over_ns.max(ready_ns) + bus.move_ns(bytes);
        });
        let begin_ns = bus.reserve(asked_ns, over_ns - asked_ns, bytes);
        message(bus, self.messages[1], begin_ns + over_ns - asked_ns)
    }

    fn fresh(&self) -> Box<dyn Drive> {
        Box::new(Self { arm: Arm::default(), ..self.clone() })
    }
}

/// Messages without data go over the bus; returns when they have, ns.
fn message(bus: &mut Bus, messages: u64, from_ns: f64) -> f64 {
    if messages == 0 {
        return from_ns;
    }
    let length_ns = messages as f64 * bus.overhead_ns;
    bus.reserve(from_ns, length_ns, 0) + length_ns
}

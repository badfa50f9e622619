//! The machine that a trace is replayed on, as its profile says: drives of one kind, one for each
//! device of the trace, each with a driver's queue, behind a controller and a bus that they share.

use crate::bus::Bus;
use crate::drive::{self, Drive};
use crate::profile::{Profile, ProfileError, Reader};
use crate::queue::Policy;

/// What a controller takes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credits {
    /// Requests, served ones included.
    pub requests: usize,
    /// Whether that is for all drives together, or for each.
    pub is_shared: bool,
}

/// What a trace is replayed on.
#[derive(Debug)]
pub struct ReplayMachine {
    /// The order of the driver's queue.
    pub policy: Policy,
    /// The order among those that the controller has.
    pub ordering: Policy,
    /// How many the controller has.
    pub credits: Credits,
    /// At least so long between two asynchronous writes that a drive's queue is given; 0: none
    /// waits for that, ns.
    pub write_interval_ns: u64,
    /// The bus.
    pub bus: Bus,
    /// A drive as new.
    pub drive: Box<dyn Drive>,
}

impl ReplayMachine {
    /// Requests that a device with this machine behind it takes at once: as many as its controller
    /// has, and whatever its driver's queue is given.
    pub fn depth(&self) -> u32 {
        u32::try_from(self.credits.requests).unwrap_or(u32::MAX)
    }

    /// The same machine, its drive as new.
    #[must_use]
    pub fn fresh(&self) -> Self {
        Self {
            policy: self.policy,
            ordering: self.ordering,
            credits: self.credits,
            write_interval_ns: self.write_interval_ns,
            bus: self.bus.clone(),
            drive: self.drive.fresh(),
        }
    }

    /// The machine of a profile: of a drive, or of a machine whose driver's queue and controller
    /// are modelled for requests from anywhere.
    /// Errors: a profile of something else; whatever of it cannot be.
    pub fn of(profile: &Profile) -> Result<Self, ProfileError> {
        let reader = profile.reader();
        if !reader.below("controller").has("outstanding") {
            let reason = format!(
                "this {} cannot replay a trace; name a drive, or a machine with \
                 controller.outstanding (lbolt throughput and lbolt overhead run programs on \
                 machines: model:{})",
                profile.kind,
                profile.name()
            );
            return Err(ProfileError::new(profile.name(), "kind", reason));
        }
        Self::read(&reader)
    }

    /// Reads `queue`, `controller`, `bus` and `drive` of a machine's profile.
    pub fn read(reader: &Reader) -> Result<Self, ProfileError> {
        let (queue, controller) = (reader.below("queue"), reader.below("controller"));
        let is_shared = controller.is_or("shared", false)?;
        let drive = drive::read(&reader.below("drive"))?;
        let requests = outstanding(&controller, &*drive)?;
        let machine = Self {
            policy: Policy::read(&queue)?,
            ordering: Policy::read_key(&controller, "ordering")?,
            credits: Credits { requests, is_shared },
            write_interval_ns: queue.time_ns_or("write_interval", 0.0)? as u64,
            bus: Bus::read(&reader.below("bus"))?,
            drive,
        };
        drive::check_bus(&reader.below("drive"), &reader.below("bus"), &machine.bus)?;
        reader.finish()?;
        Ok(machine)
    }
}

/// How many requests a controller takes at once; "depth" is as many as its drive serves.
fn outstanding(controller: &Reader, drive: &dyn Drive) -> Result<usize, ProfileError> {
    match controller.text("outstanding") {
        Ok("depth") => Ok(drive.depth()),
        _ => Ok(controller.count_in("outstanding", 1..=1 << 20)? as usize),
    }
}

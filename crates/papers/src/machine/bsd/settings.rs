//! What a profile says of a machine under 4.2BSD.

use crate::bus::MemoryBus;
use crate::controller::{Controller, DriverWork, Parts, build};
use crate::file_system::fast::{self, FastFileSystem, Shape};
use crate::machine::Options;
use sim::drive::Mechanics;
use sim::profile::{Profile, ProfileError, Reader};
use sim::queue::Policy;
use sim::random::Random;

sim::parameters! {
    /// The processor time of what the kernel does, ns, undisturbed.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Costs(reader) {
        /// A program's own loop around a call.
        pub user_call_ns: f64 = reader.time_ns("user_call");
        /// A system call.
        pub call_ns: f64 = reader.time_ns("call");
        /// Each block of the file system that it touches: `bmap`, `getblk`, `brelse`.
        pub block_ns: f64 = reader.time_ns("block");
        /// To copy a byte between program and buffer.
        pub copy_ns_per_byte: f64 = reader.time_per_byte_ns("copy");
        /// To allocate a block.
        pub allocate_ns: f64 = reader.time_ns("allocate");
        /// To clear a byte of a block that was allocated.
        pub clear_ns_per_byte: f64 = reader.time_per_byte_ns("clear");
        /// To give a block back.
        pub free_ns: f64 = reader.time_ns("free");
        /// By how much all these vary: standard deviation as a share.
        pub spread: f64 = reader.fraction_to("spread", 1.0);
    }
}

/// A machine as it stands before it is switched on.
#[derive(Debug)]
pub struct Settings {
    pub(super) costs: Costs,
    pub(super) buffers: usize,
    pub(super) update_ns: u64,
    pub(super) quantum_ns: u64,
    pub(super) drives: usize,
    pub(super) seed: u64,
    pub(super) bus_bytes_per_s: f64,
    file_system: fast::Settings,
    shape: Shape,
    profile: Profile,
}

impl Settings {
    /// Reads a machine's profile.
    pub fn read(profile: &Profile, options: Options) -> Result<Self, ProfileError> {
        let mut profile = profile.clone();
        if let Some(bytes) = options.block_bytes {
            profile.set_number("file_system.block_size", bytes as f64, "B")?;
        }
        let reader = profile.reader();
        let (processor, system) = (reader.below("processor"), reader.below("system"));
        let drive = reader.below("drive");
        let mechanics = Mechanics::read(&drive)?;
        let file_system = fast::Settings::read(&reader.below("file_system"))?;
        let rpm = reader.below("file_system").count_in("disktab_rpm", 60..=100_000)?;
        let memory_bytes = processor.size_bytes("memory")?;
        let shape = Shape::of(&mechanics.layout, rpm);
        file_system.check(&reader.below("file_system"), &shape)?;
        let share = system.fraction("buffer_share")?;
        let buffers = (memory_bytes as f64 * share / file_system.block_bytes as f64) as usize;
        if !(8..=4096).contains(&buffers) {
            let reason = format!("makes {buffers} buffers, and it takes 8 to 4096");
            return Err(system.error("buffer_share", reason));
        }
        let settings = Self {
            costs: Costs::read(&processor)?,
            buffers,
            update_ns: update_ns(&system)?,
            quantum_ns: system.time_ns("quantum")? as u64,
            drives: options.drives,
            seed: options.seed,
            bus_bytes_per_s: reader.below("bus").rate_bytes_per_s("rate")?,
            file_system,
            shape,
            profile: profile.clone(),
        };
        controller(&reader, &settings, &mechanics)?;
        mechanics.check_bus(&reader.below("bus"), settings.bus_bytes_per_s)?;
        reader.finish()?;
        Ok(settings)
    }

    pub(super) fn controller(&self) -> Result<Box<dyn Controller>, ProfileError> {
        let reader = self.profile.reader();
        let mechanics = Mechanics::read(&reader.below("drive"))?;
        controller(&reader, self, &mechanics)
    }

    /// A fresh file system on one drive.
    pub(super) fn file_system(&self) -> FastFileSystem {
        FastFileSystem::new(self.file_system, self.shape)
    }
}

/// How often `update` wakes, ns.
fn update_ns(system: &Reader) -> Result<u64, ProfileError> {
    const KEY: &str = "update_interval";
    match system.time_ns(KEY)? {
        // alarm(2) counts seconds; in no time at all, time would stand still.
        short if short < 1e9 => Err(system.error(KEY, "is less than a second")),
        interval_ns => Ok(interval_ns as u64),
    }
}

/// The slowest processor's: beyond it, times would overflow.
const DRIVER_FACTOR_MAX: f64 = 1000.0;

/// The most that spindles may differ, standard deviation: beyond it a platter might stand still.
const SPINDLE_SPREAD_MAX: f64 = 0.05;

fn controller(
    reader: &Reader,
    settings: &Settings,
    mechanics: &Mechanics,
) -> Result<Box<dyn Controller>, ProfileError> {
    let of_controller = reader.below("controller");
    let processor = reader.below("processor");
    let slower = processor.number_from("driver_factor", 0.0)?;
    if slower > DRIVER_FACTOR_MAX {
        let reason = format!("is above {DRIVER_FACTOR_MAX}");
        return Err(processor.error("driver_factor", reason));
    }
    let mut random = Random::new(settings.seed ^ 0x005e_ed0f_c047);
    let spread = reader.below("system").fraction_to("spindle_spread", SPINDLE_SPREAD_MAX)?;
    let spindle = |_| {
        // No two motors are quite alike, and nothing brings them into step.
        let mut mechanics = mechanics.clone();
        mechanics.revolution_ns *= 1.0 + spread * random.normal();
        let phase_ns = mechanics.revolution_ns * random.unit();
        (mechanics, phase_ns)
    };
    let parts = Parts {
        spindles: (0..settings.drives).map(spindle).collect(),
        policy: Policy::read(&reader.below("queue"))?,
        bus: MemoryBus::read(&reader.below("bus"))?,
        work: DriverWork::read(&of_controller.below("driver"), slower)?,
        random: Random::new(settings.seed ^ 0x1a7e_da7a),
    };
    build(&of_controller, parts)
}

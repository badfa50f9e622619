//! Controllers, each with the driver that serves it: from a request on a drive's queue to the
//! interrupt that says that it is done.
//!
//! A controller is told of what happens and replies with what it wants: to be told later, to
//! interrupt the processor with so much work, or to say that a transfer is done. The driver's work
//! takes processor time *before* its effect: the machine spends `submit_work_ns` in the calling
//! process and then calls `submit`; it spends an interrupt's work and then calls `handled`.

pub(crate) mod buffer;
pub(crate) mod massbus;
mod outstanding;
pub(crate) mod uda50;

use crate::bus::MemoryBus;
use sim::drive::Mechanics;
use sim::profile::{ProfileError, Reader};
use sim::queue::Policy;
use sim::random::Random;

/// A block to move between memory and a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// Its number; they rise in the order of arrival.
    pub(crate) number: u64,
    pub(crate) drive: usize,
    /// Its first sector on the drive.
    pub(crate) block: u64,
    pub(crate) sectors: u32,
    /// From memory to the drive.
    pub(crate) is_write: bool,
}

/// Something that happens to a drive or its controller. What it is, the controller itself knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signal {
    pub(crate) drive: usize,
    pub(crate) what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// The arm is there and the sector is about to come.
    Positioned,
    /// The first sector comes under the heads.
    DataBegin,
    /// The last sector is through.
    DataEnd,
    /// The controller has understood a command.
    Understood,
    /// The controller has made its response to a command.
    Responded,
    /// The bus begins to move a block between controller and memory.
    Moving,
    /// The bus has moved a block between controller and memory.
    Moved,
}

#[derive(Debug, Default)]
pub(crate) struct Wishes {
    /// To be told at that time.
    pub(crate) later: Vec<(u64, Signal)>,
    /// To interrupt the processor with so much work, in ns.
    pub(crate) interrupts: Vec<(f64, Signal)>,
    pub(crate) done: Vec<u64>,
    /// What the controller is told along with a signal: whether the processor is at work, and on
    /// the bus.
    pub(crate) is_processor_busy: bool,
}

pub(crate) trait Controller: std::fmt::Debug {
    /// The driver's work on a new transfer in the context of the one who asks, ns.
    fn submit_work_ns(&self, drive: usize) -> f64;

    /// That work is done: the transfer is the driver's.
    fn submit(&mut self, now_ns: u64, transfer: Transfer, wishes: &mut Wishes);

    /// What it wanted to be told of happens.
    fn signal(&mut self, now_ns: u64, signal: Signal, wishes: &mut Wishes);

    /// The work of its interrupt is done.
    fn handled(&mut self, now_ns: u64, signal: Signal, wishes: &mut Wishes);

    /// By what share the processor is slower just now for the data that move.
    fn slowdown(&self) -> f64;

    /// What passed so far.
    fn traffic(&self, drive: usize) -> Traffic;

    /// Time during which its channel or bus was held, ns; a bus that is reserved ahead counts from
    /// then on.
    fn channel_busy_ns(&self) -> f64;
}

/// What passed between a drive and memory.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Traffic {
    pub(crate) read_sectors: u64,
    pub(crate) write_sectors: u64,
    pub(crate) transfers: u64,
    /// Time that transfers were with the driver, summed over them, ns.
    pub(crate) in_flight_ns: u64,
    /// Time that the heads moved data, ns.
    pub(crate) data_ns: f64,
}

impl Traffic {
    /// Accounts for a transfer that is done.
    pub(crate) fn add(&mut self, transfer: &Transfer, submitted_ns: u64, now_ns: u64) {
        let sectors =
            if transfer.is_write { &mut self.write_sectors } else { &mut self.read_sectors };
        *sectors += u64::from(transfer.sectors);
        self.transfers += 1;
        self.in_flight_ns += now_ns.saturating_sub(submitted_ns);
    }
}

sim::parameters! {
    /// The processor time of a driver's steps, ns, on a machine that is so many times slower than
    /// the VAX-11/780 of the profiles.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub(crate) struct DriverWork(driver, slower: f64) {
        /// To start a transfer: `strategy`, the queue, the command.
        pub(crate) start_ns: f64 = driver.time_ns("start").map(|ns| ns * slower);
        /// For the interrupt that says that a transfer is done.
        pub(crate) done_ns: f64 = driver.time_ns("done").map(|ns| ns * slower);
        /// For the interrupt that says that a drive has found its place, where the driver searches.
        pub(crate) search_ns: f64 = driver.time_ns_or("search", 0.0).map(|ns| ns * slower);
    }
}

/// What every controller is made with.
#[derive(Debug)]
pub(crate) struct Parts {
    /// Each drive's mechanics, and how far its platter is ahead of the machine's clock, in ns.
    pub(crate) spindles: Vec<(Mechanics, f64)>,
    /// The order of the driver's queues.
    pub(crate) policy: Policy,
    pub(crate) bus: MemoryBus,
    pub(crate) work: DriverWork,
    /// For what happens by chance.
    pub(crate) random: Random,
}

type Constructor = fn(&Reader, Parts) -> Result<Box<dyn Controller>, ProfileError>;

/// The kinds by the words of the profiles' `controller.protocol`.
const KINDS: &[(&str, Constructor)] = &[
    ("massbus", |reader, parts| Ok(Box::new(massbus::Massbus::read(reader, parts)?))),
    ("uda50", |reader, parts| Ok(Box::new(uda50::Uda50::read(reader, parts)?))),
];

pub(crate) fn build(reader: &Reader, parts: Parts) -> Result<Box<dyn Controller>, ProfileError> {
    reader.one_of("protocol", KINDS)?(reader, parts)
}

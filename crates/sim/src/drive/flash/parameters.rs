//! What a flash drive is made of, as its profile says.

use crate::drive::Capacity;
use crate::profile::{ProfileError, Reader};

/// What the drive holds when a replay begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// Nothing: reads of what was never written find no flash to read.
    Fresh,
    /// It was written once from its beginning on.
    Filled,
    /// It was then written at random until collection was steady.
    Steady,
}

const HISTORIES: [(&str, History); 3] =
    [("fresh", History::Fresh), ("filled", History::Filled), ("steady", History::Steady)];

/// How its flash is cut up, in mapping units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Units that a host sees.
    pub units: u32,
    /// Units of a page, which is read at once.
    pub page_units: u32,
    /// Units that are programmed at once.
    pub program_units: u32,
    /// Units of a block, which is erased at once.
    pub block_units: u32,
    /// Dies in all.
    pub dies: u32,
    /// Blocks of a die, spare ones included.
    pub die_blocks: u32,
    /// Blocks of a die that collection keeps free.
    pub free_blocks: u32,
}

impl Shape {
    /// The most valid units that a die may have, so that collection finds what it can free.
    pub fn most_valid(&self) -> u32 {
        (self.die_blocks - self.free_blocks - FRONTIERS) * self.block_units - self.block_units / 2
    }
}

/// Blocks of a die that are being written: the host's data, and what was collected.
const FRONTIERS: u32 = 2;

crate::parameters! {
    /// Its times and rates, of `command`, `link`, `nand` and `flush`.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Times(drive) {
        /// What a read's command takes, ns.
        pub read_command_ns: f64 = drive.below("command").time_ns("read");
        /// What a write's or a flush's command takes, ns.
        pub write_command_ns: f64 = drive.below("command").time_ns("write");
        /// What a request takes on the link besides its data, ns.
        pub link_ns: f64 = drive.below("link").time_ns_or("overhead", 0.0);
        /// To read the first level of a page's cells, ns.
        pub read_ns: f64 = drive.below("nand").time_ns("read");
        /// To read each further level, ns.
        pub read_level_ns: f64 = drive.below("nand").time_ns_or("read_level", 0.0);
        /// To program, ns.
        pub program_ns: f64 = drive.below("nand").time_ns("program");
        /// To erase a block, ns.
        pub erase_ns: f64 = drive.below("nand").time_ns("erase");
        /// Until a program or an erase is suspended for a read, ns; none where reads wait for its
        /// end.
        pub suspend_ns: Option<f64> =
            drive.below("nand").or("suspend", None, |nand, key| nand.time_ns(key).map(Some));
        /// What a flush takes besides its programs, ns.
        pub flush_ns: f64 = drive.below("flush").time_ns_or("overhead", 0.0);
    }
}

crate::parameters! {
    /// A flash drive as its profile says.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Parameters(drive) {
        /// What it holds.
        pub capacity: Capacity = Capacity::read(&drive.below("capacity"));
        /// Bytes of a mapping unit.
        pub unit_bytes: u64 = unit_bytes(&drive.below("mapping"), capacity);
        /// Channels.
        pub channels: u32 = drive.below("nand").count_in("channels", 1..=256).map(|n| n as u32);
        /// How its flash is cut up.
        pub shape: Shape = shape(drive, capacity, unit_bytes, channels);
        /// What a channel moves, bytes a second.
        pub channel_bytes_per_s: f64 = drive.below("nand").rate_bytes_per_s("channel_rate");
        /// What the host's link moves, bytes a second.
        pub link_bytes_per_s: f64 = drive.below("link").rate_bytes_per_s("rate");
        /// The link moves both ways at once.
        pub is_duplex: bool = drive.below("link").is("duplex");
        /// Requests at once.
        pub depth: usize =
            drive.below("command").count_in("depth", 1..=65_536).map(|n| n as usize);
        /// Its times.
        pub times: Times = Times::read(drive);
        /// Bits of a cell, which are pages of their own.
        pub cell_bits: u32 = drive.below("nand").count_in("cell_bits", 1..=5).map(|n| n as u32);
        /// Units that the write buffer holds.
        pub buffer_units: usize = buffer_units(&drive.below("buffer"), unit_bytes, shape);
        /// The buffer outlasts a loss of power: what is in it is durable.
        pub is_protected: bool = drive.below("buffer").is("protected");
        /// A flush is served beside other commands, rather than alone.
        pub is_flush_queued: bool = drive.below("flush").is("queued");
        /// What it holds when a replay begins.
        pub history: History = drive.below("history").one_of("kind", &HISTORIES);
        /// Units that it holds then.
        pub filled_units: u32 = drive
            .below("history")
            .or("share", 1.0, |history, key| history.fraction_to(key, 1.0))
            .map(|share| (f64::from(shape.units) * share) as u32);
    }
}

fn unit_bytes(mapping: &Reader, capacity: Capacity) -> Result<u64, ProfileError> {
    let unit_bytes = mapping.size_bytes_in("unit", 512..=1 << 20)?;
    let is_whole = |bytes: &u64| bytes.is_multiple_of(u64::from(capacity.sector_bytes));
    mapping.if_fine("unit", unit_bytes, is_whole, "is no whole number of sectors")
}

fn buffer_units(buffer: &Reader, unit_bytes: u64, shape: Shape) -> Result<usize, ProfileError> {
    let units = (buffer.size_bytes_in("size", 1..=1 << 40)? / unit_bytes) as usize;
    let is_enough = |units: &usize| *units >= shape.program_units as usize;
    buffer.if_fine("size", units, is_enough, "is less than is programmed at once")
}

impl Parameters {
    /// What it takes to move so many units over a channel, ns.
    #[inline]
    pub fn channel_ns(&self, units: u32) -> f64 {
        f64::from(units) * self.unit_bytes as f64 * 1e9 / self.channel_bytes_per_s
    }

    /// What it takes to read a page, by its number in its block, ns. A cell's bits are pages whose
    /// reading tells 1, 2, 4 … levels apart.
    #[inline]
    pub fn read_ns(&self, page: u32) -> f64 {
        let levels = (1u32 << (page % self.cell_bits)) - 1;
        self.times.read_ns + f64::from(levels) * self.times.read_level_ns
    }
}

fn shape(
    drive: &Reader,
    capacity: Capacity,
    unit_bytes: u64,
    channels: u32,
) -> Result<Shape, ProfileError> {
    let (nand, mapping) = (drive.below("nand"), drive.below("mapping"));
    let in_units = |key: &str, of: u64| {
        let units = nand.size_bytes_in(key, unit_bytes..=1 << 30)? / unit_bytes;
        match units % of {
            0 => Ok(units),
            _ => Err(nand.error(key, "is no whole number of what it is made of")),
        }
    };
    let page_units = in_units("page_size", 1)?;
    let program_units = in_units("program_size", page_units)?;
    let block_units = in_units("block_size", program_units)?;
    let dies = u64::from(channels) * nand.count_in("dies_per_channel", 1..=1024)?;
    let free_blocks = mapping.count_in("free_blocks", 2..=1024)?;
    let units = capacity.bytes() / unit_bytes;
    let spare = mapping.fraction_to("spare", 100.0)?;
    let die_blocks = (units as f64 * (1.0 + spare) / (dies * block_units) as f64).ceil() as u64;
    let slots = die_blocks * dies * block_units;
    if slots >= u64::from(u32::MAX) - 1 {
        return Err(mapping.error("unit", "makes more units than are modelled: 4,294,967,294"));
    }
    let kept = free_blocks + u64::from(FRONTIERS) + 1;
    if die_blocks <= kept || units > (die_blocks - kept) * block_units * dies {
        let reason = format!(
            "leaves a die {die_blocks} blocks, and {kept} more than the host's data need are kept"
        );
        return Err(mapping.error("spare", reason));
    }
    Ok(Shape {
        units: units as u32,
        page_units: page_units as u32,
        program_units: program_units as u32,
        block_units: block_units as u32,
        dies: dies as u32,
        die_blocks: die_blocks as u32,
        free_blocks: free_blocks as u32,
    })
}

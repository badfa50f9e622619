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

/// Its times and rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// What a read's command takes, ns.
    pub read_command_ns: f64,
    /// What a write's or a flush's command takes, ns.
    pub write_command_ns: f64,
    /// What a request takes on the link besides its data, ns.
    pub link_ns: f64,
    /// To read the first level of a page's cells, ns.
    pub read_ns: f64,
    /// To read each further level, ns.
    pub read_level_ns: f64,
    /// To program, ns.
    pub program_ns: f64,
    /// To erase a block, ns.
    pub erase_ns: f64,
    /// Until a program or an erase is suspended for a read, ns; none where reads wait for its end.
    pub suspend_ns: Option<f64>,
    /// What a flush takes besides its programs, ns.
    pub flush_ns: f64,
}

/// A flash drive as its profile says.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// What it holds.
    pub capacity: Capacity,
    /// Bytes of a mapping unit.
    pub unit_bytes: u64,
    /// How its flash is cut up.
    pub shape: Shape,
    /// Channels.
    pub channels: u32,
    /// What a channel moves, bytes a second.
    pub channel_bytes_per_s: f64,
    /// What the host's link moves, bytes a second.
    pub link_bytes_per_s: f64,
    /// The link moves both ways at once.
    pub is_duplex: bool,
    /// Requests at once.
    pub depth: usize,
    /// Its times.
    pub times: Times,
    /// Bits of a cell, which are pages of their own.
    pub cell_bits: u32,
    /// Units that the write buffer holds.
    pub buffer_units: usize,
    /// The buffer outlasts a loss of power: what is in it is durable.
    pub is_protected: bool,
    /// A flush is served beside other commands, rather than alone.
    pub is_flush_queued: bool,
    /// What it holds when a replay begins.
    pub history: History,
    /// Units that it holds then.
    pub filled_units: u32,
}

impl Parameters {
    /// Reads `capacity`, `link`, `command`, `nand`, `mapping`, `buffer`, `flush` and `history`.
    /// Errors: what cannot be, with its key.
    pub fn read(drive: &Reader) -> Result<Self, ProfileError> {
        let capacity = Capacity::read(&drive.below("capacity"))?;
        let (nand, mapping) = (drive.below("nand"), drive.below("mapping"));
        let unit_bytes = mapping.size_bytes_in("unit", 512..=1 << 20)?;
        if unit_bytes % u64::from(capacity.sector_bytes) != 0 {
            return Err(mapping.error("unit", "is no whole number of sectors"));
        }
        let channels = nand.count_in("channels", 1..=256)? as u32;
        let shape = shape(&nand, &mapping, capacity, unit_bytes, channels)?;
        let (link, buffer, flush) =
            (drive.below("link"), drive.below("buffer"), drive.below("flush"));
        let buffer_units = buffer.size_bytes_in("size", 1..=1 << 40)? / unit_bytes;
        if buffer_units < u64::from(shape.program_units) {
            return Err(buffer.error("size", "is less than is programmed at once"));
        }
        let history = drive.below("history");
        let share = history.or("share", 1.0, |history, key| history.fraction_to(key, 1.0))?;
        Ok(Self {
            capacity,
            unit_bytes,
            channels,
            channel_bytes_per_s: nand.rate_bytes_per_s("channel_rate")?,
            link_bytes_per_s: link.rate_bytes_per_s("rate")?,
            is_duplex: link.is("duplex")?,
            depth: drive.below("command").count_in("depth", 1..=65_536)? as usize,
            times: times(drive)?,
            cell_bits: nand.count_in("cell_bits", 1..=5)? as u32,
            buffer_units: buffer_units as usize,
            is_protected: buffer.is("protected")?,
            is_flush_queued: flush.is("queued")?,
            history: history.one_of("kind", &HISTORIES)?,
            filled_units: (f64::from(shape.units) * share) as u32,
            shape,
        })
    }

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

fn times(drive: &Reader) -> Result<Times, ProfileError> {
    let (command, nand) = (drive.below("command"), drive.below("nand"));
    let suspend_ns = nand.or("suspend", None, |nand, key| nand.time_ns(key).map(Some))?;
    Ok(Times {
        read_command_ns: command.time_ns("read")?,
        write_command_ns: command.time_ns("write")?,
        link_ns: drive.below("link").time_ns_or("overhead", 0.0)?,
        read_ns: nand.time_ns("read")?,
        read_level_ns: nand.time_ns_or("read_level", 0.0)?,
        program_ns: nand.time_ns("program")?,
        erase_ns: nand.time_ns("erase")?,
        suspend_ns,
        flush_ns: drive.below("flush").time_ns_or("overhead", 0.0)?,
    })
}

fn shape(
    nand: &Reader,
    mapping: &Reader,
    capacity: Capacity,
    unit_bytes: u64,
    channels: u32,
) -> Result<Shape, ProfileError> {
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

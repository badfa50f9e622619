//! What is fitted to the tables of Kridle & McKusick 1983: each parameter with the profile that it
//! stands in, its bounds, and why they are so. Everything else in those profiles is published or
//! assumed.

use crate::fit::Bounds;
use sim::profile::{Profile, ProfileError};

/// A fitted parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// The profile that it stands in, by folder and name.
    pub profile: &'static str,
    /// Its key in a machine.
    pub key: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it may be, in that unit.
    pub bounds: Bounds,
    /// Why these bounds.
    pub reason: &'static str,
}

macro_rules! parameters {
    ($($profile:literal {
        $($key:literal: $unit:literal, $low:literal .. $high:literal, $reason:literal;)*
    })*) => {
        &[$($(Parameter {
            profile: concat!($profile, ".toml"),
            key: $key,
            unit: $unit,
            bounds: Bounds { low: $low, high: $high },
            reason: $reason,
        }),*),*]
    };
}

/// All of them.
pub const PARAMETERS: &[Parameter] = parameters! {
    "processors/vax-11-780" {
        "processor.call": "ms", 0.3 .. 2.5, "a system call that does little took 0.3 to 0.5 ms; \
         file offset, inode lock and uio come on top";
        "processor.block": "ms", 0.3 .. 3.0, "bmap, getblk and brelse: some hundred instructions \
         at 0.5 MIPS";
        "processor.copy": "ms/KiB", 0.3 .. 1.2, "movc3 from memory to memory at 1 to 3 MB/s";
        "processor.allocate": "ms", 0.3 .. 5.0, "some thousand instructions of alloc and alloccg";
        "processor.clear": "ms/KiB", 0.1 .. 0.7, "half of a copy or less";
    }
    "processors/vax-11-750" {
        "processor.call": "ms", 0.4 .. 4.0, "the 780's at 0.6 of its speed";
        "processor.block": "ms", 0.4 .. 5.0, "the 780's at 0.6 of its speed";
        "processor.copy": "ms/KiB", 0.4 .. 1.8, "the 780's at 0.6 of its speed";
        "processor.allocate": "ms", 0.4 .. 8.0, "the 780's at 0.6 of its speed";
        "processor.clear": "ms/KiB", 0.1 .. 1.1, "the 780's at 0.6 of its speed";
        "processor.driver_factor": "", 1.0 .. 2.0, "a 750 is 0.6 of a 780";
    }
    "buses/sbi" {
        "bus.slowdown": "%", 1.0 .. 25.0, "a share of the cycles of a memory with 2.5 to 5 MB/s \
         for the processor";
    }
    "buses/cmi" {
        "bus.slowdown": "%", 1.0 .. 35.0, "a share of the cycles of a slower memory than the 780's";
    }
    "buses/unibus-780" {
        "bus.slowdown": "%", 1.0 .. 40.0, "words of two bytes take more cycles than the SBI's \
         eight";
        "bus.rate": "MB/s", 0.6 .. 1.6, "Johnson, Smith & Wilson 1986 give 1.35 MB/s for the \
         adapter";
    }
    "buses/unibus-750" {
        "bus.slowdown": "%", 1.0 .. 60.0, "words of two bytes through a slower memory than the \
         780's";
        "bus.rate": "MB/s", 0.6 .. 1.6, "as on the 780";
    }
    "controllers/sc780" {
        "controller.search_latency": "ms", 0.02 .. 0.8, "a microprogram looks at its registers";
        "controller.transfer_latency": "ms", 0.02 .. 0.8, "a microprogram looks at its registers";
        "controller.driver.start": "ms", 0.2 .. 1.5, "hpstrategy, hpustart and mbstart: with the \
         others 10 to 14 % of the processor";
        "controller.driver.done": "ms", 0.2 .. 2.0, "mbintr, hpdtint and biodone: with the others \
         10 to 14 % of the processor";
        "controller.driver.search": "ms", 0.1 .. 0.8, "mbintr and mbustart: with the others 10 to \
         14 % of the processor";
    }
    "controllers/sc750" {
        "controller.search_latency": "ms", 0.02 .. 0.8, "a microprogram looks at its registers";
        "controller.transfer_latency": "ms", 0.02 .. 0.8, "a microprogram looks at its registers";
    }
    "controllers/si9900" {
        "controller.search_latency": "ms", 0.02 .. 8.0, "unknown: a controller in its own box";
        "controller.transfer_latency": "ms", 0.02 .. 8.0, "unknown: a controller in its own box";
        "controller.read_latency": "ms", 0.01 .. 8.0, "unknown: a controller in its own box";
        "controller.write_latency": "ms", 0.01 .. 8.0, "unknown: a controller in its own box";
    }
    "controllers/uda50" {
        "controller.command_overhead": "ms", 0.5 .. 8.0, "a microprogrammed port with packets";
        "controller.response_overhead": "ms", 0.05 .. 8.0, "a microprogrammed port with packets";
        "controller.driver.start": "ms", 0.2 .. 2.5, "udstrategy, udstart, ubasetup: with the \
         other 10 to 14 % of the processor";
        "controller.driver.done": "ms", 0.2 .. 2.5, "udintr and udrsp: with the other 10 to 14 % \
         of the processor";
    }
    "machines/vax780-sc780-eagle-search-lead" {
        "controller.late_reads_per_kib": "", 0.002 .. 0.3, "a block that is late loses a \
         revolution";
        "controller.late_writes_per_kib": "", 0.002 .. 0.3, "a block that is late loses a \
         revolution";
    }
    "drives/ra81" {
        "drive.layout.track_skew": "", 4.0 .. 30.0, "a head switch takes 6 ms, which is 18 sectors";
    }
};

impl Parameter {
    /// Whether a machine's profile has it from where it stands.
    pub fn is_of(&self, profile: &Profile) -> bool {
        let stands = |leaf: &sim::profile::Leaf| leaf.file.ends_with(self.profile);
        profile.leaves().any(|(key, leaf)| key == self.key && stands(leaf))
    }

    /// Its value in a machine's profile.
    pub fn value(&self, profile: &Profile) -> Option<f64> {
        let (_, leaf) = profile.leaves().find(|(key, _)| *key == self.key)?;
        let text =
            leaf.value.as_str().map(|text| text.trim_end_matches(self.unit).trim().to_owned());
        match text {
            Some(text) => text.parse().ok(),
            None => leaf.value.as_float().or_else(|| leaf.value.as_integer().map(|n| n as f64)),
        }
    }
}

/// A machine's profile with those of the values that it has.
pub fn with_values(
    profile: &Profile,
    parameters: &[Parameter],
    values: &[f64],
) -> Result<Profile, ProfileError> {
    let mut changed = profile.clone();
    for (parameter, value) in parameters.iter().zip(values) {
        if parameter.is_of(profile) {
            changed.set_number(parameter.key, *value, parameter.unit)?;
        }
    }
    Ok(changed)
}

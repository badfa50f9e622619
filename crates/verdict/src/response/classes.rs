//! What requests are classed by: a row is added to its combination of device, operation, origin and
//! size; a table of dimensions has the class of a combination and the class's name.

use model::record::{Flags, Op, Request, Summed};
use model::units::{show_about, show_size};
use std::ops::Range;

/// One combination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Combination {
    pub(crate) device: u32,
    pub(crate) op: Op,
    /// Those that tell the origin.
    pub(super) flags: Flags,
    pub(super) size: u8,
    /// Whether it serves requests of a device above: of all devices together it counts no more.
    pub(crate) is_beneath: bool,
}

impl Combination {
    #[inline(always)]
    pub(crate) fn of(row: &Request) -> Self {
        let flags = Flags(row.flags.0 & ORIGIN_FLAGS);
        Self {
            device: row.device,
            op: row.op,
            flags,
            size: size(row.length_bytes),
            is_beneath: row.above_id.is_some(),
        }
    }
}

impl Combination {
    /// Of requests that are known as sums; none of what is of all threads.
    pub(super) fn of_summed(summed: &Summed) -> Option<Self> {
        Some(Self {
            device: u32::try_from(summed.device).ok()?,
            op: summed.op,
            flags: Flags(u16::try_from(summed.flags?).ok()? & ORIGIN_FLAGS),
            size: size(u32::try_from(summed.length_bytes?).ok()?),
            is_beneath: false,
        })
    }
}

/// Something that requests have in common.
pub(super) struct Dimension {
    pub(super) name: &'static str,
    /// The class of a combination; classes are shown in the order of these numbers.
    pub(super) class: fn(&Combination) -> u64,
    /// A class's name; devices are named by the function.
    pub(super) label: fn(u64, &dyn Fn(u32) -> String) -> String,
    /// A class that says nothing if all are in it.
    pub(super) silent: Option<u64>,
    /// Whether its classes are of one device each, whose requests are all its own.
    pub(super) is_of_device: bool,
}

pub(super) const DIMENSIONS: [Dimension; 5] = [
    Dimension {
        name: "direction",
        class: |c| c.op as u64,
        label: direction,
        silent: None,
        is_of_device: false,
    },
    Dimension {
        name: "device",
        class: |c| c.device.into(),
        label: device,
        silent: None,
        is_of_device: true,
    },
    Dimension {
        name: "device and direction",
        class: |c| u64::from(c.device) << 8 | c.op as u64,
        label: |class, name| {
            format!("{} {}", device(class >> 8, name), direction(class & 0xff, name))
        },
        silent: None,
        is_of_device: true,
    },
    Dimension {
        name: "origin",
        class: |c| origin(c.flags).into(),
        label: origin_label,
        silent: Some(UNTOLD as u64),
        is_of_device: false,
    },
    Dimension {
        name: "size",
        class: |c| c.size.into(),
        label: size_label,
        silent: None,
        is_of_device: false,
    },
];

/// Those that a rollup has rows of, too.
const KEPT: [&str; 2] = ["origin", "size"];

impl Combination {
    /// Its classes as a rollup has them: by what, and which, as `size to 8k`.
    pub(crate) fn kept(&self) -> impl Iterator<Item = String> + '_ {
        let kept = DIMENSIONS.iter().filter(|dimension| KEPT.contains(&dimension.name));
        kept.map(|of| format!("{} {}", of.name, (of.label)((of.class)(self), &|_| String::new())))
    }
}

fn direction(class: u64, _: &dyn Fn(u32) -> String) -> String {
    Op::ALL.get(class as usize).map_or("other", |op| op.name()).to_owned()
}

fn device(class: u64, name: &dyn Fn(u32) -> String) -> String {
    name(class as u32)
}

/// Where requests come from, by the first flag that is set: the flags, and the name. The page cache
/// reads by its read-ahead what was requested, too: the flag does not tell the one from the other
/// (mm/readahead.c).
const ORIGINS: [(Flags, &str); 5] = [
    (Flags::SWAP, "swap"),
    (Flags::META, "metadata"),
    (Flags::READAHEAD, "via read-ahead"),
    (Flags::BACKGROUND, "writeback"),
    (Flags::DIRECT, "direct"),
];
/// None of them is known: buffered, or a trace that tells none.
const UNTOLD: u8 = ORIGINS.len() as u8;

const ORIGIN_FLAGS: u16 =
    Flags::SWAP.0 | Flags::META.0 | Flags::READAHEAD.0 | Flags::BACKGROUND.0 | Flags::DIRECT.0;

fn origin(told: Flags) -> u8 {
    let place = ORIGINS.iter().position(|(flags, _)| told.contains(*flags));
    place.map_or(UNTOLD, |place| place as u8)
}

fn origin_label(class: u64, _: &dyn Fn(u32) -> String) -> String {
    ORIGINS.get(class as usize).map_or("other", |(_, name)| name).to_owned()
}

/// One more than the exponent of the power of two that a length does not exceed; 0 is of its own.
#[inline]
fn size(length_bytes: u32) -> u8 {
    match length_bytes {
        0 => 0,
        bytes => (33 - (bytes - 1).leading_zeros()) as u8,
    }
}

fn size_label(class: u64, _: &dyn Fn(u32) -> String) -> String {
    match class {
        0 => "0".into(),
        class => format!("to {}", show_size(1 << (class - 1))),
    }
}

pub(super) fn bytes_label(range: &Range<u64>) -> String {
    format!("{} to {}", show_size(range.start), show_size(range.end))
}

/// A range of times since the trace's begin.
pub(super) fn time_label(range: &Range<u64>) -> String {
    format!("{} to {}", show_about(range.start as f64), show_about(range.end as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_class_ends_with_its_power_of_two() {
        for (bytes, label) in [
            (0, "0"),
            (1, "to 1"),
            (2, "to 2"),
            (4096, "to 4k"),
            (4097, "to 8k"),
            (u32::MAX, "to 4g"),
        ] {
            assert_eq!(size_label(size(bytes).into(), &|_| String::new()), label, "{bytes}");
        }
    }
}

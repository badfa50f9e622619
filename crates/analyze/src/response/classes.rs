//! What requests are classed by: a table of dimensions, each with the class of a row and the class's name.

use model::record::{Flags, Op, Request};
use model::units::{show_size, show_time_ns};
use std::ops::Range;

/// Something that requests have in common.
pub(super) struct Dimension {
    pub(super) name: &'static str,
    /// A row's class; classes are shown in the order of these numbers.
    pub(super) class: fn(&Request) -> u64,
    /// A class's name; devices are named by the function.
    pub(super) label: fn(u64, &dyn Fn(u32) -> String) -> String,
    /// A class that says nothing if all are in it.
    pub(super) silent: Option<u64>,
}

pub(super) const DIMENSIONS: [Dimension; 4] = [
    Dimension { name: "direction", class: |row| row.op as u64, label: direction, silent: None },
    Dimension { name: "device", class: |row| u64::from(row.device), label: device, silent: None },
    Dimension { name: "origin", class: origin, label: origin_label, silent: Some(UNTOLD) },
    Dimension { name: "size", class: size, label: size_label, silent: None },
];

fn direction(class: u64, _: &dyn Fn(u32) -> String) -> String {
    Op::ALL.get(class as usize).map_or("other", |op| op.name()).to_owned()
}

fn device(class: u64, name: &dyn Fn(u32) -> String) -> String {
    name(class as u32)
}

/// Where requests come from, by the first flag that is set: the flags, and the name.
const ORIGINS: [(Flags, &str); 5] = [
    (Flags::SWAP, "swap"),
    (Flags::META, "metadata"),
    (Flags::READAHEAD, "readahead"),
    (Flags::BACKGROUND, "writeback"),
    (Flags::DIRECT, "direct"),
];
/// None of them is told: buffered, or a trace that tells none.
const UNTOLD: u64 = ORIGINS.len() as u64;

fn origin(row: &Request) -> u64 {
    let place = ORIGINS.iter().position(|(flags, _)| row.flags.contains(*flags));
    place.map_or(UNTOLD, |place| place as u64)
}

fn origin_label(class: u64, _: &dyn Fn(u32) -> String) -> String {
    ORIGINS.get(class as usize).map_or("other", |(_, name)| name).to_owned()
}

/// The power of two that a length does not exceed; 0 is of its own.
fn size(row: &Request) -> u64 {
    u64::from(row.length_bytes)
        .checked_next_power_of_two()
        .filter(|_| row.length_bytes > 0)
        .unwrap_or(0)
}

fn size_label(class: u64, _: &dyn Fn(u32) -> String) -> String {
    match class {
        0 => "0".into(),
        to => format!("to {}", show_size(to)),
    }
}

/// A range of places.
pub(super) fn bytes_label(range: &Range<u64>) -> String {
    format!("{} to {}", show_size(range.start), show_size(range.end))
}

/// A range of times since the trace's begin.
pub(super) fn time_label(range: &Range<u64>) -> String {
    format!("{} to {}", show_time_ns(range.start as f64), show_time_ns(range.end as f64))
}

//! From perf's samples to events: a tracepoint's record, read where this kernel has its fields.
//!
//! Source: `perf_output_sample` in kernel/events/core.c; include/trace/events/block.h.
//!
//! Non-goals: which events belong together (`pair`).

use super::format::{Field, field};
use super::selection::{DeviceSelection, Disk};
use crate::event::{Event, Extent, Kind, Origin, Step};
use crate::intake::Steps;
use crate::rwbs::{letters, offset};
use model::record::Flags;
use perf_event::SampleFlag;

const SECTOR_BYTES: u64 = 512;

/// What each sample has: pid u32, tid u32, time u64, cpu u32, a reserved u32, then the record's
/// size u32 and the record.
pub(super) const SAMPLE: SampleFlag =
    SampleFlag::TID.union(SampleFlag::TIME).union(SampleFlag::CPU).union(SampleFlag::RAW);
const TIME: usize = 8;
const CPU: usize = 16;
const RECORD: usize = 28;
/// In every record: which tracepoint's it is, u16, and the thread, as the whole machine numbers it,
/// u32.
const TYPE: usize = 0;
const THREAD: usize = 4;

/// A tracepoint's number and the places of its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::capture) struct Layout {
    kind: Kind,
    id: u16,
    device: Field,
    sector: Field,
    sectors: Field,
    letters: Field,
    /// Of a driver's command, which has no sectors.
    bytes: Option<Field>,
    command: Option<Field>,
    error: Option<Field>,
}

impl Layout {
    /// Out of a tracepoint's format; or the name of the field that is missing.
    pub(super) fn new(kind: Kind, id: u16, format: &str) -> Result<Self, &'static str> {
        let needed = |name| field(format, name).ok_or(name);
        let error = match kind {
            // Before Linux 4.14 it was `errors`.
            Kind::Complete | Kind::BioComplete => {
                Some(needed("error").or_else(|_| needed("errors")).map_err(|_| "error")?)
            }
            _ => None,
        };
        Ok(Self {
            kind,
            id,
            device: needed("dev")?,
            sector: needed("sector")?,
            sectors: needed("nr_sector")?,
            letters: needed("rwbs")?,
            bytes: field(format, "bytes"),
            command: field(format, "comm"),
            error,
        })
    }

    /// What a record is about, but for its disk; none if it is none of this tracepoint's.
    fn extent(&self, record: &[u8]) -> Option<Extent> {
        let (op, flags) = letters(self.letters.text(record)?)?;
        let sector = self.sector.number(record)?;
        let length_bytes = match self.sectors.number(record)? {
            0 => self.bytes.and_then(|field| field.number(record)).unwrap_or(0),
            sectors => sectors.checked_mul(SECTOR_BYTES)?,
        };
        let length_bytes = u32::try_from(length_bytes).ok()?;
        let is_completion = self.kind == Kind::Complete;
        let offset_bytes = offset(op, Some(sector), length_bytes, is_completion).ok()?;
        Some(Extent { op, flags, offset_bytes, length_bytes })
    }

    fn error(&self, record: &[u8]) -> Option<i32> {
        let error = self.error?.number(record)?;
        // The kernel's errors are negative.
        Some((error as u32 as i32).saturating_abs())
    }
}

/// A sample that is none of ours. They are counted, and never guessed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// Where and when a record was made, and whether by ourselves.
#[derive(Debug, Clone, Copy)]
pub(in crate::capture) struct Seen {
    pub(in crate::capture) time_ns: i64,
    pub(in crate::capture) cpu: Option<u16>,
    pub(in crate::capture) is_own: bool,
}

/// What is known of this kernel and this process when samples are read.
#[derive(Debug)]
pub(in crate::capture) struct Decoder {
    layouts: Vec<Layout>,
    selection: DeviceSelection,
    /// Our process as perf numbers it, which is as we do.
    own_tgid: u32,
}

impl Decoder {
    pub(in crate::capture) fn new(
        layouts: Vec<Layout>,
        selection: DeviceSelection,
        own_tgid: u32,
    ) -> Self {
        Self { layouts, selection, own_tgid }
    }

    /// Adds the events of a sample: one, or of a bio that is started and issued at once two, or
    /// none if its device is not asked for.
    /// Errors: bytes that are no sample of ours.
    #[inline]
    pub(super) fn decode(
        &mut self,
        sample: &[u8],
        names: &mut impl Steps,
        events: &mut Vec<Event>,
    ) -> Result<(), Malformed> {
        self.add(sample, names, events).ok_or(Malformed)
    }

    fn add(
        &mut self,
        sample: &[u8],
        names: &mut impl Steps,
        events: &mut Vec<Event>,
    ) -> Option<()> {
        let tgid = u32_at(sample, 0)?;
        let time_ns = u64::from_ne_bytes(sample.get(TIME..TIME + 8)?.try_into().ok()?) as i64;
        let cpu = u16::try_from(u32_at(sample, CPU)?).ok();
        let seen = Seen { time_ns, cpu, is_own: tgid != 0 && tgid == self.own_tgid };
        self.add_record(seen, sample.get(RECORD..)?, names, events)
    }

    /// Adds the events of a tracepoint's record.
    pub(in crate::capture) fn add_record(
        &mut self,
        Seen { time_ns, cpu, is_own }: Seen,
        record: &[u8],
        names: &mut impl Steps,
        events: &mut Vec<Event>,
    ) -> Option<()> {
        let id = u16::from_ne_bytes(record.get(TYPE..TYPE + 2)?.try_into().ok()?);
        let layout = *self.layouts.iter().find(|layout| layout.id == id)?;
        let mut extent = layout.extent(record)?;
        let device = u32::try_from(layout.device.number(record)?).ok()?;
        // A command to what is no disk, or not yet one, has no device.
        let disk = self.selection.disk(device);
        if device == 0 || !self.selection.has(disk.number, &extent) {
            return Some(());
        }
        if matches!(layout.kind, Kind::Queue | Kind::Start) {
            extent.flags = extent.flags.with(Flags::OWN, is_own);
        }
        let event =
            |step| Event { time_ns, identity: None, device: disk.number, cpu, extent, step };
        let steps = steps(&layout, disk, time_ns, record, names)?;
        events.extend(steps.into_iter().flatten().map(event));
        Some(())
    }
}

/// The steps that a record tells; none of a record that is cut short.
fn steps(
    layout: &Layout,
    disk: Disk,
    time_ns: i64,
    record: &[u8],
    names: &mut impl Steps,
) -> Option<[Option<Step>; 2]> {
    let origin = match layout.kind {
        Kind::Queue | Kind::Start => origin(layout, record, names)?,
        // Who hands a request over is often not who asked for it.
        _ => Origin::default(),
    };
    Some(match (layout.kind, disk.has_bios_alone) {
        // The bio is the request.
        (Kind::Queue, true) => {
            let start = Step::Start { queued_ns: Some(time_ns), origin, tag: None };
            [Some(start), Kind::Issue.step(Origin::default(), 0)]
        }
        // Its request told all.
        (Kind::BioComplete, false) => [None; 2],
        (kind @ (Kind::Complete | Kind::BioComplete), _) => {
            [kind.step(origin, layout.error(record)?), None]
        }
        (kind, _) => [kind.step(origin, 0), None],
    })
}

/// Who asked for it: the thread, by its number in the whole machine, and its command.
fn origin(layout: &Layout, record: &[u8], names: &mut impl Steps) -> Option<Origin> {
    let thread = u32_at(record, THREAD)?;
    let command = layout.command.and_then(|field| field.text(record));
    let command = command.filter(|name| !name.is_empty()).map(|name| names.command(name));
    Some(Origin { pid: (thread != 0).then_some(thread), command, ..Origin::UNKNOWN })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests;

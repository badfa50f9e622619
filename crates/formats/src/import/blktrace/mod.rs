//! blktrace's binary files, versions 7 and 8, of either byte order: `NAME.blktrace.CPU`, one for
//! each CPU, or all in one (`blkparse -d`; ftrace's `blk` tracer with the options `bin` and
//! `nocontext-info`).
//!
//! The files of one trace are merged by time; each is in order in itself. Sequence numbers are not
//! used: ftrace leaves them 0. Times are the kernel's, in ns; the wall clock is known where
//! blktrace noted it.
//!
//! Steps are paired by place (`pair::inexact`): there is no identity in a record. Names of
//! processes come as notes, by thread. What a remap, split, plug or message says is passed over.
//!
//! Non-goals: the zone appends of version 8, which are completed elsewhere than they were issued.

mod record;
mod stream;

use super::{Format, Guess, ImportError, Input, Reading};
use crate::import::steps::Kind;
use hashbrown::HashMap;
use model::record::CommandId;
use record::{Layout, Record};
use stream::{Found, Head, Stream, Tale};
use trace::event::{Event, Extent, Origin};
use trace::intake::{Epoch, Intake};
use trace::rwbs::{COMMAND, categories, offset};

pub(super) const FORMAT: Format = Format {
    name: "blktrace",
    meaning: "blktrace's binary files (versions 7 and 8), those of all CPUs together",
    guess,
    import: Reading::Code(import),
};

fn guess(head: &[u8], _: bool) -> Guess {
    Guess::of(head.first_chunk().is_some_and(|first| Layout::of(*first).is_some()))
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("the kernel's (ns)", Epoch::Unknown);
    let mut teller = Teller::default();
    let mut found = Found::default();
    let mut streams: Vec<Stream> = inputs.iter_mut().map(Stream::new).collect();
    let merged = merge(&mut streams, &mut found, |head, name, found| {
        if found.is_any() {
            tell(found, intake);
        }
        teller.take(head, name, intake)
    });
    tell(&mut found, intake);
    merged
}

/// Hands what was found between records over.
fn tell(found: &mut Found, intake: &mut Intake) {
    intake.counts_mut().lost += std::mem::take(&mut found.lost);
    for (number, why) in found.rejected.drain(..) {
        intake.reject(number, why);
    }
}

/// Hands the records of all files over, in the order of time, each with the name that it tells if
/// it tells one.
fn merge(
    streams: &mut [Stream],
    found: &mut Found,
    mut take: impl FnMut(&Head, &[u8], &mut Found) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    streams.iter_mut().try_for_each(|stream| stream.advance(found))?;
    loop {
        // The first of all, and the key up to which it stays the first.
        let mut first: Option<(usize, _)> = None;
        let mut second = None;
        for (place, stream) in streams.iter().enumerate() {
            let Some(key) = stream.head.as_ref().map(Head::key) else { continue };
            match first {
                Some((_, least)) if least <= key => {
                    second = Some(second.map_or(key, |s| key.min(s)));
                }
                _ => {
                    second = first.map(|(_, least)| least).or(second);
                    first = Some((place, key));
                }
            }
        }
        let Some((place, _)) = first else { return Ok(()) };
        let stream = &mut streams[place];
        while let Some(head) = &stream.head {
            if second.is_some_and(|second| head.key() > second) {
                break;
            }
            take(head, &stream.name, found)?;
            stream.advance(found)?;
        }
    }
}

/// Makes events of records.
#[derive(Debug, Default)]
struct Teller {
    commands: HashMap<u32, CommandId>,
    /// The process that was last looked for, and its command: the steps of a request lie together.
    last: Option<(u32, Option<CommandId>)>,
    last_ns: i64,
    is_timed: bool,
}

impl Teller {
    #[inline]
    fn take(&mut self, head: &Head, name: &[u8], intake: &mut Intake) -> Result<(), ImportError> {
        let record = &head.record;
        let time_ns = i64::try_from(record.time_ns).unwrap_or(i64::MAX);
        match head.tale {
            Tale::Happened(kind) => match self.event(time_ns, record, head.cgroup, kind) {
                Ok(Some(ref event)) => {
                    if time_ns < self.last_ns {
                        intake.out_of_order()?;
                    }
                    self.last_ns = time_ns;
                    intake.event(event)?;
                }
                Ok(None) => {}
                Err(why) => intake.reject(head.number, why),
            },
            Tale::Name => {
                let length = name.iter().position(|b| *b == 0).unwrap_or(name.len());
                self.commands.insert(record.pid, intake.command(&name[..length]));
                self.last = None;
            }
            Tale::WallClock { seconds, nanoseconds } if !self.is_timed => {
                self.is_timed = true;
                let moment = i64::from(seconds) * 1_000_000_000 + i64::from(nanoseconds);
                intake.set_clock("CLOCK_MONOTONIC", Epoch::At(moment.saturating_sub(time_ns)));
            }
            Tale::WallClock { .. } => {}
        }
        Ok(())
    }

    #[inline]
    fn command(&mut self, pid: u32) -> Option<CommandId> {
        match self.last {
            Some((last, command)) if last == pid => command,
            _ => {
                let command = self.commands.get(&pid).copied();
                self.last = Some((pid, command));
                command
            }
        }
    }

    #[inline]
    fn event(
        &mut self,
        time_ns: i64,
        record: &Record,
        cgroup: Option<u64>,
        kind: Kind,
    ) -> Result<Option<Event>, &'static str> {
        let mut origin = Origin::default();
        if kind.tells_who() {
            let command = self.command(record.pid);
            origin = Origin { pid: Some(record.pid), cgroup, command, ..Origin::UNKNOWN };
        }
        let bits = record.categories();
        let (op, flags) = categories(bits, record.length_bytes);
        let sector = Some(record.sector).filter(|_| bits & COMMAND == 0);
        let offset_bytes = offset(op, sector, record.length_bytes, kind == Kind::Complete)?;
        let error = i32::from(record.error as i16).abs();
        let Some(step) = kind.step(origin, error) else { return Ok(None) };
        Ok(Some(Event {
            time_ns,
            identity: None,
            device: record.device,
            cpu: u16::try_from(record.cpu).ok(),
            extent: Extent { op, flags, offset_bytes, length_bytes: record.length_bytes },
            step,
        }))
    }
}

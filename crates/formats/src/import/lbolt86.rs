//! The traces of Johnson, Smith & Wilson, "Disk response time measurements" (1986), as section 2.2
//! prints them: `S:(32,0x10):2:R:1984:22127` is a *send* of 2 blocks of 512 bytes, a read, at block
//! 1984 of device (32,0x10), at tick 22127; `R:…` is the *receive* that completes it.
//!
//! - Ticks are of 1/60 s, modulo 65536 (18.2 minutes). Each is taken for the nearest to the one
//!   before it, so that disorder is borne, and a silence of more than half of that is not seen.
//! - A block counts from the beginning of its slice, and where slices begin the trace does not
//!   tell: hence each slice is a device of its own, major << 20 | minor (0x10 is the first slice of
//!   the third drive, 0x11 its second).
//! - Receives may stand ahead of their sends: events are sorted by time first.
//! - A receive does not say which send it completes: that is found by place ([`trace::pair`]).
//!
//! Spaces are borne, as the paper's print has some.

use super::lines::{each_line, guess_by_lines};
use super::parse::{fields, hexadecimal, unsigned};
use super::steps::Kind;
use super::{Format, Guess, ImportError, Input, Reading};
use model::record::{Flags, Op};
use trace::event::{Extent, Listed};
use trace::intake::{Epoch, Intake};

pub(super) const BLOCK_BYTES: u64 = 512;
/// A line has some 30 bytes.
const LINE_BYTES: usize = 100;

pub(super) const FORMAT: Format = Format {
    name: "lbolt86",
    meaning: "sends and receives in ticks of 1/60 s, as the 1986 paper prints them",
    guess,
    import: Reading::Code(import),
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    guess_by_lines(head, is_whole, |line| record(line).is_ok())
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("ticks of 1/60 s", Epoch::Unknown);
    intake.note("device", "a slice: major << 20 | minor".to_owned());
    let mut ticks = Ticks::default();
    for input in inputs {
        each_line(input, intake, |number, line, intake| {
            match record(line) {
                Ok(record) => intake.listed(&record.event(&mut ticks))?,
                Err(why) => intake.reject(number, why),
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// A record as it is written.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    is_send: bool,
    device: u32,
    op: Op,
    blocks: u32,
    block: u64,
    tick: u16,
}

impl Record {
    fn event(&self, ticks: &mut Ticks) -> Listed {
        Listed {
            time_ns: ticks.ns(self.tick),
            device: self.device,
            cpu: None,
            extent: Extent {
                op: self.op,
                flags: Flags::default(),
                offset_bytes: Some(self.block * BLOCK_BYTES),
                length_bytes: self.blocks * BLOCK_BYTES as u32,
            },
            kind: if self.is_send { Kind::Queue } else { Kind::Complete },
            pid: None,
            command: None,
            error: 0,
        }
    }
}

fn record(line: &[u8]) -> Result<Record, &'static str> {
    if line.len() > LINE_BYTES {
        return Err("too long a line");
    }
    let line: Vec<u8> = line.iter().copied().filter(|byte| *byte != b' ').collect();
    let [which, device, blocks, op, block, tick] =
        fields::<6>(&line, b':').ok_or("not six fields")?;
    let is_send = match which {
        b"S" => true,
        b"R" => false,
        _ => return Err("neither S nor R"),
    };
    let op = match op {
        b"R" => Op::Read,
        b"W" => Op::Write,
        _ => return Err("neither a read nor a write"),
    };
    let block = unsigned(block).filter(|b| *b <= u64::from(u32::MAX)).ok_or("no block")?;
    let tick = unsigned(tick).and_then(|t| u16::try_from(t).ok()).ok_or("no tick")?;
    let blocks = unsigned(blocks).and_then(|b| u16::try_from(b).ok()).ok_or("no size")?;
    let device = device_of(device).ok_or("no device")?;
    Ok(Record { is_send, device, op, blocks: u32::from(blocks), block, tick })
}

/// `(32,0x10)`.
fn device_of(text: &[u8]) -> Option<u32> {
    let [major, minor] = fields::<2>(text.strip_prefix(b"(")?.strip_suffix(b")")?, b',')?;
    let major = unsigned(major).and_then(|major| u8::try_from(major).ok())?;
    let minor = minor.strip_prefix(b"0x").and_then(hexadecimal);
    let minor = minor.and_then(|minor| u8::try_from(minor).ok())?;
    Some(slice(major, minor))
}

pub(super) fn slice(major: u8, minor: u8) -> u32 {
    u32::from(major) << 20 | u32::from(minor)
}

/// The clock, of which only the lower 16 bits are written.
#[derive(Debug, Default)]
pub(super) struct Ticks {
    last: Option<i64>,
}

impl Ticks {
    /// The time of a tick in ns: the nearest to the one before it.
    pub(super) fn ns(&mut self, tick: u16) -> i64 {
        let ticks = match self.last {
            None => i64::from(tick),
            Some(last) => last + i64::from(tick.wrapping_sub(last as u16) as i16),
        };
        self.last = Some(ticks);
        // A second in ns over 60; a damaged file may count years by the million.
        ticks.saturating_mul(50_000_000) / 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_is_an_event() {
        let found = record(b"S:(32,0x11):2:R:62782:22129").unwrap();
        let wanted = Record {
            is_send: true,
            device: 32 << 20 | 0x11,
            op: Op::Read,
            blocks: 2,
            block: 62_782,
            tick: 22_129,
        };
        assert_eq!(found, wanted);
        assert_eq!(record(b"S: (32,0x11) :2:R:62782:22129"), Ok(wanted));
        let event = found.event(&mut Ticks::default());
        assert_eq!(
            (event.extent.offset_bytes, event.extent.length_bytes),
            (Some(62_782 * 512), 1024)
        );
        assert_eq!(event.time_ns, 368_816_666_666);
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        for (line, why) in [
            ("", "not six fields"),
            ("X:(32,0x11):2:R:62782:22129", "neither S nor R"),
            ("S:(32,0x11):2:X:62782:22129", "neither a read nor a write"),
            ("S:(32,0x11):2:R:99999999999:22129", "no block"),
            ("S:(32,0x11):2:R:62782:65536", "no tick"),
            ("S:(32,0x11):-2:R:62782:1", "no size"),
            ("S:(32,11):2:R:62782:1", "no device"),
            ("S:(32,0x111):2:R:62782:1", "no device"),
            ("S:32,0x11:2:R:62782:1", "no device"),
        ] {
            assert_eq!(record(line.as_bytes()), Err(why), "{line}");
        }
        assert_eq!(record(&[b'S'; 101]), Err("too long a line"));
    }

    #[test]
    fn a_clock_beyond_all_years_stands_still() {
        let mut ticks = Ticks { last: Some(1 << 60) };
        assert_eq!(ticks.ns(1), i64::MAX / 3);
        let mut ticks = Ticks { last: Some(-1 << 60) };
        assert_eq!(ticks.ns(1), i64::MIN / 3);
    }

    proptest! {
        #[test]
        fn the_clock_goes_on_over_its_end_and_back_again(
            start in any::<u16>(), steps in prop::collection::vec(-20_000i64..30_000, 0..200),
        ) {
            let mut ticks = Ticks::default();
            prop_assert_eq!(ticks.ns(start), i64::from(start) * 1_000_000_000 / 60);
            let mut true_ticks = i64::from(start);
            for step in steps {
                true_ticks += step;
                prop_assert_eq!(ticks.ns(true_ticks as u16), true_ticks * 1_000_000_000 / 60);
            }
        }
    }
}

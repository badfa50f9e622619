//! The trace buffer of Johnson, Smith & Wilson, "Disk response time measurements" (1986), section
//! 1.3, as it was taken from the kernel: two words of 32 bits a record.
//!
//! - The first: the read/write flag (the high order bit), the device (15 bits), the time (16 bits,
//!   ticks of 1/60 s).
//! - The second: the size (8 bits, blocks of 512 bytes), the block (24 bits, from the beginning of
//!   its slice).
//!
//! What the paper does not say, and is assumed here: fields lie from the high bits down in the
//! order in which it lists them; words are little endian, as the VAX's are; a set flag is a read,
//! as B_READ is in the buffer header; of the device the low 8 bits are the minor number and what is
//! left, 7 bits, the major. The buffer of this first configuration holds sends only: no request is
//! ever completed. A record of zeroes is an unused place in the buffer.
//!
//! Any 8 bytes are such a record: it is never guessed, and must be requested.

use super::binary::{each_record, field};
use super::lbolt86::{BLOCK_BYTES, Ticks, slice};
use super::{Format, Guess, ImportError, Input, Reading};
use model::record::{Op, Request};
use trace::intake::{Epoch, Intake};

pub(super) const FORMAT: Format = Format {
    name: "lbolt86-packed",
    meaning: "sends in two words each, as the 1986 paper packs them; never guessed",
    guess,
    import: Reading::Code(import),
};

fn guess(_: &[u8], _: bool) -> Guess {
    Guess::No
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("ticks of 1/60 s", Epoch::Unknown);
    intake.note("device", "a slice: major << 20 | minor".to_owned());
    intake.note("assumed", "little endian; a set flag is a read".to_owned());
    intake.set_one_sided();
    let mut ticks = Ticks::default();
    for input in inputs {
        let torn = each_record::<8>(input, intake, |number, record, intake| {
            match row(record, &mut ticks) {
                Some(mut row) => intake.request(&mut row)?,
                None => intake.reject(number, "an unused place in the buffer"),
            }
            Ok(())
        })?;
        if let Some(number) = torn {
            intake.reject(number, "the file ends within it");
        }
    }
    Ok(())
}

fn row(record: &[u8; 8], ticks: &mut Ticks) -> Option<Request> {
    let [first, second] = [0, 4].map(|at| u32::from_le_bytes(field(record, at)));
    if first == 0 && second == 0 {
        return None;
    }
    let (minor, major) = ((first >> 16) as u8, (first >> 24 & 0x7f) as u8);
    Some(Request {
        device: slice(major, minor),
        op: if first >> 31 == 1 { Op::Read } else { Op::Write },
        offset_bytes: Some(u64::from(second & 0x00ff_ffff) * BLOCK_BYTES),
        length_bytes: (second >> 24) * BLOCK_BYTES as u32,
        queued_ns: Some(ticks.ns(first as u16)),
        ..Request::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_words_are_a_send() {
        // The first line of the paper's sample, packed by hand: a read (bit 31) at (32,0x10), tick
        // 22127 (0x566f), 2 blocks at 1984 (0x7c0).
        let record = [0x6f, 0x56, 0x10, 0xa0, 0xc0, 0x07, 0x00, 0x02];
        let row = row(&record, &mut Ticks::default()).unwrap();
        assert_eq!((row.device, row.op), (32 << 20 | 0x10, Op::Read));
        assert_eq!((row.offset_bytes, row.length_bytes), (Some(1984 * 512), 1024));
        assert_eq!(row.queued_ns, Some(22_127 * 1_000_000_000 / 60));
        assert_eq!(row.completed_ns, None);
    }

    #[test]
    fn zeroes_are_no_send() {
        assert_eq!(row(&[0; 8], &mut Ticks::default()), None);
    }
}

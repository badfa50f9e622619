//! Records of a fixed size and numbers out of bytes: what binary formats share.

use super::lines::{REJECTED_MAX, refuse_nothing};
use super::{ImportError, Input};
use std::io::Read;
use trace::intake::Intake;

/// Hands each record of `N` bytes over with its number, which counts from 1. Whether the file ends
/// within a record is returned: the last one's number then.
/// Errors: a file that cannot be read; what `each` returns.
pub(super) fn each_record<const N: usize>(
    input: &mut Input,
    intake: &mut Intake,
    mut each: impl FnMut(u64, &[u8; N], &mut Intake) -> Result<(), ImportError>,
) -> Result<Option<u64>, ImportError> {
    let mut record = [0; N];
    for number in 1.. {
        match fill(input, &mut record)? {
            0 => break,
            filled if filled < N => return Ok(Some(number)),
            _ => each(number, &record, intake)?,
        }
        if number > REJECTED_MAX {
            refuse_nothing(input, intake, 0)?;
        }
    }
    Ok(None)
}

/// Reads until the buffer is full or the file ends; how much was read.
pub(super) fn fill(input: &mut Input, buffer: &mut [u8]) -> Result<usize, ImportError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.reader().read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(source) if source.kind() == std::io::ErrorKind::Interrupted => {}
            Err(source) => return Err(input.refused(source).into()),
        }
    }
    Ok(filled)
}

/// A field of `N` bytes; zeroes where the record is too short, which the caller's sizes rule out.
#[inline]
pub(super) fn field<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    record.get(at..at + N).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; N])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_counted_and_a_torn_one_is_told() {
        let mut seen = Vec::new();
        let mut input = Input::from_bytes("x", b"abcdefg".to_vec()).unwrap();
        let mut rows = Vec::new();
        let mut intake = Intake::new(&mut rows, "test");
        let torn = each_record::<3>(&mut input, &mut intake, |number, record, _| {
            seen.push((number, *record));
            Ok(())
        });
        assert_eq!(torn.unwrap(), Some(3));
        assert_eq!(seen, [(1, *b"abc"), (2, *b"def")]);
        let mut whole = Input::from_bytes("x", b"abcdef".to_vec()).unwrap();
        assert_eq!(each_record::<3>(&mut whole, &mut intake, |_, _, _| Ok(())).unwrap(), None);
    }

    #[test]
    fn a_field_lies_where_it_is_said_to() {
        assert_eq!(u16::from_le_bytes(field(&[9, 1, 2], 1)), 0x0201);
        assert_eq!(field::<2>(&[9, 1, 2], 2), [0, 0]);
    }
}

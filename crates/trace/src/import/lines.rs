//! Lines of text, one after the other, without a copy where a line lies whole in the buffer.

use super::{Guess, ImportError, Input};
use crate::intake::Intake;
use memchr::memchr;
use model::record::Request;
use std::io::BufRead;

/// No line of any format is as long: a longer one is no text, and is cut here so that memory stays bounded.
const LINE_BYTES: usize = 64 * 1024;

/// Hands each line over with its number, which counts from 1; without its end (LF or CR LF).
///
/// # Errors
/// A file that cannot be read; what `each` returns.
pub(super) fn each_line(
    input: &mut Input,
    mut each: impl FnMut(u64, &[u8]) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut number = 0;
    // A line that began in the last buffer.
    let mut begun: Vec<u8> = Vec::new();
    loop {
        let buffer = match input.reader().fill_buf() {
            Ok(buffer) => buffer,
            Err(source) => return Err(input.refused(source).into()),
        };
        if buffer.is_empty() {
            break;
        }
        let mut rest = buffer;
        while let Some(end) = memchr(b'\n', rest) {
            number += 1;
            if begun.is_empty() {
                each(number, without_return(&rest[..end]))?;
            } else {
                extend(&mut begun, &rest[..end]);
                each(number, without_return(&begun))?;
                begun.clear();
            }
            rest = &rest[end + 1..];
        }
        extend(&mut begun, rest);
        let length = buffer.len();
        input.reader().consume(length);
    }
    if begun.is_empty() { Ok(()) } else { each(number + 1, without_return(&begun)) }
}

/// Reads files of which a line is a request, or is none and no mistake either (a header).
///
/// # Errors
/// A file that cannot be read; rows that cannot be put away.
#[inline]
pub(super) fn each_row(
    inputs: &mut [Input],
    intake: &mut Intake,
    mut row: impl FnMut(&[u8], &mut Intake) -> Result<Option<Request>, &'static str>,
) -> Result<(), ImportError> {
    for input in inputs {
        each_line(input, |number, line| {
            match row(line, intake) {
                Ok(Some(row)) => intake.request(row)?,
                Ok(None) => {}
                // A blank line says nothing, and nothing wrong.
                Err(_) if line.trim_ascii().is_empty() => {}
                Err(why) => intake.reject(number, why),
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn extend(line: &mut Vec<u8>, more: &[u8]) {
    let room = LINE_BYTES.saturating_sub(line.len());
    line.extend_from_slice(&more[..more.len().min(room)]);
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Yes if most of the first lines are understood: a damaged one is no reason to refuse the rest.
pub(super) fn guess_by_lines(
    head: &[u8],
    is_whole: bool,
    mut is_understood: impl FnMut(&[u8]) -> bool,
) -> Guess {
    let lines = first_lines(head, is_whole, 20);
    let understood = lines.iter().filter(|line| is_understood(line)).count();
    Guess::of(2 * understood > lines.len())
}

/// The whole lines at the beginning of a file, for a guess: at most `count`, without the last one if it
/// may go on.
pub(super) fn first_lines(head: &[u8], is_whole: bool, count: usize) -> Vec<&[u8]> {
    let end =
        if is_whole { head.len() } else { head.iter().rposition(|b| *b == b'\n').unwrap_or(0) };
    head[..end]
        .split(|b| *b == b'\n')
        .map(without_return)
        .filter(|line| !line.is_empty())
        .take(count)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut input = Input::from_bytes("x", text.to_vec()).unwrap();
        let mut found = Vec::new();
        each_line(&mut input, |number, line| {
            found.push((number, line.to_vec()));
            Ok(())
        })
        .unwrap();
        found
    }

    #[test]
    fn lines_end_in_either_way_and_the_last_need_not() {
        assert_eq!(lines(b"a\r\n\nb"), [(1, b"a".to_vec()), (2, vec![]), (3, b"b".to_vec())]);
        assert!(lines(b"").is_empty());
    }

    #[test]
    fn a_line_over_two_buffers_is_whole_and_one_without_end_is_cut() {
        let text: Vec<u8> = (0..60_000).flat_map(|n| format!("{n:07}\n").into_bytes()).collect();
        let found = lines(&text);
        assert_eq!(found.len(), 60_000);
        assert!(found.iter().enumerate().all(|(n, (_, l))| *l == format!("{n:07}").into_bytes()));
        assert_eq!(lines(&vec![b'x'; 1 << 20])[0].1.len(), LINE_BYTES);
    }
}

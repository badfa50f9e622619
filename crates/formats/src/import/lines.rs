//! Lines of text, one after the other, without a copy where a line lies whole in the buffer; those
//! of several files in order of time.

use super::encoding::UTF_8_MARK;
use super::marks::Places;
use super::{Guess, ImportError, Input};
use memchr::{memchr_iter, memrchr};
use model::record::Request;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{BufRead as _, Read as _};
use trace::event::Listed;
use trace::intake::{Intake, RowsError};

/// No line of any format is as long: a longer one is no text, and is cut here so that memory stays
/// bounded.
const LINE_BYTES: usize = 64 * 1024;

/// So much without a line, or so many lines that are not understood, before anything was: it is no
/// trace, and may be a few bytes that decompress without end.
const EMPTY_BYTES_MAX: u64 = 64 << 20;
pub(super) const REJECTED_MAX: u64 = 1_000_000;

/// Hands each line over with its number, which counts from 1; without its end (LF or CR LF). A
/// blank line says nothing, in whatever format, and is passed over.
/// Errors: a file that cannot be read or begins with nothing for very long; what `each` returns.
pub(super) fn each_line(
    input: &mut Input,
    intake: &mut Intake,
    mut take: impl FnMut(u64, &[u8], &mut Intake) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut each = |number: u64, line: &[u8], intake: &mut Intake| {
        let line = without_mark(without_return(line));
        let is_blank =
            line.first().is_none_or(u8::is_ascii_whitespace) && line.trim_ascii().is_empty();
        if is_blank { Ok(()) } else { take(number, line, intake) }
    };
    let mut number = 0;
    let mut empty_bytes = 0;
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
        let blank = if begun.trim_ascii().is_empty() { blank_lines(buffer) } else { 0 };
        if blank > 0 {
            begun.clear();
        }
        number += memchr_iter(b'\n', &buffer[..blank]).count() as u64;
        let mut begin = blank;
        for end in Places::of(&buffer[blank..], b'\n') {
            number += 1;
            let line = &buffer[begin..blank + end];
            if begun.is_empty() {
                each(number, line, intake)?;
            } else {
                extend(&mut begun, line);
                each(number, &begun, intake)?;
                begun.clear();
            }
            begin = blank + end + 1;
        }
        let is_line_without_end = begin == blank;
        empty_bytes += (blank + if is_line_without_end { buffer.len() - blank } else { 0 }) as u64;
        extend(&mut begun, &buffer[begin..]);
        let length = buffer.len();
        input.reader().consume(length);
        if empty_bytes > EMPTY_BYTES_MAX || intake.counts().rejected > REJECTED_MAX {
            refuse_nothing(input, intake, empty_bytes)?;
        }
    }
    each(number + 1, &begun, intake)
}

/// How much of a buffer are lines of which all are blank: nothing, unless the whole buffer is.
fn blank_lines(buffer: &[u8]) -> usize {
    let is_blank = buffer.iter().all(u8::is_ascii_whitespace);
    memrchr(b'\n', buffer).filter(|_| is_blank).map_or(0, |last| last + 1)
}

/// Refuses to go on where nothing was understood so far.
pub(super) fn refuse_nothing(
    input: &Input,
    intake: &Intake,
    empty_bytes: u64,
) -> Result<(), ImportError> {
    if !intake.is_empty() {
        return Ok(());
    }
    let what = match intake.counts().rejected {
        0 => format!("{} MiB without a line", empty_bytes >> 20),
        rejected => format!("{rejected} unreadable lines or records"),
    };
    Err(ImportError::Nothing { path: input.path().to_owned(), what })
}

/// What a line gives that has a time.
pub(super) trait Timed: Copy {
    fn time_ns(&self) -> i64;

    fn put(&mut self, intake: &mut Intake) -> Result<(), RowsError>;
}

impl Timed for Request {
    fn time_ns(&self) -> i64 {
        self.arrival_ns().unwrap_or(0)
    }

    #[inline]
    fn put(&mut self, intake: &mut Intake) -> Result<(), RowsError> {
        intake.request(self)
    }
}

impl Timed for Listed {
    fn time_ns(&self) -> i64 {
        self.time_ns
    }

    #[inline]
    fn put(&mut self, intake: &mut Intake) -> Result<(), RowsError> {
        intake.listed(self)
    }
}

/// Reads what has a time out of lines; `read` gets the number of the file, that of the line, and
/// the line. Several files are merged by time, as each is more or less in order by itself: one
/// after the other they would be in a disorder that nothing can mend.
/// Errors: a file that cannot be read; rows that cannot be put away.
#[inline]
pub(super) fn each_timed<T: Timed>(
    inputs: &mut [Input],
    intake: &mut Intake,
    mut read: impl FnMut((usize, u64), &[u8], &mut Intake) -> Option<T>,
) -> Result<(), ImportError> {
    if let [input] = inputs {
        return each_line(input, intake, |number, line, intake| {
            read((0, number), line, intake).map_or(Ok(()), |mut timed| Ok(timed.put(intake)?))
        });
    }
    let count = inputs.len();
    let mut files: Vec<Lines> = inputs.iter_mut().map(Lines::of).collect();
    let next = |file: usize, intake: &mut Intake| {
        while files[file].advance(intake)? {
            let Lines { number, line, .. } = &files[file];
            if let Some(timed) = read((file, *number), line, intake) {
                return Ok(Some(timed));
            }
        }
        Ok::<_, ImportError>(None)
    };
    merge(count, intake, next)
}

/// Puts what several files give away in order of time; `next` gives what is next in one of them.
/// Errors: those of `next`; rows that cannot be put away.
pub(super) fn merge<T: Timed>(
    count: usize,
    intake: &mut Intake,
    mut next: impl FnMut(usize, &mut Intake) -> Result<Option<T>, ImportError>,
) -> Result<(), ImportError> {
    let mut heads: Vec<Option<T>> = Vec::new();
    let mut order = BinaryHeap::new();
    for file in 0..count {
        let head = next(file, intake)?;
        order.extend(head.map(|head| Reverse((head.time_ns(), file))));
        heads.push(head);
    }
    while let Some(Reverse((_, file))) = order.pop() {
        if let Some(head) = &mut heads[file] {
            head.put(intake)?;
        }
        heads[file] = next(file, intake)?;
        order.extend(heads[file].map(|head| Reverse((head.time_ns(), file))));
    }
    Ok(())
}

/// The lines of a file, one at a time, for who reads several files at once.
struct Lines<'a> {
    input: &'a mut Input,
    /// The line that was read last, without its end.
    line: Vec<u8>,
    number: u64,
    empty_bytes: u64,
}

impl<'a> Lines<'a> {
    fn of(input: &'a mut Input) -> Self {
        Self { input, line: Vec::new(), number: 0, empty_bytes: 0 }
    }

    /// Goes on to the next line that is not blank; whether there is one.
    fn advance(&mut self, intake: &Intake) -> Result<bool, ImportError> {
        loop {
            self.line.clear();
            let reader = self.input.reader();
            let read = reader.take(LINE_BYTES as u64).read_until(b'\n', &mut self.line);
            let read = read.map_err(|source| self.input.refused(source))?;
            if read == 0 {
                return Ok(false);
            }
            let is_cut = read == LINE_BYTES && self.line.last() != Some(&b'\n');
            self.number += 1;
            let marked = self.line.len() - without_mark(&self.line).len();
            self.line.drain(..marked);
            self.line.truncate(self.line.trim_ascii_end().len());
            if is_cut {
                self.empty_bytes += self.skip_line()?;
            }
            if !self.line.is_empty() {
                break;
            }
            self.empty_bytes += read as u64;
            if self.empty_bytes > EMPTY_BYTES_MAX {
                refuse_nothing(self.input, intake, self.empty_bytes)?;
            }
        }
        if intake.counts().rejected > REJECTED_MAX || self.empty_bytes > EMPTY_BYTES_MAX {
            refuse_nothing(self.input, intake, self.empty_bytes)?;
        }
        Ok(true)
    }

    /// Passes over the rest of a line that is too long to be one; at most so much that it is no
    /// trace.
    fn skip_line(&mut self) -> Result<u64, ImportError> {
        let mut skipped = 0;
        while skipped <= EMPTY_BYTES_MAX {
            let buffer = match self.input.reader().fill_buf() {
                Ok(buffer) => buffer,
                Err(source) => return Err(self.input.refused(source).into()),
            };
            let end = memchr::memchr(b'\n', buffer);
            let length = end.map_or(buffer.len(), |end| end + 1);
            let is_over = end.is_some() || buffer.is_empty();
            self.input.reader().consume(length);
            skipped += length as u64;
            if is_over {
                break;
            }
        }
        Ok(skipped)
    }
}

/// Reads files of which a line is a request, or is none and no mistake either (a header), one file
/// after the other: lines are read as what those before them say.
/// Errors: a file that cannot be read; rows that cannot be put away.
#[inline]
pub(super) fn each_row(
    inputs: &mut [Input],
    intake: &mut Intake,
    mut row: impl FnMut(&[u8], &mut Intake) -> Result<Option<Request>, &'static str>,
) -> Result<(), ImportError> {
    for input in inputs {
        each_line(input, intake, |number, line, intake| {
            match row(line, intake) {
                Ok(Some(ref mut row)) => intake.request(row)?,
                Ok(None) => {}
                Err(why) => intake.reject(number, why),
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Reads files of which each line is a request, but for comments and one that names the columns at
/// the top, and again where files were put together; merged by time.
/// Errors: a file that cannot be read; rows that cannot be put away.
#[inline]
pub(super) fn each_line_under(
    inputs: &mut [Input],
    intake: &mut Intake,
    mut row: impl FnMut(&[u8], &mut Intake) -> Result<Request, &'static str>,
) -> Result<(), ImportError> {
    let mut heads = vec![(Vec::new(), false); inputs.len()];
    each_timed(inputs, intake, |(file, number), line, intake| {
        let (head, has_begun) = &mut heads[file];
        let found = match row(line, intake) {
            Ok(row) => Some(row),
            Err(_) if line.starts_with(b"#") || line == head.as_slice() => return None,
            Err(_) if !*has_begun && names(line, 3, 1) => {
                line.clone_into(head);
                None
            }
            Err(why) => {
                intake.reject(number, why);
                None
            }
        };
        *has_begun = true;
        found
    })
}

/// Whether a line can be the names of a table's columns: it has as many words as the shortest of
/// our tables, and all are names, as no line of a request's numbers is.
pub(super) fn names_columns(line: &[u8]) -> bool {
    names(line, 5, 2)
}

/// Whether a line is so many names of so many letters at the least.
fn names(line: &[u8], least: usize, letters: usize) -> bool {
    let is_in_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-. /()[]:\"".contains(byte);
    let is_name = |word: &[u8]| {
        let word = word.trim_ascii().strip_prefix(b"\"").unwrap_or(word.trim_ascii());
        word.len() >= letters
            && word.first().is_some_and(u8::is_ascii_alphabetic)
            && word.iter().all(is_in_name)
    };
    let separator = line.iter().copied().find(|byte| b",;".contains(byte)).unwrap_or(b' ');
    let words = line.split(|byte| *byte == separator || *byte == b'\t');
    let mut words = words.filter(|word| !word.is_empty());
    words.clone().count() >= least && words.all(is_name)
}

fn extend(line: &mut Vec<u8>, more: &[u8]) {
    let free = LINE_BYTES.saturating_sub(line.len());
    line.extend_from_slice(&more[..more.len().min(free)]);
}

/// Where files were put together, lines may begin with the mark of one.
#[inline]
fn without_mark(line: &[u8]) -> &[u8] {
    match line.first() {
        Some(0xef) => line.strip_prefix(UTF_8_MARK).unwrap_or(line),
        _ => line,
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Whether a file has names of columns or comments, and nothing else.
pub(super) fn says_nothing(head: &[u8]) -> bool {
    let lines = first_lines(head, true, usize::MAX);
    lines.iter().all(|line| line.starts_with(b"#") || names_columns(line))
}

/// Yes if most of the first lines are understood: a damaged one is no reason to refuse the rest.
/// Names of columns and comments count for nothing.
pub(super) fn guess_by_lines(
    head: &[u8],
    is_whole: bool,
    mut is_understood: impl FnMut(&[u8]) -> bool,
) -> Guess {
    let lines = first_lines(head, is_whole, 20);
    let understood = lines.iter().filter(|line| is_understood(line)).count();
    let says_nothing = |line: &&&[u8]| line.starts_with(b"#") || names_columns(line);
    let others = lines.iter().filter(says_nothing).filter(|line| !is_understood(line)).count();
    Guess::of(2 * understood > lines.len() - others)
}

/// The whole lines at the beginning of a file, for a guess: at most `count`, without the last one
/// if it may go on.
pub(super) fn first_lines(head: &[u8], is_whole: bool, count: usize) -> Vec<&[u8]> {
    let end =
        if is_whole { head.len() } else { head.iter().rposition(|b| *b == b'\n').unwrap_or(0) };
    head[..end]
        .split(|b| *b == b'\n')
        .map(|line| without_mark(without_return(line)))
        .filter(|line| !line.is_empty())
        .take(count)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut input = Input::from_bytes("x", text.to_vec()).unwrap();
        let (mut found, mut rows) = (Vec::new(), Vec::new());
        let mut intake = Intake::new(&mut rows, "test");
        each_line(&mut input, &mut intake, |number, line, _| {
            found.push((number, line.to_vec()));
            Ok(())
        })
        .unwrap();
        found
    }

    #[test]
    fn lines_end_in_either_way_and_the_last_need_not() {
        assert_eq!(lines(b"a\r\n\n\r\n \t\nb"), [(1, b"a".to_vec()), (5, b"b".to_vec())]);
        assert!(lines(b"").is_empty() && lines(b" \r\n\r").is_empty());
    }

    #[test]
    fn lines_of_several_files_are_those_of_each() {
        let long = "y".repeat(LINE_BYTES + 5);
        for text in ["a\r\n\n \t\nb", "", "\n\n", &format!("x\n{long}\nz\n")] {
            let mut input = Input::from_bytes("x", text.as_bytes().to_vec()).unwrap();
            let mut rows = Vec::new();
            let intake = Intake::new(&mut rows, "test");
            let (mut found, mut one) = (Vec::new(), Lines::of(&mut input));
            while one.advance(&intake).unwrap() {
                found.push((one.number, one.line.clone()));
            }
            assert_eq!(found, lines(text.as_bytes()));
        }
    }

    #[test]
    fn a_buffer_of_blank_lines_counts_and_says_nothing() {
        let text = [&b"a\n\n"[..], &b" \n".repeat(500_000), b"\r\n b\nc"].concat();
        let found: Vec<_> =
            lines(&text).into_iter().filter(|(_, l)| !l.trim_ascii().is_empty()).collect();
        let expected = [(1, b"a".to_vec()), (500_004, b" b".to_vec()), (500_005, b"c".to_vec())];
        assert_eq!(found, expected);
        assert!(lines(&text).len() < 300_000);
    }

    #[test]
    fn what_begins_with_nothing_for_very_long_is_not_read_to_its_end() {
        let blank = vec![b'\n'; EMPTY_BYTES_MAX as usize + (1 << 20)];
        let endless = vec![b'x'; EMPTY_BYTES_MAX as usize + (1 << 20)];
        let wrong = b"x\n".repeat(REJECTED_MAX as usize + 300_000);
        let no_line = "64 MiB without a line";
        let not_understood = "unreadable lines or records";
        for (text, what) in [(blank, no_line), (endless, no_line), (wrong, not_understood)] {
            let (mut rows, lines) = (Vec::new(), text.iter().filter(|b| **b == b'\n').count());
            let mut intake = Intake::new(&mut rows, "test");
            let mut input = Input::from_bytes("bomb", text).unwrap();
            let mut read = 0;
            let refused = each_line(&mut input, &mut intake, |number, line, intake| {
                read = number as usize;
                if !line.is_empty() {
                    intake.reject(number, "x");
                }
                Ok(())
            });
            let sentence = refused.unwrap_err().to_string();
            assert!(sentence.contains("in bomb") && sentence.contains(what), "{sentence}");
            assert!(read <= lines);
        }
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

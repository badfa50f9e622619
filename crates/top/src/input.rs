//! The terminal's input: bytes to keys. Reading is lbolt's own, because a library that spins on an
//! end of file or waits for the rest of a sequence would hold whoever asks it.
//!
//! Non-goals: the mouse, and keyboard protocols that a terminal only speaks when asked to.

use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

const ESCAPE: u8 = 0x1b;
/// No sequence of a key is longer.
const SEQUENCE_MOST: usize = 32;

/// The keys that have come from a terminal.
#[derive(Debug, Default)]
pub(crate) struct Input {
    keys: VecDeque<KeyEvent>,
    /// The begin of a sequence.
    rest: Vec<u8>,
}

impl Input {
    /// The next key, waiting no longer than this; none where none comes, or a signal did.
    /// Errors: a terminal that is gone (`UnexpectedEof`), or that cannot be read any more.
    pub(crate) fn next(&mut self, tty: &File, wait: Duration) -> io::Result<Option<KeyEvent>> {
        if self.keys.is_empty() {
            let ready = ready(tty, PollFlags::IN, wait)?;
            if ready.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match ready.contains(PollFlags::IN) {
                true => self.read(tty)?,
                // Nothing follows: it is no sequence.
                false => self.rest.clear(),
            }
        }
        Ok(self.keys.pop_front())
    }

    fn read(&mut self, tty: &File) -> io::Result<()> {
        let mut bytes = [0; 1024];
        match rustix::io::read(tty, &mut bytes) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => self.rest.extend_from_slice(bytes.get(..length).unwrap_or_default()),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        while let Some((key, length)) = first(&self.rest) {
            self.keys.extend(key);
            self.rest.drain(..length.min(self.rest.len()));
        }
        Ok(())
    }
}

/// Waits until a terminal can be read or written; what it can, nothing after the time or a signal.
pub(crate) fn ready(tty: &File, what: PollFlags, wait: Duration) -> io::Result<PollFlags> {
    let mut one = [PollFd::from_borrowed_fd(tty.as_fd(), what)];
    let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
    match poll(&mut one, Some(&wait)) {
        Ok(_) => Ok(one[0].revents()),
        Err(Errno::INTR) => Ok(PollFlags::empty()),
        Err(error) => Err(error.into()),
    }
}

/// The first key of these bytes, none where it is none that is known, and its length; nothing
/// where more bytes are to come.
fn first(bytes: &[u8]) -> Option<(Option<KeyEvent>, usize)> {
    let plain = |code| Some((Some(KeyEvent::from(code)), 1));
    let control = |code| {
        let key = KeyEvent::new(KeyCode::Char(char::from(code)), KeyModifiers::CONTROL);
        Some((Some(key), 1))
    };
    match *bytes {
        [] => None,
        [ESCAPE] | [ESCAPE, ESCAPE, ..] => plain(KeyCode::Esc),
        [ESCAPE, b'[' | b'O', ..] => sequence(bytes),
        [ESCAPE, ..] => {
            let (key, length) = first(bytes.get(1..)?)?;
            let alt = |key: KeyEvent| KeyEvent::new(key.code, key.modifiers | KeyModifiers::ALT);
            Some((key.map(alt), length + 1))
        }
        [b'\r', ..] => plain(KeyCode::Enter),
        [b'\t', ..] => plain(KeyCode::Tab),
        [0x7f, ..] => plain(KeyCode::Backspace),
        [0, ..] => control(b' '),
        [code @ 1..=0x1a, ..] => control(code - 1 + b'a'),
        [code @ 0x1c..=0x1f, ..] => control(code - 0x1c + b'4'),
        _ => character(bytes),
    }
}

fn character(bytes: &[u8]) -> Option<(Option<KeyEvent>, usize)> {
    let (valid, error) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            (std::str::from_utf8(valid).unwrap_or_default(), Some(error))
        }
    };
    if let Some(one) = valid.chars().next() {
        let shift = if one.is_uppercase() { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
        return Some((Some(KeyEvent::new(KeyCode::Char(one), shift)), one.len_utf8()));
    }
    error?.error_len().map(|length| (None, length))
}

/// `ESC [ … final`, and `ESC O final`.
fn sequence(bytes: &[u8]) -> Option<(Option<KeyEvent>, usize)> {
    let body = bytes.get(2..)?;
    // F1 to F5 of the kernel's own terminal are `ESC [ [ A` to `E`.
    if let [b'[', rest @ ..] = body {
        let code = *rest.first()?;
        let key = (b'A'..=b'E').contains(&code).then(|| KeyCode::F(1 + code - b'A').into());
        return Some((key, 4));
    }
    let is_final = |byte: &u8| (0x40..=0x7e).contains(byte);
    let Some(end) = body.iter().position(is_final) else {
        return (body.len() > SEQUENCE_MOST).then_some((None, bytes.len()));
    };
    let text = std::str::from_utf8(body.get(..end)?).unwrap_or_default();
    let mut numbers = text.split(';').map(|number| number.parse::<u8>().ok());
    let number = numbers.next().flatten();
    let modifiers = numbers.next().flatten().unwrap_or(1).saturating_sub(1);
    let code = match (*body.get(end)?, number) {
        (b'A', _) => Some(KeyCode::Up),
        (b'B', _) => Some(KeyCode::Down),
        (b'C', _) => Some(KeyCode::Right),
        (b'D', _) => Some(KeyCode::Left),
        (b'H', _) | (b'~', Some(1 | 7)) => Some(KeyCode::Home),
        (b'F', _) | (b'~', Some(4 | 8)) => Some(KeyCode::End),
        (b'Z', _) => Some(KeyCode::BackTab),
        (one @ b'P'..=b'S', None | Some(1)) => Some(KeyCode::F(1 + one - b'P')),
        (b'~', Some(3)) => Some(KeyCode::Delete),
        (b'~', Some(5)) => Some(KeyCode::PageUp),
        (b'~', Some(6)) => Some(KeyCode::PageDown),
        (b'~', Some(one @ 11..=15)) => Some(KeyCode::F(one - 10)),
        _ => None,
    };
    let pairs = [(1, KeyModifiers::SHIFT), (2, KeyModifiers::ALT), (4, KeyModifiers::CONTROL)];
    let held = pairs.into_iter().filter(|(bit, _)| modifiers & bit != 0).map(|(_, one)| one);
    let held = held.fold(KeyModifiers::NONE, |all, one| all | one);
    Some((code.map(|code| KeyEvent::new(code, held)), end + 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> (Vec<(KeyCode, KeyModifiers)>, usize) {
        let (mut found, mut at) = (Vec::new(), 0);
        while let Some((key, length)) = first(&bytes[at..]) {
            found.extend(key.map(|key| (key.code, key.modifiers)));
            at += length;
        }
        (found, bytes.len() - at)
    }

    #[test]
    fn bytes_are_the_keys_that_terminals_send_for_them() {
        let none = KeyModifiers::NONE;
        for (bytes, code, modifiers) in [
            (&b"q"[..], KeyCode::Char('q'), none),
            (b"G", KeyCode::Char('G'), KeyModifiers::SHIFT),
            ("ä".as_bytes(), KeyCode::Char('ä'), none),
            (b"\x03", KeyCode::Char('c'), KeyModifiers::CONTROL),
            (b"\x1a", KeyCode::Char('z'), KeyModifiers::CONTROL),
            (b"\x1b", KeyCode::Esc, none),
            (b"\x1bq", KeyCode::Char('q'), KeyModifiers::ALT),
            (b"\x1b[A", KeyCode::Up, none),
            (b"\x1bOB", KeyCode::Down, none),
            (b"\x1b[1;5H", KeyCode::Home, KeyModifiers::CONTROL),
            (b"\x1b[4~", KeyCode::End, none),
            (b"\x1b[5~", KeyCode::PageUp, none),
            (b"\x1b[6~", KeyCode::PageDown, none),
            (b"\x1b[Z", KeyCode::BackTab, none),
            (b"\x1bOP", KeyCode::F(1), none),
            (b"\x1b[11~", KeyCode::F(1), none),
            (b"\x1b[[A", KeyCode::F(1), none),
            (b"\x7f", KeyCode::Backspace, none),
            (b"\r", KeyCode::Enter, none),
        ] {
            assert_eq!(keys(bytes), (vec![(code, modifiers)], 0), "{bytes:?}");
        }
    }

    #[test]
    fn what_is_no_key_is_passed_over_and_what_is_not_whole_waits() {
        let q = (KeyCode::Char('q'), KeyModifiers::NONE);
        for unknown in [&b"\x1b[200~"[..], b"\x1b[0;0R", b"\x1b[?62c", b"\xff", b"\x1b[99;99;99~"] {
            assert_eq!(keys(&[unknown, b"q"].concat()), (vec![q], 0), "{unknown:?}");
        }
        for begin in [&b"\x1b["[..], b"\x1b[1;", b"\x1bO", b"\xc3"] {
            assert_eq!(keys(begin), (vec![], begin.len()), "{begin:?}");
        }
        // A sequence without an end is given up.
        let endless = [&b"\x1b["[..], &[b'1'; 2000]].concat();
        assert_eq!(keys(&endless).1, 0);
    }

    #[test]
    fn an_end_of_file_is_the_end_and_half_a_sequence_is_forgotten() {
        let (theirs, ours) = rustix::pipe::pipe().unwrap();
        let (tty, wait) = (File::from(theirs), Duration::from_millis(1));
        let mut input = Input::default();
        assert_eq!(input.next(&tty, wait).unwrap(), None);
        rustix::io::write(&ours, b"\x1b[").unwrap();
        assert_eq!(input.next(&tty, wait).unwrap(), None);
        assert_eq!(input.next(&tty, wait).unwrap(), None);
        rustix::io::write(&ours, b"Aq").unwrap();
        let mut next = || input.next(&tty, wait).unwrap().unwrap().code;
        assert_eq!([next(), next()], ['A', 'q'].map(KeyCode::Char));
        drop(ours);
        let ended = input.next(&tty, wait).unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::UnexpectedEof);
    }
}

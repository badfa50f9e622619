//! Text that others can name (processes, files, devices, whole traces), made harmless before it is
//! printed: what steers a terminal, breaks a line or hides other text is shown as an escape.
//!
//! Records keep such text as it is: it is made harmless where it is shown.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Names that are counted where one is asked for that is not there: of more than these, "at least".
pub const NAMES_COUNTED: usize = 1 << 10;

/// Whether a character steers a terminal (C0, DEL, C1), breaks a line, or changes how its
/// neighbours look without being seen itself (directions, joiners, blanks of no width, tags).
pub fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The text on one line, with an escape (`\n`, `\x1b`, `\u{202e}`) in the place of every unsafe
/// character.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, is_unsafe, escape)
}

/// The same for a text of several lines, which stay.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |character| character != '\n' && is_unsafe(character), escape)
}

/// JSON text of the same meaning: what JSON leaves as it is within strings and is unsafe becomes
/// `\u202e`.
pub fn visible_json(text: &str) -> Cow<'_, str> {
    // Outside of strings JSON has nothing unsafe but the ends of its lines, and within them no
    // plain one.
    escaped(
        text,
        |character| character != '\n' && is_unsafe(character),
        |character, into| {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing into a String cannot fail.
                let _ = write!(into, "\\u{unit:04x}");
            }
        },
    )
}

/// The text with `…` in the place of names and passwords in addresses (`http://…@host`): what is
/// wrong with an address is told without them. A password may have any character but a blank.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find("://").map(|at| at + 3) {
        let end = rest[begin..].find(char::is_whitespace).map_or(rest.len(), |end| begin + end);
        let host = rest[begin..end].rfind('@').map_or(begin, |at| begin + at);
        shown.push_str(&rest[..begin]);
        shown.push_str(if host > begin { "…" } else { "" });
        shown.push_str(&rest[host..end]);
        rest = &rest[end..];
    }
    if shown.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(shown + rest) }
}

fn escape(character: char, into: &mut String) {
    // Writing into a String cannot fail.
    let _ = match character {
        '\n' | '\r' | '\t' => write!(into, "{}", character.escape_default()),
        ascii if ascii.is_ascii() => write!(into, "\\x{:02x}", u32::from(ascii)),
        other => write!(into, "{}", other.escape_unicode()),
    };
}

/// The text with other text in the place of some characters; no copy where there are none.
fn escaped(
    text: &str,
    is_escaped: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    // Bytes are quicker to look through than characters, many at once, and mostly tell.
    let is_line_plain = !is_escaped('\n');
    let is_plain = |byte: &u8| (b' '..=b'~').contains(byte) || is_line_plain & (*byte == b'\n');
    let is_all_plain = |bytes: &[u8]| bytes.iter().fold(true, |all, byte| all & is_plain(byte));
    let mut chunks = text.as_bytes().chunks(64);
    let Some(special) = chunks.position(|bytes| !is_all_plain(bytes)) else {
        return Cow::Borrowed(text);
    };
    let mut special = 64 * special;
    while !text.is_char_boundary(special) {
        special -= 1;
    }
    let first = text[special..].find(&is_escaped).map(|first| special + first);
    let Some(first) = first else { return Cow::Borrowed(text) };
    let mut shown = text[..first].to_owned();
    for character in text[first..].chars() {
        match is_escaped(character) {
            true => escape(character, &mut shown),
            false => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_steers_a_terminal_is_shown() {
        for (text, shown) in [
            ("fio", "fio"),
            ("a\x1b[31mb\x07", r"a\x1b[31mb\x07"),
            ("a\r\n\tb\x7f", r"a\r\n\tb\x7f"),
            ("\u{9b}31m\u{85}", r"\u{9b}31m\u{85}"),
            ("gpj.\u{202e}exe\u{2066}\u{61c}\u{200b}", r"gpj.\u{202e}exe\u{2066}\u{61c}\u{200b}"),
            ("caf\u{e9} \u{1f600} µs ±", "café \u{1f600} µs ±"),
            (r"C:\new", r"C:\new"),
        ] {
            assert_eq!(visible(text), shown);
        }
        assert_eq!(visible_lines("a\nb\r"), "a\nb\\r");
    }

    #[test]
    fn no_password_of_an_address_is_shown() {
        for (text, shown) in [
            ("no address", "no address"),
            ("at http://host:1/a, or a@b", "at http://host:1/a, or a@b"),
            ("at http://me:secret@host:1/a?b, not", "at http://…@host:1/a?b, not"),
            ("http://u:p/w@x?#@host s3://k:s@b/c", "http://…@host s3://…@b/c"),
            ("https://secret@host", "https://…@host"),
            ("http://@host", "http://@host"),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
    }

    #[test]
    fn json_stays_the_same_data() {
        let value = serde_json::json!({ "na\u{7f}me": "a\n\u{202e}\u{9b}\u{e0041}\\u202e" });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let shown = visible_json(&text);
        assert!(shown.is_ascii(), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    proptest! {
        #[test]
        fn nothing_unsafe_is_left(text in any::<String>()) {
            let once = visible(&text);
            prop_assert!(!once.contains(is_unsafe));
            prop_assert_eq!(visible(&once), &*once);
        }
    }
}

//! Names of commands in listings whose lines are records: what would break a line or hide is
//! spelled in bytes, `\x0a`, and a backslash that would be read so is `\x5c`. Every name that is
//! not empty comes back as it was.

use model::text::is_unsafe;
use std::borrow::Cow;
use std::fmt::Write as _;

/// What listings print where there is no name.
const NONE: [&str; 2] = ["(null)", "<...>"];

/// The name as it can stand in a line.
pub(crate) fn spelled(name: &str) -> Cow<'_, str> {
    let is_none = NONE.contains(&name);
    let is_spelled = |place: usize, character: char| {
        is_unsafe(character)
            || (is_none && place == 0)
            || (character == '\\' && byte(&name.as_bytes()[place..]).is_some())
    };
    if !name.char_indices().any(|(place, character)| is_spelled(place, character)) {
        return Cow::Borrowed(name);
    }
    let mut line = String::with_capacity(2 * name.len());
    for (place, character) in name.char_indices() {
        if is_spelled(place, character) {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                // Writing into a String cannot fail.
                let _ = write!(line, "\\x{byte:02x}");
            }
        } else {
            line.push(character);
        }
    }
    Cow::Owned(line)
}

/// The name that stands so in a line.
pub(crate) fn read(line: &[u8]) -> Cow<'_, [u8]> {
    // Names are so short that a call to search them would cost more.
    if !line.contains(&b'\\') {
        return Cow::Borrowed(line);
    }
    let (mut name, mut rest) = (Vec::with_capacity(line.len()), line);
    while let Some((first, after)) = rest.split_first() {
        match byte(rest) {
            Some(value) => {
                name.push(value);
                rest = &rest[4..];
            }
            None => {
                name.push(*first);
                rest = after;
            }
        }
    }
    Cow::Owned(name)
}

/// The byte that `\xHH` at the beginning of a text stands for.
fn byte(text: &[u8]) -> Option<u8> {
    let [b'\\', b'x', high, low] = *text.first_chunk()? else { return None };
    let digit = |letter: u8| match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        _ => None,
    };
    Some(digit(high)? << 4 | digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_what_must_be_is_spelled() {
        for (name, line) in [
            ("kworker/u8:1", "kworker/u8:1"),
            ("my [big] job", "my [big] job"),
            (r"C:\xing", r"C:\xing"),
            ("a\nb", r"a\x0ab"),
            (r"a\x0ab", r"a\x5cx0ab"),
            ("\u{202e}x", r"\xe2\x80\xaex"),
            ("(null)", r"\x28null)"),
        ] {
            assert_eq!(spelled(name), line);
            assert_eq!(*read(line.as_bytes()), *name.as_bytes());
        }
    }

    proptest! {
        #[test]
        fn every_name_comes_back(name in r"(\PC|[\\x0-9a-f]|\p{C}){0,12}") {
            let line = spelled(&name);
            prop_assert!(!line.contains(is_unsafe));
            prop_assert_eq!(&*read(line.as_bytes()), name.as_bytes());
        }
    }
}

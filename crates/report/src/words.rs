//! Words in a terminal: cleaning, measuring and wrapping.

use model::circumstance::Circumstance;
use model::text::visible;
use unicode_width::UnicodeWidthStr;

/// A text on one line that cannot steer the terminal.
pub(crate) fn clean(text: &str) -> String {
    visible(text.trim()).into_owned()
}

/// No name in a table is longer than this many characters.
const LONGEST: usize = 200;

/// A clean name, its end left out where it would burst every table.
pub(crate) fn name(text: &str) -> String {
    let text = clean(text);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The text with a capital letter.
pub(crate) fn upper(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    first.map_or_else(String::new, |first| format!("{first}{}", characters.as_str()))
}

/// How many terminal columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Whether a text is no name but ours of a circumstance: without its middle it says the reverse.
fn is_circumstance(text: &str) -> bool {
    let bare = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    Circumstance::all().any(|circumstance| circumstance.short() == bare)
}

/// A name within so many columns: its begin and its end say more than its middle.
pub(crate) fn elided(text: &str, columns: usize) -> String {
    if width(text) <= columns || is_circumstance(text) {
        return text.to_owned();
    }
    let half = columns.saturating_sub(1) / 2;
    let begin = within(text.chars(), half);
    let end: String = within(text.chars().rev(), half).chars().rev().collect();
    format!("{begin}…{end}")
}

/// The first characters that take no more than so many columns.
fn within(characters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut kept = String::new();
    for character in characters {
        kept.push(character);
        if width(&kept) > columns {
            kept.pop();
            break;
        }
    }
    kept
}

/// `head` and then `text`, wrapped to `limit` columns and indented past the head.
pub(crate) fn hang(head: &str, text: &str, limit: Option<u16>) -> String {
    let limit = limit.map_or(usize::MAX, usize::from);
    let indent = " ".repeat(width(head));
    let mut lines = vec![head.to_owned()];
    let mut empty = true;
    for word in text.split_whitespace() {
        let used = lines.last().map_or(0, |line| width(line)) + usize::from(!empty);
        if !empty && used + width(word) > limit {
            lines.push(indent.clone());
            empty = true;
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if empty { "" } else { " " });
            line.push_str(word);
        }
        empty = false;
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// What a report says beside its tables (machine, kernel, device), a line each: the names aligned,
/// the texts wrapped to `limit` columns.
pub fn facts(pairs: &[(&str, String)], limit: Option<u16>) -> String {
    let longest = pairs.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let blanks = |name: &str| " ".repeat(longest - width(name) + 2);
    pairs.iter().map(|(name, text)| hang(&format!("{name}{}", blanks(name)), text, limit)).collect()
}

/// The distinct items in the order in which they are first seen.
pub(crate) fn first_seen<'a, T: Clone + PartialEq + 'a>(
    items: impl IntoIterator<Item = &'a T>,
) -> Vec<T> {
    let mut seen: Vec<T> = Vec::new();
    for item in items {
        if !seen.contains(item) {
            seen.push(item.clone());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_wrap_under_their_head() {
        assert_eq!(hang("* ", "one two three", Some(9)), "* one two\n  three\n");
        assert_eq!(hang("* ", "immeasurable", Some(4)), "* immeasurable\n");
        assert_eq!(hang("* ", "one two", None), "* one two\n");
        assert_eq!(hang("* ", "", Some(0)), "*\n");
    }

    #[test]
    fn no_name_steers_the_terminal() {
        assert_eq!(clean(" a\x1b[31m\nb\n"), r"a\x1b[31m\nb");
        assert_eq!(name(&"é".repeat(9999)).chars().count(), LONGEST + 1);
        assert_eq!(name("é\t"), "é");
    }

    #[test]
    fn a_long_name_keeps_its_ends() {
        assert_eq!(elided("queue.policy=fifo", 9), "queu…fifo");
        assert_eq!(elided("東京東京東京", 7), "東…京");
        assert_eq!(elided("short", 5), "short");
        let ours =
            ["a delay outside the device", "(a delay outside the device)", "(the hypervisor)"];
        assert_eq!(ours.map(|text| elided(text, 9)), ours);
    }

    #[test]
    fn facts_stand_under_each_other() {
        let pairs = [("kernel", "6.1".to_owned()), ("CPU", "two of them".to_owned())];
        assert_eq!(facts(&pairs, Some(14)), "kernel  6.1\nCPU     two of\n        them\n");
    }
}

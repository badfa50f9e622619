//! What the tables of Windows' tracing (ETW) have in common: a process with its number behind its
//! name.

use super::parse::unsigned;

/// The name of a process and its number: of `svchost.exe (1024)` and `System (   4)`. The name
/// alone where no number follows, or one that is none (`Unknown (-1)`).
#[inline]
pub(super) fn process(text: &[u8]) -> (&[u8], Option<u32>) {
    let Some(inner) = text.strip_suffix(b")") else { return (text, None) };
    let Some(start) = memchr::memrchr(b'(', inner) else { return (text, None) };
    let number = inner[start + 1..].trim_ascii();
    if number == b"-1" {
        return (text[..start].trim_ascii(), None);
    }
    match unsigned(number).and_then(|n| u32::try_from(n).ok()) {
        Some(pid) => (text[..start].trim_ascii(), Some(pid)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_behind_a_name_is_the_process() {
        for (text, name, pid) in [
            ("System (   4)", "System", Some(4)),
            ("svchost.exe (1024)", "svchost.exe", Some(1024)),
            ("Unknown (  -1)", "Unknown", None),
            ("a (b)", "a (b)", None),
            ("a)", "a)", None),
            ("a", "a", None),
            ("", "", None),
        ] {
            assert_eq!(process(text.as_bytes()), (name.as_bytes(), pid), "{text}");
        }
    }
}

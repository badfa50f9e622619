//! Where the kernel and its modules have functions, from /proc/kallsyms, which shows addresses to
//! whoever may capture (kernel.kptr_restrict).
//!
//! Non-goals: functions of modules that are loaded later; names of addresses.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};

/// Shows each function's address, kind and name, until that is enough; nothing where they are
/// hidden.
pub(super) fn each(mut lines: impl BufRead, mut is_enough: impl FnMut(u64, &str, &str) -> bool) {
    let mut line = Vec::new();
    // The kernel takes its time to write each line.
    while lines.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
        if let Some((address, kind, name)) = parse(&line)
            && is_enough(address, kind, name)
        {
            break;
        }
        line.clear();
    }
}

/// The kernel's list; an empty one where it shows none.
pub(super) fn list() -> Box<dyn BufRead> {
    match std::fs::File::open("/proc/kallsyms") {
        Ok(file) => Box::new(BufReader::with_capacity(1 << 16, file)),
        Err(_) => Box::new(std::io::empty()),
    }
}

/// The addresses of those of `names` that there are.
pub(super) fn read(names: impl Iterator<Item = &'static str>) -> HashMap<&'static str, u64> {
    found(list(), names)
}

/// Whether any address is shown: where its code begins.
pub(super) fn are_told() -> bool {
    !read(std::iter::once("_stext")).is_empty()
}

/// Reads no further than to the last of them.
fn found(
    lines: impl BufRead,
    names: impl Iterator<Item = &'static str>,
) -> HashMap<&'static str, u64> {
    let mut sought: Vec<&'static str> = names.collect();
    let mut found = HashMap::new();
    if !sought.is_empty() {
        each(lines, |address, _, name| {
            if let Some(place) = sought.iter().position(|known| *known == name) {
                found.insert(sought.swap_remove(place), address);
            }
            sought.is_empty()
        });
    }
    found
}

/// `ffffffff817686b0 T iomap_dio_bio_end_io`, of a module followed by its name. Addresses that are
/// hidden are 0.
fn parse(line: &[u8]) -> Option<(u64, &str, &str)> {
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
    let address = u64::from_str_radix(address, 16).ok()?;
    (address != 0).then_some((address, kind, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_and_of_modules_are_read_and_others_are_none() {
        let names = ["iomap_dio_bio_end_io", "xlog_bio_end_io"];
        let text = "ffffffff81000000 T _text\n\
                    ffffffff817686b0 T iomap_dio_bio_end_io\n\
                    ffffffffc0931f30 t xlog_bio_end_io\t[xfs]\n\
                    no T iomap_dio_bio_end_io\n1 t\n\n";
        let expected = [
            ("iomap_dio_bio_end_io", 0xffff_ffff_8176_86b0),
            ("xlog_bio_end_io", 0xffff_ffff_c093_1f30),
        ];
        let mut rest = text.as_bytes();
        assert_eq!(found(&mut rest, names.into_iter()), HashMap::from(expected));
        assert!(rest.starts_with(b"no T"), "what is behind the last of them is not read");
        let hidden = "0000000000000000 T iomap_dio_bio_end_io\n";
        assert_eq!(found(hidden.as_bytes(), names.into_iter()), HashMap::new());
    }
}

//! Where the kernel and its modules have functions, from /proc/kallsyms, which shows addresses to
//! whoever may capture (kernel.kptr_restrict).
//!
//! Non-goals: functions of modules that are loaded later; names of addresses.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};

/// The addresses of those of `names` that there are.
pub(super) fn read(names: impl Iterator<Item = &'static str>) -> HashMap<&'static str, u64> {
    match std::fs::File::open("/proc/kallsyms") {
        Ok(file) => found(BufReader::with_capacity(1 << 16, file), names),
        Err(_) => HashMap::new(),
    }
}

/// Whether any address is shown: where its code begins.
pub(super) fn are_told() -> bool {
    !read(std::iter::once("_stext")).is_empty()
}

/// Reads no further than to the last of them: the kernel takes its time to write each line.
fn found(
    mut lines: impl BufRead,
    names: impl Iterator<Item = &'static str>,
) -> HashMap<&'static str, u64> {
    let mut sought: Vec<&'static str> = names.collect();
    let mut found = HashMap::new();
    let mut line = Vec::new();
    while !sought.is_empty() && lines.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
        if let Some((name, address)) = parse(&line, &sought) {
            sought.retain(|other| *other != name);
            found.insert(name, address);
        }
        line.clear();
    }
    found
}

/// `ffffffff817686b0 T iomap_dio_bio_end_io`, of a module followed by its name. Addresses that are
/// hidden are 0.
fn parse(line: &[u8], names: &[&'static str]) -> Option<(&'static str, u64)> {
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let (address, _, rest) = (words.next()?, words.next()?, words.next()?);
    let name = rest.split(u8::is_ascii_whitespace).next()?;
    let name = names.iter().find(|known| known.as_bytes() == name)?;
    let address = u64::from_str_radix(std::str::from_utf8(address).ok()?, 16).ok()?;
    (address != 0).then_some((*name, address))
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

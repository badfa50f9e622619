//! Where the kernel has the functions by which a bio's file is known (file.h), from /proc/kallsyms,
//! which shows addresses to whoever may capture. What is not there is 0: requests of that kind have
//! no file then.
//!
//! Non-goals: symbols of modules that are loaded later.

use std::io::{BufRead as _, BufReader};

/// `struct symbols` of file.h, by its words.
const NAMES: [&str; 6] = [
    "iomap_dio_bio_end_io",
    "end_bio_bh_io_sync",
    "journal_end_buffer_io_sync",
    "xlog_bio_end_io",
    "xfs_buf_bio_end_io",
    "bio_chain_endio",
];

pub(super) type Symbols = [u64; NAMES.len()];

/// The addresses on this kernel.
pub(super) fn read() -> Symbols {
    let mut found = Symbols::default();
    let Ok(file) = std::fs::File::open("/proc/kallsyms") else { return found };
    let mut lines = BufReader::with_capacity(1 << 16, file);
    let mut line = String::new();
    while lines.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        if let Some((name, address)) = parse(&line) {
            found[name] = address;
        }
        line.clear();
    }
    found
}

/// `ffffffff817686b0 T iomap_dio_bio_end_io`, of a module followed by its name.
fn parse(line: &str) -> Option<(usize, u64)> {
    let mut words = line.split_ascii_whitespace();
    let (address, _, name) = (words.next()?, words.next()?, words.next()?);
    let place = NAMES.iter().position(|known| *known == name)?;
    Some((place, u64::from_str_radix(address, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_and_of_modules_are_read_and_others_are_none() {
        assert_eq!(
            parse("ffffffff817686b0 T iomap_dio_bio_end_io\n"),
            Some((0, 0xffff_ffff_8176_86b0))
        );
        assert_eq!(
            parse("ffffffffc0931f30 t xlog_bio_end_io\t[xfs]\n"),
            Some((3, 0xffff_ffff_c093_1f30))
        );
        for line in ["", "ffffffff81000000 T _text", "no T iomap_dio_bio_end_io", "1 t"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn the_words_are_those_of_the_header() {
        const HEADER: &str = include_str!("file.h");
        let begin = HEADER.find("volatile const struct symbols {").unwrap();
        let body = &HEADER[begin..begin + HEADER[begin..].find('}').unwrap()];
        let words: Vec<&str> = body
            .lines()
            .skip(1)
            .filter_map(|line| line.trim().strip_prefix("u64 ")?.strip_suffix(';'))
            .collect();
        assert_eq!(words, NAMES);
    }
}

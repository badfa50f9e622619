//! Where the kernel and its modules have functions, from /proc/kallsyms, which shows addresses to
//! whoever may capture (kernel.kptr_restrict).
//!
//! Non-goals: functions of modules that are loaded later; names of addresses.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};

/// The addresses of those of `names` that there are.
pub(super) fn read(names: &[&'static str]) -> HashMap<&'static str, u64> {
    match std::fs::File::open("/proc/kallsyms") {
        Ok(file) => found(BufReader::with_capacity(1 << 16, file), names),
        Err(_) => HashMap::new(),
    }
}

fn found(mut lines: impl BufRead, names: &[&'static str]) -> HashMap<&'static str, u64> {
    let mut found = HashMap::new();
    let mut line = String::new();
    while lines.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        found.extend(parse(&line, names));
        line.clear();
    }
    found
}

/// `ffffffff817686b0 T iomap_dio_bio_end_io`, of a module followed by its name. Addresses that are
/// hidden are 0.
fn parse(line: &str, names: &[&'static str]) -> Option<(&'static str, u64)> {
    let mut words = line.split_ascii_whitespace();
    let (address, _, name) = (words.next()?, words.next()?, words.next()?);
    let name = names.iter().find(|known| **known == name)?;
    let address = u64::from_str_radix(address, 16).ok()?;
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
        assert_eq!(found(text.as_bytes(), &names), HashMap::from(expected));
        let hidden = "0000000000000000 T iomap_dio_bio_end_io\n";
        assert_eq!(found(hidden.as_bytes(), &names), HashMap::new());
    }
}

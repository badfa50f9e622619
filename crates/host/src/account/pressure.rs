//! How long some thread of the machine, or of a cgroup, waited for requests, as the kernel counts
//! it by itself (pressure stall information, Documentation/accounting/psi.rst). It is brought up to
//! date every two seconds.
//!
//! Non-goals: pressure of memory and of CPUs.

use crate::cgroup;
use crate::kernel_file;
use std::path::Path;

/// Since the machine began, in ns; none where the kernel does not count it.
pub fn io_stalled_ns() -> Option<u64> {
    parse(&kernel_file::read(Path::new("/proc/pressure/io")).ok()?)
}

/// The same of a cgroup of version 2, by its path from the hierarchy's root.
pub fn io_stalled_of_unit_ns(unit: &str) -> Option<u64> {
    parse(&kernel_file::read(&cgroup::directory(unit)?.join("io.pressure")).ok()?)
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=123456`, in us.
fn parse(text: &str) -> Option<u64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = some.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_that_is_none_has_no_pressure() {
        assert_eq!(io_stalled_of_unit_ns("/lbolt-no-such"), None);
    }

    #[test]
    fn the_total_of_some_is_read_and_nothing_else_is_taken_for_it() {
        let text = "some avg10=17.55 avg60=3.61 avg300=2.01 total=257686113\n\
                    full avg10=17.54 avg60=2.38 avg300=1.18 total=183769434\n";
        assert_eq!(parse(text), Some(257_686_113_000));
        assert_eq!(parse("full avg10=0.00 total=5\n"), None);
        assert_eq!(parse("some avg10=0.00 total=x\n"), None);
        assert_eq!(parse(""), None);
    }
}

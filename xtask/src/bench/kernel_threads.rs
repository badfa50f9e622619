//! What the kernel's own threads that serve I/O run for: workers (a loop device's requests) and the
//! handlers of softirqs (completions), by their schedstat, in ns.
//!
//! Non-goals: interrupts, which are charged to whom they interrupt; threads that begin and end
//! between two readings.

use std::collections::HashMap;
use std::path::Path;

/// The names of the threads that count begin with these.
const NAMES: [&str; 2] = ["kworker", "ksoftirqd"];

/// How long each of them ran so far, by its number.
#[derive(Debug, Default)]
pub(super) struct RunTimes(HashMap<u32, u64>);

impl RunTimes {
    /// As of now.
    pub(super) fn read() -> std::io::Result<Self> {
        Self::read_in(Path::new("/proc"))
    }

    fn read_in(proc: &Path) -> std::io::Result<Self> {
        let numbered = |entry: std::fs::DirEntry| -> Option<(u32, u64)> {
            let number = entry.file_name().to_str()?.parse().ok()?;
            let read = |name| std::fs::read_to_string(entry.path().join(name)).ok();
            let name = read("comm")?;
            NAMES.iter().find(|known| name.starts_with(**known))?;
            Some((number, read("schedstat")?.split_whitespace().next()?.parse().ok()?))
        };
        Ok(Self(std::fs::read_dir(proc)?.filter_map(|e| numbered(e.ok()?)).collect()))
    }

    /// What they ran for since an earlier reading; one that was not there then is new.
    pub(super) fn since(&self, earlier: &Self) -> u64 {
        let of = |(number, ns): (&u32, &u64)| {
            ns.saturating_sub(earlier.0.get(number).copied().unwrap_or(0))
        };
        self.0.iter().map(of).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_and_handlers_count_and_others_do_not() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let thread = |number: &str, name: &str, ns: u64| {
            let at = directory.path().join(number);
            std::fs::create_dir_all(&at).unwrap();
            std::fs::write(at.join("comm"), format!("{name}\n")).unwrap();
            std::fs::write(at.join("schedstat"), format!("{ns} 7 3\n")).unwrap();
        };
        thread("10", "ksoftirqd/0", 1000);
        thread("20", "kworker/0:1-loop3", 500);
        thread("30", "fio", 9000);
        thread("sys", "kworker/0:1", 1);
        let before = RunTimes::read_in(directory.path()).unwrap();
        thread("10", "ksoftirqd/0", 1200);
        thread("30", "fio", 9999);
        thread("40", "kworker/u8:1", 50);
        let after = RunTimes::read_in(directory.path()).unwrap();
        assert_eq!(after.since(&before), 250);
        assert_eq!(before.since(&after), 0);
    }
}

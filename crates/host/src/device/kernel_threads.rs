//! Which block device a thread of the kernel serves, by its name: a journal's (`jbd2/dm-0-8`), a
//! worker's (`kworker/u8:1-loop0`), an array's (`md0_raid1`).
//!
//! Non-goals: threads whose names have no device's name; dm-crypt's, which have a number.

use super::{DeviceNumber, Tree};
use std::collections::BTreeMap;

/// This machine's block devices as their names stand in those of the kernel's threads.
#[derive(Debug, Clone, Default)]
pub struct NamesInThreads(BTreeMap<String, DeviceNumber>);

impl NamesInThreads {
    /// Of all that there are now: none where they cannot be listed. A partition's threads are its
    /// disk's.
    pub fn of(tree: &Tree) -> Self {
        let named = |device: DeviceNumber| Some((tree.name(device).ok()?, whole(tree, device)));
        Self(tree.all().unwrap_or_default().into_iter().filter_map(named).collect())
    }

    /// The device whose name stands in a thread's, as a word; of several the longest.
    pub fn served_by(&self, thread: &str) -> Option<DeviceNumber> {
        let is_word = |name: &str| {
            thread.match_indices(name).any(|(at, _)| {
                let (before, behind) = (&thread[..at], &thread[at + name.len()..]);
                !before.ends_with(char::is_alphanumeric)
                    && !behind.starts_with(char::is_alphanumeric)
            })
        };
        let found = self.0.iter().filter(|(name, _)| is_word(name));
        found.max_by_key(|(name, _)| name.len()).map(|(_, device)| *device)
    }
}

fn whole(tree: &Tree, device: DeviceNumber) -> DeviceNumber {
    tree.whole_disk(device).unwrap_or(device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_name_tells_the_device_that_it_serves() {
        let devices = [("loop0", 7, 0), ("loop1", 7, 1), ("sda", 8, 0), ("sda1", 8, 0)];
        let devices = devices.into_iter().chain([("dm-1", 253, 1), ("md0", 9, 0)]);
        let named =
            devices.map(|(name, major, minor)| (name.to_owned(), DeviceNumber::new(major, minor)));
        let names = NamesInThreads(named.collect());
        let cases = [
            ("kworker/u8:10-loop0", Some((7, 0))),
            ("kworker/u8:10+loop1", Some((7, 1))),
            ("kworker/u8:1-loop10", None),
            ("loop0", Some((7, 0))),
            ("jbd2/dm-1-8", Some((253, 1))),
            ("jbd2/dm-11-8", None),
            ("jbd2/sda1-8", Some((8, 0))),
            ("xfsaild/sda1", Some((8, 0))),
            ("md0_raid1", Some((9, 0))),
            ("rcu_preempt", None),
            ("kworker/1:1-events", None),
        ];
        for (thread, expected) in cases {
            let expected = expected.map(|(major, minor)| DeviceNumber::new(major, minor));
            assert_eq!(names.served_by(thread), expected, "{thread}");
        }
    }
}

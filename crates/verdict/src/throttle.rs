//! Direct requests that a limit of a cgroup held back: a kernel's thread queues them, later than
//! they were made. Whose they are tells who else used the file directly, and how long they were
//! held back at the most, the time since his last request there was completed.
//!
//! Non-goals: writes through the page cache, which nobody waits for until a call does.

use super::actors::RoleId;
use hashbrown::HashMap;
use lru::LruCache;
use model::record::{FileKind, FileNumber, Flags, Request};
use std::collections::VecDeque;

/// Times that are known of a role's requests that are known as sums: the last ones.
const RUNS_MOST: usize = 256;
/// Files that are known: those used last.
const FILES_MOST: usize = 100_000;

#[derive(Debug)]
pub(crate) struct Throttle {
    /// Who used a file directly last, and until when.
    last: LruCache<FileNumber, (RoleId, i64)>,
    /// When a role had requests of which no single one is known, nor its file.
    many: HashMap<RoleId, VecDeque<(i64, i64)>>,
}

impl Default for Throttle {
    fn default() -> Self {
        Self { last: LruCache::unbounded(), many: HashMap::new() }
    }
}

impl Throttle {
    /// Takes a request of a role; of one that was held back, whose it is and since when.
    pub(crate) fn take(
        &mut self,
        row: &Request,
        role: RoleId,
        (begin_ns, end_ns): (i64, i64),
    ) -> Option<(RoleId, i64)> {
        let is_throttled = row.flags.contains(Flags::THROTTLED);
        let file = row.file.filter(|file| file.kind == FileKind::Regular)?;
        let key = file.number;
        let is_direct = row.flags.contains(Flags::DIRECT);
        let known = self.last.get(&key).copied().filter(|_| is_throttled || is_direct);
        // What was held back may not tell that it is direct, but of a file that was used so.
        if known.is_none() && !is_direct {
            return None;
        }
        let whose = if is_throttled { known.map_or(role, |(whose, _)| whose) } else { role };
        let last_ns = known.map_or(end_ns, |(_, until_ns)| until_ns.max(end_ns));
        self.last.put(key, (whose, last_ns));
        if self.last.len() > FILES_MOST {
            self.last.pop_lru();
        }
        let (whose, until_ns) = known.filter(|_| is_throttled)?;
        let until_ns = until_ns.max(self.until_of_many(whose, begin_ns));
        Some((whose, until_ns.min(begin_ns)))
    }

    /// Within these times a role had requests of which no single one is known.
    pub(crate) fn note_many(&mut self, role: RoleId, runs: &[(i64, i64)]) {
        let known = self.many.entry(role).or_default();
        known.extend(runs);
        known.drain(..known.len().saturating_sub(RUNS_MOST));
    }

    /// Until when a role had any, before a moment.
    fn until_of_many(&self, role: RoleId, before_ns: i64) -> i64 {
        let runs = self.many.get(&role).into_iter().flatten();
        let before =
            runs.filter(|(from_ns, _)| *from_ns < before_ns).map(|(_, until_ns)| *until_ns);
        before.max().unwrap_or(i64::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::FileKey;

    #[test]
    fn a_request_that_was_held_back_is_his_who_used_the_file_and_began_after_his_last() {
        let mut throttle = Throttle::default();
        let row = |flags| Request {
            flags,
            file: Some(FileKey { kind: FileKind::Regular, number: FileNumber::default() }),
            ..Request::default()
        };
        let (own, held) = (row(Flags::DIRECT), row(Flags::DIRECT | Flags::THROTTLED));
        let (uploader, kernel) = (RoleId(4), RoleId(2));
        assert_eq!(throttle.take(&held, kernel, (0, 5)), None, "nobody is known");
        assert_eq!(throttle.take(&row(Flags::default()), uploader, (5, 8)), None);
        // Through the page cache, again and again.
        let mut throttle = Throttle::default();
        for begin_ns in [10, 20, 30] {
            let buffered = row(Flags::THROTTLED);
            assert_eq!(throttle.take(&buffered, uploader, (begin_ns, begin_ns + 5)), None);
        }
        let mut throttle = Throttle::default();
        assert_eq!(throttle.take(&own, uploader, (10, 20)), None);
        assert_eq!(throttle.take(&held, kernel, (50, 60)), Some((uploader, 20)));
        assert_eq!(throttle.take(&held, kernel, (90, 99)), Some((uploader, 60)));
        // Between two that were held back he had some that were not, and are known as sums.
        throttle.note_many(RoleId(5), &[(100, 199)]);
        throttle.note_many(uploader, &[(100, 110), (115, 130), (200, 210)]);
        assert_eq!(throttle.take(&held, kernel, (190, 199)), Some((uploader, 130)));
        assert_eq!(throttle.take(&held, kernel, (205, 220)), Some((uploader, 205)));
    }
}

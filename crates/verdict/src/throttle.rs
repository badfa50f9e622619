//! Direct requests that a limit of a cgroup held back: a kernel's thread queues them, later than
//! they were made. Whose they are tells who else used the file directly, and how long they were
//! held back at the most, the time since his last request there was completed.
//!
//! Non-goals: writes through the page cache, which nobody waits for until a call does.

use super::actors::RoleId;
use lru::LruCache;
use model::record::{FileKind, FileNumber, Flags, Request};

/// Files that are known: those used last.
const FILES_MOST: usize = 100_000;

#[derive(Debug)]
pub(crate) struct Throttle {
    /// Who used a file directly last, and until when.
    last: LruCache<FileNumber, (RoleId, i64)>,
}

impl Default for Throttle {
    fn default() -> Self {
        Self { last: LruCache::unbounded() }
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
        if !is_throttled && !row.flags.contains(Flags::DIRECT) {
            return None;
        }
        let key = file.number;
        let known = self.last.get(&key).copied();
        let whose = if is_throttled { known.map_or(role, |(whose, _)| whose) } else { role };
        let last_ns = known.map_or(end_ns, |(_, until_ns)| until_ns.max(end_ns));
        self.last.put(key, (whose, last_ns));
        if self.last.len() > FILES_MOST {
            self.last.pop_lru();
        }
        let (whose, until_ns) = known.filter(|_| is_throttled)?;
        Some((whose, until_ns.min(begin_ns)))
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
        let mut throttle = Throttle::default();
        assert_eq!(throttle.take(&own, uploader, (10, 20)), None);
        assert_eq!(throttle.take(&held, kernel, (50, 60)), Some((uploader, 20)));
        assert_eq!(throttle.take(&held, kernel, (90, 99)), Some((uploader, 60)));
    }
}

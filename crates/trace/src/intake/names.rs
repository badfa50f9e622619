//! What files are called, put together from the parts in which a tracer tells it.
//!
//! Names are told when they are new or changed: each is true until the next one of its file.
//!
//! Non-goals: where a file system is mounted; what a file is called of which nothing was told.

use crate::event::{NameEvent, Naming};
use model::record::FileNumber;
use std::collections::HashMap;

/// Names that are put together at a time: each CPU tells one, and one in an interrupt of it. A name
/// whose end was lost goes when there are more.
const OPEN_MOST: usize = 1024;
/// Bytes of a name, as PATH_MAX has them.
const BYTES_MOST: usize = 4096;

/// What the kernel calls a file that was removed (fs/d_path.c).
const DELETED: &str = " (deleted)";

/// What a file is called from a moment on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldName {
    /// The file.
    pub file: FileNumber,
    /// Since when, in ns from the run's start.
    pub since_ns: i64,
    /// Its path from the root of its file system, with ` (deleted)` behind that of a file that was
    /// removed and is open; what is not UTF-8 in it is replaced.
    pub path: String,
}

/// A name on its way.
#[derive(Debug)]
struct Open {
    since_ns: i64,
    parts: u32,
    bytes: usize,
    /// The last component first.
    components: Vec<Vec<u8>>,
    /// Whether the next part is one of the last component.
    goes_on: bool,
}

#[derive(Debug, Default)]
pub(super) struct Names {
    open: HashMap<u64, Open>,
    new: Vec<ToldName>,
}

impl Names {
    /// A part that does not follow the one before makes the name unknown.
    pub(super) fn take(&mut self, event: &NameEvent<'_>) {
        if event.part == 0 {
            if self.open.len() >= OPEN_MOST {
                self.open.clear();
            }
            self.open.insert(event.telling, Open::new(event.time_ns));
        }
        let open = self.open.get_mut(&event.telling);
        match event.naming {
            Naming::Part { text, goes_on } => {
                if !open.is_some_and(|open| open.add(event.part, text, goes_on)) {
                    self.open.remove(&event.telling);
                }
            }
            Naming::Whole { is_deleted } => {
                let open = self.open.remove(&event.telling);
                let path = open.as_ref().and_then(|open| open.path(event.part, is_deleted));
                let since_ns = open.map_or(event.time_ns, |open| open.since_ns);
                self.new.extend(path.map(|path| ToldName { file: event.file, since_ns, path }));
            }
        }
    }

    /// Names that became known since this was last asked, in the order in which they were told.
    pub(super) fn take_new(&mut self, zero_ns: i64) -> Vec<ToldName> {
        let mut new = std::mem::take(&mut self.new);
        new.iter_mut().for_each(|name| name.since_ns = name.since_ns.saturating_sub(zero_ns));
        new
    }
}

impl Open {
    fn new(since_ns: i64) -> Self {
        Self { since_ns, parts: 0, bytes: 0, components: Vec::new(), goes_on: false }
    }

    /// Whether it was the next part.
    fn add(&mut self, part: u32, text: &[u8], goes_on: bool) -> bool {
        let is_next = part == self.parts && !text.is_empty();
        self.parts += 1;
        self.bytes += text.len() + 1;
        match self.components.last_mut() {
            Some(last) if self.goes_on => last.extend(text),
            _ => self.components.push(text.to_vec()),
        }
        self.goes_on = goes_on;
        is_next && self.bytes <= BYTES_MOST
    }

    fn path(&self, parts: u32, is_deleted: bool) -> Option<String> {
        if self.parts != parts || self.goes_on {
            return None;
        }
        let names = self.components.iter().rev();
        let mut path: String =
            names.map(|name| format!("/{}", String::from_utf8_lossy(name))).collect();
        if path.is_empty() {
            path.push('/');
        }
        path.push_str(if is_deleted { DELETED } else { "" });
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileNumber = FileNumber { file_system: 9, inode: 12, generation: 1 };

    fn part(telling: u64, part: u32, text: &str) -> NameEvent<'_> {
        let naming = Naming::Part { text: text.as_bytes(), goes_on: false };
        NameEvent { time_ns: 100, file: FILE, telling, part, naming }
    }

    fn whole(telling: u64, part: u32) -> NameEvent<'static> {
        let naming = Naming::Whole { is_deleted: false };
        NameEvent { time_ns: 109, file: FILE, telling, part, naming }
    }

    fn paths(events: &[NameEvent<'_>]) -> Vec<(i64, String)> {
        let mut names = Names::default();
        events.iter().for_each(|event| names.take(event));
        assert!(names.open.is_empty());
        names.take_new(10).into_iter().map(|name| (name.since_ns, name.path)).collect()
    }

    #[test]
    fn a_path_is_its_parts_from_the_end_also_of_several_at_once() {
        let long =
            NameEvent { naming: Naming::Part { text: b"base", goes_on: true }, ..part(2, 0, "") };
        let told = paths(&[
            part(1, 0, "f"),
            long,
            part(1, 1, "data"),
            part(2, 1, "ment"),
            whole(2, 2),
            whole(1, 2),
            whole(3, 0),
        ]);
        let expected = ["/basement", "/data/f"].map(|path| (90, path.to_owned()));
        assert_eq!(told[..2], expected);
        assert_eq!(told[2..], [(99, "/".to_owned())], "the root itself");
    }

    #[test]
    fn a_removed_file_is_told_as_one() {
        let naming = Naming::Whole { is_deleted: true };
        let told = paths(&[part(1, 0, "f"), NameEvent { naming, ..whole(1, 1) }]);
        assert_eq!(told, [(90, "/f (deleted)".to_owned())]);
    }

    #[test]
    fn what_lacks_a_part_is_no_name() {
        assert!(paths(&[part(1, 0, "f"), part(1, 2, "x"), whole(1, 3)]).is_empty());
        assert!(paths(&[part(1, 0, "f"), whole(1, 2)]).is_empty());
        assert!(paths(&[part(1, 1, "f"), whole(1, 2)]).is_empty());
        assert!(paths(&[part(1, 0, ""), whole(1, 1)]).is_empty());
        let cut = Naming::Part { text: b"f", goes_on: true };
        assert!(paths(&[NameEvent { naming: cut, ..part(1, 0, "") }, whole(1, 1)]).is_empty());
    }

    #[test]
    fn memory_is_bounded_whatever_is_told() {
        let mut names = Names::default();
        for telling in 0..=OPEN_MOST as u64 {
            names.take(&part(telling, 0, "f"));
        }
        assert_eq!(names.open.len(), 1);
        let text = "x".repeat(63);
        for number in 0..=64 {
            names.take(&part(5000, number, &text));
        }
        assert!(!names.open.contains_key(&5000));
    }
}

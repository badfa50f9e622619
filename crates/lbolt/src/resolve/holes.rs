//! The holes of a file: what was never written, or only allocated. Reads of them reach no device.
//!
//! Non-goals: file systems that tell of no holes; there is none then.

use rustix::fs::{SeekFrom, seek};
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

/// Holes that are looked for at the most: a file has to be read whole to have more.
const MOST: usize = 1 << 20;

/// Places that nothing was written to: where each begins, and where it ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Holes(BTreeMap<u64, u64>);

impl Holes {
    /// Those of a file; none of one that cannot be opened.
    pub(crate) fn of_file(path: &Path, size_bytes: u64) -> Self {
        let Ok(file) = File::open(path) else { return Self::default() };
        let (mut all, mut at) = (BTreeMap::new(), 0);
        while all.len() < MOST {
            // There is one at the end of each file.
            let Ok(begin) = seek(&file, SeekFrom::Hole(at)) else { break };
            if begin >= size_bytes {
                break;
            }
            at = seek(&file, SeekFrom::Data(begin)).unwrap_or(size_bytes);
            all.insert(begin, at);
        }
        Self(all)
    }

    /// Bytes of all of them.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.iter().map(|(begin, end)| end - begin).sum()
    }

    /// Whether all of a place lies in one.
    pub(crate) fn hold(&self, place: &Range<u64>) -> bool {
        self.0.range(..=place.start).next_back().is_some_and(|(_, end)| place.end <= *end)
    }

    /// A place is written.
    pub(crate) fn fill(&mut self, place: &Range<u64>) {
        while let Some((begin, end)) =
            self.0.range(..place.end).next_back().map(|(begin, end)| (*begin, *end))
            && end > place.start
        {
            self.0.remove(&begin);
            let left = [(begin, place.start.min(end)), (place.end.max(begin), end)];
            self.0.extend(left.into_iter().filter(|(begin, end)| begin < end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt as _;

    #[test]
    fn what_was_never_written_is_a_hole_until_it_is() {
        const MIB: u64 = 1 << 20;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        file.set_len(4 * MIB).unwrap();
        file.write_all_at(&[1; 1 << 20], MIB).unwrap();
        file.sync_all().unwrap();
        let mut holes = Holes::of_file(&path, 4 * MIB);
        assert_eq!(holes.0, BTreeMap::from([(0, MIB), (2 * MIB, 4 * MIB)]));
        assert_eq!(holes.bytes(), 3 * MIB);
        let held = |holes: &Holes, begin: u64, end: u64| holes.hold(&(begin..end));
        assert!(held(&holes, 0, MIB) && held(&holes, 3 * MIB, 4 * MIB));
        assert!(!held(&holes, MIB / 2, MIB + 1) && !held(&holes, MIB, MIB + 1));
        holes.fill(&(MIB / 2..3 * MIB));
        assert_eq!(holes.0, BTreeMap::from([(0, MIB / 2), (3 * MIB, 4 * MIB)]));
        holes.fill(&(0..4 * MIB));
        assert_eq!(holes, Holes::default());
        assert_eq!(Holes::of_file(Path::new("/nonexistent"), MIB), Holes::default());
    }
}

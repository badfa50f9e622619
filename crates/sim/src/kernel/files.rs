//! Where files lie on the drive.

use std::collections::BTreeMap;

/// Bytes of a file, and where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The first of them in the file.
    pub logical_bytes: u64,
    /// The first of them on the drive.
    pub physical_bytes: u64,
    /// How many.
    pub length_bytes: u64,
}

/// The places of files and of the journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// Each file's extents, in order.
    pub files: BTreeMap<String, Vec<Extent>>,
    /// Where the journal begins on the drive, and how long it is.
    pub journal_bytes: (u64, u64),
}

impl Layout {
    /// Files one after the other from the drive's beginning on, and the journal in its middle, as
    /// ext4 puts it.
    pub fn of_sizes<'a>(drive_bytes: u64, files: impl IntoIterator<Item = (&'a str, u64)>) -> Self {
        let mut layout = Self::default();
        let mut next_bytes = 0;
        for (name, length_bytes) in files {
            let extent = Extent { logical_bytes: 0, physical_bytes: next_bytes, length_bytes };
            layout.files.insert(name.to_owned(), vec![extent]);
            next_bytes += length_bytes;
        }
        layout.journal_bytes = (drive_bytes / 2 / 4096 * 4096, (drive_bytes / 64).min(64 << 20));
        layout
    }

    /// The pieces of a file's bytes on the drive; what has no extent has no piece.
    pub(super) fn pieces(
        extents: &[Extent],
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Vec<(u64, u64)> {
        let end_bytes = offset_bytes.saturating_add(length_bytes);
        let of = |extent: &Extent| {
            let begin = extent.logical_bytes.max(offset_bytes);
            let end = (extent.logical_bytes + extent.length_bytes).min(end_bytes);
            let place = || extent.physical_bytes + (begin - extent.logical_bytes);
            (begin < end).then(|| (place(), end - begin))
        };
        extents.iter().filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_a_piece_for_each_extent_that_it_touches() {
        let extent = |logical_bytes, physical_bytes, length_bytes| Extent {
            logical_bytes,
            physical_bytes,
            length_bytes,
        };
        let extents = [extent(0, 1000, 100), extent(100, 5000, 50)];
        assert_eq!(Layout::pieces(&extents, 90, 20), [(1090, 10), (5000, 10)]);
        assert_eq!(Layout::pieces(&extents, 120, 100), [(5020, 30)]);
        assert_eq!(Layout::pieces(&extents, 150, 10), []);
        let layout = Layout::of_sizes(1 << 30, [("a", 4096), ("b", 8192)]);
        assert_eq!(layout.files["b"], [extent(0, 4096, 8192)]);
        assert_eq!(layout.journal_bytes.0, 1 << 29);
    }
}

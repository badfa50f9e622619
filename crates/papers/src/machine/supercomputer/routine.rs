//! What an I/O routine costs and how it calls, by the rows of Bucher & Hayes (1980, table 1): the
//! CPU time of a call and of a sector, and the system calls that a library makes of one call of the
//! program.
//!
//! Non-goals: how many revolutions are missed, which the drives and the clock decide.

use sim::profile::{Profile, ProfileError, Reader, Source};

/// Words of a sector, for both machines (section 3 of the paper).
pub const SECTOR_WORDS: u64 = 512;

/// How a routine deals with requests from a size on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size {
    /// From this many sectors on.
    pub from_sectors: u64,
    /// System calls that the library makes of one call.
    pub calls: u64,
    /// CPU time to initiate and to complete them all, ns.
    pub t_call_ns: f64,
}

/// One direction of a routine: one row of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What the paper calls it.
    pub name: String,
    /// By the size of a request, rising; the first is for all.
    pub sizes: Vec<Size>,
    /// CPU time for a sector, ns.
    pub t_trans_ns: f64,
    /// The CPU copies the sectors, after a read and before a write, so that the next call waits for
    /// that.
    pub copies: bool,
    /// Words of a sector that are the program's.
    pub data_words: u64,
    /// A sector of data to so many sectors of the track: above 1 where the file is written less
    /// densely.
    pub spacing: u32,
    /// The cost of a call was printed, and each call is one system call.
    pub is_published: bool,
    /// A number here was fitted to the sectors per revolution that were printed.
    pub is_spacing_fitted: bool,
}

impl Row {
    /// What holds for a request of so many sectors.
    pub fn size(&self, sectors: u64) -> Size {
        let fits = self.sizes.iter().rev().find(|size| size.from_sectors <= sectors);
        fits.or(self.sizes.first()).copied().unwrap_or(Size {
            from_sectors: 1,
            calls: 1,
            t_call_ns: 0.0,
        })
    }

    fn read(reader: &Reader, profile: &Profile, key: &str) -> Result<Self, ProfileError> {
        let calls = |reader: &Reader| reader.count_or("calls", 1..=64, 1);
        let mut sizes = vec![Size {
            from_sectors: 1,
            calls: calls(reader)?,
            t_call_ns: reader.time_ns("t_call")?,
        }];
        for larger in reader.list("sizes") {
            let from_sectors = larger.count_in("from", 2..=1_000_000)?;
            if sizes.last().is_some_and(|size| size.from_sectors >= from_sectors) {
                return Err(larger.error("from", "sizes are to rise"));
            }
            let t_call_ns = larger.time_ns("t_call")?;
            sizes.push(Size { from_sectors, calls: calls(&larger)?, t_call_ns });
        }
        let spacing = reader.count_or("spacing", 1..=16, 1)? as u32;
        let is_call_published = profile.leaves().any(|(leaf, found)| {
            leaf == format!("{key}.t_call") && matches!(found.source, Some(Source::Published(_)))
        });
        Ok(Self {
            name: reader.text("name")?.to_owned(),
            t_trans_ns: reader.time_ns("t_trans")?,
            copies: reader.is_or("copies", false)?,
            data_words: reader.count_or("data_words", 1..=SECTOR_WORDS, SECTOR_WORDS)?,
            spacing,
            is_published: is_call_published && sizes.iter().all(|size| size.calls == 1),
            is_spacing_fitted: spacing > 1,
            sizes,
        })
    }
}

/// A routine for reading and its brother for writing.
#[derive(Debug, Clone, PartialEq)]
pub struct Routine {
    /// Its key in the profile.
    pub key: String,
    /// The library that it stands in; empty for a system call.
    pub library: String,
    /// How it reads.
    pub read: Row,
    /// How it writes.
    pub write: Row,
}

impl Routine {
    /// The row of a direction.
    pub fn row(&self, is_write: bool) -> &Row {
        if is_write { &self.write } else { &self.read }
    }
}

/// All routines of a machine's profile.
pub(super) fn routines(profile: &Profile, reader: &Reader) -> Result<Vec<Routine>, ProfileError> {
    const TABLE: &str = "routines";
    let mut keys: Vec<&str> = profile
        .leaves()
        .filter_map(|(key, _)| key.strip_prefix(TABLE)?.strip_prefix('.')?.split('.').next())
        .collect();
    keys.dedup();
    let reader = reader.below(TABLE);
    let row = |routine: &Reader, key: &str, direction: &str| {
        Row::read(&routine.below(direction), profile, &format!("{TABLE}.{key}.{direction}"))
    };
    let read = |key: &&str| {
        let routine = reader.below(key);
        Ok(Routine {
            key: (*key).to_owned(),
            library: routine.or("library", "", Reader::text)?.to_owned(),
            read: row(&routine, key, "read")?,
            write: row(&routine, key, "write")?,
        })
    };
    keys.iter().map(read).collect()
}

//! A crash at any moment, of the process or of the machine: at most the minute that was being kept
//! is missing, and nothing is there twice.

use super::*;
use crate::history::disk::Step;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// What is in a directory: each name with the file that was given it, by its number in a store of
/// all files that there ever were.
type Listing = BTreeMap<String, PathBuf>;

/// Looks at a directory at every step of its writer.
struct Observer {
    /// All files that there ever were, by their inodes.
    ever: TempDir,
    /// What would be there after a loss of power, whatever else is.
    durable: Listing,
    last: Option<Step>,
    random: u64,
    /// What was added before the minute that is being kept, and with it.
    expected: Arc<Mutex<[Sums; 2]>>,
    moments: Arc<Mutex<usize>>,
}

impl Observer {
    /// The files that are there now; each is kept under another name.
    fn listing(&self, path: &Path) -> Listing {
        use std::os::unix::fs::MetadataExt as _;
        let of = |name: String| {
            let file = path.join(&name);
            let number = file.metadata().unwrap().ino();
            let kept = self.ever.path().join(format!("{number}-{name}"));
            if !kept.exists() {
                std::fs::hard_link(&file, &kept).unwrap();
            }
            (name, kept)
        };
        names(path).into_iter().map(of).collect()
    }

    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.random >> 33
    }

    fn look(&mut self, step: Step, path: &Path) {
        let now = self.listing(path);
        if self.last == Some(Step::SyncDirectory) || self.last.is_none() {
            self.durable = now.clone();
        }
        self.last = Some(step);
        // Killed: all that was done is there.
        self.check(&now);
        // Without power: of what was not synced, any part.
        for _ in 0..3 {
            let mut left = Listing::new();
            let all: Vec<String> = now.keys().chain(self.durable.keys()).cloned().collect();
            for name in all {
                let is_done = self.draw().is_multiple_of(2);
                let (is, was) = (now.get(&name), self.durable.get(&name));
                let found = if is_done { is } else { was };
                if is == was || found.is_some() {
                    left.extend(found.or(is).map(|file| (name, file.clone())));
                }
            }
            self.check(&left);
        }
    }

    /// Holds a copy of these files to what is expected: as they are read, and as a writer finds
    /// them.
    fn check(&mut self, files: &Listing) {
        let copy = folder();
        for (name, file) in files {
            std::fs::copy(file, copy.path().join(name)).unwrap();
            if name.ends_with(".partial") {
                let file = std::fs::OpenOptions::new().write(true).open(copy.path().join(name));
                let file = file.unwrap();
                let length = file.metadata().unwrap().len();
                file.set_len(length * (self.draw() % 5) / 4).unwrap();
            }
        }
        let expected = self.expected.lock().unwrap().clone();
        let is_expected = |found: &Sums| expected.contains(found);
        let found = sums(&rows(copy.path()), DAY_NS);
        assert!(is_expected(&found), "{:?}: {found:?}, not {expected:?}", files.keys());
        drop(Store::open(copy.path(), AMPLE).unwrap());
        let found = sums(&rows(copy.path()), DAY_NS);
        assert!(is_expected(&found), "{:?}: {found:?}, not {expected:?}", files.keys());
        assert!(names(copy.path()).iter().all(|name| !name.ends_with(".partial")));
        *self.moments.lock().unwrap() += 1;
    }
}

/// Rows of a minute, and of an hour before.
fn minute_rows(from: i64) -> [Rollup; 2] {
    [row(from, "a", 2), row(from - HOUR_NS, "late", 1)]
}

/// Adds minutes to what is in a directory, and crashes at each of its writer's steps: how many.
fn crash(path: &Path, mut all: Vec<Rollup>, minutes: impl Iterator<Item = i64>) -> usize {
    let expected = Arc::new(Mutex::new([sums(&all, DAY_NS), sums(&all, DAY_NS)]));
    let moments = Arc::new(Mutex::new(0));
    let mut observer = Observer {
        ever: folder(),
        durable: Listing::new(),
        last: None,
        random: 1,
        expected: expected.clone(),
        moments: moments.clone(),
    };
    let before = Box::new(move |step, path: &Path| {
        observer.look(step, path);
        Ok(())
    });
    let mut store = watched(path, AMPLE, before).unwrap();
    for minute in minutes {
        let from = START_NS + minute * MINUTE_NS;
        let before = sums(&all, DAY_NS);
        all.extend(minute_rows(from));
        *expected.lock().unwrap() = [before, sums(&all, DAY_NS)];
        store.add(&minute_rows(from), from, from + MINUTE_NS).unwrap();
        // It was said to be kept.
        let with = sums(&all, DAY_NS);
        *expected.lock().unwrap() = [with.clone(), with];
    }
    *moments.lock().unwrap()
}

#[test]
fn at_most_the_last_minute_is_missing_after_a_crash_at_any_of_500_moments() {
    let folder = folder();
    // Hours and days end, and the clock is set back over both.
    let minutes = [0, 40, 70, 30, 130, 1430, 1450, 1435, 1500, 2930, 1440 * 3, 1440 * 4];
    let moments = crash(folder.path(), vec![], minutes.into_iter());
    assert!(moments >= 500, "{moments}");
}

#[test]
fn a_day_that_grows_old_is_there_once_after_a_crash_at_any_moment() {
    let folder = folder();
    let mut store = Store::open(folder.path(), AMPLE).unwrap();
    let mut all = Vec::new();
    for day in 0..32 {
        let from = START_NS + day * DAY_NS + 2 * HOUR_NS;
        store.add(&minute_rows(from), from, from + MINUTE_NS).unwrap();
        all.extend(minute_rows(from));
    }
    drop(store);
    let aged = || names(folder.path()).iter().filter(|name| name.contains("day-of-hours")).count();
    let before = aged();
    let moments = crash(folder.path(), all, [32 * 1440 + 120].into_iter());
    assert!(aged() > before && moments >= 20, "{before} of {moments}");
}

#[test]
fn a_minute_that_could_not_be_kept_can_be_offered_again_whatever_failed() {
    for failing in (0..60).step_by(2) {
        let folder = folder();
        let count = Arc::new(Mutex::new(0));
        let counted = count.clone();
        let before = Box::new(move |_, _: &Path| {
            let mut count = counted.lock().unwrap();
            *count += 1;
            let fails = *count >= failing && *count < failing + 3;
            if fails { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        });
        let mut store = watched(folder.path(), AMPLE, before).unwrap();
        let mut all = Vec::new();
        for minute in [0, 10, 59, 60, 61, 1440, 1441] {
            let from = START_NS + minute * MINUTE_NS;
            let minute_rows = [row(from, "a", 2)];
            let before = sums(&all, HOUR_NS);
            for again in 0..5 {
                match store.add(&minute_rows, from, from + MINUTE_NS) {
                    Ok(_) => break,
                    Err(error) => {
                        assert!(error.is_full() && again < 4, "{error}");
                        assert_eq!(sums(&rows(folder.path()), HOUR_NS), before);
                    }
                }
            }
            all.extend(minute_rows);
            assert_eq!(sums(&rows(folder.path()), HOUR_NS), sums(&all, HOUR_NS), "{failing}");
        }
        // What failed was done later.
        assert!(names(folder.path()).len() <= 3, "{:?}", names(folder.path()));
    }
}

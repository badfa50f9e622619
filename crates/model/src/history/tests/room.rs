//! The room that a history may take: held at every moment, by the oldest, and on a disk that fills.

use super::*;
use std::process::Command;

fn bytes(path: &Path) -> u64 {
    let entries = std::fs::read_dir(path).unwrap();
    entries.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

/// Rows whose histograms take room.
fn minute(from: i64, seed: u64) -> Vec<Rollup> {
    let role = |place: u64| row(from, &format!("role {place}"), 40 + (seed * 7 + place * 13) % 50);
    (0..6).map(role).collect()
}

#[test]
fn no_more_room_is_taken_than_allowed_at_any_moment() {
    for keep in [60_000, 150_000] {
        let folder = folder();
        let before = Box::new(move |step, path: &Path| {
            let bytes = bytes(path);
            assert!(bytes <= keep, "{bytes} of {keep} before {step:?}");
            Ok(())
        });
        let mut store = watched(folder.path(), keep, before).unwrap();
        let (mut all, mut notes) = (Vec::new(), Vec::new());
        for day in 0..6 {
            for minute_of_day in (0..1440).step_by(72) {
                let from = START_NS + day * DAY_NS + minute_of_day * MINUTE_NS;
                let rows = minute(from, minute_of_day as u64);
                notes.extend(store.add(&rows, from, from + MINUTE_NS).unwrap());
                assert!(bytes(folder.path()) <= keep);
                all.extend(rows);
            }
        }
        let coarser = notes.iter().filter(|note| matches!(note, Note::Coarser { .. })).count();
        let is_dropped = notes.iter().any(|note| matches!(note, Note::Dropped { .. }));
        assert!(coarser > 0, "{keep}: {} bytes", bytes(folder.path()));
        let unread = notes.iter().find(|note| matches!(note, Note::Unread(_)));
        assert!(unread.is_none(), "{unread:?}");
        // What is left is a part of all, the latest days as a whole.
        let (found, whole) = (sums(&rows(folder.path()), DAY_NS), sums(&all, DAY_NS));
        for (key, sum) in &found {
            assert!(whole[key].0 >= sum.0, "{key:?}");
        }
        let last = START_NS.div_euclid(DAY_NS) + 5;
        let of_last = |sums: &Sums| -> Sums {
            sums.iter().filter(|(key, _)| key.1 == last).map(|(k, v)| (k.clone(), *v)).collect()
        };
        if keep > 60_000 {
            assert_eq!(of_last(&found), of_last(&whole));
        }
        assert!(is_dropped || found == whole, "{keep}");
    }
}

#[test]
fn a_store_that_is_allowed_less_than_it_has_says_what_goes() {
    let folder = folder();
    let mut store = Store::open(folder.path(), AMPLE).unwrap();
    for day in 0..8 {
        for hour in 0..24 {
            let from = START_NS + day * DAY_NS + hour * HOUR_NS;
            store.add(&minute(from, 3), from, from + MINUTE_NS).unwrap();
        }
    }
    let before = store.bytes();
    drop(store);
    let mut store = Store::open(folder.path(), before / 4).unwrap();
    assert!(store.bytes() <= before / 4);
    assert_eq!(store.bytes(), bytes(folder.path()));
    let texts: Vec<String> = store.take_notes().iter().map(ToString::to_string).collect();
    assert!(texts.iter().any(|text| text.contains("2026-11-23 00:00Z")), "{texts:?}");
    let error = Store::open(&folder.path().join("other"), 100).unwrap();
    drop(error);
    drop(store);
    let mut none = Store::open(&folder.path().join("none"), 100).unwrap();
    let error = none.add(&minute(START_NS, 1), START_NS, START_NS + MINUTE_NS).unwrap_err();
    assert!(matches!(error, HistoryError::NoRoom { .. }) && !error.is_full(), "{error}");
    assert_eq!(bytes(&folder.path().join("none")), 0);
}

/// A small file system in memory, which goes with the test.
struct Small(TempDir);

impl Small {
    fn mount(size: &str) -> Option<Self> {
        let at = tempfile::tempdir().unwrap();
        let options = format!("size={size}");
        let mount = ["-t", "tmpfs", "-o", &options, "none"];
        let done = Command::new("mount").args(mount).arg(at.path()).output();
        if !done.is_ok_and(|done| done.status.success()) {
            println!("skipped: needs root and mount");
            return None;
        }
        Some(Self(at))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn root_a_disk_that_fills_costs_no_minute_that_was_kept() {
    let Some(small) = Small::mount("192k") else { return };
    let path = small.0.path().join("history");
    let mut store = Store::open(&path, AMPLE).unwrap();
    let (mut all, mut refused) = (Vec::new(), 0);
    let hog = small.0.path().join("hog");
    for step in 0..80 {
        let from = START_NS + step * MINUTE_NS;
        let rows_of_step = minute(from, step as u64);
        match store.add(&rows_of_step, from, from + MINUTE_NS) {
            Ok(_) => all.extend(rows_of_step),
            Err(error) => {
                assert!(error.is_full(), "{error}");
                refused += 1;
            }
        }
        assert!(names(&path).iter().all(|name| !name.ends_with(".partial")));
        assert_eq!(sums(&rows(&path), HOUR_NS), sums(&all, HOUR_NS));
        match step {
            20 => std::fs::write(&hog, vec![1; 64 << 10]).unwrap_or_default(),
            60 => std::fs::remove_file(&hog).unwrap(),
            _ => {}
        }
    }
    assert!(refused > 10 && refused < 80, "{refused}");
}

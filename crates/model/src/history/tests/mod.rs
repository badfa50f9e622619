//! What a history promises, held on directories of a few rows.

mod crash;
mod room;

use super::disk::Disk;
use super::{DAY_NS, HOUR_NS, History, HistoryError, MINUTE_NS, Note, Query, Store};
use crate::histogram::SparseHistogram;
use crate::record::{Counted, Rollup, RollupKey};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;

/// More than any of these tests writes.
const AMPLE: u64 = 1 << 30;
/// 2026-11-23T00:00:00Z.
const START_NS: i64 = 1_795_392_000 * 1_000_000_000;

/// In memory where that is to be had: thousands of files are written and synced.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

fn everything() -> Query {
    Query { from_unix_ns: i64::MIN, until_unix_ns: i64::MAX, ..Query::default() }
}

/// A row of so many requests, all counts of which tell it from others.
fn row(from_unix_ns: i64, role: &str, count: u64) -> Rollup {
    let key = RollupKey {
        counted: Counted::Requests,
        device: Some("sda".into()),
        operation: "read".into(),
        role: Some(role.into()),
        ..RollupKey::default()
    };
    let mut responses = SparseHistogram::default();
    (0..count).for_each(|place| responses.record(1_000 * (place + count)));
    let mut row = Rollup::of(key, from_unix_ns, from_unix_ns + MINUTE_NS);
    row.set_responses(&responses);
    Rollup { count, bytes: 4096 * count, lost_ns: count as i64, ..row }
}

/// What must be there: by key and day, or hour, the count, the sum of times and the histogram's.
type Sums = BTreeMap<(String, i64), (u64, u64, u64)>;

fn sums(rows: &[Rollup], step_ns: i64) -> Sums {
    let mut sums = Sums::new();
    for row in rows {
        let key = (row.role.clone().unwrap_or_default(), row.from_unix_ns.div_euclid(step_ns));
        let sum = sums.entry(key).or_default();
        sum.0 += row.count;
        sum.1 += row.sum_ns;
        sum.2 += row.counts.iter().sum::<u64>();
    }
    sums
}

/// All rows of a directory, of which every file must be readable.
fn rows(path: &Path) -> Vec<Rollup> {
    let history = History::open(path).unwrap();
    let (rows, notes) = history.read(&everything());
    assert_eq!(notes, []);
    rows
}

fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn minutes_become_an_hour_and_hours_a_day_of_the_same_rows() {
    let folder = folder();
    let mut store = Store::open(folder.path(), AMPLE).unwrap();
    let mut all = Vec::new();
    for minute in (0..24 * 60 + 20).step_by(10) {
        let from = START_NS + minute * MINUTE_NS;
        let minute_rows = [row(from, "a", 3), row(from, "b", 5), row(from - MINUTE_NS, "a", 1)];
        assert_eq!(store.add(&minute_rows, from, from + MINUTE_NS).unwrap(), []);
        all.extend(minute_rows);
        if minute == 70 {
            let hour = "20261123T00Z.hour-of-minutes.parquet";
            let minutes = ["20261123T010000Z.minute.parquet", "20261123T011000Z.minute.parquet"];
            assert_eq!(names(folder.path()), [&[hour][..], &minutes].concat());
        }
    }
    let day = "20261123Z.day-of-minutes.parquet";
    let minutes = ["20261124T000000Z.minute.parquet", "20261124T001000Z.minute.parquet"];
    assert_eq!(names(folder.path()), [&[day][..], &minutes].concat());
    let mut found = rows(folder.path());
    let order = |a: &Rollup, b: &Rollup| {
        (a.from_unix_ns, &a.role, a.count).cmp(&(b.from_unix_ns, &b.role, b.count))
    };
    found.sort_by(order);
    all.sort_by(order);
    assert_eq!(found, all);
}

#[test]
fn a_part_of_the_time_is_read_with_rows_that_came_late() {
    let folder = folder();
    let mut store = Store::open(folder.path(), AMPLE).unwrap();
    for minute in 0..130 {
        let from = START_NS + minute * MINUTE_NS;
        let late = row(from - 20 * MINUTE_NS, "late", 1);
        store.add(&[row(from, "a", 1), late], from, from + MINUTE_NS).unwrap();
    }
    let history = History::open(folder.path()).unwrap();
    assert_eq!(history.span(), Some((START_NS - 20 * MINUTE_NS, START_NS + 130 * MINUTE_NS)));
    let from_unix_ns = START_NS + 50 * MINUTE_NS;
    let until_unix_ns = from_unix_ns + 5 * MINUTE_NS;
    let query = Query { from_unix_ns, until_unix_ns, ..Query::default() };
    let (found, _) = history.read(&query);
    let of = |role: &str| found.iter().filter(|row| row.role.as_deref() == Some(role)).count();
    assert_eq!((of("a"), of("late")), (5, 5));
    let kinds = vec![Counted::Lost];
    assert_eq!(history.read(&Query { kinds, ..query }).0, []);
    // What is read stays what it was, whoever writes on.
    for minute in 130..190 {
        let from = START_NS + minute * MINUTE_NS;
        store.add(&[row(from, "a", 1)], from, from + MINUTE_NS).unwrap();
    }
    assert_eq!(history.read(&everything()).0.len(), 260);
}

#[test]
fn days_become_coarser_with_age_and_not_by_a_clock_that_jumps() {
    let folder = folder();
    let mut store = Store::open(folder.path(), AMPLE).unwrap();
    let mut all = Vec::new();
    let mut add = |store: &mut Store, day: i64, minute: i64| {
        let from = START_NS + day * DAY_NS + minute * MINUTE_NS;
        let minute_rows = [row(from, "a", 2), row(from + 1, "a", 1)];
        store.add(&minute_rows, from, from + MINUTE_NS).unwrap();
        all.extend(minute_rows);
    };
    add(&mut store, 0, 100);
    add(&mut store, 0, 110);
    add(&mut store, 9_000, 0);
    let days = |end: &str| names(folder.path()).iter().filter(|name| name.contains(end)).count();
    assert_eq!((days("day-of-minutes"), days("day-of-hours")), (1, 0));
    for day in 1..34 {
        add(&mut store, day, 100);
    }
    // The day of the jump is one of the later ones.
    assert_eq!((days("day-of-minutes"), days("day-of-hours")), (30, 3));
    assert_eq!(sums(&rows(folder.path()), DAY_NS), sums(&all, DAY_NS));
    // The first day's rows of the watched 11 minutes are one, of just these.
    let first = rows(folder.path()).into_iter().min_by_key(|row| row.from_unix_ns).unwrap();
    let begin = START_NS + 100 * MINUTE_NS;
    assert_eq!((first.from_unix_ns, first.until_unix_ns), (begin, begin + 11 * MINUTE_NS + 1));
    assert_eq!(first.count, 6);
}

#[test]
fn a_second_watcher_is_refused_and_a_reader_is_not() {
    let folder = folder();
    let mut store = Store::open(folder.path(), AMPLE).unwrap();
    store.add(&[row(START_NS, "a", 1)], START_NS, START_NS + MINUTE_NS).unwrap();
    let error = Store::open(folder.path(), AMPLE).unwrap_err();
    assert!(matches!(error, HistoryError::Taken { .. }));
    assert!(error.to_string().contains(&folder.path().display().to_string()));
    assert_eq!(rows(folder.path()).len(), 1);
    drop(store);
    Store::open(folder.path(), AMPLE).unwrap();
}

#[test]
fn what_cannot_be_read_is_told_of_and_the_rest_is_read_and_kept() {
    let folder = folder();
    let mut store = Store::open(folder.path(), AMPLE).unwrap();
    for minute in 0..30 {
        let from = START_NS + minute * MINUTE_NS;
        store.add(&[row(from, "a", 1)], from, from + MINUTE_NS).unwrap();
    }
    let path =
        |minute: i64| folder.path().join(format!("20261123T00{minute:02}00Z.minute.parquet"));
    let bytes = std::fs::read(path(3)).unwrap();
    std::fs::write(path(3), &bytes[..bytes.len() - 3]).unwrap();
    let newer: Vec<u8> = {
        let bytes = std::fs::read(path(4)).unwrap();
        let at = bytes.windows(14).position(|part| part == b"lbolt.rollup/1");
        let mut newer = bytes;
        newer[at.unwrap() + 13] = b'2';
        newer
    };
    std::fs::write(path(4), newer).unwrap();
    std::fs::write(folder.path().join("README"), "mine").unwrap();
    let unread = |notes: &[Note]| {
        let texts: Vec<_> = notes.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(texts[0].contains("T000300Z.minute.parquet: it has no footer"), "{texts:?}");
        assert!(texts[1].contains("it holds lbolt.rollup/2, not lbolt.rollup/1"), "{texts:?}");
    };
    let history = History::open(folder.path()).unwrap();
    let (found, notes) = history.read(&everything());
    assert_eq!(found.len(), 28);
    unread(&notes);
    drop(store);
    let mut store = Store::open(folder.path(), AMPLE).unwrap();
    let mut notes = store.take_notes();
    notes.sort_by_key(ToString::to_string);
    unread(&notes);
    let from = START_NS + HOUR_NS;
    assert_eq!(store.add(&[row(from, "a", 1)], from, from + MINUTE_NS).unwrap(), []);
    assert!(path(3).exists() && path(4).exists() && !path(5).exists());
    assert_eq!(History::open(folder.path()).unwrap().read(&everything()).0.len(), 29);
}

#[test]
fn what_is_no_history_is_refused_by_its_name() {
    let folder = folder();
    let error = History::open(&folder.path().join("nowhere")).unwrap_err().to_string();
    assert!(error.contains("nowhere: No such file") && error.contains("lbolt watch"), "{error}");
    let history = History::open(folder.path()).unwrap();
    assert_eq!((history.span(), history.read(&everything())), (None, (vec![], vec![])));
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(Store::open(&file, AMPLE).unwrap_err().to_string().contains("make the directory"));
}

/// How a clock goes on from one minute to the next.
fn steps() -> impl Strategy<Value = Vec<i64>> {
    let one = prop_oneof![
        8 => Just(MINUTE_NS),
        4 => Just(25 * MINUTE_NS),
        4 => Just(7 * HOUR_NS),
        3 => Just(DAY_NS),
        1 => Just(-MINUTE_NS),
        1 => Just(-90 * MINUTE_NS),
        1 => Just(-2 * DAY_NS),
        1 => Just(3_000 * DAY_NS),
        1 => Just(-3_000 * DAY_NS),
    ];
    prop::collection::vec(one, 1..100)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn nothing_is_lost_or_doubled_however_the_clock_goes(steps in steps(), reopen in 5usize..40) {
        let folder = folder();
        let mut store = Some(Store::open(folder.path(), AMPLE).unwrap());
        let (mut now, mut all) = (START_NS, Vec::new());
        for (place, step) in steps.iter().enumerate() {
            now += step;
            let role = ["a", "b", "c"][place % 3];
            let minute_rows = [row(now, role, place as u64 % 7), row(now - HOUR_NS / 2, "late", 1)];
            if place % reopen == 0 {
                store = None;
            }
            let open = || Store::open(folder.path(), AMPLE).unwrap();
            let open = store.get_or_insert_with(open);
            prop_assert_eq!(open.add(&minute_rows, now, now + MINUTE_NS).unwrap(), []);
            all.extend(minute_rows);
        }
        let found = rows(folder.path());
        let is_by_day = names(folder.path()).iter().any(|name| name.contains("month"));
        let step_ns = if is_by_day { DAY_NS } else { HOUR_NS };
        prop_assert_eq!(sums(&found, step_ns), sums(&all, step_ns));
    }
}

/// A store whose steps are watched.
fn watched(
    path: &Path,
    keep_bytes: u64,
    before: super::disk::Before,
) -> Result<Store, HistoryError> {
    let mut disk = Disk::open(path)?;
    disk.before = Some(before);
    Store::of_disk(disk, keep_bytes)
}

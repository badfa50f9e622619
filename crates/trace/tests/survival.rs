//! What a capture leaves that is killed at any moment: all rows that were kept, each once, in
//! order, readable as any trace.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use model::record::requests::{Provenance, RequestFile};
use model::record::{Call, Commands, Context, Flags, Op, Request, Wait};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};
use trace::intake::Rows;
use trace::output::{ContextLog, LEFT_BY_A_KILL, Left, RequestsFile};

fn row(number: u64, commands: &mut Commands) -> Request {
    Request {
        request_id: number,
        device: 7 << 20,
        op: Op::ALL[number as usize % 2],
        flags: Flags(number as u16 % 3),
        offset_bytes: Some(number * 4096),
        length_bytes: 4096,
        queued_ns: Some(number as i64 * 1000),
        completed_ns: Some(number as i64 * 1000 + 700),
        command: Some(commands.number(format!("job{}", number % 5).as_bytes())),
        ..Request::default()
    }
}

fn known() -> Provenance {
    let mut known = Provenance { origin: "capture".into(), ..Provenance::default() };
    known.notes.insert("device.7340032".into(), "loop0".into());
    known
}

/// What a reader finds, names of commands in their place.
fn read(path: &Path) -> (Vec<(Request, String)>, Provenance) {
    assert!(std::fs::read(path).unwrap().starts_with(b"PAR1"));
    let file = RequestFile::open(path).unwrap();
    let mut reader = file.read_all().unwrap();
    let mut rows = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        for row in batch.rows() {
            let name = row.command.map_or("", |id| reader.commands.name(id)).to_owned();
            rows.push((Request { command: None, ..row }, name));
        }
    }
    (rows, file.provenance())
}

/// What becomes known besides: a call that ends in the next second, and a wait.
fn known_besides(second: i64) -> Context {
    let call = |begin_ns, end_ns| Call { begin_ns, end_ns, pid: 7, ..Call::default() };
    Context {
        calls: vec![call(second - 1, Some(second)), call(second, None)],
        waits: vec![Wait { begin_ns: second, end_ns: second + 1, ..Wait::default() }],
        ..Context::default()
    }
}

/// A capture of `kept` rows, of which the last `held` have not had their turn, that is killed.
fn killed(path: &Path, kept: u64, held: u64, each: u64) -> Vec<(Request, String)> {
    let mut commands = Commands::default();
    let mut file = RequestsFile::create(path).unwrap();
    file.survive(&known(), &BTreeMap::from([("lbolt.run".into(), "r".into())])).unwrap();
    let mut rows: Vec<Request> = Vec::new();
    let mut provenance = known();
    let mut besides = ContextLog::begin(path).unwrap();
    (1..=3).for_each(|number| besides.add(&known_besides(number)));
    for number in 0..kept {
        let row = row(number, &mut commands);
        rows.push(row);
        if let Some(turn) = number.checked_sub(held) {
            file.push(&rows[turn as usize], &commands).unwrap();
        }
        if (number + 1) % each == 0 || number + 1 == kept {
            let done = &rows[(number / each * each) as usize..];
            provenance.counts.events = 3 * (number + 1);
            file.keep(done, &commands, &provenance).unwrap();
        }
    }
    // Done with after the last time that rows were kept: lost by the kill.
    for number in kept..kept + 10 {
        file.push(&row(number, &mut commands), &commands).unwrap();
    }
    std::mem::forget(file);
    // The logs are written by a thread, which a kill would end, too.
    let is_written = || Left::find(path).unwrap().is_some_and(|left| left.rows() == kept);
    let deadline = Instant::now() + Duration::from_secs(300);
    while !is_written() {
        assert!(Instant::now() < deadline, "the logs are not written");
        std::thread::sleep(Duration::from_millis(2));
    }
    // Nothing may follow what was the last.
    std::thread::sleep(Duration::from_millis(20));
    let named = |row: Request| {
        let name = commands.name(row.command.unwrap()).to_owned();
        (Request { command: None, ..row }, name)
    };
    rows.into_iter().map(named).collect()
}

#[test]
fn all_that_was_kept_is_there_once_and_in_order() {
    // Without a group, with some, and with groups whose rows were kept before in both logs.
    for (kept, held, each) in
        [(0, 0, 1), (10, 3, 5), (100_000, 500, 7_000), (150_000, 40_000, 60_000)]
    {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = directory.path().join("requests.parquet");
        let expected = killed(&path, kept, held, each);
        assert!(!path.exists());
        let left = Left::find(&path).unwrap().unwrap();
        assert_eq!(left.rows(), kept);
        assert_eq!(left.put_together(&path).unwrap(), kept);
        let (rows, provenance) = read(&path);
        assert!(rows == expected, "{kept} {held} {each}: {} rows", rows.len());
        assert_eq!(provenance.origin, "capture");
        assert_eq!(provenance.notes["device.7340032"], "loop0");
        assert!(provenance.notes["killed"].contains("in flight"));
        assert_eq!((provenance.counts.requests, provenance.counts.events), (kept, 3 * kept));
        assert!(Left::find(&path).unwrap().is_none());
        let names = ["calls.parquet", "requests.parquet", "waits.parquet"];
        assert_eq!(names_in(directory.path()), names);
        let context = Context::read(directory.path()).unwrap();
        let ends: Vec<_> = context.calls.iter().map(|call| (call.begin_ns, call.end_ns)).collect();
        assert_eq!(ends, [(0, Some(1)), (1, Some(2)), (2, Some(3)), (3, None)]);
        assert_eq!(context.waits.len(), 3);
    }
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().file_name().into_string().unwrap()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

/// Nothing is known of what was not kept.
#[test]
fn a_killed_capture_tells_calls_only_where_they_were_kept() {
    let mut known = known();
    known.notes.insert("method".into(), "perf".into());
    assert!(!known.tells_calls());
    known.notes.insert("method".into(), "BPF".into());
    assert!(known.tells_calls(), "a capture that ended");
    for is_kept in [false, true] {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = directory.path().join("requests.parquet");
        let mut file = RequestsFile::create(&path).unwrap();
        file.survive(&known, &BTreeMap::new()).unwrap();
        file.settle().unwrap();
        std::mem::forget(file);
        let mut besides = ContextLog::begin(&path).unwrap();
        if is_kept {
            besides.add(&Context::default());
        }
        Left::find(&path).unwrap().unwrap().put_together(&path).unwrap();
        assert_eq!(read(&path).1.tells_calls(), is_kept);
    }
}

#[test]
fn a_capture_that_ends_leaves_its_file_alone() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("requests.parquet");
    let mut commands = Commands::default();
    let mut file = RequestsFile::create(&path).unwrap();
    file.survive(&known(), &BTreeMap::new()).unwrap();
    ContextLog::begin(&path).unwrap().add(&known_besides(1));
    for name in LEFT_BY_A_KILL {
        assert!(path.with_extension(name).exists());
    }
    for number in 0..70_000 {
        let row = row(number, &mut commands);
        file.push(&row, &commands).unwrap();
        if number % 20_000 == 0 {
            file.keep(&[row], &commands, &known()).unwrap();
        }
    }
    file.finish(&commands, &known(), &BTreeMap::new()).unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    assert_eq!(read(&path).0.len(), 70_000);
}

/// Killed while it was put together, again and again.
#[test]
fn putting_together_can_be_interrupted() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("requests.parquet");
    let expected = killed(&path, 100_000, 500, 7_000);
    let copy = |from: &Path, to: &Path| {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    };
    let again = directory.path().with_extension("again");
    copy(directory.path(), &again);
    let second = again.join("requests.parquet");
    Left::find(&second).unwrap().unwrap().put_together(&second).unwrap();
    // The logs are there still, and what was written behind the groups.
    std::fs::rename(&second, second.with_extension("parquet.partial")).unwrap();
    for name in LEFT_BY_A_KILL {
        std::fs::copy(path.with_extension(name), second.with_extension(name)).unwrap();
    }
    Left::find(&second).unwrap().unwrap().put_together(&second).unwrap();
    assert!(read(&second).0 == expected);
    std::fs::remove_dir_all(again).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A log that is cut short or damaged gives fewer rows, and never others.
    #[test]
    fn what_is_cut_short_is_left_out(
        cut in 0usize..40_000,
        which in 0usize..3,
        flip in any::<bool>(),
    ) {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = directory.path().join("requests.parquet");
        let expected = killed(&path, 5_000, 100, 1_000);
        let log = path.with_extension(LEFT_BY_A_KILL[which]);
        let mut bytes = std::fs::read(&log).unwrap();
        let place = bytes.len().saturating_sub(1 + cut);
        if flip && !bytes.is_empty() {
            bytes[place] ^= 0xff;
        } else {
            bytes.truncate(place);
        }
        std::fs::write(&log, bytes).unwrap();
        if let Ok(Some(left)) = Left::find(&path)
            && let Ok(rows) = left.put_together(&path)
        {
            prop_assert!(rows <= 5_000);
            // A byte that was flipped in a page that still decodes is not found here.
            let (found, _) = read(&path);
            prop_assert!(flip || found.iter().all(|row| expected.contains(row)));
        }
    }
}

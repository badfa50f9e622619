//! What is written comes back, whatever of it is known.

use super::*;
use crate::record::requests::RequestWriter;
use crate::record::{CommandId, FileKey, FileKind, FileNumber, Flags, Op, Request, Stacks};
use proptest::prelude::*;

/// Every field differs from its default, so that a column that is not written or read shows.
fn full(number: u64, commands: &mut Commands) -> Request {
    Request {
        request_id: number,
        device: 7 << 20 | 1,
        op: Op::ALL[number as usize % Op::ALL.len()],
        flags: Flags(number as u16 | 1),
        offset_bytes: Some(number * 512),
        length_bytes: 4096,
        queued_ns: Some(-5 + number as i64),
        started_ns: Some(1),
        issued_ns: Some(2),
        completed_ns: Some(3),
        completed_by_ns: Some(6),
        error: 5,
        cpu: Some(1),
        pid: Some(77),
        cgroup: Some(9),
        command: Some(commands.number(format!("dd{}", number % 3).as_bytes())),
        parent_id: Some(4),
        above_id: Some(11),
        file: Some(FileKey {
            kind: FileKind::ALL[number as usize % 4],
            number: FileNumber { file_system: 8, inode: number + 1, generation: 1 },
        }),
        stacks: Stacks { kernel: 7, user: (number % 2) as u32 },
    }
}

fn round_trip(rows: &[Request], commands: &Commands) -> (Vec<Request>, RequestFile, Commands) {
    let (read, file, commands, _) = written(rows, commands);
    (read, file, commands)
}

/// The same while the file is there.
fn written(
    rows: &[Request],
    commands: &Commands,
) -> (Vec<Request>, RequestFile, Commands, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("requests.parquet");
    let mut writer = RequestWriter::new(std::fs::File::create(&path).unwrap()).unwrap();
    rows.iter().for_each(|row| writer.push(row, commands).unwrap());
    let provenance = Provenance { origin: "capture".into(), ..Provenance::default() };
    writer.finish(commands, &provenance, &BTreeMap::new()).unwrap();
    let file = RequestFile::open(&path).unwrap();
    let mut reader = file.read_all().unwrap();
    let mut read = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        read.extend(batch.rows());
        let mut taken = Vec::new();
        batch.for_each_chunk(|rows| taken.extend_from_slice(rows));
        assert!(batch.rows().eq(taken));
    }
    (read, file, reader.commands, directory)
}

#[test]
fn every_column_comes_back_over_many_batches() {
    let mut commands = Commands::default();
    let rows: Vec<_> = (1..40_000).map(|n| full(n, &mut commands)).collect();
    let (read, file, commands) = round_trip(&rows, &commands);
    assert_eq!(read, rows);
    assert_eq!((file.rows(), file.groups()), (39_999, 1));
    assert_eq!(file.completed_ns_max(0), Some(3));
    assert_eq!(file.provenance().origin, "capture");
    assert_eq!(commands.name(CommandId(1)), "dd2");
}

#[test]
fn statistics_tell_when_a_groups_rows_arrived() {
    let bounds = |rows: &[Request]| round_trip(rows, &Commands::default()).1.arrivals_ns(0);
    let row = |queued_ns, issued_ns, completed_ns| Request {
        queued_ns,
        issued_ns,
        completed_ns,
        ..Request::default()
    };
    let whole = row(Some(5), Some(7), Some(90));
    assert_eq!(bounds(&[whole, row(Some(8), None, Some(95))]), Some((5, 8)));
    let part = row(None, Some(6), Some(80));
    assert_eq!(bounds(&[whole, part]), Some((5, 7)), "each was issued");
    let orphan = row(None, None, Some(40));
    assert_eq!(bounds(&[whole, part, orphan]), Some((5, 90)));
    assert_eq!(bounds(&[Request::default()]), None);
}

#[test]
fn what_is_not_known_comes_back_as_not_known() {
    let (read, ..) = round_trip(&[Request::default()], &Commands::default());
    assert_eq!(read, [Request::default()]);
    assert!(round_trip(&[], &Commands::default()).0.is_empty());
}

/// Columns that tell nothing are not read, and those that tell something in one row are.
#[test]
fn a_column_that_tells_nothing_is_left_out_and_nothing_is_lost() {
    const NAMED: &[&str] =
        &["request_id", "device", "op", "flags", "length_bytes", "error", "pid", "parent_id"];
    let plain = |n: u64| Request { request_id: n, ..Request::default() };
    let mut rows: Vec<Request> = (0..100).map(plain).collect();
    for (change, read) in [
        (Request::default(), 2),
        (Request { error: 5, ..plain(50) }, 3),
        (Request { error: 5, parent_id: Some(0), ..plain(50) }, 4),
        (Request { error: 5, parent_id: Some(0), pid: Some(0), ..plain(50) }, 5),
    ] {
        if change != Request::default() {
            rows[50] = change;
        }
        let (_, file, _, _kept) = written(&rows, &Commands::default());
        let mut reader = file.read(0..1, NAMED).unwrap();
        assert_eq!(reader.columns.len(), read);
        let mut back = Vec::new();
        while let Some(batch) = reader.next_batch().unwrap() {
            batch.for_each_chunk(|chunk| back.extend_from_slice(chunk));
        }
        assert_eq!(back, rows);
    }
}

#[test]
fn numbers_that_no_request_has_are_refused() {
    let plain = Request { queued_ns: Some(0), ..Request::default() };
    let refused = |row: Request| {
        let mut writer = RequestWriter::new(Vec::new()).unwrap();
        [plain, row].iter().for_each(|row| writer.push(row, &Commands::default()).unwrap());
        let provenance = Provenance::default();
        let bytes = writer.finish(&Commands::default(), &provenance, &BTreeMap::new()).unwrap();
        let file = RequestFile::of_bytes(Path::new("x"), bytes.into()).unwrap();
        file.read_all().unwrap().next_batch().map(|_| ()).map_err(|error| error.to_string())
    };
    let beyond = Request { offset_bytes: Some(u64::MAX - 511), length_bytes: 512, ..plain };
    assert!(refused(beyond).unwrap_err().contains("beyond all bytes"));
    assert_eq!(refused(Request { length_bytes: 511, ..beyond }), Ok(()));
    let early = Request { completed_ns: Some(i64::MIN), ..plain };
    assert!(refused(early).unwrap_err().contains("centuries apart"));
    assert_eq!(refused(Request { completed_ns: Some(i64::MAX), ..plain }), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_mixture_of_known_and_unknown_comes_back(
        holes in prop::collection::vec(
            (any::<bool>(), any::<bool>(), -(1i64 << 62)..1 << 62),
            0..50,
        ),
    ) {
        let mut commands = Commands::default();
        commands.number(b"dd");
        let rows: Vec<_> = holes.iter().enumerate().map(|(n, &(queued, completed, ns))| {
            let row = full(n as u64, &mut commands.clone());
            // One name: numbers are given in the order in which names are read.
            let command = queued.then(|| commands.number(b"dd"));
            let queued_ns = queued.then_some(ns);
            let completed_ns = completed.then_some(ns);
            Request { queued_ns, completed_ns, command, ..row }
        }).collect();
        prop_assert_eq!(round_trip(&rows, &commands).0, rows);
    }
}

#[test]
fn rows_that_come_together_make_the_same_file_as_rows_that_come_alone() {
    let mut commands = Commands::default();
    let rows: Vec<Request> = (0..5000)
        .map(|number| match number % 7 < number / 1000 {
            true => full(number, &mut commands),
            false => Request { request_id: number, ..Request::default() },
        })
        .collect();
    let file = |together: &[usize]| {
        let mut writer = RequestWriter::new(Vec::new()).unwrap();
        let (mut rest, mut together) = (&rows[..], together.iter().cycle());
        while !rest.is_empty() {
            let (these, others) = rest.split_at(rest.len().min(*together.next().unwrap()));
            match these {
                [row] => writer.push(row, &commands).unwrap(),
                _ => writer.push_all(these, &commands).unwrap(),
            }
            rest = others;
        }
        writer.finish(&commands, &Provenance::default(), &BTreeMap::new()).unwrap()
    };
    let alone = file(&[1]);
    for together in [&[64][..], &[1, 1, 3, 200], &[63, 65, 7, 2048], &[5000]] {
        assert!(file(together) == alone, "{together:?}");
    }
}

//! Requests, calls and files that are counted as they end.

use super::*;
use model::record::CommandId;

const S: i64 = 1_000_000_000;

fn names<'a>() -> Names<'a> {
    Names { device: &|number| format!("d{number}"), file: &|_| Some("/a/b".to_owned()) }
}

fn row(pid: u32, op: Op, queued_ns: i64, response_ns: i64) -> Request {
    Request {
        device: 7,
        op,
        length_bytes: 4096,
        pid: Some(pid),
        command: Some(CommandId(0)),
        queued_ns: Some(queued_ns),
        completed_ns: Some(queued_ns + response_ns),
        ..Request::default()
    }
}

/// Takes the rows of classes out: their second, operation, class and count.
fn of_classes(rows: &mut Vec<Rollup>) -> Vec<(i64, String, String, u64)> {
    let of = rows.extract_if(.., |row| row.counted == Counted::Class);
    of.map(|row| (row.from_unix_ns / S, row.operation, row.class.unwrap(), row.count)).collect()
}

#[test]
fn a_request_is_counted_in_the_span_in_which_it_arrived() {
    let (mut tally, mut spans) = (Tally::new(false), Spans::new(60 * S));
    let mut commands = Commands::default();
    commands.number(b"dd");
    spans.advance(0, 0);
    tally.request(&row(1, Op::Read, 10 * S, 500), &commands, &spans);
    tally.request(&row(1, Op::Read, 11 * S, 700), &commands, &spans);
    spans.advance(61 * S, 61 * S);
    // One that took long, one that was lost, one of lbolt's own, a part of another.
    tally.request(&row(1, Op::Read, 59 * S, 4 * S), &commands, &spans);
    let lost = Request { completed_ns: None, error: 5, ..row(1, Op::Write, 62 * S, 0) };
    tally.request(&lost, &commands, &spans);
    let own = Request { flags: Flags::OWN, ..row(1, Op::Read, 62 * S, 1) };
    tally.request(&own, &commands, &spans);
    let part = Request { parent_id: Some(3), ..row(1, Op::Flush, 62 * S, 1) };
    tally.request(&part, &commands, &spans);
    let mut rows = tally.take(&spans, &names());
    let own = rows.pop().map(|row| (row.operation, row.count, row.bytes));
    assert_eq!(own, Some((operations::OWN.to_owned(), 1, 4096)));
    let of_classes = of_classes(&mut rows);
    let shown: Vec<_> = rows
        .iter()
        .map(|row| {
            let role = row.role.clone().unwrap_or_default();
            let key = (row.from_unix_ns / S, row.operation.as_str(), role);
            (key, row.count, row.bytes, row.failed, row.sum_ns, row.max_ns)
        })
        .collect();
    let of = |from, operation| (from, operation, "dd".to_owned());
    let read_ns = 4 * S as u64;
    let expected = [
        (of(0, "read"), 3, 3 * 4096, 0, read_ns + 1200, read_ns),
        (of(60, "write"), 1, 4096, 1, 0, 0),
    ];
    assert_eq!(shown, expected);
    let of = |from, operation: &str, class: &str, count| {
        (from, operation.to_owned(), class.to_owned(), count)
    };
    let expected = [
        of(0, "read", "origin other", 3),
        of(0, "read", "size to 4k", 3),
        of(60, "write", "origin other", 1),
        of(60, "write", "size to 4k", 1),
    ];
    assert_eq!(of_classes, expected);
    assert!(tally.take(&spans, &names()).is_empty(), "they are taken");
    assert_eq!(tally.requests(), 4);
}

#[test]
fn what_lbolt_itself_does_is_counted_by_itself() {
    let (mut tally, mut spans) = (Tally::new(false), Spans::new(60 * S));
    spans.advance(0, 0);
    tally.leave_out(&[70]);
    let of = |pid, process| Process {
        pid,
        process: Some(process),
        command: "lbolt".into(),
        title: Some("lbolt watch".into()),
        thread: (pid == 71).then(|| "lbolt-writer".into()),
        ..Process::default()
    };
    [of(70, 70), of(71, 70), of(80, 80)].iter().for_each(|process| tally.learn(process));
    let file = FileNumber { file_system: 9, inode: 4, generation: 0 };
    let call = Call { inode: 4, file_system: 9, pid: 71, ..Call::default() };
    tally.call(&call, &spans);
    let key = Some(FileKey { kind: FileKind::Regular, number: file });
    let mut commands = Commands::default();
    commands.number(b"kworker/u8:1-flush-7:0");
    let written = Request { file: key, ..row(77, Op::Write, S, 100) };
    tally.request(&written, &commands, &spans);
    let rows = tally.take(&spans, &names());
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((rows[0].operation.as_str(), rows[0].count), (operations::OWN, 1));
}

#[test]
fn calls_and_files_are_told_of_and_a_thread_by_its_title() {
    let (mut tally, mut spans) = (Tally::new(true), Spans::new(60 * S));
    spans.advance(0, 0);
    tally.learn(&Process {
        pid: 5,
        process: Some(5),
        command: "postgres".into(),
        title: Some("postgres: checkpointer ".into()),
        ..Process::default()
    });
    let file = FileNumber { file_system: 9, inode: 4, generation: 0 };
    let key = Some(FileKey { kind: FileKind::Regular, number: file });
    let write = Request { file: key, ..row(5, Op::Write, S, 900) };
    tally.request(&write, &Commands::default(), &spans);
    let call = Call {
        file_system: 9,
        inode: 4,
        pid: 5,
        begin_ns: 2 * S,
        end_ns: Some(2 * S + 4000),
        ..Call::default()
    };
    tally.call(&call, &spans);
    // What the kernel writes of a file is its owner's.
    let kernel = Request { file: key, ..row(77, Op::Write, S, 100) };
    let mut commands = Commands::default();
    commands.number(b"kworker/u8:1-flush-7:0");
    tally.request(&kernel, &commands, &spans);
    assert_eq!(tally.files(), [(file, 77), (file, 5)]);
    let mut rows = tally.take(&spans, &names());
    of_classes(&mut rows);
    let shown: Vec<_> = rows
        .iter()
        .map(|row| {
            let who = row.role.as_ref().or(row.file.as_ref()).unwrap();
            (row.counted, row.device.as_deref().unwrap(), who.as_str(), row.count, row.sum_ns)
        })
        .collect();
    let of = "postgres: checkpointer";
    let expected = [
        (Counted::Requests, "d7", of, 2, 1000),
        (Counted::Calls, "d7", of, 1, 4000),
        (Counted::File, "d7", "/a/b", 2, 1000),
        (Counted::File, "d7", "/a/b", 1, 4000),
    ];
    assert_eq!(shown, expected);
}

/// `top` shows a file's mean: a completion that was lost took no 0 ns.
#[test]
fn a_files_times_are_those_that_are_known() {
    let (mut tally, mut spans) = (Tally::new(true), Spans::new(60 * S));
    spans.advance(0, 0);
    let number = FileNumber { file_system: 9, inode: 4, generation: 0 };
    let file = Some(FileKey { kind: FileKind::Regular, number });
    let write = Request { file, ..row(5, Op::Write, S, 900) };
    let lost = Request { completed_ns: None, ..write };
    [write, lost, lost].iter().for_each(|r| tally.request(r, &Commands::default(), &spans));
    let call = Call { file_system: 9, inode: 4, pid: 5, begin_ns: S, ..Call::default() };
    tally.call(&Call { end_ns: Some(S + 4000), ..call.clone() }, &spans);
    tally.call(&call, &spans);
    let rows = tally.take(&spans, &names());
    let files = rows.iter().filter(|row| row.counted == Counted::File);
    let shown: Vec<_> = files
        .map(|row| (row.count, row.lent().timed(), row.sum_ns, row.min_ns, row.max_ns))
        .collect();
    assert_eq!(shown, [(3, 1, 900, 900, 900), (2, 1, 4000, 4000, 4000)]);
}

#[test]
fn new_roles_have_their_names_after_a_thousand_others() {
    let (mut tally, mut spans) = (Tally::new(false), Spans::new(60 * S));
    spans.advance(0, 0);
    let of = |pid: u64, command: String| Process {
        pid,
        process: Some(pid),
        title: Some(command.clone()),
        command,
        ..Process::default()
    };
    let lbolt = of(2000, "lbolt".into());
    tally.leave_out(&[2000]);
    // Of digits at the end a role knows nothing.
    let name = |n: u64| format!("{n}th");
    (1..2000).for_each(|pid| tally.learn(&of(pid, name(pid))));
    tally.learn(&lbolt);
    let role = |tally: &mut Tally, pid: u32| {
        tally.request(&row(pid, Op::Read, S, 100), &Commands::default(), &spans);
        let rows = tally.take(&spans, &names());
        (rows[0].role.clone(), rows[0].operation.clone())
    };
    let late = of(3000, "late".into());
    tally.learn(&late);
    assert!(tally.has_all_roles());
    assert_eq!(role(&mut tally, 3000).0.as_deref(), Some("others"));
    tally.forget_roles([&late, &lbolt].into_iter());
    assert!(!tally.has_all_roles());
    assert_eq!(role(&mut tally, 3000).0.as_deref(), Some("late"));
    assert_eq!(role(&mut tally, 2000).1, operations::OWN, "lbolt's own stays its own");
}

//! One process commits with a thread, and rewrites a table with another one.

use super::*;
use model::record::{CallKind, FileKey, FileKind, FileNumber, NamedFile};

const REDO: u64 = 5;
const TABLE: u64 = 9;

fn file(inode: u64) -> FileNumber {
    FileNumber { file_system: 8 << 20, inode, generation: 0 }
}

fn call(inode: u64, begin_ns: i64, took_ns: i64) -> Call {
    Call {
        kind: CallKind::Fdatasync,
        file_system: 8 << 20,
        inode,
        pid: if inode == REDO { 1 } else { 2 },
        begin_ns,
        end_ns: Some(begin_ns + took_ns),
        ..Call::default()
    }
}

/// From 15 to 21 s a table is rewritten, if it is, and commits take 30 ms instead of 2.
pub(super) fn database(rewrites: bool) -> Load {
    let mut load = Load::with(&["onedb", "onedb", "kworker"]);
    load.context.processes[2].title = None;
    load.context.processes[2].command = "kworker/u8:1-flush-8:0".to_owned();
    let is_rewritten = |ns: i64| rewrites && (15_000 * MS..21_000 * MS).contains(&ns);
    for number in 0..800 {
        let begin_ns = number * 50 * MS;
        let took_ns = if is_rewritten(begin_ns) { 30 * MS } else { 2 * MS };
        load.context.calls.push(call(REDO, begin_ns, took_ns));
        load.request(1, Op::Write, begin_ns + MS / 10, took_ns - MS / 5, 4096);
        if is_rewritten(begin_ns) {
            for part in 0..5 {
                load.request(3, Op::Write, begin_ns + part * 10 * MS, 50 * MS, 1 << 20);
            }
        }
    }
    for row in &mut load.rows {
        let number = file(if row.pid == Some(3) { TABLE } else { REDO });
        row.file = Some(FileKey { kind: FileKind::Regular, number });
    }
    if rewrites {
        load.context.calls.push(call(TABLE, 21_000 * MS, 300 * MS));
    }
    let named = |inode, writer, written_bytes| NamedFile {
        file_system: 8 << 20,
        inode,
        writers: vec![writer],
        written_bytes: Some(written_bytes),
        ..NamedFile::default()
    };
    let of_table = if rewrites { 600 << 20 } else { 0 };
    load.context.files = vec![named(REDO, 1, 800 * 4096), named(TABLE, 2, of_table)];
    load
}

#[test]
fn a_programs_own_bulk_writes_are_behind_which_its_commits_wait() {
    let findings = database(true).findings();
    let lost = named(&findings);
    let [(victim, cause, lost_s)] = lost.as_slice() else { panic!("{lost:?}") };
    assert_eq!((victim.as_str(), cause.as_str()), ("onedb", "onedb: bulk writes"));
    let own_log_s = 120.0 * 0.028;
    assert!((lost_s / own_log_s - 1.0).abs() < 0.05, "{lost_s} of {own_log_s}");
    assert_eq!(named(&database(false).findings()), []);
}

/// A log alone: while somebody changes a table, his commits are large, and others are written with
/// them. A client sleeps for each.
fn log_alone(large: bool) -> Load {
    let mut load = Load::with(&["onedb", "shop"]);
    for number in 0..800 {
        let begin_ns = number * 50 * MS;
        let is_large = large && (300..420).contains(&number);
        let (took_ns, bytes) = if is_large { (30 * MS, 512 << 10) } else { (MS, 4096) };
        load.request(1, Op::Write, begin_ns, took_ns, bytes);
        let row = load.rows.last_mut().unwrap();
        row.flags = Flags::DIRECT | Flags::SYNC;
        row.file = Some(FileKey { kind: FileKind::Regular, number: file(REDO) });
        load.context.calls.push(call(REDO, begin_ns + took_ns, MS / 10));
        if is_large {
            load.context.waits.push(Wait {
                kind: WaitKind::Thread,
                pid: 2,
                holder: 1,
                begin_ns,
                end_ns: begin_ns + took_ns,
                ..Wait::default()
            });
        }
    }
    let large_bytes = if large { 120 * (512 << 10) } else { 0 };
    load.context.files = vec![NamedFile {
        file_system: 8 << 20,
        inode: REDO,
        writers: vec![1],
        written_bytes: Some(large_bytes + 700 * 4096),
        written_large_bytes: Some(large_bytes),
        ..NamedFile::default()
    }];
    load
}

#[test]
fn large_commits_of_a_log_are_what_the_others_wait_for() {
    let lost = named(&log_alone(true).findings());
    let of = |who: &str| {
        let of_who =
            lost.iter().filter(|(victim, cause, _)| victim == who && cause == "onedb: bulk writes");
        of_who.map(|(.., lost_s)| *lost_s).sum::<f64>()
    };
    let own_log_s = 120.0 * 0.029;
    assert!((of("onedb") / own_log_s - 1.0).abs() < 0.05, "{lost:?}");
    assert!((of("shop") / own_log_s - 1.0).abs() < 0.05, "{lost:?}");
    assert_eq!(named(&log_alone(false).findings()), []);
}

/// A thread waits for one that rewrites the table.
#[test]
fn who_sleeps_for_bulk_writes_loses_all_of_that() {
    let mut load = database(true);
    load.context.processes.push(Process {
        pid: 4,
        process: Some(4),
        command: "shop".to_owned(),
        title: Some("shop".to_owned()),
        ..Process::default()
    });
    load.context.waits.push(Wait {
        kind: WaitKind::Thread,
        pid: 4,
        holder: 2,
        begin_ns: 21_000 * MS,
        end_ns: 21_300 * MS,
        ..Wait::default()
    });
    let lost = named(&load.findings());
    let of_shop = lost.iter().find(|(victim, ..)| victim == "shop");
    let (_, cause, lost_s) = of_shop.unwrap_or_else(|| panic!("{lost:?}"));
    assert_eq!((cause.as_str(), *lost_s), ("onedb: bulk writes", 0.3));
}

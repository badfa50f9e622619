//! What is told of files, and on which of them time was lost.

use super::*;
use model::record::{FileKey, FileKind, FileNumber, NamedFile};

/// A reader of two files beside a copy: reads of one take long while the copy writes.
fn load(slow: u64, since_ns: Option<i64>) -> Load {
    let file_system = 8 << 20;
    let mut load = Load::with(&["reader", "dd of=x"]);
    let inode = |ns: i64| 5 + (ns / (2 * MS)).unsigned_abs() % 2;
    load.reads(1, 30, |ns| if is_in_burst(ns) && inode(ns) == slow { 17 * MS } else { MS });
    for row in &mut load.rows {
        let number =
            FileNumber { file_system, inode: inode(row.queued_ns.unwrap()), generation: 0 };
        row.file = Some(FileKey { kind: FileKind::Regular, number });
    }
    for number in 0..300 {
        let begin_ns = (number / 50 * 5000 + 4500 + number % 50 * 10) * MS;
        load.request(2, Op::Write, begin_ns, 10 * MS, 1 << 20);
    }
    let named = |inode, path: &str| NamedFile {
        file_system: file_system.into(),
        inode,
        path: Some(path.to_owned()),
        since_ns,
        ..NamedFile::default()
    };
    load.context.files = vec![named(5, "/orders"), named(6, "/stock")];
    load
}

/// By file: what is found of it.
fn by_file(findings: &[Finding], quantity: &str) -> Vec<(String, f64)> {
    let of = findings.iter().filter(|found| found.quantity == quantity);
    of.map(|found| (found.subject.get("file").unwrap(), found.value.unwrap())).collect()
}

#[test]
fn the_file_is_told_whose_reads_took_longer() {
    for (slow, name) in [(5, "/orders"), (6, "/stock")] {
        let findings = load(slow, Some(0)).findings();
        let [(victim, cause, lost_s)] = &named(&findings)[..] else { panic!() };
        assert_eq!((victim.as_str(), cause.as_str()), ("reader", "dd"));
        let on_file = by_file(&findings, "lost_on_file_ns");
        // Whatever was lost to whom, it was on that file.
        assert!(on_file.iter().all(|(file, _)| file == name), "{on_file:?}");
        let most = on_file.iter().map(|(_, ns)| *ns).fold(0.0, f64::max);
        assert!((0.9 * lost_s..=*lost_s).contains(&(most / 1e9)), "{most} of {lost_s} s");
    }
}

/// The column agrees with the verdict: what is lost on files is what is lost.
#[test]
fn what_was_lost_on_files_sums_to_what_was_lost() {
    let findings = load(5, Some(0)).findings();
    let on_files: f64 = by_file(&findings, "file_lost_ns").iter().map(|(_, ns)| ns).sum();
    let lost: f64 = values(&findings, "lost_ns").iter().sum();
    assert!(lost > 5e9 && (on_files / lost - 1.0).abs() < 1e-3, "{on_files} of {lost}");
    let known = values(&findings, "file_lost_known_percent");
    assert!(known.len() == 1 && known[0] > 99.9, "{known:?}");
}

#[test]
fn a_name_of_another_time_is_not_said_to_have_been_it() {
    let findings = load(5, None).findings();
    assert!(!named(&findings).is_empty());
    assert_eq!(by_file(&findings, "lost_on_file_ns"), []);
    assert_eq!(values(&findings, "file_lost_known_percent"), [0.0]);
}

#[test]
fn where_nobody_lost_no_file_did() {
    let mut load = load(7, Some(0));
    load.rows.retain(|row| row.op == Op::Read);
    let findings = load.findings();
    assert_eq!(named(&findings), []);
    assert_eq!(by_file(&findings, "lost_on_file_ns"), []);
}

/// A request and a call for a file under each name that it has, and some of which none is known.
#[test]
fn rows_are_of_the_name_that_a_file_had_and_only_those_count_as_known() {
    let mut load = Load::with(&["postgres: a b [local] COMMIT"]);
    let file_system = 8 << 20;
    let mut asked = |inode: u64, at_ms: i64| {
        load.request(1, Op::Write, at_ms * MS, MS, 4096);
        let number = model::record::FileNumber { file_system, inode, generation: 1 };
        let kind = model::record::FileKind::Regular;
        load.rows.last_mut().unwrap().file = Some(FileKey { kind, number });
        load.context.calls.push(Call {
            file_system: file_system.into(),
            inode,
            generation: 1,
            pid: 1,
            begin_ns: at_ms * MS,
            end_ns: Some(at_ms * MS + MS),
            ..Call::default()
        });
    };
    for (inode, at_ms) in [(5, 10), (5, 20), (5, 30), (5, 40), (6, 50), (7, 60), (7, 70), (7, 80)] {
        asked(inode, at_ms);
    }
    // How long one took is not known: the trace ended before.
    let mut calls = load.context.calls.iter_mut();
    calls.find(|call| call.inode == 6).unwrap().end_ns = None;
    // What is of all files is of none.
    load.context.calls.push(Call { pid: 1, begin_ns: 90 * MS, ..Call::default() });
    let named = |inode, since_ms: Option<i64>, path: &str| NamedFile {
        file_system: file_system.into(),
        inode,
        generation: 1,
        path: Some(path.to_owned()),
        since_ns: since_ms.map(|ms| ms * MS),
        ..NamedFile::default()
    };
    load.context.files = vec![
        named(5, Some(10), "/pg_wal/xlogtemp.29362"),
        named(5, Some(15), "/pg_wal/000000010000000000000001"),
        named(5, Some(35), "/pg_wal/0000000100000000000000A3"),
        named(6, None, "/found"),
    ];
    let findings = load.findings();
    let calls = findings.iter().filter(|found| found.quantity == "file_calls_count");
    let calls: BTreeMap<String, f64> =
        calls.map(|f| (f.subject.get("file").unwrap(), f.value.unwrap())).collect();
    let expected = [
        ("/found", 1.0),
        ("/pg_wal/*", 3.0),
        ("/pg_wal/xlogtemp.29362", 1.0),
        ("files without a name on sda", 3.0),
    ];
    assert_eq!(calls, BTreeMap::from(expected.map(|(name, calls)| (name.to_owned(), calls))));
    let means = findings.iter().filter(|found| found.quantity == "file_calls_mean_ns");
    let means: Vec<Option<f64>> = means.map(|found| found.value).collect();
    assert_eq!(means, [Some(1e6); 3], "none is 0 for a call whose end is not known");
    let value = |name| findings.iter().find(|found| found.quantity == name).unwrap().value;
    assert_eq!(value("files_known_percent"), Some(50.0), "a name of another time is not known");
    assert_eq!(value("file_calls_known_percent"), Some(50.0));
}

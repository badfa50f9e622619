//! Waits for what somebody holds: a lock, a journal.

use super::*;
use model::record::{CallKind, FileKind, FileNumber, JournalUse};

/// `dd` writes all the time, and `keeper` holds the lock that `editor` needs.
#[test]
fn a_lock_is_its_holders_doing_unless_he_waits_for_others() {
    let of = |has_waited: bool| {
        let mut load = Load::with(&["editor", "keeper", "dd of=x"]);
        load.request(1, Op::Read, 0, MS, 4096);
        (1..1000).for_each(|n| load.request(3, Op::Write, n * 10 * MS, 10 * MS, 1 << 20));
        let wait = |kind, pid, at: i64, holder| Wait {
            kind,
            pid,
            begin_ns: at * 1000 * MS,
            end_ns: (at * 1000 + 600) * MS,
            holder,
            ..Wait::default()
        };
        for at in 1..9 {
            load.context.waits.push(wait(WaitKind::Lock, 1, at, 2));
            let kind = if has_waited { WaitKind::Throttling } else { WaitKind::Lock };
            load.context.waits.push(wait(kind, 2, at, 0));
        }
        load.context.waits.retain(|wait| wait.pid == 1 || has_waited);
        load.findings()
    };
    let value = |findings: &[Finding], name: &str| {
        let of = |f: &&Finding| {
            f.quantity == name && f.subject.get("victim").as_deref() == Some("editor")
        };
        findings.iter().find(of).and_then(|f| f.value)
    };
    let alone = of(false);
    let [(victim, cause, lost_s)] = &named(&alone)[..] else { panic!("{:?}", named(&alone)) };
    assert_eq!((victim.as_str(), cause.as_str()), ("editor", "keeper"));
    assert!((4.79..4.81).contains(lost_s), "{lost_s}");
    assert_eq!(value(&alone, "lock_held_ns"), Some(4.8e9));
    let behind = of(true);
    let of_editor = named(&behind).into_iter().filter(|(victim, ..)| victim == "editor");
    assert_eq!(of_editor.map(|(_, cause, _)| cause).collect::<Vec<_>>(), ["dd"]);
    assert_eq!(value(&behind, "lock_held_ns"), None, "it is no loss to keeper");
}

/// `clerk` and `planter` wait for the journal, which the journal's own thread writes; `planter` has
/// changed a hundred times as much. Or `cleaner` holds the transaction open while it is held back.
#[test]
fn a_journal_is_the_doing_of_who_fills_it_or_holds_it_open() {
    let waited = std::cell::Cell::new(0.0);
    let of = |is_held_open: bool| {
        let mut load = Load::with(&["clerk", "planter", "cleaner"]);
        (1..=3).for_each(|pid| load.request(pid, Op::Read, 0, MS, 4096));
        let wait = |kind, pid, at: i64, in_transaction| Wait {
            kind,
            pid,
            begin_ns: at * 1000 * MS,
            end_ns: (at * 1000 + 600) * MS,
            in_transaction,
            ..Wait::default()
        };
        let used = |pid, at: i64, blocks| JournalUse {
            file_system: 8 << 20,
            pid,
            begin_ns: at * 1000 * MS,
            end_ns: (at * 1000 + 100) * MS,
            blocks,
            ..JournalUse::default()
        };
        for at in 1..9 {
            load.context.journal_use.extend([used(1, at, 10), used(2, at, 1000)]);
            load.context.waits.push(wait(WaitKind::Journal, 1, at, 0));
            load.context.waits.push(match is_held_open {
                true => wait(WaitKind::Other, 3, at, 1),
                false => wait(WaitKind::Journal, 2, at, 0),
            });
        }
        let number = FileNumber { file_system: 8 << 20, inode: 12, generation: 1 };
        load.rows[0].file = Some(FileKey { kind: FileKind::Regular, number });
        load.context.journal_use.push(used(3, 9, 1));
        load.rows.retain(|row| row.pid != Some(3));
        let findings = load.findings();
        let of = |f: &&Finding| {
            f.quantity == "waits_count" && f.subject.get("victim").as_deref() == Some("cleaner")
        };
        waited.set(findings.iter().filter(of).filter_map(|f| f.value).sum());
        let mut all = named(&findings);
        all.retain(|(victim, ..)| victim == "clerk" || victim == "planter");
        all
    };
    let filled = of(false);
    let [(victim, cause, lost_s)] = &filled[..] else { panic!("{filled:?}") };
    assert_eq!((victim.as_str(), cause.as_str()), ("clerk", "planter"));
    assert!((4.7..4.8).contains(lost_s), "of 4.8 s, 1 % of it clerk's own: {lost_s}");
    let held = of(true);
    let [(victim, cause, lost_s)] = &held[..] else { panic!("{held:?}") };
    assert_eq!((victim.as_str(), cause.as_str()), ("clerk", "cleaner"));
    assert!((4.79..4.81).contains(lost_s), "{lost_s}");
    // Without a file, cleaner waits where it changes metadata.
    assert_eq!(waited.get(), 8.0);
}

/// `editor` waits for what is held, and nothing but the journal is written meanwhile.
#[test]
fn what_nothing_explains_is_an_unknown_cause_and_no_all_clear() {
    let of = |kind, holder, own_write: bool| {
        let mut load = Load::with(&["editor", "keeper", "editor"]);
        load.request(1, Op::Read, 0, MS, 4096);
        for at in 1..9 {
            load.context.waits.push(Wait {
                kind,
                pid: 1,
                begin_ns: at * 1000 * MS,
                end_ns: (at * 1000 + 600) * MS,
                holder,
                ..Wait::default()
            });
            for begin_ns in (0..50).map(|write| (at * 1000 + write * 10) * MS) {
                load.request(9, Op::Write, begin_ns, 10 * MS, 4096);
                let number = FileNumber { file_system: 1, inode: 2, generation: 0 };
                let kind = FileKind::Journal;
                load.rows.last_mut().unwrap().file = Some(FileKey { kind, number });
                if own_write {
                    load.request(1, Op::Write, begin_ns, 10 * MS, 1 << 20);
                }
            }
        }
        named(&load.findings())
    };
    for kind in [WaitKind::Journal, WaitKind::Lock, WaitKind::Other] {
        let found = of(kind, 0, false);
        let [(victim, cause, lost_s)] = &found[..] else { panic!("{kind:?}: {found:?}") };
        assert_eq!((victim.as_str(), cause.as_str()), ("editor", "unknown"));
        assert!((4.79..4.81).contains(lost_s), "{lost_s}");
        assert_eq!(of(kind, 0, true), [], "{kind:?} behind what it writes itself");
    }
    assert_eq!(of(WaitKind::Lock, 3, false), [], "another of its threads holds it");
    assert_eq!(of(WaitKind::Lock, 2, false)[0].1, "keeper");
    assert_eq!(of(WaitKind::Throttling, 0, false), [], "its own pages");
}

/// `keeper` calls fsync for each of `asker`'s requests, and `dd` writes now and then. `proxy` may
/// stand between them, whose sleeps are of such a kind.
fn asked(proxy: Option<WaitKind>) -> Load {
    let mut load = Load::with(&["asker", "keeper", "dd of=x", "proxy"]);
    load.request(2, Op::Write, 0, MS, 4096);
    let number = FileNumber { file_system: 8 << 20, inode: 12, generation: 1 };
    load.rows[0].file = Some(FileKey { kind: FileKind::Regular, number });
    for call in 1..1000 {
        let begin_ns = call * 20 * MS;
        let took_ns = if is_in_burst(begin_ns) { 18 * MS } else { 2 * MS };
        let end_ns = begin_ns + took_ns;
        load.context.calls.push(Call {
            kind: CallKind::Fsync,
            file_system: 8 << 20,
            inode: 12,
            pid: 2,
            begin_ns,
            end_ns: Some(end_ns),
            ..Call::default()
        });
        let sleep = |kind, pid, holder| {
            let begin_ns = begin_ns + MS / 10;
            Wait { kind, pid, begin_ns, end_ns, holder, ..Wait::default() }
        };
        let first = if proxy.is_some() { 4 } else { 2 };
        load.context.waits.push(sleep(WaitKind::Thread, 1, first));
        load.context.waits.extend(proxy.map(|kind| sleep(kind, 4, 2)));
        let (pid, length_bytes) = if is_in_burst(begin_ns) { (3, 1 << 20) } else { (2, 4096) };
        load.request(pid, Op::Write, begin_ns, took_ns, length_bytes);
    }
    load
}

#[test]
fn who_waits_for_a_thread_waits_for_what_that_one_waits_for() {
    let findings = asked(None).findings();
    let lost = named(&findings);
    let of = |who: &str| lost.iter().find(|(victim, ..)| victim == who).unwrap();
    assert_eq!((of("asker").1.as_str(), of("keeper").1.as_str()), ("dd", "dd"));
    let (asker_s, keeper_s) = (of("asker").2, of("keeper").2);
    assert!((asker_s / keeper_s - 1.0).abs() < 0.02, "{asker_s} of {keeper_s}");
    let waits = findings.iter().filter_map(|finding| finding.subject.get("wait"));
    assert!(waits.into_iter().any(|wait| wait == "thread of keeper"));
}

#[test]
fn who_sleeps_as_long_as_ever_passes_on_what_it_slept_for_and_loses_nothing() {
    let lost_s = |proxy: WaitKind, who: &str| {
        let lost = named(&asked(Some(proxy)).findings());
        lost.iter().filter(|(victim, ..)| victim == who).map(|(.., lost_s)| lost_s).sum::<f64>()
    };
    let (longer, usual) = (WaitKind::Thread, WaitKind::Usual);
    let asker_s = [longer, usual].map(|kind| lost_s(kind, "asker"));
    assert!(asker_s[0] > 0.5 && asker_s[0] == asker_s[1], "{asker_s:?}");
    assert!(lost_s(longer, "proxy") > 0.5 && lost_s(usual, "proxy") == 0.0);
}

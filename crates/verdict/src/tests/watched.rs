//! The same loads as a watch is told of them: its minutes name the causes that the whole verdict
//! does.

use super::*;
use crate::watched::{Losses, Names, Spans, Tally};
use model::record::{Counted, Rollup};

const S: i64 = 1000 * MS;

/// What a watch keeps of a load. Requests and calls are counted as they end; the verdict has
/// requests in the order of their arrival, 1.5 s later.
fn kept(load: &Load) -> Vec<Rollup> {
    let (mut losses, mut tally) = (Losses::default(), Tally::new(false));
    let (mut spans, commands) = (Spans::new(60 * S), Commands::default());
    let names = Names { device: &|_| "sda".to_owned(), file: &|_| None };
    spans.advance(0, 0);
    for process in &load.context.processes {
        losses.learn(process);
        tally.learn(process);
    }
    for file in &load.context.files {
        for pid in &file.writers {
            losses.changed(file.number(), *pid as u32, "");
            tally.changed(file.number(), *pid as u32, "");
        }
    }
    let mut by_end = load.rows.clone();
    by_end.sort_by_key(|row| row.completed_ns);
    let mut by_begin = load.rows.clone();
    by_begin.sort_by_key(|row| row.queued_ns);
    let mut calls = load.context.calls.clone();
    calls.sort_by_key(|call| call.end_ns);
    let last_ns = by_end.last().and_then(|row| row.completed_ns).unwrap();
    let (mut by_end, mut by_begin) = (by_end.iter().peekable(), by_begin.iter().peekable());
    let mut calls = calls.iter().peekable();
    let mut kept = Vec::new();
    for second in 1..=last_ns / S + 3 {
        let now_ns = second * S;
        spans.advance(now_ns, now_ns);
        while let Some(row) = by_end.next_if(|row| row.completed_ns <= Some(now_ns)) {
            tally.request(row, &commands, &spans);
        }
        while let Some(call) = calls.next_if(|call| call.end_ns <= Some(now_ns)) {
            tally.call(call, &spans);
            losses.call(call);
        }
        if let Some(files) = tally.new_work(now_ns, names.file) {
            losses.learn_work(&files);
        }
        let shown_ns = now_ns - 1500 * MS;
        while let Some(row) = by_begin.next_if(|row| row.queued_ns <= Some(shown_ns)) {
            losses.request(row, &commands, &spans);
        }
        kept.extend(losses.take(shown_ns, (&spans, &commands), &names));
        kept.extend(tally.take(&spans, &names));
    }
    kept.extend(losses.take(i64::MAX / 2, (&spans, &commands), &names));
    kept
}

/// Who lost most to whom in a watch, and how much in s.
fn most(load: &Load) -> Option<(String, String, f64)> {
    let mut lost: BTreeMap<(String, String), i64> = BTreeMap::new();
    for row in kept(load).into_iter().filter(|row| row.counted == Counted::Lost) {
        *lost.entry((row.role.unwrap(), row.cause.unwrap())).or_default() += row.lost_ns;
    }
    let ((victim, cause), lost_ns) = lost.into_iter().max_by_key(|(_, lost_ns)| *lost_ns)?;
    Some((victim, cause, lost_ns as f64 / 1e9))
}

/// One process commits with a thread, and rewrites a table with another one.
#[test]
fn a_watch_tells_a_programs_own_bulk_writes_as_the_whole_verdict_does() {
    let told = named(&bulk::database(true).findings());
    let [(victim, cause, lost_s)] = told.as_slice() else { panic!("{told:?}") };
    let most_of = |load: &Load| most(load).unwrap();
    let load = bulk::database(true);
    let (watched_victim, watched_cause, watched_s) = most_of(&load);
    assert_eq!((&watched_victim, &watched_cause), (victim, cause));
    assert!((watched_s / lost_s - 1.0).abs() < 0.05, "{watched_s} {lost_s}");
    let rows = kept(&load);
    let written = rows.iter().filter(|row| row.role.as_deref() == Some("onedb: bulk writes"));
    assert!(written.filter(|row| row.counted == Counted::Requests).count() >= 1, "{rows:?}");
    let calm = most(&bulk::database(false));
    assert!(calm.is_none_or(|(.., lost_s)| lost_s < 0.05), "nobody waits for it");
}

/// In one minute, and filled in one minute and read again in the next one.
#[test]
fn a_watch_tells_who_evicted_pages_as_the_whole_verdict_does() {
    let of = |fills: Range<i64>, again: Range<i64>| {
        let mut load = evicted::shop();
        evicted::fills(&mut load, 2, Op::Read, Flags::READAHEAD, fills);
        evicted::reads_again(&mut load, 1, again);
        load
    };
    for (fills, again) in [(20..30, 20..45), (50..60, 60..80)] {
        let told = named(&of(fills.clone(), again.clone()).findings());
        let [(victim, cause, lost_s)] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!((victim.as_str(), cause.as_str()), ("shop", "backup"));
        let rows = kept(&of(fills.clone(), again.clone()));
        let is_cache = |row: &&Rollup| row.operation == model::record::EVICTED_PAGE;
        let lost = rows.iter().filter(is_cache).filter(|row| row.counted == Counted::Lost);
        let lost: Vec<&Rollup> = lost.collect();
        let is_backup = |row: &&Rollup| row.cause.as_deref() == Some("backup");
        assert!(!lost.is_empty() && lost.iter().all(is_backup), "{lost:?}");
        let watched_s = lost.iter().map(|row| row.lost_ns).sum::<i64>() as f64 / 1e9;
        assert!((watched_s / lost_s - 1.0).abs() < 0.05, "{watched_s} {lost_s}");
        let waits = rows.iter().filter(is_cache).filter(|row| row.counted == Counted::Waits);
        let count = (again.end - again.start) as u64 * 500;
        assert_eq!(waits.map(|row| row.count).sum::<u64>(), count);
    }
}

/// Who evicts pages all the time has no calm, and who asks for more is not hurt.
#[test]
fn a_watch_blames_nobody_for_pages_that_nobody_is_known_to_have_evicted() {
    let mut no_calm = evicted::shop();
    evicted::fills(&mut no_calm, 2, Op::Read, Flags::READAHEAD, 0..60);
    evicted::reads_again(&mut no_calm, 1, 0..60);
    let mut of_writes = evicted::shop();
    evicted::fills(&mut of_writes, 2, Op::Write, Flags::BACKGROUND, 20..30);
    evicted::reads_again(&mut of_writes, 1, 20..45);
    for load in [no_calm, of_writes] {
        let lost = kept(&load).into_iter().filter(|row| row.counted == Counted::Lost);
        let lost: Vec<Rollup> = lost.filter(|row| row.operation == "evicted page").collect();
        assert!(lost.is_empty(), "{lost:?}");
    }
}

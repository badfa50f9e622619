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
        if let Some(files) = tally.new_bulk(now_ns, names.file) {
            losses.learn_bulk(&files);
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

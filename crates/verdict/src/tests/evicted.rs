//! A program's pages are evicted, and read again: by whose reads, and when nobody is to blame.

use super::*;
use model::histogram::SparseHistogram;
use model::record::Summed;

/// The reads that tell that their page had been evicted begin in these seconds, one every 2 ms.
pub(super) fn reads_again(load: &mut Load, pid: u32, seconds: Range<i64>) {
    for number in seconds.start * 500..seconds.end * 500 {
        load.request(pid, Op::Read, number * 2 * MS, MS, 4096);
        load.rows.last_mut().unwrap().flags = Flags::REFAULTED;
    }
}

/// 60 MiB are read in each of these seconds, or written, or read past the page cache.
pub(super) fn fills(load: &mut Load, pid: u32, op: Op, flags: Flags, seconds: Range<i64>) {
    for number in seconds.start * 60..seconds.end * 60 {
        load.request(pid, op, number * 1000 * MS / 60, MS / 10, 1 << 20);
        load.rows.last_mut().unwrap().flags = flags;
    }
}

/// Reads of each of these seconds that are known as sums: so many, which took so long each.
fn summed(load: &mut Load, pid: u64, flags: Flags, seconds: Range<i64>, each: (u64, i64, u64)) {
    let (count, took_ns, length_bytes) = each;
    let mut responses = SparseHistogram::default();
    (0..count).for_each(|_| responses.record(took_ns.unsigned_abs()));
    let sum = |second: i64| Summed {
        device: 8 << 20,
        op: Op::Read,
        from_ns: second * 1000 * MS,
        until_ns: (second + 1) * 1000 * MS,
        bytes: count * length_bytes,
        pid: Some(pid),
        flags: Some(flags.0.into()),
        length_bytes: Some(length_bytes),
        ..Summed::default()
    };
    let sums = seconds.map(|second| sum(second).with_responses(&responses));
    load.context.summed.extend(sums);
}

/// A minute of a shop, whose hot file is in memory as a rule, beside somebody.
pub(super) fn shop() -> Load {
    let mut load = Load::with(&["shop", "backup", "writer"]);
    // Something goes on to the end.
    load.request(1, Op::Read, 59_990 * MS, MS, 4096);
    load
}

fn lost(load: Load) -> Vec<(String, String, f64)> {
    named(&load.findings())
}

/// The reads are not longer than any, but there were none.
#[test]
fn pages_evicted_by_a_backup_are_lost_to_it_with_their_uncertainty() {
    let mut load = shop();
    fills(&mut load, 2, Op::Read, Flags::READAHEAD, 20..30);
    reads_again(&mut load, 1, 20..45);
    let findings = load.findings();
    let named = named(&findings);
    let [(victim, cause, lost_s)] = named.as_slice() else { panic!("{named:?}") };
    assert_eq!((victim.as_str(), cause.as_str()), ("shop", "backup"));
    // 12500 reads of 1 ms each.
    assert!((11.25..=12.5).contains(lost_s), "{lost_s}");
    let is_cache = |of: &&Finding| of.subject.get("wait").as_deref() == Some("evicted page");
    let of_cache: Vec<&Finding> = findings.iter().filter(is_cache).collect();
    let lost = of_cache.iter().find(|of| of.quantity == "lost_ns").unwrap();
    let (low, high) = (lost.low.unwrap(), lost.high.unwrap());
    assert!(low > 11e9 && (12.4e9..12.6e9).contains(&high), "{low} {high}");
}

/// At a limit of its own it evicts its pages itself, while somebody else reads beside it.
#[test]
fn pages_that_a_program_evicted_itself_are_lost_to_nobody() {
    let lost_by = |itself: i64| {
        let mut load = shop();
        fills(&mut load, 2, Op::Read, Flags::READAHEAD, 20..30);
        reads_again(&mut load, 1, 20..45);
        let again = load.rows.iter_mut().filter(|row| row.flags == Flags::REFAULTED);
        for (row, number) in again.zip(0..) {
            row.flags = row.flags.with(Flags::EVICTED_ITSELF, number % 10 < itself);
        }
        lost(load).into_iter().map(|(_, cause, _)| cause).collect::<Vec<_>>()
    };
    assert_eq!(lost_by(10), [""; 0]);
    assert_eq!(lost_by(5), ["backup"], "half of them only");
}

/// What is asked for at once is waited for once.
#[test]
fn evicted_pages_that_a_thread_reads_at_once_are_lost_once() {
    let mut load = shop();
    load.is_deep = true;
    fills(&mut load, 2, Op::Read, Flags::READAHEAD, 20..30);
    (0..3).for_each(|_| reads_again(&mut load, 1, 20..45));
    let lost = lost(load);
    let [(victim, cause, lost_s)] = lost.as_slice() else { panic!("{lost:?}") };
    assert_eq!((victim.as_str(), cause.as_str()), ("shop", "backup"));
    assert!((9.0..=12.5).contains(lost_s), "{lost_s}");
}

#[test]
fn what_is_known_as_sums_fills_memory_and_is_read_again_too() {
    let mut load = shop();
    summed(&mut load, 2, Flags::READAHEAD, 20..30, (60, MS / 10, 1 << 20));
    summed(&mut load, 1, Flags::REFAULTED, 20..45, (500, MS, 4096));
    let lost = lost(load);
    let [(victim, cause, lost_s)] = lost.as_slice() else { panic!("{lost:?}") };
    assert_eq!((victim.as_str(), cause.as_str()), ("shop", "backup"));
    assert!((11.25..=12.5).contains(lost_s), "{lost_s}");
}

#[test]
fn the_one_is_named_who_filled_memory() {
    let mut load = shop();
    fills(&mut load, 2, Op::Read, Flags::DIRECT, 20..30);
    fills(&mut load, 3, Op::Read, Flags::READAHEAD, 20..30);
    reads_again(&mut load, 1, 20..45);
    let causes: Vec<String> = lost(load).into_iter().map(|(_, cause, _)| cause).collect();
    assert_eq!(causes, ["writer"]);
}

/// Who needs memory swaps out that of others, which is read in again.
#[test]
fn memory_that_is_swapped_out_is_lost_to_the_one_who_filled_it() {
    let mut load = shop();
    fills(&mut load, 2, Op::Write, Flags::SWAP, 20..30);
    fills(&mut load, 3, Op::Write, Flags::DIRECT, 20..30);
    reads_again(&mut load, 1, 20..45);
    let causes: Vec<String> = lost(load).into_iter().map(|(_, cause, _)| cause).collect();
    assert_eq!(causes, ["backup"]);
}

/// What is read for the first time had not been in memory, whatever others read meanwhile.
#[test]
fn nobody_is_to_blame_for_a_load_that_asks_for_more_or_starts() {
    let mut cold = shop();
    fills(&mut cold, 2, Op::Read, Flags::READAHEAD, 20..30);
    (10_000..22_500).for_each(|number| cold.request(1, Op::Read, number * 2 * MS, MS, 4096));
    assert_eq!(lost(cold), []);
    // Its own reads are what fills memory.
    let mut larger = shop();
    reads_again(&mut larger, 1, 20..45);
    fills(&mut larger, 1, Op::Read, Flags::READAHEAD, 20..45);
    fills(&mut larger, 2, Op::Read, Flags::READAHEAD, 44..45);
    assert_eq!(lost(larger), []);
    // It did so before.
    let mut always = shop();
    reads_again(&mut always, 1, 0..60);
    fills(&mut always, 2, Op::Read, Flags::READAHEAD, 20..30);
    assert_eq!(lost(always), []);
}

#[test]
fn without_evidence_nothing_is_lost() {
    for (op, flags) in [(Op::Write, Flags::BACKGROUND), (Op::Read, Flags::DIRECT)] {
        let mut load = shop();
        fills(&mut load, 2, op, flags, 20..30);
        reads_again(&mut load, 1, 20..45);
        assert_eq!(lost(load), [], "{op:?}");
    }
    let mut no_calm = shop();
    fills(&mut no_calm, 2, Op::Read, Flags::READAHEAD, 0..60);
    reads_again(&mut no_calm, 1, 0..60);
    assert_eq!(lost(no_calm), []);
}

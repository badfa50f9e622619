//! The check on kernels and drivers that count in their own ways.

use super::*;
use model::record::{Flags, Op, Verdict};

#[test]
fn a_completion_lies_between_during_or_outside_the_readings() {
    let readings = [(10, 12), (20, 22), (30, 31), (40, 41)];
    let cases = [
        (9, Time::Outside),
        (10, Time::During),
        (12, Time::During),
        (13, Time::Between),
        (19, Time::Between),
        (22, Time::During),
        (25, Time::Outside),
        (35, Time::Between),
        (42, Time::Outside),
    ];
    for (ns, expected) in cases {
        assert_eq!(time(place(&readings, ns)), expected, "{ns}");
    }
    // Before the second reading of a pair is taken, all is between.
    assert_eq!(time(place(&readings[..1], 1_000)), Time::Between);
    assert_eq!(time(place(&[], 5)), Time::Outside);
}

#[test]
fn what_was_under_way_at_a_reading_is_counted_by_a_driver_of_bios_before_or_after_it() {
    let readings = [(10, 12), (20, 22)];
    let row = |queued_ns, completed_ns| Request { queued_ns, completed_ns, ..Request::default() };
    let cases = [
        (row(Some(5), Some(15)), Time::During, Time::Between),
        (row(Some(15), Some(25)), Time::During, Time::Outside),
        (row(Some(13), Some(19)), Time::Between, Time::Between),
        (row(Some(5), Some(9)), Time::Outside, Time::Outside),
        (row(Some(15), None), Time::During, Time::Outside),
        (row(Some(25), None), Time::Outside, Time::Outside),
        (row(None, Some(15)), Time::During, Time::During),
        (Request { length_bytes: 1, ..row(None, Some(15)) }, Time::During, Time::Between),
        (row(None, Some(25)), Time::During, Time::Outside),
        (Request { completed_by_ns: Some(19), ..row(Some(15), None) }, Time::Lost, Time::Lost),
    ];
    for (row, of_bios, of_requests) in cases {
        assert_eq!(lies(&readings, &row, Driver::Bios), of_bios, "{row:?}");
        assert_eq!(lies(&readings, &row, Driver::Requests), of_requests, "{row:?}");
    }
}

/// A trace of one disk, and what it makes of the kernel's counts.
struct Case {
    driver: Driver,
    rows: Vec<Request>,
    lost: u64,
}

const BLOCK: u32 = 4096;

fn row(op: Op, length_bytes: u32) -> Request {
    let (queued_ns, issued_ns, completed_ns) = (Some(14), Some(14), Some(15));
    Request { op, length_bytes, queued_ns, issued_ns, completed_ns, ..Request::default() }
}

fn of(count: usize, row: Request) -> Vec<Request> {
    vec![row; count]
}

fn reads(count: u64, bytes: u64) -> Counted {
    let reads = Amount { requests: count, bytes };
    Counted { reads, flushes: Some(0), ..Counted::default() }
}

fn writes(count: u64, bytes: u64, flushes: u64) -> Counted {
    let writes = Amount { requests: count, bytes };
    Counted { writes, flushes: Some(flushes), ..Counted::default() }
}

impl Case {
    fn new(driver: Driver, rows: impl IntoIterator<Item = Vec<Request>>) -> Self {
        Self { driver, rows: rows.into_iter().flatten().collect(), lost: 0 }
    }

    /// What is doubted, in words, and what is named: quantities with their counts.
    fn against(&self, counted: Counted) -> (String, Vec<(String, u64)>) {
        let readings = [(10, 12), (20, 22)];
        let mut held = Held::default();
        for row in &self.rows {
            held.take(row, self.driver, lies(&readings, row, self.driver));
        }
        let compared = compare(&held, &counted, self.driver, self.lost);
        let found = findings("sda", counted.all(), &compared);
        let doubts = &found[0].doubts;
        assert_eq!(found[0].verdict == Verdict::Ok, doubts.is_empty());
        let named = found[2..].iter().map(|f| (f.quantity.clone(), f.count)).collect();
        (report::doubt::sentences(doubts), named)
    }

    #[track_caller]
    fn agrees(&self, counted: Counted, named: &[(&str, u64)]) {
        let (doubts, found) = self.against(counted);
        assert_eq!(doubts, "");
        let found: Vec<(&str, u64)> = found.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        assert_eq!(found, named);
    }

    #[track_caller]
    fn doubts(&self, counted: Counted, words: &[&str]) {
        let (doubts, _) = self.against(counted);
        for word in words {
            assert!(doubts.contains(word), "no {word:?} in {doubts:?}");
        }
    }
}

#[test]
fn the_difference_is_itemised_to_zero_or_suspect() {
    let block = u64::from(BLOCK);
    let mut during = row(Op::Read, BLOCK);
    during.completed_ns = Some(21);
    let mut lost = row(Op::Read, BLOCK);
    (lost.completed_ns, lost.completed_by_ns) = (None, Some(19));
    let mut outside = row(Op::Read, BLOCK);
    outside.completed_ns = Some(30);
    let rows = [of(100, row(Op::Read, BLOCK)), of(3, during), of(2, lost), of(7, outside)];
    let case = Case::new(Driver::Requests, rows);
    case.agrees(reads(100, 100 * block), &[]);
    case.agrees(reads(103, 103 * block), &[]);
    case.doubts(reads(104, 104 * block), &["1 of sda's 104 completions were lost"]);
    case.doubts(reads(105, 105 * block), &["2 of sda's 105"]);
    case.doubts(reads(106, 106 * block), &["106 reads", "1 more by the kernel", "7 before or"]);
    case.doubts(reads(99, 99 * block), &["99 reads", "1 more in the trace"]);
    case.doubts(reads(100, 101 * block + 4 * block), &["bytes read", "more by the kernel"]);
    case.doubts(reads(100, 99 * block), &["bytes read", "4096 more in the trace"]);
    let lossy = Case { lost: 31, ..case };
    lossy.doubts(reads(110, 110 * block), &["7 of sda's 110 completions were lost"]);
    lossy.doubts(reads(99, 99 * block), &["1 more in the trace"]);
}

#[test]
fn a_flush_sequence_is_one_write_and_its_flush_commands_are_counted_apart() {
    let mut requested = row(Op::Flush, 0);
    requested.issued_ns = None;
    let command = Request { parent_id: Some(1), ..row(Op::Flush, 0) };
    let mut sequence = row(Op::Write, BLOCK);
    sequence.issued_ns = None;
    let data = Request { parent_id: Some(1), ..row(Op::Write, BLOCK) };
    let rows = [of(15, requested), of(4, sequence), of(4, data), of(19, command)];
    let case = Case::new(Driver::Requests, rows);
    case.agrees(writes(19, 4 * 4096, 19), &[]);
    case.doubts(writes(19, 4 * 4096, 18), &["18 flush commands", "1 more in the trace"]);
    case.doubts(writes(23, 4 * 4096, 19), &["4 more by the kernel"]);
    // perf knows no parents.
    let alone = Request { parent_id: None, ..command };
    Case::new(Driver::Requests, [of(15, requested), of(15, alone)]).agrees(writes(15, 0, 15), &[]);
}

#[test]
fn commands_are_named_whether_the_kernel_counts_them_or_not() {
    let rows = [of(1000, row(Op::Read, BLOCK)), of(22, row(Op::Other, 512))];
    let case = Case::new(Driver::Requests, rows);
    case.agrees(reads(1000, 1000 * 4096), &[("kernel_commands_count", 22)]);
    case.agrees(reads(1010, 1000 * 4096 + 10 * 512), &[("kernel_commands_count", 12)]);
    case.agrees(reads(1022, 1000 * 4096 + 22 * 512), &[]);
    case.doubts(reads(1023, 1000 * 4096), &["1 more by the kernel"]);
}

#[test]
fn zeroes_are_writes_to_the_kernel_and_discards_are_not_invented() {
    let case = Case::new(Driver::Requests, [of(3, row(Op::Discard, 1 << 20))]);
    let amount = |requests| Amount { requests, bytes: requests << 20 };
    let counted = |zeroes, discards| Counted {
        writes: amount(zeroes),
        discards: amount(discards),
        ..Counted::default()
    };
    case.agrees(counted(2, 1), &[]);
    case.agrees(counted(0, 3), &[]);
    case.doubts(counted(0, 4), &["4 discards", "1 more by the kernel"]);
    let written = Case::new(Driver::Requests, [of(3, row(Op::Write, 1 << 20))]);
    written.doubts(counted(2, 1), &["1 discards", "1 more by the kernel"]);
}

#[test]
fn what_drivers_of_bios_count_otherwise_is_named() {
    let md = [of(1024, row(Op::Write, BLOCK)), of(15, row(Op::Flush, 0))];
    let md = Case::new(Driver::Bios, md);
    md.agrees(writes(1024, 1024 * 4096, 0), &[("kernel_empty_flushes_count", 15)]);
    md.agrees(writes(1039, 1024 * 4096, 0), &[]);
    md.doubts(writes(1023, 1024 * 4096, 0), &["1 more in the trace"]);
    md.doubts(writes(1024, 1023 * 4096, 0), &["bytes written", "4096 more in the trace"]);

    let bcache = Case::new(Driver::Bcache, [of(1024, row(Op::Write, BLOCK))]);
    bcache.agrees(writes(1024, 1023 * 4096, 0), &[("kernel_bypassed_bytes", 4096)]);
    bcache.doubts(writes(1024, 1025 * 4096, 0), &["4096 more by the kernel"]);
    let read = Case::new(Driver::Bcache, [of(3, row(Op::Read, BLOCK))]);
    read.doubts(reads(3, 2 * 4096), &["4096 more in the trace"]);

    let snapshot = Case::new(Driver::Bios, [of(300, row(Op::Write, 64 << 10))]);
    snapshot.agrees(writes(4800, 300 << 16, 0), &[("kernel_parts_count", 4500)]);
    snapshot.doubts(writes(300, 299 << 16, 0), &["65536 more in the trace"]);
    snapshot.doubts(writes(300 * 129, 300 << 16, 0), &["300 more by the kernel"]);

    let commit = Request { flags: Flags::PREFLUSH, ..row(Op::Write, BLOCK) };
    let crypt = Case::new(Driver::Bios, [of(10, row(Op::Read, BLOCK)), of(5, commit)]);
    let twice = |bytes| Counted { writes: Amount { requests: 10, bytes }, ..reads(10, 10 * 4096) };
    crypt.agrees(twice(5 * 4096), &[("kernel_preflushes_count", 5)]);
    crypt.agrees(twice(10 * 4096), &[("kernel_preflushes_count", 5)]);

    let failed = Request { error: 5, ..row(Op::Read, BLOCK) };
    let flakey = Case::new(Driver::Bios, [of(6587, row(Op::Read, BLOCK)), of(86041, failed)]);
    flakey.agrees(reads(6587, 6587 * 4096), &[("kernel_failed_count", 86041)]);
    flakey.doubts(reads(6586, 6586 * 4096), &["1 more in the trace"]);
}

#[test]
fn a_counter_that_is_lower_than_before_is_another_disks() {
    assert!(reads(3, 4096).is_behind(&reads(4, 4096)) && reads(4, 0).is_behind(&reads(4, 512)));
    assert!(!reads(4, 4096).is_behind(&reads(4, 4096)) && !reads(5, 8192).is_behind(&reads(4, 0)));
}

#[test]
fn a_disk_of_which_the_kernel_counts_nothing_has_no_number_and_a_remedy() {
    let found = |driver: Driver, is_uncounted: bool, rows: Vec<Request>, counted| {
        let number = DeviceNumber::new(253, 0);
        let key = super::super::kernel_number(number);
        let mut check = DiskstatsCheck::default();
        check.readings.extend([(10, 12), (20, 22)]);
        check.counted.insert(number, counted);
        check.of_bios.insert(key, driver);
        check.uncounted.extend(is_uncounted.then_some(number));
        rows.iter().for_each(|row| check.add(&Request { device: key, ..*row }));
        let found = check.findings(&Devices::default(), 0);
        found.first().map(|f| (f.verdict, report::doubt::sentences(&f.doubts)))
    };
    let rows = || of(3, row(Op::Read, BLOCK));
    for (driver, is_uncounted) in [(Driver::Requests, true), (Driver::Bios, false)] {
        let (verdict, said) = found(driver, is_uncounted, rows(), reads(0, 0)).unwrap();
        assert_eq!(verdict, Verdict::NotMeasured);
        assert!(said.contains("echo 1 > /sys/block/253:0/queue/iostats"), "{said}");
    }
    let (verdict, _) = found(Driver::Requests, false, rows(), reads(0, 0)).unwrap();
    assert_eq!(verdict, Verdict::Suspect);
    // zram counts whatever its setting says, and md no flush.
    let (verdict, _) = found(Driver::Bios, true, rows(), reads(3, 3 * 4096)).unwrap();
    assert_eq!(verdict, Verdict::Ok);
    let (verdict, _) = found(Driver::Bios, false, of(3, row(Op::Flush, 0)), reads(0, 0)).unwrap();
    assert_eq!(verdict, Verdict::Ok);
    assert_eq!(found(Driver::Bios, false, Vec::new(), reads(0, 0)), None);
}

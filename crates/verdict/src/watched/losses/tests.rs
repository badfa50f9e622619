//! The verdict of spans, in virtual time, against that of the whole trace's selected time.

mod shared;

use super::*;
use crate::selection::Selection;
use crate::tests::{NEXT_THREAD, by_threads};
use crate::watched::{Rolled, Tally, minutes_from_ns};
use crate::{Minutes, Storm, united};
use model::record::{
    CallKind, Context, Counted, FileKey, FileKind, FileNumber, NamedFile, Op, Subject, Summed,
    Wait, WaitKind,
};
use std::collections::BTreeMap;

const MS: i64 = 1_000_000;
const S: i64 = 1000 * MS;
/// When the watch began, on the requests' clock.
const BEGUN: i64 = 7_000_000 * MS;

fn row(pid: u32, op: Op, begin_ns: i64, took_ns: i64, length_bytes: u32) -> Request {
    Request {
        device: 8 << 20,
        op,
        length_bytes,
        pid: Some(pid),
        queued_ns: Some(BEGUN + begin_ns),
        issued_ns: Some(BEGUN + begin_ns),
        completed_ns: Some(BEGUN + begin_ns + took_ns),
        ..Request::default()
    }
}

/// Reads all the time, and bursts of writes: the last half second of every fifth, across the
/// boundary of spans, too.
fn load(seconds: i64) -> (Vec<Request>, Vec<Call>) {
    let is_in_burst = |ns: i64| (ns + 250 * MS) / (500 * MS) % 10 == 0;
    let mut rows = Vec::new();
    for number in 0..seconds * 500 {
        let begin_ns = number * 2 * MS + (number * 7919 % 13) * 10_000;
        let took_ns = if is_in_burst(begin_ns) { 9 * MS } else { MS };
        rows.push(row(1, Op::Read, begin_ns, took_ns + number * 104_729 % 97 * 1000, 4096));
        if is_in_burst(begin_ns) && number % 5 == 0 {
            rows.push(row(2, Op::Write, begin_ns, 10 * MS, 1 << 20));
        }
    }
    rows.sort_by_key(|row| row.queued_ns);
    by_threads(&mut rows, true);
    let call = |number: i64| Call {
        kind: CallKind::Fsync,
        file_system: 8 << 20,
        inode: 5,
        pid: 3,
        begin_ns: BEGUN + number * 100 * MS,
        end_ns: Some(BEGUN + number * 100 * MS + if number % 50 == 0 { 40 * MS } else { 3 * MS }),
        ..Call::default()
    };
    (rows, (1..seconds * 10).map(call).collect())
}

/// Whoever writes is throttled again and again, across the boundary of spans, too.
fn waits(seconds: i64) -> Vec<Wait> {
    let wait = |number: i64| Wait {
        kind: WaitKind::Throttling,
        pid: 2,
        begin_ns: BEGUN + number * 5 * S - 150 * MS,
        end_ns: BEGUN + number * 5 * S + 120 * MS,
        for_request: 1,
        ..Wait::default()
    };
    (1..seconds / 5).map(wait).collect()
}

/// With threads for all of their requests.
fn processes() -> Vec<Process> {
    let of = |thread: u32, (pid, title): (u64, &str)| Process {
        pid: pid + u64::from(thread * NEXT_THREAD),
        process: Some(pid),
        command: title.to_owned(),
        title: Some(title.to_owned()),
        unit: Some("/a".to_owned()),
        ..Process::default()
    };
    let all = [(1, "reader"), (2, "dd of=x"), (3, "writer")];
    (0..16).flat_map(|thread| all.map(|process| of(thread, process))).collect()
}

/// Sums of rows by span, role and cause: waits, their time, time lost and its variance.
type Sums = BTreeMap<(i64, String, String), (u64, u64, f64, i64)>;

fn take(losses: &mut Losses, shown_ns: i64, spans: &Spans) -> Vec<Rollup> {
    let names = Names { device: &|number| number.to_string(), file: &|_| None };
    losses.take(shown_ns, (spans, &Commands::default()), &names)
}

/// In the middle of the second span a reader of another cgroup comes and goes.
fn watched(rows: &[Request], calls: &[Call], width_ns: i64) -> (Sums, usize) {
    let mut other = Some(Process {
        pid: 21,
        process: Some(21),
        unit: Some("/b".to_owned()),
        ..processes().swap_remove(0)
    });
    let (mut losses, mut spans) = (Losses::default(), Spans::new(width_ns));
    processes().iter().for_each(|process| losses.learn(process));
    spans.advance(BEGUN, 0);
    let (mut sums, mut told) = (Sums::new(), 0);
    let mut next_call = calls.iter().peekable();
    let mut taken_ns = BEGUN;
    for row in rows {
        // Rows come 2 s after their arrival, calls at their ends.
        let now_ns = row.queued_ns.unwrap() + 2 * S;
        spans.advance(now_ns, now_ns - BEGUN);
        while let Some(call) = next_call.next_if(|call| call.end_ns <= Some(now_ns)) {
            losses.call(call);
        }
        losses.request(row, &Commands::default(), &spans);
        if row.queued_ns > Some(BEGUN + 3 * width_ns / 2) {
            other.iter().for_each(|other| losses.learn(other));
            other = None;
            losses.forget(&[21]);
        }
        if now_ns - taken_ns >= S {
            taken_ns = now_ns;
            add(&mut sums, &mut told, take(&mut losses, now_ns - 2 * S, &spans));
        }
    }
    add(&mut sums, &mut told, take(&mut losses, i64::MAX / 2, &spans));
    (sums, told)
}

fn add(sums: &mut Sums, told: &mut usize, rows: Vec<Rollup>) {
    *told += rows.len();
    for row in rows.into_iter().filter(|row| row.counted != Counted::Storm) {
        let role = row.role.unwrap();
        let is_of_two = row.from_unix_ns == 10 * S && role == "reader";
        let cgroup = row.cgroup.as_deref();
        assert!(cgroup == Some("/a") || is_of_two, "{role} {}", row.from_unix_ns);
        let key = (row.from_unix_ns / S, role, row.cause.unwrap_or_default());
        let sum = sums.entry(key).or_default();
        sum.0 += row.count;
        sum.1 += row.sum_ns;
        sum.2 += row.lost_ns as f64;
        sum.3 += row.lost_us2;
    }
}

#[test]
fn spans_have_the_verdict_of_their_time() {
    let (rows, calls) = load(40);
    let (sums, told) = watched(&rows, &calls, 10 * S);
    assert!(told > 40, "it is told of meanwhile: {told} rows");
    for span in [0, 10, 20] {
        let context =
            Context { processes: processes(), calls: calls.clone(), ..Context::default() };
        let from_ns = BEGUN + span * S;
        let selection = Selection { time_ns: from_ns..from_ns + 10 * S, process: None };
        let (mut minutes, commands) =
            (Minutes::all(Known::new(context, selection)), Commands::default());
        rows.iter().for_each(|row| minutes.add(row, &commands));
        let findings = minutes.verdict().findings(&|_| String::new());
        let mut lost = 0;
        for finding in &findings {
            let value = finding.value.unwrap_or(0.0);
            match (&finding.subject, finding.quantity.as_str()) {
                (Subject::Wait(of), "waits_count") => {
                    let (count, ..) = sums[&(span, of.victim.clone(), String::new())];
                    assert_eq!(count as f64, value, "{span} {of:?}");
                }
                (Subject::Blame(of), "lost_ns") if of.storm.is_none() => {
                    let cause =
                        if of.is_role { of.cause.clone() } else { format!("<{}>", of.cause) };
                    let (.., lost_ns, us2) = sums[&(span, of.victim.clone(), cause)];
                    let half_ns = 1.96e3 * (us2 as f64).sqrt();
                    let of_finding = (finding.high.unwrap() - finding.low.unwrap()) / 2.0;
                    assert!(of_finding > 0.0, "{of:?}");
                    assert!((half_ns / of_finding - 1.0).abs() < 0.01, "{half_ns} {of_finding}");
                    assert!((lost_ns - value).abs() <= 1e-3 * value.abs() + 1.0, "{span} {of:?}");
                    lost += 1;
                }
                _ => {}
            }
        }
        assert!(lost >= 1, "{span}: {sums:?}");
    }
    let (.., lost_ns, _) = sums[&(10, "reader".to_owned(), "dd".to_owned())];
    // Two bursts of 250 reads that took 8 ms more; a small part of it is the reader's own.
    assert!((3.4e9..4.1e9).contains(&lost_ns), "{lost_ns}");
}

/// And not for all of the minute in which waits may end late.
#[test]
fn evicted_pages_are_looked_at_while_their_span_goes_on() {
    let (mut losses, mut spans) = (Losses::default(), Spans::new(10 * S));
    processes().iter().for_each(|process| losses.learn(process));
    spans.advance(BEGUN, 0);
    let read = Request { flags: model::record::Flags::REFAULTED, ..row(1, Op::Read, S, MS, 4096) };
    losses.request(&read, &Commands::default(), &spans);
    let looks = [5, 14, 16, 60].map(|second| {
        spans.advance(BEGUN + second * S, second * S);
        take(&mut losses, BEGUN + second * S, &spans);
        losses.open.front().is_some_and(Open::reads_again)
    });
    assert_eq!(looks, [true, true, false, false]);
}

/// How often and how long was waited for fewer dirty pages.
fn throttled<'r>(rows: impl Iterator<Item = &'r Rollup>) -> (u64, u64) {
    let waits = rows.filter(|row| row.counted == Counted::Waits);
    let of = waits.filter(|row| row.operation == "dirty throttling");
    of.fold((0, 0), |sum, row| (sum.0 + row.count, sum.1 + row.sum_ns))
}

/// The kernel, a process, writes what dd has changed.
fn written_back(rows: &mut [Request], number: FileNumber) -> Process {
    for row in rows.iter_mut().filter(|row| row.op == Op::Write) {
        row.pid = Some(4);
        row.file = Some(FileKey { kind: FileKind::Regular, number });
    }
    let command = "kworker/u8:2+loop0".into();
    Process { pid: 4, title: None, command, ..processes()[0].clone() }
}

/// What the watch has kept of it.
fn watched_of(
    (rows, calls, waits): (&[Request], &[Call], &[Wait]),
    processes: &[Process],
    changed: FileNumber,
    started_unix_ns: i64,
) -> Vec<Rollup> {
    let names = Names { device: &|number| number.to_string(), file: &|_| None };
    let commands = Commands::default();
    let (mut losses, mut spans) = (Losses::default(), Spans::new(60 * S));
    let mut tally = Tally::new(false);
    losses.tells_waits();
    for process in processes {
        losses.learn(process);
        tally.learn(process);
    }
    losses.changed(changed, 2, "dd");
    tally.changed(changed, 2, "dd");
    let mut kept = Vec::new();
    let (mut next_call, mut next_tallied) = (calls.iter().peekable(), calls.iter().peekable());
    let mut next_wait = waits.iter().peekable();
    spans.advance(BEGUN, 20 * S);
    for row in rows {
        let now_ns = row.queued_ns.unwrap();
        spans.advance(now_ns, now_ns + started_unix_ns);
        while let Some(call) = next_tallied.next_if(|call| call.end_ns <= Some(now_ns)) {
            tally.call(call, &spans);
        }
        // Requests come 2 s after their arrival, calls and waits at their ends.
        while let Some(call) = next_call.next_if(|call| call.end_ns <= Some(now_ns + 2 * S)) {
            losses.call(call);
        }
        while let Some(wait) = next_wait.next_if(|wait| wait.end_ns <= now_ns + 2 * S) {
            losses.wait(wait);
        }
        losses.request(row, &commands, &spans);
        tally.request(row, &commands, &spans);
    }
    next_tallied.for_each(|call| tally.call(call, &spans));
    kept.extend(losses.take(i64::MAX / 2, (&spans, &commands), &names));
    kept.extend(tally.take(&spans, &names));
    kept
}

/// Minutes of the wall clock, which the trace does not begin with: 150 s, begun at second 20.
#[test]
fn a_file_is_rolled_up_as_the_watch_would_have_kept_it() {
    let ((mut rows, calls), waits) = (load(150), waits(150));
    let number = FileNumber { file_system: 8 << 20, inode: 9, generation: 0 };
    let kernel = written_back(&mut rows, number);
    let processes = || [processes(), vec![kernel.clone()]].concat();
    let started_unix_ns = 20 * S - BEGUN;
    let names = Names { device: &|number| number.to_string(), file: &|_| None };
    let commands = Commands::default();
    let kept = watched_of((&rows, &calls, &waits), &processes(), number, started_unix_ns);

    let file =
        NamedFile { file_system: 8 << 20, inode: 9, writers: vec![2], ..NamedFile::default() };
    let files = vec![file];
    let context = Context { processes: processes(), calls, waits, files, ..Context::default() };
    let mut known = Known::new(context, Selection::default());
    rows.iter().for_each(|row| known.homes().add(row));
    let known = known.without_files().with_minutes_from(minutes_from_ns(started_unix_ns));
    let known = Arc::new(known);
    let told_ns = BEGUN..BEGUN + 150 * S;
    let first = known.minute_of(BEGUN);
    let mut made = Vec::new();
    // In two parts, which know nothing of each other.
    for numbers in [first..first + 1, first + 1..first + 3] {
        let processes = processes();
        let told_ns = told_ns.clone();
        let mut rolled = Rolled::new(&known, &processes, numbers, started_unix_ns, told_ns);
        for row in &rows {
            if rolled.concerns(row.queued_ns.unwrap(), row.completed_ns.unwrap()) {
                rolled.add(row, &commands, &names);
            }
        }
        made.extend(rolled.finish(&names));
    }
    let by_key = |rows: Vec<Rollup>| {
        let of = |row: &Rollup| ![Counted::File, Counted::Watch].contains(&row.counted);
        let rows = rows.into_iter().filter(of);
        rows.map(|row| ((row.key(), row.until_unix_ns), row)).collect::<BTreeMap<_, _>>()
    };
    let (kept, made) = (by_key(kept), by_key(made));
    assert_eq!(kept.keys().collect::<Vec<_>>(), made.keys().collect::<Vec<_>>());
    let is_lost = |row: &Rollup| row.counted == Counted::Lost;
    let is_kernels = |name: &Option<String>| name.iter().any(|name| name.starts_with("kernel"));
    assert!(made.values().all(|row| !is_kernels(&row.role) && !is_kernels(&row.cause)));
    assert!(made.values().filter(|row| is_lost(row)).count() >= 3, "one each minute");
    assert_eq!(throttled(made.values()), (29, 29 * 270 * MS as u64));
    let storms = made.values().filter(|row| row.counted == Counted::Storm);
    let storm = |row: &Rollup| Storm {
        from_ns: row.from_unix_ns,
        until_ns: row.until_unix_ns,
        lost_ns: row.lost_ns as u64,
    };
    // Also those on the boundaries of minutes, which are two rows.
    let begins: Vec<i64> =
        united(storms.map(storm).collect(), false).iter().map(|s| s.from_ns / S).collect();
    let expected: Vec<i64> = [20].into_iter().chain((24..170).step_by(5)).collect();
    assert_eq!(begins, expected);
    for (kept, made) in kept.values().zip(made.values()) {
        let close = (kept.lost_ns - made.lost_ns).abs() <= made.lost_ns.abs() / 1000 + 1;
        assert!(close && kept.count.abs_diff(made.count) <= made.count / 1000, "{kept:?} {made:?}");
        if !is_lost(made) {
            let alike = Rollup { from_unix_ns: kept.from_unix_ns, ..made.clone() };
            assert_eq!(kept, &alike);
        }
    }
}

#[test]
fn a_watch_of_weeks_remembers_little() {
    let (mut losses, mut spans) = (Losses::default(), Spans::new(60 * S));
    for minute in 0..20_000 {
        let now_ns = BEGUN + minute * 60 * S;
        spans.advance(now_ns, minute * 60 * S);
        let row = row(1, Op::Read, minute * 60 * S, MS, 4096);
        losses.request(&row, &Commands::default(), &spans);
        let call = Call { begin_ns: now_ns, end_ns: Some(now_ns + MS), ..Call::default() };
        losses.call(&call);
        take(&mut losses, now_ns, &spans);
    }
    assert!(losses.open.len() <= 3 && losses.calls.len() <= 3, "{losses:?}");
}

/// The kernel tells once who changes a file, for as long as nobody else does.
#[test]
fn whose_a_file_is_is_known_after_a_thousand_other_roles() {
    let (mut losses, mut spans) = (Losses::default(), Spans::new(60 * S));
    spans.advance(BEGUN, 0);
    let file = FileNumber { file_system: 8 << 20, inode: 9, generation: 0 };
    for pid in 0..2000u32 {
        let title = format!("{pid}th");
        let (command, process) = (title.clone(), Some(u64::from(pid)));
        let title = Some(title);
        losses.learn(&Process { pid: pid.into(), process, command, title, ..<_>::default() });
        if pid == 900 {
            losses.changed(file, 5000, "dd");
        }
    }
    losses.forget(&(0..2000).collect::<Vec<u32>>());
    assert!(losses.owners.has_all());
    take(&mut losses, BEGUN + S, &spans);
    assert!(!losses.owners.has_all());
    losses.changed(FileNumber { inode: 10, ..file }, 5001, "cp");
    take(&mut losses, BEGUN + 2 * S, &spans);
    let kernel =
        Process { command: "kworker/u8:2-flush".into(), title: None, ..processes().swap_remove(0) };
    losses.learn(&Process { pid: 4, process: Some(4), ..kernel });
    let mut later = Actors::new(&Context::default(), None);
    later.learn_owners(&losses.owners);
    let of = |actors: &mut Actors, inode| {
        let number = FileNumber { inode, ..file };
        let key = Some(FileKey { kind: FileKind::Regular, number });
        let row = Request { pid: Some(4), op: Op::Write, file: key, ..Request::default() };
        let role = actors.of_request(&row, &Commands::default());
        actors.name(role).to_owned()
    };
    later.learn(losses.processes.get(&4).unwrap());
    assert_eq!([9, 10].map(|inode| of(&mut later, inode)), ["dd", "cp"]);
}

/// A reader alone, but for a second in which a writer comes, and for a device that stands still for
/// a while.
fn load_of_one() -> Vec<Request> {
    let mut rows = Vec::new();
    for number in 0..100 * 2000 {
        let begin_ns = number * MS / 2;
        let is_held_up = (30 * S..31 * S).contains(&begin_ns);
        let mut took_ns = if is_held_up { 3 * MS } else { 300_000 };
        took_ns += number * 104_729 % 97 * 1000;
        let stands_still = 70 * S + 20 * MS..70 * S + 220 * MS;
        if stands_still.contains(&(begin_ns + took_ns)) {
            took_ns = stands_still.end - begin_ns;
        }
        // A device that stands still takes only so many.
        if stands_still.contains(&(begin_ns - 2 * MS)) {
            continue;
        }
        rows.push(row(1, Op::Read, begin_ns, took_ns, 4096));
        if is_held_up && number % 5 == 0 {
            rows.push(row(2, Op::Write, begin_ns, 10 * MS, 1 << 20));
        }
    }
    rows.sort_by_key(|row| row.queued_ns);
    by_threads(&mut rows, true);
    rows
}

/// The quick reads of each 20 ms are told as one while the reader is alone, as the capture does;
/// and the other rows.
fn in_part_as_sums(rows: &[Request]) -> (Vec<Request>, Vec<Many>) {
    const POLL: i64 = 20 * MS;
    let mut spans = Spans::new(60 * S);
    spans.advance(BEGUN, 0);
    spans.reach(BEGUN + 200 * S);
    let mut sums: BTreeMap<i64, Many> = BTreeMap::new();
    let mut kept = Vec::new();
    let mut by_end: Vec<&Request> = rows.iter().collect();
    by_end.sort_by_key(|row| row.completed_ns);
    for row in by_end {
        let (begin_ns, end_ns) = (row.queued_ns.unwrap(), row.completed_ns.unwrap());
        let at_s = (end_ns - BEGUN) as f64 / S as f64;
        let is_reader = row.pid.is_some_and(|pid| pid % NEXT_THREAD == 1);
        let is_alone = !(30.0..33.0).contains(&at_s) && is_reader;
        let poll = end_ns.div_euclid(POLL);
        // What begins in one span is not summed up with what begins in the next one.
        let is_of_one = spans.of(begin_ns) == spans.of(poll * POLL);
        if !is_alone || !is_of_one || end_ns - begin_ns >= 1 << 22 {
            kept.push(*row);
            continue;
        }
        let (from_ns, until_ns) = (poll * POLL, (poll + 1) * POLL);
        let new = || Many { like: *row, from_ns, until_ns, ..Many::default() };
        let sum = sums.entry(poll).or_insert_with(new);
        sum.responses.record((end_ns - begin_ns) as u64);
        sum.bytes += u64::from(row.length_bytes);
    }
    kept.sort_by_key(|row| row.queued_ns);
    (kept, sums.into_values().collect())
}

/// What a watch keeps of rows, and of sums that come within a second.
fn kept_of(rows: &[Request], sums: &[Many]) -> Vec<Rollup> {
    kept_beside(&[], rows, sums)
}

/// The same beside calls.
fn kept_beside(calls: &[Call], rows: &[Request], sums: &[Many]) -> Vec<Rollup> {
    let (mut losses, mut spans) = (Losses::default(), Spans::new(60 * S));
    let (mut tally, commands) = (Tally::new(true), Commands::default());
    for process in &processes() {
        losses.learn(process);
        tally.learn(process);
    }
    calls.iter().for_each(|call| losses.call(call));
    spans.advance(BEGUN, 0);
    let show = |many: &Many, spans: &Spans, losses: &mut Losses, tally: &mut Tally| {
        tally.many(many, many.from_ns, &commands, spans);
        losses.many(many.clone());
    };
    let mut next = sums.iter().peekable();
    for row in rows {
        let now_ns = row.queued_ns.unwrap();
        spans.advance(now_ns, now_ns - BEGUN);
        while let Some(many) = next.next_if(|many| many.until_ns <= now_ns + S) {
            show(many, &spans, &mut losses, &mut tally);
        }
        tally.request(row, &Commands::default(), &spans);
        losses.request(row, &Commands::default(), &spans);
    }
    next.for_each(|many| show(many, &spans, &mut losses, &mut tally));
    let names = Names { device: &|number| number.to_string(), file: &|_| None };
    let mut kept = tally.take(&spans, &names);
    kept.extend(take(&mut losses, i64::MAX / 2, &spans));
    kept
}

/// What is known besides rows of a trace that has these sums.
fn context_of(sums: &[Many]) -> Context {
    let summed = sums.iter().map(|many| {
        let like = &many.like;
        let summed = Summed {
            device: like.device.into(),
            op: like.op,
            from_ns: many.from_ns,
            until_ns: many.until_ns,
            pid: like.pid.map(u64::from),
            other_pids: many.other_pids.iter().map(|pid| u64::from(*pid)).collect(),
            flags: Some(like.flags.0.into()),
            length_bytes: Some(like.length_bytes.into()),
            busy_from_ns: many.busy.map_or(0, |busy| busy.from_ns),
            busy_bits: many.busy.map_or(0, |busy| busy.bits),
            bytes: many.bytes,
            ..Summed::default()
        };
        summed.with_responses(&many.responses)
    });
    Context { processes: processes(), summed: summed.collect(), ..Context::default() }
}

/// The same of a trace that has these rows and sums, but for what is counted.
fn rolled_of(rows: &[Request], sums: &[Many]) -> Vec<Rollup> {
    let known = Known::new(context_of(sums), Selection::default()).without_files();
    let known = Arc::new(known.with_minutes_from(BEGUN));
    let first = known.minute_of(BEGUN);
    let mut rolled =
        Rolled::new(&known, &processes(), first..first + 3, -BEGUN, BEGUN..BEGUN + 100 * S);
    let names = Names { device: &|number| number.to_string(), file: &|_| None };
    rows.iter().for_each(|row| rolled.add(row, &Commands::default(), &names));
    rolled.finish(&names)
}

#[test]
fn a_rollup_of_sums_is_that_of_all_rows() {
    let rows = load_of_one();
    let (others, sums) = in_part_as_sums(&rows);
    assert!(others.len() * 20 < rows.len(), "{} of {}", others.len(), rows.len());
    let of = |rows: &[Rollup], counted: &[Counted]| -> Vec<Rollup> {
        rows.iter().filter(|row| counted.contains(&row.counted)).cloned().collect()
    };
    let of_rows = kept_of(&rows, &[]);
    let (watched, rolled) = (kept_of(&others, &sums), rolled_of(&others, &sums));
    // What is counted is the same to the last bucket.
    let counted = [Counted::Requests, Counted::Class, Counted::File];
    assert_eq!(of(&watched, &counted), of(&of_rows, &counted));
    for made in [watched, rolled] {
        let waits = |rows: &[Rollup]| -> Vec<_> {
            let waits = of(rows, &[Counted::Waits]).into_iter();
            waits.map(|row| (row.key(), row.from_unix_ns, row.count, row.sum_ns)).collect()
        };
        assert_eq!(waits(&made), waits(&of_rows));
        let (lost, expected) = (of(&made, &[Counted::Lost]), of(&of_rows, &[Counted::Lost]));
        assert_eq!((lost.len(), expected.len()), (2, 2), "to the writer, and to the device");
        for (lost, expected) in lost.iter().zip(&expected) {
            let key = |row: &Rollup| (row.key(), row.from_unix_ns);
            assert_eq!(key(lost), key(expected));
            // The slice in which a wait began: 20 ms at each edge of what was told singly.
            let bound_ns = 20 * MS + expected.lost_ns.abs() / 20;
            assert!((lost.lost_ns - expected.lost_ns).abs() <= bound_ns, "{lost:?} {expected:?}");
        }
    }
}

//! Made loads with a known cause, in virtual time: who is named, and how much was lost.

use super::*;
use crate::selection::Selection;
use model::record::{Context, CpuTime, Finding, Flags, Op, Process, Subject, Wait, WaitKind};

mod builds;
mod bulk;
mod cut;
pub(crate) mod deep;
mod evicted;
mod held;
mod instances;
mod layered;
mod on_files;
mod places;
mod run_queue;
mod selection;
mod watched;

const MS: i64 = 1_000_000;

/// A trace as it is made.
#[derive(Default)]
struct Load {
    rows: Vec<Request>,
    context: Context,
    /// Whether a thread has all of its process's requests in flight; else one at a time.
    is_deep: bool,
}

/// The numbers of a process's threads are so far from each other.
pub(crate) const NEXT_THREAD: u32 = 1000;

/// As if a thread waited for one request at a time: what overlaps is another one's of the process.
pub(crate) fn by_threads(rows: &mut [Request], has_calls: bool) {
    let mut ends_ns: HashMap<u32, Vec<i64>> = HashMap::new();
    for row in rows.iter_mut().filter(|row| Kind::of_request(row, has_calls).is_some()) {
        let (Some(pid), Some(begin_ns)) = (row.pid, row.queued_ns) else { continue };
        let threads = ends_ns.entry(pid).or_default();
        let free = threads.iter().position(|end_ns| *end_ns <= begin_ns).unwrap_or(threads.len());
        threads.resize(threads.len().max(free + 1), i64::MIN);
        threads[free] = row.completed_ns.unwrap_or(begin_ns);
        row.pid = Some(pid + free as u32 * NEXT_THREAD);
    }
}

impl Load {
    fn with(programs: &[&str]) -> Self {
        let process = |(number, title): (usize, &&str)| Process {
            pid: number as u64 + 1,
            process: Some(number as u64 + 1),
            command: (*title).to_owned(),
            title: Some((*title).to_owned()),
            ..Process::default()
        };
        let processes = programs.iter().enumerate().map(process).collect();
        Self { context: Context { processes, ..Context::default() }, ..Self::default() }
    }

    fn request(&mut self, pid: u32, op: Op, begin_ns: i64, took_ns: i64, length_bytes: u32) {
        self.rows.push(Request {
            device: 8 << 20,
            op,
            flags: if op == Op::Read { Flags::default() } else { Flags::BACKGROUND },
            length_bytes,
            pid: Some(pid),
            queued_ns: Some(begin_ns),
            issued_ns: Some(begin_ns),
            completed_ns: Some(begin_ns + took_ns),
            ..Request::default()
        });
    }

    /// A read every 2 ms for so many seconds, whose length depends on when it begins.
    fn reads(&mut self, pid: u32, seconds: i64, took_ns: impl Fn(i64) -> i64) {
        for number in 0..seconds * 500 {
            // Not all alike: chance has its part.
            let begin_ns = number * 2 * MS + (number * 7919 % 13) * 10_000;
            let chance_ns = (number * 104_729 % 97) * 1000;
            self.request(pid, Op::Read, begin_ns, took_ns(begin_ns) + chance_ns, 4096);
        }
    }

    /// As of a process with a thread for each request that is in flight.
    fn divide_among_threads(&mut self) {
        by_threads(&mut self.rows, !self.context.calls.is_empty());
        let of_rows = self.rows.iter().filter_map(|row| row.pid);
        let mut pids: Vec<u32> = of_rows.filter(|pid| *pid >= NEXT_THREAD).collect();
        pids.sort_unstable();
        pids.dedup();
        let processes = &mut self.context.processes;
        for pid in pids {
            let main = processes.iter().find(|of| of.pid == u64::from(pid % NEXT_THREAD));
            let thread = main.map(|main| Process { pid: pid.into(), ..main.clone() });
            processes.extend(thread);
        }
    }

    fn findings(self) -> Vec<Finding> {
        self.told(Selection::default())
    }

    fn told(mut self, selection: Selection) -> Vec<Finding> {
        self.rows.sort_by_key(|row| row.queued_ns);
        if !self.is_deep {
            self.divide_among_threads();
        }
        let known = Known::new(self.context, selection);
        whole(known, &self.rows, &Commands::default()).findings(&|_| "sda".to_owned())
    }
}

/// All minutes, one after the other.
fn whole(mut known: Known, rows: &[Request], commands: &Commands) -> Verdict {
    rows.iter().for_each(|row| known.homes().add(row));
    let mut minutes = Minutes::all(known);
    rows.iter().for_each(|row| minutes.add(row, commands));
    minutes.verdict()
}

/// Those who matter: victim, cause, and what was lost in s.
fn named(findings: &[Finding]) -> Vec<(String, String, f64)> {
    let value = |subject: &Subject, quantity: &str| {
        let mut of = findings.iter().filter(|f| f.subject == *subject && f.quantity == quantity);
        of.next().and_then(|f| f.value)
    };
    let matters = findings.iter().filter(|f| f.quantity == "matters" && f.value == Some(1.0));
    matters
        .map(|finding| {
            let Subject::Blame(of) = &finding.subject else { panic!() };
            let lost_ns = value(&finding.subject, "lost_ns").unwrap();
            (of.victim.clone(), of.cause.clone(), lost_ns / 1e9)
        })
        .collect()
}

fn values(findings: &[Finding], quantity: &str) -> Vec<f64> {
    findings.iter().filter(|f| f.quantity == quantity).filter_map(|f| f.value).collect()
}

/// Whether a moment is in the second half of every fifth second.
fn is_in_burst(ns: i64) -> bool {
    ns / (500 * MS) % 10 == 9
}

/// A storm goes on where the trace begins: what is before that is no part of its span.
#[test]
fn no_storm_begins_before_the_trace() {
    let mut load = Load::with(&["reader", "dd of=x"]);
    load.reads(1, 30, |ns| if ns < 500 * MS { 9 * MS } else { MS });
    for number in -250..0 {
        load.request(1, Op::Read, number * 2 * MS, 9 * MS, 4096);
    }
    for number in -50..50 {
        load.request(2, Op::Write, number * 10 * MS, 10 * MS, 1 << 20);
    }
    let findings = load.findings();
    let [from_ns, until_ns] =
        ["affected_from_ns", "affected_until_ns"].map(|of| values(&findings, of));
    assert_eq!((from_ns.len(), until_ns.len()), (1, 1), "{from_ns:?} {until_ns:?}");
    assert_eq!(from_ns, [0.0]);
    assert!((0.5e9..=0.61e9).contains(&until_ns[0]), "{until_ns:?}");
}

/// One wait in fifty takes 25 ms, and one of all 110 ms.
#[test]
fn the_tail_of_waits_is_told_beside_their_mean() {
    let mut load = Load::with(&["reader"]);
    load.reads(1, 120, |ns| match ns / (2 * MS) {
        25_000 => 110 * MS,
        number if number % 50 == 7 => 25 * MS,
        _ => MS,
    });
    let findings = load.findings();
    let [p99_ns, max_ns] = ["waited_p99_ns", "waited_max_ns"].map(|of| values(&findings, of));
    assert!(p99_ns.len() == 1 && (p99_ns[0] / 25e6 - 1.0).abs() < 0.005, "{p99_ns:?}");
    assert!(max_ns.len() == 1 && (110.0e6..110.2e6).contains(&max_ns[0]), "{max_ns:?}");
}

#[test]
fn reads_behind_a_neighbours_writes_are_his_doing_and_cost_what_they_cost() {
    let mut load = Load::with(&["reader", "dd of=x"]);
    load.reads(1, 30, |ns| if is_in_burst(ns) { 9 * MS } else { MS });
    for burst in 0..6 {
        for number in 0..50 {
            let begin_ns = (burst * 5000 + 4500 + number * 10) * MS;
            load.request(2, Op::Write, begin_ns, 10 * MS, 1 << 20);
        }
    }
    let findings = load.findings();
    let [(victim, cause, lost_s)] = &named(&findings)[..] else { panic!("{:?}", named(&findings)) };
    assert_eq!((victim.as_str(), cause.as_str()), ("reader", "dd"));
    // 6 bursts of 250 reads that took 8 ms more; a small part of it is the reader's own.
    assert!((10.5..12.1).contains(lost_s), "{lost_s}");
    let storms = findings.iter().filter(|f| f.quantity == "affected_from_ns");
    let begins: Vec<f64> = storms.filter_map(|f| f.value).map(|ns| ns / 1e9).collect();
    assert_eq!(begins.len(), 6);
    assert!(begins.iter().zip(0..).all(|(at, n)| (at - (5.0 * f64::from(n) + 4.5)).abs() <= 0.1));
    let period = values(&findings, "affected_period_ns");
    assert!(matches!(period[..], [ns] if (ns / 5e9 - 1.0).abs() < 0.05), "{period:?}");
}

#[test]
fn calm_loads_blame_nobody() {
    let mut alone = Load::with(&["reader"]);
    alone.reads(1, 20, |_| MS);
    let mut pair = Load::with(&["reader", "writer"]);
    pair.reads(1, 20, |_| MS);
    for number in 0..400 {
        pair.request(2, Op::Write, number * 50 * MS, 2 * MS, 8192);
    }
    let mut bursts = Load::with(&["reader", "writer"]);
    bursts.reads(1, 30, |_| MS);
    for number in 0..300 {
        bursts.request(
            2,
            Op::Write,
            (number / 50 * 5000 + number % 50 * 10) * MS,
            10 * MS,
            1 << 20,
        );
    }
    for (what, load) in [("alone", alone), ("a pair", pair), ("bursts that hurt nobody", bursts)] {
        assert_eq!(named(&load.findings()), [], "{what}");
    }
    assert_eq!(named(&Load::with(&[]).findings()), [], "nothing");
}

#[test]
fn a_device_that_pauses_by_itself_is_to_blame_itself() {
    let mut load = Load::with(&["reader"]);
    let pause = |ns: i64| ns / (100 * MS) % 100 == 50;
    // What comes meanwhile is completed at its end.
    load.reads(1, 30, |ns| if pause(ns) { 100 * MS - ns % (100 * MS) + MS } else { MS });
    let findings = load.findings();
    let [(victim, cause, lost_s)] = &named(&findings)[..] else { panic!("{:?}", named(&findings)) };
    assert_eq!((victim.as_str(), cause.as_str()), ("reader", "device"));
    // Requests go on around each pause, which alone is told as the time that it stood still.
    let [begins, ends] = ["affected_from_ns", "affected_until_ns"].map(|of| values(&findings, of));
    let pauses: Vec<(f64, f64)> =
        begins.iter().zip(&ends).map(|(from, until)| (from / 1e9, until / 1e9)).collect();
    assert_eq!(pauses.len(), 3, "{pauses:?}");
    for (number, (from_s, until_s)) in pauses.into_iter().enumerate() {
        let pause_s = 5.0 + 10.0 * number as f64;
        assert!((pause_s - 0.005..pause_s + 0.005).contains(&from_s), "{from_s}");
        assert!((pause_s + 0.095..pause_s + 0.105).contains(&until_s), "{until_s}");
    }
    // 3 pauses of 50 reads, which lose 100, 98, … 2 ms.
    assert!((7.55..7.70).contains(lost_s), "{lost_s}");
}

#[test]
fn what_took_long_while_cpus_were_stolen_is_the_hypervisors_doing_as_far_as_that_goes() {
    let is_stolen = |ns: i64| ns / (100 * MS) % 20 == 7;
    let findings = |stolen_ms: i64| {
        let mut load = Load::with(&["reader", "dd of=x"]);
        load.reads(1, 30, |ns| if is_stolen(ns) { 9 * MS } else { MS });
        // It is there all the time, so that it is in flight when CPUs are stolen.
        for number in 0..3000 {
            load.request(2, Op::Write, number * 10 * MS, 150_000, 4096);
        }
        let interval = |number: i64| CpuTime {
            io_stalled_ns: None,
            from_ns: number * 100 * MS,
            until_ns: (number + 1) * 100 * MS,
            cpus: 2,
            idle_ns: (100 * MS) as u64,
            stolen_ns: if is_stolen(number * 100 * MS) { (stolen_ms * MS) as u64 } else { 0 },
        };
        load.context.cpu_times = (0..300).map(interval).collect();
        load.findings()
    };
    // 15 slices of 50 reads that took 8 ms more.
    let whole = findings(200);
    let [(victim, cause, lost_s)] = &named(&whole)[..] else { panic!("{:?}", named(&whole)) };
    assert_eq!((victim.as_str(), cause.as_str()), ("reader", "stolen"));
    assert!((5.9..6.1).contains(lost_s), "{lost_s}");
    let of_run = |findings: &[Finding], name: &str| {
        findings.iter().find(|f| f.quantity == name).unwrap().clone()
    };
    assert_eq!(of_run(&whole, "cpu_stolen_percent").value.map(f64::round), Some(5.0));
    assert_eq!(of_run(&whole, "verdict_span_ns").verdict.name(), "suspect");
    // A tenth of the CPUs' time was stolen: of 15 times 50 reads of 9.05 ms no more than that.
    let part = findings(20);
    let lost = part
        .iter()
        .find(|f| f.quantity == "lost_ns" && f.subject.get("cause").as_deref() == Some("stolen"));
    let lost_s = lost.and_then(|f| f.value).unwrap() / 1e9;
    assert!((0.6..0.7).contains(&lost_s), "{lost_s}");
    assert_eq!(of_run(&part, "verdict_span_ns").verdict.name(), "ok");
}

#[test]
fn where_others_are_always_busy_their_time_is_taken_and_is_an_estimate() {
    let mut load = Load::with(&["reader", "dd of=x"]);
    load.reads(1, 20, |_| 9 * MS);
    for number in 0..2000 {
        load.request(2, Op::Write, number * 10 * MS, 10 * MS, 1 << 20);
    }
    let findings = load.findings();
    let [(_, cause, lost_s)] = &named(&findings)[..] else { panic!("{:?}", named(&findings)) };
    assert_eq!(cause, "dd");
    assert!((60.0..91.0).contains(lost_s), "of 90 s: {lost_s}");
    assert!(findings.iter().all(|f| f.quantity != "affected_mean_ns"), "there is no calm");
}

/// Three reads of 5 s behind somebody's writes: there are too few to compare, and much to tell.
#[test]
fn few_long_waits_are_lost_to_whom_the_disk_was_busy_for_and_few_short_ones_to_nobody() {
    let of = |ms: i64| {
        let mut load = Load::with(&["reader", "dd of=x"]);
        for at in 0..3 {
            load.request(1, Op::Read, at * 10_000 * MS, ms * MS, 4096);
            (0..ms / 10).for_each(|n| {
                load.request(2, Op::Write, (at * 10_000 + n * 10) * MS, 10 * MS, 1 << 20);
            });
        }
        load.findings()
    };
    let long = of(5000);
    let [(_, cause, lost_s)] = &named(&long)[..] else { panic!("{:?}", named(&long)) };
    assert_eq!(cause, "dd");
    assert!((12.0..15.1).contains(lost_s), "of 15 s: {lost_s}");
    let of_waits = |findings: &[Finding], name| {
        let of = |f: &&Finding| {
            f.quantity == name && f.subject.get("victim").as_deref() == Some("reader")
        };
        findings.iter().find(of).and_then(|f| f.value)
    };
    assert_eq!(of_waits(&long, "uncompared_count"), Some(3.0));
    assert_eq!(of_waits(&long, "calm_mean_ns"), None);
    let short = of(50);
    assert_eq!(named(&short), []);
    assert_eq!(of_waits(&short, "uncompared_count"), Some(3.0));
}

/// As of Redis, whose log is written by one of its threads while `dd` writes, too.
#[test]
fn without_calm_two_who_share_the_blame_are_both_named_and_one_with_little_is_not() {
    let mut load = Load::with(&["reader", "dd of=x", "tar", "cp"]);
    for at in 0..3 {
        load.request(1, Op::Read, at * 10_000 * MS, 5000 * MS, 4096);
        for n in 0..500 {
            let begin_ns = (at * 10_000 + n * 10) * MS;
            let (who, bytes) = if n % 10 == 0 { (4, 1 << 20) } else { (2 + n as u32 % 2, 1 << 20) };
            load.request(who, Op::Write, begin_ns, 10 * MS, bytes);
        }
    }
    let findings = load.findings();
    let named = named(&findings);
    let causes: Vec<&str> = named.iter().map(|(_, cause, _)| cause.as_str()).collect();
    assert_eq!(causes.len(), 2, "{named:?}");
    assert!(causes.contains(&"dd") && causes.contains(&"tar"), "{named:?}");
}

/// Eight reads ahead take 20 ms each while `dd` writes; the reader sleeps for the first alone, or
/// for none of them.
#[test]
fn what_is_read_ahead_is_waited_for_while_its_thread_sleeps() {
    let of = |slept_ms: i64| {
        let mut load = Load::with(&["reader", "dd of=x"]);
        for at in 0..200 {
            let begin_ns = at * 100 * MS;
            let took_ns = if at >= 100 { 20 * MS } else { MS / 2 };
            (0..8).for_each(|n| load.request(1, Op::Read, begin_ns + n, took_ns, 128 << 10));
            if at >= 100 {
                load.request(2, Op::Write, begin_ns, 20 * MS, 1 << 20);
            }
            if at >= 100 && slept_ms > 0 {
                load.context.waits.push(Wait {
                    kind: WaitKind::PageRead,
                    pid: 1,
                    begin_ns: begin_ns + 100,
                    end_ns: begin_ns + slept_ms * MS,
                    for_request: 1,
                    ..Wait::default()
                });
            }
        }
        load.rows.iter_mut().filter(|row| row.op == Op::Read).for_each(|row| {
            row.flags = Flags::READAHEAD;
        });
        load.context.processes.iter_mut().for_each(|process| process.waits_count = Some(1));
        named(&load.findings())
    };
    let slept = of(20);
    let [(victim, cause, lost_s)] = &slept[..] else { panic!("{slept:?}") };
    assert_eq!((victim.as_str(), cause.as_str()), ("reader", "dd"));
    // A hundred times 20 ms instead of half of one, of which half is for its own requests.
    assert!((0.85..1.1).contains(lost_s), "{lost_s}");
    assert_eq!(of(0), [], "nobody waited");
}

/// Names are looked up on a device that is not traced, by who reads on one that is.
#[test]
fn a_wait_for_a_request_that_is_not_traced_is_on_another_device() {
    for is_traced in [false, true] {
        let mut load = Load::with(&["finder", "busy"]);
        for number in 0..2000 {
            load.request(2, Op::Read, number * 5 * MS, 5 * MS, 1 << 20);
        }
        for number in 0..100 {
            let begin_ns = number * 100 * MS;
            load.request(1, Op::Read, begin_ns, MS, 4096);
            let waits_ns = begin_ns + 10 * MS;
            if is_traced {
                load.request(1, Op::Read, waits_ns - 10_000, 50 * MS + 10_000, 4096);
            }
            load.context.waits.push(Wait {
                kind: WaitKind::Request,
                pid: 1,
                begin_ns: waits_ns,
                end_ns: waits_ns + 50 * MS,
                for_request: 1,
                ..Wait::default()
            });
        }
        let findings = load.findings();
        let of_finder = Subject::class("role", "finder");
        let unplaced =
            findings.iter().find(|f| f.subject == of_finder && f.quantity == "unplaced_waits_ns");
        let expected = (!is_traced).then_some((100 * 50 * MS) as f64);
        assert_eq!(unplaced.and_then(|found| found.value), expected);
        // Its own requests, of 1 ms each, are behind those of busy, and nothing else is.
        let lost_s: f64 = named(&findings).iter().map(|(.., lost_s)| lost_s).sum();
        assert_eq!(lost_s > 0.1, is_traced, "{lost_s}");
        // Of all, and of the role.
        let untraced = values(&findings, "unplaced_untraced_ns");
        assert_eq!(untraced, Vec::from_iter(expected.into_iter().chain(expected)));
    }
}

/// A lock of a file system of which nothing is traced, one of no known file, and dirty pages, which
/// are the whole machine's.
#[test]
fn what_is_for_a_file_system_without_a_request_is_untraced() {
    let other = 9 << 20;
    let (lock, throttling) = (WaitKind::Lock, WaitKind::Throttling);
    for (kind, file_system, untraced) in [(lock, other, 2), (lock, 0, 0), (throttling, other, 0)] {
        let mut load = Load::with(&["finder", "busy"]);
        (0..100).for_each(|n| load.request(2, Op::Read, n * 100 * MS, 50 * MS, 4096));
        load.context.waits.push(Wait {
            kind,
            file_system,
            pid: 1,
            begin_ns: 10 * MS,
            end_ns: 60 * MS,
            ..Wait::default()
        });
        let findings = load.findings();
        // Of all, and of the role.
        assert_eq!(values(&findings, "unplaced_waits_ns"), [50e6; 2]);
        assert_eq!(values(&findings, "unplaced_untraced_ns"), vec![50e6; untraced]);
    }
}

#[test]
fn a_storm_of_long_waits_lasts_until_the_last_of_them_ends() {
    let mut load = Load::with(&["orders", "dd of=x"]);
    let call = |begin_ms: i64, took_ms: i64| Call {
        kind: model::record::CallKind::Fsync,
        file_system: 8 << 20,
        pid: 1,
        begin_ns: begin_ms * MS,
        end_ns: Some((begin_ms + took_ms) * MS),
        ..Call::default()
    };
    load.request(1, Op::Write, 0, MS, 4096);
    (0..900).for_each(|n| load.context.calls.push(call(10 * n + 5, 1)));
    for at in [10_000, 11_400, 12_800, 14_500] {
        load.context.calls.push(call(at, 1350));
        (0..130).for_each(|n| load.request(2, Op::Write, (at + 10 * n) * MS, 10 * MS, 1 << 20));
    }
    let number = model::record::FileNumber { file_system: 8 << 20, inode: 12, generation: 1 };
    load.rows[0].file = Some(FileKey { kind: model::record::FileKind::Regular, number });
    let findings = load.findings();
    let (from, until) =
        (values(&findings, "affected_from_ns"), values(&findings, "affected_until_ns"));
    // Behind dd, and in the gaps between its writes.
    assert!(!from.is_empty() && from.iter().all(|ns| (ns - 10e9).abs() < 0.2e9), "{from:?}");
    assert!(until.iter().all(|ns| (ns - 15.85e9).abs() < 0.3e9), "{until:?}");
}

#[test]
fn calls_wait_and_their_threads_requests_are_parts_of_them() {
    let mut load = Load::with(&["postgres: a b [local] COMMIT", "postgres: checkpointer"]);
    load.request(1, Op::Read, 0, MS, 4096);
    load.rows[0].file = Some(model::record::FileKey {
        kind: model::record::FileKind::Regular,
        number: model::record::FileNumber { file_system: 8 << 20, inode: 5, generation: 0 },
    });
    for number in 1..15_000 {
        let begin_ns = number * 2 * MS;
        let took_ns = if is_in_burst(begin_ns) { 6 * MS } else { MS };
        load.context.calls.push(Call {
            file_system: 8 << 20,
            inode: 5,
            pid: 1,
            begin_ns,
            end_ns: Some(begin_ns + took_ns),
            ..Call::default()
        });
        load.request(1, Op::Flush, begin_ns + 10, took_ns - 20, 0);
        if is_in_burst(begin_ns) {
            load.request(2, Op::Write, begin_ns, 2 * MS, 1 << 20);
        }
    }
    let findings = load.findings();
    let [(victim, cause, lost_s)] = &named(&findings)[..] else { panic!("{:?}", named(&findings)) };
    assert_eq!((victim.as_str(), cause.as_str()), ("postgres: backend", "postgres: checkpointer"));
    // 6 bursts of 250 calls that took 5 ms more, of which the own flush has a part.
    assert!((5.0..7.6).contains(lost_s), "{lost_s}");
    let waits = findings.iter().filter(|f| f.quantity == "waits_count");
    let kinds: Vec<_> = waits.filter_map(|f| f.subject.get("wait")).collect();
    assert_eq!(kinds, ["read", "fsync"], "no flush: it is a part of a call");
}

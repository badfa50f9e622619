//! The screen of made findings.

mod cpus;
mod on_file;
mod order;
mod selected;
mod unknown;

use super::*;
use model::record::subject::{Blame, File, Layer, Stack, Wait};
use model::record::{Interval, Subject, WaitKind};

fn wait(victim: &str, kind: &str, values: &[(&str, f64)]) -> Vec<Finding> {
    let subject =
        Subject::Wait(Wait { device: "vda".into(), victim: victim.into(), wait: kind.into() });
    of(&subject, values)
}

fn of(subject: &Subject, values: &[(&str, f64)]) -> Vec<Finding> {
    let found = |(name, value): &(&str, f64)| Finding::new(subject, name, Some(*value), 1, "");
    values.iter().map(found).collect()
}

fn blame(
    cause: &str,
    is_role: bool,
    values: &[(&str, f64)],
    storms: &[(f64, f64)],
) -> Vec<Finding> {
    let whole = Blame {
        cause: cause.into(),
        device: "vda".into(),
        file: None,
        is_role,
        storm: None,
        victim: "postgres: backend".into(),
        wait: "fdatasync".into(),
    };
    let mut findings = of(&Subject::Blame(whole.clone()), values);
    if let Some(lost) = findings.first_mut() {
        *lost = lost.clone().within(Interval::Comparison, (Some(22e9), Some(26e9)));
    }
    for (number, (from_ns, until_ns)) in storms.iter().enumerate() {
        let storm = Some(number as u64 + 1);
        let subject = Subject::Blame(Blame { storm, ..whole.clone() });
        let moments = [("affected_from_ns", *from_ns), ("affected_until_ns", *until_ns)];
        findings.extend(of(&subject, &moments));
    }
    findings
}

fn of_run() -> Vec<Finding> {
    let values = [
        ("verdict_span_ns", 90e9),
        ("files_known_percent", 99.5),
        ("file_calls_known_percent", 99.99),
    ];
    of(&Subject::this_run(), &values)
}

fn checkpoint() -> Vec<Finding> {
    let waited = [
        ("waits_count", 50_000.0),
        ("waited_ns", 76e9),
        ("calm_mean_ns", 1.5e6),
        ("waited_p99_ns", 25e6),
        ("waited_max_ns", 110e6),
    ];
    let lost = [
        ("lost_ns", 24e9),
        ("lost_percent", 31.4),
        ("matters", 1.0),
        ("lost_to_writes_percent", 30.0),
        ("lost_to_flushes_percent", 66.0),
        ("lost_to_reads_percent", 4.0),
        ("affected_mean_ns", 5.4e6),
        ("affected_calm_mean_ns", 1.5e6),
    ];
    let storms = [(12.3e9, 15e9), (42.4e9, 45e9)];
    let file = Subject::File(File { device: "vda".into(), file: "/data/pg_wal/*".into() });
    [
        of_run(),
        wait("postgres: backend", "fdatasync", &waited),
        blame("postgres: checkpointer", true, &lost, &storms),
        of(&file, &[("file_write_bytes", 4096.0), ("file_calls_count", 7.0)]),
    ]
    .concat()
}

#[test]
fn streams_of_a_storm_are_told_as_what_they_are() {
    let mut findings = checkpoint();
    for finding in &mut findings {
        match &mut finding.subject {
            Subject::Wait(wait) => wait.victim = "reader".into(),
            Subject::Blame(of) => (of.victim, of.cause) = ("reader".into(), "writer".into()),
            _ => {}
        }
    }
    let said = sentences(&findings).remove(0);
    assert!(said.starts_with("The reader lost 24.0 s waiting"), "{said}");
    assert!(said.contains("behind flushes and writes of the writer, in 2 storms"), "{said}");
}

#[test]
fn who_lost_how_much_how_when_and_because_of_whom_is_one_sentence() {
    let expected = "postgres: backend lost 24.0 s waiting for fdatasync on vda (31.4 % of its \
                    76.0 s), behind flushes and writes of postgres: checkpointer, in 2 storms. An \
                    affected wait took 5.40 ms instead of 1.50 ms on average; of all, p99 is \
                    25.0 ms, the longest 110 ms. Storms: 12.3 to 15.0 s, 42.4 to 45.0 s.";
    assert_eq!(sentences(&checkpoint()), [expected]);
}

#[test]
fn a_loss_stands_on_the_clock_of_its_trace() {
    let zero_ns = 1_763_800_535.9e9;
    let of = |storms: &[(f64, f64)]| {
        let lost = [("lost_ns", 24e9), ("matters", 1.0), ("clock_zero_unix_ns", zero_ns)];
        let run = of(&Subject::this_run(), &[("clock_zero_unix_ns", zero_ns)]);
        sentences(&[of_run(), run, blame("dd", true, &lost, storms)].concat())
    };
    let one = of(&[(11.9e9, 14.2e9)]);
    let expected = "behind dd, from 11.9 to 14.2 s (08:35:47Z to 08:35:50Z).";
    assert!(one[0].contains(expected), "{one:?}");
    assert_eq!(one.last().unwrap(), "Times count from 2025-11-22 08:35:35.9Z (UTC).");
    let short = of(&[(11.2e9, 11.4e9), (41.6e9, 41.8e9)]);
    let expected = "Storms: 11.2 to 11.4 s (08:35:47Z), 41.6 to 41.8 s (08:36:17Z).";
    assert!(short[0].ends_with(expected), "{short:?}");
    let whole = of(&[(0.0, 40e9), (42e9, 90e9)]);
    assert!(whole[0].contains("behind dd, from 0.0 to 90.0 s (08:35:35Z to "), "{whole:?}");
    let long = of(&[(3723e9, 3724e9), (9000e9, 9001e9)]);
    assert!(long[0].contains("Storms: 01:02:03 to 01:02:04 (09:37:38Z to 09:37:39Z)"), "{long:?}");
}

#[test]
fn storms_that_come_regularly_have_a_period() {
    let of = |begins: &[f64], period_ns: Option<f64>| {
        let period = period_ns.map(|ns| ("affected_period_ns", ns));
        let lost: Vec<_> =
            [("lost_ns", 24e9), ("matters", 1.0)].into_iter().chain(period).collect();
        let storms: Vec<(f64, f64)> =
            begins.iter().map(|at| (at * 1e9, (at + 1.0) * 1e9)).collect();
        sentences(&[of_run(), blame("dd", true, &lost, &storms)].concat()).remove(0)
    };
    let regular = of(&[5.0, 15.0, 25.1, 45.0, 55.0], Some(10e9));
    assert!(regular.contains(", in 5 storms, one every 10.0 s."), "{regular}");
    let first = "The first storms: 5.0 to 6.0 s, 15.0 to 16.0 s, 25.1 to 26.1 s.";
    assert!(regular.ends_with(first), "{regular}");
    assert!(of(&[5.0, 15.0, 18.0, 49.0], None).contains(", in 4 storms."));
}

#[test]
fn who_held_the_lock_is_said_to_have_held_it() {
    let of = |held_ns| {
        let lost = [("lost_ns", 24e9), ("matters", 1.0), ("lock_held_ns", held_ns)];
        sentences(&[of_run(), blame("keeper", true, &lost, &[])].concat()).remove(0)
    };
    assert!(of(23e9).contains("behind keeper, which held the lock"), "{}", of(23e9));
    assert!(!of(3e9).contains("lock"), "{}", of(3e9));
}

/// A logger that is throttled, and the kernel's pressure, of which so many percent were seen.
fn throttled(seen_percent: f64) -> Vec<Finding> {
    let blame = Blame {
        cause: "dd".into(),
        device: "vda".into(),
        file: None,
        is_role: true,
        storm: None,
        victim: "logger".into(),
        wait: WaitKind::Throttling.name().into(),
    };
    let lost = [
        ("lost_ns", 8e9),
        ("lost_percent", 98.0),
        ("matters", 1.0),
        ("affected_mean_ns", 162e6),
        ("lost_to_writes_percent", 98.0),
    ];
    let pressure = [
        ("verdict_span_ns", 30e9),
        ("io_pressure_ns", 12e9),
        ("io_pressure_percent", 40.0),
        ("io_pressure_seen_percent", seen_percent),
    ];
    let mut findings = of(&Subject::this_run(), &pressure);
    findings.extend(wait("logger", "dirty throttling", &[("waits_count", 49.0)]));
    findings.extend(of(&Subject::Blame(blame), &lost));
    findings
}

#[test]
fn who_is_throttled_is_told_with_a_remedy_and_the_kernels_own_count() {
    let said = sentences(&throttled(99.0));
    let lost = "logger lost 8.00 s waiting for dirty pages to be written on vda (98.0 % of its ";
    assert!(said[0].starts_with(lost), "{said:?}");
    assert!(said[0].ends_with("behind writes of dd. An affected wait took 162 ms on average."));
    assert!(said[1].contains("lbolt storm --remedies dirty-early"), "{said:?}");
    let seen = "counts 12.0 s of 30.0 s (40.0 %) in which a thread of the machine waited for I/O \
        (PSI); this trace shows 99.0 %";
    assert!(said[2].contains(seen), "{said:?}");
}

#[test]
fn all_is_not_clear_where_the_kernel_counts_much_that_was_not_seen() {
    let mut findings = throttled(30.0);
    findings.retain(|finding| !matches!(finding.subject, Subject::Blame(_)));
    let said = sentences(&findings);
    assert!(said[0].starts_with("Unknown whether anybody waited long for others"), "{said:?}");
    assert!(said[1].contains("shows only 30.0 % of it"), "{said:?}");
    for finding in &mut findings {
        let is_seen = finding.quantity == "io_pressure_seen_percent";
        finding.value = if is_seen { Some(98.0) } else { finding.value };
    }
    assert!(sentences(&findings)[0].starts_with("Nobody waited long for others"));
    let mut of_cgroup = |seen_percent| {
        let of_cgroup = [
            ("io_pressure_ns", 3.2e9),
            ("io_pressure_percent", 4.0),
            ("io_pressure_seen_percent", seen_percent),
        ];
        findings.extend(of(&Subject::class("cgroup", "/shop.slice"), &of_cgroup));
        sentences(&findings)
    };
    let said = of_cgroup(98.0);
    assert!(said[0].starts_with("Nobody waited long for others"));
    assert!(said[1].ends_with(" By cgroup: /shop.slice 3.20 s (98.0 % shown)."), "{said:?}");
    assert!(of_cgroup(50.0)[0].starts_with("Unknown"), "of a cgroup, too");
    // A thread that hangs, of which nobody knows for which device.
    let unplaced = [("unplaced_waits_count", 1.0), ("unplaced_waits_ns", 1.5e9)];
    findings.extend(of(&Subject::this_run(), &unplaced));
    findings.extend(of(&Subject::class("role", "cargo"), &unplaced));
    let said = sentences(&findings).remove(0);
    assert!(
        said.starts_with("Unknown") && said.contains("1.50 s without a request (cargo 1.50 s)"),
        "{said}"
    );
}

#[test]
fn who_waits_shortly_and_often_is_named_where_much_was_not_seen() {
    let mut findings = throttled(40.0);
    for (role, ns) in [("hog", 23.7e9), ("reader", 0.1e9)] {
        findings.extend(of(&Subject::class("role", role), &[("short_waits_ns", ns)]));
    }
    let said = sentences(&findings).join(" ");
    assert!(said.contains("or below 1 ms (hog 23.7 s)."), "{said}");
}

#[test]
fn who_waits_for_a_thread_stands_with_what_that_one_lost() {
    let mut findings = checkpoint();
    let blame = |finding: &&Finding| matches!(finding.subject, Subject::Blame(_));
    let sleeper = |victim: &str, part: f64| -> Vec<Finding> {
        let of = findings.iter().filter(blame).cloned().map(|mut finding| {
            if let Subject::Blame(of) = &mut finding.subject {
                (of.wait, of.victim) = (format!("thread of {}", of.victim), victim.to_owned());
            }
            if finding.quantity == "lost_ns" {
                finding.value = finding.value.map(|ns| ns * part);
            }
            finding
        });
        of.collect()
    };
    let more = [("pgbench", 2.0), ("postgres: backend", 3.0), ("idler", 0.01)];
    let more: Vec<Finding> = more.iter().flat_map(|(who, part)| sleeper(who, *part)).collect();
    findings.extend(more);
    let said = sentences(&findings);
    let expected =
        " Waiting for it, other threads of postgres: backend lost 72.0 s and pgbench lost 48.0 s.";
    assert!(said[0].contains(expected), "{said:?}");
    let place = |words: &str| said[0].find(words).unwrap();
    assert!(place(expected) < place(" An affected wait took"), "who is hurt, before how: {said:?}");
    assert!(!said.iter().any(|line| line.starts_with("pgbench")), "{said:?}");
    let shown = Shown { role: Some("pgbench".to_owned()), ..Shown::default() };
    let of_pgbench = screen(&findings, &shown, None);
    let expected = "pgbench lost 48.0 s waiting for a thread of postgres: backend on vda";
    assert!(of_pgbench.starts_with(expected), "{of_pgbench}");
    // Where that thread's own loss is too little, theirs is no all-clear.
    findings.retain(|finding| match &finding.subject {
        Subject::Blame(of) => of.wait.starts_with("thread of "),
        _ => true,
    });
    let said = sentences(&findings);
    let expected = "postgres: backend lost 72.0 s waiting for a thread of postgres: backend on vda";
    assert!(said[0].starts_with(expected), "{said:?}");
    assert!(said[0].contains(" Waiting for it, pgbench lost 48.0 s."), "{said:?}");
}

#[test]
fn the_screen_has_at_most_40_lines_of_100_columns() {
    let mut findings = checkpoint();
    for number in 0..50u32 {
        let device = Subject::class("device", &format!("sd{number}"));
        findings.extend(of(&device, &[("requested_count", 7.0)]));
        let lost = [("lost_ns", 1e9), ("lost_percent", 9.0), ("matters", 1.0)];
        let times: Vec<(f64, f64)> =
            (0..9).map(|n| (f64::from(n) * 7e9, f64::from(n) * 8e9)).collect();
        findings.extend(blame(&format!("a cause with a long name {number}"), true, &lost, &times));
        let name =
            format!("{} {number}", "a role with a very long name, as titles may be ".repeat(4));
        findings.extend(wait(&name, "fsync", &[("waits_count", 1e6), ("waited_ns", 1e9)]));
        let path = format!("/{}/{number}", "folder/".repeat(40));
        let file = Subject::File(File { device: "vda".into(), file: path });
        findings.extend(of(&file, &[("file_read_bytes", 1e12), ("file_calls_mean_ns", 1e9)]));
    }
    for width in [None, Some(80), Some(250)] {
        let text = screen(&findings, &Shown::default(), width);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        let limit = width.map_or(100, |width| usize::from(width.min(160)));
        assert!((25..=35).contains(&text.lines().count()), "{text}");
        assert!(widest <= limit, "{width:?}: {widest}\n{text}");
    }
}

/// What a capture says of itself stands below, of a busy machine more.
#[test]
fn there_are_fewer_rows_above_what_belongs_to_the_screen() {
    let device = |number: u32| Subject::class("device", &format!("sd{number}"));
    let found = |number| of(&device(number), &[("requested_count", 7.0)]);
    let findings: Vec<Finding> = (0..50).flat_map(found).collect();
    let above = |below| screen_above(&findings, &Shown::default(), None, below).lines().count();
    assert!(above(28) <= 12 && above(28) < above(0), "{} {}", above(28), above(0));
}

/// A row is one line in a terminal of any width, and no name is cut where there is room for it.
#[test]
fn tables_take_the_terminal_that_there_is() {
    let mut findings = checkpoint();
    let name = "a collector of metrics, of the second site";
    for finding in &mut findings {
        match &mut finding.subject {
            Subject::Wait(wait) => wait.victim = name.into(),
            Subject::Blame(of) => of.victim = name.into(),
            _ => {}
        }
    }
    for width in [72, 80, 100, 120, 160, 250] {
        let text = screen(&findings, &Shown::default(), Some(width));
        let tables: Vec<&str> = text.split("\n\n").filter(|part| part.contains("──")).collect();
        let lines: Vec<usize> = tables.iter().map(|table| table.lines().count()).collect();
        assert_eq!(lines, [4, 4, 4], "a heading, heads, a line and one row each: {text}");
        assert!(text.lines().all(|line| line.chars().count() <= width.into()), "{width}: {text}");
        let is_whole = tables[1].contains(name) && tables[0].contains(name);
        assert_eq!(is_whole, width >= 160, "{width}: {text}");
    }
}

#[test]
fn where_nothing_matters_one_sentence_says_what_was_looked_for() {
    let waited = [("waits_count", 500.0), ("waited_ns", 1e9)];
    let lost = [("lost_ns", 3e6), ("lost_percent", 0.3), ("matters", 0.0)];
    let findings =
        [of_run(), wait("postgres: backend", "fdatasync", &waited), blame("dd", true, &lost, &[])]
            .concat();
    let [line] = &sentences(&findings)[..] else { panic!() };
    assert!(
        line.starts_with("Nobody waited long for others: none of 500 waits in 90.0 s"),
        "{line}"
    );
    assert!(
        line.contains("postgres: backend lost most, 3.00 ms (0.300 % of its waiting) behind dd"),
        "{line}"
    );
    // A loss that may be nothing at all.
    let mut findings = findings;
    for finding in findings.iter_mut().filter(|finding| finding.quantity == "lost_ns") {
        *finding = finding.clone().within(Interval::Comparison, (Some(-51e6), Some(57e6)));
    }
    let [line] = &sentences(&findings)[..] else { panic!() };
    assert!(line.ends_with("was much longer because of them."), "{line}");
    let [line] = &sentences(&of_run())[..] else { panic!() };
    assert!(line.starts_with("Nobody waited: no thread waited for a read"), "{line}");
}

/// Where quick requests have neither rows nor sums, what usual waits take is not known.
#[test]
fn a_trace_of_slow_requests_alone_is_no_all_clear() {
    let unknown = "Unknown whether anybody waited long for others";
    for (quick, verdict) in [(0.0, unknown), (992.0, "Nobody waited long for others")] {
        let counts = [("slower_than_ns", 1e6), ("requests_count", 8.0), ("summed_count", quick)];
        let waits = wait("redis", "read", &[("waits_count", 8.0), ("waited_ns", 16e6)]);
        let said = sentences(&[of_run(), of(&Subject::this_run(), &counts), waits].concat());
        assert!(said[0].starts_with(verdict), "{said:?}");
        assert!(said[1].starts_with("Only requests of 1.00 ms or longer"), "{said:?}");
        assert_eq!(said[1].contains("8 of 1000"), quick > 0.0, "{said:?}");
    }
}

/// Where nothing was found because little was seen, nobody knows.
#[test]
fn a_trace_that_lacks_completions_or_events_is_no_all_clear() {
    let waits = wait("redis", "fdatasync", &[("waits_count", 1.0), ("waited_ns", 1e6)]);
    let of = |more: &[Finding]| sentences(&[&of_run(), more].concat()).remove(0);
    let whole = Subject::class("whole", "all");
    let of_whole = |completed| {
        let values = [("requested_count", 4.0), ("completed_count", completed)];
        self::of(&whole, &values)
    };
    let unknown = "Unknown whether anybody waited long for others: ";
    let expected = format!("{unknown}the trace does not tell when its requests were completed.");
    assert_eq!(of(&of_whole(0.0)), expected);
    assert!(of(&of_whole(4.0)).starts_with("Nobody waited: "));
    let lost =
        |count| self::of(&Subject::this_run(), &[("lost_count", count), ("events_count", 900.0)]);
    let clear = "Nobody waited long for others: the only wait in 90.0 s (reads, direct writes, \
                 flushes, fsync) was not much longer because of them.";
    assert_eq!(of(&waits), clear);
    let rest = "That is of what was seen: the trace lacks 9.91 % of its events.";
    assert_eq!(of(&[waits.clone(), lost(99.0)].concat()), format!("{clear} {rest}"));
    let expected = format!(
        "{unknown}the only wait in 90.0 s (reads, direct writes, flushes, fsync) was not much \
         longer because of others, but the trace lacks 10.0 % of its events."
    );
    assert_eq!(of(&[waits, lost(100.0)].concat()), expected);
}

#[test]
fn what_had_no_calm_to_be_compared_with_is_no_all_clear() {
    let waited = [("waits_count", 500.0), ("waited_ns", 10e9)];
    let of = |uncompared_ns| {
        let uncompared = [("uncompared_count", 22.0), ("uncompared_ns", uncompared_ns)];
        sentences(
            &[of_run(), wait("redis", "fdatasync", &[&waited[..], &uncompared].concat())].concat(),
        )
        .remove(0)
    };
    let expected = "Unknown whether anybody waited long for others: 22 of 500 waits in 90.0 s \
                    (reads, direct writes, flushes, fsync), 8.10 s of waiting, have no calm \
                    period to compare with. A longer trace may have one.";
    assert_eq!(of(8.1e9), expected);
    let few = of(0.5e9);
    assert!(few.starts_with("Nobody waited long for others: none of 500 waits"), "{few}");
    assert!(few.ends_with("22 of them, 500 ms of waiting, have no calm period to compare with."));
}

#[test]
fn the_device_itself_and_what_is_held_back_are_no_roles() {
    let lost = [("lost_ns", 24e9), ("lost_percent", 31.4), ("matters", 1.0)];
    let of = |cause, is_role| sentences(&[of_run(), blame(cause, is_role, &lost, &[])].concat());
    assert!(of("device", false)[0].contains("because the device itself stood still"));
    assert!(
        of("held", false)[0].contains("for an unknown reason while no request was at the device")
    );
    assert!(of("device", true)[0].contains("behind device"), "a program of that name");
}

#[test]
fn what_was_selected_of_the_time_is_a_line() {
    let times =
        [("whole_until_ns", 70.2e9), ("selected_from_ns", 26.8e9), ("selected_until_ns", 30e9)];
    let findings = of(&Subject::this_run(), &times);
    assert_eq!(selected(&findings).unwrap(), "Of the trace's 70.2 s, 26.8 to 30 s.");
    assert_eq!(selected(&checkpoint()), None);
}

#[test]
fn what_makes_every_figure_doubtful_is_said_behind_the_verdict() {
    let mut findings = checkpoint();
    findings[0] = Finding {
        verdict: model::record::Verdict::Suspect,
        doubts: vec![model::record::Doubt::refused("events were lost")],
        ..findings[0].clone()
    };
    let lines = sentences(&findings);
    assert!(lines.len() == 2 && lines[1].starts_with("Every figure is suspect: "), "{lines:?}");
}

#[test]
fn what_the_hypervisor_took_and_cpus_that_are_never_idle_are_said() {
    let lost = [("lost_ns", 24e9), ("lost_percent", 31.0), ("matters", 1.0)];
    let findings = [
        of_run(),
        of(&Subject::this_run(), &[("cpu_idle_percent", 1.25), ("cpu_stolen_ns", 0.58e9)]),
        blame("stolen", false, &lost, &[(1e9, 2e9)]),
    ]
    .concat();
    let lines = sentences(&findings);
    let of = "while the hypervisor gave this machine's CPUs to others (it took 580 ms of CPU time \
              in all), from 1.0 to 2.0 s.";
    assert!(lines[0].contains(of), "{lines:?}");
    assert!(lines[1].starts_with("The CPUs were 98.8 % busy"), "{lines:?}");
    assert!(screen(&findings, &Shown::default(), None).contains("(the hypervisor)"));
}

#[test]
fn stacks_in_which_threads_waited_most_come_first_and_are_folded_with_their_role() {
    let stack = |role: &str, user: &str, kernel: &str, response_ns: f64| {
        let (device, role) = ("vda".to_owned(), role.to_owned());
        let subject = Subject::Stack(Stack {
            device,
            kernel: kernel.to_owned(),
            role,
            user: user.to_owned(),
        });
        let values = [
            ("stack_requests_count", 7.0),
            ("stack_bytes", 4096.0),
            ("stack_response_ns", response_ns),
        ];
        of(&subject, &values)
    };
    let busy = stack("dd", "main;write", "do_syscall_64;ext4_writepages;submit_bio_wait", 9e9);
    let blamed = stack("postgres: checkpointer", "", "kthread;wb_workfn", 1e9);
    let mut findings = [busy, blamed].concat();
    let rows = |findings: &[Finding]| -> Vec<String> {
        let shown = Shown { by: Some("stack".to_owned()), ..Shown::default() };
        screen(findings, &shown, None).lines().skip(3).map(str::to_owned).collect()
    };
    let first = &rows(&findings)[0];
    let by = "main > write > do_syscall_64 > ext4_writepages";
    assert!(first.starts_with("dd") && first.contains(by), "{first}");
    if let Subject::Stack(of_blamed) = findings[3].subject.clone() {
        findings.extend(of(&Subject::Stack(of_blamed), &[("stack_waited_ns", 2e9)]));
    }
    let first = &rows(&findings)[0];
    assert!(first.starts_with("postgres: checkpointer") && first.contains("2.00 s"), "{first}");
    let text = folded(&findings, &Shown::default(), WEIGHTS[0].1);
    let lines = [
        "postgres: checkpointer;kthread;wb_workfn 7\n",
        "dd;main;write;do_syscall_64;ext4_writepages;submit_bio_wait 7\n",
    ];
    assert_eq!(text, lines.concat());
}

/// A stack is one thing: its layers stand in a table of their own, and not among the devices.
#[test]
fn a_stack_is_shown_layer_by_layer_and_its_top_among_the_devices() {
    let device = |name: &str, beneath: f64| {
        let values = [("requested_count", 1000.0), ("beneath_count", beneath)];
        of(&Subject::class("device", name), &values)
    };
    let layer = |name: &str, own: f64, unfollowed: f64| {
        let subject = Subject::Layer(Layer { device: "crypt".into(), layer: name.into() });
        let values = [
            ("layer_requests_count", 1000.0),
            ("layer_response_ns", 1e9),
            ("layer_own_mean_ns", own * 1e4),
            ("layer_own_p99_ns", own * 3e4),
            ("layer_own_percent", own),
            ("layer_unfollowed_percent", unfollowed),
        ];
        of(&subject, &values)
    };
    let told = |unfollowed: f64| {
        [
            of_run(),
            device("crypt", 0.0),
            device("md9", 1000.0),
            device("nvme0n1", 900.0),
            device("nvme1n1", 100.0),
            layer("crypt", 20.0, 0.0),
            layer("md9", 5.0, unfollowed),
            layer("nvme0n1", 45.0, 0.0),
            layer("nvme1n1", 30.0 - unfollowed, 0.0),
        ]
        .concat()
    };
    let findings = told(0.0);
    let text = screen(&findings, &Shown::default(), None);
    let (devices, layers) = text.split_once("Layers").unwrap();
    assert!(devices.contains("crypt") && !devices.contains("md9"), "{text}");
    // Most of what it did was asked of it directly.
    assert!(!devices.contains("nvme0n1") && devices.contains("nvme1n1"), "{text}");
    let at = |name: &str| layers.find(name).unwrap();
    assert!(at("crypt") < at("md9") && at("md9") < at("nvme0n1"), "{text}");
    assert!(layers.contains("20.0 %") && layers.contains("200 µs"), "{text}");
    assert!(!layers.contains("not followed"), "{text}");
    let text = screen(&told(3.0), &Shown::default(), None);
    assert!(text.contains("not followed") && text.contains("3.00 %"), "{text}");
    let by = |by: &str| Shown { by: Some(by.into()), ..Shown::default() };
    let text = screen(&findings, &by("device"), None);
    assert!(text.contains("md9"), "all of them, where devices are asked for: {text}");
}

/// As in iostat: a trim of 794 MiB is neither read nor written.
#[test]
fn discards_stand_in_a_column_of_their_own_where_there_are_any() {
    let device = |values: &[(&str, f64)]| of(&Subject::class("device", "vda"), values);
    let moved = ("requested_bytes", 186.0 * 1048576.0);
    let text = |values: &[(&str, f64)]| {
        screen(&[of_run(), device(values)].concat(), &Shown::default(), None)
    };
    let with = text(&[moved, ("discarded_bytes", 794.0 * 1048576.0)]);
    assert!(["186 MiB", "discarded", "794 MiB"].iter().all(|word| with.contains(word)), "{with}");
    let without = text(&[moved]);
    assert!(without.contains("186 MiB") && !without.contains("discarded"), "{without}");
}

#[test]
fn the_files_heading_says_of_how_much_the_names_are_known_and_never_rounds_up_to_all() {
    let all = screen(&checkpoint(), &Shown::default(), None);
    let heading = "Files (name at the time known for 99.5 % of bytes and 99.9 % of fsyncs)";
    assert!(all.contains(heading), "{all}");
}

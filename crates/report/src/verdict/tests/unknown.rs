//! What a trace would not show is no all-clear.

use super::*;

/// A trace that would not show a wait says nothing of waits.
#[test]
fn what_a_trace_does_not_tell_is_no_all_clear() {
    let of = |told: f64, requests: f64, more: &[Finding]| {
        let known = [("calls_told", told), ("requests_count", requests)];
        let findings = [of_run(), self::of(&Subject::this_run(), &known), more.to_vec()].concat();
        sentences(&findings).remove(0)
    };
    let unknown = "Unknown whether anybody waited long for others: ";
    for (requests, why) in
        [(0.0, "the trace has no requests"), (7.0, "to have waited for one of 7 requests")]
    {
        let said = of(0.0, requests, &[]);
        assert!(said.starts_with(unknown) && said.contains(why), "{said}");
        assert!(said.contains("does not tell calls such as fsync"), "{said}");
        let said = of(1.0, requests, &[]);
        assert!(said.starts_with("Nobody waited: no thread waited for a read"), "{said}");
        assert!(said.contains(&format!("({requests} requests, calls and waits")), "{said}");
    }
    // Nothing was seen, and much was not.
    let lost = self::of(&Subject::this_run(), &[("lost_count", 100.0), ("events_count", 900.0)]);
    assert!(of(1.0, 7.0, &lost).starts_with(unknown));
    let pressure = [("io_pressure_percent", 90.0), ("io_pressure_seen_percent", 0.0)];
    assert!(of(1.0, 7.0, &self::of(&Subject::this_run(), &pressure)).starts_with(unknown));
    let waits = wait("redis", "read", &[("waits_count", 500.0), ("waited_ns", 1e9)]);
    let said = of(0.0, 500.0, &waits);
    assert!(said.starts_with("Nobody waited long for others: none of 500 waits in 90.0 s"));
    assert!(said.contains("flushes; the trace does not tell fsync)"), "{said}");
}

/// Requests that hang are in no wait: all is not clear, and beside losses they are told of.
#[test]
fn requests_without_a_completion_are_no_all_clear() {
    let run = Subject::this_run();
    let open = |longest_ns: f64, count: u64, lost: f64| {
        let longest = Finding::new(&run, "unanswered_longest_ns", Some(longest_ns), count, "");
        let events = [("lost_count", lost), ("events_count", 9e6)];
        [vec![longest], self::of(&run, &events)].concat()
    };
    let waits = wait("redis", "read", &[("waits_count", 500.0), ("waited_ns", 1e9)]);
    let said = |open: Vec<Finding>| sentences(&[of_run(), waits.clone(), open].concat()).remove(0);
    assert_eq!(
        said(open(60e9, 30, 29.0)),
        "Unknown whether anybody waited long for others: 30 requests have no completion in the \
         trace, the first of them made 60.0 s before its end: they hang, or their completions are \
         missing."
    );
    // In flight as the trace ended, or no more than what was lost.
    for open in [open(1e6, 30, 0.0), open(60e9, 30, 30.0)] {
        assert!(said(open).starts_with("Nobody waited long for others"));
    }
    let beside = sentences(&[checkpoint(), open(60e9, 1, 0.0)].concat());
    assert!(beside[0].starts_with("postgres: backend lost"), "{beside:?}");
    let one = "1 request has no completion in the trace, made 60.0 s before its end: it hangs, or \
               its completion is missing.";
    assert!(beside.iter().any(|line| line == one), "{beside:?}");
}

#[test]
fn devices_that_are_taken_for_one_are_told() {
    let name = model::record::requests::other_devices();
    let one = self::of(&Subject::class("device", &name), &[("requested_count", 12.0)]);
    let said = sentences(&[checkpoint(), one].concat());
    let told = "The trace names more than 6143 devices: 12 requests of the others count as those \
                of one.";
    assert!(said.iter().any(|line| line == told), "{said:?}");
    assert!(!sentences(&checkpoint()).iter().any(|line| line.contains("devices")));
}

/// Where roles are selected, their all-clear is held to the same: they may be behind any wait.
#[test]
fn what_is_unknown_of_selected_roles_is_no_all_clear() {
    let run = Subject::this_run();
    let waited = |victim: &str, unknown: f64| {
        let values = [("waits_count", 500.0), ("waited_ns", 9e9)];
        let unknown = [("uncompared_count", unknown), ("uncompared_ns", unknown * 18e6)];
        wait(victim, "fdatasync", &[&values[..], &unknown].concat())
    };
    let shown = Shown { role: Some("db".into()), ..Shown::default() };
    let said = |more: &[Finding]| {
        let findings = [&of_run(), more].concat();
        answer(&findings, &shown).remove(0).sentence
    };
    let unknown =
        "Unknown whether the selected roles waited long for others or kept them waiting: ";
    let clear = "The selected roles neither waited long for others nor kept them waiting in 90.0 s";
    let calm = waited("db", 0.0);
    assert_eq!(said(&calm), format!("{clear} (reads, direct writes, flushes, fsync)."));
    let with = |more: Vec<Finding>| said(&[calm.clone(), more].concat());
    let counts = [("requested_count", 4.0), ("completed_count", 0.0)];
    let whole = self::of(&Subject::class("whole", "all"), &counts);
    assert!(with(whole).starts_with(unknown));
    let lost = [("lost_count", 100.0), ("events_count", 900.0)];
    let lost = with(self::of(&run, &lost));
    assert!(lost.starts_with(unknown) && lost.contains("lacks 10.0 % of its events"), "{lost}");
    let own = said(&waited("db", 500.0));
    let expected = format!("{unknown}500 of 500 waits of the selected roles in 90.0 s");
    assert!(own.starts_with(&expected), "{own}");
    // Much of others is compared, so of all together little is unknown.
    let much = wait("reader", "read", &[("waits_count", 5e5), ("waited_ns", 900e9)]);
    assert!(said(&[waited("db", 500.0), much].concat()).starts_with(&expected));
    let others = with(waited("reader", 400.0));
    let expected = format!("{unknown}400 of 1000 waits of all roles in 90.0 s");
    assert!(others.starts_with(&expected), "{others}");
    // A wait for an unknown device is one, too.
    let unplaced = self::of(&Subject::class("role", "db"), &[("unplaced_waits_ns", 5e9)]);
    let all = self::of(&run, &[("unplaced_waits_ns", 5e9)]);
    assert!(
        said(&[unplaced, all].concat()).starts_with(&format!("{unknown}threads waited 5.00 s"))
    );
}

/// However little it is: an all-clear names what it does not know.
#[test]
fn an_all_clear_names_the_rest_that_is_unknown() {
    let said = |more: &[Finding], shown: &Shown| {
        answer(&[&of_run(), more].concat(), shown).remove(0).sentence
    };
    let unplaced = |of: &Subject| self::of(of, &[("unplaced_waits_ns", 0.4e9)]);
    let subjects = [Subject::this_run(), Subject::class("role", "db")];
    let unplaced: Vec<Finding> = subjects.iter().flat_map(unplaced).collect();
    let rest = "That is of what was seen: threads waited 400 ms without a request (db 400 ms) for \
                an unknown device";
    let few = said(&unplaced, &Shown::default());
    assert!(few.starts_with("Nobody waited long for others: no wait was seen"), "{few}");
    assert!(few.ends_with(&format!("{rest}.")), "{few}");
    let lost = self::of(&Subject::this_run(), &[("lost_count", 3.0), ("events_count", 97.0)]);
    let both = said(&[unplaced, lost].concat(), &Shown::default());
    let expected = format!("{rest}, and the trace lacks 3.00 % of its events.");
    assert!(both.ends_with(&expected), "{both}");
    // Waits that are known only in their sum are waits, of all and of a selected role.
    let short = |ns| self::of(&Subject::class("role", "hog"), &[("short_waits_ns", ns)]);
    let hog = Shown { role: Some("hog".into()), ..Shown::default() };
    for shown in [&hog, &Shown::default()] {
        let few = said(&short(0.02e9), shown);
        let rest = "threads waited 20.0 ms in waits too short to be told one by one.";
        assert!(few.contains("waited long for others") && few.ends_with(rest), "{few}");
        let many = said(&short(23.7e9), shown);
        assert!(many.starts_with("Unknown whether "), "{many}");
        assert!(many.contains(": threads waited 23.7 s in waits too short to be told"), "{many}");
    }
    let other = Shown { role: Some("web".into()), ..Shown::default() };
    assert_eq!(said(&short(23.7e9), &other), "The trace has no wait of what was selected.");
}

/// Of selected devices it is not said what is true of all, nor the other way round.
#[test]
fn an_all_clear_of_selected_devices_is_one_of_these() {
    let device = |name: &str| Shown { device: Some(name.into()), ..Shown::default() };
    let said = |shown: &Shown, told: f64| {
        let known = [("calls_told", told), ("requests_count", 90_123.0)];
        let waits = wait("db", "read", &[("waits_count", 9e4), ("waited_ns", 1e9)]);
        let findings = [of_run(), self::of(&Subject::this_run(), &known), waits].concat();
        answer(&findings, shown).remove(0).sentence
    };
    assert_eq!(
        said(&device("vdb"), 1.0),
        "Nobody waited on the selected devices: no thread waited for a read, a direct write, a \
         flush or an fsync."
    );
    let untold = said(&device("vdb"), 0.0);
    let expected = "Unknown whether anybody waited long for others on the selected devices: no \
                    thread is known to have waited for a request on the selected devices, and the";
    assert!(untold.starts_with(expected), "{untold}");
    let calm = said(&device("vda"), 1.0);
    let expected = "Nobody waited long for others on the selected devices: none of 90000 waits in";
    assert!(calm.starts_with(expected), "{calm}");
    let both = said(&Shown { role: Some("db".into()), ..device("vda") }, 1.0);
    let expected = "The selected roles neither waited long for others nor kept them waiting on the \
                    selected devices in 90.0 s (reads";
    assert!(both.starts_with(expected), "{both}");
    let nothing = said(&Shown { role: Some("db".into()), ..device("vdb") }, 1.0);
    assert_eq!(nothing, "The trace has no wait of what was selected.");
    // Who waits for a device waits for what is beneath it.
    let beneath = Subject::Layer(Layer { device: "vda".into(), layer: "vdb".into() });
    let layers = self::of(&beneath, &[("layer_requests_count", 7.0)]);
    let lower = self::of(&Subject::class("device", "vdb"), &[("requests_count", 7.0)]);
    let known = self::of(&Subject::this_run(), &[("calls_told", 1.0)]);
    let findings = [of_run(), known, layers, lower].concat();
    let beneath = answer(&findings, &device("vdb")).remove(0).sentence;
    assert_eq!(
        beneath,
        "Unknown whether anybody waited long for others on the selected devices: waits for a \
         device beneath another one are told of the upper one."
    );
}

/// Whatever the means are of.
#[test]
fn a_loss_that_is_told_stands_in_the_table_of_waits_too() {
    let mut findings = checkpoint();
    let subject = findings.iter().find(|finding| finding.quantity == "calm_mean_ns").unwrap();
    let mean = Finding { quantity: "waited_mean_ns".into(), ..subject.clone() };
    findings.push(Finding { value: Some(1e6), ..mean });
    let text = screen(&findings, &Shown::default(), None);
    let rows = text.split_once("Who waited").unwrap().1.split_once("Behind whom").unwrap().0;
    assert!(rows.contains("24.0 s"), "shorter than in calm on average: {text}");
}

/// Threads on other devices leave those that were captured clear, however the kernel counts them;
/// but for waits that may be on any device, and where events were lost.
#[test]
fn waits_on_devices_that_were_not_captured_leave_all_clear() {
    let (run, finder) = (Subject::this_run(), Subject::class("role", "finder"));
    let said = |is_whole: bool, untraced_ns: f64| {
        let unplaced = [("unplaced_waits_ns", 5e9), ("unplaced_untraced_ns", untraced_ns)];
        let pressure = [
            ("io_pressure_ns", 9e9),
            ("io_pressure_percent", 10.0),
            ("io_pressure_seen_percent", 1.0),
        ];
        let whole = [("named_devices_whole", f64::from(u8::from(is_whole)))];
        let of_run = [of_run(), of(&run, &unplaced), of(&run, &pressure), of(&run, &whole)];
        let waits = wait("redis", "read", &[("waits_count", 500.0), ("waited_ns", 1e9)]);
        sentences(&[of_run.concat(), of(&finder, &unplaced), waits].concat())
    };
    let clear = said(true, 5e9);
    let expected = "Nobody waited long for others on the captured devices: none of 500 waits in ";
    assert!(clear[0].starts_with(expected), "{clear:?}");
    let elsewhere = "Threads waited 5.00 s for devices that were not captured (finder 5.00 s).";
    assert_eq!(clear[1], elsewhere);
    let some = said(true, 3e9).remove(0);
    let expected = "Unknown whether anybody waited long for others on the captured devices: \
                    threads waited 2.00 s without a request (finder 2.00 s) for an unknown device.";
    assert_eq!(some, expected);
    let lost = said(false, 5e9).remove(0);
    let expected =
        "Unknown whether anybody waited long for others: threads waited 5.00 s without a";
    assert!(lost.starts_with(expected), "{lost}");
    // Short waits are counted on all devices, too.
    let short = of(&finder, &[("short_waits_ns", 60e9)]);
    let whole = of(&run, &[("named_devices_whole", 1.0)]);
    let idle = sentences(&[of_run(), whole, short].concat()).remove(0);
    assert!(idle.starts_with("Nobody waited long for others on the captured devices: "), "{idle}");
    let rest = "in waits too short to be told one by one, or for devices that were not captured.";
    assert!(idle.ends_with(rest), "{idle}");
}

/// Waits without calm of their size are in the mean of all, and not in that in calm.
#[test]
fn beside_the_mean_in_calm_stands_that_of_the_same_waits() {
    let table = |compared_ns: f64| {
        let values = [
            ("waits_count", 500.0),
            ("waited_ns", 9e9),
            ("waited_mean_ns", 18e6),
            ("compared_mean_ns", compared_ns),
            ("calm_mean_ns", 2.5e6),
        ];
        let findings = [of_run(), wait("db", "read", &values)].concat();
        let text = screen(&findings, &Shown::default(), None);
        text.split_once("Who waited").unwrap().1.to_owned()
    };
    let some = table(3.5e6);
    assert!(some.contains("compared") && some.contains("3.50 ms"), "{some}");
    let all = table(18e6);
    assert!(all.contains("18.0 ms") && all.contains("2.50 ms"), "{all}");
    assert!(!all.contains("compared"), "{all}");
}

/// They are among its reads.
#[test]
fn evicted_pages_are_not_counted_twice() {
    let waited = [("waits_count", 500.0), ("waited_ns", 1e9)];
    let again = [("waits_count", 40.0), ("waited_ns", 1e8)];
    let evicted = wait("db", model::record::EVICTED_PAGE, &again);
    let findings = [of_run(), wait("db", "read", &waited), evicted].concat();
    let [line] = &sentences(&findings)[..] else { panic!() };
    assert!(line.contains("none of 500 waits"), "{line}");
}

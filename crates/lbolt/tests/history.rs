//! A watch's history through the command line: what was bad and who did it on the first screen,
//! and every bad input with its sentence.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use crate::common::{Ended, Lab};
use model::histogram::SparseHistogram;
use model::history::{INCIDENTS, Incident, MINUTE_NS, Models, Origin, Store};
use model::record::{Counted, Rollup, RollupKey, operations};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// 2026-11-22T00:00:00Z.
const DAY: i64 = 1_795_305_600 * 1_000_000_000;

fn row(counted: Counted, operation: &str, minute: i64) -> Rollup {
    let key = RollupKey {
        counted,
        device: (counted != Counted::Watch).then(|| "vda".into()),
        operation: operation.into(),
        ..RollupKey::default()
    };
    let from = DAY + minute * MINUTE_NS;
    Rollup::of(key, from, from + MINUTE_NS)
}

/// A minute, in which a role of that name lost so much to a backup.
fn minute(minute: i64, victim: &str, lost_ns: f64) -> Vec<Rollup> {
    let role = Some(victim.to_owned());
    let mut responses = SparseHistogram::default();
    let slow = if lost_ns > 1e8 { 20 } else { 1 };
    (0..300).for_each(|place| responses.record(slow * (100_000 + 1_000 * place)));
    let mut requests = row(Counted::Requests, "read", minute);
    requests.set_responses(&responses);
    let mut waits = row(Counted::Waits, "fsync", minute);
    waits.set_responses(&responses);
    let watched = row(Counted::Watch, operations::WATCHED, minute);
    let disk = row(Counted::Disk, "read", minute);
    let busy = row(Counted::Disk, operations::BUSY, minute);
    vec![
        Rollup { sum_ns: 60_000_000_000, ..watched },
        Rollup { count: 300, bytes: 300 * 4096, sum_ns: 150_000_000, ..disk },
        Rollup { sum_ns: 30_000_000_000, ..busy },
        Rollup { role: role.clone(), count: 300, bytes: 300 * 4096, ..requests },
        Rollup { role: role.clone(), count: 300, ..waits },
        Rollup {
            role,
            cause: Some("backup".into()),
            lost_ns: lost_ns as i64,
            ..row(Counted::Lost, "fsync", minute)
        },
    ]
}

/// A day in steps of 10 minutes, with a stall at 03:10 and 03:20, and a gap from 12 to 14.
fn a_day(lab: &Lab, victim: &str) -> PathBuf {
    let path = lab.path("history");
    let mut store = Store::open(&path, 1 << 30).unwrap();
    for place in (0..1_440).step_by(10).filter(|place| !(720..840).contains(place)) {
        let lost_ns = if (190..=200).contains(&place) { 4e9 } else { 1e6 };
        let from = DAY + place * MINUTE_NS;
        store.add(&minute(place, victim, lost_ns), from, from + MINUTE_NS).unwrap();
    }
    path
}

fn shown(lab: &Lab, words: &str) -> String {
    let ended = lab.run(&format!("history history {words}"));
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{words}");
    ended.out
}

#[test]
fn the_first_screen_says_what_was_bad_when_and_who_did_it() {
    let lab = Lab::new();
    a_day(&lab, "db: backend");
    let screen = shown(&lab, "");
    let lines: Vec<&str> = screen.lines().collect();
    assert!(lines.len() <= 40 && lines.iter().all(|line| line.chars().count() <= 100), "{screen}");
    let (answer, table) = screen.split_once("\n\n").unwrap();
    let answer = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "Worst from 03:00Z: 8.00 s lost (median line 6.00 ms), 8.00 s by db: backend \
         to backup, waiting for fsync.",
        "db: backend lost 8.1",
        "of it from 03:10Z to 03:21Z.",
        "Slowest from 03:00Z: p99 ",
        "Watched from 2026-11-22 00:00Z to 2026-11-22 23:51Z, but not ",
    ] {
        assert!(answer.contains(words), "no \"{words}\" in: {answer}");
    }
    assert!(table.contains("tps") && table.contains("%util") && table.contains("p99"), "{table}");
    assert!(table.contains("db: backend < backup 8.00 s"), "{table}");
    let of_day = shown(&lab, "--from 2026-11-22 --to 2026-11-23T00:00 --every 10m --wide");
    assert!(of_day.lines().count() > 130 && of_day.contains("areq-sz"), "{of_day}");
}

/// What nothing has in its name is no all-clear.
#[test]
fn a_selection_of_nothing_says_what_there_is() {
    let lab = Lab::new();
    a_day(&lab, "db: backend");
    for (words, sentence) in [
        ("--device sdz", "--device sdz is not in the history; its devices are vda"),
        ("--role mysql", "--role mysql is not in the history; its roles are backup, db: backend"),
        ("--role mysql --by device --format json", "--role mysql is not in the history"),
        ("--compare 03:00..04:00 04:00..05:00 --device sdz", "its devices are vda"),
    ] {
        let ended = lab.run(&format!("history history {words}"));
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{words}: {}", ended.err);
        assert!(ended.err.contains(sentence), "{words}: {}", ended.err);
    }
    assert!(shown(&lab, "--role back --device vd").contains("db: backend lost 8.1"));
}

#[test]
fn parts_and_groups_are_selected() {
    let lab = Lab::new();
    a_day(&lab, "db: backend");
    let hour = shown(&lab, "--from 03:00 --to 04:00 --every 10m --format csv");
    assert_eq!(hour.lines().count(), 7, "{hour}");
    assert!(hour.starts_with("from,until,time,watched_s,tps,"), "{hour}");
    assert!(hour.contains("2026-11-22T03:10:00Z,2026-11-22T03:20:00Z,,60,5,20,"), "{hour}");
    for by in ["device", "operation", "role", "file-system", "cause"] {
        let table = shown(&lab, &format!("--by {by}"));
        assert!(table.contains(&format!("by {by}\n")), "{by}: {table}");
        let csv = shown(&lab, &format!("--by {by} --format csv"));
        let names: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
        let different: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(names.len(), different.len(), "a name stands for one column: {names:?}");
    }
    assert!(shown(&lab, "--by cause").contains("backup"));
    let little = shown(&lab, "--role backup --from 10:00 --to 11:00");
    assert!(little.contains("Nobody lost much time to others"), "{little}");
    let json: serde_json::Value = serde_json::from_str(&shown(&lab, "--format json")).unwrap();
    assert_eq!(json["schema"], "lbolt.history/1");
    assert_eq!(json["losses"][0]["cause"], "backup");
    assert!(json["rows"].as_array().unwrap().len() >= 20);
    assert!(shown(&lab, "--format markdown").contains("| tps |"));
    // Where nothing was watched.
    let gap = shown(&lab, "--from 2026-11-22T12:10 --to 2026-11-22T13:00");
    assert!(gap.contains("nothing was watched."), "{gap}");
}

#[test]
fn names_that_steer_a_terminal_are_shown_as_escapes() {
    let lab = Lab::new();
    a_day(&lab, "evil\x1b[2J\nrole");
    for words in ["", "--by role", "--wide", "--format csv", "--format markdown"] {
        let text = shown(&lab, words);
        assert!(!text.contains('\x1b') && text.contains(r"\x1b"), "{words}: {text}");
    }
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_is_shown() {
    let lab = Lab::new();
    let path = a_day(&lab, "db");
    let files = || {
        let names = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        let mut names: Vec<PathBuf> = names.collect();
        names.sort();
        names
    };
    std::fs::write(&files()[3], "no Parquet").unwrap();
    let newer = &files()[5];
    let bytes = std::fs::read(newer).unwrap();
    let at = bytes.windows(14).position(|part| part == b"lbolt.rollup/1").unwrap();
    let newer_bytes = [&bytes[..at + 13], b"2", &bytes[at + 14..]].concat();
    std::fs::write(newer, newer_bytes).unwrap();
    let text = shown(&lab, "");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("it does not begin like a Parquet file"), "{text}");
    assert!(text.contains("it holds lbolt.rollup/2, not lbolt.rollup/1; use the newer"), "{text}");
    assert!(text.contains("Worst from") || text.contains("Watched from"), "{text}");
}

fn refused(lab: &Lab, words: &str) -> Ended {
    let ended = lab.run(&format!("history {words}"));
    assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{words}: {}", ended.err);
    ended
}

#[test]
fn what_is_no_history_and_no_time_is_refused_with_a_sentence() {
    let lab = Lab::new();
    let none = refused(&lab, "nowhere");
    none.assert_refused(2, &["history from nowhere", "No such file", "lbolt watch"]);
    refused(&lab, "d").assert_refused(2, &["history from d", "it contains none", "lbolt watch"]);
    refused(&lab, "nowhere --incidents").assert_refused(2, &["no such directory"]);
    let at_home = refused(&lab, "");
    at_home.assert_refused(2, &["own/history", "No such file"]);
    a_day(&lab, "db");
    refused(&lab, "history --from 05:00 --to 04:00").assert_refused(2, &["--to is not after"]);
    refused(&lab, "history --from 99:00").assert_refused_by_usage("is not a moment; write a date");
    refused(&lab, "history --by colour").assert_refused_by_usage("file-system");
    refused(&lab, "history --last 1h --from 2h").assert_refused_by_usage("--from");
    let compare = "history --compare 2026-11-22..2026-11-23 2026-11-20..2026-11-21";
    refused(&lab, compare)
        .assert_refused(2, &["no part of the two time ranges was watched in both"]);
    let compare = "history --compare 2026-11-22..2026-11-23 2026-11-20..2026-11-22";
    refused(&lab, compare).assert_refused(2, &["differ in length"]);
}

#[test]
fn incidents_are_listed_with_their_verdict_and_how_to_open_them() {
    let lab = Lab::new();
    let path = a_day(&lab, "db");
    assert_eq!(shown(&lab, "--incidents"), "No incident was kept.\n");
    let document = || {
        let text = shown(&lab, "--incidents --format json");
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        crate::machine::assert_described(&document);
        document["answer"].as_array().unwrap().clone()
    };
    assert_eq!(document()[0]["sentence"], "No incident was kept.");
    for (name, minute) in [("second", 200), ("first", 190)] {
        let run = path.join(INCIDENTS).join(name);
        std::fs::create_dir_all(&run).unwrap();
        let from_unix_ns = DAY + minute * MINUTE_NS;
        let incident = Incident {
            why: "p99(fsync) > 20ms".into(),
            from_unix_ns,
            until_unix_ns: from_unix_ns + MINUTE_NS,
            verdict: "db lost 4.00 s to backup\x1b.".into(),
            requests: 1234,
            bytes: 5 << 20,
            lost_ns: 4_000_000_000,
        };
        incident.write(&run).unwrap();
    }
    let text = shown(&lab, "--incidents");
    let (first, second) = (text.find("incidents/first"), text.find("incidents/second"));
    assert!(first < second && text.contains("2026-11-22 03:10:00Z, 1 min: p99(fsync) > 20ms"));
    assert!(text.contains("lbolt response history/incidents/first"), "{text}");
    assert!(text.contains(r"db lost 4.00 s to backup\x1b."), "{text}");
    assert_eq!(shown(&lab, "--incidents --format csv").lines().count(), 3);
    let answer = document();
    assert!(answer[0]["sentence"].as_str().unwrap().contains("> 20ms: db lost 4.00 s to backup"));
    assert_eq!(answer.len(), 2);
    std::fs::write(path.join(INCIDENTS).join("first/incident.json"), "{").unwrap();
    let ended = lab.run("history history --incidents");
    assert_eq!(ended.code, 0);
    assert!(ended.err.contains("first/incident.json") && ended.out.contains("1 incident."));
}

#[test]
fn two_times_are_compared_hour_by_hour() {
    let lab = Lab::new();
    a_day(&lab, "db");
    let spans = "2026-11-22T00:00..2026-11-22T10:00 2026-11-22T14:00..2026-11-23T00:00";
    let text = shown(&lab, &format!("--compare {spans}"));
    assert!(text.contains("no difference beyond noise"), "{text}");
    assert!(text.contains("vda read") && text.contains("response_p99_ns"), "{text}");
    lab.run("compare history history").assert_refused(2, &["lbolt history history --compare"]);
}

/// Written by the version before, whose lost time was a double and which did not say whose it was.
#[test]
fn a_history_of_the_earlier_version_is_read_and_goes_on() {
    let lab = Lab::new();
    let path = lab.path("history");
    std::fs::create_dir(&path).unwrap();
    let name = "20261122T000000Z.minute.parquet";
    std::fs::write(path.join(name), include_bytes!("fixtures/watched-1.minute.parquet")).unwrap();
    let lines = |by: &str| lab.run(&format!("history history --format csv --by {by}")).out;
    let before = lines("role");
    assert!(before.contains("postgres,60,"), "{before}");
    assert!(before.contains(",300,0,"), "{before}");
    assert!(before.ends_with(",postgres,read,sda,dd,2500000001\n"), "{before}");
    // An hour of it and of what is watched now.
    let mut store = Store::open(&path, 1 << 30).unwrap().of(Origin {
        host: Some("web".into()),
        run: Some("boot".into()),
        part: None,
    });
    store.know_models(Models::from([("vda".into(), "RP06".into())]));
    for place in [1, 60] {
        let (from, until) = (DAY + place * MINUTE_NS, DAY + (place + 1) * MINUTE_NS);
        store.add(&minute(place, "postgres", 1e9), from, until).unwrap();
    }
    assert!(!path.join(name).exists(), "it is in its hour's file");
    let after = lines("host");
    let line: Vec<&str> = after.lines().nth(1).unwrap().split(',').collect();
    assert_eq!((after.lines().count(), line[2]), (2, "web"), "{after}");
    assert!(after.contains(",900,0,"), "{after}");
    // What the earlier version kept says no model.
    let by_model = lines("model");
    let groups = by_model.lines().skip(1).filter_map(|line| line.split(',').nth(2));
    assert_eq!(groups.collect::<BTreeSet<_>>(), BTreeSet::from(["RP06", "sda"]), "{by_model}");
}

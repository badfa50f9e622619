//! `lbolt fleet` and the fleets that `lbolt synthesize` makes, through the command line: what was
//! planted is on the first screen, and every bad input has its sentence.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Ended, Lab, Mounted, tool};
use crate::verdict::made;
use model::history::{DAY_NS, History, HostFacts, MINUTE_NS, Origin, Store};
use model::record::{Counted, Rollup, RollupKey, operations};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

fn fine(lab: &Lab, words: &str) -> Ended {
    let ended = lab.run(words);
    assert_eq!(ended.code, 0, "{words}: {}", ended.err);
    ended
}

/// Some dozens of hosts with their hours.
fn lab(more: &str) -> Lab {
    let lab = Lab::new();
    fine(&lab, &format!("synthesize {more} --seed 5 -o fleet"));
    lab
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn json(lab: &Lab, words: &str) -> Value {
    serde_json::from_str(&fine(lab, &format!("fleet {words} --format json")).out).unwrap()
}

/// Minutes of a host, whose database lost so much to a backup in each of them.
fn minutes(lab: &Lab, name: &str, origin: (&str, &str), from: i64, lost_ns: i64) {
    let (host, run) = (Some(origin.0.to_owned()), Some(origin.1.to_owned()));
    let mut store = Store::open(&lab.path(name), 1 << 30).unwrap();
    store = store.of(Origin { host, run, part: None });
    store.know_host(HostFacts { kernel: Some("6.1".into()), ..HostFacts::default() });
    for minute in from..from + 20 {
        let at = 20_000 * DAY_NS + minute * MINUTE_NS;
        let row = |counted, operation: &str| {
            let key = RollupKey { counted, operation: operation.into(), ..RollupKey::default() };
            Rollup::of(key, at, at + MINUTE_NS)
        };
        let role = Some("db".to_owned());
        let device = Some("vda".to_owned());
        let rows = [
            Rollup { sum_ns: MINUTE_NS as u64, ..row(Counted::Watch, operations::WATCHED) },
            Rollup {
                role: role.clone(),
                device: device.clone(),
                sum_ns: 30_000_000_000,
                ..row(Counted::Waits, "fsync")
            },
            Rollup {
                role,
                device,
                cause: Some("backup\x1b".into()),
                lost_ns,
                lost_us2: 1,
                ..row(Counted::Lost, "fsync")
            },
        ];
        store.add(&rows, at, at + MINUTE_NS).unwrap();
    }
}

#[test]
fn what_was_planted_is_told_by_whatever_is_asked_and_however_hosts_are_stored() {
    let lab = lab("--hosts 40 --days 6");
    first_screen(&lab);
    lines_and_times(&lab);
    one_file(&lab);
    fine(&lab, "runs rm fleet");
    assert!(!lab.path("fleet").exists());
}

/// What was planted is on the first screen, and each host with its command.
fn first_screen(lab: &Lab) {
    let made = std::fs::read_to_string(lab.path("fleet/planted.json")).unwrap();
    assert!(made.contains("nobody watched these hosts") && made.contains("6.12.9-sim"), "{made}");
    let screen = fine(lab, "fleet fleet").out;
    assert!(screen.lines().count() <= 40, "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    let screen = words(&screen);
    for told in [
        "40 hosts (simulated, nobody watched them)",
        "Kernel 6.12.9-sim: all ",
        "Firmware A2.0 of Sim NVMe A: ",
        "Role backup: ",
        "02:00Z to 04:00Z each day",
        "Storms on many hosts at once: backup on up to ",
        "Next: lbolt history fleet/sim-00",
        "Hosts by time lost",
    ] {
        assert!(screen.contains(told), "no \"{told}\" in: {screen}");
    }
    let all = json(lab, "fleet");
    assert_eq!((all["schema"].as_str(), all["hosts"].as_u64()), (Some("lbolt.fleet/1"), Some(40)));
    let path = all["findings"][0]["path"].as_str().unwrap();
    let opened = fine(lab, &format!("history {path} --last 7d"));
    assert!(opened.out.contains("db lost"), "{}", opened.out);
}

/// Lines are of whatever is asked, and times are selected.
fn lines_and_times(lab: &Lab) {
    for (by, group) in [
        ("model", "Sim NVMe A"),
        ("firmware", "Sim NVMe A A2.0"),
        ("kernel", "6.12.9-sim"),
        ("role", "db"),
        ("cause", "a delay outside the device"),
        ("hour", "02:00Z"),
    ] {
        let table = fine(lab, &format!("fleet fleet --by {by} --all")).out;
        assert!(table.contains(group), "{by}: {table}");
        let rows = json(lab, &format!("fleet --by {by}"));
        assert_eq!(rows["by"], by);
        assert!(rows["rows"][0][by].is_string(), "{rows}");
    }
    let csv = fine(lab, "fleet fleet --format csv").out;
    assert_eq!(csv.lines().count(), 41, "{csv}");
    assert!(csv.starts_with("subject,group,hosts,watched_s,lost_ns,lost_low_ns"), "{csv}");
    assert!(fine(lab, "fleet fleet --format markdown").out.contains("| sim-0001 |"));
    let hours = |rows: &Value| {
        let row = rows["rows"].as_array().unwrap().iter().find(|row| row["host"] == "sim-0001");
        row.unwrap()["watched_s"].as_f64().unwrap() / 3_600.0
    };
    let all = json(lab, "fleet");
    assert_eq!(hours(&all), 24.0 * 6.0);
    assert_eq!(hours(&json(lab, "fleet --from 2d")), 48.0);
    let kernel = all["findings"].as_array().unwrap().iter().find(|of| of["common"] == "kernel");
    let since = kernel.unwrap()["since"].as_str().unwrap();
    let changed = fine(lab, &format!("fleet fleet --before-after {since}")).out;
    assert!(words(&changed).contains("Lost per host and day: "), "{changed}");
    assert!(changed.contains("lost a day"), "{changed}");
}

/// A rollup of all hosts says the same as a file for each.
fn one_file(lab: &Lab) {
    fine(lab, "rollup fleet -o one.parquet --level hour");
    let (each, one) = (json(lab, "fleet"), json(lab, "one.parquet"));
    let told = |all: &Value| -> Vec<(String, String, f64)> {
        let of = |of: &Value| {
            let text = |name: &str| of[name].as_str().unwrap().to_owned();
            (text("common"), text("key"), of["lost_ns"].as_f64().unwrap())
        };
        all["findings"].as_array().unwrap().iter().map(of).collect()
    };
    assert_eq!(told(&each), told(&one));
    assert!(told(&one).len() >= 3);
    assert!(fine(lab, "fleet one.parquet").out.contains("--device sim-00"));
    let history = History::open(&lab.path("one.parquet")).unwrap();
    let facts = history.hosts().of(Some("sim-0001"), Some("sim-0001-boot-1")).unwrap();
    assert!(facts.kernel.is_some() && facts.firmware.contains_key("sim0"));
}

#[test]
fn a_host_that_is_there_twice_is_counted_once_and_said() {
    let lab = Lab::new();
    minutes(&lab, "web1", ("web", "boot"), 0, 2_000_000_000);
    minutes(&lab, "copy", ("web", "boot"), 0, 2_000_000_000);
    minutes(&lab, "other", ("web", "reboot"), 10, 2_000_000_000);
    let once = json(&lab, "web1");
    let twice = json(&lab, "web1 copy");
    assert_eq!((&once["lost_ns"], &once["hosts"]), (&twice["lost_ns"], &twice["hosts"]));
    let note = twice["notes"][0].as_str().unwrap();
    assert!(note.contains("is in web1 and in copy: counted once, from web1."), "{note}");
    let clocks = json(&lab, "web1 other");
    assert_eq!(clocks["lost_ns"], 1.5 * once["lost_ns"].as_f64().unwrap());
    let note = clocks["notes"][0].as_str().unwrap();
    assert!(note.contains("two hosts share the name, or a clock was set"), "{note}");
    let screen = fine(&lab, "fleet web1").out;
    assert!(screen.contains(r"backup\x1b") && !screen.contains('\x1b'), "{screen}");
}

#[test]
fn what_cannot_be_read_is_said_in_a_sentence_and_the_rest_is_read() {
    let lab = Lab::new();
    minutes(&lab, "hosts/web1", ("web1", "a"), 0, 2_000_000_000);
    minutes(&lab, "hosts/web2", ("web2", "b"), 0, 1_000_000);
    lab.file("hosts/broken.parquet", "PAR1 and no more");
    let half = std::fs::read_dir(lab.path("hosts/web2")).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&half).unwrap();
    std::fs::write(&half, &bytes[..bytes.len() / 2]).unwrap();
    let told = json(&lab, "hosts");
    let notes = told["notes"].to_string();
    assert!(notes.contains("broken.parquet") && notes.contains("all other inputs are read"));
    assert!(notes.contains("web2") && notes.contains("everything else is read"), "{notes}");
    assert_eq!(told["hosts"], 2);
    assert_eq!(json(&lab, "hosts/web*")["hosts"], 2, "in quotes");
    lab.file("list", "hosts/web1\nhosts/web2\n");
    assert_eq!(json(&lab, "@list")["hosts"], 2);
    let earlier = include_bytes!("fixtures/watched-1.minute.parquet");
    lab.file("earlier.parquet", earlier);
    assert_eq!(json(&lab, "earlier.parquet")["rows"][0]["host"], "earlier");
    for (words, told) in [
        ("nowhere", "no such file or directory; name a history"),
        ("d", "failed to read a fleet: the inputs contain no history"),
        ("hosts/web1 --from 2030-01-01", "nothing was watched from --from to --to"),
        ("hosts/web1 --before-after 2030-01-01", "not within the time that was watched"),
    ] {
        lab.run(&format!("fleet {words}")).assert_refused(2, &[told]);
    }
}

#[test]
fn a_calm_fleet_has_no_finding_and_one_too_small_is_refused() {
    let lab = lab("--hosts 24 --days 3 --calm");
    let told = json(&lab, "fleet");
    assert_eq!(told["findings"], Value::Array(Vec::new()));
    assert!(fine(&lab, "fleet fleet").out.contains("Nothing stands out"));
    assert!(std::fs::read_to_string(lab.path("fleet/planted.json")).unwrap().contains("[]"));
    lab.run("synthesize --hosts 5 -o few").assert_refused(2, &["20 hosts", "--calm"]);
    assert!(!lab.path("few").exists());
    lab.run("synthesize --hosts 24 -o fleet").assert_refused(2, &["already exists"]);
    fine(&lab, "synthesize --hosts 3 --days 2 --calm -o few");
    assert_eq!(json(&lab, "few")["hosts"], 3);
}

#[test]
fn a_page_has_the_worst_hosts_hour_by_hour_and_leads_to_their_own_pages() {
    let lab = Lab::new();
    fine(&lab, "synthesize --hosts 150 --days 8 --seed 5 -o fleet");
    lab.file("fleet/sim-0001.html", "a page of this host's own");
    let ended = fine(&lab, "fleet fleet --page fleet.html");
    assert!(ended.err.contains("page: fleet.html ("), "{}", ended.err);
    assert!(ended.out.contains("Hosts by time lost"), "{}", ended.out);
    let html = std::fs::read_to_string(lab.path("fleet.html")).unwrap();
    assert!(html.len() < 1_500_000, "{}", html.len());
    for told in [
        "<h1>A fleet of 150 hosts</h1>",
        "simulated, nobody watched them",
        "Time lost per day: the worst 24 hosts",
        "Time lost by hour: the worst ",
        "Sim NVMe A",
        "<a href=\"./fleet/sim-0001.html\">",
        "<bdi>lbolt history fleet/sim-0002.parquet</bdi>",
        "lbolt fleet fleet --page fleet.html</pre>",
    ] {
        assert!(html.contains(told), "no {told}");
    }
    let json = html.split("id=\"charts\">").nth(1).unwrap().split("</script>").next().unwrap();
    let charts: Value = serde_json::from_str(json).unwrap();
    let kinds: Vec<&str> =
        charts.as_array().unwrap().iter().map(|chart| chart["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["multiples", "heat", "dots", "lines"]);
    // What a heat map has of a host is what the table says of it.
    let heat = &charts[1];
    let names = heat["y"]["names"].as_array().unwrap();
    let (hosts, hours, worst) = (names.len(), 8 * 24, names.last().unwrap());
    let values = heat["columns"][0]["values"].as_array().unwrap();
    assert_eq!(values.len(), hosts * hours);
    let sum: f64 = values[(hosts - 1) * hours..].iter().filter_map(Value::as_f64).sum();
    let each = if heat["columns"][0]["unit"] == "ms" { 1e6 } else { 1e3 };
    let rows = self::json(&lab, "fleet");
    let row = rows["rows"].as_array().unwrap().iter().find(|row| &row["host"] == worst).unwrap();
    let lost_ns = row["lost_ns"].as_f64().unwrap();
    assert!((sum * each / lost_ns - 1.0).abs() < 0.03, "{} {lost_ns}", sum * each);
}

#[test]
fn a_page_that_cannot_be_written_is_refused_in_a_sentence() {
    let lab = lab("--hosts 24 --days 7 --calm");
    lab.run("fleet fleet --page no/where.html").assert_refused(1, &["failed to write no/where"]);
    lab.run("fleet fleet --page d").assert_refused(1, &["failed to write d"]);
    lab.file("old.html", "an earlier page");
    fine(&lab, "fleet fleet --page old.html");
    let html = std::fs::read_to_string(lab.path("old.html")).unwrap();
    assert!(html.contains("Nothing stands out"), "as other pages, it replaces an earlier one");
}

/// A file system that takes no writes, until this is dropped.
struct Frozen<'m>(&'m Mounted);

impl<'m> Frozen<'m> {
    fn new(mounted: &'m Mounted) -> Option<Self> {
        let frozen = Self(mounted);
        if frozen.order("--freeze").is_none() {
            println!("skipped: needs fsfreeze");
            return None;
        }
        Some(frozen)
    }

    fn order(&self, option: &str) -> Option<String> {
        tool("fsfreeze", &[option, self.0.seen.to_str()?])
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        self.order("--unfreeze");
    }
}

/// What is printed may be ended anywhere, and a page is written whole.
#[test]
fn root_a_signal_amid_its_page_leaves_it_whole() {
    let lab = lab("--hosts 24 --days 3 --calm");
    let Some((_device, mounted)) = made(&lab, &["mkfs.ext4", "-q", "-F"]) else { return };
    let Some(frozen) = Frozen::new(&mounted) else { return };
    let page = mounted.seen.join("fleet.html");
    let mut running = lab.start(lab.lbolt(&format!("fleet fleet --page {}", page.display())));
    let (out, status) = (running.out_path(), format!("/proc/{}/status", running.child.id()));
    running.until("its page", || {
        let hangs = std::fs::read_to_string(&status).ok()?.contains("State:\tD");
        let has_printed = std::fs::metadata(&out).ok()?.len() > 0;
        (hangs && has_printed).then_some(())
    });
    running.signal(Signal::TERM);
    // Longer than a command goes on that only reads and prints.
    std::thread::sleep(Duration::from_secs(5));
    drop(frozen);
    let ended = running.wait();
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("page: "), "{}", ended.err);
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.trim_end().ends_with("</html>"), "{} bytes", html.len());
}

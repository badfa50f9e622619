//! `lbolt whatif` from the command line: what a change does, what it does not, what is refused; and
//! the two suggestions of Johnson, Smith & Wilson (1986) on a real week and on their own system.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, Report, golden};
use model::record::Commands;
use model::record::requests::Provenance;
use papers::response_1986::{Scenario, TEXT, requests};
use std::collections::BTreeMap;
use std::path::Path;
use trace::intake::Rows as _;
use trace::output::RequestsFile;

/// Reads here and there, and a burst of writes every second.
const TRACE: &str = "fio version 3 iolog\n0 /dev/x add\n0 /dev/x open\n";

fn mixed(lab: &Lab) {
    let one = |n: u64| {
        let op = if n % 50 < 25 { "write" } else { "read" };
        let at_us = n / 50 * 1_000_000 + n % 50 * 2000;
        format!("{at_us} /dev/x {op} {} 4096\n", n * 7919 % 100_000 * 4096)
    };
    lab.file("t.log", TRACE.to_owned() + &(0..500).map(one).collect::<String>());
}

fn ratio(report: &Report, keys: &[(&str, &str)], quantity: &str) -> [f64; 3] {
    let found = report.findings();
    let is_it = |f: &&serde_json::Value| {
        f["quantity"] == quantity && keys.iter().all(|(key, value)| f["subject"][key] == *value)
    };
    let found = found.iter().find(is_it).unwrap();
    ["low", "value", "high"].map(|key| found[key].as_f64().unwrap_or(f64::NAN))
}

#[test]
fn the_first_screen_answers_and_the_requests_of_both_sides_are_kept() {
    let lab = Lab::new();
    mixed(&lab);
    let ended = lab.run("whatif t.log --model atlas10k --change reads-first -o out");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.lines().count() <= 30, "{}", ended.out);
    assert!(ended.out.lines().all(|line| line.chars().count() <= 100), "{}", ended.out);
    golden("whatif.txt", &ended.out);
    for side in ["before", "after"] {
        let analysed = lab.run(&format!("response out/{side}"));
        assert_eq!(analysed.code, 0, "{}", analysed.err);
    }
    // The model is that of the trace that was simulated.
    let again = lab.run("whatif out/before --change reads-first --all -o again");
    assert!(again.code == 0 && again.err.contains("the model is atlas10k"), "{}", again.err);
    assert!(again.out.contains("Before\n") && again.out.contains("With reads-first\n"));
    let removed = lab.run("runs rm out");
    assert!(removed.code == 0 && !lab.path("out").exists(), "{}", removed.err);
}

#[test]
fn what_changes_nothing_has_a_ratio_of_one() {
    let lab = Lab::new();
    mixed(&lab);
    let words = "whatif t.log --model atlas10k --change drives=1 --change scheduler=none \
        --change drives=2 --change drive=barracuda";
    let report = lab.measure(&format!("{words} -o out"));
    for change in ["drives=1", "scheduler=none"] {
        for quantity in ["change_mean_ratio", "change_p99_ratio", "change_max_ratio"] {
            let [_, value, _] = ratio(&report, &[("change", change), ("op", "all")], quantity);
            assert_eq!(value, 1.0, "{change} {quantity}");
        }
    }
    for (change, is_more) in [("drives=2", false), ("drive=barracuda", true)] {
        let [_, value, _] =
            ratio(&report, &[("change", change), ("op", "all")], "change_mean_ratio");
        assert_eq!(value > 1.0, is_more, "{change}: {value}");
    }
}

fn words_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// No write of the trace is asynchronous: what holds these back does nothing, and is not advised.
#[test]
fn what_changes_nothing_is_told_so_with_its_reason() {
    let lab = Lab::new();
    mixed(&lab);
    let words = "whatif t.log --model atlas10k --change dribble=5/s --change drives=1";
    let ended = lab.run(&format!("{words} -o out"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    let text = words_of(&ended.out);
    for told in [
        "With dribble=5/s, response times stay as they are: mean, p50, p99 and max of each class \
         are the same as before (no write of the trace is marked as asynchronous).",
        "With drives=1, response times stay as they are: mean, p50, p99 and max of each class are \
         the same as before (the model atlas10k is so already).",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    for untold in ["To do it", "intervals rest", "cannot tell", "["] {
        assert!(!text.contains(untold), "{untold}: {text}");
    }
    let report = lab.measure(&format!("{words} -o again"));
    let [low, value, high] = ratio(&report, &[("change", "dribble=5/s")], "change_mean_ratio");
    assert!(low.is_nan() && value == 1.0 && high.is_nan(), "{low} {value} {high}");
}

/// A model that is many times slower than the trace tells of no change that is less than that.
#[test]
fn a_model_that_misses_the_trace_tells_nothing_and_says_why() {
    let lab = Lab::new();
    let row = |n: u64| format!("R Hit {} 8 200.000000 1000.000000\n", n * 104_729 % 200_000 * 8);
    lab.file("t.trace", (0..300).map(row).collect::<String>());
    let ended = lab.run("whatif t.trace --model atlas10k --change drive=barracuda -o out");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let text = words_of(&ended.out);
    let said = text.split("cannot tell yet").nth(1).unwrap_or_else(|| panic!("{text}"));
    assert!(said.contains("% above the trace's") && !text.contains("at least"), "{text}");
    assert!(text.contains("A model that fits the trace may tell"), "{text}");
    assert!(!text.contains("narrower bounds"), "{text}");
    assert!(text.contains("Arrivals are closed: each request comes its think time"), "{text}");
}

/// A move to a cloud's volume: an interval about each number, and what no vendor publishes. The
/// screen says it for all volumes together once.
#[test]
fn a_move_to_a_volume_of_a_cloud_has_an_interval_and_says_what_is_not_known() {
    let lab = Lab::new();
    mixed(&lab);
    let moves = "--change drive=aws-gp3 --change drive=aws-gp3,iops=16000,throughput=500m";
    let words = format!("whatif t.log --model flash-sata-2021 {moves}");
    let ended = lab.run(&format!("{words} -o out"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    let text = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [
        "3000 IOPS, 125 MiB/s, reads take 200 µs to 9.90 ms",
        "16000 IOPS, 500 MiB/s",
        "no figure is published for the latency distribution",
        "`lbolt calibrate` on such a volume measures its times",
    ] {
        assert_eq!(text.matches(told).count(), 1, "{told}: {}", ended.out);
    }
    assert!(ended.out.lines().all(|line| line.chars().count() <= 100), "{}", ended.out);
    let report = lab.measure(&format!("{words} -o again"));
    // 1 ms within 0.2 ms to 9.9 ms, over some 0.1 ms of the drive before.
    for quantity in ["change_mean_ratio", "change_p99_ratio"] {
        let keys = [("change", "drive=aws-gp3"), ("op", "read")];
        let [low, value, high] = ratio(&report, &keys, quantity);
        assert!(low < value && value < high && high / low > 4.0, "{low} {value} {high}");
    }
}

/// A load of 1,000 requests a second: gp2 of 100 GiB serves them from its credits, and 300 of them
/// when these are spent.
#[test]
fn credits_hide_a_limit_until_they_are_spent() {
    let lab = Lab::new();
    let one = |n: u64| format!("{} /dev/x read {} 4096\n", n * 1000, n * 7919 % 100_000 * 4096);
    lab.file("t.log", TRACE.to_owned() + &(0..3000).map(one).collect::<String>());
    let moves = "--change drive=aws-gp2,size=100g --change drive=aws-gp2,size=100g,credits=0%";
    let words = format!("whatif t.log --model flash-sata-2021 --arrivals open {moves} --draws 0");
    let report = lab.measure(&format!("{words} -o out"));
    let mean_ms = |change: &str| {
        ratio(&report, &[("change", change), ("op", "read")], "after_mean_ns")[1] / 1e6
    };
    let (full, spent) =
        (mean_ms("drive=aws-gp2,size=100g"), mean_ms("drive=aws-gp2,size=100g,credits=0%"));
    assert!((0.9..1.2).contains(&full), "{full}");
    // 3,000 requests at 300 a second are late by 3.5 s on average.
    assert!((3400.0..3600.0).contains(&spent), "{spent}");
}

#[test]
fn bad_words_are_refused_and_leave_nothing() {
    let lab = Lab::new();
    mixed(&lab);
    for (words, sentence) in [
        ("--change reads-first", "--model M; lbolt simulate --list-models"),
        ("--model atlas10k", "--change"),
        ("--model atlas10k --change faster", "known are reads-first"),
        ("--model atlas10k --change scheduler=bfq", "bfq is not modelled"),
        ("--model atlas10k --change dribble=5", "dribble=20/s"),
        ("--model atlas10k --change drives=99", "from 1 to 64"),
        ("--model atlas10 --change reads-first", "did you mean"),
        ("--model atlas10k --change drive=aws-gp3,iops=90000", "3000 IOPS to 80000 IOPS"),
        ("--model atlas10k --change drive=aws-gp2,iops=9000", "cannot be set for aws-gp2"),
        ("--model atlas10k --change drive=aws-gp3,iops=", "is not KEY=VALUE; the keys are iops"),
        ("--model atlas10k --change reads-first --draws x", "--draws"),
        ("--model atlas10k --change reads-first --arrivals never", "--arrivals"),
        ("--model vax-11-780 --change reads-first", "vax-11-780"),
    ] {
        let ended = lab.run(&format!("whatif t.log -o out {words}"));
        assert_eq!(ended.code, 2, "{words}: {}", ended.err);
        assert!(ended.err.contains(sentence), "{words}: {}", ended.err);
        assert!(!lab.path("out").exists(), "{words} left a run");
    }
    lab.assert_clean();
}

#[test]
fn both_suggestions_help_the_reads_of_a_real_week() {
    let trace =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/hplajw/ajw.1week.srt");
    if !trace.exists() {
        println!("skipped: no hplajw");
        return;
    }
    let lab = Lab::new();
    let words = "--model hp-9000-845 --change reads-first --change dribble=10/s --draws 2 -o out";
    let report = lab.measure(&format!("whatif {} {words}", trace.display()));
    let of = |change: &str, op: &str| {
        ratio(&report, &[("change", change), ("device", "0"), ("op", op)], "change_mean_ratio")
    };
    let [_, reads, most] = of("reads-first", "read");
    assert!(reads < 0.95 && most < 1.0, "{reads} {most}");
    assert!(of("dribble=10/s", "read")[1] < 0.97);
    for change in ["reads-first", "dribble=10/s"] {
        assert!(of(change, "async write")[0] > 1.0, "{change}: writes pay");
    }
}

#[test]
fn both_suggestions_help_the_reads_of_the_papers_own_system() {
    let lab = Lab::new();
    let (machine, _) = TEXT.split_once("[load]").unwrap();
    lab.file("response-1986.toml", machine);
    let scenario = Scenario::read(TEXT).unwrap();
    let mut file = RequestsFile::create(&lab.path("load.parquet")).unwrap();
    let rows = requests(&scenario, 1).unwrap();
    // A quarter of an hour of it.
    for row in rows.take_while(|row| row.queued_ns.unwrap() < 900_000_000_000) {
        file.push(&row, &Commands::default()).unwrap();
    }
    file.finish(&Commands::default(), &Provenance::default(), &BTreeMap::new()).unwrap();
    let words = "whatif load.parquet --model response-1986.toml --change reads-first \
        --change dribble=5/s --arrivals open";
    let shown = lab.run(&format!("{words} --draws 2 -o shown")).out;
    assert!(shown.contains("Not validated here"), "{shown}");
    let report = lab.measure(&format!("{words} --draws 2 -o out"));
    for change in ["reads-first", "dribble=5/s"] {
        let [_, value, high] =
            ratio(&report, &[("change", change), ("op", "read")], "change_mean_ratio");
        assert!(value < 0.5 && high < 0.6, "{change}: {value} {high}");
    }
}

//! `lbolt response` from the command line: the papers' known answers, and traces that tell little or nothing.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use common::{Ended, Lab};
use std::path::{Path, PathBuf};

/// A file beside the project, where there is one.
fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    let found = path.canonicalize().ok();
    if found.is_none() {
        println!("skipped: needs {name} beside the project");
    }
    found
}

/// The value of a class's quantity in JSON.
fn value(ended: &Ended, by: &str, class: &str, quantity: &str) -> Option<f64> {
    let report = ended.report();
    let is_it = |f: &&serde_json::Value| {
        f["quantity"] == quantity && f["subject"]["by"] == by && f["subject"]["class"] == class
    };
    report.findings().iter().find(is_it).and_then(|f| f["value"].as_f64())
}

/// The 1986 paper's sample (section 2.3): six responses, three answers without a request.
const SAMPLE: &str = "\
S:(32,0x10):2:R:1984:22127
S:(32,0x10):2:R:1992:22128
S:(32,0x6):2:R:486502:22129
S:(32,0x11):2:R:62782:22129
R:(32,0x10):2:R:1976:22123
R:(32,0x10):2:W:2152:22124
R:(32,0x10):2:W:2144:22124
R:(32,0x10):2:R:1984:22128
R:(32,0x10):2:R:1992:22130
R:(32,0x11):2:R:62782:22131
R:(32,0x6):2:R:486502:22132
R:(32,0x6):2:R:337822:22157
R:(32,0x6):2:R:339738:22158
S:(32,0x6):2:R:337822:22156
S:(32,0x6):2:R:339738:22157
";

#[test]
fn the_papers_sample_has_six_responses_of_one_to_three_ticks() {
    let lab = Lab::new();
    lab.file("sample", SAMPLE);
    let ended = lab.run("response sample --ticks");
    let wanted =
        "3 responses took 1 ticks.\n2 responses took 2 ticks.\n1 responses took 3 ticks.\n";
    assert_eq!((ended.code, ended.out.as_str()), (0, wanted), "{}", ended.err);
    let ended = lab.run("response sample --format json");
    let orphans = |f: &&serde_json::Value| f["quantity"] == "orphaned_count";
    let report = ended.report();
    assert_eq!(report.findings().iter().find(orphans).unwrap()["value"], 3.0);
    // One of the orphans is a read, too.
    assert_eq!(value(&ended, "direction", "read", "answered_count"), Some(7.0));
}

/// data/README.md: disk 0's figures and the table of reads by asynchronous writes outstanding; from the foreign file
/// and from our own records of it alike.
#[test]
fn hplajw_gives_its_known_answers() {
    let Some(trace) = shared("data/hplajw/ajw.1week.srt") else { return };
    let lab = Lab::new();
    let foreign = lab.run(&format!("response {} --format json", trace.display()));
    assert_eq!(foreign.code, 0, "{}", foreign.err);
    let by = "background writes outstanding";
    for (class, count, mean_ms, queue_ms) in [
        ("0", 12_103.0, 30.7, 3.5),
        ("1 to 4", 313.0, 79.3, 47.9),
        ("5 to 19", 339.0, 106.0, 76.7),
        ("20 and more", 285.0, 129.5, 100.3),
    ] {
        let ms = |quantity| value(&foreign, by, class, quantity).unwrap() / 1e6;
        assert_eq!(value(&foreign, by, class, "asked_count"), Some(count), "{class}");
        assert!((ms("response_mean_ns") - mean_ms).abs() <= 0.05, "{class}");
        assert!((ms("wait_mean_ns") - queue_ms).abs() <= 0.05, "{class}");
    }
    let writes = |quantity| value(&foreign, "origin", "writeback", quantity).unwrap();
    assert_eq!(writes("asked_count"), 15_981.0);
    assert!((writes("response_mean_ns") / 1e6 - 268.0).abs() < 0.5);
    assert!((writes("response_p99_ns") / 1e6 - 1648.0).abs() < 0.004 * 1648.0);
    assert!((writes("response_max_ns") / 1e6 - 6781.0).abs() < 0.5);
    assert_eq!(lab.run(&format!("import {} -o run", trace.display())).code, 0);
    let ours = lab.run("response run --format json");
    assert_eq!(ours.report().findings(), foreign.report().findings());
}

#[test]
fn a_trace_without_answers_says_so_and_what_can_be_said_is_said() {
    let lab = Lab::new();
    lab.file("log", "fio version 3 iolog\n10 /dev/sda read 0 4096\n20 /dev/sda write 8192 512\n");
    let ended = lab.run("response log");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.contains("by transfer size") && ended.out.contains("n.m."), "{}", ended.out);
    let ended = lab.run("response log --format json");
    assert_eq!(value(&ended, "size", "to 4k", "asked_count"), Some(1.0));
    assert_eq!(value(&ended, "whole", "all", "response_p99_ns"), None);
    assert_eq!(lab.run("response log --ticks").out, "The trace tells of no responses.\n");
    lab.run("response log --ticks --format json").assert_refused(2, &["--format csv"]);
}

#[test]
fn what_is_no_trace_is_refused_in_a_sentence() {
    let lab = Lab::new();
    lab.file("empty", "");
    lab.directory("nothing");
    lab.file("damaged", "PAR1 and no more");
    for (words, hint) in [
        ("response empty", "empty"),
        ("response nothing", "directory"),
        ("response damaged", "damaged"),
        ("response not-there", "not-there"),
        ("response empty --from nonsense", "nonsense"),
    ] {
        let ended = lab.run(words);
        assert!(matches!(ended.code, 1 | 2), "{words}: {} {}", ended.code, ended.err);
        assert!(ended.sentence().starts_with("lbolt: failed to"), "{words}: {}", ended.err);
        assert!(ended.sentence().contains(hint), "{words}: {}", ended.err);
    }
}

//! `lbolt report`: pages of real runs, of runs that did not end well, and of names that attack; and
//! the pages in a real browser, where there is one (`viewer/test/page.test.mjs`).

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../../../xtask/src/viewer/packages.rs"]
pub(crate) mod packages;

use crate::common::{Lab, QUICK};
use std::path::{Path, PathBuf};
use std::process::Command;

const OVERHEAD: &str = "overhead d --ioengine psync,threads --rw randread --bs 4k,16k,64k,256k \
    --iodepth 1 --overlap 0 --account none --runs 2 --warmup 0 --size 4m";
const SYNC: &str = "sync d --bs 4k --runs 2 --runtime 20ms --size 1m --numjobs 1";
pub(crate) const BROWSER: &str = "/usr/bin/chromium";

/// What would run, if it were taken for markup; and what hides and turns text.
const HOSTILE: &str = "</script><script>taken=1</script><img src=x onerror=taken=2>\u{202e}\"'&\
    {{charts}}";

fn page(lab: &Lab, words: &str, name: &str) -> PathBuf {
    let ended = lab.run(&format!("report {words} -o {name}"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.starts_with(&format!("page: {name} (")), "{}", ended.out);
    lab.path(name)
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The charts that a page's script draws.
fn charts(html: &str) -> Vec<serde_json::Value> {
    let begin = "<script type=\"application/json\" id=\"charts\">";
    let json = html.split(begin).nth(1).unwrap().split("</script>").next().unwrap();
    serde_json::from_str(json).unwrap()
}

/// Another text in a run's run.json.
fn renamed(lab: &Lab, run: &str, from: &str, to: &str) {
    let path = format!("{run}/run.json");
    let info = text(&lab.path(&path));
    let to = serde_json::to_string(to).unwrap();
    let changed = info.replace(&format!("\"{from}\""), &to);
    assert_ne!(info, changed);
    lab.file(&path, changed);
}

#[test]
fn a_page_says_what_was_measured_and_how_to_repeat_it() {
    let lab = Lab::new();
    lab.measure(&format!("throughput d --rw read,rewrite {QUICK} -o runs/first"));
    let ended = lab.run("report first");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let html = text(&lab.path("runs/first/report.html"));
    for words in ["<h1>Throughput of d</h1>", "To repeat it", "lbolt throughput d --rw", "<table>"]
    {
        assert!(html.contains(words), "{words}");
    }
    let ids: Vec<_> = charts(&html).iter().map(|chart| chart["id"].clone()).collect();
    assert_eq!(ids[0], "rates");
    for id in &ids {
        assert!(html.contains(&format!("<figure id={id}")), "{id}");
    }
    // It is the run's own, and goes with it.
    assert_eq!(lab.run("runs rm first").code, 0);
    assert!(!lab.path("runs/first").exists());
}

#[test]
fn an_experiment_makes_its_page_at_its_end() {
    let lab = Lab::new();
    let trace = "import one.csv -o trace";
    lab.file("one.csv", "128166385295514663,db,0,Read,0,4096,1000\n");
    for (words, run) in [(&*format!("throughput d --rw read {QUICK} -o r"), "r"), (trace, "trace")]
    {
        let ended = lab.run(&format!("{words} --report"));
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert!(ended.err.contains(&format!("page: {run}/report.html (")), "{}", ended.err);
        assert!(text(&lab.path(&format!("{run}/report.html"))).contains("To repeat it"));
    }
}

#[test]
fn runs_stand_side_by_side() {
    let lab = Lab::new();
    for run in ["before", "after"] {
        lab.measure(&format!("throughput d --rw read {QUICK} -o runs/{run}"));
    }
    let html = text(&page(&lab, "before after", "two.html"));
    let charts = charts(&html);
    assert_eq!(charts[0]["series"], serde_json::json!(["before", "after"]));
    assert!(html.contains("<h1>2 runs: before, after</h1>"));
}

#[test]
fn names_that_attack_are_text() {
    let lab = Lab::new();
    lab.measure(&format!("throughput d --rw read {QUICK} -o run"));
    renamed(&lab, "run", "read", &format!("{HOSTILE}{}", "long ".repeat(1000)));
    renamed(&lab, "run", "run", HOSTILE);
    let html = text(&page(&lab, "run", "hostile.html"));
    assert!(!html.contains("<script>taken") && !html.contains("<img"), "markup");
    assert!(!html.contains('\u{202e}'), "a character that turns text");
    assert_eq!(html.matches("<script").count(), 3);
    charts(&html);
}

#[test]
fn runs_that_did_not_end_well_are_shown_and_said_to_be_so() {
    let lab = Lab::new();
    lab.measure(&format!("throughput d --rw read {QUICK} -o run"));
    renamed(&lab, "run", "finished", "running");
    assert!(text(&page(&lab, "run", "killed.html")).contains("The run was killed"));
    std::fs::remove_file(lab.path("run/findings.parquet")).unwrap();
    let html = text(&page(&lab, "run", "empty.html"));
    assert!(html.contains("The run has no findings."), "{html}");
    assert!(charts(&html).is_empty());
    lab.file("run/findings.parquet", "no Parquet");
    lab.run("report run").assert_refused(1, &["findings.parquet", "another copy"]);
    lab.file("run/run.json", r#"{"schema":"lbolt.run/9"}"#);
    lab.run("report run").assert_refused(2, &["lbolt.run/9"]);
}

#[test]
fn what_is_no_run_and_what_cannot_be_written_is_refused_in_a_sentence() {
    let lab = Lab::new();
    lab.run("report nothing").assert_refused(2, &["failed to read nothing as a run", "runs list"]);
    lab.run("report").assert_refused_by_usage("<RUN>");
    lab.measure(&format!("throughput d --rw read {QUICK} -o run"));
    lab.run("report run -o d").assert_refused(2, &["--output d is a directory"]);
    lab.run("report run -o no/where.html").assert_refused(1, &["failed to write no/where.html"]);
}

#[test]
fn without_a_browser_the_page_is_there_all_the_same() {
    let lab = Lab::new();
    lab.measure(&format!("throughput d --rw read {QUICK} -o run"));
    let mut command = lab.lbolt("report run --open");
    command.env("PATH", lab.directory("no-programs"));
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("not opened: failed to run xdg-open"), "{}", ended.err);
    assert!(lab.path("run/report.html").exists());
}

#[test]
fn a_trace_of_one_request_and_one_of_a_month_have_pages() {
    let lab = Lab::new();
    let line = |ns: u64, offset: u64| {
        format!("{},db,0,Read,{offset},4096,1000\n", 128_166_385_295_514_663 + ns / 100)
    };
    lab.file("one.csv", line(0, 0));
    let day_ns = 86_400_000_000_000;
    let month: String = (0..3000).map(|n| line(n * day_ns / 100, n * 4096 * 77)).collect();
    lab.file("month.csv", month);
    for (name, heat) in [("one", 2), ("month", 2)] {
        assert_eq!(lab.run(&format!("import {name}.csv -o {name}")).code, 0);
        let path = page(&lab, name, &format!("{name}.html"));
        let html = text(&path);
        let charts = charts(&html);
        let maps = charts.iter().filter(|chart| chart["kind"] == "heat");
        assert_eq!(maps.count(), heat, "{name}");
        assert!(path.metadata().unwrap().len() < 1_500_000);
    }
}

/// Pages of every kind of run, in the browser.
#[test]
fn pages_hold_in_a_browser() {
    if !Path::new(BROWSER).exists() {
        return println!("skipped: needs {BROWSER}");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let viewer = root.join("viewer");
    if let Err(sentence) = packages::install(&viewer) {
        return println!("skipped: {sentence}");
    }
    let lab = Lab::new();
    lab.measure("throughput d --size 4m --runs 2 --warmup 0 -o throughput");
    lab.measure(&format!("{OVERHEAD} -o overhead"));
    lab.measure(&format!("{SYNC} -o sync"));
    let trace = root.join("crates/trace/tests/import/fixtures/msr.csv");
    assert_eq!(lab.run(&format!("import {} -o trace", trace.display())).code, 0);
    lab.measure(&format!("throughput d --rw read {QUICK} -o hostile"));
    renamed(&lab, "hostile", "read", &format!("{HOSTILE}{}", "long ".repeat(1000)));
    let mut pages: Vec<PathBuf> = ["throughput", "overhead", "sync", "trace", "hostile"]
        .map(|run| page(&lab, run, &format!("{run}.html")))
        .to_vec();
    pages.push(page(&lab, "throughput hostile sync", "several.html"));
    let pages: Vec<String> = pages.iter().map(|path| path.display().to_string()).collect();
    let mut node = Command::new("node");
    node.args(["--test", "test/page.test.mjs"]).current_dir(&viewer);
    node.env("LBOLT_PAGES", pages.join("\n")).env("LBOLT_CHROMIUM", BROWSER);
    let output = node.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    said.lines().filter(|line| line.contains(" ms")).for_each(|line| println!("{line}"));
    assert!(output.status.success(), "{said}");
}

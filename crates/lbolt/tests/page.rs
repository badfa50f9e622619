//! `lbolt report`: pages of real runs, of runs that did not end well, and of names that attack; and
//! the pages in a real browser, where there is one (`viewer/test/page.test.mjs`).

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../../../xtask/src/viewer/packages.rs"]
pub(crate) mod packages;

use crate::common::{Ended, Lab, QUICK, wait_for};
use model::record::requests::Provenance;
use model::record::{
    Commands, Context, FileKey, FileKind, FileNumber, NamedFile, Op, Process, Request,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use trace::intake::Rows as _;
use trace::output::{Left, RequestsFile};

const OVERHEAD: &str = "overhead d --ioengine psync,threads --rw randread --bs 4k,16k,64k,256k \
    --iodepth 1 --overlap 0 --account none --runs 2 --warmup 0 --size 4m";
const SYNC: &str = "sync d --bs 4k --runs 2 --runtime 20ms --size 1m --numjobs 1";
pub(crate) const BROWSER: &str = "/usr/bin/chromium";
/// Of a test in it: what hangs there is named.
pub(crate) const LIMIT: &str = "--test-timeout=900000";

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

/// A minute of steady reads, with a burst of writes in every twenty seconds, which slow reads.
fn stormy() -> String {
    let line = |at_ms: u64, op: &str, offset: u64, took_ms: u64| {
        let ticks = 128_166_385_295_514_663 + at_ms * 10_000;
        format!("{ticks},db,0,{op},{offset},4096,{}\n", took_ms * 10_000)
    };
    let in_burst = |at_ms: u64| (10_000..11_000).contains(&(at_ms % 20_000));
    let mut lines: Vec<(u64, String)> = (0..600)
        .map(|n| n * 100)
        .map(|at| (at, line(at, "Read", at * 4096, if in_burst(at) { 200 } else { 5 })))
        .collect();
    for burst in [10_000, 30_000, 50_000] {
        let writes = (0..200).map(|n| burst + n * 5);
        lines.extend(writes.map(|at| (at, line(at, "Write", at * 512, 300))));
    }
    lines.extend((0..60).map(|n| (n * 1000 + 7, line(n * 1000 + 7, "Write", n << 20, 9))));
    lines.sort_by_key(|(at, _)| *at);
    lines.into_iter().map(|(_, line)| line).collect()
}

#[test]
fn storms_are_marked_and_open_to_what_happened_in_them() {
    let lab = Lab::new();
    lab.file("stormy.csv", stormy());
    assert_eq!(lab.run("import stormy.csv -o stormy").code, 0);
    let html = text(&page(&lab, "stormy", "stormy.html"));
    let storm = html.split("<details class=\"fold\" id=\"storm-1-1\">").nth(1).unwrap();
    let storm = storm.split("</details>").next().unwrap();
    assert!(
        html.contains("<dt>Trace</dt><dd><bdi>1260 requests in 59.9 s; times count from "),
        "{html}"
    );
    // The trace was made elsewhere: the machine that read it is none of it.
    assert!(html.contains("<dt>Imported</dt>") && !html.contains("<dt>Kernel</dt>"));
    for words in [
        "1. writes and flushes to db.0 at 10 s: 1.29 s long, 215 requests, up to 62 outstanding",
        "reads took 155 ms, 31.0× as long as outside (5.00 ms)",
        "writes in it",
        "Who sent most",
        "writers",
    ] {
        assert!(storm.contains(words), "{words}: {storm}");
    }
    assert!(html.contains("id=\"storm-1-3\"") && !html.contains("id=\"storm-1-4\""));
    let charts = charts(&html);
    let of = |id: &str| charts.iter().find(|chart| chart["id"] == id).unwrap();
    for id in ["responses-reads-1-1", "places-writes-1-1", "depth-1-1"] {
        let bands = of(id)["bands"].as_array().unwrap();
        let labels: Vec<&str> = bands.iter().map(|band| band["label"].as_str().unwrap()).collect();
        assert_eq!(labels, ["", "", "", "1", "2", "3"], "{id}");
        assert!((bands[0]["from"].as_f64().unwrap() - 10e9).abs() < 1e9, "{bands:?}");
    }
    // One time is at one place in all of them.
    let domain = |id: &str| of(id)["x"]["domain"].clone();
    assert_eq!(domain("responses-reads-1-1"), domain("depth-1-1"));
    assert_eq!(domain("responses-reads-1-1"), domain("places-writes-1-1"));
    // What was outstanding in the calm: 5 ms in each 100 ms, and 9 in each second.
    let column = |place: usize| of("depth-1-1")["columns"][place]["values"].clone();
    let bins = column(0).as_array().unwrap().len() / 2;
    let least = column(2)[bins + 3].as_f64().unwrap();
    assert!((0.03..0.08).contains(&least), "{least}");
}

/// What the page of two traces says of both together is what `response` says of them.
#[test]
fn traces_of_one_page_are_told_together_too() {
    let lab = Lab::new();
    lab.file("stormy.csv", stormy());
    for run in ["one", "two"] {
        assert_eq!(lab.run(&format!("import stormy.csv -o {run}")).code, 0);
    }
    let begin = "<section id=\"together\">";
    let html = text(&page(&lab, "one two", "two.html"));
    let together = html.split(begin).nth(1).unwrap().split("</section>").next().unwrap();
    for words in ["All traces together", "one:db.0", "two:db.0", "<bdi>2520</bdi>"] {
        assert!(together.contains(words), "{words}: {together}");
    }
    let response = lab.run("response one two");
    let first = response.out.lines().next().unwrap();
    assert!(together.contains(first), "{first}: {together}");
    let hosts = ["host1", "host2"].map(|host| lab.directory(host));
    for (run, host) in ["one", "two"].iter().zip(hosts) {
        std::fs::rename(lab.path(run), host.join("run")).unwrap();
        renamed(&lab, &format!("{}/run", host.display()), run, "run");
    }
    let html = text(&page(&lab, "host1/run host2/run", "hosts.html"));
    assert!(html.contains("<h1>2 runs: host1/run, host2/run</h1>"), "{html}");
    lab.measure(&format!("throughput d --rw read {QUICK} -o measured"));
    let html = text(&page(&lab, "host1/run measured", "one.html"));
    assert!(!html.contains(begin), "one trace alone");
}

#[test]
fn a_trace_without_requests_has_a_page_that_says_so() {
    let lab = Lab::new();
    lab.file("none.csv", "");
    assert_eq!(lab.run("import none.csv --input-format msr -o none").code, 0);
    let html = text(&page(&lab, "none", "none.html"));
    assert!(html.contains("Unknown whether anybody waited long for others: the trace has no req"));
    assert!(!html.contains("Nobody waited"), "{html}");
    assert!(html.contains("<dt>Trace</dt><dd><bdi>no request</bdi>"), "{html}");
    assert!(charts(&html).is_empty());
}

/// Requests of a capture: reads, and a burst of writes by a process and to a file with names that
/// attack.
fn attacking(commands: &mut Commands) -> Vec<Request> {
    let command = Some(commands.number(HOSTILE.as_bytes()));
    let number = FileNumber { file_system: 7 << 20, inode: 20, generation: 0 };
    let row = |(op, at_ms): (Op, i64)| Request {
        device: 7 << 20,
        op,
        length_bytes: 4096,
        queued_ns: Some(at_ms * 1_000_000),
        issued_ns: Some(at_ms * 1_000_000 + 200_000),
        completed_ns: Some((at_ms + 1) * 1_000_000),
        offset_bytes: Some(4096),
        pid: Some(7),
        command,
        file: Some(FileKey { kind: FileKind::Regular, number }),
        ..Request::default()
    };
    let reads = (0..600).map(|n| (Op::Read, n * 100));
    let calm = (0..60).map(|n| (Op::Write, n * 1000));
    let burst = (0..400).map(|n| (Op::Write, 30_000 + n));
    let mut all: Vec<(Op, i64)> = reads.chain(calm).chain(burst).collect();
    all.sort_by_key(|(_, at_ms)| *at_ms);
    let numbered =
        |(number, of): (usize, (Op, i64))| Request { request_id: number as u64, ..row(of) };
    all.into_iter().enumerate().map(numbered).collect()
}

#[test]
fn a_capture_that_was_killed_has_a_page_of_what_it_kept() {
    let lab = Lab::new();
    lab.file("one.csv", "128166385295514663,db,0,Read,0,4096,1000\n");
    assert_eq!(lab.run("import one.csv -o run").code, 0);
    renamed(&lab, "run", "finished", "running");
    let path = lab.path("run/requests.parquet");
    std::fs::remove_file(&path).unwrap();
    let mut known = Provenance { origin: "capture".into(), ..Provenance::default() };
    known.notes.insert("device.7340032".into(), HOSTILE.into());
    let mut commands = Commands::default();
    let rows = attacking(&mut commands);
    let mut file = RequestsFile::create(&path).unwrap();
    file.survive(&known, &BTreeMap::new()).unwrap();
    file.keep(&rows, &commands, &known).unwrap();
    std::mem::forget(file);
    let kept = || Left::find(&path).unwrap().is_some_and(|left| left.rows() == 1060);
    wait_for("rows that are kept", || kept().then_some(()));
    let title = Some(format!("{HOSTILE}: x"));
    let process = Process { pid: 7, process: Some(7), title, ..Process::default() };
    let file = NamedFile {
        file_system: 7 << 20,
        inode: 20,
        path: Some(format!("/{HOSTILE}")),
        ..NamedFile::default()
    };
    let context = Context { processes: vec![process], files: vec![file], ..Context::default() };
    context.write(&lab.path("run"), &BTreeMap::new()).unwrap();

    let html = text(&page(&lab, "run", "killed.html"));
    assert!(html.contains("The run was killed: the page shows its findings"), "{html}");
    let charts = charts(&html);
    let title = |id: &str| charts.iter().find(|chart| chart["id"] == id).unwrap()["title"].clone();
    for id in ["depth-1-1", "parts-reads-1-1", "parts-writes-1-1", "responses-reads-1-1"] {
        assert!(title(id).as_str().unwrap().contains("</script>"), "{id}");
    }
    let storm = html.split("id=\"storm-1-1\">").nth(1).unwrap().split("</details>").next().unwrap();
    let taken = "&lt;/script&gt;&lt;script&gt;taken=1";
    for (words, name) in [
        // What a title tells of a role is its program.
        ("Who sent most", "script&gt;&lt;img"),
        ("Which threads queued them", taken),
        ("Which files they were of", taken),
    ] {
        // The title stands over the table and in its label.
        let table = storm.split(words).nth(2).unwrap();
        let table = table.split("class=\"table\"").next().unwrap();
        assert!(table.contains(name), "{words}: {table}");
    }
    assert!(!html.contains("<script>taken") && !html.contains("<img"), "markup");
    assert!(!html.contains('\u{202e}'), "a character that turns text");
    assert_eq!(html.matches("<script").count(), 3);
}

/// The page of a simulated fleet.
fn fleet(lab: &Lab) -> PathBuf {
    for words in ["synthesize --hosts 30 --days 14 -o fleet", "fleet fleet --page fleet.html"] {
        let ended = lab.run(words);
        assert_eq!(ended.code, 0, "{}", ended.err);
    }
    lab.path("fleet.html")
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
    let trace = root.join("crates/formats/tests/import/fixtures/msr.csv");
    assert_eq!(lab.run(&format!("import {} -o trace", trace.display())).code, 0);
    lab.file("stormy.csv", stormy());
    assert_eq!(lab.run("import stormy.csv -o stormy").code, 0);
    lab.measure(&format!("throughput d --rw read {QUICK} -o hostile"));
    renamed(&lab, "hostile", "read", &format!("{HOSTILE}{}", "long ".repeat(1000)));
    let mut pages: Vec<PathBuf> = ["throughput", "overhead", "sync", "trace", "stormy", "hostile"]
        .map(|run| page(&lab, run, &format!("{run}.html")))
        .to_vec();
    pages.push(page(&lab, "throughput hostile sync", "several.html"));
    pages.push(page(&lab, "trace stormy", "traces.html"));
    pages.push(fleet(&lab));
    let pages: Vec<String> = pages.iter().map(|path| path.display().to_string()).collect();
    let mut node = Command::new("node");
    let tests = ["test/page.test.mjs", "test/chart.test.mjs"];
    node.args(["--test", LIMIT]).args(tests).current_dir(&viewer);
    node.env("LBOLT_PAGES", pages.join("\n")).env("LBOLT_CHROMIUM", BROWSER);
    let Ended { code, out, err } = lab.end(node);
    out.lines().filter(|line| line.contains(" ms")).for_each(|line| println!("{line}"));
    assert_eq!(code, 0, "{out}{err}");
}

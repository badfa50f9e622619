//! Names that others chose (hosts, kernels, firmware, devices, roles, directories) in whatever is
//! printed for another program to read: a shell, SQL, Markdown, CSV, a page. Each stays one word,
//! one literal, one cell.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Ended, Lab};
use crate::sql::python;
use model::history::{DAY_NS, HostFacts, INCIDENTS, Incident, MINUTE_NS, Origin, Store};
use model::record::{Counted, Rollup, RollupKey, operations};
use std::path::Path;

/// What would be done, if a name were read as more than a name.
const NAMES: &[&str] = &[
    "plain",
    "--help",
    "-rf",
    "@list",
    "it's a; touch canary; '",
    "'; touch canary; '",
    "$(touch canary)`touch canary`",
    "a\ntouch canary\n\x1b[31m\u{202e}",
    r"\', NULL), (current_user(), '",
    r"'\', 'x'); DROP VIEW hosts; --",
    "${env:HOME}' || '",
    "a' /* -- */; SELECT '",
    "=cmd|' /C calc'!A0",
    "a\",=1+1,\"|*_`<script>alert(1)</script>[x](javascript:1)&lt;b&gt;~~",
    "two  spaces and a no-break\u{a0}one ",
    "~root *?[a-z] {a,b} !! #",
];

/// Minutes of a host, where all has one name, and which lost so much in each.
fn minutes(path: &Path, name: &str, lost_ns: i64) {
    let named = || Some(name.to_owned());
    let mut store = Store::open(path, 1 << 30).unwrap();
    store = store.of(Origin { host: named(), run: named(), part: None });
    let firmware = [(name.to_owned(), name.to_owned())].into();
    store.know_host(HostFacts { kernel: named(), firmware, ..HostFacts::default() });
    for minute in 0..6 {
        let at = 20_000 * DAY_NS + minute * MINUTE_NS;
        let row = |counted, operation: &str| {
            let key = RollupKey { counted, operation: operation.into(), ..RollupKey::default() };
            Rollup::of(key, at, at + MINUTE_NS)
        };
        let waits = row(Counted::Waits, "fsync");
        let lost = row(Counted::Lost, "fsync");
        let of = |row| Rollup { role: named(), device: named(), model: named(), ..row };
        let rows = [
            Rollup { sum_ns: MINUTE_NS as u64, ..row(Counted::Watch, operations::WATCHED) },
            Rollup { sum_ns: 30_000_000_000, ..of(waits) },
            Rollup { cause: named(), lost_ns, lost_us2: 1, ..of(lost) },
        ];
        store.add(&rows, at, at + MINUTE_NS).unwrap();
    }
}

/// `lbolt` with words that may hold anything.
fn fine(lab: &Lab, words: &[&str]) -> Ended {
    let mut command = lab.lbolt("");
    command.args(words);
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{words:?}: {}", ended.err);
    assert!(!ended.out.contains(['\x1b', '\u{202e}']), "{words:?}: {}", ended.out);
    ended
}

/// What `lbolt` is told by a command line that bash runs.
fn told(lab: &Lab, line: &str) -> Vec<String> {
    lab.directory("bin");
    lab.script("bin/lbolt", "#!/bin/sh\nprintf '%s\\0' \"$@\" > told\n");
    let mut command = lab.command("bash");
    let path = format!("{}:/usr/bin:/bin", lab.path("bin").display());
    command.args(["-c", line]).env("PATH", path);
    let ended = lab.end(command);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{line}");
    assert!(!lab.path("canary").exists(), "{line}");
    let told = std::fs::read_to_string(lab.path("told")).unwrap();
    told.strip_suffix('\0').unwrap().split('\0').map(str::to_owned).collect()
}

/// A page's text.
fn unescaped(html: &str) -> String {
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    pairs.iter().fold(html.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A path that the user's own shell would not take for an option either.
fn own(path: &str) -> String {
    if path.starts_with(['-', '@']) { format!("./{path}") } else { path.to_owned() }
}

#[test]
fn a_printed_command_names_what_was_meant_and_runs_nothing() {
    for name in NAMES {
        let lab = Lab::new();
        let directory = name.replace('/', "_");
        minutes(&lab.path(&directory), name, 2_000_000_000);
        let file = format!("{directory}.parquet");
        minutes(&lab.path("other"), "other", 1_000_000_000);
        fine(&lab, &["rollup", &format!("--output=./{file}"), "--", &own(&directory), "other"]);
        for (path, device) in [(&directory, None), (&file, Some(*name))] {
            let page = ["--page", "page.html", "--", path.as_str()];
            let screen = fine(&lab, &[&["fleet"], &page[..]].concat()).out;
            let html = std::fs::read_to_string(lab.path("page.html")).unwrap();
            let (_, advice) = html.split_once("<p class=\"advice\">").unwrap();
            let line = unescaped(advice.split_once("</p>").unwrap().0);
            assert!(words(&screen).contains(&words(&line)), "no {line} in: {screen}");
            let mut meant = vec!["history".to_owned(), own(path)];
            match device {
                Some(device) if device.starts_with('-') => meant.push(format!("--device={device}")),
                Some(device) => meant.extend(["--device".to_owned(), device.to_owned()]),
                None => {}
            }
            assert_eq!(told(&lab, &line), meant, "{line}");
        }
        incidents(&lab, &directory);
        lab.assert_clean();
    }
}

/// The command that opens an incident.
fn incidents(lab: &Lab, directory: &str) {
    let run = lab.path(directory).join(INCIDENTS).join("one");
    std::fs::create_dir_all(&run).unwrap();
    let incident = Incident { why: directory.into(), until_unix_ns: 1, ..Incident::default() };
    incident.write(&run).unwrap();
    let text = fine(lab, &["history", "--incidents", "--", directory]).out;
    let line = &text[text.rfind("lbolt response").unwrap()..];
    assert_eq!(
        told(lab, line),
        ["response".to_owned(), own(&format!("{directory}/incidents/one"))]
    );
}

/// A script's text without its literals, and the literals; by Spark's rules, by which a backslash
/// takes the next character, or by DuckDB's.
fn parts_of(script: &str, has_backslashes: bool) -> (String, Vec<String>) {
    let (mut text, mut literals) = (String::new(), Vec::new());
    let mut rest = script.chars().peekable();
    while let Some(c) = rest.next() {
        text.push(c);
        if c != '\'' && c != '`' {
            continue;
        }
        let mut literal = String::new();
        while let Some(within) = rest.next() {
            match within {
                '\\' if has_backslashes && c == '\'' => literal.extend(rest.next()),
                _ if within == c && rest.peek() == Some(&c) => literal.extend(rest.next()),
                _ if within == c => break,
                other => literal.push(other),
            }
        }
        text.push(c);
        literals.push(literal);
    }
    for (from, to) in [("CAST(X'' AS STRING)", "''"), ("decode(unhex(''))", "''")] {
        text = text.replace(from, to);
    }
    (text, literals)
}

#[test]
fn a_script_of_sql_is_the_same_whatever_hosts_are_called() {
    let python = python();
    let mut plain: Vec<String> = Vec::new();
    for name in NAMES {
        let lab = Lab::new();
        minutes(&lab.path("host"), name, 2_000_000_000);
        for (place, engine) in ["spark", "duckdb"].into_iter().enumerate() {
            let script = fine(&lab, &["sql", "--rollups", "host", "--engine", engine]).out;
            let (text, literals) = parts_of(&script, engine == "spark");
            let hex = name.bytes().fold(String::new(), |hex, byte| format!("{hex}{byte:02X}"));
            let is_name = |literal: &&String| *literal == name || **literal == hex;
            // The host, the run, the kernel, the device and the firmware.
            assert_eq!(literals.iter().filter(is_name).count(), 5, "{engine}: {script}");
            match plain.get(place) {
                None => plain.push(text),
                Some(plain) => assert_eq!(plain, &text, "{name} for {engine}"),
            }
            lab.file(engine, script);
        }
        let Some(python) = &python else { continue };
        let mut command = lab.command(python);
        command.args(["-c", include_str!("common/sql.py"), "duckdb", "SELECT * FROM hosts"]);
        let ended = lab.end(command);
        assert_eq!(ended.code, 0, "{}", ended.err);
        let rows: Vec<Vec<serde_json::Value>> = serde_json::from_str(&ended.out).unwrap();
        assert_eq!(rows[0][0]["firmware"], *name);
    }
}

/// Cells of a line of CSV, or of Markdown, as their readers take them.
fn cells(line: &str, between: char, quote: Option<char>, escape: Option<char>) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        let cell = cells.last_mut().unwrap();
        match c {
            _ if Some(c) == quote => is_quoted = !is_quoted,
            _ if Some(c) == escape => cell.extend(rest.next()),
            _ if c == between && !is_quoted => cells.push(String::new()),
            '<' | '`' | '*' | '[' if escape.is_some() => panic!("{c} of Markdown in {line}"),
            other => cell.push(other),
        }
    }
    cells
}

#[test]
fn a_name_is_one_cell_and_no_markup() {
    for name in NAMES {
        let lab = Lab::new();
        minutes(&lab.path("history"), name, 2_000_000_000);
        for words in ["fleet history", "fleet history --by role", "history history --by role"] {
            let run = |format: &str| {
                let words: Vec<&str> = words.split(' ').chain(["--format", format]).collect();
                fine(&lab, &words).out
            };
            let csv = run("csv");
            let columns = |line: &str| cells(line, ',', Some('"'), None);
            for line in csv.lines() {
                assert_eq!(
                    columns(line).len(),
                    columns(csv.lines().next().unwrap()).len(),
                    "{csv}"
                );
                let is_formula = |cell: &String| {
                    cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err()
                };
                assert!(!columns(line).iter().any(is_formula), "{line}");
            }
            let markdown = run("markdown");
            let rows: Vec<_> = markdown.lines().filter(|line| line.starts_with('|')).collect();
            let columns = |line: &&str| cells(line, '|', None, Some('\\')).len();
            assert!(markdown.lines().count() > 3, "{markdown}");
            // Tables of one width each, one after the other.
            rows.windows(3).for_each(|of| {
                assert!(columns(&of[1]) == columns(&of[0]) || columns(&of[1]) == columns(&of[2]));
            });
            for line in markdown.lines() {
                let line = line
                    .strip_prefix("**")
                    .and_then(|line| line.strip_suffix("**"))
                    .unwrap_or(line);
                cells(line, '|', None, Some('\\'));
                assert!(!line.starts_with(['#', '>', '=', '~']), "{line}");
            }
        }
    }
}
